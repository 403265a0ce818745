/* acctthread.h - accounting in the controller: a thread that stores, and a few that answer
 *
 * The thread follows the journal from the database's own cursor, so it owes the core nothing: when
 * the database is slow, full or locked it falls behind and catches up later. */
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

/* enum acct_keep; 0: t is NULL.  Any thread. */
/* Could what was stored last not be stored?  Any thread; NULL: there is no accounting. */
bool acctthread_fails(const struct acctthread *t);
/* Does another process have the store (slurmdbd)? */
bool acctthread_is_remote(const struct acctthread *t);
unsigned acctthread_keep(const struct acctthread *t);
/* Add the store's roll-up statistics to reply.  Adds nothing when another process (slurmdbd) does
 * the roll-up, or t is NULL.  Any thread. */
void acctthread_stats(struct acctthread *t, Pst__DiagReply *reply, bool reset);
/* slurm.conf says anew what is stored of jobs (NULL: no accounting).  Any thread. */
void acctthread_reconfigured(struct acctthread *t, const struct conf *conf);

/* Open or make the database and start; db_path NULL: bring everything to slurmdbd, which need
 * not be there yet.  Uses ctld's journal, cluster and conf (the latter two may be absent) in
 * this call only; journal_dir is what the journal was opened with.  A database that cannot be
 * used now but may be later (disk full, locked) is logged and tried again by the thread. Errors:
 * those of acct_open that no waiting mends, -ENOMEM. */
int acctthread_start(struct ctld *ctld, const char *db_path, const char *journal_dir,
                     struct acctthread **ret, struct err *err);
/* The journal is on disk up to lsn.  Any thread. */
void acctthread_durable(struct acctthread *t, uint64_t lsn);
/* Newest record stored; 0 while the database has not been opened.  Any thread. */
uint64_t acctthread_cursor(const struct acctthread *t);
/* Block until the cursor has reached lsn; false: not within timeout_ms, or it ends. Any thread. */
bool acctthread_wait(struct acctthread *t, uint64_t lsn, int timeout_ms);
/* Answer a request of the store's (serve_has), once everything that was durable when this was
 * called, and what users were shown of the log (up to shown_lsn), is stored.  Never blocks.
 * t NULL: there is no accounting.  Any thread. */
void acctthread_request(struct acctthread *t, struct conn *conn, const struct frame *frame,
                        uint64_t shown_lsn);
/* Store what is at hand, stop; queries that wait are told.  Always NULL. */
struct acctthread *acctthread_stop(struct acctthread *t);
