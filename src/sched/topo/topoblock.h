/* topoblock.h - block: base blocks, and aligned powers of two of them */
#pragma once

#include <stdint.h>

struct topo;
struct topo_ask;
struct topo_space;

/* The tightest blocks that can hold the job, or its segments.  1, 0 with sp->why, -ENOMEM. */
int topo_choose_block(struct topo_ask *a, struct topo_space *sp);

/* How many base blocks form the block that a group of so many nodes is looked for in; all of them
 * when no configured size is as large. */
uint32_t topo_block_span(const struct topo *t, uint32_t nodes);
