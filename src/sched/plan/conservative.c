/* conservative.c - backfill that gives every job it looks at a place in the plan.
 *
 * Jobs come in the order of the queues.  Each one starts now, when that delays no job planned
 * before it, or holds what it will need from the first moment on at which it fits beside them; so
 * no job planned earlier is ever delayed by a later one.  A class that found no place before a
 * slot finds none there for a longer job either, and a class that failed to start for some end
 * fails for later ends too: equal jobs cost little.  Jobs beyond the limits on places may still
 * start at once. */
#include "sched/plan/conservative.h"

#include <errno.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "sched/plan/bfshare.h"
#include "sched/plan/firsts.h"
#include "sched/plan/hetplace.h"
#include "sched/plan/plan.h"
#include "sched/plan/preempt.h"
#include "sched/plan/prof_search.h"
#include "sched/plan/proposal.h"
#include "sched/plan/queuewalk.h"
#include "sched/profile/prof_hold.h"
#include "sched/profile/prof_slots.h"
#include "sched/rules/advlics.h"
#include "sched/rules/advres.h"
#include "sched/rules/advtime.h"
#include "sched/rules/hrescharge.h"
#include "sched/rules/licfit.h"
#include "sched/rules/limit_check.h"
#include "sched/rules/partlimits.h"
#include "sched/sched.h"
#include "sched/select/advwhy.h"
#include "sched/select/hreswhy.h"
#include "sched/select/pick.h"
#include "sched/state/alloc.h"
#include "sched/state/classes.h"
#include "sched/state/endtime.h"
#include "sched/state/expect.h"
#include "sched/state/jobs.h"
#include "sched/state/lics.h"
#include "sched/state/parts.h"
#include "sched/state/question.h"
#include "sched/state/queue.h"
#include "sched/state/sched_obj.h"
#include "sched/base/tally.h"
#include "sched/select/powerroom.h"

/* ---- what is known of a class ---------------------------------------------------------------- */

/* The slot before which there is no place for a job of so many minutes. */
static uint32_t known_first(const struct sched *s, const struct class *c, uint32_t minutes)
{
    uint32_t first = 0;

    for (uint32_t i = 0; i < CLASS_TRIED; i++)
        if (c->tried[i].run == s->memo_run && c->tried[i].limit_min <= minutes)
            first = MAX(first, c->tried[i].slot);
    if (c->shape->key.resv) /* others have other nodes */
        return first;
    return MAX(first, firsts_find(s, c, minutes));
}

static void note_first(struct sched *s, struct class *c, uint32_t minutes, uint32_t slot)
{
    uint32_t at = 0;

    for (uint32_t i = 0; i < CLASS_TRIED; i++) {
        if (c->tried[i].run != s->memo_run || c->tried[i].limit_min == minutes) {
            at = i;
            break;
        }
        if (c->tried[i].slot < c->tried[at].slot)
            at = i;
    }
    c->tried[at].run = s->memo_run;
    c->tried[at].limit_min = minutes;
    c->tried[at].slot = slot;
    if (!c->shape->key.resv)
        firsts_note(s, c, minutes, slot);
}

/* ---- now ------------------------------------------------------------------------------------- */

static int start_in_plan(struct bf *b, struct pick *p, struct entry *e, struct sched_alloc *alloc,
                         uint32_t limit, uint32_t until)
{
    struct job *j = e->job;
    int r;

    if (powerroom_lacks(b->s, alloc, NULL))
        return 0;
    r = decide_start(p, e, alloc, b->now_us, limit, b->out);
    if (r == 0)
        r = prof_hold(b->s, &j->alloc, &j->held, j, j->part, j->firm, prof_now(b->s), until);
    if (r < 0)
        return r;
    prof_note_end(b->s, until, j->end_us);
    b->out->bf_started++;
    return 1;
}

/* The longest limit up to the job's own for which it can hold alloc; it can for its minimum. */
static uint32_t longest_in_plan(const struct bf *b, const struct entry *e,
                                const struct sched_alloc *a, uint32_t until)
{
    const struct sched *s = b->s;
    const struct job *j = e->job;
    uint32_t most = prof_until(s, prof_now(s), j->time_limit_min), which;
    uint32_t limit = j->time_limit_min;

    if (j->want.layered && prof_fixed(s)) /* layers are known for the shorter time alone */
        return j->time_min_min;
    most = prof_stretch(s, a, e->part, until, most);
    while (most > until && !prof_lics(s, &j->want, prof_now(s), most, &which))
        most--;
    if (most < prof_slots(s) && most < prof_until(s, prof_now(s), j->time_limit_min))
        limit = (uint32_t)((prof_promise(s, most) - b->now_us) / 60000000);
    if (advs_any(s)) {
        int64_t end_us = end_after(b->now_us, limit);
        int64_t free_us = adv_limit(s, e->cls->shape->key.resv, a, b->now_us, end_us);

        limit = free_us < end_us ? (uint32_t)((free_us - b->now_us) / 60000000) : limit;
    }
    return MAX(MIN(limit, j->time_limit_min), j->time_min_min);
}

int conservative_try(struct bf *b, struct entry *e)
{
    struct sched *s = b->s;
    struct job *j = e->job;
    struct class *cls = e->cls;
    const uint32_t limits[] = { j->time_limit_min, j->time_min_min };
    uint32_t which;

    for (uint32_t i = 0; i < 2; i++) {
        struct pick p = { .s = s, .cls = cls, .part = s->parts[e->part] };
        _cleanup_val_(alloc_done) struct sched_alloc alloc = { 0 };
        int64_t end_us = end_after(b->now_us, limits[i]);
        int r;

        if (i == 1 && (!limits[1] || limits[1] >= limits[0]))
            break;
        if (cls->bf_run == s->memo_run && end_us >= cls->bf_fail_end)
            continue;
        if (!prof_lics(s, &j->want, prof_now(s), prof_until(s, prof_now(s), limits[i]), &which))
            continue; /* no fault of the class */
        b->out->bf_depth++;
        r = prof_search(&p, &j->want, limits[i], prof_now(s), true, &alloc);
        if (r == 1)
            r = start_in_plan(b, &p, e, &alloc,
                              i ? longest_in_plan(b, e, &alloc, p.until) : limits[0],
                              prof_until(s, prof_now(s), limits[0]));
        if (r != 0)
            return r;
        cls->bf_run = s->memo_run;
        cls->bf_fail_end = end_us;
    }
    return 0;
}

/* ---- later ----------------------------------------------------------------------------------- */

/* The first slot from `from` on with a place for it: 1 with what it would get, 0 when there is
 * none. */
int conservative_seek(struct sched *s, struct entry *e, uint32_t from, struct pick *ret_pick,
                      struct sched_alloc *ret_alloc)
{
    const struct job *j = e->job;
    uint32_t first = MAX(from, known_first(s, e->cls, j->time_limit_min));
    int r;

    *ret_pick = (struct pick){ .s = s, .cls = e->cls, .part = s->parts[e->part], .pad = true };
    first = first > prof_now(s) ? prof_release(s, first) : first;
    r = prof_search(ret_pick, &j->want, j->time_limit_min, first, false, ret_alloc);
    if (r >= 0 && (!j->want.n || !prof_fixed(s)) && from <= prof_now(s) + 1)
        note_first(s, e->cls, j->time_limit_min, r == 1 ? ret_pick->from : prof_slots(s));
    return r;
}

struct place_span {
    uint32_t from, until;
};

static uint64_t left_in_span(const void *ctx, const struct sched *s, uint32_t lic)
{
    const struct place_span *x = ctx;

    return prof_lic_left(s, lic, x->from, x->until);
}

/* Licences and layers that it holds on its place. */
static int choose_planned(struct sched *s, const struct job *j, const struct pick *p,
                          const struct sched_alloc *alloc, struct job_lics *ret)
{
    struct place_span x = { p->from, p->until };
    uint32_t which = 0;
    int r;

    (void)prof_lics(s, &j->want, p->from, p->until, &which);
    r = prof_fixed(s) ? hres_charge(s, &j->want, which, alloc, left_in_span, &x, ret) : 0;
    return r == 0 ? hres_leave_out(s, &j->want, which, ret) : MIN(r, 0);
}

/* Hold a place for it.  1 with *ret_start_us (and what it would get), 0 when there is none in
 * time. */
static int hold_place(struct sched *s, struct entry *e, uint32_t from, bool tell,
                      int64_t *ret_start_us)
{
    struct job *j = e->job;
    _cleanup_val_(lics_free) struct job_lics lics = { 0 };
    _cleanup_val_(alloc_done) struct sched_alloc alloc = { 0 };
    struct pick p;
    int r = conservative_seek(s, e, from, &p, &alloc);

    if (r <= 0)
        return r;
    *ret_start_us = prof_promise(s, p.from);
    prof_note_end(s, p.until, INT64_MAX); /* what follows a plan is promised by the slot */
    r = choose_planned(s, j, &p, &alloc, &lics);
    if (r == 0 && tell && bf_within(s, prof_time(s, prof_now(s)), *ret_start_us))
        r = bf_set_expected(s, j, *ret_start_us, &alloc);
    if (r == 0)
        prof_hold_lics(s, &lics, p.from, p.until);
    if (r == 0)
        r = place_add(s, e, &alloc, p.from, p.until, NULL);
    return r < 0 ? r : 1;
}

/* May this one have a place? -ENOMEM */
static int may_hold(const struct bf *b, const struct entry *e)
{
    struct sched *s = b->s;
    const struct sched_params *p = &s->params;
    uint32_t n = 0;
    int r = 0;

    if (!bf_may_reserve(b, e) || (p->bf_max_job_plan && s->bf.planned >= p->bf_max_job_plan))
        return 0;
    if (p->bf_job_part_count_reserve && s->parts[e->part]->planned >= p->bf_job_part_count_reserve)
        return 0;
    if (p->bf_max_job_array_resv && e->job->array_id)
        r = tally_count(&s->tally, TALLY_ARRAY, e->job->array_id, 0, &n);
    if (r < 0)
        return r;
    return !p->bf_max_job_array_resv || n <= p->bf_max_job_array_resv;
}

static void forget_place(const struct bf *b, struct job *j)
{
    if (expect_in_run(j, b->s->bf_run))
        return; /* from another partition */
    if (expect_us(j))
        job_set_fresh(b->s, j);
    expect_clear(j);
}

static int give_place(struct bf *b, struct entry *e)
{
    struct sched *s = b->s;
    struct job *j = e->job;
    int64_t start_us = 0;
    int r = may_hold(b, e);

    if (r == 1) {
        s->bf.planned++;
        s->parts[e->part]->planned++;
        r = hold_place(s, e, prof_now(s) + 1, true, &start_us);
    }
    if (r == 1 && bf_within(s, b->now_us, start_us)) {
        if (expect_us(j) != expect_told_us(j))
            job_set_fresh(s, j);
    } else {
        forget_place(b, j);
    }
    return r < 0 ? r : 0;
}

/* Layers are not planned: say where the job would start were it not for them, and hold nothing for
 * it there. */
static int tell_lacking(struct bf *b, struct entry *e)
{
    struct sched *s = b->s;
    struct job *j = e->job;
    struct pick p = { .s = s, .cls = e->cls, .part = s->parts[e->part], .no_layers = true };
    _cleanup_val_(alloc_done) struct sched_alloc alloc = { 0 };
    int r = 0;

    s->plan->limited = true;             /* the next plan looks again */
    if (e->cls->told_run != s->memo_run) /* the first of equal jobs goes there */
        r = prof_search(&p, &j->want, j->time_limit_min, prof_now(s), true, &alloc);
    e->cls->told_run = s->memo_run;
    if (r != 1) {
        forget_place(b, j);
        return r;
    }
    r = bf_set_expected(s, j, b->now_us, &alloc);
    if (expect_us(j) != expect_told_us(j))
        job_set_fresh(s, j);
    return r;
}

static int plan_group(struct bf *b, struct entry *e)
{
    struct sched *s = b->s;
    enum sched_why why = SCHED_WHY_NONE;
    int64_t start_us = 0;
    int r;

    b->out->bf_depth++;
    r = het_plan(s, e, b->now_us, b->out, &start_us, &why);
    if (r != 0)
        return r;
    for (uint32_t i = 0; start_us && i < e->job->het->count; i++) {
        struct job *j = job_find(s, e->job->het->id + i);

        r = expect_set(j, bf_within(s, b->now_us, start_us) ? start_us : 0, s->bf_run, NULL);
        if (r < 0)
            return r;
        if (expect_us(j) != expect_told_us(j))
            job_set_fresh(s, j);
    }
    if (why != SCHED_WHY_RESOURCES)
        walk_note(s, e, why);
    else if (s->parts[e->part]->blocked)
        walk_skip(s, e);
    else
        walk_refuse(s, e, why);
    return 0;
}

static int consider_planned(struct bf *b, struct entry *e)
{
    struct sched *s = b->s;
    struct part *part = s->parts[e->part];
    struct pick p = { .s = s, .cls = e->cls, .part = part };
    bool no_lics;
    enum sched_why why = bf_refusal(b, e, &no_lics), adv;
    int r = 0;

    s->plan->limited = s->plan->limited || why == SCHED_WHY_LIMIT;
    if (!why && !no_lics && e->job->het)
        return plan_group(b, e);
    if (!why && !no_lics)
        r = conservative_try(b, e);
    if (r == -EDQUOT) { /* what it would hold is more than it asks for */
        walk_refuse(s, e, SCHED_WHY_LIMIT);
        return 0;
    }
    if (r != 0)
        return r;
    if (!why)
        why = pick_verdict(&p);
    if (why != SCHED_WHY_RESOURCES) {
        forget_place(b, e->job);
        walk_refuse(s, e, why);
        return 0;
    }
    if (!no_lics && (part->blocked || bitmap_overlaps(s->withheld, part->nodes))) {
        /* The first of the queues did so in the pass. */
        r = preempt_beside_plan(s, e, b->now_us, b->out);
        if (r == -EDQUOT) {
            walk_refuse(s, e, SCHED_WHY_LIMIT);
            return 0;
        }
        if (r != 0)
            return r;
    }
    if (!no_lics && !s->params.bf_licenses && hres_lacks(&p))
        r = tell_lacking(b, e);
    else if (!no_lics || s->params.bf_licenses)
        r = give_place(b, e);
    if (no_lics) {
        s->plan->limited = true;
        walk_refuse(s, e, SCHED_WHY_LICENSES);
        return r;
    }
    adv = advs_any(s) || e->cls->shape->key.resv ? adv_why(s, e, b->now_us) : SCHED_WHY_NONE;
    if (!adv && hres_why(&p) == SCHED_WHY_RESERVED)
        adv = SCHED_WHY_RESERVED;
    if (adv) {
        walk_refuse(s, e, adv);
        return r;
    }
    if (e->why == SCHED_WHY_LICENSES || adv_is_why(e->why)) { /* they are there now */
        e->why = SCHED_WHY_NONE;
        job_set_fresh(s, e->job);
    }
    if (e->cls->shape->key.resv && !e->why) { /* no pass has told it yet */
        walk_note(s, e, SCHED_WHY_RESOURCES);
        return r;
    }
    if (part->blocked || e->cls->shape->key.resv) {
        walk_skip(s, e);
        return r;
    }
    if (bitmap_overlaps(s->withheld, part->nodes))
        why = SCHED_WHY_NODES_UNAVAILABLE;
    walk_refuse(s, e, why);
    return r;
}

int conservative_consider(struct bf *b, struct entry *e)
{
    int r;

    adv_about(b->s, e, b->now_us); /* whose reserved licences are its own */
    r = consider_planned(b, e);
    adv_about(b->s, NULL, 0);
    return r;
}

/* ---- questions ------------------------------------------------------------------------------- */

int conservative_ahead(struct bf *b, const struct entry *stop, uint32_t *ret_now)
{
    struct sched *s = b->s;
    uint32_t max = s->params.bf_max_job_plan;
    int r;

    backfill_drop(s);
    s->bf_run++;
    s->memo_run++;
    bf_count_anew(s);
    *ret_now = 0;
    walk_begin(s);
    r = plan_new(s, b->now_us);
    for (struct entry *e; r >= 0 && (e = walk_next(s)) && (!max || s->bf.planned < max);) {
        struct pick p = { .s = s, .cls = e->cls, .part = s->parts[e->part] };
        int64_t start_us = 0;
        uint32_t which;

        if (stop && !walk_goes_before(s, e, stop))
            break;
        walk_skip(s, e);
        if (stop && e->job->id == stop->job->id)
            continue;
        if (entry_limits(s, e) || limit_refuses(s, e, NULL, e->job->time_limit_min, b->now_us) ||
            pick_verdict(&p) != SCHED_WHY_RESOURCES || !may_hold(b, e) ||
            (!s->params.bf_licenses && !lics_fit(s, &e->job->want, 0, &which)))
            continue;
        s->bf.planned++;
        s->parts[e->part]->planned++;
        r = hold_place(s, e, 0, false, &start_us);
        *ret_now += r == 1 && start_us == b->now_us;
    }
    return r < 0 ? r : 0;
}
