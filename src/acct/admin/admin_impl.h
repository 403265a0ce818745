/* admin_impl.h - what the parts of admin share; acct/ only */
#pragma once

#include <string.h>
#include <strings.h>

#include "acct/admin/admin.h"
#include "acct/filter.h"
#include "base/strbuf.h"
#include "model/account/assoc.h"
#include "wire/errors.h"

#define ADMIN_CLEAR UINT32_MAX /* of priority and shares in a request */

struct admin {
    struct sql *db;
    struct assoc_mgr *am;
    uint64_t version;
    uint32_t next_assoc, next_qos, next_tres, next_wckey, next_resource;
    uint64_t next_txn;
    size_t deleted_assocs;
    uint32_t *cluster_qos; /* QOS that new clusters get, see admin_default_qos(); owned */
    size_t n_cluster_qos;  /* 0: normal */
};

struct admin_job_row { /* of the table of jobs, to be written */
    int64_t run, end_us;
    int64_t reroll_us; /* usage from here on is summed up again; 0 = none */
    uint32_t state;
    uint8_t *data;
    size_t len;
};

/* One request while it is carried out.  The first error sticks: later steps do nothing. */
struct admin_run {
    struct admin *a;
    const struct admin_who *who;
    Pst__AdminLevel level;
    int64_t now_us;
    int r; /* the store or the memory failed */
    struct err why;
    Pst__AcctOpResult *res; /* of the present operation */
    Pst__AcctChange **changes, **undo;
    size_t n, cap;
    Pst__AcctTxnRecord **txns;
    size_t n_txns, cap_txns;
    struct admin_job_row *rows;
    size_t n_rows, rows_bytes;
};

/* ---- admin_run.c: records -------------------------------------------------------------------- */

/* Memory ran out: the request fails whole. */
void run_fail_memory(struct admin_run *run);

/* Apply and remember; rec is copied. */
void run_put(struct admin_run *run, Pst__AcctChange *change);
void run_put_account(struct admin_run *run, Pst__AccountRecord *rec);
void run_put_user(struct admin_run *run, Pst__UserRecord *rec);
void run_put_assoc(struct admin_run *run, Pst__AssocRecord *rec);
void run_put_qos(struct admin_run *run, Pst__QosRecord *rec);
void run_put_wckey(struct admin_run *run, Pst__WckeyRecord *rec);
void run_put_resource(struct admin_run *run, Pst__ResourceRecord *rec);
void run_put_cluster(struct admin_run *run, Pst__AcctClusterRecord *rec);
void run_put_federation(struct admin_run *run, Pst__FederationRecord *rec);
void run_put_tres(struct admin_run *run, Pst__TresRecord *rec);
/* Remove the record that this change makes. */
void run_remove(struct admin_run *run, const Pst__AcctChange *put);
/* A copy to change; NULL when memory is short (the run has failed then). */
void *run_dup(struct admin_run *run, const void *rec);

/* The operation failed: its code, and a sentence (NULL = the code's).  The whole request is
 * undone. */
void run_fail(struct admin_run *run, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
bool run_ok(const struct admin_run *run); /* nothing failed yet */
void run_line(struct admin_run *run, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void run_string(struct admin_run *run, char ***list, size_t *n, const char *text);
bool run_good_name(struct admin_run *run, const char *name); /* else the operation has failed */
void run_name(struct admin_run *run, const char *name);
void run_assoc(struct admin_run *run, struct assoc *a); /* an association to tell of */

/* ---- admin_text.c: the log of transactions --------------------------------------------------- */

/* "shares=50, max_jobs=2, grp_tres='1=8'": the fields present, but for those of the object's
 * identity. */
void text_fields(struct strbuf *sb, const ProtobufCMessage *msg);
void run_txn(struct admin_run *run, const char *action, const char *cluster, const char *account,
             const char *user, const char *where, const char *info);

/* ---- conditions ------------------------------------------------------------------------------ */

/* Ids of the associations that match, in the order of their places in the tree.  Caller frees. */
uint32_t *cond_assocs(struct admin_run *run, const Pst__AcctCond *where, size_t *ret_n);
/* The clusters named, or all there are.  The strings are borrowed, good until the next change. */
size_t cond_clusters(struct admin_run *run, const Pst__AcctCond *where, const char ***ret_names);
/* ... of those named only the ones that there are. */
size_t cond_known_clusters(struct admin_run *run, const Pst__AcctCond *where,
                           const char ***ret_names);
bool cond_is_cluster(struct admin_run *run, const char *name);
/* Sort ids of associations by their places. */
void sort_assocs(struct assoc_mgr *am, uint32_t *ids, size_t n);

/* Ids of the records of a kind that match, ascending.  Caller frees. */
typedef bool admin_match_fn(const Pst__AcctCond *where, const ProtobufCMessage *rec);
uint32_t *run_matching(struct admin_run *run, enum am_kind kind, admin_match_fn *matches,
                       const Pst__AcctCond *where, size_t *ret_n);
/* Change each of them, for operators; the operation fails when that told no name. */
typedef void admin_each_fn(struct admin_run *run, uint32_t id, const Pst__AcctCond *where,
                           const Pst__AcctSet *set);
void run_each(struct admin_run *run, enum am_kind kind, admin_match_fn *matches,
              admin_each_fn *change, const Pst__AcctCond *where, const Pst__AcctSet *set);

/* ---- rights ---------------------------------------------------------------------------------- */

bool run_is_operator(const struct admin_run *run); /* or more */
bool run_is_admin(const struct admin_run *run);
/* May he change what hangs below this account? */
bool run_may_account(struct admin_run *run, const char *cluster, const char *account);
bool run_is_any_coordinator(struct admin_run *run);
void run_deny(struct admin_run *run);
/* ... with the names asked for: they are shown before the refusal. */
void run_deny_adding(struct admin_run *run, const Pst__AcctCond *where);
#define RUN_NO_PRIVILEGE "Your user doesn't have privilege to perform this action"

/* ---- admin_limits.c -------------------------------------------------------------------------- */

/* Set what src has; -1 clears. */
int limits_set(Pst__Limits **dst, const Pst__Limits *src);
/* Does src hold anything that children take from their parent? */
bool limits_inheritable(const Pst__AcctSet *set);
/* Would a child with this record take any of it from its parent? */
bool limits_inherited_by(const Pst__AssocRecord *child, const Pst__AcctSet *set);
int tres_list_merge(Pst__TresCount ***list, size_t *n, Pst__TresCount *const *src, size_t n_src);
int id_list_add(uint32_t **ids, size_t *n, uint32_t id); /* ascending, once */
void id_list_remove(uint32_t *ids, size_t *n, uint32_t id);
/* The settings of a request into an association's record. */
void assoc_set(struct admin_run *run, Pst__AssocRecord *rec, const Pst__AcctSet *set);
/* Does the request set anything of associations? */
bool set_has_assoc(const Pst__AcctSet *set);

/* ---- the operations: one an entity and verb -------------------------------------------------- */

typedef void admin_op_fn(struct admin_run *run, const Pst__AcctCond *where,
                         const Pst__AcctSet *set);
admin_op_fn account_add, account_modify, account_delete;
/* A job has named it; arg: struct job_key.  Beyond so many keys none is made for jobs: their names
 * are the users'. */
#define WCKEYS_OF_JOBS_MAX 100000u
struct job_key {
    const char *cluster, *user, *name;
};
void wckey_of_job(struct admin_run *run, void *arg);
admin_op_fn user_add, user_modify, user_delete;
admin_op_fn coord_add, coord_delete;
admin_op_fn qos_add, qos_modify, qos_delete;
admin_op_fn cluster_add, cluster_modify, cluster_delete;
admin_op_fn wckey_add, wckey_modify, wckey_delete;
admin_op_fn job_modify, runaway_modify;
admin_op_fn resource_add, resource_modify, resource_delete;

/* Make an association; parent is the account's own above it, NULL for root.  Gives its id, 0 =
 * failed. */
uint32_t assoc_make(struct admin_run *run, const char *cluster, const struct assoc *parent,
                    const char *account, const char *user, const char *partition, bool is_default,
                    const Pst__AcctSet *set);
/* Change associations and tell of them and of those below that inherit. */
void assoc_modify(struct admin_run *run, const uint32_t *ids, size_t n, const Pst__AcctSet *set,
                  const char *action);
/* Remove associations with all below them. */
void assoc_delete(struct admin_run *run, const uint32_t *ids, size_t n);
/* The user's default account in a cluster. */
void user_set_default(struct admin_run *run, const char *cluster, const char *user,
                      const char *account);

/* The key that the user's jobs in a cluster have when they name none. */
void wckey_set_default(struct admin_run *run, const char *cluster, const char *user,
                       const char *name);

/* ... as the user's own record tells it. */
void wckey_set_own(struct admin_run *run, const char *name, const char *wckey);
void wckeys_delete_of(struct admin_run *run, const char *cluster);

/* ---- admin_rows.c: tables -------------------------------------------------------------------- */

int rows_load(struct admin *a, struct err *err);
int rows_save(struct admin_run *run);
int rows_save_jobs(struct admin_run *run); /* inside rows_save(); admin_jobs.c */
/* Did jobs run under an association?  1, 0 or < 0. */
int rows_has_jobs(struct admin *a, const char *cluster, const char *account, const char *user);
/* Jobs that are not over and have all that is named here (NULL: anything). */
struct open_jobs {
    const char *cluster, *account, *user, *qos, *wckey;
};
/* Add a line to the result for each association with such a job. */
int rows_open_jobs(struct admin_run *run, const struct open_jobs *which);
int rows_list_txns(struct admin *a, const Pst__AcctCond *where, admin_row_fn *fn, void *ctx);
int rows_list_instances(struct admin *a, const Pst__AcctCond *where, admin_row_fn *fn, void *ctx);
int rows_list_events(struct admin *a, const Pst__AcctCond *where, admin_row_fn *fn, void *ctx);
