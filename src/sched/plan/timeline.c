/* timeline.c - planning: when and where a blocked job will start, and what that leaves for others.
 *
 * Planning really releases running jobs, in the order of their ends, on the very structures that
 * selection reads, and takes them back afterwards; s->travelling keeps this from counting as
 * growth.  What is released only grows, so the first moment at which a job fits is found by
 * galloping and bisection.  Reservations made before are held during the search, for ever: simple,
 * and never late for them. */
#include "sched/plan/timeline.h"

#include <errno.h>

#include "base/cleanup.h"
#include "sched/plan/gallop.h"
#include "sched/rules/advres.h"
#include "sched/rules/advtime.h"
#include "sched/rules/jobhold.h"
#include "sched/rules/licfit.h"
#include "sched/sched.h"
#include "sched/select/joblayout.h"
#include "sched/select/nodeview.h"
#include "sched/select/pick.h"
#include "sched/state/alloc.h"
#include "sched/state/jobs.h"
#include "sched/state/lics.h"
#include "sched/state/nodes.h"
#include "sched/state/parts.h"
#include "sched/state/question.h"
#include "sched/state/resvs.h"
#include "sched/state/sched_obj.h"

static void travel_to(struct sched *s, uint32_t to)
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
static int fits_as_held(struct pick *p)
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
    travel_to(s, end);
    r = fits_as_held(x->p);
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
        travel_to(s, at);
        adv_span(p, *moment_us, p->minutes);
        r = fits_as_held(p);
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
    p->no_layers = !s->params.bf_licenses;
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
        travel_to(s, at);
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
    travel_to(s, 0);
    hold_resvs(s, false);
    s->travelling = false;
    return r;
}
