/* kubemap.h - texts to pointers: a balanced tree, so that names which strangers choose cost no more
 *
 * One thread at a time.  Look-ups are O(log n). */
#pragma once

#include <stddef.h>

struct kubemap {
    void *root; /* of tsearch(3) */
    size_t n;
};

/* What stands at key; NULL: nothing. */
void *kubemap_get(const struct kubemap *m, const char *key);
/* Put value (not NULL) at key, which is copied, in place of what was there.  -ENOMEM. */
int kubemap_put(struct kubemap *m, const char *key, void *value);
/* Take out what stands at key and give it back; NULL: nothing was there. */
void *kubemap_take(struct kubemap *m, const char *key);
/* Call fn for each, in order of keys.  fn does not change the map. */
typedef void kubemap_fn(void *ctx, const char *key, void *value);
void kubemap_walk(const struct kubemap *m, kubemap_fn *fn, void *ctx);
/* Empty the map.  free_value (may be NULL) is called for each value. */
void kubemap_done(struct kubemap *m, void (*free_value)(void *value));
