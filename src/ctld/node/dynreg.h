/* dynreg.h - nodes that make themselves: slurmd -Z and slurmd -F.  Core thread.
 *
 * What such a node says of itself comes over a connection that has proved the cluster's secret, as
 * every node's; there are never more nodes than MaxNodeCount, and a node of slurm.conf cannot be
 * made by a slurmd. */
#pragma once

#include "ctld/ctld.h"

#define DYNREG_TEXT 300u

/* The node that a registration with a line of its own is for: made when it is not there, changed
 * when it describes itself otherwise than before and no job holds it.  A node that is held by jobs
 * stays as it is until they have gone; then its connection is closed, so that it registers again.
 * addr: where it dialled from.  NULL: refused, with *ret_code and text (DYNREG_TEXT bytes). */
struct node *dynreg_node(struct ctld *ctld, const Pst__NodeRegister *reg, const char *addr,
                         int *ret_code, char *text);
