/* complog.h - the log of ended runs that jobcomp/filetxt writes, read back: sacct --completion
 *
 * A line has KEY=VALUE pairs in a fixed order; values may have blanks.  Keys are looked for in that
 * order, each behind the one before, so a value ends where the next key begins. */
#pragma once

#include <stddef.h>

#include "api.pb-c.h"

#define COMPLOG_LINE_MAX (256u << 10) /* longer lines are no records */

/* The record of a line, which is changed.  The caller frees it with
 * pst__acct_job__free_unpacked().  Errors: -EBADMSG no record, -ENOMEM. */
int complog_parse(char *line, Pst__AcctJob **ret);

/* Called for each record, in the order of the file; the record is the reader's. */
typedef int complog_fn(void *ctx, Pst__AcctJob *job);
/* Read the file.  Lines that are no records are skipped and counted in *ret_bad.  0, what fn
 * returned if negative, or a negative errno of the file. */
int complog_read(const char *path, complog_fn *fn, void *ctx, size_t *ret_bad);
