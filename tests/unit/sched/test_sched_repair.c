/* test_sched_repair.c - a plan that is kept while jobs come and go
 *
 *     test_sched_repair [CASES]       random queues, 1000 without
 *
 * In every random case a queue lives through some events: jobs end early, late or in time, come and
 * are cancelled, nodes go down and return, time passes.  After each one:
 * - nobody runs or is planned where somebody else is promised to be;
 * - a place that was repaired is not later than before, but for one on a node that was lost;
 * - a plan made anew is the plan of a scheduler that was told all of it just now. */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/sched.h"
#include "sched/state/expect.h"
#include "sched/state/jobs.h"

#define SECOND INT64_C(1000000)
#define MINUTE (60 * SECOND)
#define NOW (INT64_C(28333334) * MINUTE)

#include "sched_util.h"

#define NODES_MAX 8u
#define JOBS_MAX 96u

static uint32_t cases = 1000;

struct rjob {
    uint32_t nodes, minutes, tasks;
    bool known, runs;
    int64_t start_us, end_us; /* running */
    int64_t at_us;            /* promised */
    uint32_t on;              /* a bit for each node */
    struct sched_alloc_node held[NODES_MAX];
    uint64_t bits[NODES_MAX];
    uint32_t nheld;
};

struct world {
    struct sched *s;
    struct sched_params p;
    uint64_t x;
    uint32_t nnodes, cpus, next;
    uint32_t down;
    int64_t now;
    uint32_t repaired, anew;
    struct rjob jobs[JOBS_MAX + 1];
};

static struct sched *cluster(const struct world *w)
{
    return util_cluster(w->p, w->nnodes, w->cpus, 0);
}

static struct sched_job request(const struct world *w, uint32_t id)
{
    const struct rjob *r = &w->jobs[id];
    struct sched_job j = util_job(id);

    j.min_nodes = j.max_nodes = r->nodes;
    j.num_tasks = r->tasks;
    j.ntasks_per_node = r->tasks / r->nodes;
    j.time_limit_min = r->minutes;
    return j;
}

static void submit(struct world *w)
{
    struct rjob *r = &w->jobs[w->next];

    if (w->next > JOBS_MAX)
        return;
    r->nodes = 1 + (draw(&w->x, 3) ? 0 : draw(&w->x, w->nnodes));
    r->minutes = 1 + draw(&w->x, 20);
    r->tasks = r->nodes * (1 + draw(&w->x, w->cpus));
    r->known = true;
    put(w->s, request(w, w->next++));
}

static void take(struct world *w, const struct sched_decisions *d)
{
    for (size_t i = 0; i < d->n; i++) {
        const struct sched_decision *x = &d->items[i];
        struct rjob *r = &w->jobs[x->job_id];

        assert_true(r->known);
        r->on = 0;
        for (size_t k = 0; k < x->nexpected; k++)
            r->on |= 1u << x->expected_nodes[k];
        r->at_us = x->expected_us;
        if (x->kind != SCHED_START)
            continue;
        r->runs = true;
        r->start_us = w->now;
        r->end_us = w->now + r->minutes * MINUTE;
        r->nheld = (uint32_t)x->alloc.nnodes;
        for (uint32_t k = 0; k < r->nheld; k++) {
            r->held[k] = x->alloc.nodes[k];
            r->bits[k] = x->alloc.nodes[k].cpu_bits[0];
            r->held[k].cpu_bits = &r->bits[k];
            r->on |= 1u << r->held[k].node_id;
        }
        assert_int_equal(
            sched_job_running(w->s, x->job_id, "main", &x->alloc, r->start_us, r->end_us, false),
            0);
    }
}

/* CPUs that the job takes of each of its nodes. */
static uint32_t cpus_on(const struct rjob *r)
{
    return r->tasks / r->nodes;
}

/* What is given away at an instant is no more than there is.  Planned jobs hold whole minutes; to
 * the second, nobody who runs is in the way of `own`. */
static void check_instant(const struct world *w, int64_t at_us, const struct rjob *own)
{
    uint32_t used[NODES_MAX] = { 0 };

    for (uint32_t i = 1; i < w->next; i++) {
        const struct rjob *r = &w->jobs[i];
        int64_t begin = r->runs ? r->start_us : (r->at_us + MINUTE - 1) / MINUTE * MINUTE;
        int64_t end = r->runs ? r->end_us : begin + r->minutes * MINUTE;

        if (!r->known || !begin || (own && !r->runs && r != own))
            continue;
        for (uint32_t n = 0; n < w->nnodes; n++)
            if (r == own ? r->on >> n & 1 : at_us >= begin && at_us < end && r->on >> n & 1)
                used[n] += cpus_on(r);
    }
    for (uint32_t n = 0; n < w->nnodes; n++)
        assert_in_range(used[n], 0, w->cpus);
}

static void check_places(const struct world *w)
{
    for (uint32_t i = 1; i < w->next; i++) {
        const struct rjob *r = &w->jobs[i];

        if (!r->known)
            continue;
        if (r->runs) {
            check_instant(w, w->now, NULL);
        } else if (r->at_us > w->now) {
            check_instant(w, r->at_us, r);
            check_instant(w, (r->at_us + MINUTE - 1) / MINUTE * MINUTE, NULL);
            assert_int_equal(__builtin_popcount(r->on), r->nodes);
            assert_int_equal(r->on & w->down, 0);
        }
    }
}

/* Does somebody run longer than he may?  Promises may be late then, by his fault. */
static bool somebody_late(const struct world *w)
{
    for (uint32_t i = 1; i < w->next; i++)
        if (w->jobs[i].known && w->jobs[i].runs && w->jobs[i].end_us <= w->now)
            return true;
    return false;
}

/* Where they are planned now: a job is told when its time changes, not when its nodes do. */
static void look_up(struct world *w)
{
    for (uint32_t i = 1; i < w->next; i++) {
        struct rjob *r = &w->jobs[i];
        uint32_t *nodes = NULL;
        size_t n = 0;

        if (!r->known || r->runs)
            continue;
        assert_true(expect_us(job_find(w->s, i)) == r->at_us);
        assert_int_equal(expect_nodes(job_find(w->s, i), &nodes, &n), 0);
        r->on = 0;
        for (size_t k = 0; k < n; k++)
            r->on |= 1u << nodes[k];
        free(nodes);
    }
}

/* Is a node of these down, or did somebody start on it just now? */
static bool lost(const struct world *w, uint32_t nodes)
{
    uint32_t taken = w->down;

    for (uint32_t i = 1; i < w->next; i++)
        if (w->jobs[i].known && w->jobs[i].runs && w->jobs[i].start_us == w->now)
            taken |= w->jobs[i].on;
    return nodes & taken;
}

static void think(struct world *w, bool pass, bool pieces)
{
    struct sched_decisions d = { 0 };
    int64_t before[JOBS_MAX + 1], wake;
    uint32_t nodes[JOBS_MAX + 1];
    bool more = true;

    for (uint32_t i = 1; i < w->next; i++) {
        before[i] = w->jobs[i].known && !w->jobs[i].runs ? w->jobs[i].at_us : 0;
        nodes[i] = w->jobs[i].on;
    }
    if (pass)
        assert_int_equal(sched_pass(w->s, w->now, &d, &wake), 0);
    while (more)
        assert_int_equal(
            sched_backfill_some(w->s, w->now, pieces ? 1 + draw(&w->x, 4) : 0, &d, &more), 0);
    take(w, &d);
    for (uint32_t i = 1; i < w->next && d.backfilled && !d.planned_anew; i++) {
        const struct rjob *r = &w->jobs[i];

        if (!before[i] || !r->known || r->nodes + (uint32_t)__builtin_popcount(w->down) > w->nnodes)
            continue;
        assert_true(r->runs || r->at_us);
        if (r->nodes > 1 || !lost(w, nodes[i]))
            assert_true((r->runs ? r->start_us : r->at_us) <= MAX(before[i], w->now));
    }
    look_up(w);
    w->anew += d.planned_anew;
    w->repaired += d.backfilled && !d.planned_anew;
    if (!somebody_late(w))
        check_places(w);
    sched_decisions_done(&d);
}

static void leave(struct world *w, uint32_t id)
{
    sched_job_remove(w->s, id);
    w->jobs[id].known = false;
}

static uint32_t some(struct world *w, bool runs)
{
    for (uint32_t i = 0, id = 1 + draw(&w->x, w->next); i < w->next; i++, id++) {
        const struct rjob *r = &w->jobs[id % w->next];

        if (id % w->next && r->known && r->runs == runs)
            return id % w->next;
    }
    return 0;
}

static void set_node(struct world *w, uint32_t id, bool up)
{
    const struct sched_node n = { .id = id,
                                  .name = "n",
                                  .cpus = w->cpus,
                                  .sockets = 1,
                                  .cores_per_socket = w->cpus,
                                  .threads_per_core = 1,
                                  .mem_mib = 4000,
                                  .weight = 1,
                                  .schedulable = up };

    assert_int_equal(sched_node_put(w->s, &n), 0);
    w->down = up ? w->down & ~(1u << id) : w->down | 1u << id;
}

static void happen(struct world *w)
{
    uint32_t what = draw(&w->x, 12), id;

    w->now += draw(&w->x, 3) ? draw(&w->x, 20) * SECOND : draw(&w->x, 4) * MINUTE;
    for (uint32_t i = 1; i < w->next; i++) /* late by up to a minute */
        if (w->jobs[i].known && w->jobs[i].runs &&
            w->jobs[i].end_us + (i % 3 ? 0 : (int64_t)(i % 61) * SECOND) <= w->now)
            leave(w, i);
    if (what < 4) {
        submit(w);
    } else if (what < 8) {
        id = some(w, true);
        if (id)
            leave(w, id);
    } else if (what == 8) {
        id = some(w, false);
        if (id)
            leave(w, id);
    } else if (what == 9) {
        id = draw(&w->x, w->nnodes);
        set_node(w, id, w->down >> id & 1);
    } else if (what == 10) {
        id = some(w, true);
        if (id) { /* its limit is another one from now on */
            w->jobs[id].minutes = MAX(w->jobs[id].minutes / 2, 1u);
            w->jobs[id].end_us = w->jobs[id].start_us + w->jobs[id].minutes * MINUTE;
            sched_job_end_time(w->s, id, w->jobs[id].end_us);
        }
    }
}

/* A plan made anew by the scheduler that has lived through it all, and by one that was just
 * born. */
static void check_anew(struct world *w)
{
    struct sched_decisions d = { 0 };
    struct world fresh = *w;
    bool due;

    w->now += 31 * SECOND;
    if (somebody_late(w))
        return;
    assert_int_equal(sched_backfill(w->s, w->now, &d), 0);
    due = d.planned_anew;
    take(w, &d);
    look_up(w);
    sched_decisions_done(&d);
    if (!due)
        return; /* nothing to be gained by it */
    fresh.now = w->now;
    fresh.s = cluster(&fresh);
    for (uint32_t n = 0; n < w->nnodes; n++)
        if (w->down >> n & 1)
            set_node(&fresh, n, false);
    for (uint32_t i = 1; i < w->next; i++) {
        const struct rjob *r = &fresh.jobs[i];
        const struct sched_alloc a = { .nodes = (struct sched_alloc_node *)r->held,
                                       .nnodes = r->nheld };

        if (!r->known)
            continue;
        fresh.jobs[i].at_us = 0;
        for (uint32_t k = 0; k < r->nheld; k++)
            fresh.jobs[i].held[k].cpu_bits = &fresh.jobs[i].bits[k];
        if (r->runs)
            assert_int_equal(
                sched_job_running(fresh.s, i, "main", &a, r->start_us, r->end_us, false), 0);
        else
            put(fresh.s, request(w, i));
    }
    assert_int_equal(sched_backfill(fresh.s, fresh.now, &d), 0);
    take(&fresh, &d);
    for (uint32_t i = 1; i < w->next; i++) {
        if (!w->jobs[i].known)
            continue;
        assert_int_equal(w->jobs[i].runs, fresh.jobs[i].runs);
        assert_true(w->jobs[i].runs || w->jobs[i].at_us == fresh.jobs[i].at_us);
    }
    sched_decisions_done(&d);
    sched_free(fresh.s);
}

static void play(uint64_t seed, uint32_t *repaired, uint32_t *anew)
{
    struct world w = { .x = seed * UINT64_C(0x9e3779b97f4a7c15) + 1,
                       .now = NOW + MINUTE,
                       .next = 1 };

    w.nnodes = 2 + draw(&w.x, NODES_MAX - 2);
    w.cpus = draw(&w.x, 2) ? 1 : 4;
    w.p = (struct sched_params){ .conservative = true, .bf_resolution_s = 60, .plan_keep = 1 };
    if (!draw(&w.x, 4))
        w.p.bf_max_job_plan = 6;
    w.s = cluster(&w);
    for (uint32_t i = 0; i < 20; i++)
        submit(&w);
    think(&w, true, false);
    for (uint32_t i = 0; i < 40; i++) {
        happen(&w);
        think(&w, draw(&w.x, 3), !draw(&w.x, 3));
        if (!draw(&w.x, 10))
            check_anew(&w);
    }
    *repaired += w.repaired;
    *anew += w.anew;
    sched_free(w.s);
}

static void test_random(void **state)
{
    uint32_t repaired = 0, anew = 0;

    (void)state;
    for (uint32_t seed = 1; seed <= cases; seed++)
        play(seed, &repaired, &anew);
    print_message("# %u plans repaired, %u made anew\n", repaired, anew);
    assert_true(repaired > anew / 2); /* the test is of repairs */
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_random) };

    if (argc > 1)
        cases = (uint32_t)strtoul(argv[1], NULL, 10);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
