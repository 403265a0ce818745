/* test_billing.c - TRESBillingWeights */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/gres/billweights.h"
#include "base/cleanup.h"

/* 8 CPUs, 16 GiB, a node, 2 GPUs, 3 licences */
static double amount(void *ctx, const char *name)
{
    static const struct {
        const char *name;
        double n;
    } rows[] = {
        { "cpu", 8 }, { "mem", 16384 }, { "node", 1 }, { "gres/gpu", 2 }, { "license/lic", 3 }
    };

    (void)ctx;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].n;
    return 0;
}

static const struct {
    const char *weights;
    enum billing_sum how;
    uint64_t want;
} cases[] = {
    { "CPU=1.0", BILLING_ALL, 8 },
    { "CPU=1.0,Mem=0.25G", BILLING_ALL, 12 },
    { "CPU=1,Mem=0.001", BILLING_ALL, 24 },
    { "mem=1T", BILLING_ALL, 0 },
    { "CPU=1.0,Mem=0.25G,GRES/gpu=4.0", BILLING_ALL, 20 },
    { "CPU=1.0,Mem=0.25G,GRES/gpu=4.5", BILLING_MAX, 9 },
    { "CPU=1.0,Mem=0.25G,GRES/gpu=4.5", BILLING_MAX_GRES, 17 },
    { "CPU=1.0,License/lic=2", BILLING_MAX, 14 },
    { "CPU=1.0,nonsense,=3,GRES/gpu=x", BILLING_ALL, 8 },
    { "CPU=1,Mem=0.001K,Mem=1Gx,CPU=-3,Node=0.5x", BILLING_ALL, 8 + 16777 },
    { "", BILLING_ALL, 0 },
};

static void test_sums(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        if (billing(cases[i].weights, cases[i].how, amount, NULL) != cases[i].want)
            fail_msg("%s: %llu", cases[i].weights,
                     (unsigned long long)billing(cases[i].weights, cases[i].how, amount, NULL));
}

static void test_exact(void **state)
{
    (void)state;
    assert_true(billing_exact("CPU=0.3,Mem=0.25G", BILLING_ALL, amount, NULL) == 8 * 0.3 + 4);
    assert_true(billing_exact("Mem=1T", BILLING_MAX, amount, NULL) == 16384.0 / (1024 * 1024));
}

static void test_check(void **state)
{
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(billing_check("CPU=1.0,Mem=0.25G,GRES/gpu=2", &err), 0);
    assert_int_equal(billing_check(NULL, &err), 0);
    assert_int_equal(billing_check("CPU=1,Mem=1Q", &err), -EINVAL);
    assert_non_null(strstr(err.text, "'Mem=1Q'"));
    assert_int_equal(billing_check("CPU", &err), -EINVAL);
    assert_int_equal(billing_check("CPU=1G", &err), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_sums), cmocka_unit_test(test_exact),
                                        cmocka_unit_test(test_check) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
