/* gangturns.c - turns of jobs that share CPUs; see gangturns.h
 *
 * Nothing is remembered between two slices but the time of the next: records say which jobs run and
 * which wait, and since when, so a controller that starts in the middle goes on.  We look only at
 * jobs on nodes where a job waits or has just started. */
#include "ctld/schedlink/gangturns.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "base/must.h"
#include "base/timefmt.h"
#include "ctld/schedlink/schedfeed.h"
#include "ctld/schedlink/schedthread.h"
#include "ctld/job/hetgroup.h"
#include "ctld/job/lifecycle.h"
#include "ctld/schedlink/makeroom.h"
#include "ctld/core/service.h"
#include "feed/records.h"
#include "sched/rules/gang.h"
#include "fields.h"

struct gangturns {
    struct idlist fresh; /* jobs that started beside others */
    bool changed;
    int64_t next_us; /* the next slice of time begins; 0: not yet known */
};

struct part { /* a job, or a component: those of one job take their turn together */
    uint32_t key, job_id;
    struct feed *f;
    size_t unit;
};

struct look {
    struct part *parts;
    size_t nparts, cap;
    struct gang_job *units;
    size_t nunits;
    struct gang_claim *claims;
};

static void look_done(struct look *l)
{
    for (size_t i = 0; i < l->nparts; i++)
        feed_free(l->parts[i].f);
    free(l->parts);
    free(l->units);
    free(l->claims);
}

bool gang_on(const struct conf *conf)
{
    return preempt_slice_us(conf) > 0;
}

/* ---- the jobs that take part ----------------------------------------------------------------- */

/* It ends anyway, or has ended and its processes are being removed: it makes room by itself. */
static bool is_fixed(const Pst__JobRecord *r)
{
    return job_is_ended(r) ||
           (r->has_preempt_kill_us && r->preempt_mode != PST__PREEMPT_MODE__PREEMPT_SUSPEND);
}

static bool takes_part(const Pst__JobRecord *r)
{
    bool waited = r->has_gang && r->gang;

    return job_holds_resources(r) && (job_is_ended(r) ? !waited : job_is_running(r) || waited);
}

static bool on_nodes(const Pst__JobRecord *r, const struct bitmap *nodes)
{
    for (size_t i = 0; i < r->alloc->n_node_ids; i++)
        if (r->alloc->node_ids[i] < nodes->nbits && bitmap_test(nodes, r->alloc->node_ids[i]))
            return true;
    return false;
}

static bool mark_nodes(const Pst__JobRecord *r, struct bitmap *nodes)
{
    for (size_t i = 0; i < r->alloc->n_node_ids; i++)
        if (r->alloc->node_ids[i] < nodes->nbits)
            bitmap_set(nodes, r->alloc->node_ids[i]);
    return true;
}

/* Nodes where a job waits for its turn or has just started; NULL: there are none. */
static struct bitmap *nodes_of_interest(struct ctld *ctld)
{
    struct bitmap *nodes;
    bool any = false;

    if (bitmap_new(ctld->cluster->nnodes, &nodes) < 0)
        must(NULL);
    for (const struct job *j = ctld->cluster->active; j; j = j->next_active)
        if (job_waits_for_turn(j->rec))
            any = mark_nodes(j->rec, nodes);
    for (size_t i = 0; i < ctld->gang->fresh.n; i++) {
        const struct job *j = cluster_job(ctld->cluster, ctld->gang->fresh.ids[i]);

        if (j && takes_part(j->rec))
            any = mark_nodes(j->rec, nodes);
    }
    return any ? nodes : bitmap_free(nodes);
}

static void add_part(struct ctld *ctld, struct look *l, const Pst__JobRecord *r)
{
    if (l->nparts == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 64;
        l->parts = must(realloc(l->parts, l->cap * sizeof(*l->parts)));
    }
    l->parts[l->nparts++] = (struct part){ .key = het_is(r) ? r->het_job_id : r->job_id,
                                           .job_id = r->job_id,
                                           .f = feed_of_running(ctld->cluster, r) };
}

static int by_key(const void *pa, const void *pb)
{
    const struct part *a = pa, *b = pb;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->job_id > b->job_id) - (a->job_id < b->job_id);
}

/* ---- what gang_plan() is asked --------------------------------------------------------------- */

/* Higher tiers are not delayed by lower ones where tiers preempt. */
static uint32_t rank_of(const struct ctld *ctld, const Pst__JobRecord *r)
{
    const struct partition *p = cluster_partition(ctld->cluster, r->partition);

    return p && preempt_wanted(ctld->conf) && !preempt_by_qos(ctld->conf) ? p->rec->priority_tier
                                                                          : 0;
}

static int64_t ran_us(const Pst__JobRecord *r, int64_t now)
{
    int64_t slept = r->has_suspended_us ? r->suspended_us : 0;

    return (job_waits_for_turn(r) && r->has_suspend_us ? r->suspend_us : now) - r->start_us - slept;
}

static void add_unit(struct ctld *ctld, struct look *l, const Pst__JobRecord *r, int64_t now)
{
    l->units[l->nunits++] = (struct gang_job){
        .id = het_is(r) ? r->het_job_id : r->job_id,
        .rank = rank_of(ctld, r),
        .running = !job_waits_for_turn(r),
        .fixed = is_fixed(r),
        .since_us = r->has_suspend_us ? r->suspend_us : r->start_us,
        .ran_us = ran_us(r, now),
    };
}

static void make_units(struct ctld *ctld, struct look *l, int64_t now)
{
    struct gang_claim *next;
    size_t nclaims = 0;

    qsort(l->parts, l->nparts, sizeof(*l->parts), by_key);
    for (size_t i = 0; i < l->nparts; i++)
        nclaims += l->parts[i].f->alloc.nnodes;
    l->units = must(calloc(l->nparts + 1, sizeof(*l->units)));
    next = l->claims = must(calloc(nclaims + 1, sizeof(*l->claims)));
    for (size_t i = 0; i < l->nparts; i++) {
        struct part *p = &l->parts[i];
        const struct sched_alloc *a = &p->f->alloc;
        const Pst__JobRecord *r = cluster_job(ctld->cluster, p->job_id)->rec;
        struct gang_job *u;

        if (!i || l->parts[i - 1].key != p->key)
            add_unit(ctld, l, r, now);
        u = &l->units[l->nunits - 1];
        u->claims = u->nclaims ? u->claims : next;
        u->nclaims += a->nnodes;
        u->running = u->running || !job_waits_for_turn(r);
        p->unit = l->nunits - 1;
        for (size_t k = 0; k < a->nnodes; k++)
            *next++ = (struct gang_claim){ .node_id = a->nodes[k].node_id,
                                           .nwords = a->nodes[k].ncpu_words,
                                           .cpus = a->nodes[k].cpu_bits };
    }
}

/* ---- turns ----------------------------------------------------------------------------------- */

static void put_turn(Pst__Transaction *tx, const Pst__JobRecord *r, bool runs, int64_t now)
{
    Pst__JobRecord *set = tx_job_patch(
        tx, runs ? PST__EVENT_KIND__EV_JOB_TURN : PST__EVENT_KIND__EV_JOB_TURN_OVER, r->job_id);

    lifecycle_fill_suspend(set, r, !runs, now);
    if (runs)
        tx_clear(tx, JOB_F_GANG);
    else
        SET(set, gang, true);
}

/* 0, also where nothing changes; -ENOSPC: nothing has, for the disk is full. */
static int give_turns(struct ctld *ctld, const struct look *l, int64_t now)
{
    _cleanup_free_ bool *runs = must(calloc(l->nparts + 1, sizeof(*runs)));
    Pst__Transaction *tx = tx_new(now);
    size_t n[2] = { 0 };
    uint64_t lsn;

    for (size_t i = 0; i < l->nparts; i++) {
        const Pst__JobRecord *r = cluster_job(ctld->cluster, l->parts[i].job_id)->rec;

        runs[i] = l->units[l->parts[i].unit].runs;
        if (job_is_ended(r) || runs[i] == !job_waits_for_turn(r)) {
            l->parts[i].job_id = 0; /* as it was */
            continue;
        }
        put_turn(tx, r, runs[i], now);
        n[runs[i]]++;
    }
    if (!n[false] && !n[true]) {
        tx_free(tx);
        return 0;
    }
    lsn = core_commit(ctld, tx);
    if (!lsn)
        return -ENOSPC;
    for (int run = 0; run < 2; run++) { /* first the jobs that stop */
        for (size_t i = 0; i < l->nparts; i++) {
            struct job *j = l->parts[i].job_id && runs[i] == run
                                ? cluster_job(ctld->cluster, l->parts[i].job_id)
                                : NULL;

            if (!j)
                continue;
            launch_suspend(ctld, j, lsn, !run);
            feed_end_time(ctld, j);
            if (run)
                services_job_resumed(ctld, j);
        }
    }
    log_verbose("turns: %zu jobs wait, %zu go on", n[false], n[true]);
    return 0;
}

/* Without GANG nobody waits any more. */
static void look_at_jobs(struct ctld *ctld, bool next)
{
    _cleanup_(bitmap_free) struct bitmap *nodes = nodes_of_interest(ctld);
    _cleanup_val_(look_done) struct look l = { 0 };
    int64_t now = core_now();

    if (!nodes) {
        ctld->gang->fresh.n = 0;
        return;
    }
    for (const struct job *j = ctld->cluster->active; j; j = j->next_active)
        if (takes_part(j->rec) && (het_is(j->rec) || on_nodes(j->rec, nodes)))
            add_part(ctld, &l, j->rec);
    make_units(ctld, &l, now);
    if (!gang_on(ctld->conf))
        for (size_t i = 0; i < l.nunits; i++)
            l.units[i].runs = true;
    else if (gang_plan(l.units, l.nunits, next) < 0)
        must(NULL);
    if (give_turns(ctld, &l, now) == 0)
        ctld->gang->fresh.n = 0; /* else they are looked at again with the next slice */
}

void gang_settle(struct ctld *ctld)
{
    ctld->gang->changed = false;
    look_at_jobs(ctld, false);
}

void gang_settle_fresh(struct ctld *ctld)
{
    if (ctld->gang->fresh.n)
        gang_settle(ctld);
}

void gang_tick(struct ctld *ctld, int64_t now_us)
{
    int64_t slice_us = (int64_t)conf_num(ctld->conf, CONF_SCHEDULER_TIME_SLICE) * USEC_PER_SEC;

    if (gang_on(ctld->conf) && !ctld->gang->next_us)
        ctld->gang->next_us = now_us + slice_us;
    if (gang_on(ctld->conf) && now_us >= ctld->gang->next_us) {
        ctld->gang->next_us = now_us + slice_us;
        ctld->gang->changed = false;
        look_at_jobs(ctld, true);
    } else if (ctld->gang->changed) {
        gang_settle(ctld);
    }
}

/* ---- changes --------------------------------------------------------------------------------- */

void gang_job(struct ctld *ctld, const struct job *j, Pst__EventKind kind)
{
    const struct partition *p;

    switch (kind) {
    case PST__EVENT_KIND__EV_JOB_START:
        p = gang_on(ctld->conf) ? cluster_partition(ctld->cluster, j->rec->partition) : NULL;
        if (p && p->rec->oversubscribe && strcasecmp(p->rec->oversubscribe, "NO") != 0)
            idlist_add(&ctld->gang->fresh, j->rec->job_id);
        break;
    case PST__EVENT_KIND__EV_JOB_END:
    case PST__EVENT_KIND__EV_JOB_CLEANED:
    case PST__EVENT_KIND__EV_JOB_REQUEUE:
    case PST__EVENT_KIND__EV_JOB_UPDATE: /* it may have given nodes back */
    case PST__EVENT_KIND__EV_JOB_SUSPEND:
    case PST__EVENT_KIND__EV_JOB_PREEMPT:
        ctld->gang->changed = true;
        break;
    default:
        break;
    }
}

void gang_recheck(struct ctld *ctld)
{
    for (const struct job *j = ctld->cluster->active; j; j = j->next_active)
        if (!job_is_ended(j->rec))
            gang_job(ctld, j, PST__EVENT_KIND__EV_JOB_START);
    ctld->gang->changed = true;
}

uint64_t gang_enter(struct ctld *ctld, struct job *j)
{
    Pst__Transaction *tx = tx_new(core_now());
    bool preempted = j->rec->n_preempted_by > 0;
    uint64_t lsn;

    SET(tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_TURN_OVER, j->rec->job_id), gang, true);
    if (preempted) {
        tx_clear(tx, JOB_F_PREEMPT_KILL_US);
        tx_clear(tx, JOB_F_PREEMPTED_BY);
    }
    lsn = core_commit(ctld, tx);
    if (!lsn)
        return 0;
    if (preempted)
        feed_yield(ctld, j, false);
    else
        feed_suspend(ctld, j, false);
    ctld->gang->changed = true;
    return lsn;
}

uint64_t gang_leave(struct ctld *ctld, struct job *j)
{
    Pst__Transaction *tx = tx_new(core_now());
    uint64_t lsn;

    (void)tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_SUSPEND, j->rec->job_id);
    tx_clear(tx, JOB_F_GANG);
    lsn = core_commit(ctld, tx);
    if (lsn)
        feed_suspend(ctld, j, true);
    return lsn;
}

/* ---- the service ----------------------------------------------------------------------------- */

static void note_job(struct ctld *ctld, struct job *j, Pst__EventKind kind)
{
    gang_job(ctld, j, kind);
}

static int start_turns(struct ctld *ctld, struct err *err)
{
    (void)err;
    ctld->gang = calloc(1, sizeof(*ctld->gang));
    return ctld->gang ? 0 : -ENOMEM;
}

static void free_turns(struct ctld *ctld)
{
    if (ctld->gang)
        free(ctld->gang->fresh.ids);
    free(ctld->gang);
    ctld->gang = NULL;
}

const struct ctld_service gang_service = {
    .name = "gang",
    .start = start_turns,
    .free = free_turns,
    .reconfigured = gang_recheck,
    .tick_writing = gang_tick,
    .on_job = note_job,
};
