/* test_ctld_acct.c - accounting records in a real controller: taken, kept over kill -9, and what
 * they do to jobs: association, QOS, refusals, counts, rights */
#include "ctld_util.h"

static const char cluster[] =
    "NodeName=n[0-3] CPUs=8 Sockets=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=8000 State=UNKNOWN\n"
    "PartitionName=main Nodes=n[0-3] Default=YES MaxTime=600 DefaultTime=30\n"
    "PartitionName=nodefault Nodes=n[0-3] MaxTime=600\n"
    "PartitionName=limited Nodes=n[0-3] QOS=partqos MaxTime=600\n"
    "PartitionName=goodqos Nodes=n[0-3] AllowQos=high\n"
    "PartitionName=noscience Nodes=n[0-3] DenyAccounts=science\n";
static const char enforce[] = "AccountingStorageEnforce=associations,limits,qos\n";

/* root - science - physics: root (default), in partition limited too; chem: root.  root has no
 * association at the top. */
static const char records[] =
    "{'changes':[{'version':1,'clear':true},"
    "{'version':2,'qos':{'qos_id':1,'name':'normal'}},"
    "{'version':3,'qos':{'qos_id':2,'name':'high','priority':100,'flags':1,'limits':{'max_wall_min':30,"
    "'max_tres_per_user':[{'tres_id':1,'count':32}]}}},"
    "{'version':4,'qos':{'qos_id':3,'name':'tiny','limits':{'max_submit_jobs_per_user':2}}},"
    "{'version':5,'qos':{'qos_id':4,'name':'partqos','limits':{'grp_submit_jobs':1}}},"
    "{'version':6,'account':{'name':'science'}},{'version':7,'account':{'name':'physics'}},"
    "{'version':8,'account':{'name':'chem'}},"
    "{'version':9,'assoc':{'assoc_id':1,'cluster':'test','account':'root','qos_ids':[1]}},"
    "{'version':10,'assoc':{'assoc_id':3,'cluster':'test','account':'science','qos_ids':[1,2,3]}},"
    "{'version':11,'assoc':{'assoc_id':4,'parent_id':3,'cluster':'test','account':'physics'}},"
    "{'version':12,'assoc':{'assoc_id':5,'parent_id':3,'cluster':'test','account':'chem','qos_removed':[2]}},"
    "{'version':13,'assoc':{'assoc_id':7,'parent_id':4,'cluster':'test','account':'physics','user':'%s',"
    "'is_default':true}},"
    "{'version':14,'assoc':{'assoc_id':8,'parent_id':5,'cluster':'test','account':'chem','user':'%s'}},"
    "{'version':15,'assoc':{'assoc_id':9,'parent_id':4,'cluster':'test','account':'physics','user':'%s',"
    "'partition':'limited'}}]}";

static void give(struct daemon *d, const char *json, uint64_t version)
{
    ProtobufCMessage *reply = NULL;

    if (ask(d, d->client, OP_ACCT_CHANGES, json, &reply) != 0)
        fail_msg("%s", d->text);
    assert_int_equal(((Pst__AcctReached *)reply)->version, version);
    protobuf_c_message_free_unpacked(reply, NULL);
}

static void give_all(struct daemon *d)
{
    struct passwd *me = getpwuid(geteuid());
    char json[8192];

    assert_non_null(me);
    (void)snprintf(json, sizeof(json), records, me->pw_name, me->pw_name, me->pw_name);
    give(d, json, 15);
}

static void start(struct daemon *d, const char *extra)
{
    char text[4096];

    (void)daemon_new(d);
    /* no store of its own: the records come from here alone */
    (void)snprintf(text, sizeof(text), "AccountingStorageType=accounting_storage/none\n%s",
                   extra ? extra : "");
    write_conf(d, text, cluster);
    daemon_start(d, NULL, NULL);
}

static void stop(struct daemon *d)
{
    int status = daemon_stop(d, SIGTERM);

    daemon_free(d);
    assert_int_equal(status, 0);
}

static void refused(struct daemon *d, const char *json, int code, const char *text)
{
    uint32_t id;
    int got = submit_as(d, d->client, json, &id);

    if (got != code || strcmp(d->text, text) != 0)
        fail_msg("%s: %d %s", json, got, d->text);
}

#define POLICY                                                                                     \
    "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"
#define ACCOUNT "Invalid account or account/partition combination specified"
#define QOS "Invalid qos specification"

static void test_taken_and_kept(void **state)
{
    struct daemon d;
    uint64_t before;
    uint32_t id;

    (void)state;
    start(&d, enforce);
    refused(&d, "{'job':{}}", ESLURM_INVALID_ACCOUNT, ACCOUNT); /* nobody has one yet */
    give_all(&d);
    id = submit(&d, "{'job':{}}");
    assert_job(&d, id, "'account':'physics','qos':'normal'");
    assert_job(&d, id, "'assoc_id':7,'qos_id':1");
    before = state_hash(&d);
    give_all(&d); /* again: nothing is new */
    assert_int_equal(state_hash(&d), before);
    assert_int_not_equal(
        ask(&d, d.client, OP_ACCT_CHANGES, "{'changes':[{'version':99,'qos':{'name':'x'}}]}", NULL),
        0);
    assert_int_equal(state_hash(&d), before);
    (void)daemon_stop(&d, SIGKILL);
    daemon_start(&d, NULL, NULL);
    before = state_hash(&d);
    give_all(&d);
    assert_int_equal(state_hash(&d), before);
    /* later ones; what was reached is passed over */
    give(&d,
         "{'changes':[{'version':15,'qos':{'qos_id':1,'name':'late'}},"
         "{'version':16,'qos':{'qos_id':5,'name':'new'}}]}",
         16);
    assert_int_not_equal(state_hash(&d), before);
    refused(&d, "{'job':{'qos':'late'}}", ESLURM_INVALID_QOS, QOS);
    /* a full batch takes away what it does not name */
    give_all(&d);
    assert_int_equal(state_hash(&d), before);
    stop(&d);
}

static void test_association(void **state)
{
    struct daemon d;
    Pst__JobRecord *r;
    uint32_t id;

    (void)state;
    start(&d, enforce);
    give_all(&d);
    id = submit(&d, "{'job':{'account':'CHEM'}}");
    assert_job(&d, id, "'account':'chem'");
    assert_job(&d, id, "'assoc_id':8");
    id = submit(&d, "{'job':{'partition':'limited'}}");
    assert_job(&d, id, "'assoc_id':9");
    assert_job(&d, id, "'part_qos_id':4");
    /* the most urgent of the list */
    id = submit(&d, "{'job':{'qos':'tiny,HIGH','time_limit_min':5}}");
    assert_job(&d, id, "'qos':'high'");
    refused(&d, "{'job':{'account':'nosuch'}}", ESLURM_INVALID_ACCOUNT, ACCOUNT);
    refused(&d, "{'job':{'account':'science'}}", ESLURM_INVALID_ACCOUNT, ACCOUNT);
    refused(&d, "{'job':{'qos':'nosuch'}}", ESLURM_INVALID_QOS, QOS);
    refused(&d, "{'job':{'qos':'high','account':'chem'}}", ESLURM_INVALID_QOS, QOS);
    /* these wait until the partition takes them */
    id = submit(&d, "{'job':{'partition':'goodqos'}}");
    r = get_job(&d, id);
    assert_string_equal(r->pend_text, "Job's QOS not permitted to use this partition (goodqos "
                                      "allows high not normal)");
    pst__job_record__free_unpacked(r, NULL);
    /* physics is below it */
    id = submit(&d, "{'job':{'partition':'noscience'}}");
    assert_job(&d, id, "'pend_reason':'REASON_PARTITION_CONFIG'");
    id = submit(&d, "{'job':{'partition':'goodqos','qos':'high'}}");
    assert_job(&d, id, "'qos_id':2");
    /* changes follow */
    id = submit(&d, "{'job':{}}");
    assert_int_equal(update(&d, id, "'set':{'account':'chem'}"), 0);
    assert_job(&d, id, "'assoc_id':8");
    assert_int_equal(update(&d, id, "'set':{'qos':'high'}"), ESLURM_INVALID_QOS);
    assert_int_equal(update(&d, id, "'set':{'account':'nosuch'}"), ESLURM_INVALID_ACCOUNT);
    assert_int_equal(update(&d, id, "'set':{'account':'physics','qos':'high','time_limit_min':20}"),
                     0);
    assert_job(&d, id, "'assoc_id':7,'qos_id':2");
    /* which has no such QOS: its default */
    assert_int_equal(update(&d, id, "'set':{'account':'chem'}"), 0);
    assert_job(&d, id, "'account':'chem','qos':'normal'");
    stop(&d);
}

static void test_limits_that_refuse(void **state)
{
    struct daemon d;
    uint32_t id;

    (void)state;
    start(&d, enforce);
    give_all(&d);
    refused(&d, "{'job':{'qos':'high','time_limit_min':45}}", ESLURM_ACCOUNTING_POLICY,
            "QOSMaxWallDurationPerJobLimit\n" POLICY);
    refused(
        &d,
        "{'job':{'qos':'high','time_limit_min':20,'num_tasks':40,'min_nodes':5,'overcommit':false}}",
        ESLURM_ACCOUNTING_POLICY, "QOSMaxCpuPerUserLimit\n" POLICY);
    id = submit(&d, "{'job':{'qos':'tiny'}}");
    (void)submit(&d, "{'job':{'qos':'tiny'}}");
    refused(&d, "{'job':{'qos':'tiny'}}", ESLURM_ACCOUNTING_POLICY,
            "QOSMaxSubmitJobPerUserLimit\n" POLICY);
    refused(&d, "{'job':{'qos':'tiny'},'array':'0-1'}", ESLURM_ACCOUNTING_POLICY,
            "QOSMaxSubmitJobPerUserLimit\n" POLICY);
    assert_int_equal(act(&d, id, "CANCEL"), 0);
    (void)submit(&d, "{'job':{'qos':'tiny'}}"); /* one went, one may come */
    (void)submit(&d, "{'job':{'partition':'limited'}}");
    refused(&d, "{'job':{'partition':'limited'}}", ESLURM_ACCOUNTING_POLICY,
            "QOSGrpSubmitJobsLimit\n" POLICY);
    /* associations: what is refused stays so over a kill */
    give(
        &d,
        "{'changes':[{'version':20,'assoc':{'assoc_id':3,'cluster':'test','account':'science','qos_ids':[1,2,3],"
        "'limits':{'grp_submit_jobs':5,'max_submit_jobs':4}}}]}",
        20);
    (void)submit(&d, "{'job':{}}");
    (void)daemon_stop(&d, SIGKILL);
    daemon_start(&d, NULL, NULL);
    (void)submit(&d, "{'job':{'account':'chem'}}");
    refused(&d, "{'job':{'account':'chem'}}", ESLURM_ACCOUNTING_POLICY,
            "AssocGrpSubmitJobsLimit\n" POLICY);
    give(
        &d,
        "{'changes':[{'version':21,'assoc':{'assoc_id':3,'cluster':'test','account':'science','qos_ids':[1,2,3],"
        "'limits':{'grp_submit_jobs':-1,'max_submit_jobs':3}}}]}",
        21);
    refused(&d, "{'job':{}}", ESLURM_ACCOUNTING_POLICY, "AssocMaxSubmitJobLimit\n" POLICY);
    (void)submit(&d, "{'job':{'account':'chem'}}");
    stop(&d);
}

/* Without a time of its own or the partition's, a job gets what its limits let it have. */
static void test_default_time(void **state)
{
    struct daemon d;
    uint32_t id;

    (void)state;
    start(&d, enforce);
    give_all(&d);
    id = submit(&d, "{'job':{'partition':'nodefault','qos':'high'}}");
    assert_job(&d, id, "'time_limit_min':30");
    id = submit(&d, "{'job':{'partition':'nodefault'}}");
    assert_job(&d, id, "'time_limit_min':600");
    stop(&d);
}

/* Records without enforcement: what is known is noted, nothing but a QOS that does not exist is
 * refused. */
static void test_not_enforced(void **state)
{
    struct daemon d;
    uint32_t id;

    (void)state;
    start(&d, "");
    id = submit(&d, "{'job':{'account':'any','qos':'any'}}");
    assert_job(&d, id, "'account':'any'");
    assert_job(&d, id, "!'qos'"); /* nobody counts (recording 40) */
    give_all(&d);
    id = submit(&d, "{'job':{}}");
    assert_job(&d, id, "'assoc_id':7");
    id = submit(&d, "{'job':{'account':'any'}}");
    assert_job(&d, id, "'account':'any'");
    (void)submit(&d, "{'job':{'qos':'high','time_limit_min':45}}");
    id = submit(&d, "{'job':{'qos':'nosuch'}}"); /* no QOS is looked at */
    assert_job(&d, id, "'qos':'nosuch'");
    stop(&d);
}

/* A job waits under the word of its limit, and not a moment longer than the limit stands. */
static void test_waits(void **state)
{
    struct daemon d;
    uint32_t id;

    (void)state;
    start(&d, enforce);
    give_all(&d);
    give(
        &d,
        "{'changes':[{'version':20,'assoc':{'assoc_id':7,'parent_id':4,'cluster':'test','account':'physics','user':'"
        "root','is_default':true,'limits':{'max_wall_min':5}}}]}",
        20);
    if (strcmp(getpwuid(geteuid())->pw_name, "root") == 0) {
        id = submit(&d, "{'job':{'time_limit_min':6}}");
        wait_job(&d, id, "'pend_reason':'REASON_ASSOC_MAX_WALL'");
        give(
            &d,
            "{'changes':[{'version':21,'assoc':{'assoc_id':7,'parent_id':4,'cluster':'test','account':'physics',"
            "'user':'root','is_default':true}}]}",
            21);
        wait_job(&d, id,
                 "'pend_text':'ReqNodeNotAvail, UnavailableNodes:n[0-3]'"); /* recording 73 */
    }
    stop(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_taken_and_kept),     cmocka_unit_test(test_association),
        cmocka_unit_test(test_limits_that_refuse), cmocka_unit_test(test_default_time),
        cmocka_unit_test(test_not_enforced),       cmocka_unit_test(test_waits),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
