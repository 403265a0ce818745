/* cbits.c - bit sets that remember how often each bit is held.
 *
 * Held twice is rare (sharing partitions, a job resumed onto CPUs given away), so the counts are
 * touched only when bits overlap or some bit is held more than once.  Take and release are exact
 * inverses in any order. */
#include "sched/base/cbits.h"

#include <errno.h>
#include <stdlib.h>

int cbits_init(struct cbits *cb, uint32_t n)
{
    *cb = (struct cbits){ .n = n, .nwords = (n + 63) / 64 };
    cb->bits = calloc(cb->nwords + 1, sizeof(*cb->bits));
    cb->extra = calloc(n + 1, sizeof(*cb->extra));
    if (cb->bits && cb->extra)
        return 0;
    cbits_done(cb);
    return -ENOMEM;
}

void cbits_done(struct cbits *cb)
{
    free(cb->bits);
    free(cb->extra);
    *cb = (struct cbits){ 0 };
}

/* Word w of bits, without those beyond the set's end. */
static uint64_t word_within(const struct cbits *cb, const uint64_t *bits, uint32_t w)
{
    uint32_t tail = w + 1 == cb->nwords ? cb->n % 64 : 0;

    return tail ? bits[w] & ((UINT64_C(1) << tail) - 1) : bits[w];
}

void cbits_take(struct cbits *cb, const uint64_t *bits, uint32_t nwords)
{
    for (uint32_t w = 0; w < nwords && w < cb->nwords; w++) {
        uint64_t add = word_within(cb, bits, w), twice = cb->bits[w] & add;

        for (; twice; twice &= twice - 1) {
            cb->extra[w * 64 + (uint32_t)__builtin_ctzll(twice)]++;
            cb->nextra++;
        }
        cb->bits[w] |= add;
    }
}

void cbits_release(struct cbits *cb, const uint64_t *bits, uint32_t nwords)
{
    for (uint32_t w = 0; w < nwords && w < cb->nwords; w++) {
        uint64_t gone = word_within(cb, bits, w);

        for (uint64_t m = cb->nextra ? gone : 0; m; m &= m - 1) {
            uint32_t b = (uint32_t)__builtin_ctzll(m);

            if (cb->extra[w * 64 + b]) {
                cb->extra[w * 64 + b]--;
                cb->nextra--;
                gone &= ~(UINT64_C(1) << b);
            }
        }
        cb->bits[w] &= ~gone;
    }
}
