/* test_depends.c - jobs that wait for others: each kind of dependency, met and never to be met */
#include "ctld_util.h"

static const char cluster[] =
    "NodeName=n0 CPUs=8 Sockets=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=8000 "
    "State=UNKNOWN\n"
    "PartitionName=main Nodes=ALL Default=YES MaxTime=60 DefaultTime=30\n";

static int setup(void **state)
{
    struct daemon *d = malloc(sizeof(*d));

    assert_non_null(d);
    (void)daemon_new(d);
    write_conf(d, "SlurmdTimeout=600\nSchedulerParameters=requeue_delay=0", cluster);
    daemon_start(d, NULL, NULL);
    *state = d;
    return 0;
}

static int teardown(void **state)
{
    struct daemon *d = *state;
    int status = daemon_stop(d, SIGTERM);

    daemon_free(d);
    free(d);
    return status; /* not 0 when it leaked */
}

static uint32_t submit_after(struct daemon *d, const char *kind, uint32_t id)
{
    char json[128];

    (void)snprintf(json, sizeof(json), "{'job':{'dependency':'%s:%u'}}", kind, id);
    return submit(d, json);
}

static void end_run(struct fake_node *n, uint32_t id, uint64_t run, uint32_t status)
{
    assert_int_equal(node_ended(n, id, STEP_BATCH, run, status, true), 0);
}

static const struct {
    const char *kind;
    uint32_t status; /* of the job waited for */
    bool starts;
} cases[] = {
    { "afterok", 0, true },     { "afterok", 256, false }, { "afternotok", 256, true },
    { "afternotok", 0, false }, { "afterany", 0, true },   { "afterany", 256, true },
};

static void test_kinds(void **state)
{
    struct daemon *d = *state;
    struct fake_node *n = node_up(d, "n0", "b1", NULL);

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        uint32_t first = submit(d, "{'job':{}}"), then;
        uint64_t run = node_launched(n, first);

        then = submit_after(d, cases[i].kind, first);
        assert_job(d, then, "'state':'JOB_PENDING'");
        assert_job(d, then, "'pend_reason':'REASON_DEPENDENCY'");
        end_run(n, first, run, cases[i].status);
        if (cases[i].starts) {
            end_run(n, then, node_launched(n, then), 0);
            assert_job(d, then, "'state':'JOB_COMPLETED'");
        } else {
            assert_job(d, then, "'state':'JOB_PENDING'");
            assert_job(d, then, "'reason':'REASON_DEPENDENCY_NEVER_SATISFIED'");
        }
    }
    node_free(n);
}

/* `after` waits for the start alone. */
static void test_after(void **state)
{
    struct daemon *d = *state;
    struct fake_node *n = node_up(d, "n0", "b1", NULL);
    uint32_t first = submit(d, "{'hold':true,'job':{}}"), then = submit_after(d, "after", first);

    assert_job(d, then, "'pend_reason':'REASON_DEPENDENCY'");
    assert_int_equal(act(d, first, "RELEASE"), 0);
    (void)node_launched(n, first);
    (void)node_launched(n, then);
    assert_job(d, first, "'state':'JOB_RUNNING'");
    assert_job(d, then, "'state':'JOB_RUNNING'");
    node_free(n);
}

/* One job of a name and user at a time. */
static void test_singleton(void **state)
{
    static const char one[] = "{'job':{'name':'only','dependency':'singleton'}}";
    struct daemon *d = *state;
    struct fake_node *n = node_up(d, "n0", "b1", NULL);
    uint32_t first = submit(d, one), then;
    uint64_t run = node_launched(n, first);

    then = submit(d, one);
    assert_job(d, then, "'pend_reason':'REASON_DEPENDENCY'");
    (void)node_launched(n, submit(d, "{'job':{'name':'other','dependency':'singleton'}}"));
    assert_job(d, then, "'state':'JOB_PENDING'");
    end_run(n, first, run, 0);
    (void)node_launched(n, then);
    assert_job(d, then, "'state':'JOB_RUNNING'");
    node_free(n);
}

/* All of a comma list, one of a list with question marks. */
static void test_lists(void **state)
{
    struct daemon *d = *state;
    struct fake_node *n = node_up(d, "n0", "b1", NULL);
    uint32_t a = submit(d, "{'job':{}}"), b = submit(d, "{'job':{}}"), all, any;
    uint64_t run_a = node_launched(n, a), run_b = node_launched(n, b);
    char json[128];

    (void)snprintf(json, sizeof(json), "{'job':{'dependency':'afterok:%u,afterok:%u'}}", a, b);
    all = submit(d, json);
    (void)snprintf(json, sizeof(json), "{'job':{'dependency':'afterok:%u?afterok:%u'}}", a, b);
    any = submit(d, json);
    end_run(n, a, run_a, 0);
    (void)node_launched(n, any);
    assert_job(d, all, "'state':'JOB_PENDING'");
    end_run(n, b, run_b, 0);
    (void)node_launched(n, all);
    assert_job(d, all, "'state':'JOB_RUNNING'");
    node_free(n);
}

/* A job that is over is judged at once; one that never was is refused. */
static void test_past(void **state)
{
    struct daemon *d = *state;
    struct fake_node *n = node_up(d, "n0", "b1", NULL);
    uint32_t first = submit(d, "{'job':{}}");

    end_run(n, first, node_launched(n, first), 256);
    (void)node_launched(n, submit_after(d, "afternotok", first));
    assert_int_equal(submit_as(d, d->client, "{'job':{'dependency':'afterok:x'}}", NULL),
                     ESLURM_DEPENDENCY);
    node_free(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_kinds, setup, teardown),
        cmocka_unit_test_setup_teardown(test_after, setup, teardown),
        cmocka_unit_test_setup_teardown(test_singleton, setup, teardown),
        cmocka_unit_test_setup_teardown(test_lists, setup, teardown),
        cmocka_unit_test_setup_teardown(test_past, setup, teardown),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
