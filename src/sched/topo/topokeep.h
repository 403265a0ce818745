/* topokeep.h - places that leave room for segments
 *
 * Slurm gives a job the block with the fewest free nodes that hold it.  Where 17 nodes of one block
 * and 18 of another are free, a job of two nodes so takes from the 17, and neither 15 nodes nor the
 * next job of 16 are helped by it; taken from the 18 they would leave two places for a segment of
 * 16.  SchedulerParameters=keep_segments=16 asks for that: fewest lost segments first, then
 * Slurm's order.  Only base blocks count: a longer segment needs whole ones. */
#pragma once

#include <stdint.h>

struct topo;

/* Of `free` nodes of a block `nodes` are taken: how many segments of `keep` nodes find no room in
 * it any more?  keep 0: none. */
uint32_t topokeep_lost(uint32_t free, uint32_t nodes, uint32_t keep);
/* The base block that one node is to come from, of those with a node in the bitmap: the fewest lost
 * segments, then the fewest such nodes, then the first.  TOPO_NONE when there is no such block. */
uint32_t topokeep_unit(const struct topo *t, const uint64_t *words, uint32_t nwords, uint32_t keep);
