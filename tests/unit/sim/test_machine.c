/* test_machine.c - the nodes and partitions that a simulation runs on */
#include "sim/machine.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "conf/conf.h"

static struct conf *conf;
static struct sim_machine *machine;

static int make_machine(const char *lines)
{
    char text[2048];
    struct conf_text file = { .name = "/etc/slurm/slurm.conf", .text = text };
    struct err err = { .text = "" };

    file.len = (size_t)snprintf(text, sizeof(text), "ClusterName=c\nSlurmctldHost=h\n%s", lines);
    if (conf_load_text(&file, 1, CONF_FULL, &conf, NULL, &err) < 0)
        fail_msg("%s", err.text);
    return machine_from_conf(conf, &machine, &err);
}

static int drop_machine(void **state)
{
    (void)state;
    machine = machine_free(machine);
    conf = conf_free(conf);
    return 0;
}

static void test_nodes(void **state)
{
    const struct sched_node *n;

    (void)state;
    assert_int_equal(make_machine("SlurmUser=root\nGresTypes=gpu,shard\n"
                                  "NodeName=a[1-2] Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 "
                                  "CPUs=16 RealMemory=1000 MemSpecLimit=100 Weight=7 "
                                  "Feature=ib,big\n"
                                  "NodeName=b1 CPUs=4 State=DRAIN\nNodeName=b2 CPUs=4 State=DOWN\n"
                                  "NodeName=b3 CPUs=4 State=FUTURE\n"
                                  "PartitionName=p Nodes=ALL\n"),
                     0);
    assert_int_equal(machine->nnodes, 5);
    assert_int_equal(machine->cpus, 32); /* of nodes that run jobs */
    n = &machine->nodes[0];
    assert_string_equal(n->name, "a1");
    assert_int_equal(n->sockets, 2);
    assert_int_equal(n->cores_per_socket, 4);
    assert_int_equal(n->threads_per_core, 2);
    assert_int_equal(n->mem_mib, 900);
    assert_int_equal(n->weight, 7);
    assert_string_equal(n->features, "ib,big");
    assert_true(n->schedulable);
    for (uint32_t i = 2; i < 5; i++)
        assert_false(machine->nodes[i].schedulable);
}

static void test_devices(void **state)
{
    const struct sched_gres_spec *g;

    (void)state;
    assert_int_equal(make_machine("SlurmUser=root\nGresTypes=gpu,shard\n"
                                  "NodeName=n CPUs=4 Gres=gpu:a100:4,gpu:b200:2,shard:8\n"
                                  "PartitionName=p Nodes=n\n"),
                     0);
    assert_int_equal(machine->nodes[0].ngres, 3);
    g = machine->nodes[0].gres;
    assert_string_equal(g[0].name, "gpu");
    assert_string_equal(g[0].type, "a100");
    assert_int_equal(g[0].count, 4);
    assert_int_equal(g[0].first_index, 0);
    assert_true(g[0].indexed);
    assert_string_equal(g[1].type, "b200");
    assert_int_equal(g[1].first_index, 4); /* behind the others of the name */
    assert_string_equal(g[2].name, "shard");
    assert_null(g[2].type);
    assert_int_equal(g[2].count, 8);
    assert_int_equal(g[2].first_index, 0);
    assert_false(g[2].indexed);
}

/* The default partition is the first. */
static void test_partitions(void **state)
{
    const struct sched_partition *p;

    (void)state;
    assert_int_equal(make_machine("SlurmUser=root\nNodeName=n[1-4] CPUs=4\n"
                                  "PartitionName=long Nodes=n[3-4] MaxTime=2-0 PriorityTier=3 "
                                  "OverSubscribe=FORCE:2 MaxCPUsPerNode=3\n"
                                  "PartitionName=main Nodes=n[1-2] Default=YES State=DOWN "
                                  "MinNodes=1 MaxNodes=2 ExclusiveUser=YES\n"),
                     0);
    assert_int_equal(machine->nparts, 2);
    p = &machine->parts[0];
    assert_string_equal(p->name, "main");
    assert_int_equal(p->nnodes, 2);
    assert_int_equal(p->node_ids[1], 1);
    assert_false(p->up);
    assert_int_equal(p->max_nodes, 2);
    assert_true(p->exclusive_user);
    assert_int_equal(p->oversubscribe, 1);
    assert_int_equal(p->max_cpus_per_node, SCHED_UNLIMITED);
    p = &machine->parts[1];
    assert_string_equal(p->name, "long");
    assert_int_equal(p->node_ids[0], 2);
    assert_int_equal(p->max_time_min, 2880);
    assert_int_equal(p->tier, 3);
    assert_true(p->up);
    assert_true(p->oversubscribe_force);
    assert_int_equal(p->oversubscribe, 2);
    assert_int_equal(p->max_cpus_per_node, 3);
    assert_int_equal(machine_partition(machine, "long"), 1);
    assert_int_equal(machine_partition(machine, "main"), 0);
    assert_int_equal(machine_partition(machine, "nosuch"), 0); /* the first */
    assert_int_equal(machine_partition(machine, NULL), 0);
}

/* Blocks of neighbouring nodes; the last may have fewer. */
static void test_blocks(void **state)
{
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(make_machine("SlurmUser=root\nNodeName=n[1-10] CPUs=4\n"
                                  "PartitionName=p Nodes=ALL\n"),
                     0);
    assert_null(machine_topology(machine));
    assert_int_equal(machine_set_blocks(machine, 4, NULL, 0, &err), 0);
    assert_non_null(machine_topology(machine));
    assert_int_equal(machine->ntopos, 1);
    assert_int_equal(machine_set_blocks(machine, 2, (const uint32_t[]){ 2, 4 }, 2, &err), 0);
    assert_int_equal(machine->ntopos, 1); /* in place of the one before */
    machine_drop_topologies(machine);
    assert_null(machine_topology(machine));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_nodes, drop_machine),
        cmocka_unit_test_teardown(test_devices, drop_machine),
        cmocka_unit_test_teardown(test_partitions, drop_machine),
        cmocka_unit_test_teardown(test_blocks, drop_machine),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
