/* nodetopology.h - what nodes are told of their place: SLURM_TOPOLOGY_ADDR of their tasks */
#pragma once

#include "ctld/ctld.h"

/* Fill in what the node is told now; free with pb_done(&t->base). */
void nodetopology_fill(const struct ctld *ctld, uint32_t node_id, Pst__NodeTopology *t);
