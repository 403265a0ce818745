/* sched_util.h - a small cluster of equal nodes, and jobs for it: for tests of the scheduler
 *
 * After cmocka.h, sched/sched.h and the definition of NOW. */
#pragma once

#define UTIL_NODES_MAX 24u

static const char *const part_main[] = { "main" };

/* Nodes of one socket with 4,000 MiB and so many devices "gpu", all in the partition main. */
static inline struct sched *util_cluster(struct sched_params p, uint32_t nodes, uint32_t cpus,
                                         uint32_t gpus)
{
    const struct sched_gres_spec gpu = { .name = "gpu", .count = gpus, .indexed = true };
    uint32_t ids[UTIL_NODES_MAX];
    struct sched *s = NULL;

    assert_true(nodes <= UTIL_NODES_MAX);
    p.select = SCHED_SELECT_CORE;
    p.backfill = true;
    p.bf_window_min = p.bf_window_min ? p.bf_window_min : 1440;
    assert_int_equal(sched_new(&p, &s), 0);
    for (uint32_t i = 0; i < nodes; i++) {
        const struct sched_node n = { .id = i,
                                      .name = "n",
                                      .cpus = cpus,
                                      .sockets = 1,
                                      .cores_per_socket = cpus,
                                      .threads_per_core = 1,
                                      .mem_mib = 4000,
                                      .weight = 1,
                                      .gres = &gpu,
                                      .ngres = gpus > 0,
                                      .schedulable = true };

        ids[i] = i;
        assert_int_equal(sched_node_put(s, &n), 0);
    }
    const struct sched_partition part = { .name = "main",
                                          .node_ids = ids,
                                          .nnodes = nodes,
                                          .tier = 1,
                                          .up = true,
                                          .max_time_min = SCHED_UNLIMITED,
                                          .max_nodes = SCHED_UNLIMITED };

    assert_int_equal(sched_partition_put(s, &part), 0);
    return s;
}

/* One task for ten minutes, submitted in the order of the ids. */
static inline struct sched_job util_job(uint32_t id)
{
    return (struct sched_job){ .id = id,
                               .partitions = part_main,
                               .npartitions = 1,
                               .submit_us = NOW + id,
                               .eligible_us = NOW,
                               .time_limit_min = 10,
                               .min_nodes = 1,
                               .num_tasks = 1,
                               .cpus_per_task = 1 };
}

static inline void put(struct sched *s, struct sched_job j)
{
    assert_int_equal(sched_job_put(s, &j), 0);
}

/* The next number of a sequence begun with any *x, less than below. */
static inline uint32_t draw(uint64_t *x, uint32_t below)
{
    *x = *x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*x >> 33) % below;
}
