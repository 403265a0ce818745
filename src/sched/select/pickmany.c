/* pickmany.c - several nodes for a job.
 *
 * The job takes what is next to the nodes it must have, first those behind them; then runs of
 * adjacent nodes: the smallest that holds it, else the largest and on.  It begins at a run's first
 * node, or for devices at the node with most of them.  When a limit on nodes leaves the job short,
 * those that hold most are taken, so that a job is refused only if no set of nodes would do (apart
 * from several limits at once that trade against each other). Least-loaded order (LLN) replaces the
 * runs by the nodes with most free CPUs. */
#include "sched/select/pickmany.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "sched/base/constraint.h"
#include "sched/profile/prof_filter.h"
#include "sched/select/fit.h"
#include "sched/select/hrespick.h"
#include "sched/select/picksum.h"
#include "sched/state/classes.h"
#include "sched/state/fits.h"
#include "sched/state/nodes.h"
#include "sched/state/question.h"
#include "sched/state/sched_obj.h"
#include "sched/state/shape.h"

#define RUNS_MAX 256u
#define SUFFICE_MAX 1024u /* tasks told apart */

/* Collect nodes that hold so many tasks, by weight and id.  Unless all are wanted, stop at twice
 * what the job needs and some: enough to choose good runs from. */
static int gather_fits(struct pick *p, bool all, uint32_t tasks)
{
    struct sched *s = p->s;
    struct sum sum = sum_of(p, &s->chosen);
    uint32_t stop = UINT32_MAX, want = MIN(p->max, p->prefer);
    const struct bitmap *from = s->cand;

    s->fits.n = 0;
    hres_copy(p, HRES_TRIAL, HRES_CHOSEN);
    if (tasks > 1 && !p->idle && !p->whole && p->share == 1 && !(p->k->flags & SHAPE_OVERCOMMIT)) {
        uint64_t cpus = (uint64_t)tasks * p->k->cpus_per_task;

        bitmap_copy(s->dup, s->cand);
        if (!p->plan)
            bitmap_and(s->dup, nodes_with_room(s, cpus));
        else if (!prof_filter(p, s->dup, false, cpus, 1))
            return 0;
        from = s->dup;
    }
    for (uint32_t c = 0; c < s->nwclasses; c++) {
        const struct bitmap *of = s->wclasses[c].nodes;

        for (uint32_t w = 0; w < from->nwords; w++) {
            for (uint64_t m = from->words[w] & of->words[w]; m; m &= m - 1) {
                struct fit f;

                if (!node_fit(p, w * 64 + (uint32_t)__builtin_ctzll(m), &f) || f.tasks < tasks)
                    continue;
                f.wclass = c;
                if (push_fit(&s->fits, &f) < 0)
                    return -ENOMEM;
                if (hres_take(p, HRES_TRIAL, f.id))
                    sum_add(p, &sum, &f);
                if (!all && stop == UINT32_MAX && has_enough(p, &sum, want))
                    stop = s->fits.n * 2 + 64;
                if (s->fits.n == stop)
                    return 0;
            }
        }
    }
    return 0;
}

static int by_free(const void *a, const void *b)
{
    const struct fit *x = a, *y = b;

    if (x->free != y->free)
        return x->free > y->free ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

/* Of a job that is to be spread: light nodes first, then those with most room. */
static int by_room(const void *a, const void *b)
{
    const struct fit *x = a, *y = b;

    if (x->wclass != y->wclass)
        return x->wclass > y->wclass ? 1 : -1;
    return by_free(a, b);
}

static int by_tasks(const void *a, const void *b)
{
    const struct fit *x = a, *y = b;

    if (x->tasks != y->tasks)
        return x->tasks > y->tasks ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static int by_gres(const void *a, const void *b)
{
    const struct fit *x = a, *y = b;

    if (x->gres[0] != y->gres[0])
        return x->gres[0] > y->gres[0] ? -1 : 1;
    return by_tasks(a, b);
}

int by_node(const void *a, const void *b)
{
    const struct fit *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

void sort_fits(struct fitvec *v, int (*cmp)(const void *, const void *))
{
    uint32_t i = 1;

    while (i < v->n && cmp(&v->v[i - 1], &v->v[i]) <= 0)
        i++;
    if (i < v->n)
        qsort(v->v, v->n, sizeof(*v->v), cmp);
}

struct run {
    uint32_t at, len;
    uint64_t size; /* tasks that it holds; nodes where these are what counts */
};

/* Split the fits of one weight, sorted by id, into runs.  False when there are too many to
 * bother. */
static bool split_runs(const struct pick *p, uint32_t from, uint32_t to, struct run *runs,
                       uint32_t *ret_n)
{
    const struct fitvec *v = &p->s->fits;
    uint32_t n = 0;

    for (uint32_t i = from; i < to; i++) {
        if (i > from && v->v[i].id == v->v[i - 1].id + 1) {
            runs[n - 1].len++;
        } else {
            if (n == RUNS_MAX)
                return false;
            runs[n++] = (struct run){ .at = i, .len = 1 };
        }
        runs[n - 1].size += p->tasks ? v->v[i].tasks : 1;
    }
    *ret_n = n;
    return true;
}

static bool run_suffices(const struct pick *p, const struct fitvec *v, const struct run *run,
                         struct sum sum)
{
    for (uint32_t i = 0; i < run->len && sum.n < p->max; i++) {
        sum_add(p, &sum, &v->v[run->at + i]);
        if (has_enough(p, &sum, p->prefer))
            return true;
    }
    return false;
}

static int sort_in(struct pick *p, uint32_t at, struct sum *sum)
{
    if (hres_take(p, HRES_TRIAL, p->s->fits.v[at].id))
        sum_add(p, sum, &p->s->fits.v[at]);
    return push_fit(&p->s->sorted, &p->s->fits.v[at]);
}

static bool is_chosen(const struct sched *s, uint32_t id)
{
    for (uint32_t i = 0; i < s->chosen.n; i++)
        if (s->chosen.v[i].id == id)
            return true;
    return false;
}

/* The run that begins, or ends, with the node; nruns for none. */
static uint32_t run_at(const struct sched *s, const struct run *runs, uint32_t nruns, uint32_t id,
                       bool ends)
{
    uint32_t i = 0;

    while (i < nruns && s->fits.v[runs[i].at + (ends ? runs[i].len - 1 : 0)].id != id)
        i++;
    return i;
}

/* Copy what is next to the node to s->sorted, upwards or downwards, and take its runs off. */
static int order_beside(struct pick *p, struct run *runs, uint32_t *nruns, uint32_t id, bool down,
                        struct sum *sum)
{
    struct sched *s = p->s;

    while ((id += down ? -1u : 1u) < s->nbits) {
        uint32_t i = run_at(s, runs, *nruns, id, down), len;
        int r = 0;

        if (i == *nruns && !is_chosen(s, id))
            break;
        if (i == *nruns)
            continue;
        len = runs[i].len;
        for (uint32_t k = 0; r == 0 && k < len; k++)
            r = sort_in(p, runs[i].at + (down ? len - 1 - k : k), sum);
        if (r < 0)
            return r;
        id += down ? 1 - len : len - 1;
        memmove(&runs[i], &runs[i + 1], (--*nruns - i) * sizeof(*runs));
    }
    return 0;
}

/* ... next to those that the job must have. */
static int order_near(struct pick *p, struct run *runs, uint32_t *nruns, struct sum *sum)
{
    uint32_t n = MIN(shape_must(p->cls->shape), p->s->chosen.n);
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < n && *nruns && !has_enough(p, sum, p->prefer); i++) {
        uint32_t id = p->s->chosen.v[i].id;

        r = order_beside(p, runs, nruns, id, false, sum);
        if (r == 0)
            r = order_beside(p, runs, nruns, id, true, sum);
    }
    return r;
}

/* Where in a run a job begins: at its first node; for devices that no node has enough of, at the
 * first of those that have most. */
static uint32_t run_begin(const struct pick *p, const struct run *run)
{
    const struct fit *v = p->s->fits.v + run->at;
    uint32_t best = 0;

    if (!p->cls->shape->npj || p->min > 1 || p->s->chosen.n)
        return 0;
    for (uint32_t i = 1; i < run->len; i++)
        if (v[i].gres[0] > v[best].gres[0])
            best = i;
    return best;
}

/* Copy the runs to s->sorted, best first, until the job has enough. */
static int order_runs(struct pick *p, struct run *runs, uint32_t nruns, struct sum *sum)
{
    struct sched *s = p->s;
    int r = order_near(p, runs, &nruns, sum);

    if (r < 0)
        return r;
    while (nruns && !has_enough(p, sum, p->prefer)) {
        uint32_t best = UINT32_MAX, largest = 0;

        for (uint32_t i = 0; i < nruns; i++) {
            if (runs[i].size > runs[largest].size)
                largest = i;
            if ((best == UINT32_MAX || runs[i].size < runs[best].size) &&
                run_suffices(p, &s->fits, &runs[i], *sum))
                best = i;
        }
        if (best == UINT32_MAX)
            best = largest;
        for (uint32_t i = 0, from = run_begin(p, &runs[best]); i < runs[best].len; i++)
            if (sort_in(p, runs[best].at + (from + i) % runs[best].len, sum) < 0)
                return -ENOMEM;
        memmove(&runs[best], &runs[best + 1], (--nruns - best) * sizeof(*runs));
    }
    return 0;
}

/* Bring s->fits into the order in which the job takes them. */
static int order_fits(struct pick *p)
{
    struct sched *s = p->s;
    struct sum sum = sum_of(p, &s->chosen);
    struct run runs[RUNS_MAX];
    struct fitvec swap;
    uint32_t nruns;

    if (pick_by_load(p) || p->k->flags & SHAPE_SPREAD) {
        sort_fits(&s->fits, pick_by_load(p) ? by_free : by_room);
        return 0;
    }
    s->sorted.n = 0;
    hres_copy(p, HRES_TRIAL, HRES_CHOSEN);
    for (uint32_t from = 0, to; from < s->fits.n; from = to) {
        int r;

        for (to = from + 1; to < s->fits.n && s->fits.v[to].wclass == s->fits.v[from].wclass;)
            to++;
        if (!split_runs(p, from, to, runs, &nruns))
            return 0;
        r = order_runs(p, runs, nruns, &sum);
        if (r < 0)
            return r;
    }
    swap = s->fits;
    s->fits = s->sorted;
    s->sorted = swap;
    return 0;
}

/* Take from s->fits in order until it is enough.  False, with chosen as before, when it never
 * is. */
static int take_in_order(struct pick *p)
{
    struct sched *s = p->s;
    uint32_t had = s->chosen.n;
    struct sum sum = sum_of(p, &s->chosen);

    hres_copy(p, HRES_SAVED, HRES_CHOSEN);
    for (uint32_t i = 0; i < s->fits.n && sum.n < p->max && !has_enough(p, &sum, p->prefer); i++) {
        if (!hres_take(p, HRES_CHOSEN, s->fits.v[i].id))
            continue;
        if (push_fit(&s->chosen, &s->fits.v[i]) < 0)
            return -ENOMEM;
        sum_add(p, &sum, &s->fits.v[i]);
    }
    if (has_enough(p, &sum, p->min))
        return 1;
    s->chosen.n = had;
    hres_copy(p, HRES_CHOSEN, HRES_SAVED);
    return 0;
}

/* Planning asks at many times: would the nodes of `of` that hold most do, where others hold so many
 * tasks at most? */
static bool most_suffice(const struct pick *p, const struct sum *have, const struct bitmap *of,
                         uint32_t others)
{
    uint32_t by_tasks_n[SUFFICE_MAX] = { 0 }, n = 0, room = p->max - have->n, evens = 0;
    uint32_t even = (p->tasks - 1) / p->max + 1;
    uint64_t sum = have->tasks;

    for (uint32_t w = 0; w < of->nwords; w++) {
        for (uint64_t m = of->words[w]; m; m &= m - 1) {
            struct fit f;

            if (!node_fit(p, w * 64 + (uint32_t)__builtin_ctzll(m), &f))
                continue;
            n++;
            evens += f.tasks >= even;
            if (evens >= room)
                return true;
            if (f.tasks >= SUFFICE_MAX)
                sum = p->tasks;
            else
                by_tasks_n[f.tasks]++;
        }
    }
    if (!others && n + have->n < p->min)
        return false;
    for (uint32_t t = SUFFICE_MAX; room && sum < p->tasks && t-- > others + 1;) {
        uint32_t take = MIN(room, by_tasks_n[t]);

        sum += (uint64_t)take * t;
        room -= take;
    }
    return sum + (uint64_t)room * others >= p->tasks;
}

/* Those that are free enough to matter first: mostly they say it all. */
static bool may_suffice(struct pick *p, const struct sum *have)
{
    struct sched *s = p->s;

    if (p->low > p->k->cpus_per_task && p->share == 1 && !p->whole) {
        bitmap_copy(s->dup, s->cand);
        (void)prof_filter(p, s->dup, false, p->low, 1); /* none left is an answer too */
        if (!most_suffice(p, have, s->dup, (p->low - 1) / p->k->cpus_per_task))
            return false;
    }
    return most_suffice(p, have, s->cand, 0);
}

int choose_several(struct pick *p)
{
    int (*const orders[])(const void *, const void *) = { by_tasks, by_gres };
    struct sum sum = sum_of(p, &p->s->chosen);
    uint32_t even = p->tasks ? (p->tasks - 1) / p->max + 1 : 0, npj = p->cls->shape->npj;
    int r = 0;

    if (sum.n > p->max)
        return 0;
    if (has_enough(p, &sum, p->prefer))
        return 1;
    if (p->plan && p->tasks && !may_suffice(p, &sum))
        return 0;
    for (uint32_t pass = 0; r == 0 && pass < (even > 1 ? 2u : 1u); pass++) {
        r = gather_fits(p, pick_by_load(p) || pass || shape_must(p->cls->shape), pass ? 0 : even);
        if (r == 0)
            r = order_fits(p);
        if (r == 0)
            r = take_in_order(p);
    }
    if (r != 0 || (even <= 1 && !npj))
        return r;
    for (size_t i = 0; r == 0 && i < (npj ? 2u : 1u); i++) {
        r = gather_fits(p, true, 0);
        if (r == 0) {
            sort_fits(&p->s->fits, orders[i]);
            r = take_in_order(p);
        }
    }
    return r;
}

/* The node is one of the first count that still lacks some and is of its kind; true when none lacks
 * any more. */
static bool count_node(const struct calt *a, uint32_t *left, uint32_t id)
{
    bool used = false, met = true;

    for (uint32_t i = 0; i < a->ncounts; i++) {
        if (!used && left[i] && bitmap_test(a->counted[i], id)) {
            left[i]--;
            used = true;
        }
        met &= !left[i];
    }
    return met;
}

/* The best stretch of adjacent nodes so far: meets most of those that the job must have, then has
 * most of the nodes that it would like, then is the shortest. */
struct stretch {
    uint32_t at, len, met, liked;
};

static bool is_better(const struct stretch *x, const struct stretch *best, uint32_t need)
{
    if (x->met != best->met)
        return x->met > best->met;
    if (need && !x->met)
        return false;
    return x->liked > best->liked || (x->liked == best->liked && x->len < best->len);
}

/* Of the stretches that begin at the fit i. */
static void try_stretches(struct pick *p, const struct calt *a, uint32_t i, uint32_t need,
                          struct stretch *best)
{
    const struct fitvec *v = &p->s->fits;
    uint32_t left[CONSTRAINT_COUNTS_MAX];
    struct stretch x = { .at = i };
    struct sum sum = { 0 };

    if (a->ncounts)
        memcpy(left, a->counts, a->ncounts * sizeof(*left));
    hres_copy(p, HRES_TRIAL, HRES_ALL);
    for (uint32_t k = i; k < v->n && k - i < p->max; k++) {
        bool counts;

        if ((k > i && v->v[k].id != v->v[k - 1].id + 1) || !hres_take(p, HRES_TRIAL, v->v[k].id))
            break;
        sum_add(p, &sum, &v->v[k]);
        x.met += is_chosen(p->s, v->v[k].id);
        counts = count_node(a, left, v->v[k].id);
        x.len = k - i + 1;
        x.liked = MIN(x.len, p->prefer);
        if (counts && has_enough(p, &sum, p->min) && is_better(&x, best, need))
            *best = x;
        if (best->met == need && best->liked == p->prefer && x.len >= best->len)
            break; /* longer ones are no better */
    }
}

/* Of the nodes that the job must have as many as one run holds. */
int choose_contiguous(struct pick *p, const struct calt *a)
{
    struct sched *s = p->s;
    struct stretch best = { .at = UINT32_MAX, .len = UINT32_MAX };
    uint32_t need = s->chosen.n;
    struct fitvec *v = &s->fits;
    int r = gather_fits(p, true, 0);

    for (uint32_t i = 0; r == 0 && i < s->chosen.n; i++)
        r = push_fit(v, &s->chosen.v[i]);
    if (r < 0)
        return r;
    sort_fits(v, by_node);
    for (uint32_t i = 0; i < v->n; i++) {
        try_stretches(p, a, i, need, &best);
        if (best.met == need && best.liked == p->prefer && best.len <= p->prefer)
            break;
    }
    if (best.at == UINT32_MAX)
        return 0;
    s->chosen.n = 0;
    for (uint32_t i = 0; r == 0 && i < best.len; i++)
        r = push_fit(&s->chosen, &v->v[best.at + i]);
    return r < 0 ? r : 1;
}
