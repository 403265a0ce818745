/* test_show_topology.c - scontrol show topology and topoconf, as recorded */
#include "cli/scontrol/show_topology.h"

#include "scontrol_util.h"
#include "wire/errors.h"

#define TREE                                                                                       \
    "{'name':'default','kind':'tree','yaml':'- topology: default\\n','units':["                    \
    "{'name':'leaf1','level':0,'link_speed':1,'nodes':'node[1-2]'},"                               \
    "{'name':'leaf2','level':0,'link_speed':1,'nodes':'node[3-4]'},"                               \
    "{'name':'spine','level':1,'link_speed':1,'nodes':'node[1-4]','children':'leaf[1-2]'}]}"
#define LEAF1 "SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=node[1-2]\n"
#define LEAF2 "SwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=node[3-4]\n"
#define SPINE "SwitchName=spine Level=1 LinkSpeed=1 Nodes=node[1-4] Switches=leaf[1-2]\n"
#define ANSWERED(json) PEER_ANSWER(&ctld, OP_QUERY_TOPOLOGY, topology_reply, (json))

static void test_tree(void **state)
{
    static const struct {
        const char *words, *out, *err;
    } rows[] = {
        { "", LEAF1 LEAF2 SPINE, "" },
        { "switch=leaf1", LEAF1, "" },
        { "Unit=leaf1", LEAF1, "" },
        { "block=leaf1", LEAF1, "" },
        { "nodes=node1", LEAF1 SPINE, "" },
        { "node=node[2-3]", SPINE, "" }, /* those that have all of them */
        { "unit=nosuch", "",
          "scontrol: error: Topology information contains no switch named nosuch\n" },
        { "node=node9", "",
          "scontrol: error: Topology information contains no switch with nodes node9\n" },
        { "unit=leaf1 nodes=node3", "",
          "scontrol: error: Topology information contains no switch named leaf1 with nodes node3\n" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ANSWERED(TREE);
        expect_run(scontrol_show_topology, rows[i].words, rows[i].out, rows[i].err, 0);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    expect_run(scontrol_show_topology, "switchname=leaf1", "",
               "Unknown argument switchname=leaf1\n", 0);
    expect_run(scontrol_show_topology, "topo=default", "", "Unknown argument topo=default\n", 0);
    assert_true(peer_is_quiet(&ctld));
    peer_refuse(&ctld, OP_QUERY_TOPOLOGY, ESLURM_REQUESTED_TOPO_CONFIG_UNAVAILABLE, NULL);
    expect_run(scontrol_show_topology, "nosuch", "",
               "slurm_load_topo error: Requested topology configuration is not available\n", 0);
    EXPECT_REQUEST(OP_QUERY_TOPOLOGY, topology_request, "'name':'nosuch'");
    peer_refuse(&ctld, OP_QUERY_TOPOLOGY, ESLURM_ACCESS_DENIED, NULL);
    expect_run(scontrol_show_topology, "", "", "slurm_load_topo error: Access/permission denied\n",
               1);
}

static void test_other_kinds(void **state)
{
    (void)state;
    ANSWERED(
        "{'name':'b','kind':'block','units':[{'name':'b1','index':0,'size':2,'nodes':'n[1-2]'},"
        "{'name':'b[1-2]','index':0,'size':4,'nodes':'n[1-4]','aggregated':true}]}");
    expect_run(scontrol_show_topology, "b",
               "BlockName=b1 BlockIndex=0 Nodes=n[1-2] BlockSize=2\n"
               "AggregatedBlock=b[1-2] BlockIndex=0 Nodes=n[1-4] BlockSize=4\n",
               "", 0);
    ANSWERED("{'name':'r','kind':'ring','units':[{'name':'r1','size':3,'nodes':'n[1-3]'}]}");
    expect_run(scontrol_show_topology, "ring=r1", "RingName=r1 Nodes=n[1-3] RingSize=3\n", "", 0);
    ANSWERED("{'name':'t','kind':'torus3d','units':[{'name':'t1','dims':[2,2,1],'nodes':'n[1-4]',"
             "'placements':[{'dims':[2,1,1],'anchors':2}]}]}");
    expect_run(scontrol_show_topology, "t",
               "TorusName=t1 Dims=2x2x1 Nodes=n[1-4]\n"
               "  TorusName=t1 PlacementDims=2x1x1(2) Anchors=2\n",
               "", 0);
    ANSWERED("{'name':'f','kind':'flat'}");
    expect_run(scontrol_show_topology, "unit=x", "", "", 0); /* there are none in a flat one */
}

/* SLURM_TOPO_LEN cuts lines. */
static void test_length(void **state)
{
    (void)state;
    (void)setenv("SLURM_TOPO_LEN", "16", 1);
    ANSWERED(TREE);
    expect_run(scontrol_show_topology, "unit=leaf1", "SwitchName=leaf1\n", "", 0);
    (void)setenv("SLURM_TOPO_LEN", "x", 1);
    ANSWERED(TREE);
    expect_run(scontrol_show_topology, "unit=leaf1", LEAF1, "", 0);
    (void)unsetenv("SLURM_TOPO_LEN");
    scontrol.quiet = true;
    ANSWERED(TREE);
    expect_run(scontrol_show_topology, "unit=nosuch", "", "", 0);
}

static void show_conf(struct scontrol *s, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    scontrol_show_topoconf(s, NULL);
}

static void test_topoconf(void **state)
{
    (void)state;
    ANSWERED(TREE);
    expect_run(show_conf, "", "- topology: default\n", "", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCONTROL_TEST(test_tree),   SCONTROL_TEST(test_refusals), SCONTROL_TEST(test_other_kinds),
        SCONTROL_TEST(test_length), SCONTROL_TEST(test_topoconf),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
