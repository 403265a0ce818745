/* kinds.c - nodes that are made alike, so that a shape is held against each kind once.
 *
 * Made anew when a mask is wanted after the configuration changed.  In a cluster of more kinds than
 * KINDS_MAX the nodes of the rest are looked at one by one. */
#include "sched/state/kinds.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bitmap.h"
#include "sched/state/nodes.h"
#include "sched/state/sched_obj.h"

#define KINDS_MAX 64u

void kinds_done(struct sched *s)
{
    for (uint32_t i = 0; i < s->nkinds; i++)
        bitmap_free(s->kinds[i].nodes);
    free(s->kinds);
    bitmap_free(s->odd);
    s->kinds = NULL;
    s->odd = NULL;
    s->nkinds = 0;
    s->kinds_gen = 0;
}

/* The kind of node id, a new one if there is room; NULL when there is none. */
static struct kind *kind_of(struct sched *s, uint32_t id)
{
    struct kind *k;

    for (uint32_t i = s->nkinds; i-- > 0;) /* neighbours are alike: the last first */
        if (node_alike(&s->nodes[s->kinds[i].like], &s->nodes[id]))
            return &s->kinds[i];
    if (s->nkinds == KINDS_MAX)
        return NULL;
    k = &s->kinds[s->nkinds];
    if (bitmap_new(s->nbits, &k->nodes) < 0)
        return NULL; /* looked at one by one, which is slow and right */
    k->like = id;
    s->nkinds++;
    return k;
}

int kinds_make(struct sched *s)
{
    int r;

    if (s->kinds_gen == s->config_gen + 1)
        return 0;
    kinds_done(s);
    s->kinds = calloc(KINDS_MAX, sizeof(*s->kinds));
    r = s->kinds ? bitmap_new(s->nbits, &s->odd) : -ENOMEM;
    if (r < 0) {
        kinds_done(s);
        return r;
    }
    for (uint32_t id = 0; id < s->nnodes; id++) {
        struct kind *k = s->nodes[id].exists ? kind_of(s, id) : NULL;

        if (s->nodes[id].exists)
            bitmap_set(k ? k->nodes : s->odd, id);
    }
    s->kinds_gen = s->config_gen + 1;
    return 0;
}
