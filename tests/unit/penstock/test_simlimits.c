/* test_simlimits.c - other limits, priorities and factors of a copied cluster's records */
#include "model_util.h"

#include "output_util.h"
#include "penstock/simchange.h"
#include "sim/books.h"

static struct output said;
static struct cluster *books;
static struct sim_args args;
static struct simchange changes;

/* Users ann and bob of account chem, ann also of phys; QOS high. */
static int make_books(void **state)
{
    static const char *const rows[][2] = { { "ann", "chem" },
                                           { "bob", "chem" },
                                           { "ann", "phys" } };
    struct workload *w = NULL;
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(workload_new(&w), 0);
    for (size_t i = 0; i < 3; i++) {
        struct sim_job j = {
            .id = (uint32_t)i + 1, .part = WORKLOAD_NO_PART, .tasks = 1, .cpus_per_task = 1
        };
        uint32_t at;

        assert_int_equal(name_index(&w->users, rows[i][0], 3, &j.user), 0);
        assert_int_equal(name_index(&w->accounts, rows[i][1], 4, &at), 0);
        j.account = at + 1;
        assert_int_equal(name_index(&w->qos, "high", 4, &at), 0);
        j.qos = at + 1;
        assert_int_equal(workload_add(w, &j), 0);
    }
    assert_int_equal(books_make(w, &books, &err), 0);
    workload_free(w);
    return 0;
}

static int drop_books(void **state)
{
    (void)state;
    simchange_done(&changes);
    args = (struct sim_args){ 0 };
    cluster_free(books);
    return 0;
}

static void ask(enum sim_what what, const char *text)
{
    args.asks[args.nasks++] = (struct sim_ask){ what, text, text };
}

static int make_changes(void)
{
    int r;

    simchange_done(&changes);
    output_begin(&said, NULL);
    r = simchange_make(&args, books, T0, &changes);
    output_end(&said);
    return r;
}

static void change_books(void)
{
    struct err err = { .text = "" };

    assert_int_equal(make_changes(), STATUS_OK);
    expect_said(&said, "", "");
    for (size_t i = 0; i < changes.n; i++)
        if (cluster_apply(books, changes.list[i], &err) != 0)
            fail_msg("%s", err.text);
    args.nasks = 0;
}

static void expect_refused(enum sim_what what, const char *text, const char *sentence)
{
    char want[512];

    args.nasks = 0;
    ask(what, text);
    assert_int_equal(make_changes(), STATUS_USAGE);
    (void)snprintf(want, sizeof(want),
                   "penstock: error: sim: %s\nTry \"penstock --help\" for more information\n",
                   sentence);
    expect_said(&said, "", want);
}

static const Pst__AssocRecord *assoc_of(const char *account, const char *user)
{
    const struct assoc *a;

    for (size_t pos = 0; (a = am_next_assoc(books->am, &pos));)
        if (strcmp(a->rec->account, account) == 0 &&
            strcmp(a->rec->user ? a->rec->user : "", user) == 0)
            return a->rec;
    return NULL;
}

static void test_qos(void **state)
{
    const Pst__QosRecord *q;

    (void)state;
    ask(SIM_QOS, "high:MaxJobsPU=4,GrpTRES=cpu=64,mem=2G,UsageFactor=0.5,Priority=7,MaxWall=1-0");
    change_books();
    q = am_qos_named(books->am, "high");
    assert_int_equal(q->limits->max_jobs_per_user, 4);
    assert_int_equal(q->limits->n_grp_tres, 2); /* the list has commas of its own */
    assert_int_equal(q->limits->grp_tres[1]->count, 2048);
    assert_true(q->usage_factor == 0.5);
    assert_int_equal(q->priority, 7);
    assert_int_equal(q->limits->max_wall_min, 1440);
}

/* A change goes on from the one before, and leaves what it does not name. */
static void test_one_after_the_other(void **state)
{
    const Pst__QosRecord *q;

    (void)state;
    ask(SIM_QOS, "high:GrpTRES=cpu=64,mem=2G,MaxJobsPU=4");
    ask(SIM_QOS, "high:grptres=cpu=8,maxjobspu=-1");
    change_books();
    q = am_qos_named(books->am, "high");
    assert_int_equal(q->limits->n_grp_tres, 2);
    assert_int_equal(q->limits->grp_tres[0]->count, 8);
    assert_int_equal(q->limits->grp_tres[1]->count, 2048);
    assert_int_equal(q->limits->max_jobs_per_user, -1); /* lifted */
}

/* A user in all accounts; an account without its users. */
static void test_associations(void **state)
{
    (void)state;
    ask(SIM_USER, "ann:MaxJobs=3,Fairshare=9");
    ask(SIM_ACCOUNT, "CHEM:GrpJobs=5");
    change_books();
    assert_int_equal(assoc_of("chem", "ann")->limits->max_jobs, 3);
    assert_int_equal(assoc_of("phys", "ann")->shares, 9);
    assert_true(!assoc_of("chem", "bob")->limits || !assoc_of("chem", "bob")->limits->has_max_jobs);
    assert_int_equal(assoc_of("chem", "")->limits->grp_jobs, 5);
    assert_true(!assoc_of("phys", "")->limits || !assoc_of("phys", "")->limits->has_grp_jobs);
    assert_false(assoc_of("chem", "ann")->limits->has_grp_jobs);
}

static void test_refusals(void **state)
{
    (void)state;
    expect_refused(SIM_QOS, "nosuch:Priority=1", "--qos: no QOS nosuch");
    expect_refused(SIM_USER, "eve:MaxJobs=1", "--user: no user eve in the accounting records");
    expect_refused(SIM_ACCOUNT, "bio:MaxJobs=1",
                   "--account: no account bio in the accounting records");
    expect_refused(SIM_QOS, "high", "--qos: high is not NAME:KEY=VALUE,...");
    expect_refused(SIM_QOS, "high:", "--qos: high: is not NAME:KEY=VALUE,...");
    expect_refused(SIM_QOS, "high:Bogus=1",
                   "--qos: Bogus=1 is no limit or setting that is simulated");
    expect_refused(SIM_QOS, "high:MaxJobs=1", /* of associations */
                   "--qos: MaxJobs=1 is no limit or setting that is simulated");
    expect_refused(SIM_QOS, "high:MaxJobsPU=x",
                   "--qos: MaxJobsPU takes a number, or -1 for no limit, not x");
    expect_refused(SIM_QOS, "high:MaxWall=soon",
                   "--qos: MaxWall takes a time such as 1-0 or 90, or -1 for no limit, not soon");
    expect_refused(SIM_QOS, "high:UsageFactor=-1",
                   "--qos: UsageFactor takes a factor such as 0.5, not -1");
    expect_refused(SIM_QOS, "high:GrpTRES=foo=1",
                   "--qos: GrpTRES takes a list such as cpu=4,mem=2G,gres/gpu=1 of TRES that are "
                   "known, not foo=1");
}

#define ONE(fn) cmocka_unit_test_setup_teardown(fn, make_books, drop_books)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(test_qos),
        ONE(test_one_after_the_other),
        ONE(test_associations),
        ONE(test_refusals),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
