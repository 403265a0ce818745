/* test_loadlib.c - libraries that are there, that are not, and that lack a function */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>

#include "base/cleanup.h"
#include "base/process/loadlib.h"

static void test_functions_are_set(void **state)
{
    double (*root)(double) = NULL;
    const struct loadlib_symbol symbols[] = { { "sqrt", &root } };
    struct err err;

    (void)state;
    assert_int_equal(loadlib("a test", "libm.so.6", NULL, RTLD_LOCAL, symbols, 1, &err), 0);
    assert_true(root(9.0) == 3.0);
}

static void test_nothing_is_set_when_one_is_missing(void **state)
{
    double (*root)(double) = NULL, (*other)(double) = NULL;
    const struct loadlib_symbol symbols[] = { { "sqrt", &root }, { "no_such_root", &other } };
    struct err err;

    (void)state;
    assert_int_equal(loadlib("a test", "libm.so.6", "libc6", RTLD_LOCAL, symbols, 2, &err),
                     -ENOSYS);
    assert_string_equal(err.text, "a test: no_such_root is missing in libm.so.6");
    assert_null(root);
}

static void test_no_library(void **state)
{
    static const char with[] = "a test needs libnone.so.9 (package libnone9): ";
    static const char without[] = "a test needs libnone.so.9: ";
    struct err err;

    (void)state;
    assert_int_equal(loadlib("a test", "libnone.so.9", "libnone9", 0, NULL, 0, &err), -ENOENT);
    assert_memory_equal(err.text, with, strlen(with));
    assert_int_equal(loadlib("a test", "libnone.so.9", NULL, 0, NULL, 0, &err), -ENOENT);
    assert_memory_equal(err.text, without, strlen(without));
    assert_int_equal(loadlib(NULL, "libnone.so.9", NULL, 0, NULL, 0, &err), -ENOENT);
    assert_memory_equal(err.text, "libnone.so.9: ", 14);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions_are_set),
        cmocka_unit_test(test_nothing_is_set_when_one_is_missing),
        cmocka_unit_test(test_no_library),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
