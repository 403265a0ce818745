/* nearpick.c - see nearpick.h
 *
 * What the failed run had in the caches of its nodes, and the shape of its communication, are worth
 * more than the order in which nodes are usually given away. */
#include "sched/select/nearpick.h"

#include <errno.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "sched/rules/spares.h"
#include "sched/select/pick.h"
#include "sched/state/jobs.h"
#include "sched/state/parts.h"
#include "sched/state/question.h"
#include "sched/state/sched_obj.h"

/* Choose among the nodes of `of` alone. */
static int pick_of(struct pick *p, const struct bitmap *of)
{
    const struct bitmap *minus = p->minus;
    _cleanup_(bitmap_free) struct bitmap *rest = NULL;
    int r = bitmap_dup(p->part->nodes, &rest);

    if (r < 0)
        return r;
    bitmap_andnot(rest, of);
    if (minus)
        bitmap_or(rest, minus);
    p->minus = rest;
    r = pick_nodes(p);
    p->minus = minus;
    return r;
}

/* The bits of ids. */
static int set_of(const struct sched *s, const uint32_t *ids, size_t n, struct bitmap **ret)
{
    int r = bitmap_new(s->nbits, ret);

    for (size_t i = 0; r == 0 && i < n; i++)
        if (ids[i] < s->nbits)
            bitmap_set(*ret, ids[i]);
    return r;
}

int near_pick(struct pick *p, const struct job *j)
{
    const struct bitmap *spare = spares_idle(p->s);
    _cleanup_(bitmap_free) struct bitmap *near = NULL;
    _cleanup_(bitmap_free) struct bitmap *units = NULL;
    _cleanup_(bitmap_free) struct bitmap *first = NULL;
    int r;

    if (!j->nnear)
        return pick_nodes(p);
    r = set_of(p->s, j->near, j->nnear, &near);
    if (r == 0)
        r = bitmap_dup(near, &units);
    if (r < 0)
        return r;
    spares_add_units(p, near, units);
    r = bitmap_dup(near, &first);
    if (r == 0 && spare) {
        bitmap_or(first, spare);
        bitmap_and(first, units);
    }
    if (r == 0)
        r = pick_of(p, first);
    if (r == 0 && p->part->topo)
        r = pick_of(p, units);
    return r == 0 ? pick_nodes(p) : r;
}
