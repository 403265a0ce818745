/* reqtres.c - what a job asks for, as text; see reqtres.h. */
#include "model/words/reqtres.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/gres/grestext.h"
#include "base/timefmt.h"

static uint64_t alloc_mem_mib(const Pst__Alloc *a)
{
    uint64_t mem = 0;

    for (size_t g = 0; a && g < a->n_groups; g++)
        mem += a->groups[g]->mem_mib * a->groups[g]->nodes;
    return mem;
}

uint32_t reqtres_nodes(const Pst__JobRecord *j)
{
    return MAX(j->has_min_nodes ? j->min_nodes : 1, 1u);
}

/* Does the job say how many nodes it wants, and not GPUs or its partition in its place? */
static bool exact_nodes(const Pst__JobRecord *j)
{
    return !(j->has_node_range && j->node_range) &&
           (!j->has_max_nodes || j->max_nodes == j->min_nodes || reqtres_nodes(j) == 1) &&
           !(gres_text_count(j->tres_per_job, "gpu", NULL, NULL) &&
             gres_text_count(j->tres_per_node, "gpu", NULL, NULL));
}

uint32_t reqtres_tasks(const Pst__JobRecord *j)
{
    if (j->has_num_tasks && j->num_tasks)
        return j->num_tasks;
    if (j->has_ntasks_per_node && j->ntasks_per_node)
        return reqtres_nodes(j) * j->ntasks_per_node;
    return exact_nodes(j) ? reqtres_nodes(j) : 1;
}

uint64_t reqtres_gres(const Pst__JobRecord *j, const char *name, const char *type)
{
    uint64_t sockets = j->has_sockets_per_node ? j->sockets_per_node : 1;
    uint64_t job = gres_text_count(j->tres_per_job, name, type, NULL), node, socket, all;

    if (job)
        return job;
    node = gres_text_count(j->tres_per_node, name, type, NULL);
    socket = gres_text_count(j->tres_per_socket, name, type, NULL) * sockets;
    all = MAX(node, socket) * reqtres_nodes(j);
    if (!all)
        all = gres_text_count(j->tres_per_task, name, type, NULL) * reqtres_tasks(j);
    if (all || type || !j->has_ntasks_per_gpu || !j->ntasks_per_gpu || !j->has_num_tasks ||
        strcmp(name, "gpu") != 0)
        return all;
    return (j->num_tasks + j->ntasks_per_gpu - 1) / j->ntasks_per_gpu;
}

uint64_t reqtres_cpus(const Pst__JobRecord *j)
{
    uint32_t each = j->has_asked_cpus_per_task ? j->asked_cpus_per_task : j->cpus_per_task;
    uint64_t cpus = (uint64_t)reqtres_tasks(j) * MAX(each, 1u);

    if (j->overcommit)
        cpus = reqtres_nodes(j); /* sized as with a task a node */
    if (j->has_cpus_per_gpu)
        cpus = MAX(cpus, j->cpus_per_gpu * reqtres_gres(j, "gpu", NULL));
    return MAX(cpus, (uint64_t)j->min_cpus);
}

static uint64_t mem_asked(const Pst__JobRecord *j, uint64_t cpus)
{
    if (j->has_req_mem_mib)
        return j->req_mem_mib;
    if (j->has_mem_per_node_mib)
        return j->mem_per_node_mib ? j->mem_per_node_mib * reqtres_nodes(j)
                                   : alloc_mem_mib(j->alloc); /* all there is */
    if (j->has_mem_per_gpu_mib)
        return j->mem_per_gpu_mib * reqtres_gres(j, "gpu", NULL);
    if (!j->has_mem_per_cpu_mib && j->has_def_mem_per_gpu_mib)
        return j->def_mem_per_gpu_mib * reqtres_gres(j, "gpu", NULL);
    return j->mem_per_cpu_mib * cpus;
}

uint64_t reqtres_mem_mib(const Pst__JobRecord *j, uint64_t node_mib)
{
    Pst__JobRecord as = *j; /* shallow */

    as.has_req_mem_mib = false;
    if (as.has_mem_per_node_mib && !as.mem_per_node_mib)
        as.mem_per_node_mib = node_mib;
    return mem_asked(&as, reqtres_cpus(&as));
}

void reqtres_put(struct strbuf *sb, const Pst__JobRecord *j, bool noconvert)
{
    uint64_t cpus, mem;
    char size[32];

    if (j->req_tres) {
        strbuf_add(sb, j->req_tres);
        return;
    }
    cpus = reqtres_cpus(j);
    mem = mem_asked(j, cpus);
    strbuf_addf(sb, "cpu=%llu", (unsigned long long)cpus);
    if (mem) {
        size_mib_fmt(mem, noconvert, size, sizeof(size));
        strbuf_addf(sb, ",mem=%s", size);
    }
    strbuf_addf(sb, ",node=%u,billing=%llu", reqtres_nodes(j),
                (unsigned long long)(j->has_req_billing ? j->req_billing : cpus));
    if (j->req_gres)
        strbuf_addf(sb, ",%s", j->req_gres);
}
