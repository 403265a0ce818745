/* topotorus.c - torus: a job, or a segment, gets a box of a configured shape.
 *
 * Boxes begin at anchors, regular positions of their shape, and wrap around.  Among equally light
 * ones of a shape the box is taken that spoils fewest free boxes of the next larger shape.  Sums
 * over the torus, so that a box costs the same whatever its size: cube[x][y][z] = all before. */
#include "sched/topo/topotorus.h"

#include <string.h>

#include "base/cleanup.h"
#include "sched/topo/topokind.h"

struct cube { /* of counts, summed up along all axes; one more place along each */
    uint32_t dims[3];
    uint32_t *sum;
};

struct torus { /* the choice under way, in one torus */
    struct topo_ask *a;
    const struct topo_unit_spec *u;
    uint32_t unit;
    uint32_t free;    /* nodes of the torus */
    struct cube open; /* cells whose nodes are candidates */
    struct cube next; /* anchors of free boxes of the next larger shape */
};

struct box { /* a candidate */
    const struct topo_placement_spec *shape;
    uint32_t at[3], unit;
    uint32_t weight, cost, free;
};

/* ---- sums ------------------------------------------------------------------------------------ */

static size_t cube_size(const uint32_t dims[3])
{
    return ((size_t)dims[0] + 1) * (dims[1] + 1) * (dims[2] + 1);
}

static size_t cube_at(const struct cube *c, uint32_t x, uint32_t y, uint32_t z)
{
    return x + (size_t)(c->dims[0] + 1) * (y + (size_t)(c->dims[1] + 1) * z);
}

/* From counts at [x+1][y+1][z+1] to sums of all before. */
static void sum_up(struct cube *c)
{
    for (uint32_t z = 0; z <= c->dims[2]; z++)
        for (uint32_t y = 0; y <= c->dims[1]; y++)
            for (uint32_t x = 1; x <= c->dims[0]; x++)
                c->sum[cube_at(c, x, y, z)] += c->sum[cube_at(c, x - 1, y, z)];
    for (uint32_t z = 0; z <= c->dims[2]; z++)
        for (uint32_t y = 1; y <= c->dims[1]; y++)
            for (uint32_t x = 0; x <= c->dims[0]; x++)
                c->sum[cube_at(c, x, y, z)] += c->sum[cube_at(c, x, y - 1, z)];
    for (uint32_t z = 1; z <= c->dims[2]; z++)
        for (uint32_t y = 0; y <= c->dims[1]; y++)
            for (uint32_t x = 0; x <= c->dims[0]; x++)
                c->sum[cube_at(c, x, y, z)] += c->sum[cube_at(c, x, y, z - 1)];
}

static uint32_t sum_between(const struct cube *c, const uint32_t lo[3], const uint32_t hi[3])
{
    uint32_t sum = 0;

    for (unsigned corner = 0; corner < 8; corner++) {
        uint32_t x = corner & 1 ? lo[0] : hi[0], y = corner & 2 ? lo[1] : hi[1],
                 z = corner & 4 ? lo[2] : hi[2];
        uint32_t v = c->sum[cube_at(c, x, y, z)];

        sum += __builtin_popcount(corner) % 2 ? -v : v;
    }
    return sum;
}

/* Of a box from `at` on that wraps around. */
static uint32_t sum_box(const struct cube *c, const uint32_t at[3], const uint32_t size[3])
{
    uint32_t sum = 0;

    for (unsigned part = 0; part < 8;
         part++) { /* along each axis what is before the edge, or after */
        uint32_t lo[3], hi[3];
        bool empty = false;

        for (unsigned i = 0; i < 3; i++) {
            uint32_t end = at[i] + MIN(size[i], c->dims[i]);

            lo[i] = part >> i & 1 ? 0 : at[i];
            hi[i] =
                part >> i & 1 ? (end > c->dims[i] ? end - c->dims[i] : 0) : MIN(end, c->dims[i]);
            empty = empty || lo[i] >= hi[i];
        }
        if (!empty)
            sum += sum_between(c, lo, hi);
    }
    return sum;
}

/* ---- boxes ----------------------------------------------------------------------------------- */

static uint32_t volume_of(const uint32_t dims[3])
{
    return dims[0] * dims[1] * dims[2];
}

static bool fits_torus(const struct torus *t, const struct topo_placement_spec *p)
{
    for (unsigned i = 0; i < 3; i++)
        if (!p->dims[i] || p->dims[i] > t->u->dims[i] || p->seed[i] >= t->u->dims[i])
            return false;
    return true;
}

/* Anchors along an axis, until the first one would come again. */
static uint32_t count_anchors(const struct torus *t, const struct topo_placement_spec *p,
                              unsigned axis)
{
    uint32_t dim = t->u->dims[axis], step = MAX(p->spacing[axis], 1u) % dim, n = 1;

    for (uint32_t at = step; at != 0; at = (at + step) % dim)
        n++;
    return n;
}

static uint32_t anchor_at(const struct torus *t, const struct topo_placement_spec *p, unsigned axis,
                          uint32_t i)
{
    return (uint32_t)((p->seed[axis] + (uint64_t)i * MAX(p->spacing[axis], 1u)) % t->u->dims[axis]);
}

/* The k-th anchor of all, x outermost. */
static void find_anchor(const struct torus *t, const struct topo_placement_spec *p,
                        const uint32_t n[3], uint32_t k, uint32_t at[3])
{
    at[0] = anchor_at(t, p, 0, k / (n[1] * n[2]));
    at[1] = anchor_at(t, p, 1, k / n[2] % n[1]);
    at[2] = anchor_at(t, p, 2, k % n[2]);
}

static uint32_t cell_node(const struct torus *t, const uint32_t at[3], const uint32_t off[3])
{
    const uint32_t *d = t->u->dims;
    uint32_t x = (at[0] + off[0]) % d[0], y = (at[1] + off[1]) % d[1], z = (at[2] + off[2]) % d[2];

    return t->u->nodes[x + (size_t)d[0] * (y + (size_t)d[1] * z)];
}

typedef int cell_fn(void *arg, uint32_t id);

static int visit_cells(const struct torus *t, const struct box *b, cell_fn *fn, void *arg)
{
    uint32_t off[3];
    int r = 0;

    for (off[2] = 0; off[2] < b->shape->dims[2]; off[2]++)
        for (off[1] = 0; off[1] < b->shape->dims[1]; off[1]++)
            for (off[0] = 0; r == 0 && off[0] < b->shape->dims[0]; off[0]++)
                r = fn(arg, cell_node(t, b->at, off));
    return r;
}

struct look { /* what is asked of the nodes of a box */
    const struct topo_ask *a;
    struct topo_sum sum;
    uint32_t weight, required;
};

static int look_at_cell(void *arg, uint32_t id)
{
    struct look *l = arg;

    topo_sum_add(l->a, &l->sum, id);
    l->weight = MAX(l->weight, topo_weight_of(l->a, id));
    for (uint32_t i = 0; i < l->a->nreq; i++)
        l->required += l->a->req[i] == id;
    return 0;
}

/* May the box be taken?  Fills in its weight. */
static bool is_usable(const struct torus *t, struct box *b)
{
    struct look l = { .a = t->a };
    struct topo_sum none = { 0 };

    if (sum_box(&t->open, b->at, b->shape->dims) != volume_of(b->shape->dims))
        return false;
    b->weight = 0;
    if (!t->a->weight && !t->a->nreq && !t->a->caps) {
        topo_sum_alike(t->a, &l.sum, volume_of(b->shape->dims));
        return topo_suffices(t->a, &none, &l.sum, 0);
    }
    (void)visit_cells(t, b, look_at_cell, &l); /* which never fails */
    b->weight = l.weight;
    return l.required == t->a->nreq && topo_suffices(t->a, &none, &l.sum, 0);
}

/* Free boxes of the next larger shape that the box would spoil: those whose anchor is so near that
 * the two overlap. */
static uint32_t count_spoilt(const struct torus *t, const struct topo_placement_spec *larger,
                             const struct box *b)
{
    uint32_t at[3], size[3];

    for (unsigned i = 0; larger && i < 3; i++) {
        uint32_t dim = t->u->dims[i];

        size[i] = MIN(larger->dims[i] + b->shape->dims[i] - 1, dim);
        at[i] = (b->at[i] + dim - (larger->dims[i] - 1) % dim) % dim;
    }
    return larger ? sum_box(&t->next, at, size) : 0;
}

/* The smallest of the torus' shapes that is larger; of equals the first. */
static const struct topo_placement_spec *next_larger(const struct torus *t, uint32_t volume)
{
    const struct topo_spec *spec = topo_get_spec(t->a->topo);
    const struct topo_placement_spec *best = NULL;

    for (size_t i = 0; i < spec->nplacements; i++) {
        const struct topo_placement_spec *p = &spec->placements[i];

        if (p->unit == t->unit && volume_of(p->dims) > volume && fits_torus(t, p) &&
            (!best || volume_of(p->dims) < volume_of(best->dims)))
            best = p;
    }
    return best;
}

/* ---- one torus ------------------------------------------------------------------------------- */

static void sum_open(struct torus *t)
{
    const uint32_t *d = t->u->dims;

    memcpy(t->open.dims, d, sizeof(t->open.dims));
    memset(t->open.sum, 0, cube_size(d) * sizeof(*t->open.sum));
    t->free = 0;
    for (uint32_t z = 0, i = 0; z < d[2]; z++)
        for (uint32_t y = 0; y < d[1]; y++)
            for (uint32_t x = 0; x < d[0]; x++, i++) {
                bool open = t->u->nodes[i] != TOPO_NONE && topo_is_cand(t->a, t->u->nodes[i]);

                t->open.sum[cube_at(&t->open, x + 1, y + 1, z + 1)] = open;
                t->free += open;
            }
    sum_up(&t->open);
}

static void sum_larger(struct torus *t, const struct topo_placement_spec *larger)
{
    uint32_t n[3], at[3];

    memcpy(t->next.dims, t->u->dims, sizeof(t->next.dims));
    memset(t->next.sum, 0, cube_size(t->u->dims) * sizeof(*t->next.sum));
    for (unsigned i = 0; i < 3; i++)
        n[i] = count_anchors(t, larger, i);
    for (uint32_t k = 0; k < n[0] * n[1] * n[2]; k++) {
        find_anchor(t, larger, n, k, at);
        t->next.sum[cube_at(&t->next, at[0] + 1, at[1] + 1, at[2] + 1)] =
            sum_box(&t->open, at, larger->dims) == volume_of(larger->dims);
    }
    sum_up(&t->next);
}

/* Is b better than what was found before? */
static bool is_better(const struct box *b, const struct box *best)
{
    if (!best->shape || b->weight != best->weight)
        return !best->shape || b->weight < best->weight;
    if (memcmp(b->shape->dims, best->shape->dims, sizeof(b->shape->dims)) == 0 &&
        b->cost != best->cost)
        return b->cost < best->cost;
    return b->free < best->free;
}

static void try_shape(struct torus *t, const struct topo_placement_spec *p,
                      const struct topo_placement_spec *larger, struct box *best)
{
    uint32_t n[3];

    for (unsigned i = 0; i < 3; i++)
        n[i] = count_anchors(t, p, i);
    for (uint32_t k = 0; k < n[0] * n[1] * n[2]; k++) {
        struct box b = { .shape = p, .unit = t->unit, .free = t->free };

        find_anchor(t, p, n, k, b.at);
        if (!is_usable(t, &b))
            continue;
        b.cost = count_spoilt(t, larger, &b);
        if (is_better(&b, best))
            *best = b;
    }
}

static void try_torus(struct torus *t, uint32_t nodes, struct box *best)
{
    const struct topo_spec *spec = topo_get_spec(t->a->topo);
    const struct topo_placement_spec *larger = next_larger(t, nodes);
    bool summed = false;

    for (size_t i = 0; i < spec->nplacements; i++) {
        const struct topo_placement_spec *p = &spec->placements[i];

        if (p->unit != t->unit || volume_of(p->dims) != nodes || !fits_torus(t, p))
            continue;
        if (!summed) {
            sum_open(t);
            if (larger && t->free >= nodes)
                sum_larger(t, larger);
            summed = true;
        }
        if (t->free >= nodes)
            try_shape(t, p, larger, best);
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

struct taking {
    struct topo_ask *a;
    struct topo_space *sp;
    struct topo_sum have;
};

static int take_cell(void *arg, uint32_t id)
{
    struct taking *x = arg;

    return topo_take(x->a, x->sp, &x->have, id);
}

static int place_box(struct topo_ask *a, struct topo_space *sp, uint32_t nodes, uint32_t *sums,
                     size_t half)
{
    const struct topo_spec *spec = topo_get_spec(a->topo);
    struct box best = { 0 };
    struct torus t = { .a = a, .open = { .sum = sums }, .next = { .sum = sums + half } };
    struct taking x = { .a = a, .sp = sp };
    int r;

    for (t.unit = 0; t.unit < spec->nunits; t.unit++) {
        t.u = &spec->units[t.unit];
        try_torus(&t, nodes, &best);
    }
    if (!best.shape)
        return 0;
    t.u = &spec->units[best.unit];
    r = visit_cells(&t, &best, take_cell, &x);
    return r < 0 ? r : 1;
}

static bool has_shape(const struct topo_spec *spec, uint32_t nodes)
{
    for (size_t i = 0; i < spec->nplacements; i++)
        if (volume_of(spec->placements[i].dims) == nodes)
            return true;
    return false;
}

int topo_choose_torus(struct topo_ask *a, struct topo_space *sp)
{
    const struct topo_spec *spec = topo_get_spec(a->topo);
    bool split = a->segment && a->segment < a->min;
    uint32_t segments = split ? a->min / a->segment : 1;
    uint32_t nodes = split ? a->segment : a->min, *sums;
    struct topo_ask part = *a;
    size_t half = 0;
    int r = 1;

    if ((split && a->min % a->segment) || !has_shape(spec, nodes)) {
        sp->why = TOPO_WHY_NEVER;
        return 0;
    }
    for (size_t i = 0; i < spec->nunits; i++)
        half = MAX(half, cube_size(spec->units[i].dims));
    sums = topo_space_get(sp, 2 * half * sizeof(*sums));
    if (!sums)
        return -ENOMEM;
    for (uint32_t i = 0; i < a->ncaps; i++)
        part.need[i] = (a->need[i] + segments - 1) / segments;
    for (uint32_t i = 0; r == 1 && i < segments; i++)
        r = place_box(&part, sp, nodes, sums, half);
    if (r == 0)
        sp->why = split ? TOPO_WHY_NO_SEGMENT : TOPO_WHY_NO_UNIT;
    return r;
}
