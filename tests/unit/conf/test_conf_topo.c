/* test_conf_topo.c - topology.conf and topology.yaml: what is read, sentences of refusals */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "conf/topo/conf_topo.h"
#include "conf/topo/conf_topobuild.h"
#include "conf/topo/conf_topocheck.h"
#include "conf/topo/conf_topoline.h"
#include "conf/topo/conf_topotorus.h"
#include "conf/topo/conf_topoyaml.h"

#define OK(condition, ...)                                                                         \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail_msg(__VA_ARGS__);                                                                 \
    } while (0)

static struct conf *slurm_conf(const char *more)
{
    char text[1024];
    struct conf_text file = { .name = "slurm.conf", .text = text };
    struct conf *c = NULL;
    struct err err = { .text = "" };

    (void)snprintf(text, sizeof(text),
                   "ClusterName=c\nSlurmctldHost=h\nNodeName=n[1-16] CPUs=1\n"
                   "PartitionName=p Nodes=ALL\n%s\n",
                   more);
    file.len = strlen(text);
    OK(conf_load_text(&file, 1, CONF_FULL, &c, NULL, &err) == 0, "slurm.conf: %s", err.text);
    return c;
}

static const struct {
    const char *file, *plugin, *text;
    const char *error; /* a part of the sentence; NULL: it is read */
    size_t topologies, units;
} cases[] = {
    /* ---- topology.conf */
    { "topology.conf", "tree",
      "SwitchName=a Nodes=n[1-8]\nSwitchName=b Nodes=n[9-16]\nSwitchName=r Switches=a,b LinkSpeed=9\n",
      NULL, 1, 3 },
    { "topology.conf", "tree", "switchname=a nodes=n[1-2] # x\n\nSwitchName=b\n", NULL, 1, 2 },
    { "topology.conf", "tree", "SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2\n",
      "topology.conf:2: switch a is defined already in line 1", 0, 0 },
    { "topology.conf", "tree", "SwitchName=a Nodes=n1 Switches=b\n",
      "topology.conf:1: a switch has Nodes or Switches, not both", 0, 0 },
    { "topology.conf", "tree", "SwitchName=leaf1 Nodes=n1\nSwitchName=r Switches=leaf2\n",
      "topology.conf:2: switch r: there is no switch leaf2; did you mean leaf1?", 0, 0 },
    { "topology.conf", "tree", "SwitchName=a Switches=a\n", "switch a has itself below it", 0, 0 },
    { "topology.conf", "tree", "SwitchName=a Switches=b\nSwitchName=b Switches=a\n",
      "topology.conf:1: the switches form no tree", 0, 0 },
    { "topology.conf", "tree", "SwichName=a Nodes=n1\n",
      "unknown key SwichName in topology.conf; did you mean SwitchName?", 0, 0 },
    { "topology.conf", "tree", "Nodes=n1\n", "topology.conf:1: the line has no SwitchName", 0, 0 },
    { "topology.conf", "tree", "BlockName=a Nodes=n1\n",
      "BlockName is for TopologyPlugin=topology/block, and it is topology/tree", 0, 0 },
    { "topology.conf", "tree", "# nothing\n", "topology default has no switch", 0, 0 },
    { "topology.conf", "tree", "SwitchName=a:b Nodes=n1\n", "is no name", 0, 0 },
    { "topology.conf", "tree", "SwitchName=a Nodes=n[3-1]\n",
      "topology.conf:1: Nodes: Invalid range", 0, 0 },
    { "topology.conf", "block", "BlockName=a Nodes=n[1-4]\nBlockName=gap\nBlockSizes=4,8\n", NULL,
      1, 2 },
    { "topology.conf", "block", "BlockName=a Nodes=n[1-4]\nBlockSizes=4,12\n",
      "Invalid BlockSizes value: 12 is not 4 times 1, 2, 4", 0, 0 },
    { "topology.conf", "block", "BlockName=a Nodes=n[1-4]\nBlockSizes=4,x\n",
      "topology.conf:2: Invalid BlockSizes value: \"x\" is no number of nodes", 0, 0 },
    { "topology.conf", "block", "BlockSizes=4\n", "topology default has no block", 0, 0 },
    { "topology.conf", "block", "BlockName=a Nodes=n1 LinkSpeed=3\n",
      "LinkSpeed is for lines of switches", 0, 0 },
    { "topology.conf", "ring", "RingName=r Nodes=n[4-1]\n", "Invalid range", 0, 0 },
    { "topology.conf", "ring", "RingName=r Nodes=n4,n[1-3]\n", NULL, 1, 1 },
    { "topology.conf", "ring", "RingName=r Nodes=n[1-17]\n", "ring r has 17 nodes, more than 16", 0,
      0 },
    { "topology.conf", "ring", "RingName=r\n", "a ring needs Nodes", 0, 0 },
    { "none", "tree", "",
      "topology.conf: the file is missing, and TopologyPlugin=topology/tree needs it", 0, 0 },
    { "none", "flat", "", NULL, 1, 0 },
    /* ---- topology.yaml */
    { "topology.yaml", "flat",
      "- topology: A\n  flat: true\n- topology: T\n  cluster_default: true\n  tree:\n    switches:\n"
      "      - switch: r\n        children: l[1-2]\n      - switch: l1\n        nodes: n[1-8]\n"
      "      - {switch: l2, nodes: [n9, 'n[10-16]']}\n",
      NULL, 2, 3 },
    { "topology.yaml", "block",
      "- topology: B\n  block:\n    block_sizes: [2, 4]\n    blocks:\n"
      "    - block: b1\n      nodes: n[1-2]\n    - block: gap\n  tree: {}\n  ring:\n",
      NULL, 1, 2 },
    { "topology.yaml", "flat",
      "- topology: X\n  torus3d:\n    toruses:\n    - name: p\n      dims: {x: 2, y: 2, z: 2}\n"
      "      regions:\n      - dims: {x: 2, y: 1, z: 1}\n        nodes: n[1-2]\n"
      "      - {anchor: {x: 0, y: 1, z: 1}, dims: {x: 2, y: 1, z: 1}, nodes: 'n[3-4]'}\n"
      "      placements:\n      - dims: {x: 2, y: 1, z: 1}\n",
      NULL, 1, 1 },
    { "topology.yaml", "flat", "- topology: F\n  flat: {alpha_step_rank: true}\n", NULL, 1, 0 },
    { "topology.yaml", "flat", "- topology: F\n  flat: {}\n", NULL, 1, 0 },
    { "topology.yaml", "flat", "", "the file has no topology", 0, 0 },
    { "topology.yaml", "flat", "a: [", "no YAML", 0, 0 },
    { "topology.yaml", "flat", "topology: F\n", "a list is expected", 0, 0 },
    { "topology.yaml", "flat", "- flat: true\n", "topology.yaml:1: the topology has no name", 0,
      0 },
    { "topology.yaml", "flat", "- topology: F\n",
      "topology F has none of tree, block, ring, torus3d, flat", 0, 0 },
    { "topology.yaml", "flat", "- topology: F\n  flat: true\n- topology: F\n  flat: true\n",
      "topology.yaml:3: topology F is defined already in line 1", 0, 0 },
    { "topology.yaml", "flat",
      "- topology: F\n  flat: true\n  ring: {rings: [{ring: r, nodes: n1}]}\n",
      "topology F has ring already, and flat", 0, 0 },
    { "topology.yaml", "flat", "- topology: F\n  blok: {}\n",
      "unknown key blok; did you mean block?", 0, 0 },
    { "topology.yaml", "flat", "- topology: F\n  flat: true\n  flat: true\n", "flat is given twice",
      0, 0 },
    { "topology.yaml", "flat", "- topology: F\n  flat: maybe\n", "flat is true or false", 0, 0 },
    { "topology.yaml", "flat",
      "- topology: X\n  torus3d: {toruses: [{dims: {x: 1, y: 1, z: 1}}]}\n",
      "the torus has no name", 0, 0 },
    { "topology.yaml", "flat",
      "- topology: X\n  torus3d: {toruses: [{name: p, dims: {x: 0, y: 1, z: 1}}]}\n",
      "a dimension is 0", 0, 0 },
    { "topology.yaml", "flat",
      "- topology: X\n  torus3d: {toruses: [{name: p, dims: {x: 70000, y: 1, z: 1}}]}\n",
      "x is a number from 0 to 65535", 0, 0 },
    { "topology.yaml", "flat",
      "- topology: X\n  torus3d: {toruses: [{name: p, dims: {x: 2, y: 1, z: 1}, nodes: 'n[1-3]'}]}\n",
      "torus p: 3 nodes are listed for 2x1x1 cells", 0, 0 },
    { "topology.yaml", "flat",
      "- topology: X\n  torus3d: {toruses: [{name: p, dims: {x: 2, y: 1, z: 1}, nodes: 'n[1-2]', "
      "regions: [{dims: {x: 1, y: 1, z: 1}, nodes: n3}]}]}\n",
      "nodes or regions, not both", 0, 0 },
    { "topology.yaml", "flat",
      "- topology: X\n  torus3d: {toruses: [{name: p, dims: {x: 2, y: 1, z: 1}, "
      "regions: [{anchor: {x: 1, y: 0, z: 0}, dims: {x: 2, y: 1, z: 1}, nodes: 'n[1-2]'}]}]}\n",
      "does not lie in 2x1x1", 0, 0 },
    { "topology.yaml", "flat",
      "- topology: X\n  torus3d: {toruses: [{name: p, dims: {x: 2, y: 1, z: 1}, "
      "regions: [{dims: {x: 2, y: 1, z: 1}, nodes: 'n[1-2]'}, {dims: {x: 1, y: 1, z: 1}, nodes: n3}]}]}\n",
      "two regions overlap", 0, 0 },
    { "topology.yaml", "flat",
      "- topology: X\n  torus3d: {toruses: [{name: p, dims: {x: 1, y: 1, z: 1}, nodes: n1}, "
      "{name: p, dims: {x: 1, y: 1, z: 1}, nodes: n2}]}\n",
      "torus p is defined already", 0, 0 },
    { "topology.yaml", "flat",
      "- topology: X\n  torus3d: {toruses: [{name: p, dims: {x: 1, y: 1, z: 1}, nodes: n1}, "
      "{name: q, dims: {x: 1, y: 1, z: 1}, nodes: n1}]}\n",
      "node n1 is at two places of toruses", 0, 0 },
#define PLACE(p)                                                                                   \
    "- topology: X\n  torus3d: {toruses: [{name: p, dims: {x: 2, y: 2, z: 1}, placements: [{" p    \
    "}]}]}\n"
    { "topology.yaml", "flat", PLACE("dims: {x: 3, y: 1, z: 1}"),
      "placement of 3x1x1: it is larger than the torus", 0, 0 },
    { "topology.yaml", "flat",
      PLACE("dims: {x: 1, y: 1, z: 1}, anchor_spacing: {x: 3, y: 1, z: 1}"), "anchor_spacing", 0,
      0 },
    { "topology.yaml", "flat", PLACE("dims: {x: 1, y: 1, z: 1}, anchor_seed: {x: 2, y: 0, z: 0}"),
      "anchor_seed", 0, 0 },
    { "topology.yaml", "flat", PLACE("dims: {x: 1, y: 1}"), "dims: z is a number", 0, 0 },
};

static int read_case(const char *file, const char *plugin, const char *text,
                     struct conf_topos **ret, struct conf_problems *problems, struct err *err)
{
    char more[64];
    struct conf *c;
    struct conf_text t = { .name = file, .text = text, .len = strlen(text) };
    int r;

    (void)snprintf(more, sizeof(more), "TopologyPlugin=topology/%s", plugin);
    c = slurm_conf(more);
    r = conf_topos_load_text(c, &t, 1, ret, problems, err);
    conf_free(c);
    return r;
}

static void test_cases(void **state)
{

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct conf_topos *t = NULL;
        struct err err = { .text = "" };
        int r = read_case(cases[i].file, cases[i].plugin, cases[i].text, &t, NULL, &err);

        if (cases[i].error) {
            OK(r == -EINVAL && !t && strstr(err.text, cases[i].error), "case %zu is refused: %s", i,
               err.text);
            continue;
        }
        OK(r == 0 && conf_topos_count(t) == cases[i].topologies &&
               conf_topos_nth(t, 0)->nunits == cases[i].units,
           "case %zu is read %s", i, err.text);
        conf_topos_free(t);
    }
}

static void test_tree(void **state)
{
    struct conf_topos *t = NULL;
    const struct conf_topo *topo;
    struct err err = { .text = "" };

    (void)state;
    OK(read_case(cases[0].file, "tree", cases[0].text, &t, NULL, &err) == 0, "read %s", err.text);
    topo = conf_topos_nth(t, 0);
    OK(strcmp(topo->name, "default") == 0 && !topo->is_default && !conf_topos_yaml(t),
       "the topology of topology.conf is called default");
    OK(topo->units[0].link_speed == 1 && topo->units[2].link_speed == 9, "link speeds");
    OK(topo->units[2].nchildren == 2 && topo->units[2].children[1] == 1, "children");
    OK(topo->units[1].nnodes == 8 && strcmp(topo->units[1].nodes[0], "n9") == 0, "nodes");
    conf_topos_free(t);
}

static void test_default_first(void **state)
{
    struct conf_topos *t = NULL;
    struct err err = { .text = "" };

    (void)state;
    OK(read_case("topology.yaml", "tree",
                 "- {topology: a, flat: true}\n- {topology: b, flat: true}\n"
                 "- {topology: c, flat: true, cluster_default: true}\n"
                 "- {topology: d, flat: true, cluster_default: true}\n",
                 &t, NULL, &err) == 0,
       "read, TopologyPlugin or not %s", err.text);
    OK(conf_topos_yaml(t) && strcmp(conf_topos_nth(t, 0)->name, "c") == 0 &&
           strcmp(conf_topos_nth(t, 1)->name, "a") == 0 &&
           strcmp(conf_topos_nth(t, 3)->name, "d") == 0 && !conf_topos_nth(t, 4),
       "the first default comes first, the others keep their order");
    conf_topos_free(t);
}

static void test_torus(void **state)
{
    struct conf_topos *t = NULL;
    const struct conf_topo_unit *u;
    struct err err = { .text = "" };

    (void)state;
    OK(read_case("topology.yaml", "flat",
                 "- topology: X\n  torus3d:\n    toruses:\n    - name: p\n      placements:\n"
                 "      - dims: {x: 2, y: 2, z: 1}\n        anchor_spacing: {x: 1, y: 1, z: 1}\n"
                 "      - dims: {x: 1, y: 1, z: 1}\n      dims: {x: 2, y: 2, z: 2}\n"
                 "      regions:\n      - {anchor: {x: 1, y: 0, z: 1}, dims: {x: 1, y: 2, z: 1}, "
                 "nodes: 'n[7-8]'}\n",
                 &t, NULL, &err) == 0,
       "read %s", err.text);
    u = &conf_topos_nth(t, 0)->units[0];
    OK(u->nnodes == 8 && !u->nodes[0] && strcmp(u->nodes[5], "n7") == 0 &&
           strcmp(u->nodes[7], "n8") == 0,
       "cells of a region");
    OK(u->nplaces == 2 && u->places[0].dims[0] == 1 && u->places[1].spacing[0] == 1 &&
           u->places[0].spacing[1] == 1,
       "placements by size, spacing as the dimensions unless given");
    conf_topos_free(t);
}

static bool has_warning(const struct conf_problems *p, const char *part)
{
    for (size_t i = 0; i < p->n; i++)
        if (!p->items[i].error && strstr(p->items[i].text, part))
            return true;
    return false;
}

static void test_warnings(void **state)
{
    struct conf_topos *t = NULL;
    struct conf_problems problems;
    struct err err = { .text = "" };

    (void)state;
    OK(read_case("topology.conf", "tree",
                 "SwitchName=a Nodes=n[1-4],m[1-5]\nSwitchName=b Nodes=n[4-6]\n", &t, &problems,
                 &err) == 0,
       "read %s", err.text);
    OK(has_warning(&problems, "5 nodes of topology default are not in slurm.conf: m1, m2, m3, ..."),
       "unknown nodes");
    OK(has_warning(&problems, "switches lack access to 10 nodes"), "nodes of no switch");
    OK(has_warning(&problems, "node n4 is in more than one switch"), "a node in two leaves");
    OK(has_warning(&problems, "2 switches that no other joins"), "no common switch");
    conf_problems_done(&problems);
    conf_topos_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),         cmocka_unit_test(test_tree),
        cmocka_unit_test(test_default_first), cmocka_unit_test(test_torus),
        cmocka_unit_test(test_warnings),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
