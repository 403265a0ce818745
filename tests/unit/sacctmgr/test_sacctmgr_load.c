/* test_sacctmgr_load.c - a file of accounts into the store */
#include <errno.h>

#include "peer_json.h"
#include "smgr_util.h"
#include "wire/errors.h"

static struct output said;
static char file[] = "/tmp/test_load.XXXXXX";

static int begin_file(void **state)
{
    int fd;

    (void)snprintf(file, sizeof(file), "/tmp/test_load.XXXXXX");
    fd = mkstemp(file);
    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
    return smgr_begin(state);
}

static int end_file(void **state)
{
    (void)unlink(file);
    return smgr_end(state);
}

static void write_file(const char *text)
{
    FILE *f = fopen(file, "we");

    assert_non_null(f);
    (void)fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

#define RECORDS(name, ...) PEER_LIST(&store, OP_ACCT_LIST, name, __VA_ARGS__)

/* The cluster is there, with its root and nothing else. */
static void answer_bare(void)
{
    RECORDS(assoc_record, "{'account':'root','lineage':'/'}",
            "{'account':'root','user':'root','lineage':'/0-root/','is_default':true}");
    RECORDS(wckey_record, NULL);
    RECORDS(user_record, "{'name':'root'}");
    RECORDS(account_record, "{'name':'root'}");
}

static void answer_done(void)
{
    Pst__AcctAdminReply reply = PST__ACCT_ADMIN_REPLY__INIT;

    peer_answer(&store, OP_ACCT_ADMIN, &reply.base);
}

static void load(const char *more, const char *input)
{
    char line[128];

    (void)snprintf(line, sizeof(line), "file=%s %s", file, more);
    run_line(&said, smgr_load, line, input);
}

static void skip_lists(void)
{
    for (int i = 0; i < 4; i++)
        pst__acct_list_request__free_unpacked(PEER_TAKE(&store, OP_ACCT_LIST, acct_list_request),
                                              NULL);
}

static Pst__AcctAdminRequest *asked(void)
{
    return PEER_TAKE(&store, OP_ACCT_ADMIN, acct_admin_request);
}

static void expect_op(const Pst__AcctOp *op, Pst__AcctVerb verb, Pst__AcctEntity entity,
                      const char *has)
{
    assert_int_equal(op->verb, verb);
    assert_int_equal(op->entity, entity);
    if (!json_has(&op->base, has))
        fail_msg("%s is not what was asked", has);
}

#define ADD PST__ACCT_VERB__ACCT_ADD
#define MODIFY PST__ACCT_VERB__ACCT_MODIFY
#define ENTITY(name) PST__ACCT_ENTITY__ACCT_##name

/* Accounts, users, their defaults once all is there, coordinators last. */
static void test_accounts(void **state)
{
    Pst__AcctAdminRequest *req;

    (void)state;
    write_file("# a comment\nCluster - 'demo':MaxJobs=9\nParent - 'root'\n"
               "Account - 'CS':MaxJobs=4:FairShare=399:Description='Computer Science'\n"
               "Parent - 'cs'\n"
               "User - 'lipari':MaxTRESPerJob=node=2:DefaultAccount='cs':WCKeys='wa,wb'"
               ":Coordinator='cs'\n");
    answer_bare();
    answer_done();
    load("", NULL);
    assert_int_equal(smgr.status, 0);
    assert_int_equal(strncmp(said.out, "For cluster demo\n", 17), 0);
    assert_int_equal(strncmp(said.err, "sacctmgr: Done adding cluster in usec=", 38), 0);
    skip_lists();
    req = asked();
    assert_false(req->dry_run);
    assert_int_equal(req->n_ops, 6);
    expect_op(req->ops[0], MODIFY, ENTITY(CLUSTER), "'max_jobs':9");
    expect_op(req->ops[1], ADD, ENTITY(ACCOUNT), "'names':['cs']");
    assert_string_equal(req->ops[1]->set->parent, "root");
    assert_int_equal(req->ops[1]->set->assoc->shares, 399);
    assert_string_equal(req->ops[1]->where->clusters[0], "demo");
    expect_op(req->ops[2], ADD, ENTITY(USER), "'accounts':['cs']");
    assert_string_equal(req->ops[2]->where->names[0], "lipari");
    assert_null(req->ops[2]->set->default_account);
    expect_op(req->ops[3], ADD, ENTITY(USER), "'wckeys':['wa','wb']");
    expect_op(req->ops[4], MODIFY, ENTITY(USER), "'default_account':'cs'");
    expect_op(req->ops[5], ADD, ENTITY(COORD), "'users':['lipari']");
    pst__acct_admin_request__free_unpacked(req, NULL);
    assert_true(peer_is_quiet(&store));
}

/* What is there is changed, and of nothing new nothing is shown. */
static void test_nothing_new(void **state)
{
    (void)state;
    write_file("Cluster - 'demo'\nParent - 'root'\nAccount - 'root'\n");
    answer_bare();
    load("", NULL);
    expect_said(&said, "For cluster demo\n Nothing new added.\n", "");
    assert_int_equal(smgr.status, 0);
    skip_lists();
    assert_true(peer_is_quiet(&store));
}

/* QOS are made first, those that they preempt after all of them. */
static void test_qos(void **state)
{
    Pst__QosRecord high = PST__QOS_RECORD__INIT, fast = high, *table[] = { &high, &fast };
    Pst__AcctAdminRequest *req;

    (void)state;
    write_file("QOS - 'fast':Preempt='high':Priority=7\nQOS - 'high':Priority=3\n"
               "Cluster - 'demo'\nParent - 'root'\nAccount - 'a':QOS='fast'\n");
    high.name = (char *)"high";
    fast.name = (char *)"fast";
    high.has_qos_id = fast.has_qos_id = 1;
    high.qos_id = 2;
    fast.qos_id = 9;
    answer_bare();
    answer_done(); /* the QOS, and the tables as they are then */
    peer_list(&store, OP_ACCT_LIST, table, 2);
    answer_done(); /* with what they preempt */
    peer_list(&store, OP_ACCT_LIST, table, 2);
    answer_done(); /* the accounts */
    load("", NULL);
    assert_string_equal(said.err[0] == 's' ? "" : said.err, "");
    skip_lists();
    req = asked();
    assert_int_equal(req->n_ops, 2);
    expect_op(req->ops[0], ADD, ENTITY(QOS), "'names':['fast']");
    assert_int_equal(req->ops[0]->set->qos->n_preempt_ids, 0);
    expect_op(req->ops[1], MODIFY, ENTITY(QOS), "'names':['high']");
    pst__acct_admin_request__free_unpacked(req, NULL);
    pst__acct_list_request__free_unpacked(PEER_TAKE(&store, OP_ACCT_LIST, acct_list_request), NULL);
    req = asked();
    assert_int_equal(req->n_ops, 1);
    expect_op(req->ops[0], MODIFY, ENTITY(QOS), "'preempt_ids':[2]");
    pst__acct_admin_request__free_unpacked(req, NULL);
    pst__acct_list_request__free_unpacked(PEER_TAKE(&store, OP_ACCT_LIST, acct_list_request), NULL);
    req = asked();
    expect_op(req->ops[1], ADD, ENTITY(ACCOUNT), "'qos_ids':[9]");
    pst__acct_admin_request__free_unpacked(req, NULL);
}

/* clean: all but root goes first. */
static void test_clean(void **state)
{
    Pst__AcctAdminRequest *req;

    (void)state;
    write_file("Cluster - 'demo'\nParent - 'root'\nAccount - 'a'\n");
    RECORDS(assoc_record, "{'account':'root','lineage':'/'}",
            "{'account':'a','parent_account':'root','lineage':'/a/'}");
    RECORDS(wckey_record, NULL);
    RECORDS(user_record, NULL);
    RECORDS(account_record, "{'name':'a'}");
    RECORDS(assoc_record, "{'account':'root'}", "{'account':'root','user':'root'}",
            "{'account':'root','user':'eve'}", "{'account':'a','parent_account':'root'}",
            "{'account':'b','parent_account':'a'}", "{'account':'b','user':'bob'}");
    answer_done();
    load("clean", NULL);
    skip_lists();
    pst__acct_list_request__free_unpacked(PEER_TAKE(&store, OP_ACCT_LIST, acct_list_request), NULL);
    req = asked();
    assert_int_equal(req->n_ops, 4);
    expect_op(req->ops[0], PST__ACCT_VERB__ACCT_DELETE, ENTITY(USER), "'names':['eve']");
    expect_op(req->ops[1], PST__ACCT_VERB__ACCT_DELETE, ENTITY(ACCOUNT), "'names':['a']");
    expect_op(req->ops[3], ADD, ENTITY(ACCOUNT), "'names':['a']");
    pst__acct_admin_request__free_unpacked(req, NULL);
}

static void test_refusals(void **state)
{
    (void)state;
    run_line(&said, smgr_load, "", NULL);
    expect_said(&said, "", " No filename given, specify one with file=''\n");
    run_line(&said, smgr_load, "/nonexistent", NULL);
    expect_said(&said, "", " Unable to read \"/nonexistent\": No such file or directory\n");
    load("bogus=1", NULL);
    expect_said(&said, "", " Unknown option: bogus=1\n");
    write_file("Account - 'a'\n");
    load("", NULL);
    expect_said(&said, " Nothing new added.\n",
                " You need to specify a cluster name first with 'Cluster - $NAME' in your file\n");
    write_file("# nothing\n");
    load("", NULL);
    expect_said(&said, " Nothing new added.\n", "");
    smgr.readonly = true;
    load("", NULL);
    expect_said(&said, "", "Can't run this command in readonly mode.\n");
    assert_true(peer_is_quiet(&store));
}

static void test_mistakes_in_it(void **state)
{
    (void)state;
    write_file("Cluster - 'demo'\nParent - 'root'\nAccount - 'a':Bogus=1\n");
    answer_bare();
    load("", NULL);
    expect_said(&said, "For cluster demo\n",
                " Unknown option: Bogus=1\n Problem with line(3)\n"
                " Problem with requests: Unspecified error\n");
    assert_int_equal(smgr.status, 1);
    write_file("Cluster - 'demo'\nParent - 'cs'\nUser - 'u'\n");
    answer_bare();
    load("", NULL);
    expect_said(&said, "For cluster demo\n Nothing new added.\n",
                " line(2) You need to add this parent (cs) as a child before you can add children "
                "to it.\n");
    skip_lists();
    skip_lists();
    assert_true(peer_is_quiet(&store));
}

/* The store's reason stands beside the name that it is about. */
static void test_refused(void **state)
{
    char text[256], want[256];

    (void)state;
    write_file("Cluster - 'demo'\nParent - 'root'\nAccount - 'a'\n");
    answer_bare();
    (void)snprintf(text, sizeof(text), "{'results':[{'code':1900},{'code':%d,'text':'no'}]}",
                   ESLURM_ACCESS_DENIED);
    PEER_ANSWER(&store, OP_ACCT_ADMIN, acct_admin_reply, text);
    load("", NULL);
    (void)snprintf(want, sizeof(want), " error: %s: a: no\n", file);
    assert_int_equal(strncmp(said.err, want, strlen(want)), 0);
    assert_int_equal(smgr.status, 1);
}

static void test_question(void **state)
{
    (void)state;
    smgr.immediate = false;
    write_file("Cluster - 'demo'\nParent - 'root'\nAccount - 'a'\n");
    answer_bare();
    load("", "n");
    skip_lists();
    assert_true(peer_is_quiet(&store));
    assert_non_null(strstr(said.out, " Changes Discarded\n"));
}

static void load_after_failure(struct smgr *s, int n, char **words)
{
    s->status = 1;
    smgr_load(s, n, words);
}

/* At the prompt, a command before it that failed does not keep it from being done. */
static void test_after_a_failure(void **state)
{
    (void)state;
    write_file("Cluster - 'demo'\nParent - 'root'\nAccount - 'root'\n");
    answer_bare();
    run_line(&said, load_after_failure, file, NULL);
    expect_said(&said, "For cluster demo\n Nothing new added.\n", "");
}

#define ONE(fn) cmocka_unit_test_setup_teardown(fn, begin_file, end_file)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(test_accounts), ONE(test_nothing_new), ONE(test_qos),
        ONE(test_clean),    ONE(test_refusals),    ONE(test_mistakes_in_it),
        ONE(test_refused),  ONE(test_question),    ONE(test_after_a_failure),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
