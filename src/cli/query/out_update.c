/* out_update.c - the keys of scontrol update; see out_update.h.
 *
 * Values go into the records through the generated descriptors, so that a row needs only the
 * field's name. Invariant: a failed update_set() leaves the update as it was. */
#include "cli/query/out_update.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "cli/job/jobtext.h"
#include "cli/query/out_users.h"
#include "model/words/names.h"
#include "fieldlists.h"

enum value {
    V_TEXT,     /* "" clears */
    V_TEXT_ALL, /* as V_TEXT; ALL clears too */
    V_NUMBER,
    V_NUMBER_INF, /* UNLIMITED and INFINITE clear */
    V_BOOL,       /* yes no 1 0 */
    V_REQUEUE,    /* the same, or any number */
    V_MEM,        /* MiB */
    V_MEM_INF,
    V_MINUTES, /* a time limit; UNLIMITED clears */
    V_WHEN,
    V_NICE,
    V_USER,
    V_JOB_LIMIT, /* TimeLimit of a job: may be a change; UNLIMITED sets time_unlimited */
    V_NODES_RANGE,
    V_CPU_MEM,  /* clears the per-node field */
    V_NODE_MEM, /* clears the per-CPU field */
    V_MAIL,
    V_PRIORITY,
    V_OVERSUBSCRIBE,
    V_PART_STATE,
    V_PART_NODES, /* as written, and the list itself */
    V_NODE_STATE,
    V_UNUSED, /* known to Slurm, without a meaning here */
};

struct row {
    const char *key;
    enum value value;
    const char *field; /* NULL for V_NODE_STATE and V_UNUSED */
};

static const struct row job_rows[] = {
    { "Account", V_TEXT, "account" },
    { "AdminComment", V_TEXT, "admin_comment" },
    { "ArrayTaskThrottle", V_NUMBER, "array_task_throttle" },
    { "BurstBuffer", V_UNUSED, NULL },
    { "Clusters", V_UNUSED, NULL },
    { "ClusterFeatures", V_UNUSED, NULL },
#define KEY_ROW(name, kind, member) { name, V_##kind, #member },
    /* clang-format off: a macro of rows */
    JOB_KEYS(KEY_ROW)
    /* clang-format on */
    { "Contiguous", V_BOOL, "contiguous" },
    { "CoreSpec", V_NUMBER, "core_spec" },
    { "CPUsPerTask", V_NUMBER, "cpus_per_task" },
    { "Deadline", V_WHEN, "deadline_us" },
    { "DelayBoot", V_UNUSED, NULL },
    { "Dependency", V_TEXT, "dependency" },
    { "EligibleTime", V_WHEN, "begin_us" },
    { "EndTime", V_WHEN, "end_us" },
    { "ExcNodeList", V_TEXT, "exc_nodes" },
    { "Extra", V_TEXT, "extra" },
    { "Features", V_TEXT, "features" },
    { "Gres", V_TEXT, "tres_per_node" },
    { "JobName", V_TEXT, "name" },
    { "Name", V_TEXT, "name" },
    { "Licenses", V_TEXT, "licenses" },
    { "MailType", V_MAIL, "mail_type" },
    { "MailUser", V_TEXT, "mail_user" },
    { "MCSLabel", V_TEXT, "mcs_label" },
    { "MinCPUsNode", V_NUMBER, "pn_min_cpus" },
    { "MinMemoryCPU", V_CPU_MEM, "mem_per_cpu_mib" },
    { "MinMemoryNode", V_NODE_MEM, "mem_per_node_mib" },
    { "MinTmpDiskNode", V_MEM, "tmp_disk_mib" },
    { "Network", V_TEXT, "network" },
    { "Nice", V_NICE, "nice" },
    { "NodeList", V_TEXT, "req_nodes" },
    { "NumCPUs", V_UNUSED, NULL },
    { "NumNodes", V_NODES_RANGE, "min_nodes" },
    { "NumTasks", V_NUMBER, "num_tasks" },
    { "OverSubscribe", V_OVERSUBSCRIBE, "oversubscribe" },
    { "Shared", V_OVERSUBSCRIBE, "oversubscribe" },
    { "Partition", V_TEXT, "partition" },
    { "Prefer", V_TEXT, "prefer" },
    { "Priority", V_PRIORITY, "priority" },
    { "QOS", V_TEXT, "qos" },
    { "Reboot", V_BOOL, "reboot" },
    { "ReqCores", V_NUMBER, "cores_per_socket" },
    { "ReqNodeList", V_TEXT, "req_nodes" },
    { "ReqNodes", V_NODES_RANGE, "min_nodes" },
    { "ReqProcs", V_UNUSED, NULL },
    { "ReqSockets", V_NUMBER, "sockets_per_node" },
    { "ReqThreads", V_NUMBER, "threads_per_core" },
    { "Requeue", V_REQUEUE, "requeue" },
    { "ReservationName", V_TEXT, "reservation" },
    { "ResetAccrueTime", V_UNUSED, NULL },
    { "SiteFactor", V_UNUSED, NULL },
    { "StartTime", V_WHEN, "begin_us" },
    { "StdErr", V_TEXT, "std_err" },
    { "StdIn", V_TEXT, "std_in" },
    { "StdOut", V_TEXT, "std_out" },
    { "Switches", V_NUMBER, "switches" },
    { "TasksPerNode", V_NUMBER, "ntasks_per_node" },
    { "ThreadSpec", V_UNUSED, NULL },
    { "TimeLimit", V_JOB_LIMIT, "time_limit_min" },
    { "TimeMin", V_MINUTES, "time_min_min" },
    { "TresPerJob", V_TEXT, "tres_per_job" },
    { "TresPerNode", V_TEXT, "tres_per_node" },
    { "TresPerSocket", V_TEXT, "tres_per_socket" },
    { "TresPerTask", V_TEXT, "tres_per_task" },
    { "UserID", V_USER, "uid" },
    { "wait-for-switch", V_UNUSED, NULL },
    { "WCKey", V_TEXT, "wckey" },
    { "WorkDir", V_TEXT, "work_dir" },
};

static const struct row node_rows[] = {
    { "ActiveFeatures", V_TEXT, "active_features" },
    { "AvailableFeatures", V_TEXT, "features" },
    { "Features", V_TEXT, "features" },
    { "CertToken", V_UNUSED, NULL },
    { "Comment", V_TEXT, "comment" },
    { "CpuBind", V_UNUSED, NULL },
    { "Extra", V_TEXT, "extra" },
    { "Gres", V_TEXT, "gres" },
    { "InstanceId", V_TEXT, "instance_id" },
    { "InstanceType", V_UNUSED, NULL },
    { "NodeAddr", V_TEXT, "addr" },
    { "NodeHostname", V_TEXT, "hostname" },
    { "Reason", V_TEXT, "reason" },
    { "ResumeAfter", V_NUMBER_INF, "resume_after_s" },
    { "State", V_NODE_STATE, NULL },
    { "Topology", V_UNUSED, NULL },
    { "Weight", V_NUMBER, "weight" },
};

static const struct row part_rows[] = {
    { "AllocNodes", V_TEXT_ALL, "alloc_nodes" },
    { "AllowAccounts", V_TEXT_ALL, "allow_accounts" },
    { "AllowGroups", V_TEXT_ALL, "allow_groups" },
    { "AllowQos", V_TEXT_ALL, "allow_qos" },
    { "Alternate", V_TEXT, "alternate" },
    { "CpuBind", V_UNUSED, NULL },
    { "Default", V_BOOL, "is_default" },
    { "DefaultTime", V_MINUTES, "default_time_min" },
    { "DefMemPerCPU", V_MEM_INF, "def_mem_per_cpu_mib" },
    { "DefMemPerNode", V_MEM_INF, "def_mem_per_node_mib" },
    { "DenyAccounts", V_TEXT, "deny_accounts" },
    { "DenyQos", V_TEXT, "deny_qos" },
    { "DisableRootJobs", V_BOOL, "disable_root_jobs" },
    { "Exclusive", V_TEXT, "exclusive" },
    { "ExclusiveUser", V_UNUSED, NULL },
    { "GraceTime", V_NUMBER, "grace_time_s" },
    { "Hidden", V_BOOL, "hidden" },
    { "JobDefaults", V_TEXT, "job_defaults" },
    { "LLN", V_BOOL, "lln" },
    { "MaxCPUsPerNode", V_NUMBER_INF, "max_cpus_per_node" },
    { "MaxCPUsPerSocket", V_NUMBER_INF, "max_cpus_per_socket" },
    { "MaxMemPerCPU", V_MEM_INF, "max_mem_per_cpu_mib" },
    { "MaxMemPerNode", V_MEM_INF, "max_mem_per_node_mib" },
    { "MaxNodes", V_NUMBER_INF, "max_nodes" },
    { "MaxTime", V_MINUTES, "max_time_min" },
    { "MinNodes", V_NUMBER, "min_nodes" },
    { "Nodes", V_PART_NODES, "nodes" },
    { "OverSubscribe", V_TEXT, "oversubscribe" },
    { "OverTimeLimit", V_NUMBER_INF, "over_time_limit_min" },
    { "PowerDownOnIdle", V_BOOL, "power_down_on_idle" },
    { "PreemptMode", V_TEXT, "preempt_mode" },
    { "Priority", V_NUMBER, "priority_tier" },
    { "PriorityJobFactor", V_NUMBER, "priority_job_factor" },
    { "PriorityTier", V_NUMBER, "priority_tier" },
    { "QOS", V_TEXT, "qos" },
    { "ReqResv", V_BOOL, "req_resv" },
    { "ResumeTimeout", V_UNUSED, NULL },
    { "RootOnly", V_BOOL, "root_only" },
    { "SelectTypeParameters", V_TEXT, "select_type_parameters" },
    { "State", V_PART_STATE, "state" },
    { "SuspendTime", V_UNUSED, NULL },
    { "SuspendTimeout", V_UNUSED, NULL },
    { "Topology", V_UNUSED, NULL },
    { "TRESBillingWeights", V_TEXT, "tres_billing_weights" },
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
    *ret_supported = tables[kind].rows[i].value != V_UNUSED;
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

/* "2", "2-4": both ends; one number is both. */
static int set_node_range(struct update *u, const char *text)
{
    char low[32];
    const char *dash = strchr(text, '-');
    uint64_t least, most;

    (void)snprintf(low, sizeof(low), "%.*s", (int)(dash ? dash - text : (long)strlen(text)), text);
    if (parse_u64(low, 1, UINT32_MAX, &least) < 0)
        return -EINVAL;
    most = least;
    if (dash && parse_u64(dash + 1, least, UINT32_MAX, &most) < 0)
        return -EINVAL;
    (void)put_number(u, &u->job.base, "min_nodes", (int64_t)least);
    return put_number(u, &u->job.base, "max_nodes", (int64_t)most);
}

static int set_job_limit(struct update *u, const char *text, char sign, struct err *err)
{
    uint32_t minutes;
    int r;

    if (!sign && (*text == '+' || *text == '-'))
        sign = *text++;
    r = time_limit_parse(text, &minutes, NULL);
    if (r < 0)
        return err_set(err, -EDOM, "scontrol: error: Invalid TimeLimit value");
    if (sign) {
        if (minutes == TIME_LIMIT_INFINITE)
            return err_set(err, -EINVAL, "a time limit cannot be changed by %s", text);
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
} node_states[] = {
    { "DOWN", PST__NODE_ACTION__NODE_ACT_DOWN },
    { "DRAIN", PST__NODE_ACTION__NODE_ACT_DRAIN },
    { "FAIL", PST__NODE_ACTION__NODE_ACT_FAIL },
    { "FUTURE", PST__NODE_ACTION__NODE_ACT_FUTURE },
    { "IDLE", PST__NODE_ACTION__NODE_ACT_IDLE },
    { "RESUME", PST__NODE_ACTION__NODE_ACT_RESUME },
    { "UNDRAIN", PST__NODE_ACTION__NODE_ACT_UNDRAIN },
};

static int set_node_state(struct update *u, const char *text, struct err *err)
{
    static const char *const others[] = { "NoResp",           "POWER_DOWN", "POWER_DOWN_ASAP",
                                          "POWER_DOWN_FORCE", "POWER_UP",   "CANCEL_REBOOT" };

    for (size_t i = 0; i < ARRAY_SIZE(node_states); i++)
        if (strcasecmp(text, node_states[i].name) == 0) {
            u->node_action = node_states[i].action;
            return 0;
        }
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        if (strcasecmp(text, others[i]) == 0)
            return err_set(err, -ENOTSUP,
                           "node state %s cannot be set: power control is not configured",
                           others[i]);
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
static int set_plain_number(struct update *u, ProtobufCMessage *msg, const struct row *row,
                            const char *text, int64_t now_us, struct err *err)
{
    uint64_t n = 0;
    uint32_t n32 = 0;
    int64_t value = 0;
    int r;

    switch (row->value) {
    case V_NUMBER_INF:
    case V_NUMBER:
        if (row->value == V_NUMBER_INF && is_infinite(text))
            return clear_field(u, msg, row->field, err);
        r = parse_u64(text, 0, UINT32_MAX - 2, &n);
        value = (int64_t)n;
        break;
    case V_BOOL:
        r = parse_bool(text, &value);
        break;
    case V_REQUEUE:
        r = parse_u64(text, 0, UINT16_MAX, &n) == 0 ? 0 : parse_bool(text, &value);
        if (r < 0)
            return err_set(err, -EDOM, "scontrol: error: Invalid Requeue value: %s", text);
        value = n ? 1 : value;
        break;
    case V_MEM_INF:
    case V_MEM:
        if (row->value == V_MEM_INF && is_infinite(text))
            return clear_field(u, msg, row->field, err);
        r = size_mib_parse(text, &n, err);
        value = (int64_t)n;
        break;
    case V_MINUTES:
        r = time_limit_parse(text, &n32, err);
        if (r == 0 && n32 == TIME_LIMIT_INFINITE)
            return clear_field(u, msg, row->field, err);
        value = n32;
        break;
    case V_WHEN:
        r = time_when_parse(text, now_us, true, &value, err);
        break;
    case V_NICE:
        r = parse_i64(text, -2147483645, 2147483645, &value);
        break;
    case V_USER:
        r = user_id_of(text, &n32);
        value = n32;
        break;
    case V_MAIL:
        r = jobtext_mail_parse(text, &n32);
        value = n32;
        break;
    case V_PRIORITY:
        r = parse_u64(text, 0, UINT32_MAX - 2, &n);
        value = (int64_t)n;
        break;
    case V_OVERSUBSCRIBE:
        r = parse_bool(text, &value);
        break;
    case V_PART_STATE:
        r = names_part_state_parse(text, &n32);
        value = n32;
        break;
    default:
        return 1;
    }
    return r < 0 ? r : put_number(u, msg, row->field, value);
}

static int set_value(struct update *u, enum update_kind kind, const struct row *row,
                     const char *text, char sign, int64_t now_us, struct err *err)
{
    ProtobufCMessage *msg = record_of(u, kind);
    uint64_t n = 0;
    int r = set_plain_number(u, msg, row, text, now_us, err);

    if (r <= 0)
        return r;
    switch (row->value) {
    case V_TEXT_ALL:
        return put_text(u, msg, row->field, strcasecmp(text, "ALL") == 0 ? "" : text, err);
    case V_JOB_LIMIT:
        return set_job_limit(u, text, sign, err);
    case V_PART_NODES:
        r = put_text(u, msg, "nodes_config", text, err);
        return r < 0 ? r : put_text(u, msg, row->field, text, err);
    case V_NODES_RANGE:
        return set_node_range(u, text);
    case V_CPU_MEM:
    case V_NODE_MEM:
        r = size_mib_parse(text, &n, err);
        if (r < 0)
            return r;
        (void)put_number(u, msg, row->field, (int64_t)n);
        return clear_field(u, msg, row->value == V_CPU_MEM ? "mem_per_node_mib" : "mem_per_cpu_mib",
                           err);
    case V_NODE_STATE:
        return set_node_state(u, text, err);
    default:
        return put_text(u, msg, row->field, text, err);
    }
}

int update_set(struct update *u, enum update_kind kind, const char *word, int64_t now_us,
               struct err *err)
{
    size_t len = strcspn(word, "=");
    char sign = len && (word[len - 1] == '+' || word[len - 1] == '-') ? word[len - 1] : 0;
    size_t key_len = sign ? len - 1 : len;
    const struct row *row = NULL;
    struct err why = { .text = "" };
    int r;

    for (size_t i = 0; i < tables[kind].n && !row; i++)
        if (strlen(tables[kind].rows[i].key) == key_len &&
            strncasecmp(word, tables[kind].rows[i].key, key_len) == 0)
            row = &tables[kind].rows[i];
    if (!row || word[len] != '=')
        return err_set(err, -ENOENT, "Update of this parameter is not supported: %s", word);
    if (row->value == V_UNUSED)
        return err_set(err, -ENOTSUP, "%s of %s cannot be updated: nothing here uses it", row->key,
                       tables[kind].what);
    if (sign && row->value != V_JOB_LIMIT)
        return err_set(err, -EINVAL, "Invalid input: %s: only TimeLimit takes += and -=", word);
    r = set_value(u, kind, row, word + len + 1, sign, now_us, &why);
    if (r == -EDOM)
        return err_set(err, r, "%s", why.text);
    if (r < 0)
        return err_set(err, r, "Invalid input: %s%s%s", word, why.text[0] ? ": " : "", why.text);
    return 0;
}
