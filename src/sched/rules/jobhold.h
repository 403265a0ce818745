/* jobhold.h - a job takes and releases all that it holds: nodes, licences, reserved licences */
#pragma once

#include <stdbool.h>

struct job;
struct sched;

void job_take(struct sched *s, struct job *j);
/* A job that holds nodes holds the rest of their units too, or no longer.  -ENOMEM, and nothing is
 * changed. */
int job_close_units(struct sched *s, struct job *j, bool closes);
void job_release(struct sched *s, const struct job *j);
