/* bfshare.c - what both plan engines share: the limits on jobs looked at and places, what was
 * planned, and dropping a plan */
#include "sched/plan/bfshare.h"

#include "sched/plan/plan.h"
#include "sched/plan/queuewalk.h"
#include "sched/rules/limit_check.h"
#include "sched/sched.h"
#include "sched/rules/licfit.h"
#include "sched/rules/partlimits.h"
#include "sched/state/endtime.h"
#include "sched/state/expect.h"
#include "sched/state/jobs.h"
#include "sched/state/line.h"
#include "sched/state/parts.h"
#include "sched/state/resvs.h"
#include "sched/state/sched_obj.h"
#include "sched/base/tally.h"

enum sched_why bf_refusal(struct bf *b, struct entry *e, bool *ret_no_lics)
{
    enum sched_why why = entry_limits(b->s, e);
    uint32_t which;

    if (!why)
        why = limit_refuses(b->s, e, NULL, e->job->time_limit_min, b->now_us);
    *ret_no_lics = !why && !lics_fit(b->s, &e->job->want, 0, &which);
    return why;
}

bool bf_within(const struct sched *s, int64_t now_us, int64_t start_us)
{
    return start_us <= end_after(now_us, s->params.bf_window_min);
}

int bf_set_expected(struct sched *s, struct job *j, int64_t start_us, const struct sched_alloc *a)
{
    if (expect_in_run(j, s->bf_run) && expect_us(j) && expect_us(j) <= start_us)
        return 0; /* sooner in another partition */
    return expect_set(j, start_us, s->bf_run, a);
}

bool bf_may_reserve(const struct bf *b, const struct entry *e)
{
    const struct sched_params *p = &b->s->params;
    uint32_t min_prio = p->bf_min_prio_reserve;

    if (!limit_may_reserve(b->s, e, &min_prio) || (min_prio && e->priority < min_prio))
        return false;
    if (p->bf_min_age_reserve_s &&
        b->now_us - e->job->accrue_us < (int64_t)p->bf_min_age_reserve_s * 1000000)
        return false;
    return !(p->bf_one_resv_per_job && expect_in_run(e->job, b->s->bf_run));
}

/* Has this job's user, association or partition had its share of this run?  1 yes. */
static int over_limit(struct sched *s, const struct entry *e)
{
    const struct sched_params *p = &s->params;
    const struct job *j = e->job;
    uint32_t n = 0;
    int r = 0;

    if (p->bf_max_job_part && ++s->parts[e->part]->looked_at > p->bf_max_job_part)
        return 1;
    if (p->bf_max_job_user)
        r = tally_count(&s->tally, TALLY_USER, j->uid, 0, &n);
    if (r == 0 && p->bf_max_job_user && n > p->bf_max_job_user)
        return 1;
    if (r == 0 && p->bf_max_job_assoc)
        r = tally_count(&s->tally, TALLY_ASSOC, j->assoc_id, 0, &n);
    if (r == 0 && p->bf_max_job_assoc && n > p->bf_max_job_assoc)
        return 1;
    if (r == 0 && p->bf_max_job_user_part)
        r = tally_count(&s->tally, TALLY_USER_PART, j->uid, e->part, &n);
    return r < 0 ? r : p->bf_max_job_user_part && n > p->bf_max_job_user_part;
}

void easy_drop(struct sched *s)
{
    resvs_clear(s);
    line_drop(s);
    s->bf.active = false;
}

void backfill_drop(struct sched *s)
{
    easy_drop(s);
    plan_drop(s);
}

void backfill_pause(struct sched *s)
{
    easy_drop(s);
    if (s->plan && !plan_may_be_kept(s))
        plan_drop(s);
}

void bf_count_anew(struct sched *s)
{
    s->bf.tested = s->bf.started = s->bf.planned = s->bf.preempts = 0;
    tally_reset(&s->tally);
    for (uint32_t i = 0; i < s->nparts; i++)
        s->parts[i]->planned = s->parts[i]->looked_at = 0;
}

int bf_admit(struct bf *b, struct entry *e)
{
    int r;

    b->s->bf.tested++;
    r = over_limit(b->s, e);
    if (r > 0)
        walk_skip(b->s, e);
    return r < 0 ? r : !r;
}
