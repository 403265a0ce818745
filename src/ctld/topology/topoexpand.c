/* topoexpand.c - functions in lists of nodes: block{b1}, switchwith{cn7}, feature{gpu}
 *
 * Core thread.  Nodes of a function come in the order of their ids, each once. */
#include "ctld/topology/topoexpand.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/wordlist.h"
#include "ctld/topology/topology.h"

static int add_features(const struct ctld *ctld, const char *feature, struct bitmap *bm)
{
    const struct cluster *c = ctld->cluster;

    for (uint32_t i = 0; i < c->nnodes; i++) {
        const Pst__NodeRecord *r = c->nodes[i] ? c->nodes[i]->rec : NULL;
        const char *active = r && r->active_features ? r->active_features : r ? r->features : NULL;

        if (active && wordlist_has(active, feature))
            bitmap_set(bm, i);
    }
    return 0;
}

/* The nodes of a host list, as ids; the caller frees *ret. */
static int node_ids(const struct ctld *ctld, const char *list, uint32_t **ret, size_t *ret_n)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    _cleanup_free_ uint32_t *ids = NULL;
    int r = hostlist_parse_most(list, HOSTLIST_MAX_NODES, &hl, NULL);

    if (r < 0)
        return r == -ENOMEM ? r : -EINVAL;
    ids = calloc(hostlist_count(hl) + 1, sizeof(*ids));
    if (!ids)
        return -ENOMEM;
    for (size_t i = 0; i < hostlist_count(hl); i++) {
        const struct node *n = cluster_node_named(ctld->cluster, hostlist_nth(hl, i));

        if (!n)
            return -EINVAL;
        ids[i] = n->rec->node_id;
    }
    *ret = TAKE_PTR(ids);
    *ret_n = hostlist_count(hl);
    return 0;
}

static int add_units(const struct ctld *ctld, const char *function, size_t len, const char *arg,
                     bool with, struct bitmap *bm)
{
    _cleanup_free_ uint32_t *ids = NULL;
    size_t n = 0;
    int r = with ? node_ids(ctld, arg, &ids, &n) : 0;

    if (r == 0)
        r = topologies_expand(topology_now(ctld), function, len, arg, ids, n, bm);
    return r == -ENOENT ? -EINVAL : r;
}

/* name{arg} as a set of nodes. */
static int run_function(const struct ctld *ctld, const char *name, size_t len, const char *arg,
                        struct bitmap *bm)
{
    bool with;

    if (topologies_function(name, len, &with))
        return add_units(ctld, name, len, arg, with, bm);
    if (len == strlen("feature") && strncasecmp(name, "feature", len) == 0)
        return add_features(ctld, arg, bm);
    return -EINVAL;
}

static int push_function(const struct ctld *ctld, char *item, char *brace, struct hostlist *to)
{
    _cleanup_(bitmap_free) struct bitmap *bm = NULL;
    size_t len = strlen(brace);
    int r;

    if (len < 3 || brace[len - 1] != '}')
        return -EINVAL;
    brace[len - 1] = '\0';
    if ((size_t)(brace - item) == strlen("node") && strncasecmp(item, "node", 4) == 0)
        return hostlist_push_list(to, brace + 1, NULL);
    r = bitmap_new(ctld->cluster->nnodes + 1, &bm);
    if (r == 0)
        r = run_function(ctld, item, (size_t)(brace - item), brace + 1, bm);
    if (r < 0)
        return r;
    BITMAP_FOREACH (bm, i) {
        const struct node *n = i < ctld->cluster->nnodes ? ctld->cluster->nodes[i] : NULL;

        r = n ? hostlist_push(to, n->rec->name) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

int topology_expand(const struct ctld *ctld, const char *list, char **ret_list)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    int r = 0;

    if (!strchr(list, '{')) {
        *ret_list = strdup(list);
        return *ret_list ? 0 : -ENOMEM;
    }
    r = hostlist_new(&hl);
    for (const char *p = list; r == 0 && *p;) {
        size_t len = hostlist_item_length(p);
        _cleanup_free_ char *item = strndup(p, len);
        char *brace = item ? strchr(item, '{') : NULL;

        if (!item)
            return -ENOMEM;
        if (brace)
            r = push_function(ctld, item, brace, hl);
        else if (len)
            r = hostlist_push_list(hl, item, NULL);
        if (hostlist_count(hl) > HOSTLIST_MAX_NODES)
            return -EINVAL;
        p += len + (p[len] == ',');
    }
    return r < 0 ? r : hostlist_fold(hl, ret_list);
}
