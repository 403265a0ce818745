/* test_tgwrite.c - blocks, topology files, options of nodes, labels */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "topograph/graphfinish.h"
#include "topograph/write/tgblocks.h"
#include "topograph/write/tglabels.h"
#include "topograph/write/topofile.h"

/* Domains of a list "d1/s1:n[1-2] d2:n[3-4]"; with tree every domain is a leaf below root. */
static struct graph *domains_of(const char *list, bool tree)
{
    const struct graph_finish how = { 0 };
    char copy[512], *rest = copy, *word;
    struct err err = { .text = "" };
    struct graph *g;

    (void)snprintf(copy, sizeof(copy), "%s", list);
    assert_int_equal(graph_new(&g), 0);
    while ((word = strsep(&rest, " "))) {
        _cleanup_(hostlist_free) struct hostlist *hl = NULL;
        char *nodes = strchr(word, ':'), *sub = strchr(word, '/');
        const char *tiers[2] = { word, "root" };

        *nodes++ = '\0';
        assert_int_equal(hostlist_parse(nodes, &hl, NULL), 0);
        if (sub && sub < nodes)
            *sub++ = '\0';
        else
            sub = NULL;
        for (size_t i = 0; i < hostlist_count(hl); i++) {
            uint32_t n;

            assert_int_equal(graph_add_node(g, hostlist_nth(hl, i), NULL, &n, &err), 0);
            assert_int_equal(graph_set_domain(g, n, word, sub, &err), 0);
            if (tree)
                assert_int_equal(graph_add_path(g, n, tiers, 2, &err), 0);
        }
    }
    if (graph_finish(g, &how, &err) < 0)
        fail_msg("%s", err.text);
    return g;
}

static const struct {
    const char *domains;
    bool tree;
    struct tgblocks_params p;
    const char *want; /* topology.conf without comments; NULL: refused */
    const char *say;
} layouts[] = {
    /* One level, nothing given: D, 2D, ... by the number of blocks; the smallest domain counts. */
    { "a:n[1-4] b:n[5-7]",
      false,
      { .nsizes = 0 },
      "BlockName=block001 Nodes=n[1-4]\nBlockName=block002 Nodes=n[5-7]\nBlockSizes=3,6\n",
      NULL },
    { "a:n[1-2] b:n[3-4] c:n[5-6]",
      false,
      { .nsizes = 0 },
      "BlockName=block001 Nodes=n[1-2]\nBlockName=block002 Nodes=n[3-4]\n"
      "BlockName=block003 Nodes=n[5-6]\nBlockSizes=2,4\n",
      NULL },
    /* By the tree's order where there is one, else by the domains' names. */
    { "z:n[1-2] a:n[3-4]",
      false,
      { .nsizes = 0 },
      "BlockName=block001 Nodes=n[3-4]\nBlockName=block002 Nodes=n[1-2]\nBlockSizes=2,4\n",
      NULL },
    /* One size: as many base blocks as nodes fill. */
    { "a:n[1-5] b:n[6-7]",
      false,
      { .sizes = { 4 }, .nsizes = 1 },
      "BlockName=block001 Nodes=n[1-4]\nBlockName=block002 Nodes=n5\n"
      "BlockName=block003 Nodes=n[6-7]\nBlockSizes=4\n",
      NULL },
    /* Several: every domain takes as many as the largest, and the end is filled. */
    { "a:n[1-5] b:n[6-7] c:n8",
      false,
      { .sizes = { 4, 8, 16 }, .nsizes = 3 },
      "BlockName=block001 Nodes=n[1-4]\nBlockName=block002 Nodes=n5\n"
      "BlockName=block003 Nodes=n[6-7]\nBlockName=block004\n"
      "BlockName=block005 Nodes=n8\nBlockName=block006\nBlockName=block007\nBlockName=block008\n"
      "BlockSizes=4,8,16\n",
      NULL },
    /* One that is larger than the last size does not make the others take more. */
    { "a:n[1-9] b:n[10-11]",
      false,
      { .sizes = { 2, 4 }, .nsizes = 2 },
      "BlockName=block001 Nodes=n[1-2]\nBlockName=block002 Nodes=n[3-4]\n"
      "BlockName=block003 Nodes=n[5-6]\nBlockName=block004 Nodes=n[7-8]\n"
      "BlockName=block005 Nodes=n9\nBlockName=block006 Nodes=n[10-11]\nBlockSizes=2,4\n",
      NULL },
    /* Two levels: sub-domains are base blocks. */
    { "a/a1:n[1-2] a/a2:n[3-4] a/a3:n5 b/b1:n[6-7]",
      false,
      { .nsizes = 0 },
      "BlockName=block001 Nodes=n[1-2]\nBlockName=block002 Nodes=n[3-4]\n"
      "BlockName=block003 Nodes=n5\nBlockName=block004\nBlockName=block005 Nodes=n[6-7]\n"
      "BlockName=block006\nBlockName=block007\nBlockName=block008\nBlockSizes=2,8\n",
      NULL },
    /* Names of blocks out of names of nodes; empty blocks keep theirs. */
    { "a:r1-n[1-2] b:r2-n1",
      false,
      { .sizes = { 2, 8 }, .nsizes = 2, .name_regexp = "^r([0-9]+)-n", .name_format = "rack${1}" },
      "BlockName=rack1 Nodes=r1-n[1-2]\nBlockName=rack2 Nodes=r2-n1\n"
      "BlockName=block003\nBlockName=block004\nBlockSizes=2,8\n",
      NULL },
    { "a:r1-n1,r2-n2",
      false,
      { .name_regexp = "^(r.)", .name_format = "$1" },
      NULL,
      "blockName: nodes of one block give two names, r1 and r2" },
    { "a:n1",
      false,
      { .name_regexp = "^(r.)", .name_format = "$1" },
      NULL,
      "blockName: node n1 does not match" },
    { "a:n1 b:n2",
      false,
      { .name_regexp = "n", .name_format = "x" },
      NULL,
      "blockName: two blocks are called x" },
    { "a:n1",
      false,
      { .name_regexp = "(n)", .name_format = "$2" },
      NULL,
      "blockName: $2 makes no name of node n1" },
    { "a:n1",
      false,
      { .name_regexp = "(n){900}{900}", .name_format = "$1" },
      NULL,
      "blockName: a pattern has at most 256 bytes, and no { or backslash" },
    { "a:n1",
      false,
      { .name_regexp = "(n", .name_format = "$1" },
      NULL,
      "blockName: (n is no regular expression" },
    { "a:n1",
      false,
      { .sizes = { 4, 6 }, .nsizes = 2 },
      NULL,
      "block size 6 is not the one before it (4) times 2, 4, 8 ..." },
    { "a:n1",
      false,
      { .sizes = { 4, 4 }, .nsizes = 2 },
      NULL,
      "block size 4 is not the one before it (4) times 2, 4, 8 ..." },
    { "a:n1", false, { .sizes = { 0 }, .nsizes = 1 }, NULL, "block size 0 is not from 1 to 65536" },
    { "a:n1",
      false,
      { .sizes = { 1, 65536 }, .nsizes = 2 },
      NULL,
      "block size 65536 is more than 32768 times the first one" },
};

/* Lines without those of comments. */
static void drop_comments(const char *text, struct strbuf *out)
{
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, "\n") + 1;

        if (*at != '#')
            strbuf_addn(out, at, n);
        at += n;
    }
}

static void test_layouts(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
        _cleanup_(graph_free) struct graph *g = domains_of(layouts[i].domains, layouts[i].tree);
        _cleanup_val_(strbuf_done) struct strbuf out = STRBUF_INIT, plain = STRBUF_INIT;
        struct topofile t = { "default", TOPOFILE_BLOCK, true, layouts[i].p, g, false };
        struct err err = { .text = "" };
        int r = topofile_conf(&t, &out, &err);

        if (!layouts[i].want) {
            assert_int_equal(r, -EINVAL);
            assert_string_equal(err.text, layouts[i].say);
            continue;
        }
        if (r < 0)
            fail_msg("%zu: %s", i, err.text);
        drop_comments(strbuf_str(&out), &plain);
        assert_string_equal(strbuf_str(&plain), layouts[i].want);
    }
}

/* Twelve racks of eight: aggregates up to the number of blocks. */
static void test_racks(void **state)
{
    struct graph *g;
    struct tgblocks b;
    struct tgblocks_params p = { 0 };
    struct strbuf list = STRBUF_INIT;

    (void)state;
    for (unsigned i = 11; i < 23; i++)
        strbuf_addf(&list, "%sr%u:n[%u01-%u08]", i > 11 ? " " : "", i, i, i);
    g = domains_of(strbuf_str(&list), true);
    assert_int_equal(tgblocks_make(g, &p, &b, NULL), 0);
    assert_int_equal(b.n, 12);
    assert_int_equal(b.nsizes, 4);
    assert_int_equal(b.sizes[0], 8);
    assert_int_equal(b.sizes[3], 64);
    assert_string_equal(b.items[0].domain, "r11");
    tgblocks_done(&b);
    strbuf_done(&list);
    graph_free(g);
}

static void test_tree(void **state)
{
    _cleanup_(graph_free) struct graph *g = domains_of("leaf1:n[1-2] leaf2:n3", true);
    _cleanup_val_(strbuf_done) struct strbuf out = STRBUF_INIT;
    struct topofile t = { .name = "default", .plugin = TOPOFILE_TREE, .graph = g };

    (void)state;
    assert_int_equal(topofile_conf(&t, &out, NULL), 0);
    assert_string_equal(strbuf_str(&out), "SwitchName=root Switches=leaf[1-2]\n"
                                          "SwitchName=leaf1 Nodes=n[1-2]\n"
                                          "SwitchName=leaf2 Nodes=n3\n");
}

static void test_yaml(void **state)
{
    _cleanup_(graph_free) struct graph *g = domains_of("a:n[1-2] b:n[3-4]", true);
    _cleanup_val_(strbuf_done) struct strbuf out = STRBUF_INIT;
    const struct topofile list[] = {
        { .name = "tree", .plugin = TOPOFILE_TREE, .graph = g },
        { .name = "blocks", .plugin = TOPOFILE_BLOCK, .cluster_default = true, .graph = g },
        { .name = "no", .plugin = TOPOFILE_FLAT, .graph = g },
        { .name = "skeleton", .plugin = TOPOFILE_TREE, .graph = g, .skeleton = true },
    };

    (void)state;
    assert_int_equal(topofile_yaml(list, ARRAY_SIZE(list), &out, NULL), 0);
    assert_string_equal(strbuf_str(&out), "---\n"
                                          "- topology: blocks\n"
                                          "  cluster_default: true\n"
                                          "  block:\n"
                                          "    block_sizes: [2,4]\n"
                                          "    blocks:\n"
                                          "      # block001=a\n"
                                          "      - block: block001\n"
                                          "        nodes: n[1-2]\n"
                                          "      # block002=b\n"
                                          "      - block: block002\n"
                                          "        nodes: n[3-4]\n"
                                          "- topology: \"no\"\n"
                                          "  cluster_default: false\n"
                                          "  flat: true\n"
                                          "- topology: skeleton\n"
                                          "  cluster_default: false\n"
                                          "  tree:\n"
                                          "    switches:\n"
                                          "      - switch: root\n"
                                          "- topology: tree\n"
                                          "  cluster_default: false\n"
                                          "  tree:\n"
                                          "    switches:\n"
                                          "      - switch: root\n"
                                          "        children: a,b\n"
                                          "      - switch: a\n"
                                          "        nodes: n[1-2]\n"
                                          "      - switch: b\n"
                                          "        nodes: n[3-4]\n");
}

static void test_units(void **state)
{
    _cleanup_(graph_free) struct graph *g = domains_of("a:n[1-2] b:n[3-4]", true);
    _cleanup_val_(strbuf_done) struct strbuf out = STRBUF_INIT;
    const struct topofile list[] = {
        { .name = "default", .plugin = TOPOFILE_TREE, .graph = g },
        { .name = "nvl", .plugin = TOPOFILE_BLOCK, .graph = g },
        { .name = "f", .plugin = TOPOFILE_FLAT, .graph = g },
    };
    struct topofile_units u;

    (void)state;
    assert_int_equal(topofile_units(g, list, ARRAY_SIZE(list), &u, NULL), 0);
    assert_int_equal(topofile_nodes(g, &u, &out, NULL), 0);
    topofile_units_done(&u);
    assert_string_equal(strbuf_str(&out), "NodeName=n[1-2] Topology=default:root:a,nvl:block001\n"
                                          "NodeName=n[3-4] Topology=default:root:b,nvl:block002\n");
}

static void test_missing(void **state)
{
    _cleanup_(graph_free) struct graph *g = domains_of("a:n1", false);
    _cleanup_val_(strbuf_done) struct strbuf out = STRBUF_INIT;
    struct topofile t = { .name = "default", .plugin = TOPOFILE_TREE, .graph = g };
    enum topofile_plugin plugin;
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(topofile_conf(&t, &out, &err), -EINVAL);
    assert_string_equal(err.text, "topology/tree needs switches, and nothing tells of any");
    g->nodes[0].domain = NULL;
    t.plugin = TOPOFILE_BLOCK;
    assert_int_equal(topofile_conf(&t, &out, &err), -EINVAL);
    assert_string_equal(err.text, "topology/block needs accelerator domains, and no node has one");
    assert_true(topofile_plugin("topology/block", &plugin) && plugin == TOPOFILE_BLOCK);
    assert_true(topofile_plugin("flat", &plugin) && plugin == TOPOFILE_FLAT);
    assert_false(topofile_plugin("topology/cube", &plugin));
    assert_string_equal(topofile_plugin_name(TOPOFILE_TREE), "topology/tree");
}

static void test_labels(void **state)
{
    const struct tglabels_params p = { .tiers = { "x/leaf" }, .ntiers = 1 };
    _cleanup_(graph_free) struct graph *g = domains_of("a_:n1", true);
    _cleanup_val_(strbuf_done) struct strbuf out = STRBUF_INIT;

    (void)state;
    assert_int_equal(tglabels_kubernetes(g, &p, &out, NULL), 0);
    /* A value ends with a letter or a digit; the hash is FNV-1a of "a_". */
    assert_string_equal(strbuf_str(&out), "{\n"
                                          "  \"nodes\": [\n"
                                          "    {\n"
                                          "      \"name\": \"n1\",\n"
                                          "      \"labels\": {\n"
                                          "        \"x/leaf\": \"x089c2907b5456a89\",\n"
                                          "        \"fabric.topograph.run/tier-1\": \"root\",\n"
                                          "        \"accelerator.topograph.run/domain\": "
                                          "\"x089c2907b5456a89\"\n"
                                          "      }\n"
                                          "    }\n"
                                          "  ]\n"
                                          "}\n");
    strbuf_reset(&out);
    assert_int_equal(tglabels_instances(g, &out, NULL), 0);
    assert_non_null(
        strstr(strbuf_str(&out), "\"network_layers\": [\n        \"a_\",\n        \"root\"\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts), cmocka_unit_test(test_racks),
        cmocka_unit_test(test_tree),    cmocka_unit_test(test_yaml),
        cmocka_unit_test(test_units),   cmocka_unit_test(test_missing),
        cmocka_unit_test(test_labels),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
