/* test_failpoint.c - arming and striking of failpoints */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/process/failpoint.h"

static const struct {
    const char *spec;
    const char *strikes; /* at passes 1 .. 5 of the place "a" */
} cases[] = {
    { NULL, "....." },      { "", "....." },        { "a:1", "x...." },      { "a:3", "..x.." },
    { "a:3+", "..xxx" },    { "b:1+", "....." },    { "a:0", "....." },      { "a", "....." },
    { "a:1,a:4", "x..x." }, { "b:2,a:2", ".x..." }, { ":1,,a:5,", "....x" }, { "aa:1+", "....." },
};

static void test_arming(void **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char got[6] = ".....";

        failpoint_arm(cases[i].spec);
        for (size_t k = 0; k < 5; k++)
            if (failpoint("a"))
                got[k] = 'x';
        assert_string_equal(got, cases[i].strikes);
    }
    failpoint_arm(NULL);
}

/* Too many places and too long names are ignored, the rest works. */
static void test_limits(void **state)
{
    char spec[1024] = "a:1";
    size_t n = strlen(spec);

    for (int i = 0; i < FAILPOINT_MAX + 5; i++)
        n += (size_t)snprintf(spec + n, sizeof(spec) - n, ",p%d:1+", i);
    (void)snprintf(spec + n, sizeof(spec) - n,
                   ",a-very-long-name-that-does-not-fit-into-the-table-of-sixty-three-bytes:1");
    failpoint_arm(spec);
    assert_true(failpoint("a"));
    assert_true(failpoint("p0"));
    assert_false(failpoint("p20"));
    failpoint_arm(NULL);
    assert_false(failpoint("p0"));
    failpoint_crash("p0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arming),
        cmocka_unit_test(test_limits),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
