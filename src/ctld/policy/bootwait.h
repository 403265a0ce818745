/* bootwait.h - jobs whose nodes are powered up, or boot, for them
 *
 * Core thread.  A job may start on nodes that are powered down.  Until all of its nodes are up the
 * job is CONFIGURING and POWER_UP_NODE, its record says power_pending, and its time limit does not
 * count: the start of the job is set anew when the last node is up.  A script is launched when its
 * own node is up; with --wait-all-nodes=1 or sbatch_wait_nodes, when all nodes are up.  The client
 * that asked for an allocation is told of the allocation at once; with --wait-all-nodes=1,
 * salloc_wait_nodes or --reboot, when all nodes are up.  Steps wait for all nodes.  The records of
 * the nodes say which nodes are awaited, so no list of them is kept. */
#pragma once

#include "ctld/ctld.h"

#define NODE_BIT(x) (1u << PST__NODE_FLAG__NODE_FLAG_##x)
/* A node with one of these is off, or on its way up or down. */
#define NODE_POWER_BITS (NODE_BIT(POWERED_DOWN) | NODE_BIT(POWERING_UP) | NODE_BIT(POWERING_DOWN))

static inline bool job_waits_for_boot(const Pst__JobRecord *r)
{
    return r->has_power_pending && r->power_pending;
}

/* The node is not up, and jobs with this node wait until it is. */
static inline bool node_is_awaited(const Pst__NodeRecord *n)
{
    return n->state_flags & (NODE_POWER_BITS | NODE_BIT(REBOOT_ISSUED));
}

bool bootwait_any_awaited(const struct cluster *c, const Pst__Alloc *alloc);
/* Does a job that gets these nodes have to wait for one of them?  If so, *ret_until_us is when the
 * wait ends at the latest. */
bool bootwait_needed(const struct ctld *ctld, const Pst__JobRecord *r, const Pst__Alloc *alloc,
                     int64_t *ret_until_us);
/* Some of the nodes may have to boot to have the features that the job asks for: can they? */
bool bootwait_possible(const struct ctld *ctld, const Pst__JobRecord *r, const uint32_t *node_ids,
                       size_t count);
/* Did the job ask for --reboot, and is there a RebootProgram? */
bool bootwait_reboots(const struct ctld *ctld, const Pst__JobRecord *r);
/* A job gets these nodes: have the nodes that are powered down powered up.  With --reboot, or when
 * nodes lack features that the job asks for, have the other nodes boot again: these are POWERING_UP
 * with reboot_us. */
void bootwait_ask(const struct ctld *ctld, Pst__Transaction *tx, const Pst__JobRecord *r,
                  const Pst__Alloc *alloc);
/* In seconds, how long one node, or the slowest of an allocation, may take to come up:
 * ResumeTimeout of the cluster and of the partitions with the node. */
uint32_t bootwait_timeout_s(const struct ctld *ctld, const struct node *n);
uint32_t bootwait_patience_s(const struct ctld *ctld, const Pst__Alloc *alloc);

/* Is a node of the job awaited?  In a heterogeneous job the nodes of all components count. */
bool bootwait_awaits(const struct ctld *ctld, const struct job *j);
/* Must the script, or the client that asked for the allocation, wait? */
bool bootwait_holds_batch(const struct ctld *ctld, const struct job *j);
bool bootwait_holds_grant(const struct ctld *ctld, const struct job *j);
