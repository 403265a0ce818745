/* acctthread.h - accounting in the controller: a thread that stores records, and threads that
 * answer
 *
 * The storing thread reads the journal from the place that the database has noted (its cursor).  So
 * the core never waits for it: when the database is slow, full or locked, this thread falls behind
 * and catches up later. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct acctthread;
struct conn;
#include "api.pb-c.h"

struct conf;
struct ctld;
struct frame;

/* Did the last attempt to store records fail?  Any thread; t NULL: there is no accounting. */
bool acctthread_fails(const struct acctthread *t);
/* Does another process (slurmdbd) have the store? */
bool acctthread_is_remote(const struct acctthread *t);
/* What is stored of jobs: bits of enum acct_keep.  t NULL: 0.  Any thread. */
unsigned acctthread_keep(const struct acctthread *t);
/* Add the store's roll-up statistics to reply.  Adds nothing when another process (slurmdbd) does
 * the roll-up, or t is NULL.  Any thread. */
void acctthread_stats(struct acctthread *t, Pst__DiagReply *reply, bool reset);
/* slurm.conf was read again: take from it what is stored of jobs (t NULL: no accounting).  Any
 * thread. */
void acctthread_reconfigured(struct acctthread *t, const struct conf *conf);

/* Open or make the database, and start the threads.  db_path NULL: send everything to slurmdbd,
 * which need not run yet.  Uses ctld's journal, cluster and conf (the latter two may be absent) in
 * this call only; journal_dir: the folder of the journal.  When the database cannot be used now but
 * perhaps later (disk full, locked), that is logged, and the thread tries again.  Errors: those of
 * acct_open() that stay as they are, and -ENOMEM. */
int acctthread_start(struct ctld *ctld, const char *db_path, const char *journal_dir,
                     struct acctthread **ret, struct err *err);
/* The journal is on disk up to lsn.  Any thread. */
void acctthread_durable(struct acctthread *t, uint64_t lsn);
/* The lsn of the newest stored record; 0 while the database has not been opened.  Any thread. */
uint64_t acctthread_cursor(const struct acctthread *t);
/* Block until the cursor has reached lsn.  False: timeout_ms is over, or accounting ends.  Any
 * thread. */
bool acctthread_wait(struct acctthread *t, uint64_t lsn, int timeout_ms);
/* Until what is on disk now is stored, or the time is over. */
void acctthread_catch_up(struct acctthread *t, int timeout_ms);
/* Answer a request that the store answers (serve_has).  The answer waits until two things are
 * stored: what is durable at this moment, and what queries have shown already (up to shown_lsn).
 * The call itself never blocks.  t NULL: there is no accounting.  Any thread. */
void acctthread_request(struct acctthread *t, struct conn *conn, const struct frame *frame,
                        uint64_t shown_lsn);
/* Store the records that are at hand, tell waiting queries that accounting ends, and stop.  Always
 * NULL. */
struct acctthread *acctthread_stop(struct acctthread *t);
