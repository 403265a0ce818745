/* test_sacctmgr_session.c - the store that is asked, the question before a change, failures */
#include <errno.h>

#include "smgr_util.h"
#include "wire/errors.h"

static struct output said;

/* The text before an answer, and one of each answer that is none. */
#define ASKED "Go on? (You have 30 seconds to decide)\n(N/y): "
#define AGAIN "\nY or N please\n(N/y): "

static void expect_answer(const char *input, bool want, const char *out)
{
    bool yes;

    smgr.immediate = false;
    output_begin(&said, input);
    yes = smgr_ask(&smgr, "Go on?");
    output_end(&said);
    assert_int_equal(yes, want);
    expect_said(&said, out, "");
}

static void test_answers(void **state)
{
    (void)state;
    expect_answer("y\n", true, ASKED "\n");
    expect_answer("Y", true, ASKED "\n");
    expect_answer("n\n", false, ASKED "\n");
    expect_answer("N\n", false, ASKED "\n");
    expect_answer("\ny", false, ASKED "\n"); /* a line's end is a no */
    expect_answer("xy\n", true, ASKED AGAIN "\n");
    expect_answer("oui\n", false, ASKED AGAIN AGAIN AGAIN "\n");
    expect_answer("", false, ASKED "\nerror: Inappropriate ioctl for device\n"); /* as recorded */
}

/* Whoever writes much is not told of each character. */
static void test_many_characters(void **state)
{
    char much[1000];
    size_t lines = 0;

    (void)state;
    memset(much, 'x', sizeof(much));
    much[sizeof(much) - 2] = 'y';
    much[sizeof(much) - 1] = '\0';
    smgr.immediate = false;
    output_begin(&said, much);
    assert_true(smgr_ask(&smgr, "Go on?"));
    output_end(&said);
    for (const char *p = said.out; (p = strstr(p, "please")); p++)
        lines++;
    assert_true(lines > 50 && lines < 100);
}

/* At the prompt the rest of an answer's line is none of the commands that follow. */
static void test_rest_of_the_line(void **state)
{
    char next[16] = "";

    (void)state;
    smgr.immediate = false;
    smgr.prompting = true;
    output_begin(&said, "yes please\nquit\n");
    assert_true(smgr_ask(&smgr, "Go on?"));
    assert_true(read(STDIN_FILENO, next, sizeof(next) - 1) > 0);
    output_end(&said);
    assert_string_equal(next, "quit\n");
}

static void test_commit(void **state)
{
    (void)state;
    output_begin(&said, "n");
    assert_true(smgr_commit(&smgr)); /* with --immediate nothing is asked */
    output_end(&said);
    expect_said(&said, "", "");
    smgr.immediate = false;
    output_begin(&said, "n");
    assert_false(smgr_commit(&smgr));
    output_end(&said);
    expect_out(&said, "Would you like to commit changes? (You have 30 seconds to decide)\n"
                      "(N/y): \n Changes Discarded\n");
}

static void test_readonly(void **state)
{
    (void)state;
    assert_true(smgr_may_write(&smgr, "add"));
    smgr.readonly = true;
    output_begin(&said, NULL);
    assert_false(smgr_may_write(&smgr, "add"));
    output_end(&said);
    expect_said(&said, "", "Can't run this command in readonly mode.\n");
    assert_int_equal(smgr.status, 1);
}

static int count_record(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    const Pst__UserRecord *u = (const Pst__UserRecord *)record;

    (void)info;
    assert_ptr_equal(record->descriptor, &pst__user_record__descriptor);
    assert_string_equal(u->name, "bob");
    (*(unsigned *)ctx)++;
    return 0;
}

/* Each record of a list as the message of its entity; what was asked is the condition. */
static void test_list(void **state)
{
    Pst__UserRecord u = PST__USER_RECORD__INIT, *users[] = { &u, &u };
    Pst__AcctCond where = PST__ACCT_COND__INIT;
    char *names[] = { (char *)"bob" };
    Pst__AcctListRequest *req;
    unsigned n = 0;

    (void)state;
    u.name = (char *)"bob";
    where.names = names;
    where.n_names = 1;
    peer_list(&store, OP_ACCT_LIST, users, 2);
    assert_true(smgr_list(&smgr, PST__ACCT_ENTITY__ACCT_USER, &where, count_record, &n));
    assert_int_equal(n, 2);
    req = PEER_TAKE(&store, OP_ACCT_LIST, acct_list_request);
    assert_int_equal(req->entity, PST__ACCT_ENTITY__ACCT_USER);
    assert_int_equal(req->where->n_names, 1);
    assert_string_equal(req->where->names[0], "bob");
    pst__acct_list_request__free_unpacked(req, NULL);
}

/* What the store says stands in the sentence; the connection stays. */
static void test_refused(void **state)
{
    Pst__AcctAdminRequest req = PST__ACCT_ADMIN_REQUEST__INIT;
    Pst__AcctAdminReply reply = PST__ACCT_ADMIN_REPLY__INIT, *got;
    unsigned n = 0;

    (void)state;
    peer_refuse(&store, OP_ACCT_LIST, ESLURM_ACCESS_DENIED, "no list for you");
    output_begin(&said, NULL);
    assert_false(smgr_list(&smgr, PST__ACCT_ENTITY__ACCT_USER, NULL, count_record, &n));
    output_end(&said);
    assert_int_equal(smgr.status, 1);
    assert_string_equal(said.out, "");
    assert_non_null(strstr(said.err, "no list for you"));
    assert_non_null(smgr.client);
    smgr.status = 0;
    peer_refuse(&store, OP_ACCT_ADMIN, ESLURM_ACCESS_DENIED, "not you");
    output_begin(&said, NULL);
    assert_null(smgr_request(&smgr, &req));
    output_end(&said);
    assert_non_null(strstr(said.err, "not you"));
    assert_int_equal(smgr.status, 1);
    assert_true(smgr.have_qos); /* nothing was changed */
    peer_answer(&store, OP_ACCT_ADMIN, &reply.base);
    got = smgr_request(&smgr, &req);
    assert_non_null(got);
    assert_false(smgr.have_qos || smgr.have_tres); /* tables may have changed */
    pst__acct_admin_reply__free_unpacked(got, NULL);
}

/* A store that goes away is asked anew by the next command. */
static void test_gone(void **state)
{
    unsigned n = 0;

    (void)state;
    (void)shutdown(store.fd, SHUT_RDWR);
    output_begin(&said, NULL);
    assert_false(smgr_list(&smgr, PST__ACCT_ENTITY__ACCT_USER, NULL, count_record, &n));
    output_end(&said);
    assert_int_equal(smgr.status, 1);
    assert_true(said.err[0]);
    assert_null(smgr.client);
}

#define ONE(fn) cmocka_unit_test_setup_teardown(fn, smgr_begin, smgr_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(test_answers),          ONE(test_many_characters),
        ONE(test_rest_of_the_line), ONE(test_commit),
        ONE(test_readonly),         ONE(test_list),
        ONE(test_refused),          ONE(test_gone),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
