/* test_op_step.c - requests for steps: who gets one, and what those are told who get none */
#include "stepcore_util.h"

#define ANN 1000u
#define BOB 1001u

static struct conn *root, *ann, *bob;

static void begin(const char *lines)
{
    stepcore_begin(lines, 2);
    root = coreask_connect(0);
    ann = coreask_connect(ANN);
    bob = coreask_connect(BOB);
}

static void end(void)
{
    root = coreask_part(&core, root);
    ann = coreask_part(&core, ann);
    bob = coreask_part(&core, bob);
    coreask_end(&core);
}

static int ask_step(struct conn *c, const char *json)
{
    ProtobufCMessage *reply = NULL;
    int code = coreask(&core, c, c == root ? NULL : "user", OP_STEP_CREATE, json, &reply);

    if (reply)
        protobuf_c_message_free_unpacked(reply, NULL);
    return code;
}

/* The owner and administrators; nobody else. */
static void test_rights(void **state)
{
    (void)state;
    begin("");
    (void)stepcore_job(7, 1, NULL);
    assert_int_equal(ask_step(bob, "{'job_id':7,'spec':{'overlap':true}}"), ESLURM_ACCESS_DENIED);
    assert_int_equal(ask_step(ann, "{'job_id':7,'spec':{'overlap':true}}"), 0);
    assert_int_equal(ask_step(root, "{'job_id':7,'spec':{'overlap':true}}"), 0);
    assert_int_equal(ask_step(ann, "{'job_id':7}"), 0); /* all, beside those that overlap */
    assert_int_equal(ask_step(ann, "{'job_id':7}"), ESLURM_NODES_BUSY);
    assert_int_equal(ask_step(ann, "{'job_id':8,'spec':{}}"), ESLURM_INVALID_JOB_ID);
    assert_int_equal(ask_step(ann, "{}"), ESLURM_INVALID_JOB_ID);
    end();
}

/* That a job waits or is over is told to everybody, as the queue tells it: not with
 * PrivateData=jobs. */
static const struct {
    const char *lines;
    int waits, ended; /* to a stranger */
} strangers[] = {
    { "", ESLURM_JOB_PENDING, ESLURM_JOB_FINISHED },
    { "PrivateData=jobs\n", ESLURM_ACCESS_DENIED, ESLURM_ACCESS_DENIED },
};

static void test_strangers(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(strangers); i++) {
        begin(strangers[i].lines);
        (void)core_job(&core, 1, NULL);
        (void)stepcore_job(2, 1, NULL);
        end_job(core.ctld.cluster, 2, JOB_STATE(COMPLETED), T0 + SEC, true);
        assert_int_equal(ask_step(bob, "{'job_id':1,'spec':{}}"), strangers[i].waits);
        assert_int_equal(ask_step(bob, "{'job_id':2,'spec':{}}"), strangers[i].ended);
        assert_int_equal(ask_step(ann, "{'job_id':1,'spec':{}}"), ESLURM_JOB_PENDING);
        assert_int_equal(ask_step(ann, "{'job_id':2,'spec':{}}"), ESLURM_JOB_FINISHED);
        assert_int_equal(coreask(&core, bob, "user", OP_HET_STEP_CREATE,
                                 "{'job_id':1,'components':[{'spec':{}}]}", NULL),
                         strangers[i].waits);
        end();
    }
}

/* --immediate and no wait are answered at once; who waits gets its step when there is room. */
static void test_waits(void **state)
{
    static const char all[] = "{'job_id':7,'wait':true,'spec':{'num_tasks':4,'exact':true}}";
    ProtobufCMessage *reply = NULL;
    struct job *j;

    (void)state;
    begin("");
    j = stepcore_job(7, 1, NULL);
    assert_int_equal(ask_step(ann, all), 0);
    assert_int_equal(ask_step(ann, "{'job_id':7,'spec':{'num_tasks':4,'exact':true}}"),
                     ESLURM_NODES_BUSY);
    assert_int_equal(ask_step(ann, all), -1); /* no answer yet */
    (void)steps_unlaunched(&core.ctld, j, 0, 0);
    coreask_settle(&core);
    assert_int_equal(coreask_answer(ann, OP_STEP_CREATE, &reply), 0);
    assert_int_equal(((Pst__StepReply *)reply)->step->step_id, 1);
    assert_true(((Pst__StepReply *)reply)->waited);
    protobuf_c_message_free_unpacked(reply, NULL);
    /* what can never be is not waited for */
    assert_int_equal(ask_step(ann, "{'job_id':7,'wait':true,'spec':{'num_tasks':99}}"),
                     ESLURM_TOO_MANY_REQUESTED_CPUS);
    end();
}

#define BOTH                                                                                       \
    "'components':[{'offset':0,'spec':{'overlap':true}},{'offset':1,'spec':{'overlap':true}}]"

static void test_components(void **state)
{
    ProtobufCMessage *msg = NULL;
    const Pst__HetStepReply *reply;
    struct job *other;

    (void)state;
    begin("");
    (void)stepcore_job(7, 1, core_component);
    other = stepcore_job(8, 1, core_component);
    assert_int_equal(coreask(&core, ann, "user", OP_HET_STEP_CREATE, "{'job_id':7," BOTH "}", &msg),
                     0);
    reply = (const Pst__HetStepReply *)msg;
    assert_int_equal(reply->n_steps, 2);
    assert_int_equal(reply->steps[1]->step->job_id, 8);
    assert_int_equal(reply->n_het_jobs, 2);
    protobuf_c_message_free_unpacked(msg, NULL);
    assert_non_null(other->steps);
    assert_int_equal(coreask(&core, bob, "user", OP_HET_STEP_CREATE, "{'job_id':7," BOTH "}", NULL),
                     ESLURM_ACCESS_DENIED);
    assert_int_equal(coreask(&core, ann, "user", OP_HET_STEP_CREATE, "{'job_id':8," BOTH "}", NULL),
                     ESLURM_NOT_HET_JOB_LEADER);
    assert_int_equal(
        coreask(&core, ann, "user", OP_HET_STEP_CREATE, "{'job_id':99," BOTH "}", NULL),
        ESLURM_INVALID_JOB_ID);
    /* a component twice, one that is not there, none at all */
    assert_int_equal(coreask(&core, ann, "user", OP_HET_STEP_CREATE,
                             "{'job_id':7,'components':[{'offset':1},{'offset':1}]}", NULL),
                     ESLURM_INVALID_JOB_ID);
    assert_int_equal(coreask(&core, ann, "user", OP_HET_STEP_CREATE,
                             "{'job_id':7,'components':[{'offset':5}]}", NULL),
                     ESLURM_INVALID_JOB_ID);
    assert_int_equal(coreask(&core, ann, "user", OP_HET_STEP_CREATE, "{'job_id':7}", NULL),
                     ESLURM_INVALID_JOB_ID);
    end();

    begin("SchedulerParameters=disable_hetjob_steps\n");
    (void)stepcore_job(7, 1, core_component);
    (void)stepcore_job(8, 1, core_component);
    assert_int_equal(coreask(&core, ann, "user", OP_HET_STEP_CREATE, "{'job_id':7," BOTH "}", NULL),
                     ESLURM_NOT_SUPPORTED);
    assert_non_null(strstr(coreask_text, "disable_hetjob_steps"));
    assert_int_equal(coreask(&core, ann, "user", OP_HET_STEP_CREATE,
                             "{'job_id':7,'components':[{'offset':0}]}", NULL),
                     0); /* one component is no step over several */
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rights),
        cmocka_unit_test(test_strangers),
        cmocka_unit_test(test_waits),
        cmocka_unit_test(test_components),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
