/* test_sacctmgr_change.c - add, modify and delete: what is asked, shown and decided */
#include <errno.h>

#include "peer_json.h"
#include "smgr_util.h"
#include "wire/errors.h"

static struct output said;

/* The store's next answer: one result. */
static void answer(const char *result)
{
    char text[2048];

    (void)snprintf(text, sizeof(text), "{'results':[%s]}", result);
    PEER_ANSWER(&store, OP_ACCT_ADMIN, acct_admin_reply, text);
}

/* The next request was this operation, tried or done. */
static void expect_asked(bool tried, const char *has)
{
    Pst__AcctAdminRequest *req = PEER_TAKE(&store, OP_ACCT_ADMIN, acct_admin_request);

    assert_int_equal(req->n_ops, 1);
    assert_int_equal(req->dry_run, tried);
    if (!json_has(&req->ops[0]->base, has))
        fail_msg("%s is not what was asked", has);
    pst__acct_admin_request__free_unpacked(req, NULL);
}

static void run_add(const char *words, const char *input)
{
    run_line(&said, smgr_add, words, input);
}

static void run_modify(const char *words, const char *input)
{
    run_line(&said, smgr_modify, words, input);
}

static void run_delete(const char *words, const char *input)
{
    run_line(&said, smgr_delete, words, input);
}

/* As recorded. */
static void test_add_account(void **state)
{
    (void)state;
    answer("{'names':['x1'],'assocs':[{'cluster':'demo','account':'x1','parent_account':'ops'}]}");
    run_add("account x1 parent=ops desc=foo org=bar fairshare=parent", NULL);
    expect_said(&said,
                " Adding Account(s)\n"
                "  x1\n"
                " Settings\n"
                "  Description     = foo\n"
                "  Organization    = bar\n"
                " Associations =\n"
                "  C = demo       A = x1                  \n"
                " Settings\n"
                "  Fairshare     = parent\n"
                "  Parent        = ops\n",
                "");
    assert_int_equal(smgr.status, 0);
    expect_asked(false, "'names':['x1']");
    assert_true(peer_is_quiet(&store));
    answer("{'code':1900,'lines':[' Already existing account ops on cluster demo']}");
    run_add("account ops", NULL);
    expect_said(&said, " Already existing account ops on cluster demo\n", "");
    assert_int_equal(smgr.status, 1);
}

/* Tried, shown, asked for, done. */
static void test_question(void **state)
{
    static const char shown[] =
        " Adding QOS(s)\n  q\n Settings\n  Description    = q\n"
        "  Priority                 = 5\n"
        "Would you like to commit changes? (You have 30 seconds to decide)\n"
        "(N/y): \n";
    char refused[512];

    (void)state;
    smgr.immediate = false;
    answer("{'names':['q']}");
    answer("{'names':['q']}");
    run_add("qos q priority=5", "y");
    expect_said(&said, shown, "");
    assert_int_equal(smgr.status, 0);
    expect_asked(true, "'names':['q']");
    expect_asked(false, "'names':['q']");
    answer("{'names':['q']}");
    run_add("qos q priority=5", "n");
    (void)snprintf(refused, sizeof(refused), "%s Changes Discarded\n", shown);
    expect_said(&said, refused, "");
    assert_int_equal(smgr.status, 0); /* as recorded */
    expect_asked(true, "'names':['q']");
    assert_true(peer_is_quiet(&store));
}

/* What is missing is told, and nothing is asked. */
static void test_incomplete(void **state)
{
    static const struct {
        const char *words, *told;
    } rows[] = {
        { "account", " Need name of account to add.\n" },
        { "account name=", " error: Something was wrong with your query\n\n" },
        { "user", " Need name of user to add.\n" },
        { "user zed", " Need name of account or wckey to add.\n" },
        { "qos", " Need name of qos to add.\n" },
        { "cluster", " Need name of cluster to add.\n" },
        { "resource", " Need name of resource to add.\n" },
        { "federation", " Need name of federation to add.\n" },
        { "coordinator account=x", " You need to specify a user list here.\n" },
        { "coordinator carol", " You need to specify an account list here.\n" },
        { "account x8 bogus=1",
          " Unknown option: bogus=1\n Use keyword 'where' to modify condition\n" },
        { "chair x", "No valid entity in add command\nInput line must include \"Account\", "
                     "\"Cluster\", \"Coordinator\", \"Federation\", \"QOS\", \"Resource\", or "
                     "\"User\"\n" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        run_add(rows[i].words, NULL);
        expect_said(&said, "", rows[i].told);
        assert_int_equal(smgr.status, 1);
    }
    assert_true(peer_is_quiet(&store));
}

static void test_add_user(void **state)
{
    (void)state;
    answer("{'names':['bob'],'assocs':[{'cluster':'demo','account':'chem','user':'bob'},"
           "{'cluster':'demo','account':'physics','user':'bob','partition':'debug'}]}");
    run_add("user bob account=chem,physics defaultaccount=chem adminlevel=oper maxjobs=2", NULL);
    expect_said(&said,
                " Adding User(s)\n"
                "  bob\n"
                " Settings\n"
                "  Default Account = chem\n"
                "  Admin Level     = Operator\n"
                " Associations =\n"
                "  C = demo       A = chem                 U = bob      \n"
                "  C = demo       A = physics              U = bob       P = debug\n"
                " Non Default Settings\n"
                "  MaxJobs       = 2\n",
                "");
    expect_asked(false, "'accounts':['chem','physics']");
    answer("{'code':1900}");
    run_add("user carol account=chem", NULL);
    expect_said(&said,
                "Request didn't affect anything\n"
                "Nothing added.\n"
                "Make sure the accounts requested here have been added to the system/cluster. "
                "(sacctmgr add account...)\n",
                "");
    assert_int_equal(smgr.status, 1);
}

/* A name that is no login is asked about, unless -i was given. */
static void test_unknown_login(void **state)
{
    (void)state;
    smgr.immediate = false;
    run_add("user no-such-person-1 account=chem", "n");
    expect_said(&said,
                "There is no uid for user 'no-such-person-1'\n"
                "Are you sure you want to continue? (You have 30 seconds to decide)\n(N/y): \n",
                "");
    assert_int_equal(smgr.status, 1);
    assert_true(peer_is_quiet(&store));
    smgr.immediate = true;
    answer("{'code':1900}");
    run_add("user no-such-person-1 account=chem", NULL);
    expect_asked(false, "'names':['no-such-person-1']");
}

static void test_add_others(void **state)
{
    (void)state;
    answer("{'names':['science']}");
    run_add("coordinator account=science names=carol", NULL);
    expect_said(&said,
                " Adding Coordinator User(s)\n  carol\n To Account(s) and all sub-accounts\n"
                "  science\n",
                "");
    answer("{'names':['fluent']}");
    run_add("resource name=fluent server=lic1 count=50 type=license cluster=demo allowed=40", NULL);
    expect_said(&said,
                " Adding Resource(s)\n  fluent\n   Cluster - demo\t40\n Settings\n"
                "  Name           = fluent\n  Server         = lic1\n"
                "  Description    = fluent\n  Count          = 50\n  Type           = License\n",
                "");
    answer("{'names':['tux']}");
    run_add("cluster tux classification=capability maxjobs=5", NULL);
    expect_said(&said,
                " Adding Cluster(s)\n  Name           = tux\n Setting\n"
                "  Classification = Capability\n  Default Limits:\n  MaxJobs       = 5\n",
                "");
    answer("{'names':['f']}");
    run_add("federation f clusters=a,b", NULL);
    expect_said(&said,
                " Adding Federation(s)\n  f\n Settings\n  Cluster       = a\n"
                "  Cluster       = b\n",
                "");
}

/* A user without the right sees the block, and why it was not done. */
static void test_no_right(void **state)
{
    char result[64];

    (void)state;
    (void)snprintf(result, sizeof(result), "{'code':%d}", ESLURM_ACCESS_DENIED);
    answer(result);
    run_add("qos foo", NULL);
    expect_said(&said, " Adding QOS(s)\n Settings\n  Description    = \n",
                " Problem adding QOS: Access/permission denied\n");
    answer(result);
    run_modify("user alice set maxjobs=1", NULL);
    expect_said(&said, " Modified user associations...\n",
                "sacctmgr: error: Your user doesn't have privilege to perform this action\n"
                " Error with request: Access/permission denied\n");
    assert_int_equal(smgr.status, 1);
}

static void test_modify(void **state)
{
    (void)state;
    answer("{'assocs':[{'cluster':'demo','account':'temp','parent_account':'science'},"
           "{'cluster':'demo','account':'temp','user':'dave','parent_account':'x'},"
           "{'cluster':'demo','account':'root'}]}");
    run_modify("account temp set maxwall=1:00:00 maxtresperjob=node=2 defaultqos=normal", NULL);
    expect_said(&said,
                " Modified account associations...\n"
                "  C = demo       A = temp of science\n"
                "  C = demo       A = temp                 U = dave     \n"
                "  C = demo       A = root\n",
                "");
    assert_int_equal(smgr.status, 0);
    expect_asked(false, "'max_wall_min':60");
    answer("{'names':['bob']}");
    run_modify("user bob set adminlevel=operator", NULL);
    expect_said(&said, " Modified users...\n  bob\n", "");
    answer("{'names':['tiny']}");
    run_modify("qos tiny set priority=3", NULL);
    expect_said(&said, " Modified qos...\n  tiny\n", "");
    answer("{'assocs':[{'cluster':'demo','account':'root'}]}");
    run_modify("cluster demo set maxjobs=500", NULL);
    expect_said(&said,
                " Setting\n  Default Limits:\n  MaxJobs       = 500\n"
                " Modified cluster defaults for associations...\n  C = demo       A = root\n",
                "");
}

static void test_modify_refused(void **state)
{
    char result[256];

    (void)state;
    answer("{'code':1900}");
    run_modify("user nosuch set maxjobs=1", NULL);
    expect_said(&said, " Modified user associations...\n  Nothing modified\n", "");
    assert_int_equal(smgr.status, 1);
    answer("{'code':1900}");
    run_modify("qos nosuch set maxwall=1", NULL);
    expect_said(&said, "  Nothing modified\n", "");
    (void)snprintf(result, sizeof(result), "{'code':%d}", ESLURM_QOS_PREEMPTION_LOOP);
    answer(result);
    run_modify("qos q set priority=1", NULL);
    expect_said(&said, "",
                "sacctmgr: error: QOS Preemption loop detected\n"
                " Error with request: QOS Preemption loop detected\n");
    (void)snprintf(result, sizeof(result), "{'code':%d,'text':'%s'}", ESLURM_INVALID_PARENT_ACCOUNT,
                   "Requested parent account x8 is a child of x1");
    answer(result);
    run_modify("account x1 set parent=x8", NULL);
    expect_said(&said,
                " Modified account associations...\n  Requested parent account x8 is a child of "
                "x1\n",
                "");
    assert_int_equal(smgr.status, 0); /* as recorded */
}

/* Nothing is asked where a condition or what to set is missing. */
static void test_modify_incomplete(void **state)
{
    (void)state;
    run_modify("account x8 where", NULL);
    expect_said(&said, "", " You didn't give me anything to set\n");
    run_modify("account where org=bar set maxjobs=4", NULL);
    expect_said(&said, "", " There was a problem with your 'where' options.\n");
    run_modify("resource fluent set allowed=4", NULL);
    expect_said(&said, "", "Can't change \"allowed\" without specifying a cluster.\n");
    assert_int_equal(smgr.status, 1);
    run_modify("user u set grptres=mem=4q", NULL);
    expect_said(&said, " Modified user associations...\n  Nothing modified\n",
                "sacctmgr: error: Invalid unit type 'q'. Possible options are 'KMGTP'\n");
    smgr.readonly = true;
    run_modify("user u set maxjobs=1", NULL);
    expect_said(&said, "", "Can't run this command in readonly mode.\n");
    assert_true(peer_is_quiet(&store));
}

/* Without a condition the person is told that all are meant. */
static void test_no_condition(void **state)
{
    (void)state;
    smgr.immediate = false;
    answer("{'names':['q']}");
    run_modify("qos set priority=3", "n");
    expect_said(&said,
                " You didn't set any conditions with 'WHERE'.\n"
                " Are you sure you want to continue?\n"
                " Modified qos...\n  q\n"
                "Would you like to commit changes? (You have 30 seconds to decide)\n(N/y): \n"
                " Changes Discarded\n",
                "");
}

/* What was refused once it was to be done is told, and nothing goes on from it. */
static void test_refused_when_done(void **state)
{
    (void)state;
    smgr.immediate = false;
    answer("{'names':['q']}");
    answer("{'code':1,'text':'too late'}");
    run_modify("qos q set priority=3 rawusage=0", "y");
    expect_said(&said,
                " Modified qos...\n  q\n"
                "Would you like to commit changes? (You have 30 seconds to decide)\n(N/y): \n",
                " Error with request: too late\n");
    assert_int_equal(smgr.status, 1);
}

static void test_delete(void **state)
{
    (void)state;
    answer("{'names':['x8']}");
    run_delete("account x8", NULL);
    expect_said(&said, " Deleting accounts...\n  x8\n", "");
    assert_int_equal(smgr.status, 0);
    answer("{'assocs':[{'cluster':'demo','account':'temp','user':'dave'}],"
           "'deleted_names':['dave']}");
    run_delete("user dave where account=temp", NULL);
    expect_said(&said,
                " Deleting user associations...\n"
                "  C = demo       A = temp       U = dave     \n"
                " Deleting users (No Associations)...\n  dave\n",
                "");
    answer("{'code':1900}");
    run_delete("qos nosuch", NULL);
    expect_said(&said, "  Nothing deleted\n", "");
    assert_int_equal(smgr.status, 1);
    answer("{'code':1900}");
    run_delete("account x8", NULL);
    expect_said(&said, " Nothing deleted\n", "");
    run_delete("account", NULL);
    expect_said(&said, "", " No conditions given to remove, not executing.\n");
    assert_int_equal(smgr.status, 1);
    answer("{'lines':['C = demo A = science U = carol']}");
    run_delete("coordinator carol account=science", NULL);
    expect_said(&said,
                " Removing Coordinators with user name\n  carol\n From Account(s)\n  science\n"
                " Removed Coordinators (sub accounts not listed)...\n"
                "  C = demo A = science U = carol\n",
                "");
}

/* The condition is an empty variable of a script: no name is asked for, not any. */
static void test_empty_condition(void **state)
{
    (void)state;
    answer("{'code':1900}");
    run_delete("user where name=", NULL);
    expect_asked(false, "'names':['']");
    answer("{'code':1900}");
    run_modify("user where name= set maxjobs=4", NULL);
    expect_asked(false, "'names':['']");
    run_delete("chair x", NULL);
    assert_int_equal(strncmp(said.err, "No valid entity in delete command\n", 34), 0);
    assert_true(peer_is_quiet(&store));
}

/* where classification= asks which clusters have it. */
static void test_class(void **state)
{
    Pst__AcctClusterRecord a = PST__ACCT_CLUSTER_RECORD__INIT, b = a, *list[] = { &a, &b };

    (void)state;
    a.name = (char *)"big";
    b.name = (char *)"small";
    a.has_classification = b.has_classification = 1;
    a.classification = 1;
    b.classification = 2;
    peer_list(&store, OP_ACCT_LIST, list, 2);
    answer("{'names':['big']}");
    run_delete("cluster where classification=capability", NULL);
    expect_said(&said, " Deleting clusters...\n  big\n", "");
    pst__acct_list_request__free_unpacked(PEER_TAKE(&store, OP_ACCT_LIST, acct_list_request), NULL);
    expect_asked(false, "'names':['big']");
    peer_list(&store, OP_ACCT_LIST, list, 2);
    run_delete("cluster where classification=capapacity", NULL);
    expect_said(&said, "  Nothing deleted\n", "");
    assert_int_equal(smgr.status, 1);
}

#define ONE(fn) cmocka_unit_test_setup_teardown(fn, smgr_begin, smgr_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(test_add_account),    ONE(test_question),
        ONE(test_incomplete),     ONE(test_add_user),
        ONE(test_unknown_login),  ONE(test_add_others),
        ONE(test_no_right),       ONE(test_modify),
        ONE(test_modify_refused), ONE(test_modify_incomplete),
        ONE(test_no_condition),   ONE(test_refused_when_done),
        ONE(test_delete),         ONE(test_empty_condition),
        ONE(test_class),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
