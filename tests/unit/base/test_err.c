/* test_err.c - the sentence about refused input */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/err.h"

static void test_set(void **state)
{
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(err_set(&err, -EINVAL, "line %d: %s", 3, "bad"), -EINVAL);
    assert_string_equal(err.text, "line 3: bad");
    assert_int_equal(err_set(NULL, -ENOMEM, "%s", "unused"), -ENOMEM);
    err_prefix(NULL, "unused");
}

static void test_prefix(void **state)
{
    struct err err = { .text = "bad key" };

    (void)state;
    err_prefix(&err, "%s:%d", "slurm.conf", 12);
    assert_string_equal(err.text, "slurm.conf:12: bad key");
}

/* Too long sentences are cut, never overrun, and keep their beginning. */
static void test_cut(void **state)
{
    struct err err = { .text = "" };
    char text[2 * ERR_TEXT_MAX];

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    (void)err_set(&err, -1, "%s", text);
    assert_int_equal(strlen(err.text), ERR_TEXT_MAX - 1);
    err_prefix(&err, "file");
    assert_int_equal(strlen(err.text), ERR_TEXT_MAX - 1);
    assert_memory_equal(err.text, "file: xxx", 9);
    err_prefix(&err, "%s", text);
    assert_int_equal(strlen(err.text), ERR_TEXT_MAX - 1);
}

static void test_no_memory(void **state)
{
    struct err err = { .text = "" };

    (void)state;
    assert_string_equal(err_or_nomem(&err), "out of memory");
    assert_int_equal(err_nomem(&err), -ENOMEM);
    assert_string_equal(err.text, "out of memory");
    assert_int_equal(err_nomem_of(&err, "slurm.conf"), -ENOMEM);
    assert_string_equal(err.text, "slurm.conf: out of memory");
    assert_int_equal(err_nomem_of(NULL, "slurm.conf"), -ENOMEM);
    assert_string_equal(err_or_nomem(&err), "slurm.conf: out of memory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_prefix),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_no_memory),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
