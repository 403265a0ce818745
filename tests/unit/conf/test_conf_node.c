/* test_conf_node.c - NodeName and DownNodes lines: names, addresses, ports, geometry, states */
#include "conf_util.h"

#include "base/cleanup.h"

#define PART "PartitionName=p Nodes=ALL\n"

static void test_pairs(void **state)
{
    struct conf *c = conf_says(
        "NodeName=n[1-3] NodeHostname=h[7-9] BcastAddr=10.1.0.[1-3] NodeAddr=10.0.0.[1-3] "
        "Port=[7001-7003]\n"
        "NodeName=a\n"
        "NodeName=b[1-2] NodeHostname=box Port=7101-7102\n" PART,
        "");
    const struct conf_node *n = conf_find_node(c, "n2");

    (void)state;
    assert_string_equal(n->hostname, "h8");
    assert_string_equal(n->addr, "10.0.0.2");
    assert_string_equal(n->bcast_addr, "10.1.0.2");
    assert_int_equal(n->port, 7002);
    n = conf_find_node(c, "a"); /* each is the one before it unless it is said */
    assert_string_equal(n->hostname, "a");
    assert_string_equal(n->addr, "a");
    assert_null(n->bcast_addr);
    assert_int_equal(n->port, 6818); /* SlurmdPort */
    n = conf_find_node(c, "b2");
    assert_string_equal(n->hostname, "box");
    assert_string_equal(n->addr, "box");
    assert_int_equal(n->port, 7102);
    assert_null(conf_find_node(c, "b3"));
    assert_string_equal(conf_node_for_host(c, "h9.example.org")->name, "n3");
    assert_null(conf_node_for_host(c, "h10"));
    conf_free(c);
}

static void test_mistakes(void **state)
{
    (void)state;
    assert_null(
        conf_says("NodeName=n[1-3] NodeAddr=10.0.0.[1-2]\n" PART,
                  "slurm.conf:4: error: NodeAddr=10.0.0.[1-2] has 2 entries for 3 nodes\n"));
    assert_null(conf_says("NodeName=n1\nNodeName=n[0-1]\n" PART,
                          "slurm.conf:5: error: node n1 is defined already in line 4\n"));
    assert_null(conf_says("NodeName=n1 Port=70000\n" PART,
                          "slurm.conf:4: error: Port=70000 is not a port (1 to 65535)\n"));
    assert_null(
        conf_says("NodeName=a/b\n" PART, "slurm.conf:4: error: \"a/b\" is not a node name\n"));
    assert_null(conf_says("NodeName=DEFAULT NodeAddr=h\nNodeName=n\n" PART,
                          "slurm.conf:4: error: NodeAddr not allowed with NodeName=DEFAULT\n"));
    conf_free(conf_says("NodeName=n[1-2] NodeHostname=h\n" PART,
                        "slurm.conf:4: warning: 2 nodes share one host and one port; give them a "
                        "range of ports\n"));
}

/* What is not given follows from what is. */
static void test_geometry(void **state)
{
    static const struct {
        const char *line;
        uint32_t sockets, cores, threads, cpus;
    } rows[] = {
        { "", 1, 1, 1, 1 },
        { "CPUs=8", 8, 1, 1, 8 },
        { "Sockets=2 CoresPerSocket=4 ThreadsPerCore=2", 2, 4, 2, 16 },
        { "CPUs=16 CoresPerSocket=4 ThreadsPerCore=2", 2, 4, 2, 16 },
        { "CPUs=8 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2", 2, 4, 2, 8 }, /* cores */
        { "CPUs=2 Sockets=2 CoresPerSocket=4", 2, 4, 1, 2 },                  /* sockets */
        { "Boards=2 SocketsPerBoard=2 CoresPerSocket=3", 4, 3, 1, 12 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        char lines[256];
        const struct conf_node *n;
        struct conf *c;

        (void)snprintf(lines, sizeof(lines), "NodeName=n %s\n" PART, rows[i].line);
        c = conf_says(lines, "");
        n = conf_node(c, 0);
        assert_int_equal(n->sockets, rows[i].sockets);
        assert_int_equal(n->cores_per_socket, rows[i].cores);
        assert_int_equal(n->threads_per_core, rows[i].threads);
        assert_int_equal(n->cpus, rows[i].cpus);
        conf_free(c);
    }
    conf_free(conf_says("NodeName=n CPUs=7 Sockets=2 CoresPerSocket=4\n" PART,
                        "slurm.conf:4: warning: CPUs=7 fits neither sockets, cores nor threads; 8 "
                        "is used\n"));
    assert_null(conf_says("NodeName=n CPUs=4 CoreSpecCount=4\n" PART,
                          "slurm.conf:4: error: CoreSpecCount=4 leaves no core for jobs\n"));
    assert_null(conf_says("NodeName=n RealMemory=100 MemSpecLimit=100\n" PART,
                          "slurm.conf:4: error: MemSpecLimit=100 leaves no memory for jobs\n"));
}

static void test_states(void **state)
{
    struct conf *c = conf_says("NodeName=a State=future\nNodeName=b State=FAILING\n"
                               "NodeName=d[1-3] Reason=old\n"
                               "DownNodes=d[2-3] State=DRAIN Reason=\"new fan\"\n"
                               "DownNodes=d3\n" PART,
                               "");

    (void)state;
    assert_string_equal(conf_find_node(c, "a")->state, "FUTURE");
    assert_string_equal(conf_find_node(c, "b")->state, "FAIL");
    assert_string_equal(conf_find_node(c, "d1")->state, "UNKNOWN");
    assert_string_equal(conf_find_node(c, "d2")->state, "DRAIN");
    assert_string_equal(conf_find_node(c, "d2")->reason, "new fan");
    assert_string_equal(conf_find_node(c, "d3")->state, "DOWN"); /* the last line counts */
    assert_string_equal(conf_find_node(c, "d3")->reason, "new fan");
    conf_free(c);
    c = conf_says("NodeName=n State=IDLE\n" PART,
                  "slurm.conf:4: warning: State=IDLE is not for a file; UNKNOWN is used\n");
    assert_string_equal(conf_node(c, 0)->state, "UNKNOWN");
    conf_free(c);
    assert_null(conf_says("NodeName=n\nDownNodes=m\n" PART,
                          "slurm.conf:5: error: DownNodes: no NodeName line defines m\n"));
}

static void test_gres(void **state)
{
    struct conf *c;

    (void)state;
    conf_free(conf_says("GresTypes=gpu,shard\nNodeName=n Gres=gpu:a100:2,shard:4096\n" PART, ""));
    c = conf_says("GresTypes=gpu,nic\nNodeName=n Gres=gpu:a:2(S:0-1),gpu:b:3(S:0,2),nic:2\n" PART,
                  "");
    assert_string_equal(conf_node(c, 0)->gres, "gpu:a:2,gpu:b:3,nic:2");
    conf_free(c);
    assert_null(
        conf_says("GresTypes=gpu\nNodeName=n Gres=gpu:2(S:x)\n" PART,
                  "slurm.conf:5: error: Gres=gpu:2(S:x): (S:x) is not sockets, as (S:0-1)\n"));
    assert_null(conf_says("GresTypes=gpu\nNodeName=n Gres=gpu:\n" PART,
                          "slurm.conf:5: error: Gres=gpu: has no count after ':'\n"));
    assert_null(conf_says("GresTypes=gpu\nNodeName=n Gres=gpu:2x\n" PART,
                          "slurm.conf:5: error: Gres=gpu:2x: 2x is not a count\n"));
    assert_null(conf_says("GresTypes=gpu\nNodeName=n Gres=,gpu\n" PART,
                          "slurm.conf:5: error: Gres=,gpu has an empty name\n"));
    assert_null(
        conf_says("GresTypes=shard\nNodeName=n Gres=shard:4097\n" PART,
                  "slurm.conf:5: error: Gres=shard:4097: more than 4096 shares on a node\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),    cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_geometry), cmocka_unit_test(test_states),
        cmocka_unit_test(test_gres),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
