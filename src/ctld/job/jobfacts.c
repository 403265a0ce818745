/* jobfacts.c - small questions about jobs and nodes; see jobfacts.h. */
#include "ctld/job/jobfacts.h"

#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/wordlist.h"

uint32_t jobs_array_running(struct ctld *ctld, uint32_t array_job_id)
{
    return cluster_array_tally(ctld->cluster, array_job_id).running;
}

bool jobs_in_partition(const Pst__JobRecord *r, const char *partition)
{
    return r->partition && wordlist_has(r->partition, partition);
}

int jobs_nodes_named(const struct cluster *c, const char *list, bool all_known, struct bitmap **ret)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    _cleanup_(bitmap_free) struct bitmap *set = NULL;

    if (hostlist_parse_most(list, HOSTLIST_MAX_NODES, &hl, NULL) < 0)
        return ESLURM_INVALID_NODE_NAME;
    if (bitmap_new(c->nnodes ? c->nnodes : 1, &set) < 0)
        return SLURM_ERROR;
    for (size_t i = 0; i < hostlist_count(hl); i++) {
        const struct node *n = cluster_node_named(c, hostlist_nth(hl, i));

        if (n)
            bitmap_set(set, n->rec->node_id);
        else if (all_known)
            return ESLURM_INVALID_NODE_NAME;
    }
    *ret = TAKE_PTR(set);
    return 0;
}

uint32_t jobs_next_id(struct ctld *ctld, uint32_t id)
{
    uint32_t first = (uint32_t)conf_num(ctld->conf, CONF_FIRST_JOB_ID);
    uint32_t max = (uint32_t)conf_num(ctld->conf, CONF_MAX_JOB_ID);

    do {
        id = id >= max ? first : id + 1;
    } while (cluster_job(ctld->cluster, id));
    return id;
}
