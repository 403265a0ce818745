/* test_nodeusers.c - for which users a node may vouch */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ctld/node/nodeusers.h"

static const uint32_t two[] = { 1, 2 }, one[] = { 2 };
static const struct nodeuser root = { 0, 0, "root" }, ann = { 500, 50, "ann" },
                             ann_as_staff = { 500, 51, "ann" }, bob = { 501, 50, "bob" };
static uint32_t gid;

static void test_jobs_count(void **state)
{
    struct nodeusers *u = nodeusers_new();

    nodeusers_hold(u, 10, &ann, two, 2, true);
    nodeusers_hold(u, 11, &ann, one, 1, true);
    assert_true(nodeusers_has(u, 1, 500, &gid) && nodeusers_has(u, 2, 500, &gid));
    assert_false(nodeusers_has(u, 0, 500, &gid));
    assert_false(nodeusers_has(u, 1, 501, &gid));
    nodeusers_drop(u, 10);
    nodeusers_drop(u, 10); /* twice is once */
    assert_false(nodeusers_has(u, 1, 500, &gid));
    assert_true(nodeusers_has(u, 2, 500, &gid)); /* the other job */
    nodeusers_drop(u, 11);
    assert_false(nodeusers_has(u, 2, 500, &gid));
    nodeusers_free(u);
}

/* Of the first job there, until the user has none. */
static void test_groups(void **state)
{
    struct nodeusers *u = nodeusers_new();

    (void)state;
    nodeusers_hold(u, 10, &ann, one, 1, true);
    nodeusers_hold(u, 11, &ann_as_staff, two, 2, true);
    assert_true(nodeusers_has(u, 2, 500, &gid) && gid == 50);
    assert_true(nodeusers_has(u, 1, 500, &gid) && gid == 51);
    nodeusers_drop(u, 10);
    nodeusers_drop(u, 11);
    nodeusers_hold(u, 12, &ann_as_staff, one, 1, true);
    assert_true(nodeusers_has(u, 2, 500, &gid) && gid == 51);
    nodeusers_free(u);
}

/* A job that loses a node holds the others. */
static void test_fewer_nodes(void **state)
{
    struct nodeusers *u = nodeusers_new();

    nodeusers_hold(u, 10, &ann, two, 2, true);
    nodeusers_hold(u, 10, &ann, two, 2, true);
    nodeusers_hold(u, 10, &ann, one, 1, true);
    assert_false(nodeusers_has(u, 1, 500, &gid));
    assert_true(nodeusers_has(u, 2, 500, &gid));
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

    nodeusers_hold(u, 1, &root, one, 1, false);
    nodeusers_hold(u, 2, &ann, one, 1, true);
    nodeusers_hold(u, 3, &bob, one, 1, true);
    assert_false(nodeusers_has(u, 2, 0, &gid));
    nodeusers_judge(u, is_no_bob, NULL);
    assert_true(nodeusers_has(u, 2, 500, &gid));
    assert_false(nodeusers_has(u, 2, 501, &gid));
    nodeusers_judge(u, is_no_bob, &all);
    assert_false(nodeusers_has(u, 2, 500, &gid));
    nodeusers_judge(u, is_no_bob, NULL);
    assert_true(nodeusers_has(u, 2, 500, &gid));
    nodeusers_free(u);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs_count),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_fewer_nodes),
        cmocka_unit_test(test_rights),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
