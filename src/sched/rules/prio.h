/* prio.h - the order of the queue */
#pragma once

#include <stdint.h>

struct entry;
struct job;
struct sched;

int64_t prio_as_of(const struct sched *s, const struct job *j, int64_t now_us);
uint32_t entry_priority(const struct sched *s, const struct entry *e, int64_t now_us);
/* What a job has to show until it may start: its factors are known, but for its age. */
uint32_t waiting_priority(const struct sched *s, const struct job *j);
void queue_enter(struct sched *s, int64_t now_us); /* fresh jobs, due jobs, unparked entries */
int prio_refresh(struct sched *s, int64_t now_us);
