/* powerexcept.h - SuspendExcNodes, SuspendExcParts and SuspendExcStates: what is never powered down
 *
 * Pure data. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "model/cluster.h"

/* "node[1-8]:2": two of them that jobs could use stay up. */
struct power_keep {
    struct bitmap *nodes;
    uint32_t count;
};

struct power_except {
    struct bitmap *never; /* nodes of SuspendExcNodes without a count, and of SuspendExcParts */
    struct power_keep *keeps;
    size_t nkeeps;
    uint32_t flags; /* of SuspendExcStates: 1 << NodeFlag ... */
    bool down;      /* ... and DOWN */
    size_t unknown; /* names in SuspendExcNodes that no node has */
};

/* From the three texts of the configuration; each may be NULL.  Names that the cluster lacks are
 * left out.  Errors: -EINVAL, with a sentence; -ENOMEM. */
int power_except_parse(const struct cluster *c, const char *nodes, const char *parts,
                       const char *states, struct power_except **ret, struct err *err);
struct power_except *power_except_free(struct power_except *e); /* always NULL */
DEFINE_CLEANUP(struct power_except *, power_except_free)

/* Are the texts well formed, whatever nodes there are?  As above. */
int power_except_check(const char *nodes, const char *states, struct err *err);
/* A list with what "+=" adds to it and "-=" takes off: folded, with counts kept.  NULL or "" is
 * none.  is_nodes: a list of nodes, else words.  Caller frees *ret (NULL: none is left). */
int power_except_change(const char *list, const char *word, bool take_off, bool is_nodes,
                        char **ret, struct err *err);
