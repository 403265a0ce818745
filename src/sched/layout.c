/* layout.c - what exactly a job gets on the nodes chosen for it: tasks, CPUs, memory, devices.
 *
 * Tasks fill the nodes in order and leave at least one for each node that follows; where several
 * tasks go on one core, a node does not start a core it cannot fill while others have room.  On
 * whole nodes, which are taken anyway, tasks are dealt out evenly.  Tasks of one CPU go round the sockets; larger ones fill a socket before the next.  Devices are taken
 * lowest index first. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/sched_int.h"

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
    uint64_t left = p->tasks, room_after = 0;

    if (!p->tasks) {
        for (uint32_t i = 0; i < v->n; i++)
            v->v[i].tasks = p->each;
        return;
    }
    if (p->whole) {
        deal_tasks(v, p->tasks);
        return;
    }
    for (uint32_t i = 0; i < v->n; i++)
        room_after += v->v[i].tasks;
    for (uint32_t i = 0; i < v->n; i++) {
        struct fit *f = &v->v[i];
        struct geometry g = pick_geometry(p, &p->s->nodes[f->id]);
        uint32_t after = v->n - i - 1, per_unit = geometry_tasks(p, &g, 1);
        uint64_t share = MIN((uint64_t)f->tasks, left - after);

        room_after -= f->tasks;
        if (after && per_unit > 1 && share > per_unit && !(p->k->flags & SHAPE_OVERCOMMIT))
            share -= share % per_unit;
        if (left - share > room_after)
            share = left - room_after;
        f->tasks = (uint32_t)share;
        left -= share;
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

/* --- CPUs
 * ---------------------------------------------------------------------------------------------- */

struct cpu_pick {
    const struct geometry *g;
    const uint64_t *avail;
    uint64_t *out;
    uint32_t sockets;
    uint32_t next[SCHED_MAX_SOCKETS]; /* first unit of the socket not looked at */
};

static bool unit_avail(const struct cpu_pick *cp, uint32_t unit)
{
    for (uint32_t i = unit * cp->g->gran; i < (unit + 1) * cp->g->gran; i++)
        if (!(cp->avail[i >> 6] >> (i & 63) & 1))
            return false;
    return true;
}

/* Take up to n free units of a socket; returns how many. */
static uint32_t take_units(struct cpu_pick *cp, uint32_t socket, uint32_t n)
{
    uint32_t got = 0, per = cp->g->per_socket;

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

    while (need && any) {
        any = false;
        for (uint32_t k = 0; k < cp->sockets && need; k++) {
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

static int choose_cpus(const struct pick *p, uint32_t id, uint32_t tasks, uint64_t *out)
{
    const struct node *n = &p->s->nodes[id];
    struct geometry g = pick_geometry(p, n);
    struct cpu_pick cp = { .g = &g, .avail = p->s->cpu_words, .out = out, .sockets = n->sockets };
    uint32_t need = geometry_units(p, &g, tasks);

    memset(out, 0, n->nwords * sizeof(*out));
    if (p->pad && p->k->pn_min_cpus > need * g.usable)
        need = (p->k->pn_min_cpus + g.usable - 1) / g.usable;
    pick_free_cpus(p, id, p->s->cpu_words);
    if (p->whole)
        need = take_block(&cp, g.units);
    else if (p->s->params.select == SCHED_SELECT_SOCKET)
        need = take_sockets(p, &cp, tasks, (need + g.per_socket - 1) / g.per_socket * g.per_socket);
    else if (p->k->ntasks_per_socket && !(p->k->flags & SHAPE_OVERCOMMIT))
        need = take_by_socket(p, &cp, tasks, need);
    else if (p->k->cpus_per_task == 1)
        need = take_cyclic(&cp, need);
    else
        need = take_block(&cp, need);
    return need ? -EAGAIN : 0;
}

/* --- devices
 * ------------------------------------------------------------------------------------------- */

/* How much of each row of the node the job takes. */
static int choose_gres(const struct pick *p, const struct fit *f, uint64_t *take)
{
    const struct node *n = &p->s->nodes[f->id];
    const struct shape *sh = p->cls->shape;
    bool all = (sh->key.flags & SHAPE_EXCLUSIVE) || p->part->exclusive_node;

    memset(take, 0, n->ngres * sizeof(*take));
    for (uint32_t r = 0; r < sh->key.ngres; r++) {
        const struct shape_gres *g = &sh->key.gres[r];
        uint64_t need = g->per_node + g->per_task * f->tasks;

        if (r < sh->npj)
            need = MAX(need, (uint64_t)f->gres[r]);
        for (uint32_t row = 0; row < n->ngres && need; row++) {
            uint64_t avail;

            if (!row_matches(p, &n->gres[row], r))
                continue;
            avail = pick_free_gres(p, f->id, row, NULL) - take[row];
            take[row] += MIN(avail, need);
            need -= MIN(avail, need);
        }
        if (need)
            return -EAGAIN;
    }
    for (uint32_t row = 0; all && row < n->ngres; row++)
        take[row] = pick_free_gres(p, f->id, row, NULL);
    return 0;
}

static void fill_gres(const struct pick *p, uint32_t id, uint32_t row_at, uint64_t count,
                      struct sched_alloc_gres *out, uint64_t **words)
{
    const struct gres_row *row = &p->s->nodes[id].gres[row_at];
    char **names = p->s->gres_tab.names;

    *out = (struct sched_alloc_gres){ .name = names[row->name],
                                      .type = row->type == STRTAB_NONE ? NULL : names[row->type],
                                      .count = count };
    if (!row->indexed)
        return;
    out->devices = *words;
    out->ndevice_words = (row->first + row->dev.n + 63) / 64;
    *words += out->ndevice_words;
    memset(out->devices, 0, out->ndevice_words * sizeof(uint64_t));
    (void)pick_free_gres(p, id, row_at, p->s->dev_words); /* for the devices it writes */
    for (uint32_t d = 0; d < row->dev.n && count; d++) {
        uint32_t bit = row->first + d;

        if (!(p->s->dev_words[d >> 6] >> (d & 63) & 1))
            continue;
        out->devices[bit >> 6] |= UINT64_C(1) << (bit & 63);
        count--;
    }
}

/* --- together
 * ------------------------------------------------------------------------------------------ */

static uint64_t memory(const struct pick *p, const struct node *n, const uint64_t *cpus)
{
    struct geometry g = pick_geometry(p, n);
    uint32_t held = 0;

    if (!p->s->params.select_memory)
        return 0;
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
    r = choose_cpus(p, f->id, f->tasks, an->cpu_bits);
    if (r == 0 && n->ngres)
        r = choose_gres(p, f, take);
    if (r < 0)
        return r;
    for (uint32_t w = 0; w < n->nwords; w++)
        an->cpus += (uint32_t)__builtin_popcountll(an->cpu_bits[w]);
    an->mem_mib = memory(p, n, an->cpu_bits);
    for (uint32_t row = 0; row < n->ngres; row++)
        if (take[row])
            fill_gres(p, f->id, row, take[row], &an->gres[an->ngres++], words);
    *gres += an->ngres;
    return 0;
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
