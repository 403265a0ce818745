/* conf_pool.c - memory of a loaded configuration: strings freed together, growing vectors, a hash.
 *
 * A node has up to eight strings and there may be 100,000 nodes, so strings are cut from chunks. */
#include "conf/conf_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"

enum { CHUNK = 16384 };

struct conf_pool {
    struct conf_pool *next;
    size_t used, size;
    char data[];
};

struct conf_pool *conf_pool_free(struct conf_pool *pool)
{
    while (pool) {
        struct conf_pool *next = pool->next;

        free(pool);
        pool = next;
    }
    return NULL;
}

char *conf_pool_strndup(struct conf_pool **pool, const char *text, size_t len)
{
    struct conf_pool *p = *pool;
    char *copy;

    if (!p || p->size - p->used <= len) {
        size_t size = len >= CHUNK ? len + 1 : CHUNK;

        p = malloc(sizeof(*p) + size);
        if (!p)
            return NULL;
        p->next = *pool;
        p->used = 0;
        p->size = size;
        *pool = p;
    }
    copy = p->data + p->used;
    memcpy(copy, text, len);
    copy[len] = '\0';
    p->used += len + 1;
    return copy;
}

char *conf_pool_strdup(struct conf_pool **pool, const char *text)
{
    return conf_pool_strndup(pool, text, strlen(text));
}

int conf_grow(void *items, size_t *cap, size_t n, size_t size)
{
    void *old, *grown;
    size_t want = *cap ? *cap * 2 : 16;

    if (n < *cap)
        return 0;
    memcpy(&old, items, sizeof(old)); /* a pointer to any pointer type */
    grown = reallocarray(old, want, size);
    if (!grown)
        return -ENOMEM;
    memcpy(items, &grown, sizeof(grown));
    *cap = want;
    return 0;
}

uint64_t conf_hash(const char *text)
{
    uint64_t h = fnv_text(text);

    return h ^ h >> 29;
}
