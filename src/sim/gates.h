/* gates.h - simulated jobs that wait for other jobs: dependencies and throttles
 *
 * A job passes when those it comes after have started or ended, and when its group has room.  All
 * jobs are taken to succeed.  Pure data, one thread per object. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sim/events.h"
#include "sim/workload.h"

struct gates;

/* *ret NULL when no job of w waits for another.  -ENOMEM, -EINVAL an index beyond the jobs. */
int gates_new(const struct workload *w, const uint32_t *throttle, uint32_t nthrottle,
              struct gates **ret);
struct gates *gates_free(struct gates *g); /* always NULL */

bool gates_waits(const struct gates *g, uint32_t job); /* for a job of `after`; g NULL: no */
/* The job is submitted.  False: its group is full; it is submitted again when there is room. */
bool gates_enter(struct gates *g, uint32_t job);
void gates_runs(struct gates *g, uint32_t job); /* it is in from the beginning, full or not */
/* What happens to a job; those that may come now are submitted at now_us.  -ENOMEM. */
int gates_started(struct gates *g, uint32_t job, int64_t now_us, struct events *events);
int gates_ended(struct gates *g, uint32_t job, int64_t now_us, struct events *events);
