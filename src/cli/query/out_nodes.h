/* out_nodes.h - the nodes and partitions of the cluster, and which node is in which
 *
 * For sinfo and scontrol.  Records are owned by the table.  Nodes are sorted by name, numbers by
 * value. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pb/pbutil.h"
#include "node.pb-c.h"
#include "wire/client.h"

struct cluster_node {
    Pst__NodeRecord *record;
};

struct cluster_part {
    Pst__PartitionRecord *record;
    uint32_t *nodes; /* indexes, ascending */
    size_t n_nodes;
};

struct cluster_nodes {
    struct cluster_node *nodes;
    size_t n_nodes;
    struct cluster_part *parts; /* in the order of the configuration */
    size_t n_parts;
    int64_t now_us;
    uint64_t version; /* of all this: see struct query_info */
    bool sees_hidden; /* likewise */
};

/* Load everything.  fields: of node records, beside those that states and names need; NULL = all.
 * Returns as query_run(). */
int cluster_nodes_load(struct client *c, const struct pb_fieldset *fields,
                       struct cluster_nodes *ret);
/* The same, all fields, unless that is the version still, or nothing has changed since that time
 * (0: none): then *ret holds its version and nothing else, and 1 is returned. */
int cluster_nodes_load_newer(struct client *c, uint64_t unless_version, int64_t changed_since_us,
                             struct cluster_nodes *ret);
/* From records already at hand, which are taken over on success and on failure (tests). */
int cluster_nodes_make(Pst__NodeRecord **nodes, size_t n_nodes, Pst__PartitionRecord **parts,
                       size_t n_parts, int64_t now_us, struct cluster_nodes *ret);
void cluster_nodes_done(struct cluster_nodes *t);

/* Index of a node by name, -1 when there is none. */
long cluster_nodes_find(const struct cluster_nodes *t, const char *name);
/* Is node i in it? */
bool cluster_part_has(const struct cluster_part *part, size_t node);
/* Is p shown?  all: the option of the command. */
bool cluster_nodes_shows(const struct cluster_nodes *t, const Pst__PartitionRecord *p, bool all);
/* Names of the partitions of node i that are shown so, at commas.  Caller frees *ret_text. */
int cluster_nodes_partitions(const struct cluster_nodes *t, size_t node, bool all, char **ret_text);
/* Names of the partitions that are not shown to the caller unless he asks for all of them.  Caller
 * frees with argwords_free().  Returns as query_run(). */
int hidden_partitions_load(struct client *c, char ***ret_names, size_t *ret_n);
