/* hostlist.c - lists of host names; see hostlist.h.  The text forms are in hostlist_text.c.
 *
 * All names lie NUL-terminated in one arena; `at` holds their offsets in list order, so a list of
 * 100,000 nodes is two allocations and hostlist_nth() one addition.  Removed names leave holes in
 * the arena (`dead` bytes); they go when the arena would have to grow and half of it is holes. */
#include "base/hostlist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist_impl.h"

int hostlist_new(struct hostlist **ret_hl)
{
    struct hostlist *hl = calloc(1, sizeof(*hl));

    if (!hl)
        return -ENOMEM;
    hl->most = HOSTLIST_MAX_HOSTS;
    *ret_hl = hl;
    return 0;
}

struct hostlist *hostlist_free(struct hostlist *hl)
{
    int saved = errno;

    if (hl) {
        free(hl->text);
        free(hl->at);
        free(hl);
    }
    errno = saved;
    return NULL;
}

size_t hostlist_count(const struct hostlist *hl)
{
    return hl->n;
}

const char *hostlist_nth(const struct hostlist *hl, size_t i)
{
    return i < hl->n ? hl->text + hl->at[i] : NULL;
}

/* Copy the live names to a fresh arena of `cap` bytes. */
static int compact_ranges(struct hostlist *hl, size_t cap)
{
    char *text = malloc(cap);
    size_t used = 0;

    if (!text)
        return -ENOMEM;
    for (size_t i = 0; i < hl->n; i++) {
        size_t len = strlen(hl->text + hl->at[i]) + 1;

        memcpy(text + used, hl->text + hl->at[i], len);
        hl->at[i] = (uint32_t)used;
        used += len;
    }
    free(hl->text);
    hl->text = text;
    hl->used = used;
    hl->cap = cap;
    hl->dead = 0;
    return 0;
}

static int grow_text(struct hostlist *hl, size_t need)
{
    size_t cap = MAX(hl->cap, (size_t)256);
    char *text;

    if (hl->dead > hl->used / 2)
        return compact_ranges(hl, MAX(hl->cap, hl->used - hl->dead + need));
    while (cap < hl->used + need)
        cap *= 2;
    text = realloc(hl->text, cap);
    if (!text)
        return -ENOMEM;
    hl->text = text;
    hl->cap = cap;
    return 0;
}

int hostlist_append(struct hostlist *hl, const char *name, size_t len)
{
    if (hl->n >= hl->most)
        return -E2BIG;
    if (hl->used + len + 1 > hl->cap) {
        int r = grow_text(hl, len + 1);

        if (r < 0)
            return r;
    }
    if (hl->n == hl->slots) {
        size_t slots = hl->slots ? hl->slots * 2 : 16;
        uint32_t *at = reallocarray(hl->at, slots, sizeof(*at));

        if (!at)
            return -ENOMEM;
        hl->at = at;
        hl->slots = slots;
    }
    memcpy(hl->text + hl->used, name, len);
    hl->text[hl->used + len] = '\0';
    hl->at[hl->n++] = (uint32_t)hl->used;
    hl->used += len + 1;
    return 0;
}

void hostlist_cut(struct hostlist *hl, size_t n)
{
    if (n >= hl->n)
        return;
    for (size_t i = n; i < hl->n; i++)
        hl->dead += strlen(hl->text + hl->at[i]) + 1;
    hl->n = n;
    if (n == 0)
        hl->used = hl->dead = 0;
}

int hostlist_push(struct hostlist *hl, const char *name)
{
    size_t len = name ? strlen(name) : 0;

    if (len == 0)
        return -EINVAL;
    if (len > HOSTLIST_MAX_NAME)
        return -E2BIG;
    for (size_t i = 0; i < len; i++) {
        if (!hostlist_name_byte(name[i]))
            return -EINVAL;
    }
    return hostlist_append(hl, name, len);
}

struct host_parts hostlist_split(const char *name)
{
    struct host_parts p = { .len = strlen(name) };
    uint64_t unit = 1;

    p.prefix_len = p.len;
    while (p.prefix_len > 0 && p.len - p.prefix_len < HOST_DIGITS_MAX &&
           name[p.prefix_len - 1] >= '0' && name[p.prefix_len - 1] <= '9') {
        p.number += unit * (uint64_t)(name[--p.prefix_len] - '0');
        unit *= 10;
    }
    p.width = p.len - p.prefix_len;
    return p;
}

/* Order of two names: prefix, number, width; a name without a number comes before those with
 * one. */
static int compare_names(const char *a, const char *b)
{
    struct host_parts pa = hostlist_split(a), pb = hostlist_split(b);
    int r = memcmp(a, b, MIN(pa.prefix_len, pb.prefix_len));

    if (r)
        return r;
    if (pa.prefix_len != pb.prefix_len)
        return pa.prefix_len < pb.prefix_len ? -1 : 1;
    if ((pa.width == 0) != (pb.width == 0))
        return pa.width == 0 ? -1 : 1;
    if (pa.number != pb.number)
        return pa.number < pb.number ? -1 : 1;
    return (pa.width > pb.width) - (pa.width < pb.width);
}

static int compare_offsets(const void *a, const void *b, void *text)
{
    return compare_names((const char *)text + *(const uint32_t *)a,
                         (const char *)text + *(const uint32_t *)b);
}

void hostlist_sort(struct hostlist *hl)
{
    size_t i;

    for (i = 1; i < hl->n; i++) {
        if (compare_names(hl->text + hl->at[i - 1], hl->text + hl->at[i]) > 0)
            break;
    }
    if (i < hl->n) /* most lists come sorted */
        qsort_r(hl->at, hl->n, sizeof(*hl->at), compare_offsets, hl->text);
}

void hostlist_uniq(struct hostlist *hl)
{
    size_t kept = 0;

    hostlist_sort(hl);
    for (size_t i = 0; i < hl->n; i++) {
        const char *name = hl->text + hl->at[i];

        if (kept && strcmp(name, hl->text + hl->at[kept - 1]) == 0)
            hl->dead += strlen(name) + 1;
        else
            hl->at[kept++] = hl->at[i];
    }
    hl->n = kept;
}

long hostlist_find(const struct hostlist *hl, const char *name)
{
    for (size_t i = 0; i < hl->n; i++) {
        if (strcmp(hl->text + hl->at[i], name) == 0)
            return (long)i;
    }
    return -1;
}

bool hostlist_remove(struct hostlist *hl, const char *name)
{
    long i = hostlist_find(hl, name);

    if (i < 0)
        return false;
    hl->dead += strlen(name) + 1;
    hl->n--;
    memmove(hl->at + i, hl->at + i + 1, (hl->n - (size_t)i) * sizeof(*hl->at));
    if (hl->n == 0)
        hl->used = hl->dead = 0;
    return true;
}
