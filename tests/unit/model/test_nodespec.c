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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_lists),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
