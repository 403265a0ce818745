/* toposet.c - topologies with nodes by their ids; see toposet.h */
#include "feed/toposet_impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/must.h"

static void *make_room(void *items, size_t n, size_t *cap, size_t size)
{
    if (n < *cap)
        return items;
    *cap = *cap ? 2 * *cap : 8;
    return must(reallocarray(items, *cap, size));
}

struct set_unit *toposet_add_unit(struct set_topo *t, const char *name, size_t len)
{
    t->units = make_room(t->units, t->nunits, &t->units_cap, sizeof(*t->units));
    t->units[t->nunits] = (struct set_unit){ .name = must(strndup(name, len)) };
    return &t->units[t->nunits++];
}

void toposet_add_node(struct set_unit *u, uint32_t node, size_t at)
{
    u->nodes = make_room(u->nodes, u->nnodes, &u->nodes_cap, sizeof(*u->nodes));
    memmove(u->nodes + at + 1, u->nodes + at, (u->nnodes - at) * sizeof(*u->nodes));
    u->nodes[at] = node;
    u->nnodes++;
}

void toposet_sort_in(struct set_unit *u, uint32_t node)
{
    size_t lo = 0, hi = u->nnodes;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (u->nodes[mid] < node)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == u->nnodes || u->nodes[lo] != node)
        toposet_add_node(u, node, lo);
}

void toposet_add_child(struct set_unit *u, uint32_t child)
{
    u->children = make_room(u->children, u->nchildren, &u->children_cap, sizeof(*u->children));
    u->children[u->nchildren++] = child;
}

/* ---- from the files -------------------------------------------------------------------------- */

static enum topo_kind kind_of(enum conf_topo_kind kind)
{
    static const enum topo_kind kinds[] = {
        [CONF_TOPO_FLAT] = TOPO_FLAT,   [CONF_TOPO_TREE] = TOPO_TREE,
        [CONF_TOPO_BLOCK] = TOPO_BLOCK, [CONF_TOPO_RING_KIND] = TOPO_RING,
        [CONF_TOPO_TORUS] = TOPO_TORUS,
    };

    return kinds[kind];
}

static unsigned flags_of(const struct conf_topo *from, const struct conf *conf)
{
    unsigned flags = from->alpha_rank ? TOPO_ALPHA_RANK : 0;

    if (from->kind != CONF_TOPO_TREE)
        return flags;
    if (conf_option(conf, CONF_TOPOLOGY_PARAM, "Dragonfly", NULL, NULL))
        flags |= TOPO_DRAGONFLY;
    if (conf_option(conf, CONF_TOPOLOGY_PARAM, "TopoOptional", NULL, NULL))
        flags |= TOPO_OPTIONAL;
    return flags;
}

static void copy_unit(struct set_topo *to, const struct conf_topo_unit *from, toposet_id_fn *id_of,
                      void *arg)
{
    struct set_unit *u = toposet_add_unit(to, from->name, strlen(from->name));

    u->link_speed = from->link_speed;
    memcpy(u->dims, from->dims, sizeof(u->dims));
    for (size_t i = 0; i < from->nnodes; i++) {
        uint32_t id = from->nodes[i] ? id_of(arg, from->nodes[i]) : TOPO_NONE;

        if (to->kind == TOPO_TORUS || (to->kind == TOPO_RING && id != TOPO_NONE))
            toposet_add_node(u, id, u->nnodes); /* the place says where */
        else if (id != TOPO_NONE)
            toposet_sort_in(u, id);
    }
    for (size_t i = 0; i < from->nchildren; i++)
        toposet_add_child(u, from->children[i]);
}

static void copy_places(struct set_topo *to, const struct conf_topo *from)
{
    size_t n = 0;

    for (size_t i = 0; i < from->nunits; i++)
        n += from->units[i].nplaces;
    to->places = must(calloc(n + 1, sizeof(*to->places)));
    for (size_t i = 0; i < from->nunits; i++)
        for (size_t k = 0; k < from->units[i].nplaces; k++) {
            const struct conf_topo_place *p = &from->units[i].places[k];
            struct topo_placement_spec *s = &to->places[to->nplaces++];

            s->unit = (uint32_t)i;
            memcpy(s->dims, p->dims, sizeof(s->dims));
            memcpy(s->seed, p->seed, sizeof(s->seed));
            memcpy(s->spacing, p->spacing, sizeof(s->spacing));
        }
}

static void copy_topo(struct set_topo *to, const struct conf_topo *from, const struct conf *conf,
                      toposet_id_fn *id_of, void *arg)
{
    to->name = must(strdup(from->name));
    to->kind = kind_of(from->kind);
    to->flags = flags_of(from, conf);
    for (size_t i = 0; i < from->nunits; i++)
        copy_unit(to, &from->units[i], id_of, arg);
    to->sizes = must(calloc(from->nblock_sizes + 1, sizeof(*to->sizes)));
    to->nsizes = from->nblock_sizes;
    if (from->nblock_sizes)
        memcpy(to->sizes, from->block_sizes, from->nblock_sizes * sizeof(*to->sizes));
    to->file_units = to->nunits;
    copy_places(to, from);
}

struct toposet *toposet_new(const struct conf_topos *files, const struct conf *conf,
                            toposet_id_fn *id_of, void *arg)
{
    struct toposet *ts = must(calloc(1, sizeof(*ts)));

    ts->n = conf_topos_count(files);
    ts->topos = must(calloc(ts->n + 1, sizeof(*ts->topos)));
    ts->specs = must(calloc(ts->n + 1, sizeof(*ts->specs)));
    for (size_t i = 0; i < ts->n; i++)
        copy_topo(&ts->topos[i], conf_topos_nth(files, i), conf, id_of, arg);
    return ts;
}

struct toposet *toposet_free(struct toposet *ts)
{
    for (size_t i = 0; ts && i < ts->n; i++) {
        struct set_topo *t = &ts->topos[i];

        for (size_t k = 0; k < t->nunits; k++) {
            free(t->units[k].name);
            free(t->units[k].nodes);
            free(t->units[k].children);
        }
        free(t->units);
        free(t->name);
        free(t->sizes);
        free(t->places);
        free(t->views);
    }
    if (ts) {
        free(ts->topos);
        free(ts->specs);
    }
    free(ts);
    return NULL;
}

/* ---- descriptions ---------------------------------------------------------------------------- */

static struct topo_spec spec_of(struct set_topo *t)
{
    free(t->views);
    t->views = must(calloc(t->nunits + 1, sizeof(*t->views)));
    for (size_t i = 0; i < t->nunits; i++) {
        const struct set_unit *u = &t->units[i];

        t->views[i] = (struct topo_unit_spec){ .name = u->name,
                                               .nodes = u->nodes,
                                               .nnodes = u->nnodes,
                                               .children = u->children,
                                               .nchildren = u->nchildren,
                                               .link_speed = u->link_speed,
                                               .dims = { u->dims[0], u->dims[1], u->dims[2] } };
    }
    return (struct topo_spec){ .name = t->name,
                               .kind = t->kind,
                               .flags = t->flags,
                               .units = t->views,
                               .nunits = t->nunits,
                               .block_sizes = t->sizes,
                               .nblock_sizes = t->nsizes,
                               .placements = t->places,
                               .nplacements = t->nplaces };
}

size_t toposet_file_units(const struct toposet *ts, size_t i)
{
    return ts->topos[i].file_units;
}

size_t toposet_specs(struct toposet *ts, const struct topo_spec **ret_specs)
{
    for (size_t i = 0; i < ts->n; i++)
        ts->specs[i] = spec_of(&ts->topos[i]);
    *ret_specs = ts->specs;
    return ts->n;
}
