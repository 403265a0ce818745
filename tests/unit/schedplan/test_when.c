/* test_when.c - when and where would a job start? */
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

static const struct sched_params engines[] = { { .bf_resolution_s = 60 },
                                               { .bf_resolution_s = 60, .conservative = true } };

/* The minute from now at which it would start, -1 = never; and why not. */
static int minute_of(struct sched *s, struct sched_job j, enum sched_why *ret_why)
{
    _cleanup_val_(sched_decision_done) struct sched_decision d = { 0 };
    uint32_t pending = sched_pending(s);

    assert_int_equal(sched_when(s, &j, NOW, &d), 0);
    assert_int_equal(d.kind, SCHED_EXPECT);
    assert_int_equal(d.job_id, j.id);
    *ret_why = d.why;
    assert_null(job_find(s, j.id)); /* it is not entered */
    assert_int_equal(sched_pending(s), pending);
    if (!d.expected_us) {
        assert_int_equal(d.nexpected, 0);
        return -1;
    }
    assert_int_equal(d.nexpected, d.alloc.nnodes);
    for (size_t i = 0; i < d.nexpected; i++)
        assert_int_equal(d.expected_nodes[i], d.alloc.nodes[i].node_id);
    assert_non_null(d.partition);
    return (int)((d.expected_us - NOW) / MINUTE);
}

static void test_now_and_later(void **state)
{
    enum sched_why why;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(engines); i++) {
        struct sched *s = inner_cluster(engines[i], 2, 8);
        struct sched_job j = inner_job(9, MID, 4);

        (void)inner_run(s, 100, MID, 0, 0xff, 0, 30);
        (void)inner_run(s, 101, MID, 1, 0x0f, 0, 60);
        assert_int_equal(minute_of(s, j, &why), 0);
        assert_int_equal(why, SCHED_WHY_NONE);
        j.num_tasks = 5;
        assert_in_range(minute_of(s, j, &why), 30, 31);
        j.min_nodes = j.max_nodes = 2;
        j.num_tasks = 16;
        assert_in_range(minute_of(s, j, &why), 60, 61);
        j.eligible_us = NOW + 90 * MINUTE; /* not before */
        assert_in_range(minute_of(s, j, &why), 90, 91);
        sched_free(s);
    }
}

/* Behind the jobs that wait. */
static void test_behind(void **state)
{
    enum sched_why why;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(engines); i++) {
        struct sched *s = inner_cluster(engines[i], 1, 8);
        struct sched_job head = inner_job(1, MID, 8), j = inner_job(9, MID, 8);

        (void)inner_run(s, 100, MID, 0, 0xff, 0, 30);
        head.time_limit_min = 60;
        (void)inner_put(s, head);
        if (engines[i].conservative)
            assert_in_range(minute_of(s, j, &why), 90, 92);
        j.num_tasks = 1;
        j.time_limit_min = 120;
        assert_true(minute_of(s, j, &why) != 0); /* the node is full */
        sched_free(s);
    }
}

static void test_never(void **state)
{
    const uint32_t first[] = { 0 };
    struct sched_partition low = { .name = "low",
                                   .node_ids = first,
                                   .nnodes = 1,
                                   .tier = 1,
                                   .up = true,
                                   .max_time_min = 5,
                                   .max_nodes = SCHED_UNLIMITED };
    enum sched_why why;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(engines); i++) {
        struct sched *s = inner_cluster(engines[i], 2, 8);

        assert_int_equal(minute_of(s, inner_job(9, MID, 9), &why), -1);
        assert_int_equal(why, SCHED_WHY_BAD_CONSTRAINTS);
        assert_int_equal(sched_partition_put(s, &low), 0);
        assert_int_equal(minute_of(s, inner_job(9, LOW, 1), &why), -1);
        assert_int_equal(why, SCHED_WHY_PART_TIME_LIMIT);
        sched_free(s);
    }
}

/* A partition that is down for a while has a start to tell; one that takes no job has none. */
static void test_closed(void **state)
{
    const uint32_t first[] = { 0 };
    struct sched_partition low = { .name = "low",
                                   .node_ids = first,
                                   .nnodes = 1,
                                   .tier = 1,
                                   .max_time_min = SCHED_UNLIMITED,
                                   .max_nodes = SCHED_UNLIMITED };
    enum sched_why why;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(engines); i++) {
        struct sched *s = inner_cluster(engines[i], 1, 8);

        low.inactive = false;
        assert_int_equal(sched_partition_put(s, &low), 0);
        assert_int_equal(minute_of(s, inner_job(9, LOW, 1), &why), 0);
        low.inactive = true;
        assert_int_equal(sched_partition_put(s, &low), 0);
        assert_int_equal(minute_of(s, inner_job(9, LOW, 1), &why), -1);
        assert_int_equal(why, SCHED_WHY_PART_INACTIVE);
        sched_free(s);
    }
}

/* The soonest of its partitions. */
static void test_partitions(void **state)
{
    const uint32_t second[] = { 1 };
    struct sched_partition mid = { .name = "mid",
                                   .node_ids = second,
                                   .nnodes = 1,
                                   .tier = 2,
                                   .up = true,
                                   .max_time_min = SCHED_UNLIMITED,
                                   .max_nodes = SCHED_UNLIMITED };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(engines); i++) {
        struct sched *s = inner_cluster(engines[i], 2, 8);
        struct sched_job j = inner_job(9, LOW, 8);
        _cleanup_val_(sched_decision_done) struct sched_decision d = { 0 };
        const char *const both[] = { "mid", "low" };

        assert_int_equal(sched_partition_put(s, &mid), 0);
        (void)inner_run(s, 100, LOW, 0, 0xff, 0, 30);
        (void)inner_run(s, 101, LOW, 1, 0xff, 0, 60);
        j.partitions = both;
        j.npartitions = 2;
        assert_int_equal(sched_when(s, &j, NOW, &d), 0);
        assert_string_equal(d.partition, "low");
        assert_int_equal(d.nexpected, 1);
        assert_int_equal(d.expected_nodes[0], 0);
        sched_free(s);
    }
}

/* While the controller starts, nodes that have not called yet count as if they had; for the
 * question only. */
static void test_awaited(void **state)
{
    struct sched_node n = { .id = 0,
                            .name = "n",
                            .cpus = 8,
                            .sockets = 1,
                            .cores_per_socket = 8,
                            .threads_per_core = 1,
                            .mem_mib = 4000,
                            .weight = 1,
                            .awaited = true };
    enum sched_why why;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(engines); i++) {
        struct sched *s = inner_cluster(engines[i], 1, 8);
        _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 };
        int64_t wake;

        assert_int_equal(sched_node_put(s, &n), 0);
        assert_int_equal(minute_of(s, inner_job(9, LOW, 8), &why), 0);
        (void)inner_put(s, inner_job(1, LOW, 8));
        assert_int_equal(sched_pass(s, NOW, &d, &wake), 0);
        assert_null(inner_decided(&d, SCHED_START, 1));
        sched_job_remove(s, 1);
        n.awaited = false; /* down for good */
        assert_int_equal(sched_node_put(s, &n), 0);
        assert_int_equal(minute_of(s, inner_job(9, LOW, 8), &why), -1);
        assert_int_equal(why, SCHED_WHY_NODES_UNAVAILABLE);
        n.awaited = true;
        sched_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_now_and_later), cmocka_unit_test(test_behind),
        cmocka_unit_test(test_never),         cmocka_unit_test(test_closed),
        cmocka_unit_test(test_partitions),    cmocka_unit_test(test_awaited),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
