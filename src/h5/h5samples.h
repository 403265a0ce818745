/* h5samples.h - lines of samples made into the series of a file
 *
 * What a step daemon says line by line (stepd/use/stepprof.h) becomes a table for each task and
 * each thing that is measured of the node: one row for each sample.  Pure; one thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define H5_COLUMNS_MAX 10u
#define H5_SERIES_MAX 65536u
#define H5_COLUMN_ELAPSED 0u /* seconds since the first sample of the step; a count */
#define H5_COLUMN_EPOCH 1u   /* seconds of Unix time; a count */

enum h5_kind { H5_TASK, H5_ENERGY, H5_FILESYSTEM, H5_NETWORK, H5_KINDS };

struct h5_table {
    const char *name; /* of the kind */
    struct h5_column {
        const char *name;
        bool real; /* else a whole number */
    } columns[H5_COLUMNS_MAX];
    size_t n;
};
extern const struct h5_table h5_tables[H5_KINDS];

union h5_cell {
    uint64_t count;
    double real;
};

struct h5_series {
    enum h5_kind kind;
    uint32_t task; /* of H5_TASK: its rank */
    union h5_cell *cells;
    size_t rows, room; /* rows of h5_tables[kind].n cells */
    /* the sample that its lines are added to */
    union h5_cell now[H5_COLUMNS_MAX];
    uint32_t seen; /* a bit for each column */
    int64_t ms;
};

struct h5_samples { /* all 0 to begin */
    struct h5_series *series;
    size_t n, room, last;
    int64_t first_ms;   /* with begun: Unix time */
    bool begun, failed; /* failed: there was no memory */
};

/* Add whole lines.  What is no sample is passed over.  -ENOMEM. */
int h5samples_add(struct h5_samples *s, const char *text, size_t len);
/* No line follows. */
int h5samples_end(struct h5_samples *s);
void h5samples_done(struct h5_samples *s);
