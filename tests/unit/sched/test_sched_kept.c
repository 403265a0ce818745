/* test_sched_kept.c - a reservation kept from one backfill to the next is the one a new plan would
 * make
 *
 * Two schedulers are told the same of small clusters with wide jobs; one of them is given its
 * parameters again before each backfill, which makes it forget what it has found out.  Every start
 * and everything told of those that wait must be equal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "sched/sched.h"

#define NOW INT64_C(1700000000000000)
#include "sched_util.h"

#define JOBS 400u
#define MINUTE INT64_C(60000000)

struct told {
    int64_t expected_us;
    uint64_t nodes; /* a bit each */
};

struct twin {
    struct sched *s;
    struct told told[JOBS + 1];
};

struct world {
    struct twin a, b; /* b forgets */
    struct sched_params params;
    uint64_t rng;
    int64_t now_us;
    uint32_t njobs;
    int64_t ends_us[JOBS + 1]; /* of those that run */
    bool suspended[JOBS + 1];
};

static uint64_t node_set(const struct sched_decision *d)
{
    uint64_t set = 0;

    for (size_t i = 0; i < d->nexpected; i++)
        set |= UINT64_C(1) << d->expected_nodes[i];
    return set;
}

static void note_told(struct twin *t, const struct sched_decisions *d)
{
    for (size_t i = 0; i < d->n; i++) {
        const struct sched_decision *x = &d->items[i];

        if (x->kind == SCHED_EXPECT)
            t->told[x->job_id] = (struct told){ x->expected_us, node_set(x) };
    }
}

static const struct sched_decision *next_start(const struct sched_decisions *d, size_t *at)
{
    while (*at < d->n && d->items[*at].kind != SCHED_START)
        ++*at;
    return *at < d->n ? &d->items[(*at)++] : NULL;
}

static void same_start(const struct sched_decision *x, const struct sched_decision *y)
{
    assert_int_equal(x->job_id, y->job_id);
    assert_int_equal(x->alloc.nnodes, y->alloc.nnodes);
    for (size_t i = 0; i < x->alloc.nnodes; i++) {
        assert_int_equal(x->alloc.nodes[i].node_id, y->alloc.nodes[i].node_id);
        assert_int_equal(x->alloc.nodes[i].cpu_bits[0], y->alloc.nodes[i].cpu_bits[0]);
    }
}

static void compare(struct world *w, const struct sched_decisions *a,
                    const struct sched_decisions *b)
{
    const struct sched_decision *x, *y;
    size_t i = 0, k = 0;

    do {
        x = next_start(a, &i);
        y = next_start(b, &k);
        assert_true(!x == !y);
        if (x) {
            same_start(x, y);
            w->ends_us[x->job_id] = w->now_us + (int64_t)x->time_limit_min * MINUTE;
            w->a.told[x->job_id] = w->b.told[x->job_id] = (struct told){ 0 };
        }
    } while (x);
    note_told(&w->a, a);
    note_told(&w->b, b);
    for (uint32_t id = 1; id <= w->njobs; id++) {
        if (w->ends_us[id])
            continue;
        assert_int_equal(w->a.told[id].expected_us, w->b.told[id].expected_us);
        assert_int_equal(w->a.told[id].nodes, w->b.told[id].nodes);
    }
}

static void decide(struct world *w, bool backfill)
{
    struct sched_decisions a = { 0 }, b = { 0 };
    int64_t wake;

    if (backfill) {
        assert_int_equal(sched_backfill(w->a.s, w->now_us, &a), 0);
        if (!a.backfilled)
            return; /* nothing changed but the time */
        sched_params_set(w->b.s, &w->params);
        assert_int_equal(sched_backfill(w->b.s, w->now_us, &b), 0);
    } else {
        assert_int_equal(sched_pass(w->a.s, w->now_us, &a, &wake), 0);
        assert_int_equal(sched_pass(w->b.s, w->now_us, &b, &wake), 0);
    }
    compare(w, &a, &b);
    sched_decisions_done(&a);
    sched_decisions_done(&b);
}

static void submit(struct world *w)
{
    struct sched_job j = util_job(++w->njobs);

    j.time_limit_min = 1 + draw(&w->rng, 30);
    j.num_tasks = 1 + draw(&w->rng, 24);
    j.cpus_per_task = 1 + draw(&w->rng, 2);
    j.exclusive = draw(&w->rng, 6) == 0;
    j.mem_per_cpu_mib = draw(&w->rng, 3) ? 500 + draw(&w->rng, 1500) : 0;
    put(w->a.s, j);
    put(w->b.s, j);
}

/* Something happens to a job that runs. */
static void meddle(struct world *w, uint32_t id)
{
    struct sched *const both[] = { w->a.s, w->b.s };
    uint32_t what = draw(&w->rng, 10);
    int64_t end_us = w->now_us + (1 + draw(&w->rng, 20)) * MINUTE;

    for (size_t i = 0; i < 2; i++) {
        if (what < 7)
            sched_job_remove(both[i], id);
        else if (what == 7)
            sched_job_suspend(both[i], id, !w->suspended[id]);
        else
            sched_job_end_time(both[i], id, end_us);
    }
    if (what < 7)
        w->ends_us[id] = -1;
    else if (what == 7)
        w->suspended[id] = !w->suspended[id];
    else
        w->ends_us[id] = end_us;
}

static void drain(struct world *w, uint32_t node, bool up)
{
    const struct sched_node n = { .id = node,
                                  .name = "n",
                                  .cpus = 4,
                                  .sockets = 1,
                                  .cores_per_socket = 4,
                                  .threads_per_core = 1,
                                  .mem_mib = 4000,
                                  .weight = 1,
                                  .schedulable = up };

    assert_int_equal(sched_node_put(w->a.s, &n), 0);
    assert_int_equal(sched_node_put(w->b.s, &n), 0);
}

static void step(struct world *w)
{
    uint32_t ids[JOBS], n = 0;

    w->now_us += draw(&w->rng, 4) * MINUTE;
    for (uint32_t id = 1; id <= w->njobs; id++)
        if (w->ends_us[id] > 0)
            ids[n++] = id;
    if (draw(&w->rng, 3) && w->njobs < JOBS)
        submit(w);
    if (n && draw(&w->rng, 2))
        meddle(w, ids[draw(&w->rng, 2) ? n - 1 : draw(&w->rng, n)]);
    if (draw(&w->rng, 40) == 0)
        drain(w, draw(&w->rng, 8), draw(&w->rng, 3));
    decide(w, false);
    decide(w, true);
}

static void test_kept_is_planned(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct world *w = calloc(1, sizeof(*w));

        assert_non_null(w);
        w->rng = seed * 7919;
        w->now_us = NOW;
        w->params =
            (struct sched_params){ .select_memory = true, .backfill = true, .bf_window_min = 1440 };
        w->a.s = util_cluster(w->params, 8, 4, 0);
        w->b.s = util_cluster(w->params, 8, 4, 0);
        for (uint32_t i = 0; i < 250; i++)
            step(w);
        sched_free(w->a.s);
        sched_free(w->b.s);
        free(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_kept_is_planned) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
