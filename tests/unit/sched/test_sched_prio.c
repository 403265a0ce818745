/* test_sched_prio.c - priorities: every factor, fair share by all formulas, flags, decay, resets */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/sched.h"

#define NOW INT64_C(1700000000000000)
#define HOUR INT64_C(3600000000)

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-6 || (isinf(a) && isinf(b));
}

#define ROOT FAIRSHARE_ROOT

/* The tree of a recorded session: root (user), ops, science/{chem/{bob,carol,nosuchperson},
 * physics/{alice,bob}}. */
static const struct fairshare_node recorded[] = {
    { .parent = ROOT, .shares = 1, .user = true },
    { .parent = ROOT, .shares = 1 },
    { .parent = ROOT, .shares = 50 },
    { .parent = 2, .shares = 20 },
    { .parent = 3, .shares = 1, .user = true },
    { .parent = 3, .shares = 1, .user = true },
    { .parent = 3, .shares = 1, .user = true },
    { .parent = 2, .shares = 30 },
    { .parent = 7, .shares = 10, .user = true, .usage = 527 },
    { .parent = 7, .shares = 1, .user = true },
};

static void test_fair_tree_recorded(void **state)
{
    static const double factors[] = { 1, 0, 0, 0, 5. / 6, 5. / 6, 5. / 6, 0, 1. / 6, 2. / 6 };
    static const double levels[] = { INFINITY, INFINITY, 0.961538, INFINITY, INFINITY,
                                     INFINITY, INFINITY, 0.6,      0.909091, INFINITY };
    struct fairshare_node n[ARRAY_SIZE(recorded)];

    (void)state;
    memcpy(n, recorded, sizeof(n));
    assert_int_equal(fairshare_compute(n, ARRAY_SIZE(n), FAIRSHARE_TREE, 1), 0);
    for (size_t i = 0; i < ARRAY_SIZE(n); i++) {
        assert_true(near(n[i].factor, factors[i]));
        assert_true(near(n[i].level_fs, levels[i]));
    }
    assert_true(near(n[2].norm_shares, 0.961538));
    assert_true(near(n[7].effective_usage, 1));
}

/* Users that tie get one rank; equal accounts are one list; a user that ties with an account is as
 * good as its best. */
static void test_fair_tree_ties(void **state)
{
    struct fairshare_node n[] = {
        { .parent = ROOT, .shares = 1 },                           /* a: 2 of 4 used, level 0.5 */
        { .parent = ROOT, .shares = 1 },                           /* b: the same */
        { .parent = 0, .shares = 1, .user = true, .usage = 2 },    /* below 1 */
        { .parent = 1, .shares = 1, .user = true, .usage = 1 },    /* level 1 */
        { .parent = 1, .shares = 3, .user = true, .usage = 1 },    /* level 1.5: first of both */
        { .parent = ROOT, .shares = 1, .user = true, .usage = 2 }, /* ties with a and b */
        { .parent = ROOT, .shares = 1, .user = true, .usage = 4 },
    };

    (void)state;
    assert_int_equal(fairshare_compute(n, ARRAY_SIZE(n), FAIRSHARE_TREE, 1), 0);
    assert_true(near(n[5].factor, 1));
    assert_true(near(n[4].factor, 1));      /* the accounts' top user ties with the user */
    assert_true(near(n[2].factor, 3. / 5)); /* level 1, after two */
    assert_true(near(n[3].factor, 2. / 5)); /* level .25 * ... */
    assert_true(near(n[6].factor, 1. / 5));
}

static void test_fair_tree_parent(void **state)
{
    struct fairshare_node n[] = {
        { .parent = ROOT, .shares = 1 },
        { .parent = ROOT, .shares = 1, .user = true, .usage = 10 },
        { .parent = 0, .use_parent = true, .user = true, .usage = 6 },
        { .parent = 0, .use_parent = true, .user = true, .usage = 0 },
    };

    (void)state;
    assert_int_equal(fairshare_compute(n, ARRAY_SIZE(n), FAIRSHARE_TREE, 1), 0);
    assert_true(near(n[2].factor, n[3].factor)); /* neither has shares to exceed */
    assert_true(near(n[2].factor, 1));
    assert_true(isinf(n[2].level_fs));
    assert_true(near(n[1].factor, 1. / 3));
}

static void test_lost_branch(void **state)
{
    struct fairshare_node n[] = {
        { .parent = 1, .shares = 1, .user = true }, /* a circle */
        { .parent = 0, .shares = 1 },
        { .parent = 17, .shares = 1, .user = true }, /* nobody */
        { .parent = ROOT, .shares = 1, .user = true },
    };

    (void)state;
    assert_int_equal(fairshare_compute(n, ARRAY_SIZE(n), FAIRSHARE_TREE, 1), 0);
    assert_true(near(n[0].factor, 0) && near(n[2].factor, 0) && near(n[3].factor, 1));
    assert_int_equal(fairshare_compute(n, ARRAY_SIZE(n), FAIRSHARE_CLASSIC, 1), 0);
    assert_true(near(n[0].factor, 0) && near(n[3].factor, 1));
    assert_int_equal(fairshare_compute(NULL, 0, FAIRSHARE_TREE, 1), 0);
}

/* The classic formula written down as one would in a spreadsheet: a row per node, from its parent's
 * row. */
static void test_classic_sheet(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 200; seed++) {
        struct fairshare_node n[40] = { 0 };
        double s[40], ue[40], total[40] = { 0 }, grand = 0, sum;
        uint64_t x = seed * 0x9e3779b97f4a7c15u;

        for (uint32_t i = 0; i < 40; i++) {
            x = x * 6364136223846793005u + 1442695040888963407u;
            n[i].parent = i < 3 ? ROOT : (uint32_t)(x >> 33) % MIN(i, 12u);
            n[i].user = i >= 12;
            n[i].shares = 1 + (uint32_t)(x >> 50) % 9;
            n[i].usage = n[i].user ? (double)((x >> 20) % 1000) : 0;
            grand += n[i].usage;
        }
        for (uint32_t i = 40; i-- > 0;) {
            total[i] += n[i].usage;
            if (n[i].parent != ROOT)
                total[n[i].parent] += total[i];
        }
        assert_int_equal(fairshare_compute(n, 40, FAIRSHARE_CLASSIC, 2), 0);
        for (uint32_t i = 0; i < 40; i++) {
            sum = 0;
            for (uint32_t k = 0; k < 40; k++)
                sum += n[k].parent == n[i].parent ? n[k].shares : 0;
            s[i] = n[i].shares / sum * (n[i].parent == ROOT ? 1 : s[n[i].parent]);
            ue[i] = total[i] / grand;
            if (n[i].parent != ROOT)
                ue[i] += (ue[n[i].parent] - ue[i]) * n[i].shares / sum;
            assert_true(near(n[i].factor, pow(2, -(ue[i] / s[i]) / 2)));
            assert_true(near(n[i].norm_shares, s[i]));
        }
    }
}

/* Fair tree: whoever is ahead at the level where two part is ahead of the other; ranks are 1 ..
 * users. */
static int compare_paths(const struct fairshare_node *n, uint32_t a, uint32_t b)
{
    uint32_t pa[8], pb[8], la = 0, lb = 0;

    for (uint32_t i = a; i != ROOT; i = n[i].parent)
        pa[la++] = i;
    for (uint32_t i = b; i != ROOT; i = n[i].parent)
        pb[lb++] = i;
    while (la && lb) {
        la--;
        lb--;
        if (n[pa[la]].level_fs != n[pb[lb]].level_fs)
            return n[pa[la]].level_fs > n[pb[lb]].level_fs ? 1 : -1;
    }
    return 0;
}

static void test_fair_tree_order(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 200; seed++) {
        struct fairshare_node n[30] = { 0 };
        uint64_t x = seed * 0x9e3779b97f4a7c15u;

        for (uint32_t i = 0; i < 30; i++) {
            x = x * 6364136223846793005u + 1442695040888963407u;
            n[i].parent = i < 3 ? ROOT : i < 10 ? i % 3 : 3 + (uint32_t)(x >> 33) % 7;
            n[i].user = i >= 10;
            n[i].shares = 1 + (uint32_t)(x >> 50) % 4;
            n[i].usage = n[i].user ? (double)((x >> 20) % 4) : 0;
        }
        assert_int_equal(fairshare_compute(n, 30, FAIRSHARE_TREE, 1), 0);
        for (uint32_t a = 10; a < 30; a++) {
            for (uint32_t b = 10; b < 30; b++) {
                int c = compare_paths(n, a, b);

                assert_int_equal(c, (n[a].factor > n[b].factor) - (n[a].factor < n[b].factor));
            }
            assert_true(n[a].factor >= 1. / 20 - 1e-9 && n[a].factor <= 1);
        }
    }
}

static void test_oblivious(void **state)
{
    struct fairshare_node n[] = {
        { .parent = ROOT, .shares = 1 },
        { .parent = ROOT, .shares = 1 },
        { .parent = 0, .shares = 1, .user = true, .usage = 10 },
        { .parent = 1, .shares = 1, .user = true, .usage = 10 },
    };

    (void)state;
    assert_int_equal(fairshare_compute(n, ARRAY_SIZE(n), FAIRSHARE_DEPTH_OBLIVIOUS, 1), 0);
    assert_true(near(n[2].factor, 0.5) && near(n[3].factor, 0.5)); /* used what is theirs */
    n[3].usage = 30;
    assert_int_equal(fairshare_compute(n, ARRAY_SIZE(n), FAIRSHARE_DEPTH_OBLIVIOUS, 1), 0);
    assert_true(n[2].factor > 0.5 && n[3].factor < 0.5);
}

/* 2023-11-14 22:13:20 UTC, a Tuesday */
static void test_reset(void **state)
{
    static const struct {
        enum fairshare_reset period;
        int64_t last, now;
        int32_t zone;
        bool due;
    } cases[] = {
        { FAIRSHARE_RESET_NONE, NOW, NOW + 9999 * HOUR, 0, false },
        { FAIRSHARE_RESET_NOW, 0, NOW, 0, true },
        { FAIRSHARE_RESET_NOW, NOW, NOW + HOUR, 0, false },
        { FAIRSHARE_RESET_DAILY, NOW, NOW + HOUR, 0, false },
        { FAIRSHARE_RESET_DAILY, NOW, NOW + HOUR, 3600, true }, /* 23:13 and 00:13 there */
        { FAIRSHARE_RESET_DAILY, NOW, NOW + 2 * HOUR, 0, true },
        { FAIRSHARE_RESET_WEEKLY, NOW, NOW + 4 * 24 * HOUR, 0, false }, /* Saturday */
        { FAIRSHARE_RESET_WEEKLY, NOW, NOW + 5 * 24 * HOUR, 0, true },
        { FAIRSHARE_RESET_MONTHLY, NOW, NOW + 16 * 24 * HOUR, 0, false }, /* 30 November */
        { FAIRSHARE_RESET_MONTHLY, NOW, NOW + 17 * 24 * HOUR, 0, true },
        { FAIRSHARE_RESET_QUARTERLY, NOW, NOW + 47 * 24 * HOUR, 0, false }, /* 31 December */
        { FAIRSHARE_RESET_QUARTERLY, NOW, NOW + 48 * 24 * HOUR, 0, true },
        { FAIRSHARE_RESET_YEARLY, NOW, NOW + 47 * 24 * HOUR, 0, false },
        { FAIRSHARE_RESET_YEARLY, NOW, NOW + 48 * 24 * HOUR, 0, true },
        { FAIRSHARE_RESET_DAILY, 0, NOW, 0, false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(
            fairshare_reset_due(cases[i].period, cases[i].last, cases[i].now, cases[i].zone),
            cases[i].due);
}

/* ---- through the scheduler ------------------------------------------------------------------- */

static struct sched_params weights(void)
{
    return (struct sched_params){ .select = SCHED_SELECT_CORE,
                                  .backfill = true,
                                  .bf_window_min = 1440,
                                  .multifactor = true,
                                  .max_age_s = 7 * 86400,
                                  .weight_age = 1000,
                                  .weight_fairshare = 10000,
                                  .weight_job_size = 500,
                                  .weight_partition = 2000,
                                  .weight_qos = 3000 };
}

/* Four nodes of 16 CPUs and 4 GPUs, in partitions debug (factor 10) and batch (100). */
static struct sched *cluster(struct sched_params p)
{
    static const uint32_t ids[] = { 0, 1, 2, 3 };
    static const struct sched_gres_spec gpu = { .name = "gpu", .count = 4, .indexed = true };
    struct sched *s = NULL;

    assert_int_equal(sched_new(&p, &s), 0);
    for (uint32_t i = 0; i < 4; i++) {
        const struct sched_node n = { .id = i,
                                      .name = "n",
                                      .cpus = 16,
                                      .sockets = 1,
                                      .cores_per_socket = 16,
                                      .threads_per_core = 1,
                                      .mem_mib = 16000,
                                      .weight = 1,
                                      .schedulable = true,
                                      .gres = &gpu,
                                      .ngres = 1 };

        assert_int_equal(sched_node_put(s, &n), 0);
    }
    for (int i = 0; i < 2; i++) {
        const struct sched_partition part = { .name = i ? "batch" : "debug",
                                              .node_ids = ids,
                                              .nnodes = 4,
                                              .tier = 1,
                                              .job_factor = i ? 100 : 10,
                                              .up = true,
                                              .max_time_min = SCHED_UNLIMITED,
                                              .max_nodes = SCHED_UNLIMITED };

        assert_int_equal(sched_partition_put(s, &part), 0);
    }
    return s;
}

static struct sched_job job(uint32_t id)
{
    static const char *const parts[] = { "debug" };

    return (struct sched_job){ .id = id,
                               .partitions = parts,
                               .npartitions = 1,
                               .submit_us = NOW,
                               .eligible_us = NOW,
                               .time_limit_min = 10,
                               .min_nodes = 1,
                               .num_tasks = 1,
                               .cpus_per_task = 1 };
}

struct got {
    struct sched_factors f[8];
    size_t n;
};

static int on_factors(void *ctx, const struct sched_factors *f)
{
    struct got *g = ctx;

    g->f[g->n++] = *f;
    return 0;
}

static struct sched_factors one(struct sched *s, struct sched_job j, int64_t now)
{
    struct got g = { .n = 0 };

    assert_int_equal(sched_job_put(s, &j), 0);
    assert_int_equal(sched_priorities(s, now, on_factors, &g), 0);
    assert_int_equal(g.n, 1);
    sched_job_remove(s, j.id);
    return g.f[0];
}

static void feed_recorded(struct sched *s)
{
    for (uint32_t i = 0; i < ARRAY_SIZE(recorded); i++) {
        const struct fairshare_node *r = &recorded[i];
        const struct sched_assoc a = { .id = i + 1,
                                       .parent = r->parent == ROOT ? 0 : r->parent + 1,
                                       .shares = r->shares,
                                       .user = r->user,
                                       .usage = r->usage };

        assert_int_equal(sched_assoc_put(s, &a), 0);
    }
}

/* The figures of the recorded session: 1944 = 1666.67 + 78.1 + 200, and so on. */
static void test_recorded_priorities(void **state)
{
    static const char *const both[] = { "debug", "batch" };
    struct sched *s = cluster(weights());
    struct sched_job j = job(25);
    struct sched_factors f;
    struct got g = { .n = 0 };

    (void)state;
    feed_recorded(s);
    assert_int_equal(sched_qos_put(s, "normal", 0), 0);
    assert_int_equal(sched_qos_put(s, "high", 100), 0);
    j.assoc_id = 9;
    j.num_tasks = 4;
    f = one(s, j, NOW);
    assert_true(near(f.fairshare, 1. / 6) && near(f.size, 0.15625) && near(f.part, 0.1));
    assert_int_equal(f.priority, 1944);
    j.qos = "high";
    j.num_tasks = 18; /* 0.25 and 18/64 */
    f = one(s, j, NOW);
    assert_true(near(f.size, 0.265625) && near(f.qos, 1));
    assert_int_equal(f.priority, 4999);
    j = job(28);
    j.assoc_id = 5;
    j.nice = 100;
    assert_int_equal(one(s, j, NOW).priority, 8499);
    j = job(29);
    j.assoc_id = 5;
    j.partitions = both;
    j.npartitions = 2;
    assert_int_equal(sched_job_put(s, &j), 0);
    assert_int_equal(sched_priorities(s, NOW, on_factors, &g), 0);
    assert_int_equal(g.n, 2);
    assert_int_equal(g.f[0].priority, 8599);
    assert_string_equal(g.f[1].partition, "batch");
    assert_int_equal(g.f[1].priority, 10399);
    sched_free(s);
}

static void test_age(void **state)
{
    struct sched_params p = weights();
    struct sched *s;
    struct sched_job j = job(1);

    (void)state;
    p.weight_partition = p.weight_job_size = p.weight_fairshare = 0;
    s = cluster(p);
    assert_int_equal(one(s, j, NOW + 84 * HOUR).priority, 500);
    assert_int_equal(one(s, j, NOW + 1000 * HOUR).priority, 1000);
    j.accrue_us = NOW + 84 * HOUR; /* it depended on another until then */
    assert_int_equal(one(s, j, NOW + 126 * HOUR).priority, 250);
    p.prio_flags = SCHED_PRIO_ACCRUE_ALWAYS;
    sched_params_set(s, &p);
    assert_int_equal(one(s, j, NOW + 126 * HOUR).priority, 750);
    j.priority = 77;
    assert_int_equal(one(s, j, NOW + 126 * HOUR).priority, 77);
    j.priority = 0;
    j.site_factor = 1000;
    assert_int_equal(one(s, j, NOW + 126 * HOUR).priority, 1750);
    j.nice = 10000;
    assert_int_equal(one(s, j, NOW + 126 * HOUR).priority, 1);
    sched_free(s);
}

static void test_sizes(void **state)
{
    struct sched_params p = weights();
    struct sched_job j = job(1);
    struct sched *s;

    (void)state;
    p.weight_job_size = 1000;
    p.weight_partition = 0;
    p.favor_small = true;
    s = cluster(p);
    j.num_tasks = 16;
    assert_int_equal(one(s, j, NOW).priority, 750);
    p.prio_flags = SCHED_PRIO_SMALL_RELATIVE_TO_TIME;
    sched_params_set(s, &p);
    assert_true(near(one(s, j, NOW).size, 1 - 1.6 / 64));
    p.favor_small = false;
    sched_params_set(s, &p);
    assert_true(near(one(s, j, NOW).size, 1.6 / 64));
    sched_free(s);
}

static void test_tres(void **state)
{
    static const struct sched_gres_req gpus = { .name = "gpu", .per_node = 2 };
    struct sched_params p = weights();
    struct sched_job j = job(1);
    struct sched_factors f;
    struct sched *s;

    (void)state;
    p.weight_job_size = p.weight_partition = 0;
    p.ntres_weights = 3;
    p.tres_weights[0] = (struct sched_tres_weight){ "cpu", 1000 };
    p.tres_weights[1] = (struct sched_tres_weight){ "mem", 2000 };
    p.tres_weights[2] = (struct sched_tres_weight){ "gres/gpu", 4000 };
    s = cluster(p);
    j.num_tasks = 8;
    j.mem_per_node_mib = 16000;
    j.has_mem_per_node = true;
    j.gres = &gpus;
    j.ngres = 1;
    f = one(s, j, NOW);
    assert_true(near(f.tres[0], 0.125) && near(f.tres[1], 0.25) && near(f.tres[2], 0.125));
    assert_int_equal(f.priority, 125 + 500 + 500);
    p.prio_flags = SCHED_PRIO_NO_NORMAL_TRES;
    sched_params_set(s, &p);
    assert_int_equal(one(s, j, NOW).tres[0], 8);
    sched_free(s);
}

static void test_raw(void **state)
{
    const struct sched_assoc a = { .id = 7, .shares = 1, .user = true, .priority = 40 },
                             b = { .id = 8, .shares = 1, .user = true, .priority = 80 };
    struct sched_params p = {
        .backfill = true, .multifactor = true, .weight_assoc = 10, .weight_qos = 1
    };
    struct sched *s = cluster(p);
    struct sched_job j = job(1);

    (void)state;
    j.assoc_id = 7;
    j.qos = "q";
    assert_int_equal(sched_assoc_put(s, &a), 0);
    assert_int_equal(sched_assoc_put(s, &b), 0);
    assert_int_equal(sched_qos_put(s, "q", 300), 0);
    assert_int_equal(one(s, j, NOW).priority, 6); /* 5 + 1 */
    p.prio_flags = SCHED_PRIO_NO_NORMAL_ASSOC | SCHED_PRIO_NO_NORMAL_QOS;
    sched_params_set(s, &p);
    assert_int_equal(one(s, j, NOW).priority, 700);
    sched_assoc_remove(s, 8);
    p.prio_flags = 0;
    sched_params_set(s, &p);
    assert_int_equal(one(s, j, NOW).priority, 11);
    assert_int_equal(sched_assoc_usage(s, 99, 1), -ENOENT);
    sched_free(s);
}

static void test_incr_only(void **state)
{
    struct sched_params p = weights();
    struct sched_job j = job(1), big = job(2);
    struct sched_decisions d = { 0 };
    struct sched *s;
    int64_t wake;

    (void)state;
    p.weight_job_size = p.weight_partition = 0;
    p.prio_flags = SCHED_PRIO_INCR_ONLY;
    s = cluster(p);
    feed_recorded(s);
    j.assoc_id = 9;
    j.min_nodes = 4;
    j.exclusive = true;
    big.exclusive = true;
    big.min_nodes = 4;
    big.priority = UINT32_MAX - 1;
    assert_int_equal(sched_job_put(s, &big), 0);
    assert_int_equal(sched_job_put(s, &j), 0);
    assert_int_equal(sched_assoc_usage(s, 9, 0), 0);
    assert_int_equal(sched_pass(s, NOW, &d, &wake), 0);
    assert_int_equal(sched_job_priority(s, 1), 10000); /* nobody used anything: all are first */
    assert_int_equal(sched_assoc_usage(s, 9, 527), 0);
    assert_int_equal(sched_pass(s, NOW + HOUR, &d, &wake), 0);
    assert_int_equal(sched_job_priority(s, 1), 10000); /* it does not fall */
    sched_decisions_done(&d);
    sched_free(s);
}

/* Only its priority is told, by one pass; the scheduler does not keep the job. */
static void test_price(void **state)
{
    struct sched_params p = weights();
    struct sched_job j = job(1);
    struct sched_decisions d = { 0 };
    struct sched *s;
    int64_t wake;
    uint32_t alone;

    (void)state;
    s = cluster(p);
    feed_recorded(s);
    j.assoc_id = 9;
    alone = one(s, j, NOW).priority;
    assert_int_equal(sched_job_price(s, &j), 0);
    assert_int_equal(sched_pending(s), 0);
    assert_int_equal(sched_pass(s, NOW, &d, &wake), 0);
    assert_int_equal(d.n, 1);
    assert_int_equal(d.items[0].kind, SCHED_PRICE);
    assert_int_equal(d.items[0].job_id, 1);
    assert_int_equal(d.items[0].priority, alone);
    assert_int_equal(d.started + d.queue_len, 0);
    sched_decisions_done(&d);
    assert_int_equal(sched_pass(s, NOW, &d, &wake), 0);
    assert_int_equal(d.n, 0);
    sched_decisions_done(&d);
    assert_int_equal(sched_job_price(s, &j), 0); /* freed with the scheduler */
    sched_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fair_tree_recorded),
        cmocka_unit_test(test_fair_tree_ties),
        cmocka_unit_test(test_fair_tree_parent),
        cmocka_unit_test(test_lost_branch),
        cmocka_unit_test(test_classic_sheet),
        cmocka_unit_test(test_fair_tree_order),
        cmocka_unit_test(test_oblivious),
        cmocka_unit_test(test_reset),
        cmocka_unit_test(test_recorded_priorities),
        cmocka_unit_test(test_age),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_tres),
        cmocka_unit_test(test_raw),
        cmocka_unit_test(test_incr_only),
        cmocka_unit_test(test_price),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
