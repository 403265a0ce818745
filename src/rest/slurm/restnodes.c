/* restnodes.c - nodes and partitions as they are; see restnodes.h */
#include "rest/slurm/restnodes.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/format/json_job.h"
#include "cli/query/out_nodes.h"
#include "cli/query/out_tres.h"
#include "conf/conf.h"

static bool load_cluster(struct rest_call *call, const char *source, struct cluster_nodes *ret)
{
    struct client *c = rest_ctld(call, source);
    int r = c ? cluster_nodes_load(c, NULL, ret) : -1;

    if (c && r < 0)
        rest_failed(call, c, r, source, "Unable to query nodes and partitions");
    return r >= 0;
}

static void put_node(struct rest_call *call, const struct cluster_nodes *t, size_t i)
{
    _cleanup_free_ char *parts = NULL, *tres = NULL, *used = NULL;
    const Pst__NodeRecord *n = t->nodes[i].record;
    struct tres_rules rules = tres_rules_of(rest_conf(call));

    if (cluster_nodes_partitions(t, i, &parts) == 0 && out_node_tres(t, i, &rules, &tres) == 0 &&
        out_node_used(n, &rules, &used) == 0)
        json_node(&call->js, n,
                  &(struct show_node_of){
                      .partitions = parts, .tres = tres, .tres_used = used, .now_us = t->now_us });
}

static void get_nodes(struct rest_call *call)
{
    bool future = rest_query_flag(call, "flags", "FUTURE");
    struct cluster_nodes t;

    if (!load_cluster(call, "_dump_nodes", &t))
        return;
    json_list(&call->js, "nodes");
    for (size_t i = 0; i < t.n_nodes; i++)
        if (future || t.nodes[i].record->state != PST__NODE_STATE__NODE_FUTURE) {
            put_node(call, &t, i);
            if (rest_flush(call) < 0)
                break;
        }
    json_list_end(&call->js);
    json_time(&call->js, "last_update", t.now_us);
    cluster_nodes_done(&t);
}

static void get_node(struct rest_call *call)
{
    struct cluster_nodes t;
    long at;

    if (!load_cluster(call, "_dump_nodes", &t))
        return;
    at = cluster_nodes_find(&t, call->word);
    if (at < 0) {
        rest_error(call, 0, "_dump_nodes", "Failure to query node %.256s", call->word);
    } else {
        json_list(&call->js, "nodes");
        put_node(call, &t, (size_t)at);
        json_list_end(&call->js);
        json_time(&call->js, "last_update", t.now_us);
    }
    cluster_nodes_done(&t);
}

static void put_partition(struct rest_call *call, const struct cluster_nodes *t, size_t i)
{
    _cleanup_free_ char *tres = NULL;
    struct tres_rules rules = tres_rules_of(rest_conf(call));

    if (out_part_tres(t, &t->parts[i], &rules, &tres) == 0)
        json_partition(&call->js, NULL, t->parts[i].record, tres);
}

static void get_partitions(struct rest_call *call)
{
    bool all = rest_query_flag(call, "flags", "ALL");
    struct cluster_nodes t;

    if (!load_cluster(call, "_dump_partitions", &t))
        return;
    json_list(&call->js, "partitions");
    for (size_t i = 0; i < t.n_parts; i++)
        if (all || !t.parts[i].record->hidden)
            put_partition(call, &t, i);
    json_list_end(&call->js);
    json_time(&call->js, "last_update", t.now_us);
    cluster_nodes_done(&t);
}

static void get_partition(struct rest_call *call)
{
    struct cluster_nodes t;
    size_t i = 0;

    if (!load_cluster(call, "_partition_get", &t))
        return;
    while (i < t.n_parts && strcmp(t.parts[i].record->name, call->word) != 0)
        i++;
    if (i == t.n_parts) {
        rest_warning(call, "_partition_get", "Unable to find partition %.256s", call->word);
    } else {
        json_list(&call->js, "partitions");
        put_partition(call, &t, i);
        json_list_end(&call->js);
        json_time(&call->js, "last_update", t.now_us);
    }
    cluster_nodes_done(&t);
}

const struct rest_row rest_node_rows[] = {
    { "GET", REST_SLURM, "nodes", 0, get_nodes, true },
    { "GET", REST_SLURM, "node/{}", 0, get_node, false },
    { "GET", REST_SLURM, "partitions", 0, get_partitions, false },
    { "GET", REST_SLURM, "partition/{}", 0, get_partition, false },
    { 0 },
};
