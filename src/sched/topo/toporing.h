/* toporing.h - rings: places that follow each other */
#pragma once

struct topo_ask;
struct topo_space;

/* A window for the job, or one on a ring for each segment.  1, 0 with sp->why, -ENOMEM. */
int topo_choose_ring(struct topo_ask *a, struct topo_space *sp);
