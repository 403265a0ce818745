/* hetenv.c - the variables of a heterogeneous job; see env.h
 *
 * Each variable that a component of its own would have is there once for each, with
 * _HET_GROUP_<k> behind its name and, for old scripts, _PACK_GROUP_<k>.  Pure; any thread. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "stepd/env/env.h"

static void put_group_value(struct envlist *el, const char *name, uint32_t k, const char *value)
{
    char full[96];

    if (!value || !*value)
        return;
    (void)snprintf(full, sizeof(full), "%s_HET_GROUP_%u", name, k); /* names are short */
    envlist_set(el, full, value);
    (void)snprintf(full, sizeof(full), "%s_PACK_GROUP_%u", name, k);
    envlist_set(el, full, value);
}

static void put_group_number(struct envlist *el, const char *name, uint32_t k, bool has,
                             uint64_t value)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
    put_group_value(el, name, k, has ? text : NULL);
}

static void put_component(struct envlist *el, const Pst__JobRecord *j)
{
    uint32_t k = j->het_offset, nodes = env_alloc_nodes(j->alloc);
    bool tasks = j->has_num_tasks || j->has_ntasks_per_node;
    uint32_t ntasks = j->has_num_tasks ? j->num_tasks : j->ntasks_per_node * nodes;
    _cleanup_free_ char *cpus = env_counts(el, j->alloc, false);
    _cleanup_free_ char *counts = env_counts(el, j->alloc, true);
    char text[32];

    put_group_number(el, "SLURM_CPUS_PER_TASK", k, j->has_cpus_per_task, j->cpus_per_task);
    put_group_value(el, "SLURM_JOB_ACCOUNT", k, j->account);
    put_group_value(el, "SLURM_JOB_CPUS_PER_NODE", k, cpus);
    put_group_number(el, "SLURM_JOB_ID", k, true, j->job_id);
    put_group_value(el, "SLURM_JOB_NAME", k, j->name);
    put_group_value(el, "SLURM_JOB_NODELIST", k, j->alloc->nodes);
    put_group_number(el, "SLURM_JOB_NUM_NODES", k, true, nodes);
    put_group_value(el, "SLURM_JOB_PARTITION", k, j->partition);
    put_group_value(el, "SLURM_JOB_QOS", k, j->qos);
    put_group_value(el, "SLURM_JOB_RESERVATION", k, j->reservation);
    put_group_number(el, "SLURM_JOB_SEGMENT_SIZE", k, j->segment_size > 0, j->segment_size);
    put_group_number(el, "SLURM_MEM_PER_CPU", k, j->has_mem_per_cpu_mib && j->mem_per_cpu_mib,
                     j->mem_per_cpu_mib);
    put_group_number(el, "SLURM_MEM_PER_NODE", k, j->has_mem_per_node_mib && j->mem_per_node_mib,
                     j->mem_per_node_mib);
    put_group_number(el, "SLURM_NPROCS", k, tasks, ntasks);
    put_group_number(el, "SLURM_NTASKS", k, tasks, ntasks);
    put_group_number(el, "SLURM_NTASKS_PER_NODE", k, j->has_ntasks_per_node, j->ntasks_per_node);
    put_group_value(el, "SLURM_TASKS_PER_NODE", k, counts);
    (void)snprintf(text, sizeof(text), "cpu=%u", j->cpus_per_task);
    put_group_value(el, "SLURM_TRES_PER_TASK", k, j->has_cpus_per_task ? text : NULL);
}

void env_het(struct envlist *el, Pst__JobRecord *const *jobs, size_t n)
{
    envlist_unset_part(el, "_HET_GROUP_"); /* of a job around the submission */
    envlist_unset_part(el, "_PACK_GROUP_");
    if (!n) {
        envlist_unset(el, "SLURM_HET_SIZE");
        envlist_unset(el, "SLURM_PACK_SIZE");
        return;
    }
    envlist_setu(el, "SLURM_HET_SIZE", jobs[0]->het_count);
    envlist_setu(el, "SLURM_PACK_SIZE", jobs[0]->het_count);
    for (size_t i = 0; i < n; i++)
        if (jobs[i]->alloc)
            put_component(el, jobs[i]);
}
