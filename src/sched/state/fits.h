/* fits.h - fits: which part of a job each node can hold */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sched/state/shape.h"

struct fit { /* a node that can hold a part of the job */
    uint32_t id, tasks, wclass, free;
    uint32_t hold; /* tasks it has CPUs for, at least those it gets */
    uint32_t gres[SHAPE_PER_JOB_MAX];
};

struct fitvec {
    struct fit *v;
    uint32_t n, cap;
};

struct alike { /* the node that fit.c looked at last, for the pick under way */
    bool known, fits;
    uint32_t threads, free_cpus, free_cores;
    uint64_t mem_mib, mem_used;
    struct fit fit;
};
