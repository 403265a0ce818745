/* resv_choice.c - nodes for a reservation; see resv_choice.h.
 *
 * Sets of candidates are tried one after the other: free ones first, then those of reservations
 * that permit overlap, and what the flags of the new one permit.  Inside a set idle nodes come
 * first, in runs of adjacent nodes: the smallest that is enough, else the largest and on. */
#include "sched/rules/resv_choice.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bitmap.h"
#include "base/cleanup.h"

struct search {
    const struct resv_want *want;
    const struct resv_ground *g;
    struct bitmap *cand, *chosen;
    uint32_t n;                       /* chosen */
    uint32_t upto;                    /* nodes to take now; 0 = as few as are enough */
    uint64_t sum;                     /* of counts, or free cores */
    uint32_t missing[RESV_PARTS_MAX]; /* of each part */
};

void resv_choice_done(struct resv_choice *c)
{
    for (size_t i = 0; i < c->ncores; i++)
        free(c->cores[i].bits);
    free(c->cores);
    bitmap_free(c->nodes);
    *c = (struct resv_choice){ 0 };
}

static uint32_t free_cores(const struct resv_ground *g, uint32_t id)
{
    const uint64_t *taken;
    uint32_t nwords, n = g->cores(g->ctx, id, &taken, &nwords), used = 0;

    for (uint32_t i = 0; i < n; i++)
        used += i / 64 < nwords && (taken[i >> 6] >> (i & 63) & 1);
    return n - used;
}

/* What a node adds to what is asked for beside a number of nodes. */
static uint64_t node_adds(const struct search *x, uint32_t id)
{
    if (x->g->counts)
        return x->g->counts(x->g->ctx, id);
    return x->want->cores ? free_cores(x->g, id) : 0;
}

static uint64_t search_goal(const struct search *x)
{
    return x->g->counts ? x->g->goal : x->want->cores;
}

static bool search_enough(const struct search *x)
{
    return x->n >= (x->upto ? x->upto : 1) && x->sum >= search_goal(x);
}

/* May the search take more nodes? A number of nodes is exact. */
static bool search_full(const struct search *x)
{
    return x->upto && x->n >= x->upto;
}

static void take_node(struct search *x, uint32_t id)
{
    if (bitmap_test(x->chosen, id))
        return;
    bitmap_set(x->chosen, id);
    x->n++;
    x->sum += node_adds(x, id);
}

/* A node that adds nothing where something is asked of each is of no use. */
static bool is_useful(const struct search *x, uint32_t id)
{
    uint64_t n = search_goal(x) ? node_adds(x, id) : 1;

    if (!x->want->cores || x->g->counts || !x->want->nodes)
        return n > 0;
    return n >= (x->want->cores + x->want->nodes - 1) / x->want->nodes;
}

/* Take from cand: the smallest run of neighbours that is enough, else the largest one and on. */
static void take_runs(struct search *x)
{
    BITMAP_FOREACH (x->cand, id)
        if (!is_useful(x, id) || bitmap_test(x->chosen, id))
            bitmap_clear(x->cand, id);
    while (!search_enough(x) && !search_full(x)) {
        uint32_t best = UINT32_MAX, best_len = 0, largest = UINT32_MAX, largest_len = 0;

        for (uint32_t at = bitmap_next(x->cand, 0), len; at < x->cand->nbits;
             at = bitmap_next(x->cand, at + len)) {
            uint64_t sum = x->sum;
            uint32_t need = 0;

            for (len = 0; at + len < x->cand->nbits && bitmap_test(x->cand, at + len); len++) {
                bool done = x->n + need >= (x->upto ? x->upto : 1) && sum >= search_goal(x);

                need += !done;
                sum += done ? 0 : node_adds(x, at + len);
            }
            if (x->n + need >= (x->upto ? x->upto : 1) && sum >= search_goal(x) &&
                (best == UINT32_MAX || len < best_len)) {
                best = at;
                best_len = len;
            }
            if (len > largest_len) {
                largest = at;
                largest_len = len;
            }
        }
        if (largest == UINT32_MAX)
            return;
        if (best == UINT32_MAX) {
            best = largest;
            best_len = largest_len;
        }
        for (uint32_t i = best; i < best + best_len && !search_enough(x) && !search_full(x); i++) {
            take_node(x, i);
            bitmap_clear(x->cand, i);
        }
    }
}

/* ---- parts ----------------------------------------------------------------------------------- */

static uint32_t count_missing(const struct search *x)
{
    uint32_t sum = 0;

    for (size_t i = 0; i < x->g->nparts; i++)
        sum += x->missing[i];
    return sum;
}

/* The part with nodes missing that has the fewest candidates to spare. */
static size_t scarcest_part(const struct search *x)
{
    size_t best = x->g->nparts;
    int64_t least = INT64_MAX;

    for (size_t i = 0; i < x->g->nparts; i++) {
        int64_t spare = (int64_t)bitmap_count_and(x->cand, x->g->parts[i].nodes) - x->missing[i];

        if (x->missing[i] && spare < least) {
            best = i;
            least = spare;
        }
    }
    return best;
}

/* What is missing of part i, from x->cand without `but` (NULL = all of it). */
static int take_part(struct search *x, size_t i, const struct bitmap *but)
{
    struct bitmap *all = x->cand, *some = NULL;
    uint32_t before = x->n;
    int r = bitmap_dup(all, &some);

    if (r < 0)
        return r;
    bitmap_and(some, x->g->parts[i].nodes);
    if (but)
        bitmap_andnot(some, but);
    x->cand = some;
    x->upto = x->n + x->missing[i];
    take_runs(x);
    x->missing[i] -= x->n - before;
    x->cand = all;
    x->upto = x->want->nodes;
    bitmap_andnot(all, x->chosen);
    bitmap_free(some);
    return 0;
}

/* Of each part what is missing, the scarcest first and of it those first that no other part can
 * use. */
static int take_parts(struct search *x)
{
    struct bitmap *others = NULL;
    size_t i;
    int r = bitmap_new(x->cand->nbits, &others);

    while (r == 0 && (i = scarcest_part(x)) < x->g->nparts) {
        bitmap_zero(others);
        for (size_t k = 0; k < x->g->nparts; k++)
            if (k != i && x->missing[k])
                bitmap_or(others, x->g->parts[k].nodes);
        r = take_part(x, i, others);
        if (r == 0 && x->missing[i])
            r = take_part(x, i, NULL);
        if (x->missing[i])
            break;
    }
    bitmap_free(others);
    return r;
}

/* Nodes it has already, as far as they are of use. */
static void take_kept(struct search *x, const struct bitmap *set, const struct bitmap *keep)
{
    for (uint32_t id = bitmap_next(keep, 0);
         id < set->nbits && !(search_enough(x) || search_full(x)); id = bitmap_next(keep, id + 1)) {
        size_t i = 0;

        if (!bitmap_test(set, id))
            continue;
        while (i < x->g->nparts && !(x->missing[i] && bitmap_test(x->g->parts[i].nodes, id)))
            i++;
        if (i < x->g->nparts)
            x->missing[i]--;
        else if (x->g->nparts && x->n + count_missing(x) >= x->upto)
            continue; /* the others are for parts */
        take_node(x, id);
    }
}

/* From x->cand. */
static int fill_search(struct search *x)
{
    int r = count_missing(x) ? take_parts(x) : 0;

    if (r == 0 && !count_missing(x))
        take_runs(x);
    return r;
}

/* The nodes of a set, idle ones first.  1: enough, 0: not, -ENOMEM. */
static int try_set(struct search *x, const struct bitmap *keep)
{
    struct bitmap *set = NULL;
    int r = bitmap_dup(x->cand, &set);

    if (r < 0)
        return r;
    bitmap_zero(x->chosen);
    x->n = 0;
    x->sum = 0;
    x->upto = x->want->nodes;
    for (size_t i = 0; i < x->g->nparts; i++)
        x->missing[i] = x->g->parts[i].count;
    if (keep)
        take_kept(x, set, keep);
    if (!(x->want->cores && x->g->cores)) /* cores are free or not, whichever job has the node */
        bitmap_andnot(x->cand, x->g->busy);
    r = fill_search(x);
    if (r == 0 && (count_missing(x) || !search_enough(x))) {
        bitmap_copy(x->cand, set);
        if (!x->want->ignore_jobs && !x->want->cores)
            bitmap_andnot(x->cand, x->g->busy);
        bitmap_andnot(x->cand, x->chosen);
        r = fill_search(x);
    }
    bitmap_free(set);
    return r < 0 ? r : !count_missing(x) && search_enough(x);
}

/* Set number i of candidates into x->cand; false when there is no such set for these flags. */
static bool make_set(struct search *x, unsigned i)
{
    const struct resv_ground *g = x->g;
    bool overlap = x->want->overlap || x->want->maint, maint = x->want->maint;

    bitmap_copy(x->cand, g->from);
    switch (i) {
    case 0:
        bitmap_and(x->cand, g->up);
        bitmap_andnot(x->cand, g->hard);
        bitmap_andnot(x->cand, g->soft);
        return true;
    case 1:
        bitmap_and(x->cand, g->up);
        bitmap_andnot(x->cand, g->hard);
        return !x->want->replace;
    case 2:
        bitmap_and(x->cand, g->up);
        return overlap;
    case 3:
        bitmap_and(x->cand, g->online);
        return maint;
    default:
        return maint;
    }
}

static bool choose_named(struct search *x, enum resv_refusal *ret_why)
{
    const struct resv_ground *g = x->g;
    bool whole = !x->want->cores;

    if (!x->want->overlap && !x->want->maint && bitmap_overlaps(g->from, g->hard)) {
        *ret_why = RESV_OVERLAPS;
        return false;
    }
    *ret_why = RESV_BUSY;
    if (whole && !x->want->ignore_jobs && !x->want->maint && !bitmap_subset(g->from, g->online))
        return false;
    if (whole && !x->want->ignore_jobs && bitmap_overlaps(g->from, g->busy))
        return false;
    BITMAP_FOREACH (g->from, id)
        take_node(x, id);
    return x->n > 0 && x->sum >= search_goal(x);
}

/* So many free cores of a node, from its sockets in turn. */
static void mark_cores(struct resv_cores_of *of, const uint64_t *taken, uint32_t nwords, uint32_t n,
                       uint32_t per_socket, uint32_t want)
{
    uint32_t got = 0;

    per_socket = MAX(per_socket, 1u);
    for (uint32_t k = 0; k < per_socket && got < want; k++)
        for (uint32_t core = k; core < n && got < want; core += per_socket) {
            if (core / 64 < nwords && (taken[core >> 6] >> (core & 63) & 1))
                continue;
            of->bits[core >> 6] |= UINT64_C(1) << (core & 63);
            got++;
        }
}

/* An even part of each node; what does not come out even goes where there is room. */
static int deal_cores(struct search *x, struct resv_choice *c)
{
    uint32_t left = x->want->cores, nodes = x->n, i = 0;
    uint32_t *share = calloc(nodes ? nodes : 1, sizeof(*share));

    c->cores = calloc(nodes ? nodes : 1, sizeof(*c->cores));
    if (!share || !c->cores) {
        free(share);
        return -ENOMEM;
    }
    for (unsigned pass = 0; left && pass < 2; pass++) {
        i = 0;
        BITMAP_FOREACH (x->chosen, id) {
            uint32_t even = (x->want->cores + nodes - 1) / nodes,
                     room = free_cores(x->g, id) - share[i];
            uint32_t n = MIN(MIN(left, room), pass ? left : even);

            share[i++] += n;
            left -= n;
        }
    }
    i = 0;
    BITMAP_FOREACH (x->chosen, id) {
        const uint64_t *taken;
        uint32_t nwords, n = x->g->cores(x->g->ctx, id, &taken, &nwords);
        struct resv_cores_of *of = &c->cores[c->ncores];

        if (!share[i++])
            continue;
        *of = (struct resv_cores_of){ .node_id = id, .nwords = (n + 63) / 64 };
        of->bits = calloc(of->nwords, sizeof(*of->bits));
        if (!of->bits) {
            free(share);
            return -ENOMEM;
        }
        c->ncores++;
        mark_cores(of, taken, nwords, n, x->g->per_socket ? x->g->per_socket(x->g->ctx, id) : n,
                   share[i - 1]);
    }
    free(share);
    return left ? -EAGAIN : 0;
}

int resv_choose(const struct resv_want *want, const struct resv_ground *g,
                const struct bitmap *keep, struct resv_choice *ret, enum resv_refusal *ret_why)
{
    struct search x = { .want = want, .g = g };
    struct resv_choice c = { 0 };
    bool found = false;
    int r = bitmap_new(g->from->nbits, &x.cand);

    *ret_why = RESV_BUSY;
    if (r == 0)
        r = bitmap_new(g->from->nbits, &x.chosen);
    if (r == 0 && want->named)
        found = choose_named(&x, ret_why);
    for (unsigned i = 0; r == 0 && !want->named && !found && i < 5; i++)
        if (make_set(&x, i)) {
            r = try_set(&x, keep);
            found = r > 0;
            r = MIN(r, 0);
        }
    if (r == 0 && found && want->cores)
        r = deal_cores(&x, &c);
    if (r == 0 && found) {
        c.nodes = TAKE_PTR(x.chosen);
        if (c.ncores)
            bitmap_zero(c.nodes); /* those that give nothing are not reserved */
        for (size_t i = 0; i < c.ncores; i++)
            bitmap_set(c.nodes, c.cores[i].node_id);
        *ret = c;
        c = (struct resv_choice){ 0 };
        *ret_why = RESV_CHOSEN;
    }
    bitmap_free(x.cand);
    bitmap_free(x.chosen);
    resv_choice_done(&c);
    return r == -EAGAIN ? 0 : r;
}
