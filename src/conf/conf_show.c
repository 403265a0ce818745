/* conf_show.c - the configuration as `scontrol show config` prints it.
 *
 * A table in the order of that output; most rows follow from the key's type and unit, the others
 * have a function.  Pure but for the name of SlurmUser's number. */
#include "conf/conf_priv.h"
#include "conf/conf_shared.h"

#include <ctype.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/wordlist.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "version.h"

const char conf_show_caller[] = "(running controller)";

struct show {
    const struct conf *c;
    void (*fn)(void *ctx, const char *key, const char *value);
    void *ctx;
};

struct show_row;
typedef void show_fn(const struct show *s, const struct show_row *row);

struct show_row {
    const char *label; /* NULL: the key's own name */
    enum conf_key key;
    show_fn *fn;      /* NULL: by type and unit */
    const char *text; /* of rows without a key */
};

static const char *label_of(const struct show_row *row)
{
    return row->label ? row->label : conf_tables[CONF_TBL_KEY].rows[row->key].name;
}

static void put_row(const struct show *s, const char *label, const char *value)
{
    s->fn(s->ctx, label, value);
}

static void put_row_fmt(const struct show *s, const char *label, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void put_row_fmt(const struct show *s, const char *label, const char *fmt, ...)
{
    char text[128];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap); /* numbers and short words: fits */
    va_end(ap);
    put_row(s, label, text);
}

/* Types such as jobcomp/none, of keys without a default, are shown as absent. */
static const char *or_null(const struct show *s, enum conf_key key)
{
    const char *text = conf_str(s->c, key), *slash = text ? strrchr(text, '/') : NULL;

    if (text && text[0] == '\0')
        return NULL;
    if (!conf_tables[CONF_TBL_KEY].rows[key].def && slash && strcasecmp(slash, "/none") == 0)
        return NULL;
    return text;
}

static void show_number(const struct show *s, const char *label, const struct conf_keydef *row,
                        uint64_t num)
{
    if (num == CONF_UNLIMITED && (row->flags & CONF_F_INF))
        put_row(s, label, strcmp(row->unit, "sec") == 0 ? "INFINITE" : "UNLIMITED");
    else
        put_row_fmt(s, label, "%ju%s%s", (uintmax_t)num, row->unit[0] ? " " : "", row->unit);
}

static void show_typed(const struct show *s, const struct show_row *r)
{
    const struct conf_keydef *row = &conf_tables[CONF_TBL_KEY].rows[r->key];
    const char *label = label_of(r);
    uint64_t num = conf_num(s->c, r->key);
    char text[40];
    uint16_t first, last;

    switch (row->type) {
    case CONF_T_BOOL:
        put_row(s, label, num ? "yes" : "no");
        break;
    case CONF_T_NUM:
        show_number(s, label, row, num);
        break;
    case CONF_T_DUR:
        if (num == CONF_UNLIMITED)
            (void)snprintf(text, sizeof(text), "UNLIMITED"); /* fits */
        else
            time_fmt_hms((int64_t)num, text, sizeof(text));
        put_row(s, label, text);
        break;
    case CONF_T_PORTS:
        conf_ports(s->c, r->key, &first, &last);
        if (first == last && first)
            put_row_fmt(s, label, "%u", first);
        else
            put_row_fmt(s, label, "%u-%u", first, last);
        break;
    default:
        put_row(s, label, or_null(s, r->key));
    }
}

static void show_text(const struct show *s, const struct show_row *r)
{
    put_row(s, r->label, r->text);
}

static void show_bit(const struct show *s, const struct show_row *r)
{
    put_row(s, label_of(r), conf_bool(s->c, r->key) ? "1" : "0");
}

/* The number without its unit. */
static void show_bare(const struct show *s, const struct show_row *r)
{
    uint64_t num = conf_num(s->c, r->key);

    put_row_fmt(s, label_of(r), "%ju", (uintmax_t)(num == CONF_UNLIMITED ? 65534 : num));
}

static void show_bare_if_set(const struct show *s, const struct show_row *r)
{
    if (conf_is_set(s->c, r->key))
        show_bare(s, r);
}

static void show_or_text(const struct show *s, const struct show_row *r)
{
    const char *text = or_null(s, r->key);

    put_row(s, label_of(r), text ? text : r->text);
}

static void show_secret(const struct show *s, const struct show_row *r)
{
    put_row(s, label_of(r), conf_is_set(s->c, r->key) ? "******" : NULL);
}

static void show_upper(const struct show *s, const struct show_row *r)
{
    _cleanup_free_ char *text = NULL;
    const char *value = or_null(s, r->key);

    if (value)
        text = strdup(value);
    for (char *p = text; p && *p; p++)
        *p = (char)(*p >= 'a' && *p <= 'z' ? *p - 32 : *p);
    put_row(s, label_of(r), text);
}

#define WORDS_MAX 128 /* more than DebugFlags has */

/* A list by its flags, as the daemons hold it: each of `names` that is in it, in their order and
 * spelling, then what else was written. */
static void show_spelled(const struct show *s, const struct show_row *r, const char *const *names,
                         size_t n)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    const char *value = or_null(s, r->key);

    for (size_t i = 0; value && i < n; i++)
        if (wordlist_has_nocase(value, names[i]))
            strbuf_addf(&sb, "%s%s", sb.len ? "," : "", names[i]);
    for (const char *p = value; p && *p; p += strspn(p, ",")) {
        size_t len = strcspn(p, ","), i = 0;

        while (i < n && (strncasecmp(names[i], p, len) != 0 || names[i][len]))
            i++;
        if (i == n)
            strbuf_addf(&sb, "%s%.*s", sb.len ? "," : "", (int)len, p);
        p += len;
    }
    put_row(s, label_of(r), sb.len ? strbuf_str(&sb) : r->text);
}

static void show_words(const struct show *s, const struct show_row *r)
{
    const char *names[WORDS_MAX];

    show_spelled(s, r, names, conf_words(CONF_TBL_KEY, (int)r->key, names, WORDS_MAX));
}

static void show_preempt_mode(const struct show *s, const struct show_row *r)
{
    static const char *const names[] = { "GANG",    "OFF",     "CANCEL", "PRIORITY",
                                         "REQUEUE", "SUSPEND", "WITHIN" };

    show_spelled(s, r, names, ARRAY_SIZE(names));
}

static void show_governors(const struct show *s, const struct show_row *r)
{
    static const char *const names[] = { "Conservative", "OnDemand",  "Performance", "PowerSave",
                                         "SchedUtil",    "UserSpace", "Low",         "Medium",
                                         "High",         "HighM1" };

    show_spelled(s, r, names, ARRAY_SIZE(names));
}

/* YES is another word for ALL. */
static void show_part_limits(const struct show *s, const struct show_row *r)
{
    if (strcasecmp(conf_str(s->c, r->key), "YES") == 0)
        put_row(s, label_of(r), "ALL");
    else
        show_upper(s, r);
}

/* A level may be written as its number. */
static void show_level(const struct show *s, const struct show_row *r)
{
    const char *value = or_null(s, r->key);
    enum log_level level;

    put_row(s, label_of(r),
            value && log_level_parse(value, &level) == 0 ? log_level_name(level) : value);
}

static void show_user(const struct show *s, const struct show_row *r)
{
    const char *text = conf_str(s->c, r->key);
    struct passwd pw, *found = NULL;
    char buf[4096];
    uid_t uid = 0;
    bool numeric = text[0] >= '0' && text[0] <= '9';

    if (numeric)
        uid = (uid_t)conf_val_num(CONF_TBL_KEY, (int)r->key, &s->c->vals[r->key]);
    else if (strcmp(text, "root") != 0 && conf_user_id(text, &uid) < 0)
        uid = (uid_t)-1;
    if (numeric && getpwuid_r(uid, &pw, buf, sizeof(buf), &found) == 0 && found)
        text = pw.pw_name;
    put_row_fmt(s, label_of(r), "%.64s(%u)", text, uid);
}

/* Name[0] Name[1] ... of a repeatable key. */
static void show_multi(const struct show *s, const struct show_row *r)
{
    char label[48];
    const char *text, *addr;

    for (size_t i = 0; (text = conf_str_nth(s->c, r->key, i)); i++) {
        (void)snprintf(label, sizeof(label), "%s[%zu]", label_of(r), i); /* fits */
        if (r->key == CONF_SLURMCTLD_HOST && conf_ctld_host(s->c, i, &addr) &&
            strcmp(addr, text) != 0)
            put_row_fmt(s, label, "%.60s(%.60s)", text, addr);
        else
            put_row(s, label, text);
    }
}

/* Types are in small letters however they were written: "GRES/gpu" is "gres/gpu". */
static char *lower_types(const char *tres)
{
    char *out = strdup(tres ? tres : "");
    bool type = true;

    for (char *p = out; p && *p; p++) {
        type = *p == ',' || (type && *p != '/');
        if (type)
            *p = (char)tolower((unsigned char)*p);
    }
    return out;
}

static void show_tres(const struct show *s, const struct show_row *r)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT, all = STRBUF_INIT;
    _cleanup_free_ char *sorted = NULL, *more = lower_types(conf_str(s->c, r->key));

    strbuf_add(&sb, "cpu,mem,energy,node,billing,fs/disk,vmem,pages");
    if (wordlist_has(more, "gres/gpu")) /* where GPUs count, so does the use made of them */
        strbuf_addf(&all, "%s,gres/gpumem,gres/gpuutil", more);
    else
        strbuf_add(&all, more ? more : "");
    sorted = wordlist_sorted(strbuf_str(&all));
    if (sorted && *sorted)
        strbuf_addf(&sb, ",%s", sorted);
    put_row(s, label_of(r), sb.failed ? NULL : strbuf_str(&sb));
}

static void show_cred_type(const struct show *s, const struct show_row *r)
{
    const char *text = conf_str(s->c, r->key);

    put_row(s, label_of(r), text ? text : (conf_use_munge(s->c) ? "cred/munge" : "cred/slurm"));
}

/* The memory limit that holds: per CPU or per node. */
static void show_memory(const struct show *s, const struct show_row *r)
{
    bool max = r->key == CONF_MAX_MEM_PER_NODE;
    enum conf_key per_cpu = max ? CONF_MAX_MEM_PER_CPU : CONF_DEF_MEM_PER_CPU;
    const char *cpu_label = max ? "MaxMemPerCPU" : "DefMemPerCPU";
    uint64_t cpu = conf_num(s->c, per_cpu), node = conf_num(s->c, r->key);

    if (cpu)
        put_row_fmt(s, cpu_label, "%ju", (uintmax_t)cpu);
    else if (node)
        put_row_fmt(s, label_of(r), "%ju", (uintmax_t)node);
    else
        put_row(s, label_of(r), "UNLIMITED");
}

static void show_job_defaults(const struct show *s, const struct show_row *r)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    uint64_t cpus = conf_num(s->c, CONF_DEF_CPU_PER_GPU),
             mem = conf_num(s->c, CONF_DEF_MEM_PER_GPU);

    if (cpus)
        strbuf_addf(&sb, "DefCpuPerGPU=%ju", (uintmax_t)cpus);
    if (mem)
        strbuf_addf(&sb, "%sDefMemPerGPU=%ju", cpus ? "," : "", (uintmax_t)mem);
    put_row(s, r->label, cpus || mem ? strbuf_str(&sb) : NULL);
}

static void show_health_timeout(const struct show *s, const struct show_row *r)
{
    bool used = conf_is_set(s->c, r->key) || conf_is_set(s->c, CONF_HEALTH_CHECK_PROGRAM);

    put_row_fmt(s, label_of(r), "%ju sec", (uintmax_t)(used ? conf_num(s->c, r->key) : 0));
}

static void show_dbd_msgs(const struct show *s, const struct show_row *r)
{
    put_row_fmt(s, label_of(r), "%ju", (uintmax_t)conf_max_dbd_msgs(s->c));
}

static void show_node_count(const struct show *s, const struct show_row *r)
{
    put_row_fmt(s, label_of(r), "%ju",
                (uintmax_t)MAX(conf_num(s->c, r->key), (uint64_t)conf_nodes(s->c)));
}

/* A row of configurations with several slurmd on one host. */
static void show_many_slurmds(const struct show *s, const struct show_row *r)
{
    if (conf_shared_hosts(s->c))
        put_row(s, r->label, "yes");
}

static void show_prolog_flags(const struct show *s, const struct show_row *r)
{
    static const struct {
        const char *flag;
        bool alloc, contain; /* what it implies */
    } flags[] = {
        { "Alloc", false, false },
        { "Contain", true, false },
        { "DeferBatch", true, false },
        { "NoHold", true, false },
        { "ForceRequeueOnFail", false, false },
        { "RunInJob", true, true },
        { "Serial", false, false },
        { "X11", true, true },
    };
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    bool alloc = false, contain = false;
    const char *value;
    size_t len;

    for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
        if (conf_option(s->c, r->key, flags[i].flag, &value, &len)) {
            alloc |= flags[i].alloc;
            contain |= flags[i].contain;
        }
    }
    for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
        bool on = conf_option(s->c, r->key, flags[i].flag, &value, &len) || (i == 0 && alloc) ||
                  (i == 1 && contain);

        if (on)
            strbuf_addf(&sb, "%s%s", sb.len ? "," : "", flags[i].flag);
    }
    put_row(s, label_of(r), sb.len ? strbuf_str(&sb) : NULL);
}

/* The rules that hold, those that others bring along among them. */
static void show_enforce(const struct show *s, const struct show_row *r)
{
    static const struct {
        const char *word;
        const char *by[6]; /* words that bring it along */
    } rules[] = {
        { "associations", { "limits", "qos", "safe", "wckeys", "all" } },
        { "limits", { "safe", "all" } },
        { "nojobs", { NULL } },
        { "nosteps", { "nojobs" } },
        { "qos", { "all" } },
        { "safe", { "all" } },
        { "wckeys", { "all" } },
    };
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
        bool on = conf_option(s->c, r->key, rules[i].word, NULL, NULL);

        for (size_t j = 0; !on && rules[i].by[j]; j++)
            on = conf_option(s->c, r->key, rules[i].by[j], NULL, NULL);
        if (on)
            strbuf_addf(&sb, "%s%s", sb.len ? "," : "", rules[i].word);
    }
    put_row(s, label_of(r), sb.len ? strbuf_str(&sb) : "none");
}

static void show_conf_path(const struct show *s, const struct show_row *r)
{
    put_row(s, r->label, conf_path(s->c));
}

#define K(sym) { NULL, CONF_##sym, show_typed, NULL },
#define L(label, sym) { label, CONF_##sym, show_typed, NULL },
#define F(sym, fn) { NULL, CONF_##sym, fn, NULL },
#define D(sym, text) { NULL, CONF_##sym, show_or_text, text },
#define W(sym, fn, text) { NULL, CONF_##sym, fn, text },
#define T(label, text) { label, CONF_KEY_MAX_, show_text, text },
#define X(label, fn) { label, CONF_KEY_MAX_, fn, NULL },

/* clang-format off */
static const struct show_row show_rows[] = {
    K(ACCOUNTING_STORAGE_BACKUP_HOST)
    F(ACCOUNTING_STORAGE_ENFORCE, show_enforce)
    K(ACCOUNTING_STORAGE_HOST)
    K(ACCOUNTING_STORAGE_EXTERNAL_HOST)
    K(ACCOUNTING_STORAGE_PARAMETERS)
    K(ACCOUNTING_STORAGE_PORT)
    F(ACCOUNTING_STORAGE_TRES, show_tres)
    K(ACCOUNTING_STORAGE_TYPE)
    K(ACCOUNTING_STORE_FLAGS)
    K(ACCT_GATHER_ENERGY_TYPE)
    K(ACCT_GATHER_FILESYSTEM_TYPE)
    K(ACCT_GATHER_INTERCONNECT_TYPE)
    K(ACCT_GATHER_NODE_FREQ)
    K(ACCT_GATHER_PROFILE_TYPE)
    K(ALLOW_SPEC_RESOURCES_USAGE)
    K(AUTH_ALT_TYPES)
    K(AUTH_ALT_PARAMETERS)
    K(AUTH_INFO)
    K(AUTH_TYPE)
    K(BATCH_START_TIMEOUT)
    K(BCAST_EXCLUDE)
    K(BCAST_PARAMETERS)
    T("BOOT_TIME", conf_show_caller)
    K(BURST_BUFFER_TYPE)
    K(CERTGEN_PARAMETERS)
    K(CERTGEN_TYPE)
    K(CERTMGR_PARAMETERS)
    K(CERTMGR_TYPE)
    K(CLI_FILTER_PARAMETERS)
    K(CLI_FILTER_PLUGINS)
    K(CLUSTER_NAME)
    K(COMMUNICATION_PARAMETERS)
    K(COMPLETE_WAIT)
    W(CPU_FREQ_DEF, show_governors, "Unknown")
    F(CPU_FREQ_GOVERNORS, show_governors)
    F(CRED_TYPE, show_cred_type)
    K(DATA_PARSER_PARAMETERS)
    F(DEBUG_FLAGS, show_words)
    F(DEF_MEM_PER_NODE, show_memory)
    K(DEPENDENCY_PARAMETERS)
    K(DISABLE_ROOT_JOBS)
    F(EIO_TIMEOUT, show_bare)
    F(ENFORCE_PART_LIMITS, show_part_limits)
    F(EPILOG, show_multi)
    K(EPILOG_MSG_TIME)
    F(EPILOG_SLURMCTLD, show_multi)
    F(EPILOG_TIMEOUT, show_bare_if_set)
    K(FAIR_SHARE_DAMPENING_FACTOR)
    K(FEDERATION_PARAMETERS)
    K(FIRST_JOB_ID)
    K(GRES_TYPES)
    K(GPU_FREQ_DEF)
    K(GROUP_UPDATE_FORCE)
    K(GROUP_UPDATE_TIME)
    T("HASH_VAL", conf_show_caller)
    K(HASH_PLUGIN)
    K(HEALTH_CHECK_INTERVAL)
    F(HEALTH_CHECK_NODE_STATE, show_words)
    K(HEALTH_CHECK_PROGRAM)
    F(HEALTH_CHECK_TIMEOUT, show_health_timeout)
    K(HTTP_PARSER_TYPE)
    K(INACTIVE_LIMIT)
    K(INTERACTIVE_STEP_OPTIONS)
    K(JOB_ACCT_GATHER_FREQUENCY)
    K(JOB_ACCT_GATHER_TYPE)
    K(JOB_ACCT_GATHER_PARAMS)
    K(JOB_COMP_HOST)
    K(JOB_COMP_LOC)
    K(JOB_COMP_PARAMS)
    F(JOB_COMP_PASS, show_secret)
    K(JOB_COMP_PORT)
    K(JOB_COMP_TYPE)
    K(JOB_COMP_USER)
    X("JobDefaults", show_job_defaults)
    F(JOB_FILE_APPEND, show_bit)
    F(JOB_REQUEUE, show_bit)
    K(JOB_SUBMIT_PLUGINS)
    F(KILL_ON_BAD_EXIT, show_bit)
    K(KILL_WAIT)
    K(LAUNCH_PARAMETERS)
    K(LICENSE_PARAMETERS)
    K(LICENSES)
    F(LOG_TIME_FORMAT, show_words)
    K(MAIL_DOMAIN)
    K(MAIL_PROG)
    K(MAX_ARRAY_SIZE)
    K(MAX_BATCH_REQUEUE)
    F(MAX_DBD_MSGS, show_dbd_msgs)
    K(MAX_JOB_COUNT)
    K(MAX_JOB_ID)
    F(MAX_MEM_PER_NODE, show_memory)
    F(MAX_NODE_COUNT, show_node_count)
    K(MAX_STEP_COUNT)
    K(MAX_TASKS_PER_NODE)
    K(MCS_PLUGIN)
    K(MCS_PARAMETERS)
    K(MESSAGE_TIMEOUT)
    K(METRICS_AUTH_USERS)
    K(METRICS_PARAMETERS)
    K(METRICS_TYPE)
    K(MIN_JOB_AGE)
    K(MPI_DEFAULT)
    K(MPI_PARAMS)
    X("MULTIPLE_SLURMD", show_many_slurmds)
    K(NAMESPACE_TYPE)
    T("NEXT_JOB_ID", conf_show_caller)
    K(NODE_FEATURES_PLUGINS)
    K(OVER_TIME_LIMIT)
    D(PLUGIN_DIR, PENSTOCK_PREFIX "/lib/slurm")
    K(PLUG_STACK_CONFIG)
    F(PREEMPT_MODE, show_preempt_mode)
    K(PREEMPT_PARAMETERS)
    K(PREEMPT_TYPE)
    K(PREEMPT_EXEMPT_TIME)
    K(PREP_PARAMETERS)
    K(PREP_PLUGINS)
    K(PRIORITY_PARAMETERS)
    K(PRIORITY_SITE_FACTOR_PARAMETERS)
    K(PRIORITY_SITE_FACTOR_PLUGIN)
    K(PRIORITY_DECAY_HALF_LIFE)
    K(PRIORITY_CALC_PERIOD)
    K(PRIORITY_FAVOR_SMALL)
    W(PRIORITY_FLAGS, show_words, "")
    K(PRIORITY_MAX_AGE)
    K(PRIORITY_TYPE)
    F(PRIORITY_USAGE_RESET_PERIOD, show_upper)
    K(PRIORITY_WEIGHT_AGE)
    K(PRIORITY_WEIGHT_ASSOC)
    K(PRIORITY_WEIGHT_FAIRSHARE)
    K(PRIORITY_WEIGHT_JOB_SIZE)
    K(PRIORITY_WEIGHT_PARTITION)
    K(PRIORITY_WEIGHT_QOS)
    K(PRIORITY_WEIGHT_TRES)
    W(PRIVATE_DATA, show_words, "none")
    K(PROCTRACK_TYPE)
    F(PROLOG, show_multi)
    F(PROLOG_EPILOG_TIMEOUT, show_bare)
    F(PROLOG_SLURMCTLD, show_multi)
    F(PROLOG_TIMEOUT, show_bare_if_set)
    F(PROLOG_FLAGS, show_prolog_flags)
    K(PROPAGATE_PRIO_PROCESS)
    D(PROPAGATE_RESOURCE_LIMITS, "ALL")
    K(PROPAGATE_RESOURCE_LIMITS_EXCEPT)
    K(REBOOT_PROGRAM)
    F(RECONFIG_FLAGS, show_words)
    K(REQUEUE_EXIT)
    K(REQUEUE_EXIT_HOLD)
    K(RESUME_FAIL_PROGRAM)
    K(RESUME_PROGRAM)
    K(RESUME_RATE)
    K(RESUME_TIMEOUT)
    K(RESV_EPILOG)
    K(RESV_OVER_RUN)
    K(RESV_PROLOG)
    K(RETURN_TO_SERVICE)
    K(SCHEDULER_PARAMETERS)
    K(SCHEDULER_TIME_SLICE)
    K(SCHEDULER_TYPE)
    K(SCRON_PARAMETERS)
    K(SELECT_TYPE)
    F(SELECT_TYPE_PARAMETERS, show_upper)
    F(SLURM_USER, show_user)
    K(SLURMCTLD_ADDR)
    F(SLURMCTLD_DEBUG, show_level)
    F(SLURMCTLD_HOST, show_multi)
    K(SLURMCTLD_HTTP_AUTH_PARAMETERS)
    K(SLURMCTLD_LOG_FILE)
    K(SLURMCTLD_PORT)
    F(SLURMCTLD_SYSLOG_DEBUG, show_level)
    K(SLURMCTLD_PRIMARY_OFF_PROG)
    K(SLURMCTLD_PRIMARY_ON_PROG)
    K(SLURMCTLD_TIMEOUT)
    K(SLURMCTLD_PARAMETERS)
    F(SLURMD_DEBUG, show_level)
    K(SLURMD_HTTP_AUTH_PARAMETERS)
    K(SLURMD_LOG_FILE)
    K(SLURMD_PARAMETERS)
    K(SLURMD_PID_FILE)
    K(SLURMD_PORT)
    K(SLURMD_SPOOL_DIR)
    F(SLURMD_SYSLOG_DEBUG, show_level)
    K(SLURMD_TIMEOUT)
    F(SLURMD_USER, show_user)
    K(SLURM_SCHED_LOG_FILE)
    K(SLURM_SCHED_LOG_LEVEL)
    K(SLURMCTLD_PID_FILE)
    X("SLURM_CONF", show_conf_path)
    T("SLURM_VERSION", SLURM_RELEASE)
    K(SRUN_EPILOG)
    K(SRUN_PORT_RANGE)
    K(SRUN_PROLOG)
    K(STATE_SAVE_LOCATION)
    K(SUSPEND_EXC_NODES)
    K(SUSPEND_EXC_PARTS)
    K(SUSPEND_EXC_STATES)
    K(SUSPEND_PROGRAM)
    K(SUSPEND_RATE)
    K(SUSPEND_TIME)
    K(SUSPEND_TIMEOUT)
    K(SWITCH_PARAMETERS)
    K(SWITCH_TYPE)
    K(TASK_EPILOG)
    K(TASK_PLUGIN)
    D(TASK_PLUGIN_PARAM, "(null type)")
    K(TASK_PROLOG)
    K(TCP_TIMEOUT)
    K(TLS_PARAMETERS)
    K(TLS_TYPE)
    K(TMP_FS)
    K(TOPOLOGY_PARAM)
    K(TOPOLOGY_PLUGIN)
    K(TRACK_WCKEY)
    K(TREE_WIDTH)
    L("UsePam", USE_PAM)
    K(UNKILLABLE_STEP_PROGRAM)
    K(UNKILLABLE_STEP_TIMEOUT)
    K(URL_PARSER_TYPE)
    K(V_SIZE_FACTOR)
    K(WAIT_TIME)
    K(X11_PARAMETERS)
};
/* clang-format on */

void conf_show(const struct conf *c, void (*fn)(void *ctx, const char *key, const char *value),
               void *ctx)
{
    const struct show s = { .c = c, .fn = fn, .ctx = ctx };

    for (size_t i = 0; i < ARRAY_SIZE(show_rows); i++)
        show_rows[i].fn(&s, &show_rows[i]);
}

void conf_show_cgroup(const struct conf *c,
                      void (*fn)(void *ctx, const char *key, const char *value), void *ctx)
{
    const struct show s = { .c = c, .fn = fn, .ctx = ctx };
    const struct conf_table *t = &conf_tables[CONF_TBL_CGROUP];

    for (size_t i = 0; i < t->n; i++) {
        const struct conf_keydef *row = &t->rows[i];
        const char *text = conf_val_text(CONF_TBL_CGROUP, (int)i, &c->cgroup_vals[i]);
        uint64_t num = conf_val_num(CONF_TBL_CGROUP, (int)i, &c->cgroup_vals[i]);

        if (!text)
            put_row(&s, row->name, NULL);
        else if (row->type == CONF_T_BOOL)
            put_row(&s, row->name, num ? "yes" : "no");
        else if (row->type == CONF_T_PCT)
            put_row_fmt(&s, row->name, "%.1f%%", (double)num / 1000);
        else if (row->type == CONF_T_MIB)
            put_row_fmt(&s, row->name, "%juMB", (uintmax_t)num);
        else if (row->type == CONF_T_NUM)
            show_number(&s, row->name, row, num);
        else
            put_row(&s, row->name, text);
    }
}
