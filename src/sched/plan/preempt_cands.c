/* preempt_cands.c - which running jobs a job may preempt */
#include "sched/plan/preempt_cands.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "sched/plan/preempt_data.h"
#include "sched/sched.h"
#include "sched/state/holders.h"
#include "sched/state/jobs.h"
#include "sched/state/lics.h"
#include "sched/state/parts.h"
#include "sched/state/sched_obj.h"
#include "sched/base/strtab.h"

void psearch_done(struct psearch *x)
{
    free(x->going);
    free(x->v);
}

/* ---- which jobs may preempt which ------------------------------------------------------------ */

static const struct qos_preempt *qos_of(const struct sched *s, const struct job *j)
{
    static const struct qos_preempt none;

    return j->qos < s->nqos_pre ? &s->qos_pre[j->qos] : &none;
}

static bool by_priority(const struct psearch *x)
{
    const struct sched_preempt *pre = &x->s->params.preempt;

    return pre->by_priority ||
           (pre->type == SCHED_PREEMPT_QOS && qos_of(x->s, x->e->job)->by_priority);
}

bool ranks_above(const struct psearch *x, const struct job *k)
{
    const struct sched *s = x->s;
    const struct sched_preempt *pre = &s->params.preempt;
    const struct qos_preempt *q = qos_of(s, x->e->job);

    if (by_priority(x) && k->run_priority >= x->e->priority)
        return false;
    if (pre->type == SCHED_PREEMPT_PART)
        return s->parts[k->part]->tier < s->parts[x->e->part]->tier;
    if (k->qos == STRTAB_NONE)
        return false;
    if (k->qos == x->e->job->qos)
        return (pre->within || q->within) && k->run_priority < x->e->priority;
    for (uint32_t i = 0; i < q->nmay; i++)
        if (q->may[i] == k->qos)
            return true;
    return false;
}

bool may_preempt(const struct psearch *x, const struct job *k)
{
    return k->label == x->e->job->label && ranks_above(x, k);
}

enum sched_preempt_mode mode_of(const struct sched *s, const struct job *k)
{
    const struct sched_preempt *pre = &s->params.preempt;
    enum sched_preempt_mode own =
        pre->type == SCHED_PREEMPT_QOS ? qos_of(s, k)->mode : s->parts[k->part]->preempt_mode;

    return own != SCHED_MODE_DEFAULT ? own : pre->mode;
}

bool is_set_aside(const struct sched *s, const struct job *k)
{
    return k->waits || (k->state == JOB_SUSPENDED && mode_of(s, k) == SCHED_MODE_SUSPEND);
}

bool is_exempt(struct psearch *x, const struct job *k)
{
    const struct sched_preempt *pre = &x->s->params.preempt;
    const struct qos_preempt *q = qos_of(x->s, k);
    bool own = pre->type == SCHED_PREEMPT_QOS && q->has_exempt;
    int64_t until_us = k->start_us + (int64_t)(own ? q->exempt_s : pre->exempt_s) * 1000000;

    if (pre->has_min_exempt_priority && k->run_priority >= pre->min_exempt_priority)
        return true;
    if (x->now_us >= until_us)
        return false;
    x->retry_us = MIN(x->retry_us, until_us);
    return true;
}

bool holds_useful(const struct psearch *x, const struct job *k)
{
    const struct job_lics *want = &x->e->job->want;

    for (size_t i = 0; i < k->alloc.nnodes; i++)
        if (bitmap_test(x->p.part->nodes, k->alloc.nodes[i].node_id))
            return true;
    for (uint32_t a = 0; x->s->params.preempt.reclaim_licenses && a < k->held.n; a++)
        for (uint32_t b = 0; b < want->n; b++)
            if (k->held.v[a].id == want->v[b].id)
                return true;
    return false;
}

static int gather_going(struct psearch *x)
{
    struct sched *s = x->s;

    going_settle(s);
    x->going = malloc((s->ngoing + 1) * sizeof(struct job *));
    if (!x->going)
        return -ENOMEM;
    for (uint32_t i = 0; i < s->ngoing; i++) {
        struct job *k = job_find(s, s->going[i]);

        if (holds_useful(x, k))
            x->going[x->ngoing++] = k;
    }
    return 0;
}

/* May some job of this partition and QOS have to go? */
static bool group_may(const struct psearch *x, const struct holders *h)
{
    const struct sched_preempt *pre = &x->s->params.preempt;
    const struct job *k = h->n ? h->v[0] : NULL;

    if (!k || mode_of(x->s, k) == SCHED_MODE_OFF)
        return false;
    if (pre->type == SCHED_PREEMPT_QOS && k->qos == x->e->job->qos)
        return k->qos != STRTAB_NONE && (pre->within || qos_of(x->s, k)->within);
    return by_priority(x) || ranks_above(x, k);
}

static void gather_group(struct psearch *x, const struct holders *h)
{
    struct sched *s = x->s;

    for (uint32_t i = 0; i < h->n; i++) {
        struct job *k = h->v[i];
        struct cand *c = &x->v[x->n];

        if (goes_anyway(k) || is_set_aside(s, k) || !holds_useful(x, k) || !may_preempt(x, k) ||
            is_exempt(x, k))
            continue;
        *c = (struct cand){ .j = k, .mode = k->yielded ? SCHED_MODE_SUSPEND : mode_of(s, k) };
        c->lost = c->mode == SCHED_MODE_REQUEUE && k->one_run;
        c->tier = s->parts[k->part]->tier;
        c->qos_priority = k->qos < s->nqos ? s->qos_priority[k->qos] : 0;
        for (size_t a = 0; a < k->alloc.nnodes; a++)
            c->size += k->alloc.nodes[a].cpus;
        x->n++;
    }
}

int gather_cands(struct psearch *x)
{
    struct sched *s = x->s;
    uint32_t most = 0;
    int r = gather_going(x);

    for (uint32_t p = 0; p < s->nparts; p++)
        for (uint32_t q = 0; q < s->parts[p]->nholders; q++)
            if (group_may(x, &s->parts[p]->holders[q]))
                most += s->parts[p]->holders[q].n;
    x->v = malloc((most + 1) * sizeof(*x->v));
    if (r < 0 || !x->v)
        return -ENOMEM;
    for (uint32_t p = 0; p < s->nparts; p++)
        for (uint32_t q = 0; q < s->parts[p]->nholders; q++)
            if (group_may(x, &s->parts[p]->holders[q]))
                gather_group(x, &s->parts[p]->holders[q]);
    return 0;
}
