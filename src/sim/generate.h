/* generate.h - synthetic workloads from a seed
 *
 * SIM_GEN_LUBLIN follows the model of rigid parallel jobs by U. Lublin and D. Feitelson ("The
 * workload on parallel supercomputers", 2003), with its parameters for all jobs together.  M is the
 * machine's CPUs, U a uniform number, G(a, b) a gamma one of shape a and scale b:
 *
 *   size      serial with probability 0.244; else 2^x, x of a two-stage uniform distribution: over
 * [0.8, m] with probability 0.86, else over [m, log2 M], m = log2 M - 2.5; x is rounded with
 * probability 0.576 of all jobs, which gives powers of two. run time  e^y seconds; y ~ G(4.2, 0.94)
 * with probability p, else G(312, 0.03); p = 0.78 - 0.0054 size within [0.05, 0.95]; y over 12 (45
 * hours) is drawn again. arrivals  e^z seconds apart, z ~ G(10.23, 0.4871), drawn again over 9
 * (ours: the few longest gaps would make up most of the time), divided by the intensity of the
 * hour: a daily cycle with its peak in the early afternoon (ours: 1 + 0.75 cos of the hours from
 * 14:00; the paper fits the same rush by a gamma density over half hours).
 *
 * SIM_GEN_GPU is a mix as machine-learning clusters see it: debugging (half of the jobs, one GPU,
 * minutes), sweeps (arrays of 4 to 64 one-GPU tasks that run for about the same time), single-node
 * work on 1, 2, 4 or 8 GPUs, and long training on 2^k whole nodes (or groups of nodes) for hours to
 * days; arrivals are a
 * Poisson process under the same daily cycle.
 *
 * In both, users are drawn with probability 1/(rank + 1), and limits are what people write: the run
 * time times something between 1 and 5, rounded up to 15, 30 minutes, 1, 2, 4, 8, 12 hours or days.
 * Pure: same arguments, same jobs. */
#pragma once

#include <stdint.h>

#include "sim/workload.h"

enum sim_generator {
    SIM_GEN_LUBLIN,
    SIM_GEN_GPU,
};

struct generate_params {
    enum sim_generator kind;
    uint32_t jobs;
    uint64_t seed;
    uint32_t nodes, cpus_per_node,
        gpus_per_node; /* of the machine; all >= 1, GPUs for SIM_GEN_GPU */
    uint32_t users;    /* 0 = 64 */
    /* SIM_GEN_GPU: training takes 2^k groups of so many nodes, each in one block; 0 = 2^k nodes */
    uint32_t segment;
    double load; /* of the CPUs (GPUs) by what arrives; 0 = as the model has it */
};

/* Append jobs to w.  Errors: -EINVAL parameters, -E2BIG, -ENOMEM. */
int generate(const struct generate_params *p, struct workload *w, struct err *err);
