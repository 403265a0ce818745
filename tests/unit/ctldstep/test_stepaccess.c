/* test_stepaccess.c - who gets a credential for a running step, a job's nodes or its output, in a
 * slurmctld whose nodes are played here */
#include "ctld_util.h"

static const char cluster[] =
    "NodeName=n[0-1] CPUs=8 Sockets=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=8000 "
    "State=UNKNOWN\n"
    "PartitionName=main Nodes=ALL Default=YES\n";

struct fixture {
    struct daemon d;
    struct client *owner, *other; /* users; NULL when we are not root */
    uint32_t job;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    (void)daemon_new(&f->d);
    write_conf(&f->d, "", cluster);
    daemon_start(&f->d, NULL, NULL);
    if (geteuid() == 0) {
        f->owner = connect_as(&f->d, STRANGER);
        f->other = connect_as(&f->d, STRANGER + 1);
        assert_non_null(f->other);
    }
    assert_int_equal(submit_as(&f->d, f->owner ? f->owner : f->d.client, "{'job':{}}", &f->job), 0);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    int status;

    f->owner = client_free(f->owner);
    f->other = client_free(f->other);
    status = daemon_stop(&f->d, SIGTERM);
    daemon_free(&f->d);
    free(f);
    return status; /* not 0 when it leaked */
}

/* Ask for a credential to id, a job's number with what stands behind it.  *ret_nodes: whose
 * addresses came with it. */
static int access_to(struct fixture *f, struct client *c, const char *behind, const char *purpose,
                     size_t *ret_nodes)
{
    ProtobufCMessage *msg = NULL;
    Pst__StepReply *reply;
    char json[128];
    int code;

    (void)snprintf(json, sizeof(json), "{'id':'%u%s','purpose':'CRED_%s'}", f->job, behind,
                   purpose);
    code = ask(&f->d, c, OP_ACCESS, json, &msg);
    if (code != 0)
        return code;
    reply = (Pst__StepReply *)msg;
    assert_non_null(reply->credential);
    assert_true(reply->has_launch_key);
    *ret_nodes = reply->n_nodes;
    protobuf_c_message_free_unpacked(msg, NULL);
    return 0;
}

#define assert_access(f, c, behind, purpose)                                                       \
    do {                                                                                           \
        size_t aa_n_ = 0;                                                                          \
                                                                                                   \
        assert_int_equal(access_to((f), (c), (behind), (purpose), &aa_n_), 0);                     \
        assert_int_equal(aa_n_, 1);                                                                \
    } while (0)
#define assert_refused(f, c, behind, purpose, code)                                                \
    do {                                                                                           \
        size_t ar_n_ = 0;                                                                          \
                                                                                                   \
        assert_int_equal(access_to((f), (c), (behind), (purpose), &ar_n_), (code));                \
    } while (0)

/* As administrator, as owner where we can be one, and what another user is told. */
static void expect(struct fixture *f, const char *behind, const char *purpose, int code,
                   int to_others)
{
    struct client *allowed[] = { f->d.client, f->owner };

    for (size_t i = 0; i < ARRAY_SIZE(allowed); i++) {
        if (!allowed[i])
            continue;
        if (code == 0)
            assert_access(f, allowed[i], behind, purpose);
        else
            assert_refused(f, allowed[i], behind, purpose, code);
    }
    if (f->other)
        assert_refused(f, f->other, behind, purpose, to_others);
}

static void test_pending(void **state)
{
    struct fixture *f = *state;

    expect(f, "", "BCAST", ESLURM_JOB_PENDING, ESLURM_ACCESS_DENIED);
    expect(f, "", "ATTACH", ESLURM_JOB_PENDING, ESLURM_ACCESS_DENIED);
    expect(f, "", "STAT", ESLURM_JOB_PENDING, ESLURM_ACCESS_DENIED);
    expect(f, "", "OUTPUT", ESLURM_JOB_PENDING, ESLURM_ACCESS_DENIED);
    expect(f, "", "X11", ESLURM_JOB_PENDING, ESLURM_ACCESS_DENIED);
}

static void test_running(void **state)
{
    struct fixture *f = *state;
    struct fake_node *n = node_up(&f->d, "n0", "b1", NULL);
    uint64_t run = node_launched(n, f->job);
    char json[96];

    (void)snprintf(json, sizeof(json), "{'job_id':%u,'spec':{'num_tasks':1}}", f->job);
    assert_int_equal(ask(&f->d, f->owner ? f->owner : f->d.client, OP_STEP_CREATE, json, NULL), 0);
    expect(f, "", "BCAST", 0, ESLURM_ACCESS_DENIED);
    expect(f, ".0", "BCAST", 0, ESLURM_ACCESS_DENIED);
    expect(f, ".0", "ATTACH", 0, ESLURM_ACCESS_DENIED);
    expect(f, ".0", "STAT", 0, ESLURM_ACCESS_DENIED);
    expect(f, ".batch", "STAT", 0, ESLURM_ACCESS_DENIED);
    expect(f, "", "OUTPUT", 0, ESLURM_ACCESS_DENIED);
    /* What no step has is refused; a step that cannot be attached to is none for anybody. */
    expect(f, "", "ATTACH", ESLURM_INVALID_JOB_ID, ESLURM_INVALID_JOB_ID);
    expect(f, ".7", "ATTACH", ESLURM_INVALID_JOB_ID, ESLURM_INVALID_JOB_ID);
    expect(f, "", "STAT", ESLURM_INVALID_JOB_ID, ESLURM_ACCESS_DENIED);
    expect(f, ".7", "STAT", ESLURM_INVALID_JOB_ID, ESLURM_ACCESS_DENIED);
    expect(f, ".0", "OUTPUT", ESLURM_NOT_SUPPORTED, ESLURM_ACCESS_DENIED);
    expect(f, "", "X11", ESLURM_X11_NOT_AVAIL, ESLURM_ACCESS_DENIED); /* a job without --x11 */
    /* Credentials that are no one's to ask for. */
    expect(f, ".0", "LAUNCH", EPST_BAD_REQUEST, EPST_BAD_REQUEST);
    /* A step that has ended, and then the job. */
    assert_int_equal(node_ended(n, f->job, 0, run, 0, false), 0);
    expect(f, ".0", "ATTACH", ESLURM_INVALID_JOB_ID, ESLURM_INVALID_JOB_ID);
    assert_int_equal(node_ended(n, f->job, STEP_BATCH, run, 0, true), 0);
    expect(f, "", "BCAST", ESLURM_ALREADY_DONE, ESLURM_ACCESS_DENIED);
    expect(f, ".batch", "STAT", ESLURM_ALREADY_DONE, ESLURM_ACCESS_DENIED);
    expect(f, "", "OUTPUT", 0, ESLURM_ACCESS_DENIED); /* the file is still there */
    node_free(n);
}

/* Files to nodes without a job are for root and SlurmUser alone. */
static void test_nodes(void **state)
{
    static const char both[] = "{'nodes':'n[0-1]','purpose':'CRED_BCAST'}";
    struct fixture *f = *state;
    ProtobufCMessage *msg = NULL;

    assert_int_equal(ask(&f->d, f->d.client, OP_ACCESS, both, &msg), 0);
    assert_int_equal(((Pst__StepReply *)msg)->n_nodes, 2);
    protobuf_c_message_free_unpacked(msg, NULL);
    if (f->owner)
        assert_int_equal(ask(&f->d, f->owner, OP_ACCESS, both, NULL), ESLURM_ACCESS_DENIED);
    assert_int_equal(
        ask(&f->d, f->d.client, OP_ACCESS, "{'nodes':'n0,nx','purpose':'CRED_BCAST'}", NULL),
        ESLURM_INVALID_NODE_NAME);
    assert_int_equal(
        ask(&f->d, f->d.client, OP_ACCESS, "{'nodes':'','purpose':'CRED_BCAST'}", NULL),
        ESLURM_INVALID_NODE_NAME);
    /* The list stands in for a job's number for broadcasts alone. */
    assert_int_equal(
        ask(&f->d, f->d.client, OP_ACCESS, "{'nodes':'n0','purpose':'CRED_STAT'}", NULL),
        ESLURM_INVALID_JOB_ID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_pending, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_running, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nodes, set_up, tear_down),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
