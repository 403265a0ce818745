/* archive.h - old rows leave the store, into files that load back
 *
 * A file holds rows of one table of one cluster: CLUSTER_KIND_archive_START_END.  It is on disk
 * before its rows are gone; loading puts them back, as often as one likes, into the store that they
 * came from. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acct/sql/sql.h"
#include "base/err.h"
#include "base/strbuf.h"

struct archive_what {
    /* purge what is older than so many hours; 0 = keep it */
    uint64_t event_h, job_h, resv_h, step_h, suspend_h, txn_h, usage_h, script_h, env_h;
    /* and write it to a file before */
    bool events, jobs, resvs, steps, suspends, txns, usage, scripts, envs;
    const char *dir;
    uint64_t limit; /* jobs purged in one transaction */
};

/* What ended before this time is purged at now_us: whole hours ago.  0: nothing. */
int64_t acct_archive_cut(int64_t now_us, uint64_t hours);
/* Purge all sources.  Appends the paths of files written, each with a newline.  What was done
 * before an error stays done.  Errors: of sql.h and of files. */
int acct_archive(struct sql *db, const struct archive_what *what, int64_t now_us,
                 struct strbuf *files, uint64_t *ret_rows, struct err *err);
/* Errors: -EINVAL not such a file, or of another store. */
int acct_archive_load(struct sql *db, const char *path, uint64_t *ret_rows, struct err *err);
