/* reqtres.c - what a job asks for, as text; see reqtres.h. */
#include "model/words/reqtres.h"

#include "base/cleanup.h"
#include "base/timefmt.h"

static uint64_t alloc_mem_mib(const Pst__Alloc *a)
{
    uint64_t mem = 0;

    for (size_t g = 0; a && g < a->n_groups; g++)
        mem += a->groups[g]->mem_mib * a->groups[g]->nodes;
    return mem;
}

void reqtres_put(struct strbuf *sb, const Pst__JobRecord *j, bool noconvert)
{
    uint32_t nodes = j->min_nodes ? j->min_nodes : 1, cpus;
    uint64_t mem;
    char size[32];

    if (j->req_tres) {
        strbuf_add(sb, j->req_tres);
        return;
    }
    cpus = (j->num_tasks ? j->num_tasks : nodes * MAX(j->ntasks_per_node, 1u)) *
           (j->cpus_per_task ? j->cpus_per_task : 1);
    if (j->overcommit)
        cpus = nodes; /* sized as with a task a node */
    cpus = MAX(cpus, j->min_cpus);
    mem = j->has_mem_per_node_mib ? j->mem_per_node_mib * nodes : j->mem_per_cpu_mib * cpus;
    if (j->has_mem_per_node_mib && !mem) /* all there is */
        mem = alloc_mem_mib(j->alloc);
    strbuf_addf(sb, "cpu=%u", cpus);
    if (mem) {
        size_mib_fmt(mem, noconvert, size, sizeof(size));
        strbuf_addf(sb, ",mem=%s", size);
    }
    strbuf_addf(sb, ",node=%u,billing=%llu", nodes,
                (unsigned long long)(j->has_req_billing ? j->req_billing : cpus));
    if (j->req_gres)
        strbuf_addf(sb, ",%s", j->req_gres);
}
