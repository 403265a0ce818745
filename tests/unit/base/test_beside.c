/* test_beside.c - programs near this one */
#include "base/process/beside.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"

static void test_finds_first(void **state)
{
    static const char *const places[] = { "nosuch", "../unit/test_beside", "test_beside" };
    static const char *const missing[] = { "nosuch", "../nosuch/test_beside" };
    char path[4096], small[8];

    assert_int_equal(beside_find(places, ARRAY_SIZE(places), path, sizeof(path)), 0);
    assert_non_null(strstr(path, "/../unit/test_beside"));
    assert_int_equal(access(path, X_OK), 0);
    assert_int_equal(beside_find(missing, ARRAY_SIZE(missing), path, sizeof(path)), -ENOENT);
    assert_int_equal(beside_find(NULL, 0, path, sizeof(path)), -ENOENT);
    assert_int_equal(beside_find(places, ARRAY_SIZE(places), small, sizeof(small)), -ENOENT);
}

int main(void)
{
    static const struct CMUnitTest tests[] = { cmocka_unit_test(test_finds_first) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
