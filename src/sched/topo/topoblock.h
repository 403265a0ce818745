/* topoblock.h - block: base blocks, and aligned powers of two of them */
#pragma once

struct topo_ask;
struct topo_space;

/* The tightest blocks that can hold the job, or its segments.  1, 0 with sp->why, -ENOMEM. */
int topo_choose_block(struct topo_ask *a, struct topo_space *sp);
