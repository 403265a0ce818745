/* reqtres.c - what a job asks for, as text; see reqtres.h. */
#include "model/reqtres.h"

#include "base/cleanup.h"
#include "base/timefmt.h"

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
    cpus = MAX(cpus, j->min_cpus);
    mem = j->has_mem_per_node_mib ? j->mem_per_node_mib * nodes : j->mem_per_cpu_mib * cpus;
    strbuf_addf(sb, "cpu=%u", cpus);
    if (mem) {
        size_mib_fmt(mem, noconvert, size, sizeof(size));
        strbuf_addf(sb, ",mem=%s", size);
    }
    strbuf_addf(sb, ",node=%u,billing=%u", nodes, cpus);
}
