/* nodefeatures.c - which nodes have a feature; see nodefeatures.h */
#include "ctld/job/nodefeatures.h"

#include "base/cleanup.h"
#include "base/wordlist.h"
#include "sched/base/constraint.h"
#include "wire/errors.h"

const struct bitmap *nodes_with_feature(void *arg, const char *name, size_t len)
{
    struct node_features *f = arg;

    bitmap_zero(f->set);
    for (uint32_t i = 0; i < f->cluster->nnodes; i++) {
        const struct node *n = f->cluster->nodes[i];

        if (n &&
            wordlist_has_n(n->rec->active_features ? n->rec->active_features : n->rec->features,
                           name, len))
            bitmap_set(f->set, i);
    }
    f->unknown = f->unknown || bitmap_empty(f->set);
    return f->set;
}

int nodes_keep_features(const struct cluster *c, const char *expr, struct bitmap *nodes)
{
    _cleanup_(constraint_free) struct constraint *f = NULL;
    _cleanup_(bitmap_free) struct bitmap *set = NULL, *kept = NULL, *one = NULL;
    struct node_features ask = { .cluster = c };

    if (constraint_parse(expr, &f, NULL) < 0)
        return ESLURM_INVALID_FEATURE;
    if (bitmap_new(nodes->nbits, &set) < 0 || bitmap_new(nodes->nbits, &kept) < 0 ||
        bitmap_new(nodes->nbits, &one) < 0)
        return SLURM_ERROR;
    ask.set = set;
    for (uint32_t alt = 0; alt < constraint_alts(f); alt++) {
        bitmap_copy(one, nodes);
        if (constraint_mask(f, alt, nodes_with_feature, &ask, one) < 0)
            return SLURM_ERROR;
        bitmap_or(kept, one);
    }
    bitmap_copy(nodes, kept);
    return ask.unknown ? ESLURM_INVALID_FEATURE : 0;
}

size_t nodes_script_position(const struct cluster *c, const char *batch_features,
                             const Pst__Alloc *alloc)
{
    _cleanup_(bitmap_free) struct bitmap *nodes = NULL;

    if (!batch_features || !*batch_features || bitmap_new(MAX(c->nnodes, 1u), &nodes) < 0)
        return 0;
    for (size_t i = 0; i < alloc->n_node_ids; i++)
        if (alloc->node_ids[i] < c->nnodes)
            bitmap_set(nodes, alloc->node_ids[i]);
    if (nodes_keep_features(c, batch_features, nodes) != 0)
        return 0;
    for (size_t i = 0; i < alloc->n_node_ids; i++)
        if (alloc->node_ids[i] < c->nnodes && bitmap_test(nodes, alloc->node_ids[i]))
            return i;
    return 0;
}
