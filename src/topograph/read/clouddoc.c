/* clouddoc.c - see clouddoc.h
 *
 * A provider is a row: where its documents hold the list, an instance's id, name, path and domain.
 */
#include "topograph/read/clouddoc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topograph/read/docjson.h"

#define SCALAR_TIERS 3u

/* Paths as docjson_first() takes them. */
static const struct cloud {
    const char *name;
    const char *lists; /* "": the document is an object NODE -> instance */
    const char *id, *node_name;
    const char *path;                 /* of a list of switches, NULL: they stand alone */
    const char *tiers[SCALAR_TIERS];  /* closest first; all of them or none count */
    const char *domain, *domain_more; /* more: appended behind a dot, as the domain needs it */
    const char *rack;                 /* sub-domain DOMAIN.RACK */
    size_t exactly;                   /* switches of a path, 0: as many as there are */
    bool root_first;
} clouds[] = {
    { .name = "aws",
      .lists = "instances",
      .id = "instanceid",
      .path = "networknodes",
      .domain = "capacityblockid",
      .root_first = true },
    { .name = "gcp",
      .lists = "items|instances",
      .id = "id",
      .node_name = "name",
      .tiers = { "resourcestatus.physicalhosttopology.subblock",
                 "resourcestatus.physicalhosttopology.block",
                 "resourcestatus.physicalhosttopology.cluster" },
      .domain = "resourcestatus.physicalhosttopology.subblock" },
    { .name = "oci",
      .lists = "items|data.items|data",
      .id = "instanceid|id",
      .node_name = "hostname",
      .tiers = { "localblockid", "networkblockid", "hpcislandid" },
      .domain = "gpumemoryfabricid",
      .rack = "additionaldata.locationdetails.rack" },
    { .name = "oci-imds",
      .lists = "",
      .tiers = { "customerlocalblock|localblock|localblockid",
                 "customernetworkblock|networkblock|networkblockid",
                 "customerhpcislandid|hpcisland|hpcislandid" },
      .domain = "customergpumemoryfabric|gpumemoryfabric|gpumemoryfabricid" },
    { .name = "nebius",
      .lists = "items|instances",
      .id = "metadata.id",
      .node_name = "metadata.name",
      .path = "status.infinibandtopologypath.path|status.infinibandtopologypath",
      .domain = "spec.nvlinstancegroupid",
      .exactly = 3,
      .root_first = true },
    { .name = "nscale",
      .lists = "results|instances|items|data",
      .id = "instanceid|id",
      .node_name = "name|instancename",
      .path = "networknodepath",
      .domain = "blockid",
      .root_first = true },
    { .name = "lambdai",
      .lists = "data",
      .id = "id",
      .node_name = "name|hostname",
      .path = "networkpath",
      .domain = "nvlink.domainid",
      .domain_more = "nvlink.cliqueid" },
};

static const struct cloud *find_cloud(const char *provider)
{
    for (size_t i = 0; i < ARRAY_SIZE(clouds); i++)
        if (strcmp(clouds[i].name, provider) == 0)
            return &clouds[i];
    return NULL;
}

struct path {
    const char *tiers[GRAPH_TIERS_MAX]; /* closest first */
    char numbers[GRAPH_TIERS_MAX][24];  /* of ids that are numbers */
    size_t n;
};

/* A list of ids, or of objects with an id. */
static int read_list(const struct cloud *c, const json_t *list, struct path *p, struct err *err)
{
    size_t n = json_array_size(list);

    if (!json_is_array(list))
        return err_set(err, -EINVAL, "%.64s is no list", c->path);
    if (n > GRAPH_TIERS_MAX)
        return err_set(err, -EINVAL, "%.64s has more than %u switches", c->path, GRAPH_TIERS_MAX);
    if (n && c->exactly && n != c->exactly)
        return err_set(err, -EINVAL, "%.64s has %zu switches, and not %zu", c->path, n, c->exactly);
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(list, c->root_first ? n - 1 - i : i);

        if (json_is_object(v))
            v = docjson_at(v, "id");
        p->tiers[i] = docjson_text(v, p->numbers[i], sizeof(p->numbers[i]));
        if (!p->tiers[i])
            return err_set(err, -EINVAL, "%.64s: a switch without an id", c->path);
    }
    p->n = n;
    return 0;
}

static int read_path(const struct cloud *c, const json_t *instance, struct path *p, struct err *err)
{
    const json_t *list = c->path ? docjson_first(instance, c->path) : NULL;

    if (c->path)
        return list ? read_list(c, list, p, err) : 0;
    for (size_t i = 0; i < SCALAR_TIERS; i++) {
        p->tiers[i] = docjson_text(docjson_first(instance, c->tiers[i]), p->numbers[i],
                                   sizeof(p->numbers[i]));
        if (!p->tiers[i])
            return 0; /* all of them, or no path */
    }
    p->n = SCALAR_TIERS;
    return 0;
}

static int read_domain(const struct cloud *c, const json_t *instance, struct graph *g,
                       uint32_t node, struct err *err)
{
    char a[24], b[24], domain[2 * DOCJSON_TEXT_MAX], sub[3 * DOCJSON_TEXT_MAX];
    const char *first = docjson_text(docjson_first(instance, c->domain), a, sizeof(a));
    const char *more =
        c->domain_more ? docjson_text(docjson_first(instance, c->domain_more), b, sizeof(b)) : NULL;
    const char *rack =
        c->rack ? docjson_text(docjson_first(instance, c->rack), b, sizeof(b)) : NULL;

    if (!first || (c->domain_more && !more))
        return 0;
    (void)snprintf(domain, sizeof(domain), "%s%s%s", first, more ? "." : "", more ? more : "");
    (void)snprintf(sub, sizeof(sub), "%s.%s", domain, rack ? rack : ""); /* both fit */
    return graph_set_domain(g, node, domain, rack ? sub : NULL, err);
}

static int read_instance(const struct cloud *c, const char *id, const json_t *instance,
                         const struct graph_wanted *wanted, struct graph *g, struct err *err)
{
    char a[24], b[24];
    const char *name = NULL;
    struct path p = { .n = 0 };
    uint32_t node;
    int r;

    if (!json_is_object(instance))
        return err_set(err, -EINVAL, "an object is expected here");
    if (!id)
        id = docjson_text(docjson_first(instance, c->id), a, sizeof(a));
    if (!id)
        return err_set(err, -EINVAL, "no id (%.64s)", c->id);
    if (c->node_name)
        name = docjson_text(docjson_first(instance, c->node_name), b, sizeof(b));
    if (wanted && !graph_wanted_name(wanted, id))
        return 0;
    r = read_path(c, instance, &p, err);
    if (r == 0)
        r = graph_add_node(g, id, name, &node, err);
    if (r == 0 && p.n)
        r = graph_add_path(g, node, p.tiers, p.n, err);
    return r == 0 ? read_domain(c, instance, g, node, err) : r;
}

/* An object NODE -> instance; nodes are told by their names. */
static int read_by_node(const struct cloud *c, json_t *document, const struct graph_wanted *wanted,
                        struct graph *g, struct err *err)
{
    const char *key;
    json_t *value;
    int r = 0;

    json_object_foreach(document, key, value)
    {
        const char *id = graph_wanted_id(wanted, key);

        /* The answer for the whole host holds the part that is meant. */
        if (docjson_at(value, "rdmatopologydata"))
            value = (json_t *)(uintptr_t)docjson_at(value, "rdmatopologydata");
        r = id ? read_instance(c, id, value, wanted, g, err) : 0;
        if (r < 0) {
            err_prefix(err, "%.64s", key);
            break;
        }
    }
    return r;
}

/* ---- lines `NODE: JSON` ---------------------------------------------------------------------- */

static int put_answer(json_t *document, const char *node, size_t len, const struct strbuf *text,
                      struct err *err)
{
    _cleanup_json_ json_t *answer = NULL;
    char name[GRAPH_NAME_MAX + 1];
    int r;

    if (text->failed)
        return err_nomem(err);
    if (!len || len > GRAPH_NAME_MAX)
        return err_set(err, -EINVAL, "%.*s: not the name of a node", (int)MIN(len, (size_t)64),
                       node);
    memcpy(name, node, len);
    name[len] = '\0';
    r = docjson_parse(strbuf_str(text), text->len, &answer, err);
    if (r < 0) {
        err_prefix(err, "answer of %.64s", name);
        return r;
    }
    if (json_object_set(document, name, answer) < 0)
        return err_set(err, -EINVAL, "%.64s: not the name of a node", name);
    return 0;
}

/* pdsh puts the node before each line of an answer, and mixes answers of several nodes: those of
 * one node stand in order.  Lines are put together by node first. */
struct answer {
    const char *node;
    size_t len;
    struct strbuf text;
};
struct answers {
    struct answer *items;
    size_t n, cap;
    struct graphpool pool;
    struct graphindex index;
};

static void answers_done(struct answers *a)
{
    for (size_t i = 0; i < a->n; i++)
        strbuf_done(&a->items[i].text);
    free(a->items);
    graphpool_done(&a->pool);
    graphindex_done(&a->index);
}

static struct answer *answer_of(struct answers *a, const char *node, size_t len)
{
    const char *name = graphpool_add(&a->pool, node, len);
    uint32_t i = name ? graphindex_find(&a->index, name) : GRAPH_NONE;

    if (!name)
        return NULL;
    if (i != GRAPH_NONE)
        return &a->items[i];
    if (a->n == a->cap) {
        size_t cap = a->cap ? a->cap * 2 : 64;
        struct answer *items = reallocarray(a->items, cap, sizeof(*items));

        if (!items)
            return NULL;
        a->items = items;
        a->cap = cap;
    }
    if (graphindex_put(&a->index, name, (uint32_t)a->n) < 0)
        return NULL;
    a->items[a->n] = (struct answer){ .node = name, .len = len };
    return &a->items[a->n++];
}

static int gather_lines(struct answers *a, const char *text, size_t len, struct err *err)
{
    unsigned number = 0;

    for (const char *at = text, *end = text + len; at < end;) {
        const char *eol = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((eol ? eol : end) - at);
        const char *colon = memchr(at, ':', n);
        struct answer *answer;

        number++;
        if (n && !colon)
            return err_set(err, -EINVAL, "line %u is not NODE: JSON", number);
        if (n) {
            answer = a->n < GRAPH_NODES_MAX ? answer_of(a, at, (size_t)(colon - at)) : NULL;
            if (!answer)
                return err_nomem(err);
            strbuf_addn(&answer->text, colon + 1, n - (size_t)(colon - at) - 1);
            strbuf_addc(&answer->text, '\n');
        }
        at += n + (eol != NULL);
    }
    return 0;
}

static int parse_lines(const char *text, size_t len, json_t **ret, struct err *err)
{
    _cleanup_val_(answers_done) struct answers a = { 0 };
    _cleanup_json_ json_t *document = json_object();
    int r = document ? gather_lines(&a, text, len, err) : err_nomem(err);

    for (size_t i = 0; r == 0 && i < a.n; i++)
        r = put_answer(document, a.items[i].node, a.items[i].len, &a.items[i].text, err);
    if (r == 0)
        *ret = TAKE_PTR(document);
    return r;
}

/* ---- documents ------------------------------------------------------------------------------- */

static int read_document(const struct cloud *c, const json_t *document,
                         const struct graph_wanted *wanted, struct graph *g, struct err *err)
{
    const json_t *list = docjson_list(document, c->lists);
    int r = 0;

    if (!list)
        return err_set(err, -EINVAL, "no list of instances (%.64s) in the document", c->lists);
    for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
        r = read_instance(c, NULL, json_array_get(list, i), wanted, g, err);
        if (r < 0)
            err_prefix(err, "instance %zu", i);
    }
    return r;
}

int clouddoc_read(const char *provider, const char *text, size_t len,
                  const struct graph_wanted *wanted, struct graph *g, struct err *err)
{
    const struct cloud *c = find_cloud(provider);
    _cleanup_json_ json_t *document = NULL;
    const char *first = text;
    int r;

    while (first < text + len && strchr(" \t\r\n", *first))
        first++;
    if (!c)
        return err_set(err, -EINVAL, "no such provider: %.64s", provider);
    if (!c->lists[0] && first < text + len && *first != '{')
        r = parse_lines(first, len - (size_t)(first - text), &document, err);
    else
        r = docjson_parse(text, len, &document, err);
    if (r < 0)
        return r;
    return c->lists[0] ? read_document(c, document, wanted, g, err)
                       : read_by_node(c, document, wanted, g, err);
}
