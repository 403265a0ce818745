/* test_planplace.c - the order in which jobs are looked at, the places of a plan that is kept, and
 * what both engines of backfill do about one job */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "sched/plan/bfshare.h"
#include "sched/plan/conservative.h"
#include "sched/plan/easy.h"
#include "sched/plan/hetplace.h"
#include "sched/plan/plan.h"
#include "sched/plan/planrepair.h"
#include "sched/plan/proposal.h"
#include "sched/plan/queuewalk.h"
#include "sched/profile/prof_slots.h"
#include "sched/select/joblayout.h"
#include "sched/state/alloc.h"
#include "sched/state/endtime.h"
#include "sched/state/expect.h"
#include "sched/state/holders.h"
#include "sched/state/line.h"
#include "sched/state/nodes.h"
#include "sched/state/parts.h"
#include "sched/state/question.h"

#define NOW INT64_C(1700000000000000)
#define MINUTE INT64_C(60000000)
#define CPUS 8u
#include "sched_inner.h"

static struct sched *cluster(uint32_t nodes)
{
    return inner_cluster((struct sched_params){ .conservative = true, .bf_resolution_s = 60 },
                         nodes, CPUS);
}

static struct entry *put_entry(struct sched *s, struct sched_job j)
{
    return inner_put(s, j)->entries[0];
}

static struct sched_job ranked(uint32_t id, uint32_t part, uint32_t priority)
{
    struct sched_job j = inner_job(id, part, 1);

    j.priority = priority;
    return j;
}

/* ---- the walk -------------------------------------------------------------------------------- */

/* Jobs of ids 1 to 9 in the order they are to be looked at. */
static struct sched *nine_jobs(void)
{
    struct sched *s = cluster(1);
    struct sched_job j = ranked(1, LOW, 1);

    j.expedite = true; /* whatever its partition and priority */
    (void)inner_put(s, j);
    j = ranked(2, LOW, 2);
    j.resvs = &(struct sched_job_resv){ .id = 7 }; /* in a reservation that it asked for */
    j.nresvs = 1;
    j.resv_only = true;
    (void)inner_put(s, j);
    (void)inner_put(s, ranked(3, HIGH, 9));
    j = ranked(4, HIGH, 8);
    j.submit_us = NOW - 1; /* came before */
    (void)inner_put(s, j);
    (void)inner_put(s, ranked(5, HIGH, 8));
    (void)inner_put(s, ranked(6, HIGH, 8)); /* by id, when all else is equal */
    (void)inner_put(s, ranked(7, MID, 100));
    (void)inner_put(s, ranked(8, LOW, 1000));
    (void)inner_put(s, ranked(9, LOW, 999));
    return s;
}

static void test_order(void **state)
{
    struct sched *s = nine_jobs();
    struct entry *e, *last = NULL;
    uint32_t id = 0;

    (void)state;
    walk_begin(s);
    while ((e = walk_next(s))) {
        assert_int_equal(e->job->id, ++id);
        assert_true(!last || walk_goes_before(s, last, e));
        assert_true(!last || !walk_goes_before(s, e, last));
        last = e;
        walk_skip(s, e);
    }
    assert_int_equal(id, 9);
    sched_free(s);
}

/* Looked at are the job at which the plan stopped and all that are before it in the queues, and a
 * walk that goes on begins with the next. */
static void test_resume(void **state)
{
    struct sched *s = nine_jobs();

    (void)state;
    for (uint32_t at = 1; at <= 9; at++) {
        assert_int_equal(plan_new(s, NOW), 0);
        plan_note_look(s, job_find(s, at)->entries[0]);
        for (uint32_t id = 1; id <= 9; id++)
            assert_int_equal(plan_looked_at(s, job_find(s, id)->entries[0]), id <= at);
        walk_begin(s);
        walk_resume(s);
        if (at < 9)
            assert_int_equal(walk_next(s)->job->id, at + 1);
        else
            assert_null(walk_next(s));
        s->plan->whole = true; /* then nobody is left */
        for (uint32_t id = 1; id <= 9; id++)
            assert_true(plan_looked_at(s, job_find(s, id)->entries[0]));
        plan_drop(s);
    }
    sched_free(s);
}

static void test_refuse(void **state)
{
    struct sched *s = cluster(1);
    struct entry *lics = put_entry(s, ranked(1, LOW, 9)), *never = put_entry(s, ranked(2, LOW, 8)),
                 *head = put_entry(s, ranked(3, LOW, 7)), *next = put_entry(s, ranked(4, LOW, 6));
    struct part *p = s->parts[head->part];
    _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 };

    (void)state;
    walk_begin(s);
    assert_ptr_equal(walk_next(s), lics);
    walk_refuse(s, lics, SCHED_WHY_LICENSES); /* holds up no other */
    assert_false(p->blocked);
    assert_ptr_equal(walk_next(s), never);
    walk_refuse(s, never, SCHED_WHY_BAD_CONSTRAINTS); /* is not looked at again */
    assert_int_equal(never->state, ENTRY_PARKED);
    assert_ptr_equal(walk_next(s), head);
    walk_refuse(s, head, SCHED_WHY_RESOURCES);
    assert_true(p->blocked);
    assert_ptr_equal(p->block, head);
    assert_true(bitmap_test(s->withheld, 0));
    assert_ptr_equal(walk_next(s), next);
    walk_note(s, next, SCHED_WHY_NONE);
    assert_null(walk_next(s));
    assert_int_equal(walk_finish(s, &d), 0);
    assert_int_equal(inner_decided(&d, SCHED_EXPECT, 1)->why, SCHED_WHY_LICENSES);
    assert_int_equal(inner_decided(&d, SCHED_EXPECT, 2)->why, SCHED_WHY_BAD_CONSTRAINTS);
    assert_int_equal(inner_decided(&d, SCHED_EXPECT, 3)->why, SCHED_WHY_RESOURCES);
    assert_int_equal(inner_decided(&d, SCHED_EXPECT, 4)->why, SCHED_WHY_PRIORITY);
    assert_int_equal(d.queue_len, 4);
    sched_free(s);
}

/* assoc_limit_stop: a job held by a limit holds up its partition. */
static void test_limit_stop(void **state)
{
    struct sched *s = cluster(1);
    struct entry *e = put_entry(s, ranked(1, LOW, 9));

    (void)state;
    (void)inner_put(s, ranked(2, LOW, 8));
    for (int stop = 0; stop < 2; stop++) {
        s->params.assoc_limit_stop = stop;
        e->limit = SCHED_LIMIT_ASSOC_MAX_JOBS;
        walk_begin(s);
        walk_refuse(s, e, SCHED_WHY_LIMIT);
        if (stop)
            assert_null(walk_next(s));
        else
            assert_int_equal(walk_next(s)->job->id, 2);
    }
    sched_free(s);
}

/* Of several partitions the most hopeful reason is told. */
static void test_hope(void **state)
{
    static const char *const both[] = { "low", "high" };
    struct sched *s = cluster(1);
    struct sched_job j = inner_job(1, LOW, 1);
    _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 };
    struct job *kept;

    (void)state;
    j.partitions = both;
    j.npartitions = 2;
    kept = inner_put(s, j);
    walk_begin(s);
    walk_refuse(s, kept->entries[0], SCHED_WHY_PART_TIME_LIMIT);
    walk_refuse(s, kept->entries[1], SCHED_WHY_LICENSES);
    assert_int_equal(walk_finish(s, &d), 0);
    assert_int_equal(d.n, 1);
    assert_int_equal(d.items[0].why, SCHED_WHY_LICENSES);
    sched_free(s);
}

/* ---- proposals ------------------------------------------------------------------------------- */

static struct pick pick_for(struct sched *s, const struct entry *e)
{
    return (struct pick){ .s = s, .cls = e->cls, .part = s->parts[e->part] };
}

static void test_propose(void **state)
{
    struct sched *s = cluster(1);
    struct entry *e = put_entry(s, inner_job(1, MID, 3));
    struct pick p = pick_for(s, e);
    struct sched_alloc a = { 0 };
    _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 };
    struct job *j = e->job;

    (void)state;
    assert_int_equal(pick_layout(&p, &a), 1);
    assert_int_equal(decide_start(&p, e, &a, NOW, 5, &d), 0);
    assert_int_equal(a.nnodes, 0); /* handed over */
    assert_int_equal(d.items[0].kind, SCHED_START);
    assert_int_equal(d.items[0].time_limit_min, 5); /* not the ten that it asked for */
    assert_string_equal(d.items[0].partition, "mid");
    assert_int_equal(d.started, 1);
    assert_int_equal(j->state, JOB_PROPOSED);
    assert_true(j->start_us == NOW && j->end_us == NOW + 5 * MINUTE);
    assert_int_equal(s->free_cpus, CPUS - 3);
    assert_int_equal(s->npending, 0);
    sched_job_refused(s, 1);
    assert_int_equal(j->state, JOB_QUEUED);
    assert_true(j->end_us == INT64_MAX);
    assert_int_equal(s->free_cpus, CPUS);
    assert_int_equal(s->npending, 1);
    sched_free(s);
}

/* A licence that went meanwhile: nothing is proposed, and nothing changed. */
static void test_propose_licence(void **state)
{
    const struct sched_lic_req matlab = { .name = "matlab", .count = 1 };
    struct sched *s = cluster(1);
    struct sched_job put = inner_job(1, MID, 3);
    struct sched_alloc a = { 0 };
    _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 };
    struct entry *e;
    struct pick p;

    (void)state;
    put.licenses = &matlab;
    put.nlicenses = 1;
    e = put_entry(s, put);
    p = pick_for(s, e);
    assert_int_equal(pick_layout(&p, &a), 1);
    assert_int_equal(decide_start(&p, e, &a, NOW, 10, &d), -EAGAIN);
    assert_int_equal(d.n, 0);
    assert_int_equal(a.nnodes, 1); /* the caller's still */
    assert_int_equal(e->job->state, JOB_QUEUED);
    assert_int_equal(s->free_cpus, CPUS);
    alloc_done(&a);
    sched_free(s);
}

/* ---- the plan -------------------------------------------------------------------------------- */

/* The job's place from the slot that begins in so many minutes, as far as they can be kept. */
static struct place *place_at(struct sched *s, struct entry *e, uint32_t from_min, uint32_t minutes)
{
    struct pick p = pick_for(s, e);
    struct sched_alloc a = { 0 };
    struct place *place = NULL;
    uint32_t from = prof_slot_at(s, NOW + from_min * MINUTE);

    p.idle = true;
    assert_int_equal(pick_layout(&p, &a), 1);
    s->parts[e->part]->planned++;
    s->bf.planned++;
    assert_int_equal(place_add(s, e, &a, from, prof_until(s, from, minutes), &place), 0);
    assert_int_equal(a.nnodes, 0);
    return place;
}

static void test_places(void **state)
{
    struct sched *s = cluster(1);
    struct entry *a, *b;
    struct place *p, *q;
    uint32_t broken;

    (void)state;
    (void)inner_run(s, 100, LOW, 0, 0xff, 0, 30);
    a = put_entry(s, inner_job(1, MID, 8));
    b = put_entry(s, inner_job(2, MID, 8));
    assert_int_equal(plan_new(s, NOW), 0);
    p = place_at(s, a, 31, 10);
    q = place_at(s, b, 45, 10);
    assert_int_equal(s->plan->nplaces, 2);
    assert_ptr_equal(expect_places(a->job), p);
    assert_in_range(p->start_us, NOW + 31 * MINUTE, NOW + 32 * MINUTE);
    /* Job 100 leaves: both can be kept. */
    plan_note_leave(s, job_find(s, 100));
    sched_job_remove(s, 100);
    assert_int_equal(plan_settle(s, &broken), 0);
    assert_int_equal(broken, 0);
    /* Another job holds the node until minute 40: the first cannot, the second can. */
    plan_note_hold(s, inner_run(s, 101, LOW, 0, 0x01, 0, 40));
    assert_int_equal(plan_settle(s, &broken), 0);
    assert_int_equal(broken, 1);
    assert_true(p->broken);
    assert_false(q->broken);
    assert_ptr_equal(place_take_out(s, p, true), p);
    assert_int_equal(s->plan->nplaces, 1);
    assert_null(expect_places(a->job));
    assert_int_equal(place_put_back(s, p), 0);
    assert_false(p->broken);
    assert_ptr_equal(expect_places(a->job), p);
    plan_note_park(s, a);
    assert_null(expect_places(a->job));
    assert_int_equal(s->plan->nplaces, 1);
    plan_drop(s);
    assert_null(s->plan);
    assert_null(expect_places(b->job));
    sched_free(s);
}

static void test_keep(void **state)
{
    struct sched *s = cluster(1);
    const struct sched_resv_window w = { NOW, NOW + MINUTE };
    const struct sched_resv resv = {
        .id = 1, .node_ids = (uint32_t[]){ 0 }, .nnodes = 1, .windows = &w, .nwindows = 1
    };
    struct entry *e;

    (void)state;
    assert_false(plan_may_be_kept(s)); /* there is none */
    assert_false(sched_backfill_keeps(s));
    e = put_entry(s, inner_job(1, MID, 8));
    assert_int_equal(plan_new(s, NOW), 0);
    (void)place_at(s, e, 31, 10);
    assert_false(plan_may_be_kept(s)); /* of few places it is quickly made anew */
    s->params.plan_keep = 1;
    assert_true(plan_may_be_kept(s));
    assert_true(sched_backfill_keeps(s));
    s->params.assoc_limit_stop = true;
    assert_false(plan_may_be_kept(s));
    s->params.assoc_limit_stop = false;
    s->parts[e->part]->oversubscribe = 2;
    assert_false(plan_may_be_kept(s));
    s->parts[e->part]->oversubscribe = 1;
    assert_true(plan_renew_us(s) == NOW + 30 * 1000000);
    s->params.bf_interval_s = 7;
    assert_true(plan_renew_us(s) == NOW + 7 * 1000000);
    assert_int_equal(sched_resv_put(s, &resv), 0);
    assert_false(plan_may_be_kept(s));
    sched_free(s);
}

/* ---- repairs --------------------------------------------------------------------------------- */

static int64_t planned_us(const struct sched *s, uint32_t id)
{
    return expect_us(job_find(s, id));
}

/* Three jobs that need the whole node are planned one after the other behind job 100. */
static struct sched *planned_three(void)
{
    struct sched *s = cluster(1);
    _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 };

    s->params.plan_keep = 1;
    (void)inner_run(s, 100, LOW, 0, 0x0f, 0, 60);
    for (uint32_t id = 1; id <= 3; id++)
        (void)inner_put(s, inner_job(id, MID, 8));
    assert_int_equal(sched_backfill(s, NOW, &d), 0);
    assert_true(d.planned_anew);
    assert_non_null(s->plan);
    assert_in_range(planned_us(s, 1), NOW + 60 * MINUTE, NOW + 61 * MINUTE);
    assert_in_range(planned_us(s, 2), NOW + 70 * MINUTE, NOW + 72 * MINUTE);
    return s;
}

/* What came free goes to the jobs in the order of the plan, and no place moves to a later time. */
static void test_repair_freed(void **state)
{
    struct sched *s = planned_three();
    _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 };
    int64_t third_us = planned_us(s, 3);

    (void)state;
    sched_job_remove(s, 100);
    assert_int_equal(sched_backfill(s, NOW + MINUTE, &d), 0);
    assert_false(d.planned_anew);
    assert_non_null(inner_decided(&d, SCHED_START, 1));
    assert_in_range(planned_us(s, 2), NOW + 10 * MINUTE, NOW + 13 * MINUTE);
    assert_true(planned_us(s, 3) < third_us);
    sched_free(s);
}

/* A newcomer gets the first place beside all others, though it is more urgent; then the plan is
 * stale and made anew when it is old. */
static void test_repair_newcomer(void **state)
{
    struct sched *s = planned_three();
    _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 }, later = { 0 };
    int64_t first_us = planned_us(s, 1), third_us = planned_us(s, 3);
    struct sched_job urgent = ranked(4, HIGH, UINT32_MAX), quick = inner_job(5, LOW, 4);

    (void)state;
    urgent.num_tasks = 8;
    (void)inner_put(s, urgent);
    (void)inner_put(s, quick); /* what job 100 leaves until job 1 begins */
    assert_int_equal(sched_backfill(s, NOW + 1, &d), 0);
    assert_false(d.planned_anew);
    assert_true(planned_us(s, 1) == first_us);
    assert_true(planned_us(s, 4) > third_us);
    assert_non_null(inner_decided(&d, SCHED_START, 5));
    assert_true(d.renew_us == NOW + 30 * 1000000);
    assert_int_equal(sched_backfill(s, d.renew_us, &later), 0);
    assert_true(later.planned_anew);
    assert_true(planned_us(s, 4) < planned_us(s, 1));
    sched_free(s);
}

/* A job that ends later than planned holds up those behind it: their places are broken, and the
 * plan is made anew. */
static void test_repair_broken(void **state)
{
    struct sched *s = planned_three();
    _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 };

    (void)state;
    sched_job_end_time(s, 100, NOW + 90 * MINUTE);
    assert_int_equal(sched_backfill(s, NOW + 1, &d), 0);
    assert_in_range(planned_us(s, 1), NOW + 90 * MINUTE, NOW + 91 * MINUTE);
    assert_true(planned_us(s, 2) > planned_us(s, 1));
    sched_free(s);
}

/* ---- one job --------------------------------------------------------------------------------- */

static void test_conservative_ahead(void **state)
{
    struct sched *s = cluster(2);
    struct bf b = { .s = s, .now_us = NOW };
    uint32_t now = 99;
    struct entry *stop;

    (void)state;
    (void)inner_run(s, 100, LOW, 0, 0xff, 0, 60);
    (void)inner_put(s, ranked(1, MID, 9));
    (void)inner_put(s, ranked(2, MID, 8));
    stop = put_entry(s, ranked(3, MID, 7));
    (void)inner_put(s, ranked(4, MID, 6));
    assert_int_equal(conservative_ahead(&b, stop, &now), 0);
    assert_int_equal(now, 2); /* none of them starts */
    assert_int_equal(s->free_cpus, CPUS);
    assert_int_equal(s->plan->nplaces, 2);
    assert_int_equal(conservative_ahead(&b, NULL, &now), 0);
    assert_int_equal(now, 4);
    assert_int_equal(s->plan->nplaces, 4);
    backfill_drop(s);
    assert_null(s->plan);
    sched_free(s);
}

static void test_conservative_seek(void **state)
{
    struct sched *s = cluster(1);
    _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 };
    struct bf b = { .s = s, .now_us = NOW, .out = &d };
    struct sched_alloc a = { 0 };
    struct entry *e, *small;
    struct pick p;

    (void)state;
    (void)inner_run(s, 100, LOW, 0, 0x0f, 0, 60);
    e = put_entry(s, inner_job(2, MID, 8));
    small = put_entry(s, inner_job(3, MID, 4));
    assert_int_equal(plan_new(s, NOW), 0);
    walk_begin(s);
    s->memo_run++;
    assert_int_equal(conservative_try(&b, e), 0);
    assert_int_equal(conservative_seek(s, e, prof_now(s) + 1, &p, &a), 1);
    assert_in_range(prof_promise(s, p.from), NOW + 60 * MINUTE, NOW + 61 * MINUTE);
    assert_int_equal(a.nodes[0].cpus, 8);
    alloc_done(&a);
    assert_int_equal(conservative_try(&b, small), 1);
    assert_non_null(inner_decided(&d, SCHED_START, 3));
    plan_drop(s);
    sched_free(s);
}

static void test_easy(void **state)
{
    struct sched *s = cluster(1);
    _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 };
    struct bf b = { .s = s, .now_us = NOW, .out = &d };
    struct sched_alloc a = { 0 };
    struct sched_job j = inner_job(3, MID, 4);
    struct entry *head, *other;
    struct pick p;

    (void)state;
    s->params.conservative = false;
    (void)inner_run(s, 100, LOW, 0, 0x0f, 0, 60);
    head = put_entry(s, inner_job(2, MID, 8));
    j.time_limit_min = 61;
    other = put_entry(s, j);
    walk_begin(s);
    s->bf_run++;
    assert_int_equal(easy_consider(&b, head), 0);
    assert_int_equal(s->nresvs, 1); /* from job 100's end on */
    assert_true(s->resvs[0].start_us == NOW + 60 * MINUTE);
    assert_true(expect_us(head->job) == NOW + 60 * MINUTE);
    p = pick_for(s, other);
    assert_int_equal(easy_fits_now(&p, NOW + 61 * MINUTE, &a), 0); /* it would delay the head */
    assert_int_equal(easy_fits_now(&p, NOW + 60 * MINUTE, &a), 1);
    assert_int_equal(a.nodes[0].cpus, 4);
    alloc_done(&a);
    easy_drop(s);
    assert_int_equal(s->nresvs, 0);
    sched_free(s);
}

/* ---- groups ---------------------------------------------------------------------------------- */

static void put_group(struct sched *s, uint32_t first, const uint32_t *tasks, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct sched_job j = inner_job(first + i, MID, tasks[i]);

        j.het_id = first;
        j.het_count = n;
        (void)inner_put(s, j);
    }
}

static void test_group_starts(void **state)
{
    const uint32_t tasks[] = { 1, 1 }, choosy[] = { 1, 8 };
    struct sched *s = cluster(2);
    _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 };
    enum sched_why why = SCHED_WHY_LIMIT;

    (void)state;
    put_group(s, 10, tasks, 2);
    walk_begin(s);
    assert_int_equal(het_try(s, job_find(s, 11)->entries[0], NOW, false, &d, &why), 1);
    assert_int_equal(d.n, 2);
    assert_int_not_equal(d.items[0].alloc.nodes[0].node_id,
                         d.items[1].alloc.nodes[0].node_id); /* no two share a node */
    sched_job_remove(s, 10);
    sched_job_remove(s, 11);
    sched_decisions_done(&d);
    /* One node has eight CPUs: the component that needs them chooses before the other. */
    (void)inner_run(s, 100, LOW, 1, 1, 0, 60);
    put_group(s, 20, choosy, 2);
    walk_begin(s);
    assert_int_equal(het_try(s, job_find(s, 20)->entries[0], NOW, false, &d, &why), 1);
    assert_int_equal(inner_decided(&d, SCHED_START, 21)->alloc.nodes[0].node_id, 0);
    assert_int_equal(inner_decided(&d, SCHED_START, 20)->alloc.nodes[0].node_id, 1);
    sched_free(s);
}

/* All or none, and the reason of the one that cannot start at all. */
static void test_group_waits(void **state)
{
    const uint32_t tasks[] = { 8, 8 }, never[] = { 1, 9 };
    struct sched *s = cluster(2);
    _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 };
    enum sched_why why = SCHED_WHY_NONE;
    struct sched_job part = inner_job(30, MID, 1);

    (void)state;
    (void)inner_run(s, 100, LOW, 1, 1, 0, 60);
    put_group(s, 10, tasks, 2);
    walk_begin(s);
    assert_int_equal(het_try(s, job_find(s, 10)->entries[0], NOW, false, &d, &why), 0);
    assert_int_equal(why, SCHED_WHY_RESOURCES);
    assert_int_equal(d.n, 0);
    assert_int_equal(s->free_cpus, 2 * CPUS - 1); /* the trial has let everything go */
    put_group(s, 20, never, 2);
    walk_begin(s);
    assert_int_equal(het_try(s, job_find(s, 20)->entries[0], NOW, false, &d, &why), 0);
    assert_int_equal(why, SCHED_WHY_BAD_CONSTRAINTS);
    part.het_id = 30;
    part.het_count = 2; /* job 31 is not there yet */
    (void)inner_put(s, part);
    walk_begin(s);
    assert_int_equal(het_try(s, job_find(s, 30)->entries[0], NOW, false, &d, &why), 0);
    assert_int_equal(why, SCHED_WHY_NONE);
    sched_free(s);
}

/* A place for all at the time at which the last one fits. */
static void test_group_reserved(void **state)
{
    const uint32_t tasks[] = { 8, 8 };
    struct sched *s = cluster(2);
    _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 };
    enum sched_why why = SCHED_WHY_NONE;
    int64_t start_us = 0;

    (void)state;
    (void)inner_run(s, 100, LOW, 0, 1, 0, 30);
    (void)inner_run(s, 101, LOW, 1, 1, 0, 60);
    put_group(s, 10, tasks, 2);
    walk_begin(s);
    s->bf_run++;
    assert_int_equal(het_reserve(s, job_find(s, 10)->entries[0], NOW, &start_us), 0);
    assert_true(start_us == NOW + 60 * MINUTE);
    assert_int_equal(s->nresvs, 2);
    assert_true(s->resvs[0].start_us == start_us && s->resvs[1].start_us == start_us);
    assert_int_equal(het_reserve(s, job_find(s, 11)->entries[0], NOW, &start_us), 0);
    assert_true(start_us == 0); /* done in this run */
    assert_int_equal(s->nresvs, 2);
    easy_drop(s);
    assert_int_equal(plan_new(s, NOW), 0);
    walk_begin(s);
    assert_int_equal(het_plan(s, job_find(s, 10)->entries[0], NOW, &d, &start_us, &why), 0);
    assert_in_range(start_us, NOW + 60 * MINUTE, NOW + 61 * MINUTE);
    assert_int_equal(s->plan->nplaces, 2);
    plan_drop(s);
    sched_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_refuse),
        cmocka_unit_test(test_limit_stop),
        cmocka_unit_test(test_hope),
        cmocka_unit_test(test_propose),
        cmocka_unit_test(test_propose_licence),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_keep),
        cmocka_unit_test(test_repair_freed),
        cmocka_unit_test(test_repair_newcomer),
        cmocka_unit_test(test_repair_broken),
        cmocka_unit_test(test_conservative_ahead),
        cmocka_unit_test(test_conservative_seek),
        cmocka_unit_test(test_easy),
        cmocka_unit_test(test_group_starts),
        cmocka_unit_test(test_group_waits),
        cmocka_unit_test(test_group_reserved),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
