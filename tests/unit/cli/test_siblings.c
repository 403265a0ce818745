/* test_siblings.c - the clusters of a job without one of them; the rest needs real clusters
 * (tests/integration/federation) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/cleanup.h"
#include "cli/query/siblings.h"

static void test_without(void **state)
{
    static const struct {
        const char *list, *cluster, *want;
    } cases[] = {
        { "aa,bb,cc", "bb", "aa,cc" },
        { "aa,bb,cc", "AA", "bb,cc" },
        { "aa,bb,cc", "cc", "aa,bb" },
        { "aa", "aa", "" },
        { "aa,bb", "a", NULL },
        { "aa,bb", "aab", NULL },
        { "aa,bb", "aa,bb", NULL },
        { "aa,bb", "", NULL },
        { "", "aa", NULL },
        { NULL, "aa", NULL },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_free_ char *got = siblings_without(cases[i].list, cases[i].cluster);

        if (cases[i].want)
            assert_string_equal(got, cases[i].want);
        else
            assert_null(got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_without) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
