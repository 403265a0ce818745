/* schedfeed.c - changes for the scheduler's thread; see schedfeed.h.  What a record means to the
 * scheduler is in src/feed/records.c.
 *
 * `fed` has the jobs that the scheduler knows, as pending or as holding resources. */
#include "ctld/policy/bootfeatures.h"
#include "ctld/schedlink/schedfeed.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/must.h"
#include "base/timefmt.h"
#include "ctld/schedlink/completewait.h"
#include "ctld/schedlink/feasible.h"
#include "ctld/schedlink/feedlimits.h"
#include "ctld/schedlink/gangturns.h"
#include "ctld/job/hetgroup.h"
#include "ctld/job/jobfacts.h"
#include "ctld/schedlink/licenses.h"
#include "feed/resourcefeed.h"
#include "ctld/job/lifecycle.h"
#include "ctld/policy/policy.h"
#include "ctld/schedlink/makeroom.h"
#include "ctld/schedlink/partgate.h"
#include "ctld/schedlink/schedthread.h"
#include "ctld/topology/topology.h"
#include "ctld/front/view.h"
#include "ctld/core/service.h"
#include "feed/feedmem.h"
#include "feed/limitrecords.h"
#include "model/array.h"

#define OBSERVED_AHEAD 64u /* lists; a thousand bytes a job are not to gather for all of them */

struct schedfeed {            /* core thread only */
    struct feed *head, *tail; /* changes of the present batch */
    uint64_t batches;         /* handed over */
    struct idmap fed;         /* id of a job that the scheduler knows -> batch that told it last */
    struct idmap gated;       /* id of a pending job that is kept out -> anything */
    struct idmap unbooted;    /* id of a pending job for which no node boots yet -> the id */
    struct idmap named;       /* id of a pending job that lists nodes -> struct job */
    bool names_moved;         /* nodes came or went in this batch: names may mean other ids */
    bool gates_moved;         /* partitions, accounts or settings changed in this batch */
    bool putting_off;         /* of jobs that only wait, ids are noted; see restfeed.c */
    struct idlist put_off;    /* those */
    size_t put_off_told;      /* so many of them are told */
};

int schedfeed_new(struct schedfeed **ret)
{
    *ret = calloc(1, sizeof(**ret));
    return *ret ? 0 : -ENOMEM;
}

static void drop_changes(struct schedfeed *sf)
{
    while (sf->head) {
        struct feed *f = sf->head;

        sf->head = f->next;
        feed_free(f);
    }
    sf->tail = NULL;
}

struct schedfeed *schedfeed_free(struct schedfeed *sf)
{
    if (!sf)
        return NULL;
    drop_changes(sf);
    idmap_done(&sf->fed);
    idmap_done(&sf->gated);
    idmap_done(&sf->unbooted);
    idmap_done(&sf->named);
    free(sf->put_off.ids);
    free(sf);
    return NULL;
}

void feed_add(struct ctld *ctld, struct feed *f)
{
    struct schedfeed *sf = ctld->feed;

    f->next = NULL;
    if (sf->tail)
        sf->tail->next = f;
    else
        sf->head = f;
    sf->tail = f;
}

bool feed_knows(const struct ctld *ctld, uint32_t job_id)
{
    return idmap_get(&ctld->feed->fed, job_id) != NULL;
}

/* The scheduler knows the job from now on. */
static void note_fed(struct ctld *ctld, const struct job *j)
{
    struct schedfeed *sf = ctld->feed;

    if (idmap_put(&sf->fed, j->rec->job_id, (void *)(uintptr_t)(sf->batches + 1)) < 0)
        must(NULL);
}

bool feed_told_since(const struct ctld *ctld, uint32_t job_id, uint64_t batch)
{
    return (uintptr_t)idmap_get(&ctld->feed->fed, job_id) > batch;
}

/* A partition or its rights keep the job out. */
static void note_gated(struct ctld *ctld, const struct job *j)
{
    struct idmap *gated = &ctld->feed->gated;

    if (!idmap_get(gated, j->rec->job_id) && idmap_put(gated, j->rec->job_id, gated) < 0)
        must(NULL);
}

/* Tell the scheduler again of pending jobs that are kept out now, or were before. */
static void recheck_gates(struct ctld *ctld)
{
    struct schedfeed *sf = ctld->feed;
    struct job *j;

    sf->gates_moved = false;
    if (!sf->gated.count && partgate_none(ctld) && !(limits_enforced(ctld->conf) & ENFORCE_QOS))
        return;
    for (size_t pos = 0; (j = cluster_next_job(ctld->cluster, &pos));)
        if (job_is_pending(j->rec) && (idmap_get(&sf->gated, j->rec->job_id) ||
                                       partgate_any(ctld, j->rec) || policy_qos_lost(ctld, j->rec)))
            feed_job(ctld, j);
}

/* The job lists nodes by name; the scheduler has their ids. */
static void note_named(struct ctld *ctld, struct job *j)
{
    struct idmap *named = &ctld->feed->named;

    if ((j->rec->req_nodes || j->rec->exc_nodes) && !idmap_get(named, j->rec->job_id) &&
        idmap_put(named, j->rec->job_id, j) < 0)
        must(NULL);
}

/* Tell the scheduler again of pending jobs that list nodes. */
static void rename_nodes(struct ctld *ctld)
{
    const struct idmap *named = &ctld->feed->named;
    uint32_t *ids = must(malloc((named->count + 1) * sizeof(*ids)));
    size_t n = 0;
    struct job *j;

    ctld->feed->names_moved = false;
    for (size_t pos = 0; (j = idmap_next(named, &pos));)
        ids[n++] = j->rec->job_id;
    for (size_t i = 0; i < n; i++) {
        j = cluster_job(ctld->cluster, ids[i]);
        if (j && job_is_pending(j->rec))
            feed_job(ctld, j);
    }
    free(ids);
}

/* Before what else is told of this batch: jobs that run already close units of the topology. */
static void feed_topologies_first(struct ctld *ctld, struct topologies *topologies)
{
    struct schedfeed *sf = ctld->feed;
    struct feed *f = feed_of_topologies(topologies);

    f->next = sf->head;
    sf->head = f;
    if (!sf->tail)
        sf->tail = f;
    feasible_place_anew(ctld->feasible);
}

void schedfeed_flush(struct ctld *ctld)
{
    struct schedfeed *sf = ctld->feed;
    _cleanup_(topologies_unref) struct topologies *topologies = topology_take_changed(ctld);

    if (sf->names_moved)
        rename_nodes(ctld);
    if (sf->gates_moved)
        recheck_gates(ctld);
    if (topologies)
        feed_topologies_first(ctld, topologies);
    if (!sf->head)
        return;
    if (ctld->sched) {
        sf->tail->lsn = ctld->applied_lsn;
        sf->tail->batch = ++sf->batches;
        schedthread_feed(ctld->sched, sf->head, sf->tail);
        sf->head = sf->tail = NULL;
    } else {
        drop_changes(sf);
    }
}

/* ---- jobs ------------------------------------------------------------------------------------ */

/* Does the job, or the job that it is a component of, wait for other jobs? */
static bool waits_for_jobs(const struct ctld *ctld, const Pst__JobRecord *r)
{
    const struct job *leader = het_is_follower(r) ? het_component(ctld->cluster, r, 0) : NULL;

    return r->dependency || (leader && leader->rec->dependency);
}

/* What keeps it from being looked at, for queries; what the scheduler thinks comes with its
 * decisions. */
static void note_reason(const struct ctld *ctld, struct job *j)
{
    Pst__JobRecord *r = j->rec;

    if (waits_for_jobs(ctld, r))
        SET(r, pend_reason, PST__JOB_REASON__REASON_DEPENDENCY);
    else if (!job_is_held(r) && feed_throttled(ctld->cluster, r) &&
             r->pend_reason != PST__JOB_REASON__REASON_ARRAY_TASK_LIMIT) {
        SET(r, pend_reason, PST__JOB_REASON__REASON_ARRAY_TASK_LIMIT);
        views_mark_job(ctld->views, j); /* another task's start is no change of its record */
    }
}

/* Take the partitions that keep the job out off what the scheduler is told.  Return false when none
 * is left. */
static bool feed_through_gates(struct ctld *ctld, struct job *j, struct feed *f)
{
    struct idmap *gated = &ctld->feed->gated;
    size_t asked = f->job.npartitions;

    f->job.npartitions =
        partgate_filter(ctld, j->rec, (const char **)f->job.partitions, f->job.npartitions);
    if (f->job.npartitions == asked) {
        if (idmap_remove(gated, j->rec->job_id))
            partgate_forget(j);
        return true;
    }
    note_gated(ctld, j);
    if (f->job.npartitions)
        partgate_forget(j);
    else
        partgate_note(ctld, j);
    return f->job.npartitions > 0;
}

/* It waits until its QOS is given back. */
static void note_lost_qos(struct ctld *ctld, struct job *j)
{
    note_gated(ctld, j);
    partgate_forget(j);
    SET(j->rec, pend_reason, PST__JOB_REASON__REASON_INVALID_QOS);
    views_mark_job(ctld->views, j);
}

/* --delay-boot is not over yet. */
static void note_unbooted(struct ctld *ctld, const struct job *j)
{
    struct idmap *unbooted = &ctld->feed->unbooted;

    if (idmap_put(unbooted, j->rec->job_id, (void *)(uintptr_t)j->rec->job_id) < 0)
        must(NULL);
}

/* It waits for other jobs: the scheduler is asked for its priority alone. */
static void ask_price(struct ctld *ctld, const struct job *j)
{
    struct feed *f;

    if (job_is_held(j->rec) || job_has_flag(j->rec, JOB_FLAG(COMPLETING)))
        return;
    f = feed_new(FEED_PRICE);
    feed_fill_job(f, ctld->conf, ctld->cluster, j->rec);
    feed_add(ctld, f);
}

/* Is the job told later?  Not if what keeps it out would be told to users with it, or if others
 * are told by whether it is. */
static bool is_put_off(struct ctld *ctld, const struct job *j)
{
    struct schedfeed *sf = ctld->feed;

    if (!sf->putting_off || het_is(j->rec) || j->rec->reservation || partgate_any(ctld, j->rec))
        return false;
    idlist_push(&sf->put_off, j->rec->job_id);
    return true;
}

static void feed_waiting(struct ctld *ctld, struct job *j)
{
    int64_t eligible = feed_eligible_at(ctld->cluster, j->rec);
    struct feed *f;

    if (eligible > core_now() && eligible != INT64_MAX)
        SET(j->rec, pend_reason, PST__JOB_REASON__REASON_BEGIN_TIME);
    if (job_is_held(j->rec))
        j->rec->has_cur_priority = false; /* 0, whatever it was before */
    else if (!j->rec->has_cur_priority)   /* 0 would tell users that it is held */
        SET(j->rec, cur_priority, j->rec->has_priority ? j->rec->priority : 1);
    if (eligible != INT64_MAX && policy_qos_lost(ctld, j->rec)) {
        note_lost_qos(ctld, j);
        feed_job_gone(ctld, j);
        return;
    }
    if (eligible == INT64_MAX) {
        note_reason(ctld, j);
        feed_job_gone(ctld, j);
        if (waits_for_jobs(ctld, j->rec))
            ask_price(ctld, j);
        return;
    }
    if (is_put_off(ctld, j))
        return;
    f = feed_new(FEED_JOB);
    feed_fill_job(f, ctld->conf, ctld->cluster, j->rec);
    f->job.may_boot = bootfeatures_may(ctld, j->rec);
    f->job.eligible_us = eligible;
    if (f->job.may_boot && bootfeatures_from(ctld, j->rec, eligible) > core_now()) {
        f->job.may_boot = false;
        note_unbooted(ctld, j);
    }
    if (!feed_through_gates(ctld, j, f)) {
        feed_free(f);
        feed_job_gone(ctld, j);
        return;
    }
    if (f->job.resv_only && !f->job.nresvs) /* nowhere to go: the scheduler has nothing to say */
        SET(j->rec, pend_reason, PST__JOB_REASON__REASON_RESERVATION);
    note_fed(ctld, j);
    note_named(ctld, j);
    feed_add(ctld, f);
}

static void feed_pending(struct ctld *ctld, struct job *j)
{
    feed_waiting(ctld, j);
    jobfacts_note_waiting(j);
}

/* Tell the scheduler of jobs for which nodes may boot from now on. */
static void end_boot_delays(struct ctld *ctld, int64_t now)
{
    struct idmap *unbooted = &ctld->feed->unbooted;
    uint32_t *ids = unbooted->count ? must(malloc(unbooted->count * sizeof(*ids))) : NULL;
    size_t n = 0;
    const void *id;

    for (size_t pos = 0; ids && (id = idmap_next(unbooted, &pos));)
        ids[n++] = (uint32_t)(uintptr_t)id;
    for (size_t i = 0; i < n; i++) {
        struct job *j = cluster_job(ctld->cluster, ids[i]);
        int64_t eligible = j ? feed_eligible_at(ctld->cluster, j->rec) : 0;

        if (j && job_is_pending(j->rec) &&
            (eligible == INT64_MAX || bootfeatures_from(ctld, j->rec, eligible) > now))
            continue;
        idmap_remove(unbooted, ids[i]);
        if (j)
            feed_job(ctld, j);
    }
    free(ids);
}

/* ---- allocations ----------------------------------------------------------------------------- */

void feed_leaving(struct ctld *ctld, const struct job *j)
{
    struct feed *f;

    if (!preempt_wanted(ctld->conf))
        return;
    f = feed_new(FEED_LEAVING);
    f->job_id = j->rec->job_id;
    feed_add(ctld, f);
}

void feed_yield(struct ctld *ctld, const struct job *j, bool yielded)
{
    struct feed *f = feed_new(FEED_YIELD);

    f->job_id = j->rec->job_id;
    f->exclusive = yielded;
    feed_add(ctld, f);
}

void feed_rank(struct ctld *ctld, const struct job *j)
{
    if (preempt_wanted(ctld->conf) && feed_knows(ctld, j->rec->job_id))
        feed_add(ctld, feed_of_rank(j->rec));
}

/* What preemption has to know of a job that the scheduler did not start itself. */
static void feed_standing(struct ctld *ctld, const struct job *j)
{
    const Pst__JobRecord *r = j->rec;

    if (job_is_suspended(r) && r->n_preempted_by)
        feed_yield(ctld, j, true);
    else if (job_is_suspended(r) && !job_waits_for_turn(r))
        feed_suspend(ctld, j, true);
    if (!preempt_wanted(ctld->conf))
        return;
    feed_add(ctld, feed_of_rank(r));
    if (job_is_ended(r) ||
        (r->has_preempt_us && r->preempt_mode != PST__PREEMPT_MODE__PREEMPT_SUSPEND))
        feed_leaving(ctld, j);
}

void feed_job_started(struct ctld *ctld, struct job *j, bool proposed)
{
    struct feed *f;

    note_fed(ctld, j);
    if (proposed)
        return;
    f = feed_of_running(ctld->cluster, j->rec);
    f->end_us = feed_end_us(ctld->conf, j->rec);
    feed_add(ctld, f);
    if (j->rec->licenses_alloc || j->rec->layers_alloc)
        feed_add(ctld, feed_of_held_licenses(j->rec));
    if (j->rec->has_assoc_id || j->rec->has_qos_id)
        feed_add(ctld, feed_of_account(j->rec));
    if (j->rec->has_resv_id)
        feed_add(ctld, feed_of_running_resv(j->rec));
    feed_standing(ctld, j);
}

void feed_job_gone(struct ctld *ctld, struct job *j)
{
    struct feed *f;

    if (!idmap_remove(&ctld->feed->fed, j->rec->job_id))
        return;
    f = feed_new(FEED_REMOVE);
    f->job_id = j->rec->job_id;
    feed_add(ctld, f);
}

/* j, a pending component, changed: the others may become eligible with it, or cease to be. */
static void feed_components(struct ctld *ctld, const struct job *j)
{
    bool eligible = het_eligible_at(ctld->cluster, j->rec) != INT64_MAX;

    for (uint32_t k = 0; k < j->rec->het_count; k++) {
        struct job *other = het_component(ctld->cluster, j->rec, k);

        if (other && other != j && job_is_pending(other->rec) &&
            feed_knows(ctld, other->rec->job_id) != eligible)
            feed_job(ctld, other);
    }
}

void feed_job(struct ctld *ctld, struct job *j)
{
    if (job_is_pending(j->rec))
        feed_pending(ctld, j);
    if (job_is_pending(j->rec) && het_is(j->rec))
        feed_components(ctld, j);
    if (job_is_pending(j->rec))
        return;
    idmap_remove(&ctld->feed->gated, j->rec->job_id);
    idmap_remove(&ctld->feed->named, j->rec->job_id);
    if (!job_holds_resources(j->rec))
        feed_job_gone(ctld, j);
    else if (!feed_knows(ctld, j->rec->job_id))
        feed_job_started(ctld, j, false);
    if (job_is_ended(j->rec) &&
        (j->rec->has_assoc_id || j->rec->has_qos_id || j->rec->has_part_qos_id) &&
        feed_knows(ctld, j->rec->job_id)) {
        struct feed *f = feed_new(FEED_UNCHARGE);

        f->job_id = j->rec->job_id;
        feed_add(ctld, f);
    }
}

void feed_array_turn(struct ctld *ctld, const struct job *j)
{
    const uint32_t *ids;
    size_t n = j->rec->has_array_job_id
                   ? feed_array_waiting(ctld->cluster, j->rec->array_job_id, &ids)
                   : 0;

    for (size_t i = 0; i < n; i++) {
        struct job *one = cluster_job(ctld->cluster, ids[i]);

        if (one && one != j && job_is_pending(one->rec) && feed_throttle(one->rec))
            feed_job(ctld, one);
    }
}

void feed_next_task(struct ctld *ctld)
{
    feed_add(ctld, feed_new(FEED_NEXT_TASK));
}

static void feed_of_proposal(struct ctld *ctld, enum feed_kind kind, uint32_t job_id)
{
    struct feed *f = feed_new(kind);

    f->job_id = job_id;
    feed_add(ctld, f);
}

void feed_refused(struct ctld *ctld, uint32_t job_id)
{
    void **told = idmap_place(&ctld->feed->fed, job_id);

    if (told) /* what is proposed for it before the scheduler hears of this is forgotten, too */
        *told = (void *)(uintptr_t)(ctld->feed->batches + 1);
    feed_of_proposal(ctld, FEED_REFUSED, job_id);
}

void feed_overtaken(struct ctld *ctld, uint32_t job_id)
{
    feed_of_proposal(ctld, FEED_OVERTAKEN, job_id);
}

void feed_end_time(struct ctld *ctld, const struct job *j)
{
    struct feed *f = feed_new(FEED_END_TIME);

    f->job_id = j->rec->job_id;
    f->end_us = feed_end_us(ctld->conf, j->rec);
    feed_add(ctld, f);
}

void feed_suspend(struct ctld *ctld, const struct job *j, bool suspended)
{
    struct feed *f = feed_new(suspended ? FEED_SUSPEND : FEED_RESUME);

    f->job_id = j->rec->job_id;
    feed_add(ctld, f);
}

void feed_when(struct ctld *ctld, const Pst__JobRecord *rec, bool plan, uint64_t ticket)
{
    struct feed *f = feed_new(FEED_WHEN);

    feed_fill_job(f, ctld->conf, ctld->cluster, rec);
    f->job.may_boot = bootfeatures_may(ctld, rec);
    f->plan = plan;
    f->ticket = ticket;
    feed_add(ctld, f);
}

void feed_ask_now(struct ctld *ctld, const struct feed_ask *ask)
{
    struct feed *f = feed_new(FEED_ASK);

    f->ask = *ask;
    schedthread_feed(ctld->sched, f, f); /* not gathered: this is no core thread */
}

void feed_explain(struct ctld *ctld, const Pst__JobRecord *rec, const char *others, uint64_t ticket)
{
    struct feed *f = feed_new(FEED_EXPLAIN);

    feed_fill_job(f, ctld->conf, ctld->cluster, rec);
    f->job.may_boot = bootfeatures_may(ctld, rec);
    feed_fill_others(f, others);
    f->ticket = ticket;
    feed_add(ctld, f);
}

/* ---- after a start --------------------------------------------------------------------------- */

void feed_put_off(struct ctld *ctld, bool on)
{
    ctld->feed->putting_off = on;
}

bool feed_some_put_off(struct ctld *ctld, size_t n)
{
    struct schedfeed *sf = ctld->feed;
    size_t end = MIN(sf->put_off_told + n, sf->put_off.n);

    for (; sf->put_off_told < end; sf->put_off_told++) {
        uint32_t id = sf->put_off.ids[sf->put_off_told];
        struct job *j = cluster_job(ctld->cluster, id);

        if (j && !feed_knows(ctld, id)) /* else it changed meanwhile, and was told then */
            feed_job(ctld, j);
    }
    if (end < sf->put_off.n)
        return true;
    free(sf->put_off.ids);
    sf->put_off = (struct idlist){ 0 };
    sf->put_off_told = 0;
    return false;
}

/* ---- nodes and partitions -------------------------------------------------------------------- */

void feed_node(struct ctld *ctld, const struct node *n)
{
    feed_add(ctld, feed_of_node(n->rec, node_is_linked(ctld, n)));
}

void feed_node_gone(struct ctld *ctld, uint32_t node_id)
{
    struct feed *f = feed_new(FEED_NODE_REMOVE);

    f->node_id = node_id;
    feed_add(ctld, f);
}

void feed_part(struct ctld *ctld, const struct partition *p)
{
    struct feed *f = feed_of_part(ctld->cluster, ctld->conf, p);

    f->part.paused = completewait_pauses(ctld, p);
    feed_add(ctld, f);
}

void feed_part_gone(struct ctld *ctld, const char *name)
{
    feed_add(ctld, feed_of_name(FEED_PART_REMOVE, name));
}

/* ---- reservations ---------------------------------------------------------------------------- */

void feed_resv(struct ctld *ctld, const Pst__ReservationRecord *r)
{
    feed_add(ctld, feed_of_resv(ctld->cluster, r, core_now()));
}

void feed_resv_gone(struct ctld *ctld, uint32_t resv_id)
{
    struct feed *f = feed_new(FEED_RESV_GONE);

    f->node_id = resv_id;
    feed_add(ctld, f);
}

/* ---- parameters ------------------------------------------------------------------------------ */

void feed_held_licenses(struct ctld *ctld, const struct job *j)
{
    feed_add(ctld, feed_of_held_licenses(j->rec));
}

void feed_licenses(struct ctld *ctld, const char *all)
{
    feed_add(ctld, feed_of_name(FEED_LICENSES, all));
}

void feed_resources(struct ctld *ctld)
{
    feed_add(ctld, feed_of_resources(ctld->cluster, ctld->resources));
}

void feed_qos(struct ctld *ctld)
{
    const ProtobufCMessage *m;
    size_t pos = 0;

    while ((m = am_next(ctld->cluster->am, AM_QOS, &pos)))
        feed_add(ctld, feed_of_qos(ctld->cluster->am, (const Pst__QosRecord *)m));
}

void feed_shares(struct ctld *ctld, struct feed *f)
{
    f->told_lsn = ctld->applied_lsn;
    feed_add(ctld, f);
}

void feed_params(struct ctld *ctld)
{
    struct feed *f = feed_new(FEED_PARAMS);

    f->params = feed_own(f, must(calloc(1, sizeof(*f->params))));
    feed_fill_params(ctld->conf, f->params);
    feed_add(ctld, f);
}

/* ---- the service ----------------------------------------------------------------------------- */

static void follow_conf(struct ctld *ctld)
{
    feed_params(ctld);
    ctld->feed->gates_moved = true; /* what is enforced may have changed */
}

static void follow_job(struct ctld *ctld, struct job *j, Pst__EventKind kind)
{
    feed_job(ctld, j);
    if (kind == PST__EVENT_KIND__EV_JOB_BOOTED) /* its time counts from now */
        feed_end_time(ctld, j);
}

static void follow_job_gone(struct ctld *ctld, struct job *j)
{
    idmap_remove(&ctld->feed->named, j->rec->job_id);
    idmap_remove(&ctld->feed->gated, j->rec->job_id);
    feed_job_gone(ctld, j);
}

/* Others may wait for what it holds, or be the next tasks of its array. */
static void follow_end(struct ctld *ctld, struct job *j, uint64_t lsn)
{
    (void)lsn;
    if (job_has_flag(j->rec, JOB_FLAG(COMPLETING)))
        feed_leaving(ctld, j);
    feed_array_turn(ctld, j);
}

static void follow_suspension(struct ctld *ctld, struct job *j, bool suspended, bool preempted)
{
    feed_suspend(ctld, j, suspended);
    if (preempted)
        feed_yield(ctld, j, false);
    feed_end_time(ctld, j);
}

static void follow_size(struct ctld *ctld, struct job *j)
{
    feed_job_gone(ctld, j);
    feed_job_started(ctld, j, false);
}

static void follow_node(struct ctld *ctld, struct node *n, Pst__EventKind kind)
{
    ctld->feed->names_moved |= kind == PST__EVENT_KIND__EV_NODE_CONFIG;
    if (kind != PST__EVENT_KIND__EV_UNSPECIFIED) /* then only what jobs hold on it changed */
        feed_node(ctld, n);
}

static void follow_unlinked(struct ctld *ctld, struct node *n)
{
    feed_node(ctld, n);
}

static void follow_node_gone(struct ctld *ctld, struct node *n)
{
    feed_node_gone(ctld, n->rec->node_id);
    ctld->feed->names_moved = true;
}

static void follow_part(struct ctld *ctld, struct partition *p, Pst__EventKind kind)
{
    (void)kind;
    feed_part(ctld, p);
    ctld->feed->gates_moved = true;
}

static void follow_part_gone(struct ctld *ctld, struct partition *p)
{
    feed_part_gone(ctld, p->rec->name);
}

static void follow_accounts(struct ctld *ctld)
{
    feed_qos(ctld);
    ctld->feed->gates_moved = true;
}

static void end_batch(struct ctld *ctld)
{
    if (completewait_moved(ctld))
        for (size_t i = 0; i < ctld->cluster->nparts; i++)
            feed_part(ctld, ctld->cluster->parts[i]);
    schedfeed_flush(ctld);
}

/* After a start.  Every job is told behind the nodes and partitions, so it is told right. */
static void pass_observed(struct ctld *ctld)
{
    ctld->feed->names_moved = ctld->feed->gates_moved = false;
    schedfeed_flush(ctld);
    if (ctld->sched)
        schedthread_catch_up(ctld->sched, OBSERVED_AHEAD);
}

static int start_feed(struct ctld *ctld, struct err *err)
{
    (void)err;
    return schedfeed_new(&ctld->feed);
}

static void stop_feed(struct ctld *ctld)
{
    ctld->feed = schedfeed_free(ctld->feed); /* its questions need `asking` */
}

const struct ctld_service schedfeed_service = {
    .name = "schedfeed",
    .observed = pass_observed,
    .recovered = feed_qos,
    .acct_changed = follow_accounts,
    .reconfigured = follow_conf,
    .tick = end_boot_delays,
    .batch_end = end_batch,
    .on_job = follow_job,
    .on_job_gone = follow_job_gone,
    .job_ended = follow_end,
    .job_suspended = follow_suspension,
    .job_resized = follow_size,
    .on_node = follow_node,
    .on_node_gone = follow_node_gone,
    .on_node_unlinked = follow_unlinked,
    .on_part = follow_part,
    .on_part_gone = follow_part_gone,
    .start = start_feed,
    .stop = stop_feed,
};
