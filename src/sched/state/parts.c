/* parts.c - partitions: sets of nodes with limits, each with its own queue.
 *
 * A partition named by a job but not (or no longer) configured exists here with exists = false, so
 * that its jobs can wait for it. */
#include "sched/state/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "sched/sched.h"
#include "sched/state/holders.h"
#include "sched/state/jobs.h"
#include "sched/state/nodes.h"
#include "sched/state/planlog.h"
#include "sched/state/queue.h"
#include "sched/state/sched_obj.h"
#include "sched/state/topos.h"
#include "sched/base/strtab.h"

int part_get(struct sched *s, const char *name, struct part **ret)
{
    struct part **grown, *p;
    uint32_t id;
    int r = strtab_intern(&s->parts_tab, name, &id);

    if (r < 0)
        return r;
    while (s->nparts <= id) {
        grown = realloc(s->parts, (s->nparts + 1) * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        s->parts = grown;
        p = calloc(1, sizeof(*p));
        if (!p)
            return -ENOMEM;
        r = bitmap_new(s->nbits, &p->nodes);
        if (r < 0) {
            free(p);
            return r;
        }
        p->id = s->nparts;
        p->oversubscribe = 1;
        grown[s->nparts++] = p;
    }
    *ret = s->parts[id];
    return 0;
}

void part_free(struct part *p)
{
    bitmap_free(p->nodes);
    free(p->node_cpus);
    holders_done(p);
    free(p->firsts);
    free(p->billing);
    free(p->topology);
    free(p);
}

static int link_node(struct node *n, uint32_t part)
{
    for (uint32_t i = 0; i < n->nparts; i++)
        if (n->parts[i] == part)
            return 0;
    if (n->nparts == n->cap_parts) {
        uint32_t cap = n->cap_parts ? n->cap_parts * 2 : 4;
        uint32_t *grown = realloc(n->parts, cap * sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        n->parts = grown;
        n->cap_parts = cap;
    }
    n->parts[n->nparts++] = part;
    return 0;
}

static void unlink_node(struct node *n, uint32_t part)
{
    for (uint32_t i = 0; i < n->nparts; i++) {
        if (n->parts[i] == part) {
            n->parts[i] = n->parts[--n->nparts];
            return;
        }
    }
}

static void refresh_job_factor(struct sched *s)
{
    s->max_job_factor = 0;
    for (uint32_t i = 0; i < s->nparts; i++)
        if (s->parts[i]->exists && s->parts[i]->job_factor > s->max_job_factor)
            s->max_job_factor = s->parts[i]->job_factor;
    s->prio_done = false;
}

static int fill_node_cpus(struct sched *s, struct part *p)
{
    free(p->node_cpus);
    p->node_cpus = calloc(s->nbits, sizeof(*p->node_cpus));
    if (!p->node_cpus)
        return -ENOMEM;
    struct holders_iter it = { .part = p->id };

    for (struct job *j; (j = holders_next(s, &it)) && j->part == p->id;) {
        if (j->state != JOB_RUNNING && j->state != JOB_PROPOSED)
            continue;
        for (size_t k = 0; k < j->alloc.nnodes; k++) {
            const struct sched_alloc_node *an = &j->alloc.nodes[k];

            if (an->node_id < s->nnodes && s->nodes[an->node_id].exists)
                p->node_cpus[an->node_id] += an->cpus;
        }
    }
    return 0;
}

static int set_nodes(struct sched *s, struct part *p, const struct sched_partition *in)
{
    int r = bitmap_resize(&p->nodes, s->nbits);

    if (r < 0)
        return r;
    for (size_t i = 0; i < in->nnodes;
         i++) { /* first what can fail; a link too many does no harm */
        r = link_node(&s->nodes[in->node_ids[i]], p->id);
        if (r < 0)
            return r;
    }
    bitmap_zero(s->dup);
    for (size_t i = 0; i < in->nnodes; i++)
        bitmap_set(s->dup, in->node_ids[i]);
    bitmap_andnot(p->nodes, s->dup);
    BITMAP_FOREACH (p->nodes, id)
        unlink_node(&s->nodes[id], p->id);
    bitmap_copy(p->nodes, s->dup);
    return 0;
}

static bool limits_cpus(const struct sched_partition *in)
{
    return in->max_cpus_per_node && in->max_cpus_per_node != SCHED_UNLIMITED;
}

void part_look_again(struct sched *s, struct part *p)
{
    p->grow++;
    p->unpark = true;
    for (struct entry *e = p->head[0]; e; e = e->next[0])
        job_set_fresh(s, e->job); /* its reason may be another one now */
}

static void part_changed(struct sched *s, struct part *p)
{
    s->config_gen++;
    s->up_gen++;
    planlog_other(s);
    s->change++;
    part_look_again(s, p);
    refresh_job_factor(s);
}

int sched_partition_put(struct sched *s, const struct sched_partition *in)
{
    struct part *p;
    _cleanup_free_ char *topology = NULL;
    int r = 0;

    if (!in->name || !in->name[0])
        return -EINVAL;
    if (in->topology && in->topology[0] && !(topology = strdup(in->topology)))
        return -ENOMEM;
    for (size_t i = 0; r == 0 && i < in->nnodes; i++)
        r = nodes_reserve(s, in->node_ids[i]);
    if (r == 0)
        r = part_get(s, in->name, &p);
    if (r == 0)
        r = set_nodes(s, p, in);
    if (r == 0 && limits_cpus(in))
        r = fill_node_cpus(s, p);
    if (r < 0)
        return r;
    if (!limits_cpus(in)) {
        free(p->node_cpus);
        p->node_cpus = NULL;
    }
    p->exists = true;
    p->up = in->up;
    p->inactive = in->inactive;
    p->paused = in->paused;
    p->max_mem_per_cpu_mib = in->max_mem_per_cpu_mib;
    p->max_mem_per_node_mib = in->max_mem_per_node_mib;
    p->tier = in->tier;
    p->job_factor = in->job_factor;
    p->max_time_min = in->max_time_min;
    p->min_nodes = in->min_nodes;
    p->max_nodes = in->max_nodes;
    p->exclusive_node = in->exclusive_node;
    p->lln = in->lln;
    p->exclusive_user = in->exclusive_user;
    s->uids = s->uids || in->exclusive_user;
    p->oversubscribe = MAX(in->oversubscribe, 1u);
    p->force = in->oversubscribe_force;
    p->preempt_mode = in->preempt_mode;
    p->qos_id = in->qos_id;
    p->billing_sum = in->billing_sum;
    free(p->billing);
    /* out of memory: CPUs count */
    p->billing = in->billing && in->billing[0] ? strdup(in->billing) : NULL;
    p->exclusive_topo = in->exclusive_topo;
    p->own_select = in->own_select && (s->params.select == SCHED_SELECT_CORE ||
                                       s->params.select == SCHED_SELECT_SOCKET);
    p->select = p->own_select ? in->select : s->params.select;
    p->select_memory = p->own_select ? in->select_memory : s->params.select_memory;
    free(p->topology);
    p->topology = topology;
    topology = NULL;
    topo_of_part(s, p);
    p->max_cpus_per_node = in->max_cpus_per_node;
    p->max_cpus_per_socket =
        in->max_cpus_per_socket == SCHED_UNLIMITED ? 0 : in->max_cpus_per_socket;
    part_changed(s, p);
    return 0;
}

void sched_partition_remove(struct sched *s, const char *name)
{
    uint32_t id = strtab_find(&s->parts_tab, name, strlen(name));
    struct part *p = id < s->nparts ? s->parts[id] : NULL;

    if (!p || !p->exists)
        return;
    BITMAP_FOREACH (p->nodes, node)
        unlink_node(&s->nodes[node], id);
    bitmap_zero(p->nodes);
    p->exists = p->up = false;
    part_changed(s, p);
}
