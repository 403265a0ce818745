/* restjobbody.c - job_desc_msg as a submission; see restjobbody.h */
#include "rest/slurm/restjobbody.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "cli/query/out_users.h"
#include "cli/job/jobnodes.h"
#include "cli/job/jobopts.h"
#include "cli/job/jobtext.h"
#include "conf/conf.h"
#include "rest/slurm/restjobsteps.h"
#include "rest/slurm/restwords.h"
#include "wire/errors.h"

#define SOURCE "_parse_job"
#define ENVIRONMENT_MAX 65536u /* variables */
#define SPANK_MAX 256u         /* as many as a job may have */
#define UMASK_DEFAULT 0022u

enum body_kind {
    B_TEXT,    /* a text, or texts joined by commas */
    B_NUMBER,  /* a number, also one with flags */
    B_SECONDS, /* a number of seconds, or a text as sbatch takes it */
    B_MINUTES, /* a number; infinite: UNLIMITED */
    B_MIB,     /* MiB */
    B_TIME,    /* seconds since 1970, or a text as sbatch takes it */
    B_FLAG,    /* true: the option is given */
    B_YESNO,   /* true or false: yes or no */
    B_GPU,     /* "gres/gpu:4": the option has what stands behind the name */
    B_GRES,    /* "gres/gpu:2,gres/shard:1": without "gres/" */
    B_CODE,    /* has code of its own */
    B_NONE,    /* no effect here: told by a warning */
};

struct body_row {
    const char *field;
    enum body_kind kind;
    enum jobopt option; /* of those kinds that are read by one */
};

/* In the order of the published schema. */
static const struct body_row rows[] = {
    { "account", B_TEXT, JO_ACCOUNT },
    { "account_gather_frequency", B_TEXT, JO_ACCTG_FREQ },
    { "admin_comment", B_CODE, 0 },
    { "allocation_node_list", B_NONE, 0 },
    { "allocation_node_port", B_NONE, 0 },
    { "argv", B_CODE, 0 },
    { "array", B_CODE, 0 },
    { "batch_features", B_TEXT, JO_BATCH },
    { "begin_time", B_TIME, JO_BEGIN },
    { "flags", B_CODE, 0 },
    { "burst_buffer", B_NONE, 0 },
    { "clusters", B_CODE, 0 },
    { "cluster_constraint", B_TEXT, JO_CLUSTER_CONSTRAINT },
    { "comment", B_TEXT, JO_COMMENT },
    { "contiguous", B_FLAG, JO_CONTIGUOUS },
    { "container", B_TEXT, JO_CONTAINER },
    { "container_id", B_TEXT, JO_CONTAINER_ID },
    { "container_type", B_NONE, 0 },
    { "core_specification", B_NUMBER, JO_CORE_SPEC },
    { "thread_specification", B_NUMBER, JO_THREAD_SPEC },
    { "cpu_binding", B_CODE, 0 },
    { "cpu_binding_flags", B_CODE, 0 },
    { "cpu_frequency", B_TEXT, JO_CPU_FREQ },
    { "cpus_per_tres", B_GPU, JO_CPUS_PER_GPU },
    { "crontab", B_CODE, 0 },
    { "deadline", B_TIME, JO_DEADLINE },
    { "delay_boot", B_SECONDS, JO_DELAY_BOOT },
    { "dependency", B_TEXT, JO_DEPENDENCY },
    { "end_time", B_NONE, 0 },
    { "environment", B_CODE, 0 },
    { "rlimits", B_CODE, 0 },
    { "excluded_nodes", B_CODE, 0 },
    { "extra", B_TEXT, JO_EXTRA },
    { "constraints", B_TEXT, JO_CONSTRAINT },
    { "group_id", B_CODE, 0 },
    { "hetjob_group", B_NONE, 0 },
    { "immediate", B_CODE, 0 },
    { "job_id", B_NONE, 0 },
    { "kill_on_node_fail", B_CODE, 0 },
    { "licenses", B_TEXT, JO_LICENSES },
    { "mail_type", B_CODE, 0 },
    { "mail_user", B_TEXT, JO_MAIL_USER },
    { "mcs_label", B_TEXT, JO_MCS_LABEL },
    { "memory_binding", B_CODE, 0 },
    { "memory_binding_type", B_CODE, 0 },
    { "memory_per_tres", B_GPU, JO_MEM_PER_GPU },
    { "memory_update_margin", B_CODE, 0 },
    { "memory_update_delay", B_CODE, 0 },
    { "name", B_TEXT, JO_JOB_NAME },
    { "network", B_TEXT, JO_NETWORK },
    { "nice", B_CODE, 0 },
    { "tasks", B_NUMBER, JO_NTASKS },
    { "oom_kill_step", B_NUMBER, JO_OOM_KILL_STEP },
    { "open_mode", B_TEXT, JO_OPEN_MODE },
    { "reserve_ports", B_CODE, 0 },
    { "overcommit", B_FLAG, JO_OVERCOMMIT },
    { "partition", B_TEXT, JO_PARTITION },
    { "distribution_plane_size", B_CODE, 0 },
    { "prefer", B_TEXT, JO_PREFER },
    { "hold", B_CODE, 0 },
    { "priority", B_NUMBER, JO_PRIORITY },
    { "profile", B_CODE, 0 },
    { "qos", B_TEXT, JO_QOS },
    { "reboot", B_FLAG, JO_REBOOT },
    { "required_nodes", B_CODE, 0 },
    { "requeue", B_CODE, 0 },
    { "reservation", B_TEXT, JO_RESERVATION },
    { "script", B_CODE, 0 },
    { "shared", B_CODE, 0 },
    { "site_factor", B_CODE, 0 },
    { "spank_environment", B_CODE, 0 },
    { "step_id", B_NONE, 0 },
    { "distribution", B_CODE, 0 },
    { "time_limit", B_MINUTES, JO_TIME },
    { "time_minimum", B_MINUTES, JO_TIME_MIN },
    { "tres_bind", B_TEXT, JO_TRES_BIND },
    { "tres_freq", B_GPU, JO_GPU_FREQ },
    { "tres_per_job", B_GPU, JO_GPUS },
    { "tres_per_node", B_GRES, JO_GRES },
    { "tres_per_socket", B_GPU, JO_GPUS_PER_SOCKET },
    { "tres_per_task", B_TEXT, JO_TRES_PER_TASK },
    { "user_id", B_CODE, 0 },
    { "wait_all_nodes", B_YESNO, JO_WAIT_ALL_NODES },
    { "kill_warning_flags", B_CODE, 0 },
    { "kill_warning_signal", B_CODE, 0 },
    { "kill_warning_delay", B_CODE, 0 },
    { "current_working_directory", B_CODE, 0 },
    { "cpus_per_task", B_NUMBER, JO_CPUS_PER_TASK },
    { "minimum_cpus", B_CODE, 0 },
    { "maximum_cpus", B_CODE, 0 },
    { "nodes", B_TEXT, JO_NODES },
    { "minimum_nodes", B_CODE, 0 },
    { "maximum_nodes", B_CODE, 0 },
    { "minimum_boards_per_node", B_NONE, 0 },
    { "minimum_sockets_per_board", B_NONE, 0 },
    { "sockets_per_node", B_NUMBER, JO_SOCKETS_PER_NODE },
    { "cores_per_socket", B_NUMBER, JO_CORES_PER_SOCKET },
    { "threads_per_core", B_NUMBER, JO_THREADS_PER_CORE },
    { "tasks_per_node", B_NUMBER, JO_NTASKS_PER_NODE },
    { "tasks_per_socket", B_NUMBER, JO_NTASKS_PER_SOCKET },
    { "tasks_per_core", B_NUMBER, JO_NTASKS_PER_CORE },
    { "tasks_per_board", B_NONE, 0 },
    { "ntasks_per_tres", B_NUMBER, JO_NTASKS_PER_GPU },
    { "minimum_cpus_per_node", B_NUMBER, JO_MINCPUS },
    { "memory_per_cpu", B_MIB, JO_MEM_PER_CPU },
    { "memory_per_node", B_MIB, JO_MEM },
    { "temporary_disk_per_node", B_MIB, JO_TMP },
    { "selinux_context", B_NONE, 0 },
    { "required_switches", B_CODE, 0 },
    { "segment_size", B_NUMBER, JO_SEGMENT },
    { "standard_error", B_TEXT, JO_ERROR },
    { "standard_input", B_TEXT, JO_INPUT },
    { "standard_output", B_TEXT, JO_OUTPUT },
    { "wait_for_switch", B_CODE, 0 },
    { "wckey", B_TEXT, JO_WCKEY },
    { "x11", B_CODE, 0 },
    { "x11_magic_cookie", B_NONE, 0 },
    { "x11_target_host", B_NONE, 0 },
    { "x11_target_port", B_NONE, 0 },
};

void restjob_fill(struct restjob *j, Pst__SubmitRequest *req)
{
    req->job = &j->job;
    req->has_environment = true;
    req->environment = (ProtobufCBinaryData){ j->environment_len, (uint8_t *)j->environment };
    req->has_hold = req->hold = j->hold;
    req->array = j->array;
    req->has_uid = j->has_uid;
    req->uid = j->uid;
    req->has_gid = j->has_gid;
    req->gid = j->gid;
}

const char *restjob_field(size_t i)
{
    return i < ARRAY_SIZE(rows) ? rows[i].field : NULL;
}

struct reading {
    struct rest_call *call;
    const json_t *desc;
    const char *place;
    struct jobopts opts;
    struct restjob *j;
};

/* ---- options --------------------------------------------------------------------------------- */

static const struct opt *option_row(enum jobopt id)
{
    const struct opt_command *command = jobopts_command(JOBOPTS_SBATCH);

    for (size_t i = 0; i < command->n; i++)
        if (command->rows[i].id == (int)id)
            return &command->rows[i];
    return NULL;
}

/* Nobody who sends a body wants a list printed, and nobody would read it. */
static bool asks_for_list(const char *value)
{
    return strcasecmp(value, "help") == 0 || strcasecmp(value, "list") == 0;
}

static bool refuse_field(struct reading *rd, const char *field, const char *why)
{
    rest_error_said(rd->call, ESLURM_REST_INVALID_QUERY, why && why[0] ? why : NULL, SOURCE,
                    "%s/%s/ cannot be taken", rd->place, field);
    return false;
}

static bool no_memory(struct reading *rd, const char *field)
{
    return refuse_field(rd, field, ERR_NOMEM);
}

static bool set_option(struct reading *rd, const char *field, enum jobopt id, const char *value)
{
    const struct opt *row = option_row(id);
    struct err err = { .text = "" };

    if (!row || (jobopts_kind(id) != 1 && asks_for_list(value)))
        return refuse_field(rd, field, NULL);
    if (row->arg == OPT_REQ && !value[0]) /* its parser relies on a value */
        return refuse_field(rd, field, "a value is wanted");
    return jobopts_set(&rd->opts, row, value[0] ? value : NULL, OPT_FROM_ARGV, &err) == 0 ||
           refuse_field(rd, field, err.text);
}

static void put_texts(struct strbuf *sb, const json_t *value)
{
    size_t start = sb->len, i;
    json_t *item;

    if (json_is_string(value))
        strbuf_add(sb, json_string_value(value));
    else if (json_is_integer(value))
        strbuf_addf(sb, "%lld", (long long)json_integer_value(value));
    json_array_foreach(value, i, item)
    {
        if (json_is_string(item))
            strbuf_addf(sb, "%s%s", sb->len > start ? "," : "", json_string_value(item));
    }
}

static void put_number(struct strbuf *sb, const json_t *value, const char *infinite,
                       const char *unit)
{
    struct rest_number n = rest_number(value);

    if (n.infinite)
        strbuf_add(sb, infinite);
    else if (n.set)
        strbuf_addf(sb, "%llu%s", (unsigned long long)n.value, unit);
    else if (json_is_string(value))
        strbuf_add(sb, json_string_value(value));
}

static void put_time(struct strbuf *sb, const json_t *value)
{
    struct rest_number n = rest_number(value);

    if (n.set && n.value)
        strbuf_addf(sb, "uts%llu", (unsigned long long)n.value);
    else if (!n.set && json_is_string(value))
        strbuf_add(sb, json_string_value(value));
}

/* "gres/gpu:4", "gres:gpu:4", "gpu:4" or "gres/gpu=4": "4". */
static void put_gpu(struct strbuf *sb, const json_t *value)
{
    const char *text = json_is_string(value) ? json_string_value(value) : "";

    if (strncmp(text, "gres/", 5) == 0 || strncmp(text, "gres:", 5) == 0)
        text += 5;
    if (strncmp(text, "gpu:", 4) == 0 || strncmp(text, "gpu=", 4) == 0)
        text += 4;
    strbuf_add(sb, text);
}

static void put_gres(struct strbuf *sb, const json_t *value)
{
    const char *p = json_is_string(value) ? json_string_value(value) : "";

    while (*p) {
        size_t len;

        p += strncmp(p, "gres/", 5) == 0 || strncmp(p, "gres:", 5) == 0 ? 5 : 0;
        len = strcspn(p, ",");
        strbuf_addn(sb, p, len);
        p += len;
        if (*p == ',')
            strbuf_addc(sb, *p++);
    }
}

static bool is_true(const json_t *value)
{
    return json_is_true(value) || (json_is_integer(value) && json_integer_value(value)) ||
           (json_is_string(value) && strcasecmp(json_string_value(value), "true") == 0);
}

static bool read_option(struct reading *rd, const struct body_row *row, const json_t *value)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    switch (row->kind) {
    case B_TEXT:
        put_texts(&sb, value);
        break;
    case B_NUMBER:
        put_number(&sb, value, "", "");
        break;
    case B_SECONDS:
        restwords_seconds(value, &sb);
        break;
    case B_MINUTES:
        put_number(&sb, value, "UNLIMITED", "");
        break;
    case B_MIB:
        put_number(&sb, value, "", "M");
        break;
    case B_TIME:
        put_time(&sb, value);
        break;
    case B_FLAG:
        return !is_true(value) || set_option(rd, row->field, row->option, "");
    case B_YESNO:
        return set_option(rd, row->field, row->option, is_true(value) ? "1" : "0");
    case B_GPU:
        put_gpu(&sb, value);
        break;
    case B_GRES:
        put_gres(&sb, value);
        break;
    case B_NONE:
        rest_warning(rd->call, row->field, "%s/%s/ has no effect here", rd->place, row->field);
        return true;
    case B_CODE:
        return true;
    }
    return !sb.len || set_option(rd, row->field, row->option, strbuf_str(&sb));
}

static bool read_options(struct reading *rd)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const json_t *value = json_object_get(rd->desc, rows[i].field);

        if (value && !json_is_null(value) && !read_option(rd, &rows[i], value))
            return false;
    }
    return true;
}

/* ---- fields with code of their own ----------------------------------------------------------- */

static const json_t *field_of(const struct reading *rd, const char *field)
{
    const json_t *value = json_object_get(rd->desc, field);

    return json_is_null(value) ? NULL : value;
}

static bool read_nodes(struct reading *rd)
{
    struct rest_number min = rest_number(field_of(rd, "minimum_nodes"));
    struct rest_number max = rest_number(field_of(rd, "maximum_nodes"));
    char text[64];

    if (field_of(rd, "nodes") || (!min.set && !max.set))
        return true;
    if (max.set && max.value)
        (void)snprintf(text, sizeof(text), "%llu-%llu",
                       (unsigned long long)(min.set && min.value ? min.value : 1),
                       (unsigned long long)max.value); /* fits */
    else
        (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)min.value);
    return set_option(rd, min.set ? "minimum_nodes" : "maximum_nodes", JO_NODES, text);
}

/* Without a count of nodes, the required ones are how many the job wants. */
static void count_nodes(struct reading *rd, size_t n, const char *field)
{
    Pst__JobRecord *job = &rd->j->job;

    if (strcmp(field, "required_nodes") != 0 || job->has_min_nodes || n < 2 ||
        (job->has_num_tasks && job->num_tasks < n))
        return;
    job->min_nodes = job->max_nodes = (uint32_t)n;
    job->has_min_nodes = job->has_max_nodes = true;
}

/* Names of nodes: never a file, as on a command line. */
static bool read_node_list(struct reading *rd, const char *field, char **ret)
{
    _cleanup_free_ char *names = rest_joined(rd->desc, field);
    _cleanup_(hostlist_free) struct hostlist *list = NULL;
    size_t n = 0;

    if (!names)
        return true;
    if (hostlist_parse(names, &list, NULL) < 0)
        return refuse_field(rd, field, slurm_err_text(ESLURM_INVALID_NODE_NAME));
    if (pb_set_str(ret, names) < 0 || jobnodes_fold(ret, &n) != 0)
        return no_memory(rd, field);
    count_nodes(rd, n, field);
    return true;
}

/* A number, which a text may be, too: false, one that is none. */
static bool take_number(struct reading *rd, const char *field, const json_t *value,
                        struct rest_number *ret)
{
    *ret = rest_number(value);
    return ret->set || ret->infinite || !json_string_length(value) ||
           refuse_field(rd, field, "a number is wanted");
}

static bool read_distribution(struct reading *rd)
{
    const char *text = rest_text(rd->desc, "distribution");
    static const char size[] = "distribution_plane_size";
    struct rest_number plane;
    char word[64];

    if (!take_number(rd, size, field_of(rd, size), &plane))
        return false;
    if (plane.set && plane.value) {
        (void)snprintf(word, sizeof(word), "plane=%llu", (unsigned long long)plane.value);
        return set_option(rd, size, JO_DISTRIBUTION, word); /* it fits */
    }
    return !text || !text[0] || set_option(rd, "distribution", JO_DISTRIBUTION, text);
}

static bool read_mem_update(struct reading *rd)
{
    struct rest_number margin = rest_number(field_of(rd, "memory_update_margin"));
    struct rest_number delay = rest_number(field_of(rd, "memory_update_delay"));
    char text[64];

    if (!delay.set || !delay.value)
        return true;
    (void)snprintf(text, sizeof(text), "%llu@%llu",
                   (unsigned long long)(margin.set ? margin.value : 0),
                   (unsigned long long)delay.value); /* fits */
    return set_option(rd, "memory_update_delay", JO_MEM_UPDATE, text);
}

static bool read_switches(struct reading *rd)
{
    struct rest_number wait = rest_number(field_of(rd, "wait_for_switch")), n;
    char text[64];

    if (!take_number(rd, "required_switches", field_of(rd, "required_switches"), &n))
        return false;
    if (!n.set || !n.value)
        return true;
    if (wait.set && wait.value)
        (void)snprintf(text, sizeof(text), "%llu@0:%llu", (unsigned long long)n.value,
                       (unsigned long long)wait.value); /* minutes:seconds; fits */
    else
        (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)n.value);
    return set_option(rd, "required_switches", JO_SWITCHES, text);
}

static bool read_warning_signal(struct reading *rd)
{
    const json_t *flags = field_of(rd, "kill_warning_flags");
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    const json_t *signal = field_of(rd, "kill_warning_signal");
    struct rest_number delay;

    if (!take_number(rd, "kill_warning_delay", field_of(rd, "kill_warning_delay"), &delay))
        return false;
    if (!signal)
        return true;
    put_texts(&sb, signal);
    if (!sb.len) /* as of every other empty text: nothing is asked for */
        return true;
    strbuf_reset(&sb);
    strbuf_add(&sb, restwords_has(flags, "BATCH_JOB") ? "B:" : "");
    put_texts(&sb, signal);
    if (delay.set)
        strbuf_addf(&sb, "@%llu", (unsigned long long)delay.value);
    return set_option(rd, "kill_warning_signal", JO_SIGNAL, strbuf_str(&sb));
}

static bool read_mail(struct reading *rd)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    restwords_mail(rd->desc, &sb);
    return !sb.len || set_option(rd, "mail_type", JO_MAIL_TYPE, strbuf_str(&sb));
}

static bool read_shared(struct reading *rd)
{
    static const char *const words[] = { "user", "mcs", "topo" };
    const json_t *shared = field_of(rd, "shared");

    if (restwords_has(shared, "oversubscribe"))
        return set_option(rd, "shared", JO_OVERSUBSCRIBE, "");
    if (restwords_has(shared, "none"))
        return set_option(rd, "shared", JO_EXCLUSIVE, "");
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (restwords_has(shared, words[i]))
            return set_option(rd, "shared", JO_EXCLUSIVE, words[i]);
    return true;
}

static bool read_choices(struct reading *rd)
{
    const json_t *requeue = field_of(rd, "requeue"), *kill = field_of(rd, "kill_on_node_fail");
    const json_t *nice = field_of(rd, "nice");
    _cleanup_free_ char *profile = rest_joined(rd->desc, "profile");
    char text[32];
    bool ok = true;

    if (requeue)
        ok = set_option(rd, "requeue", is_true(requeue) ? JO_REQUEUE : JO_NO_REQUEUE, "");
    if (ok && kill && !is_true(kill))
        ok = set_option(rd, "kill_on_node_fail", JO_NO_KILL, "");
    if (ok && profile && strcasecmp(profile, "NOT_SET") != 0)
        ok = set_option(rd, "profile", JO_PROFILE, profile);
    if (ok && json_is_integer(nice)) {
        (void)snprintf(text, sizeof(text), "%lld", (long long)json_integer_value(nice)); /* fits */
        ok = set_option(rd, "nice", JO_NICE, text);
    }
    rd->j->hold = is_true(field_of(rd, "hold"));
    rd->j->immediate = is_true(field_of(rd, "immediate"));
    rd->j->job.has_keeps_nodes = rest_query_true(rd->call, "keeps_nodes");
    rd->j->job.keeps_nodes = rd->j->job.has_keeps_nodes;
    return ok;
}

static bool read_flags(struct reading *rd)
{
    static const struct {
        const char *flag;
        enum jobopt option;
        const char *value;
    } known[] = {
        { "KILL_INVALID_DEPENDENCY", JO_KILL_ON_INVALID_DEP, "yes" },
        { "NO_KILL_INVALID_DEPENDENCY", JO_KILL_ON_INVALID_DEP, "no" },
        { "SPREAD_JOB", JO_SPREAD_JOB, "" },
        { "PREFER_MINIMUM_NODE_COUNT", JO_USE_MIN_NODES, "" },
        { "GRES_BINDING_ENFORCED", JO_GRES_FLAGS, "enforce-binding" },
        { "GRES_BINDING_DISABLED", JO_GRES_FLAGS, "disable-binding" },
        { "EXTERNAL_JOB", JO_EXTERNAL, "" },
        { "STEPMGR_ENABLED", JO_STEPMGR, "" },
        { "SPREAD_SEGMENTS", JO_SPREAD_SEGMENTS, "" },
        { "CONSOLIDATE_SEGMENTS", JO_CONSOLIDATE_SEGMENTS, "" },
        { "EXPEDITED_REQUEUE", JO_REQUEUE, "expedite" },
    };
    const json_t *flags = field_of(rd, "flags");
    json_t *item;
    size_t i, k;

    json_array_foreach(flags, i, item)
    {
        const char *flag = json_is_string(item) ? json_string_value(item) : "";

        for (k = 0; k < ARRAY_SIZE(known) && strcmp(known[k].flag, flag) != 0;)
            k++;
        if (k == ARRAY_SIZE(known))
            rest_warning(rd->call, "flags", "%s/flags/%zu/: %.64s has no effect here", rd->place, i,
                         flag);
        else if (!set_option(rd, "flags", known[k].option, known[k].value))
            return false;
    }
    return true;
}

/* ---- beside the options ---------------------------------------------------------------------- */

/* Nothing of such a job runs anywhere. */
static bool is_external(const struct reading *rd)
{
    json_t *flag;
    size_t i;

    json_array_foreach(field_of(rd, "flags"), i, flag)
    {
        if (json_is_string(flag) && strcmp(json_string_value(flag), "EXTERNAL_JOB") == 0)
            return true;
    }
    return false;
}

static bool read_environment(struct reading *rd)
{
    const json_t *list = field_of(rd, "environment");
    struct strbuf sb = STRBUF_INIT;
    json_t *item;
    size_t i;

    if (json_array_size(list) > ENVIRONMENT_MAX)
        return refuse_field(rd, "environment", "too many variables");
    json_array_foreach(list, i, item)
    {
        if (!json_is_string(item) || !strchr(json_string_value(item), '=')) {
            strbuf_done(&sb);
            return refuse_field(rd, "environment", "each variable is a text NAME=value");
        }
        strbuf_addn(&sb, json_string_value(item), json_string_length(item) + 1);
    }
    if (!sb.len && is_external(rd))
        return true;
    if (sb.len && !restjobsteps_add(rd->call, rd->desc, rd->place, &sb)) {
        strbuf_done(&sb);
        return false;
    }
    if (!sb.len) {
        rest_error(rd->call, ESLURM_ENVIRONMENT_MISSING, "slurm_submit_batch_job()",
                   "Batch job submission failed");
        return false;
    }
    rd->j->environment_len = sb.len;
    return strbuf_detach(&sb, &rd->j->environment) == 0 || no_memory(rd, "environment");
}

static bool copy_argv(struct reading *rd)
{
    const json_t *list = field_of(rd, "argv");
    Pst__JobRecord *job = &rd->j->job;
    size_t n = json_array_size(list), i;
    json_t *item;

    if (!n)
        return true;
    if (n > ENVIRONMENT_MAX)
        return refuse_field(rd, "argv", "too many words");
    job->argv = calloc(n, sizeof(*job->argv));
    json_array_foreach(list, i, item)
    {
        if (!job->argv || !json_is_string(item))
            return refuse_field(rd, "argv", "each word is a text");
        job->argv[job->n_argv] = strdup(json_string_value(item));
        if (!job->argv[job->n_argv++])
            return no_memory(rd, "argv");
    }
    return true;
}

/* What SPANK plugins of a command would have set: Prolog and Epilog see it as SPANK_NAME. */
static bool copy_spank(struct reading *rd)
{
    const json_t *list = field_of(rd, "spank_environment");
    Pst__JobRecord *job = &rd->j->job;
    size_t n = json_array_size(list), i;
    json_t *item;

    if (!n)
        return true;
    if (n > SPANK_MAX)
        return refuse_field(rd, "spank_environment", "too many variables");
    job->spank_job_env = calloc(n, sizeof(*job->spank_job_env));
    json_array_foreach(list, i, item)
    {
        const char *text = json_is_string(item) ? json_string_value(item) : "";

        if (!job->spank_job_env || !strchr(text, '=') || text[0] == '=')
            return refuse_field(rd, "spank_environment", "each variable is a text NAME=value");
        job->spank_job_env[job->n_spank_job_env] = strdup(text);
        if (!job->spank_job_env[job->n_spank_job_env++])
            return no_memory(rd, "spank_environment");
    }
    return true;
}

static bool add_rlimit(Pst__JobRecord *job, const char *name, struct rest_number n)
{
    Pst__Rlimit *limit = malloc(sizeof(*limit));

    if (!limit)
        return false;
    pst__rlimit__init(limit);
    limit->name = strdup(name);
    limit->has_soft = true;
    limit->soft = n.infinite ? UINT64_MAX : n.value;
    job->rlimits[job->n_rlimits++] = limit;
    return limit->name != NULL;
}

static bool read_rlimits(struct reading *rd)
{
    static const char *const names[][2] = {
        { "cpu", "CPU" },     { "fsize", "FSIZE" },   { "data", "DATA" },
        { "stack", "STACK" }, { "core", "CORE" },     { "rss", "RSS" },
        { "nproc", "NPROC" }, { "nofile", "NOFILE" }, { "memlock", "MEMLOCK" },
        { "as", "AS" },
    };
    const json_t *limits = field_of(rd, "rlimits");
    Pst__JobRecord *job = &rd->j->job;

    if (!limits)
        return true;
    job->rlimits = calloc(ARRAY_SIZE(names), sizeof(struct Pst__Rlimit *));
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct rest_number n;

        if (!take_number(rd, "rlimits", json_object_get(limits, names[i][0]), &n))
            return false;
        if ((n.set || n.infinite) && (!job->rlimits || !add_rlimit(job, names[i][1], n)))
            return no_memory(rd, "rlimits");
    }
    return true;
}

static bool read_directory(struct reading *rd)
{
    const char *dir = rest_text(rd->desc, "current_working_directory");

    if ((!dir || !dir[0]) && is_external(rd))
        return true;
    if (!dir || !dir[0]) {
        rest_error(rd->call, ESLURM_MISSING_WORK_DIR, "slurm_submit_batch_job()",
                   "Batch job submission failed");
        return false;
    }
    if (dir[0] != '/')
        return refuse_field(rd, "current_working_directory", "an absolute path is wanted");
    return pb_set_str(&rd->j->job.work_dir, dir) == 0 || no_memory(rd, "current_working_directory");
}

#define GROUP_BYTES (1u << 20) /* with the names of all members */

/* As user_id_of(). */
static int group_id_of(const char *name, uint32_t *ret)
{
    _cleanup_free_ char *buf = malloc(GROUP_BYTES);
    struct group gr, *found = NULL;

    if (!buf || getgrnam_r(name, &gr, buf, GROUP_BYTES, &found) != 0 || !found)
        return -ENOENT;
    *ret = found->gr_gid;
    return 0;
}

/* 1000, "1000" or a name of this host.  The controller lets root and SlurmUser name others. */
static bool read_id(struct reading *rd, const char *field, int find(const char *name, uint32_t *),
                    const char *wanted, bool *ret_has, uint32_t *ret)
{
    struct rest_number n = rest_number(field_of(rd, field));
    const char *name = rest_text(rd->desc, field);

    if (!field_of(rd, field))
        return true;
    *ret_has = true;
    if (n.set && n.value < UINT32_MAX) {
        *ret = (uint32_t)n.value;
        return true;
    }
    return (!n.set && name && find(name, ret) == 0) || refuse_field(rd, field, wanted);
}

static bool read_beside(struct reading *rd)
{
    const char *clusters = rest_text(rd->desc, "clusters");
    const char *array = rest_text(rd->desc, "array");
    const char *comment = rest_text(rd->desc, "admin_comment");
    struct restjob *j = rd->j;

    if (field_of(rd, "crontab"))
        return refuse_field(rd, "crontab", "entries of a crontab come from scrontab");
    if (clusters && clusters[0] &&
        strcasecmp(clusters, conf_str(rest_conf(rd->call), CONF_CLUSTER_NAME)) != 0)
        return refuse_field(rd, "clusters", slurm_err_text(ESLURM_INVALID_CLUSTER_NAME));
    if (array && array[0]) {
        j->array = strdup(array);
        if (!j->array)
            return no_memory(rd, "array");
    }
    if (comment && comment[0] && pb_set_str(&j->job.admin_comment, comment) < 0)
        return no_memory(rd, "admin_comment");
    return read_id(rd, "user_id", user_id_of, "there is no such user", &j->has_uid, &j->uid) &&
           read_id(rd, "group_id", group_id_of, "there is no such group", &j->has_gid, &j->gid) &&
           read_directory(rd) && read_environment(rd) && copy_argv(rd) && copy_spank(rd) &&
           read_rlimits(rd);
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* A number of CPUs; 0: none was given. */
static bool take_cpus(struct reading *rd, const char *field, uint32_t *ret)
{
    struct rest_number n = rest_number(field_of(rd, field));

    *ret = n.set && n.value <= INT32_MAX ? (uint32_t)n.value : 0;
    return !n.set || n.value <= INT32_MAX ||
           refuse_field(rd, field, slurm_err_text(ESLURM_TOO_MANY_REQUESTED_CPUS));
}

/* CPUs in all, which sbatch has no option for: as NumCPUs= of scontrol. */
static bool read_cpus_in_all(struct reading *rd)
{
    Pst__JobRecord *job = &rd->j->job;

    if (!take_cpus(rd, "minimum_cpus", &job->min_cpus) ||
        !take_cpus(rd, "maximum_cpus", &job->max_cpus))
        return false;
    job->has_min_cpus = job->min_cpus > 0;
    job->has_max_cpus = job->max_cpus > 0;
    return true;
}

/* 0: none, whoever asks. */
static bool read_site_factor(struct reading *rd)
{
    const json_t *value = field_of(rd, "site_factor");
    json_int_t n = json_is_integer(value) ? json_integer_value(value) : 0;

    if (n < INT32_MIN || n > INT32_MAX)
        return refuse_field(rd, "site_factor", "a number of 32 bits is wanted");
    rd->j->job.has_site_factor = n != 0;
    rd->j->job.site_factor = (int32_t)n;
    return true;
}

static bool read_binding(struct reading *rd)
{
    _cleanup_val_(strbuf_done) struct strbuf text = STRBUF_INIT;

    return restjobsteps_binding(rd->call, rd->desc, rd->place, &text) &&
           (!text.len || pb_set_str(&rd->j->job.cpu_bind, strbuf_str(&text)) == 0 ||
            no_memory(rd, "cpu_binding"));
}

/* The controller refuses it of a job with a script, and without PrologFlags=X11. */
static bool read_x11(struct reading *rd)
{
    static const struct {
        const char *word;
        uint32_t bit;
    } known[] = {
        { "FORWARD_ALL_NODES", X11_ALL },
        { "BATCH_NODE", X11_BATCH },
        { "FIRST_NODE", X11_FIRST },
        { "LAST_NODE", X11_LAST },
    };
    Pst__JobRecord *job = &rd->j->job;

    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (restwords_has(field_of(rd, "x11"), known[i].word))
            job->x11 |= known[i].bit;
    job->has_x11 = job->x11 != 0;
    return true;
}

static bool fill_record(struct reading *rd)
{
    Pst__JobRecord *job = &rd->j->job;
    struct err err = { .text = "" };
    char host[HOST_NAME_MAX + 1] = "";
    int status = jobopts_fill_job(&rd->opts, conf_str(rest_conf(rd->call), CONF_GRES_TYPES),
                                  now_us(), job, &err);

    if (status != 0) {
        rest_error_said(rd->call, ESLURM_INVALID_TRES, err.text[0] ? err.text : NULL, SOURCE,
                        "%s cannot be taken", rd->place);
        return false;
    }
    if (gethostname(host, sizeof(host) - 1) == 0)
        host[strcspn(host, ".")] = '\0';
    job->umask = UMASK_DEFAULT;
    job->has_umask = job->batch = job->has_batch = true;
    /* sbatch names a file for standard input; a request that does not leaves it empty. */
    if (!job->std_in && pb_set_str(&job->std_in, "") < 0)
        return no_memory(rd, "");
    return pb_set_str(&job->alloc_host, host) == 0 || no_memory(rd, "");
}

void restjob_init(struct restjob *j)
{
    *j = (struct restjob){ 0 };
    pst__job_record__init(&j->job);
}

void restjob_done(struct restjob *j)
{
    pb_done(&j->job.base);
    free(j->environment);
    free(j->array);
}

bool restjob_read(struct rest_call *call, const json_t *desc, const char *place, struct restjob *j)
{
    struct reading rd = { .call = call, .desc = desc, .place = place, .j = j };
    bool ok;

    if (!json_is_object(desc)) {
        rest_error(call, ESLURM_REST_INVALID_JOBS_DESC, SOURCE, "%s: a job is wanted", place);
        return false;
    }
    jobopts_init(&rd.opts, JOBOPTS_SBATCH);
    ok = read_beside(&rd) && read_options(&rd) && read_nodes(&rd) && read_distribution(&rd) &&
         read_switches(&rd) && read_mem_update(&rd) && read_warning_signal(&rd) && read_mail(&rd) &&
         read_shared(&rd) && read_choices(&rd) && read_flags(&rd) && fill_record(&rd) &&
         read_cpus_in_all(&rd) && read_site_factor(&rd) && read_x11(&rd) && read_binding(&rd) &&
         read_node_list(&rd, "required_nodes", &j->job.req_nodes) &&
         read_node_list(&rd, "excluded_nodes", &j->job.exc_nodes);
    jobopts_done(&rd.opts);
    return ok;
}
