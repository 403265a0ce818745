/* netq.c - see netq.h */
#include "topograph/read/netq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topograph/fabric.h"
#include "topograph/read/docjson.h"

#define HOST_TIER (-1)
#define LINK_MIDDLE "-*-"

struct part {
    json_int_t tier;
    uint32_t number; /* host or switch of the fabric; GRAPH_NONE: not asked for */
};
struct netq {
    const struct graph_wanted *wanted;
    struct fabric *fabric;
    struct graphpool pool;
    struct graphindex ids; /* -> parts */
    struct part *parts;
    size_t nparts, cap_parts;
    struct err *err;
};

static int keep_part(struct netq *q, const char *id, struct part part)
{
    const char *key = graphpool_add(&q->pool, id, strlen(id));

    if (graphindex_find(&q->ids, id) != GRAPH_NONE)
        return err_set(q->err, -EINVAL, "node %.64s stands twice", id);
    if (q->nparts == q->cap_parts) {
        size_t cap = q->cap_parts ? q->cap_parts * 2 : 256;
        struct part *parts = reallocarray(q->parts, cap, sizeof(*parts));

        if (!parts)
            return err_nomem(q->err);
        q->parts = parts;
        q->cap_parts = cap;
    }
    if (!key || graphindex_put(&q->ids, key, (uint32_t)q->nparts) < 0)
        return err_nomem(q->err);
    q->parts[q->nparts++] = part;
    return 0;
}

static int read_part(struct netq *q, const json_t *node)
{
    const char *id = docjson_text(docjson_at(node, "id"), NULL, 0);
    const char *name = docjson_text(docjson_at(node, "name"), NULL, 0);
    const json_t *tier = docjson_at(node, "tier");
    struct part part = { json_integer_value(tier), GRAPH_NONE };
    const char *host;
    int r = 0;

    if (!json_is_string(docjson_at(node, "id")) || !id || !json_is_integer(tier))
        return err_set(q->err, -EINVAL, "a node without a text as id and a number as tier");
    if (!json_is_string(docjson_at(node, "name")))
        name = NULL;
    host = graph_wanted_id(q->wanted, name ? name : id);
    if (part.tier != HOST_TIER)
        r = fabric_add_switch(q->fabric, id, name, &part.number, q->err);
    else if (host)
        r = fabric_add_host(q->fabric, host, name ? name : id, &part.number, q->err);
    return r == 0 ? keep_part(q, id, part) : r;
}

static const struct part *find_part(struct netq *q, const char *id, size_t len)
{
    char key[GRAPH_NAME_MAX + 1];
    uint32_t i;

    if (!len || len > GRAPH_NAME_MAX)
        return NULL;
    memcpy(key, id, len);
    key[len] = '\0';
    i = graphindex_find(&q->ids, key);
    return i == GRAPH_NONE ? NULL : &q->parts[i];
}

static int read_link(struct netq *q, const json_t *link)
{
    const char *id = json_string_value(docjson_at(link, "id"));
    const char *middle = id ? strstr(id, LINK_MIDDLE) : NULL;
    const struct part *a, *b;

    if (!middle)
        return err_set(q->err, -EINVAL, "a link whose id is not A%sB", LINK_MIDDLE);
    a = find_part(q, id, (size_t)(middle - id));
    b = find_part(q, middle + strlen(LINK_MIDDLE), strlen(middle + strlen(LINK_MIDDLE)));
    if (!a || !b || a->number == GRAPH_NONE || b->number == GRAPH_NONE || a->tier == b->tier)
        return 0; /* an end that is not asked for, or a cable between equals */
    if (a->tier > b->tier) {
        const struct part *swap = a;

        a = b;
        b = swap;
    }
    return a->tier == HOST_TIER ? fabric_plug(q->fabric, a->number, b->number, q->err)
                                : fabric_link(q->fabric, a->number, b->number, q->err);
}

static int read_graph(struct netq *q, const json_t *document)
{
    const json_t *nodes = docjson_at(document, "nodes"), *links = docjson_at(document, "links");
    int r = 0;

    for (size_t i = 0; i < json_array_size(nodes); i++) {
        const json_t *parts = docjson_at(json_array_get(nodes, i), "compoundednodes");

        for (size_t k = 0; r == 0 && k < json_array_size(parts); k++)
            r = read_part(q, json_array_get(parts, k));
        if (r < 0) {
            err_prefix(q->err, "nodes[%zu]", i);
            return r;
        }
    }
    for (size_t i = 0; r == 0 && i < json_array_size(links); i++) {
        r = read_link(q, json_array_get(links, i));
        if (r < 0)
            err_prefix(q->err, "links[%zu]", i);
    }
    return r;
}

static int read_domains(const json_t *document, const struct graph_wanted *wanted, struct graph *g,
                        struct err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < json_array_size(document); i++) {
        const json_t *row = json_array_get(document, i);
        const char *name = json_string_value(docjson_at(row, "name"));
        const char *domain = json_string_value(docjson_at(row, "domainuuid"));
        const char *id = name ? graph_wanted_id(wanted, name) : NULL;
        uint32_t node;

        if (!name)
            return err_set(err, -EINVAL, "compute node %zu has no Name", i);
        if (!id || !domain || !*domain)
            continue;
        r = graph_add_node(g, id, name, &node, err);
        if (r == 0)
            r = graph_set_domain(g, node, domain, NULL, err);
    }
    return r;
}

int netq_read(const char *text, size_t len, const struct graph_wanted *wanted, struct graph *g,
              struct err *err)
{
    _cleanup_json_ json_t *document = NULL;
    struct netq q = { .wanted = wanted, .err = err };
    int r = docjson_parse(text, len, &document, err);

    if (r < 0)
        return r;
    if (!json_is_array(document))
        return err_set(err, -EINVAL, "an array is expected");
    if (!docjson_at(json_array_get(document, 0), "nodes"))
        return read_domains(document, wanted, g, err);
    if (json_array_size(document) != 1)
        return err_set(err, -EINVAL, "an array with exactly one element is expected, and not %zu",
                       json_array_size(document));
    r = fabric_new(&q.fabric) < 0 ? err_nomem(err) : read_graph(&q, json_array_get(document, 0));
    if (r == 0)
        r = fabric_build(q.fabric, g, err);
    fabric_free(q.fabric);
    graphpool_done(&q.pool);
    graphindex_done(&q.ids);
    free(q.parts);
    return r;
}
