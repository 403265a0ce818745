/* topoblock.c - block: base blocks in the order of the file, and aligned powers of two of them.
 *
 * A group of N nodes goes to a block of the smallest configured level that could hold it, and there
 * touches no more blocks of the next lower level than it needs.  Among blocks that can hold it the
 * one with fewest free nodes is taken, so that large free ones stay whole; of equals the last.
 * Segments are such groups, one after the other.  The rules are those of Slurm, see
 * docs/design/0014-topology-placement.md. */
#include "sched/topo/topoblock.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/topo/topokeep.h"
#include "sched/topo/topokind.h"

#define NO_LEVEL UINT32_MAX /* above the largest: the whole topology is one block */

struct block { /* the choice under way */
    struct topo_ask *a;
    struct topo_space *sp;
    uint32_t n;            /* base blocks */
    uint32_t base;         /* planned nodes of one */
    uint32_t keep;         /* nodes of the segments to keep room for in one, 0 = none */
    struct topo_sum *free; /* candidates by base block */
    struct topo_sum *now;  /* those of them that the group may take at the moment */
    struct topo_sum *low;  /* of lower-level blocks, at the start of a group */
    uint64_t *saved;       /* candidates when the search in an aggregate began */
    uint32_t *order;       /* scratch: lower-level blocks to choose from */
    bool *opened;          /* lower-level blocks that the group uses */
    bool *touched;         /* base blocks that the group uses */
    bool *closed;          /* base blocks that a segment used, when these are spread */
    bool *barred;          /* base blocks of aggregates in which the first segment is not to be */
    bool *discarded;       /* ... because a later one found no place there */
};

struct group { /* one segment, or the whole job */
    uint32_t nodes;
    uint32_t level, lower; /* powers of two; level NO_LEVEL = everything */
    uint32_t most_low;     /* lower-level blocks it may touch */
    uint32_t left_low;     /* ... beside those it does */
    bool counted;          /* does that bind? */
    struct topo_sum have;  /* taken so far */
};

/* ---- levels ---------------------------------------------------------------------------------- */

static uint32_t power_of(uint32_t size, uint32_t base)
{
    return (uint32_t)__builtin_ctz(size / base);
}

/* The smallest configured power of at least k0, or NO_LEVEL. */
static uint32_t level_above(const struct topo_spec *spec, uint32_t k0)
{
    uint32_t best = NO_LEVEL;

    for (size_t i = 0; i < spec->nblock_sizes; i++) {
        uint32_t k = power_of(spec->block_sizes[i], spec->block_sizes[0]);

        if (k >= k0 && k < best)
            best = k;
    }
    return best;
}

/* The largest configured power of less than k0; base blocks are always a level. */
static uint32_t level_below(const struct topo_spec *spec, uint32_t k0)
{
    uint32_t best = 0;

    for (size_t i = 0; i < spec->nblock_sizes; i++) {
        uint32_t k = power_of(spec->block_sizes[i], spec->block_sizes[0]);

        if (k < k0 && k > best)
            best = k;
    }
    return best;
}

/* Powers of two of base blocks that hold so many nodes. */
static uint32_t power_for(uint64_t nodes, uint32_t base)
{
    uint64_t blocks = (nodes + base - 1) / base;

    return blocks <= 1 ? 0 : 64 - (uint32_t)__builtin_clzll(blocks - 1);
}

uint32_t topo_block_span(const struct topo *t, uint32_t nodes)
{
    const struct topo_spec *spec = topo_get_spec(t);
    uint32_t k0 = power_for(nodes, spec->block_sizes[0]);
    uint32_t k = k0 ? level_above(spec, k0) : 0;

    return k == NO_LEVEL ? (uint32_t)spec->nunits : 1u << k;
}

static struct group make_group(const struct block *b, uint32_t nodes)
{
    const struct topo_spec *spec = topo_get_spec(b->a->topo);
    uint32_t k0 = power_for(nodes, b->base);
    struct group g = { .nodes = nodes, .level = level_above(spec, k0) };
    uint64_t low_size;

    if (k0 == 0)
        g.level = 0;
    g.lower = level_below(spec, k0);
    low_size = (uint64_t)b->base << g.lower;
    g.most_low = g.left_low = (uint32_t)((nodes + low_size - 1) / low_size);
    return g;
}

/* Base blocks [*first, *end) of the block of this level that holds base block `at`. */
static void find_range(const struct block *b, uint32_t level, uint32_t at, uint32_t *first,
                       uint32_t *end)
{
    *first = level == NO_LEVEL ? 0 : at >> level << level;
    *end =
        level == NO_LEVEL ? b->n : (uint32_t)MIN(*first + (UINT64_C(1) << level), (uint64_t)b->n);
}

static uint32_t count_lower(const struct group *g, uint32_t first, uint32_t end)
{
    return first == end ? 0 : ((end - 1) >> g->lower) - (first >> g->lower) + 1;
}

/* ---- which block ----------------------------------------------------------------------------- */

static void add_sum(const struct block *b, struct topo_sum *to, const struct topo_sum *from)
{
    to->n += from->n;
    for (uint32_t i = 0; i < b->a->ncaps; i++)
        to->caps[i] += from->caps[i];
}

/* Free nodes of the lower-level blocks of a range, into b->low. */
static void sum_lower(struct block *b, const struct group *g, uint32_t first, uint32_t end)
{
    for (uint32_t i = first >> g->lower; i <= (end - 1) >> g->lower; i++)
        b->low[i] = (struct topo_sum){ 0 };
    for (uint32_t i = first; i < end; i++)
        add_sum(b, &b->low[i >> g->lower], &b->free[i]);
}

/* Of a range what the group can have at most: that of the fullest lower-level blocks that it may
 * touch.  Those that are open count whatever they hold. */
static struct topo_sum sum_reachable(struct block *b, const struct group *g, uint32_t first,
                                     uint32_t end)
{
    struct topo_sum sum = { 0 };
    uint32_t lo = first >> g->lower, hi = (end - 1) >> g->lower, n = 0;

    sum_lower(b, g, first, end);
    if (hi - lo + 1 <= g->most_low) {
        for (uint32_t i = first; i < end; i++)
            add_sum(b, &sum, &b->free[i]);
        return sum;
    }
    for (uint32_t i = lo; i <= hi; i++) {
        if (b->opened[i])
            add_sum(b, &sum, &b->low[i]);
        else
            b->order[n++] = i;
    }
    for (uint32_t left = g->left_low; left && n; left--) { /* few of many: no need to sort */
        uint32_t best = 0;

        for (uint32_t i = 1; i < n; i++)
            if (b->low[b->order[i]].n > b->low[b->order[best]].n)
                best = i;
        add_sum(b, &sum, &b->low[b->order[best]]);
        b->order[best] = b->order[--n];
    }
    return sum;
}

static uint32_t range_weight(const struct block *b, uint32_t first, uint32_t end)
{
    uint32_t best = UINT32_MAX;

    for (uint32_t i = first; b->a->weight && i < end; i++)
        if (b->free[i].n)
            best = MIN(best, topo_unit_weight(b->a, i));
    return best;
}

static uint32_t range_free(const struct block *b, uint32_t first, uint32_t end)
{
    uint32_t n = 0;

    for (uint32_t i = first; i < end; i++)
        n += b->free[i].n;
    return n;
}

struct range {       /* a block that could hold the group */
    uint32_t first;  /* base block */
    uint32_t weight; /* of its lightest candidate */
    uint32_t lost;   /* segments that would find no room in it any more */
    uint32_t free;
    uint32_t around; /* free nodes of the next larger block, where that counts */
};

static struct range describe_range(const struct block *b, const struct group *g, uint32_t first,
                                   uint32_t end)
{
    struct range x = { .first = first,
                       .weight = range_weight(b, first, end),
                       .free = range_free(b, first, end) };
    uint32_t above = g->level ? NO_LEVEL : level_above(topo_get_spec(b->a->topo), 1);

    if (!b->keep || g->level)
        return x;
    x.lost = topokeep_lost(x.free, g->nodes, b->keep);
    if (above != NO_LEVEL) {
        find_range(b, above, first, &first, &end);
        x.around = range_free(b, first, end);
    }
    return x;
}

/* Of equals the last is taken. */
static bool is_worse(const struct range *x, const struct range *than)
{
    if (x->weight != than->weight)
        return x->weight > than->weight;
    if (x->lost != than->lost)
        return x->lost > than->lost;
    if (x->free != than->free)
        return x->free > than->free;
    return x->around > than->around;
}

/* The block of the group's level, within base blocks [from, to), that is to hold it; by its first
 * base block, TOPO_NONE when there is none. */
static uint32_t choose_range(struct block *b, const struct group *g, uint32_t from, uint32_t to)
{
    struct range best = { .first = TOPO_NONE };
    uint32_t first, end;

    for (uint32_t at = from; at < to; at = end) {
        struct topo_sum sum;
        struct range x;

        find_range(b, g->level, at, &first, &end);
        if (b->barred[first] || range_free(b, first, end) < g->nodes)
            continue;
        x = describe_range(b, g, first, end);
        if (best.first != TOPO_NONE && is_worse(&x, &best))
            continue;
        sum = sum_reachable(b, g, first, end);
        if (topo_suffices(b->a, &g->have, &sum, g->nodes))
            best = x;
        else if (sum.n >= g->nodes)
            b->sp->why = TOPO_WHY_FEW_RESOURCES;
    }
    return best.first;
}

/* ---- in the block ---------------------------------------------------------------------------- */

static void recount_block(struct block *b, uint32_t at)
{
    b->free[at] = (struct topo_sum){ 0 };
    if (!b->closed[at])
        topo_sum_unit(b->a, at, &b->free[at]);
}

/* Two blocks with so many free nodes: which comes first, the one (< 0) or the other (> 0)?  Where
 * they hold the rest of the group the fuller one, else the emptier one. */
static int compare_free(const struct group *g, uint32_t x, uint32_t y, bool fit, uint32_t keep)
{
    uint32_t rest = g->nodes > g->have.n ? g->nodes - g->have.n : 1;
    uint32_t lost_x = fit ? topokeep_lost(x, rest, keep) : 0;
    uint32_t lost_y = fit ? topokeep_lost(y, rest, keep) : 0;

    if (lost_x != lost_y)
        return lost_x < lost_y ? -1 : 1;
    return x == y ? 0 : (x < y) == fit ? -1 : 1;
}

/* Which of two base blocks of the range, i after k, gives nodes first?  Of equals the last. */
static bool is_better(const struct block *b, const struct group *g, uint32_t i, uint32_t k)
{
    const struct topo_ask *a = b->a;
    const struct topo_sum *now = b->now;
    uint32_t li = i >> g->lower, lk = k >> g->lower;
    bool fits_i, fits_k;

    if (g->counted && li != lk) {
        const struct topo_sum *x = &b->low[li], *y = &b->low[lk];
        int order;

        if (b->opened[li] != b->opened[lk])
            return b->opened[li];
        fits_i = topo_suffices(a, &g->have, x, g->nodes);
        fits_k = topo_suffices(a, &g->have, y, g->nodes);
        if (fits_i != fits_k)
            return fits_i;
        order = compare_free(g, x->n, y->n, fits_i, g->lower ? 0 : b->keep);
        if (order)
            return order < 0;
    }
    fits_i = topo_suffices(a, &g->have, &now[i], g->nodes);
    fits_k = topo_suffices(a, &g->have, &now[k], g->nodes);
    if (fits_i != fits_k)
        return fits_i;
    return compare_free(g, now[i].n, now[k].n, fits_i, b->keep) <= 0;
}

static bool is_done(const struct block *b, const struct group *g)
{
    return g->have.n >= g->nodes && topo_has_caps(b->a, &g->have);
}

/* May the group use this base block's lower-level block? */
static bool may_open(const struct block *b, const struct group *g, uint32_t at)
{
    return !g->counted || b->opened[at >> g->lower] || g->left_low > 0;
}

static void open_lower(struct block *b, struct group *g, uint32_t at)
{
    if (!g->counted || b->opened[at >> g->lower])
        return;
    b->opened[at >> g->lower] = true;
    g->left_low--;
}

static int take_from(struct block *b, struct group *g, uint32_t at, uint32_t weight, uint32_t nodes)
{
    uint32_t had = g->have.n;
    int r = topo_take_unit(b->a, b->sp, &g->have, at, weight, nodes);

    if (g->have.n > had) {
        open_lower(b, g, at);
        b->touched[at] = true;
    }
    recount_block(b, at);
    return r;
}

/* Nodes of at most this weight, of a range. */
static struct topo_sum sum_light(const struct block *b, uint32_t first, uint32_t end,
                                 uint32_t weight, uint32_t *ret_next)
{
    const struct topo_bits *bits = topo_get_bits(b->a->topo);
    struct topo_sum sum = { 0 };

    *ret_next = UINT32_MAX;
    for (uint32_t at = first; at < end; at++) {
        uint32_t n;
        const struct topo_span *s = topo_unit_spans(bits, at, &n);

        for (uint32_t i = 0; !b->closed[at] && i < n && s[i].word < b->a->nwords; i++) {
            for (uint64_t m = b->a->cand[s[i].word] & s[i].mask; m; m &= m - 1) {
                uint32_t id = s[i].word * 64 + (uint32_t)__builtin_ctzll(m);
                uint32_t w = topo_weight_of(b->a, id);

                if (w <= weight)
                    topo_sum_add(b->a, &sum, id);
                else
                    *ret_next = MIN(*ret_next, w);
            }
        }
    }
    return sum;
}

/* The weight up to which the nodes of a range are enough; *ret_lighter is the one below that, whose
 * nodes are all taken, or 0 with *ret_any false. */
static uint32_t find_weight(const struct block *b, const struct group *g, uint32_t first,
                            uint32_t end, uint32_t *ret_lighter, bool *ret_any)
{
    uint32_t weight = range_weight(b, first, end), next;

    *ret_any = false;
    for (;;) {
        struct topo_sum sum = sum_light(b, first, end, weight, &next);

        if (topo_suffices(b->a, &g->have, &sum, g->nodes) || next == UINT32_MAX)
            return weight;
        *ret_any = true;
        *ret_lighter = weight;
        weight = next;
    }
}

/* Base blocks in which the group has nodes already give theirs first. */
static int fill_touched(struct block *b, struct group *g, uint32_t first, uint32_t end,
                        uint32_t weight)
{
    int r = 0;

    for (uint32_t i = first; r == 0 && i < end && !is_done(b, g); i++)
        if (b->touched[i])
            r = take_from(b, g, i, weight, g->nodes);
    return r;
}

/* The nodes of lower weight, all of which the group must have. */
static int take_lighter(struct block *b, struct group *g, uint32_t first, uint32_t end,
                        uint32_t lighter)
{
    int r = 0;

    for (uint32_t i = first; r == 0 && i < end; i++) {
        if (!b->free[i].n || topo_unit_weight(b->a, i) > lighter)
            continue;
        if (!may_open(b, g, i)) {
            b->sp->why = TOPO_WHY_WEIGHTS;
            return 0;
        }
        r = take_from(b, g, i, lighter, UINT32_MAX);
    }
    return r < 0 ? r : 1;
}

/* Best base block after best base block, until the group has all. */
static int take_best(struct block *b, struct group *g, uint32_t first, uint32_t end,
                     uint32_t weight)
{
    struct topo_sum *now = b->now;
    int r = 0;

    while (r == 0 && !is_done(b, g) && g->have.n < b->a->max) {
        uint32_t best = TOPO_NONE;

        for (uint32_t i = first; i < end; i++)
            if (now[i].n && may_open(b, g, i) && (best == TOPO_NONE || is_better(b, g, i, best)))
                best = i;
        if (best == TOPO_NONE)
            break;
        r = take_from(b, g, best, weight, g->nodes);
        now[best].n = 0;
    }
    return r;
}

/* Nodes for the group out of a range, beside those it has. */
static int fill_group(struct block *b, struct group *g, uint32_t first, uint32_t end)
{
    uint32_t weight = UINT32_MAX, lighter = 0, next;
    bool any = false;
    int r = 1;

    sum_lower(b, g, first, end);
    if (b->a->weight)
        weight = find_weight(b, g, first, end, &lighter, &any);
    if (any)
        r = take_lighter(b, g, first, end, lighter);
    if (r <= 0)
        return r;
    r = fill_touched(b, g, first, end, weight);
    for (uint32_t i = first; i < end; i++)
        b->now[i] = b->a->weight ? sum_light(b, i, i + 1, weight, &next) : b->free[i];
    if (r == 0)
        r = take_best(b, g, first, end, weight);
    if (r < 0 || is_done(b, g))
        return r < 0 ? r : 1;
    /* the range holds enough nodes that the group may have: only weights keep it from them */
    b->sp->why = any                      ? TOPO_WHY_WEIGHTS
                 : g->have.n >= b->a->max ? TOPO_WHY_NODE_LIMIT
                 : g->have.n >= g->nodes  ? TOPO_WHY_FEW_RESOURCES
                 : b->a->weight           ? TOPO_WHY_WEIGHTS
                                          : TOPO_WHY_NO_UNIT;
    return 0;
}

/* ---- groups ---------------------------------------------------------------------------------- */

static int no_unit(struct block *b)
{
    if (b->sp->why == TOPO_WHY_NONE)
        b->sp->why = TOPO_WHY_NO_UNIT;
    return 0;
}

/* The required nodes decide where the group goes: to the first block that has one of them. */
static int take_required(struct block *b, struct group *g, uint32_t *ret_first, uint32_t *ret_end)
{
    struct topo_ask *a = b->a;
    uint32_t at = TOPO_NONE;

    for (uint32_t i = 0; i < a->nreq; i++)
        at = MIN(at, topo_unit_of(a->topo, a->req[i]));
    if (at == TOPO_NONE) {
        b->sp->why = TOPO_WHY_REQ_UNITS;
        return 0;
    }
    find_range(b, g->level, at, ret_first, ret_end);
    g->counted = count_lower(g, *ret_first, *ret_end) != g->most_low;
    for (uint32_t i = 0; i < a->nreq; i++) {
        uint32_t unit = topo_unit_of(a->topo, a->req[i]);

        if (unit == TOPO_NONE || unit < *ret_first || unit >= *ret_end || !may_open(b, g, unit)) {
            b->sp->why = TOPO_WHY_REQ_UNITS;
            return 0;
        }
        if (topo_take(a, b->sp, &g->have, a->req[i]) < 0)
            return -ENOMEM;
        open_lower(b, g, unit);
        b->touched[unit] = true;
        recount_block(b, unit);
    }
    return 1;
}

/* A group within base blocks [from, to): 1, 0 with the reason, -ENOMEM.  *ret_first: where. */
static int place_group(struct block *b, uint32_t nodes, uint32_t from, uint32_t to,
                       uint32_t *ret_first)
{
    struct group g = make_group(b, nodes);
    uint32_t first, end;
    struct topo_sum sum;
    int r;

    memset(b->opened, 0, b->n * sizeof(*b->opened));
    memset(b->touched, 0, b->n * sizeof(*b->touched));
    if (b->a->nreq) {
        r = take_required(b, &g, &first, &end);
        if (r <= 0)
            return r;
        sum = sum_reachable(b, &g, first, end);
        if (!topo_suffices(b->a, &g.have, &sum, nodes))
            return no_unit(b);
    } else {
        first = choose_range(b, &g, from, to);
        if (first == TOPO_NONE)
            return no_unit(b);
        find_range(b, g.level, first, &first, &end);
        g.counted = count_lower(&g, first, end) != g.most_low;
    }
    b->sp->why = TOPO_WHY_NONE;
    *ret_first = first;
    return fill_group(b, &g, first, end);
}

/* What a spread segment touched is of no use for those that follow. */
static void close_touched(struct block *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        if (b->touched[i]) {
            b->closed[i] = true;
            recount_block(b, i);
        }
    }
}

/* Segments one after the other; those after the first in [from, to) of the first one's aggregate
 * when they are to be together. */
static int place_segments(struct block *b, uint32_t segments, uint32_t nodes, uint32_t aggregate,
                          uint32_t *ret_first)
{
    uint32_t from = 0, to = b->n, at;

    for (uint32_t i = 0; i < segments; i++) {
        int r = place_group(b, nodes, from, to, &at);

        if (r <= 0) {
            if (b->sp->why == TOPO_WHY_NO_UNIT)
                b->sp->why = TOPO_WHY_NO_SEGMENT;
            return r;
        }
        if (b->a->spread)
            close_touched(b);
        if (i == 0) {
            *ret_first = at;
            find_range(b, aggregate, at, &from, &to);
            memset(b->barred, 0, b->n * sizeof(*b->barred));
        }
    }
    return 1;
}

/* Bar the aggregates that have too few free nodes, or were tried. */
static bool bar_aggregates(struct block *b, uint32_t aggregate, uint32_t total)
{
    bool any = false;
    uint32_t end;

    for (uint32_t first = 0; first < b->n; first = end) {
        bool bar;

        find_range(b, aggregate, first, &first, &end);
        bar = b->discarded[first] || range_free(b, first, end) < total;
        for (uint32_t i = first; i < end; i++)
            b->barred[i] = bar;
        any = any || !bar;
    }
    return any;
}

/* All segments in one aggregate: where a later one finds no place the search begins again without
 * that aggregate. */
static int consolidate_segments(struct block *b, uint32_t segments, uint32_t nodes)
{
    const struct topo_spec *spec = topo_get_spec(b->a->topo);
    uint64_t room = b->a->spread ? ((uint64_t)nodes + b->base - 1) / b->base * b->base : nodes;
    uint32_t power = power_for(room * segments, b->base), first, end;
    uint32_t aggregate = power ? level_above(spec, power) : 0;
    size_t bytes = b->a->nwords * sizeof(*b->saved);

    memcpy(b->saved, b->a->cand, bytes);
    while (bar_aggregates(b, aggregate, segments * nodes)) {
        int r;

        first = TOPO_NONE;
        r = place_segments(b, segments, nodes, aggregate, &first);
        if (r != 0 || first == TOPO_NONE)
            return r;
        find_range(b, aggregate, first, &first, &end);
        b->discarded[first] = true;
        memcpy(b->a->cand, b->saved, bytes);
        memset(b->closed, 0, b->n * sizeof(*b->closed));
        b->sp->nchosen = 0;
        for (uint32_t i = 0; i < b->n; i++)
            recount_block(b, i);
    }
    b->sp->why = TOPO_WHY_NO_SEGMENT;
    return 0;
}

/* One piece of memory for all arrays; the larger things first. */
static int begin_choice(struct block *b)
{
    size_t n = b->n + 1;
    char *mem = topo_space_get(
        b->sp, n * (3 * sizeof(*b->free) + sizeof(*b->order) + 5 * sizeof(*b->opened)) +
                   b->a->nwords * sizeof(*b->saved));

    if (!mem)
        return -ENOMEM;
    b->free = (struct topo_sum *)(void *)mem;
    b->now = b->free + n;
    b->low = b->now + n;
    b->saved = (uint64_t *)(void *)(b->low + n);
    b->order = (uint32_t *)(void *)(b->saved + b->a->nwords);
    b->opened = (bool *)(void *)(b->order + n);
    b->touched = b->opened + n;
    b->closed = b->touched + n;
    b->barred = b->closed + n;
    b->discarded = b->barred + n;
    for (uint32_t i = 0; i < b->n; i++)
        recount_block(b, i);
    return 0;
}

int topo_choose_block(struct topo_ask *a, struct topo_space *sp)
{
    const struct topo_spec *spec = topo_get_spec(a->topo);
    bool split = a->segment && a->segment < a->min;
    uint32_t segments = split ? a->min / a->segment : 1, at;
    struct topo_ask part = *a; /* what one segment is asked */
    struct block b = { .a = &part,
                       .sp = sp,
                       .n = (uint32_t)spec->nunits,
                       .base = spec->block_sizes[0],
                       .keep = MIN(a->keep, spec->block_sizes[0]) };

    if (split && a->min % a->segment) {
        sp->why = TOPO_WHY_NEVER;
        return 0;
    }
    if (split) {
        part.min = part.max = a->segment;
        for (uint32_t i = 0; i < a->ncaps; i++)
            part.need[i] = (a->need[i] + segments - 1) / segments;
    }
    if (begin_choice(&b) < 0)
        return -ENOMEM;
    if (!split)
        return place_group(&b, a->min, 0, b.n, &at);
    return a->consolidate ? consolidate_segments(&b, segments, a->segment)
                          : place_segments(&b, segments, a->segment, NO_LEVEL, &at);
}
