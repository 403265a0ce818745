/* hrespick.h - nodes for a job that asks for resources with layers
 *
 * hres_admit() takes nodes away on which a layer has too little left.  For a resource of mode 3,
 * which is charged for each node, it also notes how many nodes the job may take of each layer;
 * p->counted says so, and whoever chooses nodes then counts them with hres_take(), or gives a
 * choice that does not count only what hres_thin() leaves. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sched/state/lics.h"
#include "sched/state/question.h"
#include "sched/state/sched_obj.h"

struct bitmap;

enum hres_tally {
    HRES_ALL,    /* of no node */
    HRES_CHOSEN, /* of s->chosen */
    HRES_TRIAL,  /* of nodes looked at */
    HRES_SAVED,  /* to come back to */
    HRES_TALLIES
};

struct hres_room {
    const struct hres *h;         /* the resource of mode 3 */
    uint32_t *left[HRES_TALLIES]; /* nodes that may yet be taken, by layer */
    uint32_t *most, cap;          /* nodes of each layer at most; room for so many layers */
    uint64_t *ok, *bad;           /* words of a bitmap of nodes */
    uint32_t nwords;
};

void hres_room_free(struct hres_room *room); /* NULL is a no-op */

/* Take from mask what the layers do not allow, and lower p->max to what they do.  1; 0: too few are
 * left; -ENOMEM. */
int hres_admit(struct pick *p, struct bitmap *mask);
/* Can the layers matter for a job of a single node, that may be on any of these, now?  True where
 * finding that out costs as much as trying. */
bool hres_may_bind(const struct pick *p, const struct bitmap *nodes);
/* For a choice that does not count (picktopo.c): leave of each leaf layer no more nodes in mask
 * than it allows, so that a block which is a leaf offers what it can hold.  whole_paths: of every
 * layer but the root, which p->max stands for.  The nodes of must are kept.  False: they alone are
 * too many. */
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

/* Let one tally stand where another stands. */
void hres_copy(const struct pick *p, enum hres_tally to, enum hres_tally from);
