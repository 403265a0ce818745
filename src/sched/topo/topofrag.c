/* topofrag.c - see topofrag.h
 *
 * For each configured level, each aggregate counts its base blocks that cannot be had: a node that
 * changes touches one counter a level. */
#include "sched/topo/topofrag.h"

#include <stdlib.h>

struct level {
    uint32_t power, size; /* of the aggregates: 2^power base blocks, so many nodes */
    uint32_t *bad;        /* by aggregate: base blocks that cannot be had */
};

struct topofrag {
    const struct topo *topo;
    size_t nunits;         /* 0: no block topology */
    uint32_t base;         /* planned size of a base block */
    uint32_t *free, *busy; /* by unit: nodes */
    bool *taken;           /* by node */
    struct level levels[TOPO_BLOCK_POWERS];
    size_t nlevels;
    uint64_t score;
};

struct topofrag *topofrag_free(struct topofrag *f)
{
    for (size_t i = 0; f && i < f->nlevels; i++)
        free(f->levels[i].bad);
    if (f) {
        free(f->free);
        free(f->busy);
        free(f->taken);
    }
    free(f);
    return NULL;
}

/* Base blocks that may or may not be had: count them in every complete aggregate. */
static void count_unit(struct topofrag *f, uint32_t unit, bool bad)
{
    f->score = bad ? f->score + f->base : f->score - f->base;
    for (size_t i = 0; i < f->nlevels; i++) {
        struct level *l = &f->levels[i];
        uint32_t at = unit >> l->power, *count = &l->bad[at];

        if (((uint64_t)at + 1) << l->power > f->nunits)
            continue;
        if (bad && (*count)++ == 0)
            f->score += l->size;
        else if (!bad && --(*count) == 0)
            f->score -= l->size;
    }
}

static int add_levels(struct topofrag *f, const struct topo_spec *spec)
{
    for (size_t i = 0; i < spec->nblock_sizes; i++) {
        uint32_t power = 0;

        while (power < TOPO_BLOCK_POWERS && (uint64_t)f->base << power < spec->block_sizes[i])
            power++;
        if (!power || power == TOPO_BLOCK_POWERS || f->nlevels == TOPO_BLOCK_POWERS)
            continue; /* the base blocks themselves */
        f->levels[f->nlevels] = (struct level){
            .power = power,
            .size = spec->block_sizes[i],
            .bad = calloc((f->nunits >> power) + 1, sizeof(uint32_t)),
        };
        if (!f->levels[f->nlevels++].bad)
            return -ENOMEM;
    }
    return 0;
}

int topofrag_new(const struct topo *t, struct topofrag **ret_frag)
{
    _cleanup_(topofrag_free) struct topofrag *f = calloc(1, sizeof(*f));
    const struct topo_spec *spec = topo_get_spec(t);

    if (!f)
        return -ENOMEM;
    f->topo = t;
    f->nunits = spec->kind == TOPO_BLOCK ? spec->nunits : 0;
    f->base = f->nunits ? spec->block_sizes[0] : 0;
    f->free = calloc(f->nunits + 1, sizeof(*f->free));
    f->busy = calloc(f->nunits + 1, sizeof(*f->busy));
    f->taken = calloc((size_t)topo_node_limit(t) + 1, sizeof(*f->taken));
    if (!f->free || !f->busy || !f->taken || (f->nunits && add_levels(f, spec) < 0))
        return -ENOMEM;
    for (uint32_t i = 0; i < f->nunits; i++) {
        f->free[i] = (uint32_t)spec->units[i].nnodes;
        if (f->free[i] < f->base)
            count_unit(f, i, true);
    }
    *ret_frag = TAKE_PTR(f);
    return 0;
}

void topofrag_set(struct topofrag *f, uint32_t node, bool is_free)
{
    uint32_t unit =
        f->nunits && node < topo_node_limit(f->topo) ? topo_unit_of(f->topo, node) : TOPO_NONE;
    bool before;

    if (unit == TOPO_NONE || f->taken[node] == !is_free)
        return;
    before = f->free[unit] >= f->base;
    f->taken[node] = !is_free;
    f->free[unit] = is_free ? f->free[unit] + 1 : f->free[unit] - 1;
    f->busy[unit] = is_free ? f->busy[unit] - 1 : f->busy[unit] + 1;
    f->score = is_free ? f->score - 1 : f->score + 1;
    if (before != (f->free[unit] >= f->base))
        count_unit(f, unit, before);
}

uint64_t topofrag_score(const struct topofrag *f)
{
    return f->score;
}

uint32_t topofrag_of_unit(const struct topofrag *f, uint32_t unit)
{
    return unit < f->nunits ? f->busy[unit] + (f->free[unit] < f->base ? f->base : 0) : 0;
}

uint32_t topofrag_free_nodes(const struct topofrag *f, uint32_t unit)
{
    return unit < f->nunits ? f->free[unit] : 0;
}
