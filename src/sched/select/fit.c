/* fit.c - how much of a job one node can hold.
 *
 * A job sees a node as units: single CPUs, or cores where these are not divided.  `grain` units are
 * taken together (a socket, a whole node).  What is free is counted now, as if nothing ran (idle),
 * now without what is reserved for blocked jobs before the job would end (overlay), or throughout a
 * span of slots (plan).  More free resources never make a node fit less: planning relies on
 * that. */
#include "sched/select/fit.h"

#include "base/cleanup.h"
#include "sched/profile/prof_data.h"
#include "sched/profile/prof_recall.h"
#include "sched/rules/advres.h"
#include "sched/sched.h"
#include "sched/select/gresfit.h"
#include "sched/select/nodeview.h"
#include "sched/state/classes.h"
#include "sched/state/fits.h"
#include "sched/state/nodes.h"
#include "sched/state/parts.h"
#include "sched/state/question.h"
#include "sched/state/resvs.h"
#include "sched/state/sched_obj.h"
#include "sched/state/shape.h"

static bool any_conflict(const struct pick *p, uint32_t id)
{
    const struct resv_node *spare;

    for (uint32_t i = 0; p->overlay && i < p->s->nresvs; i++)
        if (pick_conflict(p, &p->s->resvs[i], id, &spare))
            return true;
    return false;
}

static uint32_t free_in_socket(const struct geometry *g, const uint64_t *words, uint32_t socket)
{
    uint32_t sum = 0;

    for (uint32_t u = socket * g->per_socket; u < (socket + 1) * g->per_socket; u++)
        sum += unit_free(words, u, g->gran);
    return sum;
}

static uint32_t count_units(const struct pick *p, uint32_t id, const struct geometry *g)
{
    const struct node *n = &p->s->nodes[id];
    const struct prof_view *v = p->plan ? view_of(p, id) : NULL;
    uint64_t *words = p->s->cpu_words;
    uint32_t sum = 0;
    bool cut = adv_blocked(p, id) != NULL, all = !cut && !for_gpus(p, n) && !socket_limit(p, n);

    if (p->whole && (cut || socket_limit(p, n)))
        return 0; /* it could never have all of them */
    if (p->whole && v)
        return v->held ? 0 : g->avail;
    if (p->whole)
        return p->idle || (n->nrun == 0 && !any_conflict(p, id)) ? g->avail : 0;
    if (all && p->idle && (g->grain == 1 || !n->spec))
        return g->avail;
    if (all && p->share == 1 && g->grain == 1 && v)
        return g->gran == 1 ? v->free_cpus : v->free_cores;
    if (all && p->share == 1 && g->grain == 1 && !any_conflict(p, id))
        return g->gran == 1 ? n->free_cpus : n->free_cores;
    pick_free_cpus(p, id, words);
    if (g->grain == 1) {
        for (uint32_t u = 0; u < g->units; u++)
            sum += unit_free(words, u, g->gran);
        return sum;
    }
    for (uint32_t k = 0; k < n->sockets; k++)
        sum += free_in_socket(g, words, k) == g->per_socket ? g->per_socket : 0;
    return sum;
}

/* Tasks when each socket takes only so many. */
static uint32_t tasks_by_socket(const struct pick *p, uint32_t id, const struct geometry *g,
                                uint32_t units)
{
    const struct node *n = &p->s->nodes[id];
    uint32_t limit = p->k->ntasks_per_socket, sum = 0;
    bool empty = (p->idle || p->whole) && !n->spec && !p->k->core_spec && !for_gpus(p, n) &&
                 !socket_limit(p, n) && !adv_blocked(p, id);

    if (!empty)
        pick_free_cpus(p, id, p->s->cpu_words);
    for (uint32_t k = 0; k < n->sockets; k++) {
        uint32_t f = empty ? g->per_socket : free_in_socket(g, p->s->cpu_words, k);

        if (p->part->select == SCHED_SELECT_SOCKET && f < g->per_socket)
            f = 0;
        sum += MIN(limit, geometry_tasks(p, g, f));
    }
    if (p->whole)
        return sum;
    /* The limits on units must hold however the tasks fall: large ones round per socket. */
    if (g->grain > 1) {
        uint32_t per = MIN(limit, geometry_tasks(p, g, g->per_socket));

        return MIN(sum, units / g->grain * per);
    }
    if (p->k->cpus_per_task == 1)
        return MIN(sum, geometry_tasks(p, g, units));
    return MIN(sum, units / MAX(geometry_units(p, g, 1), 1u));
}

/* CPUs the partition's limit leaves on the node. */
static uint32_t part_cpus_free(const struct pick *p, uint32_t id)
{
    const struct resv_node *spare;
    uint32_t limit = p->part->max_cpus_per_node, used, avail;

    if (!p->part->node_cpus)
        return UINT32_MAX;
    used = p->idle   ? 0
           : p->plan ? view_of(p, id)->part_cpus[node_part_index(&p->s->nodes[id], p->part->id)]
                     : p->part->node_cpus[id];
    avail = limit > used ? limit - used : 0;
    for (uint32_t i = 0; p->overlay && i < p->s->nresvs; i++)
        if (p->s->resvs[i].part == p->part->id && pick_conflict(p, &p->s->resvs[i], id, &spare))
            avail = MIN(avail, spare->spare_part_cpus);
    return avail;
}

/* CPUs of it that memory and the partition's limit leave the job where CPUs are counted one by
 * one. */
static uint64_t cpu_room(const struct pick *p, uint32_t id)
{
    uint64_t room = part_cpus_free(p, id), mem = p->k->mem_per_cpu_mib;

    return mem && !(p->k->flags & SHAPE_MEM_PER_NODE) ? MIN(room, pick_free_mem(p, id) / mem)
                                                      : room;
}

uint32_t node_units(const struct pick *p, uint32_t id, const struct geometry *g)
{
    const struct shape_key *k = p->k;
    uint64_t units = count_units(p, id, g), mem;

    if (!units)
        return 0;
    if (pick_by_cpus(p)) {
        uint64_t room = cpu_room(p, id);

        if (k->cpus_per_gpu || k->flags & SHAPE_BIND) /* which may take more than tasks need */
            units = MIN(units, room / g->usable);
        else if (room < MAX(pick_takes_min_cpus(p) ? k->pn_min_cpus : 0, 1u) ||
                 part_cpus_free(p, id) < k->pn_min_cpus)
            return 0;
    } else if (p->part->node_cpus) {
        units = MIN(units, (uint64_t)part_cpus_free(p, id) / g->gran);
    }
    if (units * g->usable < k->pn_min_cpus)
        return 0;
    if (k->flags & SHAPE_MEM_PER_NODE) {
        mem = pick_free_mem(p, id);
        if (k->mem_per_node_mib ? mem < k->mem_per_node_mib : mem < p->s->nodes[id].mem_mib)
            return 0;
    } else if (k->mem_per_cpu_mib && !pick_by_cpus(p)) {
        mem = pick_free_mem(p, id);
        units = MIN(units, mem / k->mem_per_cpu_mib / g->usable);
    }
    units -= units % g->grain;
    return pick_takes_min_cpus(p) && units * g->usable < k->pn_min_cpus ? 0 : (uint32_t)units;
}

/* Jobs of other users on the node, where that matters?  All are of one user when their ids do not
 * vary. */
static bool other_users(const struct pick *p, uint32_t id)
{
    const struct node *n = &p->s->nodes[id];
    const struct prof_view *v = p->plan && p->s->uids ? view_of(p, id) : NULL;
    unsigned __int128 uid = p->k->uid;

    if (p->plan) {
        if (!v || !v->any ||
            (!v->owned && !(p->k->flags & SHAPE_OWNED) && !p->part->exclusive_user))
            return false;
        return !(p->k->flags & SHAPE_UID) || v->mixed || v->uid != p->k->uid;
    }

    if (p->idle || !n->njobs ||
        (!n->nowned && !(p->k->flags & SHAPE_OWNED) && !p->part->exclusive_user))
        return false;
    return !(p->k->flags & SHAPE_UID) ||
           n->uid_squares + uid * uid * n->njobs != 2 * uid * n->uid_sum;
}

/* Jobs on the node that a job of this label must not meet: of another label, or, where either has
 * one, of none. */
static bool other_labels(const struct pick *p, uint32_t id)
{
    const struct node *n = &p->s->nodes[id];
    uint32_t label = p->k->label;

    if (!p->s->labels || p->idle)
        return false;
    if (p->plan) {
        const struct prof_view *v = view_of(p, id);

        return v->any && (v->label != label || v->labels_mixed);
    }
    return n->njobs && (label ? n->nlabelled != n->njobs || n->label != label : n->nlabelled > 0);
}

static bool fit_node(const struct pick *p, uint32_t id, struct fit *ret)
{
    const struct node *n = &p->s->nodes[id];
    const struct shape_key *k = p->k;
    struct geometry g = pick_geometry(p, n);
    uint32_t units = other_users(p, id) || other_labels(p, id) ? 0 : node_units(p, id, &g);

    if (!units)
        return false;
    ret->id = id;
    ret->free = p->idle ? n->cpus : p->plan ? view_of(p, id)->free_cpus : n->free_cpus;
    if (k->flags & SHAPE_OVERCOMMIT)
        ret->tasks = UINT32_MAX / 2;
    else if (k->ntasks_per_socket)
        ret->tasks = tasks_by_socket(p, id, &g, units);
    else
        ret->tasks = geometry_tasks(p, &g, units);
    if (pick_by_cpus(p) && !(k->flags & SHAPE_OVERCOMMIT))
        ret->tasks = (uint32_t)MIN((uint64_t)ret->tasks, cpu_room(p, id) / k->cpus_per_task);
    if (k->num_tasks && k->ntasks_per_node)
        ret->tasks = MIN(ret->tasks, k->ntasks_per_node);
    if (k->ngres && !gres_fit(p, id, &g, units, ret))
        return false;
    if (k->nlisted) {
        uint32_t want = shape_listed(p->cls->shape, id);

        if (!want || ret->tasks < want)
            return false;
        ret->tasks = want;
    }
    return ret->tasks >= (k->num_tasks ? 1 : MAX(k->ntasks_per_node, 1u));
}

/* Of a job that asks for nothing but CPUs and memory: neighbours are mostly alike and as full. */
static bool fit_alike(const struct pick *p, uint32_t id, struct fit *ret)
{
    const struct node *n = &p->s->nodes[id];
    struct alike *a = &p->s->alike;

    if (!a->known || a->threads != n->threads || a->free_cpus != n->free_cpus ||
        a->free_cores != n->free_cores || a->mem_mib != n->mem_mib || a->mem_used != n->mem_used) {
        *a = (struct alike){ .known = true,
                             .threads = n->threads,
                             .free_cpus = n->free_cpus,
                             .free_cores = n->free_cores,
                             .mem_mib = n->mem_mib,
                             .mem_used = n->mem_used };
        a->fits = fit_node(p, id, &a->fit);
    }
    if (!a->fits)
        return false;
    *ret = a->fit;
    ret->id = id;
    return true;
}

bool node_fit(const struct pick *p, uint32_t id, struct fit *ret)
{
    if (p->plain && !p->s->nodes[id].gpu_cpus && !any_conflict(p, id))
        return fit_alike(p, id, ret);

    bool keep = p->plan && p->share_max == 1 && !adv_cored(p->s, id), fits;
    int known = keep ? prof_recall_fit(p, id, ret) : -1;

    if (known >= 0)
        return known;
    fits = fit_node(p, id, ret);
    if (keep)
        prof_note_fit(p, id, ret, fits);
    return fits;
}

bool node_admits(const struct pick *p, uint32_t id, uint32_t *most_tasks)
{
    const struct node *n = &p->s->nodes[id];
    struct fit f;

    if (!n->exists || p->k->threads_per_core > n->raw_threads || p->k->min_sockets > n->sockets ||
        p->k->min_cores_per_socket > n->cores_per_socket || !node_fit(p, id, &f))
        return false;
    *most_tasks = MAX(*most_tasks, f.tasks);
    return true;
}
