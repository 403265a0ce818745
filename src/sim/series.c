/* series.c - see series.h */
#include "sim/series.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"

void series_init(struct series *s, int64_t begin_us)
{
    memset(s, 0, sizeof(*s));
    s->begin_us = s->at_us = begin_us;
    s->width_us = USEC_PER_SEC;
}

static void widen_bins(struct series *s)
{
    for (uint32_t i = 0; i < SERIES_BINS / 2; i++)
        for (uint32_t k = 0; k < SERIES_MAX_; k++)
            s->sum[i][k] = s->sum[2 * i][k] + s->sum[2 * i + 1][k];
    memset(s->sum[SERIES_BINS / 2], 0, SERIES_BINS / 2 * sizeof(s->sum[0]));
    s->width_us *= 2;
}

void series_to(struct series *s, int64_t at_us)
{
    if (at_us <= s->at_us)
        return;
    while ((at_us - s->begin_us - 1) / s->width_us >= SERIES_BINS)
        widen_bins(s);
    for (uint32_t k = 0; k < SERIES_MAX_; k++)
        s->most[k] = MAX(s->most[k], s->now[k]);
    while (s->at_us < at_us) {
        int64_t bin = (s->at_us - s->begin_us) / s->width_us;
        int64_t until = MIN(at_us, s->begin_us + (bin + 1) * s->width_us);
        double seconds = (double)(until - s->at_us) / (double)USEC_PER_SEC;

        for (uint32_t k = 0; k < SERIES_MAX_; k++)
            s->sum[bin][k] += s->now[k] * seconds;
        s->at_us = until;
    }
}

void series_set(struct series *s, enum series_kind kind, double value)
{
    s->now[kind] = value;
}

uint32_t series_used_bins(const struct series *s)
{
    return (uint32_t)((s->at_us - s->begin_us + s->width_us - 1) / s->width_us);
}

double series_mean(const struct series *s, enum series_kind kind, uint32_t bin)
{
    int64_t from = s->begin_us + bin * s->width_us, to = MIN(from + s->width_us, s->at_us);

    return to > from ? s->sum[bin][kind] * (double)USEC_PER_SEC / (double)(to - from) : 0;
}

double series_total(const struct series *s, enum series_kind kind)
{
    double sum = 0;

    for (uint32_t i = 0; i < SERIES_BINS; i++)
        sum += s->sum[i][kind];
    return sum;
}
