/* test_stepfail.c - the first reason is kept, and has a length */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "stepd/step.h"

static void test_first(void **state)
{
    struct step s = { 0 };

    (void)state;
    step_fail(&s, "%s of %u", "cause", 7u);
    step_fail(&s, "consequence");
    assert_string_equal(s.error, "cause of 7");
}

static void test_empty(void **state)
{
    struct step s = { 0 };

    (void)state;
    step_fail(&s, "%s", ""); /* without a word it is a failure too */
    assert_non_null(s.error);
    step_fail(&s, "later");
    assert_string_equal(s.error, "");
}

static void test_long(void **state)
{
    struct {
        struct step step;
        char behind;
    } s = { .behind = 'b' };
    char path[4097];

    (void)state;
    memset(path, 'p', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    step_fail(&s.step, "%s: %s", path, path);
    assert_int_equal(strlen(s.step.error), sizeof(s.step.error_buf) - 1);
    assert_int_equal(s.behind, 'b');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_long),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
