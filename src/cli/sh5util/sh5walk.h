/* sh5walk.h - the series of a job's file, one after the other */
#pragma once

#include <stdio.h>

#include "base/err.h"
#include "cli/sh5util/sh5ids.h"
#include "h5/h5lib.h"
#include "h5/h5samples.h"

#define SH5_COLUMNS_MAX 64u
#define SH5_NAME_SIZE 256u
#define SH5_ELAPSED "ElapsedTime" /* the column */

struct sh5series {        /* which */
    bool kinds[H5_KINDS]; /* by enum h5_kind */
    bool one_task;        /* of the tasks `task` alone */
    char task[16];
    const char *node; /* NULL: of all nodes */
};

/* "Energy", "Filesystem", "Network", "Task", "Task_3"; NULL: all.  node stays what it is.
 * -EINVAL. */
int sh5series_read(const char *text, struct sh5series *s);
/* May there be several in a node? */
bool sh5series_many(const struct sh5series *s);

struct sh5columns {
    char names[SH5_COLUMNS_MAX][SH5_NAME_SIZE];
    bool real[SH5_COLUMNS_MAX]; /* else a whole number */
    size_t n;
    h5_id type; /* in memory: cells of 8 bytes */
};

struct sh5table { /* a series of a step on a node */
    const struct h5_api *api;
    h5_id data;
    const char *step, *node;
    const char *name; /* "Energy", "Task_3" */
    const struct sh5columns *columns;
};

/* In the order of the file's names: steps, nodes, series.  < 0 ends the walk. */
typedef int sh5table_fn(void *ctx, const struct sh5table *t);
/* cells: rows times columns. */
typedef void sh5rows_fn(void *ctx, const struct sh5table *t, const union h5_cell *cells,
                        size_t rows);

/* -ENOENT: there is no such series; what fn gave, with the sentence that fn has set or one of its
 * own. */
int sh5walk(const struct h5_api *api, h5_id file, const struct sh5ids *ids,
            const struct sh5series *which, sh5table_fn *fn, void *ctx, struct err *err);
/* All rows, block by block.  -EIO, -ENOMEM. */
int sh5walk_rows(const struct sh5table *t, sh5rows_fn *fn, void *ctx);
/* A name out of the file, quoted for comma-separated values. */
void sh5walk_name(FILE *to, const char *name);
