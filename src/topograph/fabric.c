/* fabric.c - see fabric.h
 *
 * Elements (hosts, or the units of the level below) and holders (the switches of a level) with
 * their cables form one `struct level`.  Merging makes units of holders; units are the elements of
 * the next level. */
#include "topograph/fabric.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define UNITS_EACH 64u /* of one element's units so many are compared with each other */

struct pair {
    uint32_t a, b;
};
struct pairs {
    struct pair *items;
    size_t n, cap;
};

struct fabric {
    struct graph *parts;       /* names of switches and hosts; never finished */
    struct pairs links, plugs; /* switch - switch, host - switch */
};

int fabric_new(struct fabric **ret_fabric)
{
    struct fabric *f = calloc(1, sizeof(*f));

    if (!f || graph_new(&f->parts) < 0) {
        free(f);
        return -ENOMEM;
    }
    *ret_fabric = f;
    return 0;
}

struct fabric *fabric_free(struct fabric *f)
{
    if (f) {
        graph_free(f->parts);
        free(f->links.items);
        free(f->plugs.items);
        free(f);
    }
    return NULL;
}

static int add_pair(struct pairs *p, uint32_t a, uint32_t b)
{
    if (p->n == p->cap) {
        size_t cap = p->cap ? p->cap * 2 : 256;
        struct pair *items = reallocarray(p->items, cap, sizeof(*items));

        if (!items)
            return -ENOMEM;
        p->items = items;
        p->cap = cap;
    }
    p->items[p->n++] = (struct pair){ a, b };
    return 0;
}

static int add_cable(struct pairs *p, uint32_t a, uint32_t b, struct err *err)
{
    if (p->n >= FABRIC_CABLES_MAX)
        return err_set(err, -E2BIG, "more than %u cables", FABRIC_CABLES_MAX);
    return add_pair(p, a, b) < 0 ? err_nomem(err) : 0;
}

int fabric_add_switch(struct fabric *f, const char *id, const char *name, uint32_t *ret_switch,
                      struct err *err)
{
    return graph_add_switch(f->parts, id, name, ret_switch, err);
}

int fabric_add_host(struct fabric *f, const char *id, const char *name, uint32_t *ret_host,
                    struct err *err)
{
    return graph_add_node(f->parts, id, name, ret_host, err);
}

int fabric_link(struct fabric *f, uint32_t a, uint32_t b, struct err *err)
{
    return a == b ? 0 : add_cable(&f->links, MIN(a, b), MAX(a, b), err);
}

int fabric_plug(struct fabric *f, uint32_t host, uint32_t sw, struct err *err)
{
    return add_cable(&f->plugs, host, sw, err);
}

/* ---- pairs ----------------------------------------------------------------------------------- */

static int compare_pairs(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;

    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    return x->b == y->b ? 0 : x->b < y->b ? -1 : 1;
}

static void sort_pairs(struct pairs *p)
{
    if (p->n)
        qsort(p->items, p->n, sizeof(*p->items), compare_pairs);
}

static size_t run_of(const struct pairs *p, size_t i)
{
    size_t k = i;

    while (k < p->n && p->items[k].a == p->items[i].a && p->items[k].b == p->items[i].b)
        k++;
    return k - i;
}

/* The first pair of that a, by bisection. */
static size_t first_of(const struct pairs *p, uint32_t a)
{
    size_t low = 0, high = p->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (p->items[mid].a < a)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* ---- one level ------------------------------------------------------------------------------- */

struct level {
    struct pairs cables; /* element, holder; sorted; parallel ones count */
    uint32_t *unit;      /* by holder (a switch): the switch that stands for its unit */
    uint32_t *size;      /* by such a switch: how many elements it has */
    uint32_t nholders, nelements;
};

static uint32_t find_unit(uint32_t *unit, uint32_t i)
{
    while (unit[i] != i) {
        unit[i] = unit[unit[i]];
        i = unit[i];
    }
    return i;
}

static void join_units(uint32_t *unit, uint32_t a, uint32_t b)
{
    a = find_unit(unit, a);
    b = find_unit(unit, b);
    unit[MAX(a, b)] = MIN(a, b);
}

/* How many elements each unit has; elements stand together in the sorted cables. */
static int count_sizes(struct level *l)
{
    struct pairs seen = { 0 };
    int r = 0;

    memset(l->size, 0, l->nholders * sizeof(*l->size));
    for (size_t i = 0; r == 0 && i < l->cables.n; i++)
        r = add_pair(&seen, l->cables.items[i].a, find_unit(l->unit, l->cables.items[i].b));
    sort_pairs(&seen);
    for (size_t i = 0; r == 0 && i < seen.n; i += run_of(&seen, i))
        l->size[seen.items[i].b]++;
    free(seen.items);
    return r;
}

/* Pairs of units that share an element, one for each element shared. */
static int find_shared(const struct level *l, struct pairs *shared)
{
    for (size_t i = 0, end; i < l->cables.n; i = end) {
        uint32_t units[UNITS_EACH];
        size_t n = 0;

        for (end = i; end < l->cables.n && l->cables.items[end].a == l->cables.items[i].a; end++) {
            uint32_t u = find_unit(l->unit, l->cables.items[end].b);
            size_t k = 0;

            while (k < n && units[k] != u)
                k++;
            if (k == n && n < UNITS_EACH)
                units[n++] = u;
        }
        for (size_t x = 0; x < n; x++)
            for (size_t y = x + 1; y < n; y++)
                if (shared->n >= (size_t)FABRIC_CABLES_MAX * 4 ||
                    add_pair(shared, MIN(units[x], units[y]), MAX(units[x], units[y])) < 0)
                    return -ENOMEM;
    }
    sort_pairs(shared);
    return 0;
}

struct sets {
    struct pairs of;  /* holder, element; sorted, each once */
    uint32_t *holder; /* those that have some */
};

static int compare_sets(const void *a, const void *b, void *ctx)
{
    const struct sets *s = ctx;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    size_t i = first_of(&s->of, x), k = first_of(&s->of, y);

    for (;; i++, k++) {
        bool more_x = i < s->of.n && s->of.items[i].a == x;
        bool more_y = k < s->of.n && s->of.items[k].a == y;

        if (!more_x || !more_y)
            return (int)more_x - (int)more_y;
        if (s->of.items[i].b != s->of.items[k].b)
            return s->of.items[i].b < s->of.items[k].b ? -1 : 1;
    }
}

/* Join holders that have the same elements. */
static int merge_equal(struct level *l)
{
    struct sets s = { .holder = calloc(l->nholders + 1, sizeof(*s.holder)) };
    size_t n = 0, kept = 0;
    int r = s.holder ? 0 : -ENOMEM;

    for (size_t i = 0; r == 0 && i < l->cables.n; i++)
        r = add_pair(&s.of, l->cables.items[i].b, l->cables.items[i].a);
    sort_pairs(&s.of);
    for (size_t i = 0; r == 0 && i < s.of.n; i++) {
        struct pair p = s.of.items[i];

        if (i == 0 || p.a != s.of.items[kept - 1].a)
            s.holder[n++] = p.a;
        if (i == 0 || compare_pairs(&p, &s.of.items[kept - 1]) != 0)
            s.of.items[kept++] = p;
    }
    s.of.n = kept;
    if (r == 0)
        qsort_r(s.holder, n, sizeof(*s.holder), compare_sets, &s);
    for (size_t i = 1; r == 0 && i < n; i++)
        if (compare_sets(&s.holder[i - 1], &s.holder[i], &s) == 0)
            join_units(l->unit, s.holder[i - 1], s.holder[i]);
    free(s.of.items);
    free(s.holder);
    return r;
}

/* Join units that share at least half of what the smaller one has.  Sizes are those before: what
 * is joined does not depend on the order. */
static int merge_near(struct level *l)
{
    struct pairs shared = { 0 };
    int r = count_sizes(l);

    if (r == 0)
        r = find_shared(l, &shared);
    for (size_t i = 0, n; r == 0 && i < shared.n; i += n) {
        uint32_t a = shared.items[i].a, b = shared.items[i].b;

        n = run_of(&shared, i);
        if (n * 2 >= MIN(l->size[a], l->size[b]))
            join_units(l->unit, a, b);
    }
    free(shared.items);
    return r;
}

/* Each element's unit: the one to which it has most cables, the first of equals.  Gives how many
 * had a choice. */
static int choose_units(struct level *l, uint32_t *of, size_t *ret_split)
{
    struct pairs to = { 0 };
    size_t best = 0;
    bool told = false;
    int r = 0;

    for (size_t i = 0; r == 0 && i < l->cables.n; i++)
        r = add_pair(&to, l->cables.items[i].a, find_unit(l->unit, l->cables.items[i].b));
    sort_pairs(&to);
    for (size_t i = 0, n; r == 0 && i < to.n; i += n) {
        uint32_t element = to.items[i].a;

        n = run_of(&to, i);
        if (i == 0 || to.items[i - 1].a != element) {
            of[element] = to.items[i].b;
            best = n;
            told = false;
        } else {
            *ret_split += !told;
            told = true;
            if (n > best) {
                of[element] = to.items[i].b;
                best = n;
            }
        }
    }
    free(to.items);
    return r;
}

/* ---- levels ---------------------------------------------------------------------------------- */

struct build {
    const struct fabric *f;
    struct graph *g;
    uint32_t nswitches;
    uint32_t *rank; /* by switch of the fabric: its place by id, which is its number below */
    uint32_t *by_rank;
    uint32_t *depth;   /* by rank: 1 = leaf; 0 = not reached */
    struct pairs both; /* links, from both ends, by rank */
    uint32_t *out;     /* by rank: its switch in g */
};

static void build_done(struct build *b)
{
    free(b->rank);
    free(b->by_rank);
    free(b->depth);
    free(b->both.items);
    free(b->out);
}

static int compare_ids(const void *a, const void *b, void *ctx)
{
    const struct graph *g = ctx;

    return graph_compare(g->switches[*(const uint32_t *)a].id,
                         g->switches[*(const uint32_t *)b].id);
}

static int rank_switches(struct build *b)
{
    const struct fabric *f = b->f;
    int r = 0;

    b->nswitches = (uint32_t)f->parts->nswitches;
    b->rank = calloc(b->nswitches + 1, sizeof(*b->rank));
    b->by_rank = calloc(b->nswitches + 1, sizeof(*b->by_rank));
    b->depth = calloc(b->nswitches + 1, sizeof(*b->depth));
    b->out = calloc(b->nswitches + 1, sizeof(*b->out));
    if (!b->rank || !b->by_rank || !b->depth || !b->out)
        return -ENOMEM;
    for (uint32_t i = 0; i < b->nswitches; i++)
        b->by_rank[i] = i;
    qsort_r(b->by_rank, b->nswitches, sizeof(*b->by_rank), compare_ids, f->parts);
    for (uint32_t i = 0; i < b->nswitches; i++)
        b->rank[b->by_rank[i]] = i;
    for (size_t i = 0; r == 0 && i < f->links.n; i++) {
        uint32_t x = b->rank[f->links.items[i].a], y = b->rank[f->links.items[i].b];

        /* A cable stands in the text of both its ends: the halves of parallel ones do no harm. */
        r = add_pair(&b->both, x, y);
        if (r == 0)
            r = add_pair(&b->both, y, x);
    }
    sort_pairs(&b->both);
    return r;
}

/* Switches that are next to one of `depth` and not reached before are one level up. */
static uint32_t reach_next(struct build *b, uint32_t depth)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < b->nswitches; i++) {
        if (b->depth[i] != depth)
            continue;
        for (size_t k = first_of(&b->both, i); k < b->both.n && b->both.items[k].a == i; k++) {
            uint32_t *up = &b->depth[b->both.items[k].b];

            found += *up == 0;
            *up = *up ? *up : depth + 1;
        }
    }
    return found;
}

static int level_init(struct level *l, uint32_t nholders, uint32_t nelements)
{
    *l = (struct level){ .nholders = nholders, .nelements = nelements };
    l->unit = calloc(nholders + 1, sizeof(*l->unit));
    l->size = calloc(nholders + 1, sizeof(*l->size));
    if (!l->unit || !l->size)
        return -ENOMEM;
    for (uint32_t i = 0; i < nholders; i++)
        l->unit[i] = i;
    return 0;
}

static void level_done(struct level *l)
{
    free(l->cables.items);
    free(l->unit);
    free(l->size);
}

/* Units of a level, and which of them each element is in: of[] by element, GRAPH_NONE without. */
static int solve_level(struct level *l, uint32_t *of, size_t *ret_split)
{
    int r;

    for (uint32_t i = 0; i < l->nelements; i++)
        of[i] = GRAPH_NONE;
    sort_pairs(&l->cables);
    r = merge_equal(l);
    if (r == 0)
        r = merge_near(l);
    return r == 0 ? choose_units(l, of, ret_split) : r;
}

static int put_unit(struct build *b, uint32_t unit, struct err *err)
{
    const struct graph_switch *s = &b->f->parts->switches[b->by_rank[unit]];

    return graph_add_switch(b->g, s->id, s->name, &b->out[unit], err);
}

static int build_leaves(struct build *b, uint32_t *below, struct err *err)
{
    _cleanup_val_(level_done) struct level l = { 0 };
    const struct graph *parts = b->f->parts;
    uint32_t n = (uint32_t)parts->nnodes, node;
    _cleanup_free_ uint32_t *of = calloc(n + 1, sizeof(*of));
    size_t split = 0;
    int r = of ? level_init(&l, b->nswitches, n) : -ENOMEM;

    for (size_t i = 0; r == 0 && i < b->f->plugs.n; i++) {
        uint32_t sw = b->rank[b->f->plugs.items[i].b];

        r = add_pair(&l.cables, b->f->plugs.items[i].a, sw);
        b->depth[sw] = 1;
    }
    if (r == 0)
        r = solve_level(&l, of, &split);
    if (r < 0)
        return err_nomem(err);
    for (uint32_t i = 0; r == 0 && i < n; i++) {
        r = graph_add_node(b->g, parts->nodes[i].id, parts->nodes[i].name, &node, err);
        if (r == 0 && of[i] != GRAPH_NONE)
            r = put_unit(b, of[i], err);
        if (r == 0 && of[i] != GRAPH_NONE)
            r = graph_attach(b->g, node, b->out[of[i]], err);
    }
    if (split)
        graph_note(b->g,
                   "%zu nodes have cables to several groups of leaf switches: each is put "
                   "where it has most",
                   split);
    for (uint32_t i = 0; i < b->nswitches; i++)
        below[i] = b->depth[i] == 1 ? find_unit(l.unit, i) : GRAPH_NONE;
    return r;
}

/* below[] holds the unit of each switch of this depth; then that of those one level up. */
static int build_level(struct build *b, uint32_t depth, uint32_t *below, struct err *err)
{
    _cleanup_val_(level_done) struct level l = { 0 };
    _cleanup_free_ uint32_t *of = calloc(b->nswitches + 1, sizeof(*of));
    size_t split = 0;
    int r = of ? level_init(&l, b->nswitches, b->nswitches) : -ENOMEM;

    for (size_t i = 0; r == 0 && i < b->both.n; i++) {
        uint32_t down = b->both.items[i].a, up = b->both.items[i].b;

        if (b->depth[down] == depth && b->depth[up] == depth + 1 && below[down] != GRAPH_NONE)
            r = add_pair(&l.cables, below[down], up);
    }
    if (r == 0)
        r = solve_level(&l, of, &split);
    if (r < 0)
        return err_nomem(err);
    for (uint32_t i = 0; r == 0 && i < b->nswitches; i++) {
        if (of[i] == GRAPH_NONE)
            continue;
        r = put_unit(b, of[i], err);
        if (r == 0)
            r = put_unit(b, i, err); /* it may have no node of its own */
        if (r == 0)
            r = graph_set_parent(b->g, b->out[i], b->out[of[i]], err);
    }
    if (split)
        graph_note(b->g,
                   "%zu switches of level %u have cables to several groups above: each is "
                   "put where it has most",
                   split, depth);
    for (uint32_t i = 0; i < b->nswitches; i++)
        below[i] = b->depth[i] == depth + 1 ? find_unit(l.unit, i) : GRAPH_NONE;
    return r;
}

/* One unit joins everything: what is above it, or below it and without nodes that count, tells
 * nothing more.  Leaves keep the switch above them. */
static bool is_top(const struct build *b, uint32_t depth, const uint32_t *below)
{
    uint32_t unit = GRAPH_NONE;

    for (uint32_t i = 0; i < b->nswitches; i++) {
        if (below[i] == GRAPH_NONE || below[i] == unit)
            continue;
        if (unit != GRAPH_NONE)
            return false;
        unit = below[i];
    }
    return depth > 1;
}

int fabric_build(const struct fabric *f, struct graph *g, struct err *err)
{
    _cleanup_val_(build_done) struct build b = { .f = f, .g = g };
    _cleanup_free_ uint32_t *below = NULL;
    int r = rank_switches(&b);

    below = calloc(b.nswitches + 1, sizeof(*below));
    if (r < 0 || !below)
        return err_nomem(err);
    r = build_leaves(&b, below, err);
    for (uint32_t depth = 1; r == 0 && !is_top(&b, depth, below) && reach_next(&b, depth) > 0;
         depth++) {
        if (depth >= GRAPH_TIERS_MAX)
            return err_set(err, -EINVAL, "switches are more than %u cables away from any node",
                           GRAPH_TIERS_MAX);
        r = build_level(&b, depth, below, err);
    }
    return r;
}
