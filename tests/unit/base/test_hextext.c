/* test_hextext.c - bytes as hexadecimal digits */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/text/hextext.h"

static void test_digits(void **state)
{
    static const uint8_t bytes[] = { 0x00, 0x01, 0x9f, 0xa0, 0xff };
    char text[2 * sizeof(bytes) + 2] = "...........";

    (void)state;
    hextext_write(bytes, sizeof(bytes), text);
    assert_string_equal(text, "00019fa0ff");
    hextext_write(bytes, 0, text);
    assert_string_equal(text, "");
    assert_int_equal(text[1], '0'); /* no more is written */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_digits),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
