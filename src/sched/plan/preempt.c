/* preempt.c - which running jobs have to go so that a more important one can start.
 *
 * Candidates are gathered (preempt_cands.c), victims are chosen of them (preempt_try.c), and the
 * preemptor claims what they leave (claims.c).  Jobs that end anyway are waited for before others
 * are chosen. */
#include "sched/plan/preempt.h"

#include <errno.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "sched/plan/claims.h"
#include "sched/plan/preempt_cands.h"
#include "sched/plan/preempt_data.h"
#include "sched/plan/preempt_try.h"
#include "sched/profile/prof_hold.h"
#include "sched/profile/prof_slots.h"
#include "sched/profile/prof_view.h"
#include "sched/rules/advres.h"
#include "sched/rules/hrescharge.h"
#include "sched/rules/jobhold.h"
#include "sched/rules/licfit.h"
#include "sched/rules/limit_check.h"
#include "sched/rules/partlimits.h"
#include "sched/sched.h"
#include "sched/state/classes.h"
#include "sched/state/jobs.h"
#include "sched/state/lics.h"
#include "sched/state/parts.h"
#include "sched/state/question.h"
#include "sched/state/sched_obj.h"

#define BF_PREEMPTS_MAX 100u /* searches of one backfill */

/* What was found out holds for a class until one of these changes; not where the job itself
 * counts. */
static uint64_t preempt_gen(const struct sched *s)
{
    return s->run_gen + s->up_gen + s->config_gen;
}

static bool class_decides(const struct sched *s, const struct job *j)
{
    return s->params.preempt.type == SCHED_PREEMPT_PART && !s->params.preempt.by_priority &&
           !j->want.n;
}

static uint64_t left_then(const void *ctx, const struct sched *s, uint32_t lic)
{
    (void)ctx;
    return lic_left(s, lic, 0);
}

/* The search has put back those who go: let go of what they hold.  Suspended jobs keep their
 * licences. */
static void release_victims(struct sched *s, const struct choice *c)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (c->victims[i].mode != SCHED_MODE_SUSPEND)
            job_release(s, job_find(s, c->victims[i].job_id));
}

static void put_back_victims(struct sched *s, const struct choice *c)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (c->victims[i].mode != SCHED_MODE_SUSPEND)
            job_take(s, job_find(s, c->victims[i].job_id));
}

int preempt_search_moved(struct psearch *x, struct choice *c, struct job_lics *held)
{
    struct sched *s = x->s;
    bool reclaims = s->params.preempt.reclaim_licenses && !x->e->job->want.any;
    uint32_t which = 0;
    int r;

    s->travelling = true;
    for (uint32_t i = 0; i < x->ngoing; i++)
        job_release(s, x->going[i]);
    r = search_victims(x, c);
    if (r == 1) {
        (void)lics_fit(s, &x->e->job->want, 0, &which); /* it is `all`, or one that is there */
        if (reclaims)
            release_victims(s, c);
        r = hres_charge(s, &x->e->job->want, which, &c->alloc, left_then, NULL, held);
        if (reclaims)
            put_back_victims(s, c);
    }
    for (uint32_t i = 0; i < x->ngoing; i++)
        job_take(s, x->going[i]);
    s->travelling = false;
    return r;
}

static int try_claim(struct sched *s, struct entry *e, const struct bitmap *minus, int64_t now_us,
                     struct sched_decisions *out)
{
    const struct sched_preempt *pre = &s->params.preempt;
    struct class *cls = e->cls;
    _cleanup_val_(psearch_done) struct psearch x = {
        .s = s, .e = e, .now_us = now_us, .retry_us = INT64_MAX
    };
    _cleanup_val_(choice_done) struct choice c = { 0 };
    _cleanup_val_(lics_free) struct job_lics held = { 0 };
    uint32_t which;
    int r;

    if (pre->type == SCHED_PREEMPT_NONE || e->job->het)
        return 0;
    if (!lics_fit(s, &e->job->want, 0, &which) && (!pre->reclaim_licenses || e->job->want.any))
        return 0;
    if (cls->pre_gen == preempt_gen(s) + 1 && now_us < cls->pre_retry_us &&
        class_decides(s, e->job)) {
        s->preempt_wake_us = MIN(s->preempt_wake_us, cls->pre_retry_us);
        return 0;
    }
    x.p = (struct pick){ .s = s, .cls = cls, .part = s->parts[e->part], .minus = minus };
    adv_span(&x.p, now_us, e->job->time_limit_min);
    r = gather_cands(&x);
    if (r == 0 && x.n)
        r = preempt_search_moved(&x, &c, &held);
    if (r == 1)
        return limit_refuses(s, e, &c.alloc, entry_minutes(s, e, e->job->time_limit_min), now_us)
                   ? -EDQUOT
                   : claim_make(&x, &c, &held, out);
    s->preempt_wake_us = MIN(s->preempt_wake_us, x.retry_us);
    cls->pre_gen = minus ? 0 : preempt_gen(s) + 1;
    cls->pre_retry_us = x.retry_us;
    return r;
}

int preempt_try(struct sched *s, struct entry *e, const struct bitmap *minus, int64_t now_us,
                struct sched_decisions *out)
{
    return s->bf.active ? 0 : try_claim(s, e, minus, now_us, out);
}

/* Nodes on which another job has a place before e would end are not for e. */
int preempt_beside_plan(struct sched *s, struct entry *e, int64_t now_us,
                        struct sched_decisions *out)
{
    _cleanup_(bitmap_free) struct bitmap *kept = NULL;
    struct part *part = s->parts[e->part];
    uint32_t until = prof_until(s, prof_now(s), e->job->time_limit_min), left = 0;
    struct class *cls = e->cls;
    int64_t start_us;
    int r;

    if (s->params.preempt.type == SCHED_PREEMPT_NONE || e->job->het || e->job->want.n ||
        s->bf.preempts >= BF_PREEMPTS_MAX ||
        (cls->pre_bf_run == s->bf_run && class_decides(s, e->job)))
        return 0;
    s->bf.preempts++;
    cls->pre_bf_run = s->bf_run;
    r = bitmap_new(s->nbits, &kept);
    if (r < 0)
        return r;
    BITMAP_FOREACH (part->nodes, id) {
        if (prof_keeper(s, id, until, &start_us))
            bitmap_set(kept, id);
        else
            left++;
    }
    if (!left)
        return 0;
    r = try_claim(s, e, kept, now_us, out);
    if (r == 1) {
        struct job *j = e->job;

        r = prof_hold(s, &j->alloc, &j->held, j, j->part, j->firm, prof_now(s), until);
        r = r < 0 ? r : 1;
    }
    return r;
}
