/* partlimits.c - may a job start in its partition at all? State, time, nodes and memory */
#include "sched/rules/partlimits.h"

#include "base/cleanup.h"
#include "sched/rules/limit.h"
#include "sched/rules/limit_check.h"
#include "sched/sched.h"
#include "sched/state/classes.h"
#include "sched/state/jobs.h"
#include "sched/state/parts.h"
#include "sched/state/sched_obj.h"
#include "sched/state/shape.h"

/* The CPUs that its fullest node has at least. */
static uint64_t least_cpus(const struct shape_key *k)
{
    uint64_t each = MAX(k->cpus_per_task, 1u), tasks = MAX(k->ntasks_per_node, 1u);

    if (k->num_tasks && k->max_nodes)
        tasks = MAX(tasks, (k->num_tasks + k->max_nodes - 1) / k->max_nodes);
    return MAX(tasks * each, (uint64_t)k->pn_min_cpus);
}

/* Does it ask for more memory than the partition grants? */
static bool over_memory(const struct part *p, const struct shape_key *k)
{
    if (p->max_mem_per_cpu_mib && k->mem_per_cpu_mib > p->max_mem_per_cpu_mib)
        return true;
    if (p->max_mem_per_node_mib && k->flags & SHAPE_MEM_PER_NODE && !k->mem_per_node_mib)
        return true; /* all of the node */
    return p->max_mem_per_node_mib &&
           MAX(k->mem_per_node_mib, k->mem_per_cpu_mib * least_cpus(k)) > p->max_mem_per_node_mib;
}

/* The partition's limit of time, or the job's own where its QOS lifts that. */
static uint32_t most_minutes(const struct sched *s, const struct entry *e)
{
    return limit_qos_flags(s, e->job) & SCHED_QOS_PART_TIME ? SCHED_UNLIMITED
                                                            : s->parts[e->part]->max_time_min;
}

uint32_t entry_minutes(const struct sched *s, const struct entry *e, uint32_t limit_min)
{
    return e->job->time_min_min ? MIN(limit_min, most_minutes(s, e)) : limit_min;
}

enum sched_why entry_limits(const struct sched *s, const struct entry *e)
{
    const struct part *p = s->parts[e->part];

    if (!p->up)
        return part_closed_why(p);
    return p->paused ? SCHED_WHY_RESOURCES : entry_limits_once_up(s, e);
}

enum sched_why entry_limits_once_up(const struct sched *s, const struct entry *e)
{
    const struct part *p = s->parts[e->part];
    const struct shape_key *k = &e->cls->shape->key;
    const struct job *j = e->job;

    if (!(k->flags & SHAPE_ANY_PART_SIZE) && (MAX(k->min_nodes, k->max_nodes) > p->max_nodes ||
                                              (k->max_nodes && k->max_nodes < p->min_nodes)))
        return SCHED_WHY_PART_NODE_LIMIT;
    if ((j->time_min_min ? j->time_min_min : j->time_limit_min) > most_minutes(s, e))
        return SCHED_WHY_PART_TIME_LIMIT;
    if (over_memory(p, k))
        return SCHED_WHY_PART_MEM;
    if (j->channels && s->params.channels && s->channels_held + j->channels > s->params.channels)
        return SCHED_WHY_CHANNELS;
    return SCHED_WHY_NONE;
}
