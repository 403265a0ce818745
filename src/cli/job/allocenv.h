/* allocenv.h - the variables that describe a granted allocation to salloc's command */
#pragma once

#include "api.pb-c.h"
#include "cli/job/jobenvlist.h"

struct conf;

void allocenv_add(struct envlist *env, const Pst__JobRecord *job);

/* What tells launchers of MPI to start their daemons with srun, unless MpiParams forbids it.
 * Variables that the caller's environment has stay as they are. */
void allocenv_add_launchers(struct envlist *env, const struct conf *conf);

/* "2(x3),1" of n numbers.  The caller frees. */
char *allocenv_counts(const uint32_t *values, size_t n);
/* How num_tasks spread over nodes with these CPUs: each node in turn takes one more while it has
 * CPUs left, beyond that all nodes equally. */
void allocenv_spread(uint32_t num_tasks, uint32_t cpus_per_task, const uint32_t *cpus, size_t n,
                     uint32_t *ret_tasks);
/* The same for all n components of a job: NAME_HET_GROUP_<k>, SLURM_HET_SIZE and the leader's
 * SLURM_JOB_ID. */
void allocenv_add_het(struct envlist *env, Pst__JobRecord *const *jobs, size_t n);
