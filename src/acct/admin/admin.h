/* admin.h - changes to the accounting entities, and questions about them
 *
 * Clusters, accounts, users, associations, QOS, TRES, wckeys, remote licences, the log of
 * transactions and the events of nodes: one object that holds them in memory
 * (model/account/assoc.h) and in the store's tables.  The embedded store and slurmdbd run the same
 * code.
 *
 * A request is done whole or not at all, in one transaction of the database, which is committed
 * when admin_run() returns.  Each change has a version, one more than that of the change before.
 *
 * One thread at a time.  Functions returning int give 0 or a negative errno. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acct/sql/sql.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "acctop.pb-c.h"
#include "assoc.pb-c.h"

struct admin;
struct assoc_mgr;

/* The user who asks. */
struct admin_who {
    const char *user; /* login name, "" when unknown */
    bool root;        /* root, SlurmUser: an administrator whatever the records say */
    unsigned rules;   /* enum admin_rule */
};
enum admin_rule {
    ADMIN_PRIVATE_ACCOUNTS = 1u << 0, /* what others may not see */
    ADMIN_PRIVATE_USERS = 1u << 1,
    ADMIN_PRIVATE_EVENTS = 1u << 2,
    ADMIN_NO_COORDINATORS = 1u << 3,    /* being one is no right */
    ADMIN_NO_DEFAULT_ACCOUNT = 1u << 4, /* users need none */
    ADMIN_ABSOLUTE_RESOURCES = 1u << 5, /* new ones are shared by counts, not per cent */
    ADMIN_PRIVATE_RESVS = 1u << 6,      /* reservations are for operators */
};

/* Load what the database holds; an empty one gets QOS normal, the account and user root, the plain
 * TRES.  db is borrowed and must not have a transaction open when functions here are called. */
int admin_new(struct sql *db, int64_t now_us, struct admin **ret_admin, struct err *err);
struct admin *admin_free(struct admin *a); /* always NULL */
DEFINE_CLEANUP(struct admin *, admin_free)

/* New clusters get these QOS, a comma list, in place of normal.  Those that are not there are made;
 * NULL or "": normal.  Errors: -EINVAL a bad name. */
int admin_default_qos(struct admin *a, const char *list, int64_t now_us, struct err *err);

uint64_t admin_version(const struct admin *a);
/* The tables; questions only. */
struct assoc_mgr *admin_tables(struct admin *a);

/* A controller says what it is: a new cluster gets the associations of root.  tres_names: gres and
 * licences of its configuration ("gres/gpu:a100"), which become TRES. */
int admin_register(struct admin *a, const Pst__AcctClusterRecord *cluster,
                   const char *const *tres_names, size_t n_tres, int64_t now_us, struct err *err);
/* A cluster that is to leave the federation (DRAIN+REMOVE) says that nothing of it is left there.
 * In another state it stays. */
int admin_leave(struct admin *a, const char *cluster, const char *federation, int64_t now_us,
                struct err *err);

/* A job of this user runs under this WCKey ("": none, "*name": his default), which is made if it is
 * not there. */
int admin_job_key(struct admin *a, const char *cluster, const char *user, const char *name,
                  int64_t now_us, struct err *err);

/* Do a request.  The reply always says how each operation ended, unless the store itself failed (<
 * 0): nothing changed then, nor when one operation failed.  Caller frees *ret_reply with
 * pst__acct_admin_reply__free_unpacked(). */
int admin_run(struct admin *a, const struct admin_who *who, const Pst__AcctAdminRequest *req,
              int64_t now_us, Pst__AcctAdminReply **ret_reply, struct err *err);

/* Every change after a version, in order, as the store has it: a record's newest change stands for
 * all.  fn < 0 ends it and is returned. */
typedef int admin_change_fn(void *ctx, const Pst__AcctChange *change);
int admin_changes(struct admin *a, uint64_t after, admin_change_fn *fn, void *ctx);

/* Records that match, each of the message of its entity (see AcctEntity), borrowed. */
typedef int admin_row_fn(void *ctx, const ProtobufCMessage *record);
int admin_list(struct admin *a, const struct admin_who *who, const Pst__AcctListRequest *req,
               admin_row_fn *fn, void *ctx, struct err *err);

/* The script or environment of a job (reply->data is the caller's), or a code of wire/errors.h. */
int admin_blob(struct admin *a, const struct admin_who *who, uid_t uid,
               const Pst__AcctBlobRequest *req, Pst__AcctBlobReply *reply, int *ret_code);
