/* graphfinish.c - from what readers put together to a canonical graph; see graphfinish.h
 *
 * In steps, each over the whole graph: which nodes count, which switches have some below, what is
 * cut off at the top, then the order, then names. */
#include "topograph/graphfinish.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GONE (UINT32_MAX - 1) /* of a parent or a leaf: the element is left out */

/* ---- which nodes ----------------------------------------------------------------------------- */

static int add_missing(struct graph *g, const struct graph_wanted *w, struct err *err)
{
    size_t described = g->nnodes, missing = 0;
    bool tree = g->nswitches > 0;
    uint32_t node, sw = GRAPH_NONE;
    int r = 0;

    for (size_t i = 0; r == 0 && i < w->n; i++) {
        r = graph_add_node(g, w->id[i], w->name[i], &node, err);
        if (r < 0 || !tree || g->nodes[node].leaf != GRAPH_NONE)
            continue;
        r = graph_add_switch(g, GRAPH_NO_TOPOLOGY, NULL, &sw, err);
        if (r == 0)
            r = graph_attach(g, node, sw, err);
        missing++;
    }
    if (r == 0 && missing)
        graph_note(g, "%zu of %zu nodes have no place in the fabric: they are under %s", missing,
                   w->n, GRAPH_NO_TOPOLOGY);
    else if (r == 0 && g->nnodes > described)
        graph_note(g, "%zu of %zu nodes are not described", g->nnodes - described, w->n);
    return r;
}

static int check_host(const char *name, struct err *err)
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

    if (name[strspn(name, good)])
        return err_set(err, -EINVAL,
                       "node %.64s: names of nodes are letters, digits, dots, - and _", name);
    return 0;
}

/* Names of all nodes that stay, each once. */
static int name_nodes(struct graph *g, const struct graph_wanted *w, struct err *err)
{
    struct graphindex names = { 0 };
    int r = 0;

    for (size_t i = 0; r == 0 && i < g->nnodes; i++) {
        struct graph_node *n = &g->nodes[i];

        if (w) {
            n->name = graph_wanted_name(w, n->id);
            if (!n->name) {
                n->leaf = GONE;
                continue;
            }
            n->name = graphpool_add(&g->pool, n->name, strlen(n->name));
            if (!n->name)
                r = err_nomem(err);
        } else if (!n->name) {
            n->name = n->id;
        }
        if (r == 0)
            r = check_host(n->name, err);
        if (r == 0 && graphindex_find(&names, n->name) != GRAPH_NONE)
            r = err_set(err, -EINVAL, "two instances are node %.64s: %.64s and %.64s", n->name,
                        g->nodes[graphindex_find(&names, n->name)].id, n->id);
        if (r == 0 && graphindex_put(&names, n->name, (uint32_t)i) < 0)
            r = err_nomem(err);
    }
    graphindex_done(&names);
    return r;
}

/* ---- which switches -------------------------------------------------------------------------- */

/* A switch counts when a node is below it.  Climbing stops where somebody climbed before. */
static int keep_switches(struct graph *g, struct err *err)
{
    _cleanup_free_ bool *used = calloc(g->nswitches + 1, sizeof(*used));

    if (!used)
        return err_nomem(err);
    for (size_t i = 0; i < g->nswitches; i++) { /* circles first: climbing would not end */
        uint32_t at = (uint32_t)i;

        for (unsigned tiers = 0; at != GRAPH_NONE; at = g->switches[at].parent)
            if (++tiers > GRAPH_TIERS_MAX)
                return err_set(err, -EINVAL,
                               "switch %.64s: the switches above it form a circle, or more than %u "
                               "tiers",
                               g->switches[i].id, GRAPH_TIERS_MAX);
    }
    for (size_t i = 0; i < g->nnodes; i++)
        for (uint32_t at = g->nodes[i].leaf; at < GONE && !used[at]; at = g->switches[at].parent)
            used[at] = true;
    for (size_t i = 0; i < g->nswitches; i++)
        if (!used[i])
            g->switches[i].parent = GONE;
    return 0;
}

/* A switch of a topology has nodes or switches below: nodes beside switches get one of their own.
 */
static int part_mixed(struct graph *g, struct err *err)
{
    size_t n = g->nswitches;
    _cleanup_free_ uint32_t *leaf_of = calloc(n + 1, sizeof(*leaf_of));
    int r = 0;

    if (!leaf_of)
        return err_nomem(err);
    for (size_t i = 0; i < n; i++)
        if (g->switches[i].parent < GONE)
            leaf_of[g->switches[i].parent] = GRAPH_NONE; /* it has switches below */
    for (size_t i = 0; r == 0 && i < g->nnodes; i++) {
        uint32_t at = g->nodes[i].leaf;
        char id[GRAPH_NAME_MAX + 16];

        if (at >= GONE || !leaf_of[at])
            continue;
        if (leaf_of[at] == GRAPH_NONE) {
            (void)snprintf(id, sizeof(id), "%.240s.nodes", g->switches[at].id); /* cut is fine */
            r = graph_add_switch(g, id, NULL, &leaf_of[at], err);
            if (r == 0)
                r = graph_set_parent(g, leaf_of[at], at, err);
        }
        g->nodes[i].leaf = leaf_of[at];
    }
    return r;
}

/* Cut off `tiers` switches at the top of each branch, never the one that has the nodes. */
static int trim_top(struct graph *g, uint32_t tiers, struct err *err)
{
    for (uint32_t t = 0; t < MIN(tiers, GRAPH_TRIM_MAX); t++) {
        _cleanup_free_ bool *leaf = calloc(g->nswitches + 1, sizeof(*leaf)), *root = NULL;

        root = calloc(g->nswitches + 1, sizeof(*root));
        if (!leaf || !root)
            return err_nomem(err);
        for (size_t i = 0; i < g->nnodes; i++)
            if (g->nodes[i].leaf < GONE)
                leaf[g->nodes[i].leaf] = true;
        for (size_t i = 0; i < g->nswitches; i++)
            root[i] = g->switches[i].parent == GRAPH_NONE && !leaf[i];
        for (size_t i = 0; i < g->nswitches; i++)
            if (g->switches[i].parent < GONE && root[g->switches[i].parent])
                g->switches[i].parent = GRAPH_NONE;
        for (size_t i = 0; i < g->nswitches; i++)
            if (root[i])
                g->switches[i].parent = GONE;
    }
    return 0;
}

/* ---- the order ------------------------------------------------------------------------------- */

static const char *shown_name(const struct graph_switch *s)
{
    return s->name ? s->name : s->id;
}

static int compare_switches(const void *a, const void *b, void *ctx)
{
    const struct graph *g = ctx;
    const struct graph_switch *x = &g->switches[*(const uint32_t *)a];
    const struct graph_switch *y = &g->switches[*(const uint32_t *)b];
    int order = graph_compare(shown_name(x), shown_name(y));

    return order ? order : strcmp(x->id, y->id);
}

static int compare_nodes(const void *a, const void *b, void *ctx)
{
    const struct graph *g = ctx;
    const struct graph_node *x = &g->nodes[*(const uint32_t *)a];
    const struct graph_node *y = &g->nodes[*(const uint32_t *)b];

    return graph_compare(x->name, y->name);
}

/* Elements by their owner: those of owner o are list[first[o]] .. list[first[o + 1]]; owner n has
 * those without one. */
struct buckets {
    uint32_t *list, *first;
};

static void buckets_done(struct buckets *b)
{
    free(b->list);
    free(b->first);
}

/* owner_of gives an element's owner, nowners for none, GONE when the element is left out. */
static int fill_buckets(struct buckets *b, size_t n, size_t nowners,
                        uint32_t (*owner_of)(const struct graph *g, uint32_t i),
                        int (*compare)(const void *, const void *, void *), struct graph *g)
{
    _cleanup_free_ uint32_t *sorted = calloc(n + 1, sizeof(*sorted)), *at = NULL;
    size_t kept = 0;

    b->list = calloc(n + 1, sizeof(*b->list));
    b->first = calloc(nowners + 3, sizeof(*b->first));
    at = calloc(nowners + 2, sizeof(*at));
    if (!sorted || !at || !b->list || !b->first)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t owner = owner_of(g, i);

        if (owner == GONE)
            continue;
        sorted[kept++] = i;
        b->first[(owner == GRAPH_NONE ? nowners : owner) + 1]++;
    }
    for (size_t o = 0; o <= nowners; o++)
        b->first[o + 1] += b->first[o];
    for (size_t o = 0; o <= nowners; o++)
        at[o] = b->first[o];
    qsort_r(sorted, kept, sizeof(*sorted), compare, g);
    for (size_t i = 0; i < kept; i++) {
        uint32_t owner = owner_of(g, sorted[i]);

        b->list[at[owner == GRAPH_NONE ? nowners : owner]++] = sorted[i];
    }
    return 0;
}

static uint32_t parent_of(const struct graph *g, uint32_t i)
{
    return g->switches[i].parent;
}

static uint32_t leaf_of_node(const struct graph *g, uint32_t i)
{
    return g->nodes[i].leaf;
}

/* The old arrays in their new order. */
struct ordered {
    struct graph_switch *switches;
    size_t nswitches;
    struct graph_node *nodes;
    size_t nnodes;
};

/* Breadth first: the switches below one stand side by side. */
static void lay_switches(const struct graph *g, const struct buckets *below, uint32_t *old,
                         struct ordered *out)
{
    size_t n = 0, none = g->nswitches;

    for (uint32_t k = below->first[none]; k < below->first[none + 1]; k++) {
        old[n] = below->list[k];
        out->switches[n] = g->switches[old[n]];
        n++;
    }
    for (size_t i = 0; i < n; i++) {
        out->switches[i].first_child = (uint32_t)n;
        for (uint32_t k = below->first[old[i]]; k < below->first[old[i] + 1]; k++) {
            old[n] = below->list[k];
            out->switches[n] = g->switches[old[n]];
            out->switches[n++].parent = (uint32_t)i;
        }
        out->switches[i].nchildren = (uint32_t)n - out->switches[i].first_child;
    }
    out->nswitches = n;
    for (size_t i = n; i-- > 0;) { /* children stand behind their parents */
        struct graph_switch *s = &out->switches[i];

        s->level = s->level ? s->level : 1;
        if (s->parent != GRAPH_NONE && out->switches[s->parent].level <= s->level)
            out->switches[s->parent].level = s->level + 1;
    }
}

static void lay_bucket(const struct graph *g, const struct buckets *b, uint32_t owner,
                       uint32_t leaf, struct ordered *out)
{
    for (uint32_t k = b->first[owner]; k < b->first[owner + 1]; k++) {
        out->nodes[out->nnodes] = g->nodes[b->list[k]];
        out->nodes[out->nnodes++].leaf = leaf;
    }
}

/* A walk over the tree, depth first; `stack` has room for all switches. */
static void lay_nodes(const struct graph *g, const struct buckets *of, const uint32_t *old,
                      uint32_t *stack, struct ordered *out)
{
    size_t depth = 0;

    for (size_t i = out->nswitches; i-- > 0;)
        if (out->switches[i].parent == GRAPH_NONE)
            stack[depth++] = (uint32_t)i;
    while (depth > 0) {
        uint32_t i = stack[--depth];
        struct graph_switch *s = &out->switches[i];

        s->first_node = (uint32_t)out->nnodes;
        lay_bucket(g, of, old[i], i, out);
        s->nnodes = (uint32_t)out->nnodes - s->first_node;
        for (uint32_t k = s->nchildren; k-- > 0;)
            stack[depth++] = s->first_child + k;
    }
    lay_bucket(g, of, (uint32_t)g->nswitches, GRAPH_NONE, out);
}

static int order_graph(struct graph *g, struct err *err)
{
    _cleanup_val_(buckets_done) struct buckets below = { 0 }, of = { 0 };
    _cleanup_free_ uint32_t *old = calloc(g->nswitches + 1, sizeof(*old)), *stack = NULL;
    struct ordered out = { .switches = calloc(g->nswitches + 1, sizeof(*out.switches)),
                           .nodes = calloc(g->nnodes + 1, sizeof(*out.nodes)) };
    int r = -ENOMEM;

    stack = calloc(g->nswitches + 1, sizeof(*stack));
    if (old && stack && out.switches && out.nodes)
        r = fill_buckets(&below, g->nswitches, g->nswitches, parent_of, compare_switches, g);
    if (r == 0)
        r = fill_buckets(&of, g->nnodes, g->nswitches, leaf_of_node, compare_nodes, g);
    if (r < 0) {
        free(out.switches);
        free(out.nodes);
        return err_nomem(err);
    }
    for (size_t i = 0; i < g->nswitches; i++)
        g->switches[i].level = 0;
    lay_switches(g, &below, old, &out);
    lay_nodes(g, &of, old, stack, &out);
    free(g->switches);
    free(g->nodes);
    g->switches = out.switches;
    g->nswitches = g->cap_switches = out.nswitches;
    g->nodes = out.nodes;
    g->nnodes = g->cap_nodes = out.nnodes;
    return 0;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* A name that topology files and lists of names can hold: other bytes become '-'. */
static bool plain_name(const char *text, char *buf, size_t size)
{
    size_t len = strlen(text);

    if (len >= size || len > GRAPH_UNIT_MAX)
        return false;
    for (size_t i = 0; i <= len; i++) {
        char c = text[i];
        bool good = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                    c == '.' || c == '_' || c == '-' || c == '\0';

        buf[i] = good ? c : '-';
    }
    return true;
}

static int name_switch(struct graph *g, uint32_t i, bool normalise, uint32_t number,
                       struct graphindex *names)
{
    struct graph_switch *s = &g->switches[i];
    char buf[GRAPH_UNIT_MAX + 1];

    if (normalise ||
        ((!s->name || !plain_name(s->name, buf, sizeof(buf)) ||
          graphindex_find(names, buf) != GRAPH_NONE) &&
         (!plain_name(s->id, buf, sizeof(buf)) || graphindex_find(names, buf) != GRAPH_NONE)))
        (void)snprintf(buf, sizeof(buf), "switch.%u.%u", s->level, number);
    while (graphindex_find(names, buf) != GRAPH_NONE) /* somebody is called like that */
        (void)snprintf(buf, sizeof(buf), "switch.%u.%u", s->level, number += GRAPH_SWITCHES_MAX);
    s->name = graphpool_add(&g->pool, buf, strlen(buf));
    return s->name ? graphindex_put(names, s->name, i) : -ENOMEM;
}

static int name_switches(struct graph *g, bool normalise, struct err *err)
{
    uint32_t counts[GRAPH_TIERS_MAX + 2] = { 0 };
    struct graphindex names = { 0 };
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < g->nswitches; i++) {
        uint32_t level = MIN(g->switches[i].level, GRAPH_TIERS_MAX + 1);

        r = name_switch(g, i, normalise, ++counts[level], &names);
    }
    graphindex_done(&names);
    return r < 0 ? err_nomem(err) : 0;
}

/* Places changed, and ids are those of what is left. */
static int index_again(struct graph *g, struct err *err)
{
    int r = 0;

    graphindex_done(&g->switch_ids);
    graphindex_done(&g->node_ids);
    for (uint32_t i = 0; r == 0 && i < g->nswitches; i++)
        r = graphindex_put(&g->switch_ids, g->switches[i].id, i);
    for (uint32_t i = 0; r == 0 && i < g->nnodes; i++)
        r = graphindex_put(&g->node_ids, g->nodes[i].id, i);
    return r < 0 ? err_nomem(err) : 0;
}

int graph_finish(struct graph *g, const struct graph_finish *how, struct err *err)
{
    int r = how->wanted ? add_missing(g, how->wanted, err) : 0;

    if (r == 0)
        r = name_nodes(g, how->wanted, err);
    if (r == 0)
        r = keep_switches(g, err);
    if (r == 0)
        r = part_mixed(g, err);
    if (r == 0)
        r = trim_top(g, how->trim_tiers, err);
    if (r == 0)
        r = order_graph(g, err);
    if (r == 0)
        r = name_switches(g, how->normalise, err);
    return r == 0 ? index_again(g, err) : r;
}

/* Names of switches stay those of the whole graph. */
int graph_subset(const struct graph *g, const bool *keep, struct graph **ret_graph, struct err *err)
{
    _cleanup_(graph_free) struct graph *sub = NULL;
    const struct graph_finish how = { 0 };
    uint32_t node, sw, up;
    int r = graph_new(&sub) < 0 ? err_nomem(err) : 0;

    for (size_t i = 0; r == 0 && i < g->nswitches; i++) {
        const struct graph_switch *s = &g->switches[i];

        r = graph_add_switch(sub, s->id, s->name, &sw, err);
        if (r == 0 && s->parent != GRAPH_NONE) {
            r = graph_add_switch(sub, g->switches[s->parent].id, NULL, &up, err);
            if (r == 0)
                r = graph_set_parent(sub, sw, up, err);
        }
    }
    for (size_t i = 0; r == 0 && i < g->nnodes; i++) {
        const struct graph_node *n = &g->nodes[i];

        if (!keep[i])
            continue;
        r = graph_add_node(sub, n->id, n->name, &node, err);
        if (r == 0 && n->leaf != GRAPH_NONE) {
            r = graph_add_switch(sub, g->switches[n->leaf].id, NULL, &sw, err);
            if (r == 0)
                r = graph_attach(sub, node, sw, err);
        }
        if (r == 0 && n->domain)
            r = graph_set_domain(sub, node, n->domain, n->subdomain, err);
    }
    if (r == 0)
        r = graph_finish(sub, &how, err);
    if (r == 0)
        *ret_graph = TAKE_PTR(sub);
    return r;
}
