/* out_update.c - the keys of scontrol update; see out_update.h.
 *
 * Values go into the records through the generated descriptors, so that a row needs only the
 * field's name. Invariant: a failed update_set() leaves the update as it was. */
#include "cli/query/out_update.h"
#include "cli/query/out_updatefail.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "cli/base/cli.h"
#include "cli/job/jobtext.h"
#include "cli/query/out_users.h"
#include "model/words/names.h"
#include "fieldlists.h"
#include "wire/errors.h"

#define TIER_MAX 65533 /* of 16 bits: the two above mean something else */

static const struct row job_rows[] = {
    { "Account", V_TEXT, "account", 2 },
    { "AdminComment", V_TEXT, "admin_comment" },
    { "ArrayTaskThrottle", V_NUMBER_LAX, "array_task_throttle", 10 },
    { "BurstBuffer", V_UNKNOWN, NULL, 2 },
    { "Clusters", V_TEXT, "clusters" },
    { "ClusterFeatures", V_TEXT, "cluster_features", 8 },
#define KEY_ROW(name, kind, member) { name, V_##kind, #member },
    /* clang-format off: a macro of rows */
    JOB_KEYS(KEY_ROW)
    /* clang-format on */
    { "Contiguous", V_BOOL, "contiguous" },
    { "CoreSpec", V_NUMBER, "core_spec" },
    { "CPUsPerTask", V_NUMBER, "cpus_per_task" },
    { "CpusPerTres", V_PER_GPU, "cpus_per_gpu" },
    { "Deadline", V_WHEN, "deadline_us", 3 },
    { "DelayBoot", V_DELAY, "delay_boot_s", 5 },
    { "Dependency", V_TEXT, "dependency", 3 },
    { "EligibleTime", V_WHEN, "begin_us" },
    { "EndTime", V_WHEN, "end_us", 2 },
    { "ExcNodeList", V_TEXT, "exc_nodes" },
    { "Extra", V_TEXT, "extra" },
    { "Features", V_TEXT, "features", 2 },
    { "Gres", V_GRES, "tres_per_node" },
    { "JobName", V_TEXT, "name", 4 },
    { "Name", V_TEXT, "name" },
    { "Licenses", V_TEXT, "licenses", 3 },
    { "MailType", V_MAIL, "mail_type" },
    { "MailUser", V_TEXT, "mail_user" },
    { "MCSLabel", V_TEXT, "mcs_label" },
    { "MemPerTres", V_PER_GPU, "mem_per_gpu_mib" },
    { "MinCPUsNode", V_NUMBER, "pn_min_cpus" },
    { "MinMemoryCPU", V_CPU_MEM, "mem_per_cpu_mib" },
    { "MinMemoryNode", V_NODE_MEM, "mem_per_node_mib" },
    { "MinTmpDiskNode", V_MEM, "tmp_disk_mib", 10 },
    { "Network", V_TEXT, "network" },
    { "Nice", V_NICE, "nice", 2 },
    { "NodeList", V_TEXT, "req_nodes" },
    { "NumCPUs", V_CPUS_RANGE, NULL, 6 },
    { "NumNodes", V_NODES_RANGE, "min_nodes" },
    { "NumTasks", V_NUMBER, "num_tasks" },
    { "OverSubscribe", V_OVERSUBSCRIBE, "oversubscribe" },
    { "Shared", V_OVERSUBSCRIBE, "oversubscribe" },
    { "Partition", V_TEXT, "partition", 2 },
    { "Prefer", V_TEXT, "prefer" },
    { "Priority", V_PRIORITY, "priority", 2 },
    { "QOS", V_TEXT, "qos" },
    { "Reboot", V_BOOL, "reboot" },
    { "ReqCores", V_NUMBER, "cores_per_socket" },
    { "ReqNodeList", V_TEXT, "req_nodes" },
    { "ReqNodes", V_NODES_RANGE, "min_nodes" },
    { "ReqProcs", V_CPUS_RANGE, NULL, 0 },
    { "ReqSockets", V_NUMBER, "sockets_per_node" },
    { "ReqThreads", V_NUMBER, "threads_per_core" },
    { "Requeue", V_SWITCH, "requeue", 4 },
    { "ReservationName", V_TEXT, "reservation", 4 },
    { "ResetAccrueTime", V_ACCRUE, NULL, 5 },
    { "SiteFactor", V_SITE, "site_factor", 5 },
    { "StartTime", V_WHEN, "begin_us", 2 },
    { "StdErr", V_TEXT, "std_err" },
    { "StdIn", V_TEXT, "std_in" },
    { "StdOut", V_TEXT, "std_out" },
    { "Switches", V_SWITCHES, "switches", 5 },
    { "TasksPerNode", V_NUMBER, "ntasks_per_node" },
    { "ThreadSpec", V_NUMBER, "core_spec", 0 },
    { "TimeLimit", V_JOB_LIMIT, "time_limit_min", 5 },
    { "TimeMin", V_MINUTES, "time_min_min", 5 },
    { "TresBind", V_TEXT, "gpu_bind" },
    { "TresPerJob", V_TEXT, "tres_per_job" },
    { "TresPerNode", V_TEXT, "tres_per_node" },
    { "TresPerSocket", V_TEXT, "tres_per_socket" },
    { "TresPerTask", V_TEXT, "tres_per_task" },
    { "UserID", V_USER, NULL, 3 },
    { "wait-for-switch", V_SECONDS, "switches_wait_s", 5 },
    { "WCKey", V_TEXT, "wckey" },
    { "WorkDir", V_TEXT, "work_dir", 2 },
};

static const struct row node_rows[] = {
    { "ActiveFeatures", V_TEXT, "active_features", 3 },
    { "AvailableFeatures", V_TEXT, "features", 3 },
    { "Features", V_TEXT, "features", 1 },
    { "CertToken", V_TEXT, "cert_token" },
    { "Comment", V_TEXT, "comment", 2 },
    { "CpuBind", V_CPU_BIND, "cpu_bind", 7 },
    { "Extra", V_TEXT, "extra", 1 },
    { "Gres", V_TEXT, "gres", 1 },
    { "InstanceId", V_TEXT, "instance_id" },
    { "InstanceType", V_TEXT, "instance_type" },
    { "NodeAddr", V_TEXT, "addr", 5 },
    { "NodeHostname", V_TEXT, "hostname", 5 },
    { "NodeKey", V_TEXT, "node_key" },
    { "Reason", V_TEXT, "reason", 1 },
    { "ResumeAfter", V_NUMBER_INF, "resume_after_s", 3 },
    { "State", V_NODE_STATE, NULL, 1 },
    { "Topology", V_TEXT, "topology" },
    { "Weight", V_NUMBER, "weight", 1 },
};

static const struct row part_rows[] = {
    { "AllocNodes", V_TEXT_ALL, "alloc_nodes", 6 },
    { "AllowAccounts", V_TEXT_ALL, "allow_accounts", 6 },
    { "AllowGroups", V_TEXT_ALL, "allow_groups", 6 },
    { "AllowQos", V_TEXT_ALL, "allow_qos", 6 },
    { "Alternate", V_TEXT, "alternate", 3 },
    { "CpuBind", V_CPU_BIND, "cpu_bind", 7 },
    { "Default", V_YES_NO, "is_default" },
    { "DefaultTime", V_MINUTES, "default_time_min", 8 },
    { "DefMemPerCPU", V_PART_MEM, "def_mem_per_cpu_mib", 10 },
    { "DefMemPerNode", V_PART_MEM, "def_mem_per_node_mib", 10 },
    { "DenyAccounts", V_TEXT, "deny_accounts", 5 },
    { "DenyQos", V_TEXT, "deny_qos", 5 },
    { "DisableRootJobs", V_YES_NO, "disable_root_jobs", 2 },
    { "Exclusive", V_PART_EXCLUSIVE, "exclusive" },
    { "ExclusiveUser", V_PART_USER, "exclusive" },
    { "ExclusiveTopo", V_PART_TOPO, "exclusive" },
    { "GraceTime", V_GRACE, "grace_time_s", 2 },
    { "Hidden", V_YES_NO, "hidden", 1 },
    { "JobDefaults", V_TEXT, "job_defaults", 1 },
    { "LLN", V_YES_NO, "lln" },
    { "MaxCPUsPerNode", V_NUMBER_WORD, "max_cpus_per_node", 7 },
    { "MaxCPUsPerSocket", V_NUMBER_WORD, "max_cpus_per_socket" },
    { "MaxMemPerCPU", V_PART_MEM, "max_mem_per_cpu_mib", 10 },
    { "MaxMemPerNode", V_PART_MEM, "max_mem_per_node_mib", 10 },
    { "MaxNodes", V_NUMBER_INF, "max_nodes", 4 },
    { "MaxTime", V_MINUTES, "max_time_min", 4 },
    { "MinNodes", V_NUMBER, "min_nodes", 2 },
    { "Nodes", V_PART_NODES, "nodes", 1 },
    { "OverSubscribe", V_PART_SHARE, "oversubscribe", 5 },
    { "Shared", V_PART_SHARE, "oversubscribe", 2 },
    { "OverTimeLimit", V_OVER_TIME, "over_time_limit_min", 5 },
    { "PowerDownOnIdle", V_YES_NO, "power_down_on_idle" },
    { "PreemptMode", V_PREEMPT, "preempt_mode", 3 },
    { "Priority", V_TIERS, "priority_tier", 3 },
    { "PriorityJobFactor", V_TIER, "priority_job_factor", 9 },
    { "PriorityTier", V_TIER, "priority_tier", 9 },
    { "QOS", V_TEXT, "qos" },
    { "ReqResv", V_YES_NO, "req_resv", 3 },
    { "RootOnly", V_YES_NO, "root_only", 2 },
    { "State", V_PART_STATE, "state", 2 },
    { "Topology", V_TEXT, "topology" },
    { "TRESBillingWeights", V_TEXT, "tres_billing_weights", 5 },
};

static const struct {
    const struct row *rows;
    size_t n;
    const char *what;
} tables[] = {
    [UPDATE_JOB] = { job_rows, ARRAY_SIZE(job_rows), "a job" },
    [UPDATE_NODE] = { node_rows, ARRAY_SIZE(node_rows), "a node" },
    [UPDATE_PART] = { part_rows, ARRAY_SIZE(part_rows), "a partition" },
};

const char *update_key(enum update_kind kind, size_t i, bool *ret_supported)
{
    if (i >= tables[kind].n)
        return NULL;
    *ret_supported =
        tables[kind].rows[i].value != V_UNKNOWN && tables[kind].rows[i].value != V_NOT_FOUND;
    return tables[kind].rows[i].key;
}

void update_init(struct update *u)
{
    memset(u, 0, sizeof(*u));
    pst__job_record__init(&u->job);
    pst__node_record__init(&u->node);
    pst__partition_record__init(&u->part);
    u->node_action = PST__NODE_ACTION__NODE_ACT_NONE;
}

void update_done(struct update *u)
{
    pb_done(&u->job.base);
    pb_done(&u->node.base);
    pb_done(&u->part.base);
}

bool update_word_is(const char *word, const char *key, const char **ret_value)
{
    size_t len = strlen(key);

    if (strncasecmp(word, key, len) != 0 || word[len] != '=')
        return false;
    if (ret_value)
        *ret_value = word + len + 1;
    return true;
}

bool update_names(const char *word, const char *key, size_t shortest, const char **ret_value)
{
    size_t len = strcspn(word, "=");

    if (word[len] != '=' || len < shortest || len > strlen(key) || strncasecmp(word, key, len) != 0)
        return false;
    if (ret_value)
        *ret_value = word + len + 1;
    return true;
}

/* ---- into the record ------------------------------------------------------------------------- */

static ProtobufCMessage *record_of(struct update *u, enum update_kind kind)
{
    return kind == UPDATE_JOB ? &u->job.base : kind == UPDATE_NODE ? &u->node.base : &u->part.base;
}

static const ProtobufCFieldDescriptor *field_of(const ProtobufCMessage *msg, const char *name)
{
    const ProtobufCFieldDescriptor *f =
        protobuf_c_message_descriptor_get_field_by_name(msg->descriptor, name);

    assert(f); /* rows name fields of the schema */
    return f;
}

static int mark_clear(struct update *u, uint32_t number, struct err *err)
{
    for (size_t i = 0; i < u->n_clear; i++)
        if (u->clear[i] == number)
            return 0;
    if (u->n_clear == UPDATE_CLEAR_MAX)
        return err_set(err, -EINVAL, "too many values in one update");
    u->clear[u->n_clear++] = number;
    return 0;
}

/* A value given after all: it is not cleared. */
static void unmark_clear(struct update *u, uint32_t number)
{
    for (size_t i = 0; i < u->n_clear; i++)
        if (u->clear[i] == number)
            u->clear[i] = u->clear[--u->n_clear];
}

static int clear_field(struct update *u, ProtobufCMessage *msg, const char *name, struct err *err)
{
    const ProtobufCFieldDescriptor *f = field_of(msg, name);

    (void)pb_clear(msg, f->id); /* the field exists */
    return mark_clear(u, f->id, err);
}

static int put_text(struct update *u, ProtobufCMessage *msg, const char *name, const char *text,
                    struct err *err)
{
    const ProtobufCFieldDescriptor *f = field_of(msg, name);

    if (!*text)
        return clear_field(u, msg, name, err);
    unmark_clear(u, f->id);
    return pb_set_str((char **)((char *)msg + f->offset), text);
}

static int put_number(struct update *u, ProtobufCMessage *msg, const char *name, int64_t value)
{
    const ProtobufCFieldDescriptor *f = field_of(msg, name);
    char *at = (char *)msg + f->offset;

    switch (f->type) {
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_INT64:
        *(int64_t *)at = value;
        break;
    case PROTOBUF_C_TYPE_BOOL:
        *(protobuf_c_boolean *)at = value != 0;
        break;
    default: /* 32 bits: numbers and enums */
        *(uint32_t *)at = (uint32_t)value;
        break;
    }
    *(protobuf_c_boolean *)((char *)msg + f->quantifier_offset) = true;
    unmark_clear(u, f->id);
    return 0;
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool is_infinite(const char *text)
{
    return strcasecmp(text, "UNLIMITED") == 0 || strcasecmp(text, "INFINITE") == 0 ||
           strcmp(text, "-1") == 0 || strcasecmp(text, "NONE") == 0;
}

static int parse_bool(const char *text, int64_t *ret)
{
    if (strcasecmp(text, "yes") == 0 || strcmp(text, "1") == 0 || strcasecmp(text, "true") == 0)
        *ret = 1;
    else if (strcasecmp(text, "no") == 0 || strcmp(text, "0") == 0 ||
             strcasecmp(text, "false") == 0)
        *ret = 0;
    else
        return -EINVAL;
    return 0;
}

/* YES, NO, or their first letters. */
static int parse_yes_no(const char *text, int64_t *ret)
{
    size_t len = strlen(text);

    if (len && strncasecmp(text, "yes", len) == 0)
        *ret = 1;
    else if (len && strncasecmp(text, "no", len) == 0)
        *ret = 0;
    else
        return -EINVAL;
    return 0;
}

/* "4", "4-8" in two numbers; the second is 0 when there is none. */
static int parse_range(const char *text, uint64_t *ret_least, uint64_t *ret_most)
{
    char low[32];
    const char *dash = strchr(text, '-');

    *ret_most = 0;
    (void)snprintf(low, sizeof(low), "%.*s", (int)(dash ? dash - text : (long)strlen(text)), text);
    if (parse_u64(low, 0, UINT32_MAX - 2, ret_least) < 0)
        return -EINVAL;
    return dash ? parse_u64(dash + 1, *ret_least, UINT32_MAX - 2, ret_most) : 0;
}

static int set_cpu_range(struct update *u, const char *text, struct err *err)
{
    uint64_t least, most;

    if (parse_range(text, &least, &most) < 0 || !least)
        return -EINVAL;
    (void)put_number(u, &u->job.base, "min_cpus", (int64_t)least);
    return most ? put_number(u, &u->job.base, "max_cpus", (int64_t)most)
                : clear_field(u, &u->job.base, "max_cpus", err);
}

/* "1", "1@5:00": how many, and how long the job waits for them. */
static int set_switches(struct update *u, const char *text)
{
    const char *at = strchr(text, '@');
    char count[32];
    uint64_t n;
    uint32_t seconds = 0;

    (void)snprintf(count, sizeof(count), "%.*s", (int)strcspn(text, "@"), text);
    if (parse_u64(count, 0, UINT32_MAX - 2, &n) < 0 ||
        (at && time_delay_parse(at + 1, &seconds, NULL) < 0))
        return -EINVAL;
    (void)put_number(u, &u->job.base, "switches", (int64_t)n);
    return at ? put_number(u, &u->job.base, "switches_wait_s", seconds) : 0;
}

/* "2", "2-4": both ends; one number is both. */
static int set_node_range(struct update *u, const char *text)
{
    uint64_t least, most;

    if (parse_range(text, &least, &most) < 0)
        return -EINVAL;
    (void)put_number(u, &u->job.base, "min_nodes", (int64_t)least);
    return put_number(u, &u->job.base, "max_nodes", (int64_t)(most ? most : least));
}

static int set_job_limit(struct update *u, const char *text, char sign, struct err *err)
{
    uint32_t minutes;
    int r;

    if (!sign && (*text == '+' || *text == '-'))
        sign = *text++;
    r = time_limit_parse(text, &minutes, NULL);
    if (r < 0)
        return -EINVAL;
    if (sign) {
        if (minutes == TIME_LIMIT_INFINITE)
            return -EINVAL;
        u->has_limit_change = true;
        u->limit_change_min = sign == '+' ? (int64_t)minutes : -(int64_t)minutes;
        return 0;
    }
    u->has_limit_change = false;
    if (minutes == TIME_LIMIT_INFINITE) {
        r = clear_field(u, &u->job.base, "time_limit_min", err);
        return r < 0 ? r : put_number(u, &u->job.base, "time_unlimited", 1);
    }
    (void)put_number(u, &u->job.base, "time_limit_min", minutes);
    return clear_field(u, &u->job.base, "time_unlimited", err);
}

static const struct {
    const char *name;
    Pst__NodeAction action;
    unsigned shortest;
} node_states[] = {
    { "NoResp", PST__NODE_ACTION__NODE_ACT_NO_RESP, 3 },
    { "CANCEL_REBOOT", PST__NODE_ACTION__NODE_ACT_CANCEL_REBOOT, 3 },
    { "DRAIN", PST__NODE_ACTION__NODE_ACT_DRAIN, 3 },
    { "DOWN", PST__NODE_ACTION__NODE_ACT_DOWN, 1 },
    { "FAIL", PST__NODE_ACTION__NODE_ACT_FAIL, 4 },
    { "FUTURE", PST__NODE_ACTION__NODE_ACT_FUTURE, 1 },
    { "IDLE", PST__NODE_ACTION__NODE_ACT_IDLE, 1 },
    { "RESUME", PST__NODE_ACTION__NODE_ACT_RESUME, 3 },
    { "POWER_DOWN", PST__NODE_ACTION__NODE_ACT_POWER_DOWN, 10 },
    { "POWER_DOWN_ASAP", PST__NODE_ACTION__NODE_ACT_POWER_DOWN_ASAP, 15 },
    { "POWER_DOWN_FORCE", PST__NODE_ACTION__NODE_ACT_POWER_DOWN_FORCE, 16 },
    { "POWER_UP", PST__NODE_ACTION__NODE_ACT_POWER_UP, 8 },
    { "UNDRAIN", PST__NODE_ACTION__NODE_ACT_UNDRAIN, 3 },
    { "ALLOCATED", PST__NODE_ACTION__NODE_ACT_OTHER, 2 },
    { "MIXED", PST__NODE_ACTION__NODE_ACT_OTHER, 3 },
    { "UNKNOWN", PST__NODE_ACTION__NODE_ACT_OTHER, 3 },
};

static int set_node_state(struct update *u, const char *text)
{
    size_t len = strlen(text);

    for (size_t i = 0; i < ARRAY_SIZE(node_states); i++)
        if (len >= node_states[i].shortest && len <= strlen(node_states[i].name) &&
            strncasecmp(text, node_states[i].name, len) == 0) {
            u->node_action = node_states[i].action;
            return 0;
        }
    return -EINVAL; /* the command lists the states */
}

bool update_reason_given(const struct update *u)
{
    bool needed = u->node_action == PST__NODE_ACTION__NODE_ACT_DOWN ||
                  u->node_action == PST__NODE_ACTION__NODE_ACT_DRAIN ||
                  u->node_action == PST__NODE_ACTION__NODE_ACT_FAIL;

    return !needed || u->node.reason;
}

/* Values that are one number in one field.  1 = not of these. */
/* The first state that begins with the word. */
static int parse_part_state(const char *text, uint32_t *ret)
{
    static const char *const words[] = { "UP", "DOWN", "DRAIN", "INACTIVE" };

    for (size_t i = 0; *text && i < ARRAY_SIZE(words); i++)
        if (strncasecmp(text, words[i], strlen(text)) == 0)
            return names_part_state_parse(words[i], ret);
    return -EINVAL;
}

static int set_plain_number(struct update *u, ProtobufCMessage *msg, const struct row *row,
                            const char *text, int64_t now_us, struct err *err)
{
    uint64_t n = 0;
    uint32_t n32 = 0;
    int64_t value = 0;
    int r;

    switch (row->value) {
    case V_NUMBER_INF:
    case V_NUMBER_WORD:
    case V_NUMBER:
    case V_GRACE:
    case V_SECONDS:
    case V_PRIORITY:
        if ((row->value == V_NUMBER_INF || (row->value == V_NUMBER_WORD && *text != '-')) &&
            is_infinite(text))
            return clear_field(u, msg, row->field, err);
        r = parse_u64(text, 0, UINT32_MAX - 2, &n);
        value = (int64_t)n;
        break;
    case V_NUMBER_LAX:
        r = 0;
        value = parse_u64(text, 0, UINT32_MAX - 2, &n) < 0 ? 0 : (int64_t)n;
        break;
    case V_SWITCH:
        r = parse_u64(text, 0, UINT16_MAX, &n);
        value = n != 0;
        break;
    case V_TIER:
        r = parse_u64(text, 0, TIER_MAX, &n);
        value = (int64_t)n;
        break;
    case V_OVERSUBSCRIBE:
        r = parse_bool(text, &value);
        if (r == 0 && !value) /* what is false has been left to the partition */
            return clear_field(u, msg, row->field, err);
        break;
    case V_BOOL:
        r = parse_bool(text, &value);
        break;
    case V_YES_NO:
        r = parse_yes_no(text, &value);
        break;
    case V_MEM:
        r = parse_u64(text, 0, UINT32_MAX, &n);
        value = (int64_t)n;
        break;
    case V_MINUTES:
        r = time_limit_parse(text, &n32, NULL);
        if (r == 0 && n32 == TIME_LIMIT_INFINITE)
            return clear_field(u, msg, row->field, err);
        value = n32;
        break;
    case V_DELAY:
        r = time_delay_parse(text, &n32, NULL);
        value = n32;
        break;
    case V_WHEN:
        r = time_when_parse(text, now_us, true, &value, NULL);
        break;
    case V_NICE: /* what is no number is 0, as of atoi */
        r = 0;
        if (parse_i64(text, -2147483645, 2147483645, &value) < 0)
            value = 0;
        break;
    case V_SITE:
        r = parse_i64(text, -2147483645, 2147483645, &value);
        break;
    case V_MAIL:
        r = jobtext_mail_parse(text, &n32);
        value = n32;
        break;
    case V_PART_STATE:
        r = parse_part_state(text, &n32);
        value = n32;
        break;
    default:
        return 1;
    }
    if (r == 0 && strcmp(row->field, "core_spec") == 0) /* what is counted */
        (void)put_number(u, msg, "spec_threads", strcasecmp(row->key, "ThreadSpec") == 0);
    return r < 0 ? r : put_number(u, msg, row->field, value);
}

/* ---- partitions ------------------------------------------------------------------------------ */

static int set_part_mem(struct update *u, const char *field, const char *text, struct err *err)
{
    static const char *const pairs[][2] = { { "def_mem_per_cpu_mib", "def_mem_per_node_mib" },
                                            { "max_mem_per_cpu_mib", "max_mem_per_node_mib" } };
    ProtobufCMessage *msg = &u->part.base;
    uint64_t n;
    int r = 0;

    if (parse_u64(text, 0, UINT32_MAX, &n) < 0)
        return -EINVAL;
    for (size_t i = 0; i < ARRAY_SIZE(pairs) && r == 0; i++)
        for (size_t k = 0; k < 2 && r == 0; k++)
            if (strcmp(pairs[i][k], field) == 0)
                r = clear_field(u, msg, pairs[i][1 - k], err);
    if (r < 0)
        return r;
    return n ? put_number(u, msg, field, (int64_t)n) : clear_field(u, msg, field, err);
}

/* NO, EXCLUSIVE, YES[:n], FORCE[:n]; the number is 4 without one. */
static int set_part_share(struct update *u, const char *text, struct err *err)
{
    size_t len = strcspn(text, ":");
    bool force = len == 5 && strncasecmp(text, "FORCE", 5) == 0;
    char value[32];
    uint64_t n = 4;

    if (strcasecmp(text, "EXCLUSIVE") == 0) {
        int r = put_text(u, &u->part.base, "exclusive", "NODE", err);

        return r < 0 ? r : put_text(u, &u->part.base, "oversubscribe", "NO", err);
    }
    if (strcasecmp(text, "NO") == 0) {
        int r = put_text(u, &u->part.base, "exclusive", "NO", err);

        return r < 0 ? r : put_text(u, &u->part.base, "oversubscribe", "NO", err);
    }
    if ((!force && !(len == 3 && strncasecmp(text, "YES", 3) == 0)) ||
        (text[len] && parse_u64(text + len + 1, 1, 32767, &n) < 0))
        return -EINVAL;
    (void)snprintf(value, sizeof(value), "%s:%llu", force ? "FORCE" : "YES",
                   (unsigned long long)n); /* fits */
    return put_text(u, &u->part.base, "oversubscribe", value, err);
}

static int set_exclusive(struct update *u, const char *text, struct err *err)
{
    static const char *const words[] = { "NO", "NODE", "USER", "TOPO" };

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcasecmp(text, words[i]) == 0) {
            int r = put_text(u, &u->part.base, "exclusive", words[i], err);

            return r < 0 || (i != 1 && i != 3)
                       ? r
                       : put_text(u, &u->part.base, "oversubscribe", "NO", err);
        }
    return -EINVAL;
}

/* ExclusiveUser=yes, ExclusiveTopo=yes */
static int set_exclusive_to(struct update *u, const char *text, const char *whom, struct err *err)
{
    int64_t on;

    if (parse_yes_no(text, &on) < 0)
        return -EINVAL;
    return put_text(u, &u->part.base, "exclusive", on ? whom : "NO", err);
}

static int set_preempt(struct update *u, const char *text, struct err *err)
{
    static const char *const words[] = { "OFF", "CANCEL", "REQUEUE", "SUSPEND", "GANG", "WITHIN" };
    _cleanup_free_ char *copy = xstrdup_or_die(text);
    char *save = NULL;
    size_t n = 0;

    for (char *w = strtok_r(copy, ",", &save); w; w = strtok_r(NULL, ",", &save), n++) {
        size_t i = 0;

        while (i < ARRAY_SIZE(words) && strcasecmp(w, words[i]) != 0)
            i++;
        if (i == ARRAY_SIZE(words))
            return -EINVAL;
        for (char *p = w; *p; p++)
            *p = (char)toupper((unsigned char)*p);
    }
    for (size_t i = 0; text[i]; i++)
        if (copy[i] == '\0')
            copy[i] = ',';
    return n ? put_text(u, &u->part.base, "preempt_mode", copy, err) : -EINVAL;
}

static int set_over_time(struct update *u, const char *text, struct err *err)
{
    ProtobufCMessage *msg = &u->part.base;
    uint64_t n;
    int r;

    if (is_infinite(text)) {
        r = clear_field(u, msg, "over_time_limit_min", err);
        return r < 0 ? r : put_number(u, msg, "over_time_unlimited", 1);
    }
    if (parse_u64(text, 0, TIER_MAX, &n) < 0)
        return -EINVAL;
    r = clear_field(u, msg, "over_time_unlimited", err);
    return r < 0 ? r : put_number(u, msg, "over_time_limit_min", (int64_t)n);
}

static int set_tiers(struct update *u, const char *text)
{
    uint64_t n;

    if (parse_u64(text, 0, TIER_MAX, &n) < 0)
        return -EINVAL;
    (void)put_number(u, &u->part.base, "priority_job_factor", (int64_t)n);
    return put_number(u, &u->part.base, "priority_tier", (int64_t)n);
}

/* "core" and "cores" are the same; "off" is none. */
static int set_cpu_bind(struct update *u, ProtobufCMessage *msg, const char *text, struct err *err)
{
    static const struct {
        const char *word, *value;
    } words[] = { { "none", "none" },       { "core", "cores" },
                  { "cores", "cores" },     { "socket", "sockets" },
                  { "sockets", "sockets" }, { "ldom", "ldoms" },
                  { "ldoms", "ldoms" },     { "thread", "threads" },
                  { "threads", "threads" }, { "off", "" } };

    if (!*text)
        return put_text(u, msg, "cpu_bind", "", err);
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcasecmp(text, words[i].word) == 0)
            return put_text(u, msg, "cpu_bind", words[i].value, err);
    return -EINVAL;
}

/* Nodes=+a, Nodes+=a: the sign stands before the list. */
static int set_part_nodes(struct update *u, const char *text, char sign, struct err *err)
{
    _cleanup_free_ char *list = sign ? xasprintf_or_die("%c%s", sign, text) : xstrdup_or_die(text);
    int r = put_text(u, &u->part.base, "nodes_config", list, err);

    return r < 0 ? r : put_text(u, &u->part.base, "nodes", list, err);
}

static int set_part_value(struct update *u, const struct row *row, const char *text, char sign,
                          struct err *err)
{
    switch (row->value) {
    case V_PART_NODES:
        return set_part_nodes(u, text, sign, err);
    case V_PART_MEM:
        return set_part_mem(u, row->field, text, err);
    case V_PART_SHARE:
        return set_part_share(u, text, err);
    case V_PART_EXCLUSIVE:
        return set_exclusive(u, text, err);
    case V_PART_USER:
        return set_exclusive_to(u, text, "USER", err);
    case V_PART_TOPO:
        return set_exclusive_to(u, text, "TOPO", err);
    case V_PREEMPT:
        return set_preempt(u, text, err);
    case V_OVER_TIME:
        return set_over_time(u, text, err);
    default:
        return set_tiers(u, text);
    }
}

/* "gres/gpu:2": so much for each GPU. */
static int set_per_gpu(struct update *u, const struct row *row, const char *text)
{
    uint64_t n;

    if (strncmp(text, "gres/", 5) == 0)
        text += 5;
    if (strncmp(text, "gpu:", 4) != 0 || parse_u64(text + 4, 0, INT32_MAX, &n) < 0)
        return -EINVAL;
    return put_number(u, &u->job.base, row->field, (int64_t)n);
}

/* "gpu:1,nic" as the kinds of TRES that they are. */
static int set_gres(struct update *u, const struct row *row, const char *text, struct err *err)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    while (*text) {
        size_t n = strcspn(text, ",");

        strbuf_addf(&sb, "%s%s%.*s", sb.len ? "," : "",
                    strncmp(text, "gres/", 5) == 0 ? "" : "gres/", (int)n, text);
        text += n + (text[n] == ',');
    }
    return put_text(u, &u->job.base, row->field, strbuf_str(&sb), err);
}

/* ---- any value ------------------------------------------------------------------------------- */

static int set_job_mem(struct update *u, const struct row *row, const char *text, struct err *err)
{
    uint64_t n;

    if (parse_u64(text, 0, UINT32_MAX, &n) < 0)
        return -EINVAL;
    (void)put_number(u, &u->job.base, row->field, (int64_t)n);
    return clear_field(u, &u->job.base,
                       row->value == V_CPU_MEM ? "mem_per_node_mib" : "mem_per_cpu_mib", err);
}

static int set_value(struct update *u, enum update_kind kind, const struct row *row,
                     const char *text, char sign, int64_t now_us, struct err *err)
{
    ProtobufCMessage *msg = record_of(u, kind);
    int r = set_plain_number(u, msg, row, text, now_us, err);

    if (r <= 0)
        return r;
    switch (row->value) {
    case V_TEXT_ALL:
        return put_text(u, msg, row->field, strcasecmp(text, "ALL") == 0 ? "" : text, err);
    case V_TEXT:
        return put_text(u, msg, row->field, text, err);
    case V_JOB_LIMIT:
        return set_job_limit(u, text, sign, err);
    case V_NODES_RANGE:
        return set_node_range(u, text);
    case V_CPUS_RANGE:
        return set_cpu_range(u, text, err);
    case V_SWITCHES:
        return set_switches(u, text);
    case V_PER_GPU:
        return set_per_gpu(u, row, text);
    case V_GRES:
        return set_gres(u, row, text, err);
    case V_CPU_MEM:
    case V_NODE_MEM:
        return set_job_mem(u, row, text, err);
    case V_USER:
        u->has_uid = user_id_of(text, &u->uid) == 0;
        return u->has_uid ? 0 : -EINVAL;
    case V_ACCRUE:
        u->reset_accrue = true;
        return 0;
    case V_UNKNOWN:
    case V_NOT_FOUND:
        u->refused = row->value == V_UNKNOWN ? ESLURM_NOT_SUPPORTED : SLURM_ERROR;
        return 0;
    case V_CPU_BIND:
        return set_cpu_bind(u, msg, text, err);
    case V_NODE_STATE:
        return set_node_state(u, text);
    case V_UNUSED:
        return 0;
    default:
        return set_part_value(u, row, text, sign, err);
    }
}

/* ---- words ----------------------------------------------------------------------------------- */

/* The row of a key, or of enough of its first letters. */
static const struct row *find_row(enum update_kind kind, const char *word, size_t len)
{
    const struct row *found = NULL;

    for (size_t i = 0; i < tables[kind].n; i++) {
        const struct row *row = &tables[kind].rows[i];

        if (len > strlen(row->key) || strncasecmp(word, row->key, len) != 0)
            continue;
        if (len == strlen(row->key))
            return row;
        if (!found && row->shortest && len >= row->shortest)
            found = row;
    }
    return found;
}

/* A key without a value; NULL: it needs one. */
static const char *implied_value(const struct row *row)
{
    return row->value == V_NICE ? "100" : row->value == V_ACCRUE ? "" : NULL;
}

int update_set(struct update *u, enum update_kind kind, const char *word, int64_t now_us,
               struct err *err)
{
    size_t len = strcspn(word, "="), key_len;
    char sign = len && (word[len - 1] == '+' || word[len - 1] == '-') ? word[len - 1] : 0;
    struct err why = { .text = "" };
    const struct row *row;
    const char *text;
    int r;

    key_len = sign && word[len] ? len - 1 : len;
    row = find_row(kind, word, key_len);
    if (!row && word[len])
        return err_set(err, -ENOENT, "Update of this parameter is not supported: %s", word);
    text = !row || word[len] ? word + len + 1 : implied_value(row);
    if (!row || !text)
        return err_set(err, -EBADMSG, "Invalid input: %s", word);
    if (sign && word[len] && kind == UPDATE_NODE)
        return err_set(err, -ENOENT, "Update of this parameter is not supported: %s", word);
    if (sign && word[len] && row->value != V_JOB_LIMIT && row->value != V_PART_NODES)
        return update_fail(kind, row, word, text, err);
    r = set_value(u, kind, row, text, sign, now_us, &why);
    if (r < 0) {
        r = update_fail(kind, row, word, text, err);
        u->any = u->any || row->value == V_NODES_RANGE;
        return r;
    }
    u->any = u->any || row->value != V_USER;
    u->resume_given = u->resume_given || (row->field && strcmp(row->field, "resume_after_s") == 0);
    return 0;
}
