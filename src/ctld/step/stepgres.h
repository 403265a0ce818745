/* stepgres.h - which devices of a job each node's part of a step gets
 *
 * A step that asks for none sees all of its job's; one that asks gets some that no other step holds
 * that asked, unless it shares (--overlap). */
#pragma once

#include "api.pb-c.h"
#include "model/cluster.h"

/* Does the step ask for devices of its own? */
bool stepgres_asks(const Pst__StepSpec *spec);
/* What it asks for together, as users are told ("cpu:1,gres/gpu:1", CPUs where it says them too);
 * NULL: no devices.  Caller frees. */
char *stepgres_request(const Pst__StepSpec *spec, uint32_t cpus);
/* GPUs that it will have on `nodes` nodes with so many tasks. */
uint64_t stepgres_gpus(const struct job *j, const Pst__StepSpec *spec, uint64_t nodes,
                       uint64_t tasks);
/* Put the devices into the groups of `alloc` (one node each, with their tasks), taken from the
 * job's. 0, ESLURM_INVALID_GRES when the job has not so many, ESLURM_NODES_BUSY when other steps
 * hold them. */
int stepgres_fill(const struct cluster *c, const struct job *j, const Pst__StepSpec *spec,
                  Pst__Alloc *alloc, bool overlap);
