/* graph.h - the canonical graph: nodes, the tree of switches above them, accelerator domains
 *
 * Readers fill a graph (graph_add_...), graph_finish() makes a topology of it (graphfinish.h), and
 * writers read it.
 * Pure data: no file, no clock; one thread per object.  Texts are copied.  Functions returning int
 * give 0 or a negative errno with a sentence in err, and errors leave a graph that can only be
 * freed.
 *
 * A finished graph is canonical, whatever the order was in which its parts came: switches stand
 * breadth-first from the roots, brothers in natural order of their names; nodes stand as a walk
 * over the tree meets them, those of one switch in natural order; nodes without a switch come
 * last.  No switch is without a node below, and none has both nodes and switches. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "topograph/graphpool.h"

#define GRAPH_NODES_MAX 65536u
#define GRAPH_SWITCHES_MAX 65536u
#define GRAPH_TIERS_MAX 20u /* as many as topologies may have */
#define GRAPH_NAME_MAX 255u /* bytes of an id or a name */
#define GRAPH_UNIT_MAX 64u  /* bytes of a switch's or block's name in a topology */
#define GRAPH_TRIM_MAX 2u
#define GRAPH_NONE GRAPHINDEX_NONE
#define GRAPH_NO_TOPOLOGY "no-topology" /* the switch above nodes that nobody described */

struct graph_switch {
    const char *id;   /* as the source says */
    const char *name; /* finished: as topologies name it, unique; before: NULL = the id */
    uint32_t parent;  /* GRAPH_NONE: a root */
    /* finished only */
    uint32_t level; /* 1: nodes are attached; else 1 + the highest below */
    uint32_t first_child, nchildren;
    uint32_t first_node, nnodes;
};

struct graph_node {
    const char *id;                 /* of the instance */
    const char *name;               /* of the node; NULL before graph_finish(): the id */
    uint32_t leaf;                  /* GRAPH_NONE: under no switch */
    const char *domain, *subdomain; /* of its accelerators; NULL: none */
};

struct graph {
    struct graph_switch *switches;
    size_t nswitches, cap_switches;
    struct graph_node *nodes;
    size_t nnodes, cap_nodes;
    struct strbuf notes; /* what is odd but no error, a line each */
    size_t nnotes;
    /* private */
    struct graphpool pool;
    struct graphindex switch_ids, node_ids;
};

int graph_new(struct graph **ret_graph);
struct graph *graph_free(struct graph *g); /* always NULL */
DEFINE_CLEANUP(struct graph *, graph_free)

/* The node or switch of that id, entered when new; name may be NULL, and fills in one that was not
 * known.  Errors: -EINVAL an id or name that is empty, too long or not printable, -E2BIG too many,
 * -ENOMEM. */
int graph_add_node(struct graph *g, const char *id, const char *name, uint32_t *ret_node,
                   struct err *err);
int graph_add_switch(struct graph *g, const char *id, const char *name, uint32_t *ret_switch,
                     struct err *err);
/* Errors: -EINVAL another switch is above it already. */
int graph_set_parent(struct graph *g, uint32_t child, uint32_t parent, struct err *err);
int graph_attach(struct graph *g, uint32_t node, uint32_t leaf, struct err *err);
/* The node's switches, closest first.  Errors: as above; -E2BIG more than GRAPH_TIERS_MAX. */
int graph_add_path(struct graph *g, uint32_t node, const char *const *tiers, size_t n,
                   struct err *err);
/* Errors: -EINVAL it has another domain. */
int graph_set_domain(struct graph *g, uint32_t node, const char *domain, const char *subdomain,
                     struct err *err);
uint32_t graph_find_node(const struct graph *g, const char *id); /* GRAPH_NONE: not there */
/* Say something that a person should look at.  Beyond a hundred they are only counted. */
void graph_note(struct graph *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Nodes that were asked for: those of a request, by instance id. */
struct graph_wanted {
    struct graphindex ids, names; /* to places in the arrays below */
    const char **id, **name;
    size_t n, cap;
    struct graphpool pool;
};
/* Errors: -EINVAL names that are none, an id or a name that stands twice, -E2BIG, -ENOMEM. */
int graph_wanted_add(struct graph_wanted *w, const char *id, const char *name, struct err *err);
void graph_wanted_done(struct graph_wanted *w);
/* The other half of a pair when the node is asked for, else NULL.  Without w every node is, and its
 * id is its name. */
const char *graph_wanted_name(const struct graph_wanted *w, const char *id);
const char *graph_wanted_id(const struct graph_wanted *w, const char *name);

/* Natural order: numbers in names count as numbers. */
int graph_compare(const char *a, const char *b);
