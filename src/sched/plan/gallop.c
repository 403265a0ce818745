/* gallop.c - steps that double, then bisection; see gallop.h. */
#include "sched/plan/gallop.h"

int gallop(uint32_t n, gallop_fn *fn, void *ctx, uint32_t *ret_at)
{
    uint32_t no = 0, yes = 0; /* yes: the first of places known to be alike */

    for (uint32_t step = 1; (!yes && no < n) || (yes && yes > no + 1); step *= 2) {
        uint32_t at = yes ? no + (yes - no) / 2 : n - no > step ? no + step : n;
        uint32_t lo = at - 1, hi = at;
        int r = fn(ctx, at, &lo, &hi);

        if (r < 0)
            return r;
        if (r)
            yes = lo + 1;
        else
            no = hi;
    }
    *ret_at = yes;
    return 0;
}
