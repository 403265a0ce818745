/* test_pass.c - the quick pass: what it starts, where it stops, and when it wants to be called */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "sched/sched.h"

#define NOW INT64_C(1700000000000000)
#define MINUTE INT64_C(60000000)
#include "sched_inner.h"

/* Where one pass starts the job: its node, or -1 and *ret_why. */
static int started_on(const struct sched_decisions *d, uint32_t id)
{
    const struct sched_decision *x = inner_decided(d, SCHED_START, id);

    return x ? (int)x->alloc.nodes[0].node_id : -1;
}

static enum sched_why why_of(const struct sched_decisions *d, uint32_t id)
{
    const struct sched_decision *x = inner_decided(d, SCHED_EXPECT, id);

    return x ? x->why : SCHED_WHY_NONE;
}

/* A partition stops at its first job that does not fit; lower ones do not get its nodes. */
static void test_stops(void **state)
{
    struct sched *s = inner_cluster((struct sched_params){ 0 }, 2, 4);
    _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 }, again = { 0 };
    int64_t wake = 0;

    (void)state;
    (void)inner_put(s, inner_job(1, HIGH, 3));
    (void)inner_put(s, inner_job(2, HIGH, 3));
    (void)inner_put(s, inner_job(3, HIGH, 3)); /* one CPU a node is left */
    (void)inner_put(s, inner_job(4, HIGH, 1));
    (void)inner_put(s, inner_job(5, LOW, 1));
    assert_int_equal(sched_pass(s, NOW, &d, &wake), 0);
    assert_int_equal(started_on(&d, 1), 0);
    assert_int_equal(started_on(&d, 2), 1);
    assert_int_equal(why_of(&d, 3), SCHED_WHY_RESOURCES);
    assert_int_equal(why_of(&d, 4), SCHED_WHY_PRIORITY);
    assert_int_equal(why_of(&d, 5), SCHED_WHY_NODES_UNAVAILABLE);
    assert_true(wake == INT64_MAX);
    assert_int_equal(d.started, 2);
    assert_int_equal(d.queue_len, 5);
    assert_int_equal(d.exit, SCHED_EXIT_QUEUE);
    assert_int_equal(sched_pass(s, NOW + MINUTE, &again, &wake), 0);
    assert_int_equal(again.n, 0); /* each was told */
    assert_int_equal(again.queue_len, 3);
    sched_free(s);
}

/* What was proposed counts as taken until it is refused. */
static void test_refused(void **state)
{
    struct sched *s = inner_cluster((struct sched_params){ 0 }, 1, 4);
    _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 }, again = { 0 };
    int64_t wake;

    (void)state;
    (void)inner_put(s, inner_job(1, LOW, 4));
    assert_int_equal(sched_pass(s, NOW, &d, &wake), 0);
    assert_int_equal(started_on(&d, 1), 0);
    assert_int_equal(s->free_cpus, 0);
    assert_int_equal(sched_pending(s), 0);
    sched_job_refused(s, 1);
    assert_int_equal(s->free_cpus, 4);
    assert_int_equal(sched_pending(s), 1);
    sched_job_refused(s, 1); /* twice is once */
    sched_job_refused(s, 99);
    assert_int_equal(sched_pending(s), 1);
    assert_int_equal(sched_pass(s, NOW, &again, &wake), 0);
    assert_int_equal(started_on(&again, 1), 0);
    sched_free(s);
}

static void test_wake(void **state)
{
    struct sched *s = inner_cluster((struct sched_params){ 0 }, 1, 4);
    _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 }, later = { 0 };
    struct sched_job j = inner_job(1, LOW, 1);
    int64_t wake;

    (void)state;
    j.eligible_us = NOW + 5 * MINUTE;
    (void)inner_put(s, j);
    j.id = 2;
    j.eligible_us = INT64_MAX; /* held */
    (void)inner_put(s, j);
    assert_int_equal(sched_pass(s, NOW, &d, &wake), 0);
    assert_true(wake == NOW + 5 * MINUTE);
    assert_int_equal(d.started, 0);
    assert_int_equal(sched_pass(s, NOW + 5 * MINUTE, &later, &wake), 0);
    assert_int_equal(started_on(&later, 1), 0);
    assert_int_equal(started_on(&later, 2), -1);
    sched_free(s);
}

/* default_queue_depth, partition_job_depth: so many of each partition; sched_max_job_start. */
static void test_depth(void **state)
{
    static const struct sched_params params[] = {
        { .default_queue_depth = 2 },
        { .partition_job_depth = 2 },
        { .default_queue_depth = 9, .partition_job_depth = 2 },
        { .default_queue_depth = 2, .partition_job_depth = 9 },
        { .sched_max_job_start = 2 }
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(params); i++) {
        bool starts = params[i].sched_max_job_start;
        struct sched *s = inner_cluster(params[i], 1, 8);
        _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 }, more = { 0 };
        int64_t wake;

        for (uint32_t id = 1; id <= 3; id++)
            (void)inner_put(s, inner_job(id, LOW, 1));
        (void)inner_put(s, inner_job(4, HIGH, 1));
        assert_int_equal(sched_pass(s, NOW, &d, &wake), 0);
        assert_int_equal(d.started, starts ? 2 : 3);
        assert_int_equal(started_on(&d, 4), 0);
        assert_int_equal(started_on(&d, 3), -1);
        assert_int_equal(d.exit, starts ? SCHED_EXIT_STARTS : SCHED_EXIT_DEPTH);
        assert_true(wake == NOW); /* go on at once */
        assert_int_equal(sched_pass(s, NOW, &more, &wake), 0);
        assert_int_equal(started_on(&more, 3), 0);
        assert_true(wake == INT64_MAX);
        sched_free(s);
    }
}

/* A job whose licences are missing holds up no other. */
static void test_licences(void **state)
{
    const struct sched_lic_req matlab = { .name = "matlab", .count = 2 };
    struct sched *s = inner_cluster((struct sched_params){ 0 }, 1, 8);
    _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 }, later = { 0 };
    struct sched_job j = inner_job(1, LOW, 1);
    int64_t wake;

    (void)state;
    assert_int_equal(sched_license_put(s, "matlab", 1), 0);
    j.licenses = &matlab;
    j.nlicenses = 1;
    (void)inner_put(s, j);
    (void)inner_put(s, inner_job(2, LOW, 1));
    assert_int_equal(sched_pass(s, NOW, &d, &wake), 0);
    assert_int_equal(why_of(&d, 1), SCHED_WHY_LICENSES);
    assert_int_equal(started_on(&d, 2), 0);
    assert_int_equal(sched_license_put(s, "matlab", 2), 0);
    assert_int_equal(sched_pass(s, NOW, &later, &wake), 0);
    assert_int_equal(started_on(&later, 1), 0);
    assert_int_equal(sched_license_used(s, "matlab"), 2);
    assert_string_equal(inner_decided(&later, SCHED_START, 1)->licenses[0].name, "matlab");
    sched_free(s);
}

/* An expedited job comes before all others, whatever their partition. */
static void test_expedited(void **state)
{
    struct sched *s = inner_cluster((struct sched_params){ 0 }, 1, 4);
    _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 };
    struct sched_job j = inner_job(2, LOW, 4);
    int64_t wake;

    (void)state;
    (void)inner_put(s, inner_job(1, HIGH, 4));
    j.expedite = true;
    (void)inner_put(s, j);
    assert_int_equal(sched_pass(s, NOW, &d, &wake), 0);
    assert_int_equal(started_on(&d, 2), 0);
    assert_int_equal(started_on(&d, 1), -1);
    sched_free(s);
}

/* Its partition is down, inactive, or grants less; it could be no other. */
static void test_closed(void **state)
{
    const uint32_t ids[] = { 0 };
    struct sched_partition low = { .name = "low",
                                   .node_ids = ids,
                                   .nnodes = 1,
                                   .tier = 1,
                                   .max_time_min = SCHED_UNLIMITED,
                                   .max_nodes = SCHED_UNLIMITED };
    struct sched *s = inner_cluster((struct sched_params){ 0 }, 1, 4);
    _cleanup_val_(sched_decisions_done) struct sched_decisions down = { 0 }, inactive = { 0 },
                                                               shorter = { 0 }, none = { 0 };
    int64_t wake;

    (void)state;
    assert_int_equal(sched_partition_put(s, &low), 0);
    (void)inner_put(s, inner_job(1, LOW, 1));
    assert_int_equal(sched_pass(s, NOW, &down, &wake), 0);
    assert_int_equal(why_of(&down, 1), SCHED_WHY_PART_DOWN);
    low.inactive = true;
    assert_int_equal(sched_partition_put(s, &low), 0);
    assert_int_equal(sched_pass(s, NOW, &inactive, &wake), 0);
    assert_int_equal(why_of(&inactive, 1), SCHED_WHY_PART_INACTIVE);
    low.inactive = false;
    low.up = true;
    low.max_time_min = 9;
    assert_int_equal(sched_partition_put(s, &low), 0);
    assert_int_equal(sched_pass(s, NOW, &shorter, &wake), 0);
    assert_int_equal(why_of(&shorter, 1), SCHED_WHY_PART_TIME_LIMIT);
    (void)inner_put(s, inner_job(2, MID, 5)); /* of a node's four CPUs */
    assert_int_equal(sched_pass(s, NOW, &none, &wake), 0);
    assert_int_equal(why_of(&none, 2), SCHED_WHY_BAD_CONSTRAINTS);
    sched_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stops),    cmocka_unit_test(test_refused),
        cmocka_unit_test(test_wake),     cmocka_unit_test(test_depth),
        cmocka_unit_test(test_licences), cmocka_unit_test(test_expedited),
        cmocka_unit_test(test_closed),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
