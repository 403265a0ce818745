/* fit.c - how much of a job one node can hold.
 *
 * A job sees a node as units: single CPUs, or cores where these are not divided.  `grain` units are
 * taken together (a socket, a whole node).  What is free is counted now, as if nothing ran (idle),
 * now without what is reserved for blocked jobs before the job would end (overlay), or throughout a
 * span of slots (plan).  More free resources never make a node fit less: planning relies on
 * that. */
#include <string.h>

#include "base/cleanup.h"
#include "sched/plan/profile.h"
#include "sched/sched_int.h"

#define NO_MATCH (UINT32_MAX - 1)

void pick_init(struct pick *p)
{
    const struct shape *sh = p->cls->shape;
    const struct strtab *t = &p->s->gres_tab;

    const struct shape_key *k = &sh->key;

    p->k = k;
    p->gpu = UINT32_MAX;
    p->gpus = false;
    p->whole = (p->k->flags & SHAPE_EXCLUSIVE) || p->part->exclusive_node ||
               p->s->params.select == SCHED_SELECT_LINEAR;
    p->share_max = !p->whole && (p->part->force || (p->k->flags & SHAPE_SHARE))
                       ? MAX(p->part->oversubscribe, 1u)
                       : 1;
    p->share = p->share_max;
    for (uint32_t i = 0; i < p->k->ngres; i++) {
        const struct shape_gres *g = &p->k->gres[i];
        const char *name = sh->text + g->name_off;
        const char *type = g->type_off == UINT32_MAX ? NULL : sh->text + g->type_off;

        p->gname[i] = strtab_find(t, name, strlen(name));
        p->gtype[i] = type ? strtab_find(t, type, strlen(type)) : STRTAB_NONE;
        if ((k->cpus_per_gpu || k->mem_per_gpu_mib || k->tasks_per_gpu) && p->gpu == UINT32_MAX &&
            strcmp(name, "gpu") == 0)
            p->gpu = i;
        p->gpus |=
            strcmp(name, "gpu") == 0 || strcmp(name, "shard") == 0 || strcmp(name, "mps") == 0;
        if (p->gname[i] == STRTAB_NONE || (type && p->gtype[i] == STRTAB_NONE))
            p->gname[i] = NO_MATCH;
    }
    p->plain = !k->ngres && !p->whole && p->share_max == 1 && !p->idle && !p->plan &&
               p->s->params.select != SCHED_SELECT_SOCKET && !k->ntasks_per_socket &&
               !k->core_spec && !p->part->node_cpus && !p->part->max_cpus_per_socket &&
               !p->s->uids && !p->s->labels && !p->s->advs && !k->resv;
    p->s->alike.known = false;
}

uint64_t pick_least_cpus(const struct pick *p)
{
    const struct shape_key *k = p->k;
    uint64_t tasks =
        k->num_tasks ? k->num_tasks : (uint64_t)MAX(k->min_nodes, 1u) * MAX(k->ntasks_per_node, 1u);

    return p->share_max > 1 || (k->flags & SHAPE_OVERCOMMIT) ? 0 : tasks * k->cpus_per_task;
}

/* Cores the job leaves to the system beside those the node keeps anyway. */
static uint32_t job_spec_cores(const struct pick *p, const struct node *n)
{
    uint32_t kept = n->spec_units;

    return p->k->core_spec > kept ? p->k->core_spec - kept : 0;
}

/* Take these from words: the last core of the last socket, of the one before, and so on. */
static void leave_cores(const struct pick *p, const struct node *n, uint64_t *words)
{
    uint32_t left = job_spec_cores(p, n);

    for (uint32_t i = 0; left && i < n->sockets * n->cores_per_socket; i++) {
        uint32_t socket = n->sockets - 1 - i % n->sockets;
        uint32_t core = n->cores_per_socket - 1 - i / n->sockets;
        uint32_t cpu = (socket * n->cores_per_socket + core) * n->threads;

        if (n->spec && (n->spec[cpu >> 6] >> (cpu & 63) & 1))
            continue;
        left--;
        for (uint32_t t = cpu; t < cpu + n->threads; t++)
            words[t >> 6] &= ~(UINT64_C(1) << (t & 63));
    }
}

struct geometry pick_geometry(const struct pick *p, const struct node *n)
{
    const struct shape_key *k = p->k;
    uint32_t usable = k->threads_per_core ? MIN(k->threads_per_core, n->threads) : n->threads;
    struct geometry g = { .gran = n->threads, .usable = usable };

    g.units = n->units;
    g.per_socket = n->per_socket;
    g.avail = g.units - n->spec_units;
    g.avail -= MIN(g.avail, job_spec_cores(p, n));
    g.grain = p->whole                                     ? MAX(g.avail, 1u)
              : p->s->params.select == SCHED_SELECT_SOCKET ? g.per_socket
                                                           : 1;
    return g;
}

uint32_t geometry_tasks(const struct pick *p, const struct geometry *g, uint32_t units)
{
    uint32_t c = p->k->cpus_per_task, per_core = p->k->ntasks_per_core;

    if (!per_core && c == 1)
        return units * g->usable;
    if (per_core && c >= g->usable)
        return units / (c / g->usable + (c % g->usable != 0));
    if (per_core)
        return units * MIN(per_core, g->usable / c);
    return (uint32_t)((uint64_t)units * g->usable / c);
}

uint32_t geometry_units(const struct pick *p, const struct geometry *g, uint32_t tasks)
{
    uint64_t c = p->k->cpus_per_task, per_core = p->k->ntasks_per_core, u = g->usable, n;

    if (p->k->flags & SHAPE_OVERCOMMIT)
        return 1;
    if (u == 1)
        return (uint32_t)MIN(tasks * c, (uint64_t)UINT32_MAX);
    if (per_core && c >= u)
        n = tasks * ((c + u - 1) / u);
    else if (per_core)
        n = (tasks + MIN(per_core, u / c) - 1) / MIN(per_core, u / c);
    else
        n = (tasks * c + u - 1) / u;
    return (uint32_t)MIN(n, (uint64_t)UINT32_MAX);
}

const struct sched_alloc_node *pick_conflict(const struct pick *p, const struct resv *r,
                                             uint32_t id, const struct resv_node **ret_spare)
{
    uint32_t at;

    if (r->start_us >= p->end_us || !bitmap_test(r->nodes, id))
        return NULL;
    at = r->before[id >> 6] + (uint32_t)__builtin_popcountll(r->nodes->words[id >> 6] &
                                                             ((UINT64_C(1) << (id & 63)) - 1));
    *ret_spare = &r->spare[at];
    return &r->alloc.nodes[at];
}

static bool any_conflict(const struct pick *p, uint32_t id)
{
    const struct resv_node *spare;

    for (uint32_t i = 0; p->overlay && i < p->s->nresvs; i++)
        if (pick_conflict(p, &p->s->resvs[i], id, &spare))
            return true;
    return false;
}

static const struct prof_view *view_of(const struct pick *p, uint32_t id)
{
    return prof_view(p->s, id, p->from, p->until, p->end_us);
}

/* CPUs that a job which shares with up to share - 1 others may take. */
static void shared_cpus(const struct pick *p, const struct node *n, const uint64_t *busy,
                        const uint64_t *firm, uint64_t *words)
{
    for (uint32_t w = 0; w < n->nwords; w++) {
        words[w] = ~firm[w];
        for (uint64_t m = busy[w] & words[w]; m; m &= m - 1) {
            uint32_t b = (uint32_t)__builtin_ctzll(m);

            if (n->busy.extra[w * 64 + b] + 1u >= p->share)
                words[w] &= ~(UINT64_C(1) << b);
        }
    }
}

/* Are there CPUs on the node that the job may not have because it asks for no GPU? */
static bool for_gpus(const struct pick *p, const struct node *n)
{
    return n->gpu_cpus && !p->gpus && !p->whole;
}

static uint32_t socket_cpus(const struct node *n)
{
    return n->cores_per_socket * n->threads;
}

/* Does the partition keep its jobs from some CPUs of each socket? */
static bool socket_limit(const struct pick *p, const struct node *n)
{
    return p->part->max_cpus_per_socket && p->part->max_cpus_per_socket < socket_cpus(n);
}

/* Leave the first CPUs of each socket, as many as the partition may have, in whole cores.  The
 * same for all its jobs, so that together they keep to the limit whatever the time. */
static void leave_sockets(const struct pick *p, const struct node *n, uint64_t *words)
{
    uint32_t per = socket_cpus(n);

    for (uint32_t first = 0; first < n->cpus; first += per) {
        uint32_t left = p->part->max_cpus_per_socket / n->threads * n->threads;

        for (uint32_t c = first; c < first + per && c < n->cpus; c++) {
            if (n->spec && (n->spec[c >> 6] >> (c & 63) & 1))
                continue;
            if (left)
                left--;
            else
                words[c >> 6] &= ~(UINT64_C(1) << (c & 63));
        }
    }
}

void pick_free_cpus(const struct pick *p, uint32_t id, uint64_t *words)
{
    const struct node *n = &p->s->nodes[id];
    const struct resv_node *spare;
    const struct prof_view *v = p->plan ? view_of(p, id) : NULL;
    const uint64_t *busy = v ? v->busy : n->busy.bits, *firm = v ? v->firm : n->firm.bits;

    if (p->idle)
        memset(words, 0xff, n->nwords * sizeof(*words));
    else if (p->share > 1)
        shared_cpus(p, n, busy, firm, words);
    else
        for (uint32_t w = 0; w < n->nwords; w++)
            words[w] = ~busy[w];
    for (uint32_t w = 0; p->idle && n->spec && w < n->nwords; w++)
        words[w] &= ~n->spec[w];
    for (uint32_t w = 0; for_gpus(p, n) && w < n->nwords; w++)
        words[w] &= ~n->gpu_cpus[w];
    if (socket_limit(p, n))
        leave_sockets(p, n, words);
    for (uint32_t i = 0; p->overlay && i < p->s->nresvs; i++) {
        const struct sched_alloc_node *an = pick_conflict(p, &p->s->resvs[i], id, &spare);

        for (uint32_t w = 0; an && w < an->ncpu_words; w++)
            words[w] &= ~an->cpu_bits[w];
    }
    const uint64_t *kept = adv_blocked(p, id);

    for (uint32_t w = 0; kept && w < n->nwords; w++)
        words[w] &= ~kept[w];
    if (n->cpus % 64)
        words[n->nwords - 1] &= (UINT64_C(1) << n->cpus % 64) - 1;
    if (p->k->core_spec)
        leave_cores(p, n, words);
}

bool unit_free(const uint64_t *words, uint32_t unit, uint32_t gran)
{
    for (uint32_t i = unit * gran; i < (unit + 1) * gran; i++)
        if (!(words[i >> 6] >> (i & 63) & 1))
            return false;
    return true;
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

        if (p->s->params.select == SCHED_SELECT_SOCKET && f < g->per_socket)
            f = 0;
        sum += MIN(limit, geometry_tasks(p, g, f));
    }
    if (p->whole)
        return sum;
    /* The limits on units must hold however the tasks fall: rounding is per socket. */
    if (g->grain > 1) {
        uint32_t per = MIN(limit, geometry_tasks(p, g, g->per_socket));

        return MIN(sum, units / g->grain * per);
    }
    return MIN(sum, units / MAX(geometry_units(p, g, 1), 1u));
}

uint64_t pick_free_mem(const struct pick *p, uint32_t id)
{
    const struct node *n = &p->s->nodes[id];
    const struct resv_node *spare;
    uint64_t avail = n->mem_mib > n->mem_used ? n->mem_mib - n->mem_used : 0;

    if (p->idle || !p->s->params.select_memory)
        return n->mem_mib;
    if (p->plan) {
        const struct prof_view *v = view_of(p, id);

        return n->mem_mib > v->mem ? n->mem_mib - v->mem : 0;
    }
    for (uint32_t i = 0; p->overlay && i < p->s->nresvs; i++)
        if (pick_conflict(p, &p->s->resvs[i], id, &spare))
            avail = MIN(avail, spare->spare_mem);
    return avail;
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

static uint32_t fit_units(const struct pick *p, uint32_t id, const struct geometry *g)
{
    const struct shape_key *k = p->k;
    uint64_t units = count_units(p, id, g), mem;

    if (!units)
        return 0;
    if (p->part->node_cpus)
        units = MIN(units, (uint64_t)part_cpus_free(p, id) / g->gran);
    if (units * g->usable < k->pn_min_cpus)
        return 0;
    if (k->flags & SHAPE_MEM_PER_NODE) {
        mem = pick_free_mem(p, id);
        if (k->mem_per_node_mib ? mem < k->mem_per_node_mib : mem < p->s->nodes[id].mem_mib)
            return 0;
    } else if (k->mem_per_cpu_mib) {
        mem = pick_free_mem(p, id);
        units = MIN(units, mem / k->mem_per_cpu_mib / g->usable);
    }
    return (uint32_t)(units - units % g->grain);
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
    uint32_t units = other_users(p, id) || other_labels(p, id) ? 0 : fit_units(p, id, &g);

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
    if (k->num_tasks && k->ntasks_per_node)
        ret->tasks = MIN(ret->tasks, k->ntasks_per_node);
    if (k->ngres && !gres_fit(p, id, &g, units, ret))
        return false;
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
