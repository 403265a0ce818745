/* graphfinish.h - from what readers put together to a canonical graph, and parts of one; pure */
#pragma once

#include "topograph/graph.h"

struct graph_finish {
    const struct graph_wanted *wanted; /* NULL: every node that was described */
    uint32_t trim_tiers;               /* leave out so many at the top, GRAPH_TRIM_MAX at most */
    bool normalise; /* name switches switch.LEVEL.N in place of what the source calls them */
};
/* Make the graph canonical.  Errors: -EINVAL switches in a circle, too many tiers, two instances of
 * one node name; -ENOMEM. */
int graph_finish(struct graph *g, const struct graph_finish *how, struct err *err);
/* A finished graph of the nodes alone whose names are listed (bits over g->nodes). */
int graph_subset(const struct graph *g, const bool *keep, struct graph **ret_graph,
                 struct err *err);
