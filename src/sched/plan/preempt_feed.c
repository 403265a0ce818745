/* preempt_feed.c - what is fed of preemption: QOS, ranks, jobs that leave or yield */
#include "sched/plan/preempt_feed.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "sched/plan/preempt_data.h"
#include "sched/sched.h"
#include "sched/state/bounds.h"
#include "sched/state/holders.h"
#include "sched/state/jobs.h"
#include "sched/state/planlog.h"
#include "sched/state/sched_obj.h"
#include "sched/base/strtab.h"

static int qos_row(struct sched *s, const char *name, struct qos_preempt **ret)
{
    struct qos_preempt *grown;
    uint32_t id;
    int r = strtab_intern(&s->qos_tab, name, &id);

    if (r < 0 || id >= SCHED_MAX_QOS)
        return r < 0 ? r : -E2BIG;
    if (id >= s->nqos_pre) {
        grown = realloc(s->qos_pre, (id + 1) * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        s->qos_pre = grown;
        while (s->nqos_pre <= id)
            grown[s->nqos_pre++] = (struct qos_preempt){ 0 };
    }
    *ret = &s->qos_pre[id];
    return 0;
}

int sched_qos_preempt_put(struct sched *s, const char *name, const struct sched_qos_preempt *q)
{
    _cleanup_free_ uint32_t *may = calloc(q->nmay + 1, sizeof(*may));
    struct qos_preempt *row = NULL;
    int r = may ? qos_row(s, name, &row) : -ENOMEM;

    for (size_t i = 0; r == 0 && i < q->nmay; i++)
        r = strtab_intern(&s->qos_tab, q->may[i], &may[i]);
    if (r < 0)
        return r;
    free(row->may);
    *row = (struct qos_preempt){ .may = TAKE_PTR(may),
                                 .nmay = (uint32_t)q->nmay,
                                 .mode = q->mode,
                                 .within = q->within,
                                 .by_priority = q->by_priority,
                                 .has_exempt = q->has_exempt,
                                 .exempt_s = q->exempt_s };
    s->run_gen++;
    s->change++;
    return 0;
}

int sched_job_rank(struct sched *s, uint32_t id, uint32_t priority, const char *qos, bool one_run)
{
    struct job *j = job_find(s, id);
    uint32_t qos_id = STRTAB_NONE;
    int r = qos ? strtab_intern(&s->qos_tab, qos, &qos_id) : 0;

    if (r == 0 && j && j->state >= JOB_PROPOSED)
        r = holders_room(s, j->part, qos_id);
    if (r < 0 || !j || j->state < JOB_PROPOSED)
        return r;
    holders_remove(s, j);
    j->run_priority = priority;
    j->qos = qos_id;
    j->one_run = one_run;
    holders_add(s, j);
    s->run_gen++;
    return 0;
}

void sched_job_leaving(struct sched *s, uint32_t id)
{
    struct job *j = job_find(s, id);

    if (!j || j->state < JOB_PROPOSED)
        return;
    j->leaving = true;
    going_note(s, j);
    s->run_gen++;
}

void sched_job_yield(struct sched *s, uint32_t id, bool yielded)
{
    struct job *j = job_find(s, id);

    if (!j || (j->state != JOB_PROPOSED && j->state != JOB_RUNNING))
        return;
    j->yielded = yielded;
    planlog_other(s);
    if (!yielded)
        j->claimed_by = 0;
    s->run_gen++;
    s->change++;
}

void preempt_done(struct sched *s)
{
    for (uint32_t i = 0; i < s->nqos_pre; i++)
        free(s->qos_pre[i].may);
    free(s->qos_pre);
    free(s->claims);
    free(s->going);
}
