/* netq.h - NVIDIA NetQ's topology graph, and compute nodes of NMX
 *
 * The graph is an array of one element {nodes: [{compounded_nodes: [{id, name, tier}]}], links:
 * [{id}]}; hosts have tier -1, and a link's id is `A-*-B`.  NMX gives [{Name, DomainUUID}]. */
#pragma once

#include <stddef.h>

#include "topograph/graph.h"

/* Either document.  wanted as in ibnet_read().  Errors: -EINVAL, -E2BIG, -ENOMEM. */
int netq_read(const char *text, size_t len, const struct graph_wanted *wanted, struct graph *g,
              struct err *err);
