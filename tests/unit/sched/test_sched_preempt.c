/* test_sched_preempt.c - the choice of victims: by hand, and against brute force on small random
 * clusters */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "sched/sched.h"

#define NOW INT64_C(1700000000000000)
#define SECOND INT64_C(1000000)
#define NODES 3u
#define CPUS 8u

static const uint32_t all_nodes[NODES] = { 0, 1, 2 };
static const char *const parts[] = { "low", "mid", "high" }; /* tiers 1, 2, 3 */

static struct sched *cluster(struct sched_preempt pre)
{
    struct sched_params params = { .select = SCHED_SELECT_CPU,
                                   .select_memory = true,
                                   .backfill = true,
                                   .bf_window_min = 1440,
                                   .preempt = pre };
    struct sched *s = NULL;

    assert_int_equal(sched_new(&params, &s), 0);
    for (uint32_t i = 0; i < NODES; i++) {
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
    for (uint32_t t = 0; t < ARRAY_SIZE(parts); t++) {
        const struct sched_partition p = { .name = parts[t],
                                           .node_ids = all_nodes,
                                           .nnodes = NODES,
                                           .tier = t + 1,
                                           .job_factor = 1,
                                           .up = true,
                                           .max_time_min = SCHED_UNLIMITED,
                                           .max_nodes = SCHED_UNLIMITED };

        assert_int_equal(sched_partition_put(s, &p), 0);
    }
    return s;
}

static const struct sched_preempt by_part = { .type = SCHED_PREEMPT_PART,
                                              .mode = SCHED_MODE_CANCEL,
                                              .reorder_count = 1 };

static struct sched_job job(uint32_t id, uint32_t part, uint32_t tasks)
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
                               .cpus_per_task = 1,
                               .mem_per_cpu_mib = 100 };
}

static void put(struct sched *s, struct sched_job j)
{
    assert_int_equal(sched_job_put(s, &j), 0);
}

/* It runs on `node` from CPU `first` on. */
static void run_at(struct sched *s, uint32_t id, uint32_t part, uint32_t node, uint32_t first,
                   uint32_t n, int64_t start_us, uint32_t priority, const char *qos)
{
    uint64_t bits = ((UINT64_C(1) << n) - 1) << first;
    struct sched_alloc_node an = { .node_id = node,
                                   .cpus = n,
                                   .cpu_bits = &bits,
                                   .ncpu_words = 1,
                                   .mem_mib = 100 * n,
                                   .tasks = n };
    struct sched_alloc a = { .nodes = &an, .nnodes = 1 };

    assert_int_equal(
        sched_job_running(s, id, parts[part], &a, start_us, NOW + 3600 * SECOND, false), 0);
    assert_int_equal(sched_job_rank(s, id, priority, qos, false), 0);
}

static int64_t wake;

static void expect_of(struct sched *s, int64_t seconds, bool backfill, const char *text)
{
    static const char letters[] = {
        [SCHED_MODE_CANCEL] = 'c', [SCHED_MODE_REQUEUE] = 'r', [SCHED_MODE_SUSPEND] = 's'
    };
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 };

    if (backfill)
        assert_int_equal(sched_backfill(s, NOW + seconds * SECOND, &d), 0);
    else
        assert_int_equal(sched_pass(s, NOW + seconds * SECOND, &d, &wake), 0);
    for (size_t i = 0; i < d.n; i++) {
        const struct sched_decision *x = &d.items[i];

        if (x->kind == SCHED_EXPECT)
            continue; /* why it waits is told in test_sched.c */
        strbuf_addf(&sb, "%u %s", x->job_id, x->kind == SCHED_START ? "starts" : "preempts");
        for (size_t v = 0; v < x->nvictims; v++)
            strbuf_addf(&sb, "%c%u%c", v ? ',' : ' ', x->victims[v].job_id,
                        letters[x->victims[v].mode]);
        strbuf_addf(&sb, " on n%u;", x->alloc.nodes[0].node_id);
    }
    assert_string_equal(strbuf_str(&sb), text);
}

/* One pass at NOW + seconds: "10 preempts 1c,2r on n0;10 starts on n0;" */
static void expect(struct sched *s, int64_t seconds, const char *text)
{
    expect_of(s, seconds, false, text);
}

/* Behind a blocked head, on nodes that nobody is planned for in time. */
static void test_backfill(void **state)
{
    static const uint32_t first[] = { 0 };
    struct sched_params params = { .select = SCHED_SELECT_CPU,
                                   .select_memory = true,
                                   .backfill = true,
                                   .conservative = true,
                                   .bf_window_min = 1440,
                                   .preempt = by_part };
    struct sched *s = cluster(by_part);
    struct sched_job head = job(10, 2, 8), wide = job(20, 2, 16), last;

    (void)state;
    sched_params_set(s, &params);
    run_at(s, 1, 2, 0, 0, CPUS, NOW, 1, NULL); /* its equal: it stays */
    run_at(s, 2, 0, 1, 0, CPUS, NOW, 1, NULL);
    run_at(s, 3, 0, 2, 0, CPUS, NOW - SECOND, 1, NULL);
    head.req_nodes = first;
    head.nreq = 1;
    put(s, head);
    put(s, job(11, 2, 4));
    expect(s, 0, "");
    expect_of(s, 0, true, "11 preempts 3c on n2;");
    sched_job_remove(s, 3);
    expect(s, 1, "11 starts on n2;");
    sched_job_remove(s, 11);
    /* A head that needs two nodes has a place on every node it could use: nobody is sent away
     * before it. */
    sched_job_remove(s, 10);
    run_at(s, 4, 2, 2, 0, CPUS, NOW, 1, NULL);
    wide.min_nodes = wide.max_nodes = 3;
    wide.num_tasks = 24;
    put(s, wide);
    last = job(21, 2, 4);
    put(s, last);
    expect(s, 2, "");
    expect_of(s, 2, true, "21 preempts 2c on n1;"); /* it ends before the head's time */
    sched_job_refused(s, 21);
    last.time_limit_min = 2000;
    put(s, last);
    expect(s, 3, "");
    expect_of(s, 3, true, "");
    sched_free(s);
}

/* A job that cannot be queued again is spared, whatever else speaks for it. */
static void test_one_run(void **state)
{
    struct sched_preempt pre = by_part;
    struct sched *s;

    (void)state;
    pre.mode = SCHED_MODE_REQUEUE;
    s = cluster(pre);
    for (uint32_t i = 0; i < NODES; i++)
        run_at(s, i + 1, 0, i, 0, CPUS, NOW - (int64_t)(NODES - i) * SECOND, 1, NULL);
    assert_int_equal(sched_job_rank(s, 1, 1, NULL, true), 0); /* it runs longest: first, else */
    put(s, job(10, 2, CPUS));
    expect(s, 0, "10 preempts 2r on n1;");
    sched_free(s);
    pre.mode = SCHED_MODE_CANCEL; /* all are lost alike */
    s = cluster(pre);
    for (uint32_t i = 0; i < NODES; i++)
        run_at(s, i + 1, 0, i, 0, CPUS, NOW - (int64_t)(NODES - i) * SECOND, 1, NULL);
    assert_int_equal(sched_job_rank(s, 1, 1, NULL, true), 0);
    put(s, job(10, 2, CPUS));
    expect(s, 0, "10 preempts 1c on n0;");
    sched_free(s);
}

static void test_claim(void **state)
{
    struct sched *s = cluster(by_part);

    for (uint32_t i = 0; i < NODES; i++)
        run_at(s, i + 1, 0, i, 0, CPUS, NOW - (int64_t)(NODES - i) * SECOND, 1, NULL);
    put(s, job(10, 2, 6));
    expect(s, 0, "10 preempts 1c on n0;"); /* it runs longest */
    put(s, job(9, 2, 2));                  /* what job 10 leaves there comes free anyway */
    expect(s, 1, "");
    sched_job_remove(s, 9);
    put(s, job(11, 2, 4)); /* job 10 leaves two of the CPUs there: not enough */
    expect(s, 1, "11 preempts 2c on n1;");
    put(s, job(12, 0, 2));
    sched_job_remove(s, 1);
    expect(s, 2, "10 starts on n0;12 starts on n0;");
    sched_job_refused(s, 11);
    expect(s, 3, "11 preempts 2c on n1;");
    sched_job_remove(s, 11); /* it was cancelled */
    sched_job_remove(s, 2);
    put(s, job(13, 0, 8));
    expect(s, 4, "13 starts on n1;");
    sched_free(s);
}

static void test_order(void **state)
{
    struct sched_preempt young = by_part;
    struct sched *s = cluster(by_part);

    /* One large job rather than four small ones; the small one where it is enough; the lower
     * tier before all. */
    for (uint32_t i = 0; i < 4; i++)
        run_at(s, i + 1, 0, 0, 2 * i, 2, NOW - (int64_t)(i + 1) * SECOND, 1, NULL);
    run_at(s, 5, 0, 1, 0, 8, NOW - 9 * SECOND, 1, NULL);
    run_at(s, 6, 1, 2, 0, 8, NOW, 1, NULL);
    put(s, job(10, 2, 8));
    expect(s, 0, "10 preempts 5c on n1;");
    put(s, job(11, 2, 2));
    expect(s, 0, "11 preempts 4c on n0;");
    put(s, job(12, 1, 8)); /* not its like */
    expect(s, 0, "");
    sched_free(s);

    young.youngest_first = young.strict_order = true;
    s = cluster(young);
    for (uint32_t i = 0; i < NODES; i++)
        run_at(s, i + 1, 0, i, 0, 8 - i, NOW - (int64_t)(3 - i) * SECOND, 1, NULL);
    run_at(s, 4, 1, 1, 7, 1, NOW, 1, NULL);
    run_at(s, 5, 1, 2, 6, 2, NOW, 1, NULL);
    put(s, job(10, 2, 1));
    expect(s, 0, "10 preempts 3c on n2;");
    sched_free(s);
}

static void test_exempt(void **state)
{
    struct sched_preempt pre = by_part;
    struct sched *s;

    pre.exempt_s = 60;
    pre.has_min_exempt_priority = true;
    pre.min_exempt_priority = 100;
    s = cluster(pre);
    run_at(s, 1, 0, 0, 0, 8, NOW - 50 * SECOND, 1, NULL);
    run_at(s, 2, 0, 1, 0, 8, NOW - 90 * SECOND, 100, NULL);
    run_at(s, 3, 0, 2, 0, 8, NOW - 40 * SECOND, 1, NULL);
    put(s, job(10, 2, 8));
    expect(s, 0, "");
    assert_int_equal(wake, NOW + 10 * SECOND);
    expect(s, 9, ""); /* found out before: not searched again, and not forgotten */
    assert_int_equal(wake, NOW + 10 * SECOND);
    expect(s, 10, "10 preempts 1c on n0;");
    sched_free(s);
}

static void test_suspend(void **state)
{
    struct sched_preempt pre = by_part;
    struct sched *s;

    pre.mode = SCHED_MODE_SUSPEND;
    s = cluster(pre);
    for (uint32_t i = 0; i < NODES; i++)
        run_at(s, i + 1, 0, i, 0, CPUS, NOW - (int64_t)i * SECOND, 1, NULL);
    put(s, job(10, 2, 4));
    expect(s, 0, "10 preempts 3s on n2;");
    sched_job_yield(s, 3, true);
    put(s, job(11, 0, 1)); /* the CPUs that job 10 leaves are job 3's */
    expect(s, 1, "10 starts on n2;");
    put(s, job(12, 1, 4)); /* it takes them from a job that is suspended anyway */
    expect(s, 2, "12 preempts 3s on n2;");
    sched_job_yield(s, 3, true);
    expect(s, 3, "12 starts on n2;");
    sched_job_remove(s, 10);
    expect(s, 4, "");
    sched_job_remove(s, 12);
    sched_job_yield(s, 3, false);
    expect(s, 5, "");
    sched_free(s);

    s = cluster(pre); /* memory stays with the suspended */
    for (uint32_t i = 0; i < NODES; i++)
        run_at(s, i + 1, 0, i, 0, CPUS, NOW - (int64_t)i * SECOND, 1, NULL);
    struct sched_job big = job(10, 2, 8);

    big.mem_per_cpu_mib = 950;
    put(s, big);
    expect(s, 0, "");
    sched_free(s);
}

static void test_leaving(void **state)
{
    struct sched *s = cluster(by_part);

    for (uint32_t i = 0; i < NODES; i++)
        run_at(s, i + 1, 0, i, 0, CPUS, NOW - (int64_t)i * SECOND, 1, NULL);
    sched_job_leaving(s, 2);
    put(s, job(10, 2, 8));
    expect(s, 0, ""); /* it ends anyway */
    put(s, job(11, 2, 8));
    sched_job_remove(s, 2);
    expect(s, 1, "10 starts on n1;11 preempts 3c on n2;");
    sched_free(s);
}

static void test_qos(void **state)
{
    static const char *const may[] = { "scavenger", "normal" };
    struct sched_preempt pre = { .type = SCHED_PREEMPT_QOS,
                                 .mode = SCHED_MODE_REQUEUE,
                                 .within = true };
    const struct sched_qos_preempt urgent = { .may = may, .nmay = 2 }, none = { 0 },
                                   soft = { .mode = SCHED_MODE_CANCEL,
                                            .has_exempt = true,
                                            .exempt_s = 5 },
                                   off = { .mode = SCHED_MODE_OFF };
    struct sched *s = cluster(pre);
    struct sched_job j;

    assert_int_equal(sched_qos_put(s, "normal", 10), 0);
    assert_int_equal(sched_qos_put(s, "scavenger", 1), 0);
    assert_int_equal(sched_qos_preempt_put(s, "urgent", &urgent), 0);
    assert_int_equal(sched_qos_preempt_put(s, "normal", &none), 0);
    assert_int_equal(sched_qos_preempt_put(s, "scavenger", &soft), 0);
    run_at(s, 1, 2, 0, 0, 8, NOW, 5, "normal");
    run_at(s, 2, 2, 1, 0, 8, NOW, 5, "scavenger");
    run_at(s, 3, 2, 2, 0, 8, NOW, 5, "other");
    j = job(10, 0, 8);
    j.qos = "normal";
    j.priority = 5; /* of its own QOS it would need more */
    put(s, j);
    expect(s, 9, "");
    j.id = 11;
    j.qos = "urgent";
    put(s, j);
    sched_job_remove(s, 10);
    expect(s, 1, "11 preempts 1r on n0;"); /* job 2 is exempt for some time */
    j.id = 12;
    put(s, j);
    expect(s, 5, "12 preempts 2c on n1;");
    assert_int_equal(sched_qos_preempt_put(s, "normal", &off), 0);
    sched_job_refused(s, 11);
    sched_job_remove(s, 12);
    expect(s, 6, "11 preempts 2c on n1;");
    sched_free(s);
}

static void test_licenses(void **state)
{
    struct sched_lic_req one = { "matlab", 1 };
    struct sched_preempt pre = by_part;

    for (uint32_t reclaim = 0; reclaim < 2; reclaim++) {
        struct sched *s;
        struct sched_job j = job(10, 2, 1);

        pre.reclaim_licenses = reclaim;
        s = cluster(pre);
        assert_int_equal(sched_license_put(s, "matlab", 1), 0);
        run_at(s, 1, 0, 0, 0, 2, NOW, 1, NULL);
        run_at(s, 2, 0, 1, 0, 2, NOW, 1, NULL);
        assert_int_equal(sched_job_licenses(s, 1, &one, 1), 0);
        j.licenses = &one;
        j.nlicenses = 1;
        put(s, j);
        expect(s, 0, reclaim ? "10 preempts 1c on n0;" : "");
        sched_job_remove(s, 1);
        expect(s, 1, "10 starts on n0;");
        assert_int_equal(sched_license_used(s, "matlab"), 1);
        sched_free(s);
    }
}

/* ---- against brute force --------------------------------------------------------------------- */

struct runner {
    uint32_t id, part, node, n;
    int64_t start_us;
};

static uint64_t seed;

static uint32_t dice(uint32_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 33) % n;
}

/* Does a job of `want` CPUs on one node fit when those of set are gone? */
static bool fits_without(const struct runner *r, uint32_t n, uint32_t set, uint32_t want)
{
    for (uint32_t node = 0; node < NODES; node++) {
        uint32_t used = 0;

        for (uint32_t i = 0; i < n; i++)
            used += r[i].node == node && !(set >> i & 1) ? r[i].n : 0;
        if (CPUS - used >= want)
            return true;
    }
    return false;
}

static uint32_t fill(struct sched *s, struct runner *r)
{
    uint32_t n = 0;

    for (uint32_t node = 0; node < NODES; node++) {
        for (uint32_t first = 0; first < CPUS;) {
            uint32_t cpus = 1 + dice(5);

            cpus = first + cpus > CPUS ? CPUS - first : cpus;
            r[n] = (struct runner){ n + 1, dice(3), node, cpus, NOW - (int64_t)dice(20) * SECOND };
            run_at(s, r[n].id, r[n].part, node, first, cpus, r[n].start_us, 1, NULL);
            first += cpus;
            n++;
            if (n == 12)
                return n;
        }
    }
    return n;
}

static void try_one(bool strict)
{
    struct sched_preempt pre = by_part;
    _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 };
    struct runner r[12];
    uint32_t n, part = 1 + dice(2), want = 1 + dice(CPUS), allowed = 0, chosen = 0;
    bool possible, preempts;
    struct sched *s;

    pre.exempt_s = dice(2) ? 10 : 0;
    pre.youngest_first = dice(2);
    pre.strict_order = strict;
    s = cluster(pre);
    n = fill(s, r);
    for (uint32_t i = 0; i < n; i++)
        if (r[i].part < part && NOW - r[i].start_us >= (int64_t)pre.exempt_s * SECOND)
            allowed |= 1u << i;
    put(s, job(100, part, want));
    assert_int_equal(sched_pass(s, NOW, &d, &wake), 0);
    possible = !fits_without(r, n, 0, want) && fits_without(r, n, allowed, want);
    preempts = d.n && d.items[0].kind == SCHED_PREEMPT;
    assert_int_equal(preempts, possible);
    for (size_t v = 0; preempts && v < d.items[0].nvictims; v++) {
        assert_true(allowed >> (d.items[0].victims[v].job_id - 1) & 1);
        chosen |= 1u << (d.items[0].victims[v].job_id - 1);
    }
    if (preempts) {
        assert_true(fits_without(r, n, chosen, want));
        for (uint32_t i = 0; i < n; i++)
            if (chosen >> i & 1)
                assert_false(fits_without(r, n, chosen & ~(1u << i), want));
        /* no way out without touching so high a tier */
        for (uint32_t set = 0; set < 1u << n; set++)
            if (!(set & ~allowed) && fits_without(r, n, set, want)) {
                uint32_t best = 0, mine = 0;

                for (uint32_t i = 0; i < n; i++) {
                    best = (set >> i & 1) && r[i].part > best ? r[i].part : best;
                    mine = (chosen >> i & 1) && r[i].part > mine ? r[i].part : mine;
                }
                assert_true(mine <= best);
            }
    }
    sched_free(s);
}

static void test_random(void **state)
{
    for (uint32_t i = 0; i < 600; i++) {
        seed = i + 1;
        try_one(i % 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_claim),    cmocka_unit_test(test_order),
        cmocka_unit_test(test_exempt),   cmocka_unit_test(test_suspend),
        cmocka_unit_test(test_leaving),  cmocka_unit_test(test_qos),
        cmocka_unit_test(test_licenses), cmocka_unit_test(test_backfill),
        cmocka_unit_test(test_random),   cmocka_unit_test(test_one_run),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
