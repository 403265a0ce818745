/* test_sched_explain.c - reasons counted by cause on hand-made clusters; and the property that
 * every change named really starts the job at once in the same state */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/explain/sched_explain.h"

#define MIN_US INT64_C(60000000)
#define NOW (INT64_C(28333334) * MIN_US) /* a full minute: plans of all jobs are made of these */

static const char *const main_part[] = { "main" }, *const both_parts[] = { "main", "side" };

static bool conservative; /* the kind of backfill that is explained */

static struct sched *new_sched(uint32_t nnodes, uint32_t cpus)
{
    struct sched_params params = { .select = SCHED_SELECT_CORE,
                                   .select_memory = true,
                                   .backfill = true,
                                   .conservative = conservative,
                                   .bf_window_min = 100000 };
    struct sched *s;
    uint32_t ids[64];

    assert_int_equal(sched_new(&params, &s), 0);
    for (uint32_t i = 0; i < nnodes; i++) {
        struct sched_gres_spec gpu = { .name = "gpu", .count = 2, .indexed = true };
        struct sched_node n = { .id = i,
                                .name = "n",
                                .cpus = cpus,
                                .sockets = 1,
                                .cores_per_socket = cpus,
                                .threads_per_core = 1,
                                .mem_mib = 1000,
                                .weight = 1,
                                .schedulable = true,
                                .features = i % 2 ? "odd" : "even",
                                .gres = &gpu,
                                .ngres = i < 2 };

        ids[i] = i;
        assert_int_equal(sched_node_put(s, &n), 0);
    }
    for (int k = 0; k < 2; k++) {
        struct sched_partition p = { .name = both_parts[k],
                                     .node_ids = ids + (k ? nnodes - 1 : 0),
                                     .nnodes = k ? 1 : nnodes - 1,
                                     .tier = 1,
                                     .job_factor = 1,
                                     .up = true,
                                     .max_time_min = SCHED_UNLIMITED,
                                     .max_nodes = SCHED_UNLIMITED };

        assert_int_equal(sched_partition_put(s, &p), 0);
    }
    return s;
}

static struct sched_job job_of(uint32_t id, uint32_t nodes, uint32_t minutes)
{
    return (struct sched_job){ .id = id,
                               .partitions = main_part,
                               .npartitions = 1,
                               .submit_us = NOW - 10 + id,
                               .time_limit_min = minutes,
                               .min_nodes = nodes,
                               .cpus_per_task = 1,
                               .ntasks_per_node = 4 };
}

/* Run passes until nothing starts; gives how many did, and whether `id` is one of them. */
static uint32_t settle(struct sched *s, int64_t now, uint32_t id, bool *ret_started, bool refuse)
{
    uint32_t started = 0, round;

    *ret_started = false;
    for (round = 0; round < 20; round++) {
        struct sched_decisions d = { 0 };
        uint32_t before = started;
        int64_t wake;

        assert_int_equal(sched_pass(s, now, &d, &wake), 0);
        assert_int_equal(sched_backfill(s, now, &d), 0);
        for (size_t i = 0; i < d.n; i++) {
            if (d.items[i].kind != SCHED_START)
                continue;
            started++;
            *ret_started |= d.items[i].job_id == id;
            if (refuse)
                sched_job_refused(s, d.items[i].job_id);
        }
        sched_decisions_done(&d);
        if (started == before || refuse)
            break;
    }
    return started;
}

static struct sched_explanation explain(struct sched *s, const struct sched_job *j)
{
    struct sched_explanation x;
    static char copies[2][16];
    const char *const others[] = { copies[0], copies[1] };

    for (size_t i = 0; i < 2; i++)
        snprintf(copies[i], sizeof(copies[i]), "%s", both_parts[i]);
    assert_int_equal(sched_explain(s, j, others, 2, NOW, &x), 0);
    memset(copies, '?', sizeof(copies)); /* an explanation keeps nothing of its caller's */
    return x;
}

static const struct explain_change *find(const struct sched_explanation *x,
                                         enum explain_change_kind kind)
{
    for (size_t i = 0; i < x->nchanges; i++)
        if (x->changes[i].kind == kind)
            return &x->changes[i];
    return NULL;
}

/* Six nodes, five of them in main: two held by job 1 for 60 minutes, job 2 waits for five. */
static struct sched *busy_world(void)
{
    struct sched *s = new_sched(6, 4);
    struct sched_job first = job_of(1, 2, 60), second = job_of(2, 5, 60);
    bool started;

    assert_int_equal(sched_job_put(s, &first), 0);
    assert_int_equal(sched_job_put(s, &second), 0);
    assert_int_equal(settle(s, NOW, 1, &started, false), 1);
    assert_true(started);
    return s;
}

static void test_head(void **state)
{
    struct sched *s = busy_world();
    struct sched_job second = job_of(2, 5, 60);
    struct sched_explanation x = explain(s, &second);

    (void)state;
    assert_true(x.settled && !x.starts_now);
    assert_int_equal(x.nparts, 1);
    assert_int_equal(x.parts[0].why, SCHED_WHY_RESOURCES);
    assert_int_equal(x.parts[0].place, 1);
    assert_int_equal(x.parts[0].queued, 1);
    assert_int_equal(x.parts[0].total, 5);
    assert_int_equal(x.parts[0].suitable, 5);
    assert_int_equal(x.parts[0].causes[EXPLAIN_HELD], 2);
    assert_int_equal(x.parts[0].causes[EXPLAIN_FREE], 3);
    assert_int_equal(x.parts[0].nholders, 1);
    assert_int_equal(x.parts[0].holders[0].job_id, 1);
    assert_int_equal(x.parts[0].holders[0].nodes, 2);
    assert_int_equal(x.parts[0].expected_us, NOW + 60 * MIN_US);
    assert_int_equal(x.parts[0].nexpected, 5);
    assert_non_null(find(&x, CHANGE_NODES));
    assert_int_equal(find(&x, CHANGE_NODES)->value, 3);
    assert_null(find(&x, CHANGE_TIME));
    sched_explanation_done(&x);
    sched_free(s);
}

static void test_behind(void **state)
{
    struct sched *s = busy_world();
    struct sched_job third = job_of(3, 1, 90);
    struct sched_explanation x;
    bool started;

    (void)state;
    assert_int_equal(sched_job_put(s, &third), 0);
    assert_int_equal(settle(s, NOW, 3, &started, false), 0);
    x = explain(s, &third);
    assert_int_equal(x.parts[0].place, 2);
    assert_int_equal(x.parts[0].queued, 2);
    assert_int_equal(x.parts[0].causes[EXPLAIN_KEPT], 3);
    assert_int_equal(x.parts[0].causes[EXPLAIN_HELD], 2);
    assert_int_equal(x.parts[0].kept_for, 2);
    assert_int_equal(x.parts[0].kept_us, NOW + 60 * MIN_US);
    /* The reservation of a head is held for ever when planning; places end. */
    assert_int_equal(x.parts[0].expected_us, conservative ? NOW + 120 * MIN_US : 0);
    assert_non_null(find(&x, CHANGE_TIME));
    assert_int_equal(find(&x, CHANGE_TIME)->value, 60);
    assert_int_equal(find(&x, CHANGE_TIME)->before_job, 2);
    assert_non_null(find(&x, CHANGE_PARTITION));
    assert_string_equal(find(&x, CHANGE_PARTITION)->text, "side");
    sched_explanation_done(&x);
    sched_free(s);
}

static void test_causes(void **state)
{
    struct sched *s = new_sched(7, 4);
    struct sched_gres_req gpu = { .name = "gpu", .per_node = 1 };
    struct sched_node small = { .id = 3,
                                .name = "n",
                                .cpus = 2,
                                .sockets = 1,
                                .cores_per_socket = 2,
                                .threads_per_core = 1,
                                .mem_mib = 1000,
                                .weight = 1,
                                .schedulable = true };
    struct sched_node poor = { .id = 4,
                               .name = "n",
                               .cpus = 4,
                               .sockets = 1,
                               .cores_per_socket = 4,
                               .threads_per_core = 1,
                               .mem_mib = 100,
                               .weight = 1,
                               .schedulable = true };
    struct sched_node down = { .id = 0,
                               .name = "n",
                               .cpus = 4,
                               .sockets = 1,
                               .cores_per_socket = 4,
                               .threads_per_core = 1,
                               .mem_mib = 1000,
                               .weight = 1 };
    struct sched_job j = job_of(1, 4, 10);
    const uint32_t exc[] = { 5 };
    struct sched_explanation x;

    (void)state;
    assert_int_equal(sched_node_put(s, &small), 0);
    assert_int_equal(sched_node_put(s, &poor), 0);
    assert_int_equal(sched_node_put(s, &down), 0);
    j.has_mem_per_node = true;
    j.mem_per_node_mib = 500;
    j.exc_nodes = exc;
    j.nexc = 1;
    x = explain(s, &j);
    assert_int_equal(x.parts[0].causes[EXPLAIN_CPUS], 1);
    assert_int_equal(x.parts[0].causes[EXPLAIN_MEMORY], 1);
    assert_int_equal(x.parts[0].causes[EXPLAIN_NOT_UP], 1);
    assert_int_equal(x.parts[0].not_up[0], 0);
    assert_int_equal(x.parts[0].causes[EXPLAIN_EXCLUDED], 1);
    assert_int_equal(x.parts[0].causes[EXPLAIN_FREE], 2);
    assert_int_equal(x.parts[0].suitable, 3);
    assert_int_equal(x.parts[0].why, SCHED_WHY_BAD_CONSTRAINTS);
    assert_int_equal(find(&x, CHANGE_NODES)->value, 2);
    sched_explanation_done(&x);

    j = job_of(1, 1, 10);
    j.features = "odd&even";
    x = explain(s, &j);
    assert_int_equal(x.parts[0].causes[EXPLAIN_FEATURES], 6);
    assert_int_equal(find(&x, CHANGE_FEATURES)->index, 0); /* either alone would do */
    sched_explanation_done(&x);

    j = job_of(1, 2, 10);
    j.gres = &gpu;
    j.ngres = 1;
    x = explain(s, &j);
    assert_int_equal(x.parts[0].causes[EXPLAIN_GRES] + x.parts[0].causes[EXPLAIN_CPUS], 5);
    assert_int_equal(find(&x, CHANGE_NODES)->value, 1);
    assert_int_equal(find(&x, CHANGE_GRES)->value, 0);
    sched_explanation_done(&x);
    sched_free(s);
}

/* ---- the property ---------------------------------------------------------------------------- */

static uint64_t rng;

static uint32_t below(uint32_t n)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return (uint32_t)((rng >> 11) % n);
}

struct made {
    struct sched_job job;
    struct sched_gres_req gres[1];
    uint32_t ids[2];
};

static void make_job(struct made *m, uint32_t id)
{
    static const char *const constraints[] = { "odd", "even", "odd|even", "odd&even" };

    *m = (struct made){ .job = job_of(id, 1 + below(4), 1 + below(90)) };
    m->job.partitions = both_parts + (below(5) == 0);
    m->job.npartitions = below(5) == 0 && m->job.partitions == both_parts ? 2 : 1;
    m->job.priority = below(3) ? 0 : 1 + below(1000);
    m->job.ntasks_per_node = below(2) ? 1 + below(4) : 0;
    m->job.num_tasks = below(3) ? 0 : m->job.min_nodes * (1 + below(4));
    m->job.cpus_per_task = 1 + below(3);
    m->job.max_nodes = below(2) ? m->job.min_nodes : 0;
    m->job.exclusive = below(8) == 0;
    m->job.contiguous = below(8) == 0;
    m->job.time_min_min = below(6) ? 0 : 1 + below(20);
    if (below(3) == 0) {
        m->job.has_mem_per_node = true;
        m->job.mem_per_node_mib = 100 * (1 + below(11));
    } else if (below(3) == 0) {
        m->job.mem_per_cpu_mib = 100 * (1 + below(4));
    }
    if (below(4) == 0)
        m->job.features = constraints[below(4)];
    if (below(4) == 0) {
        m->gres[0] = (struct sched_gres_req){ .name = "gpu", .per_node = 1 + below(2) };
        m->job.ngres = 1;
    }
    m->job.gres = m->gres;
    if (below(8) == 0)
        m->job.nreq = 1;
    m->ids[0] = below(8);
    m->job.req_nodes = m->ids;
    if (below(8) == 0)
        m->job.nexc = 1;
    m->ids[1] = below(8);
    m->job.exc_nodes = m->ids + 1;
}

static uint32_t changes_held, jobs_explained;

static void check_changes(struct sched *s, int64_t now, const struct sched_job *j, uint64_t seed)
{
    struct sched_explanation x;
    bool started;

    assert_int_equal(sched_explain(s, j, both_parts, 2, now, &x), 0);
    assert_true(x.settled);
    assert_false(x.starts_now);
    jobs_explained++;
    for (size_t i = 0; i < x.nchanges; i++) {
        struct explain_trial t;

        assert_true(sched_explain_apply(j, &x.changes[i], &t));
        assert_int_equal(sched_job_put(s, &t.job), 0);
        (void)settle(s, now, j->id, &started, true);
        if (!started)
            print_error("seed %llu job %u change %d to %llu does not start it\n",
                        (unsigned long long)seed, j->id, (int)x.changes[i].kind,
                        (unsigned long long)x.changes[i].value);
        assert_true(started);
        assert_int_equal(sched_job_put(s, j), 0);
        (void)settle(s, now, 0, &started, true);
        changes_held++;
    }
    sched_explanation_done(&x);
}

static void run_world(uint64_t seed)
{
    struct sched *s;
    struct made jobs[24];
    int64_t now = NOW;
    bool started;

    rng = seed * UINT64_C(0x9e3779b97f4a7c15);
    s = new_sched(8, 4);
    for (uint32_t i = 0; i < ARRAY_SIZE(jobs); i++) {
        make_job(&jobs[i], i + 1);
        assert_int_equal(sched_job_put(s, &jobs[i].job), 0);
        if (i % 6 == 5) {
            (void)settle(s, now, 0, &started, false);
            now += MIN_US;
        }
    }
    (void)settle(s, now, 0, &started, false);
    for (uint32_t i = 0; i < ARRAY_SIZE(jobs); i++)
        if (sched_job_priority(s, jobs[i].job.id)) /* it waits */
            check_changes(s, now, &jobs[i].job, seed);
    sched_free(s);
}

static void test_changes_hold(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 150; seed++)
        run_world(seed);
    print_message("# %u changes of %u jobs held\n", changes_held, jobs_explained);
    assert_true(changes_held > 500);
}

static int plan_all(void **state)
{
    (void)state;
    conservative = true;
    changes_held = jobs_explained = 0;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_head),
                                        cmocka_unit_test(test_behind),
                                        cmocka_unit_test(test_causes),
                                        cmocka_unit_test(test_changes_hold),
                                        cmocka_unit_test_setup(test_head, plan_all),
                                        cmocka_unit_test_setup(test_behind, plan_all),
                                        cmocka_unit_test_setup(test_causes, plan_all),
                                        cmocka_unit_test_setup(test_changes_hold, plan_all) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
