/* prof_bits.h - for every slot, bitmaps of nodes by how much they have free */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "sched/profile/prof_data.h"
#include "sched/state/jobs.h"

struct sched;

#define PROF_HELD 0x80u

static inline uint64_t *level_words(const struct prof *pf, uint32_t slot, uint32_t level)
{
    return pf->bits + ((size_t)slot * (pf->nlevels + 1) + level) * pf->nwords;
}

static inline uint64_t *block_words(const struct prof *pf, uint32_t slot, uint32_t level)
{
    return pf->blocks + ((size_t)(slot / PROF_BLOCK) * (pf->nlevels + 1) + level) * pf->nwords;
}

/* Levels a node reaches with so many free CPUs. */
static inline uint32_t levels_of(const struct prof *pf, uint32_t free_cpus)
{
    uint32_t k = free_cpus ? 64 - (uint32_t)__builtin_clzll(free_cpus) : 0;

    return MIN(k, pf->nlevels);
}

int prof_bits_make(struct sched *s);
void prof_bits_flush(struct prof *pf);
/* The step st, which lasts until that slot, has less free than before.  In force after
 * prof_bits_flush(). */
void prof_bits_refresh(struct sched *s, uint32_t id, const struct step *st, uint32_t until,
                       uint32_t before, bool held_before);
void prof_levels(const struct sched *s, uint32_t id, uint8_t levels[PROF_SLOTS_MAX]);
void prof_bits_change(struct sched *s, uint32_t id, const uint8_t was[PROF_SLOTS_MAX],
                      const uint8_t is[PROF_SLOTS_MAX]);
