/* json_job.c - jobs and steps of squeue --json and scontrol show --json; see json_job.h. */
#include "cli/format/json_job.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "base/wordlist.h"
#include "cli/format/json_alloc.h"
#include "cli/query/out_users.h"
#include "model/words/names.h"
#include "fieldlists.h"

static void number_or_zero(struct json *js, const char *key, uint64_t value)
{
    json_set(js, key, value);
}

static void optional_number(struct json *js, const char *key, bool set, uint64_t value)
{
    json_number(js, key, set, false, value);
}

static void put_states(struct json *js, const char *key, const struct job_row *r)
{
    json_list(js, key);
    json_str(js, NULL, names_job_state((unsigned)r->job->state));
    for (unsigned i = 0; i < NAMES_JOB_FLAGS; i++)
        if (r->job->state_flags & (1u << i))
            json_str(js, NULL, names_job_flag(i));
    json_list_end(js);
}

/* A text made by one of the job_put functions. */
#define PUT_MADE(js, key, call)                                                                    \
    do {                                                                                           \
        struct strbuf *sb = json_scratch(js);                                                      \
                                                                                                   \
        call;                                                                                      \
        json_str_n((js), (key), strbuf_str(sb), sb->len);                                          \
    } while (0)

/* What the job was asked to be, which values were chosen for it, and how it was scheduled. */
static void put_flags(struct json *js, const Pst__JobRecord *j)
{
    bool ran = j->start_us > 0 && j->state != PST__JOB_STATE__JOB_PENDING;
    bool part = j->defaults_used & 1u << PST__JOB_DEFAULT__DEFAULT_PARTITION;
    const struct {
        bool is;
        const char *name;
        unsigned since; /* 0: all versions */
    } flags[] = {
        { j->kill_on_invalid_dep, "KILL_INVALID_DEPENDENCY" },
        { j->has_kill_on_invalid_dep && !j->kill_on_invalid_dep, "NO_KILL_INVALID_DEPENDENCY" },
        { wordlist_has_nocase(j->gres_flags, "enforce-binding"), "GRES_BINDING_ENFORCED" },
        { j->spread_job, "SPREAD_JOB" },
        { j->use_min_nodes, "PREFER_MINIMUM_NODE_COUNT" },
        { j->has_num_tasks && j->num_tasks, "EXACT_TASK_COUNT_REQUESTED" },
        { ran, "ACCRUE_COUNT_CLEARED" },
        { wordlist_has_nocase(j->gres_flags, "disable-binding"), "GRES_BINDING_DISABLED" },
        { ran, "JOB_WAS_RUNNING" },
        { j->cron_spec, "CRON_JOB" },
        { j->external, "EXTERNAL_JOB", 43 },
        { j->defaults_used & 1u << PST__JOB_DEFAULT__DEFAULT_ACCOUNT, "USING_DEFAULT_ACCOUNT" },
        { part, "USING_DEFAULT_PARTITION" },
        { j->defaults_used & 1u << PST__JOB_DEFAULT__DEFAULT_QOS, "USING_DEFAULT_QOS" },
        { j->defaults_used & 1u << PST__JOB_DEFAULT__DEFAULT_WCKEY, "USING_DEFAULT_WCKEY" },
        { !ran && ((j->has_priority && !j->priority) || (j->dependency && *j->dependency)),
          "DEPENDENT" },
        { part, "PARTITION_ASSIGNED" },
        { j->started_on == PST__JOB_STARTED_ON__STARTED_ON_BACKFILL, "BACKFILL_ATTEMPTED" },
        { j->stepmgr, "STEPMGR_ENABLED" },
        { j->spread_segments, "SPREAD_SEGMENTS", 44 },
        { j->consolidate_segments, "CONSOLIDATE_SEGMENTS", 44 },
        { j->expedited, "EXPEDITED_REQUEUE", 44 },
        { j->has_num_tasks && j->num_tasks && !j->has_min_nodes, "JOB_IMPLICIT_MAX_NODES", 45 },
    };

    json_list(js, "flags");
    for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
        if (flags[i].is && !json_is_before(js, flags[i].since))
            json_str(js, NULL, flags[i].name);
    json_list_end(js);
}

static void put_identity(struct json *js, const struct job_row *r)
{
    const Pst__JobRecord *j = r->job;
    bool task = r->has_task || (j->has_array_task_id && job_is_array(r));

    json_str(js, "account", j->account);
    json_time(js, "accrue_time", job_accrue_us(r));
    json_str(js, "admin_comment", j->admin_comment);
    json_str(js, "allocating_node", j->alloc_host);
    number_or_zero(js, "array_job_id", j->array_job_id);
    optional_number(js, "array_task_id", task, r->has_task ? r->task : j->array_task_id);
    number_or_zero(js, "array_max_tasks", j->array_task_throttle);
    json_str(js, "array_task_string", r->has_task ? "" : j->array_tasks);
    json_int(js, "association_id", j->assoc_id);
    json_str(js, "batch_features", j->batch_features);
    json_bool(js, "batch_flag", j->batch);
    PUT_MADE(js, "batch_host", if (!job_is_pending(r))(void) job_put_batch_host(sb, j));
    put_flags(js, j);
    json_str(js, "burst_buffer", "");
    json_str(js, "burst_buffer_state", "");
    json_str(js, "cluster", r->cluster);
    json_str(js, "cluster_features", j->cluster_features);
    json_str(js, "command", j->command);
    json_str(js, "comment", j->comment);
#define SHOWN_MEMBER(name, heading, member) json_str(js, #member, j->member);
    JOB_SHOWN(SHOWN_MEMBER)
    json_str(js, "container_id", j->container_id);
    if (!json_is_before(js, 45))
        json_str(js, "container_type", "");
    json_bool(js, "contiguous", j->contiguous);
    json_int(js, "core_spec", j->spec_threads ? 0 : j->core_spec);
    json_int(js, "thread_spec", j->has_core_spec && j->spec_threads ? j->core_spec : 32766);
}

/* The part of the text of its resources; without one a job costs what its CPUs do. */
static double billing_of(const Pst__JobRecord *j)
{
    const char *billing = j->alloc_tres ? strstr(j->alloc_tres, "billing=") : NULL;

    return billing ? strtod(billing + strlen("billing="), NULL) : job_cpus(j);
}

/* Known of a job that has nodes. */
static void put_billable(struct json *js, const Pst__JobRecord *j)
{
    json_fraction(js, "billable_tres", j->alloc != NULL, j->alloc ? billing_of(j) : 0);
}

static void put_times(struct json *js, const struct job_row *r)
{
    const Pst__JobRecord *j = r->job;

    optional_number(js, "cores_per_socket", j->cores_per_socket, j->cores_per_socket);
    put_billable(js, j);
    number_or_zero(js, "cpus_per_task", j->cpus_per_task ? j->cpus_per_task : 1);
    json_unset(js, "cpu_frequency_minimum");
    json_unset(js, "cpu_frequency_maximum");
    json_unset(js, "cpu_frequency_governor");
    PUT_MADE(js, "cpus_per_tres", (void)job_put_cpus_per_tres(sb, j));
    json_str(js, "cron", j->cron_spec);
    json_time(js, "deadline", j->deadline_us);
    number_or_zero(js, "delay_boot", j->delay_boot_s);
    json_str(js, "dependency", j->dependency);
    json_exit_code(js, "derived_exit_code", j->derived_exit_status);
    json_time(js, "eligible_time", job_eligible_us(r));
    json_time(js, "end_time", job_end_us(r));
    json_str(js, "excluded_nodes", j->exc_nodes);
    json_exit_code(js, "exit_code", j->exit_status);
    json_str(js, "extra", j->extra);
    json_str(js, "failed_node", j->failed_node);
    json_str(js, "features", job_features(j));
    json_str(js, "federation_origin", j->fed_origin);
    json_str(js, "federation_siblings_active", j->fed_siblings_active);
    json_str(js, "federation_siblings_viable", j->fed_siblings_viable);
}

static void put_gres_detail(struct json *js, const Pst__JobRecord *j)
{
    json_list(js, "gres_detail");
    for (size_t g = 0; j->alloc && g < j->alloc->n_groups; g++) {
        const Pst__AllocGroup *group = j->alloc->groups[g];

        for (size_t i = 0; i < group->n_gres; i++) {
            const Pst__GresAlloc *a = group->gres[i];

            PUT_MADE(js, NULL,
                     strbuf_addf(sb, "%s%s%s:%llu", a->name ? a->name : "", a->type ? ":" : "",
                                 a->type ? a->type : "", (unsigned long long)a->count);
                     if (a->share_counts) strbuf_addf(sb, "(%s)", a->share_counts);
                     else if (a->devices) strbuf_addf(sb, "(IDX:%s)", a->devices));
        }
    }
    json_list_end(js);
}

static const char *const words_before_45[] = {
    "CPU",        "SOCKET",
    "CORE",       "BOARD",
    "MEMORY",     "ONE_TASK_PER_CORE",
    "PACK_NODES", "CORE_DEFAULT_DIST_BLOCK",
    "LLN",        "LINEAR",
};

const char *json_select_word_before_45(size_t i)
{
    return i < ARRAY_SIZE(words_before_45) ? words_before_45[i] : NULL;
}

/* CR_CORE_MEMORY: CORE and MEMORY. */
static void put_select_before_45(struct json *js, const char *words)
{
    char now[64];

    json_list(js, "select_type");
    for (size_t i = 0; i < ARRAY_SIZE(words_before_45); i++) {
        bool memory = strcmp(words_before_45[i], "MEMORY") == 0, is;

        (void)snprintf(now, sizeof(now), "CR_%s", words_before_45[i]); /* fits */
        is = wordlist_has_nocase(words, now);
        (void)snprintf(now, sizeof(now), "CR_%s_MEMORY", words_before_45[i]); /* fits */
        if (is || wordlist_has_nocase(words, now) ||
            (memory && words && strcasestr(words, "_MEMORY")))
            json_str(js, NULL, words_before_45[i]);
    }
    json_list_end(js);
}

void json_select_type(struct json *js, const char *words)
{
    char upper[256];
    size_t n = 0;

    if (json_is_before(js, 45)) {
        put_select_before_45(js, words);
        return;
    }
    for (; words && words[n] && n < sizeof(upper) - 1; n++)
        upper[n] = (char)toupper((unsigned char)words[n]);
    upper[n] = '\0';
    json_words(js, "select_type", n ? upper : "NONE");
}

static void put_resources(struct json *js, const struct job_row *r)
{
    const Pst__JobRecord *j = r->job;

    if (!j->alloc) {
        json_nil(js, "job_resources");
        return;
    }
    json_map(js, "job_resources");
    {
        json_select_type(js, r->select_type);
        json_map(js, "nodes");
        json_int(js, "count", job_nodes(j));
        json_one(js, "select_type",
                 j->exclusive == 1  ? "RESERVED"
                 : j->oversubscribe ? "AVAILABLE"
                                    : "ONE_ROW");
        json_str(js, "list", j->alloc->nodes);
        json_bool(js, "whole", j->exclusive == 1);
        json_list(js, "allocation");
        json_alloc(js, j, r->use);
        json_list_end(js);
        json_map_end(js);
        json_int(js, "cpus", j->exclusive == 1 ? job_cpus(j) : MIN(job_cpus(j), job_asked_cpus(j)));
        optional_number(js, "threads_per_core", j->threads_per_core, j->threads_per_core);
    }
    json_map_end(js);
}

/* JSON has words of its own for some events. */
static const char *mail_json_word(const char *word)
{
    static const char *const words[][2] = {
        { "INVALID_DEPEND", "INVALID_DEPENDENCY" },
        { "TIME_LIMIT", "TIME=100%" },
        { "TIME_LIMIT_90", "TIME=90%" },
        { "TIME_LIMIT_80", "TIME=80%" },
        { "TIME_LIMIT_50", "TIME=50%" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcmp(word, words[i][0]) == 0)
            return words[i][1];
    return word;
}

static void put_mail(struct json *js, const Pst__JobRecord *j)
{
    unsigned at = 0;

    json_list(js, "mail_type");
    for (const char *word; (word = job_mail_word(j, &at));)
        json_str(js, NULL, mail_json_word(word));
    json_list_end(js);
    json_str(js, "mail_user", j->mail_user ? j->mail_user : job_user(j));
}

static void put_request(struct json *js, const struct job_row *r)
{
    const Pst__JobRecord *j = r->job;

    json_str(js, "licenses", j->licenses);
    if (!json_is_before(js, 43))
        json_str(js, "licenses_allocated", j->licenses_alloc ? j->licenses_alloc : "");
    put_mail(js, j);
    number_or_zero(js, "max_cpus", j->has_max_cpus ? j->max_cpus : 0);
    number_or_zero(js, "max_nodes", j->alloc ? 0 : job_max_nodes(j));
    json_str(js, "mcs_label", j->mcs_label);
    PUT_MADE(js, "memory_per_tres", (void)job_put_mem_per_tres(sb, j));
    if (!json_is_before(js, 45)) {
        json_int(js, "memory_update_delay", (j->mem_update_delay_s + 59) / 60);
        json_int(js, "memory_update_margin", j->mem_update_margin);
    }
    json_str(js, "name", j->name);
    json_str(js, "network", j->network);
    json_str(js, "nodes", job_nodelist(j));
    json_int(js, "nice", j->nice);
    json_number(js, "tasks_per_core", j->ntasks_per_core, !j->ntasks_per_core, j->ntasks_per_core);
    number_or_zero(js, "tasks_per_tres", j->ntasks_per_gpu);
    number_or_zero(js, "tasks_per_node", j->ntasks_per_node);
    json_number(js, "tasks_per_socket", j->ntasks_per_socket, !j->ntasks_per_socket,
                j->ntasks_per_socket);
    number_or_zero(js, "tasks_per_board", 0);
    number_or_zero(js, "cpus", job_cpus(j));
    number_or_zero(js, "node_count", job_nodes(j));
    number_or_zero(js, "tasks", job_tasks(j));
    json_str(js, "partition", job_partition(r));
    json_str(js, "prefer", j->prefer);
    optional_number(js, "memory_per_cpu", !j->has_mem_per_node_mib && j->has_mem_per_cpu_mib,
                    j->mem_per_cpu_mib);
    optional_number(js, "memory_per_node", j->has_mem_per_node_mib, j->mem_per_node_mib);
    number_or_zero(js, "minimum_cpus_per_node",
                   j->pn_min_cpus     ? j->pn_min_cpus
                   : j->cpus_per_task ? j->cpus_per_task
                                      : 1);
    number_or_zero(js, "minimum_tmp_disk_per_node", j->tmp_disk_mib);
    if (json_is_before(js, 45)) {
        json_map(js, "power");
        json_list(js, "flags");
        json_list_end(js);
        json_map_end(js);
    }
    number_or_zero(js, "preempt_time",
                   j->has_preempt_us ? (uint64_t)(j->preempt_us / USEC_PER_SEC) : 0);
    json_time(js, "preemptable_time", j->has_preemptable_us ? j->preemptable_us : j->start_us);
    number_or_zero(js, "pre_sus_time", 0);
    json_bool(js, "hold", job_is_pending(r) && j->has_priority && j->priority == 0);
    number_or_zero(js, "priority", job_priority(r));
    json_list(js, "priority_by_partition");
    json_list_end(js);
    json_one(js, "profile", j->profile ? j->profile : "NOT_SET");
    json_str(js, "qos", j->qos);
    json_bool(js, "reboot", j->reboot);
    json_str(js, "required_nodes", j->req_nodes);
    json_int(js, "required_switches", j->switches);
    json_bool(js, "requeue", j->requeue);
    number_or_zero(js, "resize_time", (uint64_t)(j->resize_us / USEC_PER_SEC));
    json_int(js, "restart_cnt", j->restart_count);
    json_str(js, "resv_name", j->reservation);
    json_str(js, "scheduled_nodes", j->sched_nodes);
    if (!json_is_before(js, 43))
        json_int(js, "segment_size", j->segment_size);
    json_str(js, "selinux_context", "");
    json_list(js, "shared");
    if (j->exclusive)
        json_str(js, NULL,
                 j->exclusive == 2   ? "user"
                 : j->exclusive == 3 ? "mcs"
                 : j->exclusive == 4 ? "topo"
                                     : "none");
    else if (j->oversubscribe)
        json_str(js, NULL, "oversubscribe");
    json_list_end(js);
}

static void put_step_id(struct json *js, const Pst__JobRecord *j)
{
    json_map(js, "step_id");
    json_str(js, "sluid", j->sluid);
    json_set(js, "job_id", j->job_id);
    if (j->het_job_id)
        json_set(js, "step_het_component", j->het_offset);
    else
        json_unset(js, "step_het_component");
    json_str(js, "step_id", "entire");
    json_map_end(js);
}

static void put_files(struct json *js, const struct job_row *r)
{
    const Pst__JobRecord *j = r->job;

    json_str(js, "state_description", j->reason_text ? j->reason_text : job_pend_text(j));
    json_str(js, "state_reason",
             names_reason(j->reason || !job_is_pending(r) ? job_reason_number(j)
                                                          : (unsigned)j->pend_reason));
    json_str(js, "standard_input", job_file_pattern(j, JOB_STDIN));
    json_str(js, "standard_output", job_file_pattern(j, JOB_STDOUT));
    json_str(js, "standard_error", job_file_pattern(j, JOB_STDERR));
    if (!json_is_before(js, 43)) {
        PUT_MADE(js, "stdin_expanded", job_put_file(sb, r, JOB_STDIN));
        PUT_MADE(js, "stdout_expanded", job_put_file(sb, r, JOB_STDOUT));
        PUT_MADE(js, "stderr_expanded", job_put_file(sb, r, JOB_STDERR));
    }
    json_time(js, "submit_time", j->submit_us);
    if (!json_is_before(js, 44))
        json_str(js, "submit_line", j->submit_line);
    json_time(js, "suspend_time", j->suspend_us);
    json_str(js, "system_comment", "");
}

void json_job_state(struct json *js, const struct job_row *r)
{
    json_map(js, NULL);
    PUT_MADE(js, "job_id", job_put_id(sb, r));
    put_states(js, "state", r);
    json_map_end(js);
}

void json_job(struct json *js, const struct job_row *r)
{
    const Pst__JobRecord *j = r->job;
    uint32_t minutes;
    bool unlimited, limited = job_limit(j, &minutes, &unlimited);

    json_map(js, NULL);
    put_identity(js, r);
    put_times(js, r);
    put_gres_detail(js, j);
    json_int(js, "group_id", j->gid);
    json_str(js, "group_name", job_group(j));
    number_or_zero(js, "het_job_id", j->het_job_id);
    json_str(js, "het_job_id_set", j->het_id_set ? j->het_id_set : "");
    number_or_zero(js, "het_job_offset", j->het_offset);
    json_int(js, "job_id", j->job_id);
    put_resources(js, r);
    json_list(js, "job_size_str");
    json_list_end(js);
    put_states(js, "job_state", r);
    json_time(js, "last_sched_evaluation", j->last_sched_eval_us);
    put_request(js, r);
    if (!json_is_before(js, 44))
        put_step_id(js, j);
    json_int(js, "sockets_per_board", 0);
    optional_number(js, "sockets_per_node", j->sockets_per_node, j->sockets_per_node);
    json_time(js, "start_time", job_start_us(r));
    put_files(js, r);
    json_number(js, "time_limit", limited && !unlimited, unlimited, minutes);
    number_or_zero(js, "time_minimum", j->time_min_min);
    optional_number(js, "threads_per_core", j->threads_per_core, j->threads_per_core);
    json_str(js, "tres_bind", j->gpu_bind);
    json_str(js, "tres_freq", j->gpu_freq);
    json_str(js, "tres_per_job", j->tres_per_job);
    json_str(js, "tres_per_node", j->tres_per_node);
    json_str(js, "tres_per_socket", j->tres_per_socket);
    json_str(js, "tres_per_task", j->tres_per_task);
    PUT_MADE(js, "tres_req_str", job_put_req_tres(sb, r));
    json_str(js, "tres_alloc_str", j->alloc_tres);
    json_int(js, "user_id", j->uid);
    json_str(js, "user_name", job_user(j));
    json_int(js, "maximum_switch_wait_time", j->switches_wait_s);
    json_str(js, "wckey", j->wckey);
    json_str(js, "current_working_directory", j->work_dir);
    json_map_end(js);
}

/* The script and the external processes have zeros, steps of srun nothing. */
static void put_cpu_frequency(struct json *js, const Pst__StepRecord *s)
{
    bool zeros = s->step_id == NAMES_STEP_BATCH || s->step_id == NAMES_STEP_EXTERN;

    json_map(js, "cpu");
    json_map(js, "frequency");
    json_number(js, "min", zeros, false, 0);
    json_number(js, "max", zeros, false, 0);
    json_number(js, "governor", zeros, false, 0);
    json_map_end(js);
    json_map_end(js);
}

static void put_step_tres(struct json *js, const Pst__StepRecord *s)
{
    static const char *const per[] = { "cpu", "memory", "step", "node", "socket", "task" };

    json_map(js, "tres");
    json_map(js, "per");
    for (size_t i = 0; i < ARRAY_SIZE(per); i++)
        json_str(js, per[i], "");
    json_map_end(js);
    PUT_MADE(js, "allocation", if (step_own_cpus(s)) step_put_tres(sb, s));
    json_str(js, "binding", "");
    json_str(js, "frequency", "");
    json_map_end(js);
}

void json_step(struct json *js, const struct step_row *r)
{
    const Pst__StepRecord *s = r->step;

    json_map(js, NULL);
    json_map(js, "array");
    json_int(js, "job_id", r->array_job_id);
    json_int(js, "task_id", r->array_job_id ? r->array_task_id : 4294967294u);
    json_map_end(js);
    json_str(js, "cluster", r->cluster);
    json_str(js, "container", s->container);
    json_str(js, "container_id", s->container_id);
    json_str(js, "container_type", "");
    put_cpu_frequency(js, s);
    put_step_tres(js, s);
    json_str(js, "name", step_display_name(s));
    json_str(js, "network", "");
    json_str(js, "nodes", step_nodelist(s));
    json_int(js, "number_cpus", step_own_cpus(s));
    json_int(js, "number_tasks", step_tasks(s));
    json_str(js, "partition", r->partition ? r->partition : s->partition);
    json_str(js, "reserved_ports", s->resv_ports ? s->resv_ports : "");
    json_map(js, "time");
    json_set(js, "running", (uint64_t)step_elapsed_s(s, r->now_us));
    json_time(js, "start", s->start_us);
    json_number(js, "limit", s->has_time_limit_min, !s->has_time_limit_min, s->time_limit_min);
    json_map_end(js);
    json_map(js, "srun");
    json_str(js, "host", s->client_host);
    json_int(js, "pid", s->client_pid);
    json_map_end(js);
    json_one(js, "state", names_step_state((unsigned)s->state));
    json_str(js, "sluid", r->sluid);
    PUT_MADE(js, "id", step_put_id(sb, r));
    json_str(js, "stderr", s->std_err);
    json_str(js, "stdin", s->std_in);
    json_str(js, "stdout", s->std_out);
    json_str(js, "stdin_expanded", s->std_in);
    json_str(js, "stdout_expanded", s->std_out);
    json_str(js, "stderr_expanded", s->std_err);
    json_str(js, "submit_line", s->submit_line);
    json_map(js, "task");
    json_str(js, "distribution", step_distribution(s) ? step_distribution(s) : "Unknown");
    json_map_end(js);
    json_str(js, "user", r->user ? r->user : user_name_of(s->uid));
    json_map_end(js);
}
