/* test_iopattern.c - file name patterns of srun */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/cleanup.h"
#include "cli/job/iopattern.h"

static const struct {
    const char *pattern, *name;
} cases[] = {
    { "out", "out" },
    { "o.%j.%s", "o.67.2" },
    { "%J", "67.2" },
    { "%5j", "00067" },
    { "%12j", "0000000067" },
    { "%%.%j", "%.67" },
    { "%x.%u", "name.alice" },
    { "%A.%a.%b", "67.0.0" },
    { "h_\\\\%j.o", "h_%j.o" },
    { "\\x.%j", "x.%j" },
    { "x.%Q", "x.%Q" },
    { "%", "%" },
    { "%5", "%5" },
    { "", "" },
};

static void test_expand(void **state)
{
    const struct iopattern names = {
        .job_id = 67, .step_id = 2, .user = "alice", .job_name = "name"
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_free_ char *text = iopattern_expand(cases[i].pattern, &names);

        assert_string_equal(text, cases[i].name);
    }
}

static void test_array(void **state)
{
    const struct iopattern names = {
        .job_id = 70, .has_array = true, .array_job_id = 62, .array_task_id = 13
    };
    _cleanup_free_ char *text = iopattern_expand("a.%A_%3a.%b", &names);

    (void)state;
    assert_string_equal(text, "a.62_013.3");
}

static void test_per_task(void **state)
{
    (void)state;
    assert_true(iopattern_per_task("x.%t"));
    assert_true(iopattern_per_task("x.%2n"));
    assert_true(iopattern_per_task("%j.%N"));
    assert_false(iopattern_per_task("x.%j"));
    assert_false(iopattern_per_task("x.%%t"));
    assert_false(iopattern_per_task("\\x.%t"));
    assert_false(iopattern_per_task("x%"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expand),
        cmocka_unit_test(test_array),
        cmocka_unit_test(test_per_task),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
