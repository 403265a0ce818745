/* pass.c - the quick pass: start what fits, in order.
 *
 * A partition stops at its first job that waits for nodes; its nodes are then kept from lower
 * partitions that share them.  The work is bounded by what could have changed: a class that did not
 * fit is not tested again until capacity grew in its partition, and of the queue behind a blocked
 * head only jobs that are new are looked at, to be told that they wait. */
#include <errno.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "sched/plan/bfshare.h"
#include "sched/plan/claims.h"
#include "sched/plan/hetplace.h"
#include "sched/select/nearpick.h"
#include "sched/plan/preempt.h"
#include "sched/plan/proposal.h"
#include "sched/plan/queuewalk.h"
#include "sched/plan/switchwait.h"
#include "sched/rules/accrue.h"
#include "sched/rules/advlics.h"
#include "sched/rules/advres.h"
#include "sched/rules/advtime.h"
#include "sched/rules/licfit.h"
#include "sched/rules/limit_check.h"
#include "sched/rules/partlimits.h"
#include "sched/rules/prio.h"
#include "sched/rules/spares.h"
#include "sched/sched.h"
#include "sched/select/advwhy.h"
#include "sched/select/hreswhy.h"
#include "sched/select/joblayout.h"
#include "sched/select/pick.h"
#include "sched/select/powerroom.h"
#include "sched/state/alloc.h"
#include "sched/state/classes.h"
#include "sched/state/jobs.h"
#include "sched/state/parts.h"
#include "sched/state/question.h"
#include "sched/state/queue.h"
#include "sched/state/sched_obj.h"

#define LIMIT_LOOK_US INT64_C(10000000) /* between two looks at a limit that gives way with time */

/* 1 started, 0 not, with *ret_why. */
static int try_start(struct sched *s, struct entry *e, int64_t now_us, struct sched_decisions *out,
                     enum sched_why *ret_why)
{
    struct part *part = s->parts[e->part];
    struct class *cls = e->cls;
    bool inside = cls->shape->key.resv,
         kept = !inside && s->any_withheld && bitmap_overlaps(s->withheld, part->nodes);
    struct pick p = { .s = s, .cls = cls, .part = part, .minus = kept ? s->withheld : NULL };
    _cleanup_val_(alloc_done) struct sched_alloc alloc = { 0 };
    uint32_t level;
    int r = 0;

    adv_span(&p, now_us, e->job->time_limit_min);
    level = adv_level(&p);
    if (cls->fail_grow != part->grow + 1 || level < cls->fail_level ||
        (cls->shape->key.nlics && cls->fail_lic != s->lic_grow + 1)) {
        r = near_pick(&p, e->job);
        if (r == 1)
            r = layout(&p, &alloc);
        else if (r == 0)
            r = -EAGAIN;
        if (r == 0 && powerroom_lacks(s, &alloc, NULL))
            r = -EAGAIN;
        if (r == 0)
            r = decide_start(&p, e, &alloc, now_us, e->job->time_limit_min, out);
        if (r == 0 && e->job->expedite)
            r = spares_refresh(s);
        if (r == 0)
            return 1;
        if (r == -EDQUOT) {
            *ret_why = SCHED_WHY_LIMIT;
            return 0;
        }
        if (r != -EAGAIN)
            return r;
        if (!kept) {
            cls->fail_grow = part->grow + 1;
            cls->fail_level = level;
            cls->fail_topo = p.topo;
            cls->fail_lic = s->lic_grow + 1;
        }
    } else {
        p.topo = cls->fail_topo;
    }
    *ret_why = pick_verdict(&p);
    if (*ret_why == SCHED_WHY_RESOURCES && (inside || advs_any(s))) {
        enum sched_why adv = adv_why(s, e, now_us);

        *ret_why = adv ? adv : *ret_why;
    }
    if (*ret_why == SCHED_WHY_RESOURCES && cls->shape->key.nlics &&
        hres_why(&p) == SCHED_WHY_RESERVED)
        *ret_why = SCHED_WHY_RESERVED;
    if (*ret_why == SCHED_WHY_RESOURCES && kept)
        *ret_why = SCHED_WHY_NODES_UNAVAILABLE;
    if (e->topo != p.topo)
        job_set_fresh(s, e->job);
    e->topo = p.topo;
    return 0;
}

/* With bf_licenses those that a job waits for are not given to whoever comes after it. */
static bool plans_licenses(const struct sched *s, const struct entry *e)
{
    return s->params.backfill && s->params.bf_licenses && e->job->want.n &&
           !e->cls->shape->key.resv;
}

static int consider_entry(struct sched *s, struct entry *e, int64_t now_us,
                          struct sched_decisions *out)
{
    const struct bf b = { .s = s, .now_us = now_us };
    enum sched_why why = entry_limits(s, e);
    uint32_t which;
    bool het;
    int r = switch_wait_note(s, e, now_us);

    if (r < 0)
        return r;
    if (!why)
        why = limit_refuses(s, e, NULL, e->job->time_limit_min, now_us);
    if (why == SCHED_WHY_LIMIT)
        /* those behind it must not wait for more passes on its account */
        s->parts[e->part]->tried--;
    if (!why && e->cls->shape->key.resv && adv_blocked_walk(s, e))
        why = SCHED_WHY_PRIORITY;
    adv_about(s, e, now_us);
    if (!why && plans_licenses(s, e) && lics_awaited(s, &e->job->want))
        why = SCHED_WHY_PRIORITY;                       /* backfill knows whether it ends in time */
    if (!why && !lics_fit(s, &e->job->want, 0, &which)) /* reservations count for backfill only */
        why = SCHED_WHY_LICENSES;
    het = !why && e->job->het;
    r = why   ? 0
        : het ? het_try(s, e, now_us, false, out, &why)
              : try_start(s, e, now_us, out, &why);

    if (r == 0 && !het &&
        (why == SCHED_WHY_RESOURCES || why == SCHED_WHY_LICENSES ||
         (why == SCHED_WHY_RESERVED && e->job->want.layered && s->params.preempt.reclaim_licenses)))
        r = preempt_try(s, e, s->any_withheld ? s->withheld : NULL, now_us, out);
    if (r == -EDQUOT) {
        why = SCHED_WHY_LIMIT;
        r = 0;
    }
    adv_about(s, NULL, 0);
    if (r != 0)
        return r;
    if (why == SCHED_WHY_PRIORITY) {
        walk_note(s, e, why);
        return 0;
    }
    if (het && why != SCHED_WHY_RESOURCES) {
        walk_note(s, e, why); /* another component is what it waits for */
        return 0;
    }
    if (why == SCHED_WHY_LICENSES && plans_licenses(s, e) && bf_may_reserve(&b, e))
        lics_await(s, &e->job->want);
    walk_refuse(s, e, why);
    if (s->parts[e->part]->blocked)
        s->parts[e->part]->active = false;
    return 0;
}

int sched_pass(struct sched *s, int64_t now_us, struct sched_decisions *out, int64_t *ret_wake_us)
{
    uint32_t depth = s->params.default_queue_depth, part_depth = s->params.partition_job_depth;
    uint32_t max_start = s->params.sched_max_job_start, before = out->started;
    bool again = false;
    struct entry *e;
    int r = prio_refresh(s, now_us);

    if (part_depth && (!depth || part_depth < depth))
        depth = part_depth;
    if (r >= 0)
        r = advs_refresh(s, now_us);
    switch_wait_due(s, now_us);
    backfill_pause(s);
    queue_enter(s, now_us);
    if (r >= 0 && s->params.multifactor)
        r = accrue_refresh(s, now_us);
    s->preempt_wake_us = INT64_MAX;
    s->limit_passes = false;
    if (r >= 0)
        r = claims_settle(s, now_us, out);
    if (r >= 0)
        r = spares_refresh(s);
    walk_begin(s);
    while (r >= 0 && (e = walk_next(s))) {
        struct part *p = s->parts[e->part];

        if (max_start && out->started - before >= max_start) {
            again = true;
            out->exit = SCHED_EXIT_STARTS;
            break;
        }
        if (depth && p->tried >= depth) {
            p->active = false;
            out->exit = SCHED_EXIT_DEPTH;
            again = true;
            continue;
        }
        p->tried++;
        out->depth++;
        r = consider_entry(s, e, now_us, out);
    }
    if (r >= 0)
        r = walk_finish(s, out);
    out->spares = spares_idle(s) ? bitmap_count_and(spares_idle(s), s->idle) : 0;
    if (r < 0)
        return r;
    *ret_wake_us = again ? now_us : s->nheap ? s->heap[0]->eligible_us : INT64_MAX;
    *ret_wake_us = MIN(*ret_wake_us, MAX(s->preempt_wake_us, now_us));
    if (s->limit_passes)
        *ret_wake_us = MIN(*ret_wake_us, now_us + LIMIT_LOOK_US);
    *ret_wake_us = MIN(*ret_wake_us, MAX(advs_wake(s), now_us));
    *ret_wake_us = MIN(*ret_wake_us, MAX(switch_wait_wake(s), now_us));
    return 0;
}
