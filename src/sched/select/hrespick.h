/* hrespick.h - nodes for a job that asks for resources with layers
 *
 * hres_admit() removes the nodes on which a layer has too little left.  A resource of mode 3 is
 * charged for each node, so hres_admit() also notes how many nodes of each layer the job may take,
 * and sets p->counted.  A choice of nodes must then count each node with hres_take().  A choice
 * that cannot count gets only the nodes that hres_thin() leaves. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sched/state/lics.h"
#include "sched/state/question.h"
#include "sched/state/sched_obj.h"

struct bitmap;

enum hres_tally {              /* which nodes are counted */
                  HRES_ALL,    /* none: the full count of each layer is left */
                  HRES_CHOSEN, /* those of s->chosen */
                  HRES_TRIAL,  /* those of an attempt */
                  HRES_SAVED,  /* a copy of a tally, to be put back */
                  HRES_TALLIES
};

struct hres_room {
    const struct hres *h;         /* the resource of mode 3 */
    uint32_t *left[HRES_TALLIES]; /* by layer: how many nodes may still be taken */
    uint32_t *most, cap;          /* by layer: how many nodes at most; length of the arrays */
    uint64_t *ok, *bad;           /* words of a bitmap of nodes */
    uint32_t nwords;
};

void hres_room_free(struct hres_room *room); /* NULL is a no-op */

/* Remove from mask the nodes that the layers do not allow, and lower p->max to the number of nodes
 * that they allow together.  1; 0: too few nodes are left; -ENOMEM. */
int hres_admit(struct pick *p, struct bitmap *mask);
/* Can layers keep a job of one node off some of these nodes now?  Also true where an exact answer
 * would cost as much as an attempt. */
bool hres_may_bind(const struct pick *p, const struct bitmap *nodes);
/* For a choice that does not count (picktopo.c): of each leaf layer leave no more nodes in mask
 * than the layer allows, so that a block which is a leaf offers only what it can hold.
 * whole_paths: do the same for every layer but the root, whose limit is in p->max.  The nodes of
 * `must` stay. False: the nodes of `must` alone are too many. */
bool hres_thin(const struct pick *p, struct bitmap *mask, const uint32_t *must, uint32_t nmust,
               bool whole_paths);
/* Do the layers allow all of these nodes together? */
bool hres_allows(const struct pick *p, const uint32_t *nodes, uint32_t n);

/* Count the node.  False: a layer allows no more; nothing is counted. */
static inline bool hres_take(const struct pick *p, enum hres_tally tally, uint32_t node)
{
    const struct hres_room *room = p->s->room;
    uint32_t *left;
    uint32_t deepest;

    if (!p->counted)
        return true;
    left = room->left[tally];
    deepest = node < room->h->ndeepest ? room->h->deepest[node] : HRES_NONE;
    if (deepest == HRES_NONE)
        return false;
    for (uint32_t l = deepest; l != HRES_NONE; l = room->h->layers[l].parent)
        if (!left[l])
            return false;
    for (uint32_t l = deepest; l != HRES_NONE; l = room->h->layers[l].parent)
        left[l]--;
    return true;
}

/* Copy the tally `from` to the tally `to`. */
void hres_copy(const struct pick *p, enum hres_tally to, enum hres_tally from);
