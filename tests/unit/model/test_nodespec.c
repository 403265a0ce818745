/* test_nodespec.c - which CPUs a node keeps from jobs */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "model/words/nodespec.h"

static void assert_kept(uint32_t cores, const char *list, const char *want, uint32_t effective)
{
    Pst__NodeRecord n = PST__NODE_RECORD__INIT;
    _cleanup_(bitmap_free) struct bitmap *kept = NULL;
    _cleanup_free_ char *text = NULL;

    n.cpus = 16;
    n.sockets = 2;
    n.cores_per_socket = 4;
    n.threads_per_core = 2;
    n.core_spec = cores;
    n.cpu_spec_list = (char *)list;
    assert_int_equal(nodespec_cpus(&n, &kept), 0);
    assert_int_equal(nodespec_effective(&n), effective);
    if (!want) {
        assert_null(kept);
        return;
    }
    assert_int_equal(bitmap_format(kept, &text), 0);
    assert_string_equal(text, want);
}

static void test_counts(void **state)
{
    assert_kept(0, NULL, NULL, 16);
    assert_kept(1, NULL, "14-15", 14);
    assert_kept(2, NULL, "6-7,14-15", 12);
    assert_kept(99, NULL, "0-15", 0);
}

static void test_lists(void **state)
{
    assert_kept(0, "0,8", "0-1,8-9", 12);
    assert_kept(2, "3", "2-3", 14); /* the list counts */
    assert_kept(0, "40", NULL, 16); /* beyond what it has */
    assert_kept(0, "nonsense", NULL, 16);
}

static void test_too_small(void **state)
{
    static const struct {
        uint64_t mem;
        double pct;
        uint32_t cpus;
        const char *want;
    } cases[] = {
        { 1000, 100, 4, NULL },
        { 1200, 100, 4, NULL },
        { 999, 100, 4, "Low RealMemory (reported:999 < 100.00% of configured:1000)" },
        { 900, 90, 4, NULL },
        { 899, 90, 4, "Low RealMemory (reported:899 < 90.00% of configured:1000)" },
        { 994, 99.5, 4, "Low RealMemory (reported:994 < 99.50% of configured:1000)" },
        { 995, 99.5, 4, NULL },
        { 0, 0, 4, NULL },
        { 1000, 100, 3, "Low CPUs" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        Pst__NodeRecord have = PST__NODE_RECORD__INIT, want = PST__NODE_RECORD__INIT;
        char buf[160];
        const char *got;

        have.has_real_memory_mib = have.has_cpus = true;
        have.real_memory_mib = cases[i].mem;
        have.cpus = cases[i].cpus;
        want.real_memory_mib = 1000;
        want.cpus = 4;
        got = nodespec_too_small(&have, &want, cases[i].pct, buf, sizeof(buf));
        if (cases[i].want)
            assert_string_equal(got, cases[i].want);
        else
            assert_null(got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_too_small),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
