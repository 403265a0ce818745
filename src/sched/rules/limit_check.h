/* limit_check.h - is a job over a limit? */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sched/sched.h"

struct entry;
struct job;
struct sched;
struct sched_limit_hit;

/* Is e's job over a limit?  By its request, or (alloc) by what it would hold.  Gives
 * SCHED_WHY_LIMIT with e->limit, or NONE. */
enum sched_why limit_refuses(struct sched *s, struct entry *e, const struct sched_alloc *alloc,
                             uint32_t limit_min, int64_t now_us);
bool limit_hit(struct sched *s, const struct entry *e, const struct sched_alloc *alloc,
               int64_t now_us, struct sched_limit_hit *ret); /* likewise */
/* of the job alone: it waits until the limit or the job is changed */
bool limit_is_own(unsigned limit);
unsigned limit_qos_flags(const struct sched *s, const struct job *j);
/* QOS and MinPrioThreshold */
bool limit_may_reserve(const struct sched *s, const struct entry *e, uint32_t *min_prio);
