/* gresfree.h - which devices of a node are free */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct gres_row;
struct pick;

static inline bool bit_in(const uint64_t *words, uint32_t nwords, uint32_t at)
{
    return at / 64 < nwords && (words[at >> 6] >> (at & 63) & 1);
}

/* What is free of a row; dev (may be NULL) gets the free devices. */
uint64_t gres_free(const struct pick *p, uint32_t id, uint32_t row, uint64_t *dev);
/* Bits set in [first, first + count). */
uint32_t gres_count(const uint64_t *words, uint32_t first, uint32_t count);
bool gres_row_matches(const struct pick *p, const struct gres_row *row, uint32_t req);
