/* test_sreport_cond.c - what stands behind a report's name: conditions and times */
#include "sreport_util.h"

#define START 1795158000 /* 2026-11-20T07:00:00 */

static struct cond cond;

static bool take(enum cond_of of, const char *line)
{
    bool good;

    cond_done(&cond);
    output_begin(&said, NULL);
    good = parse_conditions(&cond, of, line);
    output_end(&said);
    return good;
}

static int clear_cond(void **state)
{
    cond_done(&cond);
    return sreport_end(state);
}

static void test_lists(void **state)
{
    const Pst__UsageRequest *r = &cond.request;

    (void)state;
    assert_true(take(COND_WHO, "accounts=chem,physics users=root qos=high clusters=a,b"));
    assert_int_equal(r->n_accounts, 2);
    assert_string_equal(r->accounts[1], "physics");
    assert_int_equal(r->n_uids, 1);
    assert_int_equal(r->uids[0], 0);
    assert_string_equal(r->qos[0], "high");
    assert_int_equal(r->n_clusters, 2);
    assert_int_equal(sreport.status, 0);
    assert_true(take(COND_SIZES, "gid=0,5 jobs=7,9 partitions=p nodes=n[1-2] acct=a wckeys=w"));
    assert_int_equal(r->gids[1], 5);
    assert_int_equal(r->job_ids[0], 7);
    assert_string_equal(r->partitions[0], "p");
    assert_string_equal(r->nodes, "n[1-2]");
    assert_string_equal(r->accounts[0], "a");
    assert_string_equal(r->wckeys[0], "w");
    expect_said(&said, "", "");
}

/* A word alone is a cluster, or a reservation. */
static void test_words(void **state)
{
    (void)state;
    assert_true(take(COND_WHO, "tree flatview acctasparent group printjobcount other"));
    assert_true(cond.tree && cond.flat && cond.acct_as_parent && cond.group && cond.print_count);
    assert_string_equal(cond.request.clusters[0], "other");
    assert_true(take(COND_RESERVATIONS, "r1 names=r2 ids=4,7"));
    assert_int_equal(cond.n_ids, 2);
    assert_int_equal(cond.ids[1], 7);
    assert_int_equal(cond.n_names, 2);
    assert_string_equal(cond.names[0], "r1");
    assert_true(take(COND_TOP, "topcount=3 format=login,used Format=cluster"));
    assert_int_equal(cond.top, 3);
    assert_string_equal(cond.format, "login,used,cluster"); /* each adds columns */
    assert_true(take(COND_WHO, ""));
    assert_int_equal(cond.top, 10);
    assert_string_equal(cond.request.clusters[0], "demo"); /* its own */
    assert_true(take(COND_WHO, "all_clusters"));
    assert_int_equal(cond.request.n_clusters, 0);
}

static void test_grouping(void **state)
{
    const Pst__UsageRequest *r = &cond.request;

    (void)state;
    assert_true(take(COND_SIZES, ""));
    assert_int_equal(r->n_bounds, 4);
    assert_int_equal(r->bounds[0], 50);
    assert_int_equal(r->bounds[3], 1000);
    assert_true(take(COND_SIZES, "grouping=2,8"));
    assert_int_equal(r->n_bounds, 2);
    assert_int_equal(r->bounds[1], 8);
    assert_true(take(COND_SIZES, "grouping=Individual"));
    assert_true(r->individual);
    assert_false(take(COND_SIZES, "grouping=2,x"));
    expect_said(&said, "", " Invalid grouping: 2,x\n");
    assert_int_equal(sreport.status, 1);
}

/* Whole hours: of the start its hour, of the end the hour that has begun. */
static void test_hours(void **state)
{
    const Pst__UsageRequest *r = &cond.request;

    (void)state;
    assert_true(take(COND_WHO, "start=2026-11-20T07:59:59 end=2026-11-20T09:00:01"));
    assert_true(r->start_s == START);
    assert_true(r->end_s == START + 3 * 3600);
    assert_true(take(COND_WHO, "start=2026-11-20T07:00:00 end=2026-11-20T09:00:00"));
    assert_true(r->end_s == START + 2 * 3600);
    /* an end before the start: an hour */
    assert_true(take(COND_WHO, "start=2026-11-20T07:00:00 end=2020-01-01"));
    assert_true(r->start_s == START);
    assert_true(r->end_s == START + 3600);
}

/* Without times: yesterday and an hour of today, as recorded; a time that is none is told. */
static void test_default_times(void **state)
{
    const Pst__UsageRequest *r = &cond.request;

    (void)state;
    assert_true(take(COND_WHO, ""));
    assert_true(r->end_s - r->start_s == 25 * 3600);
    assert_int_equal(r->start_s % 86400, 0);
    assert_true(r->end_s > time(NULL) - 86400 && r->start_s < time(NULL) - 86400 + 1);
    assert_true(take(COND_WHO, "start=bogus"));
    expect_said(&said, "", "Invalid time specification (pos=0): bogus\n");
    assert_true(r->end_s - r->start_s == 25 * 3600);
    assert_int_equal(sreport.status, 0); /* as recorded */
}

static void test_refusals(void **state)
{
    (void)state;
    assert_true(take(COND_SIZES, "nosuch=1"));
    expect_said(&said, "", " Unknown condition: nosuch=1\nUse keyword set to modify value\n");
    assert_int_equal(sreport.status, 1);
    assert_true(take(COND_WHO, "topcount=3")); /* of another report */
    assert_int_equal(strncmp(said.err, " Unknown condition: topcount=3\n", 31), 0);
    assert_true(take(COND_WCKEYS, "accounts=a"));
    expect_said(&said, "", " Unknown condition: accounts=a\n");
    assert_false(take(COND_TOP, "topcount=x"));
    expect_said(&said, "", "sreport: error: Invalid value for TopCount (x)\n");
    assert_false(take(COND_SIZES, "jobs=7,x"));
    expect_said(&said, "", " Invalid number: 7,x\n");
    assert_true(take(COND_WHO, "users=no-such-person-1"));
    expect_said(&said, "", "sreport: error: Invalid user id: no-such-person-1\n");
}

#define ONE(fn) cmocka_unit_test_setup_teardown(fn, sreport_begin, clear_cond)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(test_lists), ONE(test_words),         ONE(test_grouping),
        ONE(test_hours), ONE(test_default_times), ONE(test_refusals),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
