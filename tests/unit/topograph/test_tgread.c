/* test_tgread.c - readers of documents: what each provider says becomes, and what is refused */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "topograph/graphfinish.h"
#include "topograph/read/cliques.h"
#include "topograph/read/clouddoc.h"
#include "topograph/read/docjson.h"
#include "topograph/read/ibnet.h"
#include "topograph/read/kubenodes.h"
#include "topograph/read/netq.h"
#include "topograph/read/simmodel.h"
#include "topograph/run/tgrun.h"

static int read_any(const char *provider, const char *text, struct graph_wanted *w, struct graph *g,
                    struct err *err)
{
    size_t len = strlen(text);

    if (strcmp(provider, "ib") == 0)
        return ibnet_read(text, len, w, g, err);
    if (strcmp(provider, "smi") == 0)
        return cliques_read(text, len, w, g, err);
    if (strcmp(provider, "kube") == 0)
        return kubenodes_read(text, len, NULL, w, g, err);
    if (strcmp(provider, "netq") == 0)
        return netq_read(text, len, w, g, err);
    if (strcmp(provider, "model") == 0)
        return simmodel_read(text, len, w, g, err);
    return clouddoc_read(provider, text, len, w, g, err);
}

/* A line a node: NAME leaf:...:root domain/sub-domain */
static void describe_graph(const struct graph *g, struct strbuf *out)
{
    for (size_t i = 0; i < g->nnodes; i++) {
        const struct graph_node *n = &g->nodes[i];

        strbuf_add(out, n->name);
        for (uint32_t sw = n->leaf; sw != GRAPH_NONE; sw = g->switches[sw].parent)
            strbuf_addf(out, "%c%s", sw == n->leaf ? ' ' : ':', g->switches[sw].name);
        if (n->domain)
            strbuf_addf(out, " %s%s%s", n->domain, n->subdomain ? "/" : "",
                        n->subdomain ? n->subdomain : "");
        strbuf_addc(out, '\n');
    }
}

#define IB_HEAD "# Topology file: generated on Mon Aug  3\n#\n"
#define IB_SWITCH(guid, name) "Switch\t41 \"" guid "\"\t\t# \"" name "\" enhanced port 0 lid 3\n"
#define IB_PORT(n, guid, name) "[" n "]\t\"" guid "\"[1](2c9) \t\t# \"" name "\" lid 10 4xHDR\n"
#define IB_CA(guid, name)                                                                          \
    "Ca\t1 \"" guid "\"\t\t# \"" name "\"\n[1](2c9)\t\"S-1\"[1]\t\t# lid 3\n\n"

/* Two leaves with two spines: a Clos network, so one switch stands for both spines. */
#define IB_CLOS                                                                                    \
    IB_HEAD IB_SWITCH("S-1", "MF0;leaf-1:MQM8700/U1") IB_PORT("1", "H-1", "node01 mlx5_0")         \
        IB_PORT("2", "H-2", "node02 HCA-1") IB_PORT("40", "S-3", "MF0;spine-1:MQM8700/U1")         \
            IB_PORT("41", "S-4", "MF0;spine-2:MQM8700/U1") "\n" IB_SWITCH(                         \
                "S-2", "MF0;leaf-2:MQM8700/U1") IB_PORT("1", "H-3", "node03 mlx5_0")               \
                IB_PORT("2", "H-9", "Mellanox Technologies Aggregation Node")                      \
                    IB_PORT("40", "S-3", "x") IB_PORT("41", "S-4", "x") "\n" IB_SWITCH(            \
                        "S-3", "MF0;spine-1:MQM8700/U1") IB_PORT("1", "S-1", "x")                  \
                        IB_PORT("2", "S-2", "x") "\n" IB_SWITCH("S-4", "MF0;spine-2:MQM8700/U1")   \
                            IB_PORT("1", "S-1", "x")                                               \
                                IB_PORT("2", "S-2", "x") "\n" IB_CA("H-1", "node01 mlx5_0")        \
                                    IB_CA("H-2", "node02 HCA-1") IB_CA("H-3", "node03 mlx5_0")

static const struct {
    const char *provider, *text, *wanted, *want;
} good[] = {
    { "ib", IB_CLOS, NULL,
      "node01 leaf-1:spine-1\nnode02 leaf-1:spine-1\nnode03 leaf-2:spine-1\n" },
    /* Who is not asked for makes no switch a leaf. */
    { "ib", IB_CLOS, "i1=node01,i9=node09", "node09 no-topology\nnode01 leaf-1:spine-1\n" },
    /* Multi-rail: both leaves have the same nodes. */
    { "ib",
      IB_HEAD IB_SWITCH("S-1", "rail1") IB_PORT("1", "H-1", "a1 mlx5_0")
          IB_PORT("2", "H-2", "a2 mlx5_0") "\n" IB_SWITCH("S-2", "rail2")
              IB_PORT("1", "H-1b", "a1 mlx5_1") IB_PORT("2", "H-2b", "a2 mlx5_1") "\n",
      NULL, "a1 rail1\na2 rail1\n" },
    /* pdsh puts the host before each line. */
    { "ib",
      "h1: # Topology file: generated\nh1: #\nh1: Switch\t41 \"S-1\"\t# \"leaf\"\n"
      "h1: [1]\t\"H-1\"[1](2)\t# \"a1 mlx5_0\"\r\nh1: \n",
      NULL, "a1 leaf\n" },
    { "smi",
      "n1: 7c0e, 3\nn1: 7c0e, 3\n# a comment\n n2 : 7c0e , 4\nn3: N/A, N/A\nn4: [N/A], 0\nn5: , 2\n",
      NULL, "n1 7c0e.3\nn2 7c0e.4\nn3\nn4\nn5\n" },
    { "aws",
      "{\"Instances\": [{\"InstanceId\": \"i-1\", \"NetworkNodes\": [\"nn-1\", \"nn-2\", \"nn-3\"],"
      " \"CapacityBlockId\": \"cb-1\"}, {\"InstanceId\": \"i-2\", \"NetworkNodes\": [\"nn-1\","
      " \"nn-2\", \"nn-4\"], \"CapacityBlockId\": null}]}",
      NULL, "i-1 nn-3:nn-2:nn-1 cb-1\ni-2 nn-4:nn-2:nn-1\n" },
    { "aws",
      "{\"instances\": [{\"instanceId\": \"i-1\", \"networkNodes\": [\"r\", \"s\", \"t\"]}]}",
      "i-1=n1,i-2=n2", "n2 no-topology\nn1 t:s:r\n" },
    { "gcp",
      "[{\"id\": \"71\", \"name\": \"g1\", \"resourceStatus\": {\"physicalHostTopology\":"
      " {\"cluster\": \"c\", \"block\": \"b\", \"subblock\": \"sb\", \"host\": \"h\"}}},"
      " {\"id\": 72, \"name\": \"g2\", \"resourceStatus\": {\"physicalHostTopology\":"
      " {\"cluster\": \"c\", \"block\": \"b\"}}}]",
      NULL, "g1 sb:b:c sb\ng2\n" },
    { "oci",
      "{\"data\": {\"items\": [{\"instance-id\": \"o1\", \"local-block-id\": \"l\","
      " \"network-block-id\": \"n\", \"hpc-island-id\": \"h\", \"gpu-memory-fabric-id\": \"f\","
      " \"additional-data\": {\"locationDetails\": {\"rack\": \"r7\"}}}]}}",
      NULL, "o1 l:n:h f/f.r7\n" },
    { "oci-imds",
      "n1: {\nn2: {\"customerHPCIslandId\": \"h\", \"customerLocalBlock\": \"l2\","
      " \"customerNetworkBlock\": \"n\"}\nn1:   \"customerHPCIslandId\": \"h\","
      " \"customerLocalBlock\": \"l1\",\nn1:   \"customerNetworkBlock\": \"n\" }\n",
      NULL, "n1 l1:n:h\nn2 l2:n:h\n" },
    { "oci-imds",
      "{\"n1\": {\"rdmaTopologyData\": {\"customerHPCIslandId\": \"h\", \"customerLocalBlock\":"
      " \"l\", \"customerNetworkBlock\": \"n\", \"customerGpuMemoryFabric\": \"g\"}}}",
      NULL, "n1 l:n:h g\n" },
    { "nebius",
      "{\"items\": [{\"metadata\": {\"id\": \"ci-1\", \"name\": \"n1\"}, \"spec\":"
      " {\"nvl_instance_group_id\": \"nvl\"}, \"status\": {\"infiniband_topology_path\":"
      " {\"path\": [\"a\", \"b\", \"c\"]}}}]}",
      NULL, "n1 c:b:a nvl\n" },
    { "nscale",
      "{\"results\": [{\"instance_id\": \"x1\", \"network_node_path\": [\"a\", \"b\"], \"block_id\":"
      " \"k\"}]}",
      NULL, "x1 b:a k\n" },
    { "lambdai",
      "{\"data\": [{\"id\": \"l1\", \"networkPath\": [{\"id\": \"leaf\"}, {\"id\": \"spine\"}],"
      " \"nvlink\": {\"domain_id\": \"d\", \"clique_id\": 4}}], \"page_token\": null}",
      NULL, "l1 leaf:spine d.4\n" },
    { "netq",
      "[{\"nodes\": [{\"compounded_nodes\": [{\"id\": \"h1\", \"name\": \"n1\", \"tier\": -1},"
      " {\"id\": \"h2\", \"name\": \"n2\", \"tier\": -1}]}, {\"compounded_nodes\": [{\"id\": \"l1\","
      " \"name\": \"leaf1\", \"tier\": 1}, {\"id\": \"l2\", \"name\": \"leaf2\", \"tier\": 1},"
      " {\"id\": \"s1\", \"name\": \"spine1\", \"tier\": 2}]}], \"links\": [{\"id\": \"h1-*-l1\"},"
      " {\"id\": \"l2-*-h2\"}, {\"id\": \"l1-*-s1\"}, {\"id\": \"s1-*-l2\"}, {\"id\": \"l1-*-l2\"}]}]",
      NULL, "n1 leaf1:spine1\nn2 leaf2:spine1\n" },
    { "netq",
      "[{\"Name\": \"n1\", \"DomainUUID\": \"u\"}, {\"Name\": \"n2\", \"DomainUUID\": \"\"}]",
      "n1=n1", "n1 u\n" },
    { "kube",
      "{\"items\": [{\"metadata\": {\"name\": \"k1\", \"labels\": {\"nvidia.com/gpu.clique\":"
      " \"u.1\", \"fabric.topograph.run/tier-0\": \"leaf\", \"fabric.topograph.run/tier-1\":"
      " \"spine\"}}}, {\"metadata\": {\"name\": \"k2\", \"labels\":"
      " {\"accelerator.topograph.run/domain\": \"d\", \"accelerator.topograph.run/sub-domain\":"
      " \"d.1\"}}}, {\"metadata\": {\"name\": \"k3\", \"annotations\": {\"topograph.run/cluster-id\":"
      " \"c\", \"topograph.run/instance\": \"i-3\"}}}]}",
      NULL, "k1 leaf:spine u.1\nk2 d/d.1\nk3 c\n" },
    { "model",
      "switches:\n  core: {labels: {a: b}, switches: [spine-1]}\n"
      "  spine-1: {annotations: {accelerator.topology.test/domain: far}, switches: ['leaf-[1-2]']}\n"
      "blocks:\n- switch: leaf-1\n  nodes: [\"n[1-2]\"]\n  annotations: {"
      "accelerator.topology.test/domain: near, accelerator.topology.test/sub-domain: s}\n"
      "- {switch: leaf-2, nodes: [n3]}\n",
      NULL,
      "n1 leaf-1:spine-1:core near/s\nn2 leaf-1:spine-1:core near/s\nn3 leaf-2:spine-1:core far\n" },
};

static void fill_wanted(const char *list, struct graph_wanted *w)
{
    char copy[256], *rest = copy;

    (void)snprintf(copy, sizeof(copy), "%s", list);
    for (char *pair; (pair = strsep(&rest, ","));) {
        char *name = strchr(pair, '=');

        *name++ = '\0';
        assert_int_equal(graph_wanted_add(w, pair, name, NULL), 0);
    }
}

static void test_good(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        _cleanup_(graph_free) struct graph *g = NULL;
        _cleanup_val_(strbuf_done) struct strbuf out = STRBUF_INIT;
        struct graph_wanted w = { 0 };
        struct graph_finish how = { .wanted = good[i].wanted ? &w : NULL };
        struct err err = { .text = "" };

        if (good[i].wanted)
            fill_wanted(good[i].wanted, &w);
        assert_int_equal(graph_new(&g), 0);
        if (read_any(good[i].provider, good[i].text, good[i].wanted ? &w : NULL, g, &err) != 0)
            fail_msg("%zu (%s): %s", i, good[i].provider, err.text);
        if (graph_finish(g, &how, &err) != 0)
            fail_msg("%zu (%s): %s", i, good[i].provider, err.text);
        describe_graph(g, &out);
        assert_string_equal(strbuf_str(&out), good[i].want);
        assert_string_equal(err.text, "");
        graph_wanted_done(&w);
    }
}

static const struct {
    const char *provider, *text, *say;
} bad[] = {
    { "ib", "Switch 41 \"S-1\" # \"leaf\"\n",
      "no line `Topology file:`: this is not what ibnetdiscover prints" },
    { "ib", IB_HEAD "Switch 41 S-1\n", "line 3: Switch without its guid in quotes" },
    { "ib", IB_HEAD "Switch 41 \"S-1\"\n[1] H-1\n",
      "line 4: a port without the guid in quotes of what it leads to" },
    { "ib", IB_HEAD "Ca 1 \"\"\n", "line 3: Ca without its guid in quotes" },
    { "smi", "n1: a, 1\nn1: a, 2\n", "line 2: node n1 is in two domains: a.1 and a.2" },
    { "smi", "n1: a, 1\n\nnothing\n", "line 3: nothing is not NODE: UUID, CLIQUE" },
    { "aws", "{\"Instances\": [}", "line 1, column 16: unexpected token near '}'" },
    { "aws", "{\"Reservations\": []}", "no list of instances (instances) in the document" },
    { "aws", "{\"Instances\": [{\"NetworkNodes\": []}]}", "instance 0: no id (instanceid)" },
    { "aws", "{\"Instances\": [7]}", "instance 0: an object is expected here" },
    { "aws",
      "{\"Instances\": [{\"InstanceId\": \"i\", \"NetworkNodes\": [\"a\", \"b\"]}, {\"InstanceId\":"
      " \"k\", \"NetworkNodes\": [\"c\", \"b\"]}]}",
      "instance 1: switch b has two switches above it: a and c" },
    { "nebius",
      "{\"items\": [{\"metadata\": {\"id\": \"i\"}, \"status\": {\"infiniband_topology_path\":"
      " [\"a\", \"b\"]}}]}",
      "instance 0: status.infinibandtopologypath.path|status.infinibandtopologypath has 2 switches, "
      "and not 3" },
    { "oci-imds", "n1: {\n",
      "answer of n1: line 2, column 0: string or '}' expected near end of file" },
    { "netq", "[{\"nodes\": []}, {}]", "an array with exactly one element is expected, and not 2" },
    { "netq", "[{\"nodes\": [], \"links\": [{\"id\": \"a-b\"}]}]",
      "links[0]: a link whose id is not A-*-B" },
    { "netq", "{}", "an array is expected" },
    { "kube", "{\"items\": [{\"metadata\": {}}]}", "items[0]: no metadata.name" },
    { "kube", "{}", "no list of nodes (items) in the document" },
    { "model", "blocks:\n- switch: x\n  nodes: [a]\n", "line 2: there is no switch x" },
    { "model", "switches: {a: {switches: [c]}, b: {switches: [c]}}\nblocks: []\n",
      "line 1: switch c has two switches above it: a and b" },
    { "model",
      "switches: {a: {}}\nblocks:\n- {switch: a, nodes: [n1]}\n- {switch: a, nodes: [n1]}\n",
      "line 4: node n1 is in two blocks" },
    { "model", "switches: {a: {}}\nblocks:\n- {switch: a, nodes: []}\n",
      "line 3: a block without nodes" },
    { "model", "switches: {a: {colour: red}}\n", "line 1: unknown key colour" },
    { "model", "", "the model is empty" },
    { "model", "switches: {a: {switches: ['b[1-']}}\n", NULL },
    { "model", "a: [\n", NULL },
};

static void test_bad(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        _cleanup_(graph_free) struct graph *g = NULL;
        struct err err = { .text = "" };

        assert_int_equal(graph_new(&g), 0);
        if (read_any(bad[i].provider, bad[i].text, NULL, g, &err) != -EINVAL)
            fail_msg("%zu (%s) is taken: %s", i, bad[i].provider, err.text);
        assert_true(err.text[0] != '\0');
        if (bad[i].say && strcmp(err.text, bad[i].say) != 0)
            fail_msg("%zu: \"%s\" and not \"%s\"", i, err.text, bad[i].say);
    }
}

/* What only the whole graph shows. */
static const struct {
    const char *provider, *text, *say;
} unfinished[] = {
    { "model",
      "switches: {a: {switches: [b]}, b: {switches: [a]}}\nblocks:\n- {switch: a, nodes: [n]}\n",
      "switch a: the switches above it form a circle, or more than 20 tiers" },
    { "gcp", "[{\"id\": \"1\", \"name\": \"g\"}, {\"id\": \"2\", \"name\": \"g\"}]",
      "two instances are node g: 1 and 2" },
    { "gcp", "[{\"id\": \"1\", \"name\": \"g;h\"}]",
      "node g;h: names of nodes are letters, digits, dots, - and _" },
};

static void test_unfinished(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(unfinished); i++) {
        _cleanup_(graph_free) struct graph *g = NULL;
        struct graph_finish how = { 0 };
        struct err err = { .text = "" };

        assert_int_equal(graph_new(&g), 0);
        assert_int_equal(read_any(unfinished[i].provider, unfinished[i].text, NULL, g, &err), 0);
        assert_int_equal(graph_finish(g, &how, &err), -EINVAL);
        assert_string_equal(err.text, unfinished[i].say);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_unfinished),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
