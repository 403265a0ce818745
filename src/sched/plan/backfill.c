/* backfill.c - one backfill: go on where the last piece stood, repair the plan, or plan anew.
 *
 * Two engines decide what becomes of each job: EASY (easy.c) and conservative (conservative.c). */
#include "base/cleanup.h"
#include "sched/plan/bfshare.h"
#include "sched/plan/conservative.h"
#include "sched/plan/easy.h"
#include "sched/plan/plan.h"
#include "sched/plan/planrepair.h"
#include "sched/plan/queuewalk.h"
#include "sched/plan/switchwait.h"
#include "sched/rules/advtime.h"
#include "sched/rules/prio.h"
#include "sched/rules/spares.h"
#include "sched/sched.h"
#include "sched/state/jobs.h"
#include "sched/state/sched_obj.h"

static bool renew_due(const struct sched *s, int64_t now_us)
{
    return s->plan && s->plan->stale && now_us >= plan_renew_us(s);
}

/* Go on where the last piece stood, repair the plan there is, or begin.  1, 0: there is nothing to
 * do, -ENOMEM. */
static int bf_begin(struct bf *b, int64_t now_us)
{
    struct sched *s = b->s;
    int r;

    b->now_us = now_us;
    if (s->bf.active && s->bf.change == s->change && s->bf.walk == s->walk_run) {
        b->now_us = s->bf.now_us;
        return 1;
    }
    backfill_pause(s);
    queue_enter(s, now_us);
    if (s->change == s->bf_change && !renew_due(s, now_us))
        return 0; /* time alone only makes jobs end later */
    s->bf.now_us = now_us;
    s->planning = true;
    s->memo_run++;
    r = s->plan && !renew_due(s, now_us) ? plan_repair(b) : 0;
    if (r != 0)
        return r;
    backfill_drop(s);
    s->bf_run++;
    bf_count_anew(s);
    walk_begin(s);
    b->out->planned_anew = true;
    r = s->params.conservative && s->npending ? plan_new(s, now_us) : 0;
    return r < 0 ? r : 1;
}

/* Look at jobs until the queue, the limits or this piece's max are reached; *ret_more: only the
 * last was. */
static int bf_walk(struct bf *b, uint32_t max_jobs, bool *ret_more)
{
    struct sched *s = b->s;
    uint32_t max = s->params.bf_max_job_test, max_start = s->params.bf_max_job_start, piece = 0;
    uint32_t before = b->out->bf_started;
    struct entry *e;
    int r = 0;

    while (r >= 0 && (e = walk_next(s))) {
        if (max && s->bf.tested >= max) {
            b->out->exit = SCHED_EXIT_DEPTH;
            break;
        }
        if (max_start && s->bf.started + b->out->bf_started - before >= max_start) {
            b->out->exit = SCHED_EXIT_STARTS;
            break;
        }
        if (max_jobs && piece++ == max_jobs) {
            *ret_more = true;
            break;
        }
        if (s->plan)
            plan_note_look(s, e);
        r = switch_wait_note(s, e, b->now_us);
        if (r < 0)
            break;
        r = bf_admit(b, e);
        if (r == 1)
            r = s->prof ? conservative_consider(b, e) : easy_consider(b, e);
    }
    s->bf.started += b->out->bf_started - before;
    return r;
}

static int bf_end(struct bf *b)
{
    struct sched *s = b->s;
    int r;

    if (s->plan)
        s->plan->whole = true;
    easy_drop(s);
    if (s->plan && !plan_may_be_kept(s))
        plan_drop(s);
    r = walk_finish(s, b->out);
    if (r < 0)
        return r;
    s->bf_change = s->change;
    b->out->backfilled = true;
    b->out->renew_us = s->plan && s->plan->stale ? plan_renew_us(s) : INT64_MAX;
    b->out->renew_us = MIN(b->out->renew_us, switch_wait_wake(s));
    return 0;
}

int sched_backfill_some(struct sched *s, int64_t now_us, uint32_t max_jobs,
                        struct sched_decisions *out, bool *ret_more)
{
    struct bf b = { .s = s, .out = out };
    bool more = false;
    int r = 0;

    *ret_more = false;
    if (!s->params.backfill)
        return 0;
    if (!s->bf.active)
        r = prio_refresh(s, now_us);
    if (r >= 0 && !s->bf.active)
        r = advs_refresh(s, now_us);
    if (r >= 0 && !s->bf.active)
        r = spares_refresh(s);
    if (r < 0)
        return r;
    if (!s->bf.active)
        switch_wait_due(s, now_us);
    r = bf_begin(&b, now_us);
    if (r == 1) {
        s->planning = true;
        r = bf_walk(&b, max_jobs, &more);
        r = r < 0 ? r : 1;
    }
    s->planning = false;
    if (r == 1 && more) {
        s->bf.active = true;
        s->bf.change = s->change;
        s->bf.walk = s->walk_run;
        *ret_more = true;
    } else if (r == 1) {
        r = bf_end(&b);
    } else if (r < 0) {
        backfill_drop(s);
    }
    out->queue_len = s->npending + out->bf_started;
    return r < 0 ? r : 0;
}

int sched_backfill(struct sched *s, int64_t now_us, struct sched_decisions *out)
{
    bool more;

    return sched_backfill_some(s, now_us, 0, out, &more);
}
