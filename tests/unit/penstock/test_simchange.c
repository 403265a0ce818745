/* test_simchange.c - changes of a copied cluster, as transactions that the real one would see */
#include "model_util.h"

#include "output_util.h"
#include "penstock/simchange.h"

static struct output said;
static struct sim_args args;
static struct simchange changes;

/* Nodes n0 to n3, partition main of all, job 1 waiting, 2 and 3 running on n0 and n1. */
static struct cluster *busy_cluster(void)
{
    struct cluster *c = new_cluster();
    Pst__Transaction *tx;

    add_nodes(c, 4, 8);
    tx = tx_new(T0);
    (void)put_part(tx, "main", "n[0-3]");
    apply_ok(c, tx);
    for (uint32_t id = 1; id <= 3; id++)
        add_job(c, id);
    start_job(c, 2, make_alloc(0, 1, 2, 100), T0);
    start_job(c, 3, make_alloc(1, 1, 2, 100), T0);
    return c;
}

static void ask(enum sim_what what, const char *text)
{
    args.asks[args.nasks++] = (struct sim_ask){ what, text, text };
}

static int make_changes(const struct cluster *c)
{
    int r;

    simchange_done(&changes);
    output_begin(&said, NULL);
    r = simchange_make(&args, c, T0 + SEC, &changes);
    output_end(&said);
    return r;
}

/* Make what was asked for and apply it. */
static void change_cluster(struct cluster *c)
{
    struct err err = { .text = "" };

    assert_int_equal(make_changes(c), STATUS_OK);
    expect_said(&said, "", "");
    for (size_t i = 0; i < changes.n; i++)
        if (cluster_apply(c, changes.list[i], &err) != 0)
            fail_msg("%s", err.text);
    args.nasks = 0;
}

static void expect_refused(const struct cluster *c, enum sim_what what, const char *text,
                           const char *sentence)
{
    char want[512];

    args.nasks = 0;
    ask(what, text);
    assert_int_equal(make_changes(c), STATUS_USAGE);
    (void)snprintf(want, sizeof(want),
                   "penstock: error: sim: %s\nTry \"penstock --help\" for more information\n",
                   sentence);
    expect_said(&said, "", want);
    args.nasks = 0;
}

static int end_changes(void **state)
{
    (void)state;
    simchange_done(&changes);
    args = (struct sim_args){ 0 };
    return 0;
}

static bool has_flag(const struct cluster *c, const char *name, Pst__NodeFlag flag)
{
    return cluster_node_named(c, name)->rec->state_flags & 1u << flag;
}

static void test_nodes(void **state)
{
    struct cluster *c = busy_cluster();

    (void)state;
    ask(SIM_DRAIN, "n[0,2]");
    change_cluster(c);
    assert_true(has_flag(c, "n0", PST__NODE_FLAG__NODE_FLAG_DRAIN));
    assert_false(has_flag(c, "n1", PST__NODE_FLAG__NODE_FLAG_DRAIN));
    assert_true(has_flag(c, "n2", PST__NODE_FLAG__NODE_FLAG_DRAIN));
    ask(SIM_RESUME, "ALL");
    change_cluster(c);
    assert_false(has_flag(c, "n0", PST__NODE_FLAG__NODE_FLAG_DRAIN));
    expect_refused(c, SIM_DRAIN, "n9", "--drain: no node n9");
    cluster_free(c);
}

/* Jobs of a node that goes wait again when they may, else they are gone. */
static void test_down(void **state)
{
    struct cluster *c = busy_cluster();
    Pst__Transaction *tx = tx_new(T0);

    (void)state;
    SET(tx_job_patch(tx, EV(JOB_UPDATE), 2), requeue, true);
    apply_ok(c, tx);
    ask(SIM_DOWN, "n[0-1]");
    change_cluster(c);
    assert_int_equal(cluster_node_named(c, "n0")->rec->state, PST__NODE_STATE__NODE_DOWN);
    assert_non_null(cluster_job(c, 2));
    assert_true(job_is_pending(cluster_job(c, 2)->rec));
    assert_null(cluster_job(c, 2)->rec->alloc);
    assert_null(cluster_job(c, 3));
    assert_non_null(cluster_job(c, 1));
    cluster_free(c);
}

/* More nodes like one, in its partitions; a later change keeps those of the one before. */
static void test_add(void **state)
{
    static const char *const names[] = { "n0", "n3", "added1", "added2", "added3" };
    struct cluster *c = busy_cluster();

    (void)state;
    ask(SIM_ADD, "n0:2");
    ask(SIM_ADD, "n1:1");
    change_cluster(c);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct node *n = cluster_node_named(c, names[i]);

        assert_non_null(n);
        assert_int_equal(n->rec->cpus, 8);
        if (!bitmap_test(cluster_partition(c, "main")->nodes, n->rec->node_id))
            fail_msg("%s is not in the partition", names[i]);
    }
    expect_refused(c, SIM_ADD, "n1",
                   "--add: n1 is not NODE:COUNT, as in n1:4 for four more nodes "
                   "like n1");
    expect_refused(c, SIM_ADD, "n1:0",
                   "--add: n1:0 is not NODE:COUNT, as in n1:4 for four more "
                   "nodes like n1");
    expect_refused(c, SIM_ADD, "n9:1", "--add: no node n9");
    cluster_free(c);
}

static void test_partitions(void **state)
{
    struct cluster *c = busy_cluster();
    const Pst__PartitionRecord *p;

    (void)state;
    ask(SIM_PARTITION, "main.MaxTime=1-0");
    ask(SIM_PARTITION, "main.state=drain");
    ask(SIM_PARTITION, "main.MaxNodes=2");
    ask(SIM_PARTITION, "main.PriorityTier=7");
    ask(SIM_PARTITION, "main.Nodes=n[0-1]");
    change_cluster(c);
    p = cluster_partition(c, "main")->rec;
    assert_int_equal(p->max_time_min, 1440);
    assert_int_equal(p->state, PST__PARTITION_STATE__PART_DRAIN);
    assert_int_equal(p->max_nodes, 2);
    assert_int_equal(p->priority_tier, 7);
    assert_false(bitmap_test(cluster_partition(c, "main")->nodes, 2));
    expect_refused(c, SIM_PARTITION, "main",
                   "--partition: main is not NAME.KEY=VALUE, as in "
                   "main.MaxTime=1-0");
    expect_refused(c, SIM_PARTITION, "no.MaxTime=1", "--partition: no partition no");
    expect_refused(c, SIM_PARTITION, "main.MaxTime=soon",
                   "--partition: MaxTime takes a time limit such as 1-0 or 90, not soon");
    expect_refused(c, SIM_PARTITION, "main.MaxCPUsPerNode=0",
                   "--partition: MaxCPUsPerNode takes a number, not 0");
    expect_refused(c, SIM_PARTITION, "main.QOS=x",
                   "--partition: QOS is not simulated (MaxTime, State, Nodes, MaxNodes, MinNodes, "
                   "MaxCPUsPerNode, PriorityTier, PriorityJobFactor and OverSubscribe are)");
    cluster_free(c);
}

static void test_jobs(void **state)
{
    struct cluster *c = busy_cluster();

    (void)state;
    ask(SIM_HOLD, "1");
    change_cluster(c);
    assert_true(cluster_job(c, 1)->rec->has_priority);
    assert_int_equal(cluster_job(c, 1)->rec->priority, 0);
    ask(SIM_RELEASE, "1");
    change_cluster(c);
    assert_false(cluster_job(c, 1)->rec->has_priority);
    expect_refused(c, SIM_HOLD, "2", "--hold: no such job waits: 2");
    ask(SIM_CANCEL, "1,2");
    change_cluster(c);
    assert_null(cluster_job(c, 1));
    assert_null(cluster_job(c, 2));
    expect_refused(c, SIM_CANCEL, "9", "--cancel: no such job waits or runs: 9");
    expect_refused(c, SIM_CANCEL, "x", "--cancel: no such job waits or runs: x");
    cluster_free(c);
}

/* What was asked for stands in the report, settings behind the changes. */
static void test_texts(void **state)
{
    struct cluster *c = busy_cluster();

    (void)state;
    ask(SIM_DRAIN, "n0");
    args.sets[args.nsets++] = "PriorityWeightAge=1";
    assert_int_equal(make_changes(c), STATUS_OK);
    assert_int_equal(changes.ntexts, 2);
    assert_string_equal(changes.texts[0], "n0");
    assert_string_equal(changes.texts[1], "PriorityWeightAge=1");
    assert_int_equal(changes.n, 1);
    cluster_free(c);
}

#define ONE(fn) cmocka_unit_test_teardown(fn, end_changes)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(test_nodes),      ONE(test_down), ONE(test_add),
        ONE(test_partitions), ONE(test_jobs), ONE(test_texts),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
