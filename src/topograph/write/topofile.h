/* topofile.h - a graph as topology.conf, topology.yaml and the Topology= option of nodes
 *
 * What is written can be read: names are plain (graph.h, tgblocks.h), every unit has what its kind
 * needs. */
#pragma once

#include "base/strbuf.h"
#include "topograph/write/tgblocks.h"

enum topofile_plugin { TOPOFILE_TREE, TOPOFILE_BLOCK, TOPOFILE_FLAT };

struct topofile {
    const char *name; /* of the topology */
    enum topofile_plugin plugin;
    bool cluster_default;
    struct tgblocks_params blocks;
    const struct graph *graph; /* finished */
    bool skeleton;             /* yaml: top switches, and blocks without nodes */
};

/* "topology/tree" and its like; false: no such plugin */
bool topofile_plugin(const char *text, enum topofile_plugin *ret);
const char *topofile_plugin_name(enum topofile_plugin p);

/* Errors: -EINVAL the graph has not what the plugin needs, -ENOMEM. */
int topofile_conf(const struct topofile *t, struct strbuf *out, struct err *err);
/* By name; the default one may stand anywhere. */
int topofile_yaml(const struct topofile *list, size_t n, struct strbuf *out, struct err *err);

/* What Topology= says of each node, "" without: t1:root:leaf,t2:block.  All are of one graph, or of
 * subsets of it. */
struct topofile_units {
    char **of; /* by node of `whole` */
    size_t n;
};
int topofile_units(const struct graph *whole, const struct topofile *list, size_t n,
                   struct topofile_units *ret, struct err *err);
void topofile_units_done(struct topofile_units *u);
/* NodeName= and Topology=, a line for nodes that have the same. */
int topofile_nodes(const struct graph *whole, const struct topofile_units *u, struct strbuf *out,
                   struct err *err);
