/* test_order.c - orders for qsort() and bsearch() */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compare/order.h"

/* Numbers whose difference does not fit into an int. */
static void test_numbers(void **state)
{
    uint32_t list[] = { 4294967295u, 0, 2147483648u, 7, 2147483647u, 7 };
    static const uint32_t want[] = { 0, 7, 7, 2147483647u, 2147483648u, 4294967295u };
    uint32_t key = 2147483648u, missing = 8;

    (void)state;
    qsort(list, ARRAY_SIZE(list), sizeof(*list), order_u32);
    assert_memory_equal(list, want, sizeof(want));
    assert_ptr_equal(bsearch(&key, list, ARRAY_SIZE(list), sizeof(*list), order_u32), &list[4]);
    assert_null(bsearch(&missing, list, ARRAY_SIZE(list), sizeof(*list), order_u32));
    assert_int_equal(order_u32(&list[1], &list[2]), 0);
}

/* Byte by byte: capitals come first, and bytes above 127 last. */
static void test_texts(void **state)
{
    const char *list[] = { "b", "a10", "", "\xc3\xa4", "a9", "B" };
    static const char *const want[] = { "", "B", "a10", "a9", "b", "\xc3\xa4" };
    const char *key = "a9";

    (void)state;
    qsort(list, ARRAY_SIZE(list), sizeof(*list), order_text);
    for (size_t i = 0; i < ARRAY_SIZE(want); i++)
        assert_string_equal(list[i], want[i]);
    assert_ptr_equal(bsearch(&key, list, ARRAY_SIZE(list), sizeof(*list), order_text), &list[3]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_texts),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
