/* kvs.c - see kvs.h */
#include "pmi/kvs.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

struct pair {
    char *name, *value; /* one allocation each; name is the entry's key */
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct pair *)a)->name, ((const struct pair *)b)->name);
}

static void entry_free(void *p)
{
    struct pair *e = p;

    free(e->name);
    free(e->value);
    free(e);
}

static int set_value(struct kvs *k, const char *name, const char *value)
{
    struct pair *e = calloc(1, sizeof(*e)), **at;
    char *old;

    if (!e)
        return -ENOMEM;
    e->name = strdup(name);
    e->value = strdup(value);
    at = e->name && e->value ? tsearch(e, &k->root, compare_names) : NULL;
    if (!at) {
        entry_free(e);
        return -ENOMEM;
    }
    if (*at == e)
        return 0;
    old = (*at)->value; /* it was there: the newest value counts */
    (*at)->value = e->value;
    e->value = old;
    entry_free(e);
    return 0;
}

int kvs_put(struct kvs *k, const char *name, const char *value)
{
    int r = set_value(k, name, value);

    if (r < 0)
        return r;
    strbuf_addn(&k->fresh, name, strlen(name) + 1);
    strbuf_addn(&k->fresh, value, strlen(value) + 1);
    return k->fresh.failed ? -ENOMEM : 0;
}

const char *kvs_get(const struct kvs *k, const char *name)
{
    struct pair key = { .name = (char *)name };
    struct pair *const *at = tfind(&key, &k->root, compare_names);

    return at ? (*at)->value : NULL;
}

int kvs_merge(struct kvs *k, const uint8_t *data, size_t len)
{
    const char *p = (const char *)data, *end = p + len;

    while (p < end) {
        const char *value = memchr(p, '\0', (size_t)(end - p)), *next;
        int r;

        next = value ? memchr(value + 1, '\0', (size_t)(end - value - 1)) : NULL;
        if (!next)
            return -EBADMSG;
        r = set_value(k, p, value + 1);
        if (r < 0)
            return r;
        p = next + 1;
    }
    return 0;
}

void kvs_done(struct kvs *k)
{
    tdestroy(k->root, entry_free);
    strbuf_done(&k->fresh);
    k->root = NULL;
}
