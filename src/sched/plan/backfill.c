/* backfill.c - EASY backfill: the first job of each partition that waits for nodes gets a
 * reservation; jobs behind it start when they end before that, or leave alone what it needs.
 *
 * A reservation is a time and an exact layout.  A later job that would still run then may use
 * neither its CPUs and devices nor more memory, counts and partition quota than will be spare
 * beside it; so no start here moves a reserved start back.  A class that failed for some end fails
 * for later ends too, and is skipped. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/plan/plan.h"
#include "sched/plan/profile.h"
#include "sched/sched_int.h"

/* 1 with *ret_alloc, 0 when it does not fit beside the reservations. */
static int fits_now(struct pick *p, int64_t end_us, struct sched_alloc *ret_alloc)
{
    uint32_t which;
    int r;

    if (p->lics && !lics_fit(p->s, p->lics, end_us, &which))
        return 0;
    if (advs_any(p->s) && p->from_us)
        p->to_us = end_us;
    p->overlay = true;
    p->end_us = end_us;
    r = pick_layout(p, ret_alloc);
    p->overlay = false;
    return r;
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

/* Where a reservation is to be told. */
static int expect(struct bf *b, struct entry *e, int64_t start_us, const struct sched_alloc *a)
{
    if (bf_within(b->s, b->now_us, start_us))
        return bf_set_expected(b->s, e->job, start_us, a);
    if (!expect_in_run(e->job, b->s->bf_run))
        expect_clear(e->job);
    return 0;
}

/* Reserve for the head of a partition. */
static int reserve(struct bf *b, struct entry *e)
{
    struct sched *s = b->s;
    struct pick p = {
        .s = s, .cls = e->cls, .part = s->parts[e->part], .pad = true, .lics = &e->job->want
    };
    _cleanup_val_(alloc_done) struct sched_alloc alloc = { 0 };
    _cleanup_free_ struct resv_node *spare = NULL;
    int64_t start_us = 0;

    p.minutes = e->job->time_limit_min;
    int r = s->line_made ? 0 : line_make(s);

    if (r == 0)
        r = kept_again(&p, e->job->id, b->now_us);
    if (r == 1)
        return expect(b, e, s->resvs[s->nresvs - 1].start_us, &s->resvs[s->nresvs - 1].alloc);
    if (r == 0)
        r = plan(&p, b->now_us, &start_us, &alloc, &spare);
    if (r <= 0) {
        if (r == 0 && !expect_in_run(e->job, s->bf_run))
            expect_clear(e->job);
        return r;
    }
    r = expect(b, e, start_us, &alloc);
    if (r >= 0)
        r = resv_add(s, e->part, start_us, &alloc, &spare, &e->job->want);
    if (r >= 0 && start_us > b->now_us)
        kept_note(&p, e->job->id, start_us);
    return r;
}

static int start(struct bf *b, struct pick *p, struct entry *e, struct sched_alloc *alloc,
                 uint32_t limit)
{
    struct job *j = e->job;
    int r = line_room(b->s);

    if (r == 0)
        r = decide_start(p, e, alloc, b->now_us, limit, b->out);
    if (r < 0)
        return r;
    resv_charge(b->s, &j->alloc, &j->held, j->part, j->end_us);
    line_add(b->s, j);
    b->out->bf_started++;
    return 1;
}

/* How long the job may run on alloc before it meets a reservation there; at least its minimum. */
static uint32_t longest(const struct bf *b, const struct job *j, uint32_t resv,
                        const struct sched_alloc *a)
{
    int64_t least = end_after(b->now_us, j->time_min_min),
            until = end_after(b->now_us, j->time_limit_min);

    for (uint32_t i = 0; i < b->s->nresvs; i++) {
        const struct resv *r = &b->s->resvs[i];

        if (r->start_us < least || r->start_us >= until)
            continue; /* it keeps clear of the former as it is */
        for (size_t k = 0; k < a->nnodes; k++)
            if (bitmap_test(r->nodes, a->nodes[k].node_id))
                until = r->start_us;
    }
    until = adv_limit(b->s, resv, a, b->now_us, until);
    uint32_t which,
        limit = until == INT64_MAX ? j->time_limit_min : (uint32_t)((until - b->now_us) / 60000000);

    /* Its licences are promised to somebody before that: only what was asked for is known to be
     * free. */
    return lics_fit(b->s, &j->want, end_after(b->now_us, limit), &which) ? limit : j->time_min_min;
}

/* 1 started, 0 not, -ENOMEM. */
static int try_backfill(struct bf *b, struct entry *e)
{
    struct sched *s = b->s;
    struct job *j = e->job;
    struct class *cls = e->cls;
    struct pick p = { .s = s, .cls = cls, .part = s->parts[e->part] };
    _cleanup_val_(alloc_done) struct sched_alloc alloc = { 0 };
    uint32_t which;
    const uint32_t limits[] = { j->time_limit_min, j->time_min_min };

    for (uint32_t i = 0; i < 2; i++) {
        int64_t end_us = end_after(b->now_us, limits[i]);
        int r;

        if (i == 1 && (!limits[1] || limits[1] >= limits[0]))
            break;
        if (cls->bf_run == s->bf_run && end_us >= cls->bf_fail_end)
            continue;
        p.from_us = b->now_us;
        if (!lics_fit(s, &j->want, end_us, &which))
            continue; /* no fault of the class */
        b->out->bf_depth++;
        r = fits_now(&p, end_us, &alloc);
        if (r == 1)
            r = start(b, &p, e, &alloc,
                      i ? longest(b, j, cls->shape->key.resv, &alloc) : limits[0]);
        if (r != 0)
            return r;
        cls->bf_run = s->bf_run;
        cls->bf_fail_end = end_us;
    }
    return 0;
}

/* Expected is the time for all components; where, each knows for itself when it starts. */
static int reserve_het(struct bf *b, struct entry *e)
{
    int64_t start_us = 0;
    int r = het_reserve(b->s, e, b->now_us, &start_us);

    for (uint32_t i = 0; r >= 0 && start_us && i < e->job->het->count; i++) {
        struct job *j = job_find(b->s, e->job->het->id + i);

        if (expect_set(j, bf_within(b->s, b->now_us, start_us) ? start_us : 0, b->s->bf_run, NULL) <
            0)
            r = -ENOMEM;
        job_set_fresh(b->s, j);
    }
    return r;
}

static int consider_het(struct bf *b, struct entry *e)
{
    struct sched *s = b->s;
    enum sched_why why;
    int r;

    b->out->bf_depth++;
    r = het_try(s, e, b->now_us, true, b->out, &why);
    if (r != 0)
        return r;
    if (why != SCHED_WHY_RESOURCES) {
        walk_note(s, e, why);
    } else if (s->parts[e->part]->blocked) {
        walk_skip(s, e);
    } else {
        r = reserve_het(b, e);
        walk_refuse(s, e, why);
    }
    return r;
}

/* Jobs that must not reserve: too young, too low, one of them has already, the partition has
 * enough. */
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

static int consider(struct bf *b, struct entry *e)
{
    struct sched *s = b->s;
    struct part *part = s->parts[e->part];
    struct pick p = { .s = s, .cls = e->cls, .part = part };
    enum sched_why why = entry_limits(s, e);
    uint32_t which;
    bool no_lics;
    int r;

    if (!why)
        why = limit_refuses(s, e, NULL, e->job->time_limit_min, b->now_us);
    adv_about(s, e, b->now_us);
    no_lics = !why && !lics_fit(s, &e->job->want, 0, &which);

    if (!why && !no_lics && e->job->het) {
        adv_about(s, NULL, 0);
        return consider_het(b, e);
    }
    r = why || no_lics ? 0 : try_backfill(b, e);
    adv_about(s, NULL, 0);
    if (r == -EDQUOT) { /* what it would hold is more than it asks for */
        walk_refuse(s, e, SCHED_WHY_LIMIT);
        return 0;
    }

    if (r != 0)
        return r;
    if (!why)
        why = pick_verdict(&p);
    if (no_lics && why == SCHED_WHY_RESOURCES) {
        if (s->params.bf_licenses && bf_may_reserve(b, e)) {
            r = reserve(b, e);
            job_set_fresh(s, e->job);
        }
        walk_refuse(s, e, SCHED_WHY_LICENSES);
        return r;
    }
    if (why == SCHED_WHY_RESOURCES && (advs_any(s) || e->cls->shape->key.resv)) {
        enum sched_why adv = adv_why(s, e, b->now_us);

        why = adv ? adv : why;
    }
    if (e->why == SCHED_WHY_LICENSES || (adv_is_why(e->why) && e->why != why)) { /* that is over */
        e->why = SCHED_WHY_NONE;
        job_set_fresh(s, e->job);
    }
    if (adv_is_why(why) || (why == SCHED_WHY_RESOURCES && e->cls->shape->key.resv)) {
        if (bf_may_reserve(b, e))
            r = reserve(b, e);
        walk_refuse(s, e, why);
        job_set_fresh(s, e->job); /* its expected start may be another */
        return r;
    }
    if (why != SCHED_WHY_RESOURCES) {
        walk_refuse(s, e, why);
        return 0;
    }
    if (part->blocked) {
        walk_skip(s, e);
        return 0;
    }
    if (bf_may_reserve(b, e))
        r = reserve(b, e);
    else
        expect_clear(e->job);
    if (bitmap_overlaps(s->withheld, part->nodes))
        why = SCHED_WHY_NODES_UNAVAILABLE;
    walk_refuse(s, e, why);
    job_set_fresh(s, e->job); /* its expected start may be another */
    return r;
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

static void easy_drop(struct sched *s)
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

int bf_admit(struct bf *b, struct entry *e)
{
    int r;

    b->s->bf.tested++;
    r = over_limit(b->s, e);
    if (r > 0)
        walk_skip(b->s, e);
    return r < 0 ? r : !r;
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

    while (r >= 0 && (e = walk_next(s)) && (!max || s->bf.tested < max)) {
        if (max_start && s->bf.started + b->out->bf_started - before >= max_start)
            break;
        if (max_jobs && piece++ == max_jobs) {
            *ret_more = true;
            break;
        }
        if (s->plan)
            plan_note_look(s, e);
        r = bf_admit(b, e);
        if (r == 1)
            r = s->prof ? conservative_consider(b, e) : consider(b, e);
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
    if (r < 0)
        return r;
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
    out->queue_len = s->npending;
    return r < 0 ? r : 0;
}

int sched_backfill(struct sched *s, int64_t now_us, struct sched_decisions *out)
{
    bool more;

    return sched_backfill_some(s, now_us, 0, out, &more);
}

/* ---- when would it start? -------------------------------------------------------------------- */

/* Reserve for the first job of every partition, whether it could start now or not. */
static int reserve_heads(struct bf *b)
{
    struct sched *s = b->s;
    int r = 0;

    walk_begin(s);
    for (struct entry *e; r >= 0 && (e = walk_next(s));) {
        struct pick p = {
            .s = s, .cls = e->cls, .part = s->parts[e->part], .pad = true, .lics = &e->job->want
        };
        _cleanup_val_(alloc_done) struct sched_alloc alloc = { 0 };
        _cleanup_free_ struct resv_node *spare = NULL;
        int64_t start_us = b->now_us;

        s->parts[e->part]->active = false;
        p.from_us = b->now_us;
        p.minutes = e->job->time_limit_min;
        if (entry_limits(s, e))
            continue;
        r = fits_now(&p, end_after(b->now_us, e->job->time_limit_min), &alloc);
        if (r == 1)
            spare = spare_of(s, &alloc, e->part);
        else if (r == 0)
            r = plan(&p, b->now_us, &start_us, &alloc, &spare);
        if (r == 1)
            r = spare ? resv_add(s, e->part, start_us, &alloc, &spare, &e->job->want) : -ENOMEM;
    }
    return r < 0 ? r : 0;
}

static int when_in(struct bf *b, struct entry *e, struct sched_decision *d)
{
    struct sched *s = b->s;
    struct pick p = { .s = s, .cls = e->cls, .part = s->parts[e->part], .lics = &e->job->want };
    _cleanup_val_(alloc_done) struct sched_alloc alloc = { 0 };
    _cleanup_free_ struct resv_node *spare = NULL;
    int64_t start_us = MAX(b->now_us, e->job->eligible_us);
    int r;

    p.from_us = start_us;
    p.minutes = e->job->time_limit_min;

    d->why = entry_limits(s, e);
    if (!d->why)
        d->why = pick_verdict(&p);
    if (d->why != SCHED_WHY_RESOURCES)
        return 0;
    if (s->prof) {
        r = prof_search(&p, &e->job->want, e->job->time_limit_min, prof_slot_at(s, start_us), false,
                        &alloc);
        start_us = r == 1 ? MAX(prof_promise(s, p.from), start_us) : 0;
    } else {
        r = fits_now(&p, end_after(start_us, e->job->time_limit_min), &alloc);
        if (r == 0)
            r = plan(&p, start_us, &start_us, &alloc, &spare);
    }
    if (r <= 0 || (d->expected_us && d->expected_us <= start_us))
        return r;
    alloc_done(&d->alloc);
    d->alloc = alloc;
    alloc = (struct sched_alloc){ 0 };
    d->partition = s->parts_tab.names[e->part];
    d->expected_us = start_us;
    return 0;
}

static int list_nodes(struct sched_decision *d)
{
    d->nexpected = d->alloc.nnodes;
    d->expected_nodes = malloc((d->nexpected + 1) * sizeof(*d->expected_nodes));
    if (!d->expected_nodes)
        return -ENOMEM;
    for (size_t i = 0; i < d->nexpected; i++)
        d->expected_nodes[i] = d->alloc.nodes[i].node_id;
    return 0;
}

int sched_when(struct sched *s, const struct sched_job *job, int64_t now_us,
               struct sched_decision *ret_decision)
{
    struct sched_decision d = { .kind = SCHED_EXPECT, .job_id = job->id };
    struct bf b = { .s = s, .now_us = now_us };
    uint32_t now;
    struct job *j;
    int r = job_build(s, job, &j);

    if (r < 0)
        return r;
    backfill_drop(s); /* a plan under way begins anew */
    queue_enter(s, now_us);
    if (s->params.conservative) {
        r = conservative_ahead(&b, NULL, &now);
    } else {
        r = line_make(s);
        if (r == 0)
            r = reserve_heads(&b);
    }
    for (uint32_t i = 0; r >= 0 && i < j->nentries; i++)
        r = when_in(&b, j->entries[i], &d);
    backfill_drop(s);
    job_free(s, j);
    if (r >= 0 && d.expected_us) {
        d.why = SCHED_WHY_NONE;
        r = list_nodes(&d);
    }
    if (r < 0) {
        sched_decision_done(&d);
        return r;
    }
    *ret_decision = d;
    return 0;
}
