/* conf_topocheck.c - what a line of a topology does not show alone; see conf_topocheck.h */
#include "conf/topo/conf_topocheck.h"
#include "base/compare/order.h"
#include "conf/topo/conf_topobuild.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *unit, *units;
} words[] = {
    [CONF_TOPO_FLAT] = { "unit", "units" },     [CONF_TOPO_TREE] = { "switch", "switches" },
    [CONF_TOPO_BLOCK] = { "block", "blocks" },  [CONF_TOPO_RING_KIND] = { "ring", "rings" },
    [CONF_TOPO_TORUS] = { "torus", "toruses" },
};

/* Units in the order of their names, equal ones in that of the file. */
static int compare_units(const void *a, const void *b)
{
    const struct conf_topo_unit *x = *(const struct conf_topo_unit *const *)a,
                                *y = *(const struct conf_topo_unit *const *)b;
    int d = strcmp(x->name, y->name);

    return d ? d : (x > y) - (x < y);
}

static const struct conf_topo_unit **sort_units(struct topo_loader *tl, const struct conf_topo *t)
{
    const struct conf_topo_unit **sorted = conf_topo_alloc(tl, t->nunits, sizeof(*sorted));

    for (size_t i = 0; sorted && i < t->nunits; i++)
        sorted[i] = &t->units[i];
    if (sorted)
        qsort(sorted, t->nunits, sizeof(*sorted), compare_units);
    return sorted;
}

static uint32_t find_unit(const struct conf_topo *t, const struct conf_topo_unit **sorted,
                          const char *name)
{
    size_t lo = 0, hi = t->nunits;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int d = strcmp(name, sorted[mid]->name);

        if (d == 0)
            return (uint32_t)(sorted[mid] - t->units);
        if (d < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return UINT32_MAX;
}

static void check_names(struct topo_loader *tl, const struct conf_topo *t,
                        const struct conf_topo_unit **sorted)
{
    for (size_t i = 1; i < t->nunits; i++)
        if (strcmp(sorted[i - 1]->name, sorted[i]->name) == 0)
            conf_error(&tl->l, tl->file, sorted[i]->line, "%s %s is defined already in line %u",
                       words[t->kind].unit, sorted[i]->name, sorted[i - 1]->line);
}

/* ---- trees ----------------------------------------------------------------------------------- */

/* The name of a switch that is like this one, for a message; NULL: none is. */
static const char *near_name(const struct conf_topo *t, const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < t->nunits; i++) {
        const char *other = t->units[i].name;
        size_t k = 0;

        while (other[k] && other[k] == name[k])
            k++;
        /* one letter more, less or different, behind an equal beginning */
        if (k + 1 >= len && strlen(other) <= len + 1 && strlen(other) + 1 >= len && k > 0)
            return other;
    }
    return NULL;
}

static void unknown_child(struct topo_loader *tl, const struct conf_topo *t,
                          const struct conf_topo_unit *u, const char *name)
{
    const char *near = near_name(t, name);

    conf_error(&tl->l, tl->file, u->line, "switch %s: there is no switch %.64s%s%s%s", u->name,
               name, near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static void resolve_children(struct topo_loader *tl, const struct conf_topo *t,
                             const struct conf_topo_unit **sorted, struct conf_topo_unit *u,
                             const char *list)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    struct err err = { .text = "" };
    size_t n;

    if (hostlist_parse_most(list, CONF_TOPO_UNITS, &hl, &err) < 0) {
        conf_error(&tl->l, tl->file, u->line, "switch %s: Switches: %.200s", u->name, err.text);
        return;
    }
    n = hostlist_count(hl);
    if (n > CONF_TOPO_CELLS - tl->cells) {
        conf_error(&tl->l, tl->file, u->line, "more than %u switches are listed in all",
                   CONF_TOPO_CELLS);
        return;
    }
    tl->cells += n;
    u->children = conf_topo_alloc(tl, n, sizeof(*u->children));
    for (size_t i = 0; u->children && i < n; i++) {
        const char *name = hostlist_nth(hl, i);
        uint32_t at = find_unit(t, sorted, name);

        if (at == UINT32_MAX)
            unknown_child(tl, t, u, name);
        else if (&t->units[at] == u)
            conf_error(&tl->l, tl->file, u->line, "switch %s has itself below it", name);
        else
            u->children[u->nchildren++] = at;
    }
}

/* Levels from unit u downwards; -1: too many of them, or a loop. */
static int level_of(const struct conf_topo *t, uint32_t u, int8_t *known, unsigned depth)
{
    int level = 0;

    if (known[u] >= 0)
        return known[u];
    if (depth >= CONF_TOPO_LEVELS)
        return -1;
    for (size_t i = 0; i < t->units[u].nchildren; i++) {
        int below = level_of(t, t->units[u].children[i], known, depth + 1);

        if (below < 0)
            return -1;
        level = MAX(level, below + 1);
    }
    if ((unsigned)level >= CONF_TOPO_LEVELS)
        return -1;
    known[u] = (int8_t)level;
    return level;
}

/* Reports the first switch from which there is no end: the others have the same reason. */
static void check_levels(struct topo_loader *tl, const struct conf_topo *t)
{
    int8_t *known = conf_topo_alloc(tl, t->nunits, sizeof(*known));

    if (!known)
        return;
    memset(known, -1, t->nunits);
    for (uint32_t u = 0; u < t->nunits; u++)
        if (level_of(t, u, known, 0) < 0) {
            conf_error(&tl->l, tl->file, t->units[u].line,
                       "the switches form no tree: below %s there is a loop, or more than %u "
                       "levels",
                       t->units[u].name, CONF_TOPO_LEVELS);
            return;
        }
}

/* ---- block sizes ----------------------------------------------------------------------------- */

static void check_sizes(struct topo_loader *tl, struct conf_topo *t)
{
    uint32_t base = t->nblock_sizes ? t->block_sizes[0] : 0;
    size_t n = 0;

    for (size_t i = 0; i < t->nblock_sizes; i++) {
        uint32_t times = base ? t->block_sizes[i] / base : 0;

        if (!times || t->block_sizes[i] % base || (times & (times - 1)) ||
            times >= 1u << CONF_TOPO_POWERS) {
            conf_error(&tl->l, tl->file, t->line,
                       "Invalid BlockSizes value: %u is not %u times 1, 2, 4, ... 2^%u",
                       t->block_sizes[i], base, CONF_TOPO_POWERS - 1);
            return;
        }
    }
    if (t->nblock_sizes)
        qsort(t->block_sizes, t->nblock_sizes, sizeof(*t->block_sizes), order_u32);
    for (size_t i = 0; i < t->nblock_sizes; i++)
        if (n == 0 || t->block_sizes[n - 1] != t->block_sizes[i])
            t->block_sizes[n++] = t->block_sizes[i];
    t->nblock_sizes = n;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

enum { UNKNOWN_SHOWN = 3 };

struct tally {
    size_t unknown; /* names that slurm.conf does not have */
    char names[3 * 66 + 1];
    bool *seen; /* by the order of slurm.conf */
    size_t nseen;
    bool twice; /* reported already */
};

static void note_unknown(struct tally *y, const char *name)
{
    if (y->unknown++ < UNKNOWN_SHOWN) {
        size_t at = strlen(y->names);

        (void)snprintf(y->names + at, sizeof(y->names) - at, "%s%.63s", at ? ", " : "", name);
    }
}

static void count_node(struct topo_loader *tl, const struct conf_topo *t,
                       const struct conf_topo_unit *u, const char *name, struct tally *y)
{
    uint32_t at = conf_node_index(tl->conf, name);

    if (at == UINT32_MAX) {
        note_unknown(y, name);
        return;
    }
    if (!y->seen[at]) {
        y->seen[at] = true;
        y->nseen++;
        return;
    }
    if (t->kind == CONF_TOPO_TORUS)
        conf_error(&tl->l, tl->file, u->line, "node %s is at two places of toruses", name);
    else if (!y->twice)
        conf_warn(&tl->l, tl->file, u->line, "node %s is in more than one %s", name,
                  words[t->kind].unit);
    y->twice = true;
}

static void check_nodes(struct topo_loader *tl, const struct conf_topo *t)
{
    struct tally y = { .seen = conf_topo_alloc(tl, conf_nodes(tl->conf), sizeof(bool)) };

    if (!y.seen)
        return;
    for (size_t i = 0; i < t->nunits; i++)
        for (size_t k = 0; k < t->units[i].nnodes; k++)
            if (t->units[i].nodes[k])
                count_node(tl, t, &t->units[i], t->units[i].nodes[k], &y);
    if (y.unknown)
        conf_warn(&tl->l, tl->file, t->line, "%zu nodes of topology %s are not in slurm.conf: %s%s",
                  y.unknown, t->name, y.names, y.unknown > UNKNOWN_SHOWN ? ", ..." : "");
    if (y.nseen < conf_nodes(tl->conf))
        conf_warn(&tl->l, tl->file, t->line, "topology %s: %s lack access to %zu nodes", t->name,
                  words[t->kind].units, conf_nodes(tl->conf) - y.nseen);
}

/* Is there a switch from which every switch can be reached?  Only then can a job have any nodes. */
static void check_roots(struct topo_loader *tl, const struct conf_topo *t)
{
    bool *below = conf_topo_alloc(tl, t->nunits, sizeof(*below));
    size_t roots = 0;

    if (!below)
        return;
    for (size_t i = 0; i < t->nunits; i++)
        for (size_t k = 0; k < t->units[i].nchildren; k++)
            below[t->units[i].children[k]] = true;
    for (size_t i = 0; i < t->nunits; i++)
        roots += !below[i];
    if (roots > 1)
        conf_warn(&tl->l, tl->file, t->line,
                  "topology %s has %zu switches that no other joins: no job spans them", t->name,
                  roots);
}

void conf_topocheck(struct topo_loader *tl, struct conf_topo *t, const char *const *names)
{
    const struct conf_topo_unit **sorted;

    if (t->kind == CONF_TOPO_FLAT)
        return;
    if (!t->nunits) {
        conf_error(&tl->l, tl->file, t->line, "topology %s has no %s", t->name,
                   words[t->kind].unit);
        return;
    }
    sorted = sort_units(tl, t);
    if (!sorted)
        return;
    check_names(tl, t, sorted);
    for (size_t i = 0; names && i < t->nunits; i++)
        if (names[i])
            resolve_children(tl, t, sorted, &t->units[i], names[i]);
    if (tl->no_memory)
        return;
    if (t->kind == CONF_TOPO_TREE)
        check_levels(tl, t);
    if (t->kind == CONF_TOPO_BLOCK)
        check_sizes(tl, t);
    for (size_t i = 0; t->kind == CONF_TOPO_RING_KIND && i < t->nunits; i++)
        if (t->units[i].nnodes > CONF_TOPO_RING)
            conf_error(&tl->l, tl->file, t->units[i].line, "ring %s has %zu nodes, more than %u",
                       t->units[i].name, t->units[i].nnodes, CONF_TOPO_RING);
    if (!tl->l.nerrors && t->kind == CONF_TOPO_TREE)
        check_roots(tl, t);
    check_nodes(tl, t);
}
