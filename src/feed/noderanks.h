/* noderanks.h - the order in which the controller numbers the nodes of slurm.conf
 *
 * Nodes are numbered in the natural order of their names: n9 before n10.  With
 * TopologyParam=BlockAsNodeRank (of a block topology) or SwitchAsNodeRank (of a tree) the unit of a
 * node in the default topology comes first: nodes of the file's first block or leaf switch before
 * those of the second, and nodes of no unit before all.  Lists of a job's nodes, and the nodes that
 * a job takes first, then follow the units, whatever their nodes are called.  Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "conf/conf.h"

struct conf_topos;

/* Must noderanks_order() know the topologies? */
bool noderanks_wanted(const struct conf *conf);
/* The indexes of conf_node() in that order: conf_nodes(conf) of them, which the caller frees.
 * topos: NULL = names alone. */
size_t *noderanks_order(const struct conf *conf, const struct conf_topos *topos);
