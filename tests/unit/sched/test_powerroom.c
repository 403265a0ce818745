/* test_powerroom.c - max_powered_nodes: jobs start on nodes without power while there is room */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/select/powerroom.h"
#include "sched/sched.h"

#define NOW INT64_C(1700000000000000)

#include "sched_util.h"

#define NODES 6u

static void put_node(struct sched *s, uint32_t id, bool off, bool external)
{
    const struct sched_node n = { .id = id,
                                  .name = "n",
                                  .cpus = 2,
                                  .sockets = 1,
                                  .cores_per_socket = 2,
                                  .threads_per_core = 1,
                                  .mem_mib = 4000,
                                  .weight = off ? 100 : 1,
                                  .off = off,
                                  .external = external,
                                  .schedulable = true };

    assert_int_equal(sched_node_put(s, &n), 0);
}

/* Node 0 is up, 5 is for others, the rest is off. */
static struct sched *cloud(uint32_t most, bool conservative)
{
    struct sched *s = util_cluster(
        (struct sched_params){ .max_powered = most, .conservative = conservative }, NODES, 2, 0);

    for (uint32_t i = 0; i < NODES; i++)
        put_node(s, i, i > 0 && i < 5, i == 5);
    return s;
}

static struct sched_job whole(uint32_t id, uint32_t nodes)
{
    struct sched_job j = util_job(id);

    j.min_nodes = j.max_nodes = nodes;
    j.num_tasks = 2 * nodes;
    return j;
}

/* A pass and a backfill: a bit for each job that starts. */
static uint32_t starts(struct sched *s)
{
    struct sched_decisions d = { 0 };
    uint32_t bits = 0;
    int64_t wake;

    assert_int_equal(sched_pass(s, NOW, &d, &wake), 0);
    assert_int_equal(sched_backfill(s, NOW, &d), 0);
    for (size_t i = 0; i < d.n; i++)
        if (d.items[i].kind == SCHED_START)
            bits |= 1u << d.items[i].job_id;
    sched_decisions_done(&d);
    return bits;
}

static void test_limit(void **state)
{
    for (int conservative = 0; conservative < 2; conservative++) {
        struct sched *s = cloud(3, conservative);

        (void)state;
        put(s, whole(1, 1)); /* on the node that is up */
        put(s, whole(2, 3)); /* would be the second to the fourth */
        put(s, whole(3, 2));
        put(s, whole(4, 1));
        assert_int_equal(starts(s), 1u << 1 | 1u << 3);
        assert_int_equal(starts(s), 0); /* proposed jobs hold their room */
        sched_job_remove(s, 3);         /* its nodes were not powered up yet */
        assert_int_equal(starts(s), 1u << 4);
        sched_free(s);
    }
}

static void test_room_comes_back(void **state)
{
    struct sched *s = cloud(2, true);

    (void)state;
    put(s, whole(1, 1));
    put(s, whole(2, 1));
    put(s, whole(3, 1));
    assert_int_equal(starts(s), 1u << 1 | 1u << 2);
    sched_job_remove(s, 1);
    assert_int_equal(starts(s), 1u << 3); /* on the node that is up */
    put(s, whole(4, 1));
    assert_int_equal(starts(s), 0);
    sched_job_remove(s, 3);
    put_node(s, 0, true, false); /* it is powered down */
    assert_int_equal(starts(s), 1u << 4);
    sched_free(s);
}

static void test_no_limit(void **state)
{
    struct sched *s = cloud(0, true);

    (void)state;
    put(s, whole(1, 5));
    assert_int_equal(starts(s), 1u << 1);
    sched_free(s);
}

/* All components together. */
static void test_het(void **state)
{
    for (uint32_t most = 2; most <= 3; most++) {
        struct sched *s = cloud(most, true);

        (void)state;
        for (uint32_t i = 1; i <= 3; i++) {
            struct sched_job j = whole(i, 1);

            j.het_id = 1;
            j.het_count = 3;
            put(s, j);
        }
        assert_int_equal(starts(s), most == 3 ? 0xe : 0);
        sched_free(s);
    }
}

static void test_count(void **state)
{
    struct sched *s = cloud(3, true);
    struct sched_alloc_node nodes[] = { { .node_id = 0 }, { .node_id = 1 }, { .node_id = 2 } };
    struct sched_alloc a = { .nodes = nodes, .nnodes = 3 };
    uint32_t more = 0;

    (void)state;
    assert_false(powerroom_lacks(s, &a, NULL)); /* one is up, two more */
    assert_false(powerroom_lacks(s, &a, &more));
    assert_int_equal(more, 2);
    assert_true(powerroom_lacks(s, &a, &more)); /* beside those */
    a.nnodes = 1;
    more = 9;
    assert_true(powerroom_lacks(s, &a, &more)); /* it needs none, the others do */
    sched_free(s);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limit),    cmocka_unit_test(test_room_comes_back),
        cmocka_unit_test(test_no_limit), cmocka_unit_test(test_het),
        cmocka_unit_test(test_count),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
