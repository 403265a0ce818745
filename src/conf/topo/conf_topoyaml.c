/* conf_topoyaml.c - topology.yaml: a list of topologies, each of one kind.
 *
 * libyaml loads the document; the walk goes down a fixed number of steps, so that aliases cannot
 * make it endless.  What is empty ({}, or nothing behind the colon) counts as not written:
 * `scontrol show topoconf` prints every kind.  After a mistake reading goes on with the next
 * entry. */
#include "conf/topo/conf_topoyaml.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/strbuf.h"
#include "base/timefmt.h"
#include "base/yaml/yamldoc.h"
#include "conf/lex/conf_lex.h"
#include "conf/topo/conf_topobuild.h"
#include "conf/topo/conf_topocheck.h"
#include "conf/topo/conf_topotorus.h"

struct reader {
    struct topo_loader *tl;
    yaml_document_t *doc;
    struct conf_topo *t;
};

static unsigned line_of(const yaml_node_t *n)
{
    return (unsigned)n->start_mark.line + 1;
}

static void report_node(struct reader *rd, const yaml_node_t *at, const char *text)
{
    conf_error(&rd->tl->l, rd->tl->file, line_of(at), "%s", text);
}

static const char *scalar_of(const yaml_node_t *n)
{
    return n && n->type == YAML_SCALAR_NODE ? (const char *)n->data.scalar.value : NULL;
}

/* Nothing is written: no value, null, {} or []. */
static bool is_empty(const yaml_node_t *n)
{
    const char *text = scalar_of(n);

    if (!n ||
        (n->type == YAML_MAPPING_NODE &&
         n->data.mapping.pairs.start == n->data.mapping.pairs.top) ||
        (n->type == YAML_SEQUENCE_NODE &&
         n->data.sequence.items.start == n->data.sequence.items.top))
        return true;
    return text && n->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           (!*text || strcmp(text, "~") == 0 || strcmp(text, "null") == 0);
}

static const yaml_node_t *value_of(struct reader *rd, const yaml_node_t *map, const char *key)
{
    if (map->type != YAML_MAPPING_NODE)
        return NULL;
    for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top;
         p++) {
        const char *name = scalar_of(yaml_document_get_node(rd->doc, p->key));

        if (name && strcmp(name, key) == 0)
            return yaml_document_get_node(rd->doc, p->value);
    }
    return NULL;
}

/* A known key that begins or ends like this one, or NULL. */
static const char *near_key(const char *name, const char *const *keys)
{
    size_t len = strlen(name);

    for (; *keys; keys++) {
        size_t n = strlen(*keys), same = 0, tail = 0;

        while (same < MIN(len, n) && name[same] == (*keys)[same])
            same++;
        while (tail < MIN(len, n) - same && name[len - 1 - tail] == (*keys)[n - 1 - tail])
            tail++;
        if (same + tail + 1 + n / 4 >= MAX(len, n))
            return *keys;
    }
    return NULL;
}

/* Is it a mapping of these keys (ended by NULL), each once? */
static bool check_keys(struct reader *rd, const yaml_node_t *map, const char *what,
                       const char *const *keys)
{
    uint32_t seen = 0;
    bool good = true;

    if (map->type != YAML_MAPPING_NODE) {
        conf_error(&rd->tl->l, rd->tl->file, line_of(map), "%s: a mapping of keys is expected",
                   what);
        return false;
    }
    for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top;
         p++) {
        const yaml_node_t *key = yaml_document_get_node(rd->doc, p->key);
        const char *name = scalar_of(key) ? scalar_of(key) : "", *near;
        unsigned i = 0;

        while (keys[i] && strcmp(keys[i], name) != 0)
            i++;
        if (keys[i] && !(seen & 1u << i)) {
            seen |= 1u << i;
            continue;
        }
        near = keys[i] ? NULL : near_key(name, keys);
        conf_error(&rd->tl->l, rd->tl->file, line_of(key),
                   keys[i] ? "%s: %.64s is given twice%s%s%s" : "%s: unknown key %.64s%s%s%s", what,
                   name, near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
        good = false;
    }
    return good;
}

/* Call fn for each entry of a list. */
typedef void entry_fn(struct reader *rd, const yaml_node_t *entry, void *arg);
static void walk_list(struct reader *rd, const yaml_node_t *list, const char *what, entry_fn *fn,
                      void *arg)
{
    if (is_empty(list))
        return;
    if (list->type != YAML_SEQUENCE_NODE) {
        conf_error(&rd->tl->l, rd->tl->file, line_of(list), "%s: a list is expected", what);
        return;
    }
    for (yaml_node_item_t *i = list->data.sequence.items.start;
         i < list->data.sequence.items.top && !rd->tl->no_memory; i++)
        fn(rd, yaml_document_get_node(rd->doc, *i), arg);
}

/* Texts of a list, joined by commas.  False: one is no text, or they are too long together. */
static bool join_texts(struct reader *rd, const yaml_node_t *list, struct strbuf *sb)
{
    for (yaml_node_item_t *i = list->data.sequence.items.start; i < list->data.sequence.items.top;
         i++) {
        const char *text = scalar_of(yaml_document_get_node(rd->doc, *i));

        if (!text || sb->len > CONF_MAX_LINE)
            return false;
        strbuf_addf(sb, "%s%s", sb->len ? "," : "", text);
    }
    return true;
}

/* A host list: a text, or a list of texts.  NULL: none is written, or a mistake (noted). */
static const char *list_text(struct reader *rd, const yaml_node_t *n, const char *what)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    if (is_empty(n))
        return NULL;
    if (scalar_of(n))
        return scalar_of(n);
    if (n->type != YAML_SEQUENCE_NODE || !join_texts(rd, n, &sb)) {
        conf_error(&rd->tl->l, rd->tl->file, line_of(n),
                   "%s: a list of nodes such as n[1-4] is expected", what);
        return NULL;
    }
    if (!sb.failed)
        return conf_topo_strdup(rd->tl, strbuf_str(&sb));
    rd->tl->no_memory = true;
    return NULL;
}

static bool read_bool(struct reader *rd, const yaml_node_t *n, const char *what)
{
    static const char *const yes[] = { "true", "yes", "on" }, *const no[] = { "false", "no",
                                                                              "off" };
    const char *text = scalar_of(n);

    for (size_t i = 0; text && i < ARRAY_SIZE(yes); i++) {
        if (strcasecmp(text, yes[i]) == 0)
            return true;
        if (strcasecmp(text, no[i]) == 0)
            return false;
    }
    if (!is_empty(n))
        conf_error(&rd->tl->l, rd->tl->file, line_of(n), "%s is true or false", what);
    return false;
}

/* The name of a unit; "" after a mistake. */
static const char *read_name(struct reader *rd, const yaml_node_t *map, const char *key)
{
    const yaml_node_t *n = value_of(rd, map, key);

    if (scalar_of(n))
        return scalar_of(n);
    conf_error(&rd->tl->l, rd->tl->file, line_of(map), "the %s has no name (%s:)",
               strcmp(key, "name") == 0 ? "torus" : key, key);
    return NULL;
}

/* ---- trees, blocks, rings -------------------------------------------------------------------- */

struct simple {      /* a list of units with nodes */
    const char *key; /* of the name */
    const char *const *keys;
    const char **below; /* tree: of each unit, in its order */
    size_t nbelow, cap;
};

static void read_unit(struct reader *rd, const yaml_node_t *entry, void *arg)
{
    struct simple *s = arg;
    struct conf_topo_unit *u;
    const char *name, *nodes, *children;

    if (!check_keys(rd, entry, s->key, s->keys))
        return;
    name = read_name(rd, entry, s->key);
    u = name ? conf_topo_add_unit(rd->tl, rd->t, name, line_of(entry)) : NULL;
    if (!u)
        return;
    nodes = list_text(rd, value_of(rd, entry, "nodes"), "nodes");
    children = list_text(rd, value_of(rd, entry, "children"), "children");
    if (nodes && children)
        report_node(rd, entry, "a switch has nodes or children, not both");
    if (nodes)
        (void)conf_topo_nodes(rd->tl, nodes, line_of(entry), &u->nodes, &u->nnodes);
    if (conf_grow(&s->below, &s->cap, s->nbelow, sizeof(*s->below)) < 0)
        rd->tl->no_memory = true;
    else
        s->below[s->nbelow++] = children;
}

static void finish_units(struct reader *rd, struct simple *s, size_t errors)
{
    if (rd->tl->l.nerrors == errors && !rd->tl->no_memory)
        conf_topocheck(rd->tl, rd->t, rd->t->kind == CONF_TOPO_TREE ? s->below : NULL);
    free(s->below);
}

static void read_tree(struct reader *rd, const yaml_node_t *n)
{
    static const char *const keys[] = { "switches", NULL };
    static const char *const unit[] = { "switch", "children", "nodes", NULL };
    struct simple s = { .key = "switch", .keys = unit };
    size_t errors = rd->tl->l.nerrors;

    if (check_keys(rd, n, "tree", keys))
        walk_list(rd, value_of(rd, n, "switches"), "switches", read_unit, &s);
    finish_units(rd, &s, errors);
}

static void read_size(struct reader *rd, const yaml_node_t *entry, void *arg)
{
    uint64_t size;

    (void)arg;
    if (!scalar_of(entry) || parse_u64(scalar_of(entry), 1, UINT32_MAX, &size) < 0)
        report_node(rd, entry, "Invalid BlockSizes value: a number of nodes is expected");
    else
        rd->t->block_sizes[rd->t->nblock_sizes++] = (uint32_t)size;
}

static void read_sizes(struct reader *rd, const yaml_node_t *list)
{
    ptrdiff_t n;

    if (is_empty(list))
        return;
    n = list->type == YAML_SEQUENCE_NODE
            ? list->data.sequence.items.top - list->data.sequence.items.start
            : 0;
    if (n > 4 * (ptrdiff_t)CONF_TOPO_POWERS) {
        report_node(rd, list, "Invalid BlockSizes value: too many sizes");
        return;
    }
    rd->t->block_sizes = conf_topo_alloc(rd->tl, (size_t)n, sizeof(*rd->t->block_sizes));
    if (rd->t->block_sizes)
        walk_list(rd, list, "block_sizes", read_size, NULL);
}

static void read_blocks(struct reader *rd, const yaml_node_t *n)
{
    static const char *const keys[] = { "block_sizes", "blocks", NULL };
    static const char *const unit[] = { "block", "nodes", NULL };
    struct simple s = { .key = "block", .keys = unit };
    size_t errors = rd->tl->l.nerrors;

    if (check_keys(rd, n, "block", keys)) {
        read_sizes(rd, value_of(rd, n, "block_sizes"));
        walk_list(rd, value_of(rd, n, "blocks"), "blocks", read_unit, &s);
    }
    finish_units(rd, &s, errors);
}

static void read_rings(struct reader *rd, const yaml_node_t *n)
{
    static const char *const keys[] = { "rings", NULL };
    static const char *const unit[] = { "ring", "nodes", NULL };
    struct simple s = { .key = "ring", .keys = unit };
    size_t errors = rd->tl->l.nerrors;

    if (check_keys(rd, n, "ring", keys))
        walk_list(rd, value_of(rd, n, "rings"), "rings", read_unit, &s);
    finish_units(rd, &s, errors);
}

static void read_flat(struct reader *rd, const yaml_node_t *n)
{
    static const char *const keys[] = { "alpha_step_rank", NULL };

    if (n->type == YAML_MAPPING_NODE && check_keys(rd, n, "flat", keys))
        rd->t->alpha_rank = read_bool(rd, value_of(rd, n, "alpha_step_rank"), "alpha_step_rank");
}

/* ---- toruses --------------------------------------------------------------------------------- */

static bool read_xyz(struct reader *rd, const yaml_node_t *n, const char *what, uint32_t xyz[3])
{
    static const char *const keys[] = { "x", "y", "z", NULL };

    if (!check_keys(rd, n, what, keys))
        return false;
    for (unsigned i = 0; i < 3; i++) {
        const char *text = scalar_of(value_of(rd, n, keys[i]));
        uint64_t v;

        if (!text || parse_u64(text, 0, UINT16_MAX, &v) < 0) {
            conf_error(&rd->tl->l, rd->tl->file, line_of(n), "%s: %s is a number from 0 to %u",
                       what, keys[i], UINT16_MAX);
            return false;
        }
        xyz[i] = (uint32_t)v;
    }
    return true;
}

static bool read_dims(struct reader *rd, const yaml_node_t *map, uint32_t dims[3])
{
    const yaml_node_t *n = value_of(rd, map, "dims");

    if (is_empty(n)) {
        report_node(rd, map, "dims: x, y and z are missing");
        return false;
    }
    return read_xyz(rd, n, "dims", dims);
}

static void read_region(struct reader *rd, const yaml_node_t *entry, void *arg)
{
    static const char *const keys[] = { "anchor", "dims", "nodes", NULL };
    struct conf_topo_unit *u = arg;
    uint32_t anchor[3] = { 0 }, dims[3];
    const yaml_node_t *at;
    const char *list, **nodes = NULL;
    size_t n = 0;

    if (!check_keys(rd, entry, "region", keys) || !read_dims(rd, entry, dims))
        return;
    at = value_of(rd, entry, "anchor");
    list = list_text(rd, value_of(rd, entry, "nodes"), "nodes");
    if (!is_empty(at) && !read_xyz(rd, at, "anchor", anchor))
        return;
    if (!list)
        report_node(rd, entry, "a region needs nodes");
    else if (conf_topo_nodes(rd->tl, list, line_of(entry), &nodes, &n))
        conf_topotorus_region(rd->tl, u, line_of(entry), anchor, dims, nodes, n);
}

struct places {
    struct conf_topo_unit *u;
    size_t room;
};

static void read_placement(struct reader *rd, const yaml_node_t *entry, void *arg)
{
    static const char *const keys[] = { "dims", "anchor_seed", "anchor_spacing", NULL };
    struct places *ps = arg;
    struct conf_topo_place p = { .seed = { 0 } };
    const yaml_node_t *seed, *spacing;

    if (!check_keys(rd, entry, "placement", keys) || !read_dims(rd, entry, p.dims))
        return;
    seed = value_of(rd, entry, "anchor_seed");
    spacing = value_of(rd, entry, "anchor_spacing");
    memcpy(p.spacing, p.dims, sizeof(p.spacing));
    if ((is_empty(seed) || read_xyz(rd, seed, "anchor_seed", p.seed)) &&
        (is_empty(spacing) || read_xyz(rd, spacing, "anchor_spacing", p.spacing)) &&
        conf_topotorus_place(rd->tl, ps->u, line_of(entry), &p) && ps->u->nplaces < ps->room)
        ps->u->places[ps->u->nplaces++] = p;
}

static void read_placements(struct reader *rd, const yaml_node_t *list, struct conf_topo_unit *u)
{
    struct places ps = { .u = u };

    if (is_empty(list))
        return;
    if (list->type == YAML_SEQUENCE_NODE)
        ps.room = (size_t)(list->data.sequence.items.top - list->data.sequence.items.start);
    if (ps.room > CONF_TOPO_PLACES) {
        conf_error(&rd->tl->l, rd->tl->file, line_of(list), "more than %u placements",
                   CONF_TOPO_PLACES);
        return;
    }
    u->places = conf_topo_alloc(rd->tl, ps.room, sizeof(*u->places));
    if (!u->places)
        return;
    walk_list(rd, list, "placements", read_placement, &ps);
    conf_topotorus_sort(u);
}

static void read_torus(struct reader *rd, const yaml_node_t *entry, void *arg)
{
    static const char *const keys[] = { "name", "dims", "nodes", "regions", "placements", NULL };
    const yaml_node_t *regions = value_of(rd, entry, "regions");
    struct conf_topo_unit *u;
    const char *name, *list, **nodes;
    uint32_t dims[3];
    size_t n;

    (void)arg;
    if (!check_keys(rd, entry, "torus", keys))
        return;
    name = read_name(rd, entry, "name");
    if (!name || !read_dims(rd, entry, dims))
        return;
    u = conf_topo_add_unit(rd->tl, rd->t, name, line_of(entry));
    if (!u || !conf_topotorus_dims(rd->tl, u, dims))
        return;
    list = list_text(rd, value_of(rd, entry, "nodes"), "nodes");
    if (list && !is_empty(regions))
        report_node(rd, entry, "a torus has nodes or regions, not both");
    else if (list && conf_topo_nodes(rd->tl, list, line_of(entry), &nodes, &n))
        conf_topotorus_region(rd->tl, u, line_of(entry), (const uint32_t[3]){ 0 }, dims, nodes, n);
    else
        walk_list(rd, regions, "regions", read_region, u);
    read_placements(rd, value_of(rd, entry, "placements"), u);
}

static void read_toruses(struct reader *rd, const yaml_node_t *n)
{
    static const char *const keys[] = { "toruses", NULL };
    size_t errors = rd->tl->l.nerrors;

    if (check_keys(rd, n, "torus3d", keys))
        walk_list(rd, value_of(rd, n, "toruses"), "toruses", read_torus, NULL);
    if (rd->tl->l.nerrors == errors && !rd->tl->no_memory)
        conf_topocheck(rd->tl, rd->t, NULL);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static const struct {
    const char *key;
    enum conf_topo_kind kind;
    void (*read)(struct reader *rd, const yaml_node_t *n);
} kinds[] = {
    { "tree", CONF_TOPO_TREE, read_tree },       { "block", CONF_TOPO_BLOCK, read_blocks },
    { "ring", CONF_TOPO_RING_KIND, read_rings }, { "torus3d", CONF_TOPO_TORUS, read_toruses },
    { "flat", CONF_TOPO_FLAT, read_flat },
};

/* Is the kind written?  `flat: false` is not. */
static bool kind_given(struct reader *rd, const yaml_node_t *n, const char *key)
{
    return !is_empty(n) &&
           (strcmp(key, "flat") != 0 || n->type != YAML_SCALAR_NODE || read_bool(rd, n, key));
}

static void read_kind(struct reader *rd, const yaml_node_t *entry)
{
    const char *first = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        const yaml_node_t *n = value_of(rd, entry, kinds[i].key);

        if (!kind_given(rd, n, kinds[i].key))
            continue;
        if (first) {
            conf_error(&rd->tl->l, rd->tl->file, line_of(n), "topology %s has %s already, and %s",
                       rd->t->name, first, kinds[i].key);
            return;
        }
        first = kinds[i].key;
        rd->t->kind = kinds[i].kind;
        kinds[i].read(rd, n);
    }
    if (!first && !value_of(rd, entry, "flat"))
        conf_error(&rd->tl->l, rd->tl->file, line_of(entry),
                   "topology %s has none of tree, block, ring, torus3d, flat", rd->t->name);
}

static void read_topology(struct reader *rd, const yaml_node_t *entry, void *arg)
{
    static const char *const keys[] = { "topology", "cluster_default", "tree", "block",
                                        "ring",     "torus3d",         "flat", NULL };
    const char *name;

    (void)arg;
    if (!check_keys(rd, entry, "topology", keys))
        return;
    name = read_name(rd, entry, "topology");
    if (!name)
        return;
    for (size_t i = 0; i < rd->tl->out->n; i++)
        if (strcmp(rd->tl->out->items[i].name, name) == 0)
            conf_error(&rd->tl->l, rd->tl->file, line_of(entry),
                       "topology %.64s is defined already in line %u", name,
                       rd->tl->out->items[i].line);
    rd->t = conf_topo_add(rd->tl, name, line_of(entry));
    if (!rd->t)
        return;
    rd->t->is_default = read_bool(rd, value_of(rd, entry, "cluster_default"), "cluster_default");
    read_kind(rd, entry);
}

static void read_document(struct reader *rd)
{
    const yaml_node_t *root = yaml_document_get_root_node(rd->doc);

    if (is_empty(root)) {
        conf_error(&rd->tl->l, rd->tl->file, 0, "the file has no topology");
        return;
    }
    walk_list(rd, root, "topology.yaml", read_topology, NULL);
}

int conf_topoyaml_read(struct topo_loader *tl, const struct conf_source *src)
{
    yaml_document_t doc;
    struct reader rd = { .tl = tl, .doc = &doc };
    struct yamldoc_fault fault;
    int r = yamldoc_load(src->text, src->len, &doc, &fault);

    if (r == -ENOMEM) {
        tl->no_memory = true;
    } else if (r < 0) {
        conf_error(&tl->l, tl->file, (unsigned)fault.line, "no YAML: %s", fault.why);
    } else {
        read_document(&rd);
        yaml_document_delete(&doc);
    }
    return 0;
}
