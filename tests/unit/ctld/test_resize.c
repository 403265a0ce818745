/* test_resize.c - running jobs that give nodes back: which stay, what is billed, who is told */
#include "ctld_util.h"

static const char cluster[] =
    "NodeName=n[0-3] CPUs=8 Sockets=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=8000 "
    "State=UNKNOWN\n"
    "PartitionName=main Nodes=ALL Default=YES MaxTime=60 DefaultTime=30\n";

static struct fake_node *nodes[4];

static int setup(void **state)
{
    static const char *const names[] = { "n0", "n1", "n2", "n3" };
    struct daemon *d = malloc(sizeof(*d));

    assert_non_null(d);
    (void)daemon_new(d);
    write_conf(d, "SlurmdTimeout=600", cluster);
    daemon_start(d, NULL, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(nodes); i++)
        nodes[i] = node_up(d, names[i], "b1", NULL);
    *state = d;
    return 0;
}

static int teardown(void **state)
{
    struct daemon *d = *state;
    int status = daemon_stop(d, SIGTERM);

    for (size_t i = 0; i < ARRAY_SIZE(nodes); i++)
        node_free(nodes[i]);
    daemon_free(d);
    free(d);
    return status; /* not 0 when it leaked */
}

/* A job on n0-n2 that runs. */
static uint32_t run_on_three(struct daemon *d)
{
    uint32_t id =
        submit(d, "{'job':{'min_nodes':3,'max_nodes':3,'num_tasks':6,'ntasks_per_node':2}}");

    (void)node_launched(nodes[0], id);
    assert_job(d, id, "'nodes':'n[0-2]'");
    return id;
}

static void must_leave(struct fake_node *n, uint32_t id)
{
    protobuf_c_message_free_unpacked(node_take(n, OP_TERMINATE_JOB, id), NULL);
}

static void test_first_ones_stay(void **state)
{
    struct daemon *d = *state;
    uint32_t id = run_on_three(d);

    assert_true(node_has(d, "n2", "'alloc_cpus':2"));
    assert_int_equal(update(d, id, "'set':{'min_nodes':2,'max_nodes':2}"), 0);
    assert_job(d, id, "'state':'JOB_RUNNING'");
    assert_job(d, id, "'nodes':'n[0-1]'");
    assert_job(d, id, "'alloc_tres':'cpu=4,mem=400M,node=2,billing=4'");
    must_leave(nodes[2], id);
    assert_true(node_has(d, "n2", "'alloc_cpus':0")); /* free at once */
    assert_true(node_has(d, "n1", "'alloc_cpus':2"));
    assert_int_equal(update(d, id, "'set':{'min_nodes':1,'max_nodes':1}"), 0);
    assert_job(d, id, "'nodes':'n0'");
    must_leave(nodes[1], id);
}

static void test_named_ones_stay(void **state)
{
    struct daemon *d = *state;
    uint32_t id = run_on_three(d);

    assert_int_equal(update(d, id, "'set':{'req_nodes':'n[0,2]'}"), 0);
    assert_job(d, id, "'nodes':'n[0,2]'");
    must_leave(nodes[1], id);
    assert_true(node_has(d, "n1", "'alloc_cpus':0"));
    assert_true(node_has(d, "n2", "'alloc_cpus':2"));
}

static void test_refused(void **state)
{
    static const struct {
        const char *set;
        int code;
    } cases[] = {
        { "'set':{'min_nodes':4,'max_nodes':4}", ESLURM_NOT_SUPPORTED }, /* they do not grow */
        { "'set':{'req_nodes':'n[0-3]'}", ESLURM_INVALID_NODE_NAME },
        { "'set':{'mem_per_node_mib':99999}", ESLURM_JOB_NOT_PENDING },
        { "'set':{'req_nodes':'n9'}", ESLURM_INVALID_NODE_NAME },
        { "'set':{'req_nodes':'n[0'}", ESLURM_INVALID_NODE_NAME },
        { "'set':{'req_nodes':'n[1-2]'}", ESLURM_INVALID_NODE_NAME }, /* the script's node */
        { "'set':{'req_nodes':'n0','min_nodes':2,'max_nodes':2}", ESLURM_INVALID_NODE_COUNT },
        { "'set':{'min_nodes':3,'max_nodes':3}", 0 }, /* nothing to do */
    };
    struct daemon *d = *state;
    uint32_t id = run_on_three(d);

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int code = update(d, id, cases[i].set);

        if (code != cases[i].code)
            print_error("# %s: %d\n", cases[i].set, code);
        assert_int_equal(code, cases[i].code);
        assert_job(d, id, "'nodes':'n[0-2]'");
    }
    assert_int_equal(act(d, id, "SUSPEND"), 0);
    assert_int_equal(update(d, id, "'set':{'min_nodes':2,'max_nodes':2}"), ESLURM_NOT_SUPPORTED);
    assert_job(d, id, "'nodes':'n[0-2]'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_first_ones_stay, setup, teardown),
        cmocka_unit_test_setup_teardown(test_named_ones_stay, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
