/* histogram.h - how often something took how long
 *
 * Buckets double: the first holds 0 to 16, the last but one ends at 16 << 26, about 18 minutes of
 * microseconds; the last holds the rest.  Any thread may add while another reads: the reader sees
 * each count as of some moment during its reading. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#define HISTOGRAM_BUCKETS 28u

struct histogram { /* zero-initialised is empty */
    atomic_uint_fast64_t counts[HISTOGRAM_BUCKETS];
    atomic_uint_fast64_t sum;
};

#define HISTOGRAM_FIRST_BITS 4u /* the first bucket ends at 1 << that */

/* The largest value of bucket i; UINT64_MAX for the last. */
static inline uint64_t histogram_bound(unsigned i)
{
    return i + 1 < HISTOGRAM_BUCKETS ? UINT64_C(1) << (HISTOGRAM_FIRST_BITS + i) : UINT64_MAX;
}

static inline unsigned histogram_bucket(uint64_t value)
{
    unsigned bits = value > 1 ? 64u - (unsigned)__builtin_clzll(value - 1) : 0;

    if (bits <= HISTOGRAM_FIRST_BITS)
        return 0;
    bits -= HISTOGRAM_FIRST_BITS;
    return bits < HISTOGRAM_BUCKETS ? bits : HISTOGRAM_BUCKETS - 1;
}

static inline void histogram_add(struct histogram *h, uint64_t value)
{
    atomic_fetch_add_explicit(&h->counts[histogram_bucket(value)], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&h->sum, value, memory_order_relaxed);
}
