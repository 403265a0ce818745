/* texts.c - texts kept once; see texts.h
 *
 * Open addressing with linear probing; a text that goes closes its gap, so there are no
 * tombstones.  At most two thirds of the slots are taken. */
#include "model/texts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#define MIN_CAP 64u

struct text {
    uint32_t hash;
    uint32_t refs;
    uint32_t len;
    char bytes[];
};

static struct text *text_of(const char *bytes)
{
    return (struct text *)(bytes - offsetof(struct text, bytes));
}

/* The slot of these bytes, or the free one where they belong. */
static size_t find_slot(const struct texts *t, uint32_t hash, const void *bytes, size_t len)
{
    size_t i = hash & (t->cap - 1);

    while (t->slots[i] && (t->slots[i]->hash != hash || t->slots[i]->len != len ||
                           memcmp(t->slots[i]->bytes, bytes, len) != 0))
        i = (i + 1) & (t->cap - 1);
    return i;
}

static int grow_slots(struct texts *t)
{
    struct texts bigger = { .cap = t->cap ? t->cap * 2 : MIN_CAP, .count = t->count };

    bigger.slots = calloc(bigger.cap, sizeof(*bigger.slots));
    if (!bigger.slots)
        return -1;
    for (size_t i = 0; i < t->cap; i++) {
        const struct text *x = t->slots[i];

        if (x)
            bigger.slots[find_slot(&bigger, x->hash, x->bytes, x->len)] = t->slots[i];
    }
    free(t->slots);
    *t = bigger;
    return 0;
}

/* Users choose many of the texts.  The place of the program in memory is not known to them, so
 * that they cannot choose texts which all belong into one slot. */
static uint32_t hash_bytes(const void *bytes, size_t len)
{
    static const char place;

    return (uint32_t)XXH3_64bits_withSeed(bytes, len, (uint64_t)(uintptr_t)&place);
}

char *texts_keep(struct texts *t, const void *bytes, size_t len)
{
    uint32_t hash = hash_bytes(bytes, len);
    struct text *x;
    size_t i;

    if (len > UINT32_MAX - sizeof(*x) || (3 * (t->count + 1) > 2 * t->cap && grow_slots(t) < 0))
        return NULL;
    i = find_slot(t, hash, bytes, len);
    x = t->slots[i];
    if (!x) {
        x = malloc(sizeof(*x) + len + 1);
        if (!x)
            return NULL;
        *x = (struct text){ .hash = hash, .len = (uint32_t)len };
        memcpy(x->bytes, bytes, len);
        x->bytes[len] = '\0';
        t->slots[i] = x;
        t->count++;
    }
    assert(x->refs < UINT32_MAX); /* each is a field of a record: memory ends before */
    x->refs++;
    return x->bytes;
}

/* What stands behind the gap at i, and would not be found past it, moves into it. */
static void close_gap(struct texts *t, size_t gap)
{
    for (size_t i = (gap + 1) & (t->cap - 1); t->slots[i]; i = (i + 1) & (t->cap - 1)) {
        size_t home = t->slots[i]->hash & (t->cap - 1);

        if (((i - home) & (t->cap - 1)) < ((i - gap) & (t->cap - 1)))
            continue; /* it begins behind the gap */
        t->slots[gap] = t->slots[i];
        t->slots[i] = NULL;
        gap = i;
    }
}

void texts_drop(struct texts *t, const char *text)
{
    struct text *x = text ? text_of(text) : NULL;
    size_t i;

    if (!x || --x->refs)
        return;
    i = find_slot(t, x->hash, x->bytes, x->len);
    assert(t->slots[i] == x);
    t->slots[i] = NULL;
    t->count--;
    close_gap(t, i);
    free(x);
}

void texts_done(struct texts *t)
{
    for (size_t i = 0; i < t->cap; i++)
        free(t->slots[i]);
    free(t->slots);
    *t = (struct texts){ 0 };
}
