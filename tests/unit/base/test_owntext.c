/* test_owntext.c - copies of texts, and secrets that leave nothing behind */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/text/owntext.h"

static void test_copies(void **state)
{
    char from[] = "one word", *to = NULL;

    (void)state;
    assert_int_equal(copy_text(&to, from), 0);
    from[0] = 'X';
    assert_string_equal(to, "one word");
    free(to);
}

static void test_missing_stays_missing(void **state)
{
    char was[] = "before", *to = was;

    (void)state;
    assert_int_equal(copy_text(&to, NULL), 0);
    assert_null(to);
}

static void test_wiped(void **state)
{
    char *secret = strdup("secret"), *none = NULL;

    (void)state;
    assert_non_null(secret);
    wipe_text(&secret);
    assert_null(secret);
    wipe_text(&none);
    assert_null(none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_missing_stays_missing),
        cmocka_unit_test(test_wiped),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
