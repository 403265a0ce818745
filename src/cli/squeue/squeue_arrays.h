/* squeue_arrays.h - arrays whose waiting tasks are in several records, a line each
 *
 * A task that was changed or held has a record of its own from then on.  While it waits, and has
 * the name and the partition of its array's own record, a list without --array tells it in the
 * array's line, with what the array's record says; the reasons of all are told.  Records come in
 * the order of their ids, so that the array's own is the first.  One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/query/out_job.h"

struct job_arrays {            /* zero-initialised is empty */
    struct array_line **lines; /* by the arrays' ids */
    size_t n, cap;
};

/* 1: the row is told with its array's line, by job_arrays_end(), 0: it is not, or -ENOMEM.  What
 * the row's pointers but the job point to must stay until then. */
int job_arrays_take(struct job_arrays *a, const struct job_row *row);
/* Give each line that was kept, and empty a.  Errors: -ENOMEM. */
int job_arrays_end(struct job_arrays *a, void (*fn)(void *ctx, struct job_row *row), void *ctx);
/* Tasks that left their array's record together, and have no line of several. */
bool job_is_split_set(const Pst__JobRecord *j);
