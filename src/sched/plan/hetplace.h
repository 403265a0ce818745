/* hetplace.h - heterogeneous jobs: components that start together or not at all */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sched/sched.h"

struct entry;
struct sched;

/* E's job is a component */
/* Start the whole group.  1 started, 0 not: *ret_why is SCHED_WHY_RESOURCES when it waits for
 * nodes, SCHED_WHY_NONE while the group is not whole, else what has to change first. */
int het_try(struct sched *s, struct entry *e, int64_t now_us, bool backfill,
            struct sched_decisions *out, enum sched_why *ret_why);
/* Reserve for every component; *ret_start_us 0 when that is not possible or was done in this
 * run. */
int het_reserve(struct sched *s, struct entry *e, int64_t now_us, int64_t *ret_start_us);
/* conservative.c's het_try() and het_reserve() in one: start all, or hold a place for all in
 * s->prof. */
int het_plan(struct sched *s, struct entry *e, int64_t now_us, struct sched_decisions *out,
             int64_t *ret_start_us, enum sched_why *ret_why);
