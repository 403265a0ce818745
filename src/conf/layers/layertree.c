/* layertree.c - see layertree.h
 *
 * The layers of a resource of mode 3 are a tree.  They are looked at by falling size: all nodes of
 * a layer must lie in the same layer so far, the smallest that contains them, which is the parent.
 * That costs one look at each node of each layer. */
#include "conf/layers/layertree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/hostlist.h"
#include "conf/layers/resources.h"

/* ---- a table of node names ------------------------------------------------------------------- */

struct owner { /* which layer a node lies in */
    const char *node;
    uint32_t layer;
};
struct owners {
    struct owner *slots; /* open addressing */
    size_t mask;
};

static int make_owners(const struct resource *res, struct owners *ret)
{
    size_t nodes = 0, size = 16;

    for (size_t i = 0; i < res->nlayers; i++)
        nodes += hostlist_count(res->layers[i].names);
    while (size < nodes * 2)
        size *= 2;
    ret->slots = calloc(size, sizeof(*ret->slots));
    ret->mask = size - 1;
    return ret->slots ? 0 : -ENOMEM;
}

static struct owner *owner_of(const struct owners *o, const char *node)
{
    uint64_t h = fnv_text(node);
    size_t i = (h ^ h >> 29) & o->mask;

    while (o->slots[i].node && strcmp(o->slots[i].node, node) != 0)
        i = (i + 1) & o->mask;
    return &o->slots[i];
}

/* ---- checks ---------------------------------------------------------------------------------- */

struct place { /* of a layer in the file */
    const struct resource_layer *layer;
};

static int by_nodes(const void *a, const void *b)
{
    const struct resource_layer *x = ((const struct place *)a)->layer,
                                *y = ((const struct place *)b)->layer;
    int r = strcmp(x->nodes, y->nodes);

    return r ? r : (x->line > y->line) - (x->line < y->line);
}

static int refuse_twins(const struct resource *res, struct err *err)
{
    struct place *sorted = calloc(res->nlayers, sizeof(*sorted));
    int r = 0;

    if (!sorted)
        return -ENOMEM;
    for (size_t i = 0; i < res->nlayers; i++)
        sorted[i].layer = &res->layers[i];
    qsort(sorted, res->nlayers, sizeof(*sorted), by_nodes);
    for (size_t i = 1; r == 0 && i < res->nlayers; i++)
        if (strcmp(sorted[i].layer->nodes, sorted[i - 1].layer->nodes) == 0)
            r = err_set(err, -EINVAL,
                        "line %u: the layer %.64s of %s has the nodes of the layer in line %u",
                        sorted[i].layer->line, sorted[i].layer->nodes, res->name,
                        sorted[i - 1].layer->line);
    free(sorted);
    return r;
}

static int compute_totals(struct resource *res, struct err *err)
{
    for (size_t i = 0; i < res->nlayers; i++) { /* mode 3: leaves first */
        struct resource_layer *l = &res->layers[i];

        if (l->parent != RESOURCES_NO_LAYER)
            res->layers[l->parent].base += l->base;
    }
    for (size_t i = 0; i < res->nlayers; i++) {
        struct resource_layer *l = &res->layers[i];

        l->total = l->count;
        if (l->count == RESOURCES_INFINITE)
            continue;
        if (l->base > l->count)
            return err_set(err, -EINVAL,
                           "line %u: the base values of the layer %.64s of %s%s sum up to %llu, "
                           "more than its count of %u",
                           l->line, l->nodes, res->name,
                           res->mode == 3 ? ", with those of the layers below," : "",
                           (unsigned long long)l->base, l->count);
        l->total = (uint32_t)(l->count - l->base);
    }
    return 0;
}

/* ---- the tree of mode 3 ---------------------------------------------------------------------- */

struct branch {
    uint32_t layer, parent; /* by place in the file; RESOURCES_NO_LAYER */
    size_t nodes;
    uint32_t depth;  /* the root has 0 */
    uint32_t height; /* a leaf has 0 */
};

static int by_size(const void *a, const void *b)
{
    const struct branch *x = a, *y = b;

    if (x->nodes != y->nodes)
        return x->nodes > y->nodes ? -1 : 1;
    return (x->layer > y->layer) - (x->layer < y->layer);
}

/* Leaves first, then by level; those of one level as in the file. */
static int by_height(const void *a, const void *b)
{
    const struct branch *x = a, *y = b;

    if (x->height != y->height)
        return x->height < y->height ? -1 : 1;
    return (x->layer > y->layer) - (x->layer < y->layer);
}

static int find_parent(const struct resource *res, const struct owners *o, struct branch *b,
                       bool first, struct err *err)
{
    const struct resource_layer *l = &res->layers[b->layer];

    for (size_t i = 0; i < b->nodes; i++) {
        const char *node = hostlist_nth(l->names, i);
        struct owner *own = owner_of(o, node);
        uint32_t in = own->node ? own->layer : RESOURCES_NO_LAYER;

        if (!first && in == RESOURCES_NO_LAYER)
            return err_set(err, -EINVAL,
                           "line %u: node %.64s of the layer %.64s of %s is not in the largest "
                           "layer: MODE_3 needs one layer that contains all others",
                           l->line, node, l->nodes, res->name);
        if (i && in != b->parent)
            return err_set(err, -EINVAL,
                           "line %u: the layer %.64s of %s lies partly in another: in MODE_3 of "
                           "two layers one contains the other or they have no node in common",
                           l->line, l->nodes, res->name);
        b->parent = in;
    }
    for (size_t i = 0; i < b->nodes; i++) {
        struct owner *own = owner_of(o, hostlist_nth(l->names, i));

        *own = (struct owner){ .node = hostlist_nth(l->names, i), .layer = b->layer };
    }
    return 0;
}

/* tree: by falling size.  of: place in tree by place in the file. */
static int measure_tree(const struct resource *res, struct branch *tree, uint32_t *of,
                        struct err *err)
{
    uint32_t depth = UINT32_MAX;

    for (uint32_t i = 0; i < res->nlayers; i++) { /* parents before children */
        of[tree[i].layer] = i;
        if (tree[i].parent != RESOURCES_NO_LAYER)
            tree[i].depth = tree[of[tree[i].parent]].depth + 1;
        if (tree[i].depth >= RESOURCES_MAX_LEVELS)
            return err_set(err, -EINVAL, "line %u: the layers of %s have more than %u levels",
                           res->layers[tree[i].layer].line, res->name, RESOURCES_MAX_LEVELS);
    }
    for (uint32_t i = (uint32_t)res->nlayers; i-- > 0;) {
        const struct resource_layer *l = &res->layers[tree[i].layer];

        if (tree[i].parent != RESOURCES_NO_LAYER) {
            struct branch *up = &tree[of[tree[i].parent]];

            up->height = tree[i].height + 1;
        }
        if (tree[i].height)
            continue;
        if (depth != UINT32_MAX && depth != tree[i].depth)
            return err_set(err, -EINVAL,
                           "line %u: the leaf %.64s of %s is %s than others: in MODE_3 all leaves "
                           "have the same depth",
                           l->line, l->nodes, res->name,
                           tree[i].depth > depth ? "deeper" : "less deep");
        depth = tree[i].depth;
    }
    return 0;
}

/* Bring the layers into the order of tree. */
static int reorder_layers(struct resource *res, struct branch *tree, uint32_t *of)
{
    struct resource_layer *sorted = calloc(res->nlayers, sizeof(*sorted));

    if (!sorted)
        return -ENOMEM;
    qsort(tree, res->nlayers, sizeof(*tree), by_height);
    for (uint32_t i = 0; i < res->nlayers; i++)
        of[tree[i].layer] = i;
    for (uint32_t i = 0; i < res->nlayers; i++) {
        sorted[i] = res->layers[tree[i].layer];
        sorted[i].parent =
            tree[i].parent == RESOURCES_NO_LAYER ? RESOURCES_NO_LAYER : of[tree[i].parent];
    }
    memcpy(res->layers, sorted, res->nlayers * sizeof(*sorted));
    free(sorted);
    return 0;
}

static int make_tree(struct resource *res, struct err *err)
{
    _cleanup_free_ struct branch *tree = calloc(res->nlayers, sizeof(*tree));
    _cleanup_free_ uint32_t *of = calloc(res->nlayers, sizeof(*of));
    struct owners o = { 0 };
    int r = tree && of ? make_owners(res, &o) : -ENOMEM;

    for (uint32_t i = 0; r == 0 && i < res->nlayers; i++)
        tree[i] = (struct branch){ .layer = i,
                                   .parent = RESOURCES_NO_LAYER,
                                   .nodes = hostlist_count(res->layers[i].names) };
    if (r == 0)
        qsort(tree, res->nlayers, sizeof(*tree), by_size);
    for (uint32_t i = 0; r == 0 && i < res->nlayers; i++)
        r = find_parent(res, &o, &tree[i], i == 0, err);
    free(o.slots);
    if (r == 0)
        r = measure_tree(res, tree, of, err);
    return r == 0 ? reorder_layers(res, tree, of) : r;
}

int layertree_settle(struct resource *res, struct err *err)
{
    int r = refuse_twins(res, err);

    if (r == 0 && res->mode == 3)
        r = make_tree(res, err);
    return r == 0 ? compute_totals(res, err) : r;
}
