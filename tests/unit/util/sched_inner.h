/* sched_inner.h - three partitions over one set of nodes, and the scheduler's own records of jobs:
 * for tests of what works inside the scheduler
 *
 * After cmocka.h and the definition of NOW. */
#pragma once

#include "sched/rules/prio.h"
#include "sched/sched.h"
#include "sched/state/jobs.h"
#include "sched/state/sched_obj.h"

#define INNER_NODES_MAX 16u

enum { LOW, MID, HIGH }; /* partitions of tiers 1, 2 and 3 */
static const char *const inner_parts[] = { "low", "mid", "high" };

/* Nodes of one socket with 4,000 MiB, each in every partition. */
static inline struct sched *inner_cluster(struct sched_params p, uint32_t nodes, uint32_t cpus)
{
    uint32_t ids[INNER_NODES_MAX];
    struct sched *s = NULL;

    assert_true(nodes <= INNER_NODES_MAX);
    p.backfill = true;
    p.select_memory = true;
    p.bf_window_min = p.bf_window_min ? p.bf_window_min : 1440;
    assert_int_equal(sched_new(&p, &s), 0);
    for (uint32_t i = 0; i < nodes; i++) {
        const struct sched_node n = { .id = ids[i] = i,
                                      .name = "n",
                                      .cpus = cpus,
                                      .sockets = 1,
                                      .cores_per_socket = cpus,
                                      .threads_per_core = 1,
                                      .mem_mib = 4000,
                                      .weight = 1,
                                      .schedulable = true };

        assert_int_equal(sched_node_put(s, &n), 0);
    }
    for (uint32_t t = LOW; t <= HIGH; t++) {
        const struct sched_partition part = { .name = inner_parts[t],
                                              .node_ids = ids,
                                              .nnodes = nodes,
                                              .tier = t + 1,
                                              .up = true,
                                              .max_time_min = SCHED_UNLIMITED,
                                              .max_nodes = SCHED_UNLIMITED };

        assert_int_equal(sched_partition_put(s, &part), 0);
    }
    return s;
}

/* One node of the caller's, in the lowest partition. */
static inline struct sched *inner_single(struct sched_params p, const struct sched_node *node)
{
    const struct sched_partition part = { .name = inner_parts[LOW],
                                          .node_ids = &node->id,
                                          .nnodes = 1,
                                          .tier = 1,
                                          .up = true,
                                          .max_time_min = SCHED_UNLIMITED,
                                          .max_nodes = SCHED_UNLIMITED };
    struct sched *s = inner_cluster(p, 0, 1);

    assert_int_equal(sched_node_put(s, node), 0);
    assert_int_equal(sched_partition_put(s, &part), 0);
    return s;
}

/* So many tasks of a CPU each on one node, for ten minutes. */
static inline struct sched_job inner_job(uint32_t id, uint32_t part, uint32_t tasks)
{
    return (struct sched_job){ .id = id,
                               .partitions = &inner_parts[part],
                               .npartitions = 1,
                               .submit_us = NOW,
                               .eligible_us = NOW,
                               .time_limit_min = 10,
                               .min_nodes = 1,
                               .max_nodes = 1,
                               .num_tasks = tasks,
                               .cpus_per_task = 1 };
}

/* The job as the scheduler keeps it once it is in the queue. */
static inline struct job *inner_put(struct sched *s, struct sched_job j)
{
    struct job *kept;

    assert_int_equal(sched_job_put(s, &j), 0);
    queue_enter(s, NOW);
    kept = job_find(s, j.id);
    assert_non_null(kept);
    return kept;
}

/* It runs on the node with these CPUs since so many seconds before NOW, for another `minutes`. */
static inline struct job *inner_run(struct sched *s, uint32_t id, uint32_t part, uint32_t node,
                                    uint64_t bits, int64_t since_s, int64_t minutes)
{
    struct sched_alloc_node an = { .node_id = node,
                                   .cpus = (uint32_t)__builtin_popcountll(bits),
                                   .cpu_bits = &bits,
                                   .ncpu_words = 1,
                                   .tasks = 1 };
    const struct sched_alloc a = { .nodes = &an, .nnodes = 1 };

    assert_int_equal(sched_job_running(s, id, inner_parts[part], &a, NOW - since_s * 1000000,
                                       NOW + minutes * 60000000, false),
                     0);
    return job_find(s, id);
}

/* The decision of this kind about the job, or NULL. */
static inline const struct sched_decision *
inner_decided(const struct sched_decisions *d, enum sched_decision_kind kind, uint32_t job_id)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->items[i].kind == kind && d->items[i].job_id == job_id)
            return &d->items[i];
    return NULL;
}
