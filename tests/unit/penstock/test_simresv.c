/* test_simresv.c - reservations made, changed and deleted in a copied cluster */
#include "model_util.h"

#include "model/kept.h"
#include "model/words/resvwords.h"
#include "output_util.h"
#include "penstock/simchange.h"

static struct output said;
static struct cluster *copy;
static struct sim_args args;
static struct simchange changes;

static int make_cluster(void **state)
{
    (void)state;
    (void)setenv("TZ", "UTC", 1);
    copy = new_cluster();
    add_nodes(copy, 4, 8);
    return 0;
}

static int drop_cluster(void **state)
{
    (void)state;
    simchange_done(&changes);
    args = (struct sim_args){ 0 };
    cluster_free(copy);
    return 0;
}

static void ask(const char *text)
{
    args.asks[args.nasks++] = (struct sim_ask){ SIM_RESV, text, text };
}

static int make_changes(void)
{
    int r;

    simchange_done(&changes);
    output_begin(&said, NULL);
    r = simchange_make(&args, copy, T0, &changes);
    output_end(&said);
    return r;
}

static void change_copy(void)
{
    struct err err = { .text = "" };

    assert_int_equal(make_changes(), STATUS_OK);
    expect_said(&said, "", "");
    for (size_t i = 0; i < changes.n; i++)
        if (cluster_apply(copy, changes.list[i], &err) != 0)
            fail_msg("%s", err.text);
    args.nasks = 0;
}

static void expect_refused(const char *text, const char *sentence)
{
    char want[512];

    args.nasks = 0;
    ask(text);
    assert_int_equal(make_changes(), STATUS_USAGE);
    (void)snprintf(want, sizeof(want),
                   "penstock: error: sim: --reservation: %s\n"
                   "Try \"penstock --help\" for more information\n",
                   sentence);
    expect_said(&said, "", want);
}

static const Pst__ReservationRecord *resv_named(const char *name)
{
    return cluster_resv_named(copy, name, strlen(name));
}

static size_t count_resvs(void)
{
    size_t n = 0;

    for (size_t pos = 0; cluster_next_resv(copy, &pos);)
        n++;
    return n;
}

/* Lists have commas of their own. */
static void test_made(void **state)
{
    const Pst__ReservationRecord *r;

    (void)state;
    ask("r1:StartTime=2030-01-01T10:00:00,Duration=2:00:00,Nodes=n0,n2,Users=root,4000001,"
        "Flags=MAINT,IGNORE_JOBS,MaxStartDelay=60");
    change_copy();
    r = resv_named("R1");
    assert_non_null(r);
    assert_string_equal(r->nodes, "n[0,2]");
    assert_int_equal(r->node_cnt, 2);
    assert_true(r->end_us - r->start_us == 7200 * SEC);
    assert_string_equal(r->users, "root,4000001");
    assert_int_equal(r->n_uids, 2);
    assert_int_equal(r->uids[0], 0);
    assert_int_equal(r->uids[1], 4000001);
    assert_true(resv_has(r, RESV_FLAG(MAINT)) && resv_has(r, RESV_FLAG(IGNORE_JOBS)));
    assert_true(resv_has(r, RESV_FLAG(SPEC_NODES)));
    ask("all:StartTime=2030-01-01,Duration=10,Nodes=ALL,Accounts=chem");
    change_copy();
    assert_string_equal(resv_named("all")->nodes, "n[0-3]");
    assert_int_equal(count_resvs(), 2);
}

/* What is not named stays. */
static void test_changed(void **state)
{
    const Pst__ReservationRecord *r;
    int64_t start;

    (void)state;
    ask("r1:StartTime=2030-01-01T10:00:00,Duration=60,Nodes=n0,Users=root,Flags=MAINT");
    change_copy();
    start = resv_named("r1")->start_us;
    ask("r1:Duration=90");
    change_copy();
    r = resv_named("r1");
    assert_true(r->start_us == start);
    assert_true(r->end_us - r->start_us == 90 * 60 * SEC);
    assert_string_equal(r->nodes, "n0");
    ask("r1:StartTime=2030-01-02T10:00:00,Nodes=n3,Flags-=MAINT,Flags+=IGNORE_JOBS");
    change_copy();
    r = resv_named("r1");
    assert_true(r->start_us - start == 86400 * SEC);
    assert_true(r->end_us - r->start_us == 90 * 60 * SEC); /* it moves along */
    assert_string_equal(r->nodes, "n3");
    assert_false(resv_has(r, RESV_FLAG(MAINT)));
    assert_true(resv_has(r, RESV_FLAG(IGNORE_JOBS)));
    ask("R1:Delete");
    change_copy();
    assert_null(resv_named("r1"));
}

/* Each change goes on from the one before it. */
static void test_one_after_the_other(void **state)
{
    const Pst__ReservationRecord *r;

    (void)state;
    ask("r1:StartTime=2030-01-01T10:00:00,Duration=60,Nodes=n0,Users=root");
    ask("r1:Nodes=n1");
    ask("r1:Duration=30");
    change_copy();
    assert_int_equal(count_resvs(), 1);
    r = resv_named("r1");
    assert_string_equal(r->nodes, "n1");
    assert_true(r->end_us - r->start_us == 30 * 60 * SEC);
    ask("r1:Nodes=n2");
    ask("r1:Duration=10");
    ask("r2:StartTime=2030-01-01,Duration=5,Nodes=n0,Users=root");
    ask("r2:delete");
    change_copy();
    assert_string_equal(resv_named("r1")->nodes, "n2");
    assert_int_equal(count_resvs(), 1);
    args.nasks = 0;
    ask("r1:delete");
    ask("r1:delete");
    assert_int_equal(make_changes(), STATUS_USAGE);
    assert_int_equal(
        strncmp(said.err, "penstock: error: sim: --reservation: no reservation r1\n", 55), 0);
}

static void test_refusals(void **state)
{
    (void)state;
    expect_refused("r1", "r1 is neither NAME:KEY=VALUE,... nor NAME:delete");
    expect_refused("r1:", "r1: is neither NAME:KEY=VALUE,... nor NAME:delete");
    expect_refused("r1:delete", "no reservation r1");
    expect_refused("r1:Duration=5,Nodes=n0,Users=root", "a new one needs StartTime=");
    expect_refused("r1:StartTime=now,Nodes=n0,Users=root",
                   "it needs Duration= or an EndTime= behind its start");
    expect_refused("r1:StartTime=now,Duration=5,Users=root", "a new one needs Nodes=");
    expect_refused("r1:StartTime=now,Duration=5,Nodes=n0", "a new one needs Users= or Accounts=");
    expect_refused("r1:StartTime=now,Duration=5,Nodes=n9,Users=root",
                   "these are no nodes of the cluster: n9");
    expect_refused("r1:StartTime=now,Duration=5,Nodes=n0,Users=no-such-person-1",
                   "no user no-such-person-1");
    expect_refused("r1:StartTime=now,Duration=5,NodeCnt=2,Users=root",
                   "simulated are StartTime, EndTime, Duration, Nodes, Users, Accounts, QOS, "
                   "AllowedPartitions, Flags and MaxStartDelay, each set as a whole");
    assert_int_equal(count_resvs(), 0);
}

#define ONE(fn) cmocka_unit_test_setup_teardown(fn, make_cluster, drop_cluster)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(test_made),
        ONE(test_changed),
        ONE(test_one_after_the_other),
        ONE(test_refusals),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
