/* test_sacctmgr_usage.c - RawUsage=0: which associations and QOS the conditions mean
 *
 * Where there is one, the controller is asked; the tests have none, and see that it was to be. */
#include "peer_json.h"
#include "smgr_util.h"

static struct output said;

#define RECORDS(name, ...) PEER_LIST(&store, OP_ACCT_LIST, name, __VA_ARGS__)
#define LOCAL "No cluster specified, resetting on local cluster demo\n"

static void modify(const char *words)
{
    run_line(&said, smgr_modify, words, NULL);
}

static void expect_asked(Pst__AcctEntity entity, const char *has)
{
    Pst__AcctListRequest *req = PEER_TAKE(&store, OP_ACCT_LIST, acct_list_request);

    assert_int_equal(req->entity, entity);
    if (!json_has(&req->base, has))
        fail_msg("%s is not what was asked", has);
    pst__acct_list_request__free_unpacked(req, NULL);
}

/* Names that are not there are told, each, and nothing is forgotten. */
static void test_unknown(void **state)
{
    (void)state;
    RECORDS(assoc_record, "{'assoc_id':3,'account':'chem','user':'bob'}",
            "{'assoc_id':4,'account':'chem'}");
    modify("user bob,eve where account=chem set rawusage=0");
    expect_said(&said, LOCAL, "sacctmgr: error: Failed to find user eve\n");
    assert_int_equal(smgr.status, 1);
    expect_asked(PST__ACCT_ENTITY__ACCT_ASSOC, "'users':['bob','eve']");
    RECORDS(assoc_record, "{'assoc_id':3,'account':'chem','user':'bob'}");
    modify("account chem set rawusage=0"); /* the account has no association of its own */
    expect_said(&said, LOCAL, "sacctmgr: error: Failed to find account chem\n");
    expect_asked(PST__ACCT_ENTITY__ACCT_ASSOC, "'accounts':['chem']");
    RECORDS(qos_record, NULL);
    modify("qos nosuch where cluster=demo set rawusage=4");
    expect_said(&said, "", "sacctmgr: error: Failed to find QOS nosuch\n");
    expect_asked(PST__ACCT_ENTITY__ACCT_QOS, "'names':['nosuch']");
    assert_true(peer_is_quiet(&store));
}

/* As Slurm: of which account? */
static void test_no_account(void **state)
{
    (void)state;
    modify("user bob set rawusage=0");
    expect_said(&said, "", "sacctmgr: error: An account must be specified\n");
    assert_int_equal(smgr.status, 1);
    assert_true(peer_is_quiet(&store));
}

/* No name, and nothing that fits: there is nothing to forget. */
static void test_nothing(void **state)
{
    (void)state;
    RECORDS(assoc_record, "{'assoc_id':4,'account':'chem'}");
    modify("user where account=chem set rawusage=0");
    expect_said(&said, LOCAL, "");
    assert_int_equal(smgr.status, 0);
    expect_asked(PST__ACCT_ENTITY__ACCT_ASSOC, "'accounts':['chem']");
}

/* The names are as letters of any case; the rest of the conditions stays. */
static void test_found(void **state)
{
    (void)state;
    smgr.cli.timeout_ms = 1;
    RECORDS(assoc_record, "{'assoc_id':3,'account':'chem','user':'BOB'}");
    modify("user bob where account=chem set rawusage=0");
    expect_out(&said, LOCAL);
    assert_int_equal(strncmp(said.err, "sacctmgr: error: the usage could not be reset: ", 47), 0);
    assert_int_equal(smgr.status, 1);
    expect_asked(PST__ACCT_ENTITY__ACCT_ASSOC, "'accounts':['chem']");
}

#define ONE(fn) cmocka_unit_test_setup_teardown(fn, smgr_begin, smgr_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(test_unknown),
        ONE(test_no_account),
        ONE(test_nothing),
        ONE(test_found),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
