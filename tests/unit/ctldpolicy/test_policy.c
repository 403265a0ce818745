/* test_policy.c - what accounting says to a job: its association, QOS and workload key; partitions;
 * who may see and manage what */
#include "records_util.h"

#include "conf/conf.h"
#include "ctld/ctld.h"
#include "ctld/core/cmd.h"
#include "ctld/policy/policy.h"
#include "model/tx.h"
#include "wire/server/server_impl.h"

#define SLURM_UID 60001u
#define USER_UID 60003u

/* Accounts root > science > chem, phys; QOS normal, high, low; ann in chem (default) and phys. */
struct world {
    struct conf *conf;
    struct cluster cluster;
    struct ctld ctld;
    struct conn conn;
    struct cmd cmd;
    struct partition part;
    Pst__PartitionRecord part_rec;
    Pst__JobRecord *job;
};

static const char *const records[] = {
    "{'qos':{'qos_id':1,'name':'normal'}}",
    "{'qos':{'qos_id':2,'name':'high','priority':50}}",
    "{'qos':{'qos_id':3,'name':'low','priority':5}}",
    "{'qos':{'qos_id':4,'name':'booked','flags':512}}", /* RequiresReservation */
    "{'qos':{'qos_id':5,'name':'part'}}",
    "{'account':{'name':'root'}}",
    "{'account':{'name':'science','coordinators':['carl']}}",
    "{'account':{'name':'chem'}}",
    "{'account':{'name':'phys','coordinators':['dora']}}",
    "{'user':{'name':'ann'}}",
    "{'user':{'name':'olga','admin_level':'ADMIN_OPERATOR'}}",
    "{'user':{'name':'carl'}}",
    "{'user':{'name':'dora'}}",
    "{'assoc':{'assoc_id':1,'cluster':'t','account':'root','qos_ids':[1]}}",
    "{'assoc':{'assoc_id':2,'parent_id':1,'cluster':'t','account':'science'}}",
    "{'assoc':{'assoc_id':3,'parent_id':2,'cluster':'t','account':'chem',"
    "'qos_ids':[1,2,3,4]}}",
    "{'assoc':{'assoc_id':4,'parent_id':2,'cluster':'t','account':'phys','qos_ids':[3]}}",
    "{'assoc':{'assoc_id':5,'parent_id':3,'cluster':'t','account':'chem','user':'ann',"
    "'is_default':true,'default_qos_id':2}}",
    "{'assoc':{'assoc_id':6,'parent_id':4,'cluster':'t','account':'phys','user':'ann'}}",
    "{'assoc':{'assoc_id':7,'parent_id':3,'cluster':'t','account':'chem','user':'ann',"
    "'partition':'gpu'}}",
    "{'wckey':{'wckey_id':9,'cluster':'t','user':'ann','name':'blue','is_default':true}}",
};

static void set_conf(struct world *w, const char *lines)
{
    char text[1024];
    struct conf_text file = { .name = "slurm.conf", .text = text };
    struct err err = { .text = "" };

    conf_free(w->conf);
    file.len = (size_t)snprintf(text, sizeof(text),
                                "ClusterName=t\nSlurmctldHost=h\nSlurmUser=60001\n"
                                "NodeName=n1 CPUs=1\nPartitionName=p Nodes=n1\n%s\n",
                                lines);
    if (conf_load_text(&file, 1, CONF_FULL, &w->conf, NULL, &err) < 0)
        fail_msg("%s", err.text);
    w->ctld.conf = w->conf;
}

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    assert_non_null(w);
    assert_int_equal(am_new(&w->cluster.am), 0);
    records_put(w->cluster.am, records, ARRAY_SIZE(records));
    w->ctld.cluster = &w->cluster;
    atomic_store(&w->ctld.slurm_uid, SLURM_UID);
    w->conn.peer.uid = USER_UID;
    w->cmd.conn = &w->conn;
    pst__partition_record__init(&w->part_rec);
    w->part_rec.name = (char *)"p";
    w->part.rec = &w->part_rec;
    w->job = calloc(1, sizeof(*w->job));
    assert_non_null(w->job);
    pst__job_record__init(w->job);
    set_conf(w, "");
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;

    protobuf_c_message_free_unpacked(&w->job->base, NULL);
    am_free(w->cluster.am);
    conf_free(w->conf);
    free(w->cmd.caller);
    free(w);
    return 0;
}

/* A job anew, as a user asked for it; NULL: he did not say. */
static int resolve(struct world *w, const char *user, const char *account, const char *qos)
{
    protobuf_c_message_free_unpacked(&w->job->base, NULL);
    w->job = calloc(1, sizeof(*w->job));
    assert_non_null(w->job);
    pst__job_record__init(w->job);
    assert_int_equal(pb_set_str(&w->job->account, account), 0);
    assert_int_equal(pb_set_str(&w->job->qos, qos), 0);
    return policy_resolve(&w->ctld, user, &w->part, w->job);
}

/* ---- association and QOS --------------------------------------------------------------------- */

static void test_association(void **state)
{
    struct world *w = *state;

    set_conf(w, "AccountingStorageEnforce=associations");
    assert_int_equal(resolve(w, "ann", NULL, NULL), 0);
    assert_int_equal(w->job->assoc_id, 5);
    assert_string_equal(w->job->account, "chem");
    assert_int_equal(resolve(w, "ann", "PHYS", NULL), 0);
    assert_int_equal(w->job->assoc_id, 6);
    assert_string_equal(w->job->account, "phys"); /* as it is written */
    assert_int_equal(resolve(w, "ann", "science", NULL), ESLURM_INVALID_ACCOUNT);
    assert_int_equal(resolve(w, "ann", "nowhere", NULL), ESLURM_INVALID_ACCOUNT);
    assert_int_equal(resolve(w, "ann", "", NULL), ESLURM_INVALID_ACCOUNT); /* --account= */
    assert_int_equal(resolve(w, "nobody", NULL, NULL), ESLURM_INVALID_ACCOUNT);
    assert_int_equal(resolve(w, NULL, NULL, NULL), ESLURM_INVALID_ACCOUNT);

    w->part_rec.name = (char *)"gpu"; /* of that partition alone */
    assert_int_equal(resolve(w, "ann", "chem", NULL), 0);
    assert_int_equal(w->job->assoc_id, 7);

    set_conf(w, ""); /* nothing is enforced: such a job runs without one */
    assert_int_equal(resolve(w, "nobody", "nowhere", NULL), 0);
    assert_false(w->job->has_assoc_id);
}

static void test_default_account(void **state)
{
    struct world *w = *state;

    policy_default_account(&w->ctld, "nobody", w->job);
    assert_null(w->job->account);
    policy_default_account(&w->ctld, NULL, w->job);
    assert_null(w->job->account);
    policy_default_account(&w->ctld, "ann", w->job);
    assert_string_equal(w->job->account, "chem");
    assert_int_equal(pb_set_str(&w->job->account, "phys"), 0);
    policy_default_account(&w->ctld, "ann", w->job); /* she said which */
    assert_string_equal(w->job->account, "phys");
}

static void test_qos(void **state)
{
    struct world *w = *state;

    set_conf(w, "AccountingStorageEnforce=qos");
    assert_int_equal(resolve(w, "ann", NULL, NULL), 0);
    assert_string_equal(w->job->qos, "high"); /* her default */
    assert_int_equal(w->job->qos_id, 2);
    assert_int_equal(resolve(w, "ann", NULL, "Normal"), 0);
    assert_string_equal(w->job->qos, "normal");
    assert_int_equal(resolve(w, "ann", NULL, "low,high,normal"), 0);
    assert_string_equal(w->job->qos, "high"); /* the one with the highest priority */
    assert_string_equal(w->job->qos_req, "low,high,normal");
    assert_int_equal(resolve(w, "ann", NULL, "high,part"),
                     ESLURM_INVALID_QOS); /* one is not hers */
    assert_int_equal(resolve(w, "ann", NULL, "nosuch"), ESLURM_INVALID_QOS);
    assert_int_equal(resolve(w, "ann", "phys", NULL), 0);
    assert_string_equal(w->job->qos, "low"); /* the only one there */
    assert_int_equal(resolve(w, "ann", "phys", "high"), ESLURM_INVALID_QOS);
    assert_int_equal(resolve(w, "ann", NULL, "booked"), ESLURM_INVALID_QOS);

    w->part_rec.qos = (char *)"part";
    assert_int_equal(resolve(w, "ann", NULL, NULL), 0);
    assert_int_equal(w->job->part_qos_id, 5);
    w->part_rec.qos = (char *)"gone"; /* its limits cannot hold: nothing runs there */
    assert_int_equal(resolve(w, "ann", NULL, NULL), ESLURM_INVALID_QOS);
    w->part_rec.qos = NULL;
    assert_int_equal(resolve(w, "ann", NULL, NULL), 0);
    assert_false(w->job->has_part_qos_id);
}

/* Accounting took it away while the job waits. */
static void test_qos_lost(void **state)
{
    struct world *w = *state;

    set_conf(w, "AccountingStorageEnforce=qos");
    assert_int_equal(resolve(w, "ann", NULL, "high"), 0);
    assert_false(policy_qos_lost(&w->ctld, w->job));
    records_put_one(w->cluster.am, "{'assoc':{'assoc_id':3,'parent_id':2,'cluster':'t',"
                                   "'account':'chem','qos_ids':[1,3]}}");
    assert_true(policy_qos_lost(&w->ctld, w->job));
    set_conf(w, "AccountingStorageEnforce=limits");
    assert_false(policy_qos_lost(&w->ctld, w->job)); /* QOS are not enforced */
    assert_false(policy_qos_flag(&w->ctld, w->job, PST__QOS_FLAG__QOS_REQUIRES_RESERVATION));
    SET(w->job, qos_id, 4);
    assert_true(policy_qos_flag(&w->ctld, w->job, PST__QOS_FLAG__QOS_REQUIRES_RESERVATION));
    assert_false(policy_qos_flag(&w->ctld, w->job, PST__QOS_FLAG__QOS_NO_DECAY));
}

static void test_wckey(void **state)
{
    struct world *w = *state;

    set_conf(w, "TrackWCKey=yes");
    assert_int_equal(resolve(w, "ann", NULL, NULL), 0);
    assert_string_equal(w->job->wckey, "*blue"); /* a default has a star */
    assert_int_equal(w->job->wckey_id, 9);
    assert_int_equal(resolve(w, "carl", NULL, NULL), 0);
    assert_string_equal(w->job->wckey, "*");
    set_conf(w, "TrackWCKey=yes\nAccountingStorageEnforce=wckeys");
    assert_int_equal(pb_set_str(&w->job->wckey, "red"), 0);
    assert_int_equal(pb_set_str(&w->job->account, "chem"), 0);
    assert_int_equal(policy_resolve(&w->ctld, "ann", &w->part, w->job), ESLURM_INVALID_WCKEY);
    assert_int_equal(pb_set_str(&w->job->wckey, "blue"), 0);
    assert_int_equal(policy_resolve(&w->ctld, "ann", &w->part, w->job), 0);
    assert_int_equal(w->job->wckey_id, 9);
}

/* A new store has root, its user and normal: as good as none. */
static void test_no_records(void **state)
{
    static const char *const fresh[] = {
        "{'clear':true}",
        "{'qos':{'qos_id':1,'name':'normal'}}",
        "{'assoc':{'assoc_id':1,'cluster':'t','account':'root'}}",
        "{'assoc':{'assoc_id':2,'parent_id':1,'cluster':'t','account':'root','user':'root'}}",
    };
    struct world *w = *state;

    assert_true(policy_has_records(&w->ctld));
    records_put(w->cluster.am, fresh, ARRAY_SIZE(fresh));
    assert_false(policy_has_records(&w->ctld));
    assert_int_equal(resolve(w, "nobody", "any", NULL), 0);
    assert_false(w->job->has_assoc_id || w->job->has_qos_id);
    assert_string_equal(w->job->account, "any");
}

/* ---- partitions ------------------------------------------------------------------------------ */

static int partition_says(struct world *w, const char *account, const char *qos)
{
    assert_int_equal(pb_set_str(&w->job->account, account), 0);
    assert_int_equal(pb_set_str(&w->job->qos, qos), 0);
    return policy_partition(&w->ctld, &w->part_rec, w->job);
}

/* Accounts are named with all below them; where some are allowed, none is denied. */
static void test_partition(void **state)
{
    struct world *w = *state;

    assert_int_equal(partition_says(w, NULL, NULL), 0);
    w->part_rec.allow_accounts = (char *)"Science,arts";
    assert_int_equal(partition_says(w, "science", NULL), 0);
    assert_int_equal(partition_says(w, "chem", NULL), 0);
    assert_int_equal(partition_says(w, "root", NULL), ESLURM_INVALID_ACCOUNT);
    assert_int_equal(partition_says(w, "sci", NULL), ESLURM_INVALID_ACCOUNT);
    assert_int_equal(partition_says(w, NULL, NULL), ESLURM_INVALID_ACCOUNT);
    w->part_rec.deny_accounts = (char *)"chem";
    assert_int_equal(partition_says(w, "chem", NULL), 0);
    w->part_rec.allow_accounts = NULL;
    assert_int_equal(partition_says(w, "chem", NULL), ESLURM_INVALID_ACCOUNT);
    assert_int_equal(partition_says(w, "phys", NULL), 0);
    w->part_rec.deny_accounts = (char *)"science";
    assert_int_equal(partition_says(w, "phys", NULL), ESLURM_INVALID_ACCOUNT); /* below it */
    assert_int_equal(partition_says(w, NULL, NULL), 0);
    w->part_rec.deny_accounts = NULL;

    w->part_rec.allow_qos = (char *)"high,normal";
    assert_int_equal(partition_says(w, NULL, "HIGH"), 0);
    assert_int_equal(partition_says(w, NULL, "low"), ESLURM_INVALID_QOS);
    assert_int_equal(partition_says(w, NULL, NULL), ESLURM_INVALID_QOS);
    w->part_rec.deny_qos = (char *)"high";
    assert_int_equal(partition_says(w, NULL, "high"), 0);
    w->part_rec.allow_qos = NULL;
    assert_int_equal(partition_says(w, NULL, "high"), ESLURM_INVALID_QOS);
    assert_int_equal(partition_says(w, NULL, "low"), 0);
}

/* ---- rights ---------------------------------------------------------------------------------- */

static void send_as(struct world *w, uid_t uid, const char *name)
{
    w->conn.peer.uid = w->cmd.uid = uid;
    free(w->cmd.caller);
    w->cmd.caller = name ? strdup(name) : NULL;
}

static void test_manage(void **state)
{
    static const struct {
        const char *name;
        bool operator, chem, phys;
    } rows[] = {
        { "olga", true, true, true },   { "carl", false, true, true }, /* all of science */
        { "dora", false, false, true }, { "ann", false, false, false },
        { NULL, false, false, false },
    };
    struct world *w = *state;
    Pst__JobRecord job = PST__JOB_RECORD__INIT;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        send_as(w, USER_UID, rows[i].name);
        assert_int_equal(policy_is_operator(&w->ctld, &w->cmd), rows[i].operator);
        job.account = (char *)"chem";
        assert_int_equal(policy_may_manage(&w->ctld, &w->cmd, &job), rows[i].chem);
        job.account = (char *)"phys";
        assert_int_equal(policy_may_manage(&w->ctld, &w->cmd, &job), rows[i].phys);
        job.account = NULL;
        assert_int_equal(policy_may_manage(&w->ctld, &w->cmd, &job), rows[i].operator);
    }
    send_as(w, 0, NULL);
    assert_true(policy_may_manage(&w->ctld, &w->cmd, &job));
    send_as(w, SLURM_UID, NULL);
    assert_true(policy_is_operator(&w->ctld, &w->cmd));
}

static void join_account(void *ctx, const char *account)
{
    char *all = ctx;
    size_t len = strlen(all);

    (void)snprintf(all + len, 64 - len, "<%s>", account);
}

static void test_coordinated(void **state)
{
    struct world *w = *state;
    char all[64] = "";

    policy_each_coordinated(&w->ctld, "carl", join_account, all);
    assert_int_equal(strlen(all), strlen("<science><chem><phys>")); /* in no order */
    assert_non_null(strstr(all, "<science>"));
    assert_non_null(strstr(all, "<chem>"));
    assert_non_null(strstr(all, "<phys>"));
    all[0] = '\0';
    policy_each_coordinated(&w->ctld, "dora", join_account, all);
    assert_string_equal(all, "<phys>");
    all[0] = '\0';
    policy_each_coordinated(&w->ctld, "ann", join_account, all);
    policy_each_coordinated(&w->ctld, NULL, join_account, all);
    assert_string_equal(all, "");
}

/* PrivateData hides things from users, not from operators. */
static void test_private(void **state)
{
    static const struct {
        const char *line;
        unsigned bits;
    } rows[] = {
        { "", 0 },
        { "PrivateData=jobs", PRIVATE_JOBS },
        { "PrivateData=nodes,partitions", PRIVATE_NODES | PRIVATE_PARTITIONS },
        { "PrivateData=Reservations,USAGE", PRIVATE_RESERVATIONS | PRIVATE_USAGE },
        { "PrivateData=users,accounts,events", PRIVATE_USERS | PRIVATE_ACCOUNTS | PRIVATE_EVENTS },
    };
    struct world *w = *state;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        set_conf(w, rows[i].line);
        assert_int_equal(policy_private(w->conf), rows[i].bits);
        assert_int_equal(policy_hidden(&w->ctld, USER_UID, "ann"), rows[i].bits);
        assert_int_equal(policy_hidden(&w->ctld, USER_UID, "carl"), rows[i].bits);
        assert_int_equal(policy_hidden(&w->ctld, USER_UID, NULL), rows[i].bits);
        assert_int_equal(policy_hidden(&w->ctld, USER_UID, "olga"), 0);
        assert_int_equal(policy_hidden(&w->ctld, 0, NULL), 0);
        assert_int_equal(policy_hidden(&w->ctld, SLURM_UID, NULL), 0);
    }
    assert_false(policy_sees_all(&w->ctld, USER_UID, "ann"));
    assert_true(policy_sees_all(&w->ctld, USER_UID, "olga"));
    assert_true(policy_sees_all(&w->ctld, 0, NULL));
}

int main(void)
{
#define IN_WORLD(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        IN_WORLD(test_association), IN_WORLD(test_default_account), IN_WORLD(test_qos),
        IN_WORLD(test_qos_lost),    IN_WORLD(test_wckey),           IN_WORLD(test_no_records),
        IN_WORLD(test_partition),   IN_WORLD(test_manage),          IN_WORLD(test_coordinated),
        IN_WORLD(test_private),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("policy", tests, NULL, NULL);
}
