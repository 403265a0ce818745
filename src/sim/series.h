/* series.h - quantities over time, in bins
 *
 * A quantity holds from when it is set until it is set again.  Each bin keeps its exact integral;
 * when time runs past the last bin, neighbours are merged and bins become twice as wide, so that
 * memory stays the same however long a run is.  Pure data. */
#pragma once

#include <stdint.h>

#define SERIES_BINS 2048u

enum series_kind {
    SERIES_USED,     /* CPUs given to jobs */
    SERIES_QUEUE,    /* jobs waiting */
    SERIES_RUNNING,  /* jobs */
    SERIES_STRANDED, /* free CPUs beside used ones while jobs wait */
    SERIES_FREE,     /* free CPUs while jobs wait */
    SERIES_WAITED,   /* CPUs asked for by waiting jobs */
    SERIES_BROKEN,   /* fragmentation score of the machine's blocks, see topofrag.h */
    SERIES_MAX_
};

struct series {
    int64_t begin_us, width_us, at_us;    /* at: up to which the bins are filled */
    double now[SERIES_MAX_];              /* in force since at_us */
    double sum[SERIES_BINS][SERIES_MAX_]; /* times seconds */
    double most[SERIES_MAX_];             /* largest value held for some time */
};

void series_init(struct series *s, int64_t begin_us);
void series_to(struct series *s,
               int64_t at_us); /* what is in force held until then; never goes back */
void series_set(struct series *s, enum series_kind kind, double value); /* from at_us on */
uint32_t series_used_bins(const struct series *s);
double series_mean(const struct series *s, enum series_kind kind,
                   uint32_t bin); /* of the bin's filled part */
double series_total(const struct series *s,
                    enum series_kind kind); /* integral over all of it, times seconds */
