/* joblayout.c - what exactly a job gets on the nodes chosen for it: tasks, CPUs, memory, devices.
 *
 * pick.c says how many tasks a node has CPUs for (fit.hold); within these tasks are dealt out
 * evenly, or fill node after node when the job is to be packed.  In a node tasks of
 * one CPU go round the sockets; larger ones fill a socket before the next, each within one socket,
 * and only a task that fits in none goes round.  Block distribution fills a socket before
 * the next.  Which devices it gets, and CPUs near them, is decided in grespick.c and gresbind.c. */
#include "sched/select/joblayout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/sched.h"
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

static uint32_t take_block(struct cpu_pick *cp, uint32_t need)
{
    for (uint32_t k = 0; k < cp->sockets; k++)
        if (need <= cp->g->per_socket && free_units(cp, k) >= need)
            return need - take_units(cp, k, need);
    for (uint32_t k = 0; k < cp->sockets && need; k++)
        need -= take_units(cp, k, need);
    return need;
}

static bool fills_sockets(const struct pick *p)
{
    if (p->k->socket_dist != SCHED_DIST_DEFAULT && p->s->params.select != SCHED_SELECT_CPU)
        return p->k->socket_dist == SCHED_DIST_BLOCK;
    return p->s->params.dist_block || p->s->params.select == SCHED_SELECT_CPU;
}

/* The socket all need units of which are free, or UINT32_MAX. */
static uint32_t socket_with(const struct cpu_pick *cp, uint32_t need)
{
    for (uint32_t k = 0; k < cp->sockets && need <= cp->g->per_socket; k++)
        if (free_units(cp, k) >= need)
            return k;
    return UINT32_MAX;
}

/* Tasks of several CPUs fill the sockets one by one, each within its socket; those that fit in none
 * go round by units. */
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
    return take_cyclic(cp, need);
}

static uint32_t take_sockets(const struct pick *p, struct cpu_pick *cp, uint32_t tasks,
                             uint32_t need)
{
    uint32_t per = cp->g->per_socket, limit = p->k->ntasks_per_socket;
    bool capped = limit && !(p->k->flags & SHAPE_OVERCOMMIT);
    uint32_t hold = capped ? MIN(limit, geometry_tasks(p, cp->g, per)) : 0;

    if (hold)
        need = MAX(need, (tasks + hold - 1) / hold * per);
    for (uint32_t k = 0; k < cp->sockets && need; k++) {
        if (free_units(cp, k) != per)
            continue;
        (void)take_units(cp, k, per); /* all free: takes per */
        need -= MIN(need, per);
    }
    return need;
}

/* So many tasks to a socket and no more; a task stays in its socket.  In all at least so many
 * units. */
static uint32_t take_by_socket(const struct pick *p, struct cpu_pick *cp, uint32_t tasks,
                               uint32_t units)
{
    for (uint32_t k = 0; k < cp->sockets && tasks; k++) {
        uint32_t hold = MIN(p->k->ntasks_per_socket, geometry_tasks(p, cp->g, free_units(cp, k)));
        uint32_t n = MIN(hold, tasks), got = take_units(cp, k, geometry_units(p, cp->g, n));

        units -= MIN(units, got);
        tasks -= n;
    }
    return tasks + take_cyclic(cp, units);
}

/* Take need units of those in s->cpu_words into out; gives how many are missing. */
static uint32_t take_cpus(const struct pick *p, const struct fit *f, const struct geometry *g,
                          uint32_t need, uint64_t *out)
{
    const struct node *n = &p->s->nodes[f->id];
    struct cpu_pick cp; /* large: the arrays are set where they are used */
    uint32_t tasks = f->hold;

    cp.g = g;
    cp.avail = p->s->cpu_words;
    cp.out = out;
    cp.sockets = n->sockets;
    cp.from_last = p->k->ngres && gres_near_last(p, f);
    memset(cp.next, 0, n->sockets * sizeof(cp.next[0]));
    memset(out, 0, n->nwords * sizeof(*out));
    if (p->whole)
        return take_block(&cp, g->avail);
    if (p->s->params.select == SCHED_SELECT_SOCKET)
        return take_sockets(p, &cp, tasks,
                            (need + g->per_socket - 1) / g->per_socket * g->per_socket);
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
    uint64_t mem = p->s->params.select_memory ? p->k->mem_per_cpu_mib : 0;
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
    left = take_cpus(p, f, g, left, out);
    for (uint32_t w = 0; w < nwords; w++)
        out[w] |= near[w];
    return left;
}

static int choose_cpus(const struct pick *p, const struct fit *f, uint64_t *out)
{
    const struct node *n = &p->s->nodes[f->id];
    struct geometry g = pick_geometry(p, n);
    uint32_t need = geometry_units(p, &g, f->hold), left;
    uint64_t by_gpu = gres_gpus(p, f) * p->k->cpus_per_gpu;
    bool devices = !p->whole && p->k->ngres, enforce = devices && p->k->flags & SHAPE_BIND;
    bool short_of = false; /* CPUs near the devices */

    need = MAX(need, (uint32_t)((by_gpu + g.usable - 1) / g.usable));
    if (p->pad && p->k->pn_min_cpus > need * g.usable)
        need = (p->k->pn_min_cpus + g.usable - 1) / g.usable;
    pick_free_cpus(p, f->id, p->s->cpu_words);
    if (devices && n->near && !(p->k->flags & SHAPE_NO_BIND))
        short_of = !gres_bind(p, f, &g, need, p->s->cpu_words);
    if (enforce && gres_near_last(p, f))
        need = MAX(need, all_near(p, f, &g));
    left = take_cpus(p, f, &g, need, out);
    if (left && short_of && !enforce && p->k->cpus_per_task == 1 && !p->k->ntasks_per_socket)
        return take_others(p, f, &g, left, out) ? -EAGAIN : 0;
    if (left && devices && n->near && !enforce) {
        pick_free_cpus(p, f->id, p->s->cpu_words);
        left = take_cpus(p, f, &g, need, out);
    }
    return left ? -EAGAIN : 0;
}

/* ---- together -------------------------------------------------------------------------------- */

static uint64_t memory_held(const struct pick *p, const struct fit *f, const uint64_t *cpus)
{
    const struct node *n = &p->s->nodes[f->id];
    struct geometry g = pick_geometry(p, n);
    uint32_t held = 0;

    if (!p->s->params.select_memory)
        return 0;
    if (p->k->mem_per_gpu_mib && p->gpu != UINT32_MAX)
        return p->k->mem_per_gpu_mib * gres_gpus(p, f);
    if (p->k->flags & SHAPE_MEM_PER_NODE)
        return p->k->mem_per_node_mib ? p->k->mem_per_node_mib : n->mem_mib;
    for (uint32_t w = 0; w < n->nwords; w++)
        held += (uint32_t)__builtin_popcountll(cpus[w]);
    return p->k->mem_per_cpu_mib * (held / g.gran) * g.usable;
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
    for (uint32_t w = 0; w < n->nwords; w++)
        an->cpus += (uint32_t)__builtin_popcountll(an->cpu_bits[w]);
    an->mem_mib = memory_held(p, f, an->cpu_bits);
    for (uint32_t row = 0; row < n->ngres; row++)
        if (take[row])
            gres_fill(p, f, an->cpu_bits, row, take[row], &an->gres[an->ngres++], words);
    *gres += an->ngres;
    return gres_covers(p, an) ? 0 : -EAGAIN;
}

int layout(const struct pick *p, struct sched_alloc *ret)
{
    const struct fitvec *v = &p->s->chosen;
    struct sched_alloc a = { .nnodes = v->n };
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
