/* test_topology.c - the service of topologies: what the files say, what nodes say of themselves,
 * and who hears when it changes; nodes hear their place */
#include "coreask_util.h"

#include <sys/stat.h>

#include "ctld/core/observe.h"
#include "ctld/node/nodetopology.h"
#include "ctld/topology/topology.h"
#include "feed/topoorder.h"

extern const struct ctld_service nodetopology_service;

static const struct ctld_service *const services[] = { &topology_service, &nodetopology_service,
                                                       NULL };
static struct core core;

static const char tree[] = "SwitchName=s0 Nodes=n[0-1]\nSwitchName=s1 Nodes=n[2-3]\n"
                           "SwitchName=top Switches=s[0-1]\n";

static void put_file(const char *name, const char *text)
{
    char path[200];
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s/%s", core.dir, name);
    f = fopen(path, "we");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* slurm.conf of four nodes with this topology.conf beside it. */
static struct conf *read_conf(const char *topology)
{
    struct err err = { .text = "" };
    struct conf *conf = NULL;
    char path[200];

    put_file("slurm.conf", "ClusterName=c\nSlurmctldHost=h\nSlurmUser=root\n"
                           "TopologyPlugin=topology/tree\nNodeName=n[0-3]\n"
                           "PartitionName=p Nodes=ALL\n");
    put_file("topology.conf", topology);
    (void)snprintf(path, sizeof(path), "%s/slurm.conf", core.dir);
    if (conf_load(path, CONF_FULL, &conf, NULL, &err) < 0)
        fail_msg("%s", err.text);
    return conf;
}

/* Four nodes under two switches, by the file topology.conf. */
static void begin(void)
{
    struct err err = { .text = "" };
    const struct ctld_service *none[] = { NULL };

    coreask_begin(&core, "", none);
    core.ctld.conf = conf_free(core.ctld.conf);
    core.ctld.conf = read_conf(tree);
    for (size_t i = 0; services[i]; i++)
        core.services[i] = services[i];
    if (services_start(&core.ctld, &err) < 0)
        fail_msg("%s", err.text);
    observe_init(&core.ctld);
    core_nodes(&core, 4, 4);
    coreask_turn(&core);
}

static uint32_t unit_of(const char *topology, uint32_t node)
{
    const struct topo *t = topologies_named(topology_now(&core.ctld), topology);

    assert_non_null(t);
    return topo_unit_of(t, node);
}

/* Before the start there is no set, and whoever looks finds none. */
static void test_none(void **state)
{
    struct ctld ctld = { .conf = NULL };
    const uint32_t nodes[] = { 0, 1 };
    uint32_t ranks[] = { 9, 9 };

    (void)state;
    assert_null(topology_now(&ctld));
    assert_false(topologies_ranks(topology_now(&ctld), nodes, 2, ranks));
    assert_int_equal(ranks[0] + ranks[1], 0);
    assert_null(topologies_named(NULL, "t"));
    assert_int_equal(topologies_count(NULL), 0);
    assert_null(topologies_node(NULL, 0));
}

/* Nodes that come are where the file has them. */
static void test_files(void **state)
{
    struct topologies *t;

    (void)state;
    begin();
    assert_true(unit_of(NULL, 0) == unit_of(NULL, 1));
    assert_true(unit_of(NULL, 2) == unit_of(NULL, 3));
    assert_true(unit_of(NULL, 0) != unit_of(NULL, 2));
    t = topology_take_changed(&core.ctld);
    assert_non_null(t);
    topologies_unref(t);
    assert_null(topology_take_changed(&core.ctld)); /* once */
    coreask_turn(&core);
    assert_null(topology_take_changed(&core.ctld)); /* nothing is new */
    t = topology_get(&core.ctld);
    assert_ptr_equal(t, topology_now(&core.ctld));
    topologies_unref(t);
    coreask_end(&core);
}

static void say(uint32_t node, const char *text)
{
    Pst__Transaction *tx = tx_new(T0);

    assert_int_equal(pb_set_str(&tx_node_patch(tx, EV(NODE_CONFIG), node)->topology, text), 0);
    apply_ok(core.ctld.cluster, tx);
    coreask_turn(&core);
}

/* A node's own word moves it; "" takes it out; a word that names nothing takes it out, too, and
 * stays in the record. */
static void test_members(void **state)
{
    const char *name = NULL;
    char text[64];

    (void)state;
    begin();
    name = topo_get_spec(topologies_nth(topology_now(&core.ctld), 0))->name;
    (void)snprintf(text, sizeof(text), "%s:s1", name);
    say(0, text);
    assert_true(unit_of(NULL, 0) == unit_of(NULL, 2));
    assert_true(unit_of(NULL, 1) != unit_of(NULL, 2));
    say(0, "");
    assert_int_equal(unit_of(NULL, 0), TOPO_NONE);
    (void)snprintf(text, sizeof(text), "%s:nowhere:s1",
                   topo_get_spec(topologies_nth(topology_now(&core.ctld), 0))->name);
    say(1, text);
    assert_int_equal(unit_of(NULL, 1), TOPO_NONE);
    assert_string_equal(core.ctld.cluster->nodes[1]->rec->topology, text);
    coreask_end(&core);
}

/* Records come to say the whole path, unless they say something else by then. */
static void test_spelling(void **state)
{
    const char *name = NULL;
    char text[64], full[64];

    (void)state;
    begin();
    name = topo_get_spec(topologies_nth(topology_now(&core.ctld), 0))->name;
    (void)snprintf(text, sizeof(text), "%s:s1", name);
    (void)snprintf(full, sizeof(full), "%s:top:s1", name);
    say(0, text);
    say(1, text);
    say(0, "");
    coreask_turn(&core);
    assert_string_equal(core.ctld.cluster->nodes[0]->rec->topology, "");
    assert_string_equal(core.ctld.cluster->nodes[1]->rec->topology, full);
    assert_null(core.ctld.cluster->nodes[2]->rec->topology);
    assert_int_equal(unit_of(NULL, 0), TOPO_NONE);
    coreask_end(&core);
}

/* Would it be there?  What is said is forgotten when its transaction does not come. */
static void test_join(void **state)
{
    struct err err = { .text = "" };
    char *full = NULL, text[64];

    (void)state;
    begin();
    (void)snprintf(text, sizeof(text), "%s:s1",
                   topo_get_spec(topologies_nth(topology_now(&core.ctld), 0))->name);
    assert_int_equal(topology_join(&core.ctld, 0, text, &full, &err), 1);
    assert_non_null(strstr(full, "top:s1")); /* with the switches above */
    free(full);
    topology_forget(&core.ctld);
    coreask_turn(&core);
    assert_true(unit_of(NULL, 0) == unit_of(NULL, 1)); /* where it was */
    assert_int_equal(topology_join(&core.ctld, 0, "zz:s1", &full, &err), -EINVAL);
    assert_true(err.text[0]);
    coreask_end(&core);
}

/* A connected node hears when its own place changes, and only then. */
static void test_told(void **state)
{
    struct conn *n0, *n3;
    Pst__NodeTopology place = PST__NODE_TOPOLOGY__INIT;
    struct told t;

    (void)state;
    begin();
    n0 = coreask_link(&core, 0);
    n3 = coreask_link(&core, 3);
    nodetopology_fill(&core.ctld, 0, &place);
    assert_string_equal(place.address, "top.s0.n0");
    assert_string_equal(place.pattern, "switch.switch.node");
    pb_done(&place.base);
    coreask_turn(&core);
    assert_int_equal(coreask_count(n0, OP_NODE_TOPOLOGY), 0);
    say(0, "");
    t = coreask_take(n0, OP_NODE_TOPOLOGY);
    assert_non_null(t.conn);
    assert_null(strstr(((Pst__NodeTopology *)t.msg)->address, "s0"));
    drop_told(&t);
    assert_int_equal(coreask_count(n3, OP_NODE_TOPOLOGY), 0);
    coreask_end(&core);
}

/* What cannot be is refused before it is in force: a switch above itself. */
static void test_check(void **state)
{
    struct err err = { .text = "" };
    struct conf *conf;

    (void)state;
    begin();
    assert_int_equal(topology_check_conf(core.ctld.conf, NULL, &err), 0);
    conf = read_conf("SwitchName=s0 Switches=s1\nSwitchName=s1 Switches=s0\n");
    assert_true(topology_check_conf(conf, NULL, &err) < 0);
    assert_non_null(strstr(err.text, "s0"));
    conf_free(conf);
    coreask_end(&core);
}

/* The files are read again with the configuration. */
static void test_again(void **state)
{
    (void)state;
    begin();
    put_file("topology.conf", "SwitchName=s0 Nodes=n[0,2]\nSwitchName=s1 Nodes=n[1,3]\n"
                              "SwitchName=top Switches=s[0-1]\n");
    topology_service.reconfigured(&core.ctld);
    coreask_turn(&core);
    assert_true(unit_of(NULL, 0) == unit_of(NULL, 2));
    assert_true(unit_of(NULL, 1) == unit_of(NULL, 3));
    put_file("topology.conf", "SwitchName="); /* broken since: it stays as it was */
    topology_service.reconfigured(&core.ctld);
    coreask_turn(&core);
    assert_true(unit_of(NULL, 0) == unit_of(NULL, 2));
    coreask_end(&core);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none),    cmocka_unit_test(test_files),
        cmocka_unit_test(test_members), cmocka_unit_test(test_spelling),
        cmocka_unit_test(test_join),    cmocka_unit_test(test_told),
        cmocka_unit_test(test_check),   cmocka_unit_test(test_again),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
