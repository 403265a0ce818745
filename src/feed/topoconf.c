/* topoconf.c - see topoconf.h
 *
 * Nodes with a word of their own leave before any of them comes: the order of their ids then
 * matters in rings alone. */
#include "feed/topoconf.h"

#include <errno.h>
#include <string.h>

static uint32_t conf_id(void *arg, const char *name)
{
    const struct conf *conf = arg;
    const struct conf_node *n = conf_find_node(conf, name);

    return n ? (uint32_t)(n - conf_node(conf, 0)) : TOPO_NONE;
}

static int join_conf_nodes(const struct conf *conf, struct toposet *ts, struct err *err)
{
    for (size_t i = 0; i < conf_nodes(conf); i++)
        if (conf_node(conf, i)->topology)
            toposet_leave(ts, (uint32_t)i);
    for (size_t i = 0; i < conf_nodes(conf); i++) {
        const struct conf_node *n = conf_node(conf, i);
        struct err why = { .text = "" };

        if (n->topology && toposet_join(ts, (uint32_t)i, n->topology, NULL, &why) < 0)
            return err_set(err, -EINVAL, "%s:%u: Topology=%.64s of node %s: %s", n->file, n->line,
                           n->topology, n->name, why.text);
    }
    return 0;
}

static int check_parts(const struct conf *conf, const struct conf_topos *files, struct err *err)
{
    for (size_t i = 0; i < conf_parts(conf); i++) {
        const struct conf_part *p = conf_part(conf, i);
        bool found = !p->topology || !*p->topology;

        for (size_t k = 0; !found && k < conf_topos_count(files); k++)
            found = strcmp(conf_topos_nth(files, k)->name, p->topology) == 0;
        if (!found)
            return err_set(err, -EINVAL, "%s:%u: partition %s: there is no topology %.64s", p->file,
                           p->line, p->name, p->topology);
    }
    return 0;
}

int topoconf_of_conf(const struct conf_topos *files, const struct conf *conf, struct toposet **ret,
                     struct err *err)
{
    _cleanup_(toposet_free) struct toposet *ts =
        toposet_new(files, conf, conf_id, (void *)conf); /* asked, not changed */
    int r = join_conf_nodes(conf, ts, err);

    if (r == 0)
        r = check_parts(conf, files, err);
    if (r == 0)
        *ret = TAKE_PTR(ts);
    return r;
}

static uint32_t cluster_id(void *arg, const char *name)
{
    const struct node *n = cluster_node_named(arg, name);

    return n ? n->rec->node_id : TOPO_NONE;
}

struct toposet *topoconf_of_cluster(const struct conf_topos *files, const struct conf *conf,
                                    const struct cluster *c)
{
    struct toposet *ts = toposet_new(files, conf, cluster_id, (void *)c); /* asked, not changed */

    for (uint32_t i = 0; i < c->nnodes; i++)
        if (c->nodes[i] && c->nodes[i]->rec->topology)
            toposet_leave(ts, i);
    for (uint32_t i = 0; i < c->nnodes; i++)
        if (c->nodes[i] && c->nodes[i]->rec->topology)
            (void)toposet_join(ts, i, c->nodes[i]->rec->topology, NULL, NULL); /* in no unit */
    return ts;
}
