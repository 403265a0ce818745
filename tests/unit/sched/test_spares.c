/* test_spares.c - expedited jobs: their place in the queue, their nodes, and the spares kept
 * for them */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "sched/explain/sched_explain.h"
#include "sched/select/nearpick.h"
#include "sched/rules/spares.h"
#include "sched/sched.h"
#include "sched/topo/topo.h"

#define NOW INT64_C(1700000000000000)
#define NODES 8u

static const char *const part_low[] = { "low" };
static const char *const part_high[] = { "high" };
static const uint32_t all[] = { 0, 1, 2, 3, 4, 5, 6, 7 };

static void put_node(struct sched *s, uint32_t id, bool up)
{
    const struct sched_node n = { .id = id,
                                  .name = "n",
                                  .cpus = 2,
                                  .sockets = 1,
                                  .cores_per_socket = 2,
                                  .threads_per_core = 1,
                                  .mem_mib = 1000,
                                  .weight = 1,
                                  .schedulable = up };

    assert_int_equal(sched_node_put(s, &n), 0);
}

static struct sched *cluster(uint32_t spares, bool backfill)
{
    const struct sched_params params = { .select = SCHED_SELECT_CORE,
                                         .backfill = true,
                                         .conservative = backfill,
                                         .bf_window_min = 1440,
                                         .spare_nodes = spares };
    struct sched *s = NULL;

    assert_int_equal(sched_new(&params, &s), 0);
    for (uint32_t i = 0; i < NODES; i++)
        put_node(s, i, true);
    for (uint32_t i = 0; i < 2; i++) {
        const struct sched_partition p = { .name = i ? "high" : "low",
                                           .node_ids = all,
                                           .nnodes = NODES,
                                           .tier = 1 + i * 9,
                                           .job_factor = 1,
                                           .up = true,
                                           .max_time_min = SCHED_UNLIMITED,
                                           .max_nodes = SCHED_UNLIMITED };

        assert_int_equal(sched_partition_put(s, &p), 0);
    }
    return s;
}

/* Two blocks of four nodes. */
static void put_blocks(struct sched *s)
{
    static const uint32_t sizes[] = { 4 };
    const struct topo_unit_spec units[] = { { .name = "b1", .nodes = all, .nnodes = 4 },
                                            { .name = "b2", .nodes = all + 4, .nnodes = 4 } };
    const struct topo_spec spec = { .name = "t",
                                    .kind = TOPO_BLOCK,
                                    .units = units,
                                    .nunits = 2,
                                    .block_sizes = sizes,
                                    .nblock_sizes = 1 };
    const struct topo_spec *const list[] = { &spec };

    assert_int_equal(sched_topologies_put(s, list, 1), 0);
}

static void put_job(struct sched *s, uint32_t id, bool high, uint32_t nodes, const uint32_t *near,
                    size_t nnear)
{
    const struct sched_job j = { .id = id,
                                 .partitions = high ? part_high : part_low,
                                 .npartitions = 1,
                                 .submit_us = NOW,
                                 .eligible_us = NOW,
                                 .time_limit_min = 10,
                                 .min_nodes = nodes,
                                 .max_nodes = nodes,
                                 .cpus_per_task = 1,
                                 .exclusive = true,
                                 .priority = 1000 - id,
                                 .expedite = near != NULL,
                                 .near_nodes = near,
                                 .nnear = nnear };

    assert_int_equal(sched_job_put(s, &j), 0);
}

/* The starts of a pass and a backfill, in order: "1:0,1;2:3;" */
static void expect_starts(struct sched *s, const char *text)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 };
    int64_t wake;

    assert_int_equal(sched_pass(s, NOW, &d, &wake), 0);
    assert_int_equal(sched_backfill(s, NOW, &d), 0);
    for (size_t i = 0; i < d.n; i++) {
        if (d.items[i].kind != SCHED_START)
            continue;
        strbuf_addf(&sb, "%u:", d.items[i].job_id);
        for (size_t k = 0; k < d.items[i].alloc.nnodes; k++)
            strbuf_addf(&sb, "%s%u", k ? "," : "", d.items[i].alloc.nodes[k].node_id);
        strbuf_addc(&sb, ';');
    }
    assert_string_equal(strbuf_str(&sb), text);
}

static void test_order(void **state)
{
    struct sched *s = cluster(0, false);

    (void)state;
    put_job(s, 1, true, 8, NULL, 0);
    put_job(s, 9, false, 8, all, 1); /* of a lower tier and priority, and goes first */
    expect_starts(s, "9:0,1,2,3,4,5,6,7;");
    sched_free(s);
}

/* Two of them compare as others do. */
static void test_order_of_two(void **state)
{
    struct sched *s = cluster(0, false);

    (void)state;
    put_job(s, 7, false, 8, all, 1);
    put_job(s, 6, false, 8, all, 1);
    expect_starts(s, "6:0,1,2,3,4,5,6,7;");
    sched_free(s);
}

/* What it had is kept for it while it waits for one node more, also from backfill and from jobs of
 * higher tiers; when it leaves, they go on. */
static void test_healthy_nodes(void **state)
{
    for (unsigned backfill = 0; backfill < 2; backfill++) {
        struct sched *s = cluster(0, backfill);
        static const uint32_t near[] = { 1, 2, 3, 4, 5, 6, 7 };

        put_node(s, 0, false);
        put_job(s, 5, false, 8, near, 7); /* never while n0 is down */
        put_job(s, 1, true, 1, NULL, 0);
        put_job(s, 2, false, 1, NULL, 0);
        expect_starts(s, "");
        expect_starts(s, "");
        sched_job_remove(s, 5);
        expect_starts(s, "1:1;2:2;");
        sched_free(s);
    }
    (void)state;
}

static void test_spares_of_a_partition(void **state)
{
    for (unsigned backfill = 0; backfill < 2; backfill++) {
        struct sched *s = cluster(2, backfill);
        static const uint32_t near[] = { 3 };

        for (uint32_t id = 1; id <= 7; id++)
            put_job(s, id, id % 2, 1, NULL, 0);
        expect_starts(s, "1:0;3:1;5:2;7:3;2:4;4:5;"); /* six of eight; 6 waits */
        sched_job_remove(s, 7);                       /* n3 is free: as a spare no more is needed */
        expect_starts(s, "6:3;");
        put_job(s, 20, false, 2, near, 1);
        expect_starts(s, "20:6,7;");
        put_job(s, 8, true, 1, NULL, 0);
        sched_job_remove(s, 1); /* of three nodes that come free, two are spares again */
        expect_starts(s, "");
        sched_job_remove(s, 3);
        expect_starts(s, "");
        sched_job_remove(s, 5);
        expect_starts(s, "8:0;");
        sched_free(s);
    }
    (void)state;
}

static void test_spares_of_blocks(void **state)
{
    struct sched *s = cluster(1, false);
    static const uint32_t near[] = { 4, 5, 6 };

    (void)state;
    put_blocks(s);
    for (uint32_t id = 1; id <= 4; id++)
        put_job(s, id, true, 1, NULL, 0);
    expect_starts(s, "1:0;2:1;3:2;4:4;");
    sched_job_remove(s, 4);
    put_node(s, 7, false); /* another is the spare of b2: its last idle one */
    put_job(s, 10, false, 3, near, 3);
    put_job(s, 11, true, 1, NULL, 0);
    expect_starts(s, "10:4,5,6;"); /* not n3, which is the spare of b1 */
    sched_job_remove(s, 10);
    put_node(s, 7, true);
    put_job(s, 12, false, 4, near, 3);
    expect_starts(s, "12:4,5,6,7;"); /* its nodes and the spare of their block */
    sched_free(s);
}

static void test_explained(void **state)
{
    struct sched *s = cluster(3, false);
    struct sched_explanation x = { 0 };
    const struct sched_job j = { .id = 1,
                                 .partitions = part_low,
                                 .npartitions = 1,
                                 .submit_us = NOW,
                                 .eligible_us = NOW,
                                 .time_limit_min = 10,
                                 .min_nodes = 8,
                                 .max_nodes = 8,
                                 .cpus_per_task = 1 };

    (void)state;
    assert_int_equal(sched_job_put(s, &j), 0);
    expect_starts(s, "");
    assert_int_equal(sched_explain(s, &j, NULL, 0, NOW, &x), 0);
    assert_int_equal(x.parts[0].causes[EXPLAIN_SPARE], 3);
    assert_int_equal(x.parts[0].causes[EXPLAIN_FREE], 5);
    sched_explanation_done(&x);
    sched_free(s);
}

/* A block that a spare makes too small says so. */
static void test_explained_blocks(void **state)
{
    struct sched *s = cluster(1, false);
    struct sched_explanation x = { 0 };
    const struct sched_job j = { .id = 1,
                                 .partitions = part_low,
                                 .npartitions = 1,
                                 .submit_us = NOW,
                                 .eligible_us = NOW,
                                 .time_limit_min = 10,
                                 .min_nodes = 4,
                                 .max_nodes = 4,
                                 .exclusive = true,
                                 .cpus_per_task = 1 };

    (void)state;
    put_blocks(s);
    put_node(s, 0, false);
    assert_int_equal(sched_job_put(s, &j), 0);
    expect_starts(s, "");
    assert_int_equal(sched_explain(s, &j, NULL, 0, NOW, &x), 0);
    assert_int_equal(x.parts[0].nunits, 2);
    for (uint32_t i = 0; i < 2; i++) {
        const struct explain_unit *u = &x.parts[0].units[i];
        bool first = u->first[1] == '1';

        assert_int_equal(u->nmissing, first ? 2 : 1);
        for (uint32_t k = 0; k < u->nmissing; k++) {
            assert_int_equal(u->kept[k], u->missing[k] == 3 || u->missing[k] == 7);
            assert_int_equal(u->down[k], u->missing[k] == 0);
        }
    }
    sched_explanation_done(&x);
    sched_free(s);
}

/* Asked before any pass: a job that needs a spare does not start now, one that needs none does. */
static void test_asked_first(void **state)
{
    for (unsigned i = 0; i < 4; i++) {
        struct sched *s = cluster(2, i & 1);
        struct sched_job j = { .id = 1,
                               .partitions = part_low,
                               .npartitions = 1,
                               .submit_us = NOW,
                               .eligible_us = NOW,
                               .time_limit_min = 10,
                               .min_nodes = i & 2 ? 7 : 6,
                               .max_nodes = i & 2 ? 7 : 6,
                               .cpus_per_task = 1,
                               .exclusive = true };
        struct sched_decision d = { 0 };

        assert_int_equal(sched_when(s, &j, NOW, &d), 0);
        assert_true((d.expected_us == NOW) == (j.min_nodes == 6));
        sched_decision_done(&d);
        sched_free(s);
    }
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_order_of_two),
        cmocka_unit_test(test_healthy_nodes),
        cmocka_unit_test(test_spares_of_a_partition),
        cmocka_unit_test(test_spares_of_blocks),
        cmocka_unit_test(test_asked_first),
        cmocka_unit_test(test_explained),
        cmocka_unit_test(test_explained_blocks),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
