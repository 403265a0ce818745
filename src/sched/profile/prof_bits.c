/* prof_bits.c - for every slot, bitmaps of nodes by how much they have free; see profile.h.
 *
 * Level k has the nodes with at least 2^k free CPUs, the last level those on which none is held.  A
 * block is the intersection of PROF_BLOCK slots, so that long spans are filtered in few steps. */
#include "sched/profile/prof_bits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/profile/prof_data.h"
#include "sched/profile/prof_steps.h"
#include "sched/state/nodes.h"
#include "sched/state/sched_obj.h"

/* ---- making ---------------------------------------------------------------------------------- */

static void set_levels(const struct prof *pf, uint32_t slot, uint32_t id, uint32_t levels,
                       bool held)
{
    uint64_t bit = UINT64_C(1) << (id & 63);

    for (uint32_t k = 0; k <= pf->nlevels; k++) {
        uint64_t *w = level_words(pf, slot, k) + (id >> 6);

        if (k == pf->nlevels ? !held : k < levels)
            *w |= bit;
        else
            *w &= ~bit;
    }
}

static int count_bits(struct prof *pf)
{
    size_t n = (size_t)pf->nslots * (pf->nlevels + 1);

    pf->counts = calloc(n + 1, sizeof(*pf->counts));
    pf->idx = calloc(pf->nwords + 1, sizeof(*pf->idx));
    if (!pf->counts || !pf->idx)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        for (uint32_t w = 0; w < pf->nwords; w++)
            pf->counts[i] += (uint32_t)__builtin_popcountll(pf->bits[i * pf->nwords + w]);
    return 0;
}

static int make_blocks(struct prof *pf)
{
    size_t n = (size_t)(pf->nlevels + 1) * pf->nwords;

    pf->blocks = malloc((pf->nslots / PROF_BLOCK + 1) * n * sizeof(*pf->blocks) + 1);
    if (!pf->blocks)
        return -ENOMEM;
    for (uint32_t q = 0; q < pf->nslots; q++) {
        uint64_t *to = block_words(pf, q, 0);
        const uint64_t *from = level_words(pf, q, 0);

        if (q % PROF_BLOCK == 0)
            memcpy(to, from, n * sizeof(*to));
        for (size_t i = 0; q % PROF_BLOCK && i < n; i++)
            to[i] &= from[i];
    }
    return 0;
}

struct event {
    uint32_t slot, id, levels;
    bool held;
};

/* Every slot is the one before with the changes that come with it. */
int prof_bits_make(struct sched *s)
{
    struct prof *pf = s->prof;
    _cleanup_free_ uint32_t *at = calloc(pf->nslots + 1, sizeof(*at));
    _cleanup_free_ struct event *events = NULL;
    uint32_t total = 0;

    for (uint32_t id = 0; id < s->nnodes; id++)
        total += pf->nodes[id].n;
    events = malloc((total + 1) * sizeof(*events));
    pf->bits = calloc((size_t)pf->nslots * (pf->nlevels + 1) * pf->nwords + 1, sizeof(*pf->bits));
    if (!at || !events || !pf->bits)
        return -ENOMEM;
    for (uint32_t id = 0; id < s->nnodes; id++)
        for (uint32_t i = 0; i < pf->nodes[id].n; i++)
            at[step_at(&pf->nodes[id], i)->from + 1]++;
    for (uint32_t q = 0; q < pf->nslots; q++)
        at[q + 1] += at[q];
    for (uint32_t id = 0; id < s->nnodes; id++) {
        for (uint32_t i = 0; i < pf->nodes[id].n; i++) {
            const struct step *st = step_at(&pf->nodes[id], i);

            events[at[st->from]++] =
                (struct event){ .slot = st->from,
                                .id = id,
                                .levels = levels_of(pf, step_free(&s->nodes[id], st)),
                                .held = st->held };
        }
    }
    for (uint32_t q = 0, e = 0; q < pf->nslots; q++) {
        if (q)
            memcpy(level_words(pf, q, 0), level_words(pf, q - 1, 0),
                   (size_t)(pf->nlevels + 1) * pf->nwords * sizeof(uint64_t));
        for (; e < total && events[e].slot == q; e++)
            set_levels(pf, q, events[e].id, events[e].levels, events[e].held);
    }
    return count_bits(pf) < 0 ? -ENOMEM : make_blocks(pf);
}

/* ---- less is free ---------------------------------------------------------------------------- */

static void lose_levels(struct prof *pf, const struct lost *l)
{
    uint64_t mask = ~l->nodes;
    uint32_t n = (uint32_t)__builtin_popcountll(l->nodes);

    for (uint32_t q = l->from; q < l->until; q++) {
        uint64_t *w = level_words(pf, q, 0) + pf->lost_word,
                 *b = block_words(pf, q, 0) + pf->lost_word;
        uint32_t *counts = pf->counts + (size_t)q * (pf->nlevels + 1);

        for (uint32_t k = l->level; k < l->before; k++) {
            w[(size_t)k * pf->nwords] &= mask;
            b[(size_t)k * pf->nwords] &= mask;
            counts[k] -= n;
        }
        if (l->idle) {
            w[(size_t)pf->nlevels * pf->nwords] &= mask;
            b[(size_t)pf->nlevels * pf->nwords] &= mask;
            counts[pf->nlevels] -= n;
        }
    }
}

void prof_bits_flush(struct prof *pf)
{
    for (uint32_t i = 0; i < pf->nlost; i++)
        lose_levels(pf, &pf->lost[i]);
    pf->nlost = pf->lost_at = 0;
}

/* Neighbours mostly lose the same, so that their changes come in the same order. */
static struct lost *find_lost(struct prof *pf, const struct lost *like)
{
    for (uint32_t i = 0; i < pf->nlost; i++) {
        uint32_t at = pf->lost_at + i < pf->nlost ? pf->lost_at + i : pf->lost_at + i - pf->nlost;
        const struct lost *l = &pf->lost[at];

        if (l->from == like->from && l->until == like->until && l->level == like->level &&
            l->before == like->before && l->idle == like->idle) {
            pf->lost_at = at + 1 < pf->nlost ? at + 1 : 0;
            return &pf->lost[at];
        }
    }
    return NULL;
}

void prof_bits_refresh(struct sched *s, uint32_t id, const struct step *st, uint32_t until,
                       uint32_t before, bool held_before)
{
    struct prof *pf = s->prof;
    struct lost l = { .from = st->from,
                      .until = until,
                      .level = levels_of(pf, step_free(&s->nodes[id], st)),
                      .before = before,
                      .idle = !held_before };
    struct lost *same;

    if (l.level >= l.before && !l.idle)
        return;
    if (pf->nlost && pf->lost_word != id >> 6)
        prof_bits_flush(pf);
    pf->lost_word = id >> 6;
    same = find_lost(pf, &l);
    if (!same) {
        if (pf->nlost == PROF_LOST_MAX)
            prof_bits_flush(pf);
        same = &pf->lost[pf->nlost++];
        *same = l;
        pf->lost_at = 0;
    }
    same->nodes |= UINT64_C(1) << (id & 63);
}

void prof_levels(const struct sched *s, uint32_t id, uint8_t levels[PROF_SLOTS_MAX])
{
    const struct prof *pf = s->prof;
    const struct pnode *pn = &pf->nodes[id];
    uint32_t q = 0;

    for (uint32_t i = pn->n; i-- > 0;) {
        const struct step *st = step_at(pn, i);
        uint8_t level =
            (uint8_t)(levels_of(pf, step_free(&s->nodes[id], st)) | (st->held ? PROF_HELD : 0));

        for (uint32_t end = i ? step_at(pn, i - 1)->from : pf->nslots; q < end; q++)
            levels[q] = level;
    }
}

/* In slot q the node reaches other levels. */
static void change_slot(const struct prof *pf, uint32_t q, uint32_t id, uint8_t was, uint8_t is)
{
    uint32_t *counts = pf->counts + (size_t)q * (pf->nlevels + 1);
    uint32_t a = was & ~PROF_HELD, b = is & ~PROF_HELD;

    set_levels(pf, q, id, b, is & PROF_HELD);
    for (uint32_t k = b; k < a; k++)
        counts[k]--;
    for (uint32_t k = a; k < b; k++)
        counts[k]++;
    counts[pf->nlevels] += !(is & PROF_HELD);
    counts[pf->nlevels] -= !(was & PROF_HELD);
}

void prof_bits_change(struct sched *s, uint32_t id, const uint8_t was[PROF_SLOTS_MAX],
                      const uint8_t is[PROF_SLOTS_MAX])
{
    const struct prof *pf = s->prof;
    uint64_t bit = UINT64_C(1) << (id & 63);

    for (uint32_t first = 0; first < pf->nslots; first += PROF_BLOCK) {
        uint32_t end = MIN(first + PROF_BLOCK, pf->nslots);
        bool changed = false;

        for (uint32_t q = first; q < end; q++) {
            if (was[q] == is[q])
                continue;
            change_slot(pf, q, id, was[q], is[q]);
            changed = true;
        }
        for (uint32_t k = 0; changed && k <= pf->nlevels; k++) {
            uint64_t all = bit, *b = block_words(pf, first, k) + (id >> 6);

            for (uint32_t q = first; q < end; q++)
                all &= level_words(pf, q, k)[id >> 6];
            *b = (*b & ~bit) | all;
        }
    }
}
