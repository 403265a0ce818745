/* preempt.h - which running jobs have to go so that a more important one can start */
#pragma once

#include <stdint.h>

struct bitmap;
struct choice;
struct entry;
struct job_lics;
struct psearch;
struct sched;
struct sched_decisions;

/* Search with everything moved about, and put it all back. */
int preempt_search_moved(struct psearch *x, struct choice *c, struct job_lics *held);
/* e does not fit: make room for it.  1 a PREEMPT is proposed, 0 no, -EDQUOT: victims would do, but
 * what the job would hold is over a limit (e->limit). */
int preempt_try(struct sched *s, struct entry *e, const struct bitmap *minus, int64_t now_us,
                struct sched_decisions *out);
/* The same while backfill plans: on nodes where that delays no job that has a place. */
int preempt_beside_plan(struct sched *s, struct entry *e, int64_t now_us,
                        struct sched_decisions *out);
