/* array.c - index sets of job arrays; see array.h. */
#include "model/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/strbuf.h"

#define LISTED_TIMES 8u /* an index may be named this often on average: bounds the work of a hostile text */

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

int array_parse(const char *text, uint32_t max_index, char **ret_tasks, uint32_t *ret_throttle,
                uint32_t *ret_count, struct err *err)
{
    struct bitmap *bm = NULL;
    _cleanup_free_ char *ranges = NULL;
    struct strbuf sb = STRBUF_INIT;
    uint64_t listed = 0, most = ((uint64_t)max_index + 1) * LISTED_TIMES;
    uint32_t throttle = 0, lo, hi, step;
    const char *p = text;
    int r;

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
    r = bitmap_format(bm, &ranges);
    bitmap_free(bm);
    if (*p)
        return err_set(err, -EINVAL, "Invalid job array specification");
    if (r < 0)
        return r;
    strbuf_add(&sb, ranges);
    if (throttle)
        strbuf_addf(&sb, "%%%u", throttle);
    r = strbuf_detach(&sb, ret_tasks);
    if (r < 0)
        return r;
    *ret_throttle = throttle;
    return 0;
}

/* Calls of fn for each range of a stored form; fn returning true stops. */
typedef bool range_fn(void *ctx, uint32_t lo, uint32_t hi);

static void each_range(const char *tasks, range_fn *fn, void *ctx)
{
    const char *p = tasks;
    uint32_t lo, hi, step;

    while (p && *p && *p != '%' && take_item(&p, UINT32_MAX - 1, &lo, &hi, &step)) {
        if (fn(ctx, lo, hi))
            return;
        if (*p == ',')
            p++;
    }
}

static bool add_count(void *ctx, uint32_t lo, uint32_t hi)
{
    *(uint32_t *)ctx += hi - lo + 1;
    return false;
}

uint32_t array_count(const char *tasks)
{
    uint32_t n = 0;

    each_range(tasks, add_count, &n);
    return n;
}

uint32_t array_first(const char *tasks)
{
    uint32_t first = 0;

    (void)take_number(&tasks, UINT32_MAX - 1, &first); /* canonical: the first number is the smallest */
    return first;
}

struct bounds {
    bool any, uneven;
    uint32_t first, last, step; /* step 0: one index so far */
};

static void bounds_step(struct bounds *b, uint32_t step)
{
    b->uneven |= b->step && b->step != step;
    b->step = step;
}

static bool add_bounds(void *ctx, uint32_t lo, uint32_t hi)
{
    struct bounds *b = ctx;

    if (b->any)
        bounds_step(b, lo - b->last);
    else
        b->first = lo;
    if (hi > lo)
        bounds_step(b, 1);
    b->any = true;
    b->last = hi;
    return false;
}

void array_bounds(const char *tasks, uint32_t *ret_first, uint32_t *ret_last, uint32_t *ret_step)
{
    struct bounds b = { 0 };

    each_range(tasks, add_bounds, &b);
    *ret_first = b.first;
    *ret_last = b.last;
    *ret_step = b.step && !b.uneven ? b.step : 1;
}

struct find {
    uint32_t index;
    bool found;
};

static bool match_range(void *ctx, uint32_t lo, uint32_t hi)
{
    struct find *f = ctx;

    f->found = f->index >= lo && f->index <= hi;
    return f->found || lo > f->index;
}

bool array_contains(const char *tasks, uint32_t index)
{
    struct find f = { .index = index };

    each_range(tasks, match_range, &f);
    return f.found;
}

struct rebuild {
    struct strbuf sb;
    uint32_t without;
};

static void add_range(struct strbuf *sb, uint32_t lo, uint32_t hi)
{
    strbuf_addf(sb, hi > lo ? "%s%u-%u" : "%s%u", sb->len ? "," : "", lo, hi);
}

static bool copy_range(void *ctx, uint32_t lo, uint32_t hi)
{
    struct rebuild *b = ctx;

    if (b->without < lo || b->without > hi) {
        add_range(&b->sb, lo, hi);
        return false;
    }
    if (b->without > lo)
        add_range(&b->sb, lo, b->without - 1);
    if (b->without < hi)
        add_range(&b->sb, b->without + 1, hi);
    return false;
}

int array_without(const char *tasks, uint32_t index, char **ret_tasks)
{
    struct rebuild b = { .without = index };
    const char *throttle = strchr(tasks, '%');

    if (!array_contains(tasks, index))
        return -ENOENT;
    each_range(tasks, copy_range, &b);
    if (!b.sb.len && !b.sb.failed) {
        strbuf_done(&b.sb);
        *ret_tasks = NULL;
        return 0;
    }
    if (throttle)
        strbuf_add(&b.sb, throttle);
    return strbuf_detach(&b.sb, ret_tasks);
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
