/* downgrade.h - a log that a newer release wrote becomes one that this release reads
 *
 * Records keep their numbers: consumers go on where they are. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* What this release can make of a record.  0: it stays as it is; 1: it becomes the *ret_len bytes
 * at *ret_data, borrowed until the next call; negative: the downgrade stops with that error. */
typedef int journal_rewrite_fn(void *ctx, const uint8_t *data, size_t len, const uint8_t **ret_data,
                               size_t *ret_len);

/* Write every segment and snapshot of a newer level (format.h) again, with the records that `fn`
 * makes, under the level of this release; the old files go to <dir>/journal/newer-<time>/.  No
 * controller may run.  Stopped half-way, the log is still refused by this release, and another
 * call goes on.  report: a line for people for each file.  Errors: -EBUSY a process has the
 * journal's lock, -EUCLEAN a file is damaged, -EPROTONOSUPPORT another format, what fn gives. */
int journal_downgrade(const char *dir, journal_rewrite_fn *fn, void *ctx,
                      void (*report)(void *ctx, const char *line), void *report_ctx,
                      struct err *err);
