/* kubemap.c - see kubemap.h */
#include "kube/api/kubemap.h"

#include <errno.h>
#include <search.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct map_entry {
    void *value;
    char key[];
};

/* A key to be looked for stands in front of its text as an entry does. */
struct wanted {
    const char *key;
};

static int compare_keys(const void *a, const void *b)
{
    return strcmp(((const struct map_entry *)a)->key, ((const struct map_entry *)b)->key);
}

static int compare_wanted(const void *wanted, const void *e)
{
    return strcmp(((const struct wanted *)wanted)->key, ((const struct map_entry *)e)->key);
}

static struct map_entry *find_entry(const struct kubemap *m, const char *key)
{
    struct wanted w = { key };
    struct map_entry **found = tfind(&w, &m->root, compare_wanted);

    return found ? *found : NULL;
}

void *kubemap_get(const struct kubemap *m, const char *key)
{
    struct map_entry *e = find_entry(m, key);

    return e ? e->value : NULL;
}

int kubemap_put(struct kubemap *m, const char *key, void *value)
{
    struct map_entry *e = find_entry(m, key);
    size_t size = strlen(key) + 1;

    if (e) {
        e->value = value;
        return 0;
    }
    e = malloc(sizeof(*e) + size);
    if (!e)
        return -ENOMEM;
    e->value = value;
    memcpy(e->key, key, size);
    if (!tsearch(e, &m->root, compare_keys)) {
        free(e);
        return -ENOMEM;
    }
    m->n++;
    return 0;
}

void *kubemap_take(struct kubemap *m, const char *key)
{
    struct map_entry *e = find_entry(m, key);
    void *value = e ? e->value : NULL;

    if (!e)
        return NULL;
    (void)tdelete(e, &m->root, compare_keys); /* it is there */
    m->n--;
    free(e);
    return value;
}

struct walk {
    kubemap_fn *fn;
    void *ctx;
};

static void visit_entry(const void *node, VISIT which, void *closure)
{
    const struct walk *w = closure;
    const struct map_entry *e = *(const struct map_entry *const *)node;

    if (which == postorder || which == leaf)
        w->fn(w->ctx, e->key, e->value);
}

void kubemap_walk(const struct kubemap *m, kubemap_fn *fn, void *ctx)
{
    struct walk w = { fn, ctx };

    twalk_r(m->root, visit_entry, &w);
}

void kubemap_done(struct kubemap *m, void (*free_value)(void *value))
{
    while (m->root) {
        struct map_entry *e = *(struct map_entry **)m->root;

        (void)tdelete(e, &m->root, compare_keys); /* it is there */
        if (free_value)
            free_value(e->value);
        free(e);
    }
    m->n = 0;
}
