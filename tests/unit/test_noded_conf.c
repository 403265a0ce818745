/* test_noded_conf.c - what slurmd reads out of configuration and folders */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/cleanup.h"
#include "noded/noded.h"

static void test_intervals(void **state)
{
    static const struct {
        const char *text, *kind;
        int64_t want;
    } cases[] = {
        { NULL, "task", -1 },
        { "", "task", -1 },
        { "30", "task", 30 },
        { "30", "energy", -1 },
        { "0", "task", 0 },
        { "task=10", "task", 10 },
        { "Task=10", "task", 10 },
        { "energy=5,task=10", "task", 10 },
        { "energy=5,task=10", "energy", 5 },
        { "tasks=10", "task", -1 },
        { "task=", "task", -1 },
        { "task=x", "task", -1 },
        { "5,energy=7", "task", 5 },
        { "task=99999999999999999999999999", "task", -1 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(gather_interval(cases[i].text, cases[i].kind), cases[i].want);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_intervals) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
