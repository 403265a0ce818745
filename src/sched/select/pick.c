/* pick.c - which nodes a job gets.
 *
 * Candidates come from bitmaps; they are walked by weight, then id.  A job that fits on one node
 * takes the first of the lowest weight that holds it; it goes to heavier nodes only when the
 * lighter ones together do not do.  Others take runs of adjacent nodes: the smallest that holds the
 * job, else the largest and on.  When a limit on nodes leaves the job short, those that hold most
 * are taken, so that a job is refused only if no set of nodes would do (apart from several limits
 * at once that trade against each other). Least-loaded order (LLN) replaces the runs by the nodes
 * with most free CPUs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/plan/profile.h"
#include "sched/sched_int.h"

#define RUNS_MAX 256u
#define SUFFICE_MAX 1024u /* tasks told apart */

struct sum {
    uint32_t n;
    uint64_t tasks, gres[SHAPE_PER_JOB_MAX];
};

static int push(struct fitvec *v, const struct fit *f)
{
    if (v->n == v->cap) {
        uint32_t cap = v->cap ? v->cap * 2 : 64;
        struct fit *grown = realloc(v->v, cap * sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        v->v = grown;
        v->cap = cap;
    }
    v->v[v->n++] = *f;
    return 0;
}

static void sum_add(const struct pick *p, struct sum *sum, const struct fit *f)
{
    sum->n++;
    sum->tasks += f->tasks;
    for (uint32_t i = 0; i < p->cls->shape->npj; i++)
        sum->gres[i] += f->gres[i];
}

static bool enough(const struct pick *p, const struct sum *sum, uint32_t nodes)
{
    for (uint32_t i = 0; i < p->cls->shape->npj; i++)
        if (sum->gres[i] < p->k->gres[i].per_job)
            return false;
    return sum->n >= nodes && sum->tasks >= p->tasks;
}

static struct sum sum_of(const struct pick *p, const struct fitvec *v)
{
    struct sum sum = { 0 };

    for (uint32_t i = 0; i < v->n; i++)
        sum_add(p, &sum, &v->v[i]);
    return sum;
}

/* What is asked of the set of nodes.  False when that contradicts itself. */
static bool set_goal(struct pick *p, const struct calt *a)
{
    const struct shape_key *k = p->k;
    uint64_t counted = 0;

    for (uint32_t i = 0; i < a->ncounts; i++)
        counted += a->counts[i];
    if (counted > BITMAP_MAX_BITS)
        return false;
    p->min = MAX(MAX(k->min_nodes, k->nreq), (uint32_t)counted);
    p->max = k->max_nodes ? MAX(k->max_nodes, (uint32_t)counted) : UINT32_MAX;
    if (!p->no_part_limit && !(k->flags & SHAPE_ANY_PART_SIZE)) {
        p->min = MAX(p->min, p->part->min_nodes);
        p->max = MIN(p->max, p->part->max_nodes);
    }
    if (p->only && (p->only < p->min || p->only > p->max))
        return false;
    if (p->only)
        p->min = p->max = p->only;
    p->tasks = k->num_tasks ? MAX(k->num_tasks, p->min) : 0;
    p->each = k->num_tasks ? 0 : MAX(k->ntasks_per_node, 1u);
    if (p->tasks)
        p->max = MIN(p->max, p->tasks);
    for (uint32_t i = 0; i < p->cls->shape->npj; i++)
        p->max =
            (uint32_t)MIN((uint64_t)p->max, k->gres[i].per_job); /* one for each node at least */
    if (p->max < p->min || (uint64_t)p->max * p->cls->most_tasks < p->tasks)
        return false;
    p->prefer = p->min;
    if (k->max_nodes > k->min_nodes && !(k->flags & SHAPE_USE_MIN_NODES))
        p->prefer = p->max;
    if ((k->flags & SHAPE_SPREAD) && p->tasks)
        p->prefer = p->max;
    return true;
}

/* Nodes with about so many free CPUs at least: never too few, rarely many more. */
static const struct bitmap *roomy(const struct sched *s, uint64_t cpus)
{
    uint32_t span = cpus > 1 ? 63 - (uint32_t)__builtin_clzll(cpus) : 0;

    return s->free_ge[MIN(span, SCHED_SPANS - 1)];
}

/* Nodes that may hold a part, by bitmaps alone.  False when they are too few. */
static bool candidates(struct pick *p, const struct calt *a)
{
    struct sched *s = p->s;
    uint64_t cpus = p->k->flags & SHAPE_OVERCOMMIT ? 1 : p->k->cpus_per_task;

    bitmap_copy(s->cand, a->elig);
    if (!p->any_state)
        bitmap_and(s->cand, s->up);
    if (p->minus)
        bitmap_andnot(s->cand, p->minus);
    if ((s->advs || p->k->resv) && !adv_keep(p, s->cand))
        return false;
    if (p->idle)
        return true;
    if (p->whole && p->plan)
        return prof_filter(p, s->cand, true, 0, MAX(p->min, 1u));
    if (p->whole) {
        bitmap_and(s->cand, s->idle);
        return true;
    }
    if (p->share > 1) {
        p->next = MIN(p->next, p->from + 1);
        return true;
    }
    if (!(p->k->flags & SHAPE_OVERCOMMIT))
        cpus *= p->tasks ? (p->max == 1 ? p->tasks : 1) : p->each;
    cpus = MAX(cpus, (uint64_t)p->k->pn_min_cpus);
    if (p->plan && p->tasks && !(p->k->flags & SHAPE_OVERCOMMIT) &&
        !prof_filter_sum(p, s->cand, (uint64_t)p->tasks * p->k->cpus_per_task, p->max))
        return false;
    if (p->plan)
        return prof_filter(p, s->cand, false, cpus, MAX(p->min, 1u));
    bitmap_and(s->cand, roomy(s, cpus));
    return true;
}

/* ---- required and counted nodes -------------------------------------------------------------- */

static int choose(struct pick *p, uint32_t id)
{
    struct fit f;

    if (!bitmap_test(p->s->cand, id) || !node_fit(p, id, &f))
        return 0;
    bitmap_clear(p->s->cand, id);
    return push(&p->s->chosen, &f) < 0 ? -ENOMEM : 1;
}

static int choose_required(struct pick *p)
{
    const struct shape *sh = p->cls->shape;

    for (uint32_t i = 0; i < sh->key.nreq; i++) {
        int r = sh->nodes[i] < p->s->nbits ? choose(p, sh->nodes[i]) : 0;

        if (r <= 0)
            return r;
    }
    return 1;
}

static int choose_counted(struct pick *p, const struct calt *a)
{
    struct sched *s = p->s;
    uint32_t from = 0;

    for (uint32_t i = 0; i < a->ncounts; i++) {
        uint32_t left = a->counts[i], end = s->chosen.n;

        for (; i == 0 && from < end && left; from++) /* required nodes that have it */
            left -= bitmap_test(a->counted[i], s->chosen.v[from].id);
        for (uint32_t c = 0; left && c < s->nwclasses; c++) {
            bitmap_copy(s->dup, a->counted[i]);
            bitmap_and(s->dup, s->cand);
            bitmap_and(s->dup, s->wclasses[c].nodes);
            BITMAP_FOREACH (s->dup, id) {
                int r = choose(p, id);

                if (r < 0)
                    return r;
                left -= r;
                if (!left)
                    break;
            }
        }
        if (left)
            return 0;
    }
    return 1;
}

/* ---- one node -------------------------------------------------------------------------------- */

static bool holds_all(const struct pick *p, const struct fit *f)
{
    struct sum sum = { 0 };

    sum_add(p, &sum, f);
    return enough(p, &sum, 1);
}

static bool by_load(const struct pick *p)
{
    return p->s->params.lln || p->part->lln;
}

static bool any_fit(const struct pick *p, const struct bitmap *of)
{
    struct fit f;

    for (uint32_t w = 0; w < of->nwords; w++)
        for (uint64_t m = p->s->cand->words[w] & of->words[w]; m; m &= m - 1)
            if (node_fit(p, w * 64 + (uint32_t)__builtin_ctzll(m), &f))
                return true;
    return false;
}

/* pack_serial_at_end: from the last node down, so that wide jobs find the first ones free. */
static bool goes_last(const struct pick *p)
{
    return p->s->params.serial_last && p->tasks == 1 && p->k->cpus_per_task == 1 && !p->whole &&
           !by_load(p);
}

static int choose_last(struct pick *p)
{
    struct sched *s = p->s;
    struct fit f;

    for (uint32_t c = 0; c < s->nwclasses; c++) {
        const struct bitmap *of = s->wclasses[c].nodes;

        for (uint32_t w = s->cand->nwords; w-- > 0;) {
            for (uint64_t m = s->cand->words[w] & of->words[w], top; m; m &= ~top) {
                uint32_t bit = 63u - (uint32_t)__builtin_clzll(m);

                top = UINT64_C(1) << bit;
                if (!node_fit(p, w * 64 + bit, &f) || !holds_all(p, &f))
                    continue;
                f.wclass = c;
                return push(&s->chosen, &f) < 0 ? -ENOMEM : 1;
            }
        }
    }
    return 0;
}

/* The first node that holds the whole job (or the least loaded).  Nodes only get fuller until the
 * partition's grow count moves, so those found too full need not be looked at again until then. */
static int choose_single(struct pick *p)
{
    struct sched *s = p->s;
    struct class *cls = p->cls;
    bool lln = by_load(p);
    bool keep = !lln && !s->travelling && !p->idle && !p->overlay && !p->plan && !p->minus &&
                cls->nalts == 1 && p->share_max == 1;
    uint32_t level = keep ? adv_level(p) : 0;
    bool resume = keep && cls->cursor_grow == p->part->grow + 1 && level >= cls->cursor_level;
    struct fit f, best = { 0 };
    bool found = false;
    uint32_t stop = s->nwclasses; /* the class whose nodes the job may take together */

    if (goes_last(p))
        return choose_last(p);
    for (uint32_t c = resume ? cls->cursor_wclass : 0; c < stop && !found; c++) {
        const struct bitmap *of = s->wclasses[c].nodes;
        uint32_t start = resume && c == cls->cursor_wclass ? cls->cursor_id : 0;

        for (uint32_t w = start >> 6; w < s->cand->nwords && (lln || !found); w++) {
            uint64_t m = s->cand->words[w] & of->words[w];

            if (w == start >> 6)
                m &= ~UINT64_C(0) << (start & 63);
            for (; m && (lln || !found); m &= m - 1) {
                uint32_t id = w * 64 + (uint32_t)__builtin_ctzll(m);

                if ((found && !p->plan && s->nodes[id].free_cpus <= best.free) ||
                    !node_fit(p, id, &f) || (found && f.free <= best.free) || !holds_all(p, &f))
                    continue;
                f.wclass = c;
                best = f;
                found = true;
            }
        }
        if (!found && p->max > 1 && c + 1 < s->nwclasses && any_fit(p, of))
            stop = c;
    }
    if (keep) {
        cls->cursor_grow = p->part->grow + 1;
        cls->cursor_level = level;
        cls->cursor_wclass = found ? best.wclass : stop;
        cls->cursor_id = found ? best.id : s->nbits;
    }
    return found ? (push(&s->chosen, &best) < 0 ? -ENOMEM : 1) : 0;
}

/* ---- several nodes --------------------------------------------------------------------------- */

/* Collect nodes that hold so many tasks, by weight and id.  Unless all are wanted, stop at twice
 * what the job needs and some: enough to choose good runs from. */
static int gather(struct pick *p, bool all, uint32_t tasks)
{
    struct sched *s = p->s;
    struct sum sum = sum_of(p, &s->chosen);
    uint32_t stop = UINT32_MAX, want = MIN(p->max, p->prefer);
    const struct bitmap *from = s->cand;

    s->fits.n = 0;
    if (tasks > 1 && !p->idle && !p->whole && p->share == 1 && !(p->k->flags & SHAPE_OVERCOMMIT)) {
        uint64_t cpus = (uint64_t)tasks * p->k->cpus_per_task;

        bitmap_copy(s->dup, s->cand);
        if (!p->plan)
            bitmap_and(s->dup, roomy(s, cpus));
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
                if (push(&s->fits, &f) < 0)
                    return -ENOMEM;
                sum_add(p, &sum, &f);
                if (!all && stop == UINT32_MAX && enough(p, &sum, want))
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

static int by_node(const void *a, const void *b)
{
    const struct fit *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

static void sort(struct fitvec *v, int (*cmp)(const void *, const void *))
{
    uint32_t i = 1;

    while (i < v->n && cmp(&v->v[i - 1], &v->v[i]) <= 0)
        i++;
    if (i < v->n)
        qsort(v->v, v->n, sizeof(*v->v), cmp);
}

struct run {
    uint32_t at, len;
};

/* Split the fits of one weight, sorted by id, into runs.  False when there are too many to
 * bother. */
static bool split_runs(const struct fitvec *v, uint32_t from, uint32_t to, struct run *runs,
                       uint32_t *ret_n)
{
    uint32_t n = 0;

    for (uint32_t i = from; i < to; i++) {
        if (i > from && v->v[i].id == v->v[i - 1].id + 1) {
            runs[n - 1].len++;
        } else {
            if (n == RUNS_MAX)
                return false;
            runs[n++] = (struct run){ i, 1 };
        }
    }
    *ret_n = n;
    return true;
}

static bool run_suffices(const struct pick *p, const struct fitvec *v, const struct run *run,
                         struct sum sum)
{
    for (uint32_t i = 0; i < run->len && sum.n < p->max; i++) {
        sum_add(p, &sum, &v->v[run->at + i]);
        if (enough(p, &sum, p->prefer))
            return true;
    }
    return false;
}

/* Copy the runs to s->sorted, best first, until the job has enough. */
static int order_runs(struct pick *p, struct run *runs, uint32_t nruns, struct sum *sum)
{
    struct sched *s = p->s;

    while (nruns && !enough(p, sum, p->prefer)) {
        uint32_t best = UINT32_MAX, largest = 0;

        for (uint32_t i = 0; i < nruns; i++) {
            if (runs[i].len > runs[largest].len)
                largest = i;
            if ((best == UINT32_MAX || runs[i].len < runs[best].len) &&
                run_suffices(p, &s->fits, &runs[i], *sum))
                best = i;
        }
        if (best == UINT32_MAX)
            best = largest;
        for (uint32_t i = 0; i < runs[best].len; i++) {
            if (push(&s->sorted, &s->fits.v[runs[best].at + i]) < 0)
                return -ENOMEM;
            sum_add(p, sum, &s->fits.v[runs[best].at + i]);
        }
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

    if (by_load(p)) {
        sort(&s->fits, by_free);
        return 0;
    }
    s->sorted.n = 0;
    for (uint32_t from = 0, to; from < s->fits.n; from = to) {
        int r;

        for (to = from + 1; to < s->fits.n && s->fits.v[to].wclass == s->fits.v[from].wclass;)
            to++;
        if (!split_runs(&s->fits, from, to, runs, &nruns))
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

    for (uint32_t i = 0; i < s->fits.n && sum.n < p->max && !enough(p, &sum, p->prefer); i++) {
        if (push(&s->chosen, &s->fits.v[i]) < 0)
            return -ENOMEM;
        sum_add(p, &sum, &s->fits.v[i]);
    }
    if (enough(p, &sum, p->min))
        return 1;
    s->chosen.n = had;
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

/* Where the limit on nodes binds, first try nodes that each hold an even part: any of them will do.
 * Then any in order; only if these are too few take those that hold most. */
static int choose_several(struct pick *p)
{
    int (*const orders[])(const void *, const void *) = { by_tasks, by_gres };
    struct sum sum = sum_of(p, &p->s->chosen);
    uint32_t even = p->tasks ? (p->tasks - 1) / p->max + 1 : 0, npj = p->cls->shape->npj;
    int r = 0;

    if (sum.n > p->max)
        return 0;
    if (enough(p, &sum, p->prefer))
        return 1;
    if (p->plan && p->tasks && !may_suffice(p, &sum))
        return 0;
    for (uint32_t pass = 0; r == 0 && pass < (even > 1 ? 2u : 1u); pass++) {
        r = gather(p, by_load(p) || pass, pass ? 0 : even);
        if (r == 0)
            r = order_fits(p);
        if (r == 0)
            r = take_in_order(p);
    }
    if (r != 0 || (even <= 1 && !npj))
        return r;
    for (size_t i = 0; r == 0 && i < (npj ? 2u : 1u); i++) {
        r = gather(p, true, 0);
        if (r == 0) {
            sort(&p->s->fits, orders[i]);
            r = take_in_order(p);
        }
    }
    return r;
}

/* The first and shortest stretch of adjacent nodes, around the required ones, that is enough. */
static int choose_contiguous(struct pick *p)
{
    struct sched *s = p->s;
    uint32_t best = UINT32_MAX, best_len = UINT32_MAX, need = s->chosen.n;
    struct fitvec *v = &s->fits;
    int r = gather(p, true, 0);

    for (uint32_t i = 0; r == 0 && i < s->chosen.n; i++)
        r = push(v, &s->chosen.v[i]);
    if (r < 0)
        return r;
    sort(v, by_node);
    for (uint32_t i = 0; i < v->n; i++) {
        struct sum sum = { 0 };
        uint32_t met = 0;

        for (uint32_t k = i; k < v->n && k - i < MIN(p->max, best_len - 1); k++) {
            if (k > i && v->v[k].id != v->v[k - 1].id + 1)
                break;
            sum_add(p, &sum, &v->v[k]);
            for (uint32_t q = 0; q < need; q++)
                met += s->chosen.v[q].id == v->v[k].id;
            if (met == need && enough(p, &sum, p->min)) {
                best = i;
                best_len = k - i + 1; /* ends the inner loop */
            }
        }
        if (best_len <= p->min)
            break;
    }
    if (best == UINT32_MAX)
        return 0;
    s->chosen.n = 0;
    for (uint32_t i = 0; r == 0 && i < best_len; i++)
        r = push(&s->chosen, &v->v[best + i]);
    return r < 0 ? r : 1;
}

static int try_alt(struct pick *p, const struct calt *a)
{
    struct sched *s = p->s;
    int r;

    s->chosen.n = 0;
    if (!set_goal(p, a))
        return 0;
    if (!candidates(p, a))
        return 0;
    if (p->min > 1 && bitmap_count(s->cand) < p->min)
        return 0;
    r = choose_required(p);
    if (r == 1)
        r = choose_counted(p, a);
    if (r <= 0)
        return r;
    if (p->k->flags & SHAPE_CONTIGUOUS)
        return choose_contiguous(p);
    if (s->chosen.n == 0 && p->prefer == 1) {
        r = choose_single(p);
        if (r != 0 || p->max == 1)
            return r;
    }
    return choose_several(p);
}

/* How many tasks each node gets CPUs for, in the order of choice: a node leaves one task for each
 * node that is to follow, and a whole core for each of those that must. What then is missing goes
 * where there is room. */
static void share_out(struct pick *p)
{
    struct fitvec *v = &p->s->chosen;
    uint64_t c = p->k->cpus_per_task, left = p->tasks * c, sum = 0;

    for (uint32_t i = 0; i < v->n; i++) {
        struct fit *f = &v->v[i];
        struct geometry g = pick_geometry(p, &p->s->nodes[f->id]);
        uint64_t follow = MAX(p->prefer, 1u) > i + 1 ? p->prefer - i - 1 : 0;
        uint64_t must = p->min > i + 1 ? p->min - i - 1 : 0;
        uint64_t keep = follow * c + must * (g.usable - 1);
        uint64_t want = left > keep ? (left - keep + c - 1) / c : 1;
        uint32_t n = (uint32_t)MIN(want, (uint64_t)f->tasks);

        n = MIN(f->tasks, geometry_tasks(p, &g, geometry_units(p, &g, MAX(n, 1u))));
        if (p->k->flags & SHAPE_OVERCOMMIT)
            n = f->tasks;
        f->hold = MAX(n, 1u);
        left -= MIN(left, f->hold * c);
        sum += f->hold;
    }
    for (uint32_t i = 0; i < v->n && sum < p->tasks; i++) {
        struct fit *f = &v->v[i];
        uint64_t more = MIN((uint64_t)(f->tasks - f->hold), p->tasks - sum);

        f->hold += (uint32_t)more;
        sum += more;
    }
}

/* CPUs that nobody has come first, then those that fewest share. */
static int try_shared(struct pick *p, const struct calt *a)
{
    int r = 0;

    for (p->share = p->idle ? p->share_max : 1; r == 0;
         p->share = MIN(p->share * 2, p->share_max)) {
        r = try_alt(p, a);
        if (r != 0 || p->share == p->share_max)
            return r;
    }
    return r;
}

/* Of a list of counts the largest that fits, or the smallest. */
static int try_counts(struct pick *p, const struct calt *a)
{
    const struct shape *sh = p->cls->shape;
    const uint32_t *counts = sh->nodes + sh->key.nreq + sh->key.nexc;
    uint32_t n = sh->key.ncounts;
    int r = 0;

    p->only = 0;
    if (!n)
        return try_shared(p, a);
    for (uint32_t i = 0; r == 0 && i < n; i++) {
        p->only = counts[p->k->flags & SHAPE_USE_MIN_NODES ? i : n - 1 - i];
        r = try_shared(p, a);
    }
    return r;
}

/* CPUs of all nodes that a job which ends at p->end_us may use, at most. */
static uint64_t free_at_most(const struct pick *p)
{
    struct sched *s = p->s;
    uint64_t most = 0;

    for (uint32_t i = 0; p->overlay && i < s->nresvs; i++) {
        struct resv *r = &s->resvs[i];

        if (r->start_us >= p->end_us)
            continue;
        if (r->taken_gen != s->busy_gen + 1) {
            r->taken = 0;
            for (size_t k = 0; k < r->alloc.nnodes; k++)
                r->taken += node_would_take(s, &r->alloc.nodes[k]);
            r->taken_gen = s->busy_gen + 1;
        }
        most = MAX(most, r->taken); /* not the sum: two may be for the same CPUs */
    }
    return s->free_cpus - most;
}

int pick_nodes(struct pick *p)
{
    int r = class_masks(p->s, p->cls);

    pick_init(p);
    if (r == 0 && !p->idle && !p->plan && pick_least_cpus(p) > free_at_most(p))
        return 0; /* with no look at any node */
    for (uint32_t i = 0; r == 0 && i < p->cls->nalts; i++)
        r = try_counts(p, &p->cls->alts[i]);
    if (r == 1 && p->tasks)
        share_out(p);
    if (r == 1)
        sort(&p->s->chosen, by_node);
    return r;
}

static bool required_down(const struct pick *p)
{
    const struct shape *sh = p->cls->shape;

    for (uint32_t i = 0; i < sh->key.nreq; i++)
        if (sh->nodes[i] < p->s->nbits && !bitmap_test(p->s->up, sh->nodes[i]))
            return true;
    return false;
}

enum sched_why pick_verdict(struct pick *p)
{
    struct pick idle = { .s = p->s, .cls = p->cls, .part = p->part, .idle = true };
    struct class *c = p->cls;

    if (c->verdict_gen == p->s->up_gen + 1)
        return c->verdict;
    if (pick_nodes(&idle) == 1) {
        c->verdict = SCHED_WHY_RESOURCES;
    } else {
        idle.any_state = true;
        if (pick_nodes(&idle) != 1)
            c->verdict = SCHED_WHY_BAD_CONSTRAINTS;
        else
            c->verdict = required_down(p) ? SCHED_WHY_NODE_NOT_AVAIL : SCHED_WHY_NODES_UNAVAILABLE;
    }
    c->verdict_gen = p->s->up_gen + 1;
    return c->verdict;
}
