/* moment.h - a moment of the past in a controller's journal
 *
 * Reads files only; may run beside the controller that writes them. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct moment {
    uint64_t lsn;    /* the last record that counts */
    int64_t time_us; /* the time that is shown */
};
/* The moment that `text` names: a record's number (digits alone), or a time as --begin takes it.
 * Errors: -EINVAL no moment, or one to come, -ENOENT the log does not reach back so far; with a
 * sentence. */
int moment_find(const char *dir, const char *text, int64_t now_us, struct moment *ret,
                struct err *err);
/* Of the first record at or behind this time, from the beginning of the log; UINT64_MAX: none. */
int moment_first(const char *dir, int64_t time_us, uint64_t *ret_lsn, struct err *err);
