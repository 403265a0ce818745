/* test_series.c - quantities over time in bins: integrals that stay exact however long a run is */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sim/series.h"

#define SEC INT64_C(1000000)
#define BEGIN (INT64_C(1700000000) * SEC + 123)
#define EPS 1e-6

static struct series *new_series(void)
{
    struct series *s = malloc(sizeof(*s));

    assert_non_null(s);
    series_init(s, BEGIN);
    return s;
}

static void expect_near(double got, double want)
{
    if (got < want - EPS || got > want + EPS)
        fail_msg("%.9f in place of %.9f", got, want);
}

/* 4 CPUs for 2.5 s, then 10 for 1.5 s, then none: 25 CPU seconds. */
static void test_integral(void **state)
{
    struct series *s = new_series();

    (void)state;
    assert_int_equal(series_used_bins(s), 0);
    series_set(s, SERIES_USED, 4);
    series_to(s, BEGIN + 5 * SEC / 2);
    series_set(s, SERIES_USED, 10);
    series_to(s, BEGIN + 4 * SEC);
    series_set(s, SERIES_USED, 0);
    series_to(s, BEGIN + 9 * SEC / 2);
    expect_near(series_total(s, SERIES_USED), 25);
    expect_near(series_total(s, SERIES_QUEUE), 0);
    assert_int_equal(series_used_bins(s), 5);
    expect_near(series_mean(s, SERIES_USED, 0), 4);
    expect_near(series_mean(s, SERIES_USED, 2), 7); /* half of it 4, half 10 */
    expect_near(series_mean(s, SERIES_USED, 3), 10);
    expect_near(series_mean(s, SERIES_USED, 4), 0);
    expect_near(series_mean(s, SERIES_USED, 5), 0); /* not begun */
    expect_near(s->most[SERIES_USED], 10);
    free(s);
}

/* Of a bin that is not full yet, the part that is. */
static void test_last_bin(void **state)
{
    struct series *s = new_series();

    (void)state;
    series_set(s, SERIES_QUEUE, 8);
    series_to(s, BEGIN + 5 * SEC / 4);
    expect_near(series_mean(s, SERIES_QUEUE, 1), 8);
    expect_near(series_total(s, SERIES_QUEUE), 10);
    free(s);
}

/* What holds for no time is not the most, and time never goes back. */
static void test_instants(void **state)
{
    struct series *s = new_series();

    (void)state;
    series_to(s, BEGIN + SEC);
    series_set(s, SERIES_RUNNING, 100);
    series_set(s, SERIES_RUNNING, 3);
    series_to(s, BEGIN + SEC);
    series_to(s, BEGIN);
    assert_true(s->at_us == BEGIN + SEC);
    series_to(s, BEGIN + 2 * SEC);
    expect_near(s->most[SERIES_RUNNING], 3);
    expect_near(series_total(s, SERIES_RUNNING), 3);
    free(s);
}

/* A year: bins become wider, no second is lost, and the shape stays. */
static void test_a_year(void **state)
{
    const int64_t day = 86400 * SEC;
    struct series *s = new_series();
    uint32_t bins;

    (void)state;
    for (int64_t d = 0; d < 365; d++) {
        series_set(s, SERIES_USED, (double)d);
        series_to(s, BEGIN + (d + 1) * day);
    }
    expect_near(series_total(s, SERIES_USED) / 86400, 364.0 * 365 / 2);
    bins = series_used_bins(s);
    assert_true(bins <= SERIES_BINS && bins > SERIES_BINS / 2);
    assert_true((int64_t)bins * s->width_us >= 365 * day);
    for (uint32_t i = 0; i < bins; i++) { /* each bin lies in one day or touches two */
        int64_t from = i * s->width_us / day;
        int64_t to = ((i + 1) * s->width_us - 1) / day;
        double mean = series_mean(s, SERIES_USED, i);

        assert_true(mean >= (double)from - EPS && mean <= (double)to + EPS);
    }
    expect_near(s->most[SERIES_USED], 364);
    free(s);
}

/* Exactly to the end of the last bin: all fit still. */
static void test_full(void **state)
{
    struct series *s = new_series();

    (void)state;
    series_set(s, SERIES_USED, 1);
    series_to(s, BEGIN + (int64_t)SERIES_BINS * SEC);
    assert_true(s->width_us == SEC);
    assert_int_equal(series_used_bins(s), SERIES_BINS);
    series_to(s, BEGIN + (int64_t)SERIES_BINS * SEC + 1);
    assert_true(s->width_us == 2 * SEC);
    expect_near(series_total(s, SERIES_USED), SERIES_BINS + 1e-6);
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integral), cmocka_unit_test(test_last_bin),
        cmocka_unit_test(test_instants), cmocka_unit_test(test_a_year),
        cmocka_unit_test(test_full),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("series", tests, NULL, NULL);
}
