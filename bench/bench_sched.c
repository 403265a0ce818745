/* bench_sched.c - the scheduler library alone: passes over large queues, and the flow of small jobs
 *
 *     bench_sched [NODES JOBS SHAPES]
 *     bench_sched layers NODES JOBS SHAPES     resources with layers alone
 *
 * Without arguments a growth table.  One JSON object per line.  Times are CPU time: one thread that
 * waits for nothing, whatever else the machine does. */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "sched/rules/limit.h"
#include "sched/sched.h"

#define MIN_US INT64_C(60000000)
#define START_US INT64_C(1700000000000000)

static double now_ms(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts); /* cannot fail for this clock */
    return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static void must(int r, const char *what)
{
    if (r >= 0)
        return;
    fprintf(stderr, "bench_sched: %s: error %d\n", what, -r);
    exit(1);
}

static struct sched *cluster(uint32_t nodes, uint32_t cpus, bool conservative)
{
    const struct sched_params params = { .select = SCHED_SELECT_CORE,
                                         .select_memory = true,
                                         .backfill = true,
                                         .bf_window_min = 1440,
                                         .conservative = conservative };
    _cleanup_free_ uint32_t *ids = calloc(nodes, sizeof(*ids));
    struct sched *s;

    must(ids ? sched_new(&params, &s) : -ENOMEM, "create");
    for (uint32_t i = 0; i < nodes; i++) {
        const struct sched_node n = { .id = i,
                                      .name = "n",
                                      .cpus = cpus,
                                      .sockets = 2,
                                      .cores_per_socket = cpus / 2,
                                      .threads_per_core = 1,
                                      .mem_mib = 256000,
                                      .weight = 1,
                                      .schedulable = true,
                                      .features = i % 2 ? "big,fast" : "big" };

        ids[i] = i;
        must(sched_node_put(s, &n), "node");
    }
    const struct sched_partition p = { .name = "main",
                                       .node_ids = ids,
                                       .nnodes = nodes,
                                       .tier = 1,
                                       .up = true,
                                       .max_time_min = SCHED_UNLIMITED,
                                       .max_nodes = SCHED_UNLIMITED };

    must(sched_partition_put(s, &p), "partition");
    return s;
}

static void put_asking(struct sched *s, uint32_t id, uint32_t nodes, uint32_t tasks,
                       uint32_t minutes, uint64_t mem, const struct sched_lic_req *asks)
{
    static const char *const parts[] = { "main" };
    const struct sched_job j = { .id = id,
                                 .partitions = parts,
                                 .npartitions = 1,
                                 .submit_us = START_US,
                                 .eligible_us = START_US,
                                 .time_limit_min = minutes,
                                 .min_nodes = nodes,
                                 .max_nodes = nodes,
                                 .num_tasks = tasks,
                                 .cpus_per_task = 1,
                                 .mem_per_cpu_mib = mem,
                                 .licenses = asks,
                                 .nlicenses = asks != NULL };

    must(sched_job_put(s, &j), "job");
}

static void put_job(struct sched *s, uint32_t id, uint32_t nodes, uint32_t tasks, uint32_t minutes,
                    uint64_t mem)
{
    put_asking(s, id, nodes, tasks, minutes, mem, NULL);
}

struct result {
    double ms;
    uint32_t started;
    size_t decisions;
    uint32_t first_started;
};

static struct result timed(struct sched *s, int64_t now_us, bool backfill)
{
    struct sched_decisions d = { 0 };
    struct result res = { 0 };
    double t = now_ms();
    int64_t wake;

    must(backfill ? sched_backfill(s, now_us, &d) : sched_pass(s, now_us, &d, &wake), "pass");
    res.ms = now_ms() - t;
    res.started = d.started;
    res.decisions = d.n;
    for (size_t i = 0; i < d.n && !res.first_started; i++)
        if (d.items[i].kind == SCHED_START)
            res.first_started = d.items[i].job_id;
    sched_decisions_done(&d);
    return res;
}

static double heap_bytes(void)
{
    struct mallinfo2 m = mallinfo2();

    return (double)(m.uordblks + m.hblkhd); /* small blocks and mapped ones */
}

/* A full first pass, backfill behind it, the pass after one job ended, the pass after one job
 * came. */
static void passes(uint32_t nodes, uint32_t jobs, uint32_t shapes)
{
    double empty = heap_bytes(), bare, queued, t, put_ms;
    struct sched *s = cluster(nodes, 64, false);
    struct result first, bf, bf2, end, again, put;

    bare = heap_bytes();
    t = now_ms();
    for (uint32_t i = 0; i < jobs; i++) {
        uint32_t shape = i * 2654435761u % shapes, wide = shape % 7 == 0 ? 2 + shape % 15 : 1;

        wide = wide > nodes ? nodes : wide;
        put_job(s, i + 1, wide, wide * (1 + shape % 64), 10 + shape % 300, 100 + shape % 997);
    }
    put_ms = now_ms() - t;
    queued = heap_bytes();
    first = timed(s, START_US, false);
    bf = timed(s, START_US + 1, true);
    sched_job_remove(s, first.first_started);
    end = timed(s, START_US + 2, false);
    bf2 = timed(s, START_US + 3, true);
    again = timed(s, START_US + 4, false);
    put_job(s, jobs + 1, 1, 1, 10, 100);
    put = timed(s, START_US + 5, false);
    printf(
        "{\"bench\":\"sched_pass\",\"nodes\":%u,\"jobs\":%u,\"shapes\":%u,\"put_us_per_job\":%.2f,"
        "\"first_ms\":%.2f,\"first_started\":%u,\"backfill_ms\":%.2f,\"backfill_started\":%u,"
        "\"after_end_ms\":%.3f,\"after_end_started\":%u,\"backfill_after_end_ms\":%.2f,"
        "\"unchanged_ms\":%.4f,\"after_put_ms\":%.4f,\"bytes_per_node\":%.0f,"
        "\"bytes_per_job\":%.0f}\n",
        nodes, jobs, shapes, put_ms * 1e3 / jobs, first.ms, first.started, bf.ms, bf.started,
        end.ms, end.started, bf2.ms, again.ms, put.ms, (bare - empty) / nodes,
        (queued - bare) / jobs);
    (void)fflush(stdout);
    sched_free(s);
}

/* A pass over a full cluster of nodes whose queue cannot start: what a large site sees most of the
 * time. */
static void blocked(uint32_t nodes, uint32_t jobs, uint32_t shapes)
{
    struct sched *s = cluster(nodes, 64, false);
    struct result fill, first, bf;

    for (uint32_t i = 0; i < nodes; i++)
        put_job(s, i + 1, 1, 60 + i % 4, 60 + i % 600, 100);
    fill = timed(s, START_US, false);
    for (uint32_t i = 0; i < jobs; i++)
        put_job(s, nodes + i + 1, 1 + i % shapes % 100, (1 + i % shapes % 100) * 8, 30 + i % shapes,
                100);
    first = timed(s, START_US + 1, false);
    bf = timed(s, START_US + 2, true);
    printf("{\"bench\":\"sched_blocked\",\"nodes\":%u,\"jobs\":%u,\"shapes\":%u,\"fill_ms\":%.2f,"
           "\"pass_ms\":%.2f,\"told\":%zu,\"backfill_ms\":%.2f}\n",
           nodes, jobs, shapes, fill.ms, first.ms, first.decisions, bf.ms);
    (void)fflush(stdout);
    sched_free(s);
}

/* What the pass and the backfill after one change cost. */
static double after(struct sched *s, int64_t now_us)
{
    struct sched_decisions d = { 0 };
    double t = now_ms();
    int64_t wake;

    must(sched_pass(s, now_us, &d, &wake), "pass");
    must(sched_backfill(s, now_us, &d), "plan");
    t = now_ms() - t;
    sched_decisions_done(&d);
    return t;
}

static void put_node(struct sched *s, uint32_t id, bool up)
{
    const struct sched_node n = { .id = id,
                                  .name = "n",
                                  .cpus = 64,
                                  .sockets = 2,
                                  .cores_per_socket = 32,
                                  .threads_per_core = 1,
                                  .mem_mib = 256000,
                                  .weight = 1,
                                  .schedulable = up,
                                  .features = id % 2 ? "big,fast" : "big" };

    must(sched_node_put(s, &n), "node");
}

/* A place in the plan for every job of a queue that cannot start, all at once and in pieces of 64;
 * then what one change costs. */
static void planned(uint32_t nodes, uint32_t jobs, uint32_t shapes)
{
    struct sched *s = cluster(nodes, 64, true);
    struct result fill, first, bf, again;
    struct sched_decisions d = { 0 };
    double worst = 0, end_ms = 0, end_max_ms = 0, put_ms = 0, down_ms, up_ms;
    bool more = true;

    for (uint32_t i = 0; i < nodes; i++)
        put_job(s, i + 1, 1, 60 + i % 4, 60 + i % 600, 100);
    fill = timed(s, START_US, false);
    for (uint32_t i = 0; i < jobs; i++) {
        uint32_t shape = i * 2654435761u % shapes, wide = shape % 7 == 0 ? 2 + shape % 15 : 1;

        put_job(s, nodes + i + 1, wide, wide * (1 + shape % 64), 10 + shape % 300, 100 + shape);
    }
    first = timed(s, START_US + 1, false);
    while (more) {
        double t = now_ms();

        must(sched_backfill_some(s, START_US + 2, 64, &d, &more), "plan");
        worst = now_ms() - t > worst ? now_ms() - t : worst;
    }
    sched_decisions_done(&d);
    sched_licenses_clear(s); /* something that makes it begin anew */
    bf = timed(s, START_US + 3, true);
    again = timed(s, START_US + 4, true);
    for (uint32_t i = 0; i < 20; i++) {
        double ms;

        sched_job_remove(s, 1 + i * (nodes / 20));
        ms = after(s, START_US + 5 + i * 1000000);
        end_ms += ms / 20;
        end_max_ms = ms > end_max_ms ? ms : end_max_ms;
        put_job(s, nodes + jobs + i + 1, 1, 1 + i, 30, 100);
        put_ms += after(s, START_US + 500005 + i * 1000000) / 20;
    }
    put_node(s, nodes / 2, false);
    down_ms = after(s, START_US + 20500005);
    put_node(s, nodes / 2, true);
    up_ms = after(s, START_US + 20700005);
    printf("{\"bench\":\"sched_plan\",\"nodes\":%u,\"jobs\":%u,\"shapes\":%u,\"fill_ms\":%.2f,"
           "\"pass_ms\":%.2f,\"plan_ms\":%.2f,\"told\":%zu,\"piece_max_ms\":%.2f,"
           "\"unchanged_ms\":%.4f,\"after_end_ms\":%.2f,\"after_end_max_ms\":%.2f,"
           "\"after_put_ms\":%.2f,\"after_down_ms\":%.2f,\"after_up_ms\":%.2f}\n",
           nodes, jobs, shapes, fill.ms, first.ms, bf.ms, bf.decisions, worst, again.ms, end_ms,
           end_max_ms, put_ms, down_ms, up_ms);
    (void)fflush(stdout);
    sched_free(s);
}

/* Accounts with so many users each, below a root; users and their QOS have limits: a few jobs
 * and CPUs at once. */
static void put_limits(struct sched *s, uint32_t accounts, uint32_t users)
{
    const struct sched_tres_limit few = { .tres_id = 1, .count = 128 },
                                  many = { .tres_id = 1, .count = 4096 };
    struct sched_limits none, account, user;
    struct sched_qos_limits qos = { .usage_factor = 1 };

    sched_limits_init(&none);
    account = user = qos.limits = none;
    account.lists[SCHED_GRP_TRES].v = &many;
    account.lists[SCHED_GRP_TRES].n = 1;
    user.numbers[SCHED_MAX_JOBS] = 4;
    qos.limits.lists[SCHED_MAX_TRES_USER].v = &few;
    qos.limits.lists[SCHED_MAX_TRES_USER].n = 1;
    must(sched_tres_put(s, 1, "cpu"), "tres");
    must(sched_limit_assoc_put(s, 1, 0, "root", &none), "root");
    for (uint32_t a = 0; a < accounts; a++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "a%u", a);
        must(sched_limit_assoc_put(s, 2 + a, 1, name, &account), "account");
        for (uint32_t u = a; u < users; u += accounts)
            must(sched_limit_assoc_put(s, 1000 + u, 2 + a, name, &user), "user");
    }
    must(sched_limit_qos_put(s, 1, &qos), "qos");
    sched_limit_enforce(s, true, false);
}

/* Nodes have room, but every user is at his limits: what a pass costs that finds so for each
 * job, and what one does after one change: a job that ends, or is put, a limit that grows. */
static void limited(uint32_t nodes, uint32_t jobs, uint32_t users)
{
    static const char *const parts[] = { "main" };
    struct sched *s = cluster(nodes, 64, true);
    struct sched_limits user;
    struct result fill, full, bf, end, put, limit;

    sched_limits_init(&user);
    user.numbers[SCHED_MAX_JOBS] = 5;
    put_limits(s, 50, users);
    for (uint32_t i = 0; i < jobs; i++) {
        const struct sched_job j = { .id = i + 1,
                                     .uid = 1000 + i % users,
                                     .assoc_id = 1000 + i % users,
                                     .qos_id = 1,
                                     .partitions = parts,
                                     .npartitions = 1,
                                     .submit_us = START_US,
                                     .eligible_us = START_US,
                                     .time_limit_min = 10 + i % 300,
                                     .min_nodes = 1,
                                     .max_nodes = 1,
                                     .num_tasks = 1 + i % 8,
                                     .cpus_per_task = 1,
                                     .mem_per_cpu_mib = 100 };

        must(sched_job_put(s, &j), "job");
    }
    fill = timed(s, START_US, false);
    /* without limits: the whole queue is looked at again before it */
    put_job(s, jobs + 1, 1, 1, 10, 100);
    full = timed(s, START_US + 1, false);
    bf = timed(s, START_US + 2, true);
    sched_job_remove(s, fill.first_started);
    end = timed(s, START_US + 3, false);
    put_job(s, jobs + 2, 1, 1, 10, 100);
    put = timed(s, START_US + 4, false);
    must(sched_limit_assoc_put(s, 1000, 2, "a0", &user), "limit");
    limit = timed(s, START_US + 5, false);
    printf(
        "{\"bench\":\"sched_limited\",\"nodes\":%u,\"jobs\":%u,\"users\":%u,\"first_ms\":%.2f,\"first_started\":%u,"
        "\"pass_ms\":%.3f,\"backfill_ms\":%.2f,\"after_end_ms\":%.3f,\"after_end_started\":%u,\"after_put_ms\":%.3f,"
        "\"after_limit_ms\":%.3f,\"after_limit_started\":%u}\n",
        nodes, jobs, users, fill.ms, fill.started, full.ms, bf.ms, end.ms, end.started, put.ms,
        limit.ms, limit.started);
    (void)fflush(stdout);
    sched_free(s);
}

/* ---- resources with layers ------------------------------------------------------------------- */

#define RACK 32u
#define ROW 512u

/* Layers of racks, rows and all nodes. */
static uint32_t make_layers(uint32_t nodes, uint64_t each, const uint32_t *ids, char (*names)[24],
                            struct sched_layer *layers)
{
    const uint32_t sizes[] = { RACK, ROW, nodes };
    uint32_t n = 0, next = 0;

    for (size_t level = 0; level < ARRAY_SIZE(sizes); level++) {
        next = n + (nodes + sizes[level] - 1) / sizes[level];
        for (uint32_t i = 0; i * sizes[level] < nodes; i++, n++) {
            uint32_t first = i * sizes[level], up = level < 2 ? sizes[level + 1] : nodes;

            (void)snprintf(names[n], sizeof(names[n]), "w(%u)", n);
            layers[n] = (struct sched_layer){
                .name = names[n],
                .node_ids = ids + first,
                .nnodes = sizes[level] < nodes - first ? sizes[level] : nodes - first,
                .parent = level == 2 ? SCHED_UNLIMITED : next + first / up,
            };
            layers[n].total = layers[n].nnodes * each;
        }
    }
    return n;
}

static void put_watts(struct sched *s, uint32_t nodes, unsigned mode, uint64_t each)
{
    uint32_t max = nodes / RACK + nodes / ROW + 4;
    _cleanup_free_ uint32_t *ids = calloc(nodes, sizeof(*ids));
    _cleanup_free_ struct sched_layer *layers = calloc(max, sizeof(*layers));
    _cleanup_free_ char(*names)[24] = calloc(max, sizeof(*names));
    struct sched_resource watts = { .name = "w", .mode = mode, .layers = layers };

    must(ids && layers && names ? 0 : -ENOMEM, "layers");
    for (uint32_t i = 0; i < nodes; i++)
        ids[i] = i;
    watts.nlayers = make_layers(nodes, each, ids, names, layers);
    for (size_t i = 0; mode != 3 && i < watts.nlayers; i++)
        layers[i].parent = SCHED_UNLIMITED;
    must(sched_resources_put(s, &watts, 1), "resources");
}

struct lap {
    double first, blocked, backfill, again;
    uint32_t started;
};

/* The queue of passes(), with or without a request for a resource. */
static struct lap run_layers(uint32_t nodes, uint32_t jobs, uint32_t shapes, bool conservative,
                             unsigned mode, uint64_t each)
{
    struct sched *s = cluster(nodes, 64, conservative);
    struct result r;
    struct lap lap;

    if (mode)
        put_watts(s, nodes, mode, each);
    for (uint32_t i = 0; i < jobs; i++) {
        uint32_t shape = i * 2654435761u % shapes, wide = shape % 7 == 0 ? 2 + shape % 15 : 1;
        const struct sched_lic_req ask = { .name = "w", .count = 1 + shape % 5 };

        put_asking(s, i + 1, wide, wide * (1 + shape % 64), 10 + shape % 300, 100 + shape % 997,
                   mode ? &ask : NULL);
    }
    r = timed(s, START_US, false);
    lap.first = r.ms;
    lap.started = r.started;
    lap.backfill = timed(s, START_US + 1, true).ms;
    sched_job_remove(s, r.first_started);
    lap.blocked = timed(s, START_US + 2, false).ms;
    lap.again = timed(s, START_US + 3, true).ms;
    sched_free(s);
    return lap;
}

#define LAPS 3

/* The least of each: what else the machine does only adds to it. */
static void take_least(struct lap *to, const struct lap *lap)
{
    to->first = MIN(to->first, lap->first);
    to->blocked = MIN(to->blocked, lap->blocked);
    to->backfill = MIN(to->backfill, lap->backfill);
    to->again = MIN(to->again, lap->again);
}

/* What it costs that all jobs ask for a resource, as a multiple of the same jobs without; each: so
 * much for a node there is.  Both are measured in turns. */
static void layered(uint32_t nodes, uint32_t jobs, uint32_t shapes, bool conservative,
                    unsigned mode, uint64_t each)
{
    struct lap plain = run_layers(nodes, jobs, shapes, conservative, 0, 0);
    struct lap asks = run_layers(nodes, jobs, shapes, conservative, mode, each), lap;

    for (int i = 1; i < LAPS; i++) {
        lap = run_layers(nodes, jobs, shapes, conservative, 0, 0);
        take_least(&plain, &lap);
        lap = run_layers(nodes, jobs, shapes, conservative, mode, each);
        take_least(&asks, &lap);
    }
    printf("{\"bench\":\"sched_layers\",\"nodes\":%u,\"jobs\":%u,\"shapes\":%u,"
           "\"conservative\":%s,\"mode\":%u,\"each\":%llu,\"first_ms\":%.2f,"
           "\"first_ratio\":%.2f,\"started\":%u,\"plain_started\":%u,\"after_end_ms\":%.3f,"
           "\"backfill_ms\":%.2f,\"backfill_ratio\":%.2f,\"backfill_after_end_ms\":%.2f,"
           "\"plain_backfill_after_end_ms\":%.2f}\n",
           nodes, jobs, shapes, conservative ? "true" : "false", mode, (unsigned long long)each,
           asks.first, asks.first / plain.first, asks.started, plain.started, asks.blocked,
           asks.backfill, asks.backfill / plain.backfill, asks.again, plain.again);
    (void)fflush(stdout);
}

/* One-CPU jobs come and go: each round a job is put for every one that ended, and a pass is run. */
static void flow(uint32_t nodes, uint32_t cpus, uint32_t total, uint32_t batch)
{
    struct sched *s = cluster(nodes, cpus, false);
    _cleanup_free_ uint32_t *ring = calloc(nodes * cpus + total, sizeof(*ring));
    uint32_t next = 1, started = 0, ended = 0;
    struct sched_decisions d = { 0 };
    double t, ms;
    int64_t wake;

    must(ring ? 0 : -ENOMEM, "flow");
    for (; next <= nodes * cpus; next++)
        put_job(s, next, 1, 1, 10, 100);
    t = now_ms();
    while (started < total) {
        for (uint32_t i = 0; i < batch; i++)
            put_job(s, next++, 1, 1, 10, 100);
        must(sched_pass(s, START_US + next, &d, &wake), "pass");
        for (size_t i = 0; i < d.n; i++) {
            const struct sched_decision *x = &d.items[i];

            if (x->kind != SCHED_START)
                continue;
            ring[started++] = x->job_id;
            must(sched_job_running(s, x->job_id, x->partition, &x->alloc, START_US,
                                   START_US + 10 * MIN_US, false),
                 "running");
        }
        sched_decisions_done(&d);
        for (uint32_t i = 0; i < batch && ended < started; i++)
            sched_job_remove(s, ring[ended++]);
    }
    ms = now_ms() - t;
    printf("{\"bench\":\"sched_flow\",\"nodes\":%u,\"cpus\":%u,\"batch\":%u,\"started\":%u,"
           "\"decisions_per_s\":%.0f}\n",
           nodes, cpus, batch, started, started / ms * 1e3);
    (void)fflush(stdout);
    sched_free(s);
}

static int usage(void)
{
    fprintf(stderr, "usage: bench_sched [[layers] NODES JOBS SHAPES]\n");
    return 2;
}

/* Every mode, with room for all and with room for a part; both ways to plan. */
static void layers_table(const uint32_t v[3])
{
    for (unsigned mode = 1; mode <= 3; mode++) {
        layered(v[0], v[1], v[2], false, mode, 100000);
        layered(v[0], v[1], v[2], false, mode, 3);
        layered(v[0], v[1], v[2], true, mode, 100000);
        layered(v[0], v[1], v[2], true, mode, 3);
    }
}

static int chosen(int argc, char **argv)
{
    bool layers = strcmp(argv[1], "layers") == 0;
    uint32_t v[3];

    if (argc != (layers ? 5 : 4))
        return usage();
    for (int i = 0; i < 3; i++)
        v[i] = (uint32_t)strtoul(argv[argc - 3 + i], NULL, 10);
    if (!v[0] || !v[1] || !v[2])
        return usage();
    if (layers) {
        layers_table(v);
        return 0;
    }
    passes(v[0], v[1], v[2]);
    blocked(v[0], v[1], v[2]);
    planned(v[0], v[1] < 10000 ? v[1] : 10000, v[2]);
    limited(v[0], v[1], 200);
    layered(v[0], v[1], v[2], false, 3, 100000);
    layered(v[0], v[1], v[2], false, 2, 100000);
    layered(v[0], v[1], v[2], true, 3, 100000);
    return 0;
}

int main(int argc, char **argv)
{
    static const uint32_t table[][2] = { { 1000, 1000 },    { 1000, 10000 },   { 1000, 100000 },
                                         { 5000, 100000 },  { 15000, 1000 },   { 15000, 10000 },
                                         { 15000, 100000 }, { 15000, 1000000 } };

    if (argc > 1)
        return chosen(argc, argv);
    for (size_t i = 0; i < ARRAY_SIZE(table); i++)
        passes(table[i][0], table[i][1], table[i][1]); /* every shape another */
    for (size_t i = 0; i < ARRAY_SIZE(table); i++)
        passes(table[i][0], table[i][1], 500);
    blocked(1000, 10000, 100);
    blocked(15000, 100000, 500);
    planned(1000, 1000, 1000);
    planned(1000, 10000, 10000);
    planned(15000, 1000, 1000);
    planned(15000, 10000, 10000);
    limited(1000, 10000, 200);
    limited(1000, 100000, 200);
    layered(15000, 100000, 500, false, 3, 100000);
    layered(15000, 100000, 500, false, 2, 100000);
    layered(15000, 100000, 500, false, 1, 100000);
    layered(15000, 100000, 500, false, 3, 3);
    layered(15000, 100000, 500, false, 2, 3);
    layered(15000, 10000, 500, true, 3, 100000);
    layered(15000, 10000, 500, true, 3, 3);
    flow(16, 64, 200000, 1);
    flow(16, 64, 200000, 64);
    return 0;
}
