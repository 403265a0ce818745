/* jobmemory.c - how much memory a job asks for; see jobmemory.h */
#include "ctld/submit/jobmemory.h"

#include "base/pb/pbutil.h"
#include "ctld/job/jobfacts.h"
#include "ctld/schedlink/schedfeed.h"
#include "feed/records.h"
#include "wire/errors.h"

/* more is a slip or malice; products with it do not overflow */
#define MEM_MAX_MIB (UINT64_C(1) << 40)

void jobmemory_default(const struct conf *conf, const Pst__PartitionRecord *p, Pst__JobRecord *r)
{
    if (r->has_mem_per_node_mib || r->has_mem_per_cpu_mib || r->has_mem_per_gpu_mib)
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

void jobmemory_as_cpus(const struct conf *conf, const Pst__PartitionRecord *p, Pst__JobRecord *r)
{
    uint64_t limit, per_node, times, cpus;

    feed_max_memory(conf, p, &limit, &per_node);
    if (!limit || !r->has_mem_per_cpu_mib || r->mem_per_cpu_mib <= limit ||
        r->mem_per_cpu_mib > MEM_MAX_MIB)
        return; /* the last is refused below */
    times = (r->mem_per_cpu_mib + limit - 1) / limit;
    cpus = times * (r->has_cpus_per_task ? r->cpus_per_task : 1);
    if (cpus > INT32_MAX)
        return;
    SET(r, cpus_per_task, (uint32_t)cpus);
    SET(r, mem_per_cpu_mib, (r->mem_per_cpu_mib + times - 1) / times);
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
    return 0;
}
