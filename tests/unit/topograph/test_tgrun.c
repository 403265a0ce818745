/* test_tgrun.c - requests: their parameters, their ids, what strangers may ask, whole runs */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "topograph/run/tgengine.h"
#include "topograph/run/tgrequest.h"
#include "topograph/run/tgrun.h"

/* ---- files in memory ------------------------------------------------------------------------- */

#define MODEL                                                                                      \
    "switches:\n  core: {switches: ['leaf-[1-2]']}\nblocks:\n"                                     \
    "- switch: leaf-1\n  nodes: ['n[1-2]']\n"                                                      \
    "  annotations: {accelerator.topology.test/domain: nvl-1}\n"                                   \
    "- switch: leaf-2\n  nodes: ['n[3-4]']\n"                                                      \
    "  annotations: {accelerator.topology.test/domain: nvl-2}\n"

static const struct {
    const char *name, *text;
} files[] = {
    { "/data/model.yaml", MODEL },
    { "/data/fabric.txt", "# Topology file: x\nSwitch 4 \"S-1\" # \"leaf\"\n"
                          "[1] \"H-1\"[1] # \"a1 mlx5_0\"\n[2] \"H-2\"[1] # \"a2 mlx5_0\"\n" },
    { "/data/smi.txt", "a1: u, 1\na2: u, 2\n" },
    { "ibnetdiscover", "# Topology file: x\nSwitch 4 \"S-9\" # \"other\"\n"
                       "[1] \"H-1\"[1] # \"a1 mlx5_0\"\n" },
    { "/data/kube.json",
      "{\"items\": [{\"metadata\": {\"name\": \"a1\", \"labels\": {\"my/clique\": \"q\","
      " \"fabric.topograph.run/tier-0\": \"x\"}}}]}" },
};

static int load_text(void *ctx, const char *what, bool program, char **ret_text, size_t *ret_len,
                     struct err *err)
{
    (void)ctx;
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        if (strcmp(files[i].name, what) == 0 && program == (what[0] != '/')) {
            *ret_text = strdup(files[i].text);
            *ret_len = strlen(files[i].text);
            return *ret_text ? 0 : -ENOMEM;
        }
    }
    return err_set(err, -ENOENT, "%s: no such file", what);
}

static int partition_nodes(void *ctx, const char *name, char **ret_nodes, struct err *err)
{
    (void)ctx;
    if (strcmp(name, "main") != 0)
        return err_set(err, -EINVAL, "there is no partition %s", name);
    *ret_nodes = strdup("n[1-3]");
    return *ret_nodes ? 0 : -ENOMEM;
}

static const struct tgrun_io io = { load_text, partition_nodes, NULL };
static const struct tgrequest_stranger stranger = { "/data" };

/* ---- whole runs ------------------------------------------------------------------------------ */

#define P(name, params) "\"provider\": {\"name\": \"" name "\", \"params\": {" params "}}"
#define E(name, params) "\"engine\": {\"name\": \"" name "\", \"params\": {" params "}}"
#define MODEL_P P("aws-sim", "\"modelFileName\": \"model.yaml\"")
#define TREE                                                                                       \
    "SwitchName=core Switches=leaf-[1-2]\nSwitchName=leaf-1 Nodes=n[1-2]\n"                        \
    "SwitchName=leaf-2 Nodes=n[3-4]\n"

static const struct {
    const char *request;
    unsigned status;
    const char *want; /* the text, or the sentence */
} runs[] = {
    { "{" MODEL_P "}", 200, TREE },
    { "{" MODEL_P "," E("slurm", "\"plugin\": \"topology/block\"") "}", 200,
      "# block001=nvl-1\nBlockName=block001 Nodes=n[1-2]\n"
      "# block002=nvl-2\nBlockName=block002 Nodes=n[3-4]\nBlockSizes=2,4\n" },
    { "{" MODEL_P "," E("dynamic", "\"plugin\": \"topology/block\"") "}", 200,
      "NodeName=n[1-2] Topology=default:block001\nNodeName=n[3-4] Topology=default:block002\n" },
    { "{" MODEL_P "," E("slurm", "\"yaml\": true, \"plugin\": \"topology/flat\"") "}", 200,
      "---\n- topology: default\n  cluster_default: true\n  flat: true\n" },
    { "{" MODEL_P ", \"nodes\": [{\"region\": \"r\", \"instances\": {\"i-n1\": \"x1\", \"i-n9\":"
      " \"x9\"}}]}",
      200,
      "SwitchName=core Switches=leaf-1\nSwitchName=no-topology Nodes=x9\n"
      "SwitchName=leaf-1 Nodes=x1\n" },
    { "{" P("oci-sim", "\"modelFileName\": \"model.yaml\"") "}", 200,
      "# switch.2.1=core\nSwitchName=switch.2.1 Switches=switch.1.[1-2]\n"
      "# switch.1.1=leaf-1\nSwitchName=switch.1.1 Nodes=n[1-2]\n"
      "# switch.1.2=leaf-2\nSwitchName=switch.1.2 Nodes=n[3-4]\n" },
    { "{" P("oci-sim",
            "\"modelFileName\": \"model.yaml\", \"normalise\": false, \"trimTiers\": 1") "}",
      200, "SwitchName=leaf-1 Nodes=n[1-2]\nSwitchName=leaf-2 Nodes=n[3-4]\n" },
    { "{" MODEL_P "," E(
          "slurm",
          "\"topologies\": {\"b\": {\"plugin\": \"topology/block\", \"nodes\":"
          " [\"n1\", \"n[3-4]\"]}, \"a\": {\"plugin\": \"topology/tree\", \"partition\": \"main\","
          " \"clusterDefault\": true}}") "}",
      200,
      "---\n- topology: a\n  cluster_default: true\n  tree:\n    switches:\n      - switch: core\n"
      "        children: leaf-[1-2]\n      - switch: leaf-1\n        nodes: n[1-2]\n"
      "      - switch: leaf-2\n        nodes: n3\n- topology: b\n  cluster_default: false\n"
      "  block:\n    block_sizes: [1,2]\n    blocks:\n      # block001=nvl-1\n"
      "      - block: block001\n        nodes: n1\n      # block002=nvl-2\n"
      "      - block: block002\n        nodes: n[3-4]\n" },
    { "{" P("infiniband-bm",
            "\"file\": \"fabric.txt\", \"acceleratorFile\": \"smi.txt\","
            " \"accelerator\": {\"source\": \"nvidia-smi\"}") "," E("slurm",
                                                                    "\"plugin\":"
                                                                    " \"topology/block\"") "}",
      200,
      "# block001=u.1\nBlockName=block001 Nodes=a1\n# block002=u.2\nBlockName=block002 Nodes=a2\n"
      "BlockSizes=1,2\n" },
    { "{" P("infiniband-k8s",
            "\"file\": [\"fabric.txt\"], \"acceleratorFile\": \"kube.json\","
            " \"accelerator\": {\"source\": \"kubernetes-label\", \"kubernetesLabel\": {\"key\":"
            " \"my/clique\"}}") "," E("graph", "") "}",
      200,
      "{\n  \"instances\": [\n    {\n      \"id\": \"a1\",\n      \"network_layers\": [\n"
      "        \"leaf\"\n      ],\n      \"labels\": {\n"
      "        \"accelerator.topograph.run/domain\": \"q\"\n      }\n    },\n    {\n"
      "      \"id\": \"a2\",\n      \"network_layers\": [\n        \"leaf\"\n      ],\n"
      "      \"labels\": {}\n    }\n  ]\n}\n" },
    { "{" P("dra", "\"file\": \"kube.json\"") "," E("slurm", "") "}", 400,
      "topology/tree needs switches, and nothing tells of any" },
    { "{" P("test", "\"topologyResponseCode\": 503, \"errorMessage\": \"later\"") "}", 503,
      "later" },
    { "{" P("test", "\"modelFileName\": \"model.yaml\"") "}", 200, TREE },
    { "{" P("aws", "\"file\": \"none.json\"") "}", 500, "/data/none.json: no such file" },
    { "{" P("aws", "\"file\": \"model.yaml\"") "}", 400,
      "/data/model.yaml: line 1, column 8: '[' or '{' expected near 'switches'" },
    { "", 400, "no provider is named" },
    { "{" P("azure", "") "}", 400, "no such provider: azure" },
    { "{" P("aws", "") "}", 400, "provider aws needs an input: parameter file" },
    { "{" P("aws", "\"file\": \"x\", \"fil\": 1") "}", 400, "the provider has no parameter fil" },
    { "{" P("aws", "\"file\": \"x\", \"trimTiers\": 3") "}", 400,
      "trimTiers: a number from 0 to 2 is expected" },
    { "{" P("infiniband-bm", "\"file\": \"x\", \"accelerator\": {\"source\": \"nvidia-smi\"}") "}",
      400, "accelerator.source needs the parameter acceleratorFile" },
    { "{" P("infiniband-bm", "\"file\": \"x\", \"accelerator\": {\"source\": \"lspci\"}") "}", 400,
      "accelerator.source is nvidia-smi, kubernetes-label or none, and not lspci" },
    { "{" MODEL_P "," E("pbs", "") "}", 400,
      "no such engine: pbs (there are slurm, dynamic, k8s, graph)" },
    { "{" MODEL_P "," E("slurm", "\"plugin\": \"topology/cube\"") "}", 400,
      "plugin is topology/tree, topology/block or topology/flat, and not topology/cube" },
    { "{" MODEL_P
      "," E("slurm", "\"plugin\": \"topology/tree\", \"topologies\": {\"a\": {\"plugin\":"
                     " \"topology/flat\"}}") "}",
      400, "plugin and topologies cannot stand together" },
    { "{" MODEL_P "," E("slurm", "\"topologies\": {\"a\": {\"plugin\": \"topology/tree\"}}") "}",
      400, "topology a: it needs nodes or partition" },
    { "{" MODEL_P "," E("slurm", "\"topologies\": {\"a\": {\"partition\": \"other\"}}") "}", 400,
      "topology a: there is no partition other" },
    { "{" MODEL_P "," E("slurm", "\"blockSizes\": [3, 5]") "}", 400,
      "block size 5 is not the one before it (3) times 2, 4, 8 ..." },
    { "{" MODEL_P "," E("slurm", "\"blockSizes\": [true]") "}", 400,
      "blockSizes: numbers from 1 to 65536 are expected" },
    { "{" MODEL_P "," E("slurm", "\"blockName\": {\"format\": \"x\"}") "}", 400,
      "blockName needs nodeNameRegexp and format" },
};

/* A sentence is what a run ends with, or what refuses the request. */
static unsigned run_request(const char *text, struct strbuf *out)
{
    struct tgrequest q = { 0 };
    struct tgrun run = { 0 };
    struct err err = { .text = "" };
    int r = tgrequest_parse(text, strlen(text), NULL, &stranger, &q, &err);
    unsigned status = 400;

    if (r == 0) {
        r = tgrun_make(&q, &io, &run, &err);
        status = run.status;
    }
    strbuf_add(out, r == 0 ? strbuf_str(&run.text) : err.text);
    assert_int_equal(r == 0, status == 200);
    tgrun_done(&run);
    tgrequest_done(&q);
    return status;
}

static void test_runs(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(runs); i++) {
        _cleanup_val_(strbuf_done) struct strbuf out = STRBUF_INIT;
        unsigned status = run_request(runs[i].request, &out);

        if (status != runs[i].status || strcmp(strbuf_str(&out), runs[i].want) != 0)
            fail_msg("%s\n-> %u %s\nand not %u %s", runs[i].request, status, strbuf_str(&out),
                     runs[i].status, runs[i].want);
    }
}

/* ---- requests -------------------------------------------------------------------------------- */

static const struct {
    const char *request, *say;
} refused[] = {
    { "[]", "a request is an object" },
    { "{", "line 1, column 1: string or '}' expected near end of file" },
    { "{\"provider\": []}", "provider: an object is expected" },
    { "{\"provider\": {\"name\": 7}}", "name: a text is expected" },
    { "{\"nodes\": {}}", "nodes: a list is expected" },
    { "{\"nodes\": [{}]}", "nodes: an object `instances` is expected in each" },
    { "{\"nodes\": [{\"instances\": {\"i\": 1}}]}", "nodes: instance i has no name" },
    { "{\"nodes\": [{\"instances\": {\"i\": \"n\"}}, {\"instances\": {\"i\": \"m\"}}]}",
      "instance i stands twice" },
    { "{" P("aws", "\"file\": \"/etc/shadow\"") "}",
      "a file is named by its name in the data folder" },
    { "{" P("aws", "\"file\": [\"a\", \"../b\"]") "}",
      "a file is named by its name in the data folder" },
    { "{" P("aws-sim", "\"modelFileName\": \".hidden\"") "}",
      "a file is named by its name in the data folder" },
    { "{" P("aws", "\"command\": \"rm\"") "}",
      "command is not taken from requests: set it in the service's configuration" },
    { "{" E("slurm", "\"topologyConfigPath\": \"/etc/passwd\"") "}",
      "topologyConfigPath is not taken from requests: set it in the service's configuration" },
};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        struct tgrequest q = { 0 };
        struct err err = { .text = "" };

        assert_int_equal(tgrequest_parse(refused[i].request, strlen(refused[i].request), NULL,
                                         &stranger, &q, &err),
                         -EINVAL);
        assert_string_equal(err.text, refused[i].say);
        assert_null(q.document);
    }
}

/* Parameters are filled in one by one; the operator's own command may stand there. */
static void test_defaults(void **state)
{
    static const char request[] = "{\"engine\": {\"params\": {\"plugin\": \"topology/tree\"}}}";
    json_t *defaults =
        json_loads("{" P("infiniband-bm", "\"command\": \"ibnetdiscover\"") "," E(
                       "slurm", "\"plugin\": \"topology/block\", \"yaml\": true") "}",
                   0, NULL);
    struct tgrequest q;
    struct tgrun run;
    struct err err = { .text = "" };

    (void)state;
    assert_non_null(defaults);
    assert_int_equal(tgrequest_parse(request, strlen(request), defaults, &stranger, &q, &err), 0);
    assert_int_equal(tgrun_make(&q, &io, &run, &err), 0);
    assert_string_equal(
        strbuf_str(&run.text),
        "---\n- topology: default\n  cluster_default: true\n  tree:\n    switches:\n"
        "      # other=S-9\n      - switch: other\n        nodes: a1\n");
    tgrun_done(&run);
    tgrequest_done(&q);
    json_decref(defaults);
}

static void id_of(const char *request, char id[TGREQUEST_ID_SIZE])
{
    struct tgrequest q;

    assert_int_equal(tgrequest_parse(request, strlen(request), NULL, NULL, &q, NULL), 0);
    assert_int_equal(tgrequest_id(&q, id), 0);
    tgrequest_done(&q);
}

/* Nodes, credentials and the order of keys are not part of it. */
static void test_ids(void **state)
{
    char a[TGREQUEST_ID_SIZE], b[TGREQUEST_ID_SIZE], c[TGREQUEST_ID_SIZE];

    (void)state;
    id_of("{" P("aws", "\"file\": \"x\", \"trimTiers\": 1") "}", a);
    id_of("{\"nodes\": [{\"instances\": {\"i\": \"n\"}}], \"provider\": {\"creds\": {\"a\": 1}, "
          "\"params\": {\"trimTiers\": 1, \"file\": \"x\"}, \"name\": \"aws\"}}",
          b);
    id_of("{" P("aws", "\"file\": \"y\", \"trimTiers\": 1") "}", c);
    assert_string_equal(a, b);
    assert_string_not_equal(a, c);
    assert_int_equal(strspn(a, "0123456789abcdef"), 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_ids),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
