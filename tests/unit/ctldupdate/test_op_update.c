/* test_op_update.c - scontrol update of jobs: which jobs a request names, who may change them, and
 * what is told of each */
#include "corefull_util.h"

static Pst__JobActionReply *reply;

static void drop_reply(void)
{
    if (reply)
        pst__job_action_reply__free_unpacked(reply, NULL);
    reply = NULL;
}

static int update(struct conn *from, const char *json)
{
    ProtobufCMessage *msg = NULL;
    int code;

    drop_reply();
    code = corefull_ask(from, OP_JOB_UPDATE, json, &msg);
    reply = (Pst__JobActionReply *)msg;
    return code;
}

static int update_one(struct conn *from, const char *json)
{
    int code = update(from, json);

    if (code != 0)
        return code;
    assert_int_equal(reply->n_results, 1);
    return reply->results[0]->code;
}

static void end(void)
{
    drop_reply();
    corefull_end();
}

static const Pst__JobRecord *record(uint32_t id)
{
    return cluster_job(core.ctld.cluster, id)->rec;
}

static void an_hour(Pst__JobRecord *r)
{
    SET(r, time_limit_min, 60);
}

/* Each id has its result; the owner may do what users may. */
static void test_ids(void **state)
{
    (void)state;
    corefull_begin("", 2);
    (void)core_job(&core, 1, an_hour);
    (void)core_job(&core, 2, an_hour);
    assert_int_equal(update(ann, "{'ids':['1','9','2'],'set':{'time_limit_min':30}}"), 0);
    assert_int_equal(reply->n_results, 3);
    assert_int_equal(reply->results[0]->code, 0);
    assert_string_equal(reply->results[0]->id, "1");
    assert_int_equal(reply->results[1]->code, ESLURM_INVALID_JOB_ID);
    assert_int_equal(reply->results[2]->code, 0);
    assert_int_equal(record(1)->time_limit_min, 30);
    assert_int_equal(record(2)->time_limit_min, 30);
    assert_int_equal(update_one(ann, "{'ids':['1'],'set':{'admin_comment':'x'}}"),
                     ESLURM_ACCESS_DENIED);
    assert_int_equal(update_one(root, "{'ids':['1'],'set':{'admin_comment':'x'}}"), 0);
    assert_string_equal(record(1)->admin_comment, "x");
    end();
}

/* A stranger: that a job is over is no secret, unless PrivateData makes it one. */
static void test_strangers(void **state)
{
    (void)state;
    for (int hidden = 0; hidden < 2; hidden++) {
        corefull_begin(hidden ? "PrivateData=jobs\n" : "", 2);
        (void)core_job(&core, 1, an_hour);
        (void)corefull_run(2, 1, an_hour);
        end_job(core.ctld.cluster, 2, JOB_STATE(COMPLETED), T0 + SEC, true);
        assert_int_equal(update_one(bob, "{'ids':['1'],'set':{'time_limit_min':1}}"),
                         ESLURM_USER_ID_MISSING);
        assert_int_equal(update_one(bob, "{'ids':['2'],'set':{'time_limit_min':1}}"),
                         hidden ? ESLURM_USER_ID_MISSING : ESLURM_JOB_FINISHED);
        assert_int_equal(record(1)->time_limit_min, 60);
        end();
    }
}

static void named_x(Pst__JobRecord *r)
{
    assert_int_equal(pb_set_str(&r->name, "x"), 0);
    SET(r, time_limit_min, 60);
}

static void of_bob(Pst__JobRecord *r)
{
    named_x(r);
    SET(r, uid, 1001);
}

/* JobName= means the caller's jobs of that name, for administrators those of all, or of UserID=. */
static void test_names(void **state)
{
    (void)state;
    corefull_begin("", 2);
    (void)core_job(&core, 1, named_x);
    (void)core_job(&core, 2, of_bob);
    (void)core_job(&core, 3, an_hour);
    assert_int_equal(update(ann, "{'name_match':'x','set':{'time_limit_min':30}}"), 0);
    assert_int_equal(reply->n_results, 1);
    assert_int_equal(record(1)->time_limit_min, 30);
    assert_int_equal(record(2)->time_limit_min, 60);
    assert_int_equal(update(root, "{'name_match':'x','uid_match':1001,"
                                  "'set':{'time_limit_min':20}}"),
                     0);
    assert_int_equal(record(1)->time_limit_min, 30);
    assert_int_equal(record(2)->time_limit_min, 20);
    assert_int_equal(update(root, "{'name_match':'x','set':{'time_limit_min':10}}"), 0);
    assert_int_equal(record(1)->time_limit_min, 10);
    assert_int_equal(record(2)->time_limit_min, 10);
    assert_int_equal(record(3)->time_limit_min, 60);
    assert_int_equal(update_one(ann, "{'name_match':'y','set':{'time_limit_min':10}}"),
                     ESLURM_INVALID_JOB_ID);
    end();
}

/* In another's name, root has that user's rights and no more; nobody else may. */
static void test_as(void **state)
{
    (void)state;
    corefull_begin("", 2);
    (void)core_job(&core, 1, an_hour);
    assert_int_equal(update(ann, "{'ids':['1'],'as_uid':0,'set':{'admin_comment':'x'}}"),
                     ESLURM_ACCESS_DENIED);
    assert_int_equal(update_one(root, "{'ids':['1'],'as_uid':1000,'set':{'admin_comment':'x'}}"),
                     ESLURM_ACCESS_DENIED);
    assert_int_equal(update_one(root, "{'ids':['1'],'as_uid':1001,'set':{'comment':'x'}}"),
                     ESLURM_USER_ID_MISSING);
    assert_int_equal(update_one(root, "{'ids':['1'],'as_uid':1000,'set':{'comment':'x'}}"), 0);
    assert_string_equal(record(1)->comment, "x");
    end();
}

static void two_tasks(Pst__JobRecord *r)
{
    SET(r, array_job_id, r->job_id);
    SET(r, time_limit_min, 60);
    assert_int_equal(pb_set_str(&r->array_tasks, "1-2"), 0);
}

/* One task of an array becomes a job of its own; how many run at once is a matter of all. */
static void test_arrays(void **state)
{
    Pst__Transaction *tx;
    const struct job *task;

    (void)state;
    corefull_begin("", 2);
    tx = tx_new(T0);
    SET(tx_cluster(tx), next_job_id, 20);
    apply_ok(core.ctld.cluster, tx);
    (void)core_job(&core, 10, two_tasks);
    assert_int_equal(update_one(ann, "{'ids':['10_2'],'set':{'array_task_throttle':1}}"),
                     ESLURM_NOT_SUPPORTED);
    assert_non_null(strstr(reply->results[0]->text, "ArrayJobId"));
    assert_int_equal(update_one(ann, "{'ids':['10'],'set':{'array_task_throttle':1}}"), 0);
    assert_int_equal(record(10)->array_task_throttle, 1);
    assert_int_equal(update_one(ann, "{'ids':['10_2'],'set':{'time_limit_min':5}}"), 0);
    assert_string_equal(reply->results[0]->tasks, "2");
    task = cluster_array_task(core.ctld.cluster, 10, 2);
    assert_int_not_equal(task->rec->job_id, 10);
    assert_int_equal(task->rec->time_limit_min, 5);
    assert_int_equal(record(10)->time_limit_min, 60);
    end();
}

static void by_cron(Pst__JobRecord *r)
{
    assert_int_equal(pb_set_str(&r->cron_spec, "* * * * *"), 0);
}

static void component(Pst__JobRecord *r)
{
    core_component(r);
    SET(r, time_limit_min, 60);
}

/* The leader's number is that of all components; "+1" is one. */
static void test_components(void **state)
{
    (void)state;
    corefull_begin("", 2);
    (void)core_job(&core, 7, component);
    (void)core_job(&core, 8, component);
    (void)core_job(&core, 9, by_cron);
    assert_int_equal(update(ann, "{'ids':['7'],'set':{'time_limit_min':30}}"), 0);
    assert_int_equal(record(7)->time_limit_min, 30);
    assert_int_equal(record(8)->time_limit_min, 30);
    assert_int_equal(update(ann, "{'ids':['7+1'],'set':{'time_limit_min':20}}"), 0);
    assert_int_equal(record(7)->time_limit_min, 30);
    assert_int_equal(record(8)->time_limit_min, 20);
    assert_int_equal(update_one(ann, "{'ids':['8'],'set':{'dependency':'after:9'}}"),
                     ESLURM_NOT_HET_JOB_LEADER);
    assert_int_equal(update_one(ann, "{'ids':['9'],'set':{'time_limit_min':1}}"),
                     ESLURM_CANNOT_MODIFY_CRON_JOB);
    end();
}

/* A job that was just requeued is back soon: the command asks again. */
static void test_back_soon(void **state)
{
    Pst__Transaction *tx;
    Pst__JobRecord *set;

    (void)state;
    corefull_begin("", 1);
    (void)corefull_run(1, 1, an_hour);
    tx = tx_new(T0);
    set = tx_job_patch(tx, EV(JOB_END), 1);
    SET(set, state, JOB_STATE(CANCELLED));
    SET(set, state_flags, JOB_FLAG(REQUEUED) | JOB_FLAG(COMPLETING));
    SET(set, end_us, now_us());
    apply_ok(core.ctld.cluster, tx);
    assert_int_equal(update(ann, "{'ids':['1'],'set':{'time_limit_min':1}}"),
                     SLURMCTLD_COMMUNICATIONS_BACKOFF);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids),       cmocka_unit_test(test_strangers),
        cmocka_unit_test(test_names),     cmocka_unit_test(test_as),
        cmocka_unit_test(test_arrays),    cmocka_unit_test(test_components),
        cmocka_unit_test(test_back_soon),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
