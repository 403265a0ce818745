/* topoclaim.h - a node that is made, or that registers, says where it is in the topologies
 *
 * Core thread.  When the transaction is given up afterwards, call topology_forget(). */
#pragma once

#include "conf/conf.h"
#include "ctld/ctld.h"

/* Of a node that an operator makes, with Topology= in its line: r, its new record, has its id.
 * 0 or an ESLURM code. */
int topoclaim_new(struct ctld *ctld, Pst__NodeRecord *r, const struct conf_node *line);

/* What slurmd says with --conf "Topology=...", place, counts when it is something new; NULL: it
 * says nothing.  Only nodes that come and go are asked: dynamic ones and those of the cloud.
 * set: the patch of the node's record in tx.  A place that cannot be is told in the node's reason,
 * and the node stays where it was.  Gives what becomes of the reason that the node has: as others
 * say, a new one that must stay, or one that has to go. */
enum topoclaim_reason { TOPOCLAIM_AS_IS, TOPOCLAIM_STAYS, TOPOCLAIM_GOES };
enum topoclaim_reason topoclaim_register(struct ctld *ctld, Pst__Transaction *tx,
                                         const Pst__NodeRecord *old, const char *place,
                                         Pst__NodeRecord *set);

/* A node of the cloud is powered down: it is where slurm.conf says again. */
void topoclaim_powered_down(Pst__Transaction *tx, const Pst__NodeRecord *old, Pst__NodeRecord *set);
