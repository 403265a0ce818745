/* test_topo.c - descriptions of topologies: what is copied, what is refused */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "sched/topo/topo.h"
#include "sched/topo/topowhy.h"

static const uint32_t low[] = { 0, 1, 2, 3 }, high[] = { 4, 5, 6, 7 };

static void test_copies(void **state)
{
    uint32_t sizes[] = { 4, 8 }, nodes[] = { 5, 4 };
    char name[] = "b1";
    struct topo_unit_spec units[] = {
        { .name = name, .nodes = low, .nnodes = 4 },
        { .name = "gap" },
        { .name = "b3", .nodes = nodes, .nnodes = 2 },
    };
    struct topo_spec spec = { .name = "default",
                              .kind = TOPO_BLOCK,
                              .units = units,
                              .nunits = 3,
                              .block_sizes = sizes,
                              .nblock_sizes = 2 };
    _cleanup_(topo_free) struct topo *t = NULL;
    const struct topo_spec *got;

    (void)state;
    assert_int_equal(topo_new(&spec, &t, NULL), 0);
    memset(name, 'x', 2);
    memset(sizes, 0, sizeof(sizes));
    memset(nodes, 0, sizeof(nodes));
    memset(units, 0, sizeof(units));
    got = topo_get_spec(t);
    assert_string_equal(got->name, "default");
    assert_string_equal(got->units[0].name, "b1");
    assert_int_equal(got->units[1].nnodes, 0);
    assert_int_equal(got->units[2].nodes[0], 5);
    assert_int_equal(got->block_sizes[1], 8);
    assert_int_equal(topo_unit_of(t, 3), 0);
    assert_int_equal(topo_position_of(t, 3), 3);
    assert_int_equal(topo_unit_of(t, 4), 2);
    assert_int_equal(topo_position_of(t, 4), 1);
    assert_int_equal(topo_unit_of(t, 6), TOPO_NONE);
    assert_int_equal(topo_node_limit(t), 6);
    assert_int_equal(topo_level(t, 0), 0);
    assert_int_equal(topo_parent(t, 0), TOPO_NONE);
}

static void test_levels(void **state)
{
    static const uint32_t leaves[] = { 0, 1 }, top[] = { 3, 2 };
    const struct topo_unit_spec units[] = {
        { .name = "s0", .nodes = low, .nnodes = 4 },
        { .name = "s1", .nodes = high, .nnodes = 4 },
        { .name = "empty" },
        { .name = "s3", .children = leaves, .nchildren = 2 },
        { .name = "root", .children = top, .nchildren = 2 },
    };
    struct topo_spec spec = { .name = "t", .kind = TOPO_TREE, .units = units, .nunits = 5 };
    _cleanup_(topo_free) struct topo *t = NULL;

    (void)state;
    assert_int_equal(topo_new(&spec, &t, NULL), 0);
    assert_int_equal(topo_level(t, 0), 0);
    assert_int_equal(topo_level(t, 3), 1);
    assert_int_equal(topo_level(t, 4), 2);
    assert_int_equal(topo_parent(t, 1), 3);
    assert_int_equal(topo_parent(t, 2), 4);
    assert_int_equal(topo_parent(t, 4), TOPO_NONE);
}

static void test_sizes_of_first_block(void **state)
{
    const struct topo_unit_spec units[] = { { .name = "gap" },
                                            { .name = "b", .nodes = low, .nnodes = 3 } };
    struct topo_spec spec = { .name = "t", .kind = TOPO_BLOCK, .units = units, .nunits = 2 };
    _cleanup_(topo_free) struct topo *t = NULL;

    (void)state;
    assert_int_equal(topo_new(&spec, &t, NULL), 0);
    assert_int_equal(topo_get_spec(t)->nblock_sizes, 5);
    assert_int_equal(topo_get_spec(t)->block_sizes[0], 3);
    assert_int_equal(topo_get_spec(t)->block_sizes[4], 48);
}

static void test_refuses(void **state)
{
    static const uint32_t self[] = { 0 }, other[] = { 1 }, none[] = { 7 }, sizes[] = { 4, 12 };
    static const uint32_t many[17];
    const struct topo_unit_spec both = {
        .name = "s", .nodes = low, .nnodes = 1, .children = other, .nchildren = 1
    };
    const struct {
        enum topo_kind kind;
        struct topo_unit_spec units[2];
        size_t nunits, nsizes;
        const char *why;
    } cases[] = {
        { TOPO_TREE, { both, { .name = "x" } }, 2, 0, "switch s has both nodes and switches" },
        { TOPO_TREE,
          { { .name = "s", .children = self, .nchildren = 1 } },
          1,
          0,
          "switch s has a child that is no other switch" },
        { TOPO_TREE,
          { { .name = "s", .children = none, .nchildren = 1 } },
          1,
          0,
          "switch s has a child that is no other switch" },
        { TOPO_TREE,
          { { .name = "a", .children = other, .nchildren = 1 },
            { .name = "b", .children = self, .nchildren = 1 } },
          2,
          0,
          "switch b is part of a loop, or above more than 20 levels" },
        { TOPO_BLOCK, { { .name = "b" } }, 1, 2, "block size 12 is not 4 x 2^k" },
        { TOPO_RING,
          { { .name = "r", .nodes = many, .nnodes = 17 } },
          1,
          0,
          "ring r has 17 nodes, more than 16" },
        { TOPO_TORUS,
          { { .name = "p", .nodes = low, .nnodes = 4, .dims = { 2, 1, 1 } } },
          1,
          0,
          "torus p has 4 places, its dimensions make 2" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct topo_spec spec = { .name = "t",
                                  .kind = cases[i].kind,
                                  .units = cases[i].units,
                                  .nunits = cases[i].nunits,
                                  .block_sizes = sizes,
                                  .nblock_sizes = cases[i].nsizes };
        struct topo *t = NULL;
        struct err err = { "" };

        assert_int_equal(topo_new(&spec, &t, &err), -EINVAL);
        assert_null(t);
        assert_string_equal(err.text, cases[i].why);
    }
}

static void test_texts(void **state)
{
    (void)state;
    assert_null(topo_why_text(TOPO_WHY_NONE));
    assert_string_equal(topo_why_text(TOPO_WHY_NO_UNIT), "No suitable topology unit found");
    for (int w = TOPO_WHY_NONE + 1; w <= TOPO_WHY_NEVER; w++)
        assert_non_null(topo_why_text((enum topo_why)w));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_sizes_of_first_block),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_texts),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
