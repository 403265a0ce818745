/* dynreg.h - nodes that make themselves: slurmd -Z and slurmd -F.  Core thread.
 *
 * Like every node, such a node describes itself over a connection that has proved the cluster's
 * secret.  There are never more nodes than MaxNodeCount, and no slurmd can make a node that
 * slurm.conf has. */
#pragma once

#include "ctld/ctld.h"

#define DYNREG_TEXT 300u

/* The node of a registration that brings a line of its own.  A node that does not exist is made.
 * One that describes itself in another way than before is changed, unless jobs hold it: then the
 * node stays as it is until these jobs are gone, and its connection is closed, so that it registers
 * again.  addr: the address of the connection.  NULL: refused, with *ret_code and text
 * (DYNREG_TEXT bytes). */
struct node *dynreg_node(struct ctld *ctld, const Pst__NodeRegister *reg, const char *addr,
                         int *ret_code, char *text);
