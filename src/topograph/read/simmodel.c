/* simmodel.c - see simmodel.h
 *
 * The document is loaded as a tree and walked.  An alias is a few bytes that stand for many, so
 * steps are counted. */
#include "topograph/read/simmodel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/yaml/yamldoc.h"

#define STEPS_MAX 2000000u

struct notes { /* annotations that count; NULL: not said */
    const char *domain, *subdomain;
};
struct model {
    yaml_document_t doc;
    const struct graph_wanted *wanted;
    struct graph *g;
    struct err *err;
    struct notes *of; /* by switch, cap of them */
    size_t cap;
    unsigned steps;
};

static int report_at(struct model *m, const yaml_node_t *at, const char *what)
{
    return err_set(m->err, -EINVAL, "line %zu: %s", at->start_mark.line + 1, what);
}

/* What happened below was said without its place. */
static int place_error(struct model *m, const yaml_node_t *at, int r)
{
    if (r < 0)
        err_prefix(m->err, "line %zu", at->start_mark.line + 1);
    return r;
}

static const char *scalar_text(const yaml_node_t *n)
{
    return n->type == YAML_SCALAR_NODE && n->data.scalar.length &&
                   strlen((const char *)n->data.scalar.value) == n->data.scalar.length
               ? (const char *)n->data.scalar.value
               : NULL;
}

static int count_step(struct model *m, const yaml_node_t *at)
{
    return ++m->steps > STEPS_MAX ? report_at(m, at, "the model is too large") : 0;
}

/* The value of a key of a mapping, NULL: not there. */
static yaml_node_t *value_of(struct model *m, const yaml_node_t *map, const char *key)
{
    if (map->type != YAML_MAPPING_NODE)
        return NULL;
    for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top;
         p++) {
        const char *name = scalar_text(yaml_document_get_node(&m->doc, p->key));

        m->steps++;
        if (name && strcmp(name, key) == 0)
            return yaml_document_get_node(&m->doc, p->value);
    }
    return NULL;
}

/* Nothing but these keys. */
static int check_keys(struct model *m, const yaml_node_t *map, const char *const *keys)
{
    if (map->type != YAML_MAPPING_NODE)
        return report_at(m, map, "a mapping is expected here");
    for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top;
         p++) {
        const yaml_node_t *key = yaml_document_get_node(&m->doc, p->key);
        const char *name = scalar_text(key);
        size_t i = 0;

        while (name && keys[i] && strcmp(keys[i], name) != 0)
            i++;
        if (!name || !keys[i])
            return err_set(m->err, -EINVAL, "line %zu: unknown key %.64s", key->start_mark.line + 1,
                           name ? name : "");
        if (count_step(m, key) < 0)
            return -EINVAL;
    }
    return 0;
}

static int read_notes(struct model *m, const yaml_node_t *map, struct notes *ret)
{
    const yaml_node_t *annotations = value_of(m, map, "annotations"), *v;

    if (!annotations)
        return 0;
    if (annotations->type != YAML_MAPPING_NODE)
        return report_at(m, annotations, "annotations must be a mapping");
    v = value_of(m, annotations, SIMMODEL_DOMAIN);
    ret->domain = v ? scalar_text(v) : NULL;
    v = value_of(m, annotations, SIMMODEL_SUBDOMAIN);
    ret->subdomain = v ? scalar_text(v) : NULL;
    return count_step(m, annotations);
}

/* Notes for each switch that the graph has. */
static int reserve_notes(struct model *m)
{
    size_t cap = m->g->cap_switches;
    struct notes *of;

    if (m->g->nswitches <= m->cap)
        return 0;
    of = reallocarray(m->of, cap, sizeof(*of));
    if (!of)
        return err_nomem(m->err);
    memset(of + m->cap, 0, (cap - m->cap) * sizeof(*of));
    m->of = of;
    m->cap = cap;
    return 0;
}

static int put_switch(struct model *m, const yaml_node_t *at, const char *name, uint32_t *ret)
{
    int r = name ? graph_add_switch(m->g, name, NULL, ret, m->err)
                 : err_set(m->err, -EINVAL, "the name of a switch is expected");

    return place_error(m, at, r == 0 ? reserve_notes(m) : r);
}

/* The names of a sequence of lists of names, or of one. */
static int read_names(struct model *m, const yaml_node_t *list, struct hostlist **ret_hl)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    int r = hostlist_parse_most("", GRAPH_NODES_MAX, &hl, m->err);

    if (r < 0)
        return r;
    if (list->type == YAML_SCALAR_NODE) {
        r = place_error(m, list, hostlist_push_list(hl, scalar_text(list), m->err));
    } else if (list->type == YAML_SEQUENCE_NODE) {
        for (yaml_node_item_t *i = list->data.sequence.items.start;
             r == 0 && i < list->data.sequence.items.top; i++) {
            const yaml_node_t *v = yaml_document_get_node(&m->doc, *i);

            if (!scalar_text(v))
                return report_at(m, v, "a list of names is expected here");
            r = place_error(m, v, hostlist_push_list(hl, scalar_text(v), m->err));
            if (r == 0)
                r = count_step(m, v);
        }
    } else {
        return report_at(m, list, "a list of names is expected here");
    }
    m->steps += (unsigned)hostlist_count(hl);
    if (r == 0)
        *ret_hl = TAKE_PTR(hl);
    return r;
}

static int read_switch(struct model *m, const yaml_node_t *key, const yaml_node_t *value)
{
    static const char *const keys[] = { "labels", "annotations", "switches", NULL };
    _cleanup_(hostlist_free) struct hostlist *below = NULL;
    const yaml_node_t *list;
    uint32_t sw, child;
    int r = put_switch(m, key, scalar_text(key), &sw);

    if (r == 0)
        r = check_keys(m, value, keys);
    if (r == 0)
        r = read_notes(m, value, &m->of[sw]);
    list = r == 0 ? value_of(m, value, "switches") : NULL;
    if (list)
        r = read_names(m, list, &below);
    for (size_t i = 0; r == 0 && below && i < hostlist_count(below); i++) {
        r = put_switch(m, list, hostlist_nth(below, i), &child);
        if (r == 0)
            r = place_error(m, list, graph_set_parent(m->g, child, sw, m->err));
        if (r == 0)
            r = count_step(m, list);
    }
    return r;
}

static int read_switches(struct model *m, const yaml_node_t *map)
{
    int r = 0;

    if (map->type != YAML_MAPPING_NODE)
        return report_at(m, map, "switches must be a mapping");
    for (yaml_node_pair_t *p = map->data.mapping.pairs.start;
         r == 0 && p < map->data.mapping.pairs.top; p++)
        r = read_switch(m, yaml_document_get_node(&m->doc, p->key),
                        yaml_document_get_node(&m->doc, p->value));
    return r;
}

/* What holds for a block: its own annotations, else those of the nearest switch. */
static void inherit_notes(const struct model *m, uint32_t sw, struct notes *n)
{
    for (unsigned tiers = 0; sw != GRAPH_NONE && tiers < GRAPH_TIERS_MAX; tiers++) {
        n->domain = n->domain ? n->domain : m->of[sw].domain;
        n->subdomain = n->subdomain ? n->subdomain : m->of[sw].subdomain;
        sw = m->g->switches[sw].parent;
    }
}

static int put_node(struct model *m, const char *name, uint32_t sw, const struct notes *n)
{
    char id[HOSTLIST_MAX_NAME + 8];
    uint32_t node;
    int r;

    (void)snprintf(id, sizeof(id), "i-%s", name); /* names of lists are bounded */
    if (m->wanted && !graph_wanted_name(m->wanted, id)) {
        const char *asked = graph_wanted_id(m->wanted, name);

        if (!asked)
            return 0;
        (void)snprintf(id, sizeof(id), "%s", asked);
    }
    if (graph_find_node(m->g, id) != GRAPH_NONE)
        return err_set(m->err, -EINVAL, "node %.64s is in two blocks", name);
    r = graph_add_node(m->g, id, name, &node, m->err);
    if (r == 0)
        r = graph_attach(m->g, node, sw, m->err);
    if (r == 0 && n->domain)
        r = graph_set_domain(m->g, node, n->domain, n->subdomain, m->err);
    return r;
}

static int read_block(struct model *m, const yaml_node_t *block)
{
    static const char *const keys[] = { "switch", "nodes", "labels", "annotations", NULL };
    _cleanup_(hostlist_free) struct hostlist *names = NULL;
    const yaml_node_t *at, *list;
    struct notes notes = { 0 };
    uint32_t sw;
    int r = check_keys(m, block, keys);

    if (r < 0)
        return r;
    at = value_of(m, block, "switch");
    list = value_of(m, block, "nodes");
    if (!at || !scalar_text(at))
        return report_at(m, block, "a block needs its switch");
    sw = graphindex_find(&m->g->switch_ids, scalar_text(at));
    if (sw == GRAPH_NONE)
        return err_set(m->err, -EINVAL, "line %zu: there is no switch %.64s",
                       at->start_mark.line + 1, scalar_text(at));
    r = reserve_notes(m); /* another model may have made the switch */
    if (r == 0)
        r = read_notes(m, block, &notes);
    if (r == 0 && list)
        r = read_names(m, list, &names);
    if (r == 0 && (!names || !hostlist_count(names)))
        return report_at(m, block, "a block without nodes");
    inherit_notes(m, sw, &notes);
    for (size_t i = 0; r == 0 && i < hostlist_count(names); i++)
        r = place_error(m, list, put_node(m, hostlist_nth(names, i), sw, &notes));
    return r == 0 ? count_step(m, block) : r;
}

static int read_model(struct model *m)
{
    static const char *const keys[] = { "switches", "blocks", NULL };
    const yaml_node_t *root = yaml_document_get_root_node(&m->doc), *part;
    int r = root ? check_keys(m, root, keys) : err_set(m->err, -EINVAL, "the model is empty");

    if (r < 0)
        return r;
    part = value_of(m, root, "switches");
    if (part)
        r = read_switches(m, part);
    part = value_of(m, root, "blocks");
    if (r == 0 && (!part || part->type != YAML_SEQUENCE_NODE))
        return report_at(m, part ? part : root, "a model needs a list of blocks");
    for (yaml_node_item_t *i = r == 0 ? part->data.sequence.items.start : NULL;
         r == 0 && i < part->data.sequence.items.top; i++)
        r = read_block(m, yaml_document_get_node(&m->doc, *i));
    return r;
}

int simmodel_read(const char *text, size_t len, const struct graph_wanted *wanted, struct graph *g,
                  struct err *err)
{
    struct model m = { .wanted = wanted, .g = g, .err = err };
    struct yamldoc_fault fault;
    int r = yamldoc_load(text, len, &m.doc, &fault);

    if (r < 0)
        return r == -ENOMEM ? err_nomem(err)
                            : err_set(err, r, "line %zu: %s", fault.line, fault.why);
    r = read_model(&m);
    free(m.of);
    yaml_document_delete(&m.doc);
    return r;
}
