/* queuewalk.c - going through the queues of all partitions in one order, and the decisions that
 * come of it.
 *
 * Order: expedited jobs, then partition tier, then priority, submit time and id; a job of several
 * partitions once in each.  What a job is told is the most hopeful of what its entries met. */
#include "sched/plan/queuewalk.h"

#include <stdlib.h>

#include "base/bitmap.h"
#include "sched/plan/plan.h"
#include "sched/rules/advres.h"
#include "sched/rules/limit_check.h"
#include "sched/rules/partlimits.h"
#include "sched/rules/prio.h"
#include "sched/sched.h"
#include "sched/state/bounds.h"
#include "sched/state/classes.h"
#include "sched/state/decisions.h"
#include "sched/state/expect.h"
#include "sched/state/jobs.h"
#include "sched/state/parts.h"
#include "sched/state/queue.h"
#include "sched/state/sched_obj.h"

void walk_begin(struct sched *s)
{
    s->walk_run++;
    for (uint32_t i = 0; i < s->nparts; i++) {
        struct part *p = s->parts[i];

        p->cur = p->head[0];
        p->active = p->up && !p->paused;
        p->blocked = p->stopped = false;
        p->tried = 0;
    }
    bitmap_zero(s->withheld);
    s->any_withheld = false;
}

bool walk_goes_before(const struct sched *s, const struct entry *a, const struct entry *b)
{
    uint32_t x = s->parts[a->part]->tier, y = s->parts[b->part]->tier;

    if (a->first != b->first)
        return a->first;
    if (a->ahead != b->ahead)
        return a->ahead;
    if (x != y)
        return x > y;
    return a->job == b->job && a->priority == b->priority ? a->rank < b->rank : entry_before(a, b);
}

struct entry *walk_next(struct sched *s)
{
    struct entry *best = NULL;

    for (uint32_t i = 0; i < s->nparts; i++) {
        const struct part *p = s->parts[i];

        if (p->active && p->cur && (!best || walk_goes_before(s, p->cur, best)))
            best = p->cur;
    }
    return best;
}

void walk_skip(struct sched *s, struct entry *e)
{
    s->parts[e->part]->cur = e->next[0];
}

void walk_resume(struct sched *s)
{
    for (uint32_t i = 0; i < s->nparts; i++) {
        struct part *p = s->parts[i];
        struct entry **at = p->head;

        for (int k = QUEUE_LEVELS - 1; k >= 0; k--)
            while (at[k] && plan_looked_at(s, at[k]))
                at = at[k]->next;
        p->cur = at[0];
        p->active = p->up && !p->paused;
    }
}

static bool waits_for_nodes(const struct sched *s, const struct entry *e, enum sched_why why)
{
    if (why == SCHED_WHY_RESOURCES)
        return true;
    return why == SCHED_WHY_NODES_UNAVAILABLE && e->cls->verdict == SCHED_WHY_RESOURCES &&
           e->cls->verdict_gen == s->up_gen + 1;
}

void walk_refuse(struct sched *s, struct entry *e, enum sched_why why)
{
    struct part *p = s->parts[e->part];

    if (e->why != why || (why == SCHED_WHY_LIMIT && e->limit != e->job->told_limit))
        job_set_fresh(s, e->job);
    e->why = why;
    /* holds up those of its reservation */
    if (why == SCHED_WHY_RESOURCES && e->cls->shape->key.resv) {
        adv_block_walk(s, e);
        p->cur = e->next[0];
        return;
    }
    if (why == SCHED_WHY_LICENSES || why == SCHED_WHY_CHANNELS || adv_is_why(why) ||
        (why == SCHED_WHY_LIMIT &&
         !limit_is_own(e->limit))) { /* stays in the queue and holds up no other entry */
        p->cur = e->next[0];
        if (why == SCHED_WHY_LIMIT && s->params.assoc_limit_stop) {
            p->stopped = true; /* but here it does */
            p->active = false;
        }
        return;
    }
    if (!waits_for_nodes(s, e, why)) {
        plan_note_park(s, e);
        queue_park(s, e); /* moves p->cur on */
        return;
    }
    if (p->block && p->block != e) {
        if (!expect_places(p->block->job))
            expect_clear(p->block->job);
        job_set_fresh(s, p->block->job);
    }
    p->block = e;
    p->blocked = true;
    p->cur = e->next[0];
    bitmap_or(s->withheld, p->nodes);
    s->any_withheld = true;
}

void walk_note(struct sched *s, struct entry *e, enum sched_why why)
{
    if (e->why != why)
        job_set_fresh(s, e->job);
    e->why = why;
    walk_skip(s, e);
}

/* How much hope a reason leaves; the entry with most speaks for the job. */
static const int hope[] = {
    [SCHED_WHY_NONE] = 0,
    [SCHED_WHY_BAD_CONSTRAINTS] = 1,
    [SCHED_WHY_PART_NODE_LIMIT] = 2,
    [SCHED_WHY_PART_TIME_LIMIT] = 3,
    [SCHED_WHY_PART_MEM] = 3,
    [SCHED_WHY_PART_INACTIVE] = 4,
    [SCHED_WHY_PART_DOWN] = 4,
    [SCHED_WHY_NODE_NOT_AVAIL] = 5,
    [SCHED_WHY_NODES_UNAVAILABLE] = 6,
    [SCHED_WHY_BEGIN_TIME] = 7,
    [SCHED_WHY_RESV_MAINT] = 8,
    [SCHED_WHY_RESERVED] = 9,
    [SCHED_WHY_RESV] = 10,
    [SCHED_WHY_PRIORITY] = 11,
    [SCHED_WHY_LIMIT] = 12,
    [SCHED_WHY_LICENSES] = 13,
    [SCHED_WHY_CHANNELS] = 13,
    [SCHED_WHY_RESOURCES] = 14,
};

/* Does the first of its partition wait for nodes by name, of which e names one too? */
static bool named_before(const struct part *p, const struct entry *e)
{
    const struct shape *first, *sh;
    uint32_t n, own;

    if (e->state != ENTRY_QUEUED || !p->blocked || !p->block || p->block->state != ENTRY_QUEUED)
        return false;
    first = p->block->cls->shape;
    sh = e->cls->shape;
    n = shape_must(first);
    own = shape_must(sh);
    if (!n || !own || n < MAX(first->key.min_nodes, 1u))
        return false;
    for (uint32_t i = 0, k = 0; i < own && k < n;) { /* both are sorted */
        if (sh->nodes[i] == first->nodes[k])
            return true;
        if (sh->nodes[i] < first->nodes[k])
            i++;
        else
            k++;
    }
    return false;
}

/* Is `told` of e to be said rather than `why` of `by` (NULL: none)?  Of two partitions in whose
 * nodes the job waits the one that is tried last speaks: there the first keeps the nodes. */
static bool speaks_before(const struct sched *s, const struct entry *e, enum sched_why told,
                          const struct entry *by, enum sched_why why)
{
    if (by && e->state == ENTRY_QUEUED && by->state == ENTRY_QUEUED &&
        waits_for_nodes(s, e, told) && waits_for_nodes(s, by, why))
        return walk_goes_before(s, by, e);
    return hope[told] > hope[why];
}

static enum sched_why job_why(const struct sched *s, struct job *j, uint32_t *ret_priority,
                              unsigned *ret_limit, enum topo_why *ret_topo)
{
    enum sched_why why = SCHED_WHY_NONE;
    const struct entry *by = NULL;

    for (uint32_t i = 0; i < j->nentries; i++) {
        struct entry *e = j->entries[i];
        const struct part *p = s->parts[e->part];
        enum sched_why told;

        if (e->state == ENTRY_QUEUED) {
            if (!p->up)
                e->why = part_closed_why(p);
            else if ((p->stopped || (p->blocked && e != p->block)) &&
                     e->why != SCHED_WHY_LICENSES && e->why != SCHED_WHY_CHANNELS &&
                     e->why != SCHED_WHY_LIMIT && !adv_is_why(e->why) && !e->cls->shape->key.resv)
                e->why = SCHED_WHY_PRIORITY;
            else if (e->why == SCHED_WHY_PART_DOWN || e->why == SCHED_WHY_PART_INACTIVE)
                e->why = SCHED_WHY_NONE;
        }
        if (i == 0 || e->priority > *ret_priority)
            *ret_priority = e->priority;
        told = e->why == SCHED_WHY_PRIORITY && named_before(p, e) ? SCHED_WHY_RESERVED : e->why;
        if (!e->magnetic && speaks_before(s, e, told, by, why)) {
            by = e;
            why = told;
            *ret_limit = why == SCHED_WHY_LIMIT ? e->limit : 0;
            *ret_topo = why == SCHED_WHY_RESOURCES ? e->topo : TOPO_WHY_NONE;
        }
    }
    return why;
}

static int tell_job(struct sched *s, struct sched_decisions *out, struct job *j)
{
    struct sched_decision d = { .kind = SCHED_EXPECT, .job_id = j->id };
    int r;

    if (j->state == JOB_WAITING) {
        d.why = SCHED_WHY_BEGIN_TIME;
        d.priority = waiting_priority(s, j);
    } else {
        d.why = job_why(s, j, &d.priority, &d.limit, &d.topo);
    }
    if (!adv_is_why(d.why) && d.why != SCHED_WHY_RESOURCES &&
        d.why != SCHED_WHY_NODES_UNAVAILABLE && d.why != SCHED_WHY_LICENSES &&
        d.why != SCHED_WHY_PRIORITY)
        expect_clear(j);
    if (d.why == SCHED_WHY_NONE ||
        (d.why == j->told && j->no_age == j->told_no_age && d.limit == j->told_limit &&
         d.topo == j->told_topo && expect_us(j) == expect_told_us(j)))
        return 0;
    if (j->no_age != j->told_no_age)
        d.accrue_us = j->no_age ? INT64_MAX : j->accrue_us;
    d.expected_us = expect_us(j);
    d.expected_cpus = d.expected_us ? expect_cpus(j) : 0;
    r = d.expected_us ? expect_nodes(j, &d.expected_nodes, &d.nexpected) : 0;
    if (r == 0)
        r = decisions_add(out, &d);
    if (r < 0) {
        free(d.expected_nodes);
        return r;
    }
    j->told = d.why;
    j->told_no_age = j->no_age;
    j->told_limit = (uint16_t)d.limit;
    j->told_topo = d.topo;
    expect_told(j);
    return 0;
}

static int tell_prices(struct sched *s, struct sched_decisions *out)
{
    int r = 0;

    for (const struct job *j = s->priced; j && r == 0; j = j->fresh_next) {
        struct sched_decision d = { .kind = SCHED_PRICE,
                                    .job_id = j->id,
                                    .priority = waiting_priority(s, j) };

        r = decisions_add(out, &d);
    }
    jobs_drop_priced(s);
    return r;
}

int walk_finish(struct sched *s, struct sched_decisions *out)
{
    int r = tell_prices(s, out);

    /* Entered at the front of the list: the last is the first that came. */
    struct job *j = s->fresh;

    while (j && j->fresh_next)
        j = j->fresh_next;
    while (j && r == 0) {
        struct job *prev = j->fresh_prev;

        r = tell_job(s, out, j);
        if (r == 0)
            job_clear_fresh(s, j);
        j = prev;
    }
    out->queue_len = s->npending + out->started; /* as it was */
    return r;
}
