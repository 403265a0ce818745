/* picktopo.h - several nodes for a job of a partition that has a topology */
#pragma once

#include <stdbool.h>

struct calt;
struct pick;

/* Is the job placed by its partition's topology?  Nodes outside every unit leave the candidates
 * where the topology has no use for them. */
bool topo_decides(const struct pick *p, const struct calt *a);
/* 1 with s->chosen in the order of choice, 0 with p->topo, -ENOMEM. */
int choose_by_topo(struct pick *p);
