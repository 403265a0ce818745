/* idmap.c - hash tables from ids or names to pointers; see idmap.h.
 *
 * Linear probing with tombstones; rebuilt when three quarters are used, so a probe always ends. */
#include "model/tables/idmap.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#define MIN_CAP 16u
#define TOMB UINT64_MAX /* never a key, as 0 is not */

static const char name_tomb; /* its address marks a removed name */

static uint64_t mix_key(uint64_t x)
{
    x ^= x >> 33;
    x *= UINT64_C(0xff51afd7ed558ccd);
    x ^= x >> 33;
    return x;
}

/* Keys of eight in a row begin in one cache line of keys, and of values: ids are mostly asked for
 * in their order, and a line comes from memory once for all of them. */
static size_t first_slot(const struct idmap *m, uint64_t key)
{
    return (mix_key(key >> 3) << 3 | (key & 7)) & (m->cap - 1);
}

static size_t id_slot(const struct idmap *m, uint64_t key)
{
    size_t i = first_slot(m, key);

    while (m->keys[i] && m->keys[i] != key)
        i = (i + 1) & (m->cap - 1);
    return i;
}

static int id_rebuild(struct idmap *m)
{
    struct idmap bigger = { .cap = MIN_CAP };

    while (bigger.cap < m->count * 3)
        bigger.cap *= 2;
    bigger.keys = calloc(bigger.cap, sizeof(*bigger.keys));
    bigger.values = calloc(bigger.cap, sizeof(*bigger.values));
    if (!bigger.keys || !bigger.values) {
        idmap_done(&bigger);
        return -ENOMEM;
    }
    for (size_t i = 0; i < m->cap; i++) {
        if (m->keys[i] && m->keys[i] != TOMB) {
            size_t s = id_slot(&bigger, m->keys[i]);

            bigger.keys[s] = m->keys[i];
            bigger.values[s] = m->values[i];
        }
    }
    bigger.count = bigger.used = m->count;
    idmap_done(m);
    *m = bigger;
    return 0;
}

static bool is_usable_key(uint64_t key)
{
    return key != 0 && key != TOMB;
}

void **idmap_place(const struct idmap *m, uint64_t key)
{
    size_t s;

    if (!m->count || !is_usable_key(key))
        return NULL;
    s = id_slot(m, key);
    return m->keys[s] == key ? &m->values[s] : NULL;
}

void *idmap_get(const struct idmap *m, uint64_t key)
{
    void **at = idmap_place(m, key);

    return at ? *at : NULL;
}

int idmap_put(struct idmap *m, uint64_t key, void *value)
{
    size_t s;

    if (!is_usable_key(key))
        return -EINVAL;
    if ((m->used + 1) * 4 > m->cap * 3) {
        int r = id_rebuild(m);

        if (r < 0)
            return r;
    }
    s = id_slot(m, key);
    if (m->keys[s] != key) {
        m->keys[s] = key;
        m->used++;
        m->count++;
    }
    m->values[s] = value;
    return 0;
}

void *idmap_remove(struct idmap *m, uint64_t key)
{
    size_t s;

    if (!m->count || !is_usable_key(key))
        return NULL;
    s = id_slot(m, key);
    if (m->keys[s] != key)
        return NULL;
    m->keys[s] = TOMB;
    m->count--;
    return m->values[s];
}

void idmap_done(struct idmap *m)
{
    free(m->keys);
    free(m->values);
    *m = (struct idmap){ 0 };
}

void *idmap_next(const struct idmap *m, size_t *pos)
{
    while (*pos < m->cap) {
        size_t i = (*pos)++;

        if (m->keys[i] && m->keys[i] != TOMB)
            return m->values[i];
    }
    return NULL;
}

static size_t slot_of_bytes(const struct namemap *m, const char *key, size_t len)
{
    size_t i = XXH3_64bits(key, len) & (m->cap - 1);

    while (m->keys[i] &&
           (m->keys[i] == &name_tomb || strncmp(m->keys[i], key, len) != 0 || m->keys[i][len]))
        i = (i + 1) & (m->cap - 1);
    return i;
}

static size_t name_slot(const struct namemap *m, const char *key)
{
    return slot_of_bytes(m, key, strlen(key));
}

static int name_rebuild(struct namemap *m)
{
    struct namemap bigger = { .cap = MIN_CAP };

    while (bigger.cap < m->count * 3)
        bigger.cap *= 2;
    bigger.keys = calloc(bigger.cap, sizeof(*bigger.keys));
    bigger.values = calloc(bigger.cap, sizeof(*bigger.values));
    if (!bigger.keys || !bigger.values) {
        namemap_done(&bigger);
        return -ENOMEM;
    }
    for (size_t i = 0; i < m->cap; i++) {
        if (m->keys[i] && m->keys[i] != &name_tomb) {
            size_t s = name_slot(&bigger, m->keys[i]);

            bigger.keys[s] = m->keys[i];
            bigger.values[s] = m->values[i];
        }
    }
    bigger.count = bigger.used = m->count;
    namemap_done(m);
    *m = bigger;
    return 0;
}

void *namemap_get(const struct namemap *m, const char *key)
{
    size_t s;

    if (!m->count)
        return NULL;
    s = name_slot(m, key);
    return m->keys[s] ? m->values[s] : NULL;
}

int namemap_put(struct namemap *m, const char *key, void *value)
{
    size_t s;

    if ((m->used + 1) * 4 > m->cap * 3) {
        int r = name_rebuild(m);

        if (r < 0)
            return r;
    }
    s = name_slot(m, key);
    if (!m->keys[s]) {
        m->used++;
        m->count++;
    }
    m->keys[s] = key;
    m->values[s] = value;
    return 0;
}

void *namemap_remove(struct namemap *m, const char *key)
{
    size_t s;

    if (!m->count)
        return NULL;
    s = name_slot(m, key);
    if (!m->keys[s])
        return NULL;
    m->keys[s] = &name_tomb;
    m->count--;
    return m->values[s];
}

void namemap_done(struct namemap *m)
{
    free(m->keys);
    free(m->values);
    *m = (struct namemap){ 0 };
}

void *namemap_next(const struct namemap *m, size_t *pos)
{
    while (*pos < m->cap) {
        size_t i = (*pos)++;

        if (m->keys[i] && m->keys[i] != &name_tomb)
            return m->values[i];
    }
    return NULL;
}

int wordset_add(struct wordset *s, const char *word)
{
    char *own;
    int r;

    if (wordset_has(s, word, strlen(word)))
        return 0;
    own = strdup(word);
    r = own ? namemap_put(&s->map, own, s) : -ENOMEM;
    if (r < 0)
        free(own);
    return r;
}

bool wordset_has(const struct wordset *s, const char *word, size_t len)
{
    return s->map.count && !memchr(word, '\0', len) &&
           s->map.keys[slot_of_bytes(&s->map, word, len)];
}

void wordset_done(struct wordset *s)
{
    for (size_t i = 0; i < s->map.cap; i++)
        free((char *)s->map.keys[i]); /* no key was removed: each is a copy, or NULL */
    namemap_done(&s->map);
}
