/* test_ctld_admin.c - nodes, partitions, queries, and controllers that are restarted */
#include "ctld_policy_util.h"
#include "replay_util.h"

#include "ctld/node/shutdown.h"

/* ---- nodes and partitions -------------------------------------------------------------------- */

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
    assert_int_equal(node_update(shared.client, "{'nodes':'nosuch,n0','action':'NODE_ACT_DRAIN'}"),
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
    /* Made and removed at once: its removal would stand in the log and apply nowhere. */
    assert_int_equal(part_update(shared.client, "{'name':'both','create':true,'remove':true}"),
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

/* ---- other queries --------------------------------------------------------------------------- */

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
        assert_int_equal(ask(&shared, stranger, OP_QUERY_SCRIPT, json, NULL),
                         ESLURM_USER_ID_MISSING);
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
                     ESLURM_USER_ID_MISSING);
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
                     ESLURM_ACCESS_DENIED);
}

/* ---- daemons of their own -------------------------------------------------------------------- */

static void test_reconfigure(void **state)
{
    struct daemon d;

    (void)state;
    (void)daemon_new(&d);
    write_conf(&d, "", cluster);
    daemon_start(&d, NULL, NULL);
    expect_refusal(
        &d, d.client,
        &(struct refusal){ "{'job':{'cpus_per_task':9}}", UNAVAILABLE,
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

/* Nodes that never came are waited for, and named; those that are down are neither. */
static void test_shutdown(void **state)
{
    ProtobufCMessage *reply = NULL;
    struct daemon d;
    int64_t began;

    (void)state;
    (void)daemon_new(&d);
    write_conf(&d, "", cluster);
    daemon_start(&d, NULL, NULL);
    assert_int_equal(ask(&d, d.client, OP_NODE_UPDATE,
                         "{'nodes':'n0','action':'NODE_ACT_DOWN','set':{'reason':'x'}}", NULL),
                     0);
    began = now_mono_us();
    assert_int_equal(ask(&d, d.client, OP_SHUTDOWN, "{}", &reply), 0);
    assert_true(now_mono_us() - began >= SHUTDOWN_PATIENCE_US);
    assert_non_null(((Pst__ShutdownReply *)reply)->untold);
    assert_string_equal(((Pst__ShutdownReply *)reply)->untold, "g0,n[1-3]");
    protobuf_c_message_free_unpacked(reply, NULL);
    assert_int_equal(daemon_stop(&d, SIGTERM), 0);
    daemon_free(&d);
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
    assert_int_equal(frame_unpack(&f, frame_message(&f), &msg, NULL), 0);
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
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_nodes_refused),
        cmocka_unit_test(test_partitions),
        cmocka_unit_test(test_partitions_refused),
        cmocka_unit_test(test_queries),
        cmocka_unit_test(test_diag),
        cmocka_unit_test(test_token),
        cmocka_unit_test(test_debug_and_rights),
        cmocka_unit_test(test_reconfigure),
        cmocka_unit_test(test_shutdown),
        cmocka_unit_test(test_kill_and_restart),
        cmocka_unit_test(test_forget),
        cmocka_unit_test(test_disk_full),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
