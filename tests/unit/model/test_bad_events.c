/* test_bad_events.c - cluster_apply(): events that do not fit what is there */
#include "blob_util.h"
#include "model_util.h"

#include "base/timefmt.h"
#include "fields.h"

static void bad_job_twice(Pst__Transaction *tx)
{
    put_job(tx, 1);
}
static void bad_job_no_id(Pst__Transaction *tx)
{
    (void)tx_job_put(tx, EV(JOB_SUBMIT));
}
static void bad_job_state(Pst__Transaction *tx)
{
    SET(put_job(tx, 2), state, (Pst__JobState)77);
}
static void bad_patch_state(Pst__Transaction *tx)
{
    SET(tx_job_patch(tx, EV(JOB_END), 1), state, (Pst__JobState)12);
}
static void bad_patch_unknown(Pst__Transaction *tx)
{
    (void)tx_job_patch(tx, EV(JOB_END), 99);
}
static void bad_patch_id(Pst__Transaction *tx)
{
    SET(tx_job_patch(tx, EV(JOB_END), 1), job_id, 2);
}
static void bad_patch_no_id(Pst__Transaction *tx)
{
    (void)tx_job_patch(tx, EV(JOB_END), 1);
    tx_clear(tx, JOB_F_JOB_ID);
}
static void bad_purge(Pst__Transaction *tx)
{
    tx_job_purge(tx, 99);
}
static void bad_step(Pst__Transaction *tx)
{
    (void)tx_step_put(tx, EV(STEP_START), 99, 0);
}
static void bad_step_patch(Pst__Transaction *tx)
{
    (void)tx_step_patch(tx, EV(STEP_END), 1, 5);
}
static void bad_step_patch_job(Pst__Transaction *tx)
{
    (void)tx_step_patch(tx, EV(STEP_END), 99, 0);
}
static void bad_step_id(Pst__Transaction *tx)
{
    SET(tx_step_patch(tx, EV(STEP_END), 1, 0), step_id, 3);
}
static void bad_step_clear(Pst__Transaction *tx)
{
    (void)tx_step_patch(tx, EV(STEP_END), 1, 0);
    tx_clear(tx, STEP_F_STEP_ID);
}
static void bad_node_twice(Pst__Transaction *tx)
{
    put_node(tx, 0, "other", 1);
}
static void bad_node_name_twice(Pst__Transaction *tx)
{
    put_node(tx, 7, "n1", 1);
}
static void bad_node_id(Pst__Transaction *tx)
{
    put_node(tx, BITMAP_MAX_BITS, "huge", 1);
}
static void bad_node_no_name(Pst__Transaction *tx)
{
    SET(tx_node_put(tx, EV(NODE_CONFIG)), node_id, 7);
}
static void bad_node_patch(Pst__Transaction *tx)
{
    (void)tx_node_patch(tx, EV(NODE_STATE), 9);
}
static void bad_node_rename(Pst__Transaction *tx)
{
    tx_node_patch(tx, EV(NODE_STATE), 0)->name = tx_strdup("n0");
}
static void bad_node_renumber(Pst__Transaction *tx)
{
    SET(tx_node_patch(tx, EV(NODE_STATE), 0), node_id, 5);
}
static void bad_node_clear(Pst__Transaction *tx)
{
    (void)tx_node_patch(tx, EV(NODE_STATE), 0);
    tx_clear(tx, NODE_F_NAME);
}
static void bad_node_remove(Pst__Transaction *tx)
{
    tx_node_remove(tx, 9);
}
static void bad_part_twice(Pst__Transaction *tx)
{
    put_part(tx, "p", "n0");
}
static void bad_part_no_name(Pst__Transaction *tx)
{
    (void)tx_part_put(tx, EV(PART_CONFIG));
}
static void bad_part_nodes(Pst__Transaction *tx)
{
    put_part(tx, "q", "n[3-1]");
}
static void bad_part_patch_nodes(Pst__Transaction *tx)
{
    tx_part_patch(tx, EV(PART_UPDATE), "p")->nodes = tx_strdup("n[");
}
static void bad_part_patch(Pst__Transaction *tx)
{
    (void)tx_part_patch(tx, EV(PART_UPDATE), "nosuch");
}
static void bad_part_rename(Pst__Transaction *tx)
{
    tx_part_patch(tx, EV(PART_UPDATE), "p")->name = tx_strdup("q");
}
static void bad_part_clear(Pst__Transaction *tx)
{
    (void)tx_part_patch(tx, EV(PART_UPDATE), "p");
    tx_clear(tx, PART_F_NAME);
}
static void bad_part_remove(Pst__Transaction *tx)
{
    tx_part_remove(tx, "nosuch");
}
static void bad_blob_zero(Pst__Transaction *tx)
{
    blob_old(tx, 0, "x", 1);
}
static void bad_blob_max(Pst__Transaction *tx)
{
    blob_old(tx, UINT64_MAX, "x", 1);
}
static void bad_blob_digest(Pst__Transaction *tx)
{
    blob_n(tx, 1, "x", 1);
    tx->events[0]->blob_put->digest.len = 31;
}
static void bad_blob_both(Pst__Transaction *tx)
{
    bad_blob_digest(tx);
    SET(tx->events[0]->blob_put, hash, 5); /* does not stand in for it */
}
static void bad_kind(Pst__Transaction *tx)
{
    tx_job_purge(tx, 1);
    tx->events[0]->body_case = PST__EVENT__BODY__NOT_SET;
}

static const struct {
    void (*make)(Pst__Transaction *tx);
    const char *words;
} bad[] = {
    { bad_job_twice, "job 1: put twice" },
    { bad_job_no_id, "job record without an id" },
    { bad_job_state, "job 2: state 77 is unknown" },
    { bad_patch_state, "job 1: state 12 is unknown" },
    { bad_patch_unknown, "job 99: changed but unknown" },
    { bad_patch_id, "job 1: an id cannot change" },
    { bad_patch_no_id, "job 1: an id cannot change" },
    { bad_purge, "job 99: purged but unknown" },
    { bad_step, "step 99.0: its job is unknown" },
    { bad_step_patch, "step 1.5: changed but unknown" },
    { bad_step_patch_job, "step 99.0: changed but unknown" },
    { bad_step_id, "step 1.0: an id cannot change" },
    { bad_step_clear, "step 1.0: an id cannot change" },
    { bad_node_twice, "node other: put twice" },
    { bad_node_name_twice, "node n1: put twice" },
    { bad_node_id, "node record without a usable id or name" },
    { bad_node_no_name, "node record without a usable id or name" },
    { bad_node_patch, "node id 9: changed but unknown" },
    { bad_node_rename, "node n0: its id and name cannot change" },
    { bad_node_renumber, "node n0: its id and name cannot change" },
    { bad_node_clear, "node n0: its id and name cannot change" },
    { bad_node_remove, "node id 9: removed but unknown" },
    { bad_part_twice, "partition p: put twice" },
    { bad_part_no_name, "partition (null): put twice" },
    { bad_part_nodes, "partition q: " },
    { bad_part_patch_nodes, "partition p: " },
    { bad_part_patch, "partition nosuch: changed but unknown" },
    { bad_part_rename, "partition p: a name cannot change" },
    { bad_part_clear, "partition p: a name cannot change" },
    { bad_part_remove, "partition nosuch: removed but unknown" },
    { bad_blob_zero, "a blob without a usable name" },
    { bad_blob_max, "a blob without a usable name" },
    { bad_blob_digest, "a blob without a usable name" },
    { bad_blob_both, "a blob without a usable name" },
    { bad_kind, "an event of a kind this release does not know" },
};

static void test_bad_events(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct cluster *c = small_cluster();
        Pst__Transaction *tx = tx_new(T0);

        bad[i].make(tx);
        apply_bad(c, tx, bad[i].words);
        cluster_free(c); /* whatever state it is in */
    }
}

/* What stands after the event that does not fit is not applied. */
static void test_stops_there(void **state)
{
    struct cluster *c = small_cluster();
    Pst__Transaction *tx = tx_new(T0);

    (void)state;
    put_job(tx, 2);
    tx_job_purge(tx, 99);
    put_job(tx, 3);
    apply_bad(c, tx, "job 99");
    assert_null(cluster_job(c, 3));
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_events),
        cmocka_unit_test(test_stops_there),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
