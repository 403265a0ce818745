/* test_runaways.c - which open runs of the accounting store are runaways */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/sluid.h"
#include "cli/sacctmgr/runaways.h"

static Pst__JobRecord job_of(uint32_t id, Pst__JobState state, int64_t submit_us, char *sluid)
{
    Pst__JobRecord j = PST__JOB_RECORD__INIT;

    j.has_job_id = j.has_state = j.has_submit_us = 1;
    j.job_id = id;
    j.state = state;
    j.submit_us = submit_us;
    j.sluid = sluid;
    return j;
}

static bool is_known(struct known_runs *k, uint32_t id, int64_t submit_us, char *sluid)
{
    Pst__JobRecord j = job_of(id, PST__JOB_STATE__JOB_RUNNING, submit_us, sluid);

    return runaways_is_known(k, &j);
}

static void test_which_are_known(void **state)
{
    char first[SLUID_TEXT_SIZE], second[SLUID_TEXT_SIZE];
    struct known_runs k = { 0 };
    Pst__JobRecord of_controller[3];

    (void)state;
    (void)sluid_text(sluid_next(0, 5, 1000000), first);
    (void)sluid_text(sluid_next(0, 5, 2000000), second);
    of_controller[0] = job_of(30, PST__JOB_STATE__JOB_CANCELLED, 100, first);
    of_controller[1] = job_of(10, PST__JOB_STATE__JOB_RUNNING, 200, NULL);
    of_controller[2] = job_of(20, PST__JOB_STATE__JOB_COMPLETED, 300, NULL);
    assert_false(is_known(&k, 10, 200, NULL)); /* a controller without jobs */
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(runaways_note(&k, &of_controller[i]), 0);
    assert_true(is_known(&k, 10, 200, NULL));
    assert_true(is_known(&k, 10, 1, NULL)); /* an earlier run of what waits or runs again */
    assert_false(is_known(&k, 11, 200, NULL));
    /* over in the controller, and the store has not heard yet */
    assert_true(is_known(&k, 20, 300, NULL));
    assert_true(is_known(&k, 30, 100, first));
    /* the number of a job that another controller had */
    assert_false(is_known(&k, 20, 299, NULL));
    assert_false(is_known(&k, 30, 100, second));
    runaways_done(&k);
    assert_false(is_known(&k, 10, 200, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_which_are_known) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
