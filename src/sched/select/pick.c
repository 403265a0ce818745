/* pick.c - which nodes a job gets.
 *
 * Candidates come from bitmaps; they are walked by weight, then id.  A job that fits on one node
 * takes the first of the lowest weight that holds it; it goes to heavier nodes only when the
 * lighter ones together do not do (pickone.c).  Others take several (pickmany.c). */
#include "sched/select/pick.h"

#include <errno.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "sched/profile/prof_filter.h"
#include "sched/rules/advres.h"
#include "sched/rules/spares.h"
#include "sched/sched.h"
#include "sched/select/fit.h"
#include "sched/select/hrespick.h"
#include "sched/select/masks.h"
#include "sched/select/nodeview.h"
#include "sched/select/pickkeep.h"
#include "sched/select/pickmany.h"
#include "sched/select/pickone.h"
#include "sched/select/picktopo.h"
#include "sched/select/picksum.h"
#include "sched/state/classes.h"
#include "sched/state/fits.h"
#include "sched/state/nodes.h"
#include "sched/state/parts.h"
#include "sched/state/question.h"
#include "sched/state/resvs.h"
#include "sched/state/sched_obj.h"
#include "sched/state/shape.h"
#include "sched/topo/topo.h"

/* Counts of what is preferred find no place beside the nodes that the job names (-w), where it
 * leaves their number to these: a wish makes no job larger. */
static bool wish_adds(const struct pick *p, const struct calt *a)
{
    return a->liked && a->ncounts && !p->k->max_nodes && shape_must(p->cls->shape);
}

/* How many nodes the job has at least beside so many counted ones: a node that it names (-w) is one
 * of those of the first count, and beside those of the others. */
static uint32_t named_and_counted(const struct pick *p, const struct calt *a, uint32_t counted)
{
    const struct shape *sh = p->cls->shape;
    uint32_t must = shape_must(sh), named = 0;

    if (!counted || p->k->flags & SHAPE_CONTIGUOUS)
        return MAX(must, counted);
    for (uint32_t i = 0; i < must; i++)
        named += sh->nodes[i] < p->s->nbits && bitmap_test(a->counted[0], sh->nodes[i]);
    return must + counted - MIN(named, a->counts[0]);
}

/* What is asked of the set of nodes.  False when that contradicts itself. */
static bool set_goal(struct pick *p, const struct calt *a)
{
    const struct shape_key *k = p->k;
    uint64_t counted = 0;

    if (wish_adds(p, a))
        return false;
    for (uint32_t i = 0; i < a->ncounts; i++)
        counted += a->counts[i];
    if (counted > BITMAP_MAX_BITS)
        return false;
    p->min = MAX(k->min_nodes, named_and_counted(p, a, (uint32_t)counted));
    p->max = k->max_nodes ? k->max_nodes : UINT32_MAX;
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
    if (k->flags & SHAPE_USE_MIN_NODES)
        return true; /* whatever is to be spread: no more nodes than need be */
    if (k->max_nodes > k->min_nodes)
        p->prefer = p->max;
    if ((k->flags & SHAPE_SPREAD) && p->tasks)
        p->prefer = p->max;
    else if ((k->flags & SHAPE_SPREAD) && !k->max_nodes) /* each gets as many as all were to get */
        p->prefer = (uint32_t)MIN((uint64_t)p->max, (uint64_t)p->min * p->each);
    return true;
}

/* Nodes that may hold a part, by bitmaps alone.  False when they are too few. */
static bool find_candidates(struct pick *p, const struct calt *a)
{
    struct sched *s = p->s;
    uint64_t cpus = p->k->flags & SHAPE_OVERCOMMIT ? 1 : p->k->cpus_per_task;

    bitmap_copy(s->cand, a->elig);
    if (!p->any_state)
        bitmap_and(s->cand, s->up);
    if (p->minus)
        bitmap_andnot(s->cand, p->minus);
    spares_keep(p, s->cand);
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
    bitmap_and(s->cand, nodes_with_room(s, cpus));
    return true;
}

/* ---- required and counted nodes -------------------------------------------------------------- */

static int choose_node(struct pick *p, uint32_t id)
{
    struct fit f;

    if (!bitmap_test(p->s->cand, id) || !node_fit(p, id, &f) || !hres_take(p, HRES_CHOSEN, id))
        return 0;
    bitmap_clear(p->s->cand, id);
    return push_fit(&p->s->chosen, &f) < 0 ? -ENOMEM : 1;
}

static int choose_required(struct pick *p)
{
    const struct shape *sh = p->cls->shape;

    for (uint32_t i = 0; i < shape_must(sh); i++) {
        int r = sh->nodes[i] < p->s->nbits ? choose_node(p, sh->nodes[i]) : 0;

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
                int r = choose_node(p, id);

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

/* ---- several nodes --------------------------------------------------------------------------- */

static int try_alt(struct pick *p, const struct calt *a)
{
    struct sched *s = p->s;
    int r;

    s->chosen.n = 0;
    if (!set_goal(p, a))
        return 0;
    if (!find_candidates(p, a))
        return 0;
    p->counted = false;
    if (p->cls->shape->key.nlics) {
        r = hres_admit(p, s->cand);
        if (r <= 0)
            return r;
    }
    if (p->min > 1 && bitmap_count(s->cand) < p->min)
        return 0;
    if (p->part->topo && topo_decides(p, a)) {
        r = pick_keeps_one(p) ? choose_keeping(p) : 0;
        return r ? r : choose_by_topo(p);
    }
    r = choose_required(p);
    if (r == 1 && p->k->flags & SHAPE_CONTIGUOUS)
        return choose_contiguous(p, a);
    if (r == 1)
        r = choose_counted(p, a);
    if (r <= 0)
        return r;
    p->prefer = MAX(p->prefer, s->chosen.n); /* each has a task at least */
    if (s->chosen.n == 0 && p->prefer == 1) {
        r = choose_single(p);
        if (r != 0 || p->max == 1)
            return r;
    }
    return choose_several(p);
}

/* How many tasks each node gets CPUs for, in the order of choice: a node leaves one task for each
 * node that is to follow, and a whole core for each of those that must, of a job that is to be
 * spread for all. What then is missing goes where there is room. */
static void share_out(struct pick *p)
{
    struct fitvec *v = &p->s->chosen;
    uint32_t least = p->k->flags & SHAPE_SPREAD ? MIN(p->prefer, v->n) : p->min;
    uint64_t c = p->k->cpus_per_task, left = p->tasks * c, sum = 0;

    for (uint32_t i = 0; i < v->n; i++) {
        struct fit *f = &v->v[i];
        struct geometry g = pick_geometry(p, &p->s->nodes[f->id]);
        uint64_t follow = MAX(p->prefer, 1u) > i + 1 ? p->prefer - i - 1 : 0;
        uint64_t must = least > i + 1 ? least - i - 1 : 0;
        uint64_t core = p->k->ntasks_per_core ? MIN(p->k->ntasks_per_core * c, g.usable) : g.usable;
        uint64_t keep = follow * c + (pick_by_cpus(p) ? 0 : must * (core - 1));
        uint64_t want = left > keep ? (left - keep + c - 1) / c : 1;
        uint32_t n = (uint32_t)MIN(want, (uint64_t)f->tasks);

        if (!pick_by_cpus(p))
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

/* First CPUs that no job has, then those that fewest jobs share. */
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

/* TopoMaxSizeUnroll: where block is the cluster's topology a narrow range of nodes is tried size by
 * size, as block takes the smallest size otherwise; a wider one never starts. */
static int try_range(struct pick *p, const struct calt *a)
{
    const struct shape_key *k = p->k;
    int r = 0;

    if (k->max_nodes - k->min_nodes >= p->s->params.topo_unroll)
        return 0;
    for (p->only = k->max_nodes; r == 0 && p->only >= k->min_nodes; p->only--)
        r = try_shared(p, a);
    return r;
}

static bool is_unrolled(const struct pick *p)
{
    const struct sched *s = p->s;

    return s->params.topo_unroll && p->part->topo && p->k->max_nodes > p->k->min_nodes &&
           topo_get_spec(s->topos[0])->kind == TOPO_BLOCK &&
           topo_get_spec(p->part->topo)->kind == TOPO_BLOCK;
}

/* Of a list of counts the largest that fits, or the smallest. */
static int try_counts(struct pick *p, const struct calt *a)
{
    const struct shape *sh = p->cls->shape;
    const uint32_t *counts = sh->nodes + sh->key.nreq + sh->key.nexc;
    uint32_t n = sh->key.ncounts;
    int r = 0;

    p->only = 0;
    if (p->k->flags & SHAPE_BOOT)
        pick_take_whole(p, a->boot);
    if (!n && is_unrolled(p))
        return try_range(p, a);
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
    p->topo = TOPO_WHY_NONE;
    if (r == 0 && !p->idle && !p->plan && pick_least_cpus(p) > free_at_most(p))
        return 0; /* with no look at any node */
    for (uint32_t i = 0; r == 0 && i < p->cls->nalts; i++) {
        p->liked = p->cls->alts[i].liked;
        r = try_counts(p, &p->cls->alts[i]);
    }
    if (r == 1 && p->tasks)
        share_out(p);
    if (r == 1)
        sort_fits(&p->s->chosen, by_node);
    return r;
}

static bool required_down(const struct pick *p)
{
    const struct shape *sh = p->cls->shape;

    for (uint32_t i = 0; i < shape_must(sh); i++)
        if (sh->nodes[i] < p->s->nbits && !bitmap_test(p->s->up, sh->nodes[i]))
            return true;
    return false;
}

/* Enough nodes are up, of another kind than the job asks for. */
static bool others_up(const struct pick *p)
{
    const struct shape_key *k = p->k;

    return (k->ngres || k->features_off != UINT32_MAX) &&
           bitmap_count_and(p->part->nodes, p->s->up) >= MAX(k->min_nodes, 1u);
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
            c->verdict = c->shape->extra ? SCHED_WHY_RESOURCES /* what nodes tell changes */
                                         : SCHED_WHY_BAD_CONSTRAINTS;
        else
            c->verdict = required_down(p) || others_up(&idle) ? SCHED_WHY_NODE_NOT_AVAIL
                                                              : SCHED_WHY_NODES_UNAVAILABLE;
    }
    c->verdict_gen = p->s->up_gen + 1;
    return c->verdict;
}
