/* test_fabric.c - cables to trees: fat trees, rails, lost cables; and the graph that comes out */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topograph/fabric.h"
#include "topograph/graph.h"
#include "topograph/graphfinish.h"
#include "topograph/graphpool.h"

static uint32_t add_switch(struct fabric *f, const char *fmt, unsigned a, unsigned b)
{
    char id[64];
    uint32_t sw;

    (void)snprintf(id, sizeof(id), fmt, a, b);
    assert_int_equal(fabric_add_switch(f, id, NULL, &sw, NULL), 0);
    return sw;
}

static uint32_t add_host(struct fabric *f, unsigned i)
{
    char id[64];
    uint32_t host;

    (void)snprintf(id, sizeof(id), "n%03u", i);
    assert_int_equal(fabric_add_host(f, id, NULL, &host, NULL), 0);
    return host;
}

static struct graph *built(struct fabric *f)
{
    const struct graph_finish how = { 0 };
    struct err err = { .text = "" };
    struct graph *g;

    assert_int_equal(graph_new(&g), 0);
    if (fabric_build(f, g, &err) < 0 || graph_finish(g, &how, &err) < 0)
        fail_msg("%s", err.text);
    fabric_free(f);
    return g;
}

enum { PODS = 4, RAILS = 4, HOSTS = 8, AGGREGATES = 3, CORES = 6 };

/* Pods of HOSTS hosts on RAILS leaf switches, AGGREGATES switches above them, CORES cores; a cable
 * of `lost` (pod, host, rail) is left out. */
static struct fabric *rail_fabric(const unsigned (*lost)[3], size_t nlost)
{
    struct fabric *f;

    assert_int_equal(fabric_new(&f), 0);
    for (unsigned p = 0; p < PODS; p++) {
        for (unsigned r = 0; r < RAILS; r++) {
            uint32_t leaf = add_switch(f, "leaf-%u-%u", p, r);

            for (unsigned h = 0; h < HOSTS; h++) {
                bool is_lost = false;

                for (size_t i = 0; i < nlost; i++)
                    is_lost = is_lost || (lost[i][0] == p && lost[i][1] == h && lost[i][2] == r);
                if (!is_lost)
                    assert_int_equal(fabric_plug(f, add_host(f, p * HOSTS + h), leaf, NULL), 0);
            }
            for (unsigned a = 0; a < AGGREGATES; a++)
                assert_int_equal(fabric_link(f, leaf, add_switch(f, "agg-%u-%u", p, a), NULL), 0);
        }
        for (unsigned a = 0; a < AGGREGATES; a++)
            for (unsigned c = 0; c < CORES; c++)
                assert_int_equal(fabric_link(f, add_switch(f, "agg-%u-%u", p, a),
                                             add_switch(f, "core-%u", c, 0), NULL),
                                 0);
    }
    return f;
}

static void check_pods(const struct graph *g)
{
    assert_int_equal(g->nswitches, 1 + PODS + PODS);
    assert_string_equal(g->switches[0].name, "core-0");
    assert_int_equal(g->switches[0].level, 3);
    assert_int_equal(g->switches[0].nchildren, PODS);
    for (unsigned p = 0; p < PODS; p++) {
        const struct graph_switch *agg = &g->switches[1 + p], *leaf = &g->switches[1 + PODS + p];
        char name[32];

        (void)snprintf(name, sizeof(name), "agg-%u-0", p);
        assert_string_equal(agg->name, name);
        assert_int_equal(agg->level, 2);
        (void)snprintf(name, sizeof(name), "leaf-%u-0", p);
        assert_string_equal(leaf->name, name);
        assert_int_equal(leaf->parent, 1 + p);
        assert_int_equal(leaf->nnodes, HOSTS);
        assert_int_equal(leaf->first_node, p * HOSTS);
    }
}

static void test_rails(void **state)
{
    struct graph *g = built(rail_fabric(NULL, 0));

    (void)state;
    check_pods(g);
    assert_int_equal(g->nnotes, 0);
    graph_free(g);
}

/* A node that lost cables stays with its group, as long as it has one. */
static void test_lost_cables(void **state)
{
    static const unsigned lost[][3] = {
        { 0, 0, 0 }, { 0, 1, 2 }, { 2, 7, 1 }, { 2, 7, 2 }, { 2, 7, 3 }
    };
    struct graph *g = built(rail_fabric(lost, ARRAY_SIZE(lost)));

    (void)state;
    check_pods(g);
    graph_free(g);
}

/* A cable into another pod does not make one pod of two; its node is told of. */
static void test_wrong_cable(void **state)
{
    struct fabric *f = rail_fabric(NULL, 0);
    struct graph *g;

    (void)state;
    assert_int_equal(fabric_plug(f, add_host(f, 0), add_switch(f, "leaf-%u-%u", 1, 1), NULL), 0);
    g = built(f);
    check_pods(g);
    assert_int_equal(g->nnotes, 1);
    assert_non_null(strstr(strbuf_str(&g->notes), "1 nodes have cables to several groups"));
    graph_free(g);
}

/* Leaf switches that nothing joins are trees of their own; switches without nodes are left out. */
static void test_islands(void **state)
{
    struct fabric *f;
    struct graph *g;

    (void)state;
    assert_int_equal(fabric_new(&f), 0);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(fabric_plug(f, add_host(f, i), add_switch(f, "leaf-%u", i, 0), NULL), 0);
    assert_int_equal(
        fabric_link(f, add_switch(f, "far-%u", 0, 0), add_switch(f, "far-%u", 1, 0), NULL), 0);
    g = built(f);
    assert_int_equal(g->nswitches, 3);
    for (unsigned i = 0; i < 3; i++)
        assert_true(g->switches[i].parent == GRAPH_NONE && g->switches[i].nnodes == 1);
    graph_free(g);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static struct graph *tree_of(const char *const *paths, size_t n, const struct graph_finish *how)
{
    struct graph *g;
    struct err err = { .text = "" };

    assert_int_equal(graph_new(&g), 0);
    for (size_t i = 0; i < n; i++) { /* node leaf ... root */
        char copy[128], *rest = copy, *tiers[8], *name;
        size_t k = 0;
        uint32_t node;

        (void)snprintf(copy, sizeof(copy), "%s", paths[i]);
        name = strsep(&rest, " ");
        while (rest && k < ARRAY_SIZE(tiers))
            tiers[k++] = strsep(&rest, " ");
        assert_int_equal(graph_add_node(g, name, NULL, &node, &err), 0);
        assert_int_equal(graph_add_path(g, node, (const char *const *)tiers, k, &err), 0);
    }
    if (graph_finish(g, how, &err) < 0)
        fail_msg("%s", err.text);
    return g;
}

static const char *const three[] = { "n2 leaf:1 spine root", "n10 leaf:1 spine root",
                                     "n1 leaf:2 spine root", "n3 top root" };

static void test_trim(void **state)
{
    const struct graph_finish one = { .trim_tiers = 1 }, two = { .trim_tiers = 2 };
    struct graph *g = tree_of(three, ARRAY_SIZE(three), &one);

    (void)state;
    assert_int_equal(g->nswitches, 4); /* spine, top and two leaves */
    assert_string_equal(g->switches[0].name, "spine");
    assert_string_equal(g->switches[1].name, "top");
    graph_free(g);
    g = tree_of(three, ARRAY_SIZE(three), &two);
    assert_int_equal(g->nswitches, 3);                  /* what has nodes stays */
    assert_string_equal(g->switches[0].name, "leaf-1"); /* a colon parts units elsewhere */
    assert_string_equal(g->switches[0].id, "leaf:1");
    assert_string_equal(g->nodes[0].name, "n2"); /* natural order */
    assert_string_equal(g->nodes[1].name, "n10");
    graph_free(g);
}

static void test_normalise(void **state)
{
    const struct graph_finish how = { .normalise = true };
    struct graph *g = tree_of(three, ARRAY_SIZE(three), &how);

    (void)state;
    assert_string_equal(g->switches[0].name, "switch.3.1");
    assert_string_equal(g->switches[0].id, "root");
    assert_string_equal(g->switches[1].name, "switch.2.1");
    assert_string_equal(g->switches[2].name, "switch.1.1");
    assert_string_equal(g->switches[2].id, "top");
    graph_free(g);
}

/* Nodes beside switches get a switch of their own. */
static void test_mixed(void **state)
{
    static const char *const paths[] = { "n1 leaf root", "n2 root" };
    const struct graph_finish how = { 0 };
    struct graph *g = tree_of(paths, ARRAY_SIZE(paths), &how);

    (void)state;
    assert_int_equal(g->nswitches, 3);
    assert_string_equal(g->switches[2].name, "root.nodes");
    assert_int_equal(g->switches[2].nnodes, 1);
    assert_int_equal(g->switches[0].nnodes, 0);
    graph_free(g);
}

/* The same parts in any order are the same graph. */
static void test_canonical(void **state)
{
    const struct graph_finish how = { 0 };
    const char *shuffled[ARRAY_SIZE(three)] = { three[3], three[1], three[2], three[0] };
    struct graph *a = tree_of(three, ARRAY_SIZE(three), &how);
    struct graph *b = tree_of(shuffled, ARRAY_SIZE(shuffled), &how);

    (void)state;
    assert_int_equal(a->nswitches, b->nswitches);
    for (size_t i = 0; i < a->nswitches; i++)
        assert_string_equal(a->switches[i].id, b->switches[i].id);
    for (size_t i = 0; i < a->nnodes; i++)
        assert_string_equal(a->nodes[i].id, b->nodes[i].id);
    graph_free(a);
    graph_free(b);
}

static void test_subset(void **state)
{
    const struct graph_finish how = { 0 };
    struct graph *g = tree_of(three, ARRAY_SIZE(three), &how), *sub;
    bool keep[ARRAY_SIZE(three)] = { false };

    (void)state;
    keep[graph_find_node(g, "n1")] = true;
    assert_int_equal(graph_subset(g, keep, &sub, NULL), 0);
    assert_int_equal(sub->nnodes, 1);
    assert_int_equal(sub->nswitches, 3);
    assert_string_equal(sub->switches[2].name, "leaf-2");
    graph_free(sub);
    graph_free(g);
}

static void test_limits(void **state)
{
    char longest[GRAPH_NAME_MAX + 2];
    struct err err = { .text = "" };
    struct graph_wanted w = { 0 };
    struct graph *g;
    uint32_t i;

    (void)state;
    memset(longest, 'n', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_int_equal(graph_new(&g), 0);
    assert_int_equal(graph_add_node(g, longest, NULL, &i, &err), -EINVAL);
    assert_int_equal(graph_add_node(g, "", NULL, &i, &err), -EINVAL);
    assert_int_equal(graph_add_switch(g, "a\nb", NULL, &i, &err), -EINVAL);
    assert_string_equal(err.text, "switch: a name with a control character");
    assert_int_equal(graph_wanted_add(&w, "i", "n", &err), 0);
    assert_int_equal(graph_wanted_add(&w, "i", "m", &err), -EINVAL);
    assert_string_equal(err.text, "instance i stands twice");
    assert_int_equal(graph_wanted_add(&w, "k", "n", &err), -EINVAL);
    assert_string_equal(err.text, "node n stands twice");
    assert_string_equal(graph_wanted_name(&w, "i"), "n");
    assert_string_equal(graph_wanted_id(&w, "n"), "i");
    assert_null(graph_wanted_name(&w, "k"));
    graph_wanted_done(&w);
    graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rails),       cmocka_unit_test(test_lost_cables),
        cmocka_unit_test(test_wrong_cable), cmocka_unit_test(test_islands),
        cmocka_unit_test(test_trim),        cmocka_unit_test(test_normalise),
        cmocka_unit_test(test_mixed),       cmocka_unit_test(test_canonical),
        cmocka_unit_test(test_subset),      cmocka_unit_test(test_limits),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
