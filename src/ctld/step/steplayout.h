/* steplayout.h - which part of a job a step gets: a pure function of the job and the request */
#pragma once

#include "base/err.h"
#include "model/cluster.h"

#include "api.pb-c.h"

/* Lay a step out over the nodes of j that its running steps leave free.  *ret_alloc (caller
 * owns) has the tasks in its groups; *ret_dist (likewise) is set when the record's distribution
 * is another text than the request's: arbitrary, with its list as tasklayout() reads it.  Gives
 * 0, or ESLURM_NODES_BUSY (possible once other steps end),
 * ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE, ESLURM_INVALID_NODE_NAME ... and for
 * ESLURM_INVALID_NODE_COUNT in err the sentence that says which counts.  err may be NULL. */
int steplayout_make(const struct cluster *c, const struct job *j, const Pst__StepSpec *spec,
                    Pst__Alloc **ret_alloc, uint32_t *ret_ntasks, char **ret_dist, struct err *err);

/* A step with this allocation: 0, or ESLURM_BAD_TASK_COUNT when a node would run more tasks than
 * MaxTasksPerNode. */
int steplayout_check(const Pst__Alloc *alloc, uint64_t max_per_node);

/* The request names an amount of memory, which then is the step's alone. */
bool steplayout_asks_memory(const Pst__StepSpec *spec);
