/* topo.h - a network topology: units of nodes that are near to each other
 *
 * A topology is immutable.  When a node joins or leaves a unit, its owner makes a new topology
 * from a changed description and puts it in the place of the old one; that costs O(nodes + units).
 * Nodes are named by their ids, in the order in which the scheduler knows them (sched_node.id).
 *
 * Kinds, as in Slurm's topology.conf and topology.yaml:
 *   flat   no units
 *   tree   switches; a leaf switch has nodes, every other one has switches below it
 *   block  base blocks in the order of the file; 2^k of them, aligned, form a block of level k
 *   ring   nodes in a circle
 *   torus  nodes at coordinates x, y, z, which all wrap around */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"

enum topo_kind { TOPO_FLAT, TOPO_TREE, TOPO_BLOCK, TOPO_RING, TOPO_TORUS };

enum topo_flag {
    TOPO_DRAGONFLY = 1u << 0,  /* tree: TopologyParam=Dragonfly */
    TOPO_OPTIONAL = 1u << 1,   /* tree: jobs without --switches are placed as if flat */
    TOPO_ALPHA_RANK = 1u << 2, /* flat: alpha_step_rank */
};

#define TOPO_NONE UINT32_MAX  /* no node, no unit */
#define TOPO_LEVELS_MAX 20u   /* of switches */
#define TOPO_BLOCK_POWERS 16u /* block sizes are base x 2^k, k below this */
#define TOPO_RING_MAX 16u     /* nodes of a ring */
#define TOPO_UNITS_MAX 1048576u

/* A switch, base block, ring or torus.  Strings and arrays are the caller's. */
struct topo_unit_spec {
    const char *name;
    /* Ids, ring: by position; torus: at x + X * (y + Y * z), TOPO_NONE where no node is. */
    const uint32_t *nodes;
    size_t nnodes;            /* 0: a block or switch without nodes keeps its place */
    const uint32_t *children; /* tree: indexes of the switches below */
    size_t nchildren;
    uint32_t link_speed; /* tree; shown, not used */
    uint32_t dims[3];    /* torus: X, Y, Z */
};

/* torus: a shape that jobs may have */
struct topo_placement_spec {
    uint32_t unit; /* the torus, an index of the units */
    uint32_t dims[3], seed[3], spacing[3];
};

struct topo_spec {
    const char *name;
    enum topo_kind kind;
    unsigned flags;                     /* enum topo_flag */
    const struct topo_unit_spec *units; /* in the order of the file */
    size_t nunits;
    /* block: sizes in nodes, the base size first, each base x 2^k; none: derived as topology.md
     * section 2 says */
    const uint32_t *block_sizes;
    size_t nblock_sizes;
    const struct topo_placement_spec *placements;
    size_t nplacements;
};

struct topo;
struct topo_bits;

/* Copy the description.  The caller owns *ret_topo.  What can be wrong with a file is checked by
 * the file's reader; here the sentence names the unit.
 * Errors: -ENOMEM; -EINVAL children that form no tree, sizes that are not base x 2^k, a ring that
 * is too long, a torus whose node count is not X x Y x Z. */
int topo_new(const struct topo_spec *spec, struct topo **ret_topo, struct err *err);
struct topo *topo_free(struct topo *t); /* always NULL */
DEFINE_CLEANUP(struct topo *, topo_free)

/* Borrowed, valid as long as t.  block_sizes is never empty for a block topology; units carry
 * what the caller gave. */
const struct topo_spec *topo_get_spec(const struct topo *t);

/* Of the first unit in which the node is attached directly: its index, and the node's position
 * there; TOPO_NONE when the node is in no unit.  O(1). */
uint32_t topo_unit_of(const struct topo *t, uint32_t node);
uint32_t topo_position_of(const struct topo *t, uint32_t node);

/* tree: 0 for a leaf switch, else 1 + the highest level below.  0 for other kinds. */
uint32_t topo_level(const struct topo *t, uint32_t unit);
/* tree: the first switch that has this one as a child, or TOPO_NONE */
uint32_t topo_parent(const struct topo *t, uint32_t unit);

/* The nodes of units as words of bitmaps, see topobits.h.  Borrowed. */
const struct topo_bits *topo_get_bits(const struct topo *t);

/* 1 + the highest node id that a unit holds; 0 without any. */
uint32_t topo_node_limit(const struct topo *t);
