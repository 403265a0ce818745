/* noderanks.c - the order in which the controller numbers nodes; see noderanks.h */
#include "feed/noderanks.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "conf/topo/conf_topo.h"

struct ranked {
    size_t index;
    const char *name;
    uint32_t rank; /* 0: in no unit, or no ranks are asked for */
};

static int compare_ranks(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    return x->rank != y->rank ? (x->rank > y->rank ? 1 : -1) : strverscmp(x->name, y->name);
}

bool noderanks_wanted(const struct conf *conf)
{
    return conf_option(conf, CONF_TOPOLOGY_PARAM, "BlockAsNodeRank", NULL, NULL) ||
           conf_option(conf, CONF_TOPOLOGY_PARAM, "SwitchAsNodeRank", NULL, NULL);
}

/* Do the nodes of this topology get ranks? */
static bool ranks_kind(const struct conf *conf, enum conf_topo_kind kind)
{
    const char *word = kind == CONF_TOPO_BLOCK  ? "BlockAsNodeRank"
                       : kind == CONF_TOPO_TREE ? "SwitchAsNodeRank"
                                                : NULL;

    return word && conf_option(conf, CONF_TOPOLOGY_PARAM, word, NULL, NULL);
}

/* Units in the order of the file, from 1; of a tree the leaves alone.  A node of two leaves has the
 * first one's. */
static void rank_units(const struct conf *conf, const struct conf_topo *t, struct ranked *nodes)
{
    uint32_t rank = 0;

    for (size_t u = 0; u < t->nunits; u++) {
        const struct conf_topo_unit *unit = &t->units[u];

        rank += unit->nchildren == 0;
        for (size_t i = 0; unit->nchildren == 0 && i < unit->nnodes; i++) {
            const struct conf_node *n = conf_find_node(conf, unit->nodes[i]);

            if (n && !nodes[n - conf_node(conf, 0)].rank)
                nodes[n - conf_node(conf, 0)].rank = rank;
        }
    }
}

size_t *noderanks_order(const struct conf *conf, const struct conf_topos *topos)
{
    const struct conf_topo *t = topos ? conf_topos_nth(topos, 0) : NULL;
    size_t n = conf_nodes(conf);
    struct ranked *nodes = must(calloc(n + 1, sizeof(*nodes)));
    size_t *order = must(calloc(n + 1, sizeof(*order)));

    for (size_t i = 0; i < n; i++)
        nodes[i] = (struct ranked){ .index = i, .name = conf_node(conf, i)->name };
    if (t && ranks_kind(conf, t->kind))
        rank_units(conf, t, nodes);
    qsort(nodes, n, sizeof(*nodes), compare_ranks);
    for (size_t i = 0; i < n; i++)
        order[i] = nodes[i].index;
    free(nodes);
    return order;
}
