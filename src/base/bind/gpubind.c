/* gpubind.c - see gpubind.h */
#include "base/bind/gpubind.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/timefmt.h"

static const struct {
    const char *word;
    enum gpubind_kind kind;
} kinds[] = {
    { "none", GPUBIND_NONE },         { "closest", GPUBIND_CLOSEST }, { "single", GPUBIND_SINGLE },
    { "per_task", GPUBIND_PER_TASK }, { "map_gpu", GPUBIND_MAP },     { "map", GPUBIND_MAP },
    { "mask_gpu", GPUBIND_MASK },     { "mask", GPUBIND_MASK },
};

void gpubind_done(struct gpubind *b)
{
    free(b->items);
    b->items = NULL;
    b->n_items = 0;
}

static int add_item(struct gpubind *b, uint64_t value, uint64_t times)
{
    uint64_t *items;

    if (times > GPUBIND_ITEMS_MAX - b->n_items)
        return -E2BIG;
    items = realloc(b->items, (b->n_items + times) * sizeof(*items));
    if (!items)
        return -ENOMEM;
    b->items = items;
    while (times--)
        b->items[b->n_items++] = value;
    return 0;
}

/* "3", "0x3" (masks, with or without 0x), "1*2" */
static int parse_item(struct gpubind *b, const char *text, size_t len)
{
    const char *star = memchr(text, '*', len);
    size_t digits = star ? (size_t)(star - text) : len;
    char number[24], *end;
    uint64_t value, times = 1;

    if (!digits || digits >= sizeof(number))
        return -EINVAL;
    memcpy(number, text, digits);
    number[digits] = '\0';
    errno = 0;
    value = strtoull(number, &end, b->kind == GPUBIND_MASK ? 16 : 10);
    if (errno || *end || *number == '-' || *number == '+' ||
        (b->kind == GPUBIND_MAP ? value >= GPUBIND_GPUS_MAX : value == 0))
        return -EINVAL;
    if (star) {
        size_t rest = len - digits - 1;

        if (!rest || rest >= sizeof(number))
            return -EINVAL;
        memcpy(number, star + 1, rest);
        number[rest] = '\0';
        if (parse_u64(number, 1, GPUBIND_ITEMS_MAX, &times) < 0)
            return -EINVAL;
    }
    return add_item(b, value, times);
}

static int parse_items(struct gpubind *b, const char *text)
{
    int r = *text ? 0 : -EINVAL;

    while (r == 0 && *text) {
        size_t len = strcspn(text, ",");

        r = parse_item(b, text, len);
        text += len;
        if (r == 0 && *text == ',')
            r = *++text ? 0 : -EINVAL;
    }
    return r;
}

static int parse_kind(struct gpubind *b, const char *text)
{
    size_t len = strcspn(text, ":");
    uint64_t n;

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        if (strlen(kinds[i].word) != len || strncasecmp(kinds[i].word, text, len) != 0)
            continue;
        b->kind = kinds[i].kind;
        if (b->kind == GPUBIND_NONE || b->kind == GPUBIND_CLOSEST)
            return text[len] ? -EINVAL : 0;
        if (!text[len])
            return -EINVAL;
        if (b->kind == GPUBIND_MAP || b->kind == GPUBIND_MASK)
            return parse_items(b, text + len + 1);
        if (parse_u64(text + len + 1, 1, GPUBIND_ITEMS_MAX, &n) < 0)
            return -EINVAL;
        b->n = (uint32_t)n;
        return 0;
    }
    return -EINVAL;
}

/* Behind "verbose," or "quiet,". */
static const char *behind_flags(const char *p)
{
    for (;;) {
        bool verbose = strncasecmp(p, "verbose", 7) == 0;
        size_t len = verbose ? 7 : strncasecmp(p, "quiet", 5) == 0 ? 5 : 0;

        if (!len || (p[len] && p[len] != ','))
            return p;
        p += len + (p[len] == ',');
    }
}

bool gpubind_is_word(const char *text)
{
    const char *p = behind_flags(text);
    size_t len = strcspn(p, ":");

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (strlen(kinds[i].word) == len && strncasecmp(kinds[i].word, p, len) == 0)
            return (kinds[i].kind == GPUBIND_NONE || kinds[i].kind == GPUBIND_CLOSEST) == !p[len];
    return *text && !*p; /* flags alone */
}

int gpubind_parse(const char *text, struct gpubind *ret, struct err *err)
{
    struct gpubind b = { 0 };
    const char *p = text;
    int r = 0;

    if (p && strncasecmp(p, "gres/gpu:", 9) == 0)
        p += 9;
    while (p && (strncasecmp(p, "verbose", 7) == 0 || strncasecmp(p, "quiet", 5) == 0)) {
        b.verbose = (*p | 0x20) == 'v';
        p += b.verbose ? 7 : 5;
        if (*p && *p != ',')
            r = -EINVAL;
        p += *p == ',';
        if (r < 0 || !*p)
            break;
    }
    if (r == 0 && p && *p)
        r = parse_kind(&b, p);
    if (r < 0) {
        gpubind_done(&b);
        return r == -ENOMEM ? r : err_set(err, -EINVAL, "Invalid binding of GPUs: %.200s", text);
    }
    *ret = b;
    return 0;
}

static void take_bits(struct bitmap *ret, uint64_t from, uint64_t n)
{
    for (uint64_t i = 0; i < n && i < ret->nbits; i++)
        bitmap_set(ret, (uint32_t)((from + i) % ret->nbits));
}

static void take_mask(struct bitmap *ret, uint64_t mask)
{
    for (uint32_t i = 0; i < ret->nbits && i < GPUBIND_GPUS_MAX; i++)
        if (mask >> i & 1)
            bitmap_set(ret, i);
}

bool gpubind_task(const struct gpubind *b, uint32_t index, const struct bitmap *near,
                  struct bitmap *ret)
{
    uint64_t item = b->n_items ? b->items[index % b->n_items] : 0;

    if (!ret->nbits)
        return true;
    switch (b->kind) {
    case GPUBIND_SINGLE:
        take_bits(ret, index / b->n, 1);
        return true;
    case GPUBIND_PER_TASK:
        take_bits(ret, (uint64_t)index * b->n, b->n);
        return true;
    case GPUBIND_MAP:
        if (item < ret->nbits)
            bitmap_set(ret, (uint32_t)item);
        break;
    case GPUBIND_MASK:
        take_mask(ret, item);
        break;
    case GPUBIND_CLOSEST:
        for (uint32_t i = 0; near && i < ret->nbits; i++)
            if (bitmap_test(near, i))
                bitmap_set(ret, i);
        if (bitmap_empty(ret))
            take_bits(ret, 0, ret->nbits);
        return true;
    default:
        take_bits(ret, 0, ret->nbits);
        return true;
    }
    if (!bitmap_empty(ret))
        return true;
    take_bits(ret, 0, 1);
    return false;
}
