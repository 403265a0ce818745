/* watchfollow.h - follow changes: what `squeue --watch` and `scontrol watch` share */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/base/cli.h"
#include "cli/query/out_filter.h"

#include "watch.pb-c.h"

struct watch_options {
    struct cli *cli;
    uint32_t entities;      /* 1 << WATCH_JOB ... */
    Pst__JobFilter *jobs;   /* of the snapshot; may be NULL */
    bool all_states;        /* changes of jobs in whatever state */
    struct filter_ids *ids; /* tasks of arrays; may be NULL */
    const char *nodes;      /* hostlist, or NULL */
    char **partitions;      /* names, for partition records */
    size_t n_partitions;
    bool json;
    bool changes_only;
    const char *since; /* "lsn" or "lsn.index", or NULL */
};

/* Check "lsn" or "lsn.index".  Errors: -EINVAL. */
int watch_cursor_parse(const char *text, uint64_t *ret_lsn, uint32_t *ret_index);
/* Print until interrupted; gives the exit status. */
int watch_follow(const struct watch_options *o);
