/* bitmap.h - fixed-size sets of small indexes
 *
 * Pure data.  Sizes are in bits; operations on two bitmaps need equal sizes (asserted: our bug).
 * The text form is an index list "0-3,8". */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"

#define BITMAP_MAX_BITS (1u << 24)

struct bitmap {
    uint32_t nbits;
    uint32_t nwords;
    uint64_t words[];
};

int bitmap_new(uint32_t nbits, struct bitmap **ret_bm); /* all clear; -ENOMEM, -E2BIG */
int bitmap_dup(const struct bitmap *bm, struct bitmap **ret_bm);
/* Keeps bits below nbits; new ones are clear.  Errors as bitmap_new; *bm is then unchanged. */
int bitmap_resize(struct bitmap **bm, uint32_t nbits);
struct bitmap *bitmap_free(struct bitmap *bm); /* always NULL */
DEFINE_CLEANUP(struct bitmap *, bitmap_free)

static inline bool bitmap_test(const struct bitmap *bm, uint32_t i)
{
    return bm->words[i >> 6] >> (i & 63) & 1;
}
static inline void bitmap_set(struct bitmap *bm, uint32_t i)
{
    bm->words[i >> 6] |= UINT64_C(1) << (i & 63);
}
static inline void bitmap_clear(struct bitmap *bm, uint32_t i)
{
    bm->words[i >> 6] &= ~(UINT64_C(1) << (i & 63));
}

void bitmap_set_range(struct bitmap *bm, uint32_t first, uint32_t count);
void bitmap_zero(struct bitmap *bm);
void bitmap_fill(struct bitmap *bm);
void bitmap_copy(struct bitmap *dst, const struct bitmap *src);
void bitmap_and(struct bitmap *dst, const struct bitmap *src);
void bitmap_or(struct bitmap *dst, const struct bitmap *src);
void bitmap_andnot(struct bitmap *dst, const struct bitmap *src); /* dst &= ~src */
uint32_t bitmap_count(const struct bitmap *bm);
uint32_t bitmap_count_and(const struct bitmap *a, const struct bitmap *b);
bool bitmap_empty(const struct bitmap *bm);
bool bitmap_overlaps(const struct bitmap *a, const struct bitmap *b);
bool bitmap_subset(const struct bitmap *a, const struct bitmap *b); /* a within b */
bool bitmap_equal(const struct bitmap *a, const struct bitmap *b);
/* First set bit at or after i, or nbits when none. */
uint32_t bitmap_next(const struct bitmap *bm, uint32_t i);

#define BITMAP_FOREACH(bm, i)                                                                      \
    for (uint32_t i = bitmap_next((bm), 0); i < (bm)->nbits; i = bitmap_next((bm), i + 1))

/* Text form.  Caller frees *ret_text; the empty set is "". */
int bitmap_format(const struct bitmap *bm, char **ret_text);
/* Set the bits named by text ("0-3,8"), leaving others; nothing changes on failure.  "" is fine.
 * Errors: -EINVAL, -ERANGE beyond nbits. */
int bitmap_parse(struct bitmap *bm, const char *text, struct err *err);
/* The same, with numbers from nbits on left out.  -EINVAL, and nothing changes. */
int bitmap_parse_within(struct bitmap *bm, const char *text);
