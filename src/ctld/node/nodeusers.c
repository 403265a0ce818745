/* nodeusers.c - see nodeusers.h
 *
 * The core thread changes the table, under the lock, when a job begins or ends to hold nodes and
 * when rights change; I/O threads read under the lock. */
#include "ctld/node/nodeusers.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "ctld/core/service.h"
#include "ctld/node/nodekeys.h"
#include "model/tables/idmap.h"
#include "model/job.h"

struct noted { /* a job that holds nodes */
    uint32_t uid, gid;
    char *user; /* NULL: not known by name */
    bool open;  /* its pairs are in the table */
    uint32_t *ids;
    size_t n;
};

struct nodeusers {
    pthread_mutex_t lock;
    struct idmap pairs; /* of node and user -> number of jobs; under the lock */
    struct idmap gids;  /* ... -> the group of the first of them, and 1; under the lock */
    struct idmap jobs;  /* job id -> struct noted; core thread */
    struct wordset
        managers; /* users with an AdminLevel or an account; core thread; by the service */
};

static uint64_t pair_of(uint32_t node_id, uint32_t uid)
{
    return (uint64_t)(node_id + 1) << 32 | uid;
}

/* ---- the table ------------------------------------------------------------------------------- */

static void count_pair(struct nodeusers *u, uint64_t pair, uint32_t gid, bool more)
{
    uintptr_t n = (uintptr_t)idmap_get(&u->pairs, pair) + (more ? 1 : (uintptr_t)-1);

    if (n == 0) {
        (void)idmap_remove(&u->pairs, pair); /* the count is no pointer, nor the group */
        (void)idmap_remove(&u->gids, pair);
    } else if (idmap_put(&u->pairs, pair, (void *)n) < 0 ||
               (more && n == 1 && idmap_put(&u->gids, pair, (void *)((uintptr_t)gid + 1)) < 0)) {
        must(NULL);
    }
}

static void open_job(struct nodeusers *u, struct noted *j, bool open)
{
    if (j->open == open)
        return;
    pthread_mutex_lock(&u->lock);
    for (size_t i = 0; i < j->n; i++)
        count_pair(u, pair_of(j->ids[i], j->uid), j->gid, open);
    pthread_mutex_unlock(&u->lock);
    j->open = open;
}

bool nodeusers_has(struct nodeusers *u, uint32_t node_id, uint32_t uid, uint32_t *ret_gid)
{
    uintptr_t gid;

    pthread_mutex_lock(&u->lock);
    gid = (uintptr_t)idmap_get(&u->gids, pair_of(node_id, uid));
    pthread_mutex_unlock(&u->lock);
    if (gid)
        *ret_gid = (uint32_t)(gid - 1);
    return gid != 0;
}

/* ---- what changes it ------------------------------------------------------------------------- */

static void free_noted(struct noted *j)
{
    free(j->user);
    free(j->ids);
    free(j);
}

void nodeusers_drop(struct nodeusers *u, uint32_t job_id)
{
    struct noted *j = idmap_remove(&u->jobs, job_id);

    if (!j)
        return;
    open_job(u, j, false);
    free_noted(j);
}

void nodeusers_hold(struct nodeusers *u, uint32_t job_id, const struct nodeuser *who,
                    const uint32_t *node_ids, size_t n, bool ordinary)
{
    struct noted *j = idmap_get(&u->jobs, job_id);

    if (j && j->uid == who->uid && j->gid == who->gid && j->n == n &&
        memcmp(j->ids, node_ids, n * sizeof(*node_ids)) == 0)
        return; /* most changes of a job are others */
    nodeusers_drop(u, job_id);
    j = must(calloc(1, sizeof(*j)));
    j->uid = who->uid;
    j->gid = who->gid;
    j->user = who->name ? must(strdup(who->name)) : NULL;
    j->n = n;
    j->ids = must(malloc(n * sizeof(*j->ids)));
    memcpy(j->ids, node_ids, n * sizeof(*j->ids));
    if (idmap_put(&u->jobs, job_id, j) < 0)
        must(NULL);
    open_job(u, j, ordinary);
}

void nodeusers_judge(struct nodeusers *u,
                     bool (*is_ordinary)(void *ctx, uint32_t uid, const char *user), void *ctx)
{
    struct noted *j;

    for (size_t pos = 0; (j = idmap_next(&u->jobs, &pos));)
        open_job(u, j, is_ordinary(ctx, j->uid, j->user));
}

struct nodeusers *nodeusers_new(void)
{
    struct nodeusers *u = calloc(1, sizeof(*u));

    if (u && pthread_mutex_init(&u->lock, NULL) != 0) {
        free(u);
        u = NULL;
    }
    return u;
}

void nodeusers_free(struct nodeusers *u)
{
    struct noted *j;

    if (!u)
        return;
    for (size_t pos = 0; (j = idmap_next(&u->jobs, &pos));)
        free_noted(j);
    idmap_done(&u->jobs);
    idmap_done(&u->pairs);
    idmap_done(&u->gids);
    wordset_done(&u->managers);
    pthread_mutex_destroy(&u->lock);
    free(u);
}

/* ---- the service ----------------------------------------------------------------------------- */

static bool is_ordinary(void *ctx, uint32_t uid, const char *user)
{
    const struct ctld *ctld = ctx;

    return user && uid != 0 && uid != (uint32_t)-1 && uid != conf_slurm_uid(ctld->conf) &&
           uid != conf_slurmd_uid(ctld->conf) &&
           !wordset_has(&ctld->nodeusers->managers, user, strlen(user));
}

/* On an I/O thread. */
static bool may_vouch(struct ctld *ctld, const uint8_t *key, uid_t uid, gid_t *ret_gid)
{
    int64_t node = uid == 0 || uid == (uid_t)-1 ? -1 : nodekeys_find(ctld, key);

    return node >= 0 && nodeusers_has(ctld->nodeusers, (uint32_t)node, uid, ret_gid);
}

static void follow_job(struct ctld *ctld, struct job *job, Pst__EventKind kind)
{
    const Pst__JobRecord *r = job->rec;
    const struct nodeuser who = { r->uid, r->gid, r->user_name };

    (void)kind;
    if (job_holds_resources(r) && r->alloc->n_node_ids)
        nodeusers_hold(ctld->nodeusers, r->job_id, &who, r->alloc->node_ids, r->alloc->n_node_ids,
                       is_ordinary(ctld, r->uid, r->user_name));
    else
        nodeusers_drop(ctld->nodeusers, r->job_id);
}

static void forget_job(struct ctld *ctld, struct job *job)
{
    nodeusers_drop(ctld->nodeusers, job->rec->job_id);
}

/* Is each of its users one who coordinates it? */
static bool has_coordinating_users(const struct assoc_mgr *am, const Pst__AssocRecord *user)
{
    const Pst__AccountRecord *account = am_account(am, user->account);

    return account && !account->deleted && account->users_are_coords;
}

static void gather_managers(struct ctld *ctld, struct wordset *set)
{
    struct assoc_mgr *am = ctld->cluster->am;
    const ProtobufCMessage *rec;
    struct assoc *a;
    int r = 0;

    for (size_t pos = 0; (rec = am_next(am, AM_USER, &pos));) {
        const Pst__UserRecord *user = (const Pst__UserRecord *)rec;

        if (!user->deleted && user->admin_level > PST__ADMIN_LEVEL__ADMIN_NONE)
            r |= wordset_add(set, user->name);
    }
    for (size_t pos = 0; (rec = am_next(am, AM_ACCOUNT, &pos));) {
        const Pst__AccountRecord *account = (const Pst__AccountRecord *)rec;

        for (size_t i = 0; !account->deleted && i < account->n_coordinators; i++)
            r |= wordset_add(set, account->coordinators[i]);
    }
    for (size_t pos = 0; (a = am_next_assoc(am, &pos));)
        if (a->user && a->parent && !a->rec->deleted &&
            (has_coordinating_users(am, a->rec) || a->parent->rec->users_are_coords))
            r |= wordset_add(set, a->rec->user);
    if (r < 0)
        must(NULL);
}

static void follow_rights(struct ctld *ctld)
{
    struct nodeusers *u = ctld->nodeusers;

    wordset_done(&u->managers);
    u->managers = (struct wordset){ 0 };
    gather_managers(ctld, &u->managers);
    nodeusers_judge(u, is_ordinary, ctld);
}

static int start_users(struct ctld *ctld, struct err *err)
{
    ctld->nodeusers = nodeusers_new();
    return ctld->nodeusers ? 0 : err_nomem(err);
}

static int observe_rights(struct ctld *ctld, struct err *err)
{
    (void)err;
    gather_managers(ctld, &ctld->nodeusers->managers);
    return 0;
}

static void free_users(struct ctld *ctld)
{
    nodeusers_free(ctld->nodeusers);
    ctld->nodeusers = NULL;
}

const struct ctld_service nodeusers_service = {
    .name = "nodeusers",
    .start = start_users,
    .observe = observe_rights,
    .free = free_users,
    .on_job = follow_job,
    .on_job_gone = forget_job,
    .may_vouch = may_vouch,
    .acct_changed = follow_rights,
    .reconfigured = follow_rights, /* SlurmUser */
};
