/* nodeids.c - which id a new node gets; see nodeids.h
 *
 * Ids that are free wait in a queue, in the order in which their nodes went; `next` and the ids
 * above were never used.  Nothing here is journaled: a restart forgets only when an id became free,
 * and the start of the controller counts then. */
#include "ctld/core/nodeids.h"

#include <errno.h>
#include <stdlib.h>

#include "base/must.h"
#include "ctld/core/commit.h"
#include "ctld/core/service.h"

#define KEPT_BACK_MAX                                                                              \
    (1u << 18) /* with more, ids are used again although old jobs are still there */

struct freed {
    uint32_t id;
    int64_t us; /* when its node went */
};

struct nodeids {
    struct freed *queue; /* a ring of cap entries, cap a power of two */
    uint32_t head, n, cap;
    uint32_t next; /* this id and those above were never used */
    bool looked;   /* the cluster's nodes are counted in */
};

static void add_freed(struct nodeids *ids, uint32_t id, int64_t us)
{
    if (ids->n == ids->cap) {
        uint32_t cap = ids->cap ? ids->cap * 2 : 64;
        struct freed *bigger = must(malloc(cap * sizeof(*bigger)));

        for (uint32_t i = 0; i < ids->n; i++)
            bigger[i] = ids->queue[(ids->head + i) & (ids->cap - 1)];
        free(ids->queue);
        ids->queue = bigger;
        ids->head = 0;
        ids->cap = cap;
    }
    ids->queue[(ids->head + ids->n++) & (ids->cap - 1)] = (struct freed){ id, us };
}

/* Ids that the journal left free. */
static void look_around(struct ctld *ctld, struct nodeids *ids)
{
    const struct cluster *c = ctld->cluster;

    for (uint32_t i = 0; i < c->nnodes; i++)
        if (c->nodes[i])
            ids->next = i + 1;
    for (uint32_t i = 0; i < ids->next; i++)
        if (!c->nodes[i])
            add_freed(ids, i, ctld->boot_us);
    ids->looked = true;
}

/* Is every job gone that may have had the node? */
static bool may_be_used(struct ctld *ctld, const struct nodeids *ids, const struct freed *f)
{
    const struct job *oldest = cluster_done_oldest(ctld->cluster);

    return !oldest || oldest->rec->end_us > f->us || ids->n > KEPT_BACK_MAX;
}

uint32_t nodeids_take(struct ctld *ctld)
{
    struct nodeids *ids = ctld->nodeids;

    if (!ids->looked)
        look_around(ctld, ids);
    while (ids->n) {
        struct freed f = ids->queue[ids->head];

        if (!may_be_used(ctld, ids, &f))
            break;
        ids->head = (ids->head + 1) & (ids->cap - 1);
        ids->n--;
        if (!cluster_node(ctld->cluster, f.id))
            return f.id;
    }
    return ids->next++;
}

static void follow_node_gone(struct ctld *ctld, struct node *n)
{
    if (ctld->nodeids->looked)
        add_freed(ctld->nodeids, n->rec->node_id, core_now());
}

static int start_ids(struct ctld *ctld, struct err *err)
{
    ctld->nodeids = calloc(1, sizeof(*ctld->nodeids));
    return ctld->nodeids ? 0 : err_nomem(err);
}

static void free_ids(struct ctld *ctld)
{
    if (!ctld->nodeids)
        return;
    free(ctld->nodeids->queue);
    free(ctld->nodeids);
    ctld->nodeids = NULL;
}

const struct ctld_service nodeids_service = {
    .name = "nodeids",
    .start = start_ids,
    .free = free_ids,
    .on_node_gone = follow_node_gone,
};
