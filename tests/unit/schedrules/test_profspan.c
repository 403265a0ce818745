/* test_profspan.c - what nodes hold over spans of a profile: made of what runs, held, taken back,
 * searched */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NOW INT64_C(1700000040000000) /* a whole minute: slot k begins k minutes later */
#define MINUTE INT64_C(60000000)

#include "limits_util.h"
#include "sched/plan/prof_search.h"
#include "sched/profile/prof_data.h"
#include "sched/profile/prof_hold.h"
#include "sched/profile/prof_redo.h"
#include "sched/profile/prof_slots.h"
#include "sched/profile/prof_view.h"
#include "sched/profile/profile.h"
#include "sched/select/nodeview.h"
#include "sched/state/expect.h"
#include "sched/state/question.h"

/* Two nodes of 4 CPUs: job 1 has two of node 0 for ten minutes, job 2 all of node 1 for twenty. */
struct plot {
    struct sched *s;
    struct job *first, *second, *waits;
};

static int make_plot(void **state)
{
    struct plot *p = calloc(1, sizeof(*p));

    assert_non_null(p);
    p->s = util_cluster((struct sched_params){ .select_memory = true }, 2, 4, 0);
    p->first = limits_runs_on(p->s, limits_small(1, 2, 10), 0);
    p->second = limits_runs_on(p->s, limits_small(2, 4, 20), 1);
    p->waits = limits_waits(p->s, limits_small(3, 4, 5));
    assert_int_equal(prof_make(p->s, NOW), 0);
    *state = p;
    return 0;
}

static int free_plot(void **state)
{
    struct plot *p = *state;

    prof_drop(p->s);
    sched_free(p->s);
    free(p);
    return 0;
}

static void expect_free(const struct sched *s, uint32_t id, uint32_t from, uint32_t until,
                        uint32_t want)
{
    const struct prof_view *v = prof_view(s, id, from, until, 0);

    assert_non_null(v);
    assert_int_equal(v->free_cpus, want);
    assert_int_equal(v->any, want < 4);
    assert_int_equal(v->mem, want < 4 ? 300 : 0);
}

/* CPUs of node 0 that job 1 does not have. */
static uint64_t other_half;
static struct sched_alloc_node half_node;

static struct sched_alloc half_alloc(const struct plot *p)
{
    other_half = ~p->first->alloc.nodes[0].cpu_bits[0] & 0xf;
    half_node = (struct sched_alloc_node){
        .node_id = 0, .cpus = 2, .cpu_bits = &other_half, .ncpu_words = 1, .mem_mib = 100
    };
    return (struct sched_alloc){ .nodes = &half_node, .nnodes = 1 };
}

static void test_running(void **state)
{
    const struct plot *p = *state;

    expect_free(p->s, 0, 0, 1, 2);
    expect_free(p->s, 0, 0, 10, 2);
    expect_free(p->s, 0, 9, 11, 2);
    expect_free(p->s, 0, 10, 11, 4);
    expect_free(p->s, 0, 10, prof_slots(p->s), 4);
    expect_free(p->s, 1, 0, 20, 0);
    expect_free(p->s, 1, 20, 21, 4);
    assert_true(prof_time(p->s, 10) == NOW + 10 * MINUTE);
    assert_int_equal(prof_release(p->s, 0), 10); /* where something comes free */
    assert_int_equal(prof_release(p->s, 11), 20);
    assert_int_equal(prof_release(p->s, 21), prof_slots(p->s));
}

/* A place is held in its slots alone, with what ran there before. */
static void test_hold(void **state)
{
    const struct plot *p = *state;
    struct sched_alloc a = half_alloc(p);
    const struct job_lics none = { 0 };
    const struct prof_view *v;
    int64_t start = 0;

    assert_int_equal(prof_hold(p->s, &a, &none, p->waits, 0, true, 5, 8), 0);
    assert_int_equal(prof_view(p->s, 0, 5, 8, 0)->free_cpus, 0);
    assert_int_equal(prof_view(p->s, 0, 5, 8, 0)->mem, 400);
    assert_int_equal(prof_view(p->s, 0, 4, 6, 0)->free_cpus, 0); /* any instant of the span */
    expect_free(p->s, 0, 4, 5, 2);
    expect_free(p->s, 0, 8, 10, 2);
    assert_true(prof_view(p->s, 0, 5, 8, 0)->firm[0] & other_half);
    assert_int_equal(prof_release(p->s, 0), 8);

    /* Who comes when; what it is promised. */
    assert_int_equal(prof_keeper(p->s, 0, 5, &start), 0);
    assert_int_equal(prof_keeper(p->s, 0, 6, &start), 3);
    assert_true(start == NOW + 5 * MINUTE);
    v = prof_view(p->s, 0, 0, 5, NOW + 5 * MINUTE); /* ends when the other begins */
    assert_int_equal(v->free_cpus, 2);
    v = prof_view(p->s, 0, 0, 5, NOW + 5 * MINUTE + 1);
    assert_int_equal(v->free_cpus, 0);
    v = prof_view(p->s, 0, 0, 4, NOW + 5 * MINUTE + 1); /* nothing begins with slot 4 */
    assert_int_equal(v->free_cpus, 2);
}

static void test_stretch(void **state)
{
    const struct plot *p = *state;
    struct sched_alloc a = half_alloc(p);
    const struct job_lics none = { 0 };

    assert_int_equal(prof_stretch(p->s, &a, 0, 3, 30), 30);
    assert_int_equal(prof_hold(p->s, &a, &none, p->waits, 0, true, 5, 8), 0);
    assert_int_equal(prof_stretch(p->s, &a, 0, 3, 30), 5);
    assert_int_equal(prof_stretch(p->s, &a, 0, 3, 4), 4);
    assert_int_equal(prof_stretch(p->s, &a, 0, 8, 30), 30);
    half_node.mem_mib = 3800; /* more than job 1 leaves */
    assert_int_equal(prof_stretch(p->s, &a, 0, 8, 30), 8);
    assert_int_equal(prof_stretch(p->s, &a, 0, 10, 30), 30);
}

static void test_hole(void **state)
{
    const struct plot *p = *state;
    struct sched_alloc a = half_alloc(p);
    const struct job_lics none = { 0 };
    const struct place own = { .from = 5, .until = 8 };
    const uint32_t all = prof_slots(p->s);

    assert_int_equal(prof_hold(p->s, &a, &none, p->waits, 0, true, 5, 8), 0);
    assert_int_equal(prof_hole(p->s, 0, 2, 300, 3, all, NULL), 0);
    assert_int_equal(prof_hole(p->s, 0, 2, 300, 5, all, NULL), 0);
    assert_int_equal(prof_hole(p->s, 0, 2, 300, 6, all, NULL), 8);
    assert_int_equal(prof_hole(p->s, 0, 2, 300, 6, 8, NULL), UINT32_MAX);
    assert_int_equal(prof_hole(p->s, 0, 2, 300, 6, 9, NULL), 8);
    assert_int_equal(prof_hole(p->s, 0, 2, 300, 6, all, &own), 0); /* as good as free */
    assert_int_equal(prof_hole(p->s, 0, 3, 300, 1, all, NULL), 10);
    assert_int_equal(prof_hole(p->s, 0, 1, 3800, 1, all, NULL), 10); /* memory */
    assert_int_equal(prof_hole(p->s, 1, 1, 1, 1, all, NULL), 20);
    assert_int_equal(prof_hole(p->s, 0, 5, 1, 1, all, NULL), UINT32_MAX); /* never */
}

/* A node holds what it is told to hold, and no more of what has gone. */
static void test_redo(void **state)
{
    const struct plot *p = *state;
    struct sched_alloc a = half_alloc(p);
    const struct job_lics none = { 0 };
    struct place fits = { .job = p->waits,
                          .entry = p->waits->entries[0],
                          .from = 3,
                          .until = 6,
                          .start_us = NOW + 3 * MINUTE };
    struct place beside = fits; /* which needs the same CPUs */
    struct prof_holding v[] = {
        { .job = p->first, .an = &p->first->alloc.nodes[0] },
        { .job = p->waits, .place = &fits, .an = &half_node },
        { .job = p->waits, .place = &beside, .an = &half_node },
    };

    beside.from = 5;
    beside.until = 9;
    assert_int_equal(prof_hold(p->s, &a, &none, p->waits, 0, true, 5, 8), 0);
    assert_int_equal(prof_redo(p->s, 0, v, 3), 0);
    assert_false(v[1].no_room);
    assert_true(v[2].no_room); /* slot 5 is taken */
    expect_free(p->s, 0, 0, 3, 2);
    assert_int_equal(prof_view(p->s, 0, 3, 6, 0)->free_cpus, 0);
    expect_free(p->s, 0, 6, 10, 2);

    beside.from = 6; /* just behind it */
    assert_int_equal(prof_redo(p->s, 0, v, 3), 0);
    assert_false(v[2].no_room);
    assert_int_equal(prof_view(p->s, 0, 6, 9, 0)->free_cpus, 0);

    p->first->end_us = NOW + 2 * MINUTE; /* it ends early */
    assert_int_equal(prof_redo(p->s, 0, v, 1), 0);
    expect_free(p->s, 0, 0, 2, 2);
    expect_free(p->s, 0, 2, 20, 4);
    assert_int_equal(prof_redo(p->s, 0, v, 0), 0);
    expect_free(p->s, 0, 0, 20, 4);
}

static struct pick question(const struct plot *p)
{
    struct entry *e = p->waits->entries[0];
    struct pick q = { .s = p->s, .cls = e->cls, .part = p->s->parts[e->part] };

    pick_init(&q);
    return q;
}

/* The job of 4 CPUs and five minutes fits when job 1 has ended. */
static void test_search(void **state)
{
    const struct plot *p = *state;
    struct sched_alloc got = { 0 };
    struct sched_alloc a = half_alloc(p);
    const struct job_lics none = { 0 };
    struct pick q = question(p);

    assert_int_equal(prof_search(&q, &none, 5, 0, true, &got), 0); /* not now */
    q = question(p);
    assert_int_equal(prof_search(&q, &none, 5, 0, false, &got), 1);
    assert_int_equal(q.from, 10);
    assert_int_equal(q.until, 15);
    assert_int_equal(got.nnodes, 1);
    assert_int_equal(got.nodes[0].node_id, 0);
    assert_int_equal(got.nodes[0].cpus, 4);
    assert_false(q.plan); /* the question is as it was */
    free(got.nodes);

    /* Two CPUs of node 0 are kept for another from 12 to 30: then node 1 is free first. */
    assert_int_equal(prof_hold(p->s, &a, &none, p->first, 0, true, 12, 30), 0);
    q = question(p);
    assert_int_equal(prof_search(&q, &none, 5, 0, false, &got), 1);
    assert_int_equal(q.from, 20);
    assert_int_equal(got.nodes[0].node_id, 1);
    free(got.nodes);
    q = question(p);
    assert_int_equal(prof_search(&q, &none, 2, 0, false, &got), 1); /* a short one goes before */
    assert_int_equal(q.from, 10);
    free(got.nodes);
    q = question(p);
    assert_int_equal(prof_search(&q, &none, 2, 21, false, &got), 1); /* from there on */
    assert_true(q.from >= 21);
    free(got.nodes);

    prof_span(&q, 12, 3);
    assert_true(q.plan);
    assert_int_equal(q.from, 12);
    assert_int_equal(q.until, 15);
    assert_true(q.end_us == 0);
    prof_span(&q, 0, 3); /* what begins now ends to the second */
    assert_true(q.end_us == NOW + 3 * MINUTE);
    assert_int_equal(q.until, 3);
}

int main(void)
{
#define ON_PLOT(f) cmocka_unit_test_setup_teardown(f, make_plot, free_plot)
    const struct CMUnitTest tests[] = {
        ON_PLOT(test_running), ON_PLOT(test_hold), ON_PLOT(test_stretch),
        ON_PLOT(test_hole),    ON_PLOT(test_redo), ON_PLOT(test_search),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("profspan", tests, NULL, NULL);
}
