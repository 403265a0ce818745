/* nodejobs.c - which jobs hold resources of a node; see nodejobs.h */
#include "ctld/link/nodejobs.h"

#include <stdlib.h>

#include "base/must.h"
#include "model/job.h"

void nodejobs_done(struct nodejobs *x)
{
    free(x->first);
    free(x->ids);
    *x = (struct nodejobs){ 0 };
}

static void make_index(struct nodejobs *x, const struct cluster *c)
{
    uint32_t *at;

    nodejobs_done(x);
    x->n = c->nnodes;
    x->first = must(calloc(x->n + 2, sizeof(*x->first)));
    at = x->first + 1; /* counts, then where the next id of a node goes */
    for (const struct job *j = c->active; j; j = j->next_active)
        for (size_t i = 0; i < j->rec->alloc->n_node_ids; i++)
            if (j->rec->alloc->node_ids[i] < x->n)
                at[j->rec->alloc->node_ids[i] + 1]++;
    for (uint32_t i = 0; i < x->n; i++)
        at[i + 1] += at[i];
    x->ids = must(calloc((size_t)at[x->n] + 1, sizeof(*x->ids)));
    for (const struct job *j = c->active; j; j = j->next_active)
        for (size_t i = 0; i < j->rec->alloc->n_node_ids; i++)
            if (j->rec->alloc->node_ids[i] < x->n)
                x->ids[at[j->rec->alloc->node_ids[i]]++] = j->rec->job_id;
}

/* Those of the index that still hold the node. */
static size_t find_jobs(const struct nodejobs *x, const struct cluster *c, uint32_t node_id,
                        uint32_t *ids, size_t max)
{
    size_t n = 0;

    if (node_id >= x->n)
        return 0;
    for (uint32_t i = x->first[node_id]; i < x->first[node_id + 1] && n < max; i++) {
        const struct job *j = cluster_job(c, x->ids[i]);

        if (j && job_holds_resources(j->rec) && alloc_position(j->rec->alloc, node_id) >= 0)
            ids[n++] = x->ids[i];
    }
    return n;
}

uint32_t *nodejobs_of(struct nodejobs *x, const struct cluster *c, const struct node *n,
                      size_t *ret_n)
{
    uint32_t *ids = must(calloc((size_t)n->jobs + 1, sizeof(*ids)));
    uint32_t node_id = n->rec->node_id;

    *ret_n = find_jobs(x, c, node_id, ids, n->jobs);
    if (*ret_n < n->jobs) {
        make_index(x, c);
        *ret_n = find_jobs(x, c, node_id, ids, n->jobs);
    }
    return ids;
}
