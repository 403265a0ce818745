/* acct.h - the embedded accounting store: job and step records in SQLite
 *
 * Fed with the journal's transactions in order; the cursor is written in the same database transaction as
 * the rows, so no record is lost or doubled whenever the process dies.  One thread feeds; queries
 * use connections of their own and may run in any thread (one query per acct_query object at a time). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "api.pb-c.h"
#include "event.pb-c.h"

struct acct;

/* Open or make <path>; tables are made and migrated by version. */
int acct_open(const char *path, const char *cluster, struct acct **ret_acct, struct err *err);
struct acct *acct_close(struct acct *a);
uint64_t acct_cursor(const struct acct *a); /* lsn of the last transaction stored */

/* Apply one transaction (inside a batch).  Transactions at or below the cursor are skipped. */
int acct_begin(struct acct *a);
int acct_apply(struct acct *a, uint64_t lsn, const Pst__Transaction *tx, struct err *err);
int acct_commit(struct acct *a); /* batch and cursor become durable */

/* Run the filter, oldest job first; fn gets each record (borrowed); fn < 0 stops. */
typedef int acct_row_fn(void *ctx, const Pst__AcctJob *job);
int acct_query(const char *path, const Pst__AcctFilter *filter, int64_t now_us, acct_row_fn *fn, void *ctx,
               struct err *err);
