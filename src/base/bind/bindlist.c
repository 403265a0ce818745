/* bindlist.c - see bindlist.h */
#include "base/bind/bindlist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"

#define REPEAT_MAX 65536u
#define ITEMS_MAX 65536u

void bindlist_done(struct bindlist *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->items[i]);
    free(l->items);
    *l = (struct bindlist){ 0 };
}

static int add_items(struct bindlist *l, const char *item, size_t len, uint64_t times)
{
    char **items;

    if (times > ITEMS_MAX - l->n)
        return -E2BIG;
    items = realloc(l->items, (l->n + times) * sizeof(*items));
    if (!items)
        return -ENOMEM;
    l->items = items;
    for (; times; times--) {
        items[l->n] = strndup(item, len);
        if (!items[l->n])
            return -ENOMEM;
        l->n++;
    }
    return 0;
}

static size_t after_0x(const char *item, size_t len)
{
    return len > 2 && item[0] == '0' && (item[1] == 'x' || item[1] == 'X') ? 2 : 0;
}

static int parse_item(struct bindlist *l, const char *item, size_t len)
{
    const char *star = memchr(item, '*', len);
    size_t skip = l->masks ? after_0x(item, len) : 0, n;
    uint64_t times = 1;
    char count[16];

    n = star ? (size_t)(star - item) : len;
    if (star) {
        size_t digits = len - n - 1;

        if (digits == 0 || digits >= sizeof(count))
            return -EINVAL;
        memcpy(count, star + 1, digits);
        count[digits] = '\0';
        if (parse_u64(count, 1, REPEAT_MAX, &times) < 0)
            return -EINVAL;
    }
    if (n <= skip ||
        strspn(item + skip, l->masks ? "0123456789abcdefABCDEF" : "0123456789") < n - skip)
        return -EINVAL;
    return add_items(l, item + skip, n - skip, times);
}

int bindlist_words(const char *text, bindlist_word_fn *fn, void *ctx, const char **ret_list)
{
    int r = 0;

    *ret_list = NULL;
    for (const char *p = text; r == 0 && !*ret_list && *p;) {
        size_t len = strcspn(p, ",");

        r = fn(ctx, p, len, ret_list);
        p += len + (p[len] == ',');
    }
    return r;
}

int bindlist_parse(const char *text, bool masks, struct bindlist *ret)
{
    struct bindlist l = { .masks = masks };
    int r = *text ? 0 : -EINVAL;

    for (const char *p = text; r == 0 && *p;) {
        size_t len = strcspn(p, ",");

        r = parse_item(&l, p, len);
        p += len;
        if (*p == ',')
            r = r == 0 && !*++p ? -EINVAL : r;
    }
    if (r == 0)
        *ret = l;
    else
        bindlist_done(&l);
    return r;
}

/* Bits of a hexadecimal number, the lowest first. */
static int hex_bits(const char *hex, struct bitmap *mask, uint32_t each)
{
    size_t len = strlen(hex);

    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)hex[len - 1 - i];
        unsigned digit = c <= '9' ? (unsigned)c - '0' : (c | 32u) - 'a' + 10u;

        for (unsigned bit = 0; bit < 4; bit++) {
            uint64_t at = ((uint64_t)i * 4 + bit) * each;

            if (!(digit >> bit & 1))
                continue;
            if (at + each > mask->nbits)
                return -ERANGE;
            bitmap_set_range(mask, (uint32_t)at, each);
        }
    }
    return 0;
}

int bindlist_mask(const struct bindlist *l, size_t task, uint32_t each, struct bitmap *mask)
{
    const char *item = l->items[task % l->n];
    uint64_t n;

    if (l->masks)
        return hex_bits(item, mask, each);
    if (parse_u64(item, 0, UINT32_MAX, &n) < 0 || (n + 1) * each > mask->nbits)
        return -ERANGE;
    bitmap_set_range(mask, (uint32_t)n * each, each);
    return 0;
}
