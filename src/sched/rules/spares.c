/* spares.c - nodes that are kept for expedited jobs; see spares.h
 *
 * The rule is the same for every order of events: the set follows from what is idle and who waits.
 * Which idle nodes of a unit are its spares does not matter to other jobs, so the last are taken:
 * jobs get nodes from the first on. */
#include "sched/rules/spares.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "sched/state/classes.h"
#include "sched/state/jobs.h"
#include "sched/state/nodes.h"
#include "sched/state/parts.h"
#include "sched/state/planlog.h"
#include "sched/state/question.h"
#include "sched/state/sched_obj.h"
#include "sched/state/shape.h"
#include "sched/topo/topo.h"

struct spares {
    struct bitmap *idle; /* the spares */
    struct bitmap *kept; /* these, and the healthy nodes of expedited jobs that wait */
    struct bitmap *old;  /* kept before */
    uint32_t *per_unit;  /* scratch: spares found so far in each unit of a partition, and in none */
    size_t nper_unit;
    uint64_t made; /* the generation of the state that the set is of */
    bool stale;
};

void spares_done(struct sched *s)
{
    if (!s->spares)
        return;
    bitmap_free(s->spares->idle);
    bitmap_free(s->spares->kept);
    bitmap_free(s->spares->old);
    free(s->spares->per_unit);
    free(s->spares);
    s->spares = NULL;
}

void spares_changed(struct sched *s)
{
    if (s->spares)
        s->spares->stale = true;
}

static int make_room(struct sched *s)
{
    struct spares *sp = s->spares ? s->spares : calloc(1, sizeof(*sp));

    if (!sp)
        return -ENOMEM;
    s->spares = sp;
    if (sp->kept && sp->kept->nbits == s->nbits)
        return 0;
    sp->idle = bitmap_free(sp->idle);
    sp->kept = bitmap_free(sp->kept);
    sp->old = bitmap_free(sp->old);
    sp->stale = true;
    if (bitmap_new(s->nbits, &sp->idle) < 0 || bitmap_new(s->nbits, &sp->kept) < 0 ||
        bitmap_new(s->nbits, &sp->old) < 0)
        return -ENOMEM;
    return 0;
}

/* Units of p and, last, the nodes in none of them: how many spares they have so far. */
static int count_begin(struct spares *sp, const struct part *p, uint32_t *ret_none)
{
    size_t n = (p->topo ? topo_get_spec(p->topo)->nunits : 0) + 1;

    if (n > sp->nper_unit) {
        uint32_t *grown = realloc(sp->per_unit, n * sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        sp->per_unit = grown;
        sp->nper_unit = n;
    }
    memset(sp->per_unit, 0, n * sizeof(*sp->per_unit));
    *ret_none = (uint32_t)n - 1;
    return 0;
}

static uint32_t unit_of(const struct part *p, uint32_t id, uint32_t none)
{
    uint32_t unit = p->topo ? topo_unit_of(p->topo, id) : TOPO_NONE;

    return unit == TOPO_NONE ? none : unit;
}

/* A node may be in several partitions: it is a spare of each. */
static int keep_idle(struct sched *s, const struct part *p)
{
    struct spares *sp = s->spares;
    uint32_t none = 0;
    int r = count_begin(sp, p, &none);

    if (r < 0)
        return r;
    BITMAP_FOREACH (p->nodes, id)
        sp->per_unit[unit_of(p, id, none)] += bitmap_test(sp->idle, id);
    for (uint32_t id = s->nbits; id-- > 0;) {
        uint32_t *n;

        if (!bitmap_test(p->nodes, id) || bitmap_test(sp->idle, id) || !bitmap_test(s->idle, id) ||
            !bitmap_test(s->up, id))
            continue;
        n = &sp->per_unit[unit_of(p, id, none)];
        if (*n >= s->params.spare_nodes)
            continue;
        ++*n;
        bitmap_set(sp->idle, id);
    }
    return 0;
}

/* Expedited jobs are the first of each list. */
static void keep_healthy(struct sched *s, struct entry *const *list)
{
    for (const struct entry *e = list[0]; e && e->first; e = e->next[0])
        for (size_t i = 0; i < e->job->nnear; i++)
            if (e->job->near[i] < s->nbits && bitmap_test(s->up, e->job->near[i]))
                bitmap_set(s->spares->kept, e->job->near[i]);
}

/* What is not kept any more is room for jobs that found none. */
static void note_freed(struct sched *s)
{
    struct spares *sp = s->spares;

    bitmap_andnot(sp->old, sp->kept);
    BITMAP_FOREACH (sp->old, id) {
        if (!bitmap_test(s->up, id) || !bitmap_test(s->idle, id))
            continue;
        node_note_growth(s, &s->nodes[id]);
        planlog_node(s, id);
    }
}

int spares_refresh(struct sched *s)
{
    uint64_t now = s->busy_gen + s->up_gen + s->config_gen;
    struct spares *sp;
    int r = 0;

    if (!s->spares && !s->params.spare_nodes && !s->expediting)
        return 0;
    r = make_room(s);
    sp = s->spares;
    if (r < 0 || (!sp->stale && sp->made == now))
        return r;
    bitmap_zero(sp->idle);
    for (uint32_t i = 0; s->params.spare_nodes && r == 0 && i < s->nparts; i++)
        if (s->parts[i]->exists && s->parts[i]->up)
            r = keep_idle(s, s->parts[i]);
    if (r < 0)
        return r;
    bitmap_copy(sp->old, sp->kept);
    bitmap_copy(sp->kept, sp->idle);
    for (uint32_t i = 0; s->expediting && i < s->nparts; i++) {
        keep_healthy(s, s->parts[i]->head);
        keep_healthy(s, s->parts[i]->parked);
    }
    note_freed(s);
    sp->made = s->busy_gen + s->up_gen + s->config_gen;
    sp->stale = false;
    return 0;
}

/* A reservation is the user's, with all its nodes. */
static bool heeds_spares(const struct pick *p)
{
    return p->s->spares && !p->idle && !p->any_state && !p->k->resv &&
           !(p->k->flags & SHAPE_EXPEDITE);
}

void spares_keep(const struct pick *p, struct bitmap *mask)
{
    if (heeds_spares(p))
        bitmap_andnot(mask, p->s->spares->kept);
}

bool spares_hold(const struct pick *p, uint32_t id)
{
    return heeds_spares(p) && bitmap_test(p->s->spares->kept, id);
}

const struct bitmap *spares_idle(const struct sched *s)
{
    return s->spares ? s->spares->idle : NULL;
}

void spares_add_units(const struct pick *p, const struct bitmap *near, struct bitmap *out)
{
    const struct topo *t = p->part->topo;

    if (!t) {
        bitmap_or(out, p->part->nodes);
        return;
    }
    BITMAP_FOREACH (near, id) {
        uint32_t unit = topo_unit_of(t, id);
        const struct topo_unit_spec *u = unit == TOPO_NONE ? NULL : &topo_get_spec(t)->units[unit];

        for (size_t i = 0; u && i < u->nnodes; i++)
            if (u->nodes[i] < out->nbits)
                bitmap_set(out, u->nodes[i]);
    }
}
