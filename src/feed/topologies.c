/* topologies.c - the topologies at one time; see topologies.h */
#include "feed/topologies.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hostlist.h"

enum { UNITS_LISTED = 65536 }; /* that one function may name */

struct topologies {
    atomic_uint refs;
    bool yaml;
    size_t n;
    struct topo **topos;
    struct topo_source *sources;
    char **names; /* of nodes, by id */
    size_t nnames;
};

static int copy_names(struct topologies *t, const char *const *names, size_t n)
{
    t->names = calloc(n + 1, sizeof(*t->names));
    if (!t->names)
        return -ENOMEM;
    for (; t->nnames < n; t->nnames++) {
        if (!names[t->nnames])
            continue;
        t->names[t->nnames] = strdup(names[t->nnames]);
        if (!t->names[t->nnames])
            return -ENOMEM;
    }
    return 0;
}

int topologies_new(const struct topo_spec *specs, size_t n, const struct topo_source *sources,
                   bool yaml, const char *const *names, size_t nnames, struct topologies **ret,
                   struct err *err)
{
    _cleanup_(topologies_unref) struct topologies *t = calloc(1, sizeof(*t));

    if (!t)
        return err_nomem(err);
    atomic_init(&t->refs, 1);
    t->yaml = yaml;
    t->topos = calloc(n + 1, sizeof(struct topo *));
    t->sources = calloc(n + 1, sizeof(*t->sources));
    if (!t->topos || !t->sources || copy_names(t, names, nnames) < 0)
        return err_nomem(err);
    for (; t->n < n; t->n++) {
        int r = topo_new(&specs[t->n], &t->topos[t->n], err);

        if (r < 0) {
            err_prefix(err, "topology %s", specs[t->n].name);
            return r;
        }
        t->sources[t->n] = sources[t->n];
    }
    *ret = TAKE_PTR(t);
    return 0;
}

struct topologies *topologies_ref(struct topologies *t)
{
    if (t)
        atomic_fetch_add(&t->refs, 1);
    return t;
}

struct topologies *topologies_unref(struct topologies *t)
{
    if (!t || atomic_fetch_sub(&t->refs, 1) != 1)
        return NULL;
    for (size_t i = 0; t->topos && i < t->n; i++)
        topo_free(t->topos[i]);
    free(t->topos);
    for (size_t i = 0; i < t->nnames; i++)
        free(t->names[i]);
    free(t->names);
    free(t->sources);
    free(t);
    return NULL;
}

size_t topologies_count(const struct topologies *t)
{
    return t ? t->n : 0;
}

const struct topo *topologies_nth(const struct topologies *t, size_t i)
{
    return t && i < t->n ? t->topos[i] : NULL;
}

const struct topo *topologies_named(const struct topologies *t, const char *name)
{
    if (!name || !*name)
        return topologies_nth(t, 0);
    for (size_t i = 0; t && i < t->n; i++)
        if (strcmp(topo_get_spec(t->topos[i])->name, name) == 0)
            return t->topos[i];
    return NULL;
}

const char *topologies_node(const struct topologies *t, uint32_t node)
{
    return t && node < t->nnames ? t->names[node] : NULL;
}

bool topologies_yaml(const struct topologies *t)
{
    return t && t->yaml;
}

const struct topo_source *topologies_source(const struct topologies *t, const struct topo *topo)
{
    size_t i = 0;

    while (t->topos[i] != topo) /* one of ours */
        i++;
    return &t->sources[i];
}

/* ---- addresses ------------------------------------------------------------------------------- */

/* Of each level from the top down the switch above the node; nothing where none is. */
static void add_switches(const struct topo *t, uint32_t unit, struct strbuf *address,
                         struct strbuf *pattern)
{
    const struct topo_spec *spec = topo_get_spec(t);
    const char *names[TOPO_LEVELS_MAX] = { NULL };
    uint32_t top = 0;

    for (uint32_t i = 0; i < spec->nunits; i++)
        top = MAX(top, topo_level(t, i));
    for (; unit != TOPO_NONE; unit = topo_parent(t, unit))
        names[topo_level(t, unit)] = spec->units[unit].name;
    for (uint32_t i = top + 1; i-- > 0;) {
        strbuf_addf(address, "%s.", names[i] ? names[i] : "");
        strbuf_add(pattern, "switch.");
    }
}

static void add_cell(const struct topo_unit_spec *u, uint32_t at, struct strbuf *address,
                     struct strbuf *pattern)
{
    strbuf_addf(address, "%s:%u:%u:%u.", u->name, at % u->dims[0], at / u->dims[0] % u->dims[1],
                at / u->dims[0] / u->dims[1]);
    strbuf_add(pattern, "torus:x:y:z.");
}

void topologies_address(const struct topologies *t, uint32_t node, struct strbuf *address,
                        struct strbuf *pattern)
{
    const struct topo *topo = topologies_nth(t, 0);
    const struct topo_spec *spec = topo ? topo_get_spec(topo) : NULL;
    uint32_t unit = topo ? topo_unit_of(topo, node) : TOPO_NONE;
    const struct topo_unit_spec *u = unit == TOPO_NONE ? NULL : &spec->units[unit];

    if (spec && spec->kind == TOPO_TREE) {
        add_switches(topo, unit, address, pattern);
    } else if (u && spec->kind == TOPO_BLOCK) {
        strbuf_addf(address, "%s.", u->name);
        strbuf_add(pattern, "block.");
    } else if (u && spec->kind == TOPO_RING) {
        strbuf_addf(address, "%s:%u.", u->name, topo_position_of(topo, node));
        strbuf_add(pattern, "ring:position.");
    } else if (u && spec->kind == TOPO_TORUS) {
        add_cell(u, topo_position_of(topo, node), address, pattern);
    }
    strbuf_add(address, topologies_node(t, node) ? topologies_node(t, node) : "");
    strbuf_add(pattern, "node");
}

/* ---- functions of host lists ----------------------------------------------------------------- */

bool topologies_function(const char *name, size_t len, bool *ret_with)
{
    static const char *const kinds[] = { "block", "switch", "ring", "torus" };

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        size_t n = strlen(kinds[i]);

        if (len < n || strncasecmp(name, kinds[i], n) != 0)
            continue;
        *ret_with = len == n + 4 && strncasecmp(name + n, "with", 4) == 0;
        if (len == n || *ret_with)
            return true;
    }
    return false;
}

/* Nodes of a unit and of the switches below it; seen: units that are in already. */
static void add_unit(const struct topo *t, uint32_t unit, struct bitmap *seen, struct bitmap *bm)
{
    const struct topo_unit_spec *u = &topo_get_spec(t)->units[unit];

    if (bitmap_test(seen, unit))
        return;
    bitmap_set(seen, unit);
    for (size_t i = 0; i < u->nnodes; i++)
        if (u->nodes[i] < bm->nbits)
            bitmap_set(bm, u->nodes[i]);
    for (size_t i = 0; i < u->nchildren; i++)
        add_unit(t, u->children[i], seen, bm);
}

static uint32_t find_unit(const struct topo_spec *spec, const char *name)
{
    for (uint32_t i = 0; i < spec->nunits; i++)
        if (strcmp(spec->units[i].name, name) == 0)
            return i;
    return TOPO_NONE;
}

static int expand_units(const struct topo *t, const struct hostlist *names, struct bitmap *bm)
{
    const struct topo_spec *spec = topo_get_spec(t);
    _cleanup_(bitmap_free) struct bitmap *seen = NULL, *found = NULL;
    int r = bitmap_new((uint32_t)spec->nunits, &seen);

    if (r == 0)
        r = bitmap_new(bm->nbits, &found);
    for (size_t i = 0; r == 0 && i < hostlist_count(names); i++) {
        uint32_t unit = find_unit(spec, hostlist_nth(names, i));

        if (unit == TOPO_NONE)
            return -ENOENT;
        add_unit(t, unit, seen, found);
    }
    if (r == 0)
        bitmap_or(bm, found);
    return r;
}

static int expand_with(const struct topo *t, const uint32_t *nodes, size_t n, struct bitmap *bm)
{
    _cleanup_(bitmap_free) struct bitmap *seen = NULL, *found = NULL;
    int r = bitmap_new((uint32_t)topo_get_spec(t)->nunits, &seen);

    if (r == 0)
        r = bitmap_new(bm->nbits, &found);
    for (size_t i = 0; r == 0 && i < n; i++) {
        uint32_t unit = topo_unit_of(t, nodes[i]);

        if (unit == TOPO_NONE)
            return -ENOENT;
        add_unit(t, unit, seen, found);
    }
    if (r == 0)
        bitmap_or(bm, found);
    return r;
}

int topologies_expand(const struct topologies *t, const char *function, size_t len,
                      const char *unit, const uint32_t *nodes, size_t nnodes, struct bitmap *bm)
{
    _cleanup_(hostlist_free) struct hostlist *names = NULL;
    bool with;
    int r = -ENOENT;

    if (!topologies_function(function, len, &with))
        return -EINVAL;
    if (!with && hostlist_parse_most(unit, UNITS_LISTED, &names, NULL) < 0)
        return -ENOENT;
    for (size_t i = 0; t && r == -ENOENT && i < t->n; i++) {
        if (topo_get_spec(t->topos[i])->kind != TOPO_FLAT)
            r = with ? expand_with(t->topos[i], nodes, nnodes, bm)
                     : expand_units(t->topos[i], names, bm);
    }
    return r;
}
