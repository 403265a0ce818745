/* proposal.c - a job is proposed to start, or the proposal is refused.
 *
 * A proposed job holds its allocation, its licences and its share of the limits, as if it ran,
 * until the caller confirms the start (sched_job_running()) or refuses the proposal. */
#include "sched/plan/proposal.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "sched/plan/plan.h"
#include "sched/profile/prof_slots.h"
#include "sched/rules/advlics.h"
#include "sched/rules/hrescharge.h"
#include "sched/rules/jobhold.h"
#include "sched/rules/licfit.h"
#include "sched/rules/limit_check.h"
#include "sched/rules/limit_count.h"
#include "sched/rules/partlimits.h"
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
#include "sched/state/question.h"
#include "sched/state/queue.h"
#include "sched/state/sched_obj.h"

/* What the job may hold now, and as long as it is planned. */
struct holding {
    const struct pick *p;
    int64_t end_us;
};

static uint64_t left_to_hold(const void *ctx, const struct sched *s, uint32_t lic)
{
    const struct holding *h = ctx;
    uint64_t left = lic_left(s, lic, h->end_us);

    if (s->prof && prof_fixed(s) && h->p->until > h->p->from)
        left = MIN(left, prof_lic_left(s, lic, h->p->from, h->p->until));
    return left;
}

/* What it holds beside its nodes: 0, -EAGAIN when that is not there. */
static int choose_held(const struct pick *p, const struct entry *e, const struct sched_alloc *alloc,
                       int64_t now_us, int64_t end_us, struct job_lics *ret)
{
    struct sched *s = p->s;
    const struct job_lics *want = &e->job->want;
    struct holding h = { .p = p, .end_us = end_us };
    uint32_t which = 0;
    int r;

    adv_about(s, e, now_us);
    r = lics_fit(s, want, end_us, &which)
            ? hres_charge(s, want, which, alloc, left_to_hold, &h, ret)
            : 0;
    adv_about(s, NULL, 0);
    return r < 0 ? r : r == 1 ? 0 : -EAGAIN;
}

int decide_start(struct pick *p, struct entry *e, struct sched_alloc *alloc, int64_t now_us,
                 uint32_t limit_min, struct sched_decisions *out)
{
    struct sched *s = p->s;
    struct job *j = e->job;
    uint32_t limit = entry_minutes(s, e, limit_min);
    struct sched_decision d = { .kind = SCHED_START,
                                .job_id = j->id,
                                .partition = s->parts_tab.names[e->part],
                                .priority = e->priority,
                                .resv_id = e->cls->shape->key.resv,
                                .time_limit_min = limit == j->time_limit_min ? 0 : limit };
    _cleanup_val_(lics_free) struct job_lics held = { 0 };
    int r = choose_held(p, e, alloc, now_us, end_after(now_us, limit), &held);

    if (r < 0)
        return r;
    if (limit_refuses(s, e, alloc, limit, now_us))
        return -EDQUOT;
    if (r == 0)
        r = holders_room(s, e->part, j->qos);
    if (r == 0)
        r = lics_tell(s, &held, &d.licenses, &d.nlicenses);
    if (r == 0)
        r = alloc_dup_used(s, alloc, &d.alloc);
    if (r == 0)
        r = decisions_add(out, &d);
    if (r < 0) {
        alloc_done(&d.alloc);
        free(d.licenses);
        return r;
    }
    if (j->expedite)
        spares_changed(s);
    plan_note_leave(s, j);
    job_unqueue(s, j);
    j->state = JOB_PROPOSED;
    j->held = held;
    held = (struct job_lics){ 0 };
    j->alloc = *alloc;
    *alloc = (struct sched_alloc){ 0 };
    j->part = e->part;
    j->resv = e->cls->shape->key.resv;
    j->run_priority = e->priority;
    j->firm = p->share_max == 1;
    j->closes = p->closes;
    j->start_us = now_us;
    j->end_us = end_after(now_us, limit);
    j->told = SCHED_WHY_NONE;
    expect_drop(j);
    holders_add(s, j);
    job_take(s, j);
    plan_note_hold(s, j);
    s->npending--;
    s->change++;
    out->started++;
    return limit_charge(s, j);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

void sched_job_refused(struct sched *s, uint32_t id)
{
    struct job *j = job_find(s, id);

    if (!j || j->state != JOB_PROPOSED)
        return;
    plan_note_leave(s, j);
    claim_drop(s, j);
    job_release(s, j);
    limit_release(s, j);
    holders_remove(s, j);
    lics_free(&j->held);
    alloc_done(&j->alloc);
    j->end_us = INT64_MAX;
    j->state = JOB_QUEUED; /* it was eligible */
    s->npending++;
    job_set_fresh(s, j);
}
