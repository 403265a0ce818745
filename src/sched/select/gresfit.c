/* gresfit.c - how much of a job the devices of a node allow */
#include "sched/select/gresfit.h"

#include "base/cleanup.h"
#include "sched/select/gresbind.h"
#include "sched/select/gresfree.h"
#include "sched/select/nodeview.h"
#include "sched/state/bounds.h"
#include "sched/state/fits.h"
#include "sched/state/gresrow.h"
#include "sched/state/nodes.h"
#include "sched/state/question.h"
#include "sched/state/sched_obj.h"
#include "sched/state/shape.h"

/* What comes with the GPUs of the job: CPUs and memory are counted by them, or tasks. */
static bool fit_gpus(const struct pick *p, uint32_t id, uint32_t req, uint64_t cpus, struct fit *f)
{
    const struct shape_key *k = p->k;
    const struct shape_gres *g = &k->gres[req];
    uint64_t most = UINT64_MAX;

    if (k->cpus_per_gpu)
        most = cpus / k->cpus_per_gpu;
    if (k->mem_per_gpu_mib && p->part->select_memory)
        most = MIN(most, pick_free_mem(p, id) / k->mem_per_gpu_mib);
    if (most < g->per_node || (g->per_job && !most))
        return false;
    if (g->per_job) {
        f->gres[req] = (uint32_t)MIN((uint64_t)f->gres[req], most);
        if (k->tasks_per_gpu)
            f->tasks = (uint32_t)MIN((uint64_t)f->tasks, (uint64_t)f->gres[req] * k->tasks_per_gpu);
    }
    if (g->per_task)
        f->tasks = (uint32_t)MIN((uint64_t)f->tasks, most / g->per_task);
    if (g->per_node && k->tasks_per_gpu)
        f->tasks = (uint32_t)MIN((uint64_t)f->tasks, g->per_node * k->tasks_per_gpu);
    return true;
}

/* What the job can have of shares: of one device, unless several may serve it.  *ret_tasks:
 * tasks it is enough for. */
static uint64_t free_shares(const struct pick *p, uint32_t id, uint32_t at, uint64_t per_task,
                            uint64_t *ret_tasks)
{
    const struct gres_row *row = &p->s->nodes[id].gres[at];
    bool apart = p->k->flags & SHAPE_TASK_SHARE, several = p->s->params.several_shared;
    uint64_t words[SCHED_MAX_DEVICES / 64], sum = 0, most = 0, tasks = 0, most_tasks = 0;
    uint32_t first = 0;

    (void)gres_free(p, id, at, words); /* for the devices it writes */
    for (uint32_t i = 0; i < row->nshares; first += row->shares[i++].count) {
        uint64_t here = gres_count(words, first, row->shares[i].count);
        uint64_t fit = per_task ? here / per_task : 0;

        fit = apart ? MIN(fit, 1u) : fit;
        sum += here;
        most = MAX(most, here);
        tasks += fit;
        most_tasks = MAX(most_tasks, fit);
    }
    *ret_tasks += several || apart ? tasks : most_tasks;
    return several || (apart && per_task) ? sum : most;
}

/* Free for a request, over all rows that serve it. */
static uint64_t free_for(const struct pick *p, uint32_t id, uint32_t req, uint64_t *ret_tasks)
{
    const struct node *n = &p->s->nodes[id];
    uint64_t avail = 0, per_task = p->k->gres[req].per_task, loose = 0;

    *ret_tasks = 0;
    for (uint32_t row = 0; row < n->ngres; row++) {
        uint64_t here;

        if (!gres_row_matches(p, &n->gres[row], req))
            continue;
        if (!n->gres[row].shares) {
            loose += gres_free(p, id, row, NULL);
            continue;
        }
        here = free_shares(p, id, row, per_task, ret_tasks);
        avail = p->s->params.several_shared ? avail + here : MAX(avail, here);
    }
    if (per_task)
        *ret_tasks += loose / per_task;
    return avail + loose;
}

static bool fit_request(const struct pick *p, uint32_t id, uint32_t i, uint64_t cpus, struct fit *f)
{
    const struct shape_key *k = p->k;
    const struct shape_gres *g = &k->gres[i];
    uint64_t tasks, avail = free_for(p, id, i, &tasks), typed = 0;

    for (uint32_t j = 0; g->type_off == UINT32_MAX && j < k->ngres; j++)
        if (j != i && k->gres[j].type_off != UINT32_MAX && p->gname[j] == p->gname[i])
            typed += k->gres[j].per_node; /* of the same name; served first */
    avail = avail > typed ? avail - typed : 0;
    if (avail < g->per_node || (g->per_job && !avail) || !gres_fit_sockets(p, id, i))
        return false;
    if (g->per_job)
        f->gres[i] = (uint32_t)MIN(avail, (uint64_t)UINT32_MAX);
    if (g->per_task)
        f->tasks = (uint32_t)MIN((uint64_t)f->tasks, MIN(tasks, avail / g->per_task));
    return i != p->gpu || fit_gpus(p, id, i, cpus, f);
}

bool gres_fit(const struct pick *p, uint32_t id, const struct geometry *g, uint32_t units,
              struct fit *f)
{
    const struct node *n = &p->s->nodes[id];

    for (uint32_t i = 0; i < p->k->ngres; i++)
        if (!fit_request(p, id, i, (uint64_t)units * g->usable, f))
            return false;
    return !n->near || !(p->k->flags & SHAPE_BIND) || p->whole || gres_fit_bound(p, id, g, f);
}
