/* tgengine.c - see tgengine.h */
#include "topograph/run/tgengine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "topograph/graphfinish.h"
#include "topograph/write/tglabels.h"

#define DEFAULT_TOPOLOGY "default" /* what the topology of topology.conf is called */

static const char *const engines[] = { "slurm", "dynamic", "k8s", "graph" };

static const char *engine_of(const struct tgrequest *q)
{
    return q->engine ? q->engine : "slurm";
}

/* ---- parameters of one topology -------------------------------------------------------------- */

static int read_sizes(const json_t *params, struct tgblocks_params *b, struct err *err)
{
    const json_t *sizes = json_object_get(params, "blockSizes");
    size_t n = json_array_size(sizes);

    if (!sizes || json_is_null(sizes))
        return 0;
    if (!json_is_array(sizes))
        return err_set(err, -EINVAL, "blockSizes: a list of numbers is expected");
    if (n > TGBLOCKS_SIZES_MAX)
        return err_set(err, -EINVAL, "blockSizes: more than %u sizes", TGBLOCKS_SIZES_MAX);
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(sizes, i);

        if (!json_is_integer(v) || json_integer_value(v) < 1 ||
            json_integer_value(v) > TGBLOCKS_SIZE_MAX)
            return err_set(err, -EINVAL, "blockSizes: numbers from 1 to %u are expected",
                           TGBLOCKS_SIZE_MAX);
        b->sizes[b->nsizes++] = (uint32_t)json_integer_value(v);
    }
    return tgblocks_check(b, err);
}

static int read_naming(const json_t *params, struct tgblocks_params *b, struct err *err)
{
    static const char *const keys[] = { "nodeNameRegexp", "format", NULL };
    const json_t *naming = json_object_get(params, "blockName");
    int r;

    if (!naming || json_is_null(naming))
        return 0;
    if (!json_is_object(naming))
        return err_set(err, -EINVAL, "blockName: an object is expected");
    r = tgrequest_keys(naming, "blockName", keys, err);
    if (r == 0)
        r = tgrequest_text(naming, "nodeNameRegexp", &b->name_regexp, err);
    if (r == 0)
        r = tgrequest_text(naming, "format", &b->name_format, err);
    if (r == 0 && (!b->name_regexp || !b->name_format))
        r = err_set(err, -EINVAL, "blockName needs nodeNameRegexp and format");
    return r;
}

static int read_topology(const json_t *params, enum topofile_plugin otherwise, struct topofile *t,
                         struct err *err)
{
    const char *plugin = NULL;
    int r = tgrequest_text(params, "plugin", &plugin, err);

    t->plugin = otherwise;
    if (r == 0 && plugin && !topofile_plugin(plugin, &t->plugin))
        r = err_set(err, -EINVAL,
                    "plugin is topology/tree, topology/block or topology/flat, and not %.64s",
                    plugin);
    if (r == 0)
        r = read_sizes(params, &t->blocks, err);
    return r == 0 ? read_naming(params, &t->blocks, err) : r;
}

/* ---- the nodes of one topology --------------------------------------------------------------- */

static int keep_listed(const struct graphindex *names, const char *list, bool *keep,
                       struct err *err)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    int r = hostlist_parse_most(list, GRAPH_NODES_MAX, &hl, err);

    for (size_t i = 0; r == 0 && i < hostlist_count(hl); i++) {
        uint32_t at = graphindex_find(names, hostlist_nth(hl, i));

        if (at != GRAPH_NONE)
            keep[at] = true;
    }
    return r;
}

static int keep_partition(const struct tgrun_io *io, const struct graphindex *names,
                          const char *partition, bool *keep, struct err *err)
{
    _cleanup_free_ char *nodes = NULL;
    int r;

    if (!io->partition)
        return err_set(err, -EINVAL, "partition %.64s: no cluster to ask; list its nodes",
                       partition);
    r = io->partition(io->ctx, partition, &nodes, err);
    return r == 0 ? keep_listed(names, nodes, keep, err) : r;
}

static int name_nodes(const struct graph *g, struct graphindex *names)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < g->nnodes; i++)
        r = graphindex_put(names, g->nodes[i].name, i);
    return r;
}

/* nodes: a list; partition: the cluster's word; neither: every node. */
static int choose_nodes(const json_t *params, const struct tgrun_io *io, const struct graph *whole,
                        struct graph **ret, struct err *err)
{
    _cleanup_free_ bool *keep = calloc(whole->nnodes + 1, sizeof(*keep));
    const char *list = NULL, *partition = NULL;
    struct graphindex names = { 0 };
    int r = tgrequest_text(params, "partition", &partition, err);

    if (r < 0 || !keep)
        return r < 0 ? r : err_nomem(err);
    if (name_nodes(whole, &names) < 0)
        r = err_nomem(err);
    for (size_t i = 0; r == 0; i++) {
        r = tgrequest_nth(params, "nodes", i, &list, err);
        if (r < 0 || !list)
            break;
        r = keep_listed(&names, list, keep, err);
    }
    if (r == 0 && partition)
        r = keep_partition(io, &names, partition, keep, err);
    graphindex_done(&names);
    return r == 0 ? graph_subset(whole, keep, ret, err) : r;
}

static int make_topology(const struct tgrequest *q, const struct tgrun_io *io, const char *name,
                         const json_t *params, struct tgrun *run, size_t i, struct err *err)
{
    struct topofile *t = &run->topologies[i];
    int r = read_topology(params, TOPOFILE_TREE, t, err);

    (void)q;
    t->name = name;
    t->graph = run->graph;
    if (r == 0)
        r = tgrequest_flag(params, "clusterDefault", &t->cluster_default, err);
    if (r == 0 && (json_object_get(params, "nodes") || json_object_get(params, "partition"))) {
        r = choose_nodes(params, io, run->graph, &run->subsets[i], err);
        t->graph = run->subsets[i];
    }
    if (r < 0)
        err_prefix(err, "topology %.64s", name);
    return r;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static int check_named(const json_t *list, struct err *err)
{
    static const char *const keys[] = { "plugin",    "blockSizes",     "blockName", "nodes",
                                        "partition", "clusterDefault", NULL };
    json_t *all = (json_t *)(uintptr_t)list, *params;
    const char *name;
    int r = 0;

    if (!json_is_object(list) || json_object_size(list) == 0 ||
        json_object_size(list) > TGRUN_TOPOLOGIES_MAX)
        return err_set(err, -EINVAL, "topologies: an object with 1 to %u topologies is expected",
                       TGRUN_TOPOLOGIES_MAX);
    json_object_foreach(all, name, params)
    {
        struct topofile t = { 0 };

        if (!*name || strlen(name) > GRAPH_UNIT_MAX ||
            name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")])
            return err_set(err, -EINVAL, "topologies: %.64s is no name for a topology", name);
        if (!json_is_object(params))
            return err_set(err, -EINVAL, "topology %.64s: an object is expected", name);
        r = tgrequest_keys(params, "a topology", keys, err);
        if (r == 0)
            r = read_topology(params, TOPOFILE_TREE, &t, err);
        if (r == 0 && t.plugin != TOPOFILE_FLAT && !json_object_get(params, "nodes") &&
            !json_object_get(params, "partition"))
            r = err_set(err, -EINVAL, "it needs nodes or partition");
        if (r < 0) {
            err_prefix(err, "topology %.64s", name);
            break;
        }
    }
    return r;
}

int tgengine_check(const struct tgrequest *q, struct err *err)
{
    static const char *const keys[] = { "plugin",
                                        "blockSizes",
                                        "blockName",
                                        "topologies",
                                        "topologyConfigPath",
                                        "apply",
                                        "yaml",
                                        "skeleton",
                                        "fabricLabels",
                                        "acceleratorLabel",
                                        "acceleratorDomainSourceLabel",
                                        NULL };
    const json_t *params = q->engine_params, *named = json_object_get(params, "topologies");
    struct topofile t = { 0 };
    bool flag;
    size_t i = 0;
    int r;

    while (i < ARRAY_SIZE(engines) && strcmp(engines[i], engine_of(q)) != 0)
        i++;
    if (i == ARRAY_SIZE(engines))
        return err_set(err, -EINVAL, "no such engine: %.64s (there are slurm, dynamic, k8s, graph)",
                       q->engine);
    r = tgrequest_keys(params, "the engine", keys, err);
    if (r == 0)
        r = read_topology(params, TOPOFILE_TREE, &t, err);
    if (r == 0)
        r = tgrequest_flag(params, "yaml", &flag, err);
    if (r == 0)
        r = tgrequest_flag(params, "skeleton", &flag, err);
    if (r == 0 && named && json_object_get(params, "plugin"))
        r = err_set(err, -EINVAL, "plugin and topologies cannot stand together");
    return r == 0 && named ? check_named(named, err) : r;
}

/* ---- making ---------------------------------------------------------------------------------- */

static int make_topologies(const struct tgrequest *q, const struct tgrun_io *io, struct tgrun *run,
                           struct err *err)
{
    json_t *named = json_object_get(q->engine_params, "topologies"), *params;
    size_t n = named ? json_object_size(named) : 1, i = 0;
    const char *name;
    bool skeleton = false;
    int r = tgrequest_flag(q->engine_params, "skeleton", &skeleton, err);

    if (r < 0)
        return r;
    run->topologies = calloc(n, sizeof(*run->topologies));
    run->subsets = calloc(n, sizeof(struct graph *));
    if (!run->topologies || !run->subsets)
        return err_nomem(err);
    run->ntopologies = n;
    if (!named) {
        r = make_topology(q, io, DEFAULT_TOPOLOGY, q->engine_params, run, 0, err);
        run->topologies[0].cluster_default = true;
    }
    json_object_foreach(named, name, params)
    {
        r = make_topology(q, io, name, params, run, i++, err);
        if (r < 0)
            break;
    }
    for (i = 0; i < n; i++)
        run->topologies[i].skeleton = skeleton;
    return r;
}

static int write_slurm(const struct tgrequest *q, struct tgrun *run, struct err *err)
{
    bool yaml = json_object_get(q->engine_params, "topologies") ||
                json_is_true(json_object_get(q->engine_params, "yaml"));

    return yaml ? topofile_yaml(run->topologies, run->ntopologies, &run->text, err)
                : topofile_conf(run->topologies, &run->text, err);
}

static int write_dynamic(struct tgrun *run, struct err *err)
{
    struct topofile_units u = { 0 };
    int r = topofile_units(run->graph, run->topologies, run->ntopologies, &u, err);

    if (r == 0)
        r = topofile_nodes(run->graph, &u, &run->text, err);
    topofile_units_done(&u);
    return r;
}

static int write_labels(const struct tgrequest *q, struct tgrun *run, struct err *err)
{
    struct tglabels_params p = { 0 };
    const char *foreign = NULL;
    int r = tgrequest_text(q->engine_params, "acceleratorLabel", &p.domain, err);

    if (r == 0)
        r = tgrequest_text(q->engine_params, "acceleratorDomainSourceLabel", &foreign, err);
    p.foreign_domain = foreign && *foreign;
    while (r == 0 && p.ntiers < GRAPH_TIERS_MAX) {
        r = tgrequest_nth(q->engine_params, "fabricLabels", p.ntiers, &p.tiers[p.ntiers], err);
        if (r < 0 || !p.tiers[p.ntiers])
            break;
        p.ntiers++;
    }
    return r == 0 ? tglabels_kubernetes(run->graph, &p, &run->text, err) : r;
}

int tgengine_make(const struct tgrequest *q, const struct tgrun_io *io, struct tgrun *run,
                  struct err *err)
{
    const char *engine = engine_of(q);
    int r;

    if (strcmp(engine, "graph") == 0)
        return tglabels_instances(run->graph, &run->text, err);
    if (strcmp(engine, "k8s") == 0)
        return write_labels(q, run, err);
    r = make_topologies(q, io, run, err);
    if (r < 0)
        return r;
    return strcmp(engine, "slurm") == 0 ? write_slurm(q, run, err) : write_dynamic(run, err);
}
