/* test_gpufreq.c - --gpu-freq: its text, and the clocks that it means */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>

#include "base/bind/gpufreq.h"

static void test_text(void **state)
{
    static const struct {
        const char *text;
        int rc;
        struct gpufreq want;
    } rows[] = {
        { "1500", 0, { .graphics = { GPUFREQ_MHZ, 1500 } } },
        { "Medium,MEMORY=highm1",
          0,
          { .graphics = { GPUFREQ_MEDIUM, 0 }, .memory = { GPUFREQ_HIGHM1, 0 } } },
        { "memory=877,verbose", 0, { .memory = { GPUFREQ_MHZ, 877 }, .verbose = true } },
        { "low,high", 0, { .graphics = { GPUFREQ_HIGH, 0 } } },
        { "Verbose", 0, { .verbose = true } },
        { "", -EINVAL, { .verbose = false } },
        { "foo", -EINVAL, { .verbose = false } },
        { "low,", -EINVAL, { .verbose = false } },
        { "-5", -EINVAL, { .verbose = false } },
        { "1500M", -EINVAL, { .verbose = false } },
        { "9999999999", -EINVAL, { .verbose = false } },
        { "memory", -EINVAL, { .verbose = false } },
        { "memory=", -EINVAL, { .verbose = false } },
        { "memory=verbose", -EINVAL, { .verbose = false } },
        { "graphics=low", -EINVAL, { .verbose = false } },
        { "mem,ory=low", -EINVAL, { .verbose = false } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct gpufreq f;

        if (gpufreq_parse(rows[i].text, &f) != rows[i].rc)
            fail_msg("%s: another result", rows[i].text);
        if (rows[i].rc < 0)
            continue;
        assert_int_equal(f.graphics.level, rows[i].want.graphics.level);
        assert_int_equal(f.graphics.mhz, rows[i].want.graphics.mhz);
        assert_int_equal(f.memory.level, rows[i].want.memory.level);
        assert_int_equal(f.memory.mhz, rows[i].want.memory.mhz);
        assert_int_equal(f.verbose, rows[i].want.verbose);
    }
}

static void test_choice(void **state)
{
    static const struct {
        struct gpufreq_want want;
        uint32_t now, mhz;
    } rows[] = {
        { { GPUFREQ_LOW, 0 }, 0, 300 },          { { GPUFREQ_MEDIUM, 0 }, 0, 600 },
        { { GPUFREQ_HIGHM1, 0 }, 0, 900 },       { { GPUFREQ_HIGH, 0 }, 0, 1200 },
        { { GPUFREQ_MHZ, 1 }, 0, 300 },          { { GPUFREQ_MHZ, 751 }, 0, 900 },
        { { GPUFREQ_MHZ, 750 }, 0, 600 }, /* as near to both */
        { { GPUFREQ_MHZ, 999999999 }, 0, 1200 }, { { GPUFREQ_NONE, 0 }, 900, 900 },
        { { GPUFREQ_NONE, 0 }, 1000, 900 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        unsigned mhz[] = { 1200, 300, 900, 600 };

        assert_int_equal(gpufreq_choose(&rows[i].want, rows[i].now, mhz, 4), rows[i].mhz);
    }
    assert_int_equal(gpufreq_choose(&rows[3].want, 0, (unsigned[]){ 7 }, 1), 7);
    assert_int_equal(gpufreq_choose(&rows[2].want, 0, (unsigned[]){ 7 }, 1), 7);
    assert_int_equal(gpufreq_choose(&rows[0].want, 500, NULL, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_choice),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
