/* serve.h - answering accounting requests over connections: for slurmctld with an embedded store,
 * and slurmdbd
 *
 * The operations are the rows of acctops.c.  Those that read run in a pool of threads, each with a
 * connection to the database of its own; those that write, or keep something in memory between
 * requests, run one after the other in a thread of their own.  An answer whose peer reads slowly is
 * put aside and holds no thread. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <protobuf-c/protobuf-c.h>

#include "acct/archive.h"
#include "acctd/archivescript.h"
#include "base/err.h"
#include "api.pb-c.h"

struct admin_sight;
struct rpc_stat;
struct serve;
struct serve_call;
struct serve_op;
struct conn;
struct feeds;
struct frame;
struct sql;

/* What may change while it runs. */
struct serve_settings {
    bool no_rollup;
    struct archive_what purge;        /* at each hour; of its folder see dir */
    bool no_archive;                  /* OP_ARCHIVE is refused */
    bool private_jobs, private_usage; /* PrivateData: others see their own alone */
    bool track_down;                  /* TrackSlurmctldDown */
    uint32_t commit_delay_s;          /* CommitDelay: controllers gather records so long */
    int64_t max_range_us; /* MaxQueryTimeRange of jobs, for others than administrators; 0: any */
    char dir[4096];       /* ArchiveDir; last, with: */
    char script[ARCHIVESCRIPT_PATH_MAX]; /* ArchiveScript; "": none */
};

struct serve_config {
    const struct serve_op *(*find_op)(unsigned op); /* serve_op() of acctops.h */
    const char *location;                           /* of the store */
    const char *cluster;                            /* the one there is; NULL: slurmdbd */
    struct feeds *feeds; /* slurmdbd: controllers that bring records (acctfeed.h) */
    /* With feeds: feeds_note_gone(). */
    int (*note_gone)(struct feeds *f, struct sql *db, struct err *err);
    unsigned readers;                      /* threads; 0 = 3 */
    const struct serve_settings *settings; /* copied; NULL: none */
    struct rpc_stat *rpcs;                 /* counted there by operation; NULL: not */
    /* How far the store is: questions wait for it.  hurry says how far one wants it; any thread.
     * NULL: what is there is answered. */
    uint64_t (*cursor)(void *ctx);
    void (*hurry)(void *ctx, uint64_t lsn);
    void *ctx;
    /* root, SlurmUser: may do everything.  Any thread. */
    bool (*is_admin)(void *admin_ctx, uid_t uid);
    /* Whose jobs and usage of others he sees though they are private; NULL: nobody's.  May wait.
     * Threads of the store. */
    int (*sight)(void *admin_ctx, uid_t uid, struct admin_sight *ret, struct err *err);
    void *admin_ctx;
};

/* Errors: -ENOMEM, -EAGAIN no thread. */
int serve_new(const struct serve_config *config, struct serve **ret);
/* Answer a request, once the cursor is at lsn (0: now).  Never blocks. */
void serve_request(struct serve *s, struct conn *conn, const struct frame *frame, uint64_t lsn);
/* from now on; any thread */
void serve_set(struct serve *s, const struct serve_settings *settings);
/* of the roll-up; any thread */
void serve_stats(struct serve *s, Pst__DiagReply *reply, bool reset);
void serve_advanced(struct serve *s, const char *trouble); /* the cursor moved, or why not */
/* Ends the threads; what was handed to connections may be released later.  Always NULL. */
struct serve *serve_free(struct serve *s);

/* ---- for the operations ---------------------------------------------------------------------- */

/* Runs on a thread of the store.  Answers with serve_reply() once or more; when it gives a negative
 * errno, err has a sentence and the peer is told a code by it. */
typedef int serve_fn(struct serve_call *call, const ProtobufCMessage *request, struct err *err);

enum {
    SERVE_WRITES = 1u << 0, /* in the thread of those that write */
};

struct serve_op {
    serve_fn *fn;
    unsigned flags;
};

const char *serve_location(const struct serve_call *call);
const char *serve_cluster(const struct serve_call *call); /* as configured */
/* Whose usage the user who asks sees: that of all, or of himself and of some accounts.  The caller
 * ends *ret with admin_sight_done(). */
int serve_sees_usage(const struct serve_call *call, struct admin_sight *ret, struct err *err);
bool serve_may_archive(const struct serve_call *call);
/* What serve_set() was told last: 8 KiB are copied. */
void serve_settings_of(const struct serve_call *call, struct serve_settings *ret);
bool serve_tracks_down(const struct serve_call *call);
uint32_t serve_commit_delay_s(const struct serve_call *call);
struct feeds *serve_feeds(const struct serve_call *call);
uid_t serve_uid(const struct serve_call *call);
struct conn *serve_conn(const struct serve_call *call);
/* Becomes true when the threads shall end: for long statements (sql_set_cancel). */
const atomic_bool *serve_stopping(const struct serve_call *call);
/* This thread's connection, opened when it is first asked for: to write for SERVE_WRITES, else to
 * read.  It is closed after an error. */
int serve_db(struct serve_call *call, struct sql **ret_db, struct err *err);
/* One frame of the answer; more: others follow.  Errors: -EMSGSIZE, -ENOMEM. */
int serve_reply(struct serve_call *call, const ProtobufCMessage *msg, bool more);
