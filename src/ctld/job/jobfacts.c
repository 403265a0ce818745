/* jobfacts.c - small questions about jobs and nodes; see jobfacts.h. */
#include "ctld/job/jobfacts.h"

#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/wordlist.h"
#include "ctld/policy/fedset.h"

uint32_t jobs_array_running(struct ctld *ctld, uint32_t array_job_id)
{
    return cluster_array_tally(ctld->cluster, array_job_id).running;
}

bool jobs_in_partition(const Pst__JobRecord *r, const char *partition)
{
    return r->partition && wordlist_has(r->partition, partition);
}

void jobs_join_features(Pst__JobRecord *r)
{
    for (char *p = r->features; p && (p = strchr(p, ',')) != NULL; p++)
        *p = '&';
}

int jobs_nodes_named(const struct cluster *c, const char *list, bool all_known, struct bitmap **ret)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    _cleanup_(bitmap_free) struct bitmap *set = NULL;

    if (hostlist_parse_most(list, HOSTLIST_MAX_NODES, &hl, NULL) < 0)
        return ESLURM_INVALID_NODE_NAME;
    if (bitmap_new(c->nnodes ? c->nnodes : 1, &set) < 0)
        return SLURM_ERROR;
    for (size_t i = 0; i < hostlist_count(hl); i++) {
        const struct node *n = cluster_node_named(c, hostlist_nth(hl, i));

        if (n)
            bitmap_set(set, n->rec->node_id);
        else if (all_known)
            return ESLURM_INVALID_NODE_NAME;
    }
    *ret = TAKE_PTR(set);
    return 0;
}

uint32_t jobs_next_id(const struct ctld *ctld, uint32_t id)
{
    uint32_t first = (uint32_t)conf_num(ctld->conf, CONF_FIRST_JOB_ID);
    uint32_t max = (uint32_t)conf_num(ctld->conf, CONF_MAX_JOB_ID);
    uint32_t bits = fedset_own_number(ctld) << FED_ID_SHIFT;

    id &= FED_LOCAL_MASK;
    do {
        id = id >= max ? first : id + 1;
    } while (cluster_job(ctld->cluster, id | bits));
    return id;
}

/* next_job_id, or the number behind those that were used up without a job. */
static uint32_t fresh_number(const struct ctld *ctld)
{
    uint32_t next = ctld->cluster->rec->next_job_id;

    return ctld->passed_ids.to && ctld->passed_ids.from == next &&
                   !cluster_job(ctld->cluster, ctld->passed_ids.to)
               ? ctld->passed_ids.to
               : next;
}

uint32_t jobs_fresh_id(const struct ctld *ctld)
{
    uint32_t bits = fedset_own_number(ctld) << FED_ID_SHIFT, id = fresh_number(ctld);

    if (bits && cluster_job(ctld->cluster, id | bits)) /* the federation is new */
        id = jobs_next_id(ctld, id);
    return id | bits;
}

void jobs_use_up_id(struct ctld *ctld)
{
    uint32_t to = jobs_next_id(ctld, jobs_fresh_id(ctld));

    ctld->passed_ids = (struct passed_ids){ .from = ctld->cluster->rec->next_job_id, .to = to };
}

static uint64_t cluster_cpus(const struct cluster *c)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < c->nnodes; i++)
        if (c->nodes[i])
            n += c->nodes[i]->rec->cpus;
    return n;
}

#define NEW(field) (set->has_##field ? set->field : r->has_##field ? r->field : 0)

int jobs_check_sizes(const struct cluster *c, const Pst__JobRecord *r, const Pst__JobRecord *set)
{
    uint64_t nodes = MAX(NEW(min_nodes), 1u), most = NEW(max_cpus);

    if ((set->has_min_nodes && set->min_nodes == 0) ||
        (set->has_max_nodes && set->has_min_nodes && set->max_nodes < set->min_nodes))
        return ESLURM_INVALID_NODE_COUNT;
    if ((set->has_time_min_min || set->has_time_limit_min) && NEW(time_min_min) &&
        !(r->has_time_unlimited && r->time_unlimited && !set->has_time_limit_min) &&
        NEW(time_min_min) > NEW(time_limit_min))
        return ESLURM_INVALID_TIME_MIN_LIMIT;
    if (set->has_num_tasks && set->num_tasks == 0)
        return ESLURM_INVALID_CPU_COUNT;
    if (set->has_num_tasks && set->num_tasks < nodes)
        return ESLURM_BAD_TASK_COUNT;
    if (set->has_min_cpus && most && set->min_cpus > most)
        return ESLURM_INVALID_CPU_COUNT;
    if (set->has_min_cpus && set->min_cpus > cluster_cpus(c))
        return ESLURM_REQUESTED_PART_CONFIG_UNAVAILABLE;
    if (set->has_pn_min_cpus && set->pn_min_cpus * nodes > (most ? most : cluster_cpus(c)))
        return ESLURM_INVALID_CPU_COUNT;
    return 0;
}
#undef NEW

void jobfacts_note_waiting(struct job *j)
{
    Pst__JobReason reason = job_is_held(j->rec) ? j->rec->reason : j->rec->pend_reason;

    if (reason != PST__JOB_REASON__REASON_NONE && reason != PST__JOB_REASON__REASON_PRIORITY &&
        reason != PST__JOB_REASON__REASON_RESOURCES)
        j->waited_for = reason;
}
