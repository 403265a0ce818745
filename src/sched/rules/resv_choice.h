/* resv_choice.h - which nodes and cores a reservation gets
 *
 * A pure function of what the caller says about every node at that time.  Nothing here knows the
 * scheduler's object. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bitmap.h"

struct resv_want {
    uint32_t nodes;      /* so many; 0 = as few as hold the rest */
    uint32_t cores;      /* so many in all, else whole nodes; 0 = whole nodes */
    bool overlap, maint; /* flags of the new reservation */
    bool ignore_jobs;
    bool named;   /* all of `from` is asked for */
    bool replace; /* nodes that serve as replacement: never those of a MAINT reservation */
};

#define RESV_PARTS_MAX 32u
struct resv_part {
    struct bitmap *nodes;
    uint32_t count;
};

/* Sets of nodes, by id, all of one size; all must be there. */
struct resv_ground {
    const struct bitmap *from;   /* may be chosen at all: partition, features, or the list named */
    const struct bitmap *up;     /* not down, not draining */
    const struct bitmap *online; /* not down: draining ones too */
    const struct bitmap *busy;   /* some job runs there into the period */
    const struct bitmap *hard;   /* reserved at that time by one that permits no overlap */
    const struct bitmap *soft;   /* reserved at that time by one that permits overlap */
    /* One node, for requests of cores: how many it has and which are taken (by jobs unless they are
     * ignored, or by reservations of cores); words is valid until the next call. */
    uint32_t (*cores)(void *ctx, uint32_t node_id, const uint64_t **ret_taken,
                      uint32_t *ret_nwords);
    /* How many of a node's cores are of one socket; NULL = all. */
    uint32_t (*per_socket)(void *ctx, uint32_t node_id);
    /* What a node counts towards `goal`, e.g. its devices of one kind; NULL = nothing of that
     * kind. */
    uint64_t (*counts)(void *ctx, uint32_t node_id);
    uint64_t goal;
    void *ctx;
    /* So many at least of each set, distinct ones (Features=a*2&b); want.nodes is their sum or
     * more. */
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

/* Choose.  keep (may be NULL): nodes it has already, which are taken first where they may be had.
 * Errors: -ENOMEM. */
int resv_choose(const struct resv_want *want, const struct resv_ground *g,
                const struct bitmap *keep, struct resv_choice *ret, enum resv_refusal *ret_why);
