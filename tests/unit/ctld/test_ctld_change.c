/* test_ctld_change.c - updates of jobs and actions on pending ones */
#include "ctld_policy_util.h"

/* ---- updates --------------------------------------------------------------------------------- */

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
    { "'clear':[12]", 0, { "'partition':'main'" } }, /* the default one */
    { "'set':{'partition':'open'}", 0, { "'partition':'open'" } },
    { "'set':{'num_tasks':4,'cpus_per_task':2}", 0, { "'num_tasks':4", "'cpus_per_task':2" } },
    { "'set':{'num_tasks':0}", ESLURM_INVALID_CPU_COUNT, { "'num_tasks':4" } },
    { "'set':{'cpus_per_task':0}", ESLURM_BAD_TASK_COUNT, { "'cpus_per_task':2" } },
    { "'set':{'cpus_per_task':99}", UNAVAILABLE, { "'cpus_per_task':2" } },
    { "'set':{'min_nodes':0}", ESLURM_INVALID_NODE_COUNT, { "'cpus_per_task':2" } },
    { "'set':{'min_nodes':9}", 0, { "'min_nodes':9" } }, /* it waits for a larger partition */
    { "'set':{'min_nodes':2,'max_nodes':2}", 0, { "'min_nodes':2", "'max_nodes':2" } },
    { "'set':{'tres_per_node':'nosuch:1'}", ESLURM_INVALID_TRES, { "!'tres_per_node'" } },
    { "'set':{'tres_per_node':'gres/nosuch:1'}", ESLURM_INVALID_GRES, { "!'tres_per_node'" } },
    { "'set':{'tres_per_socket':'gres/gpu:1'}", ESLURM_INVALID_GRES, { "!'tres_per_socket'" } },
    { "'set':{'cpus_per_gpu':2}", ESLURM_INVALID_GRES, { "!'cpus_per_gpu'" } },
    { "'set':{'core_spec':1}", ESLURM_ACCESS_DENIED, { "!'core_spec'" } },
    { "'set':{'min_cpus':9999}", ESLURM_REQUESTED_PART_CONFIG_UNAVAILABLE, { "'min_cpus':9," } },
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
    { "'clear':[54]", ESLURM_NOT_SUPPORTED, { "'state':'JOB_PENDING'" } }, /* its end */
    { "'clear':[30]", ESLURM_NOT_SUPPORTED, { "'state':'JOB_PENDING'" } },
    { "'clear':[600]", ESLURM_NOT_SUPPORTED, { "'state':'JOB_PENDING'" } },
    { "'set':{'script_hash':7}", ESLURM_NOT_SUPPORTED, { "!'script_hash'" } },
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
        { "'set':{'nice':4}", 0 },
        { "'set':{'priority':5}", ESLURM_ACCESS_DENIED },
        { "'set':{'admin_comment':'x'}", ESLURM_ACCESS_DENIED },
        { "'set':{'time_limit_min':5},'clear':[100]", 0 }, /* as scontrol sends it */
        { "'set':{'time_limit_min':6},'clear':[100]", 0 }, /* still what he could have asked for */
        { "'set':{'time_limit_min':500000},'clear':[100]", ESLURM_ACCESS_DENIED },
        { "'set':{'time_unlimited':true},'clear':[99]", ESLURM_ACCESS_DENIED },
        { "'clear':[99]", ESLURM_ACCESS_DENIED },
        { "'set':{'partition':'rootonly'}", ESLURM_ACCESS_DENIED },
        { "'set':{'partition':'main,good'}", 0 }, /* it waits until good takes its account */
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
    assert_int_equal(update_as(&shared, stranger, other, "'set':{'nice':5}"),
                     ESLURM_USER_ID_MISSING);
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
    (void)snprintf(want, sizeof(want), "'dependency':'afterok:%u(unfulfilled)'", a);
    assert_job(&shared, b, want); /* nobody looks while it is held */
    assert_int_equal(act(&shared, b, "RELEASE"), 0);
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

/* ---- actions on pending jobs ----------------------------------------------------------------- */

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
    assert_int_equal(act(&shared, id, "HOLD"), ESLURM_JOB_FINISHED);
    assert_int_equal(act(&shared, id, "RELEASE"), ESLURM_JOB_FINISHED);
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
    assert_int_equal(act(&shared, id, "REQUEUE_HOLD"), ESLURM_JOB_PENDING);
    assert_int_equal(act(&shared, id, "COMPLETE"), 0);
    assert_job(&shared, id, "'state':'JOB_CANCELLED'");
    assert_int_equal(act(&shared, id, "TOP"), ESLURM_JOB_NOT_PENDING); /* recording 66 */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
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
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
