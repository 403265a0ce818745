/* test_toposet.c - memberships of nodes; what is shown; addresses, ranks, functions */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "conf/topo/conf_topo.h"
#include "feed/topologies.h"
#include "feed/topomember.h"
#include "feed/toposet.h"
#include "feed/topoorder.h"
#include "feed/toposhow.h"
#include "feed/topoyaml.h"

#define NODES 16u

static const char yaml[] =
    "- topology: T\n  tree:\n    switches:\n    - {switch: root, children: 'mid,lone'}\n"
    "    - {switch: mid, children: 'leaf[1-2]'}\n    - {switch: lone, nodes: 'n[9-12]'}\n"
    "    - {switch: leaf1, nodes: 'n[5-8]'}\n    - {switch: leaf2, nodes: 'n[1-4]'}\n"
    "- topology: B\n  block:\n    block_sizes: [2, 4, 8]\n    blocks:\n"
    "    - {block: b1, nodes: 'n[1-2]'}\n    - {block: b2, nodes: 'n[3-4]'}\n    - {block: gap}\n"
    "    - {block: b4, nodes: 'n[5-6]'}\n    - {block: b5, nodes: 'n[7-8]'}\n"
    "- topology: R\n  ring:\n    rings:\n    - {ring: r0, nodes: 'n8,n7,n6,n5,n4,n3,n2,n1'}\n"
    "- topology: X\n  torus3d:\n    toruses:\n    - name: p\n      dims: {x: 4, y: 2, z: 2}\n"
    "      nodes: n[1-16]\n      placements:\n      - {dims: {x: 3, y: 1, z: 1}, anchor_spacing: "
    "{x: 3, y: 2, z: 1}}\n";

struct cluster_of { /* what a test works on */
    struct conf *conf;
    struct conf_topos *files;
    struct toposet *set;
    char names[NODES][8];
};

/* n1 has id 0. */
static uint32_t id_of(void *arg, const char *name)
{
    unsigned long n = strtoul(name + 1, NULL, 10);

    (void)arg;
    return name[0] == 'n' && n >= 1 && n <= NODES ? (uint32_t)n - 1 : TOPO_NONE;
}

static void make(struct cluster_of *c, const char *text)
{
    static const char slurm[] = "ClusterName=c\nSlurmctldHost=h\nNodeName=n[1-16] CPUs=1\n"
                                "PartitionName=p Nodes=ALL\n";
    struct conf_text conf = { .name = "slurm.conf", .text = slurm, .len = sizeof(slurm) - 1 };
    struct conf_text file = { .name = "topology.yaml", .text = text, .len = strlen(text) };
    struct err err = { .text = "" };

    *c = (struct cluster_of){ .conf = NULL };
    assert_int_equal(conf_load_text(&conf, 1, CONF_FULL, &c->conf, NULL, &err), 0);
    if (conf_topos_load_text(c->conf, &file, 1, &c->files, NULL, &err) < 0)
        fail_msg("%s", err.text);
    c->set = toposet_new(c->files, c->conf, id_of, NULL);
    for (unsigned i = 0; i < NODES; i++)
        (void)snprintf(c->names[i], sizeof(c->names[i]), "n%u", i + 1);
}

static void done(struct cluster_of *c)
{
    toposet_free(c->set);
    conf_topos_free(c->files);
    conf_free(c->conf);
}

static struct topologies *publish(struct cluster_of *c)
{
    const struct topo_spec *specs;
    size_t n = toposet_specs(c->set, &specs);
    struct topo_source sources[8] = { { .is_default = false } };
    const char *names[NODES];
    struct topologies *t = NULL;
    struct err err = { .text = "" };

    for (size_t i = 0; i < n; i++)
        sources[i].units = toposet_file_units(c->set, i);
    for (unsigned i = 0; i < NODES; i++)
        names[i] = c->names[i];
    if (topologies_new(specs, n, sources, true, names, NODES, &t, &err) < 0)
        fail_msg("%s", err.text);
    return t;
}

/* "name: nodes [children]" of each unit, at newlines. */
static char *shown(struct cluster_of *c, const char *topology)
{
    struct topologies *t = publish(c);
    Pst__TopologyReply *r = NULL;
    struct strbuf sb = STRBUF_INIT;
    char *text = NULL;

    assert_int_equal(toposhow_reply(t, topology, &r), 0);
    for (size_t i = 0; i < r->n_units; i++)
        strbuf_addf(
            &sb, "%s:%s%s%s\n", r->units[i]->name, r->units[i]->nodes ? r->units[i]->nodes : "",
            r->units[i]->children ? " > " : "", r->units[i]->children ? r->units[i]->children : "");
    assert_int_equal(strbuf_detach(&sb, &text), 0);
    pst__topology_reply__free_unpacked(r, NULL);
    topologies_unref(t);
    return text;
}

static void expect(struct cluster_of *c, const char *topology, const char *want)
{
    char *text = shown(c, topology);

    assert_string_equal(text, want);
    free(text);
}

#define TREE_BEGIN "root:n[1-12] > mid,lone\nmid:n[1-8] > leaf[1-2]\nlone:n[9-12]\n"
#define BLOCKS "b1:n[1-2]\nb2:n[3-4]\ngap:\nb4:n[5-6]\nb5:n[7-8]\n"

static void test_files(void **state)
{
    struct cluster_of c;

    (void)state;
    make(&c, yaml);
    expect(&c, NULL, TREE_BEGIN "leaf1:n[5-8]\nleaf2:n[1-4]\n");
    /* the pair that would begin with b5 is no larger than b5, the four that would is neither */
    expect(&c, "B", BLOCKS "b[1-2]:n[1-4]\ngap,b4:n[5-6]\nb[1-2],gap,b4:n[1-6]\n");
    expect(&c, "X", "p:n[1-16]\n");
    done(&c);
}

static const struct {
    const char *text, *full; /* full NULL: refused */
} joins[] = {
    { "", "" },
    { "B:b1", "B:b1" },
    { "B:gap,R:r0:2", "B:gap,R:r0:2" },
    { "T:leaf2", "T:root:mid:leaf2" },
    { "T:mid:leaf2", "T:root:mid:leaf2" },
    { "T:root:new", "T:root:new" },
    { "T:mid:a:b", "T:root:mid:a:b" },
    { "X:p:3:1:1,,", "X:p:3:1:1" }, /* its own cell */
    { "R:r1:0", "R:r1:0" },
    { "R:r0:15", "R:r0:0" }, /* behind the end */
    { "B:zz", NULL },
    { "B", NULL },
    { "B:", NULL },
    { "B:b1:b2", NULL },
    { "B:b1,B:b2", NULL },
    { "Z:b1", NULL },
    { "T:mid", NULL },           /* no leaf */
    { "T:nowhere:leaf1", NULL }, /* the first must be there */
    { "T:root:leaf1", NULL },    /* it is below mid */
    { "T:leaf1:x", NULL },       /* leaf1 has nodes */
    { "T:root:x:x", NULL },
    { "T:root:x:mid", NULL },
    { "R:r0:16", NULL },
    { "R:r0:-1", NULL },
    { "R:r1:1", NULL },
    { "R:r0", NULL },
    { "X:p:0:0:0", NULL }, /* taken */
    { "X:p:4:0:0", NULL },
    { "X:p:3:1", NULL },
    { "X:q:3:1:1", NULL },
    { "B:b1,X:p:0:0:0", NULL }, /* all or nothing */
};

static void test_joins(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(joins); i++) {
        struct cluster_of c;
        struct err err = { .text = "" };
        char *full = NULL, *before, *after;
        int r;

        make(&c, yaml);
        before = shown(&c, "B");
        r = toposet_join(c.set, 15, joins[i].text, &full, &err);
        after = shown(&c, "B");
        if (joins[i].full && (r < 0 || strcmp(full, joins[i].full) != 0))
            fail_msg("%s: %s %s", joins[i].text, full ? full : "", err.text);
        if (!joins[i].full && (r != -EINVAL || !err.text[0] || strcmp(before, after) != 0))
            fail_msg("%s is not refused", joins[i].text);
        free(full);
        free(before);
        free(after);
        done(&c);
    }
}

static void test_moves(void **state)
{
    struct cluster_of c;

    (void)state;
    make(&c, yaml);
    assert_int_equal(toposet_join(c.set, 0, "R:r0:3,B:b5,T:root:new", NULL, NULL), 0);
    expect(&c, "R", "r0:n[8,7,6,1,5,4,3,2]\n");
    expect(&c, "T",
           "root:n[1-12] > mid,lone,new\nmid:n[2-8] > leaf[1-2]\nlone:n[9-12]\n"
           "leaf1:n[5-8]\nleaf2:n[2-4]\nnew:n1\n");
    expect(&c, "X", "p:n[2-16]\n");
    toposet_leave(c.set, 0);
    expect(&c, "R", "r0:n[8,7,6,5,4,3,2]\n");
    assert_int_equal(toposet_join(c.set, 4, "X:p:0:0:0", NULL, NULL), 0); /* n1 has left it */
    for (uint32_t i = 8; i < 16; i++)
        assert_int_equal(toposet_join(c.set, i, "R:r0:0", NULL, NULL), 0);
    assert_int_equal(toposet_join(c.set, 0, "R:r0:0", NULL, NULL), 0); /* n5 left, it is the 15th */
    assert_int_equal(toposet_join(c.set, 4, "R:r0:0", NULL, NULL), 0);
    done(&c);
}

static const struct {
    const char *topology; /* which is the default */
    uint32_t node;
    const char *address, *pattern;
} addresses[] = {
    { "T", 0, "root.mid.leaf2.n1", "switch.switch.switch.node" },
    { "T", 8, "root..lone.n9", "switch.switch.switch.node" },
    { "T", 15, "...n16", "switch.switch.switch.node" },
    { "B", 4, "b4.n5", "block.node" },
    { "B", 15, "n16", "node" },
    { "R", 5, "r0:2.n6", "ring:position.node" },
    { "X", 14, "p:2:1:1.n15", "torus:x:y:z.node" },
};

/* The document with this topology as the default. */
static char *with_default(const char *topology)
{
    char *text = NULL, mark[32];
    const char *at;

    (void)snprintf(mark, sizeof(mark), "topology: %s\n", topology);
    at = strstr(yaml, mark) + strlen(mark);
    assert_true(asprintf(&text, "%.*s  cluster_default: true\n%s", (int)(at - yaml), yaml, at) > 0);
    return text;
}

static void test_addresses(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
        struct cluster_of c;
        struct strbuf address = STRBUF_INIT, pattern = STRBUF_INIT;
        char *text = with_default(addresses[i].topology);
        struct topologies *t;

        make(&c, text);
        t = publish(&c);
        topologies_address(t, addresses[i].node, &address, &pattern);
        assert_string_equal(strbuf_str(&address), addresses[i].address);
        assert_string_equal(strbuf_str(&pattern), addresses[i].pattern);
        topologies_unref(t);
        strbuf_done(&address);
        strbuf_done(&pattern);
        free(text);
        done(&c);
    }
}

static const struct {
    const char *topology;
    uint32_t nodes[6];
    size_t n;
    uint32_t ranks[6];
} orders[] = {
    { "T", { 0, 1, 4, 8 }, 4, { 2, 2, 1, 0 } }, /* lone, leaf1, leaf2: the order of the file */
    { "B", { 0, 2, 4 }, 3, { 0, 1, 2 } },
    { "R", { 0, 1, 6, 7 }, 4, { 1, 0, 3, 2 } }, /* 2 1 8 7 around the circle */
    { "X", { 0, 1, 4, 5, 8 }, 5, { 0, 1, 2, 3, 4 } },
    { "X", { 0, 3, 4, 7 }, 4, { 1, 0, 3, 2 } }, /* the box wraps: x 3 comes before x 0 */
};

static void test_ranks(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
        struct cluster_of c;
        char *text = with_default(orders[i].topology);
        struct topologies *t;
        uint32_t ranks[6];

        make(&c, text);
        t = publish(&c);
        assert_true(topologies_ranks(t, orders[i].nodes, orders[i].n, ranks));
        for (size_t k = 0; k < orders[i].n; k++)
            if (ranks[k] != orders[i].ranks[k])
                fail_msg("case %zu: node %zu has rank %u", i, k, ranks[k]);
        topologies_unref(t);
        free(text);
        done(&c);
    }
}

static void test_functions(void **state)
{
    struct cluster_of c;
    struct topologies *t;
    struct bitmap *bm;
    const uint32_t n6 = 5, n16 = 15;
    bool with;

    (void)state;
    make(&c, yaml);
    t = publish(&c);
    assert_int_equal(bitmap_new(NODES, &bm), 0);
    assert_true(topologies_function("Block", 5, &with) && !with);
    assert_true(topologies_function("switchwith", 10, &with) && with);
    assert_false(topologies_function("blocks", 6, &with));
    assert_int_equal(topologies_expand(t, "block", 5, "b[1-2]", NULL, 0, bm), 0);
    assert_int_equal(bm->words[0], 0xf);
    bitmap_zero(bm);
    assert_int_equal(topologies_expand(t, "switch", 6, "mid", NULL, 0, bm), 0);
    assert_int_equal(bm->words[0], 0xff);
    bitmap_zero(bm);
    assert_int_equal(topologies_expand(t, "switchwith", 10, "", &n6, 1, bm), 0);
    assert_int_equal(bm->words[0], 0xf0);
    bitmap_zero(bm);
    assert_int_equal(topologies_expand(t, "toruswith", 9, "", &n16, 1, bm), 0); /* of no switch */
    assert_int_equal(bm->words[0], 0xffff);
    assert_int_equal(topologies_expand(t, "block", 5, "b1,zz", NULL, 0, bm), -ENOENT);
    assert_int_equal(topologies_expand(t, "nodes", 5, "b1", NULL, 0, bm), -EINVAL);
    bitmap_free(bm);
    topologies_unref(t);
    done(&c);
}

/* What is printed reads back as the same, holes of a torus included. */
static void test_round_trip(void **state)
{
    struct cluster_of c, again;
    struct strbuf first = STRBUF_INIT, second = STRBUF_INIT;
    struct topologies *t;

    (void)state;
    make(&c, yaml);
    toposet_leave(c.set, 5);
    t = publish(&c);
    topoyaml_write(t, &first);
    topologies_unref(t);
    make(&again, strbuf_str(&first));
    t = publish(&again);
    topoyaml_write(t, &second);
    topologies_unref(t);
    assert_string_equal(strbuf_str(&first), strbuf_str(&second));
    assert_non_null(strstr(strbuf_str(&first), "      regions:\n      - anchor:\n"));
    for (const char *const *name = (const char *const[]){ "T", "B", "R", "X", NULL }; *name;
         name++) {
        char *text = shown(&c, *name);

        expect(&again, *name, text);
        free(text);
    }
    strbuf_done(&first);
    strbuf_done(&second);
    done(&c);
    done(&again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),      cmocka_unit_test(test_joins),
        cmocka_unit_test(test_moves),      cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_ranks),      cmocka_unit_test(test_functions),
        cmocka_unit_test(test_round_trip),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
