/* hrescharge.c - see hrescharge.h
 *
 *   mode 1   once, the first layer with enough left that has a node of the job
 *   mode 2   once, every layer that has a node of the job
 *   mode 3   every layer, for each node of the job that lies in it
 *
 * Of alternatives (a|b) the first that is there counts.  A resource with layers does not end the
 * list: later ones that are there are held as well, as users are shown. */
#include "sched/rules/hrescharge.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "sched/sched.h"
#include "sched/state/lics.h"
#include "sched/state/sched_obj.h"

struct charges {
    const struct sched *s;
    const struct sched_alloc *a;
    hres_left_fn *left;
    const void *ctx;
    struct job_lics lics;
    uint32_t cap;
};

static int add_charge(struct charges *c, uint32_t lic, uint64_t count)
{
    if (c->lics.n == c->cap) {
        uint32_t cap = c->cap ? c->cap * 2 : 8;
        struct job_lic *grown = realloc(c->lics.v, cap * sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        c->lics.v = grown;
        c->cap = cap;
    }
    c->lics.v[c->lics.n++] = (struct job_lic){ .id = lic, .count = count };
    return 1;
}

static bool has_left(const struct charges *c, uint32_t lic, uint64_t each, uint64_t times)
{
    return c->left(c->ctx, c->s, lic) / times >= each;
}

/* ---- the layers that a job's nodes lie in ---------------------------------------------------- */

#define FEW 256u

struct touched { /* a layer, and how many nodes of the job lie in it */
    uint32_t layer, nodes;
};

struct touches {
    struct touched few[FEW], *v; /* by layer */
    uint32_t n;
    bool outside; /* a node lies in no layer */
};

static void touches_done(struct touches *t)
{
    if (t->v != t->few)
        free(t->v);
}

static uint32_t layers_of(const struct hres *h, uint32_t node)
{
    return node < h->nfirst ? h->first[node + 1] - h->first[node] : 0;
}

static int by_layer(const void *a, const void *b)
{
    const struct touched *x = a, *y = b;

    return (x->layer > y->layer) - (x->layer < y->layer);
}

static void touch_few(const struct hres *h, const struct sched_alloc *a, struct touches *t)
{
    uint32_t all = 0;

    for (size_t i = 0; i < a->nnodes; i++)
        for (uint32_t k = 0; k < layers_of(h, a->nodes[i].node_id); k++)
            t->few[all++] = (struct touched){ h->of[h->first[a->nodes[i].node_id] + k], 1 };
    if (all > 1)
        qsort(t->few, all, sizeof(t->few[0]), by_layer);
    for (uint32_t i = 0; i < all; i++) {
        if (t->n && t->few[t->n - 1].layer == t->few[i].layer)
            t->few[t->n - 1].nodes++;
        else
            t->few[t->n++] = t->few[i];
    }
}

static int touch_many(const struct hres *h, const struct sched_alloc *a, struct touches *t)
{
    t->v = calloc(h->n, sizeof(*t->v));
    if (!t->v) {
        t->v = t->few;
        return -ENOMEM;
    }
    for (size_t i = 0; i < a->nnodes; i++)
        for (uint32_t k = 0; k < layers_of(h, a->nodes[i].node_id); k++)
            t->v[h->of[h->first[a->nodes[i].node_id] + k]].nodes++;
    for (uint32_t l = 0; l < h->n; l++)
        if (t->v[l].nodes)
            t->v[t->n++] = (struct touched){ l, t->v[l].nodes };
    return 0;
}

static int find_touched(const struct hres *h, const struct sched_alloc *a, struct touches *t)
{
    uint64_t all = 0;

    t->v = t->few;
    t->n = 0;
    t->outside = false;
    for (size_t i = 0; i < a->nnodes; i++) {
        uint32_t n = layers_of(h, a->nodes[i].node_id);

        t->outside = t->outside || !n;
        all += n;
    }
    if (all > FEW)
        return touch_many(h, a, t);
    touch_few(h, a, t);
    return 0;
}

/* ---- charges --------------------------------------------------------------------------------- */

static int charge_first(struct charges *c, const struct hres *h, uint64_t count,
                        const struct touches *t)
{
    for (uint32_t i = 0; i < t->n; i++)
        if (has_left(c, h->layers[t->v[i].layer].lic, count, 1))
            return add_charge(c, h->layers[t->v[i].layer].lic, count);
    return 0;
}

static int charge_each(struct charges *c, const struct hres *h, uint64_t count,
                       const struct touches *t)
{
    bool each = h->mode == 3 && !h->pooled;
    int r = !t->outside;

    for (uint32_t i = 0; r == 1 && i < t->n; i++) {
        uint32_t lic = h->layers[t->v[i].layer].lic, times = each ? t->v[i].nodes : 1;

        r = has_left(c, lic, count, times) ? add_charge(c, lic, count * times) : 0;
    }
    return r;
}

static int charge_layers(struct charges *c, const struct hres *h, uint64_t count)
{
    struct touches t;
    int r = find_touched(h, c->a, &t);

    if (r == 0)
        r = h->mode == 1 ? charge_first(c, h, count, &t) : charge_each(c, h, count, &t);
    touches_done(&t);
    return r;
}

/* 1 charged, 0 not: then nothing was. */
static int charge_resource(struct charges *c, const struct hres *h, uint64_t count)
{
    uint32_t had = c->lics.n;
    int r = count ? add_charge(c, h->lic, count) : 1;

    if (r == 1 && count)
        r = charge_layers(c, h, count);
    if (r == 0)
        c->lics.n = had;
    return r;
}

static int charge_all(struct charges *c, const struct job_lics *want)
{
    int r = 1;

    for (uint32_t i = 0; r == 1 && i < want->n; i++) {
        const struct hres *h = hres_of(c->s, want->v[i].id);

        r = h ? charge_resource(c, h, want->v[i].count)
              : add_charge(c, want->v[i].id, want->v[i].count);
    }
    return r;
}

static int charge_any(struct charges *c, const struct job_lics *want)
{
    bool any = false;

    for (uint32_t i = 0; i < want->n; i++) {
        const struct hres *h = hres_of(c->s, want->v[i].id);
        int r = 0;

        if (h)
            r = charge_resource(c, h, want->v[i].count);
        else if (!any && has_left(c, want->v[i].id, want->v[i].count, 1))
            return add_charge(c, want->v[i].id, want->v[i].count);
        if (r < 0)
            return r;
        any = any || r == 1;
    }
    return any;
}

int hres_charge(const struct sched *s, const struct job_lics *want, uint32_t which,
                const struct sched_alloc *a, hres_left_fn *left, const void *ctx,
                struct job_lics *ret)
{
    struct charges c = { .s = s, .a = a, .left = left, .ctx = ctx };
    int r;

    if (!want->layered) {
        r = lics_choose(want, which, ret);
        return r < 0 ? r : 1;
    }
    r = want->any ? charge_any(&c, want) : charge_all(&c, want);
    if (r != 1) {
        lics_free(&c.lics);
        return r;
    }
    *ret = c.lics;
    return 1;
}

int hres_leave_out(const struct sched *s, const struct job_lics *want, uint32_t which,
                   struct job_lics *ret)
{
    struct charges c = { .s = s };
    int r = 1;

    if (!want->layered)
        return lics_choose(want, which, ret);
    for (uint32_t i = 0; !want->any && r == 1 && i < want->n; i++)
        if (!hres_of(s, want->v[i].id))
            r = add_charge(&c, want->v[i].id, want->v[i].count);
    if (r < 0) {
        lics_free(&c.lics);
        return r;
    }
    *ret = c.lics;
    return 0;
}
