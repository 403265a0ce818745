/* topoorder.h - the order of a job's nodes by the topology */
#pragma once

#include "feed/topologies.h"

/* How near to each other nodes are in the default topology: among nodes of a job, those of one unit
 * have ranks that follow each other.  `nodes` are the ids of the job's n nodes, each gets a rank;
 * equal ranks stay in the order of the ids.  False: every rank is 0. */
bool topologies_ranks(const struct topologies *t, const uint32_t *nodes, size_t n, uint32_t *ranks);
