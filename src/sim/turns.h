/* turns.h - jobs that share CPUs take turns, in the simulator
 *
 * Whose turn it is, sched/rules/gang.h says; here stands who holds what.  Pure data.  Times are
 * microseconds. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/sched.h"

struct turns;

int turns_new(size_t njobs, struct turns **ret); /* -ENOMEM */
struct turns *turns_free(struct turns *t);       /* always NULL */

/* Job i of the workload runs on alloc since start_us; rank as gang.h has it.  -ENOMEM. */
int turns_begin(struct turns *t, uint32_t i, const struct sched_alloc *alloc, uint32_t rank,
                int64_t start_us);
void turns_end(struct turns *t, uint32_t i);
bool turns_waits(const struct turns *t, uint32_t i); /* it holds its nodes and does not run */
bool turns_any_waits(const struct turns *t);

/* fn is told of every job that stops, then of every one that goes on.  next: a slice begins.
 * Errors: -ENOMEM, or what fn gave. */
typedef int turns_fn(void *ctx, uint32_t i, bool runs);
int turns_take(struct turns *t, int64_t now_us, bool next, turns_fn *fn, void *ctx);
