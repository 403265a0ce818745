/* test_sched_conservative.c - a place in the plan for every job
 *
 *     test_sched_conservative [CASES]       random ones, 300 without
 *
 * The random cases hold the plan against an obvious one: minute by minute, node by node, licence by
 * licence.  Every job must be planned at the first minute at which it fits beside the jobs before
 * it, on nodes that are free. */
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

#define MINUTE INT64_C(60000000)
#define NOW (INT64_C(28333334) * MINUTE)

#include "sched_util.h"

#define NODES_MAX 6u
#define JOBS_MAX 24u
#define HORIZON 600u

static uint32_t cases = 300;

static struct sched *cluster(struct sched_params p, uint32_t nodes, uint32_t cpus)
{
    p.conservative = true;
    p.bf_resolution_s = 60;
    return util_cluster(p, nodes, cpus, 2);
}

static struct sched_job job(uint32_t id, uint32_t nodes, uint32_t tasks, uint32_t minutes)
{
    struct sched_job j = util_job(id);

    j.min_nodes = j.max_nodes = nodes;
    j.num_tasks = tasks;
    j.time_limit_min = minutes;
    return j;
}

/* What a pass and a backfill decided, by job. */
struct outcome {
    bool started[JOBS_MAX + 1];
    enum sched_why why[JOBS_MAX + 1];
    int64_t at_us[JOBS_MAX + 1];  /* 0 = not planned */
    uint32_t nodes[JOBS_MAX + 1]; /* a bit for each */
};

static void note(struct outcome *o, const struct sched_decisions *d, int64_t now)
{
    for (size_t i = 0; i < d->n; i++) {
        const struct sched_decision *x = &d->items[i];

        o->started[x->job_id] |= x->kind == SCHED_START;
        o->why[x->job_id] = x->why;
        o->at_us[x->job_id] = x->kind == SCHED_START ? now : x->expected_us;
        o->nodes[x->job_id] = 0;
        for (size_t k = 0; x->kind == SCHED_START && k < x->alloc.nnodes; k++)
            o->nodes[x->job_id] |= 1u << x->alloc.nodes[k].node_id;
        for (size_t k = 0; k < x->nexpected; k++)
            o->nodes[x->job_id] |= 1u << x->expected_nodes[k];
    }
}

/* Backfill alone; pieces 0: in one go. */
static void plan(struct sched *s, int64_t now, uint32_t pieces, struct outcome *o)
{
    struct sched_decisions d = { 0 };
    bool more = true;

    while (more)
        assert_int_equal(sched_backfill_some(s, now, pieces, &d, &more), 0);
    note(o, &d, now);
    sched_decisions_done(&d);
}

static void think(struct sched *s, int64_t now, uint32_t pieces, struct outcome *o)
{
    struct sched_decisions d = { 0 };
    int64_t wake;

    assert_int_equal(sched_pass(s, now, &d, &wake), 0);
    note(o, &d, now);
    sched_decisions_done(&d);
    plan(s, now, pieces, o);
}

static int minutes(const struct outcome *o, uint32_t id)
{
    return o->at_us[id] ? (int)((o->at_us[id] - NOW) / MINUTE) : -1;
}

/* Everybody has a time, and what fits before is started. */
static void test_places(void **state)
{
    struct sched *s = cluster((struct sched_params){ 0 }, 2, 4);
    struct outcome o = { 0 };

    (void)state;
    put(s, job(1, 1, 4, 10));
    put(s, job(2, 2, 8, 20)); /* after 1 */
    put(s, job(3, 1, 4, 10)); /* beside 1 */
    put(s, job(4, 1, 4, 30)); /* after 2 */
    put(s, job(5, 2, 8, 10)); /* after 4 */
    put(s, job(6, 1, 2, 30)); /* beside 4 */
    think(s, NOW, 0, &o);
    assert_true(o.started[1] && o.started[3]);
    assert_int_equal(minutes(&o, 2), 10);
    assert_int_equal(minutes(&o, 4), 30);
    assert_int_equal(minutes(&o, 5), 60);
    assert_int_equal(minutes(&o, 6), 30);
    assert_int_equal(o.nodes[2], 3);
    assert_int_equal(o.nodes[4] | o.nodes[6], 3);
    assert_int_equal(o.why[2], SCHED_WHY_RESOURCES);
    assert_int_equal(o.why[4], SCHED_WHY_PRIORITY);
    sched_job_remove(s, 1);
    sched_job_remove(s, 3); /* early: all come forward */
    think(s, NOW, 0, &o);
    assert_true(o.started[2]);
    assert_int_equal(minutes(&o, 4), 20);
    assert_int_equal(minutes(&o, 5), 50);
    sched_free(s);
}

/* A job shortened by backfill ends before the next that is planned on its node. */
static void test_time_min(void **state)
{
    struct sched *s = cluster((struct sched_params){ 0 }, 2, 4);
    struct sched_decisions d = { 0 };
    struct sched_job j = job(3, 1, 4, 60);
    int64_t wake;

    (void)state;
    put(s, job(1, 1, 4, 30));
    put(s, job(2, 2, 8, 20));
    j.time_min_min = 5;
    put(s, j);
    assert_int_equal(sched_pass(s, NOW, &d, &wake), 0);
    sched_decisions_done(&d);
    assert_int_equal(sched_backfill(s, NOW, &d), 0);
    assert_int_equal(d.items[0].kind, SCHED_START);
    assert_int_equal(d.items[0].job_id, 3);
    assert_int_equal(d.items[0].time_limit_min, 30);
    sched_decisions_done(&d);
    sched_free(s);
}

/* The same where the job has the CPU too that its node keeps from others. */
static void test_time_min_kept(void **state)
{
    struct sched *s = cluster((struct sched_params){ 0 }, 2, 4);
    struct sched_decisions d = { 0 };
    struct sched_job j = job(3, 1, 4, 60);
    const uint64_t kept = 1;
    int64_t wake;

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        const struct sched_node n = { .id = i,
                                      .name = "n",
                                      .cpus = 4,
                                      .sockets = 1,
                                      .cores_per_socket = 4,
                                      .threads_per_core = 1,
                                      .mem_mib = 4000,
                                      .weight = 1,
                                      .spec_bits = &kept,
                                      .schedulable = true };

        assert_int_equal(sched_node_put(s, &n), 0);
    }
    put(s, job(1, 1, 3, 30));
    put(s, job(2, 2, 6, 20));
    j.time_min_min = 5;
    j.kept_too = true;
    put(s, j);
    assert_int_equal(sched_pass(s, NOW, &d, &wake), 0);
    sched_decisions_done(&d);
    assert_int_equal(sched_backfill(s, NOW, &d), 0);
    assert_int_equal(d.items[0].kind, SCHED_START);
    assert_int_equal(d.items[0].job_id, 3);
    assert_int_equal(d.items[0].alloc.nodes[0].cpu_bits[0], 0xf);
    assert_int_equal(d.items[0].time_limit_min, 30);
    sched_decisions_done(&d);
    sched_free(s);
}

/* Who has no place: beyond the limits; they start all the same when they can. */
static void test_limits(void **state)
{
    static const struct {
        struct sched_params p;
        int at[4]; /* jobs 3 to 6 */
    } rows[] = {
        { { 0 }, { 10, 20, 30, 40 } },
        { { .bf_max_job_plan = 2 }, { 10, 20, -1, -1 } },
        { { .bf_job_part_count_reserve = 1 }, { 10, -1, -1, -1 } },
        { { .bf_max_job_array_resv = 3 }, { 10, 20, 30, -1 } },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct sched *s = cluster(rows[i].p, 2, 4);
        struct outcome o = { 0 };

        put(s, job(1, 1, 4, 10));
        put(s, job(2, 1, 4, 5));
        for (uint32_t id = 3; id <= 6; id++) {
            struct sched_job j = job(id, 2, 8, 10);

            j.array_id = 3;
            put(s, j);
        }
        put(s, job(7, 1, 4, 5)); /* fits in the gap once 2 has ended */
        think(s, NOW, 0, &o);
        for (uint32_t k = 0; k < 4; k++)
            assert_int_equal(minutes(&o, k + 3), rows[i].at[k]);
        sched_job_remove(s, 2);
        think(s, NOW, 0, &o);
        assert_true(o.started[7]);
        sched_free(s);
    }
}

/* Devices and memory are kept too, not CPUs alone. */
static void test_gres(void **state)
{
    const struct sched_gres_req one = { .name = "gpu", .per_node = 1 },
                                two = { .name = "gpu", .per_node = 2 };
    struct sched *s = cluster((struct sched_params){ .select_memory = true }, 1, 8);
    struct outcome o = { 0 };
    struct sched_job j = job(1, 1, 1, 10);

    (void)state;
    j.gres = &one;
    j.ngres = 1;
    put(s, j);
    j = job(2, 1, 1, 10); /* both devices: after 1 */
    j.gres = &two;
    j.ngres = 1;
    put(s, j);
    j = job(3, 1, 1, 30); /* one: after 2 */
    j.gres = &one;
    j.ngres = 1;
    put(s, j);
    j.id = 4; /* one: short enough */
    j.time_limit_min = 10;
    put(s, j);
    j = job(5, 1, 1, 100);
    j.mem_per_node_mib = 3000;
    j.has_mem_per_node = true;
    put(s, j);
    j.id = 6;
    put(s, j);
    think(s, NOW, 0, &o);
    assert_true(o.started[1] && o.started[4] && o.started[5]);
    assert_int_equal(minutes(&o, 2), 10);
    assert_int_equal(minutes(&o, 3), 20);
    assert_int_equal(minutes(&o, 6), 100);
    sched_free(s);
}

/* --test-only: behind all that are planned. */
static void test_when(void **state)
{
    struct sched *s = cluster((struct sched_params){ 0 }, 2, 4);
    struct sched_job j = job(9, 2, 8, 10);
    struct sched_decision d;
    struct outcome o = { 0 };

    (void)state;
    put(s, job(1, 2, 8, 10));
    put(s, job(2, 2, 8, 20));
    put(s, job(3, 2, 8, 30));
    think(s, NOW, 0, &o);
    assert_int_equal(sched_when(s, &j, NOW, &d), 0);
    assert_int_equal(d.expected_us, NOW + 60 * MINUTE);
    assert_int_equal(d.nexpected, 2);
    sched_decision_done(&d);
    sched_free(s);
}

/* Components of a group start together, later too. */
static void test_het(void **state)
{
    struct sched *s = cluster((struct sched_params){ 0 }, 2, 4);
    struct outcome o = { 0 };
    struct sched_job j;

    (void)state;
    put(s, job(1, 1, 4, 10));
    for (uint32_t id = 2; id <= 3; id++) {
        j = job(id, 1, 4, 10);
        j.het_id = 2;
        j.het_count = 2;
        put(s, j);
    }
    put(s, job(4, 1, 4, 20)); /* would delay them */
    put(s, job(5, 1, 4, 10));
    think(s, NOW, 0, &o);
    assert_int_equal(minutes(&o, 2), 10);
    assert_int_equal(minutes(&o, 3), 10);
    assert_int_equal(minutes(&o, 4), 20);
    assert_true(o.started[5]);
    sched_free(s);
}

/* ---- random cases ---------------------------------------------------------------------------- */

struct rjob {
    uint32_t nodes, minutes, lic, mask;
};
struct world {
    uint32_t nnodes, njobs, lics;
    struct rjob jobs[JOBS_MAX + 1];
};

static void draw_world(uint64_t seed, struct world *w)
{
    uint64_t x = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;

    w->nnodes = 1 + draw(&x, NODES_MAX);
    w->njobs = 5 + draw(&x, JOBS_MAX - 5);
    w->lics = 1 + draw(&x, 4);
    for (uint32_t i = 1; i <= w->njobs; i++) {
        struct rjob *j = &w->jobs[i];

        *j = (struct rjob){ .nodes = 1 + draw(&x, w->nnodes), .minutes = 1 + draw(&x, 9) };
        if (!draw(&x, 3))
            j->lic = 1 + draw(&x, w->lics);
        j->mask = (1u << w->nnodes) - 1;
        if (j->nodes < w->nnodes && !draw(&x, 3))
            j->mask &= ~(1u << draw(&x, w->nnodes)); /* a node it must not have */
    }
}

static struct sched *build(const struct world *w, uint32_t njobs, bool shared)
{
    struct sched *s =
        cluster((struct sched_params){ .bf_licenses = true }, w->nnodes, shared ? 4 : 1);
    assert_int_equal(sched_license_put(s, "a", w->lics), 0);
    for (uint32_t i = 1; i <= njobs; i++) {
        const struct rjob *r = &w->jobs[i];
        const struct sched_lic_req lic = { .name = "a", .count = r->lic };
        struct sched_job j =
            job(i, r->nodes, shared ? r->nodes * (1 + r->minutes % 4) : r->nodes, r->minutes);
        uint32_t out = 0;

        for (uint32_t n = 0; n < w->nnodes; n++)
            if (!(r->mask >> n & 1)) {
                out = n;
                j.exc_nodes = &out;
                j.nexc = 1;
            }
        j.licenses = &lic;
        j.nlicenses = r->lic > 0;
        put(s, j);
    }
    return s;
}

struct grid { /* what is held, minute by minute */
    uint32_t nodes[HORIZON], lics[HORIZON];
};

static bool free_at(const struct world *w, const struct grid *g, const struct rjob *j, uint32_t at,
                    uint32_t *ret_free)
{
    uint32_t open = j->mask;

    for (uint32_t t = at; t < at + j->minutes; t++) {
        open &= ~g->nodes[t];
        if (g->lics[t] + j->lic > w->lics)
            return false;
    }
    *ret_free = open;
    return (uint32_t)__builtin_popcount(open) >= j->nodes;
}

static void check_plan(const struct world *w, const struct outcome *o)
{
    _cleanup_free_ struct grid *g = calloc(1, sizeof(*g));

    assert_non_null(g);
    for (uint32_t i = 1; i <= w->njobs; i++) {
        const struct rjob *j = &w->jobs[i];
        uint32_t at = 0, open = 0;

        while (!free_at(w, g, j, at, &open))
            at++;
        assert_true(o->at_us[i] != 0);
        assert_int_equal(minutes(o, i), at);
        assert_int_equal(o->started[i], at == 0);
        assert_int_equal(__builtin_popcount(o->nodes[i]), j->nodes);
        assert_int_equal(o->nodes[i] & ~open, 0); /* nobody else's */
        for (uint32_t t = at; t < at + j->minutes; t++) {
            g->nodes[t] |= o->nodes[i];
            g->lics[t] += j->lic;
        }
    }
}

static void assert_same(const struct outcome *a, const struct outcome *b, uint32_t njobs)
{
    for (uint32_t i = 1; i <= njobs; i++) {
        assert_int_equal(a->started[i], b->started[i]);
        assert_true(a->at_us[i] == b->at_us[i]);
        assert_int_equal(a->nodes[i], b->nodes[i]);
    }
}

static void test_random(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= cases; seed++) {
        struct world w;

        draw_world(seed, &w);
        for (int shared = 0; shared < 2; shared++) {
            struct outcome whole = { 0 }, pieces = { 0 }, first = { 0 };
            uint32_t some = 1 + seed % w.njobs;
            struct sched *s = build(&w, w.njobs, shared);

            plan(s, NOW, 0, &whole);
            sched_free(s);
            if (!shared)
                check_plan(&w, &whole);
            s = build(&w, w.njobs, shared);
            plan(s, NOW, 1 + seed % 4, &pieces);
            sched_free(s);
            assert_same(&whole, &pieces, w.njobs);
            s = build(&w, some, shared); /* those behind change nothing for those before */
            plan(s, NOW, 0, &first);
            sched_free(s);
            assert_same(&whole, &first, some);
        }
    }
}

/* Between full minutes: nobody who starts now is still there when somebody's promised time has
 * come. */
static void check_promises(const struct world *w, const struct outcome *o)
{
    for (uint32_t i = 1; i <= w->njobs; i++) {
        for (uint32_t k = 1; k <= w->njobs; k++) {
            int64_t begin = o->at_us[i], other = o->at_us[k];

            if (k == i || !o->started[i] || !(o->nodes[i] & o->nodes[k]) || begin > other)
                continue;
            assert_true(begin + w->jobs[i].minutes * MINUTE <= other);
        }
    }
}

static void test_promises(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= cases; seed++) {
        struct outcome o = { 0 };
        struct world w;
        struct sched *s;

        draw_world(seed, &w);
        for (uint32_t i = 1; i <= w.njobs; i++)
            w.jobs[i].minutes += 3; /* nothing ends between the two looks */
        s = build(&w, w.njobs / 2, false);
        plan(s, NOW + 7000000, 0, &o);
        for (uint32_t i = w.njobs / 2 + 1; i <= w.njobs; i++)
            put(s, job(i, w.jobs[i].nodes, w.jobs[i].nodes, w.jobs[i].minutes));
        plan(s, NOW + 95000000 + seed % 50 * 1000000, 0, &o);
        check_promises(&w, &o);
        sched_free(s);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),        cmocka_unit_test(test_time_min),
        cmocka_unit_test(test_time_min_kept), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_gres),          cmocka_unit_test(test_when),
        cmocka_unit_test(test_het),           cmocka_unit_test(test_random),
        cmocka_unit_test(test_promises),
    };

    if (argc > 1)
        cases = (uint32_t)strtoul(argv[1], NULL, 10);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
