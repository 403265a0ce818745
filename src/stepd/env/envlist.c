/* envlist.c - see envlist.h
 *
 * Look-ups are linear: an environment has a hundred variables and is built once per task.  Strings
 * come from bump-allocated chunks, so that building one costs a handful of allocations. */
#include "stepd/env/envlist.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define CHUNK_SIZE 8192u

struct envlist_chunk {
    struct envlist_chunk *next;
    size_t used, size;
    char data[];
};

static char *chunk_alloc(struct envlist *el, size_t len)
{
    struct envlist_chunk *c = el->chunks;
    char *p;

    if (!c || c->size - c->used < len) {
        size_t size = MAX((size_t)CHUNK_SIZE, len);

        c = malloc(sizeof(*c) + size);
        if (!c) {
            el->failed = true;
            return NULL;
        }
        *c = (struct envlist_chunk){ .next = el->chunks, .size = size };
        el->chunks = c;
    }
    p = c->data + c->used;
    c->used += len;
    return p;
}

/* Index of the variable, or n. */
static size_t find_name(const struct envlist *el, const char *name, size_t len)
{
    size_t i = 0;

    while (i < el->n && (strncmp(el->items[i], name, len) != 0 || el->items[i][len] != '='))
        i++;
    return i;
}

static bool reserve_items(struct envlist *el, size_t n)
{
    size_t cap = MAX((size_t)64, el->cap);
    char **items;

    if (n < el->cap)
        return true;
    while (cap <= n)
        cap *= 2;
    items = realloc(el->items, cap * sizeof(*items));
    if (!items) {
        el->failed = true;
        return false;
    }
    el->items = items;
    el->cap = cap;
    return true;
}

static void put_item(struct envlist *el, char *item, size_t name_len)
{
    size_t i = find_name(el, item, name_len);

    if (i == el->n) {
        if (!reserve_items(el, el->n + 1))
            return;
        el->n++;
    }
    el->items[i] = item;
    el->items[el->n] = NULL;
}

void envlist_load(struct envlist *el, const void *data, size_t len)
{
    const char *p = data, *end = p + len;

    while (p < end && !el->failed) {
        size_t n = strnlen(p, (size_t)(end - p));
        const char *eq = memchr(p, '=', n);
        char *item = (char *)p;

        if (eq && eq > p) {
            if (p + n == end) { /* the last one has no NUL of its own */
                item = chunk_alloc(el, n + 1);
                if (!item)
                    return;
                memcpy(item, p, n);
                item[n] = '\0';
            }
            put_item(el, item, (size_t)(eq - p));
        }
        p += n + 1;
    }
}

void envlist_borrow(struct envlist *el, const struct envlist *src)
{
    el->failed = el->failed || src->failed;
    if (el->failed || !reserve_items(el, src->n + 16))
        return;
    for (size_t i = 0; i < src->n; i++)
        el->items[i] = src->items[i];
    el->n = src->n;
    el->items[el->n] = NULL;
}

char *envlist_slot(struct envlist *el, const char *name, size_t room)
{
    size_t name_len = strlen(name);
    char *item = el->failed ? NULL : chunk_alloc(el, name_len + 1 + room);

    if (!item)
        return NULL;
    memcpy(item, name, name_len);
    item[name_len] = '=';
    memset(item + name_len + 1, 0, room);
    put_item(el, item, name_len);
    return el->failed ? NULL : item + name_len + 1;
}

void envlist_set(struct envlist *el, const char *name, const char *value)
{
    size_t len;
    char *p;

    if (!value) {
        envlist_unset(el, name);
        return;
    }
    len = strlen(value) + 1;
    p = envlist_slot(el, name, len);
    if (p)
        memcpy(p, value, len);
}

void envlist_default(struct envlist *el, const char *name, const char *value)
{
    if (value && !envlist_get(el, name))
        envlist_set(el, name, value);
}

void envlist_setf(struct envlist *el, const char *name, const char *fmt, ...)
{
    char buf[1024];
    _cleanup_free_ char *heap = NULL;
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(buf, sizeof(buf), fmt, ap);
    va_end(ap);
    if (n < (int)sizeof(buf)) {
        envlist_set(el, name, buf);
        return;
    }
    va_start(ap, fmt);
    n = vasprintf(&heap, fmt, ap);
    va_end(ap);
    if (n < 0) {
        heap = NULL;
        el->failed = true;
        return;
    }
    envlist_set(el, name, heap);
}

void envlist_setu(struct envlist *el, const char *name, uint64_t value)
{
    envlist_setf(el, name, "%llu", (unsigned long long)value);
}

void envlist_unset(struct envlist *el, const char *name)
{
    size_t i = find_name(el, name, strlen(name));

    if (i == el->n)
        return;
    el->items[i] = el->items[--el->n];
    el->items[el->n] = NULL;
}

void envlist_unset_prefix(struct envlist *el, const char *prefix)
{
    size_t len = strlen(prefix), kept = 0;

    for (size_t i = 0; i < el->n; i++)
        if (strncmp(el->items[i], prefix, len) != 0)
            el->items[kept++] = el->items[i];
    el->n = kept;
    if (el->items)
        el->items[kept] = NULL;
}

void envlist_unset_part(struct envlist *el, const char *part)
{
    size_t kept = 0;

    for (size_t i = 0; i < el->n; i++)
        if (!memmem(el->items[i], strcspn(el->items[i], "="), part, strlen(part)))
            el->items[kept++] = el->items[i];
    el->n = kept;
    if (el->items)
        el->items[kept] = NULL;
}

const char *envlist_get(const struct envlist *el, const char *name)
{
    size_t len = strlen(name), i = find_name(el, name, len);

    return i == el->n ? NULL : el->items[i] + len + 1;
}

char *const *envlist_array(struct envlist *el)
{
    if (el->failed || !reserve_items(el, el->n))
        return NULL;
    el->items[el->n] = NULL;
    return el->items;
}

void envlist_done(struct envlist *el)
{
    while (el->chunks) {
        struct envlist_chunk *next = el->chunks->next;

        free(el->chunks);
        el->chunks = next;
    }
    free(el->items);
    *el = (struct envlist)ENVLIST_INIT;
}
