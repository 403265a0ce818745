/* watchproj.h - the journal seen as changes: old and new values of the fields people watch
 *
 * Reads the log with a cursor of its own and keeps, for each job, node and partition, the values of
 * those fields as of the record read last (some hundred bytes a job).  Starts from a snapshot file
 * at or before the place wanted, so it needs nothing from the core.  One thread at a time per
 * object. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#include "watch.pb-c.h"

struct watchproj;

struct watchproj *watchproj_free(struct watchproj *p);
/* Stand behind `lsn`: the next change given is of a later record.  Errors: -ENOENT the log does not
 * reach back so far, -EUCLEAN damage, -ENOMEM; err has the sentence. */
int watchproj_open(const char *journal_dir, uint64_t lsn, struct watchproj **ret, struct err *err);
/* Read the next record, up to limit_lsn: 1 and fn was called for each of its changes, 0 none there
 * yet.  A change is borrowed for the call; states is 1 << each base state of a job, before and
 * after.  fn < 0 ends it. */
typedef int watchproj_fn(void *ctx, const Pst__WatchChange *change, uint32_t states);
int watchproj_next(struct watchproj *p, uint64_t limit_lsn, watchproj_fn *fn, void *ctx,
                   struct err *err);
/* The record read last. */
uint64_t watchproj_lsn(const struct watchproj *p);
