/* noderecord.h - from a NodeName line to the record of a node
 *
 * The line may stand in slurm.conf, come from an operator (`scontrol create node`), or from a node
 * that describes itself (`slurmd -Z`).  Core thread. */
#pragma once

#include "ctld/ctld.h"

#define NODE_FLAG_BIT(x) (1u << PST__NODE_FLAG__NODE_FLAG_##x)

/* Put what the line says of the machine into r, which is fresh: sizes, features, addresses; not its
 * name, id and state.  types: GresTypes. */
void noderecord_fill(Pst__NodeRecord *r, const struct conf_node *n, const char *types);
/* The state, flags and reason that State= of the line gives a node that was not there before. */
void noderecord_begin(Pst__NodeRecord *r, const struct conf_node *n);
/* Would merging `set` change `have`? */
bool noderecord_changes(const Pst__NodeRecord *have, const Pst__NodeRecord *set);

/* Made while the controller ran, and no node of slurm.conf? */
bool noderecord_is_dynamic(const Pst__NodeRecord *r);
/* Without a slurmd: another system runs what its jobs are for. */
bool noderecord_is_external(const Pst__NodeRecord *r);

/* The most nodes there may be, and how many more fit now.  O(1) and O(nodes). */
size_t noderecord_most(const struct ctld *ctld);
size_t noderecord_room(const struct ctld *ctld);
