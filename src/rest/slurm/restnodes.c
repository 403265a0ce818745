/* restnodes.c - nodes and partitions as they are; see restnodes.h */
#include "rest/slurm/restnodes.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/format/json_job.h"
#include "cli/query/out_nodes.h"
#include "cli/query/out_tres.h"
#include "conf/conf.h"
#include "rest/restfresh.h"

/* False: an error was noted, or nothing has changed since the caller asked.  whole: the answer has
 * all that is there, so that the version of all is its own. */
static bool load_cluster(struct rest_call *call, const char *source, bool whole,
                         struct cluster_nodes *ret)
{
    uint64_t seen = whole ? rest_seen_version(call) : 0;
    struct client *c;
    int64_t since_us;
    int r;

    if (!rest_query_time(call, "update_time", &since_us))
        return false;
    c = rest_ctld(call, source);
    r = c ? cluster_nodes_load_newer(c, seen, since_us, ret) : -1;
    if (c && r < 0)
        rest_failed(call, c, r, source, "Unable to query nodes and partitions");
    if (r >= 0 && whole)
        call->edition = ret->version;
    if (r == 1)
        rest_unchanged(call);
    return r == 0;
}

/* The answer to one of many: what has been written of it is its version. */
static void end_one(struct rest_call *call, int64_t now_us)
{
    json_list_end(&call->js);
    call->edition = restfresh_digest(call);
    json_time(&call->js, "last_update", now_us);
}

static void put_node(struct rest_call *call, const struct cluster_nodes *t, size_t i)
{
    _cleanup_free_ char *parts = NULL, *tres = NULL, *used = NULL;
    const Pst__NodeRecord *n = t->nodes[i].record;
    struct tres_rules rules = tres_rules_of(rest_conf(call));

    if (cluster_nodes_partitions(t, i, true, &parts) == 0 &&
        out_node_tres(t, i, &rules, &tres) == 0 && out_node_used(n, &rules, &used) == 0)
        json_node(&call->js, n,
                  &(struct show_node_of){
                      .partitions = parts, .tres = tres, .tres_used = used, .now_us = t->now_us });
}

/* The first node of a page, by name: one that is no more is where it would stand. */
static size_t first_node(const struct rest_call *call, const struct cluster_nodes *t)
{
    const char *cursor = rest_query(call, "cursor");
    size_t i = 0;

    while (cursor && cursor[0] && i < t->n_nodes &&
           strverscmp(t->nodes[i].record->name, cursor) < 0)
        i++;
    return i;
}

/* The nodes from the i-th on, `limit` of them (0: all); gives where it ended. */
static size_t put_nodes(struct rest_call *call, const struct cluster_nodes *t, size_t i,
                        uint32_t limit)
{
    bool future = rest_query_flag(call, "flags", "FUTURE");
    uint32_t shown = 0;

    for (; i < t->n_nodes && (!limit || shown < limit); i++)
        if (future || t->nodes[i].record->state != PST__NODE_STATE__NODE_FUTURE) {
            put_node(call, t, i);
            shown++;
            if (rest_flush(call) < 0)
                break;
        }
    return i;
}

static void get_nodes(struct rest_call *call)
{
    struct cluster_nodes t;
    uint32_t limit;
    size_t end;

    if (!rest_query_limit(call, &limit) || !load_cluster(call, "_dump_nodes", true, &t))
        return;
    json_list(&call->js, "nodes");
    end = put_nodes(call, &t, first_node(call, &t), limit);
    json_list_end(&call->js);
    if (limit)
        json_str(&call->js, "next_cursor", end < t.n_nodes ? t.nodes[end].record->name : "");
    json_time(&call->js, "last_update", t.now_us);
    cluster_nodes_done(&t);
}

static void get_node(struct rest_call *call)
{
    struct cluster_nodes t;
    long at;

    if (!load_cluster(call, "_dump_nodes", false, &t))
        return;
    at = cluster_nodes_find(&t, call->word);
    if (at < 0) {
        rest_error(call, 0, "_dump_nodes", "Failure to query node %.256s", call->word);
    } else {
        json_list(&call->js, "nodes");
        put_node(call, &t, (size_t)at);
        end_one(call, t.now_us);
    }
    cluster_nodes_done(&t);
}

static void put_partition(struct rest_call *call, const struct cluster_nodes *t, size_t i)
{
    _cleanup_free_ char *tres = NULL;
    struct tres_rules rules = tres_rules_of(rest_conf(call));

    if (out_part_tres(t, &t->parts[i], &rules, &tres) == 0)
        json_partition(&call->js, NULL, t->parts[i].record, tres, NULL);
}

static void get_partitions(struct rest_call *call)
{
    bool all = rest_query_flag(call, "flags", "ALL");
    struct cluster_nodes t;

    if (!load_cluster(call, "_dump_partitions", true, &t))
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

    if (!load_cluster(call, "_partition_get", false, &t))
        return;
    while (i < t.n_parts && strcmp(t.parts[i].record->name, call->word) != 0)
        i++;
    if (i == t.n_parts) {
        rest_warning(call, "_partition_get", "Unable to find partition %.256s", call->word);
    } else {
        json_list(&call->js, "partitions");
        put_partition(call, &t, i);
        end_one(call, t.now_us);
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
