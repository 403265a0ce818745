/* test_ctld_policy.c - what the controller makes of submissions */
#include "ctld/policy/admission.h"
#include "ctld/schedlink/partgate.h"
#include "ctld/submit/jobgres.h"
#include "ctld_policy_util.h"

static const struct refusal refused[] = {
    { "{}", EPST_BAD_REQUEST, "the submission describes no job" },
    /* Sizes. */
    { "{'job':{'num_tasks':0}}", ESLURM_BAD_TASK_COUNT, NULL },
    { "{'job':{'cpus_per_task':0}}", ESLURM_BAD_TASK_COUNT, NULL },
    { "{'job':{'min_nodes':0}}", ESLURM_INVALID_NODE_COUNT, NULL },
    { "{'job':{'min_nodes':3,'max_nodes':2}}", ESLURM_INVALID_NODE_COUNT, NULL },
    { "{'job':{'mem_per_node_mib':2000000000000}}", ESLURM_INVALID_TASK_MEMORY, NULL },
    { "{'job':{'mem_per_cpu_mib':9223372036854775808,'cpus_per_task':2}}",
      ESLURM_INVALID_TASK_MEMORY, NULL },
    { "{'job':{'mem_per_gpu_mib':18446744073709551615}}", ESLURM_INVALID_TASK_MEMORY, NULL },
    /* The batch part. */
    { "{'job':{'batch':true},'script':''}", ESLURM_JOB_SCRIPT_MISSING, NULL },
    /* Arrays. */
    { "{'job':{},'array':'5-3'}", ESLURM_INVALID_ARRAY, NULL },
    { "{'job':{},'array':'0-1001'}", ESLURM_INVALID_ARRAY, NULL },
    { "{'job':{},'array':'1-5:x'}", ESLURM_INVALID_ARRAY, NULL },
    /* GRES. */
    { "{'job':{'tres_per_node':'gres/nosuch:1'}}", ESLURM_INVALID_GRES, NULL },
    { "{'job':{'tres_per_node':'gpu:'}}", ESLURM_INVALID_GRES, NULL },
    { "{'job':{'tres_per_node':'gpu:99999999999999'}}", ESLURM_INVALID_GRES, NULL },
    { "{'job':{'tres_per_job':'gpu:99999999999'}}", ESLURM_INVALID_GRES, NULL },
    { "{'job':{'tres_per_node':'gpu:1','gpu_bind':'gres/gpu:foo'}}", ESLURM_INVALID_TRES, NULL },
    { "{'job':{'tres_per_job':'gpu:3','tres_per_task':'gres/gpu:2'}}", ESLURM_INVALID_GRES, NULL },
    { "{'job':{'tres_per_task':'license/nosuch:1'}}", ESLURM_INVALID_LICENSES, NULL },
    { "{'job':{'tres_per_job':'nosuch'}}", ESLURM_INVALID_GRES, NULL },
    { "{'job':{'tres_per_task':'cpu=1,nosuch:1'}}", ESLURM_INVALID_TRES, NULL },
    /* Partitions. */
    { "{'job':{'partition':'nosuch'}}", ESLURM_INVALID_PARTITION_NAME,
      "invalid partition specified: nosuch\nInvalid partition name specified" },
    { "{'job':{'partition':'main,nosuch'}}", ESLURM_INVALID_PARTITION_NAME,
      "invalid partition specified: nosuch\nInvalid partition name specified" },
    { "{'job':{'partition':'Main'}}", ESLURM_INVALID_PARTITION_NAME,
      "invalid partition specified: Main\nInvalid partition name specified" },
    { "{'job':{'partition':'drain'}}", ESLURM_PARTITION_NOT_AVAIL, NULL },
    { "{'job':{'partition':'inactive'}}", ESLURM_PARTITION_NOT_AVAIL, NULL },
    { "{'job':{'partition':'drain,inactive'}}", ESLURM_PARTITION_NOT_AVAIL, NULL },
    /* What no node could ever do. */
    { "{'job':{'cpus_per_task':9}}", UNAVAILABLE,
      "CPU count per node can not be satisfied\n" UNAVAILABLE_TEXT },
    { "{'job':{'mem_per_node_mib':8001}}", UNAVAILABLE,
      "Memory specification can not be satisfied\n" UNAVAILABLE_TEXT },
    { "{'job':{'mem_per_cpu_mib':8001}}", UNAVAILABLE,
      "Memory specification can not be satisfied\n" UNAVAILABLE_TEXT },
    { "{'job':{'tmp_disk_mib':10}}", UNAVAILABLE,
      "Temporary disk specification can not be satisfied\n" UNAVAILABLE_TEXT },
    { "{'job':{'sockets_per_node':2}}", UNAVAILABLE,
      "Socket, core and/or thread specification can not be satisfied\n" UNAVAILABLE_TEXT },
    { "{'job':{'tres_per_node':'gpu:1'}}", UNAVAILABLE, NULL },
    { "{'job':{'partition':'gpu','tres_per_node':'gpu:3'}}", UNAVAILABLE, NULL },
    { "{'job':{'partition':'gpu','tres_per_node':'gpu:v100:1'}}", UNAVAILABLE, NULL },
    { "{'job':{'features':'slow'}}", ESLURM_INVALID_FEATURE, NULL },
    { "{'job':{'req_nodes':'nosuch'}}", ESLURM_INVALID_NODE_NAME, NULL },
    { "{'job':{'exc_nodes':'nosuch'}}", ESLURM_INVALID_NODE_NAME, NULL },
    { "{'job':{'req_nodes':'g0'}}", UNAVAILABLE, NULL },
    /* Times. */
    { "{'job':{'time_limit_min':10,'time_min_min':20}}", ESLURM_INVALID_TIME_MIN_LIMIT, NULL },
    { "{'job':{'deadline_us':1}}", ESLURM_INVALID_TIME_LIMIT, NULL },
    /* Dependencies. */
    { "{'job':{'dependency':'nosuch:1'}}", ESLURM_DEPENDENCY, NULL },
    { "{'job':{'dependency':'afterok:1?2,3'}}", ESLURM_DEPENDENCY, NULL },
    { "{'job':{'dependency':'afterok:999999'}}", ESLURM_DEPENDENCY, NULL },
    { "{'job':{'dependency':'afternotok:999999'}}", ESLURM_DEPENDENCY, NULL },
};

static void test_refused(void **state)
{
    uint64_t before = state_hash(&shared);

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
        expect_refusal(&shared, shared.client, &refused[i]);
    assert_int_equal(state_hash(&shared), before); /* and nothing happened */
}

static void test_refused_to_users(void **state)
{
    static const struct refusal rows[] = {
        { "{'job':{'partition':'rootonly'}}", ESLURM_ACCESS_DENIED, NULL },
        { "{'job':{'nice':-1}}", ESLURM_INVALID_NICE, NULL },
        { "{'job':{},'uid':0}", ESLURM_ACCESS_DENIED, NULL },
        { "{'job':{},'gid':1}", ESLURM_ACCESS_DENIED, NULL }, /* his own is 0 here */
    };

    (void)state;
    if (!stranger)
        skip();
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        expect_refusal(&shared, stranger, &rows[i]);
    expect_refusal(
        &shared, shared.client,
        &(struct refusal){ "{'job':{'partition':'noroot'}}", ESLURM_USER_ID_MISSING, NULL });
}

static void assert_waits_outside(const char *json)
{
    uint32_t id = submit(&shared, json);

    assert_job(&shared, id, "'state':'JOB_PENDING'");
    assert_job(&shared, id, "'pend_reason':'REASON_PARTITION_CONFIG'");
}

/* Of several partitions those that let the user in are kept, and no others. */
static void test_partition_lists(void **state)
{
    uint32_t id;

    (void)state;
    id = submit(&shared, "{'job':{'partition':'drain,main,good'}}");
    assert_job(&shared, id, "'partition':'main'");
    id = submit(
        &shared,
        "{'job':{'partition':'gpu,open','cpus_per_task':8}}"); /* gpu's nodes are too small */
    assert_job(&shared, id, "'partition':'gpu,open'");
    id = submit(&shared, "{'job':{'partition':'good','account':'better'}}");
    assert_job(&shared, id, "'partition':'good'");
    /* those that do not take its account: it waits */
    assert_waits_outside("{'job':{'partition':'good'}}");
    assert_waits_outside("{'job':{'partition':'good','account':'bad'}}");
    assert_waits_outside("{'job':{'partition':'good','account':'goo'}}");
    assert_waits_outside("{'job':{'partition':'notbad','account':'bad'}}");
    id = submit(&shared, "{'job':{'partition':'down'}}"); /* it may wait there */
    assert_job(&shared, id, "'partition':'down'");
    if (!stranger)
        return;
    assert_int_equal(
        submit_as(&shared, stranger, "{'job':{'partition':'rootonly,main,groups'}}", &id), 0);
    assert_job(&shared, id, "'partition':'main'");
    /* none of his groups is let in: it waits */
    assert_int_equal(submit_as(&shared, stranger, "{'job':{'partition':'groups'}}", &id), 0);
    assert_job(&shared, id, "'pend_reason':'REASON_PARTITION_CONFIG'");
    id = submit(&shared, "{'job':{'partition':'rootonly,groups'}}"); /* administrators may */
    assert_job(&shared, id, "'partition':'rootonly,groups'");
}

/* ---- what a submission becomes --------------------------------------------------------------- */

static const struct {
    const char *json;
    const char *has[8];
} accepted[] = {
    { "{'job':{}}",
      { "'state':'JOB_PENDING'", "'name':'allocation'", "'partition':'main'", "'time_limit_min':30",
        "'mem_per_cpu_mib':100", "'requeue':true", "'eligible_us':", "!'priority':" } },
    { "{'job':{'name':'x','time_limit_min':0,'comment':'c'}}",
      { "'name':'x'", "'time_limit_min':30", "'comment':'c'" } },
    { "{'job':{'time_limit_min':59,'mem_per_node_mib':50}}",
      { "'time_limit_min':59", "'mem_per_node_mib':50", "!'mem_per_cpu_mib'" } },
    { "{'job':{},'array':''}", { "'state':'JOB_PENDING'", "!'array_tasks'" } },
    { "{'job':{},'array':'1-5%x'}", { "'array_tasks':'1-5'", "!'array_task_throttle'" } },
    { "{'job':{'partition':'open'}}", { "'time_unlimited':true", "!'time_limit_min'" } },
    { "{'job':{'partition':'gpu'}}", { "'mem_per_node_mib':300" } },
    { "{'job':{'partition':'gpu','tres_per_node':'gpu:2','mem_per_gpu_mib':100}}",
      { "'mem_per_gpu_mib':100", "!'mem_per_node_mib'" } },
    { "{'job':{'partition':'gpu','features':'fast'}}", { "'features':'fast'" } },
    { "{'job':{},'hold':true}",
      { "'priority':0", "'reason':'REASON_JOB_HELD_USER'", "'held_by_user':true",
        "!'eligible_us'" } },
    { "{'job':{'requeue':false}}", { "'requeue':false" } },
    { "{'job':{'begin_us':1}}", { "!'begin_us'", "'eligible_us':" } },
    { "{'job':{'begin_us':4000000000000000}}",
      { "'begin_us':4000000000000000", "'eligible_us':4000000000000000" } },
    { "{'job':{},'array':'0-6:2%2'}",
      { "'array_tasks':'0,2,4,6%2'", "'array_task_throttle':2",
        "'array_job_id':", "!'array_task_id'" } },
    { "{'job':{'dependency':''}}", { "!'dependency'", "'eligible_us':" } },
    { "{'job':{'dependency':'afterany:999999'}}", { "!'dependency'", "'eligible_us':" } },
    { "{'job':{'dependency':'singleton','name':'alone'}}", { "!'dependency'" } },
    /* What is the controller's alone. */
    { "{'job':{'job_id':77777,'uid':5,'state':'JOB_RUNNING','state_flags':4,'start_us':5,'restart_"
      "count':9,"
      "'db_id':1,'script_hash':5,'array_job_id':3,'array_tasks':'1-5','alloc':{'nodes':'n0'},'"
      "released':true,"
      "'cur_priority':9,'user_name':'x','batch_host':'n0'}}",
      { "'state':'JOB_PENDING'", "!77777", "!'state_flags'", "!'start_us'", "!'restart_count'",
        "!'array'", "!'alloc':", "!'batch_host'" } },
};

static void test_accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(accepted); i++) {
        uint32_t id = submit(&shared, accepted[i].json);

        for (size_t k = 0; k < ARRAY_SIZE(accepted[i].has) && accepted[i].has[k]; k++)
            assert_job(&shared, id, accepted[i].has[k]);
    }
}

static void test_priority_is_the_administrators(void **state)
{
    uint32_t id = submit(&shared, "{'job':{'priority':42}}");

    (void)state;
    assert_job(&shared, id, "'priority':42");
    id = submit(&shared, "{'job':{'priority':0}}");
    assert_job(&shared, id, "'reason':'REASON_JOB_HELD_ADMIN'");
    if (!stranger)
        return;
    assert_int_equal(
        submit_as(&shared, stranger, "{'job':{'priority':42,'admin_comment':'x'}}", &id), 0);
    assert_job(&shared, id, "!'priority'");
    assert_job(&shared, id, "!'admin_comment'");
    assert_job(&shared, id, "'uid':12345");
    /* root may submit for others. */
    assert_int_equal(submit_as(&shared, shared.client, "{'job':{},'uid':777,'gid':778}", &id), 0);
    assert_job(&shared, id, "'uid':777");
    assert_job(&shared, id, "'gid':778");
}

/* Fields of a later release are not the client's to set. */
static void test_unknown_fields(void **state)
{
    static uint8_t value[] = { 5 };
    ProtobufCMessageUnknownField unknown = {
        .tag = 700, .wire_type = PROTOBUF_C_WIRE_TYPE_VARINT, .len = 1, .data = value
    };
    Pst__SubmitRequest req = PST__SUBMIT_REQUEST__INIT;
    Pst__JobRecord job = PST__JOB_RECORD__INIT, *got;
    ProtobufCMessage *reply = NULL;

    (void)state;
    job.base.unknown_fields = &unknown;
    job.base.n_unknown_fields = 1;
    job.work_dir = (char *)"/";
    req.job = &job;
    assert_int_equal(call_as(&shared, shared.client, OP_JOB_SUBMIT, &req.base, &reply), 0);
    got = get_job(&shared, ((Pst__SubmitReply *)reply)->job_id);
    assert_int_equal(got->base.n_unknown_fields, 0);
    pst__job_record__free_unpacked(got, NULL);
    protobuf_c_message_free_unpacked(reply, NULL);
}

/* What a client asks for reaches the record. */
static void test_list_of_node_counts(void **state)
{
    uint32_t id = submit(&shared, "{'job':{'min_nodes':1,'max_nodes':2,'node_counts':'1,2'}}");

    (void)state;
    assert_job(&shared, id, "'node_counts':'1,2'");
}

static void test_ids_ascend(void **state)
{
    uint32_t a = submit(&shared, "{'job':{}}"), b = submit(&shared, "{'job':{},'array':'1-5'}"),
             c = submit(&shared, "{'job':{}}");

    (void)state;
    assert_int_equal(b, a + 1);
    assert_int_equal(c, b + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_refused_to_users),
        cmocka_unit_test(test_partition_lists),
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_priority_is_the_administrators),
        cmocka_unit_test(test_unknown_fields),
        cmocka_unit_test(test_list_of_node_counts),
        cmocka_unit_test(test_ids_ascend),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
