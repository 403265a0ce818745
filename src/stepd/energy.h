/* energy.h - what the processors and memory of this machine use, from the kernel's power capping
 * zones (RAPL)
 *
 * Counters go round: they must be looked at every few minutes. */
#pragma once

#include <stdint.h>

#define ENERGY_ZONES_MAX 64u

struct energy {
    struct {
        char path[256];
        uint64_t last_uj, range_uj; /* range 0: unknown */
    } zones[ENERGY_ZONES_MAX];
    unsigned n;
    uint64_t used_uj; /* since energy_begin() */
};

/* Find the zones below `root`, the folder that stands for "/": the packages, and the memory beside
 * them.  None that can be read: n is 0. */
void energy_begin(struct energy *e, const char *root);
/* Add what was used since the last time. */
void energy_look(struct energy *e);
