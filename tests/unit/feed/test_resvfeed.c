/* test_resvfeed.c - reservations as the scheduler takes them: when, which nodes, cores and
 * licenses, and in which a job is tried */
#include "model_util.h"
#include "json_util.h"

#include "feed/feedmem.h"
#include "feed/records.h"

static struct cluster *world(void)
{
    struct cluster *c = new_cluster();
    Pst__Transaction *tx;

    add_nodes(c, 3, 8);
    tx = tx_new(T0);
    SET(tx_node_patch(tx, EV(NODE_CONFIG), 1), threads_per_core, 2);
    apply_ok(c, tx);
    return c;
}

static struct feed *feed_of(const struct cluster *c, const char *json, int64_t now)
{
    ProtobufCMessage *rec = from_json(&pst__reservation_record__descriptor, json);
    struct feed *f = feed_of_resv(c, (const Pst__ReservationRecord *)rec, now);

    protobuf_c_message_free_unpacked(rec, NULL); /* what the feed has is its own */
    return f;
}

#define WHEN "'start_us':1700000000000000,'end_us':1700003600000000" /* T0, an hour */

/* Nodes by their names; a name that is gone is left out. */
static void test_nodes(void **state)
{
    struct cluster *c = world();
    struct feed *f = feed_of(c, "{'resv_id':5,'nodes':'n[1-2],gone'," WHEN "}", T0);

    (void)state;
    assert_int_equal(f->resv.id, 5);
    assert_int_equal(f->node_id, 5);
    assert_int_equal(f->resv.nnodes, 2);
    assert_int_equal(f->resv.node_ids[0], 1);
    assert_int_equal(f->resv.node_ids[1], 2);
    assert_int_equal(f->resv.nwindows, 1);
    assert_true(f->resv.windows[0].start_us == T0);
    assert_true(f->resv.windows[0].end_us == T0 + 3600 * SEC);
    assert_int_equal(f->resv.ncpus, 0);
    assert_false(f->resv.flex || f->resv.maint || f->resv.beside || f->resv.floats);
    feed_release(f);
    f = feed_of(c, "{'resv_id':6,'nodes':'n['," WHEN "}", T0);
    assert_int_equal(f->resv.nnodes, 0);
    feed_release(f);
    cluster_free(c);
}

/* Cores become all their threads; cores that the node has not any more, and nodes that are gone,
 * are left out. */
static void test_cores(void **state)
{
    struct cluster *c = world();
    struct feed *f = feed_of(c,
                             "{'resv_id':5,'nodes':'n[0-1]'," WHEN ",'cores':["
                             "{'node':'n0','cores':'1,7'},{'node':'n1','cores':'1-2,30'},"
                             "{'node':'gone','cores':'0'}]}",
                             T0);

    (void)state;
    assert_int_equal(f->resv.ncpus, 2);
    assert_int_equal(f->resv.cpus[0].node_id, 0);
    assert_true(f->resv.cpus[0].bits[0] == 0x82);
    assert_int_equal(f->resv.cpus[1].node_id, 1);
    assert_true(f->resv.cpus[1].bits[0] == 0x3c);
    feed_release(f);
    cluster_free(c);
}

static const struct {
    const char *flags;
    bool flex, maint, beside, floats;
} rows[] = {
    { "FLEX", true, false, false, false },
    { "MAINT", false, true, true, false },
    { "OVERLAP", false, false, true, false },
    { "TIME_FLOAT", false, false, false, true },
};

static void test_flags(void **state)
{
    static const unsigned bits[] = { PST__RESV_FLAG__RESV_FLAG_FLEX,
                                     PST__RESV_FLAG__RESV_FLAG_MAINT,
                                     PST__RESV_FLAG__RESV_FLAG_OVERLAP,
                                     PST__RESV_FLAG__RESV_FLAG_TIME_FLOAT };
    struct cluster *c = world();

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        char json[256];
        struct feed *f;

        (void)snprintf(json, sizeof(json),
                       "{'resv_id':5,'flags':'%llu','float_s':60,'max_start_delay_s':30," WHEN "}",
                       1ull << bits[i]);
        f = feed_of(c, json, T0);
        if (f->resv.flex != rows[i].flex || f->resv.maint != rows[i].maint ||
            f->resv.beside != rows[i].beside || f->resv.floats != rows[i].floats)
            fail_msg("%s", rows[i].flags);
        assert_true(f->resv.float_us == 60 * SEC);
        assert_true(f->resv.max_delay_us == 30 * SEC);
        feed_release(f);
    }
    cluster_free(c);
}

/* Those that are over are told no more; a daily one is told for days ahead, in order. */
static void test_windows(void **state)
{
    struct cluster *c = world();
    struct feed *f = feed_of(c, "{'resv_id':5," WHEN "}", T0 + 7200 * SEC);
    char json[256];

    (void)state;
    assert_int_equal(f->resv.nwindows, 0);
    feed_release(f);
    (void)snprintf(json, sizeof(json), "{'resv_id':5,'flags':'%llu'," WHEN "}",
                   1ull << PST__RESV_FLAG__RESV_FLAG_DAILY);
    f = feed_of(c, json, T0);
    assert_true(f->resv.nwindows > 7);
    for (size_t i = 1; i < f->resv.nwindows; i++) {
        int64_t step = f->resv.windows[i].start_us - f->resv.windows[i - 1].start_us;

        assert_true(step >= 23 * 3600 * SEC && step <= 25 * 3600 * SEC); /* clocks change */
    }
    feed_release(f);
    cluster_free(c);
}

static void test_licenses(void **state)
{
    struct cluster *c = world();
    struct feed *f = feed_of(c, "{'resv_id':5,'licenses':'ansys:3,matlab'," WHEN "}", T0);

    (void)state;
    assert_int_equal(f->resv.nlicenses, 2);
    assert_string_equal(f->resv.licenses[0].name, "ansys");
    assert_int_equal(f->resv.licenses[0].count, 3);
    assert_int_equal(f->resv.licenses[1].count, 1);
    feed_release(f);
    f = feed_of(c, "{'resv_id':5,'licenses':''," WHEN "}", T0);
    assert_int_equal(f->resv.nlicenses, 0);
    feed_release(f);
    cluster_free(c);
}

/* A job that runs in one keeps it, whatever the record said. */
static void test_running(void **state)
{
    Pst__JobRecord r = PST__JOB_RECORD__INIT;
    struct feed *f;

    (void)state;
    SET(&r, job_id, 7);
    SET(&r, resv_id, 5);
    f = feed_of_running_resv(&r);
    assert_int_equal(f->job_id, 7);
    assert_int_equal(f->node_id, 5);
    assert_int_equal(f->resv.nwindows, 0);
    feed_release(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes),    cmocka_unit_test(test_cores),
        cmocka_unit_test(test_flags),    cmocka_unit_test(test_windows),
        cmocka_unit_test(test_licenses), cmocka_unit_test(test_running),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
