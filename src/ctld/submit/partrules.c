/* partrules.c - limits of partitions at submission; see partrules.h */
#include "ctld/submit/partrules.h"

#include <string.h>
#include <strings.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "ctld/job/jobfacts.h"
#include "ctld/policy/policy.h"
#include "feed/records.h"
#include "model/words/reqtres.h"

enum part_enforce partrules_enforced(const struct conf *conf)
{
    const char *word = conf_str(conf, CONF_ENFORCE_PART_LIMITS);

    if (!word || strcasecmp(word, "NO") == 0)
        return PART_ENFORCE_NO;
    return strcasecmp(word, "ANY") == 0 ? PART_ENFORCE_ANY : PART_ENFORCE_ALL;
}

static bool names_others(const struct ctld *ctld, const struct partition *p,
                         const Pst__JobRecord *r)
{
    _cleanup_(bitmap_free) struct bitmap *want = NULL;

    if (!r->req_nodes || jobs_nodes_named(ctld->cluster, r->req_nodes, true, &want) != 0)
        return false; /* a name that does not exist is refused elsewhere */
    return want && !bitmap_empty(want) &&
           (p->nodes->nbits != want->nbits || !bitmap_subset(want, p->nodes));
}

static bool over_time(const struct ctld *ctld, const Pst__PartitionRecord *p,
                      const Pst__JobRecord *r)
{
    if (!p->has_max_time_min || policy_qos_flag(ctld, r, PST__QOS_FLAG__QOS_PARTITION_TIME_LIMIT))
        return false;
    if (r->has_time_min_min && r->time_min_min)
        return r->time_min_min > p->max_time_min;
    return (r->has_time_unlimited && r->time_unlimited) ||
           (r->has_time_limit_min && r->time_limit_min > p->max_time_min);
}

static bool wrong_nodes(const struct ctld *ctld, const struct partition *p, const Pst__JobRecord *r)
{
    const Pst__PartitionRecord *pr = p->rec;
    uint32_t most = bitmap_count(p->nodes);

    if (pr->has_max_nodes && !policy_qos_flag(ctld, r, PST__QOS_FLAG__QOS_PARTITION_MAX_NODES))
        most = MIN(most, pr->max_nodes);
    if (r->has_min_nodes && r->min_nodes > most)
        return true;
    return pr->has_min_nodes && r->has_max_nodes && r->max_nodes && r->max_nodes < pr->min_nodes &&
           !policy_qos_flag(ctld, r, PST__QOS_FLAG__QOS_PARTITION_MIN_NODES);
}

static bool over_memory(const struct ctld *ctld, const struct partition *p, const Pst__JobRecord *r)
{
    uint64_t per_cpu, per_node;
    uint64_t cpus = MAX(r->cpus_per_task, 1u);

    feed_max_memory(ctld->conf, p->rec, &per_cpu, &per_node);
    if (!per_node)
        return false;
    if (r->has_mem_per_node_mib)
        return !r->mem_per_node_mib || r->mem_per_node_mib > per_node;
    return r->has_mem_per_cpu_mib && r->mem_per_cpu_mib > per_node / cpus;
}

static bool over_cpus(const struct ctld *ctld, const struct partition *p, const Pst__JobRecord *r)
{
    uint64_t asked = (uint64_t)reqtres_tasks(r) * MAX(r->cpus_per_task, 1u), cpus = 0;

    if (r->overcommit)
        return false;
    BITMAP_FOREACH (p->nodes, id) {
        if (ctld->cluster->nodes[id])
            cpus += ctld->cluster->nodes[id]->rec->cpus;
        if (cpus >= asked)
            return false; /* most jobs ask for few: the first nodes are enough */
    }
    return true;
}

/* A partition that gives whole nodes, and fewer CPUs of a node than it has, gives none. */
static bool gives_none(const struct ctld *ctld, const struct partition *p)
{
    bool whole = p->rec->exclusive && strcmp(p->rec->exclusive, "NODE") == 0;

    if (!whole || !p->rec->has_max_cpus_per_node)
        return false;
    BITMAP_FOREACH (p->nodes, id)
        if (ctld->cluster->nodes[id] &&
            ctld->cluster->nodes[id]->rec->cpus <= p->rec->max_cpus_per_node)
            return false;
    return true;
}

int partrules_check(const struct ctld *ctld, const struct partition *p, const Pst__JobRecord *r)
{
    if (names_others(ctld, p, r))
        return ESLURM_REQUESTED_NODES_NOT_IN_PARTITION;
    if (wrong_nodes(ctld, p, r))
        return ESLURM_INVALID_NODE_COUNT;
    if (over_time(ctld, p->rec, r))
        return ESLURM_INVALID_TIME_LIMIT;
    if (over_memory(ctld, p, r))
        return ESLURM_INVALID_TASK_MEMORY;
    if (over_cpus(ctld, p, r))
        return ESLURM_TOO_MANY_REQUESTED_CPUS;
    return gives_none(ctld, p) ? ESLURM_REQUESTED_PART_CONFIG_UNAVAILABLE : 0;
}
