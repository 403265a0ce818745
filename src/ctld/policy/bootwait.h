/* bootwait.h - jobs whose nodes are powered up for them, or boot
 *
 * Core thread.  A job may start on nodes that are powered down.  Until all of them are up it is
 * CONFIGURING and POWER_UP_NODE, its record says power_pending, and its time limit does not count:
 * its start is set anew when the last node is up.  A script is launched when its own node is up,
 * with --wait-all-nodes=1 or sbatch_wait_nodes when all are.  The client that asked for an
 * allocation is told of it at once, with --wait-all-nodes=1, salloc_wait_nodes or --reboot when all
 * nodes are up; steps wait for all nodes.  Which nodes are awaited is read off the nodes' records,
 * so that nothing has to be kept. */
#pragma once

#include "ctld/ctld.h"

#define NODE_BIT(x) (1u << PST__NODE_FLAG__NODE_FLAG_##x)
/* A node with one of these is off, or on its way up or down. */
#define NODE_POWER_BITS (NODE_BIT(POWERED_DOWN) | NODE_BIT(POWERING_UP) | NODE_BIT(POWERING_DOWN))

static inline bool job_waits_for_boot(const Pst__JobRecord *r)
{
    return r->has_power_pending && r->power_pending;
}

/* The node is not up, and jobs that have it wait for it. */
static inline bool node_is_awaited(const Pst__NodeRecord *n)
{
    return n->state_flags & (NODE_POWER_BITS | NODE_BIT(REBOOT_ISSUED));
}

bool bootwait_any_awaited(const struct cluster *c, const Pst__Alloc *alloc);
/* Does a job that gets these nodes have to wait for one of them?  *ret_until_us: how long at most,
 * if so. */
bool bootwait_needed(const struct ctld *ctld, const Pst__JobRecord *r, const Pst__Alloc *alloc,
                     int64_t *ret_until_us);
/* Can those of the nodes boot that have to, to have the features of the job? */
bool bootwait_possible(const struct ctld *ctld, const Pst__JobRecord *r, const uint32_t *node_ids,
                       size_t count);
/* --reboot of j, and there is a RebootProgram. */
bool bootwait_reboots(const struct ctld *ctld, const Pst__JobRecord *r);
/* A job gets these nodes: those that are powered down are to be powered up; with --reboot, or for
 * features that it asks for and they do not have, others boot again: they are POWERING_UP with
 * reboot_us. */
void bootwait_ask(const struct ctld *ctld, Pst__Transaction *tx, const Pst__JobRecord *r,
                  const Pst__Alloc *alloc);
/* The longest time that the nodes have to come up: ResumeTimeout of the cluster and of partitions
 * with them.  In seconds. */
uint32_t bootwait_timeout_s(const struct ctld *ctld, const struct node *n);
uint32_t bootwait_patience_s(const struct ctld *ctld, const Pst__Alloc *alloc);

/* Is one of the job's nodes awaited?  Of a heterogeneous job all components count. */
bool bootwait_awaits(const struct ctld *ctld, const struct job *j);
/* Must the script, or the client that asked for the allocation, wait? */
bool bootwait_holds_batch(const struct ctld *ctld, const struct job *j);
bool bootwait_holds_grant(const struct ctld *ctld, const struct job *j);
