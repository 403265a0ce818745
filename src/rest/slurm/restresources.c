/* restresources.c - what a job holds on each node; see restresources.h */
#include "rest/slurm/restresources.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/pb/pbutil.h"
#include "cli/query/out_filter.h"
#include "cli/query/out_nodes.h"
#include "cli/query/out_query.h"
#include "model/words/imexwords.h"
#include "wire/errors.h"
#include "wire/ops.h"

static const char source[] = "slurm_get_resource_layout()";

#define CORES_MOST 65536u /* of a node: what a list of CPUs may cost */

void restresources_cores(struct strbuf *sb, const char *cpus, unsigned threads, unsigned cores)
{
    _cleanup_free_ uint8_t *digits = NULL; /* four cores each, the lowest first */
    size_t n;

    threads = threads ? threads : 1;
    cores = cores < CORES_MOST ? cores : CORES_MOST;
    n = (cores + 3) / 4;
    digits = calloc(n + 1, 1);
    if (!digits) {
        sb->failed = true;
        return;
    }
    for (const char *p = cpus ? cpus : ""; *p;) {
        char *end;
        unsigned long from = strtoul(p, &end, 10) / threads, to;

        if (end == p)
            break; /* not a list of ours */
        to = *end == '-' ? strtoul(end + 1, &end, 10) / threads : from;
        for (unsigned long i = from; i <= to && i < cores; i++)
            digits[i / 4] |= (uint8_t)(1u << i % 4);
        p = end + (*end == ',');
    }
    strbuf_add(sb, "0x");
    for (size_t i = n; i > 0; i--)
        strbuf_addc(sb, "0123456789ABCDEF"[digits[i - 1]]);
}

static void put_gres(struct json *js, const Pst__AllocGroup *group)
{
    json_list(js, "gres");
    for (size_t i = 0; i < group->n_gres; i++) {
        const Pst__GresAlloc *a = group->gres[i];

        json_map(js, NULL);
        json_str(js, "name", a->name);
        json_str(js, "type", a->type);
        json_int(js, "count", (int64_t)a->count);
        json_str(js, "index", a->devices);
        json_map_end(js);
    }
    json_list_end(js);
}

static void put_node(struct json *js, const char *name, const Pst__NodeRecord *node,
                     const Pst__AllocGroup *group, uint32_t channel)
{
    struct strbuf *cores = json_scratch(js);

    json_map(js, NULL);
    json_str(js, "node", name);
    json_int(js, "sockets_per_node", node ? node->sockets : 0);
    json_int(js, "cores_per_socket", node ? node->cores_per_socket : 0);
    json_int(js, "mem_alloc", (int64_t)group->mem_mib);
    restresources_cores(cores, group->cpu_ids, node ? node->threads_per_core : 1,
                        node ? node->sockets * node->cores_per_socket : 0);
    json_str(js, "core_bitmap", strbuf_str(cores));
    json_number(js, "channel", channel != 0, false, channel);
    put_gres(js, group);
    json_map_end(js);
}

/* Groups of nodes stand in the order of the allocation. */
static void put_alloc(struct json *js, const struct cluster_nodes *t, const Pst__JobRecord *job)
{
    const Pst__Alloc *alloc = job->alloc;
    _cleanup_(hostlist_free) struct hostlist *names = NULL;
    size_t n = 0;

    if (!alloc || hostlist_parse(alloc->nodes, &names, NULL) < 0)
        return;
    for (size_t g = 0; g < alloc->n_groups; g++)
        for (uint32_t i = 0; i < alloc->groups[g]->nodes && n < hostlist_count(names); i++, n++) {
            const char *name = hostlist_nth(names, n);
            long at = cluster_nodes_find(t, name);

            put_node(js, name, at < 0 ? NULL : t->nodes[at].record, alloc->groups[g],
                     job_imex_channel(job, name));
        }
}

static int on_job(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    ProtobufCMessage **kept = ctx;

    (void)info;
    return *kept ? 0 : pb_dup(record, kept);
}

/* The job of the path; NULL: an error was noted. */
static Pst__JobRecord *load_job(struct rest_call *call, struct client *c)
{
    Pst__QueryRequest request = PST__QUERY_REQUEST__INIT;
    Pst__JobFilter filter = PST__JOB_FILTER__INIT;
    struct filter_ids ids = { 0 };
    ProtobufCMessage *job = NULL;
    int r = filter_parse_ids(call->word, &ids, NULL);

    if (r == 0 && ids.n == 1 && !strpbrk(call->word, ".*,[")) {
        filter_ids_numbers(&ids, &filter.job_ids, &filter.n_job_ids);
        request.jobs = &filter;
        r = query_run(c, OP_QUERY_JOBS, &request.base, &pst__job_record__descriptor, on_job, &job,
                      NULL);
        if (r < 0)
            rest_failed(call, c, r, source, "Unable to query JobId=%.64s", call->word);
    }
    if (!job && !rest_has_error(call))
        rest_error(call, ESLURM_INVALID_JOB_ID, source, "Unable to query JobId=%.64s", call->word);
    filter_done(&filter);
    filter_ids_done(&ids);
    return (Pst__JobRecord *)job;
}

static void get_resources(struct rest_call *call)
{
    struct client *c = rest_ctld(call, source);
    Pst__JobRecord *job = c ? load_job(call, c) : NULL;
    struct cluster_nodes t;
    int r;

    if (!job)
        return;
    r = cluster_nodes_load(c, NULL, &t);
    if (r < 0) {
        rest_failed(call, c, r, source, "Unable to query nodes");
    } else {
        json_list(&call->js, "nodes");
        put_alloc(&call->js, &t, job);
        json_list_end(&call->js);
        cluster_nodes_done(&t);
    }
    pst__job_record__free_unpacked(job, NULL);
}

const struct rest_row rest_resource_rows[] = {
    { "GET", REST_SLURM, "resources/{}", 44, get_resources, false },
    { 0 },
};
