/* test_noalloc.c - a step without a job: who gets one, on which nodes, and what is left of it */
#include "ctld_util.h"

#include "base/sluid.h"

static const char cluster[] =
    "NodeName=n[0-2] CPUs=8 Sockets=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=8000 "
    "State=UNKNOWN\n"
    "PartitionName=main Nodes=ALL Default=YES MaxTime=60 DefaultTime=30\n";

static int setup(void **state)
{
    struct daemon *d = malloc(sizeof(*d));

    assert_non_null(d);
    (void)daemon_new(d);
    write_conf(d, "", cluster);
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

#define ON(rest) "{'no_allocate':true,'spec':{" rest "}}"

static void test_granted(void **state)
{
    struct daemon *d = *state;
    uint64_t before = state_hash(d), run[2];

    for (int i = 0; i < 2; i++) {
        ProtobufCMessage *msg = NULL;
        const Pst__StepReply *reply;

        assert_int_equal(ask(d, d->client, OP_STEP_CREATE,
                             ON("'nodelist':'n[0,2]','num_tasks':5,'name':'look'"), &msg),
                         0);
        reply = (const Pst__StepReply *)msg;
        assert_true(reply->job->job_id >= JOB_ID_NO_JOB_MIN);
        assert_int_equal(reply->job->uid, geteuid());
        assert_int_equal(reply->step->job_id, reply->job->job_id);
        assert_int_equal(reply->step->step_id, 0);
        assert_int_equal(reply->step->num_tasks, 5);
        assert_string_equal(reply->step->name, "look");
        assert_string_equal(reply->step->alloc->nodes, "n[0,2]");
        assert_int_equal(reply->step->alloc->total_cpus, 16);
        assert_int_equal(reply->n_nodes, 2);
        assert_string_equal(reply->nodes[1]->name, "n2");
        assert_true(reply->has_launch_key && reply->credential->has_mac);
        run[i] = reply->job->db_id;
        protobuf_c_message_free_unpacked(msg, NULL);
    }
    assert_int_not_equal(run[0], run[1]);
    assert_int_equal(run[0] >> 52, SLUID_NO_JOB);
    assert_true(state_hash(d) == before); /* nothing is recorded */
}

static void test_refused(void **state)
{
    static const struct {
        const char *json;
        int code;
    } rows[] = {
        { "{'no_allocate':true}", ESLURM_INVALID_NODE_NAME },
        { ON("'nodelist':''"), ESLURM_INVALID_NODE_NAME },
        { ON("'nodelist':'n[0-'"), ESLURM_INVALID_NODE_NAME },
        { ON("'nodelist':'n[0-3]'"), ESLURM_INVALID_NODE_NAME },
        { ON("'nodelist':'n0','num_tasks':9"), ESLURM_TOO_MANY_REQUESTED_CPUS },
        { ON("'nodelist':'n0','tres_per_node':'gres/gpu:1'"), ESLURM_INVALID_GRES },
    };
    struct daemon *d = *state;
    struct client *user;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (ask(d, d->client, OP_STEP_CREATE, rows[i].json, NULL) != rows[i].code)
            fail_msg("row %zu", i);
    if (geteuid() != 0)
        return; /* a stranger cannot be played */
    user = connect_as(d, STRANGER);
    assert_int_equal(ask(d, user, OP_STEP_CREATE, ON("'nodelist':'n0'"), NULL),
                     ESLURM_ACCESS_DENIED);
    assert_int_equal(ask(d, user, OP_STEP_CREATE, ON("'nodelist':'nosuch'"), NULL),
                     ESLURM_ACCESS_DENIED);
    client_free(user);
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
    const struct CMUnitTest tests[] = { T(test_granted), T(test_refused) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
