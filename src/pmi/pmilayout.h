/* pmilayout.h - where the ranks of a step are, as the services of its nodes see it
 *
 * Made once from the launch request; constant afterwards, so any thread may read it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "api.pb-c.h"
#include "base/hostlist.h"

struct layout_part { /* one component of a heterogeneous step; an ordinary step has one */
    uint32_t first_rank, n_ranks;
    uint32_t first_node, n_nodes;
    const Pst__StepPart *from; /* borrowed */
};

struct layout {
    uint32_t n_ranks, n_nodes;
    uint32_t *node_of; /* by rank */
    /* ranks by node: those of node n are ranks[first[n]] up to first[n + 1] */
    uint32_t *ranks, *first;
    struct hostlist *names; /* by node; a host with tasks of two components is there twice */
    struct layout_part *parts;
    size_t n_parts;
};

/* parts are borrowed for the layout's life.  Errors: -EINVAL they contradict themselves,
 * -ENOMEM. */
int layout_init(struct layout *l, Pst__StepPart *const *parts, size_t n_parts);
void layout_done(struct layout *l);
/* Part of a rank < n_ranks. */
const struct layout_part *layout_part(const struct layout *l, uint32_t rank);
/* Node names of the parts one after the other, "," between them.  The caller frees; NULL no
 * memory. */
char *layout_node_list(const struct layout *l);
/* "0,2;1,3": ranks of each node as PMIx takes its process map.  Likewise. */
char *layout_rank_map(const struct layout *l);
/* "(vector,(first node,nodes,ranks on each),...)": value of PMI_process_mapping.  Likewise. */
char *layout_vector(const struct layout *l);
