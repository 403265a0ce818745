/* tally.c - how many jobs of a user, association, partition a backfill has looked at.
 *
 * One table of open addressing for all keys, emptied at the start of a run; costs nothing while no
 * limit is set. */
#include "sched/base/tally.h"

#include <errno.h>
#include <stdlib.h>

void tally_done(struct tally *t)
{
    free(t->slots);
    *t = (struct tally){ 0 };
}

void tally_reset(struct tally *t)
{
    for (uint32_t i = 0; t->n && i < t->nslots; i++)
        t->slots[i] = (struct tally_slot){ 0 };
    t->n = 0;
}

static struct tally_slot *find_slot(const struct tally *t, uint64_t key)
{
    uint32_t i = (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (t->nslots - 1);

    while (t->slots[i].count && t->slots[i].key != key)
        i = (i + 1) & (t->nslots - 1);
    return &t->slots[i];
}

static int grow_tally(struct tally *t)
{
    struct tally old = *t;

    t->nslots = old.nslots ? old.nslots * 2 : 64;
    t->slots = calloc(t->nslots, sizeof(*t->slots));
    if (!t->slots) {
        *t = old;
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < old.nslots; i++)
        if (old.slots[i].count)
            *find_slot(t, old.slots[i].key) = old.slots[i];
    free(old.slots);
    return 0;
}

int tally_count(struct tally *t, enum tally_kind kind, uint32_t a, uint32_t b, uint32_t *ret)
{
    struct tally_slot *slot;
    int r = (t->n + 1) * 2 > t->nslots ? grow_tally(t) : 0;

    if (r < 0)
        return r;
    slot = find_slot(t, ((uint64_t)kind << 62) ^ ((uint64_t)b << 32) ^ a);
    if (!slot->count++) {
        slot->key = ((uint64_t)kind << 62) ^ ((uint64_t)b << 32) ^ a;
        t->n++;
    }
    *ret = slot->count;
    return 0;
}
