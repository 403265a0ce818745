/* timeline.c - planning: when and where a blocked job will start, and what that leaves for others.
 *
 * Planning really releases running jobs, in the order of their ends, on the very structures that
 * selection reads, and takes them back afterwards; s->travelling keeps this from counting as
 * growth.  What is released only grows, so the first moment at which a job fits is found by
 * galloping and bisection.  Reservations made before are held during the search, for ever: simple,
 * and never late for them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/plan/gallop.h"
#include "sched/sched_int.h"

static int by_end(const void *a, const void *b)
{
    const struct job *x = *(struct job *const *)a, *y = *(struct job *const *)b;

    if (x->end_us != y->end_us)
        return x->end_us < y->end_us ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static int line_reserve(struct sched *s, uint32_t n)
{
    struct job **grown;
    uint32_t cap = MAX(s->cap_line, 64u);

    if (n <= s->cap_line)
        return 0;
    while (cap < n)
        cap *= 2;
    grown = realloc(s->line, cap * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    s->line = grown;
    s->cap_line = cap;
    return 0;
}

int line_make(struct sched *s)
{
    struct holders_iter it = { 0 };
    int r = line_reserve(s, s->nholding);

    if (r < 0)
        return r;
    s->nline = s->line_at = 0;
    s->line_beyond = 0;
    for (struct job *j; (j = holders_next(s, &it));)
        if (j->end_us != INT64_MAX)
            s->line[s->nline++] = j;
        else
            s->line_beyond += kept_number(j);
    if (s->nline > 1)
        qsort(s->line, s->nline, sizeof(*s->line), by_end);
    s->line_made = true;
    return 0;
}

int line_room(struct sched *s)
{
    return s->line_made ? line_reserve(s, s->nline + 1) : 0;
}

void line_add(struct sched *s, struct job *j)
{
    uint32_t lo = 0, hi = s->nline;

    if (s->line_made && j->end_us == INT64_MAX)
        s->line_beyond += kept_number(j);
    if (!s->line_made || j->end_us == INT64_MAX)
        return;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;

        if (by_end(&s->line[mid], &j) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    memmove(s->line + lo + 1, s->line + lo, (s->nline - lo) * sizeof(*s->line));
    s->line[lo] = j;
    s->nline++;
}

void line_drop(struct sched *s)
{
    s->line_made = false;
    s->nline = 0;
}

static void travel(struct sched *s, uint32_t to)
{
    while (s->line_at < to)
        job_release(s, s->line[s->line_at++]);
    while (s->line_at > to)
        job_take(s, s->line[--s->line_at]);
}

/* The end of the group of equal end times that position at (>= 1) is in. */
static uint32_t group_end(const struct sched *s, uint32_t at)
{
    while (at < s->nline && s->line[at]->end_us == s->line[at - 1]->end_us)
        at++;
    return at;
}

/* The last position before the group that ends at `at`. */
static uint32_t group_begin(const struct sched *s, uint32_t at)
{
    uint32_t i = at;

    while (i && s->line[i - 1]->end_us == s->line[at - 1]->end_us)
        i--;
    return i;
}

/* As pick_nodes(), licences too. */
static int fits(struct pick *p)
{
    uint32_t which;

    return p->lics && !lics_fit(p->s, p->lics, 0, &which) ? 0 : pick_nodes(p);
}

struct search {
    struct pick *p;
    uint32_t skip; /* too few CPUs are free at the positions up to here */
    uint32_t last; /* where it was found to fit, when that was the last question */
};

/* Jobs that end at one time go together: a group is all or nothing. */
static int fits_at(void *ctx, uint32_t at, uint32_t *lo, uint32_t *hi)
{
    struct search *x = ctx;
    struct sched *s = x->p->s;
    uint32_t end = group_end(s, x->skip + at);
    int r;

    *hi = end - x->skip;
    *lo = MAX(group_begin(s, end), x->skip) - x->skip;
    travel(s, end);
    r = fits(x->p);
    x->last = r == 1 ? end : 0;
    return r;
}

/* How many jobs may end without making room for this one, however their CPUs lie? */
static uint32_t too_few(struct pick *p)
{
    struct sched *s = p->s;
    uint64_t need, sum = s->free_cpus;
    uint32_t at = 0;

    pick_init(p);
    need = pick_least_cpus(p);
    while (at < s->nline && sum + s->line[at]->held_cpus < need)
        sum += s->line[at++]->held_cpus;
    return at;
}

uint32_t line_first(struct pick *p)
{
    uint32_t few = too_few(p);

    return few < p->s->nline ? group_end(p->s, few + 1) : 0;
}

/* The first position (from 1) at which the job fits; 0 none. */
static int first_position(struct pick *p, uint32_t *ret_at, bool *ret_picked)
{
    struct search x = { .p = p, .skip = too_few(p) };
    uint32_t at = 0;
    int r = gallop(p->s->nline - x.skip, fits_at, &x, &at);

    *ret_at = at ? group_end(p->s, x.skip + at) : 0;
    *ret_picked = *ret_at && x.last == *ret_at;
    return r;
}

static void hold_resvs(struct sched *s, bool hold)
{
    for (uint32_t i = 0; i < s->nresvs; i++) {
        const struct resv *r = &s->resvs[i];

        if (hold)
            lics_take(s, &r->lics);
        else
            lics_release(s, &r->lics);
        for (size_t k = 0; k < r->alloc.nnodes; k++) {
            if (hold)
                node_take(s, &r->alloc.nodes[k], r->part, true, true, true);
            else
                node_release(s, &r->alloc.nodes[k], r->part, true, true, true);
        }
    }
}

/* What the nodes of a would have left beside it, as things stand.  NULL = out of memory. */
struct resv_node *spare_of(struct sched *s, const struct sched_alloc *a, uint32_t part)
{
    const struct part *p = s->parts[part];
    struct resv_node *spare;
    uint64_t *gres;
    size_t rows = 0;

    for (size_t i = 0; i < a->nnodes; i++)
        rows += s->nodes[a->nodes[i].node_id].ngres;
    spare = calloc(1, (a->nnodes + 1) * sizeof(*spare) + rows * sizeof(*gres));
    gres = (uint64_t *)(void *)(spare + a->nnodes + 1);
    for (size_t i = 0; spare && i < a->nnodes; i++) {
        const struct sched_alloc_node *an = &a->nodes[i];
        struct node *n = &s->nodes[an->node_id];
        uint64_t used = n->mem_used + an->mem_mib;

        spare[i].spare_gres = gres;
        gres += n->ngres;
        spare[i].spare_mem = n->mem_mib > used ? n->mem_mib - used : 0;
        if (p->node_cpus) {
            used = (uint64_t)p->node_cpus[an->node_id] + an->cpus;
            spare[i].spare_part_cpus =
                p->max_cpus_per_node > used ? p->max_cpus_per_node - (uint32_t)used : 0;
        }
        for (uint32_t row = 0; row < n->ngres; row++)
            spare[i].spare_gres[row] =
                n->gres[row].total > n->gres[row].used ? n->gres[row].total - n->gres[row].used : 0;
        for (size_t g = 0; g < an->ngres; g++) {
            struct gres_row *row = node_gres_row(s, n, &an->gres[g]);
            uint64_t *left = row ? &spare[i].spare_gres[row - n->gres] : NULL;

            if (left)
                *left -= MIN(*left, an->gres[g].count);
        }
    }
    return spare;
}

/* With advance reservations later is not always better: every moment at which a job or a window
 * ends or begins is tried.  1 with position and moment, 0 none. */
static int first_moment(struct pick *p, uint32_t *ret_at, int64_t *moment_us)
{
    struct sched *s = p->s;

    for (uint32_t at = 0;;) {
        int64_t next_us;
        int r;

        while (at < s->nline && s->line[at]->end_us <= *moment_us)
            at++;
        travel(s, at);
        adv_span(p, *moment_us, p->minutes);
        r = fits(p);
        if (r != 0) {
            *ret_at = at;
            return r;
        }
        next_us = MIN(at < s->nline ? s->line[at]->end_us : INT64_MAX, adv_edge(s, *moment_us));
        if (next_us == INT64_MAX)
            return 0;
        *moment_us = next_us;
    }
}

int plan(struct pick *p, int64_t now_us, int64_t *ret_start_us, struct sched_alloc *ret_alloc,
         struct resv_node **ret_spare)
{
    struct sched *s = p->s;
    uint32_t at = 0;
    int64_t moment_us;
    bool found, picked = false;
    int r;

    s->travelling = true;
    hold_resvs(s, true);
    moment_us = now_us;
    if (advs_any(s) && p->minutes) {
        r = first_moment(p, &at, &moment_us);
        found = r == 1;
        r = MIN(r, 0);
    } else {
        r = first_position(p, &at, &picked);
        found = r == 0 && at;
    }
    if (found) {
        at = at ? group_end(s, at) : 0;
        travel(s, at);
        r = picked ? 1 : pick_nodes(p);
        if (r == 1)
            r = layout_chosen(p, ret_alloc);
        if (r == 1) {
            *ret_start_us = MAX(at ? s->line[at - 1]->end_us : 0, moment_us);
            *ret_spare = spare_of(s, ret_alloc, p->part->id);
            if (!*ret_spare) {
                alloc_done(ret_alloc);
                r = -ENOMEM;
            }
        }
    }
    travel(s, 0);
    hold_resvs(s, false);
    s->travelling = false;
    return r;
}

/* What is free of each licence at start_us (every job that ends until then is gone), less what
 * is reserved. */
static int reserve_lics(struct sched *s, const struct job_lics *want, int64_t start_us,
                        struct job_lics *ret, uint64_t **ret_spare)
{
    uint32_t to = 0, which = 0;
    int r;

    while (to < s->nline && s->line[to]->end_us <= start_us)
        lics_release(s, &s->line[to++]->held);
    for (uint32_t i = 0; i < s->nresvs; i++)
        lics_take(s, &s->resvs[i].lics);
    (void)lics_fit(s, want, 0, &which); /* it does: which one was asked */
    r = lics_choose(want, which, ret);
    if (r == 0) {
        lics_take(s, ret);
        *ret_spare = lics_spare(s);
        lics_release(s, ret);
        r = *ret_spare ? 0 : -ENOMEM;
    }
    for (uint32_t i = 0; i < s->nresvs; i++)
        lics_release(s, &s->resvs[i].lics);
    while (to)
        lics_take(s, &s->line[--to]->held);
    return r;
}

int resvs_room(struct sched *s)
{
    uint32_t cap = s->cap_resvs ? s->cap_resvs * 2 : 8;
    struct resv *grown;

    if (s->nresvs < s->cap_resvs)
        return 0;
    grown = realloc(s->resvs, cap * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    s->resvs = grown;
    s->cap_resvs = cap;
    return 0;
}

int resv_add(struct sched *s, uint32_t part, int64_t start_us, struct sched_alloc *alloc,
             struct resv_node **spare, const struct job_lics *want)
{
    _cleanup_val_(lics_free) struct job_lics lics = { 0 };
    _cleanup_free_ uint64_t *spare_lic = NULL;
    struct bitmap *nodes;
    uint32_t *before;
    int r = resvs_room(s);

    if (r < 0)
        return r;
    if (want->n) {
        r = reserve_lics(s, want, start_us, &lics, &spare_lic);
        if (r < 0)
            return r;
    }
    r = bitmap_new(s->nbits, &nodes);
    before = r == 0 ? malloc((nodes->nwords + 1) * sizeof(*before)) : NULL;
    if (!before) {
        if (r == 0)
            bitmap_free(nodes);
        return -ENOMEM;
    }
    for (size_t i = 0; i < alloc->nnodes; i++)
        bitmap_set(nodes, alloc->nodes[i].node_id);
    for (uint32_t w = 0, n = 0; w < nodes->nwords; w++) {
        before[w] = n;
        n += (uint32_t)__builtin_popcountll(nodes->words[w]);
    }
    s->resvs[s->nresvs++] = (struct resv){ .part = part,
                                           .start_us = start_us,
                                           .nodes = nodes,
                                           .before = before,
                                           .alloc = *alloc,
                                           .spare = TAKE_PTR(*spare),
                                           .lics = lics,
                                           .nspare_lic = spare_lic ? s->nlics : 0,
                                           .spare_lic = TAKE_PTR(spare_lic) };
    lics = (struct job_lics){ 0 };
    *alloc = (struct sched_alloc){ 0 };
    return 0;
}

static void charge_node(struct sched *s, struct resv_node *spare, const struct sched_alloc_node *an,
                        bool same_part)
{
    struct node *n = &s->nodes[an->node_id];

    spare->spare_mem -= MIN(spare->spare_mem, an->mem_mib);
    if (same_part)
        spare->spare_part_cpus -= MIN(spare->spare_part_cpus, an->cpus);
    for (size_t g = 0; g < an->ngres; g++) {
        struct gres_row *row = node_gres_row(s, n, &an->gres[g]);
        uint64_t *left = row ? &spare->spare_gres[row - n->gres] : NULL;

        if (left)
            *left -= MIN(*left, an->gres[g].count);
    }
}

void resv_charge(struct sched *s, const struct sched_alloc *a, const struct job_lics *lics,
                 uint32_t part, int64_t end_us)
{
    for (uint32_t i = 0; i < s->nresvs; i++) {
        struct resv *r = &s->resvs[i];
        size_t k = 0;

        if (r->start_us >= end_us)
            continue;
        if (r->lent)
            kept_drop(s); /* no more as it was made */
        for (uint32_t l = 0; l < lics->n; l++)
            if (lics->v[l].id < r->nspare_lic)
                r->spare_lic[lics->v[l].id] -= MIN(r->spare_lic[lics->v[l].id], lics->v[l].count);
        for (size_t x = 0; x < a->nnodes; x++) { /* both are sorted by node */
            while (k < r->alloc.nnodes && r->alloc.nodes[k].node_id < a->nodes[x].node_id)
                k++;
            if (k < r->alloc.nnodes && r->alloc.nodes[k].node_id == a->nodes[x].node_id)
                charge_node(s, &r->spare[k], &a->nodes[x], r->part == part);
        }
    }
}

void resv_free(struct resv *r)
{
    bitmap_free(r->nodes);
    free(r->before);
    alloc_done(&r->alloc);
    free(r->spare);
    lics_free(&r->lics);
    free(r->spare_lic);
}

void resvs_clear(struct sched *s)
{
    for (uint32_t i = 0; i < s->nresvs; i++)
        if (!s->resvs[i].lent)
            resv_free(&s->resvs[i]);
    s->nresvs = 0;
}
