/* array.c - index sets of job arrays; see array.h. */
#include "model/array.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/strbuf.h"

/* an index may be named this often on average: bounds the work of a hostile text */
#define LISTED_TIMES 8u

/* A decimal number at *p, moved past it; false when there is none or it is over max. */
static bool take_number(const char **p, uint32_t max, uint32_t *ret)
{
    uint64_t v = 0;
    const char *s = *p;

    for (; *s >= '0' && *s <= '9' && v <= max; s++)
        v = v * 10 + (uint64_t)(*s - '0');
    if (s == *p || v > max || (*s >= '0' && *s <= '9'))
        return false;
    *p = s;
    *ret = (uint32_t)v;
    return true;
}

/* One item "a", "a-b" or "a-b:step" of an argument. */
static bool take_item(const char **p, uint32_t max, uint32_t *lo, uint32_t *hi, uint32_t *step)
{
    *step = 1;
    if (!take_number(p, max, lo))
        return false;
    *hi = *lo;
    if (**p == '-') {
        (*p)++;
        if (!take_number(p, max, hi) || *hi < *lo)
            return false;
        if (**p == ':') {
            (*p)++;
            if (!take_number(p, UINT32_MAX - 1, step) || *step == 0)
                return false;
        }
    }
    return true;
}

/* ---- writing: ranges in ascending order become the stored form ------------------------------- */

#define LISTED_SPAN                                                                                \
    10u /* an even distance is written as "a-b:step" when b is farther than this ... */
#define LISTED_MOST 2u /* ... and there are more indexes than these */

static bool is_listed(uint32_t lo, uint32_t hi, uint32_t step)
{
    return hi - lo <= LISTED_SPAN || (hi - lo) / step + 1 <= LISTED_MOST;
}

struct builder {
    struct strbuf sb;
    bool any, uneven;
    uint32_t first, last, step, count; /* step 0: one index so far */
    uint32_t lo, hi;                   /* the range not written yet */
    /* before it: so many indexes from first on, at this distance */
    uint32_t waiting, even;
};

static void builder_flush(struct builder *b)
{
    for (uint32_t i = 0; i < b->waiting; i++)
        strbuf_addf(&b->sb, "%s%u", b->sb.len ? "," : "", b->first + i * b->even);
    b->waiting = 0;
    strbuf_addf(&b->sb, b->hi > b->lo ? "%s%u-%u" : "%s%u", b->sb.len ? "," : "", b->lo, b->hi);
}

static void builder_step(struct builder *b, uint32_t step)
{
    b->uneven |= b->step && b->step != step;
    b->step = step;
}

/* Indexes lo to hi, behind all before. */
static void builder_add(struct builder *b, uint32_t lo, uint32_t hi)
{
    if (!b->any)
        b->first = b->lo = lo;
    else
        builder_step(b, lo - b->last);
    if (hi > lo)
        builder_step(b, 1);
    if (b->any && lo != b->hi + 1) {
        if (!b->uneven && b->step > 1) {
            b->waiting++; /* perhaps they are never written one by one */
            b->even = b->step;
        } else {
            builder_flush(b);
        }
        b->lo = lo;
    }
    b->any = true;
    b->hi = b->last = hi;
    b->count += hi - lo + 1;
}

/* *ret NULL for the empty set. */
static int builder_done(struct builder *b, const char *throttle, char **ret)
{
    if (!b->any) {
        strbuf_done(&b->sb);
        *ret = NULL;
        return 0;
    }
    if (!b->uneven && b->step > 1 && b->last - b->first > LISTED_SPAN && b->count > LISTED_MOST) {
        strbuf_done(&b->sb);
        b->sb = (struct strbuf)STRBUF_INIT;
        strbuf_addf(&b->sb, "%u-%u:%u", b->first, b->last, b->step);
    } else {
        builder_flush(b);
    }
    if (throttle)
        strbuf_add(&b->sb, throttle);
    return strbuf_detach(&b->sb, ret);
}

static int format_tasks(const struct bitmap *bm, uint32_t throttle, char **ret)
{
    struct builder b = { .sb = STRBUF_INIT };
    char text[16] = "";

    BITMAP_FOREACH (bm, i)
        builder_add(&b, i, i);
    if (throttle)
        (void)snprintf(text, sizeof(text), "%%%u", throttle);
    return builder_done(&b, text, ret);
}

/* One item and perhaps a throttle, which is what most people write: its form needs no look at
 * each index. False when the text is anything else. */
static bool parse_single(const char *text, uint32_t max_index, struct builder *b,
                         uint32_t *ret_throttle)
{
    const char *p = text;
    uint32_t lo, hi, step;

    if (!take_item(&p, max_index, &lo, &hi, &step))
        return false;
    hi -= (hi - lo) % step;
    if (step > 1 && hi > lo && is_listed(lo, hi, step))
        return false;
    *ret_throttle = 0;
    if (*p == '%') {
        p++;
        if (!take_number(&p, UINT32_MAX - 1, ret_throttle))
            return false;
    }
    if (*p)
        return false;
    *b = (struct builder){ .sb = STRBUF_INIT,
                           .any = true,
                           .first = lo,
                           .last = hi,
                           .lo = lo,
                           .hi = hi,
                           .count = (hi - lo) / step + 1,
                           .step = hi > lo ? step : 0 };
    return true;
}

/* Items and perhaps a throttle behind the last. */
static int parse_items(const char *text, uint32_t max_index, char **ret_tasks,
                       uint32_t *ret_throttle, uint32_t *ret_count, struct err *err)
{
    struct builder single;
    struct bitmap *bm = NULL;
    uint64_t listed = 0, most = ((uint64_t)max_index + 1) * LISTED_TIMES;
    uint32_t throttle = 0, lo, hi, step;
    const char *p = text;
    int r;

    if (parse_single(text, max_index, &single, &throttle)) {
        char limit[16];

        (void)snprintf(limit, sizeof(limit), "%%%u", throttle);
        r = builder_done(&single, throttle ? limit : NULL, ret_tasks);
        if (r == 0) {
            *ret_throttle = throttle;
            *ret_count = single.count;
        }
        return r;
    }
    throttle = 0;
    r = bitmap_new(max_index + 1, &bm);
    if (r < 0)
        return r;
    for (;;) {
        bool good = take_item(&p, max_index, &lo, &hi, &step);

        if (good)
            listed += (hi - lo) / step + 1;
        if (!good || listed > most) {
            bitmap_free(bm);
            return err_set(err, -EINVAL, "Invalid job array specification");
        }
        for (uint64_t i = lo; i <= hi; i += step)
            bitmap_set(bm, (uint32_t)i);
        if (*p != ',')
            break;
        p++;
    }
    if (*p == '%') {
        p++;
        if (!take_number(&p, UINT32_MAX - 1, &throttle))
            p = "?";
    }
    *ret_count = bitmap_count(bm);
    r = *p ? err_set(err, -EINVAL, "Invalid job array specification")
           : format_tasks(bm, throttle, ret_tasks);
    bitmap_free(bm);
    if (r < 0)
        return r;
    *ret_throttle = throttle;
    return 0;
}

/* The throttle at *p, behind its sign: digits; none or a negative number is no limit. */
static bool take_throttle(const char **p, uint32_t *ret)
{
    bool negative = **p == '-';
    uint32_t n = 0;

    *p += negative || **p == '+';
    if (**p >= '0' && **p <= '9' && !take_number(p, UINT32_MAX - 1, &n))
        return false;
    *ret = negative ? 0 : n;
    *p += strcspn(*p, ",]"); /* the number is read as far as it is one */
    return true;
}

/* What people write as "items%throttle": brackets around all, a throttle behind any item, empty
 * items and blanks before one go; without an item it is index 0.  NULL: no memory, or a bad
 * throttle. */
static char *plain_text(const char *text)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    size_t len = strlen(text);
    const char *close = *text == '[' ? strrchr(text, ']') : NULL;
    bool brackets = close && (close[1] == '\0' || close[1] == '%'), begins = true;
    uint32_t throttle = 0;
    char *out = NULL;

    for (const char *p = text + brackets, *end = text + len; p < end;) {
        if (brackets && p == close) {
            p++;
            continue;
        }
        if (*p == '%') {
            p++;
            if (!take_throttle(&p, &throttle))
                return NULL;
        } else if (*p == ',' || (*p == ' ' && begins)) {
            begins = true;
            p++;
        } else {
            if (begins && sb.len)
                strbuf_addc(&sb, ',');
            begins = false;
            strbuf_addc(&sb, *p++);
        }
    }
    if (!sb.len)
        strbuf_addc(&sb, '0');
    if (throttle)
        strbuf_addf(&sb, "%%%u", throttle);
    return strbuf_detach(&sb, &out) < 0 ? NULL : out;
}

int array_parse(const char *text, uint32_t max_index, char **ret_tasks, uint32_t *ret_throttle,
                uint32_t *ret_count, struct err *err)
{
    _cleanup_free_ char *plain = *text ? plain_text(text) : NULL;

    if (!plain)
        return err_set(err, -EINVAL, "Invalid job array specification");
    return parse_items(plain, max_index, ret_tasks, ret_throttle, ret_count, err);
}

/* ---- reading a stored form ------------------------------------------------------------------- */

/* Walks a stored form range by range; an even distance comes as ranges of one index. */
struct cursor {
    const char *p;
    uint32_t lo, hi;           /* the range at hand */
    uint32_t next, last, step; /* what is left of "a-b:step" */
    bool end;
};

static bool cursor_next(struct cursor *c)
{
    uint32_t lo, hi, step;

    if (c->step) {
        c->lo = c->hi = c->next;
        c->step = c->last - c->next >= c->step ? c->step : 0;
        c->next += c->step;
        return true;
    }
    if (c->p && *c->p == ',')
        c->p++;
    if (!c->p || !*c->p || *c->p == '%' || !take_item(&c->p, UINT32_MAX - 1, &lo, &hi, &step)) {
        c->end = true;
        return false;
    }
    c->lo = lo;
    c->hi = hi;
    if (step > 1) {
        c->hi = lo;
        if (hi - lo >= step) {
            c->step = step;
            c->next = lo + step;
            c->last = hi;
        }
    }
    return true;
}

/* "a-b:step" alone, whole: true with its parts. */
static bool is_stepped(const char *tasks, uint32_t *lo, uint32_t *hi, uint32_t *step)
{
    const char *p = tasks;

    return p && take_item(&p, UINT32_MAX - 1, lo, hi, step) && (!*p || *p == '%');
}

uint32_t array_count(const char *tasks)
{
    struct cursor c = { .p = tasks };
    uint32_t n = 0, lo, hi, step;

    if (is_stepped(tasks, &lo, &hi, &step))
        return (hi - lo) / step + 1;
    while (cursor_next(&c))
        n += c.hi - c.lo + 1;
    return n;
}

uint32_t array_first(const char *tasks)
{
    uint32_t first = 0;

    /* canonical: the first number is the smallest */
    (void)take_number(&tasks, UINT32_MAX - 1, &first);
    return first;
}

void array_bounds(const char *tasks, uint32_t *ret_first, uint32_t *ret_last, uint32_t *ret_step)
{
    struct cursor c = { .p = tasks };
    struct builder b = { .sb = STRBUF_INIT };
    uint32_t lo, hi, step;

    if (is_stepped(tasks, &lo, &hi, &step)) {
        *ret_first = lo;
        *ret_last = hi - (hi - lo) % step;
        *ret_step = *ret_last > lo ? step : 1;
        return;
    }
    while (cursor_next(&c))
        builder_add(&b, c.lo, c.hi);
    strbuf_done(&b.sb);
    *ret_first = b.first;
    *ret_last = b.last;
    *ret_step = b.step && !b.uneven ? b.step : 1;
}

bool array_contains(const char *tasks, uint32_t index)
{
    struct cursor c = { .p = tasks };
    uint32_t lo, hi, step;

    if (is_stepped(tasks, &lo, &hi, &step))
        return index >= lo && index <= hi && (index - lo) % step == 0;
    while (cursor_next(&c) && c.lo <= index)
        if (index <= c.hi)
            return true;
    return false;
}

/* The smallest index leaves: only the first item is written anew. */
static int without_first(const char *tasks, char **ret_tasks)
{
    const char *p = tasks;
    struct strbuf sb = STRBUF_INIT;
    uint32_t lo, hi, step;

    if (!take_item(&p, UINT32_MAX - 1, &lo, &hi, &step))
        return -EINVAL;
    if (hi - lo >= step) {
        lo += step;
        for (; step > 1 && hi > lo && is_listed(lo, hi, step); lo += step)
            strbuf_addf(&sb, "%u,", lo);
        strbuf_addf(&sb, hi == lo ? "%u" : step > 1 ? "%u-%u:%u" : "%u-%u", lo, hi, step);
    } else if (!*p || *p == '%') {
        *ret_tasks = NULL;
        return 0;
    } else {
        p++;
    }
    strbuf_add(&sb, p);
    return strbuf_detach(&sb, ret_tasks);
}

int array_without(const char *tasks, uint32_t index, char **ret_tasks)
{
    char one[16];

    if (!array_contains(tasks, index))
        return -ENOENT;
    if (index == array_first(tasks))
        return without_first(tasks, ret_tasks);
    (void)snprintf(one, sizeof(one), "%u", index);
    return array_minus(tasks, one, ret_tasks);
}

int array_minus(const char *tasks, const char *taken, char **ret_tasks)
{
    struct cursor a = { .p = tasks }, b = { .p = taken };
    struct builder out = { .sb = STRBUF_INIT };

    (void)cursor_next(&b);
    while (cursor_next(&a)) {
        uint32_t lo = a.lo;
        bool used = false;

        while (!b.end && b.hi < lo)
            (void)cursor_next(&b);
        while (!b.end && b.lo <= a.hi) {
            if (b.lo > lo)
                builder_add(&out, lo, b.lo - 1);
            used = b.hi >= a.hi;
            if (used)
                break;
            lo = b.hi + 1;
            (void)cursor_next(&b);
        }
        if (!used)
            builder_add(&out, lo, a.hi);
    }
    return builder_done(&out, tasks ? strchr(tasks, '%') : NULL, ret_tasks);
}

int array_and(const char *tasks, const char *others, char **ret_tasks)
{
    struct cursor a = { .p = tasks }, b = { .p = others };
    struct builder out = { .sb = STRBUF_INIT };

    (void)cursor_next(&a);
    (void)cursor_next(&b);
    while (!a.end && !b.end) {
        uint32_t lo = MAX(a.lo, b.lo), hi = MIN(a.hi, b.hi);

        if (lo <= hi)
            builder_add(&out, lo, hi);
        (void)cursor_next(a.hi <= b.hi ? &a : &b);
    }
    return builder_done(&out, NULL, ret_tasks);
}

int array_take(char **tasks, const char *taken)
{
    char *left = NULL;
    bool one = taken[strspn(taken, "0123456789")] == '\0';
    int r;

    if (!*tasks)
        return 0;
    r = one ? array_without(*tasks, array_first(taken), &left) : array_minus(*tasks, taken, &left);
    if (r < 0)
        return r == -ENOENT ? 0 : r;
    free(*tasks);
    *tasks = left;
    return 0;
}

uint32_t array_throttle(const char *tasks)
{
    const char *p = tasks ? strchr(tasks, '%') : NULL;
    uint32_t n = 0;

    if (p) {
        p++;
        (void)take_number(&p, UINT32_MAX - 1, &n); /* canonical */
    }
    return n;
}
