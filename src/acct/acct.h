/* acct.h - the accounting store: job and step records in a database
 *
 * The database is a file of SQLite or on a MariaDB server; a location says which (sql.h).
 * Several clusters may feed one store; each is a source with runs, a cursor and a lock-free
 * place of its own.
 *
 * Fed with the journal's transactions in order; the cursor is written in the same database
 * transaction as the rows, so no record is lost or doubled whenever the process dies.  One thread
 * feeds; queries use connections of their own and may run in any thread, one at a time per
 * acct_rows object.
 *
 * A row is one run of a job: a requeue closes the row and opens another of the same job id. A
 * closed run that was merely sent back to the queue has the base state CANCELLED and the flag
 * REQUEUED alone, which names_job_state_word() prints as REQUEUED. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "api.pb-c.h"
#include "event.pb-c.h"

struct acct;

/* Value of AcctFilter.states that selects runs closed by a requeue; base states select the rest. */
#define ACCT_STATE_REQUEUED (32u + PST__JOB_FLAG__JOB_FLAG_REQUEUED)
/* Likewise the records of jobs that went on with another size. */
#define ACCT_STATE_RESIZING (32u + PST__JOB_FLAG__JOB_FLAG_RESIZING)
/* An encoded AcctJob stays below this, so that it fits a frame; steps beyond are left out. */
#define ACCT_JOB_MAX_BYTES (15u << 20)

/* Scripts and environments beyond this are not stored: they must fit a frame. */
#define ACCT_BLOB_MAX (8u << 20)

/* What is stored of what jobs bring; nodes, reservations and the cluster always are. */
enum acct_keep {
    ACCT_JOBS = 1u << 0,
    ACCT_STEPS = 1u << 1,
    ACCT_COMMENT = 1u << 2,
    ACCT_EXTRA = 1u << 3,
    ACCT_STDIO = 1u << 4, /* paths of standard streams */
    ACCT_SCRIPT = 1u << 5,
    ACCT_ENV = 1u << 6,
    ACCT_KEEP_ALL = (1u << 7) - 1,
};

/* Open or make the store at a location for one cluster alone; tables are made and migrated by
 * version. cluster may be NULL: whose it is.  Errors: -EPROTONOSUPPORT made by a newer release,
 * -EINVAL another program's database, -EEXIST another cluster's, -EUCLEAN damaged, -EBUSY
 * locked, -ENOSPC, -EIO, -ECONNREFUSED, -EACCES ... */
int acct_open(const char *location, const char *cluster, struct acct **ret_acct, struct err *err);
/* The same for one of many.  uuid (may be NULL) is the journal's: ClusterRecord.cluster_id.
 * When it is not the one stored, the cluster began anew: the cursor is 0 again and the old runs
 * stay. */
int acct_open_source(const char *location, const char *cluster, const char *uuid,
                     struct acct **ret_acct, struct err *err);
struct acct *acct_close(struct acct *a); /* always NULL; an open batch is undone */
DEFINE_CLEANUP(struct acct *, acct_close)
/* from the next transaction on; first ACCT_KEEP_ALL */
void acct_keep(struct acct *a, unsigned keep);
/* Of each run of a job the records of steps with smaller numbers alone, and those of its script,
 * its shell and its extern step; from the next transaction on, first UINT32_MAX. */
void acct_most_steps(struct acct *a, uint32_t most);
/* Would the record of this step be stored? */
bool acct_keeps_step(const Pst__StepRecord *step, uint32_t most);
/* Would this blob of the transaction be stored? */
bool acct_keeps_blob(const Pst__Transaction *tx, const Pst__Blob *blob, unsigned keep);
uint64_t acct_cursor(const struct acct *a); /* lsn of the last transaction stored */
int64_t acct_source(const struct acct *a);  /* number of the cluster in the store */
/* fn is told the WCKey of each job that starts ("": none) in transactions from now on.  It must not
 * block. */
typedef void acct_key_fn(void *ctx, const char *user, const char *key);
void acct_tell_keys(struct acct *a, acct_key_fn *fn, void *ctx);
/* Everything older than time_us has been applied (inside a batch); transactions say as much
 * themselves. */
void acct_fed(struct acct *a, int64_t time_us);

/* The cluster's controller has come back after it was gone since gone_us (0: that is of no
 * interest).  Outside of a batch. */
int acct_came_back(struct acct *a, int64_t gone_us, int64_t back_us);

/* Apply one transaction (inside a batch).  Transactions at or below the cursor are skipped, and so
 * are changes of jobs that are not known.  After an error of acct_apply or acct_commit the whole
 * batch is undone: go on with acct_begin at acct_cursor() + 1.  Errors as for acct_open. */
int acct_begin(struct acct *a);
int acct_apply(struct acct *a, uint64_t lsn, const Pst__Transaction *tx, struct err *err);
/* batch and cursor become durable; -ESTALE: another has fed the source meanwhile */
int acct_commit(struct acct *a);
const char *acct_error(const struct acct *a); /* why the last call failed; borrowed */

/* Go on at lsn + 1 although the cursor is beyond it: the end of the journal was cut off by a
 * repair, or the journal is a new one.  Outside of a batch. */
int acct_rewind(struct acct *a, uint64_t lsn);

/* Run the filter, oldest job first; fn gets each record (borrowed); fn < 0 stops and is returned.
 * Order: time of submission (of the requeue, for later runs), job id with the tasks of an array
 * together, run; steps: batch, extern, interactive, 0, 1 ...
 *
 * Time: without states, runs that were eligible (or submitted, when never eligible) before end_us
 * and not over by start_us.  With states: RUNNING and PENDING are runs that ran or waited some time
 * in the window, terminal states are runs that ended in it, SUSPENDED is what is suspended now;
 * without any window the state it has now.  A missing end, or one less than a second ago, means
 * now_us; an empty window is the instant start_us.  Runs that wait and have never been eligible
 * (held, dependent) show only when job ids are named or there is no window. A job id names the
 * tasks of its array too.  Without duplicates: the newest run of each job among those selected. */
typedef int acct_row_fn(void *ctx, const Pst__AcctJob *job);
int acct_query(const char *location, const Pst__AcctFilter *filter, int64_t now_us, acct_row_fn *fn,
               void *ctx, struct err *err);

/* The same, as a cursor over encoded records, for streams.  Opening selects (its cost is
 * that of the whole selection; 8 bytes are kept per row) and cancel, when it becomes true, makes it
 * return -ECANCELED (NULL = never); the filter is not needed afterwards.  A record is read when it
 * comes up, so it may be newer than the selection. */
struct acct_rows;
int acct_rows_open(const char *location, const Pst__AcctFilter *filter, int64_t now_us,
                   const atomic_bool *cancel, struct acct_rows **ret_rows, struct err *err);
/* 1 with an encoded AcctJob (borrowed until the next call), 0 at the end, negative errno. */
int acct_rows_next(struct acct_rows *rows, const uint8_t **ret_data, size_t *ret_len,
                   struct err *err);
struct acct_rows *acct_rows_close(struct acct_rows *rows); /* always NULL */
DEFINE_CLEANUP(struct acct_rows *, acct_rows_close)
