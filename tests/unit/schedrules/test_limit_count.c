/* test_limit_count.c - what a job asks for, and what counts against limits: over its start, its
 * end, and changes of what it counts against */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NOW INT64_C(1700000000000000)
#define MINUTE INT64_C(60000000)

#include "limits_util.h"
#include "sched/rules/limit_count.h"

static void expect_use(struct sched *s, bool qos, uint32_t id, uint32_t jobs, uint64_t cpus,
                       uint64_t run_minutes, int64_t at)
{
    struct sched_limit_use use;
    size_t seen = 0;

    assert_int_equal(sched_limit_use(s, qos, id, at, &use), 0);
    assert_int_equal(use.jobs, jobs);
    for (size_t i = 0; i < use.ntres; i++)
        if (use.tres[i].tres_id == CPU) {
            assert_true(use.tres[i].used == cpus);
            assert_true(use.tres[i].run_minutes == run_minutes);
            seen++;
        }
    assert_int_equal(seen, jobs > 0 || use.ntres);
}

/* 4 CPUs until ten minutes from now, 2 without an end. */
static void test_run_minutes(void **state)
{
    const int64_t now_s = NOW / 1000000;
    struct slot_count counts[] = {
        { .used = 4, .weighted = (__int128)4 * (now_s + 600) },
        { .used = 6, .endless = 2, .weighted = (__int128)4 * (now_s + 600) },
        { .used = UINT64_MAX / 2, .endless = UINT64_MAX / 2 },
    };
    struct level l = { .counts = counts, .ncounts = 3 };

    (void)state;
    assert_true(level_run_minutes(&l, 0, NOW) == 40);
    assert_true(level_run_minutes(&l, 0, NOW + 5 * MINUTE) == 20);
    assert_true(level_run_minutes(&l, 0, NOW + 10 * MINUTE) == 0);
    assert_true(level_run_minutes(&l, 0, NOW + 20 * MINUTE) == 0); /* not yet known to have ended */
    assert_true(level_run_minutes(&l, 1, NOW) == 40 + UINT64_C(2) * UINT32_MAX);
    assert_true(level_run_minutes(&l, 1, NOW + 20 * MINUTE) == UINT64_C(2) * UINT32_MAX);
    assert_true(level_run_minutes(&l, 2, NOW) == UINT64_MAX);
    assert_true(level_run_minutes(&l, 3, NOW) == 0); /* nothing counts there */
}

static uint64_t asked(struct ask *a, uint32_t tres)
{
    return ask_tres(a, limits_slot(a->s, tres));
}

static uint64_t asked_of_node(struct ask *a, uint32_t tres)
{
    return ask_tres_node(a, limits_slot(a->s, tres));
}

/* By its request while it waits, by what it holds when it runs. */
static void test_asked(void **state)
{
    struct sched *s = limits_cluster(false);
    struct job *j = limits_waits(s, limits_job(1));
    struct ask wants = {
        .s = s, .e = j->entries[0], .job = j, .part = s->parts[0], .lics = &j->want
    };
    struct ask holds;

    (void)state;
    assert_true(asked(&wants, CPU) == 8);
    assert_true(asked(&wants, MEM) == 600);
    assert_true(asked(&wants, NODE) == 2);
    assert_true(asked(&wants, GPU) == 2);
    assert_true(asked(&wants, LIC) == 3);
    assert_true(asked(&wants, BILLING) == 8); /* without weights: its CPUs */
    assert_true(asked(&wants, CPU) == 8);     /* asked again */
    assert_true(asked_of_node(&wants, CPU) == 4);
    assert_true(asked_of_node(&wants, GPU) == 1);
    assert_true(asked_of_node(&wants, LIC) == 0); /* no node has them */

    sched_job_remove(s, 1);
    j = limits_runs(s, limits_job(2));
    j->alloc.nodes[1].cpus = 6; /* more than it asked for: a whole core */
    holds =
        (struct ask){ .s = s, .job = j, .part = s->parts[0], .alloc = &j->alloc, .lics = &j->held };
    assert_true(asked(&holds, CPU) == 10);
    assert_true(asked(&holds, MEM) == 600);
    assert_true(asked(&holds, NODE) == 2);
    assert_true(asked(&holds, GPU) == 2);
    assert_true(asked(&holds, LIC) == 3);
    assert_true(asked_of_node(&holds, CPU) == 6);
    j->alloc.nodes[1].cpus = 4;

    holds =
        (struct ask){ .s = s, .job = j, .part = s->parts[0], .alloc = &j->alloc, .lics = &j->held };
    j->alloc.nodes[1].closed = true; /* nobody else may have it, it is not charged */
    assert_true(asked(&holds, CPU) == 4);
    assert_true(asked(&holds, NODE) == 1);
    j->alloc.nodes[1].closed = false;
    sched_free(s);
}

/* A job counts once against each level above it, its QOS and the partition's, until its end; what
 * is given back is what was taken. */
static void test_charge(void **state)
{
    struct sched *s = limits_cluster(false);
    struct job *j = limits_runs(s, limits_job(1));

    (void)state;
    assert_int_equal(limit_charge(s, j), 0); /* counted already, by its start */
    for (uint32_t id = ROOT; id <= ANN; id++)
        expect_use(s, false, id, 1, 8, 80, NOW);
    expect_use(s, true, NORMAL, 1, 8, 80, NOW);
    expect_use(s, true, PART, 1, 8, 80, NOW);

    j->end_us = NOW + 20 * MINUTE; /* scontrol update timelimit */
    limit_end_time(j);
    expect_use(s, false, CHEM, 1, 8, 160, NOW);
    expect_use(s, false, CHEM, 1, 8, 80, NOW + 10 * MINUTE);
    j->end_us = INT64_MAX;
    limit_end_time(j);
    expect_use(s, false, CHEM, 1, 8, UINT64_C(8) * UINT32_MAX, NOW);
    j->end_us = NOW + 10 * MINUTE;
    limit_end_time(j);

    j->alloc.nodes[1].cpus = 1; /* it shrank without a word: its charge is what it was */
    limit_release(s, j);
    limit_release(s, j); /* twice does no harm */
    for (uint32_t id = ROOT; id <= ANN; id++)
        expect_use(s, false, id, 0, 0, 0, NOW);
    expect_use(s, true, NORMAL, 0, 0, 0, NOW);
    assert_int_equal(limit_charge(s, j), 0);
    expect_use(s, false, ANN, 1, 5, 50, NOW);
    sched_free(s);
}

/* The tree changes while jobs run: they count where they belong now. */
static void test_settle(void **state)
{
    struct sched *s = limits_cluster(false);
    struct sched_limits none;

    (void)state;
    sched_limits_init(&none);
    (void)limits_runs(s, limits_job(1));
    assert_int_equal(sched_limit_assoc_put(s, 9, ROOT, "phys", &none), 0);
    assert_int_equal(sched_limit_assoc_put(s, ANN, 9, "phys", &none), 0); /* moved */
    limits_settle(s);
    expect_use(s, false, ANN, 1, 8, 80, NOW);
    expect_use(s, false, 9, 1, 8, 80, NOW);
    expect_use(s, false, CHEM, 0, 0, 0, NOW);
    expect_use(s, false, ROOT, 1, 8, 80, NOW);

    assert_int_equal(sched_job_account(s, 1, CHEM, 0), 0); /* another association, no QOS */
    expect_use(s, false, ANN, 0, 0, 0, NOW);
    expect_use(s, false, CHEM, 1, 8, 80, NOW);
    expect_use(s, true, NORMAL, 0, 0, 0, NOW);
    expect_use(s, true, PART, 1, 8, 80, NOW);
    sched_job_uncharge(s, 1); /* it has ended, its nodes are being cleaned */
    expect_use(s, false, ROOT, 0, 0, 0, NOW);
    expect_use(s, true, PART, 0, 0, 0, NOW);
    assert_int_equal(sched_job_account(s, 1, ANN, NORMAL), 0); /* too late */
    expect_use(s, false, ROOT, 0, 0, 0, NOW);
    assert_int_equal(sched_job_account(s, 2, ANN, NORMAL), -ENOENT);
    sched_free(s);
}

static void expect_order(struct sched *s, struct job *j, uint32_t first, uint32_t second)
{
    struct level *got[2] = { NULL, NULL };
    uint32_t n = limit_qos(s, j, 0, got);

    assert_int_equal(n, (first != 0) + (second != 0));
    if (first)
        assert_int_equal(got[0]->id, first);
    if (second)
        assert_int_equal(got[1]->id, second);
}

static void test_qos_order(void **state)
{
    struct sched *s = limits_cluster(false);
    struct job *j = limits_waits(s, limits_job(1));
    struct level *got[2];

    (void)state;
    expect_order(s, j, PART, NORMAL);
    limit_qos_put(s, NORMAL, NULL, SCHED_QOS_OVER_PART);
    expect_order(s, j, NORMAL, PART);
    j->qos_id = PART; /* the partition's own: once */
    expect_order(s, j, PART, 0);
    j->qos_id = 0;
    expect_order(s, j, PART, 0);
    j->qos_id = 77; /* not known */
    expect_order(s, j, PART, 0);
    assert_int_equal(limit_qos(s, j, 99, got), 0); /* a partition that is gone */
    j->qos_id = NORMAL;
    sched_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run_minutes), cmocka_unit_test(test_asked),
        cmocka_unit_test(test_charge),      cmocka_unit_test(test_settle),
        cmocka_unit_test(test_qos_order),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("limit_count", tests, NULL, NULL);
}
