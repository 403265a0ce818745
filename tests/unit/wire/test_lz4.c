/* test_lz4.c - blocks of liblz4: there and back, and what does not fit or is no block */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "wire/lz4.h"

#define TEXT_LEN 4096u

static void fill_text(uint8_t *text)
{
    for (size_t i = 0; i < TEXT_LEN; i++)
        text[i] = (uint8_t)("penstock "[i % 9]);
}

static void test_there_and_back(void **state)
{
    uint8_t text[TEXT_LEN], block[TEXT_LEN], back[TEXT_LEN];
    int n;

    (void)state;
    if (lz4_available() < 0)
        skip();
    fill_text(text);
    n = lz4_pack(text, sizeof(text), block, sizeof(block));
    assert_in_range(n, 1, TEXT_LEN / 2); /* it repeats itself */
    memset(back, 0, sizeof(back));
    assert_int_equal(lz4_unpack(block, (size_t)n, back, sizeof(back)), 0);
    assert_memory_equal(back, text, sizeof(text));
}

static void test_no_room(void **state)
{
    uint8_t text[TEXT_LEN], block[8];

    (void)state;
    if (lz4_available() < 0)
        skip();
    fill_text(text);
    assert_int_equal(lz4_pack(text, sizeof(text), block, sizeof(block)), -ENOSPC);
    assert_int_equal(lz4_pack(text, (size_t)INT_MAX + 1, block, sizeof(block)), -E2BIG);
    assert_int_equal(lz4_pack(text, sizeof(text), block, (size_t)INT_MAX + 1), -E2BIG);
}

static void test_no_block(void **state)
{
    uint8_t text[TEXT_LEN], block[TEXT_LEN], back[TEXT_LEN];
    int n;

    (void)state;
    if (lz4_available() < 0)
        skip();
    fill_text(text);
    n = lz4_pack(text, sizeof(text), block, sizeof(block));
    assert_true(n > 0);
    /* exactly as many bytes as the sender said: neither more nor less */
    assert_int_equal(lz4_unpack(block, (size_t)n, back, TEXT_LEN - 1), -EBADMSG);
    assert_int_equal(lz4_unpack(block, (size_t)n - 1, back, TEXT_LEN), -EBADMSG);
    memset(block, 0xff, sizeof(block));
    assert_int_equal(lz4_unpack(block, 16, back, TEXT_LEN), -EBADMSG);
    assert_int_equal(lz4_unpack(block, (size_t)INT_MAX + 1, back, TEXT_LEN), -E2BIG);
    assert_int_equal(lz4_unpack(block, 16, back, (size_t)INT_MAX + 1), -E2BIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_no_block),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
