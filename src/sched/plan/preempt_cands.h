/* preempt_cands.h - which running jobs a job may preempt */
#pragma once

#include <stdbool.h>

#include "sched/sched.h"

struct job;
struct psearch;
struct sched;

void psearch_done(struct psearch *x);
bool ranks_above(const struct psearch *x, const struct job *k);
/* A job with a label neither preempts jobs without that label nor is preempted by them. */
bool may_preempt(const struct psearch *x, const struct job *k);
enum sched_preempt_mode mode_of(const struct sched *s, const struct job *k);
/* Can nothing more be got from it?  One that was suspended by hand keeps its memory and devices,
 * and only its end gives them. */
bool is_set_aside(const struct sched *s, const struct job *k);
/* Is k safe for the time being?  Notes when it will not be. */
bool is_exempt(struct psearch *x, const struct job *k);
/* Does k hold something the job could use: a node of its partition, or a licence it asks for? */
bool holds_useful(const struct psearch *x, const struct job *k);
/* Gather the jobs that leave anyway and those that the job may preempt.  The cost is by these, not
 * by all jobs. */
int gather_cands(struct psearch *x);
