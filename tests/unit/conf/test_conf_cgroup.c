/* test_conf_cgroup.c - cgroup.conf with its defaults */
#include "conf_util.h"

static void test_defaults(void **state)
{
    struct conf *c = conf_with_lines("");
    const struct conf_cgroup *g = conf_cgroup(c);

    (void)state;
    assert_string_equal(g->plugin, "autodetect");
    assert_string_equal(g->mountpoint, "/sys/fs/cgroup");
    assert_false(g->constrain_cores || g->constrain_ram || g->constrain_swap ||
                 g->constrain_devices || g->ignore_systemd);
    assert_true(g->allowed_ram_pct == 100 && g->max_ram_pct == 100);
    assert_true(g->allowed_swap_pct == 0 && g->max_swap_pct == 100);
    assert_int_equal(g->min_ram_mib, 30);
    assert_int_equal(g->swappiness, -1);
    assert_int_equal(g->systemd_timeout_ms, 1000);
    conf_free(c);
}

static void test_values(void **state)
{
    struct conf *c = conf_of_two("", "cgroup.conf",
                                 "ConstrainCores=yes\nConstrainRAMSpace=yes\nAllowedRAMSpace=98.5\n"
                                 "AllowedSwapSpace=10%\nMinRAMSpace=64\nMemorySwappiness=0\n"
                                 "CgroupPlugin=cgroup/v2\n",
                                 "");
    const struct conf_cgroup *g = conf_cgroup(c);

    (void)state;
    assert_true(g->constrain_cores && g->constrain_ram && !g->constrain_swap);
    assert_true(g->allowed_ram_pct == 98.5);
    assert_true(g->allowed_swap_pct == 10);
    assert_int_equal(g->min_ram_mib, 64);
    assert_int_equal(g->swappiness, 0); /* given, and nothing */
    assert_string_equal(g->plugin, "cgroup/v2");
    conf_free(c);
}

static void test_mistakes(void **state)
{
    (void)state;
    assert_null(conf_of_two("", "cgroup.conf", "AllowedRAMSpace=much\n",
                            "cgroup.conf:1: error: AllowedRAMSpace=much is not a percentage\n"));
    assert_null(conf_of_two("", "cgroup.conf", "ConstrainCores=yes\nMemorySwappiness=101\n",
                            "cgroup.conf:2: error: MemorySwappiness=101 is out of range (0 to "
                            "100)\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_mistakes),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
