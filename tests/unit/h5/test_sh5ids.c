/* test_sh5ids.c - the job and the steps that sh5util is given */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/sh5util/sh5ids.h"

static void test_read(void **state)
{
    struct err err = { .text = "" };
    struct sh5ids ids;

    (void)state;
    assert_int_equal(sh5ids_read("7", &ids, &err), 0);
    assert_int_equal(ids.job_id, 7);
    assert_true(sh5ids_has(&ids, "0") && sh5ids_has(&ids, "batch"));
    assert_int_equal(sh5ids_read("7.0,7.batch", &ids, &err), 0);
    assert_true(sh5ids_has(&ids, "0") && sh5ids_has(&ids, "batch"));
    assert_false(sh5ids_has(&ids, "1"));
    assert_int_equal(sh5ids_read("7.0,7", &ids, &err), 0);
    assert_true(sh5ids_has(&ids, "1"));
}

static void test_wrong(void **state)
{
    static const char *const rows[] = {
        "",    "x", "7,",      ",7", "7.x", "7..0",  "-7",   "7.-1",
        "7_1", "0", "7.0,8.0", "7 ", "7.",  "7.0.0", "7/..", "7.../"
    };
    struct err err = { .text = "" };
    struct sh5ids ids;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        err.text[0] = '\0';
        if (sh5ids_read(rows[i], &ids, &err) != -EINVAL || !err.text[0])
            fail_msg("%s was taken", rows[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_wrong),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
