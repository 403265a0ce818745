/* test_sacctmgr_dump.c - a cluster's accounts as a file that load reads */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "peer_json.h"
#include "smgr_util.h"

static struct output said;
static char dir[] = "/tmp/test_dump.XXXXXX", file[64];

static int begin_dir(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof(dir), "/tmp/test_dump.XXXXXX");
    assert_non_null(mkdtemp(dir));
    (void)snprintf(file, sizeof(file), "%s/d.cfg", dir);
    return smgr_begin(state);
}

static int end_dir(void **state)
{
    (void)unlink(file);
    assert_int_equal(rmdir(dir), 0);
    return smgr_end(state);
}

#define RECORDS(name, ...) PEER_LIST(&store, OP_ACCT_LIST, name, __VA_ARGS__)

/* The lines of the file that are no comment. */
static const char *lines_of_file(void)
{
    static char text[16384];
    FILE *f = fopen(file, "re");
    size_t len = 0;

    assert_non_null(f);
    while (fgets(text + len, (int)(sizeof(text) - len), f))
        if (text[len] != '#')
            len += strlen(text + len);
    text[len] = '\0';
    (void)fclose(f);
    return text;
}

static void dump(const char *words)
{
    char line[256];

    (void)snprintf(line, sizeof(line), "%s file=%s", words, file);
    run_line(&said, smgr_dump, line, NULL);
}

/* What the QOS of the tables are in the file. */
#define TABLE "QOS - 'normal'\nQOS - 'high'\nQOS - 'low'\n"

static void test_tree(void **state)
{
    static const char want[] =
        TABLE "Cluster - 'demo':Fairshare=1:QOS='normal'\n"
              "Parent - 'root'\n"
              "User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1\n"
              "Account - 'ops':Description='ops':Organization='o':Fairshare=parent\n"
              "Account - 'science':Fairshare=50:QOS='+high,-low'\n"
              "Parent - 'science'\n"
              "User - 'alice':Partition='debug':DefaultAccount='science':DefaultWCKey='wb'"
              ":WCKeys='wa,wb':Coordinator='science':DefaultQOS='high':Fairshare=10"
              ":GrpTRES=cpu=8,mem=4G:GrpJobs=3:MaxWallDurationPerJob=90:Priority=7\n";

    (void)state;
    RECORDS(assoc_record, "{'assoc_id':1,'account':'root','lineage':'/','qos_ids':[1]}",
            "{'assoc_id':2,'parent_id':1,'account':'root','user':'root','lineage':'/0-root/',"
            "'is_default':true}",
            "{'assoc_id':3,'parent_id':1,'account':'ops','lineage':'/ops/','shares_parent':true}",
            "{'assoc_id':4,'parent_id':1,'account':'science','lineage':'/science/','shares':50,"
            "'qos_added':[2],'qos_removed':[3]}",
            "{'assoc_id':5,'parent_id':4,'account':'science','user':'alice','partition':'debug',"
            "'lineage':'/science/0-alice/debug/','shares':10,'priority':7,'is_default':true,"
            "'default_qos_id':2,'limits':{'grp_jobs':3,'max_wall_min':90,"
            "'grp_tres':[{'tres_id':2,'count':4096},{'tres_id':1,'count':8}]}}");
    RECORDS(user_record, "{'name':'root','admin_level':'ADMIN_ADMINISTRATOR'}",
            "{'name':'alice','default_wckey':'wb'}");
    RECORDS(account_record, "{'name':'ops','description':'ops','organization':'o'}",
            "{'name':'science','coordinators':['alice']}");
    RECORDS(wckey_record, "{'wckey_id':2,'user':'alice','name':'wb'}",
            "{'wckey_id':1,'user':'alice','name':'wa'}",
            "{'wckey_id':3,'user':'alice','name':'*wb'}", "{'wckey_id':4,'user':'bob','name':'x'}");
    dump("demo");
    assert_string_equal(lines_of_file(), want);
    assert_int_equal(smgr.status, 0);
    assert_string_equal(said.out, "");
    /* told as written: the QOS and the cluster in one, then a line each */
    assert_non_null(strstr(said.err, "sacctmgr: " TABLE "Cluster - 'demo'"));
    assert_non_null(strstr(said.err, "\nsacctmgr: Parent - 'root'\nsacctmgr: User - 'root':"));
}

/* Limits of a QOS in their order, and what load reads as the same. */
static void test_qos(void **state)
{
    Pst__QosRecord **qos;

    (void)state;
    qos = smgr.names.qos;
    pst__qos_record__free_unpacked(qos[1], NULL);
    qos[1] = (Pst__QosRecord *)from_json(
        &pst__qos_record__descriptor,
        "{'qos_id':2,'name':'high','description':'high','priority':100,'grace_s':5,'flags':1,"
        "'preempt_ids':[3,1],'preempt_mode':36,'preempt_exempt_s':1800,'usage_factor':0.5,"
        "'usage_threshold':0.1,'limit_factor':2,'limits':{'max_jobs_per_user':1,"
        "'max_submit_jobs_per_user':2,'max_wall_min':10,'grp_jobs':5,"
        "'max_tres_per_user':[{'tres_id':1,'count':32}]}}");
    RECORDS(assoc_record, "{'assoc_id':1,'account':'root','lineage':'/'}");
    RECORDS(user_record, NULL);
    RECORDS(account_record, NULL);
    RECORDS(wckey_record, NULL);
    smgr.quiet = true;
    dump("cluster=demo");
    assert_string_equal(
        lines_of_file(),
        "QOS - 'normal'\n"
        "QOS - 'high':Description='high':Flags='DenyOnLimit':GraceTime=5:GrpJobs=5"
        ":LimitFactor=2.000000:MaxTRESPerUser=cpu=32:MaxJobsPU=1:MaxSubmitJobsPU=2"
        ":MaxWallDurationPerJob=10:Preempt='low,normal':PreemptMode='REQUEUE,WITHIN'"
        ":PreemptExemptTime=30:Priority=100:UsageFactor=0.500000:UsageThreshold=0.100000\n"
        "QOS - 'low'\n"
        "Cluster - 'demo':Fairshare=1\n");
    expect_said(&said, "", "");
    RECORDS(assoc_record, "{'assoc_id':1,'account':'root','lineage':'/'}");
    RECORDS(user_record, NULL);
    RECORDS(account_record, NULL);
    RECORDS(wckey_record, NULL);
    qos[1]->preempt_exempt_s = 90; /* no number of minutes */
    dump("cluster=demo");
    assert_non_null(strstr(lines_of_file(), ":PreemptExemptTime='00:01:30':"));
}

/* Quotes of a text do not end it before its end. */
static void test_quotes(void **state)
{
    (void)state;
    RECORDS(assoc_record, "{'assoc_id':1,'account':'root','lineage':'/'}",
            "{'assoc_id':2,'parent_id':1,'account':'a','lineage':'/a/'}");
    RECORDS(user_record, NULL);
    {
        Pst__AccountRecord a = PST__ACCOUNT_RECORD__INIT, *list[] = { &a };

        a.name = (char *)"a";
        a.description = (char *)"Ann's \"lab\"";
        a.organization = (char *)"say \"hi\"";
        peer_list(&store, OP_ACCT_LIST, list, 1);
    }
    RECORDS(wckey_record, NULL);
    dump("demo");
    assert_non_null(strstr(lines_of_file(), "Account - 'a':Description=\"Ann's 'lab'\""
                                            ":Organization='say \"hi\"':Fairshare=1\n"));
}

static void test_refusals(void **state)
{
    (void)state;
    run_line(&said, smgr_dump, "", NULL);
    expect_said(&said, "", " We need a cluster to dump.\n");
    run_line(&said, smgr_dump, "demo bogus=1", NULL);
    expect_said(&said, "", " Unknown option: bogus=1\n");
    assert_true(peer_is_quiet(&store));
    RECORDS(assoc_record, NULL);
    RECORDS(user_record, NULL);
    RECORDS(account_record, NULL);
    RECORDS(wckey_record, NULL);
    run_line(&said, smgr_dump, "nosuch", NULL);
    expect_said(&said, "", " Cluster nosuch doesn't exist.\n");
    assert_int_equal(smgr.status, 1);
    RECORDS(assoc_record, "{'assoc_id':1,'account':'root','lineage':'/'}");
    RECORDS(user_record, NULL);
    RECORDS(account_record, NULL);
    RECORDS(wckey_record, NULL);
    run_line(&said, smgr_dump, "demo file=/nonexistent/x", NULL);
    expect_said(&said, "", "Can't open file /nonexistent/x, No such file or directory\n");
    assert_int_equal(smgr.status, 1);
}

#define ONE(fn) cmocka_unit_test_setup_teardown(fn, begin_dir, end_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(test_tree),
        ONE(test_qos),
        ONE(test_quotes),
        ONE(test_refusals),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
