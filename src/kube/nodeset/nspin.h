/* nspin.h - pinToNode: a worker that is made anew goes back to the node where it was
 *
 * The memory is status.ordinalToNode, filled from pods that run.  Pure. */
#pragma once

#include "kube/nodeset/nsdecide.h"

/* Ordinals in decimal to names of nodes; NULL: no memory.  A pin goes when its node is gone or no
 * longer takes such workers, and when another worker of the set is there. */
json_t *nspin_map(const struct nsview *v);
/* The node of an ordinal; NULL: none. */
const char *nspin_node(const json_t *map, int64_t ordinal);
/* The map as a merge patch of what the status has: what is gone is null.  NULL: no memory. */
json_t *nspin_patch(const json_t *map, const json_t *have);
