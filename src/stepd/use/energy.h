/* energy.h - what this machine uses, from counters that the kernel keeps
 *
 * RAPL: the power capping zones of processors and memory.  Their counters go round, some within
 * minutes.  pm_counters: a Cray node's own counter.  For slurmd and for step daemons. */
#pragma once

#include <stdint.h>

#define ENERGY_ZONES_MAX 64u
#define ENERGY_LOOK_MAX_S 60u /* between two looks: shorter than any counter needs to go round */

enum energy_kind { ENERGY_NONE, ENERGY_RAPL, ENERGY_PM_COUNTERS };

struct energy {
    struct {
        char path[256];       /* of the counter */
        uint64_t last, range; /* as it counts; range 0: it does not go round, or unknown */
    } zones[ENERGY_ZONES_MAX];
    unsigned n;
    uint64_t unit_uj;  /* of what the counters count */
    uint64_t first_uj; /* what they said at energy_begin() */
    uint64_t used_uj;  /* since then */
};

/* Find the counters below `root`, the folder that stands for "/"; of RAPL those of the packages,
 * and of the memory beside them.  Errors: why none can be read (-ENOENT: there are none); n is 0.
 */
int energy_begin(struct energy *e, enum energy_kind kind, const char *root);
/* Add what was used since the last time. */
void energy_look(struct energy *e);
/* Where counters of this kind are, without `root`. */
const char *energy_place(enum energy_kind kind);
