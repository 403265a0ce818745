/* gres_int.h - what the sources about devices share */
#pragma once

#include "sched/sched_int.h"

static inline bool bit_in(const uint64_t *words, uint32_t nwords, uint32_t at)
{
    return at / 64 < nwords && (words[at >> 6] >> (at & 63) & 1);
}

/* Bits set in [first, first + count). */
uint32_t gres_count(const uint64_t *words, uint32_t first, uint32_t count);

/* gresbind.c: CPUs near a device of the row, or one whose share it is; NULL: all. */
const uint64_t *gres_near(const struct node *n, const struct gres_row *row, uint32_t device);
/* gresbind.c: lower f->tasks to those that have CPUs near the devices.  False: none. */
bool gres_fit_bound(const struct pick *p, uint32_t id, const struct geometry *g, struct fit *f);
