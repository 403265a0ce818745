/* nodejobs.h - which jobs hold resources of a node
 *
 * An index over the cluster's active jobs, made when it is asked and is no longer true: the model
 * counts the jobs of each node, so a node for which fewer are found than it has shows that.  When
 * 15,000 nodes register after a restart, no job starts meanwhile, and all of them are answered from
 * one index.  Core thread. */
#pragma once

#include "model/cluster.h"

struct nodejobs {
    uint32_t *first; /* of the ids of each node, by its id; n + 1 of them */
    uint32_t *ids;
    uint32_t n;
};

void nodejobs_done(struct nodejobs *x);

/* The ids of the jobs that hold resources of n, newest first; the caller frees.  Ends the process
 * when memory is gone. */
uint32_t *nodejobs_of(struct nodejobs *x, const struct cluster *c, const struct node *n,
                      size_t *ret_n);
