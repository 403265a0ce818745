/* rng.h - reproducible random numbers for the generators
 *
 * A 64-bit state walked by a Weyl sequence and scrambled (splitmix64): the same seed gives the same
 * numbers on every machine; the derived ones use libm and are the same wherever libm is.  Pure
 * data, one thread per object. */
#pragma once

#include <stdint.h>

struct rng {
    uint64_t state;
};

static inline uint64_t rng_next(struct rng *r)
{
    uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}
/* In (0, 1): never an end, so that log() is safe. */
static inline double rng_unit(struct rng *r)
{
    return ((double)(rng_next(r) >> 12) + 0.5) * 0x1p-52;
}
static inline uint32_t rng_below(struct rng *r, uint32_t n) /* n > 0 */
{
    return (uint32_t)(rng_unit(r) * n);
}
double rng_normal(struct rng *r);
double rng_exponential(struct rng *r, double mean);
double rng_gamma(struct rng *r, double shape, double scale); /* shape > 0; mean shape * scale */
