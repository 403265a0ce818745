/* topoorder.c - ranks of a job's nodes: which are near to each other; see topoorder.h
 *
 * A rank is unit << 48 | position: block: the block's index; tree: the leaf's; ring: the ring's and
 * the place from the start of the job's window; torus: the torus' and the Morton code of the
 * coordinates, counted from the start of the smallest box that holds the job, which may wrap. */
#include "feed/topoorder.h"

#include <stdlib.h>
#include <string.h>

#include "base/must.h"

/* Where the smallest window of a circle of `size` places begins that holds all used ones: behind
 * the longest gap.  The first of equal ones. */
static uint32_t window_start(const struct bitmap *used)
{
    uint32_t first = bitmap_next(used, 0), start = first, gap = 0;

    if (first >= used->nbits)
        return 0;
    for (uint32_t at = first; at < used->nbits;) {
        uint32_t next = bitmap_next(used, at + 1);
        uint32_t to = next < used->nbits ? next : first + used->nbits;

        if (to - at - 1 > gap || (to - at - 1 == gap && next >= used->nbits)) {
            gap = to - at - 1;
            start = to % used->nbits;
        }
        at = next;
    }
    return start;
}

/* x, y, z with their bits in turns, those of x lowest.  48 bits: a torus has 16 an axis. */
static uint64_t morton_code(const uint32_t xyz[3])
{
    uint64_t code = 0;

    for (unsigned bit = 0; bit < 16; bit++)
        for (unsigned axis = 0; axis < 3; axis++)
            code |= (uint64_t)(xyz[axis] >> bit & 1) << (3 * bit + axis);
    return code;
}

static void split_cell(const struct topo_unit_spec *u, uint32_t at, uint32_t xyz[3])
{
    xyz[0] = at % u->dims[0];
    xyz[1] = at / u->dims[0] % u->dims[1];
    xyz[2] = at / u->dims[0] / u->dims[1];
}

struct ranking {
    const struct topo *t;
    const uint32_t *nodes;
    size_t n;
    uint64_t *codes;
};

/* The window's start along one axis of a unit: 0 to 2 of a torus; of a ring 0. */
static uint32_t axis_start(const struct ranking *rk, uint32_t unit, unsigned axis, uint32_t size)
{
    struct bitmap *used = NULL;
    uint32_t start;

    if (bitmap_new(size, &used) < 0)
        must(NULL);
    for (size_t i = 0; i < rk->n; i++) {
        const struct topo_unit_spec *u = &topo_get_spec(rk->t)->units[unit];
        uint32_t xyz[3] = { topo_position_of(rk->t, rk->nodes[i]) };

        if (topo_unit_of(rk->t, rk->nodes[i]) != unit)
            continue;
        if (u->dims[0])
            split_cell(u, xyz[0], xyz);
        bitmap_set(used, xyz[axis]);
    }
    start = window_start(used);
    bitmap_free(used);
    return start;
}

/* Positions of all nodes in one unit. */
static void rank_unit(const struct ranking *rk, uint32_t unit, bool torus)
{
    const struct topo_unit_spec *u = &topo_get_spec(rk->t)->units[unit];
    uint32_t dims[3] = { torus ? u->dims[0] : (uint32_t)u->nnodes, u->dims[1], u->dims[2] };
    uint32_t start[3];

    for (unsigned axis = 0; axis < (torus ? 3u : 1u); axis++)
        start[axis] = axis_start(rk, unit, axis, dims[axis]);
    for (size_t i = 0; i < rk->n; i++) {
        uint32_t xyz[3] = { topo_position_of(rk->t, rk->nodes[i]) };

        if (topo_unit_of(rk->t, rk->nodes[i]) != unit)
            continue;
        if (torus)
            split_cell(u, xyz[0], xyz);
        for (unsigned axis = 0; axis < (torus ? 3u : 1u); axis++)
            xyz[axis] = (xyz[axis] + dims[axis] - start[axis]) % dims[axis];
        rk->codes[i] |= torus ? morton_code(xyz) : xyz[0];
    }
}

/* Has an earlier node the same unit?  Then its positions are known. */
static bool unit_done(const struct ranking *rk, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (topo_unit_of(rk->t, rk->nodes[k]) == topo_unit_of(rk->t, rk->nodes[i]))
            return true;
    return false;
}

static int compare_codes(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Codes as dense numbers from 0, equal ones for equal codes. */
static void number_codes(const struct ranking *rk, uint32_t *ranks)
{
    uint64_t *sorted = must(calloc(rk->n + 1, sizeof(*sorted)));
    size_t kept = 0;

    memcpy(sorted, rk->codes, rk->n * sizeof(*sorted));
    qsort(sorted, rk->n, sizeof(*sorted), compare_codes);
    for (size_t i = 0; i < rk->n; i++)
        if (kept == 0 || sorted[kept - 1] != sorted[i])
            sorted[kept++] = sorted[i];
    for (size_t i = 0; i < rk->n; i++) {
        const uint64_t *at = bsearch(&rk->codes[i], sorted, kept, sizeof(*sorted), compare_codes);

        ranks[i] = (uint32_t)(at - sorted);
    }
    free(sorted);
}

struct name_order {
    const struct topologies *t;
    const uint32_t *nodes;
};

/* Numbers in names by their value: n9 before n10. */
static int compare_names(const void *a, const void *b, void *arg)
{
    const struct name_order *o = arg;
    const char *x = topologies_node(o->t, o->nodes[*(const size_t *)a]);
    const char *y = topologies_node(o->t, o->nodes[*(const size_t *)b]);

    return strverscmp(x ? x : "", y ? y : "");
}

static void rank_names(const struct topologies *t, const uint32_t *nodes, size_t n, uint32_t *ranks)
{
    size_t *order = must(calloc(n, sizeof(*order)));
    struct name_order by = { .t = t, .nodes = nodes };

    for (size_t i = 0; i < n; i++)
        order[i] = i;
    qsort_r(order, n, sizeof(*order), compare_names, &by);
    for (size_t i = 0; i < n; i++)
        ranks[order[i]] = (uint32_t)i;
    free(order);
}

bool topologies_ranks(const struct topologies *t, const uint32_t *nodes, size_t n, uint32_t *ranks)
{
    const struct topo *topo = topologies_nth(t, 0);
    struct ranking rk = { .t = topo, .nodes = nodes, .n = n };
    enum topo_kind kind = topo ? topo_get_spec(topo)->kind : TOPO_FLAT;

    memset(ranks, 0, n * sizeof(*ranks));
    if (topo && n > 1 && (topo_get_spec(topo)->flags & TOPO_ALPHA_RANK)) {
        rank_names(t, nodes, n, ranks);
        return true;
    }
    if (kind == TOPO_FLAT || n < 2)
        return false;
    rk.codes = must(calloc(n, sizeof(*rk.codes)));
    for (size_t i = 0; i < n; i++) {
        uint32_t unit = topo_unit_of(topo, nodes[i]);

        rk.codes[i] = unit == TOPO_NONE ? 0 : (uint64_t)(unit + 1) << 48;
    }
    for (size_t i = 0; (kind == TOPO_RING || kind == TOPO_TORUS) && i < n; i++)
        if (rk.codes[i] && !unit_done(&rk, i))
            rank_unit(&rk, topo_unit_of(topo, nodes[i]), kind == TOPO_TORUS);
    number_codes(&rk, ranks);
    free(rk.codes);
    return true;
}
