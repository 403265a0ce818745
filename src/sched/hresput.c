/* hresput.c - see hresput.h
 *
 * All are fed at once.  What jobs hold of a layer stays with its name, so a layer that comes again
 * with another count has in use what it had. */
#include "sched/hresput.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "sched/sched.h"
#include "sched/state/lics.h"
#include "sched/state/parts.h"
#include "sched/state/planlog.h"
#include "sched/state/sched_obj.h"

static int copy_nodes(const struct sched_layer *in, struct hres_layer *l)
{
    uint32_t low = UINT32_MAX, high = 0;

    for (size_t i = 0; i < in->nnodes; i++) {
        if (in->node_ids[i] >= BITMAP_MAX_BITS)
            return -EINVAL;
        low = MIN(low, in->node_ids[i]);
        high = MAX(high, in->node_ids[i]);
    }
    if (!in->nnodes)
        return 0; /* none of them is known yet */
    l->from = low >> 6;
    l->nwords = (high >> 6) - l->from + 1;
    l->words = calloc(l->nwords, sizeof(*l->words));
    if (!l->words)
        return -ENOMEM;
    for (size_t i = 0; i < in->nnodes; i++)
        l->words[(in->node_ids[i] >> 6) - l->from] |= UINT64_C(1) << (in->node_ids[i] & 63);
    return 0;
}

static int add_layer(struct sched *s, uint32_t at, const struct sched_resource *in, uint32_t i)
{
    const struct sched_layer *from = &in->layers[i];
    struct hres_layer *l = &s->hres[at].layers[i];
    bool root = from->parent == SCHED_UNLIMITED;
    int r;

    if (!from->name || (in->mode == 3 && root != (i + 1 == in->nlayers)) ||
        (!root && (in->mode != 3 || from->parent <= i || from->parent >= in->nlayers)))
        return -EINVAL;
    l->parent = root ? HRES_NONE : from->parent;
    r = lic_id(s, from->name, &l->lic);
    if (r < 0)
        return r;
    if (s->lics[l->lic].hres || s->lics[l->lic].layer_of)
        return -EINVAL;
    s->lics[l->lic].layer_of = at + 1;
    s->lics[l->lic].total = MIN(from->total, HRES_ENDLESS);
    return copy_nodes(from, l);
}

/* Children stand before their parents: the first layer with a node is the deepest. */
static int find_deepest(const struct sched_resource *in, struct hres *h)
{
    for (size_t i = 0; i < in->nlayers; i++)
        for (size_t k = 0; k < in->layers[i].nnodes; k++)
            h->ndeepest = MAX(h->ndeepest, in->layers[i].node_ids[k] + 1);
    h->deepest = malloc((h->ndeepest + 1) * sizeof(*h->deepest));
    if (!h->deepest)
        return -ENOMEM;
    memset(h->deepest, 0xff, (h->ndeepest + 1) * sizeof(*h->deepest));
    for (uint32_t i = 0; i < in->nlayers; i++)
        for (size_t k = 0; k < in->layers[i].nnodes; k++) {
            uint32_t id = in->layers[i].node_ids[k];

            if (h->deepest[id] == HRES_NONE)
                h->deepest[id] = i;
        }
    return 0;
}

/* Which layers each node lies in, in their order. */
static int list_layers(const struct sched_resource *in, struct hres *h)
{
    uint64_t all = 0;

    for (size_t i = 0; i < in->nlayers; i++) {
        all += in->layers[i].nnodes;
        for (size_t k = 0; k < in->layers[i].nnodes; k++)
            h->nfirst = MAX(h->nfirst, in->layers[i].node_ids[k] + 1);
    }
    if (all > UINT32_MAX)
        return -EINVAL;
    h->first = calloc((size_t)h->nfirst + 2, sizeof(*h->first));
    h->of = malloc((all + 1) * sizeof(*h->of));
    if (!h->first || !h->of)
        return -ENOMEM;
    for (size_t i = 0; i < in->nlayers; i++)
        for (size_t k = 0; k < in->layers[i].nnodes; k++)
            h->first[in->layers[i].node_ids[k] + 2]++;
    for (uint32_t id = 0; id < h->nfirst; id++)
        h->first[id + 2] += h->first[id + 1];
    for (uint32_t i = 0; i < in->nlayers; i++) /* first[id + 1] moves on to where it ends */
        for (size_t k = 0; k < in->layers[i].nnodes; k++)
            h->of[h->first[in->layers[i].node_ids[k] + 1]++] = i;
    return 0;
}

static int copy_values(const struct sched_resource *in, struct hres *h)
{
    h->values = calloc(in->nvariables + 1, sizeof(*h->values));
    for (size_t i = 0; h->values && i < in->nvariables; i++) {
        h->values[i].name = strdup(in->variables[i].name);
        if (!h->values[i].name)
            return -ENOMEM;
        h->values[h->nvalues++].value = in->variables[i].value;
    }
    return h->values ? 0 : -ENOMEM;
}

static int add_resource(struct sched *s, const struct sched_resource *in)
{
    uint32_t at = s->nhres;
    struct hres *h = &s->hres[at];
    int r = in->name && in->mode >= 1 && in->mode <= 3 && in->nlayers ? 0 : -EINVAL;

    *h = (struct hres){ .mode = in->mode, .pooled = in->mode == 3 && in->nlayers == 1 };
    s->nhres++;
    if (r == 0)
        r = lic_id(s, in->name, &h->lic);
    if (r == 0 && (s->lics[h->lic].hres || s->lics[h->lic].layer_of))
        r = -EINVAL;
    if (r < 0)
        return r;
    s->lics[h->lic].hres = at + 1;
    s->lics[h->lic].total = 0;
    h->topology = in->topology ? strdup(in->topology) : NULL;
    h->layers = calloc(in->nlayers, sizeof(*h->layers));
    if (!h->layers || (in->topology && !h->topology))
        return -ENOMEM;
    for (; r == 0 && h->n < in->nlayers; h->n++)
        r = add_layer(s, at, in, h->n);
    if (r == 0)
        r = list_layers(in, h);
    if (r == 0 && in->mode == 3)
        r = find_deepest(in, h);
    return r == 0 ? copy_values(in, h) : r;
}

int hres_put(struct sched *s, const struct sched_resource *list, size_t n)
{
    int r = 0;

    hres_done(s);
    s->hres = calloc(n + 1, sizeof(*s->hres));
    if (!s->hres)
        r = -ENOMEM;
    for (size_t i = 0; r == 0 && i < n; i++)
        r = add_resource(s, &list[i]);
    if (r < 0)
        hres_done(s);
    /* What was found out about nodes for jobs that ask for resources holds no more. */
    s->config_gen++;
    s->up_gen++;
    s->lic_grow++;
    s->run_gen++;
    for (uint32_t i = 0; i < s->nparts; i++)
        s->parts[i]->grow++;
    planlog_other(s);
    s->change++;
    return r;
}
