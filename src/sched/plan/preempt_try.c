/* preempt_try.c - the fewest and cheapest victims with which a job fits.
 *
 * Candidates are put in order, cheapest first, and really released on the structures that
 * selection reads (s->travelling: capacity does not count as grown) until the job fits.  What the
 * chosen nodes do not need is taken back, then every other victim in turn, dearest first, is tried
 * without: no victim is left that the job could do without.  A second order, large jobs first, may
 * find fewer victims. */
#include "sched/plan/preempt_try.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "sched/plan/gallop.h"
#include "sched/plan/preempt_data.h"
#include "sched/rules/jobhold.h"
#include "sched/rules/licfit.h"
#include "sched/sched.h"
#include "sched/select/joblayout.h"
#include "sched/select/pick.h"
#include "sched/state/alloc.h"
#include "sched/state/jobs.h"
#include "sched/state/nodes.h"
#include "sched/state/sched_obj.h"

void choice_done(struct choice *c)
{
    alloc_done(&c->alloc);
    free(c->victims);
    *c = (struct choice){ 0 };
}

/* ---- order ----------------------------------------------------------------------------------- */

static int compare_level(const struct cand *a, const struct cand *b)
{
    if (a->j->yielded != b->j->yielded)
        return a->j->yielded ? -1 : 1; /* it is suspended already */
    if (a->qos_priority != b->qos_priority)
        return a->qos_priority < b->qos_priority ? -1 : 1;
    if (a->tier != b->tier)
        return a->tier < b->tier ? -1 : 1;
    if (a->lost != b->lost)
        return a->lost ? 1 : -1;
    return 0;
}

/* The youngest first.  Without youngest_first the job that runs longest goes, of those that are
 * alike: sites know that order. */
static int compare_age(const struct cand *a, const struct cand *b)
{
    if (a->j->start_us != b->j->start_us)
        return a->j->start_us > b->j->start_us ? -1 : 1;
    return (a->j->id < b->j->id) - (a->j->id > b->j->id);
}

static int by_size(const void *pa, const void *pb)
{
    const struct cand *a = pa, *b = pb;
    int d = compare_level(a, b);

    if (d == 0 && a->size != b->size)
        d = a->size < b->size ? -1 : 1;
    return d ? d : compare_age(b, a);
}

static int by_size_down(const void *pa, const void *pb)
{
    const struct cand *a = pa, *b = pb;
    int d = compare_level(a, b);

    if (d == 0 && a->size != b->size)
        d = a->size > b->size ? -1 : 1;
    return d ? d : compare_age(b, a);
}

static int by_age(const void *pa, const void *pb)
{
    int d = compare_level(pa, pb);

    return d ? d : compare_age(pa, pb);
}

/* ---- trying ---------------------------------------------------------------------------------- */

static void put_out(struct psearch *x, struct cand *c, bool out)
{
    struct job *k = c->j;

    if (c->out == out)
        return;
    c->out = out;
    if (c->mode != SCHED_MODE_SUSPEND) {
        if (out)
            job_release(x->s, k);
        else
            job_take(x->s, k);
        return;
    }
    for (size_t i = 0; i < k->alloc.nnodes; i++) {
        if (out)
            node_release(x->s, &k->alloc.nodes[i], k->part, k->firm, true, false);
        else
            node_take(x->s, &k->alloc.nodes[i], k->part, k->firm, true, false);
    }
}

static void put_first(struct psearch *x, uint32_t n)
{
    for (; x->at < n; x->at++)
        put_out(x, &x->v[x->at], true);
    while (x->at > n)
        put_out(x, &x->v[--x->at], false);
}

static int fits_released(struct psearch *x)
{
    uint32_t which;

    return lics_fit(x->s, &x->e->job->want, 0, &which) ? pick_nodes(&x->p) : 0;
}

static int fits_without(void *ctx, uint32_t n, uint32_t *lo, uint32_t *hi)
{
    (void)lo; /* every candidate counts */
    (void)hi;
    put_first(ctx, n);
    return fits_released(ctx);
}

/* The shortest row of candidates whose going is enough; 0 in *ret_n: all of them are not. */
static int shortest_row(struct psearch *x, uint32_t *ret_n)
{
    int r = gallop(x->n, fits_without, x, ret_n);

    if (r == 0)
        put_first(x, *ret_n);
    return r;
}

static int lay_out(struct psearch *x, struct sched_alloc *ret)
{
    uint32_t which;

    return lics_fit(x->s, &x->e->job->want, 0, &which) ? pick_layout(&x->p, ret) : 0;
}

/* Of the n released, take back each that the job does not need gone, the dearest first. */
static int take_back(struct psearch *x, uint32_t n)
{
    _cleanup_val_(alloc_done) struct sched_alloc first = { 0 };
    int r = lay_out(x, &first);

    for (uint32_t i = n; r == 1 && i-- > 0;) {
        put_out(x, &x->v[i], false);
        r = fits_released(x);
        if (r == 0) {
            put_out(x, &x->v[i], true);
            r = 1;
        }
    }
    return r;
}

/* Those on none of the nodes the job would get now go back at once: there may be very many. */
static int take_back_elsewhere(struct psearch *x, uint32_t n)
{
    _cleanup_(bitmap_free) struct bitmap *kept = NULL;
    int r = fits_released(x);

    if (r != 1)
        return r;
    r = bitmap_new(x->s->nbits, &kept);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < x->s->chosen.n; i++)
        bitmap_set(kept, x->s->chosen.v[i].id);
    for (uint32_t i = 0; i < n; i++) {
        struct cand *c = &x->v[i];
        bool on = c->j->held.n && x->s->params.preempt.reclaim_licenses;

        for (size_t a = 0; !on && a < c->j->alloc.nnodes; a++)
            on = bitmap_test(kept, c->j->alloc.nodes[a].node_id);
        if (!on)
            put_out(x, c, false);
    }
    r = fits_released(x);
    if (r == 0) { /* selection went elsewhere: all over again, the slow way */
        for (uint32_t i = 0; i < n; i++)
            put_out(x, &x->v[i], true);
        r = 1;
    }
    return r;
}

static int take_victims(struct psearch *x, uint32_t n, struct choice *ret)
{
    ret->victims = calloc(n + 1, sizeof(*ret->victims));
    if (!ret->victims)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++) {
        const struct cand *c = &x->v[i];

        if (!c->out)
            continue;
        ret->victims[ret->n++] = (struct sched_victim){ .job_id = c->j->id, .mode = c->mode };
        if (c->j->yielded)
            continue;
        ret->harm.n++;
        ret->harm.lost += c->lost;
        ret->harm.qos_priority = MAX(ret->harm.qos_priority, c->qos_priority);
        ret->harm.tier = MAX(ret->harm.tier, c->tier);
        ret->harm.work += (double)c->size * (double)(x->now_us - c->j->start_us);
    }
    return 1;
}

/* A set without a superfluous member, in the order the candidates are in.  1, 0: there is none. */
static int choose_victims(struct psearch *x, struct choice *ret)
{
    uint32_t n = 0;
    int r = shortest_row(x, &n);

    if (r == 0 && n) {
        r = take_back_elsewhere(x, n);
        if (r == 1)
            r = take_back(x, n);
        if (r == 1)
            r = lay_out(x, &ret->alloc);
        if (r == 1)
            r = take_victims(x, n, ret);
    }
    for (uint32_t i = 0; i < x->n; i++)
        put_out(x, &x->v[i], false);
    x->at = 0;
    if (r <= 0)
        choice_done(ret);
    return r;
}

static bool less_harm(const struct harm *a, const struct harm *b)
{
    if (a->qos_priority != b->qos_priority)
        return a->qos_priority < b->qos_priority;
    if (a->tier != b->tier)
        return a->tier < b->tier;
    if (a->lost != b->lost)
        return a->lost < b->lost;
    if (a->n != b->n)
        return a->n < b->n;
    return a->work < b->work;
}

int search_victims(struct psearch *x, struct choice *ret)
{
    const struct sched_preempt *pre = &x->s->params.preempt;
    struct choice other = { 0 };
    int r = fits_released(x);

    if (r != 0)
        return r < 0 ? r : 0; /* no job has to go beside those that leave anyway */
    qsort(x->v, x->n, sizeof(*x->v), pre->youngest_first ? by_age : by_size);
    r = choose_victims(x, ret);
    if (r != 1 || pre->strict_order || !pre->reorder_count || ret->n < 2)
        return r;
    qsort(x->v, x->n, sizeof(*x->v), by_size_down);
    r = choose_victims(x, &other);
    if (r == 1 && less_harm(&other.harm, &ret->harm)) {
        choice_done(ret);
        *ret = other;
        return 1;
    }
    choice_done(&other);
    return r < 0 ? r : 1;
}
