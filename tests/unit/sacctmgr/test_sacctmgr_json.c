/* test_sacctmgr_json.c - lists as JSON: which document an entity has, and what is asked for it */
#include "peer_json.h"
#include "smgr_util.h"

static struct output said;

#define RECORDS(name, ...) PEER_LIST(&store, OP_ACCT_LIST, name, __VA_ARGS__)

static int begin_json(void **state)
{
    static char *argv[] = { (char *)"sacctmgr", (char *)"--json" };
    int r = smgr_begin(state);

    smgr.json.wanted = true;
    smgr.argc = 2;
    smgr.argv = argv;
    return r;
}

static void show(const char *words)
{
    run_line(&said, smgr_show, words, NULL);
}

static void expect_asked(Pst__AcctEntity entity)
{
    Pst__AcctListRequest *req = PEER_TAKE(&store, OP_ACCT_LIST, acct_list_request);

    assert_int_equal(req->entity, entity);
    pst__acct_list_request__free_unpacked(req, NULL);
}

static bool said_has(const char *text)
{
    return strstr(said.out, text) != NULL;
}

static void test_qos(void **state)
{
    (void)state;
    RECORDS(qos_record, "{'qos_id':7,'name':'q7'}");
    show("qos q7");
    expect_err(&said, "");
    assert_int_equal(said.out[0], '{');
    assert_true(said_has("\"qos\": ["));
    assert_true(said_has("\"name\": \"q7\""));
    assert_true(said_has("\"meta\": {"));
    assert_true(said_has("\"errors\": ["));
    expect_asked(PST__ACCT_ENTITY__ACCT_QOS);
    assert_true(peer_is_quiet(&store)); /* nothing else is needed */
}

/* A user's document needs the associations, accounts and keys that it shows. */
static void test_users(void **state)
{
    (void)state;
    RECORDS(assoc_record, "{'account':'chem','user':'bob','cluster':'demo','is_default':true}");
    RECORDS(account_record, "{'name':'chem','coordinators':['bob']}");
    RECORDS(wckey_record, "{'name':'wa','user':'bob','cluster':'demo'}");
    RECORDS(user_record, "{'name':'bob'}");
    show("user withassoc withcoord");
    expect_err(&said, "");
    assert_true(said_has("\"users\": ["));
    assert_true(said_has("\"account\": \"chem\""));
    expect_asked(PST__ACCT_ENTITY__ACCT_ASSOC);
    expect_asked(PST__ACCT_ENTITY__ACCT_ACCOUNT);
    expect_asked(PST__ACCT_ENTITY__ACCT_WCKEY);
    expect_asked(PST__ACCT_ENTITY__ACCT_USER);
}

/* A list without records is a document too. */
static void test_empty(void **state)
{
    (void)state;
    RECORDS(wckey_record, NULL);
    show("wckey");
    expect_err(&said, "");
    assert_true(said_has("\"wckeys\": [\n  ]") || said_has("\"wckeys\": []"));
    assert_int_equal(smgr.status, 0);
}

/* An entity that has no document is listed in words. */
static void test_words(void **state)
{
    (void)state;
    smgr.style = SMGR_PARSABLE2;
    RECORDS(acct_txn_record, "{'action':'Add Users','actor':'root'}");
    show("transactions format=action,actor");
    expect_said(&said, "Action|Actor\nAdd Users|root\n", "");
}

/* A refusal leaves no half document. */
static void test_refused(void **state)
{
    (void)state;
    peer_refuse(&store, OP_ACCT_LIST, 1, "not now");
    show("tres");
    expect_said(&said, "", "sacctmgr: error: not now\n");
    assert_int_equal(smgr.status, 1);
}

#define ONE(fn) cmocka_unit_test_setup_teardown(fn, begin_json, smgr_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(test_qos), ONE(test_users), ONE(test_empty), ONE(test_words), ONE(test_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
