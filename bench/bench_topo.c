/* bench_topo.c - the scheduler library under topologies: filling a machine, passes over long queues
 *
 *     bench_topo
 *
 * Jobs take whole nodes.  One JSON object per line.  Times are CPU time: one thread that waits for
 * nothing, whatever else the machine does. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "sched/sched.h"
#include "sched/topo/topo.h"

#define START_US INT64_C(1700000000000000)
#define UNITS_MAX 4096u

enum shape { SHAPE_FLAT, SHAPE_BLOCKS, SHAPE_TREE, SHAPE_TORUS };

static const char *const shape_names[] = { "flat", "blocks of 18", "tree of 4 levels",
                                           "torus 16^3" };

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
    fprintf(stderr, "bench_topo: %s: error %d\n", what, -r);
    exit(1);
}

/* ---- clusters -------------------------------------------------------------------------------- */

struct plan {
    struct topo_unit_spec units[UNITS_MAX];
    uint32_t children[UNITS_MAX];
    struct topo_spec spec;
};

static void cut_units(struct plan *p, const uint32_t *ids, uint32_t nodes, uint32_t each)
{
    for (uint32_t at = 0; at < nodes; at += each)
        p->units[p->spec.nunits++] = (struct topo_unit_spec){ .name = "u",
                                                              .nodes = ids + at,
                                                              .nnodes = MIN(each, nodes - at) };
}

/* Switches of 16 below each other until there is one. */
static void add_switches(struct plan *p)
{
    size_t below = 0, end = p->spec.nunits, kid = 0;

    while (end - below > 1) {
        size_t n = end;

        for (size_t at = below; at < end; at += 16) {
            size_t k = MIN(end - at, (size_t)16);

            p->units[n++] = (struct topo_unit_spec){ .name = "s",
                                                     .children = p->children + kid,
                                                     .nchildren = k };
            for (size_t i = 0; i < k; i++)
                p->children[kid++] = (uint32_t)(at + i);
        }
        below = end;
        end = n;
    }
    p->spec.nunits = end;
}

static void put_topology(struct sched *s, enum shape shape, const uint32_t *ids, uint32_t nodes)
{
    static const uint32_t sizes[] = { 16, 64, 256 };
    static const struct topo_placement_spec boxes[] = {
        { .dims = { 1, 1, 1 }, .spacing = { 1, 1, 1 } },
        { .dims = { 2, 1, 1 }, .spacing = { 2, 1, 1 } },
        { .dims = { 2, 2, 1 }, .spacing = { 2, 2, 1 } },
        { .dims = { 4, 2, 2 }, .spacing = { 4, 2, 2 } },
        { .dims = { 4, 4, 4 }, .spacing = { 4, 4, 4 } },
    };
    _cleanup_free_ struct plan *p = calloc(1, sizeof(*p));
    const struct topo_spec *set[1];

    must(p ? 0 : -ENOMEM, "topology");
    p->spec.name = "t";
    p->spec.units = p->units;
    if (shape == SHAPE_BLOCKS) {
        p->spec.kind = TOPO_BLOCK;
        p->spec.block_sizes = sizes;
        p->spec.nblock_sizes = ARRAY_SIZE(sizes);
        cut_units(p, ids, nodes, 18);
    } else if (shape == SHAPE_TREE) {
        p->spec.kind = TOPO_TREE;
        cut_units(p, ids, nodes, 16);
        add_switches(p);
    } else {
        p->spec.kind = TOPO_TORUS;
        p->spec.placements = boxes;
        p->spec.nplacements = ARRAY_SIZE(boxes);
        cut_units(p, ids, nodes, nodes);
        for (int i = 0; i < 3; i++)
            p->units[0].dims[i] = 16;
    }
    set[0] = &p->spec;
    must(sched_topologies_put(s, set, 1), "topology");
}

static struct sched *cluster(enum shape shape, uint32_t nodes)
{
    const struct sched_params params = {
        .select = SCHED_SELECT_CORE, .select_memory = true, .backfill = true, .bf_window_min = 1440
    };
    _cleanup_free_ uint32_t *ids = calloc(nodes, sizeof(*ids));
    struct sched *s;

    must(ids ? sched_new(&params, &s) : -ENOMEM, "create");
    for (uint32_t i = 0; i < nodes; i++) {
        const struct sched_node n = { .id = i,
                                      .name = "n",
                                      .cpus = 64,
                                      .sockets = 2,
                                      .cores_per_socket = 32,
                                      .threads_per_core = 1,
                                      .mem_mib = 256000,
                                      .weight = 1,
                                      .schedulable = true };

        ids[i] = i;
        must(sched_node_put(s, &n), "node");
    }
    const struct sched_partition part = { .name = "main",
                                          .node_ids = ids,
                                          .nnodes = nodes,
                                          .tier = 1,
                                          .up = true,
                                          .exclusive_node = true,
                                          .max_time_min = SCHED_UNLIMITED,
                                          .max_nodes = SCHED_UNLIMITED };

    if (shape != SHAPE_FLAT)
        put_topology(s, shape, ids, nodes);
    must(sched_partition_put(s, &part), "partition");
    return s;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static void put_job(struct sched *s, uint32_t id, uint32_t nodes, uint32_t segment,
                    uint32_t minutes)
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
                                 .cpus_per_task = 1,
                                 .segment_size = segment };

    must(sched_job_put(s, &j), "job");
}

struct result {
    double ms;
    uint32_t started, first;
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
    for (size_t i = 0; i < d.n && !res.first; i++)
        if (d.items[i].kind == SCHED_START)
            res.first = d.items[i].job_id;
    sched_decisions_done(&d);
    return res;
}

/* An empty machine, and a queue of jobs of 1 to 16 nodes. */
static void fill_machine(enum shape shape, uint32_t nodes, uint32_t jobs)
{
    static const uint32_t sizes[] = { 1, 1, 1, 2, 1, 2, 1, 2, 1, 4, 1, 1, 2, 1, 1, 16 };
    struct sched *s = cluster(shape, nodes);
    struct result r;

    for (uint32_t i = 0; i < jobs; i++)
        put_job(s, i + 1, sizes[i * 2654435761u % ARRAY_SIZE(sizes)], 0, 10 + i % 500);
    r = timed(s, START_US, false);
    printf("{\"bench\":\"topo_fill\",\"topology\":\"%s\",\"nodes\":%u,\"jobs\":%u,\"started\":%u,"
           "\"pass_ms\":%.1f,\"us_per_start\":%.1f}\n",
           shape_names[shape], nodes, jobs, r.started, r.ms,
           r.started ? r.ms * 1e3 / r.started : 0);
    sched_free(s);
}

/* A machine in which every third node is busy, a long queue of jobs in segments of 16. */
static void pass_over_queue(enum shape shape, uint32_t nodes, uint32_t jobs)
{
    struct sched *s = cluster(shape, nodes);
    uint32_t segment = shape == SHAPE_BLOCKS || shape == SHAPE_TORUS ? 16 : 0;
    struct result first, bf, again, end;

    for (uint32_t i = 0; i < nodes / 3; i++)
        put_job(s, i + 1, 1, 0, 1000 + i % 400);
    (void)timed(s, START_US, false);
    for (uint32_t i = 0; i < jobs; i++) {
        uint32_t n = 16 * (1 + i * 2654435761u % 16);

        put_job(s, 1000000 + i, MIN(n, nodes / 2 / 16 * 16), segment, 10 + i % 500);
    }
    first = timed(s, START_US, false);
    bf = timed(s, START_US, true);
    again = timed(s, START_US + 1000000, false);
    sched_job_remove(s, 1);
    end = timed(s, START_US + 2000000, false);
    printf("{\"bench\":\"topo_queue\",\"topology\":\"%s\",\"nodes\":%u,\"jobs\":%u,\"started\":%u,"
           "\"pass_ms\":%.1f,\"backfill_ms\":%.1f,\"bf_started\":%u,\"again_ms\":%.2f,"
           "\"after_end_ms\":%.2f}\n",
           shape_names[shape], nodes, jobs, first.started, first.ms, bf.ms, bf.started, again.ms,
           end.ms);
    sched_free(s);
}

int main(void)
{
    static const uint32_t growth[] = { 1000, 5000, 15000 };

    for (int shape = SHAPE_FLAT; shape <= SHAPE_TREE; shape++) {
        for (size_t i = 0; i < ARRAY_SIZE(growth); i++) {
            fill_machine((enum shape)shape, growth[i], 10000);
            pass_over_queue((enum shape)shape, growth[i], 100000);
        }
    }
    fill_machine(SHAPE_TORUS, 4096, 10000);
    pass_over_queue(SHAPE_TORUS, 4096, 100000);
    return 0;
}
