/* gpucount.h - what the counts of GPUs in a request say together
 *
 * GPUs can be asked for by job, node, socket and task, and tasks, CPUs and memory by GPU.  Two of
 * these decide how many tasks or nodes there are; others contradict each other.  Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct gpucount {
    const char *per_job, *per_node, *per_socket, *per_task; /* lists as of a job record; or NULL */
    uint32_t tasks, tasks_per_node;                         /* 0: not said */
    uint32_t min_nodes, max_nodes, sockets;                 /* 0: not said */
    uint32_t tasks_per_gpu, cpus_per_gpu;                   /* 0: not said */
    uint64_t mem_per_gpu_mib;                               /* 0: not said */
    uint32_t gpus; /* out: GPUs that only --ntasks-per-gpu asks for */
};

/* Set tasks, min_nodes, max_nodes and gpus where the counts decide them.  Settled counts settle
 * again without a change.  Errors: -EINVAL with the sentence. */
int gpucount_settle(struct gpucount *c, struct err *err);
