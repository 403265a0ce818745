/* test_conf_row.c - pairs of one line: unknown keys, keys given twice, older spellings, DEFAULT
 * lines */
#include "conf_util.h"

static void test_pairs(void **state)
{
    struct conf *c;

    (void)state;
    assert_null(conf_says("NodeName=n CPUs=2 Colour=red\nPartitionName=p Nodes=n\n",
                          "slurm.conf:4: error: unknown key Colour in NodeName\n"));
    assert_null(conf_says("NodeName=n CPUs=two\nPartitionName=p Nodes=n\n",
                          "slurm.conf:4: error: CPUs=two is not a number\n"));
    c = conf_says("NodeName=n CPUs=2 CPUs=3\nPartitionName=p Nodes=n\n",
                  "slurm.conf:4: warning: CPUs is given more than once; the last value is used\n");
    assert_int_equal(conf_node(c, 0)->cpus, 3);
    conf_free(c);
}

/* Procs= and Feature= are older names of CPUs= and Features=; the newer one counts. */
static void test_aliases(void **state)
{
    struct conf *c = conf_says("NodeName=a Procs=2 Feature=x\nNodeName=b Procs=2 CPUs=3\n"
                               "PartitionName=p Nodes=ALL\n",
                               "");

    (void)state;
    assert_int_equal(conf_node(c, 0)->cpus, 2);
    assert_string_equal(conf_node(c, 0)->features, "x");
    assert_int_equal(conf_node(c, 1)->cpus, 3);
    conf_free(c);
}

/* DEFAULT lines are additive, hold for what follows, and give way to the line itself. */
static void test_defaults(void **state)
{
    struct conf *c = conf_says("NodeName=early CPUs=1\n"
                               "NodeName=DEFAULT CPUs=4 RealMemory=100\n"
                               "NodeName=a\n"
                               "NodeName=DEFAULT RealMemory=200 Weight=7\n"
                               "NodeName=b CPUs=8\n"
                               "PartitionName=DEFAULT MaxTime=60 Nodes=ALL\n"
                               "PartitionName=p\n"
                               "PartitionName=q MaxTime=30 Nodes=a\n",
                               "");

    (void)state;
    assert_int_equal(conf_node(c, 0)->cpus, 1);
    assert_int_equal(conf_node(c, 0)->real_memory_mib, 1);
    assert_int_equal(conf_node(c, 1)->cpus, 4);
    assert_int_equal(conf_node(c, 1)->real_memory_mib, 100);
    assert_int_equal(conf_node(c, 1)->weight, 1);
    assert_int_equal(conf_node(c, 2)->cpus, 8);
    assert_int_equal(conf_node(c, 2)->real_memory_mib, 200);
    assert_int_equal(conf_node(c, 2)->weight, 7);
    assert_int_equal(conf_nodes(c), 3); /* DEFAULT is no node */
    assert_int_equal(conf_part(c, 0)->max_time_min, 60);
    assert_int_equal(conf_part(c, 1)->max_time_min, 30);
    assert_string_equal(conf_part(c, 0)->nodes, "early,a,b");
    assert_string_equal(conf_part(c, 1)->nodes, "a");
    conf_free(c);
}

/* Of two keys that exclude each other that of the line wins over that of a DEFAULT line. */
static void test_excluded(void **state)
{
    struct conf *c = conf_says("NodeName=DEFAULT Sockets=4 CoresPerSocket=2\n"
                               "NodeName=a SocketsPerBoard=2\n"
                               "PartitionName=DEFAULT Nodes=a DefMemPerCPU=10 MaxMemPerNode=90\n"
                               "PartitionName=p DefMemPerNode=20 MaxMemPerCPU=30\n"
                               "PartitionName=q\n",
                               "");

    (void)state;
    assert_int_equal(conf_node(c, 0)->sockets, 2);
    assert_int_equal(conf_part(c, 0)->def_mem_per_cpu_mib, 0);
    assert_int_equal(conf_part(c, 0)->def_mem_per_node_mib, 20);
    assert_int_equal(conf_part(c, 0)->max_mem_per_node_mib, 0);
    assert_int_equal(conf_part(c, 1)->def_mem_per_cpu_mib, 10);
    conf_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_aliases),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_excluded),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
