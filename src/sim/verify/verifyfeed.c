/* verifyfeed.c - see verifyfeed.h
 *
 * The model's observer feeds the scheduler as src/ctld/schedlink/schedfeed.c does; `known` has the
 * jobs that the scheduler knows.  Two things differ: changes come record by record instead of
 * batch by batch, and a pass is asked for when its first start comes, with the records up to the
 * one that it had seen. */
#include "sim/verify/verifyfeed.h"

#include <errno.h>
#include <inttypes.h>

#include "base/must.h"
#include "feed/feedmem.h"
#include "feed/limitrecords.h"
#include "feed/params.h"
#include "feed/preemptfeed.h"
#include "feed/sharefeed.h"
#include "feed/topoconf.h"
#include "model/hetjob.h"
#include "model/kept.h"

static void tell_sched(struct verify *v, struct feed *f)
{
    int r = v->loud ? feed_apply(v->sched, f) : 0;

    feed_release(f);
    if (r == -ENOMEM)
        v->result = r;
}

static void tell_id(struct verify *v, enum feed_kind kind, uint32_t job_id)
{
    struct feed *f = feed_new(kind);

    f->job_id = job_id;
    tell_sched(v, f);
}

static bool is_known(const struct verify *v, const struct job *j)
{
    return idmap_get(&v->known, j->rec->job_id) != NULL;
}

static void note_known(struct verify *v, const struct job *j)
{
    if (idmap_put(&v->known, j->rec->job_id, (void *)(uintptr_t)(v->fed + 1)) < 0)
        v->result = -ENOMEM;
}

static void tell_gone(struct verify *v, const struct job *j)
{
    if (idmap_remove(&v->known, j->rec->job_id))
        tell_id(v, FEED_REMOVE, j->rec->job_id);
}

static void tell_pending(struct verify *v, struct job *j)
{
    int64_t eligible = feed_eligible_at(v->cluster, j->rec);
    struct feed *f;

    if (eligible == INT64_MAX) {
        tell_gone(v, j);
        return;
    }
    f = feed_new(FEED_JOB);
    feed_fill_job(f, v->conf, v->cluster, j->rec);
    f->job.eligible_us = eligible;
    note_known(v, j);
    tell_sched(v, f);
}

static void tell_started(struct verify *v, struct job *j)
{
    note_known(v, j);
    tell_sched(v, feed_of_running(v->cluster, j->rec));
    if (j->rec->licenses_alloc)
        tell_sched(v, feed_of_held_licenses(j->rec));
    if (j->rec->has_assoc_id || j->rec->has_qos_id)
        tell_sched(v, feed_of_account(j->rec));
    if (j->rec->has_resv_id)
        tell_sched(v, feed_of_running_resv(j->rec));
    if (preempt_wanted(v->conf))
        tell_sched(v, feed_of_rank(j->rec));
}

static void tell_others(struct verify *v, const struct job *j)
{
    bool eligible = feed_eligible_at(v->cluster, j->rec) != INT64_MAX;

    for (uint32_t k = 0; k < j->rec->het_count; k++) {
        struct job *other = het_component(v->cluster, j->rec, k);

        if (other && other != j && job_is_pending(other->rec) && is_known(v, other) != eligible)
            tell_pending(v, other);
    }
}

static void tell_job(struct verify *v, struct job *j)
{
    if (job_is_pending(j->rec)) {
        tell_pending(v, j);
        if (het_is(j->rec))
            tell_others(v, j);
    } else if (!job_holds_resources(j->rec)) {
        tell_gone(v, j);
    } else if (!is_known(v, j)) {
        tell_started(v, j);
    }
    if (is_known(v, j) &&
        job_is_ended(j->rec)) /* its nodes are not free yet, what it counted against is */
        tell_id(v, FEED_UNCHARGE, j->rec->job_id);
}

/* Is it one, and it begins now? */
static bool take_stranger(struct verify *v, uint32_t job_id)
{
    for (size_t i = 0; i < v->nstrangers; i++)
        if (v->strangers[i] == job_id) {
            v->strangers[i] = v->strangers[--v->nstrangers];
            return true;
        }
    return false;
}

/* What the controller tells of the others of j's array.  A record told anew loses the start that is
 * proposed for it, so nothing is told that the controller does not tell: the rest of an array when
 * a task leaves it, all that heed a throttle when it is reached or has room again, and whatever
 * becomes eligible or ceases to be. */
static void tell_array(struct verify *v, const struct job *j, Pst__EventKind kind)
{
    bool starts = kind == PST__EVENT_KIND__EV_JOB_START;
    bool turn =
        kind == PST__EVENT_KIND__EV_JOB_END || (starts && feed_throttled(v->cluster, j->rec));
    const uint32_t *ids;
    size_t n = feed_array_waiting(v->cluster, j->rec->array_job_id, &ids);

    for (size_t i = 0; i < n; i++) {
        struct job *other = cluster_job(v->cluster, ids[i]);
        bool left;

        if (!other || other == j || !job_is_pending(other->rec))
            continue;
        left = starts && ids[i] == j->rec->array_job_id && job_is_array(other->rec);
        if (left || (turn && feed_throttle(other->rec)) ||
            is_known(v, other) != (feed_eligible_at(v->cluster, other->rec) != INT64_MAX))
            tell_pending(v, other);
    }
}

static void on_job(void *ctx, struct job *j, Pst__EventKind kind)
{
    struct verify *v = ctx;
    struct feed *f;

    if (!v->loud)
        return;
    if (kind == PST__EVENT_KIND__EV_JOB_START && take_stranger(v, j->rec->job_id))
        tell_gone(v, j); /* the replay has it elsewhere, or nowhere */
    tell_job(v, j);
    if ((kind == PST__EVENT_KIND__EV_JOB_SUSPEND || kind == PST__EVENT_KIND__EV_JOB_RESUME) &&
        is_known(v, j))
        tell_id(v, kind == PST__EVENT_KIND__EV_JOB_SUSPEND ? FEED_SUSPEND : FEED_RESUME,
                j->rec->job_id);
    if (is_known(v, j) && !job_is_pending(j->rec) &&
        (kind == PST__EVENT_KIND__EV_JOB_SUSPEND || kind == PST__EVENT_KIND__EV_JOB_RESUME ||
         kind == PST__EVENT_KIND__EV_JOB_TURN || kind == PST__EVENT_KIND__EV_JOB_TURN_OVER ||
         kind == PST__EVENT_KIND__EV_JOB_UPDATE)) {
        f = feed_new(FEED_END_TIME);
        f->job_id = j->rec->job_id;
        f->end_us = j->rec->has_end_us ? j->rec->end_us : INT64_MAX;
        tell_sched(v, f);
    }
    if (j->rec->has_array_job_id)
        tell_array(v, j, kind);
}

static void on_job_gone(void *ctx, struct job *j)
{
    tell_gone(ctx, j);
}

static void on_node(void *ctx, struct node *n, Pst__EventKind kind)
{
    struct verify *v = ctx;
    uint32_t id = n->rec->node_id;

    if (kind == PST__EVENT_KIND__EV_UNSPECIFIED && v->loud)
        return; /* only what jobs hold on it changed */
    if (id >= v->linked->nbits && bitmap_resize(&v->linked, (id + 64) * 2) < 0) {
        v->result = -ENOMEM;
        return;
    }
    if (kind == PST__EVENT_KIND__EV_NODE_REGISTER || v->in_snapshot)
        bitmap_set(v->linked, id);
    if (n->rec->topology || kind == PST__EVENT_KIND__EV_NODE_REGISTER)
        v->topos_moved = true; /* perhaps */
    if (v->loud)
        tell_sched(v, feed_of_node(n->rec, bitmap_test(v->linked, id)));
}

static void on_node_gone(void *ctx, struct node *n)
{
    struct feed *f = feed_new(FEED_NODE_REMOVE);
    struct verify *v = ctx;

    v->topos_moved = true;

    f->node_id = n->rec->node_id;
    tell_sched(ctx, f);
}

static void on_part(void *ctx, struct partition *p, Pst__EventKind kind)
{
    const struct verify *v = ctx;

    (void)kind;
    tell_sched(ctx, feed_of_part(v->cluster, v->conf, p));
}

static void on_part_gone(void *ctx, struct partition *p)
{
    tell_sched(ctx, feed_of_name(FEED_PART_REMOVE, p->rec->name));
}

static void tell_of_limits(void *ctx, struct feed *f)
{
    tell_sched(ctx, f);
}

/* They may be tried in other reservations now. */
static void tell_waiting(struct verify *v)
{
    struct job *j;

    for (size_t pos = 0; (j = cluster_next_job(v->cluster, &pos));)
        if (job_is_pending(j->rec))
            tell_job(v, j);
}

static void on_kept(void *ctx, struct kept *k)
{
    struct verify *v = ctx;

    if (k->kind == KEPT_ACCT &&
        limitfeed_changed(&v->limits, (const Pst__AcctChange *)k->rec, v->now_us))
        v->assocs_moved = true;
    if (k->kind != KEPT_RESV)
        return;
    tell_sched(v, feed_of_resv(v->cluster, (const Pst__ReservationRecord *)k->rec, v->now_us));
    v->resvs_moved = true;
}

static void on_kept_gone(void *ctx, struct kept *k)
{
    struct verify *v = ctx;
    struct feed *f;

    if (k->kind == KEPT_ACCT)
        limitfeed_gone(&v->limits, (const Pst__AcctChange *)k->rec);
    if (k->kind != KEPT_RESV)
        return;
    f = feed_new(FEED_RESV_GONE);
    f->node_id = k->id;
    tell_sched(v, f);
    v->resvs_moved = true;
}

void verifyfeed_shares(struct verify *v, int64_t now_us)
{
    tell_sched(v, feed_of_shares(v->cluster, conf_str(v->conf, CONF_CLUSTER_NAME), now_us));
}

void verifyfeed_attach(struct verify *v)
{
    v->observer = (struct cluster_observer){ .job = on_job,
                                             .job_gone = on_job_gone,
                                             .node = on_node,
                                             .node_gone = on_node_gone,
                                             .part = on_part,
                                             .part_gone = on_part_gone,
                                             .kept = on_kept,
                                             .kept_gone = on_kept_gone,
                                             .ctx = v };
    v->limits = (struct limitfeed){
        .cluster = v->cluster, .conf = v->conf, .tell = tell_of_limits, .ctx = v
    };
    v->cluster->observer = &v->observer;
}

/* As the files and the nodes' own words say now. */
static void tell_topologies(struct verify *v)
{
    _cleanup_(toposet_free) struct toposet *ts = NULL;
    const struct topo_spec *specs, **list;
    size_t n;
    int r;

    if (!v->topo_files)
        return;
    ts = topoconf_of_cluster(v->topo_files, v->conf, v->cluster);
    n = toposet_specs(ts, &specs);
    list = must(calloc(n + 1, sizeof(*list)));
    for (size_t i = 0; i < n; i++)
        list[i] = &specs[i];
    r = sched_topologies_put(v->sched, list, n);
    free(list);
    if (r < 0)
        v->result = r;
}

/* A controller begins: its scheduler knows nothing. */
int verifyfeed_begin(struct verify *v)
{
    const char *licenses = conf_str(v->conf, CONF_LICENSES);
    const Pst__ReservationRecord *resv;
    size_t pos = 0;
    struct job *j;
    int r;

    v->sched = sched_free(v->sched);
    r = sched_new(&v->params, &v->sched);
    if (r < 0)
        return r;
    v->loud = true;
    tell_topologies(v);
    tell_sched(v, feed_of_name(FEED_LICENSES, licenses ? licenses : ""));
    for (uint32_t i = 0; i < v->cluster->nnodes; i++)
        if (v->cluster->nodes[i])
            tell_sched(v, feed_of_node(v->cluster->nodes[i]->rec,
                                       i < v->linked->nbits && bitmap_test(v->linked, i)));
    for (size_t i = 0; i < v->cluster->nparts; i++)
        tell_sched(v, feed_of_part(v->cluster, v->conf, v->cluster->parts[i]));
    limitfeed_all(&v->limits, v->now_us);
    verifyfeed_shares(v, v->now_us);
    while ((resv = cluster_next_resv(v->cluster, &pos)))
        tell_sched(v, feed_of_resv(v->cluster, resv, v->now_us));
    idmap_done(&v->known);
    for (pos = 0; (j = cluster_next_job(v->cluster, &pos));)
        tell_job(v, j);
    return v->result;
}

/* ---- records --------------------------------------------------------------------------------- */

bool verifyfeed_is_boot(const Pst__Transaction *tx)
{
    for (size_t i = 0; i < tx->n_events; i++)
        if (tx->events[i]->body_case == PST__EVENT__BODY_CLUSTER_SET &&
            tx->events[i]->cluster_set->has_boots)
            return true;
    return false;
}

int verifyfeed_next(struct verify *v, struct err *err)
{
    const struct record *r = &v->records[v->fed];
    bool boot = verifyfeed_is_boot(r->tx);
    int e;

    if (!r->snapshot && boot) {
        v->loud = false;
        v->last_pass = v->refused_told = v->taken_pass = 0;
        v->nrefused = 0;
        bitmap_zero(v->linked);
    }
    v->in_snapshot = r->snapshot;
    v->assocs_moved = v->resvs_moved = v->topos_moved = false;
    v->now_us = r->tx->has_time_us ? r->tx->time_us : v->now_us;
    e = cluster_apply(v->cluster, r->tx, err);
    if (e < 0) {
        err_prefix(err, "lsn %" PRIu64, r->lsn);
        return e;
    }
    v->fed++;
    v->sums.records++;
    if (r->tx->has_sched_pass)
        v->taken_pass = r->tx->sched_pass;
    if (v->topos_moved && v->loud)
        tell_topologies(v);
    if (v->assocs_moved && v->loud)
        limitfeed_assocs(&v->limits, v->now_us);
    if (v->resvs_moved && v->loud)
        tell_waiting(v);
    if (boot && !r->snapshot) {
        v->sums.boots++;
        return verifyfeed_begin(v);
    }
    return v->result;
}

int verifyfeed_up_to(struct verify *v, uint64_t lsn, struct err *err)
{
    int r = 0;

    while (r == 0 && v->fed < v->n && v->records[v->fed].lsn <= lsn)
        r = verifyfeed_next(v, err);
    if (r == 0 && !v->sched) /* the log begins behind a snapshot */
        r = verifyfeed_begin(v);
    return r;
}
