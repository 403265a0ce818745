/* topobits.h - the nodes of units as words of bitmaps, so that candidates in a unit are counted by
 * a few instructions
 *
 * A node that several units list belongs to the first of them, as topo_unit_of() says. */
#pragma once

#include <stdint.h>

#include "base/cleanup.h"

struct topo_spec;

struct topo_span { /* nodes of a unit in one word of a bitmap over nodes */
    uint32_t word;
    uint64_t mask;
};

struct topo_bits;

/* unit_of: by node id below limit, a unit or TOPO_NONE.  -ENOMEM. */
int topo_bits_new(const struct topo_spec *spec, const uint32_t *unit_of, uint32_t limit,
                  struct topo_bits **ret);
struct topo_bits *topo_bits_free(struct topo_bits *b); /* always NULL */
DEFINE_CLEANUP(struct topo_bits *, topo_bits_free)

/* The words of one unit, ascending. */
const struct topo_span *topo_unit_spans(const struct topo_bits *b, uint32_t unit, uint32_t *ret_n);
/* Of a bitmap over nodes, nwords long: the nodes that are in some unit stay. */
void topo_keep_members(const struct topo_bits *b, uint64_t *words, uint32_t nwords);
/* How many nodes of the unit are in a bitmap over nodes. */
uint32_t topo_unit_count(const struct topo_bits *b, uint32_t unit, const uint64_t *words,
                         uint32_t nwords);
