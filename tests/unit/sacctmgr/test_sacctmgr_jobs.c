/* test_sacctmgr_jobs.c - notes on the records of jobs; jobs that the controller has lost */
#include <errno.h>

#include "peer_json.h"
#include "smgr_util.h"
#include "wire/errors.h"

static struct output said;

static void answer(const char *result)
{
    char text[1024];

    (void)snprintf(text, sizeof(text), "{'results':[%s]}", result);
    PEER_ANSWER(&store, OP_ACCT_ADMIN, acct_admin_reply, text);
}

static void run_modify(const char *words, const char *input)
{
    run_line(&said, smgr_modify_job, words, input);
}

static void expect_asked(bool tried, const char *has)
{
    Pst__AcctAdminRequest *req = PEER_TAKE(&store, OP_ACCT_ADMIN, acct_admin_request);

    assert_int_equal(req->dry_run, tried);
    assert_int_equal(req->ops[0]->entity, PST__ACCT_ENTITY__ACCT_JOB);
    if (!json_has(&req->ops[0]->base, has))
        fail_msg("%s is not what was asked", has);
    pst__acct_admin_request__free_unpacked(req, NULL);
}

/* As recorded. */
static void test_modify(void **state)
{
    (void)state;
    answer("{'lines':['100 submitted at 2026-11-22T18:54:40']}");
    run_modify("jobid=100,101 set comment=x", NULL);
    expect_said(&said, " Modified jobs...\n  100 submitted at 2026-11-22T18:54:40\n", "");
    assert_int_equal(smgr.status, 0);
    expect_asked(false, "'ids':[100,101]");
    answer("{}");
    run_modify("100 set derivedexitcode=3 newwckey=w admincomment=aa systemcomment=bb extra=cc",
               NULL);
    expect_asked(false, "'derived_exit_code':3");
    answer("{}");
    run_modify("where jobid=7 user=Alice cluster=demo starttime=2026-01-01 set tres=cpu=4,mem=1G",
               NULL);
    expect_asked(false, "'users':['alice']");
    answer("{'code':1900}");
    run_modify("where jobid=99999 set comment=x", NULL);
    expect_said(&said, " Modified jobs...\n",
                " Error with request: Data has not changed since time specified\n");
    assert_int_equal(smgr.status, 1);
}

static void test_values(void **state)
{
    Pst__AcctAdminRequest *req;
    const Pst__AcctJobSet *set;

    (void)state;
    answer("{}");
    run_modify("jobid=1 set comm=a admincomm=b extra=c newwckey=d system=e tres=node=2,cpu=4",
               NULL);
    req = PEER_TAKE(&store, OP_ACCT_ADMIN, acct_admin_request);
    set = req->ops[0]->set->job;
    assert_string_equal(set->comment, "a");
    assert_string_equal(set->admin_comment, "b");
    assert_string_equal(set->extra, "c");
    assert_string_equal(set->wckey, "d");
    assert_string_equal(set->system_comment, "e");
    assert_string_equal(set->tres, "cpu=4,node=2");
    assert_false(set->has_derived_exit_code);
    pst__acct_admin_request__free_unpacked(req, NULL);
}

static void test_refusals(void **state)
{
    static const struct {
        const char *words, *out, *err;
    } rows[] = {
        { "where jobid=100 set wckey=wk9",
          " Unknown option: wckey=wk9\n Use keyword 'where' to modify condition\n", "" },
        { "where jobid=100 set nosuch=1",
          " Unknown option: nosuch=1\n Use keyword 'where' to modify condition\n", "" },
        { "where nosuch=1 set comment=x", "",
          " Unknown condition: nosuch=1\n Use keyword 'set' to modify value\n" },
        { "where jobid=x set comment=x", "", "sacctmgr: fatal: Bad job/step specified: x\n" },
        { "where jobid=0 set comment=x", "", "sacctmgr: fatal: Bad job/step specified: 0\n" },
        { "where start=soon set comment=x", "", " Bad time: soon\n" },
        { "jobid=100", "", " You didn't give me anything to set\n" },
        { "jobid=100 set", "", " You didn't give me anything to set\n" },
        { "jobid=1 set derivedexitcode=-1", "", " Bad DerivedExitCode value: -1\n" },
        { "jobid=1 set tres=foo=1", "",
          " Bad TRES value: foo=1: slurmdb_format_tres_str: no TRES known by type foo\n" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        run_modify(rows[i].words, NULL);
        expect_said(&said, rows[i].out, rows[i].err);
        assert_int_equal(smgr.status, 1);
    }
    assert_true(peer_is_quiet(&store));
}

/* A script's variable may be empty: then no job is meant, not all of them. */
static void test_empty_conditions(void **state)
{
    static const char *const words[] = {
        "where jobid= set comment=x", "jobid=, set comment=x",
        "where user= set comment=x",  "where cluster= set comment=x",
        "where wckey= set comment=x", "where user=alice jobid= set comment=x",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        run_modify(words[i], NULL);
        expect_said(&said, " Modified jobs...\n",
                    " Error with request: Data has not changed since time specified\n");
        assert_int_equal(smgr.status, 1);
    }
    assert_true(peer_is_quiet(&store));
}

static void test_question(void **state)
{
    static const char shown[] =
        " Modified jobs...\n  7\nWould you like to commit changes? (You have 30 seconds to decide)\n"
        "(N/y): \n";

    (void)state;
    smgr.immediate = false;
    answer("{'lines':['7']}");
    answer("{'lines':['7']}");
    run_modify("jobid=7 set comment=x", "y");
    expect_said(&said, shown, "");
    expect_asked(true, "'ids':[7]");
    expect_asked(false, "'comment':'x'");
    answer("{'lines':['7']}");
    run_modify("jobid=7 set comment=x", "n");
    expect_asked(true, "'ids':[7]");
    assert_true(peer_is_quiet(&store));
}

static void test_no_right(void **state)
{
    char result[64];

    (void)state;
    (void)snprintf(result, sizeof(result), "{'code':%d}", ESLURM_ACCESS_DENIED);
    answer(result);
    run_modify("jobid=100 set comment=mine", NULL);
    expect_said(&said, " Modified jobs...\n",
                "sacctmgr: error: Your user doesn't have privilege to perform this action\n"
                " Error with request: Access/permission denied\n");
    assert_int_equal(smgr.status, 1);
}

/* A word that runaway jobs do not know, before anybody is asked. */
static void test_runaway_words(void **state)
{
    (void)state;
    run_line(&said, smgr_show_runaway, "bogus=1", NULL);
    expect_said(&said, "", " Unknown option: bogus=1\n");
    assert_int_equal(smgr.status, 1);
    assert_true(peer_is_quiet(&store));
}

#define ONE(fn) cmocka_unit_test_setup_teardown(fn, smgr_begin, smgr_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(test_modify),   ONE(test_values),   ONE(test_refusals),      ONE(test_empty_conditions),
        ONE(test_question), ONE(test_no_right), ONE(test_runaway_words),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
