/* tasklayout.h - which ranks run on which node of a step.  Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define TASKS_MAX (1u << 20)

/* Ranks of the tasks on each node from their counts: block (consecutive), cyclic (one each in
 * turn), plane=N, or arbitrary=LIST, the node of each rank in turn ("1,0*3" for "1,0,0,0"; as
 * long as the
 * counts say, else it is block); NULL is block.  counts sum to total <= TASKS_MAX.  ret_ranks
 * has total elements:
 * those of node 0 first, ascending.  Errors: -ENOMEM. */
int tasklayout(const char *distribution, const uint32_t *counts, size_t n_nodes,
               uint32_t *ret_ranks);
