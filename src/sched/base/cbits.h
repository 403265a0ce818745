/* cbits.h - a bit set that remembers how often each bit is held */
#pragma once

#include <stdint.h>

/* A bit set that remembers how often each bit is held. */
struct cbits {
    uint64_t *bits;
    uint16_t *extra; /* holders beyond the first */
    uint32_t n, nwords;
    uint32_t nextra; /* sum of extra */
};

static inline uint32_t count_words(const uint64_t *w, uint32_t n)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < n; i++)
        sum += (uint32_t)__builtin_popcountll(w[i]);
    return sum;
}

int cbits_init(struct cbits *cb, uint32_t n);
void cbits_done(struct cbits *cb);
void cbits_take(struct cbits *cb, const uint64_t *bits, uint32_t nwords);
void cbits_release(struct cbits *cb, const uint64_t *bits, uint32_t nwords);
