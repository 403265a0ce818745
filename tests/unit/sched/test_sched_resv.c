/* test_sched_resv.c - advance reservations in the scheduler
 *
 *     test_sched_resv [CASES]       random ones, 400 without
 *
 * Random cases: reservations of nodes and of cores, recurring, flexible, for maintenance and
 * floating; jobs outside, inside and attracted.  Over time no start may meet a window that its job
 * may not use, or leave the one it has to stay in.  A plan made at once is held against one made
 * minute by minute. */
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

#define CPUS 4u
#define JOBS 16u
#define RESVS 4u
#define HORIZON 240 /* slots are minutes so far */

static uint32_t cases = 400;

static struct sched *cluster(uint32_t nodes, uint32_t cpus, bool conservative)
{
    struct sched_params p = { .conservative = conservative, .bf_resolution_s = 60 };

    return util_cluster(p, nodes, cpus, 0);
}

static struct sched_job job(uint32_t id, uint32_t nodes, uint32_t tasks, uint32_t minutes)
{
    struct sched_job j = util_job(id);

    j.min_nodes = j.max_nodes = nodes;
    j.num_tasks = tasks;
    j.time_limit_min = minutes;
    return j;
}

static const uint32_t all_ids[UTIL_NODES_MAX] = { 0, 1, 2,  3,  4,  5,  6,  7,
                                                  8, 9, 10, 11, 12, 13, 14, 15 };

/* Nodes first to first + n - 1, from and to in minutes. */
static void reserve(struct sched *s, uint32_t id, uint32_t first, uint32_t n, int64_t from,
                    int64_t to, struct sched_resv more)
{
    const struct sched_resv_window w = { NOW + from * MINUTE, NOW + to * MINUTE };

    more.id = id;
    more.node_ids = all_ids + first;
    more.nnodes = n;
    if (!more.nwindows) {
        more.windows = &w;
        more.nwindows = 1;
    }
    assert_int_equal(sched_resv_put(s, &more), 0);
}

struct seen { /* of one job */
    bool started;
    uint32_t nodes, resv, limit; /* nodes: a bit for each */
    enum sched_why why;
    int64_t at_us;
};

static void look(struct sched *s, int64_t now, bool pass, struct seen *seen, int64_t *ret_wake)
{
    struct sched_decisions d = { 0 };
    int64_t wake = INT64_MAX;

    if (pass)
        assert_int_equal(sched_pass(s, now, &d, &wake), 0);
    assert_int_equal(sched_backfill(s, now, &d), 0);
    for (size_t i = 0; i < d.n; i++) {
        const struct sched_decision *x = &d.items[i];
        struct seen *o = &seen[x->job_id];

        o->started |= x->kind == SCHED_START;
        o->why = x->why;
        o->at_us = x->kind == SCHED_START ? now : x->expected_us;
        o->resv = x->resv_id;
        o->limit = x->time_limit_min;
        o->nodes = 0;
        for (size_t k = 0; x->kind == SCHED_START && k < x->alloc.nnodes; k++)
            o->nodes |= 1u << x->alloc.nodes[k].node_id;
        for (size_t k = 0; k < x->nexpected; k++)
            o->nodes |= 1u << x->expected_nodes[k];
    }
    sched_decisions_done(&d);
    if (ret_wake)
        *ret_wake = wake;
}

static int at_minute(const struct seen *o)
{
    return o->at_us ? (int)((o->at_us - NOW) / MINUTE) : -1;
}

/* Maintenance in an hour: short jobs go before it, long ones after it. */
static void test_outside(void **state)
{
    for (int conservative = 0; conservative < 2; conservative++) {
        struct sched *s = cluster(1, CPUS, conservative);
        struct seen seen[4] = { { 0 } };
        int64_t wake;

        (void)state;
        reserve(s, 1, 0, 1, 60, 120, (struct sched_resv){ .maint = true });
        put(s, job(1, 1, 1, 120));
        put(s, job(2, 1, 1, 30));
        put(s, job(3, 1, 1, 60)); /* ends as it begins */
        look(s, NOW, true, seen, &wake);
        assert_false(seen[1].started);
        assert_int_equal(seen[1].why, SCHED_WHY_RESV_MAINT);
        assert_int_equal(at_minute(&seen[1]), 120);
        assert_true(seen[2].started && seen[3].started);
        assert_true(wake <= NOW + 60 * MINUTE);
        sched_job_remove(s, 2);
        sched_job_remove(s, 3);
        look(s, NOW + 60 * MINUTE, true, seen, &wake);
        assert_false(seen[1].started);
        assert_true(wake <= NOW + 120 * MINUTE);
        look(s, NOW + 120 * MINUTE, true, seen, NULL);
        assert_true(seen[1].started);
        sched_free(s);
    }
}

/* Inside: only there, only then, before others; who does not fit waits and holds nobody up. */
static void test_inside(void **state)
{
    const struct sched_job_resv in = { .id = 7 };
    struct sched *s = cluster(2, CPUS, true);
    struct seen seen[6] = { { 0 } };
    struct sched_job j;

    (void)state;
    reserve(s, 7, 0, 1, 10, 40, (struct sched_resv){ 0 });
    for (uint32_t id = 1; id <= 3; id++) { /* the third is too long */
        j = job(id, 1, CPUS, id == 3 ? 31 : 15);
        j.resvs = &in;
        j.nresvs = 1;
        j.resv_only = true;
        put(s, j);
    }
    put(s, job(4, 1, CPUS, 100));
    put(s, job(5, 2, 2 * CPUS, 5));
    look(s, NOW, true, seen, NULL);
    assert_int_equal(seen[1].why, SCHED_WHY_RESV);
    assert_int_equal(at_minute(&seen[1]), 10);
    assert_int_equal(at_minute(&seen[2]), 25);
    assert_int_equal(seen[3].why, SCHED_WHY_RESV);
    assert_int_equal(at_minute(&seen[3]), -1);
    assert_true(seen[4].started); /* on the other node */
    assert_int_equal(seen[4].nodes, 2);
    look(s, NOW + 10 * MINUTE, true, seen, NULL);
    assert_true(seen[1].started && seen[1].nodes == 1 && seen[1].resv == 7);
    assert_int_equal(seen[2].why, SCHED_WHY_RESOURCES);
    sched_job_remove(s, 1);
    look(s, NOW + 11 * MINUTE, true, seen, NULL);
    assert_true(seen[2].started);
    sched_free(s);
}

/* Attracted when it fits; else it goes on as any job. */
static void test_magnetic(void **state)
{
    const struct sched_job_resv drawn = { .id = 3, .magnetic = true };
    struct sched *s = cluster(2, CPUS, true);
    struct seen seen[5] = { { 0 } };
    struct sched_job j;

    (void)state;
    reserve(s, 3, 1, 1, 0, 30, (struct sched_resv){ 0 });
    for (uint32_t id = 1; id <= 3; id++) {
        j = job(id, 1, CPUS, id == 1 ? 60 : 20);
        j.resvs = &drawn;
        j.nresvs = 1;
        put(s, j);
    }
    look(s, NOW, true, seen, NULL);
    /* too long to be attracted */
    assert_true(seen[1].started && seen[1].nodes == 1 && !seen[1].resv);
    assert_true(seen[2].started && seen[2].nodes == 2 && seen[2].resv == 3);
    assert_false(seen[3].started);
    assert_int_equal(seen[3].why, SCHED_WHY_RESOURCES);
    sched_free(s);
    s = cluster(2, CPUS, true);
    reserve(s, 3, 1, 1, 0, 30, (struct sched_resv){ .flex = true });
    j = job(1, 2, 2 * CPUS, 60); /* flexible: longer, and on other nodes too */
    j.resvs = &drawn;
    j.nresvs = 1;
    put(s, j);
    look(s, NOW, true, seen, NULL);
    assert_true(seen[1].started && seen[1].nodes == 3 && seen[1].resv == 3);
    sched_free(s);
}

/* A list: the first that has room. */
static void test_list(void **state)
{
    const struct sched_job_resv list[] = { { .id = 1 }, { .id = 2 } };
    struct sched *s = cluster(3, CPUS, true);
    struct seen seen[4] = { { 0 } };

    (void)state;
    reserve(s, 1, 0, 1, 0, 60, (struct sched_resv){ 0 });
    reserve(s, 2, 1, 1, 0, 60, (struct sched_resv){ 0 });
    for (uint32_t id = 1; id <= 3; id++) {
        struct sched_job j = job(id, 1, CPUS, 30);

        j.resvs = list;
        j.nresvs = 2;
        j.resv_only = true;
        put(s, j);
    }
    look(s, NOW, true, seen, NULL);
    assert_true(seen[1].started && seen[1].resv == 1);
    assert_true(seen[2].started && seen[2].resv == 2);
    assert_false(seen[3].started);
    sched_resv_remove(s, 1);
    look(s, NOW, true, seen, NULL);
    assert_false(seen[3].started);
    sched_free(s);
}

/* Always an hour ahead. */
static void test_float(void **state)
{
    struct sched *s = cluster(1, CPUS, true);
    struct seen seen[3] = { { 0 } };

    (void)state;
    reserve(s, 1, 0, 1, 0, 1, (struct sched_resv){ .floats = true, .float_us = 60 * MINUTE });
    put(s, job(1, 1, 1, 61));
    put(s, job(2, 1, 1, 60));
    look(s, NOW, true, seen, NULL);
    look(s, NOW + 90 * MINUTE, true, seen, NULL);
    assert_true(seen[2].started && !seen[1].started);
    assert_int_equal(seen[1].why, SCHED_WHY_RESERVED);
    sched_free(s);
}

/* With bf_licenses a plan keeps reserved licences too: who would hold them in the reservation's
 * time starts after it, who has a place in it may hold them, and who is over before starts now. */
static void test_licences_planned(void **state)
{
    const struct sched_lic_req three = { .name = "l", .count = 3 };
    const struct sched_job_resv in = { .id = 1 };
    struct sched_params p = { .bf_licenses = true,
                              .backfill = true,
                              .conservative = true,
                              .bf_resolution_s = 60,
                              .bf_window_min = 1440 };
    struct sched *s = util_cluster(p, 4, CPUS, 0);
    struct seen seen[4] = { { 0 } };
    struct sched_job j;

    (void)state;
    assert_int_equal(sched_license_put(s, "l", 5), 0);
    reserve(s, 1, 0, 0, 10, 60, (struct sched_resv){ .licenses = &three, .nlicenses = 1 });
    put(s, (j = job(1, 1, 1, 20), j.licenses = &three, j.nlicenses = 1, j));
    put(s, (j = job(2, 1, 1, 20), j.licenses = &three, j.nlicenses = 1, j.resvs = &in, j.nresvs = 1,
            j.resv_only = true, j));
    put(s, (j = job(3, 1, 1, 9), j.licenses = &three, j.nlicenses = 1, j));
    look(s, NOW, true, seen, NULL);
    assert_true(seen[3].started);
    assert_false(seen[1].started);
    assert_int_equal(seen[1].at_us - NOW, 60 * MINUTE);
    sched_free(s);
}

/* Reserved licences: others have what is left. */
static void test_licences(void **state)
{
    const struct sched_lic_req three = { .name = "l", .count = 3 },
                               two = { .name = "l", .count = 2 };
    const struct sched_job_resv in = { .id = 1 };

    for (int conservative = 0; conservative < 2; conservative++) {
        struct sched *s = cluster(4, CPUS, conservative);
        struct seen seen[6] = { { 0 } };
        struct sched_job j;

        (void)state;
        assert_int_equal(sched_license_put(s, "l", 5), 0);
        reserve(s, 1, 0, 0, 10, 60, (struct sched_resv){ .licenses = &three, .nlicenses = 1 });
        j = job(1, 1, 1, 20);
        j.licenses = &three;
        j.nlicenses = 1;
        put(s, j); /* would have them at minute 10 */
        j = job(2, 1, 1, 20);
        j.licenses = &two;
        j.nlicenses = 1;
        put(s, j);
        j = job(3, 1, 1, 5);
        j.licenses = &three;
        j.nlicenses = 1;
        put(s, j);
        look(s, NOW, true, seen, NULL);
        assert_int_equal(seen[1].why, SCHED_WHY_LICENSES);
        assert_true(seen[2].started && seen[3].started);
        sched_job_remove(s, 3);
        j = job(4, 1, 1, 20);
        j.licenses = &three;
        j.nlicenses = 1;
        j.resvs = &in;
        j.nresvs = 1;
        j.resv_only = true;
        put(s, j);
        look(s, NOW + 10 * MINUTE, true, seen, NULL);
        assert_true(seen[4].started && seen[4].resv == 1);
        sched_job_remove(s, 2);
        put(s, (j = job(5, 1, 1, 20), j.licenses = &two, j.nlicenses = 1, j));
        look(s, NOW + 11 * MINUTE, true, seen, NULL);
        assert_true(seen[5].started); /* what the job inside holds is not kept a second time */
        sched_free(s);
    }
}

/* --time-min: as long as the reservation lets it. */
static void test_time_min(void **state)
{
    struct sched *s = cluster(1, CPUS, true);
    struct seen seen[2] = { { 0 } };
    struct sched_job j = job(1, 1, 1, 60);

    (void)state;
    reserve(s, 1, 0, 1, 25, 60, (struct sched_resv){ 0 });
    j.time_min_min = 10;
    put(s, j);
    look(s, NOW, true, seen, NULL);
    assert_true(seen[1].started);
    assert_int_equal(seen[1].limit, 25);
    sched_free(s);
}

/* ---- random cases ---------------------------------------------------------------------------- */

struct rresv {
    uint32_t first, n, cpus; /* cpus: of each node, from 0 on; 0 = all */
    int64_t from, length, every;
    bool flex, beside, floats;
};
struct rjob {
    uint32_t nodes, minutes, resv; /* resv: id it asks for, 0 = none */
    bool magnetic;
    bool done, running;
    int64_t end;
    uint32_t held; /* nodes */
    uint32_t used; /* reservation it runs in */
    uint64_t cpus[UTIL_NODES_MAX];
};
struct rworld {
    uint32_t nnodes, nresvs, njobs;
    bool conservative;
    struct rresv resvs[RESVS + 1];
    struct rjob jobs[JOBS + 1];
};

static void draw_world(uint64_t seed, bool plain, struct rworld *w)
{
    uint64_t x = seed * UINT64_C(0x9e3779b97f4a7c15) + 5;

    memset(w, 0, sizeof(*w));
    w->nnodes = 2 + draw(&x, 5);
    w->nresvs = 1 + draw(&x, RESVS);
    w->njobs = 4 + draw(&x, JOBS - 4);
    w->conservative = plain || draw(&x, 2);
    for (uint32_t i = 1; i <= w->nresvs; i++) {
        struct rresv *r = &w->resvs[i];

        r->first = draw(&x, w->nnodes);
        r->n = 1 + draw(&x, w->nnodes - r->first);
        r->from = (int64_t)draw(&x, 40) - 10;
        r->length = 3 + draw(&x, 20);
        r->every = draw(&x, 3) ? 0 : r->length + 1 + draw(&x, 20);
        r->cpus = plain || draw(&x, 3) ? 0 : 1 + draw(&x, CPUS - 1);
        r->flex = !plain && !draw(&x, 5);
        r->beside = !plain && !draw(&x, 5);
        r->floats = !plain && !draw(&x, 8);
    }
    for (uint32_t i = 1; i <= w->njobs; i++) {
        struct rjob *j = &w->jobs[i];

        *j = (struct rjob){ .nodes = 1 + draw(&x, w->nnodes), .minutes = 1 + draw(&x, 15) };
        if (!draw(&x, 2))
            j->resv = 1 + draw(&x, w->nresvs);
        j->magnetic = !plain && j->resv && !draw(&x, 3);
        if (j->resv && w->resvs[j->resv].floats)
            j->resv = 0;
        if (j->resv)
            j->nodes = 1 + draw(&x, w->resvs[j->resv].n);
    }
}

static void feed_world(struct sched *s, const struct rworld *w, uint32_t cpus)
{
    for (uint32_t i = 1; i <= w->nresvs; i++) {
        const struct rresv *r = &w->resvs[i];
        struct sched_resv in = { .flex = r->flex,
                                 .beside = r->beside,
                                 .floats = r->floats,
                                 .float_us = r->length * MINUTE };
        struct sched_resv_window win[16];
        struct sched_resv_cpus held[UTIL_NODES_MAX];
        const uint64_t bits = (UINT64_C(1) << r->cpus) - 1;

        for (uint32_t k = 0; k < 16 && (k == 0 || r->every); k++)
            win[in.nwindows++] =
                (struct sched_resv_window){ NOW + (r->from + k * r->every) * MINUTE,
                                            NOW + (r->from + k * r->every + r->length) * MINUTE };
        for (uint32_t k = 0; r->cpus && k < r->n; k++)
            held[in.ncpus++] = (struct sched_resv_cpus){ r->first + k, &bits, 1 };
        in.windows = win;
        in.cpus = held;
        reserve(s, i, r->first, r->n, 0, 0, in);
    }
    for (uint32_t i = 1; i <= w->njobs; i++) {
        const struct sched_job_resv in = { w->jobs[i].resv, w->jobs[i].magnetic };
        struct sched_job j =
            job(i, w->jobs[i].nodes, w->jobs[i].nodes * (1 + i % cpus), w->jobs[i].minutes);

        j.resvs = &in;
        j.nresvs = w->jobs[i].resv > 0;
        j.resv_only = w->jobs[i].resv && !w->jobs[i].magnetic;
        put(s, j);
    }
}

/* Does [from, to) minutes meet a window of r?  inside: does it lie in one? */
static bool meets(const struct rresv *r, int64_t from, int64_t to, bool inside)
{
    if (r->floats)
        return !inside && to - from > r->length;
    for (int64_t k = 0; k < 16 && (k == 0 || r->every); k++) {
        int64_t a = r->from + k * r->every, b = a + r->length;

        if (inside ? a <= from && to <= b : a < to && from < b)
            return true;
    }
    return false;
}

/* How long a job holds nodes from this minute on: one that asked for its reservation is ended with
 * it. */
static int64_t end_of(const struct rresv *own, const struct rjob *j, int64_t now)
{
    int64_t end = now + j->minutes;

    for (int64_t k = 0; own && !own->flex && !j->magnetic && k < 16 && (k == 0 || own->every);
         k++) {
        int64_t a = own->from + k * own->every, b = a + own->length;

        if (a <= now && now < b)
            end = MIN(end, b);
    }
    return end;
}

static uint32_t nodes_of(const struct rresv *r)
{
    return ((1u << r->n) - 1) << r->first;
}

/* A start of job i now is one that reservations allow. */
static void check_start(const struct rworld *w, const struct rjob *j, int64_t now)
{
    const struct rresv *own = j->used ? &w->resvs[j->used] : NULL;

    assert_true(!j->used || j->used == j->resv);
    assert_true(!j->resv || j->used || j->magnetic);
    if (own && !own->flex) {
        assert_true(meets(own, now, end_of(own, j, now), true));
        assert_int_equal(j->held & ~nodes_of(own), 0);
        for (uint32_t n = 0; own->cpus && n < w->nnodes; n++)
            assert_int_equal(j->cpus[n] >> own->cpus, 0);
    }
    for (uint32_t i = 1; i <= w->nresvs; i++) {
        const struct rresv *r = &w->resvs[i];

        if (r == own || (own && own->beside) || !meets(r, now, end_of(own, j, now), false))
            continue;
        for (uint32_t n = 0; n < w->nnodes; n++)
            if (j->held & nodes_of(r) & 1u << n)
                assert_int_equal(r->cpus ? j->cpus[n] & ((UINT64_C(1) << r->cpus) - 1) : 1, 0);
    }
}

static void take_starts(struct sched *s, struct rworld *w, int64_t now, struct sched_decisions *d)
{
    for (size_t i = 0; i < d->n; i++) {
        const struct sched_decision *x = &d->items[i];
        struct rjob *j = &w->jobs[x->job_id];

        if (x->kind != SCHED_START)
            continue;
        assert_false(j->done || j->running);
        j->running = true;
        j->end = now + j->minutes;
        j->used = x->resv_id;
        for (size_t k = 0; k < x->alloc.nnodes; k++) {
            j->held |= 1u << x->alloc.nodes[k].node_id;
            j->cpus[x->alloc.nodes[k].node_id] = x->alloc.nodes[k].cpu_bits[0];
        }
        check_start(w, j, now);
        assert_int_equal(sched_job_running(s, x->job_id, "main", &x->alloc, NOW + now * MINUTE,
                                           NOW + j->end * MINUTE, false),
                         0);
    }
}

/* Time goes on; jobs end early, on time, and reservations come and go. */
static void test_random(void **state)
{
    uint32_t ran = 0;

    (void)state;
    for (uint32_t seed = 0; seed < cases; seed++) {
        struct rworld w;
        struct sched *s;
        uint64_t x = seed;

        draw_world(seed, false, &w);
        s = cluster(w.nnodes, CPUS, w.conservative);
        feed_world(s, &w, CPUS);
        for (int64_t now = 0; now < 60; now++) {
            struct sched_decisions d = { 0 };
            int64_t wake;

            for (uint32_t i = 1; i <= w.njobs; i++) {
                struct rjob *j = &w.jobs[i];

                if (j->running && (j->end <= now || !draw(&x, 9))) {
                    j->running = false;
                    j->done = true;
                    ran++;
                    sched_job_remove(s, i);
                }
            }
            assert_int_equal(sched_pass(s, NOW + now * MINUTE, &d, &wake), 0);
            assert_int_equal(sched_backfill(s, NOW + now * MINUTE, &d), 0);
            take_starts(s, &w, now, &d);
            sched_decisions_done(&d);
        }
        sched_free(s);
    }
    assert_true(ran > cases * 2); /* or nothing was tested */
}

/* Whole nodes of one CPU: the first minute at which enough are free, for one job after the
 * other. */
static void test_plan(void **state)
{
    static bool busy[HORIZON + 64][UTIL_NODES_MAX];

    (void)state;
    for (uint32_t seed = 0; seed < cases; seed++) {
        struct seen seen[JOBS + 1] = { { 0 } };
        struct rworld w;
        struct sched *s;

        draw_world(seed + 100000, true, &w);
        s = cluster(w.nnodes, 1, true);
        feed_world(s, &w, 1);
        look(s, NOW, false, seen, NULL);
        memset(busy, 0, sizeof(busy));
        for (uint32_t k = 0; k < 2 * w.njobs; k++) { /* those with a reservation go first */
            uint32_t i = k % w.njobs + 1;
            const struct rjob *j = &w.jobs[i];
            const struct rresv *own = j->resv ? &w.resvs[j->resv] : NULL;
            int found = -1;
            uint32_t free = 0;

            if ((j->resv != 0) != (k < w.njobs))
                continue;
            for (int t = 0; found < 0 && t < HORIZON; t++) {
                uint32_t n = 0;

                free = (1u << w.nnodes) - 1;
                if (own)
                    free = meets(own, t, end_of(own, j, t), true) ? nodes_of(own) : 0;
                for (uint32_t r = 1; r <= w.nresvs; r++)
                    if (&w.resvs[r] != own && meets(&w.resvs[r], t, end_of(own, j, t), false))
                        free &= ~nodes_of(&w.resvs[r]);
                for (uint32_t node = 0; node < w.nnodes; node++) {
                    for (uint32_t m = 0; m < j->minutes; m++)
                        if (busy[t + (int)m][node])
                            free &= ~(1u << node);
                    n += free >> node & 1;
                }
                if (n >= j->nodes)
                    found = t;
            }
            if (found < 0) { /* beyond, or never: those after it cannot be told either */
                assert_true(at_minute(&seen[i]) < 0 || at_minute(&seen[i]) >= HORIZON - 1);
                break;
            }
            assert_int_equal(at_minute(&seen[i]), found);
            assert_int_equal(seen[i].nodes & ~free, 0);
            assert_int_equal((uint32_t)__builtin_popcount(seen[i].nodes), j->nodes);
            for (uint32_t node = 0; node < w.nnodes; node++)
                for (uint32_t m = 0; m < j->minutes; m++)
                    busy[found + (int)m][node] |= seen[i].nodes >> node & 1;
        }
        sched_free(s);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outside),
        cmocka_unit_test(test_inside),
        cmocka_unit_test(test_magnetic),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_float),
        cmocka_unit_test(test_licences),
        cmocka_unit_test(test_licences_planned),
        cmocka_unit_test(test_time_min),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_plan),
    };

    if (argc > 1)
        cases = (uint32_t)strtoul(argv[1], NULL, 10);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
