/* firsts.c - the slot before which a request has no place, known from requests that ask for less.
 *
 * A queue may hold ten thousand different requests.  One that asks for no fewer nodes, no fewer
 * tasks on each, no less memory and no less time than another cannot have a place where that had
 * none, as long as nothing comes free.  A partition remembers some such findings, of requests
 * without anything special; whatever is remembered is true, what is forgotten costs a search.
 * Under a topology fewer nodes may be harder to find than more: nothing is concluded there. */
#include "sched/plan/firsts.h"

#include <stdlib.h>

#include "sched/state/classes.h"
#include "sched/state/parts.h"
#include "sched/state/sched_obj.h"
#include "sched/state/shape.h"

#define FIRSTS 768u

struct first {
    uint64_t run; /* memo_run */
    uint64_t mem;
    uint32_t nodes, tasks, cpus_per_task, flags, minutes, slot;
};

struct firsts {
    uint32_t next;
    struct first v[FIRSTS];
};

/* Nothing but so many tasks on so many nodes, with memory.  A label opens some nodes and closes
 * others: a request that has one cannot be compared. */
static bool is_plain(const struct shape_key *k)
{
    bool per_node = k->flags & SHAPE_MEM_PER_NODE;

    return !(k->flags & ~(uint32_t)SHAPE_MEM_PER_NODE) && k->num_tasks >= k->min_nodes &&
           k->min_nodes == k->max_nodes && !(per_node && !k->mem_per_node_mib) &&
           !k->ntasks_per_node && !k->ntasks_per_core && !k->ntasks_per_socket &&
           !k->threads_per_core && k->pn_min_cpus <= 1 && !k->min_sockets &&
           !k->min_cores_per_socket && !k->core_spec && !k->cpus_per_gpu && !k->tasks_per_gpu &&
           !k->mem_per_gpu_mib && !k->nlics && !k->nreq && !k->nexc && !k->ngres &&
           k->features_off == UINT32_MAX && k->prefer_off == UINT32_MAX && !k->label &&
           !(k->flags & SHAPE_EXTRA);
}

static struct first first_of(const struct shape_key *k, uint32_t minutes)
{
    return (struct first){ .mem = k->flags & SHAPE_MEM_PER_NODE ? k->mem_per_node_mib
                                                                : k->mem_per_cpu_mib,
                           .nodes = k->min_nodes,
                           .tasks = k->num_tasks,
                           .cpus_per_task = k->cpus_per_task,
                           .flags = k->flags | k->socket_dist << 24,
                           .minutes = minutes };
}

/* Does a ask for no more than b in any respect?  Where b fits, its fullest nodes would hold a. */
static bool asks_less(const struct first *a, const struct first *b)
{
    return a->nodes <= b->nodes && a->minutes <= b->minutes && a->mem <= b->mem &&
           a->cpus_per_task == b->cpus_per_task && a->flags == b->flags &&
           (uint64_t)a->tasks * b->nodes <= (uint64_t)b->tasks * a->nodes;
}

uint32_t firsts_find(const struct sched *s, const struct class *c, uint32_t minutes)
{
    const struct firsts *f = s->parts[c->part]->firsts;
    const struct shape_key *k = &c->shape->key;
    uint32_t slot = 0;
    struct first want;

    if (!f || s->parts[c->part]->topo || !is_plain(k))
        return 0;
    want = first_of(k, minutes);
    for (uint32_t i = 0; i < FIRSTS; i++)
        if (f->v[i].run == s->memo_run && f->v[i].slot > slot && asks_less(&f->v[i], &want))
            slot = f->v[i].slot;
    return slot;
}

void firsts_note(struct sched *s, const struct class *c, uint32_t minutes, uint32_t slot)
{
    struct part *p = s->parts[c->part];
    const struct shape_key *k = &c->shape->key;
    uint32_t at = FIRSTS;
    struct first now;

    if (p->topo || !is_plain(k) || firsts_find(s, c, minutes) >= slot)
        return;
    if (!p->firsts)
        p->firsts = calloc(1, sizeof(*p->firsts));
    if (!p->firsts)
        return; /* it is searched for again, then */
    now = first_of(k, minutes);
    now.run = s->memo_run;
    now.slot = slot;
    for (uint32_t i = 0; i < FIRSTS && at == FIRSTS; i++) {
        const struct first *old = &p->firsts->v[i];

        if (old->run != s->memo_run || (old->slot <= slot && asks_less(&now, old)))
            at = i;
    }
    if (at == FIRSTS)
        at = p->firsts->next++ % FIRSTS;
    p->firsts->v[at] = now;
}
