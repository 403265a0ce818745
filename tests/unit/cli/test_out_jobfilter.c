/* test_out_jobfilter.c - the filter of sacct, scancel and squeue: options, requests, records */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/cleanup.h"
#include "cli/query/out_jobfilter.h"

struct settings {
    int before;
    struct jobfilter filter;
};

#define OPT_INTO struct settings
static const struct opt rows[] = {
    OPT("account", 'A', OPT_REQ, JOBFILTER_ACCOUNTS(filter)),
    OPT("me", 0, OPT_NONE, JOBFILTER_ME(filter)),
    OPT("notme", 0, OPT_NONE, JOBFILTER_NOTME(filter)),
    OPT("name", 0, OPT_REQ, JOBFILTER_NAMES(filter)),
    OPT("nodelist", 'w', OPT_REQ, JOBFILTER_NODES(filter)),
    OPT("licenses", 'L', OPT_REQ, JOBFILTER_LICENSES(filter)),
    OPT("wckey", 0, OPT_REQ, JOBFILTER_WCKEYS(filter)),
    OPT("user", 'u', OPT_REQ, JOBFILTER_USERS(filter)),
    OPT("nnodes", 0, OPT_REQ, OPT_TAKE(filter.nodes, jobfilter_take_range)),
    OPT("max", 0, OPT_REQ, OPT_TAKE(filter.limit, jobfilter_take_most_time)),
    OPT("min", 0, OPT_REQ, OPT_TAKE(filter.limit, jobfilter_take_least_time)),
    OPT("over", 0, OPT_REQ,
        OPT_AND(OPT_TAKE(filter.over_s, jobfilter_take_run_time), OPT_GIVEN(filter.have_over))),
};
#undef OPT_INTO

static const struct opt_command command = {
    .name = "test",
    .prefix = "TEST",
    .rows = rows,
    .n = ARRAY_SIZE(rows),
    .synopsis = "",
    .usage_status = 255,
};

static void ignore_user(const char *word)
{
    (void)word;
}

/* Gives the exit status; words live as long as the caller's array. */
static int parse_words(struct settings *s, const char *a, const char *b, const char *c)
{
    char *argv[] = { (char *)"test", (char *)a, (char *)b, (char *)c, NULL };
    int argc = 1, status = 0;

    while (argc < 4 && argv[argc])
        argc++;
    jobfilter_init(&s->filter, ignore_user);
    (void)opts_parse_line(&command, argc, argv, s, &status);
    return status;
}

static bool matches(const struct settings *s, Pst__JobRecord *j)
{
    struct job_row row = { .job = j, .now_us = 100 * 1000000ll };

    return jobfilter_match(&s->filter, &row);
}

static void test_request(void **state)
{
    struct settings s = { 0 };
    Pst__AcctFilter acct = PST__ACCT_FILTER__INIT;

    (void)state;
    assert_int_equal(parse_words(&s, "--account=a,b", "-wn[1-2]", "--me"), 0);
    jobfilter_ask_me(&s.filter);
    assert_true(s.filter.given);
    assert_int_equal(s.filter.request.n_accounts, 2);
    assert_string_equal(s.filter.request.nodes, "n[1-2]");
    assert_int_equal(s.filter.request.n_uids, 1);
    assert_int_equal(s.filter.request.uids[0], s.filter.uid);
    jobfilter_lend(&s.filter, &acct);
    assert_int_equal(acct.n_accounts, 2);
    assert_ptr_equal(acct.nodes, s.filter.request.nodes);
    jobfilter_return(&acct);
    assert_true(!acct.accounts && !acct.n_accounts && !acct.nodes && !acct.n_uids);
    jobfilter_done(&s.filter);
}

/* scancel: an option that names nothing narrows nothing down, but it was given. */
static void test_given(void **state)
{
    struct settings s = { 0 };

    (void)state;
    assert_int_equal(parse_words(&s, "--name=", NULL, NULL), 0);
    assert_true(s.filter.given);
    assert_int_equal(s.filter.request.n_names, 0);
    jobfilter_done(&s.filter);
    assert_int_equal(parse_words(&s, "--nnodes=2", NULL, NULL), 0);
    assert_false(s.filter.given);
    jobfilter_done(&s.filter);
}

static void test_ranges(void **state)
{
    struct settings s = { 0 };
    Pst__JobRecord j = PST__JOB_RECORD__INIT;

    (void)state;
    assert_int_equal(parse_words(&s, "--nnodes=4-2", NULL, NULL), 1);
    assert_int_equal(parse_words(&s, "--nnodes=x", NULL, NULL), 1);
    assert_int_equal(parse_words(&s, "--max=30", "--min=10", NULL), 0);
    j.has_time_limit_min = true;
    j.time_limit_min = 20;
    assert_true(matches(&s, &j));
    j.time_limit_min = 9;
    assert_false(matches(&s, &j));
    j.time_limit_min = 31;
    assert_false(matches(&s, &j));
    j.time_unlimited = true;
    assert_false(matches(&s, &j));
    jobfilter_done(&s.filter);
    s = (struct settings){ 0 };
    assert_int_equal(parse_words(&s, "--min=10", NULL, NULL), 0); /* alone: this limit */
    j.time_unlimited = false;
    j.time_limit_min = 20;
    assert_false(matches(&s, &j));
    j.time_limit_min = 10;
    assert_true(matches(&s, &j));
    jobfilter_done(&s.filter);
}

static void test_texts(void **state)
{
    struct settings s = { 0 };
    Pst__JobRecord j = PST__JOB_RECORD__INIT;

    (void)state;
    assert_int_equal(parse_words(&s, "-Lmatlab,fluent", "--wckey=k", NULL), 0);
    assert_false(matches(&s, &j));
    j.licenses = (char *)"ansys:2|fluent@lic1:3";
    assert_false(matches(&s, &j));
    j.wckey = (char *)"k";
    assert_true(matches(&s, &j));
    j.licenses = (char *)"fluentx";
    assert_false(matches(&s, &j));
    jobfilter_done(&s.filter);
}

static void test_run_time(void **state)
{
    struct settings s = { 0 };
    Pst__JobRecord j = PST__JOB_RECORD__INIT;

    (void)state;
    assert_int_equal(parse_words(&s, "--over=0:30", "--notme", NULL), 0);
    assert_int_equal(s.filter.over_s, 30);
    j.uid = s.filter.uid + 1;
    j.state = PST__JOB_STATE__JOB_RUNNING;
    j.start_us = 60 * 1000000ll;
    assert_true(matches(&s, &j)); /* 40 seconds */
    j.start_us = 80 * 1000000ll;
    assert_false(matches(&s, &j));
    j.start_us = 60 * 1000000ll;
    j.uid = s.filter.uid;
    assert_false(matches(&s, &j));
    jobfilter_done(&s.filter);
    assert_int_equal(parse_words(&s, "--over=2", NULL, NULL), 0);
    assert_int_equal(s.filter.over_s, 120); /* a number on its own counts minutes */
    jobfilter_done(&s.filter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_request),  cmocka_unit_test(test_given),
        cmocka_unit_test(test_ranges),   cmocka_unit_test(test_texts),
        cmocka_unit_test(test_run_time),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
