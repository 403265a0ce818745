/* easy.c - EASY backfill: the first job of each partition that waits for nodes gets a reservation;
 * jobs behind it start when they end before that, or leave alone what it needs.
 *
 * A reservation is a time and an exact layout.  A later job that would still run then may use
 * neither its CPUs and devices nor more memory, counts and partition quota than will be spare
 * beside it; so no start here moves a reserved start back.  A class that failed for some end fails
 * for later ends too, and is skipped. */
#include "sched/plan/easy.h"

#include <errno.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "sched/plan/bfshare.h"
#include "sched/plan/hetplace.h"
#include "sched/plan/keptplan.h"
#include "sched/plan/proposal.h"
#include "sched/plan/queuewalk.h"
#include "sched/plan/resvadd.h"
#include "sched/plan/timeline.h"
#include "sched/rules/advlics.h"
#include "sched/rules/advres.h"
#include "sched/rules/advtime.h"
#include "sched/rules/licfit.h"
#include "sched/sched.h"
#include "sched/select/advwhy.h"
#include "sched/select/hreswhy.h"
#include "sched/select/joblayout.h"
#include "sched/select/pick.h"
#include "sched/select/powerroom.h"
#include "sched/state/alloc.h"
#include "sched/state/classes.h"
#include "sched/state/endtime.h"
#include "sched/state/expect.h"
#include "sched/state/jobs.h"
#include "sched/state/line.h"
#include "sched/state/parts.h"
#include "sched/state/question.h"
#include "sched/state/queue.h"
#include "sched/state/resvs.h"
#include "sched/state/sched_obj.h"

int easy_fits_now(struct pick *p, int64_t end_us, struct sched_alloc *ret_alloc)
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

/* Where a reservation is to be told. */
static int note_expected(struct bf *b, struct entry *e, int64_t start_us,
                         const struct sched_alloc *a)
{
    if (bf_within(b->s, b->now_us, start_us))
        return bf_set_expected(b->s, e->job, start_us, a);
    if (!expect_in_run(e->job, b->s->bf_run))
        expect_clear(e->job);
    return 0;
}

/* Reserve for the head of a partition. */
static int reserve_head(struct bf *b, struct entry *e)
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
        return note_expected(b, e, s->resvs[s->nresvs - 1].start_us,
                             &s->resvs[s->nresvs - 1].alloc);
    if (r == 0)
        r = plan(&p, b->now_us, &start_us, &alloc, &spare);
    if (r <= 0) {
        if (r == 0 && !expect_in_run(e->job, s->bf_run))
            expect_clear(e->job);
        return r;
    }
    r = note_expected(b, e, start_us, &alloc);
    if (r >= 0)
        r = resv_add(s, e->part, start_us, &alloc, &spare, &e->job->want);
    if (r >= 0 && start_us > b->now_us)
        kept_note(&p, e->job->id, start_us);
    return r;
}

static int start_beside_resvs(struct bf *b, struct pick *p, struct entry *e,
                              struct sched_alloc *alloc, uint32_t limit)
{
    struct job *j = e->job;
    int r;

    if (powerroom_lacks(b->s, alloc, NULL))
        return 0;
    r = line_room(b->s);

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
static uint32_t longest_beside_resvs(const struct bf *b, const struct job *j, uint32_t resv,
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
    if (j->want.layered && b->s->nresvs) /* layers are known for the shorter time alone */
        return j->time_min_min;
    uint32_t which,
        limit = until == INT64_MAX ? j->time_limit_min : (uint32_t)((until - b->now_us) / 60000000);

    /* Its licences are promised to another job before that: only what was asked for is known to be
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
        r = easy_fits_now(&p, end_us, &alloc);
        if (r == 1)
            r = start_beside_resvs(b, &p, e, &alloc,
                                   i ? longest_beside_resvs(b, j, cls->shape->key.resv, &alloc)
                                     : limits[0]);
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

static int consider_group(struct bf *b, struct entry *e)
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

/* Layers are not planned: say where the job would start were it not for them, and hold nothing for
 * it there, so that what it waits for keeps no node idle. */
static int tell_lacking(struct bf *b, struct entry *e)
{
    struct pick p = { .s = b->s, .cls = e->cls, .part = b->s->parts[e->part], .no_layers = true };
    _cleanup_val_(alloc_done) struct sched_alloc alloc = { 0 };
    int r;

    if (e->cls->told_run == b->s->bf_run) { /* the first of equal jobs goes there */
        expect_clear(e->job);
        return 0;
    }
    e->cls->told_run = b->s->bf_run;
    p.from_us = b->now_us;
    r = easy_fits_now(&p, end_after(b->now_us, e->job->time_limit_min), &alloc);
    if (r == 1)
        return note_expected(b, e, b->now_us, &alloc);
    expect_clear(e->job);
    return r;
}

/* Where the job, which cannot start now, is expected to start. */
static int reserve_place(struct bf *b, struct entry *e, const struct pick *p, enum sched_why why)
{
    if (!b->s->params.bf_licenses && hres_lacks(p))
        return tell_lacking(b, e);
    if (bf_may_reserve(b, e))
        return reserve_head(b, e);
    if (!adv_is_why(why))
        expect_clear(e->job);
    return 0;
}

int easy_consider(struct bf *b, struct entry *e)
{
    struct sched *s = b->s;
    struct part *part = s->parts[e->part];
    struct pick p = { .s = s, .cls = e->cls, .part = part };
    enum sched_why why;
    bool no_lics;
    int r;

    adv_about(s, e, b->now_us); /* what is reserved for the job itself counts as free */
    why = bf_refusal(b, e, &no_lics);
    if (!why && !no_lics && e->job->het) {
        adv_about(s, NULL, 0);
        return consider_group(b, e);
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
            r = reserve_head(b, e);
            job_set_fresh(s, e->job);
        }
        walk_refuse(s, e, SCHED_WHY_LICENSES);
        return r;
    }
    if (why == SCHED_WHY_RESOURCES && (advs_any(s) || e->cls->shape->key.resv)) {
        enum sched_why adv = adv_why(s, e, b->now_us);

        why = adv ? adv : why;
    }
    if (why == SCHED_WHY_RESOURCES && (!part->blocked || adv_is_why(e->why)) &&
        hres_why(&p) == SCHED_WHY_RESERVED)
        why = SCHED_WHY_RESERVED;
    if (e->why == SCHED_WHY_LICENSES || (adv_is_why(e->why) && e->why != why)) { /* that is over */
        e->why = SCHED_WHY_NONE;
        job_set_fresh(s, e->job);
    }
    if (adv_is_why(why) || (why == SCHED_WHY_RESOURCES && e->cls->shape->key.resv)) {
        r = reserve_place(b, e, &p, why);
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
    r = reserve_place(b, e, &p, why);
    if (bitmap_overlaps(s->withheld, part->nodes))
        why = SCHED_WHY_NODES_UNAVAILABLE;
    walk_refuse(s, e, why);
    job_set_fresh(s, e->job); /* its expected start may be another */
    return r;
}
