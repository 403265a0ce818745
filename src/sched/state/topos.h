/* topos.h - the topologies of the cluster, and which one a partition uses */
#pragma once

struct part;
struct sched;

void topo_of_part(struct sched *s, struct part *p); /* after its name, or the set, changed */
void topos_done(struct sched *s);
