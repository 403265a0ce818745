/* prof_filter.c - candidates for a span of slots, from the bitmaps alone */
#include "sched/profile/prof_filter.h"

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "sched/profile/prof_bits.h"
#include "sched/profile/prof_data.h"
#include "sched/state/question.h"
#include "sched/state/sched_obj.h"

/* One slot or block, of the words of mask in pf->idx; those that become empty leave it.  Are as
 * many nodes left as it needs? */
static bool keep_slot(struct prof *pf, struct bitmap *mask, const uint64_t *w, uint32_t need,
                      uint32_t *n)
{
    uint32_t left = 0, kept = 0;

    for (uint32_t i = 0; i < *n; i++) {
        uint32_t at = pf->idx[i];
        uint64_t m = mask->words[at] & w[at];

        mask->words[at] = m;
        if (m) {
            pf->idx[kept++] = at;
            if (kept + left < need) /* each word has one at least */
                left += (uint32_t)__builtin_popcountll(m) - 1;
        }
    }
    *n = kept;
    return kept + left >= need;
}

bool prof_filter(struct pick *p, struct bitmap *mask, bool idle, uint64_t cpus, uint32_t need)
{
    struct prof *pf = p->s->prof;
    uint32_t level = cpus > 1 ? 63 - (uint32_t)__builtin_clzll(cpus) : 0, n = 0;
    uint32_t end = MIN(p->until, pf->nslots);

    level = idle ? pf->nlevels : MIN(level, pf->nlevels - 1);
    for (uint32_t q = end; q-- > p->from;) {
        if (pf->counts[(size_t)q * (pf->nlevels + 1) + level] < need) {
            p->next = MIN(p->next, q + 1);
            return false;
        }
    }
    for (uint32_t i = 0; i < mask->nwords; i++)
        if (mask->words[i])
            pf->idx[n++] = i;
    /* The first slot has least, as a rule: most searches end there, and few words are left for the
     * others. */
    p->next = MIN(p->next, p->from + 1);
    for (uint32_t q = p->from, step; q < end; q += step) {
        bool block = q % PROF_BLOCK == 0 && q + PROF_BLOCK <= end;

        step = block ? PROF_BLOCK : 1;
        if (!keep_slot(pf, mask, block ? block_words(pf, q, level) : level_words(pf, q, level),
                       need, &n))
            return false;
    }
    return true;
}

bool prof_filter_sum(struct pick *p, const struct bitmap *mask, uint64_t cpus, uint32_t max)
{
    struct prof *pf = p->s->prof;
    uint64_t even = cpus / MAX(max, 1u), low, need;

    p->low = 0;
    if (even < 2)
        return true;
    /* A node that does not reach this level adds less than low to the sum. */
    low = UINT64_C(1) << MIN(63 - (uint32_t)__builtin_clzll(even) - (even < pf->most_cpus),
                             pf->nlevels - 1);
    p->low = (uint32_t)low;
    if (cpus <= max * (low - 1))
        return true;
    need = (cpus - max * (low - 1) + pf->most_cpus - low) / (pf->most_cpus - low + 1);
    bitmap_copy(p->s->dup, mask);
    return prof_filter(p, p->s->dup, false, low, (uint32_t)MIN(need, (uint64_t)UINT32_MAX));
}
