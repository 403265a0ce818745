/* restnodechange.c - changes of nodes and partitions; see restnodechange.h */
#include "rest/slurm/restnodechange.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "cli/query/out_nodes.h"
#include "cli/query/out_update.h"
#include "rest/slurm/restkeys.h"
#include "rest/slurm/restwords.h"
#include "wire/errors.h"
#include "wire/ops.h"

struct taking {
    struct update update;
    enum update_kind kind;
};

static int take_word(void *ctx, const char *word, struct err *err)
{
    struct taking *t = ctx;

    if (strcmp(word, "PreemptMode=DISABLED") == 0) /* as GET says it */
        word = "PreemptMode=OFF";
    return update_set(&t->update, t->kind, word, now_us(), err);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static const struct restkey node_keys[] = {
    { "comment", "Comment", RESTKEY_CLEARS },
    { "cpu_bind", NULL, RESTKEY_NONE },
    { "extra", "Extra", RESTKEY_CLEARS },
    { "features", "AvailableFeatures", RESTKEY_CLEARS },
    { "features_act", "ActiveFeatures", RESTKEY_CLEARS },
    { "gres", "Gres", RESTKEY_CLEARS },
    { "address", "NodeAddr", RESTKEY_TEXT },
    { "hostname", "NodeHostname", RESTKEY_TEXT },
    { "reason", "Reason", RESTKEY_TEXT },
    { "reason_uid", NULL, RESTKEY_NONE },
    { "state", "State", RESTKEY_TEXT },
    { "resume_after", "ResumeAfter", RESTKEY_NUMBER },
    { "topology_str", "Topology", RESTKEY_TEXT },
    { "weight", "Weight", RESTKEY_NUMBER },
    { 0 },
};

static void send_node_update(struct rest_call *call, struct update *u, const char *nodes,
                             const char *source)
{
    Pst__NodeUpdateRequest request = PST__NODE_UPDATE_REQUEST__INIT;
    struct client *c = rest_ctld(call, source);
    int r;

    if (!c)
        return;
    request.nodes = (char *)(uintptr_t)nodes; /* only read */
    request.has_action = true;
    request.action = u->node_action;
    request.set = &u->node;
    request.clear = u->clear;
    request.n_clear = u->n_clear;
    r = client_call(c, OP_NODE_UPDATE, &request.base, NULL);
    if (r < 0)
        rest_failed(call, c, r, source, "Failure to update node %.256s", nodes);
}

static void change_nodes(struct rest_call *call, const char *nodes, const char *source)
{
    struct taking t = { .kind = UPDATE_NODE };

    if (!call->body) {
        rest_error(call, ESLURM_REST_INVALID_QUERY, source,
                   "A body with what shall change is wanted");
        return;
    }
    update_init(&t.update);
    if (restkeys_apply(call, call->body, node_keys, take_word, &t, source)) {
        if (!update_reason_given(&t.update))
            rest_error(call, ESLURM_REST_INVALID_QUERY, source,
                       "A reason is wanted to make a node DOWN or to drain it");
        else
            send_node_update(call, &t.update, nodes, source);
    }
    update_done(&t.update);
}

static void post_node(struct rest_call *call)
{
    change_nodes(call, call->word, "_update_node");
}

static void post_nodes(struct rest_call *call)
{
    _cleanup_free_ char *nodes = call->body ? rest_joined(call->body, "name") : NULL;

    if (nodes)
        change_nodes(call, nodes, "_update_nodes");
    else
        rest_error(call, ESLURM_INVALID_NODE_NAME, "_update_nodes", "name: the nodes are wanted");
}

/* ---- partitions ------------------------------------------------------------------------------ */

static const struct restkey part_keys[] = {
    { "nodes.configured", "Nodes", RESTKEY_TEXT },
    { "node_sets", "Nodes", RESTKEY_TEXT }, /* counts more: a set stays one when it is given back */
    { "nodes.allowed_allocation", "AllocNodes", RESTKEY_CLEARS },
    { "accounts.allowed", "AllowAccounts", RESTKEY_CLEARS },
    { "accounts.deny", "DenyAccounts", RESTKEY_CLEARS },
    { "groups.allowed", "AllowGroups", RESTKEY_CLEARS },
    { "qos.allowed", "AllowQos", RESTKEY_CLEARS },
    { "qos.deny", "DenyQos", RESTKEY_CLEARS },
    { "qos.assigned", "QoS", RESTKEY_CLEARS },
    { "alternate", "Alternate", RESTKEY_CLEARS },
    { "tres.billing_weights", "TRESBillingWeights", RESTKEY_CLEARS },
    { "defaults.partition_memory_per_cpu", "DefMemPerCPU", RESTKEY_NUMBER },
    { "defaults.partition_memory_per_node", "DefMemPerNode", RESTKEY_NUMBER },
    { "defaults.time", "DefaultTime", RESTKEY_NUMBER },
    { "defaults.job", "JobDefaults", RESTKEY_CLEARS },
    { "partition.exclusive", "Exclusive", RESTKEY_TEXT },
    { "partition.oversubscribe", "OverSubscribe", RESTKEY_TEXT },
    { "partition.state", "State", RESTKEY_TEXT },
    { "grace_time", "GraceTime", RESTKEY_NUMBER },
    { "maximums.cpus_per_node", "MaxCPUsPerNode", RESTKEY_NUMBER },
    { "maximums.cpus_per_socket", "MaxCPUsPerSocket", RESTKEY_NUMBER },
    { "maximums.partition_memory_per_cpu", "MaxMemPerCPU", RESTKEY_NUMBER },
    { "maximums.partition_memory_per_node", "MaxMemPerNode", RESTKEY_NUMBER },
    { "maximums.nodes", "MaxNodes", RESTKEY_NUMBER },
    { "maximums.time", "MaxTime", RESTKEY_NUMBER },
    { "maximums.over_time_limit", "OverTimeLimit", RESTKEY_NUMBER },
    { "minimums.nodes", "MinNodes", RESTKEY_NUMBER },
    { "preempt_mode", "PreemptMode", RESTKEY_TEXT, "CLUSTER_GLOBAL" },
    { "priority.job_factor", "PriorityJobFactor", RESTKEY_NUMBER },
    { "priority.tier", "PriorityTier", RESTKEY_NUMBER },
    { "cpus.task_binding", NULL, RESTKEY_NONE },
    { "maximums.shares", NULL, RESTKEY_NONE },
    { "select_type", NULL, RESTKEY_NONE, "NONE" },
    { "suspend_time", NULL, RESTKEY_NONE },
    { "timeouts.resume", NULL, RESTKEY_NONE },
    { "timeouts.suspend", NULL, RESTKEY_NONE },
    { "topology", NULL, RESTKEY_NONE },
    { 0 },
};

static const struct {
    const char *flag, *key;
} part_flags[] = {
    { "DEFAULT", "Default" },    { "HIDDEN", "Hidden" },    { "NO_ROOT", "DisableRootJobs" },
    { "ROOT_ONLY", "RootOnly" }, { "REQ_RESV", "ReqResv" }, { "LLN", "LLN" },
};

/* "HIDDEN" and "HIDDEN_CLEAR" are Hidden=YES and Hidden=NO. */
static int take_flag(struct taking *t, const char *flag, struct err *err)
{
    for (size_t i = 0; i < ARRAY_SIZE(part_flags); i++) {
        size_t len = strlen(part_flags[i].flag);
        char word[64];

        if (strncmp(flag, part_flags[i].flag, len) != 0 ||
            (flag[len] && strcmp(flag + len, "_CLEAR") != 0))
            continue;
        (void)snprintf(word, sizeof(word), "%s=%s", part_flags[i].key, flag[len] ? "NO" : "YES");
        return take_word(t, word, err); /* the word fits */
    }
    return err_set(err, -EINVAL, "flags: %.64s cannot be set here", flag);
}

static bool take_flags(struct rest_call *call, struct taking *t, const json_t *part,
                       const char *source)
{
    struct err err = { .text = "" };
    json_t *flag;
    size_t i;

    json_array_foreach(json_object_get(part, "flags"), i, flag)
    {
        if (json_is_string(flag) && take_flag(t, json_string_value(flag), &err) < 0) {
            rest_error_said(call, ESLURM_REST_INVALID_QUERY, err.text, source,
                            "Unable to take flags");
            return false;
        }
    }
    return true;
}

/* A partition that is not there yet is made. */
static void send_part_update(struct rest_call *call, struct update *u, const char *name,
                             const char *source)
{
    Pst__PartUpdateRequest request = PST__PART_UPDATE_REQUEST__INIT;
    struct client *c = rest_ctld(call, source);
    const char *said;
    int r;

    if (!c)
        return;
    request.name = (char *)(uintptr_t)name; /* only read */
    request.set = &u->part;
    request.clear = u->clear;
    request.n_clear = u->n_clear;
    r = client_call(c, OP_PART_UPDATE, &request.base, NULL);
    if (r == -EREMOTEIO && client_error(c, &said) == ESLURM_INVALID_PARTITION_NAME) {
        request.has_create = request.create = true;
        r = client_call(c, OP_PART_UPDATE, &request.base, NULL);
    }
    if (r < 0)
        rest_failed(call, c, r, source, "Failure to update partition %.256s", name);
}

/* maximums.oversubscribe, which says the same as partition.oversubscribe: that one counts. */
static bool take_sharing(struct rest_call *call, struct taking *t, const json_t *part,
                         const char *source)
{
    const json_t *over = json_object_get(json_object_get(part, "maximums"), "oversubscribe");
    struct rest_number jobs = rest_number(json_object_get(over, "jobs"));
    bool force = restwords_has(json_object_get(over, "flags"), "force");
    char word[64] = "OverSubscribe=FORCE";

    if (rest_text(json_object_get(part, "partition"), "oversubscribe") ||
        (!force && (!jobs.set || !jobs.value)))
        return true;
    if (jobs.set && jobs.value)
        (void)snprintf(word, sizeof(word), "OverSubscribe=%s:%llu", force ? "FORCE" : "YES",
                       (unsigned long long)jobs.value); /* it fits */
    return restkeys_give(call, word, "maximums.oversubscribe", take_word, t, source);
}

static void change_partition(struct rest_call *call, const json_t *part, const char *source)
{
    const char *name = rest_text(part, "name");
    struct taking t = { .kind = UPDATE_PART };

    if (!name || !name[0]) {
        rest_error(call, ESLURM_INVALID_PARTITION_NAME, source, "name: the partition is wanted");
        return;
    }
    update_init(&t.update);
    if (restkeys_apply(call, part, part_keys, take_word, &t, source) &&
        take_sharing(call, &t, part, source) && take_flags(call, &t, part, source))
        send_part_update(call, &t.update, name, source);
    update_done(&t.update);
}

static void post_partitions(struct rest_call *call)
{
    const json_t *list = json_object_get(call->body, "partitions");
    json_t *part;
    size_t i;

    if (!json_array_size(list))
        rest_error(call, ESLURM_REST_INVALID_QUERY, "_update_partitions",
                   "partitions: a list of partitions is wanted");
    json_array_foreach(list, i, part) change_partition(call, part, "_update_partitions");
}

static void delete_partition(struct rest_call *call)
{
    static const char source[] = "slurm_delete_partition()";
    Pst__PartUpdateRequest request = PST__PART_UPDATE_REQUEST__INIT;
    struct client *c = rest_ctld(call, source);
    int r;

    if (!c)
        return;
    request.name = (char *)(uintptr_t)call->word; /* only read */
    request.has_remove = request.remove = true;
    r = client_call(c, OP_PART_UPDATE, &request.base, NULL);
    if (r < 0)
        rest_failed(call, c, r, source, "Failure to delete partition %.256s", call->word);
}

static void post_new_node(struct rest_call *call)
{
    static const char source[] = "slurm_create_node()";
    Pst__NodeCreateRequest request = PST__NODE_CREATE_REQUEST__INIT;
    const char *line = rest_text(call->body, "node_conf");
    struct client *c;
    int r;

    if (!line || !line[0]) {
        rest_error(call, ESLURM_REST_INVALID_QUERY, source, "node_conf: a NodeName line is wanted");
        return;
    }
    c = rest_ctld(call, source);
    if (!c)
        return;
    request.line = (char *)(uintptr_t)line; /* only read */
    r = client_call(c, OP_NODE_CREATE, &request.base, NULL);
    if (r < 0)
        rest_failed(call, c, r, source, "Failure to create node");
}

static void delete_node(struct rest_call *call)
{
    static const char source[] = "slurm_delete_node()";
    Pst__NodeDeleteRequest request = PST__NODE_DELETE_REQUEST__INIT;
    struct client *c = rest_ctld(call, source);
    int r;

    if (!c)
        return;
    request.nodes = (char *)(uintptr_t)call->word; /* only read */
    r = client_call(c, OP_NODE_DELETE, &request.base, NULL);
    if (r < 0)
        rest_failed(call, c, r, source, "Failure to delete node %.256s", call->word);
}

const struct rest_row rest_node_change_rows[] = {
    { "POST", REST_SLURM, "nodes", 0, post_nodes, false },
    { "POST", REST_SLURM, "node/{}", 0, post_node, false },
    { "DELETE", REST_SLURM, "node/{}", 0, delete_node, false },
    { "POST", REST_SLURM, "new/node", 44, post_new_node, false },
    { "POST", REST_SLURM, "partitions", 45, post_partitions, false },
    { "DELETE", REST_SLURM, "partition/{}", 45, delete_partition, false },
    { 0 },
};
