/* test_hetjob.c - when the components of a heterogeneous job may be planned together */
#include "model_util.h"

#include "model/hetjob.h"

/* Jobs 10 to 12 are one. */
static void add_components(struct cluster *c)
{
    for (uint32_t k = 0; k < 3; k++) {
        Pst__Transaction *tx = tx_new(T0);
        Pst__JobRecord *r = put_job(tx, 10 + k);

        SET(r, het_job_id, 10);
        SET(r, het_offset, k);
        SET(r, het_count, 3);
        apply_ok(c, tx);
    }
}

static Pst__JobRecord *record_of(const struct cluster *c, uint32_t id)
{
    return cluster_job(c, id)->rec;
}

static void test_words(void **state)
{
    struct cluster *c = new_cluster();

    (void)state;
    add_components(c);
    add_job(c, 13);
    assert_true(het_is_leader(record_of(c, 10)));
    assert_true(het_is_follower(record_of(c, 12)));
    assert_false(het_is(record_of(c, 13)));
    assert_int_equal(het_group_id(record_of(c, 12)), 10);
    assert_int_equal(het_group_id(record_of(c, 13)), 0);
    assert_ptr_equal(het_component(c, record_of(c, 11), 2), cluster_job(c, 12));
    assert_null(het_component(c, record_of(c, 11), 3)); /* job 13 is another one's */
    assert_null(het_component(c, record_of(c, 13), 0));
    cluster_free(c);
}

static void test_latest_counts(void **state)
{
    struct cluster *c = new_cluster();
    Pst__JobRecord *last;

    (void)state;
    add_components(c);
    last = record_of(c, 12);
    assert_int_equal(het_eligible_at(c, record_of(c, 10)), 0);
    SET(record_of(c, 11), begin_us, T0 + 5 * SEC);
    SET(last, begin_us, T0 + 9 * SEC);
    assert_int_equal(het_eligible_at(c, record_of(c, 10)), T0 + 9 * SEC);
    last->dependency = strdup("afterok:5");
    assert_int_equal(het_eligible_at(c, record_of(c, 10)), INT64_MAX);
    free(last->dependency);
    last->dependency = NULL;
    SET(last, priority, 0); /* held */
    assert_int_equal(het_eligible_at(c, record_of(c, 10)), INT64_MAX);
    SET(last, priority, 1);
    SET(last, state_flags, JOB_FLAG(COMPLETING));
    assert_int_equal(het_eligible_at(c, record_of(c, 10)), INT64_MAX);
    SET(last, state_flags, 0);
    assert_int_equal(het_eligible_at(c, record_of(c, 10)), T0 + 9 * SEC);
    cluster_free(c);
}

/* A component that is gone keeps the others back: they would start without it. */
static void test_missing(void **state)
{
    struct cluster *c = new_cluster();

    (void)state;
    add_components(c);
    SET(record_of(c, 12), het_job_id, 99);
    assert_int_equal(het_eligible_at(c, record_of(c, 10)), INT64_MAX);
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_words),
                                        cmocka_unit_test(test_latest_counts),
                                        cmocka_unit_test(test_missing) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("hetjob", tests, NULL, NULL);
}
