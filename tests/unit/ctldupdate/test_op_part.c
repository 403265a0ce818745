/* test_op_part.c - partitions made, changed and removed by operators */
#include "corefull_util.h"

#include "fields.h"

static int update(const char *json)
{
    return corefull_ask(root, OP_PART_UPDATE, json, NULL);
}

static const Pst__PartitionRecord *record(const char *name)
{
    const struct partition *p = cluster_partition(core.ctld.cluster, name);

    return p ? p->rec : NULL;
}

/* A new one is up, with Slurm's defaults and no nodes. */
static void test_create(void **state)
{
    (void)state;
    corefull_begin("PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\n", 3);
    assert_int_equal(update("{'name':'q','create':true}"), 0);
    assert_int_equal(record("q")->state, PST__PARTITION_STATE__PART_UP);
    assert_int_equal(record("q")->priority_tier, 1);
    assert_int_equal(record("q")->priority_job_factor, 1);
    assert_int_equal(record("q")->min_nodes, 1);
    assert_string_equal(record("q")->nodes, "");
    assert_string_equal(record("q")->preempt_mode, "REQUEUE"); /* the cluster's */
    assert_true(record("q")->preempt_mode_of_cluster);
    assert_int_equal(update("{'name':'q','create':true}"), ESLURM_INVALID_PARTITION_NAME);
    assert_int_equal(update("{'name':'r'}"), ESLURM_INVALID_PARTITION_NAME);
    assert_int_equal(update("{'create':true}"), ESLURM_INVALID_PARTITION_NAME);
    assert_int_equal(update("{'name':'','create':true}"), ESLURM_INVALID_PARTITION_NAME);
    assert_int_equal(update("{'name':'q','set':{'preempt_mode':'OFF'}}"), 0);
    assert_false(record("q")->preempt_mode_of_cluster);
    corefull_end();
}

/* Nodes= names them all, or those that join and leave. */
static const struct {
    const char *nodes;
    int code;
    const char *want;
} lists[] = {
    { "n[0-1]", 0, "n[0-1]" },
    { "+n2", 0, "n[0-2]" },
    { "-n0", 0, "n[1-2]" },
    { "-n0", 0, "n[1-2]" },
    { "+n[0-2]", 0, "n[0-2]" },
    { "n9", ESLURM_INVALID_NODE_NAME, "n[0-2]" },
    { "+n9", ESLURM_INVALID_NODE_NAME, "n[0-2]" },
    { "n[0-", ESLURM_INVALID_NODE_NAME, "n[0-2]" },
    { "n1,n1", 0, "n1" },
    { "ALL", 0, "n[0-2]" },
};

static void test_nodes(void **state)
{
    (void)state;
    corefull_begin("", 3);
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        char json[96];
        int code;

        (void)snprintf(json, sizeof(json), "{'name':'p','set':{'nodes':'%s'}}", lists[i].nodes);
        code = update(json);
        if (code != lists[i].code || strcmp(record("p")->nodes, lists[i].want) != 0)
            fail_msg("row %zu, %s: code %d, %s", i, lists[i].nodes, code, record("p")->nodes);
    }
    corefull_end();
}

/* Words for things that are not there; nothing of the request is done then. */
static const struct {
    const char *set;
    int code;
} bad[] = {
    { "'allow_qos':'nowhere'", ESLURM_INVALID_QOS },
    { "'qos':'nowhere'", ESLURM_INVALID_QOS },
    { "'tres_billing_weights':'CPU=x'", ESLURM_INVALID_TRES_BILLING_WEIGHTS },
    { "'tres_billing_weights':'cpus=1'", ESLURM_INVALID_TRES_BILLING_WEIGHTS },
    { "'tres_billing_weights':'gres/nic=1'", ESLURM_INVALID_TRES_BILLING_WEIGHTS },
    { "'topology':'nowhere'", ESLURM_REQUESTED_TOPO_CONFIG_UNAVAILABLE },
    { "'job_defaults':'DefCpuPerGPU=x'", ESLURM_INVALID_JOB_DEFAULTS },
    { "'job_defaults':'DefCpuPerNode=1'", ESLURM_INVALID_JOB_DEFAULTS },
    { "'job_defaults':'Def=1'", ESLURM_INVALID_JOB_DEFAULTS },
};

static void test_values(void **state)
{
    (void)state;
    corefull_begin("GresTypes=gpu\n", 1);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        char json[128];
        int code;

        (void)snprintf(json, sizeof(json), "{'name':'p','set':{'max_nodes':7,%s}}", bad[i].set);
        code = update(json);
        if (code != bad[i].code || record("p")->has_max_nodes)
            fail_msg("row %zu, %s: code %d", i, bad[i].set, code);
    }
    assert_int_equal(update("{'name':'p','set':{'tres_billing_weights':'CPU=1.0,Mem=0.25G,"
                            "GRES/gpu=2,gres/gpu:a100=4,license/x=1','job_defaults':"
                            "'DefCpuPerGPU=2,DefMemPerGPU=100'}}"),
                     0);
    corefull_end();
}

/* A default above the limit is none, whichever of the two is set. */
static void test_times(void **state)
{
    (void)state;
    corefull_begin("", 1);
    assert_int_equal(update("{'name':'p','set':{'max_time_min':60,'default_time_min':30}}"), 0);
    assert_int_equal(record("p")->default_time_min, 30);
    assert_int_equal(update("{'name':'p','set':{'default_time_min':90}}"), 0);
    assert_false(record("p")->has_default_time_min);
    assert_int_equal(
        update("{'name':'q','create':true,'set':{'max_time_min':5,'default_time_min':9}}"), 0);
    assert_false(record("q")->has_default_time_min);
    corefull_end();
}

/* There is one default partition. */
static void test_default(void **state)
{
    (void)state;
    corefull_begin("", 1);
    assert_int_equal(update("{'name':'p','set':{'is_default':true}}"), 0);
    assert_int_equal(update("{'name':'q','create':true,'set':{'is_default':true}}"), 0);
    assert_true(record("q")->is_default);
    assert_false(record("p")->is_default);
    assert_int_equal(update("{'name':'q','set':{'is_default':true}}"), 0);
    assert_true(record("q")->is_default);
    corefull_end();
}

static void in_q(Pst__JobRecord *r)
{
    assert_int_equal(pb_set_str(&r->partition, "p,q"), 0);
}

/* A partition that a job waits for or runs in stays. */
static void test_remove(void **state)
{
    (void)state;
    corefull_begin("", 1);
    assert_int_equal(update("{'name':'q','create':true,'set':{'nodes':'n0'}}"), 0);
    assert_int_equal(update("{'name':'r','create':true}"), 0);
    (void)core_job(&core, 1, in_q);
    assert_int_equal(update("{'name':'q','remove':true}"), ESLURM_PARTITION_IN_USE);
    assert_int_equal(update("{'name':'r','remove':true}"), 0);
    assert_null(record("r"));
    assert_int_equal(update("{'name':'r','remove':true}"), ESLURM_INVALID_PARTITION_NAME);
    assert_int_equal(update("{'name':'s','remove':true,'create':true}"),
                     ESLURM_INVALID_PARTITION_NAME);
    end_job(core.ctld.cluster, 1, JOB_STATE(CANCELLED), T0 + SEC, true);
    assert_int_equal(update("{'name':'q','remove':true}"), 0);
    corefull_end();
}

/* Figures that are the controller's, and a name in the record, are not what a request says. */
static void test_own_fields(void **state)
{
    char json[96];

    (void)state;
    corefull_begin("", 1);
    assert_int_equal(update("{'name':'p','set':{'name':'x','total_nodes':99,'max_nodes':3}}"), 0);
    assert_non_null(record("p"));
    assert_null(record("x"));
    assert_int_equal(record("p")->max_nodes, 3);
    assert_false(record("p")->has_total_nodes && record("p")->total_nodes == 99);
    (void)snprintf(json, sizeof(json), "{'name':'p','clear':[%u]}", PART_F_MAX_NODES);
    assert_int_equal(update(json), 0);
    assert_false(record("p")->has_max_nodes);
    (void)snprintf(json, sizeof(json), "{'name':'p','clear':[%u]}", PART_F_NAME);
    assert_int_equal(update(json), ESLURM_NOT_SUPPORTED);
    assert_int_equal(update("{'name':'p','clear':[536870911]}"), ESLURM_NOT_SUPPORTED);
    corefull_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_create),     cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_values),     cmocka_unit_test(test_times),
        cmocka_unit_test(test_default),    cmocka_unit_test(test_remove),
        cmocka_unit_test(test_own_fields),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
