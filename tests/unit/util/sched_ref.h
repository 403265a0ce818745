/* sched_ref.h - a slow, obvious model of what the scheduler may and must do
 *
 * Everything is recomputed from the list of running jobs at every question: no bitmaps, no caches,
 * no counters. Included by the randomised test alone. */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "sched/sched.h"

#define MAXN 10
#define MAXP 3
#define MAXJ 120
#define MIN_US INT64_C(60000000)

struct rnode {
    struct sched_node in;
    unsigned features; /* bits a, b, c */
    struct sched_gres_spec gres[3];
    struct sched_gres_share shares[8];
    const uint64_t *near[2][3]; /* into masks */
    uint64_t masks[8];
    char text[16];
};
struct rpart {
    struct sched_partition in;
    uint32_t ids[MAXN];
    bool member[MAXN];
};
enum rstate { GONE, PENDING, RUNNING };
struct rjob {
    enum rstate state;
    struct sched_job in;
    const char *parts[MAXP];
    uint32_t part_ix[MAXP];
    uint32_t req[2], exc[2];
    struct sched_gres_req gres[1];
    int expr;
    /* running */
    uint32_t part;
    struct sched_alloc alloc; /* from a decision: nodes is the one block */
    int64_t end_us;
    bool firm, suspended, confirmed;
};
struct world {
    struct sched_params params;
    uint32_t nnodes, nparts, njobs;
    bool loose; /* jobs whose refusal the model cannot judge */
    struct rnode nodes[MAXN];
    struct rpart parts[MAXP];
    struct rjob jobs[MAXJ];
    int64_t now_us;
};

/* ---- constraint expressions: text, alternatives, which nodes are admitted -------------------- */

static const struct {
    const char *text;
    int alts;
} exprs[] = { { NULL, 1 }, { "a", 1 },        { "a&b", 1 },   { "a|c", 1 },
              { "!b", 1 }, { "(a|b)&!c", 1 }, { "[a|b]", 2 }, { "c&[a|b]", 2 } };

static bool expr_admits(int expr, int alt, unsigned f)
{
    bool a = f & 1, b = f & 2, c = f & 4;

    switch (expr) {
    case 1:
        return a;
    case 2:
        return a && b;
    case 3:
        return a || c;
    case 4:
        return !b;
    case 5:
        return (a || b) && !c;
    case 6:
        return alt ? b : a;
    case 7:
        return c && (alt ? b : a);
    default:
        return true;
    }
}

/* ---- one node -------------------------------------------------------------------------------- */

static bool bit(const uint64_t *w, uint32_t nw, uint32_t i)
{
    return i / 64 < nw && (w[i / 64] >> (i % 64) & 1);
}

static const struct sched_alloc_node *held_on(const struct rjob *j, uint32_t node)
{
    for (size_t i = 0; j->state == RUNNING && i < j->alloc.nnodes; i++)
        if (j->alloc.nodes[i].node_id == node)
            return &j->alloc.nodes[i];
    return NULL;
}

/* The situation a question is asked in. */
struct sit {
    const struct world *w;
    bool empty; /* as if nothing ran */
    bool any_state;
    int64_t at_us; /* jobs ending by then are gone */
    bool withheld[MAXN];
};

static bool there(const struct sit *q, const struct rjob *j)
{
    return !q->empty && j->state == RUNNING && j->end_us > q->at_us;
}

static bool whole(const struct world *w, const struct rpart *p, const struct rjob *j)
{
    return j->in.exclusive || p->in.exclusive_node || w->params.select == SCHED_SELECT_LINEAR;
}

/* Is what the partition hands out its own? */
static bool own_select(const struct world *w, const struct rpart *p)
{
    return p->in.own_select &&
           (w->params.select == SCHED_SELECT_CORE || w->params.select == SCHED_SELECT_SOCKET);
}

static bool by_socket(const struct world *w, const struct rpart *p)
{
    return (own_select(w, p) ? p->in.select : w->params.select) == SCHED_SELECT_SOCKET;
}

static bool by_memory(const struct world *w, const struct rpart *p)
{
    return own_select(w, p) ? p->in.select_memory : w->params.select_memory;
}

static uint32_t share_of(const struct world *w, const struct rpart *p, const struct rjob *j)
{
    if (whole(w, p, j) || !(p->in.oversubscribe_force || j->in.oversubscribe))
        return 1;
    return p->in.oversubscribe ? p->in.oversubscribe : 1;
}

static bool cpu_free(const struct sit *q, uint32_t node, uint32_t cpu, uint32_t share)
{
    uint32_t holders = 0;

    for (uint32_t i = 0; i < q->w->njobs; i++) {
        const struct rjob *j = &q->w->jobs[i];
        const struct sched_alloc_node *an = held_on(j, node);

        if (!an || !there(q, j) || j->suspended || !bit(an->cpu_bits, an->ncpu_words, cpu))
            continue;
        if (j->firm)
            return false;
        holders++;
    }
    return holders < share;
}

struct rgeo {
    uint32_t threads, gran, usable, units, per_socket, grain;
};

static struct rgeo rgeometry(const struct world *w, const struct rpart *p, const struct rjob *j,
                             uint32_t node)
{
    const struct sched_node *n = &w->nodes[node].in;
    struct rgeo g = { .threads =
                          n->cpus == n->sockets * n->cores_per_socket ? 1 : n->threads_per_core };

    g.usable = j->in.threads_per_core ? MIN(j->in.threads_per_core, g.threads) : g.threads;
    g.gran = g.threads;
    g.units = n->cpus / g.gran;
    g.per_socket = g.units / n->sockets;
    g.grain = whole(w, p, j) ? g.units : by_socket(w, p) ? g.per_socket : 1;
    return g;
}

static uint32_t free_units(const struct sit *q, const struct rpart *p, const struct rjob *j,
                           uint32_t node, const struct rgeo *g)
{
    uint32_t share = share_of(q->w, p, j), total = 0;

    for (uint32_t b = 0; b < g->units / g->grain; b++) {
        bool all = true;

        for (uint32_t c = b * g->grain * g->gran; c < (b + 1) * g->grain * g->gran; c++)
            all = all && cpu_free(q, node, c, share);
        total += all ? g->grain : 0;
    }
    return total;
}

static uint32_t units_for(const struct rjob *j, const struct rgeo *g, uint32_t tasks)
{
    uint32_t c = j->in.cpus_per_task, u = g->usable, pc = j->in.ntasks_per_core, n;

    if (j->in.overcommit)
        n = 1;
    else if (pc && c >= u)
        n = tasks * ((c + u - 1) / u);
    else if (pc)
        n = (tasks + MIN(pc, u / c) - 1) / MIN(pc, u / c);
    else
        n = (tasks * c + u - 1) / u;
    return (n + g->grain - 1) / g->grain * g->grain;
}

/* CPUs of a node at least; of a job that overcommits those of a task. */
static uint32_t floor_cpus(const struct rjob *j)
{
    return j->in.overcommit ? MAX(j->in.pn_min_cpus, j->in.cpus_per_task) : j->in.pn_min_cpus;
}

/* Units of a node that must be free, whether the job takes them or not. */
static uint32_t floor_units(const struct rjob *j, const struct rgeo *g)
{
    return (floor_cpus(j) + g->usable - 1) / g->usable;
}

/* Units that so many tasks need, and those that a job which names no number of tasks gets. */
static uint32_t least_units(const struct rjob *j, const struct rgeo *g, uint32_t tasks)
{
    uint32_t need = units_for(j, g, tasks);

    if (!j->in.num_tasks || j->in.overcommit)
        need = MAX(need, (floor_units(j, g) + g->grain - 1) / g->grain * g->grain);
    return need;
}

/* Where CPUs are counted one by one: those that the job is said to have. */
static bool counts_cpus(const struct world *w, const struct rpart *p, const struct rjob *j)
{
    return w->params.select == SCHED_SELECT_CPU && !whole(w, p, j);
}

static uint32_t cpus_for(const struct rjob *j, uint32_t tasks)
{
    uint32_t n = j->in.overcommit ? 1 : tasks * j->in.cpus_per_task;

    return j->in.num_tasks && !j->in.overcommit ? n : MAX(n, floor_cpus(j));
}

static bool row_ok(const struct sched_gres_req *r, const char *name, const char *type)
{
    return strcmp(r->name, name) == 0 && (!r->type || (type && strcmp(r->type, type) == 0));
}

/* Who holds bit `at` of the devices called name?  Any job there. */
static bool dev_held(const struct sit *q, uint32_t node, const char *name, uint32_t at)
{
    for (uint32_t i = 0; i < q->w->njobs; i++) {
        const struct sched_alloc_node *an = held_on(&q->w->jobs[i], node);

        for (size_t r = 0; an && there(q, &q->w->jobs[i]) && r < an->ngres; r++)
            if (an->gres[r].devices && strcmp(an->gres[r].name, name) == 0 &&
                bit(an->gres[r].devices, an->gres[r].ndevice_words, at))
                return true;
    }
    return false;
}

/* Free shares of the GPU, none while it is held as a whole. */
static uint64_t shares_free(const struct sit *q, uint32_t node, uint32_t gpu)
{
    const struct sched_gres_spec *spec = &q->w->nodes[node].gres[q->w->nodes[node].in.ngres - 1];
    uint32_t first = 0;
    uint64_t sum = 0;

    if (dev_held(q, node, "gpu", gpu))
        return 0;
    for (size_t i = 0; i < spec->nshares; first += spec->shares[i++].count)
        for (uint32_t k = first; spec->shares[i].device == gpu && k < first + spec->shares[i].count;
             k++)
            sum += !dev_held(q, node, "shard", k);
    return sum;
}

static uint64_t shares_of(const struct rnode *n, uint32_t gpu)
{
    const struct sched_gres_spec *spec = &n->gres[n->in.ngres - 1];

    for (size_t i = 0; i < spec->nshares; i++)
        if (spec->shares[i].device == gpu)
            return spec->shares[i].count;
    return 0;
}

static bool has_shares(const struct rnode *n)
{
    return n->in.ngres && n->gres[n->in.ngres - 1].shares;
}

static uint64_t gres_free(const struct sit *q, const struct rjob *j, uint32_t node)
{
    const struct rnode *n = &q->w->nodes[node];
    uint64_t have = 0, used = 0;

    if (strcmp(j->gres[0].name, "shard") == 0) { /* of one GPU */
        for (size_t i = 0; has_shares(n) && i < n->gres[n->in.ngres - 1].nshares; i++)
            have = MAX(have, shares_free(q, node, n->shares[i].device));
        return have;
    }
    for (size_t r = 0; r < n->in.ngres; r++) {
        if (!row_ok(&j->gres[0], n->gres[r].name, n->gres[r].type))
            continue;
        have += n->gres[r].count;
        for (uint32_t d = 0; has_shares(n) && d < n->gres[r].count; d++)
            used += !dev_held(q, node, "gpu", n->gres[r].first_index + d) &&
                    shares_free(q, node, n->gres[r].first_index + d) <
                        shares_of(n, n->gres[r].first_index + d);
    }
    for (uint32_t i = 0; i < q->w->njobs; i++) {
        const struct sched_alloc_node *an = held_on(&q->w->jobs[i], node);

        for (size_t r = 0; an && there(q, &q->w->jobs[i]) && r < an->ngres; r++)
            if (row_ok(&j->gres[0], an->gres[r].name, an->gres[r].type))
                used += an->gres[r].count;
    }
    return have - used;
}

static uint64_t mem_used(const struct sit *q, uint32_t node)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < q->w->njobs; i++) {
        const struct sched_alloc_node *an = held_on(&q->w->jobs[i], node);

        if (an && there(q, &q->w->jobs[i]))
            sum += an->mem_mib;
    }
    return sum;
}

static uint32_t part_cpus(const struct sit *q, uint32_t part, uint32_t node)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < q->w->njobs; i++) {
        const struct sched_alloc_node *an = held_on(&q->w->jobs[i], node);

        if (an && there(q, &q->w->jobs[i]) && !q->w->jobs[i].suspended &&
            q->w->jobs[i].part == part)
            sum += an->cpus;
    }
    return sum;
}

static bool tasks_fit(const struct sit *q, uint32_t part, const struct rjob *j, uint32_t node,
                      uint32_t tasks)
{
    const struct world *w = q->w;
    const struct rpart *p = &w->parts[part];
    const struct sched_node *n = &w->nodes[node].in;
    struct rgeo g = rgeometry(w, p, j, node);
    uint32_t quota = p->in.max_cpus_per_node, need = least_units(j, &g, tasks), cpus;
    uint64_t used = part_cpus(q, part, node), avail = free_units(q, p, j, node, &g);
    uint64_t mem = n->mem_mib, free_mem = n->mem_mib - (by_memory(w, p) ? mem_used(q, node) : 0);

    cpus = counts_cpus(w, p, j) ? cpus_for(j, tasks) : need * g.gran;
    if (quota && counts_cpus(w, p, j) && floor_cpus(j) > (quota > used ? quota - used : 0))
        return false;
    if (quota && !counts_cpus(w, p, j)) /* resumed jobs may exceed it */
        avail = MIN(avail, (quota > used ? quota - used : 0) / g.gran);
    if (j->in.has_mem_per_node && j->in.mem_per_node_mib)
        mem = j->in.mem_per_node_mib;
    else if (!j->in.has_mem_per_node)
        mem = j->in.mem_per_cpu_mib * (counts_cpus(w, p, j) ? cpus : need * g.usable);
    if (avail < need || avail < floor_units(j, &g) || mem > free_mem ||
        (quota && used + cpus > quota))
        return false;
    return !j->in.ngres ||
           gres_free(q, j, node) >= j->gres[0].per_node + j->gres[0].per_task * tasks;
}

/* Tasks of j the node could hold, 0 = it may not be used. */
static uint32_t capacity(const struct sit *q, uint32_t part, const struct rjob *j, uint32_t node,
                         int alt)
{
    const struct world *w = q->w;
    const struct sched_node *n = &w->nodes[node].in;
    uint32_t tasks = 0, limit = 200;

    if (!w->parts[part].member[node] || q->withheld[node] || (!n->schedulable && !q->any_state) ||
        !expr_admits(j->expr, alt, w->nodes[node].features) ||
        j->in.threads_per_core > n->threads_per_core || j->in.min_sockets > n->sockets ||
        j->in.min_cores_per_socket > n->cores_per_socket)
        return 0;
    for (size_t i = 0; i < j->in.nexc; i++)
        if (j->exc[i] == node)
            return 0;
    if (whole(w, &w->parts[part], j)) /* not even a job that shares */
        for (uint32_t i = 0; i < w->njobs; i++)
            if (held_on(&w->jobs[i], node) && there(q, &w->jobs[i]) && !w->jobs[i].suspended)
                return 0;
    if (!j->in.num_tasks) {
        tasks = j->in.ntasks_per_node ? j->in.ntasks_per_node : 1;
        return tasks_fit(q, part, j, node, tasks) ? tasks : 0;
    }
    if (j->in.ntasks_per_node)
        limit = j->in.ntasks_per_node;
    while (tasks < limit && tasks_fit(q, part, j, node, tasks + 1))
        tasks++;
    return tasks;
}

static int descending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x < y) - (x > y);
}

static bool fits_alt(const struct sit *q, uint32_t part, const struct rjob *j, int alt)
{
    uint32_t caps[MAXN], n = 0, sum = 0, used = 0, min = MAX(j->in.min_nodes, 1u), max = UINT32_MAX;

    min = MAX(min, (uint32_t)j->in.nreq);
    max = MIN(j->in.max_nodes ? j->in.max_nodes : max, q->w->parts[part].in.max_nodes);
    if (j->in.num_tasks)
        max = MIN(max, MAX(j->in.num_tasks, min));
    for (size_t i = 0; i < j->in.nreq; i++) {
        uint32_t c = capacity(q, part, j, j->req[i], alt);

        if (!c)
            return false;
        sum += c;
        used++;
    }
    for (uint32_t i = 0; i < q->w->nnodes; i++)
        if (!(j->in.nreq && j->req[0] == i) && !(j->in.nreq > 1 && j->req[1] == i))
            caps[n++] = capacity(q, part, j, i, alt);
    qsort(caps, n, sizeof(caps[0]), descending);
    for (uint32_t i = 0; i < n && caps[i] && used < max; i++, used++)
        sum += caps[i];
    return min <= max && used >= min && (!j->in.num_tasks || sum >= MAX(j->in.num_tasks, min));
}

static bool fits(const struct sit *q, uint32_t part, const struct rjob *j)
{
    for (int alt = 0; alt < exprs[j->expr].alts; alt++)
        if (fits_alt(q, part, j, alt))
            return true;
    return false;
}

/* Can it not start whatever ends?  Then it blocks nobody. */
static bool hopeless(const struct world *w, uint32_t part, const struct rjob *j)
{
    const struct rpart *p = &w->parts[part];
    struct sit q = { .w = w, .empty = true };
    uint32_t minutes = j->in.time_min_min ? j->in.time_min_min : j->in.time_limit_min;

    return !p->in.up || MAX(j->in.min_nodes, j->in.max_nodes) > p->in.max_nodes ||
           (p->in.max_time_min != SCHED_UNLIMITED && minutes > p->in.max_time_min) ||
           !fits(&q, part, j);
}

/* ---- is an allocation lawful? ---------------------------------------------------------------- */

static const uint64_t *near_of(const struct rnode *n, const char *name, uint32_t device)
{
    uint32_t gpu = device;

    for (size_t i = 0, first = 0;
         strcmp(name, "shard") == 0 && i < n->gres[n->in.ngres - 1].nshares;
         first += n->shares[i++].count)
        if (device >= first && device < first + n->shares[i].count)
            gpu = n->shares[i].device;
    for (size_t r = 0; r < n->in.ngres; r++)
        if (n->gres[r].near_cpus && gpu - n->gres[r].first_index < n->gres[r].count)
            return n->gres[r].near_cpus[gpu - n->gres[r].first_index];
    return NULL;
}

/* CPUs near any of the devices that the job has on the node. */
static uint64_t near_all(const struct rnode *n, const struct sched_alloc_node *an)
{
    uint64_t near = 0;

    for (size_t r = 0; r < an->ngres; r++) {
        for (uint32_t d = 0; an->gres[r].devices && d < an->gres[r].ndevice_words * 64; d++) {
            const uint64_t *cpus = bit(an->gres[r].devices, an->gres[r].ndevice_words, d)
                                       ? near_of(n, an->gres[r].name, d)
                                       : &near;

            near |= cpus ? *cpus : ~UINT64_C(0);
        }
        if (!an->gres[r].devices)
            return ~UINT64_C(0);
    }
    return near;
}

/* So many CPUs as the tasks and what the job wants of any node need; in CR_CPU and CR_Socket what
 * is counted and taken differ. */
static void check_count(const struct sit *q, uint32_t part, const struct rjob *j,
                        const struct sched_alloc_node *an, uint32_t count)
{
    const struct rpart *p = &q->w->parts[part];
    struct rgeo g = rgeometry(q->w, p, j, an->node_id), cores = g;
    uint32_t tasks = MAX(j->in.num_tasks, an->tasks);
    uint32_t most = least_units(j, &g, tasks) * g.gran;
    uint64_t near = near_all(&q->w->nodes[an->node_id], an);

    cores.grain = 1;
    if (g.grain > 1) /* every socket may have been taken for one core in it */
        most = MAX(most, least_units(j, &cores, tasks) * g.grain * g.gran);
    /* one bound to its devices that names no number of tasks gets all CPUs near them */
    if (j->in.gres_bind == SCHED_BIND_ENFORCE && !j->in.num_tasks && j->in.ngres)
        most = MAX(most, (uint32_t)__builtin_popcountll(near));
    if (counts_cpus(q->w, p, j)) {
        assert_true(an->cpus >= cpus_for(j, an->tasks) && an->cpus <= count);
        assert_true(an->cpus <= cpus_for(j, tasks) || an->cpus == count);
    } else {
        assert_int_equal(count, an->cpus);
    }
    /* a node may hold more CPUs than its tasks need, not more than all tasks do */
    assert_true(count >= least_units(j, j->in.ntasks_per_socket ? &cores : &g, an->tasks) * g.gran);
    assert_true(j->in.ntasks_per_socket || count <= most);
}

/* Where binding is enforced, every CPU is near one of the job's devices. */
static void check_bound(const struct rnode *n, const struct sched_alloc_node *an)
{
    assert_int_equal(an->cpu_bits[0] & ~near_all(n, an), 0);
}

static void check_cpus(const struct sit *q, uint32_t part, const struct rjob *j,
                       const struct sched_alloc_node *an)
{
    const struct rpart *p = &q->w->parts[part];
    const struct sched_node *n = &q->w->nodes[an->node_id].in;
    struct rgeo g = rgeometry(q->w, p, j, an->node_id);
    uint32_t block = g.grain * g.gran, count = 0;

    assert_int_equal(an->ncpu_words, (n->cpus + 63) / 64);
    for (uint32_t c = 0; c < an->ncpu_words * 64; c++) {
        if (!bit(an->cpu_bits, an->ncpu_words, c))
            continue;
        count++;
        assert_true(c < n->cpus);
        assert_true(cpu_free(q, an->node_id, c, share_of(q->w, p, j)));
        assert_true(
            bit(an->cpu_bits, an->ncpu_words, c / block * block)); /* blocks are taken whole */
        assert_true(bit(an->cpu_bits, an->ncpu_words, c / block * block + block - 1));
    }
    assert_true(count > 0);
    check_count(q, part, j, an, count);
    if (p->in.max_cpus_per_node)
        assert_true(part_cpus(q, part, an->node_id) + an->cpus <= p->in.max_cpus_per_node);
    if (by_memory(q->w, p)) {
        uint64_t cpus = counts_cpus(q->w, p, j) ? an->cpus : (uint64_t)count / g.gran * g.usable;
        uint64_t want = j->in.has_mem_per_node
                            ? (j->in.mem_per_node_mib ? j->in.mem_per_node_mib : n->mem_mib)
                            : j->in.mem_per_cpu_mib * cpus;

        assert_int_equal(an->mem_mib, want);
        assert_true(mem_used(q, an->node_id) + an->mem_mib <= n->mem_mib);
    }
}

/* A GPU is shared or given away as a whole; shares of a job on a node are of one GPU. */
static void check_shared(const struct sit *q, uint32_t node, const struct sched_alloc_gres *g)
{
    const struct rnode *n = &q->w->nodes[node];
    uint32_t first = 0, gpus = 0;

    for (size_t i = 0; has_shares(n) && i < n->gres[n->in.ngres - 1].nshares;
         first += n->shares[i++].count) {
        uint32_t gpu = n->shares[i].device, mine = 0;

        for (uint32_t k = first; k < first + n->shares[i].count; k++)
            mine += bit(g->devices, g->ndevice_words, k);
        if (strcmp(g->name, "gpu") == 0 && bit(g->devices, g->ndevice_words, gpu))
            assert_int_equal(shares_free(q, node, gpu), n->shares[i].count);
        if (strcmp(g->name, "shard") == 0 && mine)
            assert_false(dev_held(q, node, "gpu", gpu));
        gpus += mine != 0;
    }
    if (strcmp(g->name, "shard") == 0)
        assert_int_equal(gpus, 1);
}

static void check_devices(const struct sit *q, uint32_t node, const struct sched_alloc_gres *g)
{
    uint64_t count = 0;

    for (uint32_t d = 0; d < g->ndevice_words * 64; d++) {
        if (!bit(g->devices, g->ndevice_words, d))
            continue;
        count++;
        for (uint32_t i = 0; i < q->w->njobs; i++) {
            const struct sched_alloc_node *an = held_on(&q->w->jobs[i], node);

            for (size_t r = 0; an && there(q, &q->w->jobs[i]) && r < an->ngres; r++)
                if (an->gres[r].devices && strcmp(an->gres[r].name, g->name) == 0)
                    assert_false(bit(an->gres[r].devices, an->gres[r].ndevice_words, d));
        }
    }
    assert_int_equal(count, g->count);
    check_shared(q, node, g);
}

static uint64_t check_gres(const struct sit *q, const struct rjob *j,
                           const struct sched_alloc_node *an, bool all)
{
    uint64_t got = 0;

    for (size_t r = 0; r < an->ngres; r++) {
        if (an->gres[r].devices)
            check_devices(q, an->node_id, &an->gres[r]);
        if (j->in.ngres && row_ok(&j->gres[0], an->gres[r].name, an->gres[r].type))
            got += an->gres[r].count;
    }
    if (!j->in.ngres)
        return 0;
    assert_true(got <= gres_free(q, j, an->node_id));
    if (all || j->gres[0].per_job)
        assert_true(got >= j->gres[0].per_node + j->gres[0].per_task * an->tasks);
    else
        assert_int_equal(got, j->gres[0].per_node + j->gres[0].per_task * an->tasks);
    return got;
}

static void check_alloc(const struct world *w, uint32_t part, const struct rjob *j,
                        const struct sched_alloc *a)
{
    struct sit q = { .w = w, .at_us = INT64_MIN };
    uint32_t tasks = 0, alts = 0;
    uint64_t gres = 0;
    bool all_gres = j->in.exclusive || w->parts[part].in.exclusive_node;

    assert_false(hopeless(w, part, j) && !w->loose);
    assert_true(a->nnodes >= MAX(j->in.min_nodes, 1u));
    assert_true(a->nnodes <= w->parts[part].in.max_nodes);
    assert_true(!j->in.max_nodes || a->nnodes <= j->in.max_nodes);
    for (size_t i = 0; i < a->nnodes; i++) {
        const struct sched_alloc_node *an = &a->nodes[i];
        const struct rnode *n = &w->nodes[an->node_id];

        assert_true(i == 0 || a->nodes[i - 1].node_id < an->node_id);
        assert_true(!j->in.contiguous || i == 0 || a->nodes[i - 1].node_id + 1 == an->node_id);
        assert_true(w->parts[part].member[an->node_id] && n->in.schedulable);
        check_cpus(&q, part, j, an);
        gres += check_gres(&q, j, an, all_gres);
        if (j->in.ngres && j->in.gres_bind == SCHED_BIND_ENFORCE && !whole(w, &w->parts[part], j))
            check_bound(n, an);
        tasks += an->tasks;
        assert_true(an->tasks > 0);
        if (j->in.ntasks_per_node)
            assert_true(an->tasks <= j->in.ntasks_per_node);
        for (size_t e = 0; e < j->in.nexc; e++)
            assert_true(j->exc[e] != an->node_id);
    }
    if (j->in.num_tasks)
        assert_int_equal(tasks, MAX(j->in.num_tasks, MAX(j->in.min_nodes, (uint32_t)j->in.nreq)));
    if (j->in.ngres && j->gres[0].per_job)
        assert_true(gres >= j->gres[0].per_job);
    for (size_t r = 0; r < j->in.nreq; r++) {
        bool met = false;

        for (size_t i = 0; i < a->nnodes; i++)
            met = met || a->nodes[i].node_id == j->req[r];
        assert_true(met);
    }
    for (int alt = 0; alt < exprs[j->expr].alts; alt++) {
        bool ok = true;

        for (size_t i = 0; i < a->nnodes; i++)
            ok = ok && expr_admits(j->expr, alt, w->nodes[a->nodes[i].node_id].features);
        alts += ok;
    }
    assert_true(alts > 0);
}
