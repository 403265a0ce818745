/* adminserve.h - a thread that carries out requests about the accounting entities
 *
 * The thread has a connection to the store of its own and carries out one request after the other,
 * so that a thread which posts a request does not wait for the disk.  slurmctld has one such thread
 * when it keeps the store itself, slurmdbd has one for all its clusters. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "acct/admin/admin.h"
#include "acct/admin/adminfollow.h"
#include "acct/admin/admin_sight.h"
#include "base/err.h"

struct adminserve;
struct conn;

struct rpc_stat;

struct adminserve_config {
    const char *location; /* of the store */
    /* The cluster whose controller this is, with the names of its TRES; NULL for slurmdbd. */
    const Pst__AcctClusterRecord *cluster;
    const char *const *tres;
    size_t n_tres;
    uint64_t known_version;                /* the changes behind this one are delivered first */
    unsigned rules;                        /* enum admin_rule */
    const char *cluster_qos;               /* see admin_default_qos() */
    struct rpc_stat *rpcs;                 /* counted there by operation; NULL: not */
    bool (*is_root)(void *ctx, uid_t uid); /* any thread */
    /* Takes d: the changes go where they take effect, and then the answer. Any thread.  NULL: they
     * go to the connections that follow (OP_ACCT_FOLLOW), and the answer once they are in force
     * there (adminfollow.h). */
    void (*deliver)(void *ctx, struct admin_delivery *d);
    void (*brought)(
        void *ctx); /* adminserve_brought() has changed; NULL: nobody asks.  Any thread */
    void *ctx;
};

/* Returns when the store has been opened and what the receiver lacks is on its way, so that it
 * comes before any request. The config's pointers are used in this call only, but for the functions
 * and ctx.  A store that cannot be opened now is logged and tried again.  Errors: -ENOMEM, -EAGAIN
 * no thread. */
int adminserve_start(const struct adminserve_config *config, struct adminserve **ret,
                     struct err *err);
/* See admin_job_key().  What it changed is delivered as for requests; what cannot be kept in mind,
 * because too much waits already, comes again with the user's next job.  Any thread; never
 * blocks. */
void adminserve_job_key(struct adminserve *s, const char *cluster, const char *user,
                        const char *name);
void adminserve_rule(struct adminserve *s, unsigned rules); /* other config.rules; any thread */
/* OP_ACCT_ADMIN, OP_ACCT_LIST, OP_ACCT_BLOB or OP_ACCT_FOLLOW; msg is taken.  Never blocks. Any
 * thread. */
void adminserve_request(struct adminserve *s, struct conn *conn, unsigned op, uint32_t id,
                        ProtobufCMessage *msg);
/* Whose jobs and usage this user sees that PrivateData hides; the caller ends *ret with
 * admin_sight_done().  Waits for the thread.  Any thread, but not once adminserve_stop() is called.
 * Errors: -ENOMEM, and what the store says. */
int adminserve_sight(struct adminserve *s, uid_t uid, struct admin_sight *ret, struct err *err);
/* Has the controllers that follow bring the records of their jobs up to now.  A ticket: they have
 * when adminserve_brought() is not below it; 0: nobody follows.  Any thread; never blocks. */
uint64_t adminserve_ask(struct adminserve *s);
uint64_t adminserve_brought(struct adminserve *s);
/* A connection is gone: it follows no more.  Any thread. */
void adminserve_conn_closed(struct adminserve *s, struct conn *conn);
/* Deliver the changes after this version again: the receiver lost some.  Any thread. */
void adminserve_redeliver(struct adminserve *s, uint64_t known_version);
struct adminserve *
adminserve_stop(struct adminserve *s); /* requests that wait are told; always NULL */
