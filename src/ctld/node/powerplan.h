/* powerplan.h - which nodes are powered down, and how many of what is asked for may be done now
 *
 * Pure decisions over the model: no clock, no I/O, nothing is changed.  powersave.c acts on
 * them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bitmap.h"
#include "ctld/node/powerexcept.h"
#include "model/cluster.h"

#define POWER_NEVER UINT32_MAX /* SuspendTime=INFINITE */

/* ---- rates ----------------------------------------------------------------------------------- */

/* How many nodes may change now: those of a minute at once, so that a program hears of a big job's
 * nodes together, and from then on as many as time has passed for. */
struct power_rate {
    double left;   /* nodes that may change at once */
    int64_t at_us; /* as of then; 0: not used yet */
};
/* Take up to `wanted` nodes; per_min 0: all.  Gives how many. */
uint32_t power_rate_take(struct power_rate *r, uint32_t per_min, int64_t now_us, uint32_t wanted);

/* ---- choices --------------------------------------------------------------------------------- */

struct power_policy {
    uint32_t suspend_time_s; /* of the cluster; POWER_NEVER */
    const struct power_except *except;
};

/* Set in `out` (room for all nodes) the nodes without jobs that have been idle for so long that
 * they are to be powered down, and those whose partition has PowerDownOnIdle and whose last job is
 * over. */
int power_choose(const struct cluster *c, const struct power_policy *p, int64_t now_us,
                 struct bitmap *out);
