/* test_op_action.c - one verb over jobs: which jobs a request means, who may, and what each caller
 * is told */
#include "corefull_util.h"

static Pst__JobActionReply *reply;

static void drop_reply(void)
{
    if (reply)
        pst__job_action_reply__free_unpacked(reply, NULL);
    reply = NULL;
}

static void begin(const char *lines)
{
    corefull_begin(lines, 2);
}

static void end(void)
{
    drop_reply();
    corefull_end();
}

/* The code of the whole request; its results are in `reply`. */
static int act(struct conn *from, const char *json)
{
    ProtobufCMessage *msg = NULL;
    int code;

    drop_reply();
    code = corefull_ask(from, OP_JOB_ACTION, json, &msg);
    reply = (Pst__JobActionReply *)msg;
    return code;
}

/* The code of the only result. */
static int act_one(struct conn *from, const char *json)
{
    int code = act(from, json);

    if (code != 0)
        return code;
    assert_int_equal(reply->n_results, 1);
    return reply->results[0]->code;
}

static Pst__JobState state_of(uint32_t id)
{
    return job_state(cluster_job(core.ctld.cluster, id)->rec);
}

/* Each id has its result, in their order, with the words of the request. */
static void test_ids(void **state)
{
    (void)state;
    begin("");
    (void)core_job(&core, 1, NULL);
    (void)core_job(&core, 2, NULL);
    assert_int_equal(act(ann, "{'verb':'VERB_CANCEL','ids':['1','9','x','2']}"), 0);
    assert_int_equal(reply->n_results, 4);
    assert_string_equal(reply->results[0]->id, "1");
    assert_int_equal(reply->results[0]->code, 0);
    assert_int_equal(reply->results[0]->job_id, 1);
    assert_int_equal(reply->results[1]->code, ESLURM_INVALID_JOB_ID);
    assert_string_equal(reply->results[2]->id, "x");
    assert_int_equal(reply->results[2]->code, ESLURM_INVALID_JOB_ID);
    assert_int_equal(reply->results[3]->code, 0);
    assert_int_equal(state_of(1), JOB_STATE(CANCELLED));
    assert_int_equal(state_of(2), JOB_STATE(CANCELLED));
    assert_int_equal(act(ann, "{'verb':'VERB_CANCEL'}"), 0); /* nothing is named */
    assert_int_equal(reply->n_results, 0);
    end();
}

/* What a stranger is told: the word depends on the verb. */
static const struct {
    const char *verb;
    int live, ended, ended_private;
} strangers[] = {
    { "CANCEL", ESLURM_ACCESS_DENIED, ESLURM_ACCESS_DENIED, ESLURM_ACCESS_DENIED },
    { "SIGNAL", ESLURM_ACCESS_DENIED, ESLURM_ALREADY_DONE, ESLURM_ACCESS_DENIED },
    { "REQUEUE", ESLURM_ACCESS_DENIED, ESLURM_ACCESS_DENIED, ESLURM_ACCESS_DENIED },
    { "SUSPEND", ESLURM_ACCESS_DENIED, ESLURM_ACCESS_DENIED, ESLURM_ACCESS_DENIED },
    { "HOLD", ESLURM_USER_ID_MISSING, ESLURM_JOB_FINISHED, ESLURM_USER_ID_MISSING },
    { "RELEASE", ESLURM_USER_ID_MISSING, ESLURM_JOB_FINISHED, ESLURM_USER_ID_MISSING },
    { "NOTIFY", ESLURM_USER_ID_MISSING, ESLURM_USER_ID_MISSING, ESLURM_USER_ID_MISSING },
};

static void test_strangers(void **state)
{
    (void)state;
    for (int hidden = 0; hidden < 2; hidden++) {
        begin(hidden ? "PrivateData=jobs\n" : "");
        (void)core_job(&core, 1, NULL);
        (void)corefull_run(2, 1, NULL);
        end_job(core.ctld.cluster, 2, JOB_STATE(COMPLETED), T0 + SEC, true);
        for (size_t i = 0; i < ARRAY_SIZE(strangers); i++) {
            char json[128];
            int code;

            (void)snprintf(json, sizeof(json),
                           "{'verb':'VERB_%s','signal':15,'ids':['1'],'message':'m'}",
                           strangers[i].verb);
            assert_int_equal(act_one(bob, json), strangers[i].live);
            (void)snprintf(json, sizeof(json),
                           "{'verb':'VERB_%s','signal':15,'ids':['2'],'message':'m'}",
                           strangers[i].verb);
            code = act_one(bob, json);
            if (code != (hidden ? strangers[i].ended_private : strangers[i].ended))
                fail_msg("%s: %d", strangers[i].verb, code);
        }
        assert_int_equal(state_of(1), JOB_STATE(PENDING));
        end();
    }
}

/* Only operators may say why in the administrators' comment. */
static void test_comment(void **state)
{
    (void)state;
    begin("");
    (void)core_job(&core, 1, NULL);
    assert_int_equal(act(ann, "{'verb':'VERB_CANCEL','ids':['1'],'admin_comment':'x'}"),
                     ESLURM_USER_ID_MISSING);
    assert_int_equal(state_of(1), JOB_STATE(PENDING));
    assert_int_equal(act_one(root, "{'verb':'VERB_CANCEL','ids':['1'],'admin_comment':'x'}"), 0);
    assert_string_equal(cluster_job(core.ctld.cluster, 1)->rec->admin_comment, "x");
    end();
}

/* A step is named with a dot: verbs for whole jobs refuse that. */
static void test_steps(void **state)
{
    (void)state;
    begin("");
    (void)corefull_run(1, 1, NULL);
    assert_int_equal(act_one(ann, "{'verb':'VERB_SUSPEND','ids':['1.0']}"), ESLURM_INVALID_JOB_ID);
    assert_int_equal(act_one(ann, "{'verb':'VERB_HOLD','ids':['1.0']}"), ESLURM_INVALID_JOB_ID);
    assert_int_not_equal(act_one(ann, "{'verb':'VERB_CANCEL','ids':['1.5']}"), 0);
    assert_int_equal(state_of(1), JOB_STATE(RUNNING));
    end();
}

static void named_x(Pst__JobRecord *r)
{
    assert_int_equal(pb_set_str(&r->name, "x"), 0);
}

static void of_bob(Pst__JobRecord *r)
{
    named_x(r);
    SET(r, uid, 1001);
}

/* Filters alone: live jobs, in the order of their numbers; those of others are named where their
 * state is no secret, and left as they are. */
static void test_filter(void **state)
{
    (void)state;
    begin("");
    (void)core_job(&core, 3, named_x);
    (void)core_job(&core, 1, named_x);
    (void)core_job(&core, 2, NULL);
    (void)core_job(&core, 4, of_bob);
    (void)corefull_run(5, 1, named_x);
    end_job(core.ctld.cluster, 5, JOB_STATE(COMPLETED), T0 + SEC, true);
    assert_int_equal(act(ann, "{'verb':'VERB_CANCEL','filter':{'names':['x']}}"), 0);
    assert_int_equal(reply->n_results, 3);
    assert_int_equal(reply->results[0]->job_id, 1);
    assert_int_equal(reply->results[1]->job_id, 3);
    assert_int_equal(reply->results[2]->job_id, 4);
    assert_int_equal(reply->results[2]->code, ESLURM_ACCESS_DENIED);
    assert_int_equal(state_of(1), JOB_STATE(CANCELLED));
    assert_int_equal(state_of(3), JOB_STATE(CANCELLED));
    assert_int_equal(state_of(2), JOB_STATE(PENDING));
    assert_int_equal(state_of(4), JOB_STATE(PENDING));
    end();
    begin("PrivateData=jobs\n");
    (void)core_job(&core, 4, of_bob);
    assert_int_equal(act(ann, "{'verb':'VERB_CANCEL','filter':{'names':['x']}}"), 0);
    assert_int_equal(reply->n_results, 0);
    end();
}

/* With ids and filters: an id that the filter leaves out has no result, one that is over has. */
static void test_ids_filtered(void **state)
{
    (void)state;
    begin("");
    (void)core_job(&core, 1, named_x);
    (void)core_job(&core, 2, NULL);
    (void)corefull_run(3, 1, NULL);
    end_job(core.ctld.cluster, 3, JOB_STATE(COMPLETED), T0 + SEC, true);
    assert_int_equal(
        act(ann, "{'verb':'VERB_CANCEL','ids':['1','2','3'],'filter':{'names':['x']}}"), 0);
    assert_int_equal(reply->n_results, 2);
    assert_int_equal(reply->results[0]->job_id, 1);
    assert_int_equal(reply->results[1]->job_id, 3);
    assert_int_equal(reply->results[1]->code, ESLURM_ALREADY_DONE);
    assert_int_equal(state_of(2), JOB_STATE(PENDING));
    end();
}

static void waiting_tasks(Pst__JobRecord *r)
{
    SET(r, array_job_id, 10);
    assert_int_equal(pb_set_str(&r->array_tasks, "2-4"), 0);
}

static void first_task(Pst__JobRecord *r)
{
    SET(r, array_job_id, 10);
    SET(r, array_task_id, 1);
}

/* Tasks of arrays are named as squeue shows them, and one_task means the job of that number. */
static void test_arrays(void **state)
{
    (void)state;
    begin("");
    (void)core_job(&core, 10, waiting_tasks);
    (void)core_job(&core, 11, first_task);
    assert_int_equal(act(ann, "{'verb':'VERB_HOLD','filter':{'names':['job']}}"), 0);
    assert_int_equal(reply->n_results, 2);
    assert_string_equal(reply->results[0]->id, "10_[2-4]");
    assert_string_equal(reply->results[1]->id, "10_1");
    /* 10 is the number of the array, and of the record of its waiting tasks */
    assert_int_equal(act(ann, "{'verb':'VERB_CANCEL','ids':['10'],'one_task':true}"), 0);
    assert_int_equal(state_of(10), JOB_STATE(CANCELLED));
    assert_int_equal(state_of(11), JOB_STATE(PENDING));
    end();
    begin("");
    (void)core_job(&core, 10, waiting_tasks);
    assert_int_equal(act(ann, "{'verb':'VERB_CANCEL','ids':['10_[2-3]']}"), 0);
    assert_string_equal(cluster_job(core.ctld.cluster, 10)->rec->array_tasks, "4");
    end();
}

/* A million jobs fit an answer: of what went well the first ten thousand are named. */
static void test_many(void **state)
{
    Pst__Transaction *tx;
    size_t held = 0;
    void *v;

    (void)state;
    begin("");
    tx = tx_new(T0);
    for (uint32_t i = 1; i <= 10100; i++)
        assert_int_equal(pb_set_str(&put_job(tx, i)->partition, "p"), 0);
    apply_ok(core.ctld.cluster, tx);
    coreask_send(&core, ann, "ann", OP_JOB_ACTION,
                 "{'verb':'VERB_UHOLD','filter':{'names':['job']}}");
    for (unsigned i = 0; i < 10000 && !coreask_count(ann, OP_JOB_ACTION); i++)
        coreask_turn(&core); /* others have their turns meanwhile */
    {
        ProtobufCMessage *msg = NULL;

        assert_int_equal(coreask_answer(ann, OP_JOB_ACTION, &msg), 0);
        assert_int_equal(((Pst__JobActionReply *)msg)->n_results, 10000);
        for (uint32_t i = 0; i < 10000; i++)
            assert_int_equal(((Pst__JobActionReply *)msg)->results[i]->job_id, i + 1);
        protobuf_c_message_free_unpacked(msg, NULL);
    }
    for (size_t pos = 0; (v = cluster_next_job(core.ctld.cluster, &pos));)
        held += job_is_held(((struct job *)v)->rec);
    assert_int_equal(held, 10100);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids),     cmocka_unit_test(test_strangers),
        cmocka_unit_test(test_comment), cmocka_unit_test(test_steps),
        cmocka_unit_test(test_filter),  cmocka_unit_test(test_ids_filtered),
        cmocka_unit_test(test_arrays),  cmocka_unit_test(test_many),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
