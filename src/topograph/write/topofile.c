/* topofile.c - see topofile.h */
#include "topograph/write/topofile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hostlist.h"

static const char *const plugins[] = {
    [TOPOFILE_TREE] = "topology/tree",
    [TOPOFILE_BLOCK] = "topology/block",
    [TOPOFILE_FLAT] = "topology/flat",
};

bool topofile_plugin(const char *text, enum topofile_plugin *ret)
{
    for (size_t i = 0; i < ARRAY_SIZE(plugins); i++) {
        if (strcmp(text, plugins[i]) == 0 || strcmp(text, strchr(plugins[i], '/') + 1) == 0) {
            *ret = (enum topofile_plugin)i;
            return true;
        }
    }
    return false;
}

const char *topofile_plugin_name(enum topofile_plugin p)
{
    return plugins[p];
}

/* ---- lists of names -------------------------------------------------------------------------- */

struct names {
    const char **items;
    size_t n;
};

static void add_folded(const struct names *names, struct strbuf *out)
{
    _cleanup_free_ char *text = NULL;

    if (hostlist_fold_names(names->items, names->n, &text) < 0)
        out->failed = true;
    else
        strbuf_add(out, text);
}

static void add_nodes(const struct graph *g, uint32_t first, uint32_t n, struct names *room,
                      struct strbuf *out)
{
    for (room->n = 0; room->n < n; room->n++)
        room->items[room->n] = g->nodes[first + room->n].name;
    add_folded(room, out);
}

static void add_children(const struct graph *g, const struct graph_switch *s, struct names *room,
                         struct strbuf *out)
{
    for (room->n = 0; room->n < s->nchildren; room->n++)
        room->items[room->n] = g->switches[s->first_child + room->n].name;
    add_folded(room, out);
}

static void add_members(const struct graph *g, const struct tgblocks *b,
                        const struct tgblock *block, struct names *room, struct strbuf *out)
{
    for (room->n = 0; room->n < block->nnodes; room->n++)
        room->items[room->n] = g->nodes[b->nodes[block->first + room->n]].name;
    add_folded(room, out);
}

static int names_init(const struct graph *g, struct names *room, struct err *err)
{
    room->items = calloc(g->nnodes + g->nswitches + 1, sizeof(*room->items));
    return room->items ? 0 : err_nomem(err);
}

static int check_tree(const struct graph *g, struct err *err)
{
    return g->nswitches
               ? 0
               : err_set(err, -EINVAL, "topology/tree needs switches, and nothing tells of any");
}

/* ---- topology.conf --------------------------------------------------------------------------- */

static int conf_tree(const struct graph *g, struct strbuf *out, struct err *err)
{
    struct names room = { 0 };
    int r = check_tree(g, err);

    if (r == 0)
        r = names_init(g, &room, err);
    for (size_t i = 0; r == 0 && i < g->nswitches; i++) {
        const struct graph_switch *s = &g->switches[i];

        if (strcmp(s->name, s->id) != 0)
            strbuf_addf(out, "# %s=%s\n", s->name, s->id);
        strbuf_addf(out, "SwitchName=%s %s=", s->name, s->nchildren ? "Switches" : "Nodes");
        if (s->nchildren)
            add_children(g, s, &room, out);
        else
            add_nodes(g, s->first_node, s->nnodes, &room, out);
        strbuf_addc(out, '\n');
    }
    free(room.items);
    return r;
}

static void add_sizes(const struct tgblocks *b, struct strbuf *out)
{
    for (size_t i = 0; i < b->nsizes; i++)
        strbuf_addf(out, "%s%u", i ? "," : "", b->sizes[i]);
}

static int conf_block(const struct topofile *t, struct strbuf *out, struct err *err)
{
    _cleanup_val_(tgblocks_done) struct tgblocks b = { 0 };
    struct names room = { 0 };
    int r = tgblocks_make(t->graph, &t->blocks, &b, err);

    if (r == 0)
        r = names_init(t->graph, &room, err);
    for (size_t i = 0; r == 0 && i < b.n; i++) {
        const struct tgblock *block = &b.items[i];

        if (block->domain)
            strbuf_addf(out, "# %s=%s\n", block->name, block->domain);
        strbuf_addf(out, "BlockName=%s", block->name);
        if (block->nnodes) {
            strbuf_add(out, " Nodes=");
            add_members(t->graph, &b, block, &room, out);
        }
        strbuf_addc(out, '\n');
    }
    if (r == 0) {
        strbuf_add(out, "BlockSizes=");
        add_sizes(&b, out);
        strbuf_addc(out, '\n');
    }
    free(room.items);
    return r;
}

int topofile_conf(const struct topofile *t, struct strbuf *out, struct err *err)
{
    int r = 0;

    if (t->plugin == TOPOFILE_TREE)
        r = conf_tree(t->graph, out, err);
    else if (t->plugin == TOPOFILE_BLOCK)
        r = conf_block(t, out, err);
    return r == 0 && out->failed ? err_nomem(err) : r;
}

/* ---- topology.yaml --------------------------------------------------------------------------- */

/* What could be taken for a number or a truth stands in quotes. */
static void add_scalar(const char *text, struct strbuf *out)
{
    static const char *const words[] = {
        "true", "false", "yes", "no", "on", "off", "null", "y", "n"
    };
    char c = text[0];
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

    for (size_t i = 0; plain && i < ARRAY_SIZE(words); i++)
        plain = strcasecmp(text, words[i]) != 0;
    strbuf_addf(out, plain ? "%s" : "\"%s\"", text);
}

/* `KEY: LIST`, LIST being what was added to tmp. */
static void add_list(const char *indent, const char *key, struct strbuf *tmp, struct strbuf *out)
{
    out->failed = out->failed || tmp->failed;
    strbuf_addf(out, "%s%s: ", indent, key);
    add_scalar(strbuf_str(tmp), out);
    strbuf_addc(out, '\n');
    strbuf_reset(tmp);
}

static int yaml_tree(const struct topofile *t, struct strbuf *out, struct err *err)
{
    _cleanup_val_(strbuf_done) struct strbuf tmp = STRBUF_INIT;
    const struct graph *g = t->graph;
    struct names room = { 0 };
    int r = check_tree(g, err);

    if (r == 0)
        r = names_init(g, &room, err);
    if (r == 0)
        strbuf_add(out, "  tree:\n    switches:\n");
    for (size_t i = 0; r == 0 && i < g->nswitches; i++) {
        const struct graph_switch *s = &g->switches[i];

        if (t->skeleton && s->parent != GRAPH_NONE)
            continue;
        if (strcmp(s->name, s->id) != 0)
            strbuf_addf(out, "      # %s=%s\n", s->name, s->id);
        strbuf_add(out, "      - switch: ");
        add_scalar(s->name, out);
        strbuf_addc(out, '\n');
        if (t->skeleton)
            continue; /* switches below are made when a node says its path */
        if (s->nchildren) {
            add_children(g, s, &room, &tmp);
            add_list("        ", "children", &tmp, out);
        } else {
            add_nodes(g, s->first_node, s->nnodes, &room, &tmp);
            add_list("        ", "nodes", &tmp, out);
        }
    }
    free(room.items);
    return r;
}

static int yaml_block(const struct topofile *t, struct strbuf *out, struct err *err)
{
    _cleanup_val_(strbuf_done) struct strbuf tmp = STRBUF_INIT;
    _cleanup_val_(tgblocks_done) struct tgblocks b = { 0 };
    struct names room = { 0 };
    int r = tgblocks_make(t->graph, &t->blocks, &b, err);

    if (r == 0)
        r = names_init(t->graph, &room, err);
    if (r == 0) {
        strbuf_add(out, "  block:\n    block_sizes: [");
        add_sizes(&b, out);
        strbuf_add(out, "]\n    blocks:\n");
    }
    for (size_t i = 0; r == 0 && i < b.n; i++) {
        if (b.items[i].domain)
            strbuf_addf(out, "      # %s=%s\n", b.items[i].name, b.items[i].domain);
        strbuf_add(out, "      - block: ");
        add_scalar(b.items[i].name, out);
        strbuf_addc(out, '\n');
        if (b.items[i].nnodes && !t->skeleton) {
            add_members(t->graph, &b, &b.items[i], &room, &tmp);
            add_list("        ", "nodes", &tmp, out);
        }
    }
    free(room.items);
    return r;
}

static int compare_topologies(const void *a, const void *b)
{
    return strcmp((*(const struct topofile *const *)a)->name,
                  (*(const struct topofile *const *)b)->name);
}

static int yaml_one(const struct topofile *t, struct strbuf *out, struct err *err)
{
    int r = 0;

    strbuf_add(out, "- topology: ");
    add_scalar(t->name, out);
    strbuf_addf(out, "\n  cluster_default: %s\n", t->cluster_default ? "true" : "false");
    if (t->plugin == TOPOFILE_FLAT)
        strbuf_add(out, "  flat: true\n");
    else
        r = t->plugin == TOPOFILE_TREE ? yaml_tree(t, out, err) : yaml_block(t, out, err);
    if (r < 0)
        err_prefix(err, "topology %.64s", t->name);
    return r;
}

int topofile_yaml(const struct topofile *list, size_t n, struct strbuf *out, struct err *err)
{
    _cleanup_free_ const struct topofile **sorted = calloc(n + 1, sizeof(*sorted));
    int r = sorted ? 0 : err_nomem(err);

    for (size_t i = 0; r == 0 && i < n; i++)
        sorted[i] = &list[i];
    if (r == 0)
        qsort(sorted, n, sizeof(*sorted), compare_topologies);
    if (r == 0)
        strbuf_add(out, "---\n");
    for (size_t i = 0; r == 0 && i < n; i++)
        r = yaml_one(sorted[i], out, err);
    return r == 0 && out->failed ? err_nomem(err) : r;
}

/* ---- the Topology= option of nodes ----------------------------------------------------------- */

void topofile_units_done(struct topofile_units *u)
{
    for (size_t i = 0; u->of && i < u->n; i++)
        free(u->of[i]);
    free(u->of);
    *u = (struct topofile_units){ 0 };
}

/* Append `,TOPOLOGY:UNIT` to what a node has. */
static int append_unit(struct topofile_units *u, const struct graph *whole,
                       const struct graph_node *n, const char *topology, const char *unit)
{
    uint32_t i = graph_find_node(whole, n->id);
    char *text;

    if (i == GRAPH_NONE)
        return 0;
    if (asprintf(&text, "%s%s%s:%s", u->of[i] ? u->of[i] : "", u->of[i] ? "," : "", topology,
                 unit) < 0)
        return -ENOMEM;
    free(u->of[i]);
    u->of[i] = text;
    return 0;
}

static void add_path(const struct graph *g, uint32_t sw, struct strbuf *out)
{
    uint32_t path[GRAPH_TIERS_MAX + 1];
    size_t n = 0;

    for (; sw != GRAPH_NONE && n < ARRAY_SIZE(path); sw = g->switches[sw].parent)
        path[n++] = sw;
    while (n-- > 0)
        strbuf_addf(out, "%s%s", g->switches[path[n]].name, n ? ":" : "");
}

static int tree_units(const struct graph *whole, const struct topofile *t, struct topofile_units *u,
                      struct err *err)
{
    _cleanup_val_(strbuf_done) struct strbuf path = STRBUF_INIT;
    int r = check_tree(t->graph, err);

    for (size_t i = 0; r == 0 && i < t->graph->nnodes; i++) {
        const struct graph_node *n = &t->graph->nodes[i];

        if (n->leaf == GRAPH_NONE)
            continue;
        strbuf_reset(&path);
        add_path(t->graph, n->leaf, &path);
        if (path.failed || append_unit(u, whole, n, t->name, strbuf_str(&path)) < 0)
            r = err_nomem(err);
    }
    return r;
}

static int block_units(const struct graph *whole, const struct topofile *t,
                       struct topofile_units *u, struct err *err)
{
    _cleanup_val_(tgblocks_done) struct tgblocks b = { 0 };
    int r = tgblocks_make(t->graph, &t->blocks, &b, err);

    for (size_t i = 0; r == 0 && i < b.n; i++)
        for (uint32_t k = 0; r == 0 && k < b.items[i].nnodes; k++)
            if (append_unit(u, whole, &t->graph->nodes[b.nodes[b.items[i].first + k]], t->name,
                            b.items[i].name) < 0)
                r = err_nomem(err);
    return r;
}

int topofile_units(const struct graph *whole, const struct topofile *list, size_t n,
                   struct topofile_units *ret, struct err *err)
{
    struct topofile_units u = { .of = calloc(whole->nnodes + 1, sizeof(*u.of)),
                                .n = whole->nnodes };
    int r = u.of ? 0 : err_nomem(err);

    for (size_t i = 0; r == 0 && i < n; i++) {
        if (list[i].plugin == TOPOFILE_TREE)
            r = tree_units(whole, &list[i], &u, err);
        else if (list[i].plugin == TOPOFILE_BLOCK)
            r = block_units(whole, &list[i], &u, err);
    }
    if (r < 0)
        topofile_units_done(&u);
    else
        *ret = u;
    return r;
}

int topofile_nodes(const struct graph *whole, const struct topofile_units *u, struct strbuf *out,
                   struct err *err)
{
    struct names room = { 0 };
    int r = names_init(whole, &room, err);

    /* Nodes of one unit stand together, as the tree has them. */
    for (size_t i = 0, end; r == 0 && i < u->n; i = end) {
        room.n = 0;
        for (end = i; end < u->n && (u->of[end] == u->of[i] ||
                                     (u->of[end] && u->of[i] && strcmp(u->of[end], u->of[i]) == 0));
             end++)
            room.items[room.n++] = whole->nodes[end].name;
        if (!u->of[i])
            continue;
        strbuf_add(out, "NodeName=");
        add_folded(&room, out);
        strbuf_addf(out, " Topology=%s\n", u->of[i]);
    }
    free(room.items);
    return r == 0 && out->failed ? err_nomem(err) : r;
}
