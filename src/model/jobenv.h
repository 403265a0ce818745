/* jobenv.h - the variables that Prolog, Epilog and their siblings of the controller have in common
 *
 * Pure functions of the job's record: slurmd and slurmctld add what only they know. */
#pragma once

#include <stdint.h>

#include "job.pb-c.h"

/* name and value are good for the call only. */
typedef void jobenv_put_fn(void *ctx, const char *name, const char *value);

/* cpus_per_node NULL: from the allocation. */
void jobenv_job(const Pst__JobRecord *j, const char *cluster, const char *cpus_per_node,
                jobenv_put_fn *put, void *ctx);
/* How it ended, for the epilogs: wait(2) statuses. */
void jobenv_end(uint32_t exit_status, uint32_t derived_status, jobenv_put_fn *put, void *ctx);
