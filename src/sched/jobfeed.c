/* jobfeed.c - jobs as they are fed: pending, running, suspended, gone; see sched.h.
 *
 * Every change bumps s->change, by which backfill knows that another run is worth while. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "sched/plan/plan.h"
#include "sched/rules/jobhold.h"
#include "sched/rules/limit_count.h"
#include "sched/rules/spares.h"
#include "sched/sched.h"
#include "sched/state/alloc.h"
#include "sched/state/classes.h"
#include "sched/state/holders.h"
#include "sched/state/jobbuild.h"
#include "sched/state/jobs.h"
#include "sched/state/nodes.h"
#include "sched/state/parts.h"
#include "sched/state/planlog.h"
#include "sched/state/queue.h"
#include "sched/state/sched_obj.h"
#include "sched/state/shape.h"
#include "sched/state/topoclose.h"
#include "sched/base/strtab.h"

/* Take a job out of everything it is in, its record included. */
static void drop_job(struct sched *s, struct job *j)
{
    if (j->expedite)
        spares_changed(s);
    plan_note_leave(s, j);
    if (j->state >= JOB_PROPOSED) {
        claim_drop(s, j);
        job_release(s, j);
        limit_release(s, j);
        holders_remove(s, j);
    } else {
        job_unqueue(s, j);
        s->npending--;
    }
    job_clear_fresh(s, j);
    job_forget(s, j);
    s->change++;
}

int sched_job_put(struct sched *s, const struct sched_job *in)
{
    struct job *old = job_find(s, in->id), *j;
    int r = job_build(s, in, &j);

    if (r < 0)
        return r;
    if (old) { /* changed: it keeps its place among those that age */
        j->judged = old->state <= JOB_QUEUED && old->judged && old->no_age == j->no_age;
        drop_job(s, old);
    }
    r = job_insert(s, j);
    if (r < 0) {
        job_free(s, j);
        return r;
    }
    s->npending++;
    s->change++;
    if (in->expedite) { /* a plan that is kept gives it no place before the others' */
        s->expediting = true;
        spares_changed(s);
        planlog_other(s);
    }
    r = job_wait(s, j);
    if (r < 0)
        drop_job(s, j);
    return r;
}

int sched_job_price(struct sched *s, const struct sched_job *in)
{
    struct job *j;
    int r = job_build(s, in, &j);

    if (r < 0)
        return r;
    j->fresh_next = s->priced;
    s->priced = j;
    return 0;
}

static int find_or_add(struct sched *s, uint32_t id, struct job **ret)
{
    struct job *j = job_find(s, id);
    int r;

    if (!j) {
        j = calloc(1, sizeof(*j));
        if (!j)
            return -ENOMEM;
        j->id = id;
        j->state = JOB_WAITING;
        j->qos = STRTAB_NONE;
        r = job_insert(s, j);
        if (r < 0) {
            free(j);
            return r;
        }
        s->npending++; /* it leaves the pending in a moment */
    }
    *ret = j;
    return 0;
}

/* Did the job ask to share, or must it? */
static bool shares_cpus(const struct part *p, const struct job *j, bool exclusive)
{
    bool asked = j->nentries && (j->entries[0]->cls->shape->key.flags & SHAPE_SHARE);

    return !exclusive && !p->exclusive_node && p->oversubscribe > 1 && (p->force || asked);
}

int sched_job_running(struct sched *s, uint32_t id, const char *partition,
                      const struct sched_alloc *alloc, int64_t start_us, int64_t end_us,
                      bool exclusive)
{
    _cleanup_val_(alloc_done) struct sched_alloc copy = { 0 };
    struct part *p;
    struct job *j = NULL;
    int64_t old_us;
    int r = part_get(s, partition, &p);

    if (r == 0)
        r = alloc_dup(s, alloc, &copy);
    if (r == 0)
        r = find_or_add(s, id, &j);
    if (r == 0)
        r = holders_room(s, p->id, j->qos);
    if (r < 0)
        return r;
    if (j->state < JOB_PROPOSED || j->part != p->id || !alloc_equal(&copy, &j->alloc)) {
        bool firm = j->state < JOB_PROPOSED ? !shares_cpus(p, j, exclusive) : j->firm;

        plan_note_leave(s, j);
        if (j->state >= JOB_PROPOSED) {
            job_release(s, j);
            limit_release(s, j);
            holders_remove(s, j);
        } else {
            job_unqueue(s, j);
            s->npending--;
        }
        alloc_done(&j->alloc);
        j->alloc = copy;
        copy = (struct sched_alloc){ 0 };
        j->part = p->id;
        j->firm = firm;
        j->state = JOB_RUNNING;
        holders_add(s, j);
        job_take(s, j);
        j->end_us = end_us;
        plan_note_hold(s, j);
    } else if (j->state == JOB_SUSPENDED) {
        sched_job_suspend(s, id, false);
    }
    claim_drop(s, j);
    job_free_entries(s, j);
    j->state = JOB_RUNNING;
    j->start_us = start_us;
    old_us = j->end_us;
    j->end_us = end_us;
    plan_note_end(s, j, old_us);
    limit_end_time(j);
    s->change++;
    return limit_charge(s, j);
}

int sched_job_owner(struct sched *s, uint32_t id, uint32_t uid, bool exclusive_user,
                    const char *label)
{
    struct job *j = job_find(s, id);
    bool held = j && j->state >= JOB_PROPOSED;
    uint32_t label_no = 0;
    int r = label_id(s, label, &label_no);

    if (r < 0 || !j || (j->uid == uid && j->owned == exclusive_user && j->label == label_no))
        return r;
    for (size_t i = 0; held && i < j->alloc.nnodes; i++)
        node_own(s, j->alloc.nodes[i].node_id, j, false);
    planlog_other(s);
    j->uid = uid;
    j->owned = exclusive_user;
    j->label = label_no;
    for (size_t i = 0; held && i < j->alloc.nnodes; i++)
        node_own(s, j->alloc.nodes[i].node_id, j, true);
    if (j->charge) { /* counted as of no user */
        limit_release(s, j);
        /* out of memory: as after a restart, when the core says whose it is */
        (void)limit_charge(s, j);
    }
    s->uids = s->uids || exclusive_user;
    s->change++;
    return 0;
}

int sched_job_topo(struct sched *s, uint32_t id, bool exclusive_topo)
{
    struct job *j = job_find(s, id);
    const struct part *p = j && j->state >= JOB_PROPOSED ? s->parts[j->part] : NULL;
    bool closes = p && (exclusive_topo || p->exclusive_topo) && topo_can_close(p->topo);
    int r;

    if (!p || (closes == j->closes && (!closes || alloc_has_closed(&j->alloc))))
        return 0;
    plan_note_leave(s, j);
    r = job_close_units(s, j, closes);
    plan_note_hold(s, j);
    s->change++;
    return r;
}

void sched_job_channels(struct sched *s, uint32_t id, uint32_t channels)
{
    struct job *j = job_find(s, id);

    if (!j || j->state < JOB_PROPOSED || j->channels == channels)
        return;
    s->channels_held += channels - j->channels;
    j->channels = channels;
    s->change++;
}

void sched_job_end_time(struct sched *s, uint32_t id, int64_t end_us)
{
    struct job *j = job_find(s, id);

    int64_t old_us = j ? j->end_us : 0;

    if (!j || j->state < JOB_PROPOSED)
        return;
    j->end_us = end_us;
    plan_note_end(s, j, old_us);
    limit_end_time(j);
    s->change++;
}

void sched_job_suspend(struct sched *s, uint32_t id, bool suspended)
{
    struct job *j = job_find(s, id);

    if (!j || j->state < JOB_PROPOSED || suspended == (j->state == JOB_SUSPENDED))
        return;
    s->run_gen++;
    planlog_other(s);
    for (size_t i = 0; i < j->alloc.nnodes; i++) {
        if (suspended)
            node_release(s, &j->alloc.nodes[i], j->part, j->firm, true, false);
        else
            node_take(s, &j->alloc.nodes[i], j->part, j->firm, true, false);
    }
    j->state = suspended ? JOB_SUSPENDED : JOB_RUNNING;
    j->taken = (uint32_t)s->run_gen;
    s->change++;
}

void sched_job_remove(struct sched *s, uint32_t id)
{
    struct job *j = job_find(s, id);

    if (j)
        drop_job(s, j);
}

uint32_t sched_job_priority(const struct sched *s, uint32_t id)
{
    const struct job *j = job_find(s, id);
    uint32_t best = 0;

    for (uint32_t i = 0; j && j->state < JOB_PROPOSED && i < j->nentries; i++)
        best = MAX(best, j->entries[i]->priority);
    return best;
}
