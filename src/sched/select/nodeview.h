/* nodeview.h - what a node has for a job: the CPUs and the memory that the job may have */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "sched/profile/prof_view.h"
#include "sched/sched.h"
#include "sched/state/nodes.h"
#include "sched/state/parts.h"
#include "sched/state/question.h"
#include "sched/state/resvs.h"
#include "sched/state/sched_obj.h"
#include "sched/state/shape.h"

struct prof_view;

struct geometry { /* a node as units of gran CPUs; a job gets whole units */
    uint32_t units, per_socket, gran, usable, grain;
    uint32_t avail; /* units that jobs may have: the others are for the system */
};

/* With CR_CPU a job holds whole cores, but is shown with only the CPUs that it needs. */
static inline bool pick_by_cpus(const struct pick *p)
{
    return p->part->select == SCHED_SELECT_CPU && !p->whole;
}

/* Cores that the job leaves to the system (--core-spec) in addition to those that the node
 * keeps. */
static inline uint32_t job_spec_cores(const struct pick *p, const struct node *n)
{
    uint32_t kept = n->spec_units;

    if (p->k->flags & SHAPE_SPEC_THREADS) /* all of a node that keeps fewer: it does not fit */
        return p->k->core_spec > kept * n->threads ? n->sockets * n->cores_per_socket - kept : 0;
    return p->k->core_spec > kept ? p->k->core_spec - kept : 0;
}

static inline struct geometry pick_geometry(const struct pick *p, const struct node *n)
{
    const struct shape_key *k = p->k;
    uint32_t usable = k->threads_per_core ? MIN(k->threads_per_core, n->threads) : n->threads;
    struct geometry g = { .gran = n->threads, .usable = usable };

    g.units = n->units;
    g.per_socket = n->per_socket;
    g.avail = g.units - (k->flags & SHAPE_KEPT_TOO ? 0 : n->spec_units);
    g.avail -= MIN(g.avail, job_spec_cores(p, n));
    g.grain = p->whole                                 ? MAX(g.avail, 1u)
              : p->part->select == SCHED_SELECT_SOCKET ? g.per_socket
                                                       : 1;
    return g;
}

static inline uint32_t geometry_tasks(const struct pick *p, const struct geometry *g,
                                      uint32_t units)
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

static inline uint32_t geometry_units(const struct pick *p, const struct geometry *g,
                                      uint32_t tasks)
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

/* Does the job get so many CPUs of each node (--mincpus; if it overcommits, those of one task),
 * even if its tasks need fewer?  For another with a number of tasks, --mincpus only says which
 * nodes are large enough. */
static inline bool pick_takes_min_cpus(const struct pick *p)
{
    return !p->k->num_tasks || p->k->flags & SHAPE_OVERCOMMIT;
}

static inline uint32_t pick_min_cpus(const struct pick *p)
{
    return p->pad || pick_takes_min_cpus(p) ? p->k->pn_min_cpus : 0;
}

/* What the reservation r has on the node, if the job would still run when r begins; else NULL. */
static inline const struct sched_alloc_node *pick_conflict(const struct pick *p,
                                                           const struct resv *r, uint32_t id,
                                                           const struct resv_node **ret_spare)
{
    uint32_t at;

    if (r->start_us >= p->end_us || !bitmap_test(r->nodes, id))
        return NULL;
    at = r->before[id >> 6] + (uint32_t)__builtin_popcountll(r->nodes->words[id >> 6] &
                                                             ((UINT64_C(1) << (id & 63)) - 1));
    *ret_spare = &r->spare[at];
    return &r->alloc.nodes[at];
}

static inline const struct prof_view *view_of(const struct pick *p, uint32_t id)
{
    return prof_view(p->s, id, p->from, p->until, p->end_us);
}

/* Does the node keep CPUs for jobs with GPUs, and does this job ask for none? */
static inline bool for_gpus(const struct pick *p, const struct node *n)
{
    return n->gpu_cpus && !p->gpus && !p->whole;
}

static inline uint32_t socket_cpus(const struct node *n)
{
    return n->cores_per_socket * n->threads;
}

/* Does the partition let a job have only some of the CPUs of each socket? */
static inline bool socket_limit(const struct pick *p, const struct node *n)
{
    return p->part->max_cpus_per_socket && p->part->max_cpus_per_socket < socket_cpus(n);
}

static inline bool unit_free(const uint64_t *words, uint32_t unit, uint32_t gran)
{
    for (uint32_t i = unit * gran; i < (unit + 1) * gran; i++)
        if (!(words[i >> 6] >> (i & 63) & 1))
            return false;
    return true;
}

void pick_init(struct pick *p);
/* After pick_init().  boot: take the nodes as a whole; else take what the job asks for. */
void pick_take_whole(struct pick *p, bool boot);
/* The least number of free CPUs, on all nodes together, with which the job can start.  After
 * pick_init(). */
uint64_t pick_least_cpus(const struct pick *p);
void pick_free_cpus(const struct pick *p, uint32_t id, uint64_t *words);
uint64_t pick_free_mem(const struct pick *p, uint32_t id);
