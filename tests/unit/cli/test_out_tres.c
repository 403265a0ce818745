/* The TRES of nodes and partitions: what AccountingStorageTRES names, and what partitions bill. */
#include "cli/query/out_tres.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"

#define TRACKED                                                                                    \
    "cpu,mem,gres/shard,gres/gpu,gres/gpu:a100,gres/bb,gres/nic,license/matlab,license/none"

static Pst__NodeRecord *node(const char *name, const char *gres, const char *used)
{
    Pst__NodeRecord *n = malloc(sizeof(*n));

    assert_non_null(n);
    pst__node_record__init(n);
    n->name = strdup(name);
    n->has_cpus = n->has_sockets = n->has_cores_per_socket = n->has_threads_per_core = true;
    n->has_real_memory_mib = n->has_alloc_cpus = true;
    n->cpus = 16;
    n->sockets = 2;
    n->cores_per_socket = 4;
    n->threads_per_core = 2;
    n->real_memory_mib = 16000;
    n->gres = gres ? strdup(gres) : NULL;
    n->alloc_gres = used ? strdup(used) : NULL;
    n->alloc_cpus = used ? 4 : 0;
    return n;
}

static Pst__PartitionRecord *part(const char *name, const char *nodes, const char *weights)
{
    Pst__PartitionRecord *p = malloc(sizeof(*p));

    assert_non_null(p);
    pst__partition_record__init(p);
    p->name = strdup(name);
    p->nodes = strdup(nodes);
    p->tres_billing_weights = weights ? strdup(weights) : NULL;
    return p;
}

static int make_table(void **state)
{
    static struct cluster_nodes table;
    Pst__NodeRecord *nodes[] = {
        node("n1", NULL, NULL),
        node("n2", "gpu:a100:2,shard:a100:8", "gpu:a100:1(IDX:0,1),shard:a100:3(3/4,0/4)"),
        node("n3", "gpu:a100:1,gpu:k80:1(S:0-1),nic:4,bb:no_consume:100G",
             "gpu:k80:1(IDX:1),nic:0"),
    };
    Pst__PartitionRecord *parts[] = { part("debug", "n[1-3]", NULL),
                                      part("gpu", "n[2-3]", "CPU=1.0,Mem=0.25G,GRES/gpu=4.0") };

    *state = &table;
    return cluster_nodes_make(nodes, ARRAY_SIZE(nodes), parts, ARRAY_SIZE(parts), 0, &table);
}

static int drop_table(void **state)
{
    cluster_nodes_done(*state);
    return 0;
}

static const struct tres_rules rules = { .tracked = TRACKED, .licenses = "ansys:2,matlab:10" };

static void expect_node(struct cluster_nodes *t, size_t i, const struct tres_rules *by,
                        const char *tres, const char *used)
{
    _cleanup_free_ char *has = NULL, *holds = NULL;

    assert_int_equal(out_node_tres(t, i, by, &has), 0);
    assert_string_equal(has, tres);
    assert_int_equal(out_node_used(t->nodes[i].record, by, &holds), 0);
    assert_string_equal(holds, used);
}

static void test_nodes(void **state)
{
    static const struct tres_rules nothing = { .tracked = NULL };

    expect_node(*state, 0, &rules, "cpu=16,mem=16000M,billing=16", "");
    expect_node(*state, 1, &rules,
                "cpu=16,mem=16000M,billing=27,gres/gpu=2,gres/gpu:a100=2,gres/shard=8",
                "cpu=4,gres/gpu=1,gres/gpu:a100=1,gres/shard=3");
    expect_node(*state, 2, &rules,
                "cpu=16,mem=16000M,billing=27,gres/bb=107374182400,gres/gpu=2,gres/gpu:a100=1,"
                "gres/nic=4",
                "cpu=4,gres/gpu=1");
    expect_node(*state, 2, &nothing, "cpu=16,mem=16000M,billing=27", "cpu=4");
}

static void expect_part(struct cluster_nodes *t, size_t i, const char *tres)
{
    _cleanup_free_ char *has = NULL;

    assert_int_equal(out_part_tres(t, &t->parts[i], &rules, &has), 0);
    assert_string_equal(has, tres);
}

static void test_partitions(void **state)
{
    expect_part(*state, 0,
                "cpu=48,mem=48000M,node=3,billing=48,gres/bb=107374182400,gres/gpu=4,"
                "gres/gpu:a100=3,gres/nic=4,gres/shard=8,license/matlab=10");
    /* 32 CPUs, 7.8 for the memory, 16 for the GPUs */
    expect_part(*state, 1,
                "cpu=32,mem=32000M,node=2,billing=55,gres/bb=107374182400,gres/gpu=4,"
                "gres/gpu:a100=3,gres/nic=4,gres/shard=8,license/matlab=10");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_partitions),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, make_table, drop_table);
}
