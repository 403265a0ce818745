/* rng.c - see rng.h */
#include "sim/rng.h"

#include <math.h>

double rng_normal(struct rng *r)
{
    double radius = sqrt(-2.0 * log(rng_unit(r)));

    return radius * cos(2.0 * M_PI * rng_unit(r));
}

double rng_exponential(struct rng *r, double mean)
{
    return -mean * log(rng_unit(r));
}

/* Squeeze by Marsaglia and Tsang: a cube of a shifted normal, accepted nearly always; a shape below
 * one is that of shape + 1 times a power of a uniform. */
double rng_gamma(struct rng *r, double shape, double scale)
{
    double small = shape < 1.0 ? pow(rng_unit(r), 1.0 / shape) : 1.0;
    double d = (shape < 1.0 ? shape + 1.0 : shape) - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);

    for (;;) {
        double x = rng_normal(r), v = 1.0 + c * x;

        if (v <= 0)
            continue;
        v = v * v * v;
        if (log(rng_unit(r)) < 0.5 * x * x + d - d * v + d * log(v))
            return small * scale * d * v;
    }
}
