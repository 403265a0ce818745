/* test_tx.c - building transactions: every kind of event, what is in it, and that it survives
 * packing */
#include "blob_util.h"
#include "model_util.h"
#include "fields.h"

static Pst__Transaction *one_of_each(void)
{
    static const uint8_t bytes[] = { 0, 1, 2, 0, 255 };
    Pst__Transaction *tx = tx_new(T0);
    Pst__JobRecord *job = malloc(sizeof(*job));

    assert_non_null(job);
    pst__job_record__init(job);
    SET(job, job_id, 7);
    job->alloc = make_alloc(0, 2, 4, 100);
    tx_job_put_take(tx, EV(JOB_SUBMIT), job);
    SET(tx_job_put(tx, EV(JOB_SUBMIT)), job_id, 8);
    SET(tx_job_patch(tx, EV(JOB_START), 8), state, JOB_STATE(RUNNING));
    tx_clear(tx, JOB_F_REASON);
    tx_clear(tx, JOB_F_REASON_TEXT);
    tx_job_purge(tx, 9);
    SET(tx_step_put(tx, EV(STEP_START), 8, STEP_BATCH), state, PST__STEP_STATE__STEP_RUNNING);
    SET(tx_step_patch(tx, EV(STEP_END), 8, 0), exit_status, 256);
    tx_clear(tx, STEP_F_USAGE);
    SET(tx_node_put(tx, EV(NODE_CONFIG)), node_id, 0);
    SET(tx_node_patch(tx, EV(NODE_STATE), 3), state, PST__NODE_STATE__NODE_DOWN);
    tx_clear(tx, NODE_F_REASON);
    tx_node_remove(tx, 4);
    tx_part_put(tx, EV(PART_CONFIG))->name = tx_strdup("debug");
    SET(tx_part_patch(tx, EV(PART_UPDATE), "debug"), is_default, true);
    tx_clear(tx, PART_F_MAX_TIME_MIN);
    tx_part_remove(tx, "old");
    blob_n(tx, 42, bytes, sizeof(bytes));
    blob_n(tx, 43, NULL, 0);
    SET(tx_cluster(tx), next_job_id, 10);
    return tx;
}

static void test_contents(void **state)
{
    static const Pst__Event__BodyCase bodies[] = {
        PST__EVENT__BODY_JOB_PUT,   PST__EVENT__BODY_JOB_PUT,    PST__EVENT__BODY_JOB_PATCH,
        PST__EVENT__BODY_JOB_PURGE, PST__EVENT__BODY_STEP_PUT,   PST__EVENT__BODY_STEP_PATCH,
        PST__EVENT__BODY_NODE_PUT,  PST__EVENT__BODY_NODE_PATCH, PST__EVENT__BODY_NODE_REMOVE,
        PST__EVENT__BODY_PART_PUT,  PST__EVENT__BODY_PART_PATCH, PST__EVENT__BODY_PART_REMOVE,
        PST__EVENT__BODY_BLOB_PUT,  PST__EVENT__BODY_BLOB_PUT,   PST__EVENT__BODY_CLUSTER_SET,
    };
    Pst__Transaction *tx = one_of_each();
    Pst__Event **e = tx->events;

    (void)state;
    assert_int_equal(tx->n_events, ARRAY_SIZE(bodies));
    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++)
        assert_int_equal(e[i]->body_case, bodies[i]);
    assert_int_equal(tx->time_us, T0);
    assert_int_equal(e[0]->kind, EV(JOB_SUBMIT));
    assert_int_equal(e[2]->job_patch->job_id, 8);
    assert_int_equal(e[2]->job_patch->n_clear, 2);
    assert_int_equal(e[2]->job_patch->clear[1], 33);
    assert_false(e[2]->job_patch->set->has_job_id);
    assert_int_equal(e[3]->job_purge, 9);
    assert_false(e[3]->has_kind);
    assert_int_equal(e[4]->step_put->step_id, STEP_BATCH);
    assert_int_equal(e[5]->step_patch->job_id, 8);
    assert_int_equal(e[5]->step_patch->n_clear, 1);
    assert_int_equal(e[7]->node_patch->n_clear, 1);
    assert_int_equal(e[8]->node_remove, 4);
    assert_string_equal(e[10]->part_patch->name, "debug");
    assert_int_equal(e[10]->part_patch->clear[0], 5);
    assert_string_equal(e[11]->part_remove, "old");
    assert_int_equal(e[12]->blob_put->data.len, 5);
    assert_int_equal(e[13]->blob_put->data.len, 0);
    tx_free(tx);
}

static void test_packing(void **state)
{
    Pst__Transaction *tx = one_of_each(), *again = repack(tx);

    (void)state;
    assert_true(pb_equal(&tx->base, &again->base));
    tx_free(tx);
    tx_free(again);
}

/* SET looks at its record once: making an event within it makes one. */
static void test_set_once(void **state)
{
    Pst__Transaction *tx = tx_new(T0);

    (void)state;
    SET(tx_job_patch(tx, EV(JOB_UPDATE), 5), nice, 7);
    assert_int_equal(tx->n_events, 1);
    assert_true(tx->events[0]->job_patch->set->has_nice);
    assert_int_equal(tx->events[0]->job_patch->set->nice, 7);
    tx_free(tx);
}

static void test_one_cluster_event(void **state)
{
    Pst__Transaction *tx = tx_new(T0);
    Pst__ClusterRecord *c = tx_cluster(tx);

    (void)state;
    tx_job_purge(tx, 1);
    assert_ptr_equal(tx_cluster(tx), c);
    assert_int_equal(tx->n_events, 2);
    tx_free(tx);
}

static void test_growth(void **state)
{
    Pst__Transaction *tx = tx_new(T0);

    (void)state;
    for (uint32_t i = 1; i <= 5000; i++)
        tx_job_purge(tx, i);
    assert_int_equal(tx->n_events, 5000);
    for (uint32_t i = 1; i <= 5000; i++)
        assert_int_equal(tx->events[i - 1]->job_purge, i);
    tx_free(tx);
}

static void test_small_things(void **state)
{
    Pst__Alloc *a = make_alloc(3, 2, 4, 100), *copy = tx_dup_alloc(a);

    (void)state;
    assert_null(tx_strdup(NULL));
    assert_null(tx_free(NULL));
    assert_true(pb_equal(&a->base, &copy->base));
    assert_ptr_not_equal(a->groups[0], copy->groups[0]);
    pst__alloc__free_unpacked(a, NULL);
    pst__alloc__free_unpacked(copy, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contents), cmocka_unit_test(test_packing),
        cmocka_unit_test(test_set_once), cmocka_unit_test(test_one_cluster_event),
        cmocka_unit_test(test_growth),   cmocka_unit_test(test_small_things),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
