/* test_topo_random.c - choices under random topologies and states, against a slow reference
 *
 * The reference follows the rules of docs/design/0014-topology-placement.md with lists of nodes and
 * loops, counts everything anew at each step, and knows nothing of bitmaps.  Every choice must be
 * the reference's, node for node; so what can be placed is placed.  Beside that the choices keep
 * what a user relies on: only candidates, no node twice, segments within blocks. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/topo/topo.h"
#include "sched/topo/topobits.h"
#include "sched/topo/topochoose.h"

#define NODES_MAX 256u
#define UNITS_MAX 64u
#define ROUNDS 10000u /* of each kind */

static uint64_t rng_state;

static uint32_t random_below(uint32_t n)
{
    rng_state = rng_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(rng_state >> 33) % n;
}

struct world {
    struct topo_spec spec;
    struct topo_unit_spec units[UNITS_MAX];
    uint32_t nodes[NODES_MAX], children[UNITS_MAX], sizes[4];
    struct topo_placement_spec placements[4];
    uint32_t nnodes;
    bool free[NODES_MAX]; /* candidates */
    uint32_t unit_of[NODES_MAX];
    struct topo_ask ask;
};

struct picked {
    uint32_t v[NODES_MAX], n;
};

static void add_node(struct world *w, struct picked *p, uint32_t id)
{
    assert_true(w->free[id]);
    w->free[id] = false;
    p->v[p->n++] = id;
}

static uint32_t free_in(const struct world *w, uint32_t unit)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < w->nnodes; i++)
        n += w->free[i] && w->unit_of[i] == unit;
    return n;
}

/* Node ids in any order, shared out to units. */
static void deal_nodes(struct world *w, uint32_t units, uint32_t most)
{
    uint32_t at = 0;

    for (uint32_t i = 0; i < NODES_MAX; i++)
        w->nodes[i] = i;
    for (uint32_t i = NODES_MAX - 1; i > 0; i--) {
        uint32_t k = random_below(4) ? i : random_below(i + 1), swap = w->nodes[i];

        w->nodes[i] = w->nodes[k];
        w->nodes[k] = swap;
    }
    w->nnodes = NODES_MAX;
    memset(w->unit_of, 0xff, sizeof(w->unit_of));
    for (uint32_t u = 0; u < units; u++) {
        uint32_t n = random_below(8) ? most : random_below(most + 1);

        w->units[u] = (struct topo_unit_spec){ .name = "u", .nodes = w->nodes + at, .nnodes = n };
        for (uint32_t i = 0; i < n; i++)
            w->unit_of[w->nodes[at + i]] = u;
        at += n;
    }
    w->spec.units = w->units;
    w->spec.nunits = units;
    w->spec.name = "t";
}

static void free_some(struct world *w)
{
    uint32_t busy = random_below(5); /* of 5 */

    for (uint32_t i = 0; i < w->nnodes; i++)
        w->free[i] = random_below(5) >= busy;
}

/* ---- block ----------------------------------------------------------------------------------- */

static void make_block(struct world *w)
{
    uint32_t base = 1 + random_below(6), k = 0;

    *w = (struct world){ .spec = { .kind = TOPO_BLOCK } };
    deal_nodes(w, 1 + random_below(24), base + random_below(3));
    for (uint32_t i = 0; i < 4; i++) {
        w->sizes[i] = base << k;
        w->spec.nblock_sizes = i + 1;
        k += 1 + random_below(2);
        if (random_below(3) == 0)
            break;
    }
    w->spec.block_sizes = w->sizes;
}

static bool has_size(const struct world *w, uint64_t size)
{
    for (size_t i = 0; i < w->spec.nblock_sizes; i++)
        if (w->sizes[i] == size)
            return true;
    return false;
}

struct levels {
    uint32_t blocks, lower,
        most; /* base blocks of a block and of a lower one; of those it may touch */
};

static struct levels levels_of(const struct world *w, uint32_t nodes)
{
    uint32_t base = w->sizes[0], k0 = 0;
    struct levels l = { .lower = 1 };

    while (((uint64_t)base << k0) < nodes)
        k0++;
    l.blocks = UINT32_MAX;
    for (uint32_t k = 16; k-- > k0;)
        if (has_size(w, (uint64_t)base << k))
            l.blocks = 1u << k;
    if (k0 == 0)
        l.blocks = 1;
    for (uint32_t k = 0; k < k0; k++)
        if (has_size(w, (uint64_t)base << k))
            l.lower = 1u << k;
    l.most = (nodes + base * l.lower - 1) / (base * l.lower);
    return l;
}

static uint32_t free_between(const struct world *w, uint32_t first, uint32_t end)
{
    uint32_t n = 0;

    for (uint32_t u = first; u < end; u++)
        n += free_in(w, u);
    return n;
}

static int more_first(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (y > x) - (y < x);
}

static bool holds_group(const struct world *w, const struct levels *l, uint32_t first, uint32_t end,
                        uint32_t nodes)
{
    uint32_t low[UNITS_MAX], n = 0, sum = 0;

    for (uint32_t u = first; u < end; u += l->lower)
        low[n++] = free_between(w, u, MIN(u + l->lower, end));
    qsort(low, n, sizeof(low[0]), more_first);
    for (uint32_t i = 0; i < n && i < l->most; i++)
        sum += low[i];
    return sum >= nodes;
}

/* Segments of ask.keep nodes that no longer find room in a base block of which nodes are taken. */
static uint32_t ref_lost(const struct world *w, uint32_t free, uint32_t nodes)
{
    uint32_t keep = MIN(w->ask.keep, w->sizes[0]), lost = 0;

    for (uint32_t n = keep; keep && n <= free; n += keep)
        lost += n > free - MIN(nodes, free);
    return lost;
}

/* Base block i, after k: does it come first? */
static bool block_first(const struct world *w, const struct levels *l, const uint32_t *low,
                        const bool *used, bool counted, uint32_t rest, uint32_t i, uint32_t k)
{
    uint32_t fi = free_in(w, i), fk = free_in(w, k), li = i / l->lower, lk = k / l->lower;

    if (counted && li != lk) {
        if (used[li] != used[lk])
            return used[li];
        if ((low[li] >= rest) != (low[lk] >= rest))
            return low[li] >= rest;
        if (l->lower == 1 && low[li] >= rest &&
            ref_lost(w, low[li], rest) != ref_lost(w, low[lk], rest))
            return ref_lost(w, low[li], rest) < ref_lost(w, low[lk], rest);
        if (low[li] != low[lk])
            return low[li] >= rest ? low[li] < low[lk] : low[li] > low[lk];
    }
    if ((fi >= rest) != (fk >= rest))
        return fi >= rest;
    if (fi >= rest && ref_lost(w, fi, rest) != ref_lost(w, fk, rest))
        return ref_lost(w, fi, rest) < ref_lost(w, fk, rest);
    return fi == fk || (fi >= rest ? fi < fk : fi > fk);
}

static void fill_block(struct world *w, const struct levels *l, uint32_t first, uint32_t end,
                       uint32_t nodes, struct picked *ret)
{
    bool used[UNITS_MAX] = { false };
    uint32_t low[UNITS_MAX] = { 0 }, opened = 0, rest = nodes;
    bool counted = (end - first + l->lower - 1) / l->lower != l->most;

    for (uint32_t u = first; u < end; u++)
        low[u / l->lower] += free_in(w, u);
    while (rest) {
        uint32_t best = UINT32_MAX;

        for (uint32_t u = first; u < end; u++)
            if (free_in(w, u) && (!counted || used[u / l->lower] || opened < l->most) &&
                (best == UINT32_MAX || block_first(w, l, low, used, counted, rest, u, best)))
                best = u;
        assert_int_not_equal(best, UINT32_MAX);
        opened += !used[best / l->lower];
        used[best / l->lower] = true;
        for (uint32_t i = 0; i < w->nnodes && rest; i++) {
            if (!w->free[i] || w->unit_of[i] != best)
                continue;
            add_node(w, ret, i);
            rest--;
        }
    }
}

/* Of two blocks that hold a group: is x, which comes later, as good as y? */
static bool range_first(const struct world *w, const struct levels *l, uint32_t nodes, uint32_t x,
                        uint32_t y)
{
    uint32_t units = (uint32_t)w->spec.nunits, step = MIN(l->blocks, units);
    uint32_t fx = free_between(w, x, (uint32_t)MIN((uint64_t)x + step, (uint64_t)units));
    uint32_t fy = free_between(w, y, (uint32_t)MIN((uint64_t)y + step, (uint64_t)units)), above;

    if (l->blocks == 1 && ref_lost(w, fx, nodes) != ref_lost(w, fy, nodes))
        return ref_lost(w, fx, nodes) < ref_lost(w, fy, nodes);
    if (fx != fy || l->blocks != 1 || !w->ask.keep || w->spec.nblock_sizes < 2)
        return fx <= fy;
    above = w->sizes[1] / w->sizes[0];
    x -= x % above;
    y -= y % above;
    return free_between(w, x, MIN(x + above, units)) <= free_between(w, y, MIN(y + above, units));
}

/* A group within [from, to): where it begins, or UINT32_MAX. */
static uint32_t ref_group(struct world *w, uint32_t nodes, uint32_t from, uint32_t to,
                          const bool *barred, struct picked *ret)
{
    struct levels l = levels_of(w, nodes);
    uint32_t best = UINT32_MAX, step = MIN(l.blocks, (uint32_t)w->spec.nunits);

    for (uint32_t u = l.blocks == UINT32_MAX ? 0 : from; u < to; u += step) {
        uint32_t end = (uint32_t)MIN((uint64_t)u + step, (uint64_t)w->spec.nunits);

        if (barred[u] || !holds_group(w, &l, u, end, nodes))
            continue;
        if (best == UINT32_MAX || range_first(w, &l, nodes, u, best))
            best = u;
    }
    if (best != UINT32_MAX)
        fill_block(w, &l, best, (uint32_t)MIN((uint64_t)best + step, w->spec.nunits), nodes, ret);
    return best;
}

static void spread_out(struct world *w, const struct picked *p, uint32_t from)
{
    for (uint32_t k = from; k < p->n; k++)
        for (uint32_t i = 0; i < w->nnodes; i++)
            if (w->unit_of[i] == w->unit_of[p->v[k]])
                w->free[i] = false;
}

static bool ref_segments(struct world *w, uint32_t aggregate, const bool *barred,
                         uint32_t *ret_first, struct picked *ret)
{
    uint32_t size = w->ask.segment, from = 0, to = (uint32_t)w->spec.nunits;
    bool none[UNITS_MAX] = { false };

    for (uint32_t i = 0; i < w->ask.min / size; i++) {
        uint32_t had = ret->n, at = ref_group(w, size, from, to, i ? none : barred, ret);

        if (at == UINT32_MAX)
            return false;
        if (w->ask.spread)
            spread_out(w, ret, had);
        if (i == 0) {
            *ret_first = at / aggregate * aggregate;
            from = *ret_first;
            to = MIN(from + aggregate, to);
        }
    }
    return true;
}

static bool ref_consolidated(struct world *w, struct picked *ret)
{
    uint32_t size = w->ask.segment, base = w->sizes[0], units = (uint32_t)w->spec.nunits;
    uint32_t total = (w->ask.spread ? (size + base - 1) / base * base : size) * (w->ask.min / size);
    uint32_t aggregate = MIN(levels_of(w, total).blocks, units), first = 0;
    bool tried[UNITS_MAX] = { false }, barred[UNITS_MAX];
    struct world start = *w;

    for (uint32_t again = 0; again <= units; again++) {
        for (uint32_t u = 0; u < units; u++) {
            uint32_t at = u / aggregate * aggregate;

            barred[u] =
                tried[at] || free_between(&start, at, MIN(at + aggregate, units)) < w->ask.min;
        }
        memcpy(w->free, start.free, sizeof(w->free));
        ret->n = 0;
        first = UINT32_MAX;
        if (ref_segments(w, aggregate, barred, &first, ret))
            return true;
        if (first == UINT32_MAX)
            return false;
        tried[first] = true;
    }
    return false;
}

static bool ref_block(struct world *w, struct picked *ret)
{
    const bool none[UNITS_MAX] = { false };
    uint32_t first;

    if (!w->ask.segment || w->ask.segment >= w->ask.min)
        return ref_group(w, w->ask.min, 0, (uint32_t)w->spec.nunits, none, ret) != UINT32_MAX;
    if (w->ask.min % w->ask.segment)
        return false;
    if (w->ask.consolidate)
        return ref_consolidated(w, ret);
    return ref_segments(w, (uint32_t)w->spec.nunits, none, &first, ret);
}

/* Segments lie within blocks that could hold them, and spread ones apart. */
static void check_segments(const struct world *w, const struct topo_space *sp)
{
    uint32_t size = w->ask.segment && w->ask.segment < w->ask.min ? w->ask.segment : w->ask.min;
    uint32_t blocks = levels_of(w, size).blocks;

    for (uint32_t at = 0; at < sp->nchosen; at += size) {
        for (uint32_t i = at; i < at + size; i++) {
            assert_int_equal(w->unit_of[sp->chosen[i]] / blocks,
                             w->unit_of[sp->chosen[at]] / blocks);
            for (uint32_t k = 0; w->ask.spread && size < w->ask.min && k < at; k++)
                assert_int_not_equal(w->unit_of[sp->chosen[i]], w->unit_of[sp->chosen[k]]);
        }
    }
}

/* ---- tree ------------------------------------------------------------------------------------ */

static void make_tree(struct world *w)
{
    uint32_t n = 1 + random_below(12), below = 0, kid = 0, levels = random_below(6);

    *w = (struct world){ .spec = { .kind = TOPO_TREE } };
    deal_nodes(w, n, 1 + random_below(6));
    while (n - below > 1 && n < UNITS_MAX && levels--) {
        uint32_t end = n;

        while (below < end && n < UNITS_MAX) {
            uint32_t most = 1 + random_below(4), k = MIN(most, end - below);

            w->units[n] = (struct topo_unit_spec){ .name = "s",
                                                   .children = w->children + kid,
                                                   .nchildren = k };
            while (k--)
                w->children[kid++] = below++;
            n++;
        }
        below = end;
    }
    w->spec.nunits = n;
}

static uint32_t parent_of(const struct world *w, uint32_t unit)
{
    for (uint32_t u = 0; u < w->spec.nunits; u++)
        for (size_t k = 0; k < w->units[u].nchildren; k++)
            if (w->units[u].children[k] == unit)
                return u;
    return UINT32_MAX;
}

static uint32_t height_of(const struct world *w, uint32_t unit)
{
    uint32_t height = 0;

    for (size_t k = 0; k < w->units[unit].nchildren; k++)
        height = MAX(height, height_of(w, w->units[unit].children[k]) + 1);
    return height;
}

static uint32_t free_below(const struct world *w, uint32_t unit)
{
    uint32_t n = free_in(w, unit);

    for (size_t k = 0; k < w->units[unit].nchildren; k++)
        n += free_below(w, w->units[unit].children[k]);
    return n;
}

/* Steps along edges, by widening circles. */
static uint32_t hops_between(const struct world *w, uint32_t a, uint32_t b)
{
    uint32_t dist[UNITS_MAX];

    memset(dist, 0xff, sizeof(dist));
    dist[a] = 0;
    for (uint32_t d = 0; d < UNITS_MAX; d++)
        for (uint32_t u = 0; u < w->spec.nunits; u++)
            for (uint32_t v = 0; dist[u] == d && v < w->spec.nunits; v++)
                if (dist[v] == UINT32_MAX && (parent_of(w, u) == v || parent_of(w, v) == u))
                    dist[v] = d + 1;
    return dist[b];
}

static int leaf_compare(const struct world *w, uint32_t i, uint32_t k, uint32_t rest,
                        bool *ret_fits)
{
    uint32_t fi = free_below(w, i), fk = free_below(w, k), pi = parent_of(w, i),
             pk = parent_of(w, k);

    *ret_fits = fi >= rest;
    if ((fi >= rest) != (fk >= rest))
        return fi >= rest ? 1 : -1;
    if (fi >= rest && fi != fk)
        return fi < fk ? 1 : -1;
    if (fi < rest && pi != pk && pi != UINT32_MAX && pk != UINT32_MAX)
        return leaf_compare(w, pi, pk, rest, ret_fits);
    if (fi != fk)
        return fi > fk ? 1 : -1;
    return (int)height_of(w, k) - (int)height_of(w, i);
}

static uint32_t best_leaf(const struct world *w, const struct picked *p, uint32_t rest)
{
    uint32_t best = UINT32_MAX, best_dist = 0;

    for (uint32_t u = 0; u < w->spec.nunits; u++) {
        uint32_t dist = 0;
        bool used[UNITS_MAX] = { false }, fits;
        int cmp;

        if (w->units[u].nchildren || !free_in(w, u))
            continue;
        for (uint32_t i = 0; i < p->n; i++)
            used[w->unit_of[p->v[i]]] = true;
        for (uint32_t v = 0; v < w->spec.nunits; v++)
            dist += used[v] ? hops_between(w, u, v) : 0;
        cmp = best == UINT32_MAX ? 1 : leaf_compare(w, u, best, rest, &fits);
        if (best == UINT32_MAX || (dist < best_dist && fits) || (dist == best_dist && cmp > 0)) {
            best = u;
            best_dist = dist;
        }
    }
    return best;
}

static bool is_under(const struct world *w, uint32_t unit, uint32_t top)
{
    while (unit != UINT32_MAX && unit != top)
        unit = parent_of(w, unit);
    return unit == top;
}

static bool ref_tree(struct world *w, struct picked *ret)
{
    uint32_t top = UINT32_MAX;

    for (uint32_t u = 0; u < w->spec.nunits; u++)
        if (free_below(w, u) >= w->ask.min &&
            (top == UINT32_MAX || height_of(w, u) >= height_of(w, top)))
            top = u;
    if (top == UINT32_MAX)
        return false;
    for (uint32_t i = 0; i < w->nnodes; i++)
        w->free[i] = w->free[i] && is_under(w, w->unit_of[i], top);
    while (ret->n < w->ask.want) {
        uint32_t leaf = best_leaf(w, ret, w->ask.want - ret->n);

        if (leaf == UINT32_MAX)
            break;
        for (uint32_t i = 0; i < w->nnodes && ret->n < w->ask.want; i++)
            if (w->free[i] && w->unit_of[i] == leaf)
                add_node(w, ret, i);
        for (uint32_t i = 0; i < w->nnodes; i++)
            w->free[i] = w->free[i] && w->unit_of[i] != leaf;
    }
    return ret->n >= w->ask.min;
}

/* ---- ring ------------------------------------------------------------------------------------ */

static void make_ring(struct world *w)
{
    *w = (struct world){ .spec = { .kind = TOPO_RING } };
    deal_nodes(w, 1 + random_below(10), 1 + random_below(TOPO_RING_MAX));
}

static bool ref_ring(struct world *w, struct picked *ret)
{
    bool split = w->ask.segment && w->ask.segment < w->ask.min, gone[UNITS_MAX] = { false };
    uint32_t size = split ? w->ask.segment : w->ask.min;

    if (w->ask.min % size)
        return false;
    while (ret->n < w->ask.min) {
        uint32_t best = UINT32_MAX, best_at = 0;

        for (uint32_t u = 0; u < w->spec.nunits; u++) {
            const struct topo_unit_spec *r = &w->units[u];

            for (uint32_t at = 0; !gone[u] && size <= r->nnodes && at < r->nnodes; at++) {
                uint32_t n = 0;

                while (n < size && w->free[r->nodes[(at + n) % r->nnodes]])
                    n++;
                if (n == size && (best == UINT32_MAX || free_in(w, u) < free_in(w, best))) {
                    best = u;
                    best_at = at;
                }
            }
        }
        if (best == UINT32_MAX)
            return false;
        gone[best] = true;
        for (uint32_t n = 0; n < size; n++)
            add_node(w, ret, w->units[best].nodes[(best_at + n) % w->units[best].nnodes]);
    }
    return true;
}

/* ---- torus ----------------------------------------------------------------------------------- */

static void make_torus(struct world *w)
{
    *w = (struct world){ .spec = { .kind = TOPO_TORUS, .placements = w->placements } };
    deal_nodes(w, 1 + random_below(3), 0);
    for (uint32_t u = 0, at = 0; u < w->spec.nunits; u++) {
        struct topo_unit_spec *t = &w->units[u];

        for (unsigned i = 0; i < 3; i++)
            t->dims[i] = 1 + random_below(4);
        t->nnodes = (size_t)t->dims[0] * t->dims[1] * t->dims[2];
        t->nodes = w->nodes + at;
        for (size_t i = 0; i < t->nnodes; i++)
            w->unit_of[w->nodes[at + i]] = u;
        at += (uint32_t)t->nnodes;
    }
    w->spec.nplacements = 1 + random_below(4);
    for (size_t k = 0; k < w->spec.nplacements; k++) {
        struct topo_placement_spec *p = &w->placements[k];

        p->unit = random_below((uint32_t)w->spec.nunits);
        for (unsigned i = 0; i < 3; i++) {
            uint32_t dim = w->units[p->unit].dims[i];

            p->dims[i] = 1 + random_below(dim);
            p->seed[i] = random_below(dim);
            p->spacing[i] = random_below(2) ? p->dims[i] : 1 + random_below(dim);
        }
    }
}

static uint32_t size_of(const struct topo_placement_spec *p)
{
    return p->dims[0] * p->dims[1] * p->dims[2];
}

/* The cells of the box at an anchor; returns how many of them are free. */
static uint32_t box_cells(const struct world *w, const struct topo_placement_spec *p,
                          const uint32_t at[3], uint32_t *ret)
{
    const struct topo_unit_spec *t = &w->units[p->unit];
    uint32_t n = 0, open = 0;

    for (uint32_t z = 0; z < p->dims[2]; z++)
        for (uint32_t y = 0; y < p->dims[1]; y++)
            for (uint32_t x = 0; x < p->dims[0]; x++) {
                uint32_t cx = (at[0] + x) % t->dims[0], cy = (at[1] + y) % t->dims[1],
                         cz = (at[2] + z) % t->dims[2];

                ret[n] = t->nodes[cx + t->dims[0] * (cy + t->dims[1] * cz)];
                open += w->free[ret[n++]];
            }
    return open;
}

/* The k-th anchor, x outermost; false past the last. */
static bool nth_anchor(const struct world *w, const struct topo_placement_spec *p, uint32_t k,
                       uint32_t at[3])
{
    uint32_t n[3];

    for (unsigned i = 0; i < 3; i++) {
        uint32_t dim = w->units[p->unit].dims[i], c = p->seed[i];

        n[i] = 0;
        do {
            n[i]++;
            c = (c + p->spacing[i]) % dim;
        } while (c != p->seed[i]);
    }
    if (k >= n[0] * n[1] * n[2])
        return false;
    for (unsigned i = 3; i-- > 0; k /= n[i])
        at[i] = (p->seed[i] + k % n[i] * p->spacing[i]) % w->units[p->unit].dims[i];
    return true;
}

static uint32_t spoilt_by(const struct world *w, const struct topo_placement_spec *p,
                          const uint32_t *cells)
{
    const struct topo_placement_spec *larger = NULL;
    uint32_t other[NODES_MAX], at[3], spoilt = 0;

    for (size_t i = 0; i < w->spec.nplacements; i++) {
        const struct topo_placement_spec *q = &w->placements[i];

        if (q->unit == p->unit && size_of(q) > size_of(p) &&
            (!larger || size_of(q) < size_of(larger)))
            larger = q;
    }
    for (uint32_t k = 0; larger && nth_anchor(w, larger, k, at); k++) {
        bool meets = false;

        if (box_cells(w, larger, at, other) < size_of(larger))
            continue;
        for (uint32_t i = 0; i < size_of(p); i++)
            for (uint32_t j = 0; j < size_of(larger); j++)
                meets = meets || cells[i] == other[j];
        spoilt += meets;
    }
    return spoilt;
}

static bool place_box(struct world *w, uint32_t size, struct picked *ret)
{
    const struct topo_placement_spec *best = NULL;
    uint32_t cells[NODES_MAX], kept[NODES_MAX], at[3], best_cost = 0;

    for (uint32_t u = 0; u < w->spec.nunits; u++) {
        for (size_t i = 0; i < w->spec.nplacements; i++) {
            const struct topo_placement_spec *p = &w->placements[i];

            for (uint32_t k = 0; p->unit == u && size_of(p) == size && nth_anchor(w, p, k, at);
                 k++) {
                uint32_t cost;
                bool better;

                if (box_cells(w, p, at, cells) < size)
                    continue;
                cost = spoilt_by(w, p, cells);
                better = !best;
                if (best && !memcmp(p->dims, best->dims, sizeof(p->dims)) && cost != best_cost)
                    better = cost < best_cost;
                else if (best)
                    better = free_in(w, u) < free_in(w, best->unit);
                if (!better)
                    continue;
                best = p;
                best_cost = cost;
                memcpy(kept, cells, sizeof(kept));
            }
        }
    }
    for (uint32_t i = 0; best && i < size; i++)
        add_node(w, ret, kept[i]);
    return best;
}

static bool ref_torus(struct world *w, struct picked *ret)
{
    bool split = w->ask.segment && w->ask.segment < w->ask.min;
    uint32_t size = split ? w->ask.segment : w->ask.min;

    if (w->ask.min % size)
        return false;
    while (ret->n < w->ask.min)
        if (!place_box(w, size, ret))
            return false;
    return true;
}

/* ---- the comparison -------------------------------------------------------------------------- */

static void make_request(struct world *w)
{
    uint32_t largest = 2 + random_below(30);

    w->ask.min = 1 + random_below(largest);
    w->ask.max = w->ask.min + random_below(4);
    w->ask.want = random_below(2) ? w->ask.min : w->ask.max;
    if (random_below(2)) {
        w->ask.segment = 1 + random_below(6);
        w->ask.min = w->ask.segment * (1 + random_below(6)) + (random_below(10) == 0);
        w->ask.max = w->ask.want = w->ask.min;
        w->ask.spread = random_below(2);
        w->ask.consolidate = random_below(2);
    }
    if (w->spec.kind == TOPO_BLOCK && random_below(2))
        w->ask.keep = 1 + random_below(8);
    if (w->spec.kind == TOPO_TORUS && random_below(4)) {
        uint32_t size = size_of(&w->placements[random_below((uint32_t)w->spec.nplacements)]);

        w->ask.segment = random_below(2) ? size : 0;
        w->ask.min = w->ask.segment ? size * (1 + random_below(3)) : size;
        w->ask.max = w->ask.want = w->ask.min;
    }
    if (w->spec.kind == TOPO_RING)
        w->ask.max = w->ask.want = w->ask.min;
}

static void check_nodes(const struct world *w, const struct topo_space *sp)
{
    bool seen[NODES_MAX] = { false };

    assert_in_range(sp->nchosen, w->ask.min, w->ask.max);
    for (uint32_t i = 0; i < sp->nchosen; i++) {
        assert_true(w->free[sp->chosen[i]]);
        assert_false(seen[sp->chosen[i]]);
        seen[sp->chosen[i]] = true;
    }
}

/* Where room for segments is kept, no other base block would have left more of it. */
static void check_kept(const struct world *w, const struct topo_space *sp)
{
    uint32_t unit = w->unit_of[sp->chosen[0]], lost = ref_lost(w, free_in(w, unit), w->ask.min);

    if (!w->ask.keep || w->ask.min > w->sizes[0] || (w->ask.segment && w->ask.segment < w->ask.min))
        return;
    for (uint32_t u = 0; u < w->spec.nunits; u++)
        if (free_in(w, u) >= w->ask.min)
            assert_true(ref_lost(w, free_in(w, u), w->ask.min) >= lost);
}

/* Keeping room for segments is no reason to find no place. */
static bool placed_without(const struct world *w, struct topo_space *sp)
{
    uint64_t cand[NODES_MAX / 64] = { 0 };
    struct topo_ask ask = w->ask;

    for (uint32_t i = 0; i < NODES_MAX; i++)
        if (w->free[i])
            cand[i / 64] |= UINT64_C(1) << i % 64;
    ask.cand = cand;
    ask.keep = 0;
    return topo_choose(&ask, sp) == 1;
}

static uint32_t compare_choices(void (*make)(struct world *),
                                bool (*reference)(struct world *, struct picked *), uint64_t seed)
{
    struct topo_space sp = { 0 };
    uint32_t placed = 0;

    for (uint32_t round = 0; round < ROUNDS; round++) {
        _cleanup_(topo_free) struct topo *t = NULL;
        uint64_t cand[NODES_MAX / 64] = { 0 };
        struct picked want = { .n = 0 };
        struct world w;
        bool without;
        int r;

        rng_state = seed + round;
        (void)random_below(2);
        make(&w);
        w.spec.units = w.units;
        w.spec.block_sizes = w.sizes;
        w.spec.placements = w.placements;
        free_some(&w);
        make_request(&w);
        assert_int_equal(topo_new(&w.spec, &t, NULL), 0);
        for (uint32_t i = 0; i < NODES_MAX; i++)
            if (w.free[i])
                cand[i / 64] |= UINT64_C(1) << i % 64;
        topo_keep_members(topo_get_bits(t), cand, NODES_MAX / 64);
        for (uint32_t i = 0; i < NODES_MAX; i++)
            w.free[i] = w.free[i] && w.unit_of[i] != UINT32_MAX;
        w.ask.topo = t;
        w.ask.cand = cand;
        w.ask.nwords = NODES_MAX / 64;
        without = w.ask.keep && placed_without(&w, &sp);
        r = topo_choose(&w.ask, &sp);
        assert_true(r >= 0);
        assert_true(r == 1 || !without);
        if (r == 1)
            check_nodes(&w, &sp);
        if (r == 1 && w.spec.kind == TOPO_BLOCK)
            check_segments(&w, &sp);
        if (r == 1 && w.spec.kind == TOPO_BLOCK)
            check_kept(&w, &sp);
        if (reference(&w, &want) != (r == 1))
            fail_msg("round %u: %s", round, r == 1 ? "placed" : "not placed");
        if (r == 0)
            continue;
        placed++;
        assert_int_equal(sp.nchosen, want.n);
        if (memcmp(sp.chosen, want.v, want.n * sizeof(want.v[0])) != 0)
            fail_msg("round %u: other nodes", round);
    }
    topo_space_done(&sp);
    return placed;
}

static void test_block(void **state)
{
    (void)state;
    assert_true(compare_choices(make_block, ref_block, 1) > ROUNDS / 5);
}

static void test_tree(void **state)
{
    (void)state;
    assert_true(compare_choices(make_tree, ref_tree, 100000) > ROUNDS / 5);
}

static void test_ring(void **state)
{
    (void)state;
    assert_true(compare_choices(make_ring, ref_ring, 200000) > ROUNDS / 5);
}

static void test_torus(void **state)
{
    (void)state;
    assert_true(compare_choices(make_torus, ref_torus, 300000) > ROUNDS / 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_block),
        cmocka_unit_test(test_tree),
        cmocka_unit_test(test_ring),
        cmocka_unit_test(test_torus),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
