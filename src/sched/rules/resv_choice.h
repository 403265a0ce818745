/* resv_choice.h - the choice of nodes and cores for a reservation
 *
 * A pure function of what the caller says about every node during the period of the reservation.
 * Nothing here knows the scheduler's object. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bitmap.h"

struct resv_want {
    uint32_t nodes;      /* how many nodes; 0: as few as satisfy the other wishes */
    uint32_t cores;      /* how many cores in all; 0: whole nodes */
    bool overlap, maint; /* flags of the new reservation */
    bool ignore_jobs;
    bool named;   /* the user named the nodes: all nodes of `from` are wanted */
    bool replace; /* the nodes replace others: never take nodes of a MAINT reservation */
};

#define RESV_PARTS_MAX 32u
struct resv_part {
    struct bitmap *nodes;
    uint32_t count;
};

/* Sets of nodes, by node id.  All sets have the same size, and none is NULL. */
struct resv_ground {
    const struct bitmap *from;   /* may be chosen at all, by partition, features or list of names */
    const struct bitmap *up;     /* not down, not draining */
    const struct bitmap *online; /* not down; may be draining */
    const struct bitmap *busy;   /* a job runs there that ends after the period begins */
    const struct bitmap *hard;   /* has a reservation in the period that permits no overlap */
    const struct bitmap *soft;   /* has a reservation in the period that permits overlap */
    /* For requests of cores: gives how many cores the node has.  *ret_taken: a bitmap of the cores
     * that are taken, by reservations of cores and, unless jobs are ignored, by jobs; valid until
     * the next call. */
    uint32_t (*cores)(void *ctx, uint32_t node_id, const uint64_t **ret_taken,
                      uint32_t *ret_nwords);
    /* How many cores a socket of the node has; NULL: the node has one socket. */
    uint32_t (*per_socket)(void *ctx, uint32_t node_id);
    /* What the node adds to `goal`, for example its GPUs; NULL: there is no such goal. */
    uint64_t (*counts)(void *ctx, uint32_t node_id);
    uint64_t goal;
    void *ctx;
    /* Take at least parts[i].count nodes of parts[i].nodes, and count no node twice
     * (Features=a*2&b).  want.nodes is the sum of the counts, or more. */
    const struct resv_part *parts;
    size_t nparts; /* RESV_PARTS_MAX at most */
};

struct resv_cores_of {
    uint32_t node_id, nwords;
    uint64_t *bits;
};
struct resv_choice {
    struct bitmap *nodes;
    struct resv_cores_of *cores; /* by node id; NULL = whole nodes */
    size_t ncores;
};
void resv_choice_done(struct resv_choice *c);

enum resv_refusal {
    RESV_CHOSEN,
    RESV_BUSY,    /* too few nodes, or a named one is busy or down */
    RESV_OVERLAPS /* a named one is reserved */
};

/* Choose.  keep (may be NULL): nodes that the reservation has already; those of them that may still
 * be chosen are taken first.  Errors: -ENOMEM. */
int resv_choose(const struct resv_want *want, const struct resv_ground *g,
                const struct bitmap *keep, struct resv_choice *ret, enum resv_refusal *ret_why);
