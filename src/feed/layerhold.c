/* layerhold.c - see layerhold.h */
#include "feed/layerhold.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/gres/licensetext.h"
#include "base/must.h"
#include "conf/layers/resources.h"
#include "feed/licensefeed.h"

struct holding {
    const struct cluster *c;
    struct bitmap *nodes; /* of the job */
    const char *before;
    struct sched_lic_req *list;
    size_t n;
    char **names; /* of layers, owned */
    size_t nnames;
};

static void add_item(struct holding *h, struct sched_lic_req item)
{
    h->list = must(realloc(h->list, (h->n + 1) * sizeof(*h->list)));
    h->list[h->n++] = item;
}

static char *layer_name(struct holding *h, const struct resource *r, const struct resource_layer *l)
{
    char *name = NULL;

    if (asprintf(&name, "%s(%s)", r->name, l->nodes) < 0)
        must(NULL);
    h->names = must(realloc(h->names, (h->nnames + 1) * sizeof(*h->names)));
    h->names[h->nnames++] = name;
    return name;
}

static uint64_t nodes_in(const struct holding *h, const struct resource_layer *l)
{
    uint64_t n = 0;

    for (size_t i = 0; i < hostlist_count(l->names); i++) {
        const struct node *node = cluster_node_named(h->c, hostlist_nth(l->names, i));

        n += node && node->rec->node_id < h->nodes->nbits &&
             bitmap_test(h->nodes, node->rec->node_id);
    }
    return n;
}

static bool held_before(const struct holding *h, const char *name)
{
    const char *p = h->before;
    struct license_text l;

    while (p && license_text_next(&p, &l))
        if (strlen(name) == l.full_len && strncmp(l.name, name, l.full_len) == 0)
            return true;
    return false;
}

/* Mode 1: a layer that the job has had, else the first with a node of it. */
static void hold_one(struct holding *h, const struct resource *r, uint64_t count)
{
    char *name = NULL;

    for (size_t i = 0; i < r->nlayers; i++) {
        char *own;

        if (!nodes_in(h, &r->layers[i]))
            continue;
        own = layer_name(h, r, &r->layers[i]);
        if (held_before(h, own)) {
            name = own;
            break;
        }
        name = name ? name : own;
    }
    if (name)
        add_item(h,
                 (struct sched_lic_req){ .name = name, .count = count, .mode = 1, .layer = true });
}

static void hold_each(struct holding *h, const struct resource *r, uint64_t count)
{
    for (size_t i = 0; i < r->nlayers; i++) {
        uint64_t n = nodes_in(h, &r->layers[i]);
        bool each = r->mode == 3 && r->nlayers > 1;

        if (n)
            add_item(h, (struct sched_lic_req){ .name = layer_name(h, r, &r->layers[i]),
                                                .count = each ? n * count : count,
                                                .mode = r->mode,
                                                .layer = true });
    }
}

static void hold_item(struct holding *h, const struct resources *all, struct sched_lic_req *item)
{
    size_t len = strcspn(item->name, "(");
    const struct resource *r = resources_find(all, item->name, len);
    uint32_t value = 0;

    if (!r) {
        add_item(h, (struct sched_lic_req){ .name = item->name, .count = item->count });
        return;
    }
    if (item->variable)
        item->count =
            resource_variable(r, item->variable, strlen(item->variable), &value) ? value : 0;
    if (!item->count)
        return;
    add_item(h, (struct sched_lic_req){ .name = r->name, .count = item->count, .mode = r->mode });
    if (r->mode == 1)
        hold_one(h, r, item->count);
    else
        hold_each(h, r, item->count);
}

void layers_held(const struct cluster *c, const struct resources *res, const char *request,
                 bool all, const Pst__Alloc *alloc, const char *before, char **ret_alloc,
                 char **ret_layers)
{
    _cleanup_free_ char *copy = request ? must(strdup(request)) : NULL;
    _cleanup_(bitmap_free) struct bitmap *nodes = NULL;
    struct holding h = { .c = c, .before = before };
    struct license_list list;

    *ret_alloc = *ret_layers = NULL;
    if (!copy || !licenses_parse(copy, &list))
        return;
    if (bitmap_new(c->nnodes, &nodes) < 0)
        must(NULL);
    h.nodes = nodes;
    for (size_t i = 0; alloc && i < alloc->n_node_ids; i++)
        if (alloc->node_ids[i] < nodes->nbits)
            bitmap_set(nodes, alloc->node_ids[i]);
    for (size_t i = 0; i < (list.any && list.n && !all ? 1 : list.n); i++)
        hold_item(&h, res, &list.items[i]);
    licenses_texts(h.list, h.n, list.any && all, ret_alloc, ret_layers);
    for (size_t i = 0; i < h.nnames; i++)
        free(h.names[i]);
    free(h.names);
    free(h.list);
    free(list.items);
}
