/* prio.c - the order of the queue.
 *
 * Basic priorities count down with the job id.  Multifactor ones are a weighted sum of factors in
 * [0, 1]; they change with time, so they are computed on entering the queue and again every
 * PriorityCalcPeriod. */
#include "sched/rules/prio.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "sched/rules/accrue.h"
#include "sched/rules/assoctree.h"
#include "sched/rules/tresfactor.h"
#include "sched/sched.h"
#include "sched/state/bounds.h"
#include "sched/state/classes.h"
#include "sched/state/jobs.h"
#include "sched/state/parts.h"
#include "sched/state/planlog.h"
#include "sched/state/queue.h"
#include "sched/state/sched_obj.h"
#include "sched/state/shape.h"

#define PRIO_BASIC_FIRST 4294901760u
#define PRIO_PERIOD_S 300u

static double capped_ratio(double part, double whole)
{
    return whole > 0 ? MIN(part / whole, 1.0) : 0;
}

static double size_factor(const struct sched *s, const struct entry *e)
{
    const struct shape *shape = e->cls->shape;
    double n = capped_ratio(shape_nodes(shape), s->count_nodes),
           c = capped_ratio(shape_cpus(shape), (double)s->count_cpus);

    if (s->params.prio_flags & SCHED_PRIO_SMALL_RELATIVE_TO_TIME) {
        if (e->job->time_limit_min == SCHED_UNLIMITED)
            c = 0;
        else
            c = capped_ratio(shape_cpus(shape) / MAX(e->job->time_limit_min, 1u),
                             (double)s->count_cpus);
        return s->params.favor_small ? 1 - c : c;
    }
    return s->params.favor_small ? (1 - n + 1 - c) / 2 : (n + c) / 2;
}

static double age_factor(const struct sched *s, const struct job *j, int64_t now_us)
{
    int64_t since = s->params.prio_flags & SCHED_PRIO_ACCRUE_ALWAYS ? j->submit_us : j->accrue_us;

    return since < now_us && !j->no_age
               ? capped_ratio((double)(now_us - since) / 1e6, s->params.max_age_s)
               : 0;
}

static double part_factor(const struct sched *s, const struct entry *e)
{
    uint32_t factor = s->parts[e->part]->job_factor;

    return s->params.prio_flags & SCHED_PRIO_NO_NORMAL_PART
               ? factor
               : capped_ratio(factor, s->max_job_factor);
}

static void fill_factors(const struct sched *s, const struct entry *e, int64_t now_us,
                         struct sched_factors *f)
{
    const struct sched_params *pp = &s->params;
    const struct job *j = e->job;

    f->age = pp->weight_age ? age_factor(s, j, now_us) : 0;
    f->size = pp->weight_job_size ? size_factor(s, e) : 0;
    f->part = pp->weight_partition ? part_factor(s, e) : 0;
    f->fairshare = pp->weight_fairshare ? assoc_fairshare(s, j->assoc_id) : 0;
    f->assoc = pp->weight_assoc ? assoc_factor(s, j->assoc_id) : 0;
    f->qos = pp->weight_qos ? qos_factor(s, j->qos) : 0;
    for (uint32_t i = 0; i < pp->ntres_weights; i++)
        f->tres[i] = tres_factor(s, e, i);
}

static double sum_factors(const struct sched *s, const struct entry *e, int64_t now_us)
{
    const struct sched_params *pp = &s->params;
    struct sched_factors f;
    double sum;

    fill_factors(s, e, now_us, &f);
    sum = pp->weight_age * f.age + pp->weight_job_size * f.size + pp->weight_partition * f.part +
          pp->weight_fairshare * f.fairshare + pp->weight_assoc * f.assoc + pp->weight_qos * f.qos;
    for (uint32_t i = 0; i < pp->ntres_weights; i++)
        sum += pp->tres_weights[i].weight * f.tres[i];
    return sum + e->job->site_factor;
}

/* All are as of the last computation, or of when they came to be: not of the pass that happened
 * to let them in. */
int64_t prio_as_of(const struct sched *s, const struct job *j, int64_t now_us)
{
    int64_t came_us = MAX(j->eligible_us, j->submit_us);

    return s->prio_done ? MIN(MAX(s->prio_us, came_us), now_us) : now_us;
}

uint32_t entry_priority(const struct sched *s, const struct entry *e, int64_t now_us)
{
    const struct job *j = e->job;
    double prio;

    if (j->priority)
        return j->priority;
    if (s->params.multifactor)
        prio = sum_factors(s, e, now_us);
    else
        prio = (double)PRIO_BASIC_FIRST - (j->id ? j->id - 1 : 0);
    prio -= j->nice;
    return prio < 1 ? 1 : prio > UINT32_MAX ? UINT32_MAX : (uint32_t)prio;
}

uint32_t waiting_priority(const struct sched *s, const struct job *j)
{
    uint32_t best = 0;

    for (uint32_t i = 0; i < j->nentries; i++)
        best = MAX(best, entry_priority(s, j->entries[i], j->submit_us));
    return best;
}

/* ---- heterogeneous jobs ------------------------------------------------------------------------
 *
 * A group is placed as a whole where a walk meets the first of its components.  Without
 * bf_hetjob_prio that is where the one of greatest priority stands; with it all of them stand at
 * the least, the mean or the greatest of their priorities, one behind the other.  A component that
 * is not in a queue yet keeps the others at their own places: the group cannot start anyway. */

static struct job *member_of(const struct sched *s, const struct job *j, uint32_t i)
{
    struct job *m = job_find(s, j->het->id + i);

    return m && m->het && m->het->id == j->het->id && m->state == JOB_QUEUED ? m : NULL;
}

/* The priority of a group; 0 while a component is missing. */
static uint32_t place_of_group(const struct sched *s, const struct job *j)
{
    uint32_t least = UINT32_MAX, most = 0;
    uint64_t sum = 0;

    for (uint32_t i = 0; i < j->het->count; i++) {
        const struct job *m = member_of(s, j, i);
        uint32_t best = 0; /* of its partitions */

        for (uint32_t k = 0; m && k < m->nentries; k++)
            best = MAX(best, m->entries[k]->priority);
        if (!best)
            return 0;
        least = MIN(least, best);
        most = MAX(most, best);
        sum += best;
    }
    return s->params.het_prio == SCHED_HET_MIN   ? least
           : s->params.het_prio == SCHED_HET_MAX ? most
                                                 : (uint32_t)(sum / j->het->count);
}

/* Those that are parked get their place when they come back. */
static void move_entries(struct sched *s, struct job *m, uint32_t place)
{
    for (uint32_t k = 0; k < m->nentries; k++) {
        struct entry *e = m->entries[k];

        if (e->state != ENTRY_QUEUED || e->place == place)
            continue;
        queue_remove(s, e);
        e->place = place;
        queue_add(s, e);
        s->change++;
    }
}

/* Entries of j came to queues: all of its group move to the group's place. */
static void enter_group(struct sched *s, struct job *j)
{
    uint32_t place = s->params.het_prio && j->het ? place_of_group(s, j) : 0;

    for (uint32_t i = 0; place && i < j->het->count; i++)
        move_entries(s, member_of(s, j, i), place);
}

/* All priorities are new, and the queues are put in order behind this. */
static void place_groups(struct sched *s)
{
    for (uint32_t i = 0; s->params.het_prio && i < s->nparts; i++)
        for (struct entry *e = s->parts[i]->head[0]; e; e = e->next[0]) {
            uint32_t place = e->job->het ? place_of_group(s, e->job) : 0;

            if (place)
                e->place = place;
        }
}

/* ---- the queues ------------------------------------------------------------------------------ */

void queue_enter(struct sched *s, int64_t now_us)
{
    queue_wake(s, now_us);
    for (struct job *j = s->fresh; j; j = j->fresh_next) {
        for (uint32_t i = 0; j->state == JOB_QUEUED && i < j->nentries; i++) {
            struct entry *e = j->entries[i];

            if (e->state != ENTRY_OUT)
                continue;
            e->priority = e->place = entry_priority(s, e, prio_as_of(s, j, now_us));
            e->why = SCHED_WHY_NONE;
            queue_add(s, e);
            planlog_came(s, j);
        }
        enter_group(s, j);
    }
}

int sched_priorities(struct sched *s, int64_t now_us, sched_factors_fn *fn, void *ctx)
{
    int r = prio_refresh(s, now_us);

    queue_enter(s, now_us);
    if (r >= 0 && s->params.multifactor)
        r = accrue_refresh(s, now_us);
    for (uint32_t i = 0; r >= 0 && i < s->job_slots; i++) {
        const struct job *j = s->jobs[i];

        for (uint32_t k = 0; r >= 0 && j && j->state == JOB_QUEUED && k < j->nentries; k++) {
            const struct entry *e = j->entries[k];
            struct sched_factors f = { .job_id = j->id,
                                       .uid = j->uid,
                                       .assoc_id = j->assoc_id,
                                       .priority =
                                           e->priority ? e->priority : entry_priority(s, e, now_us),
                                       .partition = s->parts_tab.names[e->part],
                                       .direct = j->priority != 0,
                                       .site = j->site_factor,
                                       .nice = j->nice };

            if (!f.direct)
                fill_factors(s, e, prio_as_of(s, j, now_us), &f);
            r = fn(ctx, &f);
        }
    }
    return r;
}

static int by_order(const void *a, const void *b)
{
    const struct entry *const *x = a, *const *y = b;

    return entry_before(*x, *y) ? -1 : 1;
}

static bool is_sorted(const struct part *p)
{
    for (const struct entry *e = p->head[0]; e && e->next[0]; e = e->next[0])
        if (!entry_before(e, e->next[0]))
            return false;
    return true;
}

static int reorder_queue(struct sched *s, struct part *p)
{
    _cleanup_free_ struct entry **all = malloc((p->nqueued + 1) * sizeof(struct entry *));
    uint32_t n = 0;

    if (!all)
        return -ENOMEM;
    for (struct entry *e = p->head[0]; e; e = e->next[0])
        all[n++] = e;
    qsort(all, n, sizeof(struct entry *), by_order);
    for (uint32_t k = 0; k < QUEUE_LEVELS; k++)
        p->head[k] = NULL;
    p->nqueued = 0;
    while (n)
        queue_add(s, all[--n]); /* from the back: each goes first */
    return 0;
}

int prio_refresh(struct sched *s, int64_t now_us)
{
    int64_t period_us =
        (s->params.prio_period_s ? s->params.prio_period_s : PRIO_PERIOD_S) * INT64_C(1000000);
    bool incr = s->params.prio_flags & SCHED_PRIO_INCR_ONLY;
    int r;

    if (!s->params.multifactor)
        return 0;
    r = assocs_refresh(s); /* limits go by fair shares, too */
    if (r < 0 || (s->prio_done && now_us - s->prio_us < period_us))
        return r;
    tres_totals(s);
    for (uint32_t i = 0; r == 0 && i < s->nparts; i++)
        for (struct entry *e = s->parts[i]->head[0]; e; e = e->next[0]) {
            uint32_t prio = entry_priority(s, e, now_us);

            e->priority = e->place = incr ? MAX(prio, e->priority) : prio;
        }
    place_groups(s);
    for (uint32_t i = 0; r == 0 && i < s->nparts; i++)
        if (!is_sorted(s->parts[i])) {
            r = reorder_queue(s, s->parts[i]);
            s->change++;
        }
    s->prio_us = now_us;
    s->prio_done = r == 0;
    return r;
}
