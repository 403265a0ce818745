/* test_acctchoice.c - which jobs of accounting are shown, and the times of those that are */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "cli/query/acctchoice.h"
#include "model/words/names.h"

static void ignore_user(const char *word)
{
    (void)word;
}

static void test_choice(void **state)
{
    Pst__JobRecord j = PST__JOB_RECORD__INIT;
    struct jobfilter filter = { 0 };
    struct ids id = { .job_id = 5 };
    struct acct_choice c = { .filter = &filter };

    (void)state;
    jobfilter_init(&filter, ignore_user);
    j.job_id = 7;
    j.state = PST__JOB_STATE__JOB_COMPLETED;
    j.start_us = j.eligible_us = 1000000;
    j.has_assoc_id = 1;
    j.assoc_id = 3;
    assert_true(acct_wanted(&c, &j));
    c.assocs = "1,3";
    assert_true(acct_wanted(&c, &j));
    c.assocs = "1,33";
    assert_false(acct_wanted(&c, &j));
    c.assocs = NULL;
    /* it ended before it was eligible */
    j.start_us = j.eligible_us = 0;
    assert_false(acct_wanted(&c, &j));
    j.start_us = 1000000;
    /* the leader alone */
    filter.ids = (struct filter_ids){ &id, 1 };
    j.het_job_id = 5;
    c.whole_het = WHOLE_NO;
    assert_false(acct_wanted(&c, &j));
    filter.ids = (struct filter_ids){ 0 };
    assert_true(acct_wanted(&c, &j));
    /* held, and never eligible */
    j.state = PST__JOB_STATE__JOB_PENDING;
    j.has_priority = 1;
    assert_false(acct_wanted(&c, &j));
    jobfilter_done(&filter);
}

static void test_exit_codes(void **state)
{
    Pst__JobRecord j = PST__JOB_RECORD__INIT;

    (void)state;
    j.state = PST__JOB_STATE__JOB_FAILED;
    j.exit_status = 3 << 8;
    assert_true(acct_ended_with(&j, 3));
    assert_false(acct_ended_with(&j, 0));
    j.exit_status = 9; /* by a signal */
    assert_false(acct_ended_with(&j, 0));
    j.exit_status = 0;
    j.state = PST__JOB_STATE__JOB_RUNNING;
    assert_false(acct_ended_with(&j, 0));
}

static void test_steps_in_order(void **state)
{
    Pst__StepRecord steps[3], *list[] = { &steps[0], &steps[1], &steps[2] };
    Pst__AcctJob a = PST__ACCT_JOB__INIT;

    (void)state;
    for (size_t i = 0; i < 3; i++)
        pst__step_record__init(&steps[i]);
    steps[0].step_id = 1;
    steps[1].step_id = 0;
    steps[2].step_id = NAMES_STEP_EXTERN;
    a.steps = list;
    a.n_steps = 3;
    acct_sort_steps(&a);
    assert_ptr_equal(list[0], &steps[2]);
    assert_ptr_equal(list[1], &steps[1]);
    assert_ptr_equal(list[2], &steps[0]);
}

static void test_truncate(void **state)
{
    Pst__JobRecord j = PST__JOB_RECORD__INIT;
    Pst__StepRecord s = PST__STEP_RECORD__INIT, *list[] = { &s };
    Pst__AcctJob a = PST__ACCT_JOB__INIT;

    (void)state;
    a.job = &j;
    a.steps = list;
    a.n_steps = 1;
    j.start_us = 10;
    j.end_us = 90;
    s.start_us = 30; /* it runs: no end */
    acct_truncate(&a, 20, 50);
    assert_int_equal(j.start_us, 20);
    assert_int_equal(j.end_us, 50);
    assert_int_equal(s.start_us, 30);
    assert_int_equal(s.end_us, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_exit_codes),
        cmocka_unit_test(test_steps_in_order),
        cmocka_unit_test(test_truncate),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
