/* allocenv.h - the variables that describe a granted allocation to salloc's command */
#pragma once

#include "api.pb-c.h"
#include "cli/envlist.h"

void allocenv_add(struct envlist *env, const Pst__JobRecord *job);

/* "2(x3),1" of n numbers.  The caller frees. */
char *allocenv_counts(const uint32_t *values, size_t n);
/* How num_tasks spread over nodes with these CPUs: each node in turn takes one more while it has
 * CPUs left, beyond that all nodes equally. */
void allocenv_spread(uint32_t num_tasks, uint32_t cpus_per_task, const uint32_t *cpus, size_t n,
                     uint32_t *ret_tasks);
