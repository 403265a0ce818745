/* test_gang.c - turns of jobs that share CPUs, slice by slice on a clock of its own
 *
 *     test_gang [CASES]       random worlds, 2000 without
 *
 * In every random world jobs of several nodes start, end, are suspended for good and come back
 * while slices pass. */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/rules/gang.h"

#define SECOND INT64_C(1000000)
#define SLICE (30 * SECOND)
#define NODES 3u
#define WORDS 2u /* of a node: up to 128 CPUs */
#define JOBS 12u

static uint32_t cases = 2000;

static uint32_t draw(uint64_t *x, uint32_t n)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return (uint32_t)(*x % n);
}

/* ---- small cases ----------------------------------------------------------------------------- */

static const uint64_t bits[] = { 0x1, 0x2, 0x3, 0xc, 0xf };
enum { CPU0, CPU1, CPU01, CPU23, ALL };

struct line {
    uint32_t id, rank;
    bool running, fixed;
    int64_t since, ran;
    int on, more;     /* bits[] of node 0, and of node 1 (-1 = not there) */
    bool next, still; /* runs with the next slice, within the slice */
};

static void check(const struct line *lines, size_t n, const char *what)
{
    struct gang_claim claims[8][2];
    struct gang_job jobs[8];

    for (int turn = 0; turn < 2; turn++) {
        for (size_t i = 0; i < n; i++) {
            const struct line *l = &lines[i];

            claims[i][0] = (struct gang_claim){ .node_id = 7, .nwords = 1, .cpus = &bits[l->on] };
            claims[i][1] =
                (struct gang_claim){ .node_id = 3, .nwords = 1, .cpus = &bits[MAX(l->more, 0)] };
            jobs[i] = (struct gang_job){ .id = l->id,
                                         .rank = l->rank,
                                         .running = l->running,
                                         .fixed = l->fixed,
                                         .since_us = l->since,
                                         .ran_us = l->ran,
                                         .claims = claims[i],
                                         .nclaims = l->more >= 0 ? 2 : 1 };
        }
        assert_int_equal(gang_plan(jobs, n, turn), 0);
        for (size_t i = 0; i < n; i++)
            if (jobs[i].runs != (turn ? lines[i].next : lines[i].still))
                fail_msg("%s: job %u %s %s", what, lines[i].id, jobs[i].runs ? "runs" : "waits",
                         turn ? "with the next slice" : "within the slice");
    }
}

#define CHECK(what, ...)                                                                           \
    check((const struct line[]){ __VA_ARGS__ },                                                    \
          ARRAY_SIZE(((const struct line[]){ __VA_ARGS__ })), what)

static void test_cases(void **state)
{
    (void)state;
    CHECK("two take turns", { 1, 0, true, false, 100, 0, ALL, -1, false, true },
          { 2, 0, false, false, 100, 0, ALL, -1, true, false });
    CHECK("the longest wait first", { 1, 0, true, false, 90, 0, ALL, -1, false, true },
          { 2, 0, false, false, 60, 30, ALL, -1, false, false },
          { 3, 0, false, false, 30, 30, ALL, -1, true, false });
    CHECK("of those that wait as long, the one that ran least",
          { 1, 0, true, false, 90, 0, ALL, -1, false, true },
          { 2, 0, false, false, 60, 30, ALL, -1, false, false },
          { 3, 0, false, false, 60, 20, ALL, -1, true, false });
    CHECK("one that has just started waits", { 1, 0, true, false, 90, 0, ALL, -1, true, true },
          { 2, 0, true, false, 100, 0, CPU0, -1, false, false });
    CHECK("nobody waits whose CPUs are free", { 1, 0, true, false, 90, 0, CPU0, -1, true, true },
          { 2, 0, false, false, 60, 0, CPU1, -1, true, true },
          { 3, 0, false, false, 70, 0, CPU23, -1, true, true });
    CHECK("the wide one goes before those that fill up",
          { 1, 0, true, false, 90, 0, CPU0, -1, false, true },
          { 2, 0, true, false, 90, 0, CPU23, -1, false, true },
          { 3, 0, false, false, 60, 0, ALL, -1, true, false },
          { 4, 0, false, false, 70, 0, CPU1, -1, false, true });
    CHECK("all nodes of a job run, or none", { 1, 0, true, false, 90, 0, CPU0, CPU0, false, true },
          { 2, 0, false, false, 60, 0, CPU1, CPU01, true, false },
          { 3, 0, false, false, 70, 0, CPU0, CPU23, true, false });
    CHECK("higher ranks take turns among themselves",
          { 1, 9, true, false, 90, 0, CPU01, -1, false, true },
          { 2, 9, false, false, 60, 0, CPU01, -1, true, false },
          { 3, 1, false, false, 10, 0, ALL, -1, false, false });
    CHECK("a lower rank gives way at once", { 1, 1, true, false, 10, 0, ALL, -1, false, false },
          { 2, 9, true, false, 100, 0, CPU0, -1, true, true });
    CHECK("who ends anyway is not stopped", { 1, 0, true, true, 90, 0, ALL, -1, true, true },
          { 2, 9, false, false, 60, 0, CPU0, -1, false, false });
    CHECK("nobody is nobody's rival", { 1, 0, true, false, 0, 0, ALL, -1, true, true });
}

static void test_none(void **state)
{
    (void)state;
    assert_int_equal(gang_plan(NULL, 0, true), 0);
}

/* Five on the same CPUs: each runs every fifth slice, for 100 slices. */
static void test_rotation(void **state)
{
    struct gang_claim claim = { .node_id = 0, .nwords = 1, .cpus = &bits[ALL] };
    struct gang_job jobs[5];
    unsigned slices[5] = { 0 };

    (void)state;
    for (uint32_t i = 0; i < 5; i++)
        jobs[i] = (struct gang_job){
            .id = i + 1, .running = true, .since_us = i, .claims = &claim, .nclaims = 1
        };
    for (int64_t now = 0; now < 100; now++) {
        assert_int_equal(gang_plan(jobs, 5, now > 0), 0);
        for (uint32_t i = 0; i < 5; i++) {
            assert_int_equal(jobs[i].runs, now % 5 == i);
            slices[i] += jobs[i].runs;
            if (jobs[i].runs != jobs[i].running)
                jobs[i].since_us = 10 + now;
            jobs[i].running = jobs[i].runs;
        }
    }
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(slices[i], 20);
}

/* ---- random worlds --------------------------------------------------------------------------- */

struct rjob {
    bool there, running, out; /* out: suspended for good */
    uint32_t rank;
    int64_t since, ran, left;
    uint64_t cpus[NODES][WORDS];
    unsigned waited; /* slices in a row */
    uint32_t rivals; /* a bit for each that shared CPUs with it while it waited */
};

struct rworld {
    uint64_t x;
    int64_t now;
    bool ranks;
    struct rjob jobs[JOBS];
};

static bool rivals(const struct rjob *a, const struct rjob *b)
{
    for (uint32_t n = 0; n < NODES; n++)
        for (uint32_t w = 0; w < WORDS; w++)
            if (a->cpus[n][w] & b->cpus[n][w])
                return true;
    return false;
}

static void begin_job(struct rworld *w, struct rjob *j)
{
    *j = (struct rjob){ .there = true,
                        .running = true,
                        .rank = w->ranks ? draw(&w->x, 2) : 0,
                        .since = w->now,
                        .left = (1 + draw(&w->x, 300)) * SECOND };
    for (uint32_t n = 0; n < NODES; n++) {
        uint32_t first = draw(&w->x, 100), count = draw(&w->x, 3) ? 1 + draw(&w->x, 40) : 0;

        for (uint32_t c = first; c < first + count && c < 128; c++)
            j->cpus[n][c / 64] |= UINT64_C(1) << (c % 64);
    }
    j->cpus[0][0] |= UINT64_C(1) << draw(&w->x, 8);
}

static void pass(struct rworld *w, int64_t us)
{
    w->now += us;
    for (uint32_t i = 0; i < JOBS; i++) {
        struct rjob *j = &w->jobs[i];

        if (!j->there || j->out || !j->running)
            continue;
        j->ran += us;
        j->left -= us;
        j->there = j->left > 0;
    }
}

/* In an order of its own, which must not matter. */
static size_t ask(struct rworld *w, bool next, struct gang_job *jobs, uint32_t *which,
                  struct gang_claim (*claims)[NODES])
{
    uint32_t first = draw(&w->x, JOBS);
    size_t n = 0;

    for (uint32_t k = 0; k < JOBS; k++) {
        uint32_t i = (first + k) % JOBS;
        struct rjob *j = &w->jobs[i];

        if (!j->there || j->out)
            continue;
        for (uint32_t d = 0; d < NODES; d++)
            claims[n][d] =
                (struct gang_claim){ .node_id = 40 - d, .nwords = WORDS, .cpus = j->cpus[d] };
        which[n] = i;
        jobs[n] = (struct gang_job){ .id = i,
                                     .rank = j->rank,
                                     .running = j->running,
                                     .since_us = j->since,
                                     .ran_us = j->ran,
                                     .claims = claims[n],
                                     .nclaims = NODES };
        n++;
    }
    assert_int_equal(gang_plan(jobs, n, next), 0);
    return n;
}

static void judge(const struct rworld *w, const struct gang_job *jobs, const uint32_t *which,
                  size_t n, bool next)
{
    for (size_t a = 0; a < n; a++) {
        const struct rjob *j = &w->jobs[which[a]];
        bool kept_out = false, held_up = false, beaten = false;

        for (size_t b = 0; b < n; b++) {
            const struct rjob *k = &w->jobs[which[b]];

            if (a == b || !rivals(j, k))
                continue;
            if (jobs[a].runs && jobs[b].runs)
                fail_msg("jobs %u and %u run on one CPU", which[a], which[b]);
            kept_out = kept_out || (jobs[b].runs && k->rank >= j->rank);
            beaten = beaten || (jobs[b].runs && k->rank > j->rank);
            held_up = held_up || (jobs[b].runs && k->running && k->since <= j->since);
        }
        if (!jobs[a].runs && !kept_out)
            fail_msg("job %u waits for nobody", which[a]);
        if (!next && j->running && !jobs[a].runs && !held_up && !beaten)
            fail_msg("job %u is stopped within its slice", which[a]);
    }
}

static void note_waits(struct rworld *w, struct rjob *j, bool runs, bool next)
{
    unsigned most = 0;

    if (runs) {
        j->waited = 0;
        j->rivals = 0;
        return;
    }
    for (uint32_t k = 0; k < JOBS; k++)
        if (&w->jobs[k] != j && w->jobs[k].there && !w->jobs[k].out && w->jobs[k].rank == j->rank &&
            rivals(j, &w->jobs[k]))
            j->rivals |= 1u << k;
    for (uint32_t k = 0; k < JOBS; k++)
        most += j->rivals >> k & 1;
    j->waited += next;
    if (!w->ranks && j->waited > most)
        fail_msg("a job waits for the %uth slice, of %u rivals", j->waited, most);
}

static void turn(struct rworld *w, bool next)
{
    struct gang_claim claims[JOBS][NODES];
    struct gang_job jobs[JOBS];
    uint32_t which[JOBS];
    size_t n = ask(w, next, jobs, which, claims);

    judge(w, jobs, which, n, next);
    for (size_t i = 0; i < n; i++) {
        struct rjob *j = &w->jobs[which[i]];

        note_waits(w, j, jobs[i].runs, next);
        if (j->running != jobs[i].runs)
            j->since = w->now;
        j->running = jobs[i].runs;
    }
}

static void live(uint64_t seed)
{
    struct rworld w = { .x = seed * 0x9e3779b97f4a7c15u + 1,
                        .now = SECOND,
                        .ranks = seed % 4 == 0 };

    for (unsigned step = 0; step < 60; step++) {
        uint32_t i = draw(&w.x, JOBS);
        struct rjob *j = &w.jobs[i];

        if (!j->there) {
            begin_job(&w, j);
        } else if (draw(&w.x, 6) == 0) {
            j->there = false; /* cancelled */
        } else if (draw(&w.x, 8) == 0) {
            j->out = !j->out; /* an operator's; back, it waits as long as he let it */
            j->running = false;
            j->since = w.now;
            j->waited = 0;
        }
        turn(&w, false);
        pass(&w, (1 + draw(&w.x, 29)) * SECOND);
        turn(&w, false); /* some have ended */
        if (draw(&w.x, 2)) {
            pass(&w, SECOND);
            turn(&w, true);
        }
    }
}

static void test_random(void **state)
{
    (void)state;
    for (uint32_t i = 1; i <= cases; i++)
        live(i);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_rotation),
        cmocka_unit_test(test_random),
    };

    if (argc > 1)
        cases = (uint32_t)strtoul(argv[1], NULL, 10);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
