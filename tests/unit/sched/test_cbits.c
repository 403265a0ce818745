/* test_cbits.c - bit sets that count their holders, against a plain array of counts */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/cleanup.h"
#include "sched/base/cbits.h"

#define BITS 70u /* the last word is not full */

static void expect_counts(const struct cbits *cb, const uint32_t *counts)
{
    uint32_t extra = 0;

    for (uint32_t i = 0; i < BITS; i++) {
        assert_int_equal(cb->bits[i >> 6] >> (i & 63) & 1, counts[i] > 0);
        assert_int_equal(cb->extra[i], counts[i] ? counts[i] - 1 : 0);
        extra += counts[i] ? counts[i] - 1 : 0;
    }
    assert_int_equal(cb->nextra, extra);
    assert_int_equal(cb->bits[1] >> (BITS % 64), 0);
}

/* Sets are taken and released in any order: the set is always what the counts say. */
static void test_take_release(void **state)
{
    struct cbits cb;
    uint64_t held[8][2], x = 0x9e3779b97f4a7c15;
    uint32_t counts[BITS] = { 0 }, n = 0;

    (void)state;
    assert_int_equal(cbits_init(&cb, BITS), 0);
    for (uint32_t step = 0; step < 2000; step++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        if (n < ARRAY_SIZE(held) && (n == 0 || x % 2)) {
            held[n][0] = x;
            held[n][1] = ~x; /* bits beyond the end are not taken */
            cbits_take(&cb, held[n], 2);
            for (uint32_t i = 0; i < BITS; i++)
                counts[i] += held[n][i >> 6] >> (i & 63) & 1;
            n++;
        } else {
            uint32_t at = (uint32_t)(x >> 8) % n;

            cbits_release(&cb, held[at], 2);
            for (uint32_t i = 0; i < BITS; i++)
                counts[i] -= held[at][i >> 6] >> (i & 63) & 1;
            held[at][0] = held[--n][0];
            held[at][1] = held[n][1];
        }
        expect_counts(&cb, counts);
    }
    cbits_done(&cb);
}

/* More words than the set has are not looked at. */
static void test_long_input(void **state)
{
    const uint64_t all[] = { UINT64_MAX, UINT64_MAX, UINT64_MAX };
    struct cbits cb;

    (void)state;
    assert_int_equal(cbits_init(&cb, BITS), 0);
    cbits_take(&cb, all, 3);
    assert_int_equal(count_words(cb.bits, cb.nwords), BITS);
    cbits_release(&cb, all, 3);
    assert_int_equal(count_words(cb.bits, cb.nwords), 0);
    cbits_done(&cb);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_take_release),
        cmocka_unit_test(test_long_input),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
