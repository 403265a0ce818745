/* extra.c - requests about the Extra data of nodes; see extra.h.
 *
 * A level of parentheses is an item with children, which are in a list; a comparison is an item
 * without. */
#include "sched/base/extra.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

#define OPERATOR_CHARS ",&|<>=!()"
#define NO_ITEM UINT16_MAX

enum item_kind { ITEM_ALL, ITEM_ANY, ITEM_COMPARE };

/* What a comparison may find for its sign to hold. */
enum { FOUND_LESS = 1, FOUND_SAME = 2, FOUND_GREATER = 4, FOUND_UNLIKE = 8 };

struct item {
    enum item_kind kind;
    uint16_t next;       /* of the same level */
    uint16_t first;      /* ALL, ANY */
    uint16_t key, value; /* COMPARE: offsets in text */
    unsigned holds;      /* bits FOUND_ */
};

struct extra_request {
    char *text; /* keys and values end in NUL */
    struct item *items;
    uint32_t n, cap;
    uint16_t root;
};

struct parser {
    struct extra_request *q;
    const char *p;
    struct err *err;
    uint32_t depth;
};

static int fail_parse(struct parser *ps, int code, const char *what)
{
    return err_set(ps->err, code, "extra: %s at column %td", what, ps->p - ps->q->text + 1);
}

static int add_item(struct parser *ps, struct item item, uint16_t *ret)
{
    struct extra_request *q = ps->q;

    if (q->n == EXTRA_ITEMS_MAX)
        return fail_parse(ps, -E2BIG, "request too long");
    if (q->n == q->cap) {
        uint32_t cap = q->cap ? q->cap * 2 : 4;
        struct item *grown = realloc(q->items, cap * sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        q->items = grown;
        q->cap = cap;
    }
    q->items[q->n] = item;
    *ret = (uint16_t)q->n++;
    return 0;
}

static int parse_word(struct parser *ps, const char *what, uint16_t *ret)
{
    size_t len = strcspn(ps->p, OPERATOR_CHARS);

    if (!len)
        return fail_parse(ps, -EINVAL, what);
    *ret = (uint16_t)(ps->p - ps->q->text);
    ps->p += len;
    return 0;
}

static int parse_sign(struct parser *ps, unsigned *ret)
{
    static const struct {
        const char *sign;
        unsigned holds;
    } signs[] = {
        { "!=", FOUND_LESS | FOUND_GREATER | FOUND_UNLIKE },
        { "<=", FOUND_LESS | FOUND_SAME },
        { ">=", FOUND_GREATER | FOUND_SAME },
        { "=", FOUND_SAME },
        { "<", FOUND_LESS },
        { ">", FOUND_GREATER },
    };

    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        size_t len = strlen(signs[i].sign);

        if (!strncmp(ps->p, signs[i].sign, len)) {
            ps->p += len;
            *ret = signs[i].holds;
            return 0;
        }
    }
    return fail_parse(ps, -EINVAL, "one of = != < <= > >= expected");
}

static int parse_compare(struct parser *ps, uint16_t *ret)
{
    struct item item = { .kind = ITEM_COMPARE, .next = NO_ITEM, .first = NO_ITEM };
    int r = parse_word(ps, "a key expected", &item.key);

    if (r == 0)
        r = parse_sign(ps, &item.holds);
    if (r == 0)
        r = parse_word(ps, "a value expected", &item.value);
    return r < 0 ? r : add_item(ps, item, ret);
}

static int parse_level(struct parser *ps, uint16_t *ret);

static int parse_item(struct parser *ps, uint16_t *ret)
{
    int r;

    if (*ps->p != '(')
        return parse_compare(ps, ret);
    if (ps->depth == EXTRA_DEPTH_MAX)
        return fail_parse(ps, -E2BIG, "nested too deeply");
    ps->depth++;
    ps->p++;
    r = parse_level(ps, ret);
    if (r == 0 && *ps->p != ')')
        r = fail_parse(ps, -EINVAL, "'&', ',', '|' or ')' expected");
    if (r < 0)
        return r;
    ps->p++;
    ps->depth--;
    return 0;
}

static bool is_joined(const char *p)
{
    return *p == '&' || *p == ',' || *p == '|';
}

/* The items of a level, and how they are joined. */
static int parse_level(struct parser *ps, uint16_t *ret)
{
    struct item level = { .kind = ITEM_ALL, .next = NO_ITEM, .first = NO_ITEM };
    uint16_t last = NO_ITEM;
    bool joined = false;

    do {
        uint16_t at = NO_ITEM;
        int r = parse_item(ps, &at);

        if (r < 0)
            return r;
        if (last == NO_ITEM)
            level.first = at;
        else
            ps->q->items[last].next = at;
        last = at;
        if (is_joined(ps->p)) {
            enum item_kind kind = *ps->p == '|' ? ITEM_ANY : ITEM_ALL;

            if (joined && kind != level.kind)
                return fail_parse(ps, -EINVAL, "'|' beside '&' without parentheses");
            level.kind = kind;
        }
        joined = is_joined(ps->p);
        ps->p += joined;
    } while (joined);
    return add_item(ps, level, ret);
}

/* What ended a word has been read: a NUL ends it now. */
static void end_words(struct extra_request *q)
{
    for (uint32_t i = 0; i < q->n; i++) {
        const struct item *item = &q->items[i];

        if (item->kind == ITEM_COMPARE) {
            q->text[item->key + strcspn(q->text + item->key, OPERATOR_CHARS)] = '\0';
            q->text[item->value + strcspn(q->text + item->value, OPERATOR_CHARS)] = '\0';
        }
    }
}

int extra_parse(const char *text, struct extra_request **ret, struct err *err)
{
    _cleanup_(extra_free) struct extra_request *q = NULL;
    struct parser ps = { .err = err };
    int r;

    if (strnlen(text, EXTRA_TEXT_MAX + 1) > EXTRA_TEXT_MAX)
        return err_set(err, -E2BIG, "extra: longer than %d characters", EXTRA_TEXT_MAX);
    q = calloc(1, sizeof(*q));
    if (!q)
        return -ENOMEM;
    q->text = strdup(text);
    if (!q->text)
        return -ENOMEM;
    ps.q = q;
    ps.p = q->text;
    r = parse_level(&ps, &q->root);
    if (r == 0 && *ps.p)
        r = fail_parse(&ps, -EINVAL, "'&', ',' or '|' expected");
    if (r < 0)
        return r;
    end_words(q);
    *ret = TAKE_PTR(q);
    return 0;
}

struct extra_request *extra_free(struct extra_request *q)
{
    if (q) {
        free(q->text);
        free(q->items);
        free(q);
    }
    return NULL;
}

struct json_t *extra_data(const char *text)
{
    size_t len = text ? strnlen(text, EXTRA_DATA_MAX + 1) : 0;
    json_t *data =
        len && len <= EXTRA_DATA_MAX ? json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL) : NULL;

    if (data && !json_is_object(data)) {
        json_decref(data);
        return NULL;
    }
    return data;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* A decimal number and nothing else. */
static bool read_number(const char *text, double *ret)
{
    char *end;

    if (text[strspn(text, "0123456789+-.eE")])
        return false;
    *ret = strtod(text, &end);
    return end != text && !*end && isfinite(*ret);
}

static bool read_truth(const char *text, bool *ret)
{
    double number;

    if (read_number(text, &number)) {
        *ret = fabs(number) >= EXTRA_SAME;
        return true;
    }
    *ret = !strcasecmp(text, "true");
    return *ret || !strcasecmp(text, "false");
}

static unsigned compare_numbers(double node, double asked)
{
    if (fabs(node - asked) < EXTRA_SAME)
        return FOUND_SAME;
    return node < asked ? FOUND_LESS : FOUND_GREATER;
}

/* What the node's value is, seen from the one asked for. */
static unsigned compare_value(const json_t *node, const char *asked)
{
    double number;
    bool truth;

    if (json_is_number(node) && read_number(asked, &number))
        return compare_numbers(json_number_value(node), number);
    if (json_is_boolean(node) && read_truth(asked, &truth))
        return compare_numbers(json_is_true(node), truth);
    if (json_is_string(node)) {
        int order = strcmp(json_string_value(node), asked);

        return order < 0 ? FOUND_LESS : order > 0 ? FOUND_GREATER : FOUND_SAME;
    }
    return FOUND_UNLIKE;
}

static bool item_holds(const struct extra_request *q, const json_t *data, uint16_t at)
{
    const struct item *item = &q->items[at];

    if (item->kind == ITEM_COMPARE) {
        const json_t *value = json_object_get(data, q->text + item->key);

        return value && item->holds & compare_value(value, q->text + item->value);
    }
    for (uint16_t i = item->first; i != NO_ITEM; i = q->items[i].next)
        if (item_holds(q, data, i) == (item->kind == ITEM_ANY))
            return item->kind == ITEM_ANY;
    return item->kind == ITEM_ALL;
}

bool extra_admits(const struct extra_request *q, const struct json_t *data)
{
    return data && item_holds(q, data, q->root);
}
