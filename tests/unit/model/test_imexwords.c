/* test_imexwords.c - which channel of NVIDIA's IMEX service a job uses on a node */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "model/words/imexwords.h"

static void test_channels(void **state)
{
    Pst__JobRecord r = PST__JOB_RECORD__INIT;
    Pst__SwitchChannel low = PST__SWITCH_CHANNEL__INIT, high = PST__SWITCH_CHANNEL__INIT;
    Pst__SwitchChannel *list[] = { &low, &high };

    (void)state;
    assert_int_equal(job_imex_channel(&r, "n1"), 0);
    low.channel = 7;
    low.nodes = (char *)"n[1-4]";
    high.channel = 9;
    high.nodes = (char *)"n[5-8";
    r.imex_channels = list;
    r.n_imex_channels = 2;
    assert_int_equal(job_imex_channel(&r, "n4"), 7);
    assert_int_equal(job_imex_channel(&r, "n5"), 0); /* a list that nobody can read */
    high.nodes = (char *)"n[5-8]";
    assert_int_equal(job_imex_channel(&r, "n5"), 9);
    assert_int_equal(job_imex_channel(&r, "n9"), 0);
    assert_int_equal(job_imex_channel(&r, NULL), 0);
    high.nodes = NULL; /* all nodes of the job */
    assert_int_equal(job_imex_channel(&r, "n9"), 9);
    assert_int_equal(job_imex_channel(&r, NULL), 9);
    assert_int_equal(job_imex_channel(&r, "n1"), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_channels) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
