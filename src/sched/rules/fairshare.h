/* fairshare.h - what is due to each association: fair tree, the classic formula, and decay
 *
 * Pure functions over an array that holds the tree: no clock, no state, no allocation kept.  Usage
 * is in weighted seconds (billing units x elapsed); the caller has decayed it already. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAIRSHARE_ROOT UINT32_MAX
#define FAIRSHARE_MAX_DEPTH 256u

struct fairshare_node {
    uint32_t parent; /* index in the array, FAIRSHARE_ROOT = directly under the root */
    uint32_t shares;
    /* fairshare=parent: an account's children are compared at its parent's level, a user comes
     * first */
    bool use_parent;
    bool user;    /* a leaf; an account otherwise */
    double usage; /* its own: of an account only what its users no longer there left behind */
    /* computed */
    double total; /* own and everything below */
    double norm_shares, norm_usage, effective_usage;
    double level_fs; /* INFINITY without usage, and with use_parent */
    double factor;   /* [0, 1]; 0 for accounts of the fair tree */
};

enum fairshare_kind { FAIRSHARE_TREE, FAIRSHARE_CLASSIC, FAIRSHARE_DEPTH_OBLIVIOUS };

/* Fill the computed members.  Nodes whose line of parents never reaches the root get factor 0.
 * O(n log n).  Errors: -ENOMEM. */
int fairshare_compute(struct fairshare_node *nodes, size_t n, enum fairshare_kind kind,
                      uint32_t dampening);

enum fairshare_reset {
    FAIRSHARE_RESET_NONE,
    FAIRSHARE_RESET_NOW,
    FAIRSHARE_RESET_DAILY,
    FAIRSHARE_RESET_WEEKLY,
    FAIRSHARE_RESET_MONTHLY,
    FAIRSHARE_RESET_QUARTERLY,
    FAIRSHARE_RESET_YEARLY,
};
/* Has a period ended between last_us and now_us?  Days begin at midnight of the zone that is
 * utc_offset_s east of Greenwich, weeks on Sunday.  last_us 0 = never reset: only NOW says yes. */
bool fairshare_reset_due(enum fairshare_reset period, int64_t last_us, int64_t now_us,
                         int32_t utc_offset_s);
