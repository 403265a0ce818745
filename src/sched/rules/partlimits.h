/* partlimits.h - may a job start in its partition at all? State, time, nodes and memory */
#pragma once

#include "sched/sched.h"
#include "sched/state/parts.h"

struct entry;
struct sched;

static inline enum sched_why part_closed_why(const struct part *p)
{
    return p->inactive ? SCHED_WHY_PART_INACTIVE : SCHED_WHY_PART_DOWN;
}

/* Why e may not start in its partition, whatever nodes are free; NONE: it may. */
enum sched_why entry_limits(const struct sched *s, const struct entry *e);
/* The same, as if the partition were up. */
enum sched_why entry_limits_once_up(const struct sched *s, const struct entry *e);
/* The job's limit of time once it starts in this partition: one that names the least time that it
 * needs (time_min) gets no more than the partition grants. */
uint32_t entry_minutes(const struct sched *s, const struct entry *e, uint32_t limit_min);
