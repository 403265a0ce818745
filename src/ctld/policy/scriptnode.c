/* scriptnode.c - see scriptnode.h */
#include "ctld/policy/scriptnode.h"

#include <string.h>

size_t scriptnode_position(const struct cluster *c, const Pst__JobRecord *job)
{
    for (size_t i = 0; job->batch_features && job->batch_host && i < job->alloc->n_node_ids; i++) {
        const struct node *n = cluster_node(c, job->alloc->node_ids[i]);

        if (n && strcmp(n->rec->name, job->batch_host) == 0)
            return i;
    }
    return 0;
}

const struct node *scriptnode_of(const struct cluster *c, const Pst__JobRecord *job)
{
    return cluster_node(c, job->alloc->node_ids[scriptnode_position(c, job)]);
}
