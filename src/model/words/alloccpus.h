/* alloccpus.h - the CPUs of an allocation that tasks may use: pure */
#pragma once

#include <stdint.h>

#include "job.pb-c.h"

/* A job of fewer threads a core holds its cores whole; this is what its commands and variables
 * count. */
static inline uint32_t alloc_task_cpus(const Pst__AllocGroup *g)
{
    return g->has_task_cpus ? g->task_cpus : g->cpus;
}
