/* test_preempt_explain.c - which running jobs a waiting job may send away: what explanations say */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/cleanup.h"
#include "sched/explain/explain_preempt.h"
#include "sched/explain/sched_explain.h"
#include "sched/sched.h"

#define NOW INT64_C(1700000000000000)
#define SECOND INT64_C(1000000)
#define CPUS 8u

static const char *const parts[] = { "low", "never", "high", "elsewhere" };

/* Two nodes for the first three partitions, a third node for the last; 8 CPUs each. */
static struct sched *new_cluster(struct sched_preempt pre)
{
    static const uint32_t nodes[] = { 0, 1, 2 };
    struct sched_params params = {
        .select = SCHED_SELECT_CPU, .backfill = true, .bf_window_min = 1440, .preempt = pre
    };
    struct sched *s = NULL;

    assert_int_equal(sched_new(&params, &s), 0);
    for (uint32_t i = 0; i < ARRAY_SIZE(nodes); i++) {
        const struct sched_node n = { .id = i,
                                      .name = "n",
                                      .cpus = CPUS,
                                      .sockets = 1,
                                      .cores_per_socket = CPUS,
                                      .threads_per_core = 1,
                                      .mem_mib = 8000,
                                      .weight = 1,
                                      .schedulable = true };

        assert_int_equal(sched_node_put(s, &n), 0);
    }
    for (uint32_t i = 0; i < ARRAY_SIZE(parts); i++) {
        const struct sched_partition p = { .name = parts[i],
                                           .node_ids = i < 3 ? nodes : nodes + 2,
                                           .nnodes = i < 3 ? 2 : 1,
                                           .tier = i == 2   ? 3
                                                   : i == 3 ? 1
                                                            : 2 - (i == 0),
                                           .job_factor = 1,
                                           .up = true,
                                           .max_time_min = SCHED_UNLIMITED,
                                           .max_nodes = SCHED_UNLIMITED,
                                           .preempt_mode =
                                               i == 1 ? SCHED_MODE_OFF : SCHED_MODE_DEFAULT };

        assert_int_equal(sched_partition_put(s, &p), 0);
    }
    return s;
}

static void run_at(struct sched *s, uint32_t id, uint32_t part, uint32_t node, uint32_t first,
                   uint32_t n, int64_t start_us, uint32_t priority)
{
    uint64_t bits = ((UINT64_C(1) << n) - 1) << first;
    struct sched_alloc_node an = {
        .node_id = node, .cpus = n, .cpu_bits = &bits, .ncpu_words = 1, .tasks = n
    };
    struct sched_alloc a = { .nodes = &an, .nnodes = 1 };

    assert_int_equal(
        sched_job_running(s, id, parts[part], &a, start_us, NOW + 3600 * SECOND, false), 0);
    assert_int_equal(sched_job_rank(s, id, priority, NULL, false), 0);
}

static struct sched_job new_job(uint32_t id, uint32_t part, uint32_t tasks)
{
    return (struct sched_job){ .id = id,
                               .partitions = &parts[part],
                               .npartitions = 1,
                               .submit_us = NOW,
                               .eligible_us = NOW,
                               .time_limit_min = 10,
                               .min_nodes = 1,
                               .max_nodes = 1,
                               .num_tasks = tasks,
                               .cpus_per_task = 1 };
}

static struct explain_preempt explain_job(struct sched *s, const struct sched_job *j)
{
    struct sched_explanation x = { 0 };
    struct explain_preempt p;

    assert_int_equal(sched_explain(s, j, NULL, 0, NOW, &x), 0);
    assert_int_equal(x.nparts, 1);
    p = x.parts[0].preempt;
    sched_explanation_done(&x);
    return p;
}

static const struct sched_preempt by_part = { .type = SCHED_PREEMPT_PART,
                                              .mode = SCHED_MODE_REQUEUE,
                                              .exempt_s = 600,
                                              .has_min_exempt_priority = true,
                                              .min_exempt_priority = 1000 };

/* Each running job is counted once, for the first thing that keeps it. */
static void test_each_is_counted(void **state)
{
    struct sched *s = new_cluster(by_part);
    struct sched_job j = new_job(50, 2, CPUS);
    struct explain_preempt p;

    (void)state;
    run_at(s, 1, 0, 0, 0, 2, NOW - 5000 * SECOND, 1);    /* ends anyway */
    run_at(s, 2, 2, 0, 2, 2, NOW - 5000 * SECOND, 1);    /* of the same tier */
    run_at(s, 3, 1, 0, 4, 2, NOW - 5000 * SECOND, 1);    /* its partition says never */
    run_at(s, 4, 0, 0, 6, 1, NOW - 5000 * SECOND, 1000); /* its priority saves it */
    run_at(s, 5, 0, 0, 7, 1, NOW - 200 * SECOND, 1);     /* for 400 seconds more */
    run_at(s, 6, 0, 1, 0, 1, NOW - 100 * SECOND, 1);     /* for 500 */
    run_at(s, 7, 0, 1, 1, 1, NOW - 600 * SECOND, 999);   /* just not safe any more */
    run_at(s, 8, 3, 2, 0, 8, NOW - 5000 * SECOND, 1);    /* on a node that it may not use */
    sched_job_leaving(s, 1);
    p = explain_job(s, &j);
    assert_true(p.asked);
    assert_int_equal(p.jobs, 7);
    assert_int_equal(p.going, 1);
    assert_int_equal(p.equal, 1);
    assert_int_equal(p.off, 1);
    assert_int_equal(p.safe, 3);
    assert_int_equal(p.busy, 0);
    assert_int_equal(p.candidates, 1);
    assert_true(p.safe_until_us == NOW + 400 * SECOND);
    assert_false(p.waiting);
    assert_int_equal(p.nvictims, 0); /* that one alone makes no room */
    sched_free(s);
}

static void test_victims_are_named(void **state)
{
    struct sched *s = new_cluster(by_part);
    struct sched_job j = new_job(50, 2, CPUS);
    struct explain_preempt p;

    (void)state;
    run_at(s, 1, 2, 0, 0, 8, NOW - 5000 * SECOND, 1);
    run_at(s, 2, 0, 1, 0, 4, NOW - 5000 * SECOND, 1);
    run_at(s, 3, 0, 1, 4, 4, NOW - 5000 * SECOND, 2);
    p = explain_job(s, &j);
    assert_int_equal(p.candidates, 2);
    assert_int_equal(p.nvictims, 2);
    assert_int_equal(p.victims[0].job_id + p.victims[1].job_id, 5);
    assert_int_equal(p.victims[0].mode, SCHED_MODE_REQUEUE);
    assert_true(p.safe_until_us == INT64_MAX);
    j = new_job(51, 0, CPUS); /* nobody is below it */
    p = explain_job(s, &j);
    assert_int_equal(p.equal, 3);
    assert_int_equal(p.nvictims, 0);
    sched_free(s);
}

/* After the pass that chose them it waits for them to go, and says for whom. */
static void test_it_waits_for_them(void **state)
{
    _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 };
    struct sched *s = new_cluster(by_part);
    struct sched_job j = new_job(50, 2, CPUS), other = new_job(60, 2, CPUS);
    struct explain_preempt p;
    int64_t wake;

    (void)state;
    for (uint32_t i = 0; i < CPUS; i++) {
        run_at(s, 10 + i, 0, 0, i, 1, NOW - 5000 * SECOND, 1);
        run_at(s, 30 + i, 2, 1, i, 1, NOW - 5000 * SECOND, 1);
    }
    assert_int_equal(sched_job_put(s, &j), 0);
    assert_int_equal(sched_pass(s, NOW, &d, &wake), 0);
    assert_true(d.n > 0 && d.items[0].kind == SCHED_PREEMPT && d.items[0].nvictims == CPUS);
    p = explain_job(s, &j);
    assert_true(p.waiting);
    assert_int_equal(p.nvictims, CPUS);
    for (uint32_t i = 0; i < CPUS; i++) {
        assert_in_range(p.victims[i].job_id, 10, 10 + CPUS - 1);
        assert_int_equal(p.victims[i].mode, SCHED_MODE_REQUEUE);
    }
    p = explain_job(s, &other); /* these are promised to somebody else */
    assert_false(p.waiting);
    assert_int_equal(p.nvictims, 0);
    sched_free(s);
}

static void test_nobody_is_asked(void **state)
{
    struct sched *s = new_cluster((struct sched_preempt){ .type = SCHED_PREEMPT_NONE });
    struct sched_job j = new_job(50, 2, CPUS);
    struct explain_preempt p;

    (void)state;
    run_at(s, 1, 0, 0, 0, 8, NOW - 5000 * SECOND, 1);
    p = explain_job(s, &j);
    assert_false(p.asked);
    assert_int_equal(p.jobs, 0);
    sched_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_is_counted),
        cmocka_unit_test(test_victims_are_named),
        cmocka_unit_test(test_it_waits_for_them),
        cmocka_unit_test(test_nobody_is_asked),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
