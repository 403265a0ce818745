/* topotorus.h - torus: boxes of configured shapes */
#pragma once

struct topo_ask;
struct topo_space;

/* A box for the job, or for each segment, that spoils as little as may be.  1, 0 with sp->why,
 * -ENOMEM. */
int topo_choose_torus(struct topo_ask *a, struct topo_space *sp);
