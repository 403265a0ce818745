/* toposhow.c - topologies as records; see toposhow.h */
#include "feed/toposhow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/must.h"
#include "base/pb/pbutil.h"
#include "feed/topoyaml.h"

struct showing {
    const struct topologies *all;
    const struct topo *t;
    const struct topo_spec *spec;
    Pst__TopologyReply *reply;
    size_t room;
};

static Pst__TopologyUnit *add_unit(struct showing *w, const char *name)
{
    Pst__TopologyUnit *u = must(malloc(sizeof(*u)));

    if (w->reply->n_units == w->room) {
        w->room = w->room ? 2 * w->room : 16;
        w->reply->units = must(reallocarray(w->reply->units, w->room, sizeof(*w->reply->units)));
    }
    pst__topology_unit__init(u);
    u->name = must(strdup(name));
    return w->reply->units[w->reply->n_units++] = u;
}

static char *fold_names(const char *const *names, size_t n)
{
    char *text;

    if (hostlist_fold_names(names, n, &text) < 0)
        must(NULL);
    return text;
}

/* Nodes of a set in the order of their ids; NULL: none. */
static char *fold_set(const struct showing *w, const struct bitmap *bm)
{
    const char **names = must(calloc(bitmap_count(bm) + 1, sizeof(*names)));
    size_t n = 0;
    char *text = NULL;

    BITMAP_FOREACH (bm, i) {
        if (topologies_node(w->all, i))
            names[n++] = topologies_node(w->all, i);
    }
    if (n)
        text = fold_names(names, n);
    free(names);
    return text;
}

static struct bitmap *empty_set(const struct showing *w)
{
    struct bitmap *bm;

    if (bitmap_new(topo_node_limit(w->t), &bm) < 0)
        must(NULL);
    return bm;
}

static void add_nodes(struct bitmap *bm, const struct topo_unit_spec *u)
{
    for (size_t i = 0; i < u->nnodes; i++)
        if (u->nodes[i] != TOPO_NONE)
            bitmap_set(bm, u->nodes[i]);
}

/* ---- trees ----------------------------------------------------------------------------------- */

static void add_below(const struct showing *w, uint32_t unit, struct bitmap *bm, bool *seen)
{
    const struct topo_unit_spec *u = &w->spec->units[unit];

    if (seen[unit])
        return;
    seen[unit] = true;
    add_nodes(bm, u);
    for (size_t i = 0; i < u->nchildren; i++)
        add_below(w, u->children[i], bm, seen);
}

/* The switches below; those that a node brought stand behind the others, each by itself. */
static char *child_names(const struct showing *w, const struct topo_unit_spec *u)
{
    const char **names = must(calloc(u->nchildren + 1, sizeof(*names)));
    size_t of_file = topologies_source(w->all, w->t)->units, n = 0;
    struct strbuf sb = STRBUF_INIT;
    char *text = NULL;

    while (n < u->nchildren && u->children[n] < of_file) {
        names[n] = w->spec->units[u->children[n]].name;
        n++;
    }
    if (n) {
        text = fold_names(names, n);
        strbuf_add(&sb, text);
        free(text);
        text = NULL;
    }
    for (; n < u->nchildren; n++)
        strbuf_addf(&sb, "%s%s", sb.len ? "," : "", w->spec->units[u->children[n]].name);
    if (u->nchildren && strbuf_detach(&sb, &text) < 0)
        must(NULL);
    free(names);
    return text;
}

static void show_tree(struct showing *w)
{
    bool *seen = must(calloc(w->spec->nunits + 1, sizeof(*seen)));

    for (uint32_t i = 0; i < w->spec->nunits; i++) {
        const struct topo_unit_spec *s = &w->spec->units[i];
        Pst__TopologyUnit *u = add_unit(w, s->name);
        struct bitmap *bm = empty_set(w);

        memset(seen, 0, w->spec->nunits * sizeof(*seen));
        add_below(w, i, bm, seen);
        u->nodes = fold_set(w, bm);
        u->children = child_names(w, s);
        u->has_level = u->has_link_speed = true;
        u->level = topo_level(w->t, i);
        u->link_speed = s->link_speed;
        bitmap_free(bm);
    }
    free(seen);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

struct group {       /* an aggregated block */
    size_t first, n; /* base blocks */
    size_t level;    /* index of its size */
    uint32_t index;  /* as it is shown */
};

/* The base blocks that a group of this size has which begins at `first`. */
static size_t group_length(const struct topo_spec *spec, size_t level, size_t first)
{
    size_t times = spec->block_sizes[level] / spec->block_sizes[0];

    return MIN(times, spec->nunits - first);
}

/* Sizes up to the first that takes in all blocks. */
static size_t used_levels(const struct topo_spec *spec)
{
    size_t n = 0;

    while (n < spec->nblock_sizes) {
        size_t times = spec->block_sizes[n++] / spec->block_sizes[0];

        if (times >= spec->nunits)
            break;
    }
    return n;
}

/* Groups are numbered from block to block and at each by size; one at the end that is no larger
 * than that of the size before is none. */
static size_t find_groups(const struct topo_spec *spec, struct group *groups)
{
    size_t levels = used_levels(spec), n = 0;

    for (size_t first = 0; first < spec->nunits; first++) {
        size_t before = 1;

        for (size_t k = 1; k < levels; k++) {
            size_t times = spec->block_sizes[k] / spec->block_sizes[0];
            size_t len = group_length(spec, k, first);

            if (first % times)
                continue;
            if (len > before) {
                groups[n] = (struct group){ .first = first, .n = len, .level = k };
                groups[n].index = (uint32_t)(spec->nunits + n);
                n++;
            }
            before = len;
        }
    }
    return n;
}

static void show_group(struct showing *w, const struct group *g)
{
    const char **names = must(calloc(g->n + 1, sizeof(*names)));
    struct bitmap *bm = empty_set(w);
    Pst__TopologyUnit *u;
    char *name;

    for (size_t i = 0; i < g->n; i++) {
        names[i] = w->spec->units[g->first + i].name;
        add_nodes(bm, &w->spec->units[g->first + i]);
    }
    name = fold_names(names, g->n);
    u = add_unit(w, name);
    u->nodes = fold_set(w, bm);
    u->has_index = u->has_size = u->has_aggregated = u->aggregated = true;
    u->index = g->index;
    u->size = w->spec->block_sizes[g->level];
    free(name);
    free(names);
    bitmap_free(bm);
}

static void show_blocks(struct showing *w)
{
    const struct topo_spec *spec = w->spec;
    struct group *groups = must(calloc(spec->nunits * spec->nblock_sizes + 1, sizeof(*groups)));
    size_t n = find_groups(spec, groups);

    for (uint32_t i = 0; i < spec->nunits; i++) {
        Pst__TopologyUnit *u = add_unit(w, spec->units[i].name);
        struct bitmap *bm = empty_set(w);

        add_nodes(bm, &spec->units[i]);
        u->nodes = fold_set(w, bm);
        u->has_index = u->has_size = true;
        u->index = i;
        u->size = spec->block_sizes[0];
        bitmap_free(bm);
    }
    for (size_t k = 1; k < spec->nblock_sizes; k++)
        for (size_t i = 0; i < n; i++)
            if (groups[i].level == k)
                show_group(w, &groups[i]);
    free(groups);
}

/* ---- rings, toruses -------------------------------------------------------------------------- */

static void show_rings(struct showing *w)
{
    for (size_t i = 0; i < w->spec->nunits; i++) {
        const struct topo_unit_spec *s = &w->spec->units[i];
        Pst__TopologyUnit *u = add_unit(w, s->name);
        const char **names = must(calloc(s->nnodes + 1, sizeof(*names)));
        size_t n = 0;

        for (size_t k = 0; k < s->nnodes; k++)
            if (topologies_node(w->all, s->nodes[k]))
                names[n++] = topologies_node(w->all, s->nodes[k]);
        if (n)
            u->nodes = fold_names(names, n);
        u->has_size = true;
        u->size = (uint32_t)s->nnodes;
        free(names);
    }
}

static uint32_t *copy_dims(const uint32_t dims[3])
{
    uint32_t *copy = must(calloc(3, sizeof(*copy)));

    memcpy(copy, dims, 3 * sizeof(*copy));
    return copy;
}

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
    while (b) {
        uint32_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* Along each axis anchors follow each other by the spacing until the first comes again. */
static uint32_t count_anchors(const uint32_t dims[3], const struct topo_placement_spec *p)
{
    uint32_t n = 1;

    for (unsigned i = 0; i < 3; i++)
        n *= dims[i] / common_divisor(dims[i], p->spacing[i]);
    return n;
}

static void show_placements(const struct showing *w, uint32_t unit, Pst__TopologyUnit *u)
{
    const struct topo_spec *spec = w->spec;

    u->placements = must(calloc(spec->nplacements + 1, sizeof(*u->placements)));
    for (size_t i = 0; i < spec->nplacements; i++) {
        const struct topo_placement_spec *s = &spec->placements[i];
        Pst__TopologyPlacement *p;

        if (s->unit != unit)
            continue;
        p = must(malloc(sizeof(*p)));
        pst__topology_placement__init(p);
        p->dims = copy_dims(s->dims);
        p->n_dims = 3;
        p->has_anchors = true;
        p->anchors = count_anchors(spec->units[unit].dims, s);
        u->placements[u->n_placements++] = p;
    }
}

static void show_toruses(struct showing *w)
{
    for (uint32_t i = 0; i < w->spec->nunits; i++) {
        const struct topo_unit_spec *s = &w->spec->units[i];
        Pst__TopologyUnit *u = add_unit(w, s->name);
        struct bitmap *bm = empty_set(w);

        add_nodes(bm, s);
        u->nodes = fold_set(w, bm);
        u->dims = copy_dims(s->dims);
        u->n_dims = 3;
        show_placements(w, i, u);
        bitmap_free(bm);
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static const struct {
    const char *word;
    void (*show)(struct showing *w);
} kinds[] = {
    [TOPO_FLAT] = { "flat", NULL },           [TOPO_TREE] = { "tree", show_tree },
    [TOPO_BLOCK] = { "block", show_blocks },  [TOPO_RING] = { "ring", show_rings },
    [TOPO_TORUS] = { "torus", show_toruses },
};

int toposhow_reply(const struct topologies *t, const char *name, Pst__TopologyReply **ret)
{
    struct showing w = { .all = t, .t = topologies_named(t, name) };
    struct strbuf yaml = STRBUF_INIT;
    Pst__TopologyReply *r;

    if (!w.t)
        return -ENOENT;
    r = w.reply = must(malloc(sizeof(*r)));
    pst__topology_reply__init(r);
    w.spec = topo_get_spec(w.t);
    r->name = must(strdup(w.spec->name));
    r->kind = must(strdup(kinds[w.spec->kind].word));
    if (kinds[w.spec->kind].show)
        kinds[w.spec->kind].show(&w);
    r->topologies = must(calloc(topologies_count(t) + 1, sizeof(*r->topologies)));
    for (size_t i = 0; i < topologies_count(t); i++)
        r->topologies[r->n_topologies++] = must(strdup(topo_get_spec(topologies_nth(t, i))->name));
    topoyaml_write(t, &yaml);
    if (strbuf_detach(&yaml, &r->yaml) < 0)
        must(NULL);
    *ret = r;
    return 0;
}
