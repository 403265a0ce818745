/* test_ctld_policy.c - what the controller lets pass, and in which words it refuses: submissions,
 * updates, actions on pending jobs, nodes and partitions, queries, a full disk, and the same state
 * after kill -9
 *
 * A real slurmctld without nodes; one for the group, others where a test needs one of its own. */
#include "ctld_util.h"

#include "journal/journal.h"

static const char cluster[] =
    "NodeName=n[0-3] CPUs=8 Sockets=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=8000 "
    "State=UNKNOWN\n"
    "NodeName=g0 CPUs=4 Sockets=1 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=4000 "
    "Gres=gpu:a100:2 "
    "Feature=fast State=UNKNOWN\n"
    "PartitionName=main Nodes=n[0-3] Default=YES MaxTime=60 DefaultTime=30 MaxNodes=3\n"
    "PartitionName=open Nodes=ALL\n"
    "PartitionName=gpu Nodes=g0 DefMemPerNode=300\n"
    "PartitionName=rootonly Nodes=n0 RootOnly=YES\n"
    "PartitionName=noroot Nodes=n0 DisableRootJobs=YES\n"
    "PartitionName=groups Nodes=n0 AllowGroups=nosuchgroup\n"
    "PartitionName=good Nodes=n0 AllowAccounts=good,better\n"
    "PartitionName=notbad Nodes=n0 DenyAccounts=bad\n"
    "PartitionName=drain Nodes=n0 State=DRAIN\n"
    "PartitionName=inactive Nodes=n0 State=INACTIVE\n"
    "PartitionName=down Nodes=n0 State=DOWN\n";

static struct daemon shared;
static struct client *stranger; /* no administrator; NULL unless we are root */

static int setup(void **state)
{
    (void)state;
    (void)daemon_new(&shared);
    write_conf(&shared, "", cluster);
    daemon_start(&shared, NULL, NULL);
    if (geteuid() == 0)
        stranger = connect_as(&shared, STRANGER);
    return 0;
}

static int teardown(void **state)
{
    int status;

    (void)state;
    stranger = client_free(stranger);
    status = daemon_stop(&shared, SIGTERM); /* not 0 when anything leaked */
    daemon_free(&shared);
    return status;
}

/* ---- submissions that are refused
 * ----------------------------------------------------------------- */

struct refusal {
    const char *json;
    int code;
    const char *text; /* NULL: the code's own */
};

#define UNAVAILABLE ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE
#define UNAVAILABLE_TEXT "Requested node configuration is not available"

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
    { "{'job':{},'array':''}", ESLURM_INVALID_ARRAY, NULL },
    { "{'job':{},'array':'5-3'}", ESLURM_INVALID_ARRAY, NULL },
    { "{'job':{},'array':'0-1001'}", ESLURM_INVALID_ARRAY, NULL },
    { "{'job':{},'array':'1-5%x'}", ESLURM_INVALID_ARRAY, NULL },
    /* GRES. */
    { "{'job':{'tres_per_node':'gres/nosuch:1'}}", ESLURM_INVALID_GRES, NULL },
    { "{'job':{'tres_per_node':'gpu:x:y:z'}}", ESLURM_INVALID_GRES, NULL },
    { "{'job':{'tres_per_node':'gpu:99999999999'}}", ESLURM_INVALID_GRES, NULL },
    { "{'job':{'tres_per_job':'nosuch'}}", ESLURM_INVALID_GRES, NULL },
    { "{'job':{'tres_per_task':'cpu=1,nosuch:1'}}", ESLURM_INVALID_GRES, NULL },
    /* Partitions. */
    { "{'job':{'partition':'nosuch'}}", ESLURM_INVALID_PARTITION_NAME,
      "invalid partition specified: nosuch\nInvalid partition name specified" },
    { "{'job':{'partition':'main,nosuch'}}", ESLURM_INVALID_PARTITION_NAME,
      "invalid partition specified: nosuch\nInvalid partition name specified" },
    { "{'job':{'partition':','}}", ESLURM_INVALID_PARTITION_NAME, NULL },
    { "{'job':{'partition':'Main'}}", ESLURM_INVALID_PARTITION_NAME,
      "invalid partition specified: Main\nInvalid partition name specified" },
    { "{'job':{'partition':'drain'}}", ESLURM_PARTITION_NOT_AVAIL, NULL },
    { "{'job':{'partition':'inactive'}}", ESLURM_PARTITION_NOT_AVAIL, NULL },
    { "{'job':{'partition':'drain,inactive'}}", ESLURM_PARTITION_NOT_AVAIL, NULL },
    { "{'job':{'partition':'good'}}", ESLURM_INVALID_ACCOUNT, NULL },
    { "{'job':{'partition':'good','account':'bad'}}", ESLURM_INVALID_ACCOUNT, NULL },
    { "{'job':{'partition':'good','account':'goo'}}", ESLURM_INVALID_ACCOUNT, NULL },
    { "{'job':{'partition':'notbad','account':'bad'}}", ESLURM_INVALID_ACCOUNT, NULL },
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
    { "{'job':{'req_nodes':'g0'}}", ESLURM_REQUESTED_NODES_NOT_IN_PARTITION, NULL },
    /* Times. */
    { "{'job':{'time_limit_min':10,'time_min_min':20}}", ESLURM_INVALID_TIME_MIN_LIMIT, NULL },
    { "{'job':{'deadline_us':1}}", ESLURM_INVALID_TIME_LIMIT, NULL },
    /* Dependencies. */
    { "{'job':{'dependency':'nosuch:1'}}", ESLURM_DEPENDENCY, NULL },
    { "{'job':{'dependency':'afterok:1?2,3'}}", ESLURM_DEPENDENCY, NULL },
    { "{'job':{'dependency':'afterok:999999'}}", ESLURM_DEPENDENCY, NULL },
    { "{'job':{'dependency':'afternotok:999999'}}", ESLURM_DEPENDENCY, NULL },
};

static void expect_refusal(struct daemon *d, struct client *c, const struct refusal *r)
{
    int code = submit_as(d, c, r->json, NULL);
    const char *want = r->text ? r->text : slurm_err_text(r->code);

    if (code != r->code || strcmp(d->text, want) != 0)
        print_error("# %s: %d '%s', wanted %d '%s'\n", r->json, code, d->text, r->code, want);
    assert_int_equal(code, r->code);
    assert_string_equal(d->text, want);
}

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
        { "{'job':{'partition':'groups'}}", ESLURM_JOB_MISSING_REQUIRED_PARTITION_GROUP, NULL },
        { "{'job':{'nice':-1}}", ESLURM_INVALID_NICE, NULL },
        { "{'job':{},'uid':0}", ESLURM_ACCESS_DENIED, NULL },
        { "{'job':{},'gid':0}", ESLURM_ACCESS_DENIED, NULL },
    };

    (void)state;
    if (!stranger)
        skip();
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        expect_refusal(&shared, stranger, &rows[i]);
    expect_refusal(
        &shared, shared.client,
        &(struct refusal){ "{'job':{'partition':'noroot'}}", ESLURM_ACCESS_DENIED, NULL });
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
    id = submit(&shared, "{'job':{'partition':'down'}}"); /* it may wait there */
    assert_job(&shared, id, "'partition':'down'");
    if (!stranger)
        return;
    assert_int_equal(
        submit_as(&shared, stranger, "{'job':{'partition':'rootonly,main,groups'}}", &id), 0);
    assert_job(&shared, id, "'partition':'main'");
    id = submit(&shared, "{'job':{'partition':'rootonly,groups'}}"); /* administrators may */
    assert_job(&shared, id, "'partition':'rootonly,groups'");
}

/* ---- what a submission becomes
 * ---------------------------------------------------------------------- */

static const struct {
    const char *json;
    const char *has[8];
} accepted[] = {
    { "{'job':{}}",
      { "'state':'JOB_PENDING'", "'name':'sbatch'", "'partition':'main'", "'time_limit_min':30",
        "'mem_per_cpu_mib':100", "'requeue':true", "'eligible_us':", "!'priority':" } },
    { "{'job':{'name':'x','time_limit_min':0,'comment':'c'}}",
      { "'name':'x'", "'time_limit_min':30", "'comment':'c'" } },
    { "{'job':{'time_limit_min':59,'mem_per_node_mib':50}}",
      { "'time_limit_min':59", "'mem_per_node_mib':50", "!'mem_per_cpu_mib'" } },
    { "{'job':{'partition':'open'}}", { "'time_unlimited':true", "!'time_limit_min'" } },
    { "{'job':{'partition':'gpu'}}", { "'mem_per_node_mib':300" } },
    { "{'job':{'partition':'gpu','tres_per_node':'gpu:2','mem_per_gpu_mib':100}}",
      { "'mem_per_node_mib':200" } },
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

static void test_ids_ascend(void **state)
{
    uint32_t a = submit(&shared, "{'job':{}}"), b = submit(&shared, "{'job':{},'array':'1-5'}"),
             c = submit(&shared, "{'job':{}}");

    (void)state;
    assert_int_equal(b, a + 1);
    assert_int_equal(c, b + 1);
}

/* ---- updates
 * ------------------------------------------------------------------------------------------ */

static const struct {
    const char *change;
    int code;
    const char *has[4];
} updates[] = {
    { "'set':{'name':'new','comment':'c','nice':100}",
      0,
      { "'name':'new'", "'comment':'c'", "'nice':100" } },
    { "'set':{'nice':-100}", 0, { "'nice':-100" } },
    { "'set':{'time_limit_min':10},'clear':[100]", 0, { "'time_limit_min':10" } },
    { "'set':{'time_unlimited':true},'clear':[99]",
      0,
      { "'time_unlimited':true", "!'time_limit_min'" } },
    { "'set':{'time_limit_min':20}", 0, { "'time_limit_min':20", "!'time_unlimited'" } },
    { "'set':{'partition':'open'}", 0, { "'partition':'open'" } },
    { "'set':{'partition':'nosuch'}", ESLURM_INVALID_PARTITION_NAME, { "'partition':'open'" } },
    { "'set':{'partition':'main,nosuch'}",
      ESLURM_INVALID_PARTITION_NAME,
      { "'partition':'open'" } },
    { "'set':{'partition':''}", ESLURM_INVALID_PARTITION_NAME, { "'partition':'open'" } },
    { "'set':{'partition':'drain'}", ESLURM_PARTITION_NOT_AVAIL, { "'partition':'open'" } },
    { "'clear':[12]", ESLURM_INVALID_PARTITION_NAME, { "'partition':'open'" } },
    { "'set':{'num_tasks':4,'cpus_per_task':2}", 0, { "'num_tasks':4", "'cpus_per_task':2" } },
    { "'set':{'num_tasks':0}", ESLURM_BAD_TASK_COUNT, { "'num_tasks':4" } },
    { "'set':{'cpus_per_task':0}", ESLURM_BAD_TASK_COUNT, { "'cpus_per_task':2" } },
    { "'set':{'cpus_per_task':99}", UNAVAILABLE, { "'cpus_per_task':2" } },
    { "'set':{'min_nodes':0}", ESLURM_INVALID_NODE_COUNT, { "'cpus_per_task':2" } },
    { "'set':{'min_nodes':9}", 0, { "'min_nodes':9" } }, /* it waits for a larger partition */
    { "'set':{'min_nodes':2,'max_nodes':2}", 0, { "'min_nodes':2", "'max_nodes':2" } },
    { "'set':{'tres_per_node':'nosuch:1'}", ESLURM_INVALID_GRES, { "!'tres_per_node'" } },
    { "'set':{'mem_per_cpu_mib':9223372036854775808}",
      ESLURM_INVALID_TASK_MEMORY,
      { "'mem_per_cpu_mib':100" } },
    { "'set':{'mem_per_node_mib':70}", 0, { "'mem_per_node_mib':70", "!'mem_per_cpu_mib'" } },
    { "'set':{'mem_per_cpu_mib':7}", 0, { "'mem_per_cpu_mib':7", "!'mem_per_node_mib'" } },
    { "'set':{'features':'slow'}", ESLURM_INVALID_FEATURE, { "!'features'" } },
    { "'set':{'begin_us':4000000000000000}", 0, { "'begin_us':4000000000000000" } },
    { "'clear':[52]", 0, { "!'begin_us'" } },
    { "'set':{'priority':7}", 0, { "'priority':7" } },
    { "'clear':[37]", 0, { "!'priority'" } },
    { "'set':{'priority':0}", 0, { "'priority':0", "'reason':'REASON_JOB_HELD_ADMIN'" } },
    { "'set':{'priority':9}", ESLURM_JOB_HELD, { "'priority':0" } },
    { "'set':{'dependency':'nosuch'}", ESLURM_DEPENDENCY, { "!'dependency'" } },
    { "'set':{'dependency':'afterok:999999'}", ESLURM_DEPENDENCY, { "!'dependency'" } },
    /* The controller's own. */
    { "'set':{'state':'JOB_COMPLETED'}", ESLURM_NOT_SUPPORTED, { "'state':'JOB_PENDING'" } },
    { "'set':{'job_id':5}", ESLURM_NOT_SUPPORTED, { "'state':'JOB_PENDING'" } },
    { "'set':{'uid':5}", ESLURM_NOT_SUPPORTED, { "'state':'JOB_PENDING'" } },
    { "'set':{'array_tasks':'1-5'}", ESLURM_NOT_SUPPORTED, { "!'array_tasks'" } },
    { "'clear':[1]", ESLURM_NOT_SUPPORTED, { "'state':'JOB_PENDING'" } },
    { "'clear':[30]", ESLURM_NOT_SUPPORTED, { "'state':'JOB_PENDING'" } },
    { "'clear':[151]", ESLURM_NOT_SUPPORTED, { "'script_hash':" } },
    { "'clear':[77777]", ESLURM_NOT_SUPPORTED, { "'state':'JOB_PENDING'" } },
};

static void test_updates(void **state)
{
    uint32_t id = submit(&shared, "{'job':{}}");

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(updates); i++) {
        int code = update(&shared, id, updates[i].change);

        if (code != updates[i].code)
            print_error("# %s: %d (%s)\n", updates[i].change, code, slurm_err_text(code));
        assert_int_equal(code, updates[i].code);
        for (size_t k = 0; k < ARRAY_SIZE(updates[i].has) && updates[i].has[k]; k++)
            assert_job(&shared, id, updates[i].has[k]);
    }
    assert_int_equal(update(&shared, 888888, "'set':{'nice':1}"), ESLURM_INVALID_JOB_ID);
    assert_int_equal(on_job_as(&shared, shared.client, OP_JOB_UPDATE, "x", "'set':{'nice':1}"),
                     ESLURM_INVALID_JOB_ID);
}

static void test_updates_by_users(void **state)
{
    static const struct {
        const char *change;
        int code;
    } rows[] = {
        { "'set':{'nice':5}", 0 },
        { "'set':{'nice':-5}", ESLURM_ACCESS_DENIED },
        { "'set':{'nice':4}", ESLURM_ACCESS_DENIED },
        { "'set':{'priority':5}", ESLURM_ACCESS_DENIED },
        { "'set':{'admin_comment':'x'}", ESLURM_ACCESS_DENIED },
        { "'set':{'time_limit_min':5},'clear':[100]", 0 }, /* as scontrol sends it */
        { "'set':{'time_limit_min':6},'clear':[100]", 0 }, /* still what he could have asked for */
        { "'set':{'time_limit_min':500000},'clear':[100]", ESLURM_ACCESS_DENIED },
        { "'set':{'time_unlimited':true},'clear':[99]", ESLURM_ACCESS_DENIED },
        { "'clear':[99]", ESLURM_ACCESS_DENIED },
        { "'set':{'partition':'rootonly'}", ESLURM_ACCESS_DENIED },
        { "'set':{'partition':'main,groups'}", ESLURM_JOB_MISSING_REQUIRED_PARTITION_GROUP },
        { "'set':{'partition':'open'}", 0 },
        { "'set':{'reboot':true}", ESLURM_ACCESS_DENIED },
    };
    uint32_t mine, other = submit(&shared, "{'job':{}}");

    (void)state;
    if (!stranger)
        skip();
    assert_int_equal(submit_as(&shared, stranger, "{'job':{}}", &mine), 0);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        int code = update_as(&shared, stranger, mine, rows[i].change);

        if (code != rows[i].code)
            print_error("# %s: %d (%s)\n", rows[i].change, code, slurm_err_text(code));
        assert_int_equal(code, rows[i].code);
    }
    assert_int_equal(update_as(&shared, stranger, other, "'set':{'nice':5}"), ESLURM_USER_ID_MISSING);
    assert_job(&shared, other, "!'nice'");
}

/* What waits is kept with its mark, and evaluated at once. */
static void test_update_dependency(void **state)
{
    uint32_t a = submit(&shared, "{'job':{},'hold':true}"),
             b = submit(&shared, "{'job':{},'hold':true}");
    char change[96], want[96];

    (void)state;
    (void)snprintf(change, sizeof(change), "'set':{'dependency':'%u'}", a);
    (void)snprintf(want, sizeof(want), "'dependency':'afterany:%u(unfulfilled)'", a);
    assert_int_equal(update(&shared, b, change), 0);
    assert_job(&shared, b, want);
    (void)snprintf(change, sizeof(change), "'set':{'dependency':'afterok:%u'}", b);
    assert_int_equal(update(&shared, a, change), ESLURM_CIRCULAR_DEPENDENCY);
    assert_int_equal(update(&shared, b, change), ESLURM_DEPENDENCY);
    assert_int_equal(update(&shared, b, "'set':{'dependency':''}"), 0);
    assert_job(&shared, b, "!'dependency'");
    (void)snprintf(change, sizeof(change), "'set':{'dependency':'afternotok:%u'}", a);
    assert_int_equal(update(&shared, b, change), 0);
    assert_int_equal(act(&shared, a, "CANCEL"), 0);
    assert_job(&shared, b, "!'dependency'"); /* fulfilled */
    (void)snprintf(change, sizeof(change), "'set':{'dependency':'afterok:%u'}", a);
    assert_int_equal(update(&shared, b, change), 0);
    (void)snprintf(want, sizeof(want), "'dependency':'afterok:%u(failed)'", a);
    assert_job(&shared, b, want);
    assert_int_equal(update(&shared, b, "'clear':[102]"), 0);
    assert_job(&shared, b, "!'dependency'");
}

static void test_update_array(void **state)
{
    uint32_t id = submit(&shared, "{'job':{},'array':'0-3'}"), split;
    char want[64];

    (void)state;
    assert_int_equal(update(&shared, id, "'set':{'array_task_throttle':2}"), 0);
    assert_job(&shared, id, "'array_tasks':'0-3%2'");
    assert_int_equal(update(&shared, id, "'set':{'array_task_throttle':0}"), 0);
    assert_job(&shared, id, "'array_tasks':'0-3'");
    (void)snprintf(want, sizeof(want), "%u_2", id);
    assert_int_equal(on_job_as(&shared, shared.client, OP_JOB_UPDATE, want, "'set':{'nice':9}"), 0);
    assert_job(&shared, id, "'array_tasks':'0-1,3'");
    assert_job(&shared, id, "!'nice'");
    split = id + 1;
    assert_job(&shared, split, "'nice':9");
    assert_job(&shared, split, "'array_task_id':2");
    (void)snprintf(want, sizeof(want), "%u_9", id);
    assert_int_equal(on_job_as(&shared, shared.client, OP_JOB_UPDATE, want, "'set':{'nice':9}"),
                     ESLURM_INVALID_JOB_ID);
}

static void test_update_by_name(void **state)
{
    uint32_t a = submit(&shared, "{'job':{'name':'mine'}}"),
             b = submit(&shared, "{'job':{'name':'mine'}}");
    ProtobufCMessage *reply = NULL;

    (void)state;
    assert_int_equal(ask(&shared, shared.client, OP_JOB_UPDATE,
                         "{'name_match':'mine','set':{'nice':3}}", &reply),
                     0);
    assert_int_equal(((Pst__JobActionReply *)reply)->n_results, 2);
    protobuf_c_message_free_unpacked(reply, NULL);
    assert_job(&shared, a, "'nice':3");
    assert_job(&shared, b, "'nice':3");
    assert_int_equal(ask(&shared, shared.client, OP_JOB_UPDATE,
                         "{'name_match':'nosuch','set':{'nice':3}}", &reply),
                     0);
    assert_int_equal(((Pst__JobActionReply *)reply)->results[0]->code, ESLURM_INVALID_JOB_ID);
    protobuf_c_message_free_unpacked(reply, NULL);
}

/* ---- actions on pending jobs
 * ------------------------------------------------------------------------- */

static void test_hold_release(void **state)
{
    uint32_t id = submit(&shared, "{'job':{}}");

    (void)state;
    assert_int_equal(act(&shared, id, "HOLD"), 0);
    assert_job(&shared, id, "'priority':0");
    assert_job(&shared, id, "'reason':'REASON_JOB_HELD_ADMIN'");
    assert_int_equal(act(&shared, id, "RELEASE"), 0);
    assert_job(&shared, id, "!'priority'");
    assert_job(&shared, id, "!'reason'");
    assert_int_equal(act(&shared, id, "RELEASE"), 0); /* of what is not held */
    assert_int_equal(act(&shared, id, "UHOLD"), 0);
    assert_job(&shared, id, "'reason':'REASON_JOB_HELD_USER'");
    assert_int_equal(act(&shared, id, "RELEASE"), 0);
    assert_job(&shared, id, "!'held_by_user'");
    assert_int_equal(act(&shared, id, "CANCEL"), 0);
    assert_int_equal(act(&shared, id, "HOLD"), ESLURM_ALREADY_DONE);
    assert_int_equal(act(&shared, id, "RELEASE"), ESLURM_ALREADY_DONE);
}

static void test_hold_of_users(void **state)
{
    uint32_t id, other = submit(&shared, "{'job':{}}");

    (void)state;
    if (!stranger)
        skip();
    assert_int_equal(submit_as(&shared, stranger, "{'job':{}}", &id), 0);
    assert_int_equal(act_as(&shared, stranger, id_text(id), "HOLD"), 0);
    assert_job(&shared, id, "'reason':'REASON_JOB_HELD_USER'");
    assert_int_equal(act_as(&shared, stranger, id_text(id), "RELEASE"), 0);
    assert_job(&shared, id, "!'priority'");
    /* An administrator's hold stays his, also when the user holds on top of it. */
    assert_int_equal(act(&shared, id, "HOLD"), 0);
    assert_int_equal(act_as(&shared, stranger, id_text(id), "RELEASE"), ESLURM_ACCESS_DENIED);
    assert_int_equal(act_as(&shared, stranger, id_text(id), "HOLD"), 0);
    assert_int_equal(act_as(&shared, stranger, id_text(id), "UHOLD"), 0);
    assert_int_equal(act_as(&shared, stranger, id_text(id), "RELEASE"), ESLURM_ACCESS_DENIED);
    assert_job(&shared, id, "'reason':'REASON_JOB_HELD_ADMIN'");
    assert_int_equal(act(&shared, id, "RELEASE"), 0);
    /* Of others nothing. */
    assert_int_equal(act_as(&shared, stranger, id_text(other), "HOLD"), ESLURM_USER_ID_MISSING);
    assert_int_equal(act_as(&shared, stranger, id_text(other), "CANCEL"), ESLURM_ACCESS_DENIED);
    assert_int_equal(act_as(&shared, stranger, id_text(id), "TOP"), ESLURM_DISABLED);
    assert_int_equal(act_as(&shared, stranger, id_text(id), "SUSPEND"), ESLURM_JOB_PENDING);
    assert_int_equal(act_as(&shared, stranger, id_text(id), "CANCEL"), 0);
    assert_job(&shared, id, "'cancel_uid':12345");
}

static void test_cancel(void **state)
{
    uint32_t id = submit(&shared, "{'job':{}}");

    (void)state;
    assert_int_equal(act(&shared, id, "CANCEL"), 0);
    assert_job(&shared, id, "'state':'JOB_CANCELLED'");
    assert_job(&shared, id, "'state_flags':0");
    assert_job(&shared, id, "'end_us':");
    assert_int_equal(act(&shared, id, "CANCEL"), ESLURM_ALREADY_DONE);
    assert_int_equal(act(&shared, 999999, "CANCEL"), ESLURM_INVALID_JOB_ID);
    id = submit(&shared, "{'job':{}}");
    assert_int_equal(on_job_as(&shared, shared.client, OP_JOB_ACTION, id_text(id),
                               "'verb':'VERB_SIGNAL','signal':10"),
                     ESLURM_JOB_PENDING);
    assert_int_equal(on_job_as(&shared, shared.client, OP_JOB_ACTION, id_text(id),
                               "'verb':'VERB_SIGNAL','signal':9"),
                     0);
    assert_job(&shared, id, "'state':'JOB_CANCELLED'");
}

static void test_what_pending_jobs_cannot(void **state)
{
    uint32_t id = submit(&shared, "{'job':{}}"),
             no_batch = submit(&shared, "{'job':{'batch':false}}"),
             no_requeue = submit(&shared, "{'job':{'requeue':false}}");
    char step[32];

    (void)state;
    assert_int_equal(act(&shared, id, "SUSPEND"), ESLURM_JOB_PENDING);
    assert_int_equal(act(&shared, id, "RESUME"), ESLURM_JOB_PENDING);
    assert_int_equal(act(&shared, id, "REQUEUE"), ESLURM_JOB_PENDING);
    assert_int_equal(act(&shared, no_batch, "REQUEUE"), ESLURM_BATCH_ONLY);
    assert_int_equal(act(&shared, no_requeue, "REQUEUE"), ESLURM_DISABLED);
    (void)snprintf(step, sizeof(step), "%u.0", id);
    assert_int_equal(act_as(&shared, shared.client, step, "CANCEL"), ESLURM_JOB_PENDING);
    assert_int_equal(act(&shared, id, "REQUEUE_HOLD"), 0);
    assert_job(&shared, id, "'priority':0");
    assert_int_equal(act(&shared, id, "COMPLETE"), 0);
    assert_job(&shared, id, "'state':'JOB_CANCELLED'");
    assert_int_equal(act(&shared, id, "TOP"), ESLURM_JOB_NOT_PENDING);
    assert_int_equal(act(&shared, no_batch, "TOP"), 0);
    assert_job(&shared, no_batch, "'priority':");
}

static void test_array_actions(void **state)
{
    uint32_t id = submit(&shared, "{'job':{},'array':'0-5'}");
    char text[32];

    (void)state;
    (void)snprintf(text, sizeof(text), "%u_[1,3]", id);
    assert_int_equal(act_as(&shared, shared.client, text, "CANCEL"), 0);
    assert_job(&shared, id, "'array_tasks':'0,2,4-5'");
    assert_job(&shared, id, "'array_dropped':2"); /* they leave no record */
    (void)snprintf(text, sizeof(text), "%u_2", id);
    assert_int_equal(act_as(&shared, shared.client, text, "HOLD"), 0);
    assert_job(&shared, id + 1, "'priority':0");
    assert_job(&shared, id + 1, "'array_task_id':2");
    assert_job(&shared, id, "!'priority'");
    (void)snprintf(text, sizeof(text), "%u_4", id);
    assert_int_equal(act_as(&shared, shared.client, text, "COMPLETE"), 0); /* this task alone */
    assert_job(&shared, id, "'state':'JOB_PENDING'");
    assert_job(&shared, id, "'array_tasks':'0,5'");
    (void)snprintf(text, sizeof(text), "%u_*", id);
    (void)act_as(&shared, shared.client, text, "CANCEL"); /* some are cancelled already */
    assert_job(&shared, id, "'state':'JOB_CANCELLED'");
    assert_job(&shared, id + 1, "'state':'JOB_CANCELLED'");
    /* Several become an array of their own. */
    id = submit(&shared, "{'job':{},'array':'0-9%3'}");
    (void)snprintf(text, sizeof(text), "%u_[2-7]", id);
    assert_int_equal(act_as(&shared, shared.client, text, "HOLD"), 0);
    assert_job(&shared, id, "'array_tasks':'0-1,8-9%3'");
    assert_job(&shared, id, "!'priority'");
    assert_job(&shared, id + 1, "'array_tasks':'2-7%3'");
    assert_job(&shared, id + 1, "'priority':0");
    (void)snprintf(text, sizeof(text), "%u_[4-9]", id);
    assert_int_equal(act_as(&shared, shared.client, text, "CANCEL"), 0);
    assert_job(&shared, id, "'array_tasks':'0-1%3'");
    assert_job(&shared, id + 1, "'array_tasks':'2-3%3'");
    /* The last task takes the array's own id. */
    id = submit(&shared, "{'job':{},'array':'7'}");
    (void)snprintf(text, sizeof(text), "%u_7", id);
    assert_int_equal(act_as(&shared, shared.client, text, "HOLD"), 0);
    assert_job(&shared, id, "'array_task_id':7");
    assert_job(&shared, id, "!'array_tasks'");
}

/* Dependencies follow what becomes of their targets. */
static void test_dependencies(void **state)
{
    uint32_t a = submit(&shared, "{'job':{},'hold':true}"), ok, any, kill, chain;
    char json[128], want[96];

    (void)state;
    (void)snprintf(json, sizeof(json), "{'job':{'dependency':'afterok:%u'}}", a);
    ok = submit(&shared, json);
    (void)snprintf(json, sizeof(json), "{'job':{'dependency':'%u'}}", a);
    any = submit(&shared, json);
    (void)snprintf(json, sizeof(json),
                   "{'job':{'dependency':'afterok:%u','kill_on_invalid_dep':true}}", a);
    kill = submit(&shared, json);
    (void)snprintf(json, sizeof(json),
                   "{'job':{'dependency':'afterok:%u','kill_on_invalid_dep':true}}", kill);
    chain = submit(&shared, json);
    assert_job(&shared, ok, "!'eligible_us'");
    assert_job(&shared, ok, "'pend_reason':'REASON_DEPENDENCY'");
    assert_int_equal(act(&shared, a, "CANCEL"), 0);
    (void)snprintf(want, sizeof(want), "'dependency':'afterok:%u(failed)'", a);
    assert_job(&shared, ok, want);
    assert_job(&shared, ok, "'reason':'REASON_DEPENDENCY_NEVER_SATISFIED'");
    assert_job(&shared, any, "!'dependency'");
    assert_job(&shared, any, "'eligible_us':");
    assert_job(&shared, kill, "'state':'JOB_CANCELLED'");
    assert_job(&shared, kill, "'reason':'REASON_DEPENDENCY_NEVER_SATISFIED'");
    assert_job(&shared, chain, "'state':'JOB_CANCELLED'");
    /* The target had its end before. */
    (void)snprintf(json, sizeof(json), "{'job':{'dependency':'afterok:%u'}}", a);
    ok = submit(&shared, json);
    assert_job(&shared, ok, want);
    assert_job(&shared, ok, "'reason':'REASON_DEPENDENCY_NEVER_SATISFIED'");
    (void)snprintf(json, sizeof(json),
                   "{'job':{'dependency':'afterok:%u','kill_on_invalid_dep':true}}", a);
    kill = submit(&shared, json);
    assert_job(&shared, kill, "'state':'JOB_CANCELLED'");
}

/* A task split off its array waits as the array does. */
static void test_split_task_waits_too(void **state)
{
    uint32_t a = submit(&shared, "{'job':{},'hold':true}"), b;
    char text[64];

    (void)state;
    (void)snprintf(text, sizeof(text), "{'job':{'dependency':'%u'},'array':'0-3'}", a);
    b = submit(&shared, text);
    (void)snprintf(text, sizeof(text), "%u_1", b);
    assert_int_equal(on_job_as(&shared, shared.client, OP_JOB_UPDATE, text, "'set':{'nice':1}"), 0);
    assert_job(&shared, b + 1, "'dependency':");
    assert_int_equal(act(&shared, a, "CANCEL"), 0);
    assert_job(&shared, b, "!'dependency'");
    assert_job(&shared, b + 1, "!'dependency'");
}

/* Each job is cancelled because of the one before it: as many as there are, without end of the
 * stack. */
static void test_long_chain(void **state)
{
    enum { LENGTH = 3000 };
    uint32_t first = submit(&shared, "{'job':{},'hold':true}"), last = first;
    char json[128];

    (void)state;
    for (int i = 0; i < LENGTH; i++) {
        (void)snprintf(json, sizeof(json),
                       "{'job':{'dependency':'afterok:%u','kill_on_invalid_dep':true}}", last);
        last = submit(&shared, json);
    }
    assert_int_equal(act(&shared, first, "CANCEL"), 0);
    assert_job(&shared, last, "'state':'JOB_CANCELLED'");
}

/* A target and its dependants in one array. */
static void test_dependency_within_an_array(void **state)
{
    uint32_t id = submit(&shared, "{'job':{'kill_on_invalid_dep':true},'array':'0-2','hold':true}");
    char text[64], change[64];

    (void)state;
    (void)snprintf(change, sizeof(change), "'set':{'dependency':'afterok:%u_0'}", id);
    for (int task = 1; task <= 2; task++) {
        (void)snprintf(text, sizeof(text), "%u_%d", id, task);
        assert_int_equal(on_job_as(&shared, shared.client, OP_JOB_UPDATE, text, change), 0);
    }
    (void)snprintf(text, sizeof(text), "%u_0", id);
    assert_int_equal(act_as(&shared, shared.client, text, "CANCEL"), 0);
    for (uint32_t k = 0; k < 3; k++)
        assert_job(&shared, id + k, "'state':'JOB_CANCELLED'");
}

static void test_filters(void **state)
{
    uint32_t a = submit(&shared, "{'job':{'name':'f1','account':'fa'}}"),
             b = submit(&shared, "{'job':{'name':'f2','account':'fa'}}"),
             c = submit(&shared, "{'job':{'name':'f1','account':'fb'}}");
    ProtobufCMessage *reply = NULL;
    char json[128];

    (void)state;
    assert_int_equal(ask(&shared, shared.client, OP_JOB_ACTION,
                         "{'verb':'VERB_HOLD','filter':{'accounts':['fa'],'names':['f1']}}",
                         &reply),
                     0);
    assert_int_equal(((Pst__JobActionReply *)reply)->n_results, 1);
    assert_int_equal(((Pst__JobActionReply *)reply)->results[0]->job_id, a);
    protobuf_c_message_free_unpacked(reply, NULL);
    assert_job(&shared, b, "!'priority'");
    /* Ids and filter: both must hold. */
    (void)snprintf(json, sizeof(json),
                   "{'verb':'VERB_HOLD','ids':['%u','%u'],'filter':{'names':['f1']}}", b, c);
    assert_int_equal(ask(&shared, shared.client, OP_JOB_ACTION, json, &reply), 0);
    assert_int_equal(((Pst__JobActionReply *)reply)->n_results, 1);
    protobuf_c_message_free_unpacked(reply, NULL);
    assert_job(&shared, b, "!'priority'");
    assert_job(&shared, c, "'priority':0");
}

/* More than one turn of the core takes: all of it is answered for. */
static void test_many_by_filter(void **state)
{
    ProtobufCMessage *reply = NULL;

    (void)state;
    for (int i = 0; i < 1300; i++)
        (void)submit(&shared, "{'job':{'name':'many'}}");
    assert_int_equal(ask(&shared, shared.client, OP_JOB_ACTION,
                         "{'verb':'VERB_CANCEL','filter':{'names':['many']}}", &reply),
                     0);
    assert_int_equal(((Pst__JobActionReply *)reply)->n_results, 1300);
    protobuf_c_message_free_unpacked(reply, NULL);
}

/* ---- nodes and partitions
 * ----------------------------------------------------------------------------- */

static int node_update(struct client *c, const char *json)
{
    return ask(&shared, c, OP_NODE_UPDATE, json, NULL);
}

static void test_nodes(void **state)
{
    (void)state;
    assert_int_equal(
        node_update(shared.client,
                    "{'nodes':'n[0-1]','action':'NODE_ACT_DRAIN','set':{'reason':'r'}}"),
        0);
    assert_true(node_has(&shared, "n1", "'state_flags':1"));
    assert_true(node_has(&shared, "n1", "'reason':'r'"));
    assert_true(node_has(&shared, "n1", "'reason_us':"));
    assert_int_equal(node_update(shared.client, "{'nodes':'n0','action':'NODE_ACT_UNDRAIN'}"), 0);
    assert_true(node_has(&shared, "n0", "'state_flags':0"));
    assert_true(node_has(&shared, "n0", "!'reason'"));
    assert_int_equal(node_update(shared.client, "{'nodes':'n1','action':'NODE_ACT_RESUME'}"), 0);
    assert_true(node_has(&shared, "n1", "'state_flags':0"));
    assert_int_equal(node_update(shared.client, "{'nodes':'n1','action':'NODE_ACT_RESUME'}"),
                     ESLURM_INVALID_NODE_STATE_TRANSITION);
    assert_int_equal(
        node_update(shared.client, "{'nodes':'n2','action':'NODE_ACT_DOWN','set':{'reason':'x'}}"),
        0);
    assert_true(node_has(&shared, "n2", "'state':'NODE_DOWN'"));
    assert_int_equal(node_update(shared.client, "{'nodes':'n2','action':'NODE_ACT_RESUME'}"), 0);
    assert_true(node_has(&shared, "n2", "'state':'NODE_UNKNOWN'")); /* until it registers */
    assert_int_equal(node_update(shared.client, "{'nodes':'n2','action':'NODE_ACT_FAIL'}"), 0);
    assert_int_equal(node_update(shared.client, "{'nodes':'n2','action':'NODE_ACT_FUTURE'}"), 0);
    assert_true(node_has(&shared, "n2", "'state':'NODE_FUTURE'"));
    assert_int_equal(node_update(shared.client, "{'nodes':'n2','action':'NODE_ACT_IDLE'}"), 0);
    assert_int_equal(
        node_update(shared.client, "{'nodes':'n3','set':{'weight':5,'comment':'c','extra':'e'}}"),
        0);
    assert_true(node_has(&shared, "n3", "'weight':5"));
    assert_int_equal(node_update(shared.client, "{'nodes':'n3','clear':[20]}"), 0);
    assert_true(node_has(&shared, "n3", "!'comment'"));
}

static void test_nodes_refused(void **state)
{
    uint64_t before = state_hash(&shared);

    (void)state;
    assert_int_equal(node_update(shared.client, "{}"), ESLURM_INVALID_NODE_NAME);
    assert_int_equal(node_update(shared.client, "{'nodes':''}"), ESLURM_INVALID_NODE_NAME);
    assert_int_equal(node_update(shared.client, "{'nodes':'n[0'}"), ESLURM_INVALID_NODE_NAME);
    assert_int_equal(node_update(shared.client, "{'nodes':'n0,nosuch','action':'NODE_ACT_DRAIN'}"),
                     ESLURM_INVALID_NODE_NAME);
    assert_int_equal(node_update(shared.client, "{'nodes':'n0','set':{'cpus':99}}"),
                     ESLURM_NOT_SUPPORTED);
    assert_int_equal(node_update(shared.client, "{'nodes':'n0','set':{'name':'x'}}"),
                     ESLURM_NOT_SUPPORTED);
    /* What is never absent: a log with it in would not replay. */
    for (unsigned f = 1; f <= 2; f++) {
        char json[64];

        (void)snprintf(json, sizeof(json), "{'nodes':'n0','clear':[%u]}", f);
        assert_int_equal(node_update(shared.client, json), ESLURM_NOT_SUPPORTED);
    }
    assert_int_equal(node_update(shared.client, "{'nodes':'n0','clear':[30]}"),
                     ESLURM_NOT_SUPPORTED);
    if (stranger)
        assert_int_equal(node_update(stranger, "{'nodes':'n0','action':'NODE_ACT_DRAIN'}"),
                         ESLURM_USER_ID_MISSING);
    assert_int_equal(state_hash(&shared), before);
}

static int part_update(struct client *c, const char *json)
{
    return ask(&shared, c, OP_PART_UPDATE, json, NULL);
}

static void test_partitions(void **state)
{
    uint32_t id;

    (void)state;
    assert_int_equal(
        part_update(shared.client, "{'name':'new','create':true,'set':{'nodes':'n[0-1]'}}"), 0);
    assert_true(part_has(&shared, "new", "'state':'PART_UP'"));
    assert_true(part_has(&shared, "new", "'total_nodes':2"));
    assert_true(part_has(&shared, "new", "'total_cpus':16"));
    assert_int_equal(
        part_update(shared.client, "{'name':'new','set':{'max_time_min':5,'nodes':'ALL'}}"), 0);
    assert_true(part_has(&shared, "new", "'total_nodes':5"));
    assert_true(part_has(&shared, "new", "'max_time_min':5"));
    assert_int_equal(part_update(shared.client, "{'name':'new','clear':[5]}"), 0);
    assert_true(part_has(&shared, "new", "!'max_time_min'"));
    assert_int_equal(part_update(shared.client, "{'name':'new','set':{'is_default':true}}"), 0);
    assert_true(part_has(&shared, "main", "'is_default':false"));
    id = submit(&shared, "{'job':{}}");
    assert_job(&shared, id, "'partition':'new'");
    assert_int_equal(part_update(shared.client, "{'name':'new','remove':true}"),
                     ESLURM_PARTITION_IN_USE);
    assert_int_equal(act(&shared, id, "CANCEL"), 0);
    assert_int_equal(part_update(shared.client, "{'name':'new','remove':true}"), 0);
    expect_refusal(&shared, shared.client,
                   &(struct refusal){ "{'job':{}}", ESLURM_DEFAULT_PARTITION_NOT_SET, NULL });
    assert_int_equal(
        part_update(shared.client, "{'name':'main','set':{'is_default':true,'total_cpus':5}}"), 0);
    assert_true(part_has(&shared, "main", "'total_cpus':32"));
}

static void test_partitions_refused(void **state)
{
    uint64_t before = state_hash(&shared);

    (void)state;
    assert_int_equal(part_update(shared.client, "{}"), ESLURM_INVALID_PARTITION_NAME);
    assert_int_equal(part_update(shared.client, "{'name':''}"), ESLURM_INVALID_PARTITION_NAME);
    assert_int_equal(part_update(shared.client, "{'name':'nosuch','set':{'max_nodes':1}}"),
                     ESLURM_INVALID_PARTITION_NAME);
    assert_int_equal(part_update(shared.client, "{'name':'nosuch','remove':true}"),
                     ESLURM_INVALID_PARTITION_NAME);
    assert_int_equal(part_update(shared.client, "{'name':'main','create':true}"),
                     ESLURM_INVALID_PARTITION_NAME);
    assert_int_equal(part_update(shared.client, "{'name':'main','set':{'nodes':'nosuch'}}"),
                     ESLURM_INVALID_NODE_NAME);
    assert_int_equal(part_update(shared.client, "{'name':'main','set':{'nodes':'n[1'}}"),
                     ESLURM_INVALID_NODE_NAME);
    assert_int_equal(part_update(shared.client, "{'name':'main','clear':[1]}"),
                     ESLURM_NOT_SUPPORTED);
    assert_int_equal(part_update(shared.client, "{'name':'main','clear':[4]}"),
                     ESLURM_NOT_SUPPORTED);
    if (stranger)
        assert_int_equal(part_update(stranger, "{'name':'main','set':{'max_nodes':1}}"),
                         ESLURM_USER_ID_MISSING);
    assert_int_equal(state_hash(&shared), before);
}

/* ---- other queries
 * ---------------------------------------------------------------------------------------- */

static void test_queries(void **state)
{
    ProtobufCMessage *reply = NULL;
    Pst__ScriptReply *script;
    uint32_t id = submit(&shared, "{'job':{}}"),
             none = submit(&shared, "{'job':{'batch':false},'script':''}");
    char json[64];

    (void)state;
    assert_int_equal(ask(&shared, shared.client, OP_PING, "{}", &reply), 0);
    assert_true(json_has(reply, "'mode':'primary'"));
    assert_true(json_has(reply, "!'state_hash'"));
    assert_int_equal(((Pst__PingReply *)reply)->pid, (uint32_t)shared.pid);
    protobuf_c_message_free_unpacked(reply, NULL);
    assert_int_equal(ask(&shared, shared.client, OP_QUERY_CONFIG, "{}", &reply), 0);
    assert_true(json_has(reply, "{'key':'ClusterName','value':'test'}"));
    assert_int_equal(((Pst__ConfigReply *)reply)->next_job_id, none + 1);
    protobuf_c_message_free_unpacked(reply, NULL);
    (void)snprintf(json, sizeof(json), "{'job_id':%u}", id);
    assert_int_equal(ask(&shared, shared.client, OP_QUERY_SCRIPT, json, &reply), 0);
    script = (Pst__ScriptReply *)reply;
    assert_int_equal(script->script.len, 10);
    assert_memory_equal(script->script.data, "#!/bin/sh\n", 10);
    protobuf_c_message_free_unpacked(reply, NULL);
    if (stranger)
        assert_int_equal(ask(&shared, stranger, OP_QUERY_SCRIPT, json, NULL), ESLURM_ACCESS_DENIED);
    (void)snprintf(json, sizeof(json), "{'job_id':%u}", none);
    assert_int_equal(ask(&shared, shared.client, OP_QUERY_SCRIPT, json, NULL),
                     ESLURM_JOB_SCRIPT_MISSING);
    assert_int_equal(ask(&shared, shared.client, OP_QUERY_SCRIPT, "{'job_id':999999}", NULL),
                     ESLURM_INVALID_JOB_ID);
    assert_int_equal(ask(&shared, shared.client, OP_QUERY_NODES, "{'names':'n[1'}", NULL),
                     EPST_BAD_REQUEST);
}

static void test_diag(void **state)
{
    ProtobufCMessage *reply = NULL;
    Pst__DiagReply *r;

    (void)state;
    assert_int_equal(ask(&shared, shared.client, OP_QUERY_DIAG, "{'reset':true}", &reply), 0);
    assert_true(((Pst__DiagReply *)reply)->jobs_submitted > 0);
    protobuf_c_message_free_unpacked(reply, NULL);
    assert_int_equal(act(&shared, submit(&shared, "{'job':{}}"), "CANCEL"), 0);
    assert_int_equal(ask(&shared, shared.client, OP_QUERY_DIAG, "{}", &reply), 0);
    r = (Pst__DiagReply *)reply;
    assert_int_equal(r->jobs_submitted, 1);
    assert_int_equal(r->jobs_cancelled, 1);
    assert_int_equal(r->jobs_failed, 0);
    assert_true(r->journal_syncs > 0 && r->connections >= 1);
    assert_true(json_has(reply, "'name':'job-submit','count':1"));
    protobuf_c_message_free_unpacked(reply, NULL);
    if (stranger)
        assert_int_equal(ask(&shared, stranger, OP_QUERY_DIAG, "{'reset':true}", NULL),
                         ESLURM_ACCESS_DENIED);
}

static void test_token(void **state)
{
    ProtobufCMessage *reply = NULL;

    (void)state;
    assert_int_equal(
        ask(&shared, shared.client, OP_TOKEN, "{'user':'somebody','lifespan_s':60}", &reply), 0);
    assert_true(strncmp(((Pst__TokenReply *)reply)->token, "eyJ", 3) == 0);
    protobuf_c_message_free_unpacked(reply, NULL);
    if (!stranger)
        return;
    assert_int_equal(ask(&shared, stranger, OP_TOKEN, "{}", &reply), 0);
    protobuf_c_message_free_unpacked(reply, NULL);
    assert_int_equal(ask(&shared, stranger, OP_TOKEN, "{'user':'root'}", NULL),
                     ESLURM_ACCESS_DENIED);
}

static void test_debug_and_rights(void **state)
{
    (void)state;
    assert_int_equal(ask(&shared, shared.client, OP_DEBUG, "{'level':'verbose'}", NULL), 0);
    assert_int_equal(ask(&shared, shared.client, OP_DEBUG, "{'level':'loud'}", NULL),
                     EPST_BAD_REQUEST);
    assert_string_equal(shared.text, "unknown debug level");
    assert_int_equal(ask(&shared, shared.client, OP_DEBUG, "{}", NULL), EPST_BAD_REQUEST);
    if (!stranger)
        return;
    assert_int_equal(ask(&shared, stranger, OP_DEBUG, "{'level':'info'}", NULL),
                     ESLURM_USER_ID_MISSING);
    assert_int_equal(ask(&shared, stranger, OP_RECONFIGURE, "{}", NULL), ESLURM_USER_ID_MISSING);
    assert_int_equal(ask(&shared, stranger, OP_SHUTDOWN, "{}", NULL), ESLURM_USER_ID_MISSING);
    assert_int_equal(ask(&shared, stranger, OP_NODE_REGISTER, "{'node':{'name':'n0'}}", NULL),
                     ESLURM_USER_ID_MISSING);
}

/* ---- daemons of their own
 * ---------------------------------------------------------------------------------- */

static void test_reconfigure(void **state)
{
    struct daemon d;

    (void)state;
    (void)daemon_new(&d);
    write_conf(&d, "", cluster);
    daemon_start(&d, NULL, NULL);
    expect_refusal(&d, d.client, &(struct refusal){ "{'job':{'cpus_per_task':9}}", UNAVAILABLE,
                                    "CPU count per node can not be satisfied\n" UNAVAILABLE_TEXT });
    write_conf(
        &d, "MaxJobCount=3\nEnforcePartLimits=ALL",
        "NodeName=n[0-40] CPUs=8 Sockets=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=8000\n"
        "PartitionName=main Nodes=ALL Default=YES MaxTime=60 MaxNodes=30\n");
    assert_int_equal(ask(&d, d.client, OP_RECONFIGURE, "{}", NULL), 0);
    assert_true(part_has(&d, "main", "'total_nodes':41"));
    (void)submit(&d, "{'job':{'min_nodes':20}}");
    expect_refusal(
        &d, d.client,
        &(struct refusal){ "{'job':{'partition':'open'}}", ESLURM_INVALID_PARTITION_NAME,
                           "invalid partition specified: open\nInvalid partition name specified" });
    expect_refusal(
        &d, d.client,
        &(struct refusal){ "{'job':{'time_limit_min':61}}", ESLURM_INVALID_TIME_LIMIT, NULL });
    expect_refusal(
        &d, d.client,
        &(struct refusal){ "{'job':{'time_unlimited':true}}", ESLURM_INVALID_TIME_LIMIT, NULL });
    expect_refusal(
        &d, d.client,
        &(struct refusal){ "{'job':{'min_nodes':31}}", ESLURM_INVALID_NODE_COUNT, NULL });
    (void)submit(&d, "{'job':{}}");
    (void)submit(&d, "{'job':{}}");
    expect_refusal(&d, d.client, &(struct refusal){ "{'job':{}}", ESLURM_MAX_JOB_COUNT, NULL });
    /* A bad file changes nothing and is named. */
    write_conf(&d, "NoSuchKey=1", "NodeName=n0 CPUs=x\n");
    assert_int_equal(ask(&d, d.client, OP_RECONFIGURE, "{}", NULL), SLURM_ERROR);
    assert_non_null(strstr(d.text, d.conf));
    assert_true(part_has(&d, "main", "'total_nodes':41"));
    assert_int_equal(daemon_stop(&d, SIGTERM), 0);
    daemon_free(&d);
}

struct replay {
    struct cluster *cluster;
    uint64_t until; /* what was written after this is not looked at */
};

static int replay(void *ctx, uint64_t lsn, bool snapshot, const uint8_t *data, size_t len)
{
    struct replay *to = ctx;
    Pst__Transaction *tx;

    if (!snapshot && lsn > to->until)
        return 0;
    tx = pst__transaction__unpack(NULL, len, data);
    assert_non_null(tx);
    apply_ok(to->cluster, tx);
    return 0;
}

/* Hash of the state that the journal on disk stands for up to lsn. */
static uint64_t replayed_hash(const struct daemon *d, uint64_t lsn)
{
    struct replay to = { .cluster = new_cluster(), .until = lsn };
    char dir[96];
    struct journal_config config = { .dir = dir, .read_only = true };
    struct journal *j = NULL;
    uint64_t hash;

    (void)snprintf(dir, sizeof(dir), "%s/state", d->dir);
    assert_int_equal(journal_open(&config, replay, &to, &j, NULL), 0);
    hash = cluster_hash(to.cluster);
    journal_close(j);
    cluster_free(to.cluster);
    return hash;
}

/* kill -9 at any time: what was answered is there again. */
static void test_kill_and_restart(void **state)
{
    struct daemon d;
    uint64_t hash, lsn;
    uint32_t id, target;
    char json[96];

    (void)state;
    (void)daemon_new(&d);
    write_conf(&d, "", cluster);
    daemon_start(&d, NULL, NULL);
    for (unsigned i = 0; i < 50; i++) {
        id = submit(&d, i % 3 ? "{'job':{'name':'a'},'environment':'QT0x'}"
                              : "{'job':{},'array':'0-9'}");
        if (i % 5 == 0)
            assert_int_equal(act(&d, id, "CANCEL"), 0);
        if (i % 7 == 0)
            (void)update(&d, id, "'set':{'nice':5}");
    }
    target = submit(&d, "{'job':{},'hold':true}");
    (void)snprintf(json, sizeof(json), "{'job':{'dependency':'afterany:%u'}}", target);
    id = submit(&d, json);
    assert_int_equal(ask(&d, d.client, OP_NODE_UPDATE,
                         "{'nodes':'n0','action':'NODE_ACT_DRAIN','set':{'reason':'r'}}", NULL),
                     0);
    for (unsigned round = 0; round < 3; round++) {
        (void)daemon_stop(&d, round == 1 ? SIGTERM : SIGKILL);
        daemon_start(&d, NULL, NULL);
        assert_job(&d, id, "'dependency':'afterany:");
        assert_true(node_has(&d, "n0", "'reason':'r'"));
        hash = state_hash_at(&d, &lsn);
        (void)daemon_stop(&d, SIGKILL);
        assert_int_equal(replayed_hash(&d, lsn), hash); /* what the next one will find */
        daemon_start(&d, NULL, NULL);
    }
    /* Who waits still does, and learns of the end. */
    assert_int_equal(act(&d, target, "CANCEL"), 0);
    assert_job(&d, id, "!'dependency'");
    assert_int_equal(daemon_stop(&d, SIGTERM), 0);
    daemon_free(&d);
}

static void test_forget(void **state)
{
    struct daemon d;
    uint32_t id;

    (void)state;
    (void)daemon_new(&d);
    write_conf(&d, "", cluster);
    daemon_start(&d, NULL, NULL);
    id = submit(&d, "{'job':{}}");
    assert_int_equal(id, 1);
    assert_int_equal(daemon_stop(&d, SIGTERM), 0);
    daemon_start(&d, NULL, "-c");
    assert_null(get_job(&d, id));
    assert_int_equal(submit(&d, "{'job':{}}"), 1);
    assert_int_equal(daemon_stop(&d, SIGTERM), 0);
    daemon_free(&d);
}

/* Ask for a job and do not wait; the answer's frame id. */
static uint32_t submit_send(struct client *c)
{
    ProtobufCMessage *req =
        from_json(&pst__submit_request__descriptor,
                  "{'job':{'batch':true,'work_dir':'/'},'script':'IyEvYmluL3NoCg=='}");
    uint32_t id = client_next_id(c);

    assert_int_equal(client_send(c, OP_JOB_SUBMIT, 0, id, req), 0);
    protobuf_c_message_free_unpacked(req, NULL);
    return id;
}

/* The id of the job that was answered for, 0 when there is no answer within the time. */
static uint32_t submit_answer(struct client *c, uint32_t frame_id, int timeout_ms)
{
    ProtobufCMessage *msg = NULL;
    struct frame f;
    uint32_t id;

    if (client_recv(c, timeout_ms, &f) != 1)
        return 0;
    assert_int_equal(f.id, frame_id);
    assert_false(f.flags & FRAME_ERROR);
    assert_int_equal(frame_unpack(&f, &msg, NULL), 0);
    id = ((Pst__SubmitReply *)msg)->job_id;
    protobuf_c_message_free_unpacked(msg, NULL);
    return id;
}

/* The journal cannot grow: new work is refused in words, what was taken is answered for once there
 * is room, and it goes on by itself. */
static void test_disk_full(void **state)
{
    struct daemon d;
    struct client *second;
    uint32_t first, id = 0, asked;
    int code = 0;
    int64_t until;

    (void)state;
    (void)daemon_new(&d);
    write_conf(&d, "", cluster);
    daemon_start(&d, NULL, NULL);
    first = submit(&d, "{'job':{}}");
    assert_int_equal(daemon_stop(&d, SIGTERM), 0);
    /* The start writes a few batches; one of those that follow fails, once. */
    daemon_start(&d, "journal.write.enospc:8", NULL);
    second = connect_as(&d, geteuid());
    until = now_mono_us() + DEADLINE_US;
    do {
        asked = submit_send(second);
        id = submit_answer(second, asked, 300);
        if (!id) /* its batch is the one; who comes now is told */
            code = submit_as(&d, d.client, "{'job':{}}", NULL);
        if (!id && code == 0)
            id = submit_answer(second, asked, (int)(DEADLINE_US / 1000)); /* it was slow only */
    } while (code == 0 && now_mono_us() < until);
    assert_int_equal(code, EPST_DISK_FULL);
    assert_string_equal(d.text,
                        "the controller's disk is full: new work is refused until there is room, "
                        "nothing accepted is lost");
    assert_job(&d, first, "'state':'JOB_PENDING'");               /* queries go on */
    id = submit_answer(second, asked, (int)(DEADLINE_US / 1000)); /* nothing taken is lost */
    assert_int_not_equal(id, 0);
    while (code == EPST_DISK_FULL && now_mono_us() < until) {
        code = submit_as(&d, d.client, "{'job':{}}", NULL);
        (void)poll(NULL, 0, 5); /* between two questions */
    }
    assert_int_equal(code, 0);
    client_free(second);
    (void)daemon_stop(&d, SIGKILL);
    daemon_start(&d, NULL, NULL);
    assert_job(&d, id, "'state':'JOB_PENDING'");
    assert_job(&d, first, "'state':'JOB_PENDING'");
    assert_int_equal(daemon_stop(&d, SIGTERM), 0);
    daemon_free(&d);
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
        cmocka_unit_test(test_ids_ascend),
        cmocka_unit_test(test_updates),
        cmocka_unit_test(test_updates_by_users),
        cmocka_unit_test(test_update_dependency),
        cmocka_unit_test(test_update_array),
        cmocka_unit_test(test_update_by_name),
        cmocka_unit_test(test_hold_release),
        cmocka_unit_test(test_hold_of_users),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_what_pending_jobs_cannot),
        cmocka_unit_test(test_array_actions),
        cmocka_unit_test(test_dependencies),
        cmocka_unit_test(test_split_task_waits_too),
        cmocka_unit_test(test_long_chain),
        cmocka_unit_test(test_dependency_within_an_array),
        cmocka_unit_test(test_filters),
        cmocka_unit_test(test_many_by_filter),
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_nodes_refused),
        cmocka_unit_test(test_partitions),
        cmocka_unit_test(test_partitions_refused),
        cmocka_unit_test(test_queries),
        cmocka_unit_test(test_diag),
        cmocka_unit_test(test_token),
        cmocka_unit_test(test_debug_and_rights),
        cmocka_unit_test(test_reconfigure),
        cmocka_unit_test(test_kill_and_restart),
        cmocka_unit_test(test_forget),
        cmocka_unit_test(test_disk_full),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
