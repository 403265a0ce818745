/* topos.h - the topologies of the cluster, and which one a partition uses */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct part;
struct sched;

void topo_of_part(struct sched *s, struct part *p); /* after its name, or the set, changed */
/* As sched_blocks(). */
bool topos_blocks(const struct sched *s, uint64_t *ret_score, uint32_t *ret_blocks,
                  uint32_t *ret_whole);
void topos_done(struct sched *s);
