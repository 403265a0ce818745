/* joblayout.c - what exactly a job gets on the nodes chosen for it: tasks, CPUs, memory, devices.
 *
 * pick.c says how many tasks a node has CPUs for (fit.hold); within these tasks are dealt out
 * evenly, or fill node after node when the job is to be packed.  In a node tasks of
 * one CPU go round the sockets; larger ones fill a socket before the next, each within one socket
 * where one has room for it.  Block distribution fills a socket before the next.  Which devices it
 * gets, and CPUs near them, is decided in grespick.c and gresbind.c. */
#include "sched/select/joblayout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/sched.h"
#include "sched/select/fit.h"
#include "sched/select/gresbind.h"
#include "sched/select/grespick.h"
#include "sched/select/nodeview.h"
#include "sched/select/pick.h"
#include "sched/state/alloc.h"
#include "sched/state/bounds.h"
#include "sched/state/classes.h"
#include "sched/state/fits.h"
#include "sched/state/gresrow.h"
#include "sched/state/nodes.h"
#include "sched/state/question.h"
#include "sched/state/sched_obj.h"
#include "sched/state/shape.h"
#include "sched/state/topoclose.h"

/* Tasks on the nodes when none has more than level. */
static uint64_t tasks_below(const struct fitvec *v, uint32_t level)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < v->n; i++)
        sum += MIN(v->v[i].tasks, level);
    return sum;
}

/* As if each node in turn took one more while it has room. */
static void deal_tasks(struct fitvec *v, uint64_t tasks)
{
    uint32_t level = 0, high = UINT32_MAX;

    while (level < high) { /* the highest level that is reached everywhere */
        uint32_t mid = level + (high - level - 1) / 2 + 1;

        if (tasks_below(v, mid) <= tasks)
            level = mid;
        else
            high = mid - 1;
    }
    tasks -= tasks_below(v, level);
    for (uint32_t i = 0; i < v->n; i++) {
        uint32_t room = v->v[i].tasks;

        v->v[i].tasks = MIN(room, level);
        if (tasks && room > level) {
            v->v[i].tasks++;
            tasks--;
        }
    }
}

/* Tasks of every chosen node, into fit.tasks. */
static void spread_tasks(const struct pick *p)
{
    struct fitvec *v = &p->s->chosen;
    uint64_t left = p->tasks;
    bool pack = (p->k->flags & SHAPE_PACK) || p->s->params.pack_nodes;

    for (uint32_t i = 0; i < v->n; i++) {
        struct fit *f = &v->v[i];

        if (!p->tasks)
            f->tasks = f->hold = p->each;
        else if (!p->whole)
            f->tasks = f->hold;
    }
    if (!p->tasks)
        return;
    if (!pack) {
        deal_tasks(v, p->tasks);
        return;
    }
    for (uint32_t i = 0; i < v->n; i++) {
        v->v[i].tasks = (uint32_t)MIN((uint64_t)v->v[i].tasks, left - (v->n - i - 1));
        left -= v->v[i].tasks;
    }
}

/* Counts of the requests for the whole job, into fit.gres: at least one on each node. */
static void spread_gres(const struct pick *p)
{
    struct fitvec *v = &p->s->chosen;

    for (uint32_t r = 0; r < p->cls->shape->npj; r++) {
        uint64_t left = p->k->gres[r].per_job;

        for (uint32_t i = 0; i < v->n; i++) {
            uint64_t share = MIN((uint64_t)v->v[i].gres[r], left - (v->n - i - 1));

            v->v[i].gres[r] = (uint32_t)share;
            left -= share;
        }
    }
}

/* ---- CPUs ------------------------------------------------------------------------------------ */

struct cpu_pick {
    const struct geometry *g;
    const uint64_t *avail;
    uint64_t *out;
    uint32_t sockets;
    uint32_t most;                    /* units the job may have here; of whole sockets only */
    bool from_last;                   /* a round begins on the last socket */
    uint32_t next[SCHED_MAX_SOCKETS]; /* first unit of the socket not looked at */
};

static bool unit_avail(const struct cpu_pick *cp, uint32_t unit)
{
    for (uint32_t i = unit * cp->g->gran; i < (unit + 1) * cp->g->gran; i++)
        if (!(cp->avail[i >> 6] >> (i & 63) & 1))
            return false;
    return true;
}

/* The n lowest bits of m, which has more. */
static uint64_t lowest_bits(uint64_t m, uint32_t n)
{
    uint64_t row = n ? ((UINT64_C(1) << n) - 1) << __builtin_ctzll(m) : 0, some = 0;

    if ((m & row) == row)
        return row;
    for (; n; n--, m &= m - 1)
        some |= m & -m;
    return some;
}

/* As take_units() where a unit is a CPU: a word at a time. */
static uint32_t take_single(struct cpu_pick *cp, uint32_t socket, uint32_t n)
{
    uint32_t first = socket * cp->g->per_socket, got = 0, *u = &cp->next[socket];

    while (got < n && *u < cp->g->per_socket) {
        uint32_t at = first + *u, span = MIN(64 - (at & 63), cp->g->per_socket - *u), last;
        uint64_t m = cp->avail[at >> 6] >> (at & 63) << (at & 63), take = 0;

        if ((at & 63) + span < 64)
            m &= (UINT64_C(1) << ((at & 63) + span)) - 1;
        if ((uint32_t)__builtin_popcountll(m) <= n - got) {
            take = m;
            *u += span;
        } else {
            take = lowest_bits(m, n - got);
            last = 63 - (uint32_t)__builtin_clzll(take);
            *u += last + 1 - (at & 63);
        }
        cp->out[at >> 6] |= take;
        got += (uint32_t)__builtin_popcountll(take);
    }
    return got;
}

/* Take up to n free units of a socket; returns how many. */
static uint32_t take_units(struct cpu_pick *cp, uint32_t socket, uint32_t n)
{
    uint32_t got = 0, per = cp->g->per_socket;

    if (cp->g->gran == 1)
        return take_single(cp, socket, n);
    for (uint32_t *u = &cp->next[socket]; got < n && *u < per; ++*u) {
        uint32_t unit = socket * per + *u;

        if (!unit_avail(cp, unit))
            continue;
        for (uint32_t i = unit * cp->g->gran; i < (unit + 1) * cp->g->gran; i++)
            cp->out[i >> 6] |= UINT64_C(1) << (i & 63);
        got++;
    }
    return got;
}

static uint32_t free_units(const struct cpu_pick *cp, uint32_t socket)
{
    uint32_t sum = 0;

    for (uint32_t u = 0; u < cp->g->per_socket; u++)
        sum += unit_avail(cp, socket * cp->g->per_socket + u);
    return sum;
}

static uint32_t take_cyclic(struct cpu_pick *cp, uint32_t need)
{
    bool any = true;

    if (cp->sockets == 1)
        return need - take_units(cp, 0, need);
    while (need && any) {
        any = false;
        for (uint32_t i = 0; i < cp->sockets && need; i++) {
            uint32_t k = cp->from_last ? (i + cp->sockets - 1) % cp->sockets : i;
            uint32_t got = take_units(cp, k, 1);

            need -= got;
            any = any || got;
        }
    }
    return need;
}

static uint32_t take_in_turn(struct cpu_pick *cp, uint32_t need)
{
    for (uint32_t k = 0; k < cp->sockets && need; k++)
        need -= take_units(cp, k, need);
    return need;
}

static uint32_t take_block(struct cpu_pick *cp, uint32_t need)
{
    for (uint32_t k = 0; k < cp->sockets; k++)
        if (need <= cp->g->per_socket && free_units(cp, k) >= need)
            return need - take_units(cp, k, need);
    return take_in_turn(cp, need);
}

static bool fills_sockets(const struct pick *p)
{
    if (p->k->socket_dist != SCHED_DIST_DEFAULT && p->part->select != SCHED_SELECT_CPU)
        return p->k->socket_dist == SCHED_DIST_BLOCK;
    return p->s->params.dist_block || p->part->select == SCHED_SELECT_CPU;
}

/* The socket all need units of which are free, or UINT32_MAX. */
static uint32_t socket_with(const struct cpu_pick *cp, uint32_t need)
{
    for (uint32_t k = 0; k < cp->sockets && need <= cp->g->per_socket; k++)
        if (free_units(cp, k) >= need)
            return k;
    return UINT32_MAX;
}

/* Tasks of several CPUs fill the sockets one by one, each within its socket, and those that fit in
 * none go where CPUs are left. */
static uint32_t take_tasks(struct cpu_pick *cp, uint32_t tasks, uint32_t cpus, uint32_t need)
{
    uint32_t usable = cp->g->usable;

    if (socket_with(cp, need) != UINT32_MAX)
        return take_block(cp, need);
    for (uint32_t k = 0; k < cp->sockets && tasks; k++) {
        uint32_t n = MIN(tasks, free_units(cp, k) * usable / cpus);

        need -= take_units(cp, k, MIN(need, (n * cpus + usable - 1) / usable));
        tasks -= n;
    }
    return take_in_turn(cp, need);
}

/* Sockets that the tasks touch when they go round, each a core of the next one: the job gets them
 * all as far as it may, since none else can use what is left of them. */
static uint32_t sockets_touched(const struct pick *p, const struct cpu_pick *cp, uint32_t tasks)
{
    uint32_t n = 0, per = cp->g->per_socket;

    if (p->k->ntasks_per_socket || p->k->cpus_per_task > 1 || fills_sockets(p) ||
        p->k->flags & SHAPE_OVERCOMMIT)
        return 0;
    for (uint32_t k = 0; k < cp->sockets; k++)
        n += free_units(cp, k) == per;
    return MIN(MIN(n, geometry_units(p, cp->g, tasks)), cp->most / per);
}

/* Whole sockets with need units at least, for so many tasks. */
static uint32_t take_sockets(const struct pick *p, struct cpu_pick *cp, uint32_t tasks,
                             uint32_t need)
{
    uint32_t per = cp->g->per_socket;

    need = (need + per - 1) / per * per;
    need = MAX(need, sockets_touched(p, cp, tasks) * per);
    for (uint32_t k = 0; k < cp->sockets && need; k++) {
        if (free_units(cp, k) != per)
            continue;
        (void)take_units(cp, k, per); /* all free: takes per */
        need -= MIN(need, per);
    }
    return need;
}

/* A limit on the tasks of a socket: sockets that the others can do without are left alone, the
 * first ones first, and the tasks go round the rest. */
static uint32_t take_capped(const struct pick *p, struct cpu_pick *cp, uint32_t need)
{
    uint32_t limit = p->k->ntasks_per_socket, want = geometry_tasks(p, cp->g, need), sum = 0;
    uint32_t has[SCHED_MAX_SOCKETS]; /* tasks that the socket has room for */

    for (uint32_t k = 0; k < cp->sockets; k++)
        sum += has[k] = geometry_tasks(p, cp->g, free_units(cp, k));
    for (uint32_t k = 0; k < cp->sockets && sum > want; k++) {
        sum -= has[k] - MIN(has[k], limit);
        has[k] = MIN(has[k], limit);
    }
    for (uint32_t k = 0; k < cp->sockets && sum > want; k++) {
        if (sum - has[k] < want)
            continue;
        sum -= has[k];
        cp->next[k] = cp->g->per_socket; /* none of it */
    }
    return take_cyclic(cp, need);
}

/* So many tasks to a socket and no more; a task stays in its socket.  In all at least so many
 * units. */
static uint32_t take_by_socket(const struct pick *p, struct cpu_pick *cp, uint32_t tasks,
                               uint32_t units)
{
    if (p->k->cpus_per_task == 1)
        return take_capped(p, cp, units);
    for (uint32_t k = 0; k < cp->sockets && tasks; k++) {
        uint32_t hold = MIN(p->k->ntasks_per_socket, geometry_tasks(p, cp->g, free_units(cp, k)));
        uint32_t n = MIN(hold, tasks), got = take_units(cp, k, geometry_units(p, cp->g, n));

        units -= MIN(units, got);
        tasks -= n;
    }
    return tasks + take_cyclic(cp, units);
}

/* Take need units of those in s->cpu_words into out, of whole sockets no more than most; gives how
 * many are missing. */
static uint32_t take_cpus(const struct pick *p, const struct fit *f, const struct geometry *g,
                          uint32_t need, uint32_t most, uint64_t *out)
{
    const struct node *n = &p->s->nodes[f->id];
    struct cpu_pick cp; /* large: the arrays are set where they are used */
    uint32_t tasks = f->hold;

    cp.g = g;
    cp.avail = p->s->cpu_words;
    cp.out = out;
    cp.sockets = n->sockets;
    cp.most = most;
    cp.from_last = p->k->ngres && gres_near_last(p, f);
    memset(cp.next, 0, n->sockets * sizeof(cp.next[0]));
    memset(out, 0, n->nwords * sizeof(*out));
    if (p->whole)
        return take_block(&cp, g->avail);
    if (p->part->select == SCHED_SELECT_SOCKET)
        return take_sockets(p, &cp, f->tasks, need);
    if (p->k->ntasks_per_socket && !(p->k->flags & SHAPE_OVERCOMMIT))
        return take_by_socket(p, &cp, tasks, need);
    if (fills_sockets(p))
        return take_block(&cp, need);
    if (p->k->cpus_per_task > 1 && !(p->k->flags & SHAPE_OVERCOMMIT))
        return take_tasks(&cp, tasks, p->k->cpus_per_task, need);
    return take_cyclic(&cp, need);
}

/* Where binding is enforced and no number of tasks is given, a job gets all CPUs near its devices,
 * as far as memory goes and no limit counts CPUs. */
static uint32_t all_near(const struct pick *p, const struct fit *f, const struct geometry *g)
{
    uint64_t mem = p->part->select_memory ? p->k->mem_per_cpu_mib : 0;
    uint32_t n = 0;

    if (p->k->num_tasks || p->part->node_cpus)
        return 0;
    for (uint32_t u = 0; u < g->units; u++)
        n += unit_free(p->s->cpu_words, u, g->gran);
    return mem && mem * n * g->usable > pick_free_mem(p, f->id) ? 0 : n;
}

/* Units beyond those near the devices, which are in out. */
static uint32_t take_others(const struct pick *p, const struct fit *f, const struct geometry *g,
                            uint32_t left, uint64_t *out)
{
    uint64_t near[SCHED_MAX_CPUS / 64];
    uint32_t nwords = p->s->nodes[f->id].nwords;

    memcpy(near, out, nwords * sizeof(*near));
    pick_free_cpus(p, f->id, p->s->cpu_words);
    for (uint32_t w = 0; w < nwords; w++)
        p->s->cpu_words[w] &= ~near[w];
    left = take_cpus(p, f, g, left, left, out);
    for (uint32_t w = 0; w < nwords; w++)
        out[w] |= near[w];
    return left;
}

/* Of a job that says how many tasks a node gets: only the first cores that so many need count as
 * free, and so are filled one after the other. */
static void keep_first(const struct pick *p, const struct geometry *g, uint32_t need)
{
    uint32_t left = MAX(need, geometry_units(p, g, p->k->ntasks_per_node));

    for (uint32_t u = 0; u < g->units; u++) {
        if (!unit_free(p->s->cpu_words, u, g->gran))
            continue;
        for (uint32_t i = u * g->gran; !left && i < (u + 1) * g->gran; i++)
            p->s->cpu_words[i >> 6] &= ~(UINT64_C(1) << (i & 63));
        left -= left != 0;
    }
}

/* CPUs that the node gives at least, in units. */
static uint32_t units_needed(const struct pick *p, const struct fit *f, const struct geometry *g)
{
    uint64_t by_gpu = gres_gpus(p, f) * p->k->cpus_per_gpu;
    uint64_t least = MAX(by_gpu, (uint64_t)pick_min_cpus(p));

    return MAX(geometry_units(p, g, f->hold), (uint32_t)((least + g->usable - 1) / g->usable));
}

static int choose_cpus(const struct pick *p, const struct fit *f, uint64_t *out)
{
    const struct node *n = &p->s->nodes[f->id];
    struct geometry g = pick_geometry(p, n);
    uint32_t need = units_needed(p, f, &g), left;
    bool devices = !p->whole && p->k->ngres, enforce = devices && p->k->flags & SHAPE_BIND;
    bool short_of = false; /* CPUs near the devices */
    uint32_t most = g.grain > 1 && !p->whole ? node_units(p, f->id, &g) : UINT32_MAX;

    pick_free_cpus(p, f->id, p->s->cpu_words);
    if (devices && n->near && !(p->k->flags & SHAPE_NO_BIND))
        short_of = !gres_bind(p, f, &g, need, p->s->cpu_words);
    if (enforce && gres_near_last(p, f))
        need = MAX(need, all_near(p, f, &g));
    if (p->k->ntasks_per_node && !p->k->ngres && !p->k->ntasks_per_socket && g.grain == 1)
        keep_first(p, &g, need);
    left = take_cpus(p, f, &g, need, most, out);
    if (left && short_of && !enforce && p->k->cpus_per_task == 1 && !p->k->ntasks_per_socket)
        return take_others(p, f, &g, left, out) ? -EAGAIN : 0;
    if (left && devices && n->near && !enforce) {
        pick_free_cpus(p, f->id, p->s->cpu_words);
        left = take_cpus(p, f, &g, need, most, out);
    }
    return left ? -EAGAIN : 0;
}

/* ---- together -------------------------------------------------------------------------------- */

/* CPUs the job is said to have there: of cores that CR_CPU hands out no more than it needs. */
static uint32_t cpus_counted(const struct pick *p, const struct fit *f, const uint64_t *cpus)
{
    const struct node *n = &p->s->nodes[f->id];
    struct geometry g = pick_geometry(p, n);
    uint64_t held = 0, tasks = p->k->flags & SHAPE_OVERCOMMIT ? 1 : f->hold;

    for (uint32_t w = 0; w < n->nwords; w++)
        held += (uint32_t)__builtin_popcountll(cpus[w]);
    if (!pick_by_cpus(p) || (p->k->ngres && p->k->flags & SHAPE_BIND && !p->k->num_tasks &&
                             held > (uint64_t)units_needed(p, f, &g) * g.gran))
        return (uint32_t)held; /* all CPUs near its devices */
    tasks *= p->k->flags & SHAPE_OVERCOMMIT ? 1 : p->k->cpus_per_task;
    tasks = MAX(tasks, gres_gpus(p, f) * p->k->cpus_per_gpu);
    return (uint32_t)MIN(held, MAX(tasks, (uint64_t)pick_min_cpus(p)));
}

static uint64_t memory_held(const struct pick *p, const struct fit *f, uint32_t cpus)
{
    const struct node *n = &p->s->nodes[f->id];
    struct geometry g = pick_geometry(p, n);

    if (!p->part->select_memory)
        return 0;
    if (p->k->mem_per_gpu_mib && p->gpu != UINT32_MAX)
        return p->k->mem_per_gpu_mib * gres_gpus(p, f);
    if (p->k->flags & SHAPE_MEM_PER_NODE)
        return p->k->mem_per_node_mib ? p->k->mem_per_node_mib : n->mem_mib;
    if (pick_by_cpus(p))
        return p->k->mem_per_cpu_mib * cpus;
    return p->k->mem_per_cpu_mib * (cpus / g.gran) * g.usable;
}

static int fill_node(const struct pick *p, const struct fit *f, struct sched_alloc_node *an,
                     struct sched_alloc_gres **gres, uint64_t **words)
{
    const struct node *n = &p->s->nodes[f->id];
    uint64_t take[SCHED_MAX_NODE_GRES];
    int r = 0;

    *an = (struct sched_alloc_node){ .node_id = f->id,
                                     .cpu_bits = *words,
                                     .ncpu_words = n->nwords,
                                     .tasks = f->tasks,
                                     .gres = *gres };
    *words += n->nwords;
    r = choose_cpus(p, f, an->cpu_bits);
    if (r == 0 && n->ngres)
        r = gres_choose(p, f, an->cpu_bits, take);
    if (r < 0)
        return r;
    an->cpus = cpus_counted(p, f, an->cpu_bits);
    an->mem_mib = memory_held(p, f, an->cpus);
    for (uint32_t row = 0; row < n->ngres; row++)
        if (take[row])
            gres_fill(p, f, an->cpu_bits, row, take[row], &an->gres[an->ngres++], words);
    *gres += an->ngres;
    return gres_covers(p, an) ? 0 : -EAGAIN;
}

int layout(const struct pick *p, struct sched_alloc *ret)
{
    const struct fitvec *v = &p->s->chosen;
    struct sched_alloc a = { .nnodes = v->n, .preferred = p->liked };
    size_t ngres = 0, nwords = 0;
    struct sched_alloc_gres *gres;
    uint64_t *words;
    int r = 0;

    for (uint32_t i = 0; i < v->n; i++) {
        const struct node *n = &p->s->nodes[v->v[i].id];

        ngres += n->ngres;
        nwords += n->nwords;
        for (uint32_t row = 0; row < n->ngres; row++)
            if (n->gres[row].indexed)
                nwords += (n->gres[row].first + n->gres[row].dev.n + 63) / 64;
    }
    a.nodes =
        malloc(v->n * sizeof(*a.nodes) + ngres * sizeof(*gres) + (nwords + 1) * sizeof(*words));
    if (!a.nodes)
        return -ENOMEM;
    gres = (struct sched_alloc_gres *)(void *)(a.nodes + v->n);
    words = (uint64_t *)(void *)(gres + ngres);
    spread_tasks(p);
    spread_gres(p);
    for (uint32_t i = 0; r == 0 && i < v->n; i++)
        r = fill_node(p, &v->v[i], &a.nodes[i], &gres, &words);
    if (r == 0 && p->closes)
        r = topo_close_units(p->s, p->part->topo, &a);
    if (r < 0)
        alloc_done(&a);
    else
        *ret = a;
    return r;
}

int layout_chosen(const struct pick *p, struct sched_alloc *ret)
{
    int r = layout(p, ret);

    return r == 0 ? 1 : r == -EAGAIN ? 0 : r;
}

int pick_layout(struct pick *p, struct sched_alloc *ret)
{
    int r = pick_nodes(p);

    return r == 1 ? layout_chosen(p, ret) : r;
}
