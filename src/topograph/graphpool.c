/* graphpool.c - see graphpool.h */
#include "topograph/graphpool.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define CHUNK_BYTES 65536u

struct graphpool_chunk {
    struct graphpool_chunk *next;
    size_t used, size;
    char text[];
};

const char *graphpool_add(struct graphpool *p, const char *text, size_t len)
{
    struct graphpool_chunk *c = p->chunks;
    char *at;

    if (!c || c->size - c->used < len + 1) {
        size_t size = MAX(len + 1, (size_t)CHUNK_BYTES);

        c = malloc(sizeof(*c) + size);
        if (!c)
            return NULL;
        *c = (struct graphpool_chunk){ .next = p->chunks, .size = size };
        p->chunks = c;
    }
    at = c->text + c->used;
    memcpy(at, text, len);
    at[len] = '\0';
    c->used += len + 1;
    return at;
}

void graphpool_done(struct graphpool *p)
{
    while (p->chunks) {
        struct graphpool_chunk *c = p->chunks;

        p->chunks = c->next;
        free(c);
    }
}

/* ---- numbers of texts ------------------------------------------------------------------------ */

struct index_entry {
    const char *text;
    uint32_t number;
};

static int compare_texts(const void *a, const void *b)
{
    return strcmp(((const struct index_entry *)a)->text, ((const struct index_entry *)b)->text);
}

uint32_t graphindex_find(const struct graphindex *x, const char *text)
{
    const struct index_entry key = { .text = text };
    struct index_entry **found = tfind(&key, &x->root, compare_texts);

    return found ? (*found)->number : GRAPHINDEX_NONE;
}

int graphindex_put(struct graphindex *x, const char *text, uint32_t number)
{
    struct index_entry *e = malloc(sizeof(*e));

    if (!e)
        return -ENOMEM;
    *e = (struct index_entry){ text, number };
    if (!tsearch(e, &x->root, compare_texts)) {
        free(e);
        return -ENOMEM;
    }
    return 0;
}

void graphindex_done(struct graphindex *x)
{
    tdestroy(x->root, free);
    x->root = NULL;
}
