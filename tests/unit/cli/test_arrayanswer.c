/* Answers about tasks of an array become a line for equal ones. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/query/arrayanswer.h"
#include "wire/errors.h"

static Pst__JobActionResult result(const char *id, const char *tasks, int code)
{
    Pst__JobActionResult r = PST__JOB_ACTION_RESULT__INIT;

    r.id = (char *)id;
    r.tasks = (char *)tasks;
    r.code = code;
    r.has_code = 1;
    return r;
}

static void test_lines(void **state)
{
    Pst__JobActionResult r[] = {
        result("29", "5-9:4%2", ESLURM_JOB_PENDING),
        result("29", "0", ESLURM_ALREADY_DONE),
        result("29", "1", 0),
        result("29", "2-4", 0),
        result("29", NULL, 0),
    };
    Pst__JobActionResult *list[] = { &r[0], &r[1], &r[2], &r[3], &r[4] };
    _cleanup_free_ char *all = arrayanswer_lines(list, 4, true),
                        *bad = arrayanswer_lines(list, 4, false);

    (void)state;
    assert_int_equal(arrayanswer_run(list, 5), 4);
    assert_string_equal(all, "29_[0]: Job/step already completing or completed\n"
                             "29_[1-4]: No error\n29_[5,9]: Job is pending execution");
    assert_string_equal(bad, "29_[0]: Job/step already completing or completed\n"
                             "29_[5,9]: Job is pending execution");
    assert_null(arrayanswer_lines(list + 2, 2, true));
}

static void test_unknown(void **state)
{
    Pst__JobActionResult r[] = { result("47_[2-9]", "2-3", 0) };
    Pst__JobActionResult *list[] = { &r[0] };
    _cleanup_free_ char *text = arrayanswer_lines(list, 1, false);

    (void)state;
    assert_string_equal(text, "47_[4-9]: Invalid job id specified");
}

static void test_unknown_tasks(void **state)
{
    Pst__JobActionResult r[] = { result("47_[2-9]", "2-3,7", 0), result("47", "2", 0) };
    Pst__JobActionResult *list[] = { &r[0], &r[1] };
    _cleanup_free_ char *text = arrayanswer_unknown(list, 1);

    (void)state;
    assert_string_equal(text, "4-6,8-9");
    assert_null(arrayanswer_unknown(list + 1, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_unknown_tasks),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
