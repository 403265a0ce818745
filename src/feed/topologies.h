/* topologies.h - the topologies of a cluster at one time, for every thread
 *
 * Immutable and counted.  The first is the cluster's default.  Where a set is read, NULL is one
 * without topologies and nodes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "sched/topo/topo.h"

struct topologies;

struct topo_source { /* what the files say of a topology beside its units */
    bool is_default; /* cluster_default of topology.yaml */
    size_t units;    /* so many are of the file; nodes brought the others */
};

/* Copy the descriptions, a source of each, and the names of the nodes (names[id], NULL: no such
 * node).  yaml: they are of topology.yaml.  One reference is the caller's.
 * Errors: those of topo_new(), with the topology's name. */
int topologies_new(const struct topo_spec *specs, size_t n, const struct topo_source *sources,
                   bool yaml, const char *const *names, size_t nnames, struct topologies **ret,
                   struct err *err);
struct topologies *topologies_ref(struct topologies *t);
struct topologies *topologies_unref(struct topologies *t); /* NULL is a no-op; always NULL */
DEFINE_CLEANUP(struct topologies *, topologies_unref)

size_t topologies_count(const struct topologies *t);
const struct topo *topologies_nth(const struct topologies *t, size_t i); /* NULL past the end */
/* NULL: no such topology.  No name, or an empty one, is the default. */
const struct topo *topologies_named(const struct topologies *t, const char *name);
/* The name of a node; NULL: there is none with this id. */
const char *topologies_node(const struct topologies *t, uint32_t node);
bool topologies_yaml(const struct topologies *t);
const struct topo_source *topologies_source(const struct topologies *t, const struct topo *topo);

/* Where the node is in the default topology: "s6.s4.s0.cn1" and "switch.switch.switch.node". */
void topologies_address(const struct topologies *t, uint32_t node, struct strbuf *address,
                        struct strbuf *pattern);

/* Set the bits of the nodes that a function of a host list names: "block", "switch", "ring",
 * "torus" with the name of a unit (of any level, aggregated blocks too); "blockwith" and its like
 * with ids of nodes, for the units that hold one of them.  In the first topology that knows the
 * unit.  -ENOENT: there is no such unit; -EINVAL: no function of topologies. */
int topologies_expand(const struct topologies *t, const char *function, size_t len,
                      const char *unit, const uint32_t *nodes, size_t nnodes, struct bitmap *bm);
bool topologies_function(const char *name, size_t len, bool *ret_with);
