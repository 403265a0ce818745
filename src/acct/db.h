/* db.h - the accounting database as a file: connections, schema versions, errors; acct/ only */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define ACCT_SCHEMA_VERSION 1
#define ACCT_OPEN_END INT64_MAX /* jobs.end_us of a run that is not over */

/* The writing connection: made when missing, in write-ahead mode, migrated.  *ret_db is the
 * caller's. */
int acct_db_open(const char *path, sqlite3 **ret_db, struct err *err);
/* A connection that only reads.  -ENOENT: no such file. */
int acct_db_open_reader(const char *path, sqlite3 **ret_db, struct err *err);
int acct_db_exec(sqlite3 *db, const char *sql);
int acct_db_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret_stmt);
/* Run a statement that gives no rows; it is reset and ready again. */
int acct_db_run(sqlite3_stmt *stmt);
/* The negative errno of what db reported last. */
int acct_db_errno(sqlite3 *db);

/* Special steps sort before ordinary ones: the number a step is stored under. */
int64_t acct_step_order(uint32_t step_id);
