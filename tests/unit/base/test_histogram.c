/* test_histogram.c - how often something took how long */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/histogram.h"

/* Each value counts in the first bucket whose bound is not below it. */
static void test_buckets(void **state)
{
    static const uint64_t values[] = { 0,
                                       1,
                                       15,
                                       16,
                                       17,
                                       32,
                                       33,
                                       64,
                                       65,
                                       1000,
                                       1024,
                                       1u << 30,
                                       (1u << 30) + 1,
                                       UINT64_C(1) << 40,
                                       UINT64_MAX };

    for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
        struct histogram h = { 0 };
        unsigned wanted = 0;

        while (histogram_bound(wanted) < values[i])
            wanted++;
        histogram_add(&h, values[i]);
        for (unsigned b = 0; b < HISTOGRAM_BUCKETS; b++)
            assert_int_equal(atomic_load(&h.counts[b]), b == wanted);
    }
}

static void test_bounds_double(void **state)
{
    assert_int_equal(histogram_bound(0), 16);
    for (unsigned i = 1; i + 1 < HISTOGRAM_BUCKETS; i++)
        assert_true(histogram_bound(i) == 2 * histogram_bound(i - 1));
    assert_true(histogram_bound(HISTOGRAM_BUCKETS - 1) == UINT64_MAX);
}

static void test_sum(void **state)
{
    struct histogram h = { 0 };

    histogram_add(&h, 5);
    histogram_add(&h, 700);
    assert_int_equal(atomic_load(&h.sum), 705);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buckets),
        cmocka_unit_test(test_bounds_double),
        cmocka_unit_test(test_sum),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
