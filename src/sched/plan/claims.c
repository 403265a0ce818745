/* claims.c - a preemptor holds its layout beside its victims until they have gone.
 *
 * That keeps others from what the victims leave.  The preemptor starts on exactly that when all
 * have gone. */
#include "sched/plan/claims.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bitmap.h"
#include "sched/plan/plan.h"
#include "sched/plan/preempt_data.h"
#include "sched/rules/jobhold.h"
#include "sched/rules/limit_count.h"
#include "sched/rules/partlimits.h"
#include "sched/rules/prio.h"
#include "sched/rules/spares.h"
#include "sched/sched.h"
#include "sched/state/alloc.h"
#include "sched/state/classes.h"
#include "sched/state/decisions.h"
#include "sched/state/endtime.h"
#include "sched/state/expect.h"
#include "sched/state/holders.h"
#include "sched/state/jobs.h"
#include "sched/state/lics.h"
#include "sched/state/planlog.h"
#include "sched/state/queue.h"
#include "sched/state/sched_obj.h"

static bool shares_node(const struct job *k, const struct sched_alloc *a)
{
    size_t i = 0;

    for (size_t n = 0; n < k->alloc.nnodes; n++) {
        while (i < a->nnodes && a->nodes[i].node_id < k->alloc.nodes[n].node_id)
            i++;
        if (i < a->nnodes && a->nodes[i].node_id == k->alloc.nodes[n].node_id)
            return true;
    }
    return false;
}

/* Note the jobs that leave its nodes, and the jobs that hold its licences until then. */
static int claim_waits(struct psearch *x, const struct choice *c)
{
    struct job *j = x->e->job;

    j->waits = calloc(1, sizeof(*j->waits) + (x->ngoing + c->n) * sizeof(j->waits->v[0]));
    if (!j->waits)
        return -ENOMEM;
    for (uint32_t i = 0; i < x->ngoing; i++)
        if (x->going[i]->held.n || shares_node(x->going[i], &c->alloc))
            j->waits->v[j->waits->n++] =
                (struct claim_wait){ x->going[i]->id, x->going[i]->start_us };
    for (uint32_t i = 0; i < c->n; i++) {
        struct job *k = job_find(x->s, c->victims[i].job_id);

        j->waits->v[j->waits->n++] = (struct claim_wait){ k->id, k->start_us };
        k->claimed_by = j->id;
        going_note(x->s, k);
    }
    return 0;
}

static int claims_room(struct sched *s)
{
    uint32_t cap = s->cap_claims ? s->cap_claims * 2 : 8, *grown;

    if (s->nclaims < s->cap_claims)
        return 0;
    grown = realloc(s->claims, cap * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    s->claims = grown;
    s->cap_claims = cap;
    return 0;
}

static int claim_tell(struct psearch *x, struct choice *c, struct sched_decisions *out)
{
    struct sched *s = x->s;
    struct sched_decision d = { .kind = SCHED_PREEMPT,
                                .job_id = x->e->job->id,
                                .partition = s->parts_tab.names[x->e->part],
                                .priority = x->e->priority,
                                .nvictims = c->n,
                                .candidates = x->n };
    int r = alloc_dup_used(s, &c->alloc, &d.alloc);

    if (r < 0)
        return r;
    d.victims = c->victims;
    r = decisions_add(out, &d);
    if (r < 0)
        alloc_done(&d.alloc);
    else
        c->victims = NULL; /* handed over */
    return r;
}

int claim_make(struct psearch *x, struct choice *c, struct job_lics *held,
               struct sched_decisions *out)
{
    struct sched *s = x->s;
    struct job *j = x->e->job;
    uint32_t limit = entry_minutes(s, x->e, j->time_limit_min);
    int r = claims_room(s);

    if (r == 0)
        r = holders_room(s, x->e->part, j->qos);
    if (r == 0)
        r = claim_waits(x, c);
    if (r == 0)
        r = claim_tell(x, c, out);
    if (r < 0) {
        claim_drop(s, j);
        return r;
    }
    if (j->expedite)
        spares_changed(s);
    planlog_other(s);
    plan_note_leave(s, j);
    job_unqueue(s, j);
    j->state = JOB_PROPOSED;
    j->held = *held;
    *held = (struct job_lics){ 0 };
    j->alloc = c->alloc;
    c->alloc = (struct sched_alloc){ 0 };
    j->part = x->e->part;
    j->resv = x->e->cls->shape->key.resv;
    j->run_priority = x->e->priority;
    j->firm = x->p.share_max == 1;
    j->closes = x->p.closes;
    j->start_us = x->now_us;
    j->end_us = end_after(x->now_us, limit);
    j->told = SCHED_WHY_NONE;
    expect_drop(j);
    holders_add(s, j);
    job_take(s, j);
    (void)limit_charge(s, j); /* out of memory: it counts from the core's next word on */
    s->claims[s->nclaims++] = j->id;
    s->npending--;
    s->change++;
    return 1;
}

static bool victim_gone(const struct sched *s, const struct claim_wait *w)
{
    const struct job *k = job_find(s, w->id);

    return !k || k->state < JOB_PROPOSED || k->yielded || k->start_us != w->start_us;
}

static bool nodes_up(const struct sched *s, const struct sched_alloc *a)
{
    for (size_t i = 0; i < a->nnodes; i++)
        if (!a->nodes[i].closed && !bitmap_test(s->up, a->nodes[i].node_id))
            return false;
    return true;
}

/* The limit of time that it claimed. */
static uint32_t claimed_minutes(const struct job *j)
{
    return j->end_us == INT64_MAX ? j->time_limit_min
                                  : (uint32_t)((j->end_us - j->start_us) / 60000000);
}

static int claim_start(struct sched *s, struct job *j, int64_t now_us, struct sched_decisions *out)
{
    uint32_t limit = claimed_minutes(j);
    struct sched_decision d = { .kind = SCHED_START,
                                .job_id = j->id,
                                .partition = s->parts_tab.names[j->part],
                                .priority = j->run_priority,
                                .resv_id = j->resv,
                                .time_limit_min = limit == j->time_limit_min ? 0 : limit };
    int r = lics_tell(s, &j->held, &d.licenses, &d.nlicenses);

    if (r == 0)
        r = alloc_dup_used(s, &j->alloc, &d.alloc);
    if (r == 0)
        r = decisions_add(out, &d);
    if (r < 0) {
        alloc_done(&d.alloc);
        free(d.licenses);
        return r;
    }
    claim_drop(s, j);
    planlog_other(s);
    j->start_us = now_us;
    j->end_us = end_after(now_us, limit);
    limit_end_time(j);
    s->change++;
    out->started++;
    return 0;
}

int claims_settle(struct sched *s, int64_t now_us, struct sched_decisions *out)
{
    uint32_t left = 0;
    int r = 0;

    for (uint32_t i = 0; i < s->nclaims; i++) {
        struct job *j = job_find(s, s->claims[i]);
        bool all = true;

        if (!j || j->state != JOB_PROPOSED || !j->waits)
            continue; /* refused, or gone itself */
        for (uint32_t k = 0; all && k < j->waits->n; k++)
            all = victim_gone(s, &j->waits->v[k]);
        if (r == 0 && !nodes_up(s, &j->alloc))
            sched_job_refused(s, j->id); /* in the queue again: maybe elsewhere */
        else if (r == 0 && all)
            r = claim_start(s, j, now_us, out);
        if (j->waits)
            s->claims[left++] = j->id;
    }
    s->nclaims = left;
    queue_enter(s, now_us);
    return r;
}
