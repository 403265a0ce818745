/* sh5csv.h - series of a job's file as text */
#pragma once

#include <stdio.h>

#include "base/err.h"
#include "cli/sh5util/sh5ids.h"
#include "h5/h5lib.h"
#include "h5/h5samples.h"

struct sh5series {        /* which */
    bool kinds[H5_KINDS]; /* by enum h5_kind */
    bool one_task;        /* of the tasks `task` alone */
    char task[16];
    const char *node; /* NULL: of all nodes */
};

/* "Energy", "Filesystem", "Network", "Task", "Task_3"; NULL: all.  node stays what it is.
 * -EINVAL. */
int sh5series_read(const char *text, struct sh5series *s);
/* A line for each sample, behind a line that names the columns. */
int sh5csv_write(const struct h5_api *api, h5_id file, const struct sh5ids *ids,
                 const struct sh5series *which, FILE *to, struct err *err);
/* The names of the items of these series, a line each. */
int sh5csv_items(const struct h5_api *api, h5_id file, const struct sh5ids *ids,
                 const struct sh5series *which, FILE *to, struct err *err);
