/* resourcefeed.c - see resourcefeed.h */
#include "feed/resourcefeed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/must.h"
#include "feed/feedmem.h"
#include "model/cluster.h"

struct feed_resources {
    struct sched_resource *list;
    size_t n;
};

void feed_resources_free(struct feed_resources *all)
{
    for (size_t i = 0; all && i < all->n; i++) {
        struct sched_resource *r = &all->list[i];

        for (size_t k = 0; k < r->nlayers; k++) {
            free((char *)r->layers[k].name);
            free((uint32_t *)r->layers[k].node_ids);
        }
        for (size_t k = 0; k < r->nvariables; k++)
            free((char *)r->variables[k].name);
        free((struct sched_layer *)r->layers);
        free((struct sched_variable *)r->variables);
        free((char *)r->name);
        free((char *)r->topology);
    }
    if (all)
        free(all->list);
    free(all);
}

static struct sched_layer make_layer(const struct cluster *c, const struct resource *r,
                                     const struct resource_layer *l)
{
    uint32_t *ids = must(calloc(hostlist_count(l->names) + 1, sizeof(*ids)));
    char *name = NULL;
    size_t n = 0;

    if (asprintf(&name, "%s(%s)", r->name, l->nodes) < 0)
        must(NULL);
    for (size_t i = 0; i < hostlist_count(l->names); i++) {
        const struct node *node = cluster_node_named(c, hostlist_nth(l->names, i));

        if (node)
            ids[n++] = node->rec->node_id;
    }
    return (struct sched_layer){
        .name = name,
        .node_ids = ids,
        .nnodes = n,
        .total = l->total == RESOURCES_INFINITE ? UINT64_MAX : l->total,
        .parent = l->parent == RESOURCES_NO_LAYER ? SCHED_UNLIMITED : l->parent,
    };
}

static struct sched_resource make_resource(const struct cluster *c, const struct resource *r)
{
    struct sched_layer *layers = must(calloc(r->nlayers + 1, sizeof(*layers)));
    struct sched_variable *vars = must(calloc(r->nvariables + 1, sizeof(*vars)));

    for (size_t i = 0; i < r->nlayers; i++)
        layers[i] = make_layer(c, r, &r->layers[i]);
    for (size_t i = 0; i < r->nvariables; i++)
        vars[i] =
            (struct sched_variable){ must(strdup(r->variables[i].name)), r->variables[i].value };
    return (struct sched_resource){
        .name = must(strdup(r->name)),
        .mode = r->mode,
        .topology = r->topology ? must(strdup(r->topology)) : NULL,
        .layers = layers,
        .nlayers = r->nlayers,
        .variables = vars,
        .nvariables = r->nvariables,
    };
}

struct feed *feed_of_resources(const struct cluster *c, const struct resources *all)
{
    struct feed *f = feed_new(FEED_RESOURCES);

    f->resources = must(calloc(1, sizeof(*f->resources)));
    f->resources->list = must(calloc((all ? all->n : 0) + 1, sizeof(*f->resources->list)));
    for (size_t i = 0; all && i < all->n; i++)
        f->resources->list[f->resources->n++] = make_resource(c, &all->list[i]);
    return f;
}

int feed_apply_resources(struct sched *s, const struct feed_resources *all)
{
    return sched_resources_put(s, all->list, all->n);
}
