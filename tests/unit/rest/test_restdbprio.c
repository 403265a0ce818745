/* test_restdbprio.c - which jobs get a priority, and what is not asked for.  There is no call: a
 * question would end the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "rest/db/restdbprio.h"

#define ALL_ASKED 100u

static Pst__JobRecord waiting_job(uint32_t id)
{
    Pst__JobRecord job = PST__JOB_RECORD__INIT;

    job.job_id = id;
    job.state = PST__JOB_STATE__JOB_PENDING;
    return job;
}

/* What has begun has the priority that it began with; what was given by hand is no question. */
static void test_others_are_left_alone(void **state)
{
    struct restdbprio p = { 0 };
    Pst__JobRecord running = waiting_job(1), given = waiting_job(2);

    (void)state;
    running.state = PST__JOB_STATE__JOB_RUNNING;
    running.has_start_priority = true;
    running.start_priority = 5;
    given.has_priority = true;
    given.priority = 77;
    restdbprio_fill(&p, &running);
    restdbprio_fill(&p, &given);
    assert_int_equal(running.start_priority, 5);
    assert_false(given.has_start_priority);
    assert_int_equal(p.single, 0);
}

static void test_known(void **state)
{
    struct restdbprio p = { .single = ALL_ASKED, .n = 3, .cap = 3 };
    Pst__JobRecord first = waiting_job(3), last = waiting_job(9), none = waiting_job(4);

    (void)state;
    p.known = calloc(p.cap, sizeof(*p.known));
    assert_non_null(p.known);
    for (uint32_t i = 0; i < 3; i++)
        p.known[i] = (struct restdbprio_known){ 3 * (i + 1), 100 + i };
    restdbprio_fill(&p, &first);
    restdbprio_fill(&p, &last);
    restdbprio_fill(&p, &none);
    assert_true(first.has_start_priority && last.has_start_priority);
    assert_int_equal(first.start_priority, 100);
    assert_int_equal(last.start_priority, 102);
    assert_false(none.has_start_priority);
    restdbprio_done(&p);
    assert_null(p.known);
}

static void test_without_slurmctld(void **state)
{
    struct restdbprio p = { .failed = true };
    Pst__JobRecord job = waiting_job(1);

    (void)state;
    restdbprio_fill(&p, &job);
    assert_false(job.has_start_priority);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_others_are_left_alone),
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_without_slurmctld),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
