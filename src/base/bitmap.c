/* bitmap.c - fixed-size sets of small indexes; see bitmap.h.
 *
 * Invariant: bits at nbits and above are clear, so counts and comparisons need no mask. */
#include "base/bitmap.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"

static uint32_t words_for(uint32_t nbits)
{
    return nbits / 64 + (nbits % 64 != 0);
}

static size_t bytes_for(uint32_t nbits)
{
    return sizeof(struct bitmap) + words_for(nbits) * sizeof(uint64_t);
}

/* Clear what lies beyond nbits in the last word. */
static void trim_tail(struct bitmap *bm)
{
    if (bm->nbits % 64)
        bm->words[bm->nwords - 1] &= (UINT64_C(1) << (bm->nbits % 64)) - 1;
}

int bitmap_new(uint32_t nbits, struct bitmap **ret_bm)
{
    struct bitmap *bm;

    if (nbits > BITMAP_MAX_BITS)
        return -E2BIG;
    bm = calloc(1, bytes_for(nbits));
    if (!bm)
        return -ENOMEM;
    bm->nbits = nbits;
    bm->nwords = words_for(nbits);
    *ret_bm = bm;
    return 0;
}

int bitmap_dup(const struct bitmap *bm, struct bitmap **ret_bm)
{
    struct bitmap *copy = malloc(bytes_for(bm->nbits));

    if (!copy)
        return -ENOMEM;
    memcpy(copy, bm, bytes_for(bm->nbits));
    *ret_bm = copy;
    return 0;
}

int bitmap_resize(struct bitmap **bm, uint32_t nbits)
{
    struct bitmap *grown;
    uint32_t had = (*bm)->nwords, want = words_for(nbits);

    if (nbits > BITMAP_MAX_BITS)
        return -E2BIG;
    grown = realloc(*bm, bytes_for(nbits));
    if (!grown)
        return -ENOMEM;
    if (want > had)
        memset(grown->words + had, 0, (want - had) * sizeof(uint64_t));
    grown->nbits = nbits;
    grown->nwords = want;
    trim_tail(grown);
    *bm = grown;
    return 0;
}

struct bitmap *bitmap_free(struct bitmap *bm)
{
    int saved = errno;

    free(bm);
    errno = saved;
    return NULL;
}

void bitmap_set_range(struct bitmap *bm, uint32_t first, uint32_t count)
{
    assert(first <= bm->nbits && count <= bm->nbits - first);
    for (uint32_t i = first, end = first + count; i < end;) {
        uint32_t n = MIN(64 - i % 64, end - i);
        uint64_t ones = n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;

        bm->words[i / 64] |= ones << (i % 64);
        i += n;
    }
}

void bitmap_zero(struct bitmap *bm)
{
    memset(bm->words, 0, bm->nwords * sizeof(uint64_t));
}

void bitmap_fill(struct bitmap *bm)
{
    memset(bm->words, 0xff, bm->nwords * sizeof(uint64_t));
    trim_tail(bm);
}

void bitmap_copy(struct bitmap *dst, const struct bitmap *src)
{
    assert(dst->nbits == src->nbits);
    memcpy(dst->words, src->words, src->nwords * sizeof(uint64_t));
}

void bitmap_and(struct bitmap *dst, const struct bitmap *src)
{
    assert(dst->nbits == src->nbits);
    for (uint32_t i = 0; i < dst->nwords; i++)
        dst->words[i] &= src->words[i];
}

void bitmap_or(struct bitmap *dst, const struct bitmap *src)
{
    assert(dst->nbits == src->nbits);
    for (uint32_t i = 0; i < dst->nwords; i++)
        dst->words[i] |= src->words[i];
}

void bitmap_andnot(struct bitmap *dst, const struct bitmap *src)
{
    assert(dst->nbits == src->nbits);
    for (uint32_t i = 0; i < dst->nwords; i++)
        dst->words[i] &= ~src->words[i];
}

uint32_t bitmap_count(const struct bitmap *bm)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < bm->nwords; i++)
        n += (uint32_t)__builtin_popcountll(bm->words[i]);
    return n;
}

uint32_t bitmap_count_and(const struct bitmap *a, const struct bitmap *b)
{
    uint32_t n = 0;

    assert(a->nbits == b->nbits);
    for (uint32_t i = 0; i < a->nwords; i++)
        n += (uint32_t)__builtin_popcountll(a->words[i] & b->words[i]);
    return n;
}

bool bitmap_empty(const struct bitmap *bm)
{
    for (uint32_t i = 0; i < bm->nwords; i++) {
        if (bm->words[i])
            return false;
    }
    return true;
}

bool bitmap_overlaps(const struct bitmap *a, const struct bitmap *b)
{
    assert(a->nbits == b->nbits);
    for (uint32_t i = 0; i < a->nwords; i++) {
        if (a->words[i] & b->words[i])
            return true;
    }
    return false;
}

bool bitmap_subset(const struct bitmap *a, const struct bitmap *b)
{
    assert(a->nbits == b->nbits);
    for (uint32_t i = 0; i < a->nwords; i++) {
        if (a->words[i] & ~b->words[i])
            return false;
    }
    return true;
}

bool bitmap_equal(const struct bitmap *a, const struct bitmap *b)
{
    assert(a->nbits == b->nbits);
    return memcmp(a->words, b->words, a->nwords * sizeof(uint64_t)) == 0;
}

uint32_t bitmap_next(const struct bitmap *bm, uint32_t i)
{
    uint32_t w = i / 64;
    uint64_t word;

    if (i >= bm->nbits)
        return bm->nbits;
    word = bm->words[w] & (UINT64_MAX << (i % 64));
    while (!word) {
        if (++w == bm->nwords)
            return bm->nbits;
        word = bm->words[w];
    }
    return w * 64 + (uint32_t)__builtin_ctzll(word);
}

/* First clear bit at or after i, or nbits. */
static uint32_t next_clear(const struct bitmap *bm, uint32_t i)
{
    uint32_t w = i / 64, found;
    uint64_t word;

    if (i >= bm->nbits)
        return bm->nbits;
    word = ~bm->words[w] & (UINT64_MAX << (i % 64));
    while (!word) {
        if (++w == bm->nwords)
            return bm->nbits;
        word = ~bm->words[w];
    }
    found = w * 64 + (uint32_t)__builtin_ctzll(word);
    return MIN(found, bm->nbits);
}

int bitmap_format(const struct bitmap *bm, char **ret_text)
{
    struct strbuf sb = STRBUF_INIT;

    for (uint32_t i = bitmap_next(bm, 0); i < bm->nbits;) {
        uint32_t end = next_clear(bm, i);

        strbuf_addf(&sb, sb.len ? ",%u" : "%u", i);
        if (end - i > 1)
            strbuf_addf(&sb, "-%u", end - 1);
        i = bitmap_next(bm, end);
    }
    return strbuf_detach(&sb, ret_text);
}

/* The number at p; NULL when there is none.  Too large ones stop at UINT32_MAX. */
static const char *take_index(const char *p, uint32_t *ret)
{
    uint64_t v = 0;

    if (*p < '0' || *p > '9')
        return NULL;
    for (; *p >= '0' && *p <= '9'; p++)
        v = MIN(v * 10 + (uint64_t)(*p - '0'), (uint64_t)UINT32_MAX);
    *ret = (uint32_t)v;
    return p;
}

/* Walk the list; with `set`, set its bits.  Two passes keep a refused text from changing
 * anything.  cut: bits that there are not are left out. */
static int walk_list(struct bitmap *bm, const char *text, bool set, bool cut, struct err *err)
{
    for (const char *p = text; *p;) {
        const char *start = p;
        uint32_t lo, hi;

        p = take_index(p, &lo);
        hi = lo;
        if (p && *p == '-')
            p = take_index(p + 1, &hi);
        if (!p || hi < lo || (*p && *p != ',') || (*p == ',' && !p[1]))
            return err_set(err, -EINVAL, "index list: bad range at '%.64s'", start);
        if (hi >= bm->nbits && !cut)
            return err_set(err, -ERANGE, "index list: %u is not below %u", hi, bm->nbits);
        if (set && lo < bm->nbits)
            bitmap_set_range(bm, lo, MIN(hi, bm->nbits - 1) - lo + 1);
        if (*p == ',')
            p++;
    }
    return 0;
}

int bitmap_parse(struct bitmap *bm, const char *text, struct err *err)
{
    int r = walk_list(bm, text, false, false, err);

    return r < 0 ? r : walk_list(bm, text, true, false, err);
}

int bitmap_parse_within(struct bitmap *bm, const char *text)
{
    int r = walk_list(bm, text, false, true, NULL);

    return r < 0 ? r : walk_list(bm, text, true, true, NULL);
}
