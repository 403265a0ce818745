/* constraint.c - constraint expressions over node features; see constraint.h.
 *
 * The parser builds a tree in one array (children before parents).  Afterwards the tree is
 * flattened into alternatives: the '&'-joined items of the top level, with a bracket replaced by
 * each of its choices. */
#include "sched/base/constraint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"

enum op_kind { OP_NAME, OP_NOT, OP_AND, OP_OR, OP_SAME, OP_COUNT };

struct op {
    enum op_kind kind;
    uint16_t left, right; /* children; NAME: offset and length in text */
    uint32_t count;       /* COUNT */
};

struct alt {
    uint16_t all[CONSTRAINT_COUNTS_MAX]; /* plain expressions, all required */
    uint16_t counted[CONSTRAINT_COUNTS_MAX];
    uint32_t nall, ncounted;
};

struct constraint {
    char *text;
    struct op *ops;
    uint32_t nops, cap_ops;
    struct alt *alts;
    uint32_t nalts;
};

struct parser {
    struct constraint *f;
    const char *p;
    struct err *err;
    uint32_t depth;
    bool in_parens, in_brackets;
};

static int fail_parse(struct parser *ps, int code, const char *what)
{
    return err_set(ps->err, code, "constraint '%.200s': %s at column %td", ps->f->text, what,
                   ps->p - ps->f->text + 1);
}

static int add_op(struct parser *ps, struct op op, uint16_t *ret)
{
    struct constraint *f = ps->f;

    if (f->nops == CONSTRAINT_OPS_MAX)
        return fail_parse(ps, -E2BIG, "expression too long");
    if (f->nops == f->cap_ops) {
        uint32_t cap = f->cap_ops ? f->cap_ops * 2 : 4;
        struct op *grown = realloc(f->ops, cap * sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        f->ops = grown;
        f->cap_ops = cap;
    }
    f->ops[f->nops] = op;
    *ret = (uint16_t)f->nops++;
    return 0;
}

static bool is_name_char(char c)
{
    return c && !strchr("&|!()[]*, \t\n\r\"'", c);
}

static int parse_expr(struct parser *ps, uint16_t *ret);

static int parse_name(struct parser *ps, uint16_t *ret)
{
    const char *start = ps->p;

    while (is_name_char(*ps->p))
        ps->p++;
    if (ps->p == start)
        return fail_parse(ps, -EINVAL, "feature name expected");
    return add_op(ps,
                  (struct op){ .kind = OP_NAME,
                               .left = (uint16_t)(start - ps->f->text),
                               .right = (uint16_t)(ps->p - start) },
                  ret);
}

static int parse_group(struct parser *ps, char close, uint16_t *ret)
{
    bool *in = close == ')' ? &ps->in_parens : &ps->in_brackets;
    int r;

    if (*in)
        return fail_parse(ps, -EINVAL, "a group inside a group of its kind");
    *in = true;
    ps->p++;
    r = parse_expr(ps, ret);
    if (r < 0)
        return r;
    if (*ps->p != close)
        return fail_parse(ps, -EINVAL, close == ')' ? "')' expected" : "']' expected");
    ps->p++;
    *in = false;
    return close == ']' ? add_op(ps, (struct op){ .kind = OP_SAME, .left = *ret }, ret) : 0;
}

static int parse_count(struct parser *ps, uint16_t *ret)
{
    uint32_t n = 0;

    for (ps->p++; *ps->p >= '0' && *ps->p <= '9'; ps->p++) {
        n = n * 10 + (uint32_t)(*ps->p - '0');
        if (n > CONSTRAINT_NODES_MAX)
            return fail_parse(ps, -E2BIG, "count too large");
    }
    if (!n)
        return fail_parse(ps, -EINVAL, "a count above 0 expected");
    return add_op(ps, (struct op){ .kind = OP_COUNT, .left = *ret, .count = n }, ret);
}

static int parse_factor(struct parser *ps, uint16_t *ret)
{
    int r;

    if (ps->depth == CONSTRAINT_DEPTH_MAX)
        return fail_parse(ps, -E2BIG, "nested too deeply");
    ps->depth++;
    if (*ps->p == '!') {
        ps->p++;
        r = parse_factor(ps, ret);
        if (r == 0)
            r = add_op(ps, (struct op){ .kind = OP_NOT, .left = *ret }, ret);
    } else {
        if (*ps->p == '(' || *ps->p == '[')
            r = parse_group(ps, *ps->p == '(' ? ')' : ']', ret);
        else
            r = parse_name(ps, ret);
        if (r == 0 && *ps->p == '*')
            r = parse_count(ps, ret);
    }
    ps->depth--;
    return r;
}

static bool is_joined(const struct parser *ps, char sep)
{
    return *ps->p == sep || (sep == '&' && *ps->p == ',');
}

/* Counts are told apart by brackets, and are no alternatives. */
static bool may_join(const struct parser *ps, char sep, uint16_t i)
{
    return ps->f->ops[i].kind != OP_COUNT || (sep == '&' && ps->in_brackets);
}

static int parse_joined(struct parser *ps, char sep, uint16_t *ret)
{
    int r = sep == '|' ? parse_joined(ps, '&', ret) : parse_factor(ps, ret);

    while (r == 0 && is_joined(ps, sep)) {
        uint16_t right;

        ps->p++;
        if (!*ps->p)
            break; /* nothing behind the last sign asks for nothing more */
        r = sep == '|' ? parse_joined(ps, '&', &right) : parse_factor(ps, &right);
        if (r == 0 && !(may_join(ps, sep, *ret) && may_join(ps, sep, right)))
            r = fail_parse(ps, -EINVAL, "a count in a place where it has no meaning");
        if (r == 0)
            r = add_op(
                ps,
                (struct op){ .kind = sep == '|' ? OP_OR : OP_AND, .left = *ret, .right = right },
                ret);
    }
    return r;
}

static int parse_expr(struct parser *ps, uint16_t *ret)
{
    return parse_joined(ps, '|', ret);
}

/* True when the expression speaks of single nodes only. */
static bool is_plain(const struct constraint *f, uint16_t i)
{
    const struct op *op = &f->ops[i];

    switch (op->kind) {
    case OP_NAME:
        return true;
    case OP_NOT:
        return is_plain(f, op->left);
    case OP_AND:
    case OP_OR:
        return is_plain(f, op->left) && is_plain(f, op->right);
    case OP_SAME:
    case OP_COUNT:
        break;
    }
    return false;
}

static uint16_t skip_same(const struct constraint *f, uint16_t i)
{
    while (f->ops[i].kind == OP_SAME && f->ops[f->ops[i].left].kind != OP_OR)
        i = f->ops[i].left;
    return i;
}

/* Enter the '&'-joined items of i into alternative a; *choice = the one bracket with choices
 * met. */
static int flatten_expr(struct parser *ps, uint16_t i, struct alt *a, uint16_t *choice)
{
    const struct constraint *f = ps->f;
    const struct op *op;
    int r;

    i = skip_same(f, i);
    op = &f->ops[i];
    if (is_plain(f, i)) {
        if (a->nall == CONSTRAINT_COUNTS_MAX)
            return fail_parse(ps, -E2BIG, "expression too long");
        a->all[a->nall++] = i;
        return 0;
    }
    if (op->kind == OP_AND) {
        r = flatten_expr(ps, op->left, a, choice);
        return r < 0 ? r : flatten_expr(ps, op->right, a, choice);
    }
    if (op->kind == OP_COUNT && is_plain(f, skip_same(f, op->left))) {
        if (a->ncounted == CONSTRAINT_COUNTS_MAX)
            return fail_parse(ps, -E2BIG, "too many counts");
        a->counted[a->ncounted++] = i;
        return 0;
    }
    if (op->kind == OP_SAME && *choice == UINT16_MAX) {
        *choice = op->left;
        return 0;
    }
    return fail_parse(ps, -EINVAL, "a count or bracket in a place where it has no meaning");
}

static int add_choices(struct parser *ps, uint16_t i, const struct alt *base)
{
    struct constraint *f = ps->f;
    struct alt *grown;
    uint16_t nested = 0; /* anything but UINT16_MAX: no bracket inside a bracket */
    int r;

    if (i != UINT16_MAX && f->ops[i].kind == OP_OR) {
        r = add_choices(ps, f->ops[i].left, base);
        return r < 0 ? r : add_choices(ps, f->ops[i].right, base);
    }
    if (f->nalts == CONSTRAINT_ALTS_MAX)
        return fail_parse(ps, -E2BIG, "too many alternatives");
    grown = realloc(f->alts, (f->nalts + 1) * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    f->alts = grown;
    grown[f->nalts] = *base;
    r = i == UINT16_MAX ? 0 : flatten_expr(ps, i, &grown[f->nalts], &nested);
    if (r == 0)
        f->nalts++;
    return r;
}

int constraint_parse(const char *text, struct constraint **ret_f, struct err *err)
{
    _cleanup_(constraint_free) struct constraint *f = NULL;
    struct parser ps = { .err = err };
    struct alt base = { 0 };
    uint16_t root, choice = UINT16_MAX;
    int r;

    if (strnlen(text, CONSTRAINT_TEXT_MAX + 1) > CONSTRAINT_TEXT_MAX)
        return err_set(err, -E2BIG, "constraint longer than %d characters", CONSTRAINT_TEXT_MAX);
    f = calloc(1, sizeof(*f));
    if (!f)
        return -ENOMEM;
    f->text = strdup(text);
    if (!f->text)
        return -ENOMEM;
    ps.f = f;
    ps.p = f->text;
    r = parse_expr(&ps, &root);
    if (r < 0)
        return r;
    if (*ps.p)
        return fail_parse(&ps, -EINVAL, "unexpected character");
    r = flatten_expr(&ps, root, &base, &choice);
    if (r == 0)
        r = add_choices(&ps, choice, &base);
    if (r < 0)
        return r;
    *ret_f = TAKE_PTR(f);
    return 0;
}

struct constraint *constraint_free(struct constraint *f)
{
    if (f) {
        free(f->text);
        free(f->ops);
        free(f->alts);
        free(f);
    }
    return NULL;
}

uint32_t constraint_alts(const struct constraint *f)
{
    return f->nalts;
}

uint32_t constraint_counts(const struct constraint *f, uint32_t alt)
{
    return f->alts[alt].ncounted;
}

struct eval {
    const struct constraint *f;
    constraint_lookup_fn *lookup;
    void *arg;
};

/* Set out to the nodes that satisfy expression i. */
static int eval_expr(const struct eval *ev, uint16_t i, struct bitmap *out)
{
    const struct op *op = &ev->f->ops[skip_same(ev->f, i)];
    const struct bitmap *nodes;
    struct bitmap *right = NULL;
    int r;

    if (op->kind == OP_NAME) {
        nodes = ev->lookup(ev->arg, ev->f->text + op->left, op->right);
        if (nodes)
            bitmap_copy(out, nodes);
        else
            bitmap_zero(out);
        return 0;
    }
    r = eval_expr(ev, op->left, out);
    if (r < 0)
        return r;
    r = bitmap_new(out->nbits, &right);
    if (r < 0)
        return r;
    if (op->kind == OP_NOT) {
        bitmap_fill(right);
        bitmap_andnot(right, out);
        bitmap_copy(out, right);
    } else {
        r = eval_expr(ev, op->right, right);
        if (r == 0 && op->kind == OP_AND)
            bitmap_and(out, right);
        else if (r == 0)
            bitmap_or(out, right);
    }
    bitmap_free(right);
    return r;
}

int constraint_count_mask(const struct constraint *f, uint32_t alt, uint32_t i,
                          constraint_lookup_fn *lookup, void *arg, struct bitmap *mask,
                          uint32_t *ret_n)
{
    const struct eval ev = { f, lookup, arg };
    const struct op *op = &f->ops[f->alts[alt].counted[i]];
    int r = eval_expr(&ev, op->left, mask);

    if (r == 0)
        *ret_n = op->count;
    return r;
}

int constraint_mask(const struct constraint *f, uint32_t alt, constraint_lookup_fn *lookup,
                    void *arg, struct bitmap *mask)
{
    const struct eval ev = { f, lookup, arg };
    const struct alt *a = &f->alts[alt];
    struct bitmap *one = NULL, *any = NULL;
    int r = bitmap_new(mask->nbits, &one);

    if (r == 0)
        r = bitmap_new(mask->nbits, &any);
    for (uint32_t i = 0; r == 0 && i < a->nall; i++) {
        r = eval_expr(&ev, a->all[i], one);
        if (r == 0)
            bitmap_and(mask, one);
    }
    for (uint32_t i = 0; r == 0 && i < a->ncounted; i++) {
        r = eval_expr(&ev, f->ops[a->counted[i]].left, one);
        if (r == 0)
            bitmap_or(any, one);
    }
    if (r == 0 && a->ncounted)
        bitmap_and(mask, any);
    bitmap_free(one);
    bitmap_free(any);
    return r;
}
