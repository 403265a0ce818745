/* test_cpufreq.c - --cpu-freq: its text, and the frequencies that it means */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>

#include "base/bind/cpufreq.h"

static void test_text(void **state)
{
    static const struct {
        const char *text;
        int rc;
        struct cpufreq want;
    } rows[] = {
        { "2400000", 0, { .low = CPUFREQ_KHZ, .low_khz = 2400000 } },
        { "Low", 0, { .low = CPUFREQ_LOW } },
        { "low-highm1", 0, { .low = CPUFREQ_LOW, .high = CPUFREQ_HIGHM1 } },
        { "1000000-HIGH:Performance",
          0,
          { .low = CPUFREQ_KHZ,
            .low_khz = 1000000,
            .high = CPUFREQ_HIGH,
            .governor = "performance" } },
        { "medium:userspace", 0, { .low = CPUFREQ_MEDIUM, .governor = "userspace" } },
        { "OnDemand", 0, { .governor = "ondemand" } },
        { "", -EINVAL, { 0 } },
        { "x", -EINVAL, { 0 } },
        { "low-", -EINVAL, { 0 } },
        { "-high", -EINVAL, { 0 } },
        { "low:", -EINVAL, { 0 } },
        { "low:fast", -EINVAL, { 0 } },
        { "low-high-high", -EINVAL, { 0 } },
        { "1234567890", -EINVAL, { 0 } },
        { "performance:low", -EINVAL, { 0 } },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct cpufreq f = { 0 };
        struct err err = { .text = "" };
        const struct cpufreq *w = &rows[i].want;

        assert_int_equal(cpufreq_parse(rows[i].text, &f, &err), rows[i].rc);
        assert_int_equal(rows[i].rc == 0, err.text[0] == '\0');
        assert_int_equal(f.low, w->low);
        assert_int_equal(f.high, w->high);
        assert_int_equal(f.low_khz, w->low_khz);
        assert_int_equal(f.high_khz, w->high_khz);
        assert_int_equal(f.governor != NULL, w->governor != NULL);
        if (w->governor)
            assert_string_equal(f.governor, w->governor);
    }
}

static void test_list(void **state)
{
    struct cpufreq_range range = { 0 };
    char many[CPUFREQ_STEPS_MAX * 4 + 9] = "";

    cpufreq_list("3200000 2400000  1200000 \n", &range);
    assert_int_equal(range.n, 3);
    assert_int_equal(range.khz[0], 1200000);
    assert_int_equal(range.khz[2], 3200000);
    cpufreq_list("", &range);
    assert_int_equal(range.n, 0);
    cpufreq_list("no -5 99999999999 7", &range);
    assert_int_equal(range.n, 1);
    for (size_t i = 0; i <= CPUFREQ_STEPS_MAX; i++)
        memcpy(many + i * 4, "100 ", 4);
    cpufreq_list(many, &range);
    assert_int_equal(range.n, CPUFREQ_STEPS_MAX);
}

static void test_meaning(void **state)
{
    struct cpufreq_range steps = { .khz = { 1000, 2000, 3000, 4000 }, .n = 4 },
                         one = { .khz = { 1500 }, .n = 1 },
                         any = { .min_khz = 800, .max_khz = 4000 };
    static const struct {
        enum cpufreq_level level;
        uint32_t khz, steps, one, any;
    } rows[] = {
        { CPUFREQ_NONE, 0, 0, 0, 0 },
        { CPUFREQ_LOW, 0, 1000, 1500, 800 },
        { CPUFREQ_MEDIUM, 0, 2000, 1500, 2400 },
        { CPUFREQ_HIGH, 0, 4000, 1500, 4000 },
        { CPUFREQ_HIGHM1, 0, 3000, 1500, 4000 },
        { CPUFREQ_KHZ, 2600, 3000, 1500, 2600 },
        { CPUFREQ_KHZ, 1, 1000, 1500, 800 },
        { CPUFREQ_KHZ, 999999999, 4000, 1500, 4000 },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(cpufreq_khz(&steps, rows[i].level, rows[i].khz), rows[i].steps);
        assert_int_equal(cpufreq_khz(&one, rows[i].level, rows[i].khz), rows[i].one);
        assert_int_equal(cpufreq_khz(&any, rows[i].level, rows[i].khz), rows[i].any);
    }
    assert_int_equal(cpufreq_khz(&(struct cpufreq_range){ 0 }, CPUFREQ_HIGH, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_meaning),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
