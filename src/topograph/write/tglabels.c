/* tglabels.c - see tglabels.h */
#include "topograph/write/tglabels.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "topograph/read/docjson.h"
#include "topograph/read/kubenodes.h"

#define VALUE_MAX 63u

static bool is_alnum_ascii(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* What Kubernetes takes as a value: letters and digits at both ends, also . _ - within. */
static bool is_value(const char *text)
{
    size_t len = strlen(text);

    if (!len || len > VALUE_MAX || !is_alnum_ascii(text[0]) || !is_alnum_ascii(text[len - 1]))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!is_alnum_ascii(text[i]) && !strchr("._-", text[i]))
            return false;
    return true;
}

static json_t *label_value(const char *text)
{
    char hashed[32];

    if (is_value(text))
        return json_string(text);
    (void)snprintf(hashed, sizeof(hashed), "x%016llx", (unsigned long long)fnv_text(text));
    return json_string(hashed);
}

static int set_label(json_t *labels, const char *key, const char *value)
{
    return json_object_set_new(labels, key, label_value(value));
}

static json_t *labels_of(const struct graph *g, const struct graph_node *n,
                         const struct tglabels_params *p)
{
    json_t *labels = json_object();
    int r = labels ? 0 : -1;
    size_t tier = 0;
    char key[64];

    for (uint32_t sw = n->leaf; r == 0 && sw != GRAPH_NONE; sw = g->switches[sw].parent, tier++) {
        (void)snprintf(key, sizeof(key), "%s%zu", KUBENODES_TIER, tier); /* fits */
        r = set_label(labels, tier < p->ntiers ? p->tiers[tier] : key, g->switches[sw].name);
    }
    if (r == 0 && n->domain && !p->foreign_domain)
        r = set_label(labels, p->domain ? p->domain : KUBENODES_DOMAIN, n->domain);
    if (r == 0 && n->subdomain && !p->foreign_domain)
        r = set_label(labels, KUBENODES_SUBDOMAIN, n->subdomain);
    if (r == 0)
        return labels;
    json_decref(labels);
    return NULL;
}

static json_t *kubernetes_node(const struct graph *g, const struct graph_node *n,
                               const struct tglabels_params *p)
{
    json_t *labels = labels_of(g, n, p);

    return labels ? json_pack("{s:s, s:o}", "name", n->name, "labels", labels) : NULL;
}

static json_t *instance_of(const struct graph *g, const struct graph_node *n,
                           const struct tglabels_params *none)
{
    json_t *layers = json_array(), *labels = json_object();
    int r = layers && labels ? 0 : -1;

    (void)none;
    for (uint32_t sw = n->leaf; r == 0 && sw != GRAPH_NONE; sw = g->switches[sw].parent)
        r = json_array_append_new(layers, json_string(g->switches[sw].name));
    if (r == 0 && n->domain)
        r = json_object_set_new(labels, KUBENODES_DOMAIN, json_string(n->domain));
    if (r == 0 && n->subdomain)
        r = json_object_set_new(labels, KUBENODES_SUBDOMAIN, json_string(n->subdomain));
    if (r == 0)
        return json_pack("{s:s, s:o, s:o}", "id", n->id, "network_layers", layers, "labels",
                         labels);
    json_decref(layers);
    json_decref(labels);
    return NULL;
}

static int add_dump(const char *buffer, size_t size, void *data)
{
    struct strbuf *out = data;

    strbuf_addn(out, buffer, size);
    return out->failed ? -1 : 0;
}

static int write_nodes(const struct graph *g, const char *list, const struct tglabels_params *p,
                       json_t *(*make)(const struct graph *g, const struct graph_node *n,
                                       const struct tglabels_params *p),
                       struct strbuf *out, struct err *err)
{
    _cleanup_json_ json_t *document = json_object();
    json_t *nodes = json_array();
    int r = document && json_object_set_new(document, list, nodes) == 0 ? 0 : -1;

    for (size_t i = 0; r == 0 && i < g->nnodes; i++) {
        json_t *node = make(g, &g->nodes[i], p);

        /* What the graph holds may be no UTF-8: then it cannot be written. */
        if (!node || json_array_append_new(nodes, node) < 0)
            return err_set(err, -EINVAL, "node %.64s: its switches or domain are no UTF-8",
                           g->nodes[i].name);
    }
    if (r < 0 || json_dump_callback(document, add_dump, out, JSON_INDENT(2)) < 0)
        return err_nomem(err);
    strbuf_addc(out, '\n');
    return out->failed ? err_nomem(err) : 0;
}

int tglabels_kubernetes(const struct graph *g, const struct tglabels_params *p, struct strbuf *out,
                        struct err *err)
{
    return write_nodes(g, "nodes", p, kubernetes_node, out, err);
}

int tglabels_instances(const struct graph *g, struct strbuf *out, struct err *err)
{
    return write_nodes(g, "instances", NULL, instance_of, out, err);
}
