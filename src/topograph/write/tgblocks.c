/* tgblocks.c - see tgblocks.h */
#include "topograph/write/tgblocks.h"

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct part { /* a sub-domain, or a domain without any */
    const char *domain, *subdomain;
    uint32_t first, n; /* in the sorted nodes */
};

struct layout {
    const struct graph *g;
    uint32_t *sorted; /* nodes with a domain: by domain, sub-domain, name */
    size_t nsorted;
    struct part *parts;
    size_t nparts;
    uint32_t *order; /* parts as blocks take them: first parts of domains */
    size_t ndomains;
    bool two_level;
};

static void layout_done(struct layout *l)
{
    free(l->sorted);
    free(l->parts);
    free(l->order);
}

void tgblocks_done(struct tgblocks *b)
{
    free(b->items);
    free(b->nodes);
    *b = (struct tgblocks){ 0 };
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static bool is_power_of_two(uint32_t n)
{
    return n && (n & (n - 1)) == 0;
}

static uint32_t round_up_power(uint32_t n)
{
    uint32_t p = 1;

    while (p < n)
        p *= 2;
    return p;
}

int tgblocks_check(const struct tgblocks_params *p, struct err *err)
{
    for (size_t i = 0; i < p->nsizes; i++) {
        uint32_t size = p->sizes[i], before = i ? p->sizes[i - 1] : 0;

        if (!size || size > TGBLOCKS_SIZE_MAX)
            return err_set(err, -EINVAL, "block size %u is not from 1 to %u", size,
                           TGBLOCKS_SIZE_MAX);
        if (i && (size <= before || size % before || !is_power_of_two(size / before)))
            return err_set(err, -EINVAL,
                           "block size %u is not the one before it (%u) times 2, 4, 8 ...", size,
                           before);
        if (size / p->sizes[0] > (1u << TGBLOCKS_POWER_MAX))
            return err_set(err, -EINVAL, "block size %u is more than %u times the first one", size,
                           1u << TGBLOCKS_POWER_MAX);
    }
    return 0;
}

/* ---- domains --------------------------------------------------------------------------------- */

static int compare_texts(const char *a, const char *b)
{
    return a && b ? graph_compare(a, b) : (a != NULL) - (b != NULL);
}

static int compare_members(const void *a, const void *b, void *ctx)
{
    const struct graph *g = ctx;
    const struct graph_node *x = &g->nodes[*(const uint32_t *)a],
                            *y = &g->nodes[*(const uint32_t *)b];
    int order = compare_texts(x->domain, y->domain);

    if (order == 0)
        order = compare_texts(x->subdomain, y->subdomain);
    return order ? order : graph_compare(x->name, y->name);
}

/* Domains by their first node in the tree. */
struct first_node {
    uint32_t part, node;
};

static int compare_firsts(const void *a, const void *b)
{
    const struct first_node *x = a, *y = b;

    return x->node < y->node ? -1 : x->node > y->node;
}

static bool same_domain(const struct part *a, const struct part *b)
{
    return strcmp(a->domain, b->domain) == 0;
}

static int order_domains(struct layout *l)
{
    _cleanup_free_ struct first_node *firsts = calloc(l->nparts + 1, sizeof(*firsts));

    l->order = calloc(l->nparts + 1, sizeof(*l->order));
    if (!firsts || !l->order)
        return -ENOMEM;
    for (size_t i = 0; i < l->nparts; i++) {
        const struct part *p = &l->parts[i];

        if (i == 0 || !same_domain(p, p - 1))
            firsts[l->ndomains++] = (struct first_node){ (uint32_t)i, UINT32_MAX };
        for (uint32_t k = 0; k < p->n; k++) {
            struct first_node *f = &firsts[l->ndomains - 1];

            f->node = MIN(f->node, l->sorted[p->first + k]);
        }
    }
    if (l->g->nswitches) /* else the order is that of the names, as they stand */
        qsort(firsts, l->ndomains, sizeof(*firsts), compare_firsts);
    for (size_t i = 0; i < l->ndomains; i++)
        l->order[i] = firsts[i].part;
    return 0;
}

static int find_domains(struct layout *l, struct err *err)
{
    const struct graph *g = l->g;

    l->sorted = calloc(g->nnodes + 1, sizeof(*l->sorted));
    l->parts = calloc(g->nnodes + 1, sizeof(*l->parts));
    if (!l->sorted || !l->parts)
        return err_nomem(err);
    for (uint32_t i = 0; i < g->nnodes; i++)
        if (g->nodes[i].domain)
            l->sorted[l->nsorted++] = i;
    if (!l->nsorted)
        return err_set(err, -EINVAL,
                       "topology/block needs accelerator domains, and no node has one");
    qsort_r(l->sorted, l->nsorted, sizeof(*l->sorted), compare_members, (void *)(uintptr_t)g);
    for (uint32_t i = 0; i < l->nsorted; i++) {
        const struct graph_node *n = &g->nodes[l->sorted[i]];
        struct part *last = l->nparts ? &l->parts[l->nparts - 1] : NULL;

        l->two_level = l->two_level || n->subdomain;
        if (last && strcmp(last->domain, n->domain) == 0 &&
            compare_texts(last->subdomain, n->subdomain) == 0)
            last->n++;
        else
            l->parts[l->nparts++] = (struct part){ n->domain, n->subdomain, i, 1 };
    }
    return order_domains(l) < 0 ? err_nomem(err) : 0;
}

/* How many parts the domain has that begins with this one. */
static size_t parts_of(const struct layout *l, uint32_t first)
{
    size_t n = 1;

    while (first + n < l->nparts && same_domain(&l->parts[first], &l->parts[first + n]))
        n++;
    return n;
}

static uint32_t domain_size(const struct layout *l, uint32_t first)
{
    uint32_t size = 0;

    for (size_t i = 0, n = parts_of(l, first); i < n; i++)
        size += l->parts[first + i].n;
    return size;
}

static void infer_sizes(const struct layout *l, struct tgblocks *b)
{
    uint32_t least = UINT32_MAX, most = 0, part = 0;

    for (size_t d = 0; d < l->ndomains; d++) {
        uint32_t size = domain_size(l, l->order[d]);

        least = MIN(least, size);
        most = MAX(most, size);
    }
    for (size_t i = 0; i < l->nparts; i++)
        part = MAX(part, l->parts[i].n);
    if (l->two_level) {
        b->sizes[b->nsizes++] = part;
        if (most > part)
            b->sizes[b->nsizes++] = part * round_up_power((most + part - 1) / part);
        return;
    }
    for (uint32_t k = 0; k <= TGBLOCKS_POWER_MAX && (1u << k) <= l->ndomains &&
                         (uint64_t)least << k <= TGBLOCKS_SIZE_MAX;
         k++)
        b->sizes[b->nsizes++] = least << k;
}

/* ---- laying out ------------------------------------------------------------------------------ */

static int add_block(struct tgblocks *b, const char *domain, const uint32_t *nodes, uint32_t n,
                     struct err *err)
{
    struct tgblock *block;

    if (b->n >= TGBLOCKS_MAX)
        return err_set(err, -E2BIG, "more than %u blocks", TGBLOCKS_MAX);
    if (b->n == b->cap) {
        size_t cap = b->cap ? b->cap * 2 : 64;
        struct tgblock *items = reallocarray(b->items, cap, sizeof(*items));

        if (!items)
            return err_nomem(err);
        b->items = items;
        b->cap = cap;
    }
    block = &b->items[b->n++];
    *block = (struct tgblock){ .domain = domain, .first = (uint32_t)b->nnodes, .nnodes = n };
    (void)snprintf(block->name, sizeof(block->name), "block%03zu", b->n);
    for (uint32_t i = 0; i < n; i++)
        b->nodes[b->nnodes++] = nodes[i];
    return 0;
}

/* Base blocks of one part, at least `want` of them. */
static int lay_part(const struct layout *l, const struct part *p, uint32_t size, uint32_t want,
                    struct tgblocks *b, struct err *err)
{
    uint32_t count = 0;
    int r = 0;

    for (uint32_t at = 0; r == 0 && at < p->n; at += size, count++)
        r = add_block(b, p->domain, l->sorted + p->first + at, MIN(size, p->n - at), err);
    for (; r == 0 && count < want; count++)
        r = add_block(b, NULL, NULL, 0, err);
    return r;
}

/* Base blocks for a domain's part: the same for all parts of a domain. */
static uint32_t blocks_each(const struct layout *l, uint32_t first, uint32_t size)
{
    size_t n = parts_of(l, first);
    uint32_t most = 0;

    for (size_t i = 0; i < n; i++)
        most = MAX(most, (l->parts[first + i].n + size - 1) / size);
    return n == 1 ? most : round_up_power(most);
}

static int lay_aligned(const struct layout *l, struct tgblocks *b, struct err *err)
{
    uint32_t size = b->sizes[0], last = b->sizes[b->nsizes - 1] / size, share = 1;
    int r = 0;

    for (size_t d = 0; d < l->ndomains; d++) {
        uint64_t need = (uint64_t)blocks_each(l, l->order[d], size) * parts_of(l, l->order[d]);

        if (need <= last) /* larger ones get what they need */
            share = MAX(share, round_up_power((uint32_t)need));
    }
    for (size_t d = 0; r == 0 && d < l->ndomains; d++) {
        uint32_t first = l->order[d], each = blocks_each(l, first, size);
        size_t n = parts_of(l, first), before = b->n;

        for (size_t i = 0; r == 0 && i < n; i++)
            r = lay_part(l, &l->parts[first + i], size, n > 1 ? each : 1, b, err);
        while (r == 0 && b->nsizes > 1 && b->n - before < share)
            r = add_block(b, NULL, NULL, 0, err);
    }
    while (r == 0 && b->n % last)
        r = add_block(b, NULL, NULL, 0, err);
    return r;
}

static int lay_plain(const struct layout *l, struct tgblocks *b, struct err *err)
{
    int r = 0;

    for (size_t d = 0; r == 0 && d < l->ndomains; d++) {
        const struct part *p = &l->parts[l->order[d]];

        r = add_block(b, p->domain, l->sorted + p->first, p->n, err);
    }
    return r;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* What a node's name makes of the format; false: a group that there is not, or a name that is
 * none. */
static bool expand_name(const char *format, const char *node, const regmatch_t *groups, size_t n,
                        char *buf, size_t size)
{
    struct strbuf out = STRBUF_INIT;
    bool good = true;

    while (good && *format) {
        bool brace = format[0] == '$' && format[1] == '{';
        const char *digits = format + 1 + brace;
        size_t len = *format == '$' ? strspn(digits, "0123456789") : 0;

        if (!len || (brace && digits[len] != '}')) {
            strbuf_addc(&out, *format++);
            continue;
        }
        good = len == 1 && (size_t)(*digits - '0') < n && groups[*digits - '0'].rm_so >= 0;
        if (good)
            strbuf_addn(&out, node + groups[*digits - '0'].rm_so,
                        (size_t)(groups[*digits - '0'].rm_eo - groups[*digits - '0'].rm_so));
        format = digits + len + brace;
    }
    good = good && !out.failed && out.len && out.len < size &&
           !strbuf_str(
               &out)[strspn(strbuf_str(&out), "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                              "0123456789._-")];
    if (good)
        memcpy(buf, strbuf_str(&out), out.len + 1);
    strbuf_done(&out);
    return good;
}

static int name_block(const struct graph *g, const struct tgblocks *b, struct tgblock *block,
                      const regex_t *re, const char *format, struct err *err)
{
    char name[GRAPH_UNIT_MAX + 1];
    regmatch_t groups[10];

    for (uint32_t i = 0; i < block->nnodes; i++) {
        const char *node = g->nodes[b->nodes[block->first + i]].name;

        if (regexec(re, node, ARRAY_SIZE(groups), groups, 0) != 0)
            return err_set(err, -EINVAL, "blockName: node %.64s does not match", node);
        if (!expand_name(format, node, groups, ARRAY_SIZE(groups), name, sizeof(name)))
            return err_set(err, -EINVAL, "blockName: %.64s makes no name of node %.64s", format,
                           node);
        if (i && strcmp(name, block->name) != 0)
            return err_set(err, -EINVAL,
                           "blockName: nodes of one block give two names, %.64s and %.64s",
                           block->name, name);
        memcpy(block->name, name, sizeof(name));
    }
    return 0;
}

static int name_blocks(const struct graph *g, const struct tgblocks_params *p, struct tgblocks *b,
                       struct err *err)
{
    struct graphindex names = { 0 };
    regex_t re;
    int r = 0;

    /* Patterns come from requests: what makes regcomp(3) or regexec(3) costly is not taken. */
    if (strlen(p->name_regexp) > TGBLOCKS_PATTERN_MAX || strpbrk(p->name_regexp, "{\\"))
        return err_set(err, -EINVAL,
                       "blockName: a pattern has at most %u bytes, and no { or backslash",
                       TGBLOCKS_PATTERN_MAX);
    if (strlen(p->name_format) > TGBLOCKS_PATTERN_MAX)
        return err_set(err, -EINVAL, "blockName: a format has at most %u bytes",
                       TGBLOCKS_PATTERN_MAX);
    if (regcomp(&re, p->name_regexp, REG_EXTENDED) != 0)
        return err_set(err, -EINVAL, "blockName: %.64s is no regular expression", p->name_regexp);
    for (size_t i = 0; r == 0 && i < b->n; i++) {
        r = name_block(g, b, &b->items[i], &re, p->name_format, err);
        if (r == 0 && graphindex_find(&names, b->items[i].name) != GRAPH_NONE)
            r = err_set(err, -EINVAL, "blockName: two blocks are called %.64s", b->items[i].name);
        if (r == 0 && graphindex_put(&names, b->items[i].name, (uint32_t)i) < 0)
            r = err_nomem(err);
    }
    graphindex_done(&names);
    regfree(&re);
    return r;
}

int tgblocks_make(const struct graph *g, const struct tgblocks_params *p, struct tgblocks *ret,
                  struct err *err)
{
    _cleanup_val_(layout_done) struct layout l = { .g = g };
    _cleanup_val_(tgblocks_done) struct tgblocks b = { .nsizes = p->nsizes };
    int r = tgblocks_check(p, err);

    if (r == 0)
        r = find_domains(&l, err);
    if (r < 0)
        return r;
    b.nodes = calloc(l.nsorted + 1, sizeof(*b.nodes));
    if (!b.nodes)
        return err_nomem(err);
    if (p->nsizes)
        memcpy(b.sizes, p->sizes, p->nsizes * sizeof(*p->sizes));
    else
        infer_sizes(&l, &b);
    r = p->nsizes || l.two_level ? lay_aligned(&l, &b, err) : lay_plain(&l, &b, err);
    if (r == 0 && p->name_regexp && p->name_format)
        r = name_blocks(g, p, &b, err);
    if (r == 0) {
        *ret = b;
        b = (struct tgblocks){ 0 };
    }
    return r;
}
