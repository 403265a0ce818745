/* fed.c - the federation of this cluster: who is in it, and when other clusters are told of jobs
 *
 * Implements docs/design/0019-federation.md.  struct fed is made when the cluster is first seen in
 * a federation; without one each hook is a test of a pointer or of a field.  Hooks that may not
 * commit note jobs in `todo`; the work is a command of its own. */
#include "ctld/fed/fed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/must.h"
#include "ctld/core/service.h"
#include "ctld/fed/fedanswer.h"
#include "ctld/fed/fedask.h"
#include "ctld/fed/fedcopy.h"
#include "ctld/fed/fedleave.h"
#include "ctld/fed/fedmsg.h"
#include "ctld/fed/fedquery.h"
#include "ctld/fed/fedstate.h"
#include "ctld/job/lifecycle.h"
#include "ctld/schedlink/schedfeed.h"
#include "model/account/assoc.h"

/* ---- members --------------------------------------------------------------------------------- */

static const char *addrs_of(const Pst__AcctClusterRecord *c)
{
    const char *addrs = c->control_addrs && *c->control_addrs ? c->control_addrs : c->control_host;

    return addrs && *addrs && c->control_port && c->control_port <= UINT16_MAX ? addrs : NULL;
}

static void note_link(struct ctld *ctld, uint32_t cluster)
{
    (void)cluster;
    if (ctld->fed)
        fed_work_later(ctld->fed);
}

/* The thread may be in the middle of a call: it is waited for when the controller ends. */
static void retire_link(struct fed *f, struct fed_peer *p)
{
    if (!p->link)
        return;
    fedlink_end(p->link);
    if (f->n_retired == ARRAY_SIZE(f->retired)) {
        (void)fedlink_stop(f->retired[0]); /* its call ended long ago */
        memmove(f->retired, f->retired + 1, (f->n_retired - 1) * sizeof(*f->retired));
        f->n_retired--;
    }
    f->retired[f->n_retired++] = p->link;
    p->link = NULL;
    idmap_done(&p->asked);
}

static void connect_peer(struct fed *f, uint32_t number, const Pst__AcctClusterRecord *c)
{
    struct fed_peer *p = &f->peers[number];
    const char *addrs = c && number != f->set.self ? addrs_of(c) : NULL;
    struct fedlink_config config = { .ctld = f->ctld,
                                     .cluster = number,
                                     .name = c ? c->name : NULL,
                                     .addrs = addrs,
                                     .port = c ? (uint16_t)c->control_port : 0,
                                     .answered = fed_answered,
                                     .changed = note_link };
    int r;

    if (p->link && addrs && fedlink_leads(p->link, c->name, addrs, config.port))
        return;
    retire_link(f, p);
    if (!addrs)
        return;
    r = fedlink_start(&config, &p->link);
    if (r < 0)
        log_error("federation: cluster %s cannot be asked: %s", c->name, strerrordesc_np(-r));
}

/* Are other clusters viable than the record says? */
static bool is_moved(const struct fedset *all, const Pst__JobRecord *r)
{
    return (all ? fedstate_viable(all, r) : 0) != r->fed_viable;
}

static void note_orphan(struct fed *f, const struct fedset *all, const Pst__JobRecord *r)
{
    if (!fedset_is_orphan(f->ctld, all, r))
        return;
    fed_mark(&f->orphans, r->job_id, FED_MARK);
    fed_work_later(f);
}

/* Links to the members as they are now; each job is looked at again.  Most of what accounting tells
 * is of no cluster: nothing to do then. */
static void meet_members(struct fed *f)
{
    const struct fedset *all = fed_members(f);
    char *met = fedset_text(&f->set);
    bool same = f->met && strcmp(f->met, met) == 0;
    struct job *j;

    f->moved = false;
    free(f->met);
    f->met = met;
    if (same)
        return;
    for (uint32_t i = 1; i <= FED_CLUSTERS_MAX; i++)
        connect_peer(f, i, all ? all->of[i] : NULL);
    for (size_t pos = 0; (j = cluster_next_job(f->ctld->cluster, &pos));)
        if (fed_is_job(j->rec)) {
            fed_note(f, j->rec);
            note_orphan(f, all, j->rec);
            if (fedstate_renamed(f, j->rec))
                fed_mark(&f->renamed, j->rec->job_id, FED_MARK);
            if (job_is_pending(j->rec) && !j->rec->has_fed_owner &&
                fedset_is_origin(f->ctld, j->rec) && (f->recovering || is_moved(all, j->rec)))
                fed_mark(&f->changed, j->rec->job_id, FED_MARK);
        }
    f->recovering = false;
}

/* ---- what is to be told ---------------------------------------------------------------------- */

static void tell_peer(struct fed *f, uint32_t number)
{
    struct fed_peer *p = &f->peers[number];
    uint32_t ids[FEDLINK_QUEUE];
    size_t room = p->link && fedlink_is_up(p->link) ? fedlink_room(p->link) : 0;
    size_t n = fed_take(&p->todo, &p->todo_at, ids, MIN(room, ARRAY_SIZE(ids)));

    for (size_t i = 0; i < n; i++) {
        const struct job *j = cluster_job(f->ctld->cluster, ids[i]);
        ProtobufCMessage *msg;
        unsigned op;

        if (!j || idmap_get(&p->asked, ids[i]) || !fedmsg_next(f, j, number, &op, &msg))
            continue; /* its answer notes the job again */
        fed_mark(&p->asked, ids[i], FED_MARK);
        fedlink_ask(p->link, ids[i], op, msg);
    }
    if (p->todo.count && n) /* without room: an answer makes room, and has the work called */
        fed_work_later(f);
}

/* Own jobs that changed get their next version, unless another cluster may start them. */
static void version_changed(struct fed *f)
{
    uint32_t ids[256];
    size_t n = fed_take(&f->changed, &f->changed_at, ids, ARRAY_SIZE(ids));

    for (size_t i = 0; i < n; i++) {
        const struct job *j = cluster_job(f->ctld->cluster, ids[i]);

        if (j && job_is_pending(j->rec) && !j->rec->has_fed_owner && !fedstate_version(f, j))
            fed_mark(&f->changed, ids[i], FED_MARK); /* disk full: at the next tick */
    }
    if (f->changed.count && !atomic_load(&f->ctld->disk_full))
        fed_work_later(f);
}

static void drop_orphans(struct fed *f)
{
    uint32_t ids[64];
    size_t n = fed_take(&f->orphans, &f->orphans_at, ids, ARRAY_SIZE(ids));

    for (size_t i = 0; i < n; i++) {
        struct job *j = cluster_job(f->ctld->cluster, ids[i]);

        if (j && fedset_is_orphan(f->ctld, fed_members(f), j->rec) && !fedstate_revoke(f, j))
            fed_mark(&f->orphans, ids[i], FED_MARK); /* disk full: at the next tick */
    }
    if (f->orphans.count && !atomic_load(&f->ctld->disk_full))
        fed_work_later(f);
}

static void renumber_owners(struct fed *f)
{
    uint32_t ids[64];
    size_t n = fed_take(&f->renamed, &f->renamed_at, ids, ARRAY_SIZE(ids));

    for (size_t i = 0; i < n; i++) {
        const struct job *j = cluster_job(f->ctld->cluster, ids[i]);
        uint32_t number = j ? fedstate_renamed(f, j->rec) : 0;

        if (!number)
            continue;
        if (fedstate_renumber(f, j, number))
            fed_note(f, j->rec);
        else
            fed_mark(&f->renamed, ids[i], FED_MARK); /* disk full: at the next tick */
    }
    if (f->renamed.count && !atomic_load(&f->ctld->disk_full))
        fed_work_later(f);
}

static void do_work(void *arg)
{
    struct ctld *ctld = arg;
    struct fed *f = ctld->fed;

    if (!f)
        return;
    f->posted = false;
    if (atomic_load(&ctld->disk_full))
        return; /* the tick posts it again */
    if (f->moved)
        meet_members(f);
    renumber_owners(f);
    drop_orphans(f);
    version_changed(f);
    for (uint32_t i = 1; i <= FED_CLUSTERS_MAX; i++)
        if (f->peers[i].todo.count)
            tell_peer(f, i);
}

static struct fed *make_fed(struct ctld *ctld)
{
    struct fed *f = must(calloc(1, sizeof(*f)));

    f->ctld = ctld;
    f->moved = true;
    f->generation = UINT64_MAX;
    f->work = do_work;
    ctld->fed = f;
    return f;
}

static void look_at_members(struct ctld *ctld)
{
    if (!ctld->fed && fedset_own_number(ctld))
        (void)make_fed(ctld);
    if (ctld->fed) {
        ctld->fed->moved = true;
        fed_work_later(ctld->fed);
    }
}

/* ---- jobs ------------------------------------------------------------------------------------ */

/* Is it a change that the other clusters' copies must have? */
static bool changes_copies(Pst__EventKind kind)
{
    return kind == PST__EVENT_KIND__EV_JOB_UPDATE || kind == PST__EVENT_KIND__EV_JOB_HOLD ||
           kind == PST__EVENT_KIND__EV_JOB_RELEASE;
}

static void note_job(struct ctld *ctld, struct job *j, Pst__EventKind kind)
{
    const Pst__JobRecord *r = j->rec;
    struct fed *f = ctld->fed;

    if (!f || !fed_is_job(r))
        return;
    if (job_is_pending(r) && fedset_is_origin(ctld, r)) {
        if (changes_copies(kind))
            fed_mark(&f->changed, r->job_id, FED_MARK);
    } else if (job_is_pending(r) && r->has_fed_owner) {
        if (!idmap_get(&f->granted, r->job_id))
            fed_mark(&f->granted, r->job_id, (void *)(uintptr_t)core_now());
    } else {
        (void)idmap_remove(&f->granted, r->job_id);
        note_orphan(f, fed_members(f), r);
    }
    fed_note(f, r);
}

static void forget_job(struct ctld *ctld, struct job *j)
{
    struct fed *f = ctld->fed;
    uint32_t id = j->rec->job_id;

    if (!f || !fed_is_job(j->rec))
        return;
    (void)idmap_remove(&f->changed, id);
    (void)idmap_remove(&f->wishes, id);
    (void)idmap_remove(&f->later, id);
    (void)idmap_remove(&f->granted, id);
    (void)idmap_remove(&f->orphans, id);
    (void)idmap_remove(&f->renamed, id);
    for (uint32_t i = 1; i <= FED_CLUSTERS_MAX; i++)
        (void)idmap_remove(&f->peers[i].todo, id);
}

static bool may_start(struct ctld *ctld, const struct job *j)
{
    const Pst__JobRecord *r = j->rec;
    struct fed *f = ctld->fed;
    const struct fedset *all;

    if (!fed_is_job(r) || !f)
        return !fed_is_job(r) || fedset_is_origin(ctld, r) ? !r->has_fed_owner : false;
    all = fed_members(f);
    if (all && all->of[all->self]->fed_state == FED_STATE_INACTIVE)
        return false;
    if (fedset_is_origin(ctld, r))
        return !r->has_fed_owner && (!all || r->fed_viable & fed_bit(all->self));
    if (r->has_fed_owner || !all)
        return r->has_fed_owner;
    fed_mark(&f->wishes, r->job_id, FED_MARK);
    fed_note(f, r);
    return false;
}

static const Pst__AcctClusterRecord *find_runner(struct ctld *ctld, const struct job *j)
{
    bool batch = j->rec->has_batch && j->rec->batch; /* nobody holds its allocation */

    return batch ? NULL : fedset_runner(ctld, j->rec);
}

/* ---- time ------------------------------------------------------------------------------------ */

/* The right to start is of no use where the resources went to others: it goes back. */
static void give_back(struct fed *f, int64_t now_us)
{
    uint32_t ids[64];
    size_t n = 0;
    void *since;

    for (size_t pos = 0; n < ARRAY_SIZE(ids) && (since = idmap_next(&f->granted, &pos));)
        if ((int64_t)(uintptr_t)since + FED_LOCK_KEEP_US < now_us)
            ids[n++] = (uint32_t)f->granted.keys[pos - 1];
    for (size_t i = 0; i < n; i++) {
        const struct job *j = cluster_job(f->ctld->cluster, ids[i]);

        (void)idmap_remove(&f->granted, ids[i]);
        /* a run that was requeued here stays here */
        if (j && job_is_pending(j->rec) && j->rec->has_fed_owner &&
            !(j->rec->has_fed_told && j->rec->fed_told))
            (void)fedstate_told(f, j, PST__FED_TOLD__FED_TOLD_RELEASE); /* disk full: it keeps it */
    }
}

static void try_again(struct fed *f, int64_t now_us)
{
    uint32_t ids[256];
    size_t n = 0;
    void *when;

    for (size_t pos = 0; n < ARRAY_SIZE(ids) && (when = idmap_next(&f->later, &pos));)
        if ((int64_t)(uintptr_t)when <= now_us)
            ids[n++] = (uint32_t)f->later.keys[pos - 1];
    for (size_t i = 0; i < n; i++) {
        struct job *j = cluster_job(f->ctld->cluster, ids[i]);

        (void)idmap_remove(&f->later, ids[i]);
        if (!j)
            continue;
        fed_note(f, j->rec);
        if (job_is_pending(j->rec) && !fedset_is_origin(f->ctld, j->rec))
            feed_job(f->ctld, j);
    }
}

static void tick_fed(struct ctld *ctld, int64_t now_us)
{
    struct fed *f = ctld->fed;

    if (!f)
        return;
    give_back(f, now_us);
    try_again(f, now_us);
    fedleave_tick(f, now_us);
    fed_work_later(f);
}

static void begin_fed(struct ctld *ctld)
{
    struct job *j;

    look_at_members(ctld);
    if (!ctld->fed)
        return;
    ctld->fed->recovering = true; /* what had changed and was not told yet is not known any more */
    for (size_t pos = 0; (j = cluster_next_job(ctld->cluster, &pos));)
        note_job(ctld, j, PST__EVENT_KIND__EV_UNSPECIFIED);
}

static void reconfigure_fed(struct ctld *ctld)
{
    if (!ctld->fed)
        return;
    for (uint32_t i = 1; i <= FED_CLUSTERS_MAX; i++)
        retire_link(ctld->fed, &ctld->fed->peers[i]); /* keys may be others */
    free(ctld->fed->met);
    ctld->fed->met = NULL;
    look_at_members(ctld);
}

static void stop_fed(struct ctld *ctld)
{
    struct fed *f = ctld->fed;

    if (!f)
        return;
    for (uint32_t i = 1; i <= FED_CLUSTERS_MAX; i++)
        retire_link(f, &f->peers[i]);
    for (size_t i = 0; i < f->n_retired; i++)
        f->retired[i] = fedlink_stop(f->retired[i]);
    f->n_retired = 0;
}

static void free_fed(struct ctld *ctld)
{
    struct fed *f = ctld->fed;

    if (!f)
        return;
    stop_fed(ctld);
    for (uint32_t i = 1; i <= FED_CLUSTERS_MAX; i++) {
        idmap_done(&f->peers[i].todo);
        idmap_done(&f->peers[i].asked);
    }
    idmap_done(&f->changed);
    idmap_done(&f->orphans);
    idmap_done(&f->renamed);
    free(f->met);
    idmap_done(&f->wishes);
    idmap_done(&f->later);
    idmap_done(&f->granted);
    free(f);
    ctld->fed = NULL;
}

static const struct ctld_op fed_ops[] = {
    { OP_FED_COPY, .fn = op_fed_copy, .flags = OPF_WRITES },
    { OP_FED_ASK, .fn = op_fed_ask, .flags = OPF_WRITES },
    { OP_QUERY_FEDERATION, .fn = op_query_federation },
    { 0 },
};

const struct ctld_service fed_service = {
    .name = "fed",
    .ops = fed_ops,
    .recovered = begin_fed,
    .reconfigured = reconfigure_fed,
    .quiesce = stop_fed,
    .free = free_fed,
    .tick_writing = tick_fed,
    .on_job = note_job,
    .on_job_gone = forget_job,
    .acct_changed = look_at_members,
    .may_start = may_start,
    .runner = find_runner,
};
