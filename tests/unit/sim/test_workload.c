/* test_workload.c - jobs of a simulation: limits, names, order, amounts */
#include "sim/workload.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct workload *w;

static int make_empty(void **state)
{
    (void)state;
    return workload_new(&w);
}

static int drop_all(void **state)
{
    (void)state;
    w = workload_free(w);
    return 0;
}

static struct sim_job job_at(int64_t submit_s, uint32_t id)
{
    return (struct sim_job){ .id = id,
                             .submit_us = submit_s * 1000000,
                             .run_us = 60000000,
                             .limit_min = SCHED_UNLIMITED,
                             .tasks = 2,
                             .cpus_per_task = 3 };
}

static void add_at(int64_t submit_s, uint32_t id)
{
    struct sim_job j = job_at(submit_s, id);

    assert_int_equal(workload_add(w, &j), 0);
}

/* What makes no sense is no job. */
static void test_refusals(void **state)
{
    struct sim_job j = job_at(0, 1);

    (void)state;
    j.tasks = 0;
    assert_int_equal(workload_add(w, &j), -EINVAL);
    j.tasks = WORKLOAD_MAX_TASKS + 1;
    assert_int_equal(workload_add(w, &j), -EINVAL);
    j.tasks = WORKLOAD_MAX_TASKS;
    j.cpus_per_task = 0;
    assert_int_equal(workload_add(w, &j), -EINVAL);
    j.cpus_per_task = WORKLOAD_MAX_TASKS + 1;
    assert_int_equal(workload_add(w, &j), -EINVAL);
    j.cpus_per_task = 1;
    j.run_us = -1;
    assert_int_equal(workload_add(w, &j), -EINVAL);
    j.run_us = 0;
    assert_int_equal(workload_add(w, &j), 0);
    assert_int_equal(w->n, 1);
    assert_true(w->began_us == WORKLOAD_EPOCH_US);
}

/* By submit time; equal ones keep their order. */
static void test_order(void **state)
{
    static const uint32_t want[] = { 4, 2, 5, 1, 3 };

    (void)state;
    add_at(9, 1);
    add_at(5, 2);
    add_at(9, 3);
    add_at(1, 4);
    add_at(5, 5);
    workload_sort(w);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(w->jobs[i].id, want[i]);
    workload_sort(w); /* it is in order */
    assert_int_equal(w->jobs[0].id, 4);
}

static void test_many(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 5000; i++)
        add_at(5000 - i, i);
    workload_sort(w);
    for (uint32_t i = 0; i < 5000; i++)
        assert_int_equal(w->jobs[i].id, 4999 - i);
}

/* Twice as fast: half the time between submissions; the first stays. */
static void test_scale(void **state)
{
    (void)state;
    add_at(100, 1);
    add_at(110, 2);
    add_at(140, 3);
    workload_scale(w, 2);
    assert_true(w->jobs[0].submit_us == 100 * INT64_C(1000000));
    assert_true(w->jobs[1].submit_us == 105 * INT64_C(1000000));
    assert_true(w->jobs[2].submit_us == 120 * INT64_C(1000000));
    workload_scale(w, 0.5);
    assert_true(w->jobs[2].submit_us == 140 * INT64_C(1000000));
}

/* A job runs to its end or to its limit. */
static void test_amounts(void **state)
{
    struct sim_job j = job_at(0, 1);

    (void)state;
    assert_int_equal(sim_job_cpus(&j), 6);
    j.tasks = j.cpus_per_task = WORKLOAD_MAX_TASKS;
    assert_true(sim_job_cpus(&j) == (uint64_t)WORKLOAD_MAX_TASKS * WORKLOAD_MAX_TASKS);
    j = job_at(0, 1);
    j.run_us = 150 * INT64_C(1000000);
    assert_true(sim_job_length_us(&j) == 150 * INT64_C(1000000));
    j.limit_min = 2;
    assert_true(sim_job_length_us(&j) == 120 * INT64_C(1000000));
    j.limit_min = 3;
    assert_true(sim_job_length_us(&j) == 150 * INT64_C(1000000));
    j.limit_min = 2;
    assert_int_equal(workload_add(w, &j), 0);
    add_at(0, 2);
    assert_true(workload_cpu_seconds(w) > 1079.9 && workload_cpu_seconds(w) < 1080.1);
}

static void test_names(void **state)
{
    char name[WORKLOAD_MAX_NAME + 2];
    uint32_t a = 9, b = 9, c = 9;

    (void)state;
    assert_int_equal(name_index(&w->users, "annex", 3, &a), 0);
    assert_int_equal(name_index(&w->users, "bob", 3, &b), 0);
    assert_int_equal(name_index(&w->users, "ann", 3, &c), 0);
    assert_int_equal(a, 0);
    assert_int_equal(b, 1);
    assert_int_equal(c, a);
    assert_string_equal(name_nth(&w->users, 0), "ann");
    assert_string_equal(name_nth(&w->users, 7), "?");
    assert_string_equal(name_nth(&w->parts, 0), "?");
    memset(name, 'x', sizeof(name));
    assert_int_equal(name_index(&w->users, name, WORKLOAD_MAX_NAME, &a), 0);
    assert_int_equal(name_index(&w->users, name, WORKLOAD_MAX_NAME + 1, &a), -E2BIG);
    assert_int_equal(name_index(&w->users, "a\0b", 3, &a), -E2BIG);
}

#define ONE(fn) cmocka_unit_test_setup_teardown(fn, make_empty, drop_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(test_refusals), ONE(test_order),   ONE(test_many),
        ONE(test_scale),    ONE(test_amounts), ONE(test_names),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
