/* advres.c - advance reservations: which jobs may have which nodes when.
 *
 * A reservation is a set of nodes (or cores of some) and windows of time.  A job outside may not
 * hold any of it in a window; one inside holds nothing else, and only in a window, unless the
 * reservation is flexible. Selection asks with the span of time a job would hold its nodes
 * (pick.from_us, pick.to_us); without a span reservations are not heeded.
 *
 * What is known about a class stands for longer spans too: a longer one meets more windows.  A
 * count of windows met (the level) is kept with it.  When a window begins or ends, or reservations
 * change, everything is tried anew. */
#include "sched/rules/advres.h"

#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "sched/rules/adv_data.h"
#include "sched/rules/advset.h"
#include "sched/rules/advtime.h"
#include "sched/sched.h"
#include "sched/state/classes.h"
#include "sched/state/endtime.h"
#include "sched/state/jobs.h"
#include "sched/state/nodes.h"
#include "sched/state/question.h"
#include "sched/state/sched_obj.h"

/* ---- nodes ----------------------------------------------------------------------------------- */

static const struct bitmap *nodes_of(const struct sched *s, struct advres *r)
{
    if (r->nodes && r->nodes->nbits == s->nbits)
        return r->nodes;
    bitmap_free(r->nodes);
    r->nodes = NULL;
    if (bitmap_new(s->nbits, &r->nodes) < 0)
        return NULL;
    for (uint32_t i = 0; i < r->nids; i++)
        if (r->ids[i] < s->nbits)
            bitmap_set(r->nodes, r->ids[i]);
    return r->nodes;
}

bool adv_keep(const struct pick *p, struct bitmap *mask)
{
    const struct sched *s = p->s;
    const struct advs *a = s->advs;
    struct advres *own = adv_find(s, p->k->resv);
    const struct bitmap *nodes;

    if (p->k->resv && !own)
        return false;
    if (!p->to_us || !a)
        return true;
    if (own && !own->flex) {
        if (!adv_within(own, p->from_us, p->to_us))
            return false;
        nodes = own->nids ? nodes_of(s, own) : NULL;
        if (nodes)
            bitmap_and(mask, nodes);
    }
    if (own && own->beside)
        return true;
    for (uint32_t i = 0; i < a->nwins && a->wins[i].start_us < p->to_us; i++) {
        const struct advwin *w = &a->wins[i];

        if (w->end_us <= p->from_us || w->r == own || w->r->ncpus || !w->r->nids ||
            (p->no_maint && w->r->maint) || is_excused(w->r, p->from_us, p->to_us))
            continue;
        nodes = nodes_of(s, w->r);
        if (!nodes)
            return false;
        bitmap_andnot(mask, nodes);
    }
    for (uint32_t i = 0; a->nfloat && i < a->n; i++) {
        struct advres *r = a->list[i];

        if (r == own || !floats_into(r, p->from_us, p->to_us) || (p->no_maint && r->maint))
            continue;
        nodes = nodes_of(s, r);
        if (!nodes)
            return false;
        bitmap_andnot(mask, nodes);
    }
    return true;
}

static const struct advcpus *cpus_on(const struct advres *r, uint32_t id)
{
    for (uint32_t i = 0; i < r->ncpus; i++)
        if (r->cpus[i].node_id == id)
            return &r->cpus[i];
    return NULL;
}

bool adv_cored(const struct sched *s, uint32_t id)
{
    return s->advs && id < s->advs->cored->nbits && bitmap_test(s->advs->cored, id);
}

const uint64_t *adv_blocked(const struct pick *p, uint32_t id)
{
    const struct advs *a = p->s->advs;
    uint32_t nwords = p->s->nodes[id].nwords;
    const struct advres *own;
    const struct advcpus *c;
    bool any = false;

    if (!p->to_us || !adv_cored(p->s, id))
        return NULL;
    own = adv_find(p->s, p->k->resv);
    memset(a->words, 0, nwords * sizeof(*a->words));
    for (uint32_t i = 0; !(own && own->beside) && i < a->nwins && a->wins[i].start_us < p->to_us;
         i++) {
        const struct advwin *w = &a->wins[i];

        if (w->end_us <= p->from_us || w->r == own || is_excused(w->r, p->from_us, p->to_us) ||
            !(c = cpus_on(w->r, id)))
            continue;
        for (uint32_t k = 0; k < MIN(c->nwords, nwords); k++)
            a->words[k] |= c->bits[k];
        any = true;
    }
    c = own && !own->flex ? cpus_on(own, id) : NULL;
    for (uint32_t k = 0; c && k < nwords; k++)
        a->words[k] |= k < c->nwords ? ~c->bits[k] : ~UINT64_C(0);
    return any || c ? a->words : NULL;
}

int64_t adv_limit(const struct sched *s, uint32_t resv, const struct sched_alloc *alloc,
                  int64_t from_us, int64_t to_us)
{
    const struct advs *a = s->advs;
    struct advres *own = adv_find(s, resv);

    for (uint32_t i = 0; own && !own->flex && i < own->nwindows; i++)
        if (own->windows[i].start_us <= from_us && from_us < own->windows[i].end_us)
            to_us = MIN(to_us, own->windows[i].end_us);
    if (!a || (own && own->beside))
        return to_us;
    for (uint32_t i = 0; i < a->nwins && a->wins[i].start_us < to_us; i++) {
        const struct advwin *w = &a->wins[i];
        const struct bitmap *nodes =
            w->r == own || !w->r->nids || w->end_us <= from_us ? NULL : nodes_of(s, w->r);

        for (size_t k = 0; nodes && w->start_us > from_us && k < alloc->nnodes; k++)
            if (bitmap_test(nodes, alloc->nodes[k].node_id))
                to_us = MIN(to_us, w->start_us);
    }
    for (uint32_t i = 0; a->nfloat && i < a->n; i++) {
        const struct bitmap *nodes = a->list[i]->floats ? nodes_of(s, a->list[i]) : NULL;

        for (size_t k = 0; nodes && k < alloc->nnodes; k++)
            if (bitmap_test(nodes, alloc->nodes[k].node_id))
                to_us = MIN(to_us, from_us + a->list[i]->float_us);
    }
    return to_us;
}

/* A job inside holds its nodes until the window ends, however long it may run: then it is ended. */
void adv_span(struct pick *p, int64_t from_us, uint32_t minutes)
{
    const struct advres *own;

    if (!advs_any(p->s))
        return;
    own = p->cls->shape->key.flags & SHAPE_DRAWN ? NULL : adv_find(p->s, p->cls->shape->key.resv);
    p->from_us = from_us;
    p->to_us = end_after(from_us, minutes);
    for (uint32_t i = 0; own && !own->flex && i < own->nwindows; i++)
        if (own->windows[i].start_us <= from_us && from_us < own->windows[i].end_us)
            p->to_us = MIN(p->to_us, own->windows[i].end_us);
}

uint32_t adv_level(const struct pick *p)
{
    const struct advs *a = p->s->advs;
    uint32_t n = 0;

    if (!a || !p->to_us)
        return 0;
    for (uint32_t i = 0; i < a->nwins && a->wins[i].start_us < p->to_us; i++)
        n += !is_excused(a->wins[i].r, p->from_us, p->to_us);
    for (uint32_t i = 0; a->nfloat && i < a->n; i++)
        n += floats_into(a->list[i], p->from_us, p->to_us);
    return n;
}

/* ---- why not --------------------------------------------------------------------------------- */

bool adv_is_why(enum sched_why why)
{
    return why == SCHED_WHY_RESV || why == SCHED_WHY_RESERVED || why == SCHED_WHY_RESV_MAINT;
}

bool adv_blocked_walk(const struct sched *s, const struct entry *e)
{
    const struct advres *own = adv_find(s, e->cls->shape->key.resv);

    return own && own->blocked_walk == s->walk_run;
}

void adv_block_walk(struct sched *s, const struct entry *e)
{
    struct advres *own = adv_find(s, e->cls->shape->key.resv);

    if (own)
        own->blocked_walk = s->walk_run;
}
