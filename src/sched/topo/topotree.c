/* topotree.c - tree: switches above leaf switches that have the nodes.
 *
 * The job stays below one switch.  It takes the nodes of one leaf after the other: those nearest to
 * the leaves it uses already, of equally near ones the fullest that holds the rest.  With
 * TopologyParam=Dragonfly a job that no leaf holds is spread over as many leaves as there are. */
#include "sched/topo/topotree.h"

#include <string.h>

#include "base/cleanup.h"
#include "sched/topo/topokind.h"

#define FAR UINT64_MAX /* no way between the leaves */

struct tree { /* the choice under way */
    struct topo_ask *a;
    struct topo_space *sp;
    const struct topo_spec *spec;
    uint32_t n;
    uint32_t want;         /* nodes */
    struct topo_sum *free; /* candidates below each switch; nodes taken are not counted any more */
    uint64_t *dist;        /* of a leaf, to all leaves in use together */
    uint32_t *depth;       /* of a switch, from the top */
    bool *used;            /* leaves */
    struct topo_sum have;
};

static bool is_leaf(const struct tree *t, uint32_t i)
{
    return topo_level(t->a->topo, i) == 0;
}

static bool is_done(const struct tree *t)
{
    return (t->have.n >= t->want && topo_has_caps(t->a, &t->have)) || t->have.n >= t->a->max;
}

/* What a leaf has now counts for all switches above it. */
static void count_leaf(struct tree *t, uint32_t leaf, const struct topo_sum *sum, bool add)
{
    for (uint32_t i = leaf; i != TOPO_NONE; i = topo_parent(t->a->topo, i)) {
        t->free[i].n += add ? sum->n : -sum->n;
        for (uint32_t c = 0; c < t->a->ncaps; c++)
            t->free[i].caps[c] += add ? sum->caps[c] : -sum->caps[c];
    }
}

static void count_all(struct tree *t)
{
    memset(t->free, 0, t->n * sizeof(*t->free));
    for (uint32_t i = 0; i < t->n; i++) {
        struct topo_sum sum = { 0 };

        if (!is_leaf(t, i))
            continue;
        topo_sum_unit(t->a, i, &sum);
        if (sum.n)
            count_leaf(t, i, &sum, true);
    }
}

/* ---- the switch above the job ---------------------------------------------------------------- */

static bool is_below(const struct tree *t, uint32_t leaf, uint32_t top)
{
    uint32_t i = leaf;

    while (i != TOPO_NONE && i != top)
        i = topo_parent(t->a->topo, i);
    return i == top;
}

/* Of the switches above some required node the highest; TOPO_NONE when it is not above all. */
static uint32_t top_of_required(const struct tree *t)
{
    const struct topo *topo = t->a->topo;
    uint32_t best = TOPO_NONE;

    for (uint32_t k = 0; k < t->a->nreq; k++)
        for (uint32_t i = topo_unit_of(topo, t->a->req[k]); i != TOPO_NONE;
             i = topo_parent(topo, i))
            if (best == TOPO_NONE || topo_level(topo, i) > topo_level(topo, best) ||
                (topo_level(topo, i) == topo_level(topo, best) && i < best))
                best = i;
    for (uint32_t k = 0; best != TOPO_NONE && k < t->a->nreq; k++) {
        uint32_t leaf = topo_unit_of(topo, t->a->req[k]);

        if (leaf == TOPO_NONE || !is_below(t, leaf, best))
            return TOPO_NONE;
    }
    return best;
}

/* Lowest weight among the candidates below each switch, into t->dist for the moment. */
static void find_weights(struct tree *t)
{
    for (uint32_t i = 0; i < t->n; i++)
        t->dist[i] = UINT32_MAX;
    for (uint32_t leaf = 0; leaf < t->n; leaf++) {
        uint32_t weight;

        if (!is_leaf(t, leaf) || !t->free[leaf].n)
            continue;
        weight = t->a->weight ? topo_unit_weight(t->a, leaf) : 0;
        for (uint32_t i = leaf; i != TOPO_NONE; i = topo_parent(t->a->topo, i))
            t->dist[i] = MIN(t->dist[i], weight);
    }
}

static uint32_t choose_top(struct tree *t)
{
    const struct topo *topo = t->a->topo;
    uint32_t best = TOPO_NONE;

    find_weights(t);
    for (uint32_t i = 0; i < t->n; i++) {
        if (!topo_suffices(t->a, &t->have, &t->free[i], t->a->min))
            continue;
        if (best == TOPO_NONE ||
            (topo_level(topo, i) >= topo_level(topo, best) && t->dist[i] <= t->dist[best]))
            best = i;
    }
    return best;
}

static void drop_others(struct tree *t, uint32_t top)
{
    struct topo_sum sum;

    for (uint32_t i = 0; i < t->n; i++) {
        if (!is_leaf(t, i) || !t->free[i].n || is_below(t, i, top))
            continue;
        sum = t->free[i];
        count_leaf(t, i, &sum, false);
    }
}

/* ---- leaves ---------------------------------------------------------------------------------- */

static uint32_t count_hops(const struct tree *t, uint32_t i, uint32_t k)
{
    const struct topo *topo = t->a->topo;
    uint32_t hops = 0;

    while (i != k && i != TOPO_NONE && k != TOPO_NONE) {
        if (t->depth[i] >= t->depth[k])
            i = topo_parent(topo, i);
        else
            k = topo_parent(topo, k);
        hops++;
    }
    return i == k && i != TOPO_NONE ? hops : UINT32_MAX;
}

static void use_leaf(struct tree *t, uint32_t leaf)
{
    if (t->used[leaf])
        return;
    t->used[leaf] = true;
    for (uint32_t i = 0; i < t->n; i++) {
        uint32_t hops;

        if (!is_leaf(t, i) || !t->free[i].n || t->used[i] || t->dist[i] == FAR)
            continue;
        hops = count_hops(t, i, leaf);
        t->dist[i] = hops == UINT32_MAX ? FAR : t->dist[i] + hops;
    }
}

/* Nodes of a leaf of at most this weight, until the job has so many. */
static int take_leaf(struct tree *t, uint32_t leaf, uint32_t weight, uint32_t nodes)
{
    struct topo_sum before = t->have, taken;
    int r = topo_take_unit(t->a, t->sp, &t->have, leaf, weight, nodes);

    taken = t->have;
    taken.n -= before.n;
    for (uint32_t c = 0; c < t->a->ncaps; c++)
        taken.caps[c] -= before.caps[c];
    if (taken.n) {
        count_leaf(t, leaf, &taken, false);
        use_leaf(t, leaf);
    }
    return r;
}

static bool holds_rest(const struct tree *t, uint32_t i)
{
    return topo_suffices(t->a, &t->have, &t->free[i], t->want);
}

/* How leaf i, which comes later, compares with leaf k: 1 better, 0 neither, -1 worse.  *ret_fits:
 * does what is compared in the end, i or a switch above it, hold the rest? */
static int compare_leaves(const struct tree *t, uint32_t i, uint32_t k, bool *ret_fits)
{
    const struct topo *topo = t->a->topo;

    for (;;) {
        bool fits_i = holds_rest(t, i), fits_k = holds_rest(t, k);
        uint32_t up_i = topo_parent(topo, i), up_k = topo_parent(topo, k);

        *ret_fits = fits_i;
        if (fits_i != fits_k)
            return fits_i ? 1 : -1;
        if (fits_i && t->free[i].n != t->free[k].n)
            return t->free[i].n < t->free[k].n ? 1 : -1;
        if (fits_i || up_i == up_k || up_i == TOPO_NONE || up_k == TOPO_NONE)
            break;
        i = up_i;
        k = up_k;
    }
    if (t->free[i].n != t->free[k].n)
        return t->free[i].n > t->free[k].n ? 1 : -1;
    if (topo_level(topo, i) != topo_level(topo, k))
        return topo_level(topo, i) < topo_level(topo, k) ? 1 : -1;
    return 0;
}

static uint32_t choose_leaf(const struct tree *t)
{
    uint32_t best = TOPO_NONE;

    for (uint32_t i = 0; i < t->n; i++) {
        bool fits;
        int cmp;

        if (!is_leaf(t, i) || !t->free[i].n || t->used[i] || t->dist[i] == FAR)
            continue;
        if (best == TOPO_NONE) {
            best = i;
            continue;
        }
        cmp = compare_leaves(t, i, best, &fits);
        if ((t->dist[i] < t->dist[best] && fits) || (t->dist[i] == t->dist[best] && cmp > 0))
            best = i;
    }
    return best;
}

static int take_nearest(struct tree *t)
{
    int r = 0;

    while (r == 0 && !is_done(t)) {
        uint32_t leaf = choose_leaf(t);

        if (leaf == TOPO_NONE)
            break;
        r = take_leaf(t, leaf, UINT32_MAX, t->want);
    }
    return r;
}

/* ---- dragonfly ------------------------------------------------------------------------------- */

/* The leaf with most free nodes when it holds the job; else a node of each leaf, over and over. */
static int take_round(struct tree *t)
{
    uint32_t best = TOPO_NONE, had;

    for (uint32_t i = 0; i < t->n; i++)
        if (is_leaf(t, i) && t->free[i].n && (best == TOPO_NONE || t->free[i].n > t->free[best].n))
            best = i;
    if (best != TOPO_NONE && holds_rest(t, best))
        return take_leaf(t, best, UINT32_MAX, t->want);
    do {
        had = t->have.n;
        for (uint32_t i = 0; i < t->n && !is_done(t); i++) {
            struct topo_ask one = *t->a, *all = t->a;
            int r;

            if (!is_leaf(t, i) || !t->free[i].n)
                continue;
            one.max = t->have.n + 1;
            t->a = &one;
            r = take_leaf(t, i, UINT32_MAX, t->want);
            t->a = all;
            if (r < 0)
                return r;
        }
    } while (t->have.n > had && !is_done(t));
    return 0;
}

/* ---- weights --------------------------------------------------------------------------------- */

/* Candidates of at most this weight, and the next higher one there is. */
static struct topo_sum sum_light(const struct tree *t, uint32_t weight, uint32_t *ret_next)
{
    struct topo_sum sum = { 0 };

    *ret_next = UINT32_MAX;
    for (uint32_t leaf = 0; leaf < t->n; leaf++) {
        uint32_t n;
        const struct topo_span *s = topo_unit_spans(topo_get_bits(t->a->topo), leaf, &n);

        for (uint32_t i = 0; t->free[leaf].n && i < n && s[i].word < t->a->nwords; i++) {
            for (uint64_t m = t->a->cand[s[i].word] & s[i].mask; m; m &= m - 1) {
                uint32_t id = s[i].word * 64 + (uint32_t)__builtin_ctzll(m);

                if (topo_weight_of(t->a, id) <= weight)
                    topo_sum_add(t->a, &sum, id);
                else
                    *ret_next = MIN(*ret_next, topo_weight_of(t->a, id));
            }
        }
    }
    return sum;
}

/* Heavier candidates than needed are as good as taken: they count no longer. */
static void drop_heavier(struct tree *t, uint32_t weight)
{
    for (uint32_t w = 0; w < t->a->nwords; w++)
        for (uint64_t m = t->a->cand[w]; m; m &= m - 1) {
            uint32_t id = w * 64 + (uint32_t)__builtin_ctzll(m);

            if (topo_weight_of(t->a, id) > weight)
                t->a->cand[w] &= ~(UINT64_C(1) << (id & 63));
        }
}

/* The weight up to which the candidates are enough.  *ret_lighter: the one before, up to which the
 * job gets all; false without any. */
static bool find_weight(const struct tree *t, uint32_t *ret_weight, uint32_t *ret_lighter)
{
    uint32_t weight = 0, next;
    bool any = false;

    for (;; weight = next) {
        struct topo_sum sum = sum_light(t, weight, &next);

        if (topo_suffices(t->a, &t->have, &sum, t->want) || next == UINT32_MAX)
            break;
        if (sum.n) {
            any = true;
            *ret_lighter = weight;
        }
    }
    *ret_weight = weight;
    return any;
}

/* Leave the candidates that are needed, and take those lighter than the heaviest of them. */
static int take_lighter(struct tree *t, uint32_t top)
{
    uint32_t weight, lighter = 0;
    bool any = find_weight(t, &weight, &lighter);
    int r = 0;

    drop_heavier(t, weight);
    count_all(t);
    drop_others(t, top);
    for (uint32_t i = 0; r == 0 && any && i < t->n; i++)
        if (is_leaf(t, i) && t->free[i].n)
            r = take_leaf(t, i, lighter, UINT32_MAX);
    return r;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int take_required(struct tree *t)
{
    for (uint32_t k = 0; k < t->a->nreq; k++) {
        uint32_t leaf = topo_unit_of(t->a->topo, t->a->req[k]);
        struct topo_sum one = { 0 };

        topo_sum_add(t->a, &one, t->a->req[k]);
        if (topo_take(t->a, t->sp, &t->have, t->a->req[k]) < 0)
            return -ENOMEM;
        count_leaf(t, leaf, &one, false);
        use_leaf(t, leaf);
    }
    return 0;
}

/* Leaves that are in use give what they have first, in the order of the file. */
static int fill_used(struct tree *t)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < t->n && !is_done(t); i++)
        if (t->used[i] && t->free[i].n)
            r = take_leaf(t, i, UINT32_MAX, t->want);
    return r;
}

static bool is_enough(const struct tree *t)
{
    return t->have.n >= t->a->min && topo_has_caps(t->a, &t->have);
}

static int take_nodes(struct tree *t, uint32_t top)
{
    int r;

    drop_others(t, top);
    memset(t->dist, 0, t->n * sizeof(*t->dist));
    r = take_required(t);
    if (r == 0 && t->a->weight)
        r = take_lighter(t, top);
    if (r == 0)
        r = fill_used(t);
    if (r == 0)
        r = t->spec->flags & TOPO_DRAGONFLY ? take_round(t) : take_nearest(t);
    if (r < 0 || is_enough(t))
        return r < 0 ? r : 1;
    t->sp->why = t->have.n >= t->a->max ? TOPO_WHY_NODE_LIMIT : TOPO_WHY_FEW_RESOURCES;
    return 0;
}

static int choose_once(struct tree *t)
{
    uint32_t top;

    t->have = (struct topo_sum){ 0 };
    t->sp->nchosen = 0;
    memset(t->used, 0, t->n * sizeof(*t->used));
    count_all(t);
    top = t->a->nreq ? top_of_required(t) : choose_top(t);
    if (top == TOPO_NONE) {
        t->sp->why = t->a->nreq ? TOPO_WHY_NEVER : TOPO_WHY_FEW_RESOURCES;
        return 0;
    }
    return take_nodes(t, top);
}

static uint32_t leaves_in_use(const struct tree *t)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < t->n; i++)
        n += t->used[i];
    return n;
}

static void find_depths(struct tree *t)
{
    for (uint32_t i = 0; i < t->n; i++)
        for (uint32_t up = topo_parent(t->a->topo, i); up != TOPO_NONE;
             up = topo_parent(t->a->topo, up))
            t->depth[i]++;
}

static int begin_choice(struct tree *t, uint64_t **ret_saved)
{
    size_t n = t->n + 1;
    char *mem = topo_space_get(
        t->sp, n * (sizeof(*t->free) + sizeof(*t->dist) + sizeof(*t->depth) + sizeof(*t->used)) +
                   t->a->nwords * sizeof(uint64_t));

    if (!mem)
        return -ENOMEM;
    t->free = (struct topo_sum *)(void *)mem;
    t->dist = (uint64_t *)(void *)(t->free + n);
    *ret_saved = t->dist + n;
    t->depth = (uint32_t *)(void *)(*ret_saved + t->a->nwords);
    t->used = (bool *)(void *)(t->depth + n);
    find_depths(t);
    return 0;
}

int topo_choose_tree(struct topo_ask *a, struct topo_space *sp)
{
    const struct topo_spec *spec = topo_get_spec(a->topo);
    struct tree t = { .a = a, .sp = sp, .spec = spec, .n = (uint32_t)spec->nunits };
    uint32_t switches = a->switches;
    uint64_t *saved;
    int r;

    if (spec->flags & TOPO_DRAGONFLY && switches > 1)
        switches = 0;
    if (begin_choice(&t, &saved) < 0)
        return -ENOMEM;
    memcpy(saved, a->cand, a->nwords * sizeof(*saved));
    for (t.want = a->want;; t.want--) {
        r = choose_once(&t);
        if (r != 1 || !switches || leaves_in_use(&t) <= switches)
            return r;
        if (a->fixed_want || t.want <= a->min)
            break;
        memcpy(a->cand, saved, a->nwords * sizeof(*saved));
    }
    sp->why = TOPO_WHY_NONE; /* it waits for better ones, like any job that waits for nodes */
    return 0;
}
