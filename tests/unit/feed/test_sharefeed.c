/* test_sharefeed.c - associations with their shares and usage, for the priorities of jobs */
#include "model_util.h"
#include "records_util.h"

#include "feed/sharefeed.h"
#include "model/use/usage.h"
#include "sched/sched.h"

#define HOUR (3600 * SEC)

/* root, its user; chem with ann (fairshare=parent); old, deleted; phys of another cluster. */
static struct cluster *accounts(void)
{
    static const char *const records[] = {
        "{'assoc':{'assoc_id':1,'cluster':'demo','account':'root'}}",
        "{'assoc':{'assoc_id':2,'parent_id':1,'cluster':'demo','account':'root','user':'root'}}",
        "{'assoc':{'assoc_id':3,'parent_id':1,'cluster':'demo','account':'chem','shares':40,"
        "'priority':7}}",
        "{'assoc':{'assoc_id':4,'parent_id':3,'cluster':'demo','account':'chem','user':'ann',"
        "'shares_parent':true}}",
        "{'assoc':{'assoc_id':5,'parent_id':3,'cluster':'demo','account':'chem','user':'bob',"
        "'shares':2}}",
        "{'assoc':{'assoc_id':6,'parent_id':1,'cluster':'demo','account':'old',"
        "'deleted':true}}",
        "{'assoc':{'assoc_id':7,'cluster':'east','account':'root'}}",
        "{'qos':{'qos_id':1,'name':'normal'}}",
        "{'qos':{'qos_id':2,'name':'high','priority':50}}",
        "{'qos':{'qos_id':3,'name':'gone','priority':90,'deleted':true}}",
    };
    struct cluster *c = new_cluster();
    Pst__Transaction *tx = tx_new(T0);

    SET(tx_cluster(tx), usage_half_life_s, 0);
    apply_ok(c, tx);
    records_put(c->am, records, ARRAY_SIZE(records));
    return c;
}

/* A job of the association that bills so much from T0 on. */
static void run_job(struct cluster *c, uint32_t id, uint32_t assoc, const char *tres)
{
    Pst__Transaction *tx = tx_new(T0);
    Pst__JobRecord *set;

    SET(put_job(tx, id), assoc_id, assoc);
    apply_ok(c, tx);
    tx = tx_new(T0);
    set = tx_job_patch(tx, EV(JOB_START), id);
    SET(set, state, JOB_STATE(RUNNING));
    SET(set, start_us, T0);
    SET(set, released, false);
    set->alloc = make_alloc(0, 1, 1, 100);
    (void)pb_set_str(&set->alloc_tres, tres);
    apply_ok(c, tx);
}

static const struct sched_assoc *fed_assoc(const struct feed *f, uint32_t id)
{
    const struct sched_assoc *found = NULL;

    for (size_t i = 0; i < f->shares->nassocs; i++)
        if (f->shares->assocs[i].id == id) {
            assert_null(found);
            found = &f->shares->assocs[i];
        }
    return found;
}

static void expect_near(double got, double want)
{
    if (got < want - 0.01 || got > want + 0.01)
        fail_msg("%f in place of %f", got, want);
}

static void test_assocs(void **state)
{
    struct cluster *c = accounts();
    struct feed *f;

    (void)state;
    add_nodes(c, 1, 8);
    run_job(c, 7, 4, "cpu=2,billing=2");
    run_job(c, 8, 5, "cpu=1,billing=3");
    f = feed_of_shares(c, "demo", T0 + HOUR);
    assert_int_equal(f->kind, FEED_SHARES);
    assert_true(f->start_us == T0 + HOUR);
    assert_int_equal(f->shares->nassocs, 4); /* neither root itself, nor gone, nor another's */
    assert_null(fed_assoc(f, 1));
    assert_null(fed_assoc(f, 6));
    assert_null(fed_assoc(f, 7));
    assert_int_equal(fed_assoc(f, 2)->parent, 0);
    assert_true(fed_assoc(f, 2)->user);
    assert_int_equal(fed_assoc(f, 2)->shares, 1); /* absent */
    assert_int_equal(fed_assoc(f, 3)->parent, 0); /* the root's child */
    assert_int_equal(fed_assoc(f, 3)->shares, 40);
    assert_false(fed_assoc(f, 3)->user);
    assert_int_equal(fed_assoc(f, 3)->priority, 7);
    assert_int_equal(fed_assoc(f, 4)->parent, 3);
    assert_int_equal(fed_assoc(f, 4)->priority, 7); /* inherited */
    assert_true(fed_assoc(f, 4)->use_parent);
    assert_false(fed_assoc(f, 5)->use_parent);
    expect_near(fed_assoc(f, 4)->usage, 2 * 3600.0);
    expect_near(fed_assoc(f, 5)->usage, 3 * 3600.0);
    expect_near(fed_assoc(f, 3)->usage, 0); /* all of it is its users' */
    feed_release(f);
    cluster_free(c);
}

/* What a user who was deleted had used stays with the account. */
static void test_left_behind(void **state)
{
    struct cluster *c = accounts();

    (void)state;
    add_nodes(c, 1, 8);
    run_job(c, 7, 4, "cpu=2,billing=2");
    run_job(c, 8, 5, "cpu=1,billing=3");
    end_job(c, 7, JOB_STATE(COMPLETED), T0 + HOUR, true);
    records_put_one(c->am, "{'assoc':{'assoc_id':4,'parent_id':3,'cluster':'demo',"
                           "'account':'chem','user':'ann','deleted':true}}");
    expect_near(usage_raw(c, USAGE_ASSOC, 3, T0 + HOUR), 5 * 3600.0);
    expect_near(share_own_usage(c, am_assoc(c->am, 3), "demo", T0 + HOUR), 2 * 3600.0);
    expect_near(share_own_usage(c, am_assoc(c->am, 5), "demo", T0 + HOUR), 3 * 3600.0);
    assert_false(share_counts(am_assoc(c->am, 4), NULL, "demo"));
    assert_true(share_counts(am_assoc(c->am, 5), NULL, "demo"));
    assert_false(share_counts(am_assoc(c->am, 7), NULL, "demo"));
    assert_false(share_counts(am_assoc(c->am, 1), am_root(c->am, "demo"), "demo"));
    assert_int_equal(share_parent(am_assoc(c->am, 5), am_root(c->am, "demo")), 3);
    assert_int_equal(share_parent(am_assoc(c->am, 3), am_root(c->am, "demo")), 0);
    cluster_free(c);
}

/* All of it is new each time: what is not there any more counts no more. */
static void test_apply(void **state)
{
    const struct sched_params params = { .multifactor = true, .weight_fairshare = 1000 };
    struct cluster *c = accounts();
    struct sched *s = NULL;
    struct feed *f = feed_of_shares(c, "demo", T0);

    (void)state;
    assert_int_equal(f->shares->nqos, 2);
    for (size_t i = 0; i < f->shares->nqos; i++)
        assert_int_equal(f->shares->qos[i].priority,
                         strcmp(f->shares->qos[i].name, "high") == 0 ? 50 : 0);
    assert_int_equal(sched_new(&params, &s), 0);
    assert_int_equal(feed_apply_shares(s, f->shares), 0);
    feed_release(f);
    assert_true(sched_assoc_fairshare(s, 5) > 0);
    records_put_one(c->am, "{'assoc_remove':5}");
    f = feed_of_shares(c, "demo", T0);
    assert_int_equal(feed_apply_shares(s, f->shares), 0);
    feed_release(f);
    assert_true(sched_assoc_fairshare(s, 5) == 0);
    assert_true(sched_assoc_fairshare(s, 2) > 0);
    feed_shares_free(NULL);
    sched_free(s);
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_assocs),
        cmocka_unit_test(test_left_behind),
        cmocka_unit_test(test_apply),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("sharefeed", tests, NULL, NULL);
}
