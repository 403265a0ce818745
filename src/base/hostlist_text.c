/* hostlist_text.c - the bracket grammar: reading and folding; declared in hostlist.h.
 *
 * Reading copies an item piece by piece into one name buffer: literals as they stand, brackets
 * number by number, the last bracket turning fastest.  The recursion is one level a bracket,
 * HOST_DIMS_MAX at most.  With three brackets and more, the last one turns fastest too, then the
 * first, and the last but one slowest, as in Slurm: the order of nodes and ranks follows.
 *
 * Folding takes names in list order: neighbours of equal prefix share a bracket, numbers that
 * follow each other at the first one's width share a range.  Only digits at the very end of a name
 * count. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/hostlist_impl.h"
#include "base/strbuf.h"

enum { HOST_DIMS_MAX = 8 };

struct expansion {
    struct hostlist *hl;
    const char *item, *end; /* the item being read, for messages */
    struct err *err;
    unsigned dims;
    char name[HOSTLIST_MAX_NAME];
};

/* Digits of v, at least `width` of them, into `room` bytes; returns how many, 0 when they do not
 * fit. */
static size_t put_number(char *out, size_t room, uint64_t v, size_t width)
{
    char digits[24];
    size_t n = 0;

    do
        digits[n++] = (char)('0' + v % 10);
    while (v /= 10);
    while (n < width)
        digits[n++] = '0';
    if (n > room)
        return 0;
    for (size_t i = 0; i < n; i++)
        out[i] = digits[n - 1 - i];
    return n;
}

static int bad_item(struct expansion *x, const char *why)
{
    return err_set(x->err, -EINVAL, "%s in '%.*s'", why, (int)MIN(x->end - x->item, 200), x->item);
}

static int too_long(struct expansion *x)
{
    return err_set(x->err, -E2BIG, "host name longer than %u bytes in '%.*s'", HOSTLIST_MAX_NAME,
                   (int)MIN(x->end - x->item, 200), x->item);
}

struct range {
    uint64_t lo, hi;
    size_t width;
};

static const char *take_number(const char *p, const char *end, uint64_t *ret)
{
    const char *start = p;

    for (*ret = 0; p < end && *p >= '0' && *p <= '9'; p++) {
        if (p - start == HOST_DIGITS_MAX)
            return NULL;
        *ret = *ret * 10 + (uint64_t)(*p - '0');
    }
    return p > start ? p : NULL;
}

/* One range of a bracket, [p, end) being its text. */
static int read_range(struct expansion *x, const char *p, const char *end, struct range *ret)
{
    const char *next = take_number(p, end, &ret->lo);

    ret->width = next ? (size_t)(next - p) : 0;
    ret->hi = ret->lo;
    if (next && next < end && *next == '-')
        next = take_number(next + 1, end, &ret->hi);
    if (next != end || ret->hi < ret->lo)
        return err_set(x->err, -EINVAL, "Invalid range: `%.*s'", (int)MIN(end - p, 200), p);
    if (ret->hi - ret->lo >= HOSTLIST_MAX_RANGE)
        return err_set(x->err, -E2BIG, "Too many hosts in range `%.*s'", (int)(end - p), p);
    return 0;
}

static int add_name(struct expansion *x, size_t len)
{
    int r = hostlist_append(x->hl, x->name, len);

    if (r == -E2BIG)
        return err_set(x->err, r, "host list holds more than %zu names", x->hl->most);
    return r < 0 ? err_nomem(x->err) : 0;
}

static int expand_brackets(struct expansion *x, const char *p, size_t len);

/* Every number of one range, each followed by what the rest of the item makes. */
static int expand_range(struct expansion *x, const struct range *range, const char *rest,
                        size_t len)
{
    for (uint64_t v = range->lo; v <= range->hi; v++) {
        size_t digits = put_number(x->name + len, sizeof(x->name) - len, v, range->width);
        int r;

        if (digits == 0)
            return too_long(x);
        r = rest == x->end ? add_name(x, len + digits) : expand_brackets(x, rest, len + digits);
        if (r < 0)
            return r;
    }
    return 0;
}

/* p stands behind '['. */
static int expand_bracket(struct expansion *x, const char *p, size_t len)
{
    const char *close = memchr(p, ']', (size_t)(x->end - p));

    if (!close)
        return bad_item(x, "unbalanced bracket");
    for (;;) {
        const char *comma = memchr(p, ',', (size_t)(close - p));
        struct range range;
        int r = read_range(x, p, comma ? comma : close, &range);

        if (r == 0)
            r = expand_range(x, &range, close + 1, len);
        if (r < 0 || !comma)
            return r;
        p = comma + 1;
    }
}

/* The item from p on, behind the `len` bytes of the name made so far. */
static int expand_brackets(struct expansion *x, const char *p, size_t len)
{
    for (; p < x->end; p++) {
        int r;

        if (*p == '[') {
            if (x->dims == HOST_DIMS_MAX)
                return err_set(x->err, -E2BIG, "more than %d brackets in one name", HOST_DIMS_MAX);
            x->dims++;
            r = expand_bracket(x, p + 1, len);
            x->dims--;
            return r;
        }
        if (!hostlist_name_byte(*p))
            return bad_item(x, *p == ']' ? "unbalanced bracket" : "invalid character");
        if (len == sizeof(x->name))
            return too_long(x);
        x->name[len++] = *p;
    }
    return add_name(x, len);
}

struct bracket {
    const char *open, *close; /* the text between them */
    uint64_t value;           /* the number in turn, and its digits */
    size_t width;
};

/* The name that the numbers in turn make. */
static int add_composed(struct expansion *x, const struct bracket *b)
{
    size_t len = 0;

    for (const char *p = x->item; p < x->end; p++) {
        size_t n = 1;

        if (*p == '[') {
            n = put_number(x->name + len, sizeof(x->name) - len, b->value, b->width);
            p = b->close;
            b++;
        } else if (!hostlist_name_byte(*p)) {
            return bad_item(x, *p == ']' ? "unbalanced bracket" : "invalid character");
        } else if (len < sizeof(x->name)) {
            x->name[len] = *p;
        } else {
            n = 0;
        }
        if (n == 0)
            return too_long(x);
        len += n;
    }
    return add_name(x, len);
}

/* Turn the bracket of this rank, 0 being the slowest, and those behind it. */
static int turn_brackets(struct expansion *x, struct bracket *all, unsigned n, unsigned rank)
{
    struct bracket *b;

    if (rank == n)
        return add_composed(x, all);
    b = &all[rank + 1 == n ? rank : n - 2 - rank];
    for (const char *p = b->open;;) {
        const char *comma = memchr(p, ',', (size_t)(b->close - p));
        struct range range;
        int r = read_range(x, p, comma ? comma : b->close, &range);

        b->width = range.width;
        for (b->value = range.lo; r == 0 && b->value <= range.hi; b->value++)
            r = turn_brackets(x, all, n, rank + 1);
        if (r < 0 || !comma)
            return r;
        p = comma + 1;
    }
}

static int expand_item(struct expansion *x)
{
    struct bracket all[HOST_DIMS_MAX];
    unsigned n = 0;

    for (const char *p = x->item; (p = memchr(p, '[', (size_t)(x->end - p))); n++) {
        const char *close = memchr(p, ']', (size_t)(x->end - p));

        if (n == HOST_DIMS_MAX || !close)
            return expand_brackets(x, x->item, 0); /* it says what is wrong */
        all[n] = (struct bracket){ .open = p + 1, .close = close };
        p = close;
    }
    return n < 3 ? expand_brackets(x, x->item, 0) : turn_brackets(x, all, n, 0);
}

static bool is_separator(char c)
{
    return c == ',' || c == ' ' || c == '\t' || c == '\n';
}

/* End of the item at p: the next separator outside brackets. */
static const char *item_end(const char *p)
{
    bool inside = false;

    for (; *p && (inside || !is_separator(*p)); p++) {
        if (*p == '[')
            inside = true;
        else if (*p == ']')
            inside = false;
    }
    return p;
}

size_t hostlist_item_length(const char *list)
{
    size_t len = 0;

    for (unsigned depth = 0; list[len] && (list[len] != ',' || depth); len++) {
        if (list[len] == '[' || list[len] == '{')
            depth++;
        else if ((list[len] == ']' || list[len] == '}') && depth)
            depth--;
    }
    return len;
}

int hostlist_push_list(struct hostlist *hl, const char *text, struct err *err)
{
    struct expansion x = { .hl = hl, .err = err };
    size_t before = hl->n;

    for (const char *p = text ? text : ""; *p;) {
        int r;

        if (is_separator(*p)) {
            p++;
            continue;
        }
        x.item = p;
        x.end = item_end(p);
        r = expand_item(&x);
        if (r < 0) {
            hostlist_cut(hl, before);
            return r;
        }
        p = x.end;
    }
    return 0;
}

int hostlist_parse(const char *text, struct hostlist **ret_hl, struct err *err)
{
    return hostlist_parse_most(text, HOSTLIST_MAX_HOSTS, ret_hl, err);
}

int hostlist_parse_most(const char *text, size_t most, struct hostlist **ret_hl, struct err *err)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    int r = hostlist_new(&hl);

    if (r < 0)
        return err_nomem(err);
    hl->most = MIN(most, (size_t)HOSTLIST_MAX_HOSTS);
    r = hostlist_push_list(hl, text, err);
    if (r < 0)
        return r;
    *ret_hl = TAKE_PTR(hl);
    return 0;
}

/* Where fold_names() takes its names from: a list or an array. */
struct names {
    const struct hostlist *hl;
    const char *const *array;
    size_t n;
};

static const char *name_at(const struct names *s, size_t i)
{
    return s->array ? s->array[i] : s->hl->text + s->hl->at[i];
}

/* State of the bracket being written. */
struct fold {
    struct strbuf out;
    const char *prefix; /* of the name that opened it */
    size_t prefix_len;
    bool bracket;             /* '[' is written; else the only name is still to come */
    const char *first, *last; /* names at both ends of the open range */
    struct host_parts first_p, last_p;
    uint64_t span;
};

static size_t digits_of(uint64_t v)
{
    size_t n = 1;

    while (v >= 10) {
        v /= 10;
        n++;
    }
    return n;
}

/* Does p continue the open range?  It must read as the range would print it. */
static bool continues_range(const struct fold *f, const struct host_parts *p)
{
    return p->number == f->last_p.number + 1 && f->span < HOSTLIST_MAX_RANGE &&
           p->width == MAX(f->first_p.width, digits_of(p->number));
}

static void put_digits(struct fold *f, const char *name, const struct host_parts *p)
{
    strbuf_addn(&f->out, name + p->prefix_len, p->width);
}

static void end_range(struct fold *f)
{
    put_digits(f, f->first, &f->first_p);
    if (f->span > 1) {
        strbuf_addc(&f->out, '-');
        put_digits(f, f->last, &f->last_p);
    }
}

static void begin_range(struct fold *f, const char *name, const struct host_parts *p)
{
    f->first = f->last = name;
    f->first_p = f->last_p = *p;
    f->span = 1;
}

static void close_group(struct fold *f)
{
    if (!f->prefix)
        return;
    if (f->out.len && !f->bracket)
        strbuf_addc(&f->out, ',');
    if (!f->bracket)
        strbuf_addn(&f->out, f->prefix, f->prefix_len);
    if (f->first_p.width == 0)
        return;
    if (!f->bracket && f->span > 1) {
        strbuf_addc(&f->out, '[');
        f->bracket = true;
    }
    end_range(f);
    if (f->bracket)
        strbuf_addc(&f->out, ']');
}

/* A further range in the group: the bracket is needed from now on. */
static void next_range(struct fold *f, const char *name, const struct host_parts *p)
{
    if (!f->bracket) {
        if (f->out.len)
            strbuf_addc(&f->out, ',');
        strbuf_addn(&f->out, f->prefix, f->prefix_len);
        strbuf_addc(&f->out, '[');
        f->bracket = true;
    }
    end_range(f);
    strbuf_addc(&f->out, ',');
    begin_range(f, name, p);
}

static void fold_name(struct fold *f, const char *name)
{
    struct host_parts p = hostlist_split(name);

    if (f->prefix && p.width && f->first_p.width && p.prefix_len == f->prefix_len &&
        memcmp(name, f->prefix, p.prefix_len) == 0) {
        if (!continues_range(f, &p)) {
            next_range(f, name, &p);
            return;
        }
        f->last = name;
        f->last_p = p;
        f->span++;
        return;
    }
    close_group(f);
    f->prefix = name;
    f->prefix_len = p.prefix_len;
    f->bracket = false;
    begin_range(f, name, &p);
}

static int fold_names(const struct names *s, char **ret_text)
{
    struct fold f = { .out = STRBUF_INIT };

    for (size_t i = 0; i < s->n; i++)
        fold_name(&f, name_at(s, i));
    close_group(&f);
    return strbuf_detach(&f.out, ret_text);
}

int hostlist_fold(const struct hostlist *hl, char **ret_text)
{
    return fold_names(&(struct names){ .hl = hl, .n = hl->n }, ret_text);
}

int hostlist_fold_names(const char *const *names, size_t n, char **ret_text)
{
    return fold_names(&(struct names){ .array = names, .n = n }, ret_text);
}
