/* test_tasklayout.c - which ranks run on which node of a step */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/bind/tasklayout.h"
#include "base/cleanup.h"

#define TASKS 12u
#define GUARD 77777u

static const struct {
    const char *distribution;
    uint32_t counts[3];
    const char *ranks; /* nodes with '|' between */
} cases[] = {
    { NULL, { 2, 3, 1 }, "0 1|2 3 4|5" },
    { "block", { 2, 3, 1 }, "0 1|2 3 4|5" },
    { "BLOCK:cyclic", { 2, 3, 1 }, "0 1|2 3 4|5" },
    { "*", { 2, 3, 1 }, "0 1|2 3 4|5" },
    { "nonsense", { 2, 3, 1 }, "0 1|2 3 4|5" },
    { "cyclic", { 2, 3, 1 }, "0 3|1 4 5|2" },
    { "cyclic:block", { 1, 1, 4 }, "0|1|2 3 4 5" },
    { "plane=2", { 3, 4, 2 }, "0 1 6|2 3 7 8|4 5" },
    { "plane=0", { 1, 2, 0 }, "0|1 2|" },
    { "plane=-1", { 1, 2, 0 }, "0|1 2|" },
    { "plane=99999999999999999999", { 1, 2, 0 }, "0|1 2|" },
    { "cyclic", { 0, 2, 1 }, "|0 2|1" },
    { "arbitrary=1,0,0,2", { 2, 1, 1 }, "1 2|0|3" },
    { "arbitrary=1,0*2,2", { 2, 1, 1 }, "1 2|0|3" },
    { "arbitrary=2*1,1,0*2:block", { 2, 1, 1 }, "2 3|1|0" },
    /* others than the counts say, or no list: block */
    { "arbitrary=0,0,0,1", { 2, 1, 1 }, "0 1|2|3" },
    { "arbitrary=0,1,2", { 2, 1, 1 }, "0 1|2|3" },
    { "arbitrary=0,1,2,3", { 2, 1, 1 }, "0 1|2|3" },
    { "arbitrary=0,0,1,2,2", { 2, 1, 1 }, "0 1|2|3" },
    { "arbitrary=0*18446744073709551615,1,2", { 2, 1, 1 }, "0 1|2|3" },
    { "arbitrary=-1,0,1,2", { 2, 1, 1 }, "0 1|2|3" },
    { "arbitrary=0*,1,2", { 2, 1, 1 }, "0 1|2|3" },
    { "arbitrary=1;0;0;2", { 2, 1, 1 }, "0 1|2|3" },
    { "arbitrary=", { 2, 1, 1 }, "0 1|2|3" },
};

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        uint32_t ranks[TASKS + 1], total = 0, at = 0;
        char text[100] = "";
        size_t len = 0;

        for (size_t k = 0; k < 3; k++)
            total += cases[i].counts[k];
        assert_true(total < TASKS);
        ranks[total] = GUARD;
        assert_int_equal(tasklayout(cases[i].distribution, cases[i].counts, 3, ranks), 0);
        for (size_t k = 0; k < 3; k++) {
            for (uint32_t n = 0; n < cases[i].counts[k]; n++)
                len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%u", n ? " " : "",
                                        ranks[at++]);
            if (k < 2)
                len += (size_t)snprintf(text + len, sizeof(text) - len, "|");
        }
        if (strcmp(text, cases[i].ranks) != 0)
            print_message("%s: %s\n", cases[i].distribution, text);
        assert_string_equal(text, cases[i].ranks);
        assert_int_equal(ranks[total], GUARD);
    }
}

static void test_nothing(void **state)
{
    (void)state;
    assert_int_equal(tasklayout("cyclic", NULL, 0, NULL), 0);
    assert_int_equal(tasklayout("arbitrary=", NULL, 0, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_cases),
                                        cmocka_unit_test(test_nothing) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
