/* idmap.h - hash tables from ids or names to pointers
 *
 * Open addressing, power-of-two sizes, pure data, one thread at a time.  Values are borrowed:
 * the maps own keys only.  Growing is the only allocation; -ENOMEM leaves the map as it was. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct idmap { /* u64 key, neither 0 nor UINT64_MAX -> pointer; zero-initialised is empty */
    uint64_t *keys;
    void **values;
    size_t cap, used, count; /* used counts tombstones too */
};

void *idmap_get(const struct idmap *m, uint64_t key); /* NULL = absent */
/* Where the value of key is kept, for changing it in place: until the next put; NULL = absent. */
void **idmap_place(const struct idmap *m, uint64_t key);
/* Replaces; value must not be NULL.  Errors: -ENOMEM, -EINVAL for a key that cannot be one. */
int idmap_put(struct idmap *m, uint64_t key, void *value);
void *idmap_remove(struct idmap *m, uint64_t key); /* gives the old value back */
void idmap_done(struct idmap *m);
/* Walk: start with *pos = 0; NULL at the end.  The map must not grow meanwhile (removal is
 * fine). */
void *idmap_next(const struct idmap *m, size_t *pos);

struct namemap { /* string -> pointer; keys are borrowed and must outlive their entry */
    const char **keys;
    void **values;
    size_t cap, used, count;
};

void *namemap_get(const struct namemap *m, const char *key);
int namemap_put(struct namemap *m, const char *key, void *value);
void *namemap_remove(struct namemap *m, const char *key);
void namemap_done(struct namemap *m);
void *namemap_next(const struct namemap *m, size_t *pos); /* as idmap_next() */

/* A set of words: copies of its own.  Nothing is removed. */
struct wordset {
    struct namemap map;
};

int wordset_add(struct wordset *s, const char *word); /* -ENOMEM; adding twice is fine */
bool wordset_has(const struct wordset *s, const char *word, size_t len);
void wordset_done(struct wordset *s);
