/* test_sched_het.c - heterogeneous jobs in the scheduler: together or not at all */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "sched/sched.h"

#define NOW INT64_C(1700000000000000)
#define MINUTE INT64_C(60000000)
#define NODES 4u

static const char *const part_main[] = { "main" };
static const char *const part_gpu[] = { "gpu" };

static void put_part(struct sched *s, const char *name, const uint32_t *ids, size_t n)
{
    const struct sched_partition p = { .name = name,
                                       .node_ids = ids,
                                       .nnodes = n,
                                       .tier = 1,
                                       .job_factor = 1,
                                       .up = true,
                                       .max_time_min = SCHED_UNLIMITED,
                                       .max_nodes = SCHED_UNLIMITED };

    assert_int_equal(sched_partition_put(s, &p), 0);
}

/* Four nodes of four CPUs; the last is alone in a partition of its own. */
static struct sched *cluster_of(struct sched_params params)
{
    static const uint32_t ids[] = { 0, 1, 2, 3 };
    struct sched *s = NULL;

    params.select = SCHED_SELECT_CPU;
    params.bf_window_min = 1440;
    assert_int_equal(sched_new(&params, &s), 0);
    for (uint32_t i = 0; i < NODES; i++) {
        const struct sched_node n = { .id = i,
                                      .name = "n",
                                      .cpus = 4,
                                      .sockets = 1,
                                      .cores_per_socket = 4,
                                      .threads_per_core = 1,
                                      .mem_mib = 4000,
                                      .weight = 1,
                                      .schedulable = true };

        assert_int_equal(sched_node_put(s, &n), 0);
    }
    put_part(s, "main", ids, 3);
    put_part(s, "gpu", ids + 3, 1);
    return s;
}

static struct sched *cluster(bool backfill)
{
    return cluster_of((struct sched_params){ .backfill = backfill });
}

static struct sched_job job(uint32_t id, uint32_t tasks, const char *const *parts)
{
    return (struct sched_job){ .id = id,
                               .partitions = parts,
                               .npartitions = 1,
                               .submit_us = NOW,
                               .eligible_us = NOW,
                               .time_limit_min = 10,
                               .min_nodes = 1,
                               .num_tasks = tasks,
                               .cpus_per_task = 1 };
}

static void put(struct sched *s, struct sched_job j)
{
    assert_int_equal(sched_job_put(s, &j), 0);
}

static void put_het(struct sched *s, uint32_t leader, uint32_t k, uint32_t n, struct sched_job j)
{
    j.id = leader + k;
    j.het_id = leader;
    j.het_count = n;
    put(s, j);
}

struct outcome {
    uint32_t planned, planned_het;
    size_t starts;
    uint32_t started[16];
    uint32_t node[16];      /* first node of each start */
    enum sched_why why[64]; /* by job id: as told last */
    int64_t expected[64];
};

static void add(struct outcome *o, const struct sched_decisions *d)
{
    for (size_t i = 0; i < d->n; i++) {
        if (d->items[i].kind == SCHED_START) {
            o->started[o->starts] = d->items[i].job_id;
            o->node[o->starts++] = d->items[i].alloc.nodes[0].node_id;
        } else {
            o->why[d->items[i].job_id] = d->items[i].why;
            o->expected[d->items[i].job_id] = d->items[i].expected_us;
        }
    }
}

static struct outcome pass(struct sched *s, bool backfill)
{
    struct sched_decisions d = { 0 };
    struct outcome o = { 0 };
    int64_t wake;

    assert_int_equal(sched_pass(s, NOW, &d, &wake), 0);
    if (backfill)
        assert_int_equal(sched_backfill(s, NOW, &d), 0);
    add(&o, &d);
    o.planned = d.bf_started;
    o.planned_het = d.bf_het_started;
    sched_decisions_done(&d);
    return o;
}

static void confirm(struct sched *s, uint32_t id)
{
    sched_job_remove(s, id);
}

static void test_together(void **state)
{
    struct sched *s = cluster(true);
    struct outcome o;

    (void)state;
    put_het(s, 10, 0, 3, job(0, 1, part_main));
    put_het(s, 10, 1, 3, job(0, 4, part_gpu));
    o = pass(s, true);
    assert_int_equal(o.starts, 0); /* one is missing */
    put_het(s, 10, 2, 3, job(0, 2, part_main));
    o = pass(s, true);
    assert_int_equal(o.starts, 3);
    for (size_t i = 0; i < 3; i++) /* in a row, on nodes of their own */
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(o.node[i], o.node[k]);
    sched_free(s);
}

/* What the first would take is all that the others can have: they choose before it. */
static void test_choosy(void **state)
{
    static const uint32_t first[] = { 0 }, second[] = { 1 };
    struct sched *s = cluster(true);
    struct sched_job on_first = job(0, 1, part_main), on_second = on_first;
    struct outcome o;

    (void)state;
    on_first.req_nodes = first;
    on_second.req_nodes = second;
    on_first.nreq = on_second.nreq = 1;
    put_het(s, 10, 0, 3, job(0, 1, part_main));
    put_het(s, 10, 1, 3, on_first);
    put_het(s, 10, 2, 3, on_second);
    o = pass(s, true);
    assert_int_equal(o.starts, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(o.node[i], o.started[i] == 10 ? 2 : o.started[i] - 11);
    sched_free(s);
}

/* The second component waits: nothing of the first is held, and who comes later knows why. */
static void test_not_at_all(void **state)
{
    struct sched *s = cluster(true);
    struct outcome o;

    (void)state;
    put(s, job(1, 3, part_gpu));
    assert_int_equal(pass(s, true).starts, 1);
    put_het(s, 10, 0, 2, job(0, 1, part_main));
    put_het(s, 10, 1, 2, job(0, 2, part_gpu));
    o = pass(s, true);
    assert_int_equal(o.starts, 0);
    assert_int_equal(o.why[10], SCHED_WHY_RESOURCES);
    assert_int_equal(o.why[11], SCHED_WHY_RESOURCES);
    assert_int_equal(o.expected[10], NOW + 10 * MINUTE);
    assert_int_equal(o.expected[11], NOW + 10 * MINUTE);
    confirm(s, 1);
    o = pass(s, true);
    assert_int_equal(o.starts, 2);
    sched_free(s);
}

/* What would still run when the group starts keeps off its nodes; what ends before goes. */
static void test_backfill_beside(void **state)
{
    struct sched *s = cluster(true);
    struct sched_job late = job(20, 4, part_main), brief = job(21, 4, part_main);
    struct outcome o;

    (void)state;
    put(s, job(1, 4, part_gpu));
    assert_int_equal(pass(s, true).starts, 1);
    for (uint32_t k = 0; k < 3; k++)
        put_het(s, 10, k, 4, job(0, 4, part_main));
    put_het(s, 10, 3, 4, job(0, 1, part_gpu));
    late.time_limit_min = 11;
    brief.time_limit_min = 9;
    put(s, late);
    put(s, brief);
    o = pass(s, true);
    assert_int_equal(o.starts, 1);
    assert_int_equal(o.started[0], 21);
    assert_int_equal(o.why[20], SCHED_WHY_PRIORITY);
    sched_free(s);
}

/* What a plan starts beside a group that waits is counted: jobs, and components of groups. */
static void test_counted(void **state)
{
    struct sched *s = cluster(true);
    struct sched_job part = job(0, 4, part_main);
    struct outcome o;

    (void)state;
    put(s, job(1, 4, part_gpu));
    assert_int_equal(pass(s, true).starts, 1);
    for (uint32_t k = 0; k < 3; k++)
        put_het(s, 10, k, 4, job(0, 4, part_main));
    put_het(s, 10, 3, 4, job(0, 1, part_gpu));
    part.time_limit_min = 9;
    put_het(s, 30, 0, 2, part);
    put_het(s, 30, 1, 2, part);
    o = pass(s, true);
    assert_int_equal(o.starts, 2);
    assert_int_equal(o.planned, 2);
    assert_int_equal(o.planned_het, 2);
    sched_free(s);
}

static void test_strict_order(void **state)
{
    struct sched *s = cluster(false);
    struct outcome o;

    (void)state;
    put(s, job(1, 1, part_gpu));
    assert_int_equal(pass(s, false).starts, 1);
    put_het(s, 10, 0, 2, job(0, 1, part_main));
    put_het(s, 10, 1, 2, job(0, 4, part_gpu));
    put(s, job(20, 1, part_main));
    o = pass(s, false);
    assert_int_equal(o.starts, 0);
    assert_int_equal(o.why[20], SCHED_WHY_PRIORITY);
    confirm(s, 1);
    o = pass(s, false);
    assert_int_equal(o.starts, 3);
    assert_int_equal(o.started[2], 20);
    sched_free(s);
}

/* A component that can never run keeps its group waiting, and nobody else. */
static void test_impossible(void **state)
{
    struct sched *s = cluster(false);
    struct outcome o;

    (void)state;
    put_het(s, 10, 0, 2, job(0, 1, part_main));
    put_het(s, 10, 1, 2, job(0, 99, part_gpu));
    put(s, job(20, 1, part_main));
    put(s, job(21, 1, part_gpu));
    o = pass(s, false);
    assert_int_equal(o.starts, 2);
    assert_int_equal(o.why[10], SCHED_WHY_BAD_CONSTRAINTS);
    assert_int_equal(o.why[11], SCHED_WHY_BAD_CONSTRAINTS);
    sched_free(s);
}

static void test_refused(void **state)
{
    struct sched *s = cluster(true);

    (void)state;
    put_het(s, 10, 0, 2, job(0, 4, part_main));
    put_het(s, 10, 1, 2, job(0, 4, part_gpu));
    assert_int_equal(pass(s, true).starts, 2);
    assert_int_equal(pass(s, true).starts, 0);
    sched_job_refused(s, 10);
    assert_int_equal(pass(s, true).starts, 0); /* the other still counts as proposed */
    sched_job_refused(s, 11);
    assert_int_equal(pass(s, true).starts, 2);
    sched_free(s);
}

static struct sched_job job_of(uint32_t id, uint32_t tasks, uint32_t priority)
{
    struct sched_job j = job(id, tasks, part_main);

    j.priority = priority;
    return j;
}

/* Three nodes, and two that want two of them: who comes first?  Components of priorities 30 and 10
 * against a job between these. */
static void test_place(void **state)
{
    static const struct {
        enum sched_het_prio rule;
        uint32_t other;
        bool first;
    } rows[] = { { SCHED_HET_OWN, 29, true }, { SCHED_HET_OWN, 31, false },
                 { SCHED_HET_MAX, 29, true }, { SCHED_HET_MAX, 31, false },
                 { SCHED_HET_AVG, 19, true }, { SCHED_HET_AVG, 21, false },
                 { SCHED_HET_MIN, 9, true },  { SCHED_HET_MIN, 11, false } };

    (void)state;
    for (size_t i = 0; i < 2 * ARRAY_SIZE(rows); i++) {
        size_t k = i / 2;
        struct sched *s = cluster_of(
            (struct sched_params){ .het_prio = rows[k].rule, .multifactor = i % 2 == 1 });
        struct outcome o;

        put(s, job_of(20, 8, rows[k].other));
        put_het(s, 10, 0, 2, job_of(0, 4, 30));
        put_het(s, 10, 1, 2, job_of(0, 4, 10));
        o = pass(s, false);
        assert_int_equal(o.starts, rows[k].first ? 2 : 1);
        assert_int_equal(o.started[0], rows[k].first ? 10 : 20);
        sched_free(s);
    }
}

/* A component comes when the others are in the queue, and one is given another priority. */
static void test_place_moves(void **state)
{
    struct sched *s = cluster_of((struct sched_params){ .het_prio = SCHED_HET_MIN });

    (void)state;
    put(s, job_of(1, 12, 99));
    assert_int_equal(pass(s, false).starts, 1);
    put_het(s, 10, 0, 2, job_of(0, 4, 30));
    put(s, job_of(20, 8, 15));
    assert_int_equal(pass(s, false).starts, 0);
    put_het(s, 10, 1, 2, job_of(0, 4, 10));
    assert_int_equal(pass(s, false).starts, 0);
    put_het(s, 10, 1, 2, job_of(0, 4, 20));
    sched_job_remove(s, 1);
    assert_int_equal(pass(s, false).started[0], 10);
    sched_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_together),        cmocka_unit_test(test_not_at_all),
        cmocka_unit_test(test_backfill_beside), cmocka_unit_test(test_counted),
        cmocka_unit_test(test_strict_order),    cmocka_unit_test(test_impossible),
        cmocka_unit_test(test_refused),         cmocka_unit_test(test_choosy),
        cmocka_unit_test(test_place),           cmocka_unit_test(test_place_moves),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
