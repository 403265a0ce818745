/* test_sim_gates.c - simulated jobs that wait for others: who is let in, and when */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "sim/gates.h"

#define JOBS 6

static struct workload *make(void)
{
    struct workload *w;

    assert_int_equal(workload_new(&w), 0);
    for (uint32_t i = 0; i < JOBS; i++) {
        struct sim_job j = {
            .id = i + 1, .tasks = 1, .cpus_per_task = 1, .run_us = 1, .limit_min = 1
        };

        assert_int_equal(workload_add(w, &j), 0);
    }
    return w;
}

/* The next submission is this job's, at this time; job JOBS: there is none. */
static void expect(struct events *e, uint32_t job, int64_t at_us)
{
    struct sim_event ev;

    assert_int_equal(events_pop(e, &ev), job < JOBS);
    if (job == JOBS)
        return;
    assert_int_equal(ev.kind, SIM_EV_SUBMIT);
    assert_int_equal(ev.job, job);
    assert_int_equal(ev.at_us, at_us);
}

static void test_nobody_waits(void **state)
{
    struct workload *w = make();
    struct gates *g = (struct gates *)w; /* anything but NULL */

    (void)state;
    assert_int_equal(gates_new(w, NULL, 0, &g), 0);
    assert_null(g);
    assert_false(gates_waits(g, 0));
    workload_free(w);
}

static void test_after(void **state)
{
    static const uint32_t both[] = { 0, 1 }, first[] = { 0 };
    struct workload *w = make();
    struct events e = { 0 };
    struct gates *g;

    (void)state;
    w->jobs[2].after = w->jobs[3].after = both; /* 2: both; 3: any of them */
    w->jobs[2].nafter = w->jobs[3].nafter = 2;
    w->jobs[3].after_any = true;
    w->jobs[4].after = w->jobs[5].after = first; /* 4: its start; 5 is held */
    w->jobs[4].nafter = w->jobs[5].nafter = 1;
    w->jobs[4].after_start = true;
    w->jobs[4].submit_us = 50; /* not before */
    w->jobs[5].held = true;
    assert_int_equal(gates_new(w, NULL, 0, &g), 0);
    assert_false(gates_waits(g, 0));
    for (uint32_t i = 2; i < JOBS; i++)
        assert_true(gates_waits(g, i));
    assert_int_equal(gates_started(g, 0, 10, &e), 0);
    expect(&e, 4, 50);
    expect(&e, JOBS, 0);
    assert_int_equal(gates_ended(g, 1, 20, &e), 0);
    expect(&e, 3, 20);
    expect(&e, JOBS, 0);
    assert_int_equal(gates_ended(g, 0, 30, &e), 0);
    expect(&e, 2, 30);
    expect(&e, JOBS, 0);
    assert_false(gates_waits(g, 2));
    gates_free(g);
    events_done(&e);
    workload_free(w);
}

static void test_throttle(void **state)
{
    static const uint32_t limit[] = { 2 };
    struct workload *w = make();
    struct events e = { 0 };
    struct gates *g;

    (void)state;
    for (uint32_t i = 0; i < 5; i++)
        w->jobs[i].group = 1;
    assert_int_equal(gates_new(w, limit, 1, &g), 0);
    gates_runs(g, 0);
    assert_true(gates_enter(g, 1));
    assert_true(gates_enter(g, 1)); /* again: it is in */
    assert_false(gates_enter(g, 2));
    assert_false(gates_enter(g, 3));
    assert_true(gates_enter(g, 5)); /* of no group */
    gates_runs(g, 4);               /* more than may */
    assert_int_equal(gates_ended(g, 4, 10, &e), 0);
    expect(&e, JOBS, 0); /* still full */
    assert_int_equal(gates_ended(g, 0, 20, &e), 0);
    expect(&e, 2, 20);
    assert_true(gates_enter(g, 2));
    assert_int_equal(gates_ended(g, 1, 30, &e), 0);
    expect(&e, 3, 30);
    expect(&e, JOBS, 0);
    gates_free(g);
    events_done(&e);
    workload_free(w);
}

static void test_refused(void **state)
{
    static const uint32_t far[] = { JOBS }, limit[] = { 1 };
    struct workload *w = make();
    struct gates *g = NULL;

    (void)state;
    w->jobs[0].after = far;
    w->jobs[0].nafter = 1;
    assert_int_equal(gates_new(w, limit, 1, &g), -EINVAL);
    w->jobs[0].nafter = 0;
    w->jobs[0].group = 2;
    assert_int_equal(gates_new(w, limit, 1, &g), -EINVAL);
    assert_null(g);
    workload_free(w);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_waits),
        cmocka_unit_test(test_after),
        cmocka_unit_test(test_throttle),
        cmocka_unit_test(test_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
