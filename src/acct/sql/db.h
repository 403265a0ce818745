/* db.h - the accounting database: connections whose tables are there and up to date; acct/ only
 *
 * Tables belong to parts (jobs, usage, admin); each part has steps that lead from version to
 * version, run by acct_db_open(). */
#pragma once

#include <stdint.h>

#include "acct/sql/sql.h"
#include "base/err.h"

#define ACCT_OPEN_END INT64_MAX /* jobs.end_us of a run that is not over */

/* A run is numbered within its source (a cluster that feeds the store): these bits are the source's
 * id. */
#define ACCT_SOURCE_SHIFT 48
#define ACCT_RUNS_OF(source) ((int64_t)(source) << ACCT_SOURCE_SHIFT)

struct acct_schema {
    const char *name;
    unsigned version; /* of the newest release */
    /* [n] leads from version n to n + 1; released ones never change.  A server commits each
     * definition at once, so a definition may come a second time: IF NOT EXISTS */
    const char *const *steps;
};
extern const struct acct_schema acct_schema_usage; /* usage_schema.c */
extern const struct acct_schema acct_schema_admin; /* admin_schema.c */

/* The writing connection: made when missing, SQLite in write-ahead mode, migrated.  Errors: of
 * sql_open(), -EPROTONOSUPPORT a newer release's, -EINVAL another program's. */
int acct_db_open(const char *location, struct sql **ret_db, struct err *err);
/* A connection that only reads.  -ENOENT: no such file. */
int acct_db_open_reader(const char *location, struct sql **ret_db, struct err *err);

/* Special steps sort before ordinary ones: the number a step is stored under. */
int64_t acct_step_order(uint32_t step_id);
