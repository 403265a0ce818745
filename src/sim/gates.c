/* gates.c - see gates.h
 *
 * For each job the list of those that come after it, in one array (first[job] .. first[job + 1]).
 */
#include "sim/gates.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define NONE UINT32_MAX

struct group {
    uint32_t in, limit;
    uint32_t head, tail; /* jobs that wait for room */
};

struct gates {
    const struct workload *w;
    uint32_t *first, *later; /* who comes after whom */
    uint32_t *left;          /* by job: how many it still waits for */
    uint32_t *next;          /* by job: behind it in its group's line */
    bool *in;                /* by job: counted in its group */
    struct group *groups;
    uint32_t ngroups;
};

struct gates *gates_free(struct gates *g)
{
    if (!g)
        return NULL;
    free(g->first);
    free(g->later);
    free(g->left);
    free(g->next);
    free(g->in);
    free(g->groups);
    free(g);
    return NULL;
}

DEFINE_CLEANUP(struct gates *, gates_free)

static int link_later(struct gates *g)
{
    const struct workload *w = g->w;
    size_t total = 0;

    for (size_t i = 0; i < w->n; i++)
        for (uint32_t k = 0; k < w->jobs[i].nafter; k++) {
            if (w->jobs[i].after[k] >= w->n)
                return -EINVAL;
            g->first[w->jobs[i].after[k] + 1]++;
            total++;
        }
    if (total > UINT32_MAX)
        return -EINVAL;
    for (size_t i = 0; i < w->n; i++)
        g->first[i + 1] += g->first[i];
    g->later = malloc((total + 1) * sizeof(*g->later));
    if (!g->later)
        return -ENOMEM;
    for (size_t i = w->n; i-- > 0;) /* backwards: each list ends up in the order of the jobs */
        for (uint32_t k = 0; k < w->jobs[i].nafter; k++)
            g->later[--g->first[w->jobs[i].after[k] + 1]] = (uint32_t)i;
    for (size_t i = 0; i < w->n; i++) /* they stand one too far now */
        g->first[i] = g->first[i + 1];
    g->first[w->n] = (uint32_t)total;
    return 0;
}

int gates_new(const struct workload *w, const uint32_t *throttle, uint32_t nthrottle,
              struct gates **ret)
{
    _cleanup_(gates_free) struct gates *g = NULL;
    bool any = false;
    int r;

    for (size_t i = 0; i < w->n; i++) {
        if (w->jobs[i].group > nthrottle)
            return -EINVAL;
        any = any || w->jobs[i].nafter || w->jobs[i].group;
    }
    *ret = NULL;
    if (!any)
        return 0;
    g = calloc(1, sizeof(*g));
    if (!g)
        return -ENOMEM;
    g->w = w;
    g->ngroups = nthrottle;
    g->first = calloc(w->n + 2, sizeof(*g->first));
    g->left = calloc(w->n + 1, sizeof(*g->left));
    g->next = calloc(w->n + 1, sizeof(*g->next));
    g->in = calloc(w->n + 1, sizeof(*g->in));
    g->groups = calloc(nthrottle + 1, sizeof(*g->groups));
    if (!g->first || !g->left || !g->next || !g->in || !g->groups)
        return -ENOMEM;
    for (uint32_t i = 0; i < nthrottle; i++)
        g->groups[i] = (struct group){ .limit = throttle[i], .head = NONE, .tail = NONE };
    for (size_t i = 0; i < w->n; i++)
        g->left[i] = w->jobs[i].after_any ? MIN(w->jobs[i].nafter, 1u) : w->jobs[i].nafter;
    r = link_later(g);
    if (r == 0)
        *ret = TAKE_PTR(g);
    return r;
}

bool gates_waits(const struct gates *g, uint32_t job)
{
    return g && g->left[job] > 0;
}

bool gates_enter(struct gates *g, uint32_t job)
{
    struct group *gr = g->w->jobs[job].group ? &g->groups[g->w->jobs[job].group - 1] : NULL;

    if (!gr || g->in[job])
        return true;
    if (gr->in < gr->limit) {
        gr->in++;
        g->in[job] = true;
        return true;
    }
    g->next[job] = NONE;
    if (gr->tail == NONE)
        gr->head = job;
    else
        g->next[gr->tail] = job;
    gr->tail = job;
    return false;
}

void gates_runs(struct gates *g, uint32_t job)
{
    if (!g->w->jobs[job].group || g->in[job])
        return;
    g->in[job] = true;
    g->groups[g->w->jobs[job].group - 1].in++;
}

static int release_waiting(struct gates *g, uint32_t job, bool start, int64_t now_us,
                           struct events *events)
{
    int r = 0;

    for (uint32_t k = g->first[job]; r == 0 && k < g->first[job + 1]; k++) {
        uint32_t i = g->later[k];
        const struct sim_job *j = &g->w->jobs[i];

        if (j->after_start != start || !g->left[i] || --g->left[i] || j->held)
            continue;
        r = events_push(events, MAX(now_us, j->submit_us), SIM_EV_SUBMIT, i, 0);
    }
    return r;
}

int gates_started(struct gates *g, uint32_t job, int64_t now_us, struct events *events)
{
    return release_waiting(g, job, true, now_us, events);
}

int gates_ended(struct gates *g, uint32_t job, int64_t now_us, struct events *events)
{
    struct group *gr = g->w->jobs[job].group ? &g->groups[g->w->jobs[job].group - 1] : NULL;
    uint32_t waiting;

    if (gr && g->in[job]) {
        g->in[job] = false;
        gr->in--;
        waiting = gr->in < gr->limit ? gr->head : NONE;
        if (waiting != NONE) {
            gr->head = g->next[waiting];
            if (gr->head == NONE)
                gr->tail = NONE;
            if (events_push(events, now_us, SIM_EV_SUBMIT, waiting, 0) < 0)
                return -ENOMEM;
        }
    }
    return release_waiting(g, job, false, now_us, events);
}
