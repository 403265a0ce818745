/* topofrag.h - how broken up the free nodes of a topology are
 *
 * Of a block topology the score is the sum of the sizes of all blocks, base and aggregated, that
 * no job could have whole, and the number of nodes in blocks that are not free.  A base block can
 * be had when as many of its nodes are free as its planned size says; an aggregated one when all of
 * its base blocks can; those that are incomplete do not count.  Other kinds have the score 0. */
#pragma once

#include "sched/topo/topo.h"

struct topofrag;

/* Every node is free at first.  t must outlive it.  Errors: -ENOMEM. */
int topofrag_new(const struct topo *t, struct topofrag **ret_frag);
struct topofrag *topofrag_free(struct topofrag *f); /* always NULL */
DEFINE_CLEANUP(struct topofrag *, topofrag_free)

/* O(levels); a node that is in no block, or is so already, changes nothing. */
void topofrag_set(struct topofrag *f, uint32_t node, bool is_free);
uint64_t topofrag_score(const struct topofrag *f);
/* What a base block adds to it: its nodes that are not free, and its size when it cannot be had. */
uint32_t topofrag_of_unit(const struct topofrag *f, uint32_t unit);
uint32_t topofrag_free_nodes(const struct topofrag *f, uint32_t unit);
