/* graph.c - a graph as readers fill it; graph_finish() is in graphfinish.c */
#include "topograph/graph.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define NOTES_MAX 100u

int graph_new(struct graph **ret_graph)
{
    struct graph *g = calloc(1, sizeof(*g));

    if (!g)
        return -ENOMEM;
    *ret_graph = g;
    return 0;
}

struct graph *graph_free(struct graph *g)
{
    if (!g)
        return NULL;
    graphindex_done(&g->switch_ids);
    graphindex_done(&g->node_ids);
    graphpool_done(&g->pool);
    strbuf_done(&g->notes);
    free(g->switches);
    free(g->nodes);
    free(g);
    return NULL;
}

/* Texts are bytes above blank, and blanks within: they stand in comments and errors as they are. */
static int check_text(const char *what, const char *text, struct err *err)
{
    size_t len = strlen(text);

    if (!len)
        return err_set(err, -EINVAL, "%s without a name", what);
    if (len > GRAPH_NAME_MAX)
        return err_set(err, -EINVAL, "%s %.40s...: a name has at most %u bytes", what, text,
                       GRAPH_NAME_MAX);
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            return err_set(err, -EINVAL, "%s: a name with a control character", what);
    return 0;
}

static const char *keep_text(struct graph *g, const char *text)
{
    return graphpool_add(&g->pool, text, strlen(text));
}

/* Room for one more element of an array. */
static int make_room(void *array, size_t n, size_t *cap, size_t size, size_t most, const char *what,
                     struct err *err)
{
    void *at, *bigger;

    if (n >= most)
        return err_set(err, -E2BIG, "more than %zu %s", most, what);
    if (n < *cap)
        return 0;
    memcpy(&at, array, sizeof(at)); /* a pointer of whatever type */
    bigger = reallocarray(at, *cap ? *cap * 2 : 64, size);
    if (!bigger)
        return err_nomem(err);
    memcpy(array, &bigger, sizeof(bigger));
    *cap = *cap ? *cap * 2 : 64;
    return 0;
}

static int fill_name(struct graph *g, const char *what, const char *name, const char **field,
                     struct err *err)
{
    int r = name && !*field ? check_text(what, name, err) : 1;

    if (r != 0)
        return MIN(r, 0); /* known already, or wrong */
    *field = keep_text(g, name);
    return *field ? 0 : err_nomem(err);
}

int graph_add_node(struct graph *g, const char *id, const char *name, uint32_t *ret_node,
                   struct err *err)
{
    uint32_t i = graphindex_find(&g->node_ids, id);
    int r = 0;

    if (i == GRAPH_NONE) {
        r = check_text("node", id, err);
        if (r == 0)
            r = make_room(&g->nodes, g->nnodes, &g->cap_nodes, sizeof(*g->nodes), GRAPH_NODES_MAX,
                          "nodes", err);
        if (r < 0)
            return r;
        i = (uint32_t)g->nnodes;
        g->nodes[i] = (struct graph_node){ .id = keep_text(g, id), .leaf = GRAPH_NONE };
        if (!g->nodes[i].id || graphindex_put(&g->node_ids, g->nodes[i].id, i) < 0)
            return err_nomem(err);
        g->nnodes++;
    }
    r = fill_name(g, "node", name, &g->nodes[i].name, err);
    if (r == 0)
        *ret_node = i;
    return r;
}

int graph_add_switch(struct graph *g, const char *id, const char *name, uint32_t *ret_switch,
                     struct err *err)
{
    uint32_t i = graphindex_find(&g->switch_ids, id);
    int r = 0;

    if (i == GRAPH_NONE) {
        r = check_text("switch", id, err);
        if (r == 0)
            r = make_room(&g->switches, g->nswitches, &g->cap_switches, sizeof(*g->switches),
                          GRAPH_SWITCHES_MAX, "switches", err);
        if (r < 0)
            return r;
        i = (uint32_t)g->nswitches;
        g->switches[i] = (struct graph_switch){ .id = keep_text(g, id), .parent = GRAPH_NONE };
        if (!g->switches[i].id || graphindex_put(&g->switch_ids, g->switches[i].id, i) < 0)
            return err_nomem(err);
        g->nswitches++;
    }
    r = fill_name(g, "switch", name && *name ? name : NULL, &g->switches[i].name, err);
    if (r == 0)
        *ret_switch = i;
    return r;
}

int graph_set_parent(struct graph *g, uint32_t child, uint32_t parent, struct err *err)
{
    struct graph_switch *sw = &g->switches[child];

    if (child == parent)
        return err_set(err, -EINVAL, "switch %.64s is above itself", sw->id);
    if (sw->parent != GRAPH_NONE && sw->parent != parent)
        return err_set(err, -EINVAL, "switch %.64s has two switches above it: %.64s and %.64s",
                       sw->id, g->switches[sw->parent].id, g->switches[parent].id);
    sw->parent = parent;
    return 0;
}

int graph_attach(struct graph *g, uint32_t node, uint32_t leaf, struct err *err)
{
    struct graph_node *n = &g->nodes[node];

    if (n->leaf != GRAPH_NONE && n->leaf != leaf)
        return err_set(err, -EINVAL, "node %.64s is under two switches: %.64s and %.64s", n->id,
                       g->switches[n->leaf].id, g->switches[leaf].id);
    n->leaf = leaf;
    return 0;
}

int graph_add_path(struct graph *g, uint32_t node, const char *const *tiers, size_t n,
                   struct err *err)
{
    uint32_t below = GRAPH_NONE, sw = GRAPH_NONE;
    int r = 0;

    if (n > GRAPH_TIERS_MAX)
        return err_set(err, -E2BIG, "node %.64s: more than %u tiers of switches", g->nodes[node].id,
                       GRAPH_TIERS_MAX);
    for (size_t i = 0; r == 0 && i < n; i++) {
        r = graph_add_switch(g, tiers[i], NULL, &sw, err);
        if (r == 0)
            r = below == GRAPH_NONE ? graph_attach(g, node, sw, err)
                                    : graph_set_parent(g, below, sw, err);
        below = sw;
    }
    return r;
}

int graph_set_domain(struct graph *g, uint32_t node, const char *domain, const char *subdomain,
                     struct err *err)
{
    struct graph_node *n = &g->nodes[node];
    int r = check_text("domain", domain, err);

    if (r == 0 && subdomain)
        r = check_text("sub-domain", subdomain, err);
    if (r < 0)
        return r;
    if (n->domain && strcmp(n->domain, domain) != 0)
        return err_set(err, -EINVAL, "node %.64s is in two domains: %.64s and %.64s", n->id,
                       n->domain, domain);
    n->domain = keep_text(g, domain);
    n->subdomain = subdomain ? keep_text(g, subdomain) : n->subdomain;
    return n->domain && (!subdomain || n->subdomain) ? 0 : err_nomem(err);
}

uint32_t graph_find_node(const struct graph *g, const char *id)
{
    return graphindex_find(&g->node_ids, id);
}

void graph_note(struct graph *g, const char *fmt, ...)
{
    va_list ap;

    if (++g->nnotes > NOTES_MAX)
        return;
    va_start(ap, fmt);
    strbuf_addv(&g->notes, fmt, ap);
    va_end(ap);
    strbuf_addc(&g->notes, '\n');
}

int graph_compare(const char *a, const char *b)
{
    return strverscmp(a, b);
}

/* ---- nodes that are asked for ---------------------------------------------------------------- */

static int grow_wanted(struct graph_wanted *w, struct err *err)
{
    size_t cap = w->cap;
    int r = make_room(&w->id, w->n, &cap, sizeof(*w->id), GRAPH_NODES_MAX, "nodes", err);

    if (r == 0 && cap != w->cap) {
        const char **name = reallocarray(w->name, cap, sizeof(*name));

        if (!name)
            return err_nomem(err); /* id is larger than cap says, which harms nothing */
        w->name = name;
        w->cap = cap;
    }
    return r;
}

int graph_wanted_add(struct graph_wanted *w, const char *id, const char *name, struct err *err)
{
    int r = check_text("node", id, err);

    if (r == 0)
        r = check_text("node", name, err);
    if (r == 0 && graphindex_find(&w->ids, id) != GRAPH_NONE)
        r = err_set(err, -EINVAL, "instance %.64s stands twice", id);
    if (r == 0 && graphindex_find(&w->names, name) != GRAPH_NONE)
        r = err_set(err, -EINVAL, "node %.64s stands twice", name);
    if (r == 0)
        r = grow_wanted(w, err);
    if (r < 0)
        return r;
    w->id[w->n] = graphpool_add(&w->pool, id, strlen(id));
    w->name[w->n] = graphpool_add(&w->pool, name, strlen(name));
    if (!w->id[w->n] || !w->name[w->n] ||
        graphindex_put(&w->ids, w->id[w->n], (uint32_t)w->n) < 0 ||
        graphindex_put(&w->names, w->name[w->n], (uint32_t)w->n) < 0)
        return err_nomem(err);
    w->n++;
    return 0;
}

void graph_wanted_done(struct graph_wanted *w)
{
    graphindex_done(&w->ids);
    graphindex_done(&w->names);
    graphpool_done(&w->pool);
    free(w->id);
    free(w->name);
    *w = (struct graph_wanted){ 0 };
}

const char *graph_wanted_name(const struct graph_wanted *w, const char *id)
{
    uint32_t i = w ? graphindex_find(&w->ids, id) : GRAPH_NONE;

    return !w ? id : i == GRAPH_NONE ? NULL : w->name[i];
}

const char *graph_wanted_id(const struct graph_wanted *w, const char *name)
{
    uint32_t i = w ? graphindex_find(&w->names, name) : GRAPH_NONE;

    return !w ? name : i == GRAPH_NONE ? NULL : w->id[i];
}
