/* jobfill.c - options become a job record or a step request; see jobopts.h
 *
 * The rows of jobopts.def name the record's field for each option whose text or number is copied as
 * it is; the other options have code here.  Values were checked when they were collected. */
#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/pb/pbutil.h"
#include "base/pb/pbsafe.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "cli/base/cli.h"
#include "cli/job/jobnodes.h"
#include "cli/job/gresopts.h"
#include "cli/job/jobopts.h"
#include "cli/job/jobtext.h"
#include "cli/job/jobvalue.h"

#define NICE_DEFAULT 100
#define PRIORITY_TOP (UINT32_MAX - 2)

/* Where a value goes without code of its own: the column STORE of jobopts.def. */
enum store { STORE_IN_CODE = 0, STORE_AS_TEXT, STORE_AS_NUM, STORE_AS_BOOL, STORE_AS_MIB };

#define STORE_NO                                                                                   \
    {                                                                                              \
        STORE_IN_CODE, 0, 0                                                                        \
    }
#define STORE_TEXT(field)                                                                          \
    {                                                                                              \
        STORE_AS_TEXT, offsetof(Pst__JobRecord, field), 0                                          \
    }
#define STORE_WITH_FLAG(kind, field)                                                               \
    {                                                                                              \
        kind, offsetof(Pst__JobRecord, field), offsetof(Pst__JobRecord, has_##field)               \
    }
#define STORE_NUM(field) STORE_WITH_FLAG(STORE_AS_NUM, field)
#define STORE_BOOL(field) STORE_WITH_FLAG(STORE_AS_BOOL, field)
#define STORE_MIB(field) STORE_WITH_FLAG(STORE_AS_MIB, field)

static const struct {
    enum store store;
    unsigned field, has; /* offsets in the record: of the value, and of its has_ flag */
} stores[JO_MAX_] = {
#define O(sym, name, letter, arg, kind, store, ...) [JO_##sym] = STORE_##store,
#include "cli/job/jobopts.def"
#undef O
};

static void *field_at(Pst__JobRecord *job, size_t offset)
{
    return (char *)job + offset;
}

static void set_text(char **field, const char *text)
{
    check_mem_or_die(pb_set_str(field, text));
}

static void fill_field(const struct jobopts *jo, enum jobopt id, Pst__JobRecord *job)
{
    void *field = field_at(job, stores[id].field);

    switch (stores[id].store) {
    case STORE_AS_TEXT:
        set_text(field, jo->value[id]);
        return;
    case STORE_AS_NUM:
        *(uint32_t *)field = (uint32_t)jobopts_num(jo, id, 0);
        break;
    case STORE_AS_BOOL:
        *(protobuf_c_boolean *)field = jobopts_true(jo, id);
        break;
    case STORE_AS_MIB:
        (void)size_mib_parse(jo->value[id], field, NULL); /* was checked */
        break;
    case STORE_IN_CODE:
        return;
    }
    *(protobuf_c_boolean *)field_at(job, stores[id].has) = true;
}

static void fill_fields(const struct jobopts *jo, Pst__JobRecord *job)
{
    for (enum jobopt id = 0; id < JO_MAX_; id++)
        if (jobopts_has(jo, id))
            fill_field(jo, id, job);
    if (jo->cmd != JOBOPTS_SBATCH)
        return;
    set_text(&job->std_out, jobopts_file(jo, JO_OUTPUT));
    set_text(&job->std_err, jobopts_file(jo, JO_ERROR));
    set_text(&job->std_in, jobopts_file(jo, JO_INPUT));
}

/* Minutes of a --time value; TIME_LIMIT_INFINITE for 0 and negative numbers, as users know it. */
static uint32_t minutes_of(const char *text)
{
    uint32_t minutes;

    if (time_limit_parse(text, &minutes, NULL) < 0 || minutes == 0)
        return TIME_LIMIT_INFINITE;
    return minutes;
}

static void fill_times(const struct jobopts *jo, int64_t now, Pst__JobRecord *job)
{
    if (jobopts_has(jo, JO_TIME)) {
        uint32_t minutes = minutes_of(jo->value[JO_TIME]);

        if (minutes == TIME_LIMIT_INFINITE) {
            job->time_unlimited = job->has_time_unlimited = true;
        } else {
            job->time_limit_min = minutes;
            job->has_time_limit_min = true;
        }
    }
    if (jobopts_has(jo, JO_TIME_MIN)) {
        job->time_min_min = minutes_of(jo->value[JO_TIME_MIN]);
        job->has_time_min_min = job->time_min_min != TIME_LIMIT_INFINITE;
    }
    if (jobopts_has(jo, JO_BEGIN))
        job->has_begin_us =
            time_when_parse(jo->value[JO_BEGIN], now, true, &job->begin_us, NULL) == 0;
    if (jobopts_has(jo, JO_DELAY_BOOT))
        job->has_delay_boot_s =
            time_delay_parse(jo->value[JO_DELAY_BOOT], &job->delay_boot_s, NULL) == 0;
    if (jobopts_has(jo, JO_MEM_UPDATE))
        job->has_mem_update_margin = job->has_mem_update_delay_s =
            memupdate_parse(jo->value[JO_MEM_UPDATE], &job->mem_update_margin,
                            &job->mem_update_delay_s) == 0;
    if (jobopts_has(jo, JO_DEADLINE))
        job->has_deadline_us =
            time_when_parse(jo->value[JO_DEADLINE], now, true, &job->deadline_us, NULL) == 0;
}

/* Without -n, -B asks for a task on each of its threads. */
static void tasks_of_geometry(Pst__JobRecord *job, uint32_t nodes)
{
    uint64_t tasks = nodes ? nodes : 1;

    if (job->has_num_tasks || job->has_ntasks_per_node)
        return;
    tasks *= job->has_sockets_per_node ? job->sockets_per_node : 1;
    tasks *= job->has_cores_per_socket ? job->cores_per_socket : 1;
    tasks *= job->has_threads_per_core ? job->threads_per_core : 1;
    job->num_tasks = (uint32_t)MIN(tasks, (uint64_t)UINT32_MAX - 1);
    job->has_num_tasks = true;
}

/* -B, but for what an option behind it says of its own. */
static void fill_geometry(const struct jobopts *jo, Pst__JobRecord *job, uint32_t nodes)
{
    uint32_t sct[3] = { 0 };
    unsigned bad;

    (void)jobtext_geometry_parse(jo->value[JO_EXTRA_NODE_INFO], sct, &bad); /* was checked */
    if (!job->has_sockets_per_node) {
        job->sockets_per_node = sct[0];
        job->has_sockets_per_node = sct[0] > 0;
    }
    if (!job->has_cores_per_socket) {
        job->cores_per_socket = sct[1];
        job->has_cores_per_socket = sct[1] > 0;
    }
    if (!job->has_threads_per_core) {
        job->threads_per_core = sct[2];
        job->has_threads_per_core = sct[2] > 0;
    }
    if (sct[0] || sct[1])
        tasks_of_geometry(job, nodes);
}

static bool counts_nodes(const struct jobopts *jo, enum jobopt features)
{
    return jobopts_has(jo, features) && strchr(jo->value[features], '*');
}

/* Every hint but multithread asks for one thread of each core, memory_bound for one core of each
 * socket.  What is asked for in numbers counts, not the hint. */
static void apply_hint(Pst__JobRecord *job)
{
    if (job->hint && strcasecmp(job->hint, "help") == 0)
        set_text(&job->hint, NULL);
    if (!job->hint || job->has_threads_per_core || job->has_cores_per_socket ||
        job->has_ntasks_per_core || strcasecmp(job->hint, "multithread") == 0)
        return;
    job->threads_per_core = 1;
    job->has_threads_per_core = true;
    if (strcasecmp(job->hint, "memory_bound") == 0) {
        job->cores_per_socket = 1;
        job->has_cores_per_socket = true;
    }
}

/* Without a count of nodes, the named ones are how many the job wants; nodes that a constraint
 * counts come beside them. */
static uint32_t nodes_of_list(const struct jobopts *jo, Pst__JobRecord *job, uint32_t min,
                              size_t named)
{
    if (min || named < 2 || (job->has_num_tasks && job->num_tasks < named))
        return min;
    job->min_nodes = job->max_nodes = (uint32_t)named;
    job->has_min_nodes = true;
    job->has_max_nodes = !counts_nodes(jo, JO_CONSTRAINT);
    return (uint32_t)named;
}

/* salloc asks for 0 nodes with -N0 and with an empty list of nodes; the controller refuses it. */
static bool asks_none(const struct jobopts *jo)
{
    return jo->cmd == JOBOPTS_SALLOC &&
           (jobopts_has(jo, JO_NODES) ||
            (jobopts_has(jo, JO_NODELIST) && !*jo->value[JO_NODELIST]));
}

static bool is_arbitrary(const char *distribution)
{
    return distribution && strncasecmp(distribution, "arbitrary", 9) == 0;
}

/* salloc takes the nodes of SLURM_HOSTFILE in any case: the steps inside are laid out by it. */
static bool wants_hostfile(const struct jobopts *jo, const char *distribution)
{
    return jo->cmd == JOBOPTS_SALLOC || is_arbitrary(distribution);
}

/* A list says how many tasks each of its nodes gets. */
static int fill_task_nodes(Pst__JobRecord *job, struct err *err)
{
    _cleanup_(hostlist_free) struct hostlist *all = NULL;
    int status;

    if (!job->req_nodes || strchr(job->req_nodes, '{')) /* the controller knows block{b1} */
        return 0;
    status = jobnodes_expand(job->req_nodes, &all, err);
    if (status != 0)
        return status;
    if (!job->has_num_tasks)
        job->num_tasks = (uint32_t)hostlist_count(all);
    job->has_num_tasks = true;
    if (job->num_tasks == hostlist_count(all))
        job->task_nodes = jobnodes_counts(all);
    return 0;
}

/* More nodes than --nodes says. */
static bool may_get_more(const struct jobopts *jo)
{
    return jobopts_has(jo, JO_SPREAD_JOB) || counts_nodes(jo, JO_CONSTRAINT) ||
           counts_nodes(jo, JO_PREFER);
}

static int fill_nodes(const struct jobopts *jo, Pst__JobRecord *job, struct err *err)
{
    uint32_t min, max, counts[NODE_COUNTS_MAX];
    size_t named = 0;
    int status = 0, n;

    jobopts_nodes(jo, &min, &max);
    if (min > 0 || asks_none(jo)) {
        job->min_nodes = min;
        job->max_nodes = max ? max : min;
        job->has_min_nodes = job->has_max_nodes = true;
    }
    n = jobopts_node_counts(jo, counts);
    if (n > 1) {
        struct strbuf sb = STRBUF_INIT;

        for (int i = 0; i < n; i++)
            strbuf_addf(&sb, "%s%u", i ? "," : "", counts[i]);
        status = strbuf_detach(&sb, &job->node_counts) < 0 ? CLI_EXIT_FAILED : 0;
    }
    if (status == 0 && jobopts_has(jo, JO_NODELIST))
        status = jobnodes_list(jo->value[JO_NODELIST], false, &job->req_nodes, err);
    else if (status == 0 && jobopts_has(jo, JO_NODEFILE))
        status = jobnodes_list(jo->value[JO_NODEFILE], true, &job->req_nodes, err);
    else if (status == 0 && wants_hostfile(jo, job->distribution))
        status = jobnodes_hostfile(&job->req_nodes, err);
    if (status == 0 && jobopts_has(jo, JO_EXCLUDE))
        status = jobnodes_list(jo->value[JO_EXCLUDE], false, &job->exc_nodes, err);
    if (status == 0 && is_arbitrary(job->distribution))
        status = fill_task_nodes(job, err);
    if (status == 0)
        status = jobnodes_fold(&job->req_nodes, &named);
    if (status == 0)
        status = jobnodes_fold(&job->exc_nodes, NULL);
    if (status == 0)
        min = nodes_of_list(jo, job, min, named);
    /* of nodes whose number is not known yet, tasks are counted later */
    if (job->has_ntasks_per_node && !job->has_num_tasks && !(max > min) && !may_get_more(jo)) {
        job->num_tasks = job->ntasks_per_node * (min ? min : 1);
        job->has_num_tasks = true;
    }
    if (jobopts_has(jo, JO_EXTRA_NODE_INFO))
        fill_geometry(jo, job, min);
    else
        apply_hint(job);
    return status;
}

static uint32_t exclusive_number(const char *word)
{
    static const char *const words[] = { "user", "mcs", "topo" };

    for (uint32_t i = 0; i < ARRAY_SIZE(words); i++) {
        if (strcasecmp(word, words[i]) == 0)
            return i + 2;
    }
    return 1;
}

static void fill_sharing(const struct jobopts *jo, Pst__JobRecord *job)
{
    if (jobopts_has(jo, JO_EXCLUSIVE)) {
        job->exclusive = exclusive_number(jo->value[JO_EXCLUSIVE]);
        job->has_exclusive = true;
    } else if (jobopts_has(jo, JO_CORE_SPEC) || jobopts_has(jo, JO_THREAD_SPEC)) {
        job->exclusive = 1;
        job->has_exclusive = true;
    }
    job->has_spec_threads = job->spec_threads = jobopts_has(jo, JO_THREAD_SPEC);
    if (jobopts_has(jo, JO_REQUEUE) || jobopts_has(jo, JO_NO_REQUEUE)) {
        const char *how = jobopts_get(jo, JO_REQUEUE);

        job->requeue = jobopts_has(jo, JO_REQUEUE);
        job->has_requeue = true;
        job->has_expedited = job->expedited = how && strcasecmp(how, "expedite") == 0;
    }
    if (jobopts_has(jo, JO_NO_KILL)) {
        job->no_kill = strcasecmp(jo->value[JO_NO_KILL], "off") != 0;
        job->has_no_kill = true;
    }
}

/* "1@5:00".  A time that is none counts as not given: the controller then grants the longest. */
static void fill_switches(const struct jobopts *jo, const char *value, Pst__JobRecord *job)
{
    const char *at = strchr(value, '@');
    const char *env = jo->cmd == JOBOPTS_SBATCH   ? "SBATCH_WAIT4SWITCH"
                      : jo->cmd == JOBOPTS_SALLOC ? "SALLOC_WAIT4SWITCH"
                                                  : "SLURM_WAIT4SWITCH";
    const char *time = at ? at + 1 : getenv(env);
    uint32_t seconds;

    job->switches = (uint32_t)strtoul(value, NULL, 10); /* was checked; stops at '@' */
    job->has_switches = true;
    if (time && time_delay_parse(time, &seconds, NULL) == 0) {
        job->switches_wait_s = seconds;
        job->has_switches_wait_s = true;
    }
}

static void fill_numbers(const struct jobopts *jo, Pst__JobRecord *job)
{
    const char *value;

    if ((value = jo->value[JO_NICE])) {
        job->nice = *value ? (int32_t)strtol(value, NULL, 10) : NICE_DEFAULT; /* was checked */
        job->has_nice = true;
    }
    if ((value = jo->value[JO_PRIORITY])) {
        bool top = strcasecmp(value, "top") == 0;

        job->priority = top ? PRIORITY_TOP : (uint32_t)strtoul(value, NULL, 10); /* was checked */
        /* zero asks for none: it does not hold the job */
        job->has_priority = top || (isdigit((unsigned char)*value) && job->priority);
    }
    if ((value = jo->value[JO_SWITCHES]))
        fill_switches(jo, value, job);
    if ((value = jo->value[JO_X11])) {
        job->x11 = jobtext_x11(value);
        job->has_x11 = true;
    }
    if ((value = jo->value[JO_MAIL_TYPE])) {
        (void)jobtext_mail_parse(value, &job->mail_type); /* was checked */
        job->has_mail_type = true;
    }
}

/* They are asked for as licences are, in one list. */
static void fill_resources(const struct jobopts *jo, Pst__JobRecord *job)
{
    const char *text = jobopts_get(jo, JO_RESOURCES);
    char *all = NULL;

    if (!text || !*text)
        return;
    check_mem_or_die(asprintf(&all, "%s%s%s", job->licenses ? job->licenses : "",
                              job->licenses && *job->licenses ? "," : "", text) < 0
                         ? -ENOMEM
                         : 0);
    free(job->licenses);
    job->licenses = all;
}

static int fill_words(const struct jobopts *jo, Pst__JobRecord *job, struct err *err)
{
    if (jobopts_has(jo, JO_SIGNAL)) {
        struct jobtext_signal sig = { 0 };

        free(job->signal);
        job->signal = NULL;
        check_mem_or_die(jobtext_signal_parse(jo->value[JO_SIGNAL], &sig, &job->signal));
        if (sig.batch_only && jo->cmd != JOBOPTS_SBATCH)
            return err_set(err, CLI_EXIT_USAGE, "Invalid --signal specification");
        job->warn_signal = sig.signal;
        job->warn_secs = sig.secs;
        job->warn_batch_only = sig.batch_only;
        job->has_warn_signal = job->has_warn_secs = job->has_warn_batch_only = true;
    }
    if (jobopts_has(jo, JO_OPEN_MODE)) {
        bool append_mode = strchr("aA", jo->value[JO_OPEN_MODE][0]) != NULL;

        set_text(&job->open_mode, append_mode ? "a" : "t");
    }
    return 0;
}

int jobopts_fill_job(const struct jobopts *jo, const char *gres_types, int64_t now,
                     Pst__JobRecord *job, struct err *err)
{
    int status;

    fill_fields(jo, job);
    fill_resources(jo, job);
    fill_times(jo, now, job);
    fill_sharing(jo, job);
    fill_numbers(jo, job);
    status = fill_words(jo, job, err);
    if (status == 0)
        status = fill_nodes(jo, job, err);
    if (status == 0)
        status = gresopts_fill_job(jo, gres_types, job, err);
    if (status == 0 && pbsafe_check(&job->base, err) < 0)
        status = CLI_EXIT_FAILED;
    return status;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void step_numbers(const struct jobopts *jo, Pst__StepSpec *spec)
{
    uint32_t min, max;

    jobopts_nodes(jo, &min, &max);
    if (min > 0) {
        spec->min_nodes = min;
        spec->max_nodes = max ? max : min;
        spec->has_min_nodes = spec->has_max_nodes = true;
    }
#define STEP_NUM(id, field)                                                                        \
    do {                                                                                           \
        if (jobopts_has(jo, id)) {                                                                 \
            spec->field = (uint32_t)jobopts_num(jo, id, 0);                                        \
            spec->has_##field = true;                                                              \
        }                                                                                          \
    } while (0)
    STEP_NUM(JO_NTASKS, num_tasks);
    STEP_NUM(JO_CPUS_PER_TASK, cpus_per_task);
    STEP_NUM(JO_NTASKS_PER_NODE, ntasks_per_node);
    STEP_NUM(JO_RELATIVE, relative);
    STEP_NUM(JO_RESV_PORTS, resv_ports);
#undef STEP_NUM
    if (spec->has_resv_ports && (!jo->value[JO_RESV_PORTS] || !*jo->value[JO_RESV_PORTS]))
        spec->resv_ports = UINT32_MAX; /* as many as a node has tasks */
    if (spec->has_ntasks_per_node && !spec->has_num_tasks && min > 0 && !(max > min)) {
        spec->num_tasks = spec->ntasks_per_node * min;
        spec->has_num_tasks = true;
    }
    if (jobopts_has(jo, JO_MEM))
        spec->has_mem_per_node_mib =
            size_mib_parse(jo->value[JO_MEM], &spec->mem_per_node_mib, NULL) == 0;
    if (jobopts_has(jo, JO_MEM_PER_CPU))
        spec->has_mem_per_cpu_mib =
            size_mib_parse(jo->value[JO_MEM_PER_CPU], &spec->mem_per_cpu_mib, NULL) == 0;
    if (jo->in_allocation && jobopts_has(jo, JO_TIME)) {
        spec->time_limit_min = minutes_of(jo->value[JO_TIME]);
        spec->has_time_limit_min = spec->time_limit_min != TIME_LIMIT_INFINITE;
    }
    if (jobopts_has(jo, JO_IMMEDIATE)) {
        spec->immediate_s = (uint32_t)jobopts_num(jo, JO_IMMEDIATE, 1);
        spec->has_immediate_s = true;
    }
}

static void step_flags(const struct jobopts *jo, Pst__StepSpec *spec)
{
    const char *excl = jo->value[JO_EXCLUSIVE];
    bool own = jo->in_allocation && excl && strcasecmp(excl, "allocation") != 0;

    spec->overlap = jobopts_has(jo, JO_OVERLAP);
    spec->exact =
        !spec->overlap && (jobopts_has(jo, JO_EXACT) || jobopts_has(jo, JO_CPUS_PER_TASK) ||
                           (jo->in_allocation && jobopts_has(jo, JO_CPUS_PER_GPU)) || own);
    spec->overcommit = jobopts_has(jo, JO_OVERCOMMIT);
    spec->zero_resource = jobopts_has(jo, JO_EXTERNAL_LAUNCHER);
    spec->interactive = spec->has_interactive = jobopts_has(jo, JO_INTERACTIVE);
    spec->has_overlap = spec->overlap;
    spec->has_exact = spec->exact;
    spec->has_overcommit = spec->overcommit;
    spec->has_zero_resource = spec->zero_resource;
}

int jobopts_fill_step(const struct jobopts *jo, const char *gres_types, Pst__StepSpec *spec,
                      struct err *err)
{
    int status = 0;

    if (!jo->in_allocation || jo->from[JO_JOB_NAME] != 1 + OPT_FROM_ENV) /* that is the job's */
        set_text(&spec->name, jo->value[JO_JOB_NAME]);
    set_text(&spec->distribution, jo->value[JO_DISTRIBUTION]);
    set_text(&spec->std_out, jo->value[JO_OUTPUT]);
    set_text(&spec->std_err, jo->value[JO_ERROR]);
    set_text(&spec->std_in, jo->value[JO_INPUT]);
    set_text(&spec->container, jo->value[JO_CONTAINER]);
    set_text(&spec->container_id, jo->value[JO_CONTAINER_ID]);
    set_text(&spec->network, jo->value[JO_NETWORK]);
    if (jo->in_allocation)
        set_text(&spec->constraint, jo->value[JO_CONSTRAINT]);
    step_numbers(jo, spec);
    step_flags(jo, spec);
    /* a job that is made for the step has the nodes that are named, and others if they are short */
    if (!jo->in_allocation && !jobopts_has(jo, JO_NO_ALLOCATE) && !is_arbitrary(spec->distribution))
        return gresopts_fill_step(jo, gres_types, spec, err);
    if (jobopts_has(jo, JO_NODELIST))
        status = jobnodes_list(jo->value[JO_NODELIST], false, &spec->nodelist, err);
    if (status == 0 && jobopts_has(jo, JO_NODEFILE))
        status = jobnodes_list(jo->value[JO_NODEFILE], true, &spec->nodelist, err);
    if (status == 0 && jobopts_has(jo, JO_EXCLUDE))
        status = jobnodes_list(jo->value[JO_EXCLUDE], false, &spec->exclude, err);
    if (status == 0 && !is_arbitrary(spec->distribution)) /* where a name counts as often */
        status = jobnodes_fold(&spec->nodelist, NULL);
    return status == 0 ? gresopts_fill_step(jo, gres_types, spec, err) : status;
}
