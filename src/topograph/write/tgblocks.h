/* tgblocks.h - accelerator domains as the blocks of topology/block
 *
 * Without sizes, of domains without sub-domains: a domain is a block, in the order of the graph (of
 * their names when there is no tree); the sizes are the smallest domain's times 1, 2, 4, ... up to
 * the number of blocks.
 *
 * With sizes, or with sub-domains, blocks are laid out so that aggregates stay aligned: a domain
 * (its sub-domains, one after the other) fills base blocks of the first size, its nodes in natural
 * order; all domains take the same power of two of base blocks, the last ones empty, and empty
 * blocks fill the end up to a multiple of the last size.  With one size, or for a domain larger
 * than the last size, only as many blocks are taken as there are nodes for. */
#pragma once

#include "topograph/graph.h"

#define TGBLOCKS_SIZES_MAX 20u
#define TGBLOCKS_SIZE_MAX 65536u
#define TGBLOCKS_POWER_MAX 15u /* sizes are the first one x 2^k, k up to this */
#define TGBLOCKS_MAX 65536u
#define TGBLOCKS_PATTERN_MAX 256u

struct tgblocks_params {
    uint32_t sizes[TGBLOCKS_SIZES_MAX];
    size_t nsizes; /* 0: found from the domains */
    /* Names of blocks out of names of their nodes: an extended regular expression, and a text with
     * $1 or ${1} for its groups.  All nodes of a block must give the same name.  NULL: block001 ...
     */
    const char *name_regexp, *name_format;
};

struct tgblock {
    char name[GRAPH_UNIT_MAX + 1];
    const char *domain;     /* borrowed of the graph; NULL: an empty block */
    uint32_t first, nnodes; /* in tgblocks.nodes */
};
struct tgblocks {
    struct tgblock *items;
    size_t n, cap;
    uint32_t *nodes; /* places in graph.nodes */
    size_t nnodes;
    uint32_t sizes[TGBLOCKS_SIZES_MAX];
    size_t nsizes;
};

/* Are these sizes right in themselves?  Errors: -EINVAL. */
int tgblocks_check(const struct tgblocks_params *p, struct err *err);
/* Errors: -EINVAL no domains, sizes that are wrong, names that do not fit; -E2BIG; -ENOMEM. */
int tgblocks_make(const struct graph *g, const struct tgblocks_params *p, struct tgblocks *ret,
                  struct err *err);
void tgblocks_done(struct tgblocks *b);
