/* test_shares.c - usage that is set back, by hand and by PriorityUsageResetPeriod, and its
 * half-life */
#include "core_util.h"

#include "ctld/schedlink/shares.h"

extern const struct ctld_service shares_service;

#define DAY_US (INT64_C(86400) * SEC)

static struct core core;

static void begin(const char *lines)
{
    core_begin(&core, lines, &shares_service);
}

static const Pst__ClusterRecord *cluster_now(void)
{
    return core.ctld.cluster->rec;
}

/* The half-life in force is in the log: a replay needs no configuration to know it. */
static void test_half_life(void **state)
{
    uint64_t lsn;

    (void)state;
    begin("PriorityDecayHalfLife=1-0\n");
    shares_configure(&core.ctld);
    assert_int_equal(cluster_now()->usage_half_life_s, 86400);
    lsn = core.ctld.applied_lsn;
    shares_configure(&core.ctld); /* as it is */
    assert_int_equal(core.ctld.applied_lsn, lsn);
    assert_false(cluster_now()->has_usage_reset_us);
    core_end(&core);
}

static void test_now(void **state)
{
    (void)state;
    begin("PriorityUsageResetPeriod=NOW\n");
    shares_configure(&core.ctld);
    assert_true(cluster_now()->has_usage_reset_us);
    core_end(&core);
}

/* A period begins when it is seen first, and then each time one is over. */
static void test_daily(void **state)
{
    (void)state;
    begin("PriorityUsageResetPeriod=DAILY\n");
    shares_configure(&core.ctld);
    assert_false(cluster_now()->has_usage_reset_us);
    shares_tick(&core.ctld, T0);
    assert_true(cluster_now()->usage_reset_us == T0);
    shares_tick(&core.ctld, T0 + 2 * DAY_US);
    assert_true(cluster_now()->usage_reset_us > T0);
    core_end(&core);
}

static void test_none(void **state)
{
    (void)state;
    begin("");
    shares_tick(&core.ctld, T0);
    shares_tick(&core.ctld, T0 + 1000 * DAY_US);
    assert_false(cluster_now()->has_usage_reset_us);
    core_end(&core);
}

/* Of one association the cluster's own time stays. */
static void test_reset(void **state)
{
    (void)state;
    begin("");
    assert_true(shares_reset(&core.ctld, 3, 0) > 0);
    assert_false(cluster_now()->has_usage_reset_us);
    assert_true(shares_reset(&core.ctld, 0, 0) > 0);
    assert_true(cluster_now()->has_usage_reset_us);
    core_end(&core);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_half_life),
                                        cmocka_unit_test(test_now), cmocka_unit_test(test_daily),
                                        cmocka_unit_test(test_none), cmocka_unit_test(test_reset) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
