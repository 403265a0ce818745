/* prio.c - the order of the queue.
 *
 * Basic priorities count down with the job id.  Multifactor ones are a weighted sum of factors in
 * [0, 1]; they change with time, so they are computed on entering the queue and again every
 * PRIO_PERIOD_US. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "sched/sched_int.h"

#define PRIO_BASIC_FIRST 4294901760u
#define PRIO_PERIOD_US INT64_C(300000000)

static double ratio(double part, double whole)
{
    return whole > 0 ? MIN(part / whole, 1.0) : 0;
}

static double size_factor(const struct sched *s, const struct job *j)
{
    double n = ratio(j->size_factor_nodes, s->count_nodes),
           c = ratio(j->size_factor_cpus, (double)s->count_cpus);

    return s->params.favor_small ? (1 - n + 1 - c) / 2 : (n + c) / 2;
}

static double multifactor(const struct sched *s, const struct entry *e, int64_t now_us)
{
    const struct sched_params *pp = &s->params;
    const struct job *j = e->job;
    double waited = (double)(now_us - j->eligible_us) / 1e6;

    return pp->weight_age * (waited > 0 ? ratio(waited, pp->max_age_s) : 0) +
           pp->weight_job_size * size_factor(s, j) +
           pp->weight_partition * ratio(s->parts[e->part]->job_factor, s->max_job_factor);
}

uint32_t entry_priority(const struct sched *s, const struct entry *e, int64_t now_us)
{
    const struct job *j = e->job;
    int64_t prio;

    if (j->priority)
        return j->priority;
    if (s->params.multifactor)
        prio = (int64_t)multifactor(s, e, now_us);
    else
        prio = (int64_t)PRIO_BASIC_FIRST - (j->id ? j->id - 1 : 0);
    prio -= j->nice;
    return prio < 1 ? 1 : prio > UINT32_MAX ? UINT32_MAX : (uint32_t)prio;
}

static int by_order(const void *a, const void *b)
{
    const struct entry *const *x = a, *const *y = b;

    return entry_before(*x, *y) ? -1 : 1;
}

static int reorder(struct sched *s, struct part *p)
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
    int r = 0;

    if (!s->params.multifactor || (s->prio_done && now_us - s->prio_us < PRIO_PERIOD_US))
        return 0;
    for (uint32_t i = 0; r == 0 && i < s->nparts; i++) {
        bool sorted = true;
        struct entry *last = NULL;

        for (struct entry *e = s->parts[i]->head[0]; e; last = e, e = e->next[0]) {
            e->priority = entry_priority(s, e, now_us);
            sorted = sorted && (!last || entry_before(last, e));
        }
        if (!sorted) {
            r = reorder(s, s->parts[i]);
            s->change++;
        }
    }
    s->prio_us = now_us;
    s->prio_done = r == 0;
    return r;
}
