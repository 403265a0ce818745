/* line.h - the running jobs in the order of their ends */
#pragma once

#include <stdint.h>

struct job;
struct sched;

uint64_t kept_number(const struct job *j); /* stands for it and what it holds */
int line_make(struct sched *s);            /* of the jobs running now; until line_drop() */
int line_room(struct sched *s);            /* for one more: line_add() cannot fail after it */
void line_add(struct sched *s, struct job *j);
void line_drop(struct sched *s);
