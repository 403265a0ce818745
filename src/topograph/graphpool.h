/* graphpool.h - texts that live as long as a graph, and which of them is which number
 *
 * Pure data, one thread per object.  Look-ups go through a balanced tree: names from outside cannot
 * make them slow, as they could with a hash that they know. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* ---- texts ----------------------------------------------------------------------------------- */

struct graphpool_chunk;
struct graphpool {
    struct graphpool_chunk *chunks; /* the first has room */
};
/* A copy of len bytes with a NUL behind it, valid until graphpool_done().  NULL: out of memory. */
const char *graphpool_add(struct graphpool *p, const char *text, size_t len);
void graphpool_done(struct graphpool *p);

/* ---- numbers of texts ------------------------------------------------------------------------ */

#define GRAPHINDEX_NONE UINT32_MAX

struct graphindex {
    void *root; /* tsearch(3) */
};
/* The number of a text, GRAPHINDEX_NONE: never put. */
uint32_t graphindex_find(const struct graphindex *x, const char *text);
/* The text, borrowed as long as the index lives, gets a number; it has none yet.  -ENOMEM. */
int graphindex_put(struct graphindex *x, const char *text, uint32_t number);
void graphindex_done(struct graphindex *x);
