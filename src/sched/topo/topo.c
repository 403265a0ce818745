/* topo.c - a network topology, copied and checked.
 *
 * Node arrays of all units stand in one array, those of children in another; each unit of the
 * copied description points into them. */
#include "sched/topo/topo.h"

#include <stdlib.h>
#include <string.h>

#include "sched/topo/topobits.h"

struct topo {
    struct topo_spec spec;
    struct topo_unit_spec *units;
    uint32_t *nodes, *children, *sizes; /* what the units and spec point into */
    struct topo_placement_spec *placements;
    char *names;
    uint32_t *level, *parent;     /* by unit */
    uint32_t *unit_of, *position; /* by node */
    uint32_t node_limit;
    struct topo_bits *bits;
};

struct topo *topo_free(struct topo *t)
{
    if (!t)
        return NULL;
    free(t->units);
    free(t->nodes);
    free(t->children);
    free(t->sizes);
    free(t->placements);
    free(t->names);
    free(t->level);
    free(t->parent);
    free(t->unit_of);
    free(t->position);
    topo_bits_free(t->bits);
    free(t);
    return NULL;
}

/* ---- copy ------------------------------------------------------------------------------------ */

struct totals {
    size_t nodes, children, names;
    uint32_t limit;
};

static struct totals count_parts(const struct topo_spec *spec)
{
    struct totals n = { .names = strlen(spec->name) + 1 };

    for (size_t i = 0; i < spec->nunits; i++) {
        const struct topo_unit_spec *u = &spec->units[i];

        n.nodes += u->nnodes;
        n.children += u->nchildren;
        n.names += strlen(u->name) + 1;
        for (size_t k = 0; k < u->nnodes; k++)
            if (u->nodes[k] != TOPO_NONE && u->nodes[k] >= n.limit)
                n.limit = u->nodes[k] + 1;
    }
    return n;
}

/* Memory for all parts.  calloc() of nothing may give NULL: one more of each. */
static int allocate_parts(struct topo *t, const struct topo_spec *spec, const struct totals *n)
{
    t->units = calloc(spec->nunits + 1, sizeof(*t->units));
    t->nodes = calloc(n->nodes + 1, sizeof(*t->nodes));
    t->children = calloc(n->children + 1, sizeof(*t->children));
    t->sizes = calloc(spec->nblock_sizes + TOPO_BLOCK_POWERS, sizeof(*t->sizes));
    t->placements = calloc(spec->nplacements + 1, sizeof(*t->placements));
    t->names = calloc(n->names, 1);
    t->level = calloc(spec->nunits + 1, sizeof(*t->level));
    t->parent = calloc(spec->nunits + 1, sizeof(*t->parent));
    t->unit_of = calloc((size_t)n->limit + 1, sizeof(*t->unit_of));
    t->position = calloc((size_t)n->limit + 1, sizeof(*t->position));
    return t->units && t->nodes && t->children && t->sizes && t->placements && t->names &&
                   t->level && t->parent && t->unit_of && t->position
               ? 0
               : -ENOMEM;
}

static const char *copy_name(char **at, const char *name)
{
    size_t len = strlen(name) + 1;
    char *copy = memcpy(*at, name, len);

    *at += len;
    return copy;
}

static const uint32_t *copy_ids(uint32_t **at, const uint32_t *ids, size_t n)
{
    uint32_t *copy = *at;

    if (n)
        memcpy(copy, ids, n * sizeof(*ids));
    *at += n;
    return copy;
}

static void copy_parts(struct topo *t, const struct topo_spec *spec)
{
    uint32_t *nodes = t->nodes, *children = t->children, *sizes = t->sizes;
    char *names = t->names;

    t->spec = *spec;
    t->spec.name = copy_name(&names, spec->name);
    for (size_t i = 0; i < spec->nunits; i++) {
        struct topo_unit_spec *u = &t->units[i];

        *u = spec->units[i];
        u->name = copy_name(&names, u->name);
        u->nodes = copy_ids(&nodes, u->nodes, u->nnodes);
        u->children = copy_ids(&children, u->children, u->nchildren);
    }
    t->spec.units = t->units;
    t->spec.block_sizes = copy_ids(&sizes, spec->block_sizes, spec->nblock_sizes);
    if (spec->nplacements)
        memcpy(t->placements, spec->placements, spec->nplacements * sizeof(*t->placements));
    t->spec.placements = t->placements;
}

/* The first unit that has a node keeps it. */
static void index_nodes(struct topo *t)
{
    memset(t->unit_of, 0xff, t->node_limit * sizeof(*t->unit_of));
    memset(t->position, 0xff, t->node_limit * sizeof(*t->position));
    for (uint32_t i = 0; i < t->spec.nunits; i++) {
        const struct topo_unit_spec *u = &t->units[i];

        for (uint32_t k = 0; k < u->nnodes; k++) {
            uint32_t node = u->nodes[k];

            if (node == TOPO_NONE || t->unit_of[node] != TOPO_NONE)
                continue;
            t->unit_of[node] = i;
            t->position[node] = k;
        }
    }
}

/* ---- checks ---------------------------------------------------------------------------------- */

static int link_children(struct topo *t, struct err *err)
{
    for (uint32_t i = 0; i < t->spec.nunits; i++) {
        const struct topo_unit_spec *u = &t->units[i];

        if (u->nnodes && u->nchildren)
            return err_set(err, -EINVAL, "switch %s has both nodes and switches", u->name);
        for (uint32_t k = 0; k < u->nchildren; k++) {
            uint32_t child = u->children[k];

            if (child >= t->spec.nunits || child == i)
                return err_set(err, -EINVAL, "switch %s has a child that is no other switch",
                               u->name);
            if (t->parent[child] == TOPO_NONE)
                t->parent[child] = i;
        }
    }
    return 0;
}

/* Levels rise until nothing changes; a loop never ends, so it is found by its height. */
static int find_levels(struct topo *t, struct err *err)
{
    bool changed = true;

    memset(t->parent, 0xff, t->spec.nunits * sizeof(*t->parent));
    if (link_children(t, err) < 0)
        return -EINVAL;
    while (changed) {
        changed = false;
        for (uint32_t i = 0; i < t->spec.nunits; i++) {
            const struct topo_unit_spec *u = &t->units[i];
            uint32_t level = 0;

            for (uint32_t k = 0; k < u->nchildren; k++)
                if (t->level[u->children[k]] >= level)
                    level = t->level[u->children[k]] + 1;
            if (level >= TOPO_LEVELS_MAX)
                return err_set(err, -EINVAL,
                               "switch %s is part of a loop, or above more than %u levels", u->name,
                               TOPO_LEVELS_MAX);
            changed |= level != t->level[i];
            t->level[i] = level;
        }
    }
    return 0;
}

static int check_block_sizes(const struct topo *t, struct err *err)
{
    for (size_t i = 0; i < t->spec.nblock_sizes; i++) {
        uint64_t base = t->sizes[0], size = t->sizes[i];
        uint32_t k = 0;

        while (k < TOPO_BLOCK_POWERS && base << k != size)
            k++;
        if (!base || k == TOPO_BLOCK_POWERS)
            return err_set(err, -EINVAL, "block size %u is not %u x 2^k", t->sizes[i], t->sizes[0]);
    }
    return 0;
}

/* No sizes: the first block that has nodes gives the base, and up to 16 of them form a level. */
static void derive_block_sizes(struct topo *t)
{
    uint32_t base = 1;

    if (t->spec.nblock_sizes)
        return;
    for (size_t i = 0; i < t->spec.nunits; i++) {
        if (t->units[i].nnodes) {
            base = (uint32_t)t->units[i].nnodes;
            break;
        }
    }
    for (uint32_t k = 0; k < 5; k++)
        t->sizes[t->spec.nblock_sizes++] = base << k;
}

static int check_units(const struct topo *t, struct err *err)
{
    for (size_t i = 0; i < t->spec.nunits; i++) {
        const struct topo_unit_spec *u = &t->units[i];
        uint64_t volume = (uint64_t)u->dims[0] * u->dims[1] * u->dims[2];

        if (t->spec.kind == TOPO_RING && u->nnodes > TOPO_RING_MAX)
            return err_set(err, -EINVAL, "ring %s has %zu nodes, more than %u", u->name, u->nnodes,
                           TOPO_RING_MAX);
        if (t->spec.kind == TOPO_TORUS && volume != u->nnodes)
            return err_set(err, -EINVAL, "torus %s has %zu places, its dimensions make %ju",
                           u->name, u->nnodes, (uintmax_t)volume);
    }
    for (size_t i = 0; i < t->spec.nplacements; i++)
        if (t->placements[i].unit >= t->spec.nunits)
            return err_set(err, -EINVAL, "a placement is of no torus");
    return 0;
}

static int check_topo(struct topo *t, struct err *err)
{
    int r = check_units(t, err);

    if (r == 0 && t->spec.kind == TOPO_TREE)
        r = find_levels(t, err);
    if (r == 0 && t->spec.kind == TOPO_BLOCK) {
        r = check_block_sizes(t, err);
        derive_block_sizes(t);
    }
    return r;
}

int topo_new(const struct topo_spec *spec, struct topo **ret_topo, struct err *err)
{
    struct totals n = count_parts(spec);
    _cleanup_(topo_free) struct topo *t = calloc(1, sizeof(*t));
    int r;

    if (spec->nunits > TOPO_UNITS_MAX)
        return err_set(err, -EINVAL, "a topology has at most %u units", TOPO_UNITS_MAX);
    if (!t || allocate_parts(t, spec, &n) < 0)
        return err_nomem(err);
    t->node_limit = n.limit;
    copy_parts(t, spec);
    r = check_topo(t, err);
    if (r < 0)
        return r;
    index_nodes(t);
    if (topo_bits_new(&t->spec, t->unit_of, t->node_limit, &t->bits) < 0)
        return err_nomem(err);
    *ret_topo = TAKE_PTR(t);
    return 0;
}

/* ---- questions ------------------------------------------------------------------------------- */

const struct topo_spec *topo_get_spec(const struct topo *t)
{
    return &t->spec;
}

uint32_t topo_unit_of(const struct topo *t, uint32_t node)
{
    return node < t->node_limit ? t->unit_of[node] : TOPO_NONE;
}

uint32_t topo_position_of(const struct topo *t, uint32_t node)
{
    return node < t->node_limit ? t->position[node] : TOPO_NONE;
}

uint32_t topo_level(const struct topo *t, uint32_t unit)
{
    return t->spec.kind == TOPO_TREE && unit < t->spec.nunits ? t->level[unit] : 0;
}

uint32_t topo_parent(const struct topo *t, uint32_t unit)
{
    return t->spec.kind == TOPO_TREE && unit < t->spec.nunits ? t->parent[unit] : TOPO_NONE;
}

const struct topo_bits *topo_get_bits(const struct topo *t)
{
    return t->bits;
}

uint32_t topo_node_limit(const struct topo *t)
{
    return t->node_limit;
}
