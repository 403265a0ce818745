/* kubenodes.c - see kubenodes.h */
#include "topograph/read/kubenodes.h"

#include <errno.h>
#include <stdio.h>

#include "topograph/read/docjson.h"

/* Keys of labels are compared as they are. */
static const char *label_of(const json_t *labels, const char *key)
{
    const char *text = json_string_value(json_object_get(labels, key));

    return text && *text ? text : NULL;
}

static int read_tiers(const json_t *labels, struct graph *g, uint32_t node, struct err *err)
{
    const char *tiers[GRAPH_TIERS_MAX];
    char key[64];
    size_t n = 0;

    while (n < GRAPH_TIERS_MAX) {
        (void)snprintf(key, sizeof(key), "%s%zu", KUBENODES_TIER, n); /* fits */
        tiers[n] = label_of(labels, key);
        if (!tiers[n])
            break;
        n++;
    }
    return graph_add_path(g, node, tiers, n, err);
}

static int read_node(const json_t *item, const char *clique, const struct graph_wanted *wanted,
                     struct graph *g, struct err *err)
{
    const json_t *meta = json_object_get(item, "metadata");
    const json_t *labels = json_object_get(meta, "labels");
    const json_t *annotations = json_object_get(meta, "annotations");
    const char *name = label_of(meta, "name"), *domain = label_of(labels, clique);
    const char *id = label_of(annotations, "topograph.run/instance"), *sub = NULL;
    uint32_t node;
    int r;

    if (!name)
        return err_set(err, -EINVAL, "no metadata.name");
    id = id ? id : name;
    if (wanted && !graph_wanted_name(wanted, id)) {
        id = graph_wanted_id(wanted, name); /* asked for by its name */
        if (!id)
            return 0;
    }
    if (!domain) {
        domain = label_of(labels, KUBENODES_DOMAIN);
        sub = label_of(labels, KUBENODES_SUBDOMAIN);
    }
    if (!domain)
        domain = label_of(annotations, "topograph.run/cluster-id");
    r = graph_add_node(g, id, name, &node, err);
    if (r == 0)
        r = read_tiers(labels, g, node, err);
    return r == 0 && domain ? graph_set_domain(g, node, domain, sub, err) : r;
}

int kubenodes_read(const char *text, size_t len, const char *clique,
                   const struct graph_wanted *wanted, struct graph *g, struct err *err)
{
    _cleanup_json_ json_t *document = NULL;
    const json_t *items;
    int r = docjson_parse(text, len, &document, err);

    if (r < 0)
        return r;
    items = docjson_list(document, "items");
    if (!items)
        return err_set(err, -EINVAL, "no list of nodes (items) in the document");
    for (size_t i = 0; r == 0 && i < json_array_size(items); i++) {
        r = read_node(json_array_get(items, i), clique ? clique : KUBENODES_CLIQUE, wanted, g, err);
        if (r < 0)
            err_prefix(err, "items[%zu]", i);
    }
    return r;
}
