/* constrain.h - cgroups of the node, and what jobs and steps may use */
#pragma once

#include "noded/noded.h"

/* Are steps kept from devices that they were not given? */
bool constrain_devices(const struct noded *d);
/* Find and make the tree.  Errors: a plugin or controller that is configured by name is
 * missing. */
int constrain_begin(struct noded *d, struct err *err);
/* Remove the cgroups of jobs that ended without their step daemons; after recover_spool(). */
void constrain_sweep(struct noded *d);
void constrain_end(struct noded *d);
/* Fill sf->cgroup, which has its job, step and launch.  -ENOMEM. */
int constrain_plan(const struct noded *d, Pst__StepFile *sf);

/* The job has mib MiB of this node's memory from now on.  A step that uses more is ended by the
 * kernel.  Nothing to do where memory is not limited. */
int constrain_memory(const struct noded *d, const Pst__JobRecord *job, uint64_t mib,
                     struct err *err);

/* Put a process into a part of the job's cgroup of its own.  *ret: the part below the root, NULL
 * where there are no cgroups; the caller frees it. */
int constrain_adopt(const struct noded *d, const Pst__JobRecord *job, uid_t uid, const char *name,
                    pid_t pid, char **ret, struct err *err);
