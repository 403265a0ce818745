/* test_nodeusers.c - for which users a node may vouch */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ctld/node/nodeusers.h"

static const uint32_t two[] = { 1, 2 }, one[] = { 2 };

static void test_jobs_count(void **state)
{
    struct nodeusers *u = nodeusers_new();

    nodeusers_hold(u, 10, 500, "ann", two, 2, true);
    nodeusers_hold(u, 11, 500, "ann", one, 1, true);
    assert_true(nodeusers_has(u, 1, 500) && nodeusers_has(u, 2, 500));
    assert_false(nodeusers_has(u, 0, 500));
    assert_false(nodeusers_has(u, 1, 501));
    nodeusers_drop(u, 10);
    nodeusers_drop(u, 10); /* twice is once */
    assert_false(nodeusers_has(u, 1, 500));
    assert_true(nodeusers_has(u, 2, 500)); /* the other job */
    nodeusers_drop(u, 11);
    assert_false(nodeusers_has(u, 2, 500));
    nodeusers_free(u);
}

/* A job that loses a node holds the others. */
static void test_fewer_nodes(void **state)
{
    struct nodeusers *u = nodeusers_new();

    nodeusers_hold(u, 10, 500, "ann", two, 2, true);
    nodeusers_hold(u, 10, 500, "ann", two, 2, true);
    nodeusers_hold(u, 10, 500, "ann", one, 1, true);
    assert_false(nodeusers_has(u, 1, 500));
    assert_true(nodeusers_has(u, 2, 500));
    nodeusers_free(u);
}

static bool is_no_bob(void *ctx, uint32_t uid, const char *user)
{
    return user && strcmp(user, "bob") != 0 && uid != 0 && !ctx;
}

static void test_rights(void **state)
{
    struct nodeusers *u = nodeusers_new();
    int all = 0;

    nodeusers_hold(u, 1, 0, "root", one, 1, false);
    nodeusers_hold(u, 2, 500, "ann", one, 1, true);
    nodeusers_hold(u, 3, 501, "bob", one, 1, true);
    assert_false(nodeusers_has(u, 2, 0));
    nodeusers_judge(u, is_no_bob, NULL);
    assert_true(nodeusers_has(u, 2, 500));
    assert_false(nodeusers_has(u, 2, 501));
    nodeusers_judge(u, is_no_bob, &all);
    assert_false(nodeusers_has(u, 2, 500));
    nodeusers_judge(u, is_no_bob, NULL);
    assert_true(nodeusers_has(u, 2, 500));
    nodeusers_free(u);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs_count),
        cmocka_unit_test(test_fewer_nodes),
        cmocka_unit_test(test_rights),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
