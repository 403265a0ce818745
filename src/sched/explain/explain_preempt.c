/* explain_preempt.c - which running jobs a waiting job could send away */
#include "sched/explain/explain_preempt.h"

#include "base/cleanup.h"
#include "sched/explain/sched_explain.h"
#include "sched/plan/preempt.h"
#include "sched/plan/preempt_cands.h"
#include "sched/plan/preempt_data.h"
#include "sched/plan/preempt_try.h"
#include "sched/sched.h"
#include "sched/state/holders.h"
#include "sched/state/jobs.h"
#include "sched/state/lics.h"
#include "sched/state/question.h"
#include "sched/state/sched_obj.h"

static void classify_job(struct psearch *x, const struct job *k, struct explain_preempt *ret)
{
    const struct sched_preempt *pre = &x->s->params.preempt;

    ret->jobs++;
    if (goes_anyway(k))
        ret->going++;
    else if (!may_preempt(x, k))
        ret->equal++;
    else if (mode_of(x->s, k) == SCHED_MODE_OFF)
        ret->off++;
    else if (is_set_aside(x->s, k))
        ret->busy++;
    else if (pre->has_min_exempt_priority && k->run_priority >= pre->min_exempt_priority)
        ret->safe++;
    else if (is_exempt(x, k))
        ret->safe++;
    else
        ret->candidates++;
}

static void tell_victims(const struct sched_victim *v, uint32_t n, struct explain_preempt *ret)
{
    for (uint32_t i = 0; i < n && i < EXPLAIN_VICTIMS; i++)
        ret->victims[i] = v[i];
    ret->nvictims = n;
}

/* Which victims the job waits for.  False: it has chosen none. */
static bool tell_claim(struct sched *s, uint32_t id, struct explain_preempt *ret)
{
    const struct job *j = job_find(s, id);

    for (uint32_t i = 0; j && j->waits && i < j->waits->n; i++) {
        const struct job *k = job_find(s, j->waits->v[i].id);

        if (ret->nvictims < EXPLAIN_VICTIMS)
            ret->victims[ret->nvictims] =
                (struct sched_victim){ .job_id = j->waits->v[i].id,
                                       .mode = k && k->state >= JOB_PROPOSED ? mode_of(s, k)
                                                                             : SCHED_MODE_DEFAULT };
        ret->nvictims++;
    }
    return j && j->waits;
}

int preempt_explain(struct sched *s, struct entry *e, int64_t now_us, struct explain_preempt *ret)
{
    _cleanup_val_(psearch_done) struct psearch x = {
        .s = s, .e = e, .now_us = now_us, .retry_us = INT64_MAX
    };
    _cleanup_val_(choice_done) struct choice c = { 0 };
    _cleanup_val_(lics_free) struct job_lics held = { 0 };
    struct holders_iter it = { 0 };
    int r;

    *ret = (struct explain_preempt){ .asked = s->params.preempt.type != SCHED_PREEMPT_NONE,
                                     .safe_until_us = INT64_MAX };
    if (!ret->asked || e->job->het)
        return 0;
    ret->waiting = tell_claim(s, e->job->id, ret);
    x.p = (struct pick){ .s = s, .cls = e->cls, .part = s->parts[e->part] };
    for (const struct job *k; (k = holders_next(s, &it));)
        if (k->id != e->job->id && holds_useful(&x, k))
            classify_job(&x, k, ret);
    ret->safe_until_us = x.retry_us;
    if (ret->waiting || !ret->candidates)
        return 0;
    r = gather_cands(&x);
    if (r == 0 && x.n)
        r = preempt_search_moved(&x, &c, &held);
    if (r == 1)
        tell_victims(c.victims, c.n, ret);
    return r < 0 ? r : 0;
}
