/* membership.h - which nodes a partition or node set has, as nodes come, go and change features
 *
 * A partition keeps what was written (nodes_config: "ALL", "ns1,d[1-4]", "feature{x}") and the list
 * that this comes to (nodes).  The list is journaled: a replay needs no configuration.
 * Nodes of slurm.conf stand in the list first, in the order of the file; then those that were made
 * while the controller ran, by name.  Core thread. */
#pragma once

#include "base/bitmap.h"
#include "ctld/ctld.h"

/* The nodes that an expression names now, as a folded list; the caller frees.  Names that no node
 * has are left out.  without: ids of nodes that are about to go, or NULL. */
char *membership_list(const struct ctld *ctld, const char *expr, const struct bitmap *without);
/* Whether the expression is the name of a NodeSet alone, or ALL: partitions show it as NodeSets. */
bool membership_is_set(const struct ctld *ctld, const char *expr);
/* Put into tx the new list of every partition whose expression comes to another list now. */
void membership_patch(const struct ctld *ctld, Pst__Transaction *tx, const struct bitmap *without);
/* The same as a transaction of its own.  Gives its lsn, the last applied one when nothing changed,
 * 0 when the disk is full: the next call does it then. */
uint64_t membership_follow(struct ctld *ctld);
/* A node came or changed by itself: the same now, or, when many do so and it takes long, at the
 * next tick. */
void membership_follow_soon(struct ctld *ctld);
