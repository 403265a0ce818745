/* topoclaim.h - nodes that say themselves where they are in the topologies: at their making, or
 * when they register
 *
 * Core thread.  A caller that gives its transaction up afterwards calls topology_forget(). */
#pragma once

#include "conf/conf.h"
#include "ctld/ctld.h"

/* An operator makes a node, and its line has Topology=.  r is the new record, which has its id
 * already.  0 or an ESLURM code. */
int topoclaim_new(struct ctld *ctld, Pst__NodeRecord *r, const struct conf_node *line);

/* A node registers.  place: what its slurmd says with --conf "Topology=..."; NULL: slurmd says
 * nothing.  A place counts when it differs from the last one, and only for dynamic nodes and nodes
 * of the cloud.  set: the patch of the node's record in tx.  A place that no topology has is told
 * in the node's reason, and the node stays where it was.  The result says what the caller does with
 * the node's reason: decide by other rules, keep the new one, or remove it. */
enum topoclaim_reason { TOPOCLAIM_AS_IS, TOPOCLAIM_STAYS, TOPOCLAIM_GOES };
enum topoclaim_reason topoclaim_register(struct ctld *ctld, Pst__Transaction *tx,
                                         const Pst__NodeRecord *old, const char *place,
                                         Pst__NodeRecord *set);

/* A node of the cloud is powered down: its place is the one of slurm.conf again. */
void topoclaim_powered_down(Pst__Transaction *tx, const Pst__NodeRecord *old, Pst__NodeRecord *set);
