/* jobmemory.c - how much memory a job asks for; see jobmemory.h */
#include "ctld/submit/jobmemory.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "ctld/job/jobfacts.h"
#include "ctld/schedlink/schedfeed.h"
#include "feed/records.h"
#include "model/words/reqtres.h"
#include "wire/errors.h"

/* more is a slip or malice; products with it do not overflow */
#define MEM_MAX_MIB (UINT64_C(1) << 40)

/* A word of the partition's JobDefaults, else the cluster's; 0: none. */
static uint64_t gpu_default(const struct conf *conf, const Pst__PartitionRecord *p,
                            const char *word, enum conf_key key)
{
    size_t len = strlen(word);

    for (const char *at = p->job_defaults; at && *at;) {
        size_t n = strcspn(at, ",");

        if (n > len && strncasecmp(at, word, len) == 0 && at[len] == '=')
            return strtoull(at + len + 1, NULL, 10); /* was checked */
        at += n + (at[n] == ',');
    }
    return conf_num(conf, key);
}

/* A job with GPUs gets so many CPUs, and so much memory, by GPU where it does not say. */
static void default_by_gpu(const struct conf *conf, const Pst__PartitionRecord *p,
                           Pst__JobRecord *r)
{
    uint64_t cpus = gpu_default(conf, p, "DefCpuPerGPU", CONF_DEF_CPU_PER_GPU);
    uint64_t mem = gpu_default(conf, p, "DefMemPerGPU", CONF_DEF_MEM_PER_GPU);

    if ((!cpus && !mem) || !reqtres_gres(r, "gpu", NULL))
        return;
    if (cpus && !r->has_cpus_per_gpu && !r->has_cpus_per_task)
        SET(r, def_cpus_per_gpu, (uint32_t)MIN(cpus, (uint64_t)INT32_MAX));
    if (mem && mem <= MEM_MAX_MIB && !r->has_mem_per_gpu_mib)
        SET(r, def_mem_per_gpu_mib, mem);
}

void jobmemory_default(const struct conf *conf, const Pst__PartitionRecord *p, Pst__JobRecord *r)
{
    default_by_gpu(conf, p, r);
    if (r->has_def_mem_per_gpu_mib || r->has_mem_per_node_mib || r->has_mem_per_cpu_mib ||
        r->has_mem_per_gpu_mib)
        return;
    if (p->has_def_mem_per_cpu_mib)
        SET(r, mem_per_cpu_mib, p->def_mem_per_cpu_mib);
    else if (p->has_def_mem_per_node_mib)
        SET(r, mem_per_node_mib, p->def_mem_per_node_mib);
    else if (conf_num(conf, CONF_DEF_MEM_PER_CPU))
        SET(r, mem_per_cpu_mib, conf_num(conf, CONF_DEF_MEM_PER_CPU));
    else
        SET(r, mem_per_node_mib, conf_num(conf, CONF_DEF_MEM_PER_NODE)); /* 0 = all of the node */
}

/* Memory by CPU: so many times the CPUs that it needs, each with a part of it. */
static void spread_cpu_memory(Pst__JobRecord *r, uint64_t limit)
{
    uint64_t times = (r->mem_per_cpu_mib + limit - 1) / limit;
    uint64_t cpus = times * (r->has_cpus_per_task ? r->cpus_per_task : 1);

    if (cpus > INT32_MAX)
        return;
    SET(r, cpus_per_task, (uint32_t)cpus);
    SET(r, mem_per_cpu_mib, (r->mem_per_cpu_mib + times - 1) / times);
}

/* Memory by node: so many CPUs on each node, shared by the tasks there. */
static void spread_node_memory(Pst__JobRecord *r, uint64_t limit, uint64_t node_mib)
{
    uint64_t mem = r->mem_per_node_mib ? r->mem_per_node_mib : node_mib;
    uint64_t cpus = (mem + limit - 1) / limit;
    uint64_t tasks = (reqtres_tasks(r) - 1) / reqtres_nodes(r) + 1;

    if (cpus > INT32_MAX || cpus <= tasks * (r->has_cpus_per_task ? r->cpus_per_task : 1))
        return;
    SET(r, cpus_per_task, (uint32_t)((cpus - 1) / tasks + 1));
    if (!r->has_pn_min_cpus || r->pn_min_cpus < cpus)
        SET(r, pn_min_cpus, (uint32_t)cpus);
}

void jobmemory_as_cpus(const struct conf *conf, const Pst__PartitionRecord *p, uint64_t node_mib,
                       Pst__JobRecord *r)
{
    uint32_t asked = r->has_cpus_per_task ? r->cpus_per_task : 0;
    uint64_t limit, per_node, mem;

    feed_max_memory(conf, p, &limit, &per_node);
    if (!limit || (r->has_mem_per_cpu_mib && r->mem_per_cpu_mib > MEM_MAX_MIB))
        return; /* the last is refused below */
    mem = reqtres_mem_mib(r, node_mib);
    if (r->has_mem_per_cpu_mib && r->mem_per_cpu_mib > limit)
        spread_cpu_memory(r, limit);
    else if (r->has_mem_per_node_mib)
        spread_node_memory(r, limit, node_mib);
    if (r->cpus_per_task != asked) {
        SET(r, asked_cpus_per_task, asked);
        SET(r, req_mem_mib, mem);
    }
}

int submit_sizes(const Pst__JobRecord *r)
{
    if ((r->has_num_tasks && !r->num_tasks) || (r->has_cpus_per_task && !r->cpus_per_task))
        return ESLURM_BAD_TASK_COUNT;
    if ((r->has_min_nodes && !r->min_nodes) ||
        (r->has_max_nodes && r->max_nodes && r->has_min_nodes && r->max_nodes < r->min_nodes))
        return ESLURM_INVALID_NODE_COUNT;
    if ((r->has_mem_per_node_mib && r->mem_per_node_mib > MEM_MAX_MIB) ||
        (r->has_mem_per_cpu_mib && r->mem_per_cpu_mib > MEM_MAX_MIB) ||
        (r->has_mem_per_gpu_mib && r->mem_per_gpu_mib > MEM_MAX_MIB))
        return ESLURM_INVALID_TASK_MEMORY;
    if (r->has_max_cpus &&
        (!r->max_cpus || (r->has_min_cpus && r->max_cpus < r->min_cpus) ||
         (r->has_num_tasks &&
          r->max_cpus < (uint64_t)r->num_tasks * (r->has_cpus_per_task ? r->cpus_per_task : 1))))
        return ESLURM_INVALID_CPU_COUNT;
    return 0;
}
