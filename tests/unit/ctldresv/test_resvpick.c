/* test_resvpick.c - which nodes, cores and licences a reservation gets for what it asks for */
#include "resv_util.h"

static char flags_text[2][96];

/* 'name':'NAME','flags_set':FLAGS */
static const char *with_flags(const char *name, uint64_t flags)
{
    static unsigned turn;
    char *t = flags_text[turn++ % 2];

    (void)snprintf(t, sizeof(flags_text[0]), "'name':'%s','flags_set':%llu", name,
                   (unsigned long long)flags);
    return t;
}

static void assert_resv(const char *name, const char *const *what)
{
    for (; *what; what++)
        assert_true(resv_has_text(name, *what));
}

static void test_cores(void **state)
{
    static const char set[] = "'users':'root','want_cores':12,'partition':'main'";
    static const char rest[] = "'users':'root','want_cores':24,'partition':'main'";

    (void)state;
    assert_int_equal(create("'name':'some'", later, set), 0);
    assert_true(resv_has_text("some", "'core_cnt':12"));
    assert_true(resv_has_text("some", "'node_cnt':2"));
    /* Another one takes cores of the same nodes, and none twice. */
    assert_int_equal(create("'name':'more'", later, set), 0);
    assert_true(resv_has_text("more", "'core_cnt':12"));
    assert_int_equal(create("'name':'most'", later, rest), ESLURM_NODES_BUSY);
    assert_int_equal(drop(shared.client, "more"), 0);
    assert_int_equal(create("'name':'most'", later,
                            "'users':'root','want_cores':20,"
                            "'partition':'main'"),
                     0);
    assert_int_equal(drop(shared.client, "most"), 0);
    assert_int_equal(drop(shared.client, "some"), 0);
}

static void test_tres(void **state)
{
    static const struct {
        const char *want, *has[4];
    } rows[] = {
        { "node=2", { "'node_cnt':2", "'core_cnt':16", "'tres':'cpu=16'" } },
        { "cpu=9", { "'node_cnt':2" } }, /* whole nodes that have so many */
        { "cpu=8", { "'node_cnt':1", "'core_cnt':8" } },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        char set[128];

        (void)snprintf(set, sizeof(set), "'users':'root','partition':'main','want_tres':'%s'",
                       rows[i].want);
        assert_int_equal(create("'name':'t'", later, set), 0);
        assert_resv("t", rows[i].has);
        assert_int_equal(drop(shared.client, "t"), 0);
    }
    assert_int_equal(
        create("'name':'t'", later, "'users':'root','partition':'main','want_tres':'gres/gpu=1'"),
        ESLURM_NODES_BUSY); /* no node of this partition has one */
}

/* Features choose nodes; expressions with counts ask for so many of each. */
static void test_features(void **state)
{
    struct fake_node *g0 = node_up(&shared, "g0", "boot", NULL);

    (void)state;
    assert_int_equal(
        create("'name':'f'", later,
               "'users':'root','partition':'open','want_node_cnts':'1','features':'fast'"),
        0);
    assert_true(resv_has_text("f", "'nodes':'g0'"));
    assert_int_equal(
        create("'name':'f2'", later,
               "'users':'root','partition':'open','want_node_cnts':'1','features':'fast'"),
        ESLURM_NODES_BUSY); /* it is taken */
    assert_int_equal(drop(shared.client, "f"), 0);
    assert_int_equal(
        create("'name':'f2'", later,
               "'users':'root','partition':'open','want_node_cnts':'2','features':'fast'"),
        ESLURM_NODES_BUSY); /* one has it */
    assert_int_equal(
        create("'name':'f3'", later,
               "'users':'root','partition':'open','want_node_cnts':'1','features':'[fast*1]'"),
        0);
    assert_true(resv_has_text("f3", "'nodes':'g0'"));
    assert_int_equal(drop(shared.client, "f3"), 0);
    assert_int_equal(create("'name':'gpu'", later,
                            "'users':'root','partition':'open','want_tres':'gres/gpu:a100=2'"),
                     0);
    assert_true(resv_has_text("gpu", "'nodes':'g0'"));
    assert_int_equal(drop(shared.client, "gpu"), 0);
    assert_int_equal(create("'name':'gpu'", later,
                            "'users':'root','partition':'open','want_tres':'gres/gpu:h100=1'"),
                     ESLURM_NODES_BUSY);
    node_free(g0);
}

/* Nodes of another reservation at the same time: only where one of the two permits it. */
static void test_overlap(void **state)
{
    static const char three[] = "'users':'root','partition':'main','want_node_cnts':'3'";
    static const char named[] = "'users':'root','nodes':'n[0-2]'";
    static const struct hours after = { 101, 102 };

    (void)state;
    assert_int_equal(create("'name':'one'", later, three), 0);
    assert_int_equal(create("'name':'two'", later, three), ESLURM_NODES_BUSY);
    assert_int_equal(create("'name':'two'", after, three), 0); /* one begins where the other ends */
    assert_int_equal(drop(shared.client, "two"), 0);
    assert_int_equal(create("'name':'two'", later, named), ESLURM_RESERVATION_OVERLAP);
    assert_int_equal(create(with_flags("two", RESV_FLAG(OVERLAP)), later, named), 0);
    assert_int_equal(drop(shared.client, "two"), 0);
    assert_int_equal(create(with_flags("two", RESV_FLAG(MAINT)), later, named), 0);
    assert_int_equal(drop(shared.client, "two"), 0);
    assert_int_equal(drop(shared.client, "one"), 0);
}

/* Nodes on which jobs run past its start, unless it ignores them. */
static void test_jobs(void **state)
{
    static const char named[] = "'users':'root','nodes':'n[0-3]'";
    static const char two[] = "'users':'root','partition':'main','want_node_cnts':'4'";
    const int64_t now = now_us();
    uint32_t id = submit(&shared, "{'job':{'time_limit_min':30,'min_nodes':1,'name':'j'}}");

    (void)state;
    wait_job(&shared, id, "'state':'JOB_RUNNING'");
    assert_int_equal(create_between("'name':'now'", now + 60 * SEC, now + 120 * SEC, named),
                     ESLURM_NODES_BUSY);
    assert_int_equal(create_between("'name':'now'", now + 60 * SEC, now + 120 * SEC, two),
                     ESLURM_NODES_BUSY);
    assert_int_equal(create_between(with_flags("now", RESV_FLAG(IGNORE_JOBS)), now + 60 * SEC,
                                    now + 120 * SEC, named),
                     0);
    assert_int_equal(drop(shared.client, "now"), 0);
    assert_int_equal(create("'name':'now'", later, named), 0); /* the job is over by then */
    assert_int_equal(drop(shared.client, "now"), 0);
    assert_int_equal(act(&shared, id, "CANCEL"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cores),    cmocka_unit_test(test_tres),
        cmocka_unit_test(test_features), cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_jobs),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup_nodes, teardown_nodes);
}
