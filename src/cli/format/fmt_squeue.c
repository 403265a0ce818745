/* fmt_squeue.c - field tables of squeue; see fmt_squeue.h.
 *
 * One row per field, in the order of the names; the record fields a row needs stand beside it, so
 * that squeue asks the controller for nothing else.  Fields that records do not carry print what
 * Slurm prints for an unset value.  Pure functions of the row. */
#include "cli/format/fmt_squeue.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/timefmt.h"
#include "base/wordlist.h"
#include "cli/query/out_users.h"
#include "model/words/names.h"
#include "fieldlists.h"

/* Rows of the job table arrive as const void *; these make getters out of expressions over j and
 * r. */
#define GETTER(name, ...)                                                                          \
    static void name(struct strbuf *sb, const void *row)                                           \
    {                                                                                              \
        const struct job_row *r = row;                                                             \
        const Pst__JobRecord *j = r->job;                                                          \
                                                                                                   \
        (void)j; /* not every expression asks both */                                              \
        __VA_ARGS__;                                                                               \
    }
#define GET_TEXT(name, value, unset) GETTER(name, strbuf_add(sb, (value) ? (value) : (unset)))
#define GET_NUM(name, value) GETTER(name, put_u64(sb, (value)))
#define GET_TIME(name, us) GETTER(name, put_stamp(sb, (us), "N/A", r->now_us))
#define GET_FIXED(name, text) GETTER(name, strbuf_add(sb, (text)))
#define GET_OPT(name, field)                                                                       \
    GETTER(name, if (j->has_##field) put_u64(sb, j->field); else strbuf_add(sb, "N/A"))
#define GET_STAR(name, field)                                                                      \
    GETTER(name, if (j->has_##field && j->field) put_u64(sb, j->field); else strbuf_addc(sb, '*'))
#define NUMBER(name, value)                                                                        \
    static int64_t name(const void *row)                                                           \
    {                                                                                              \
        const struct job_row *r = row;                                                             \
        const Pst__JobRecord *j = r->job;                                                          \
                                                                                                   \
        (void)j;                                                                                   \
        return (int64_t)(value);                                                                   \
    }

/* The same for every row, of jobs and of steps. */
static void get_none(struct strbuf *sb, const void *row)
{
    (void)row;
    strbuf_add(sb, "(null)");
}

static void get_cron(struct strbuf *sb, const void *row)
{
    strbuf_add(sb, ((const struct job_row *)row)->job->cron_spec ? "Yes" : "No");
}

/* The numbers of a mask of clusters, as lists of bits are written; NA: in no federation. */
static void put_numbers(struct strbuf *sb, uint64_t mask)
{
    const char *comma = "";

    if (!mask)
        strbuf_add(sb, "NA");
    for (unsigned i = 0; i < 64; i++)
        if (mask >> i & 1) {
            strbuf_addf(sb, "%s%u", comma, i + 1);
            comma = ",";
        }
}

static void get_siblings_viable_raw(struct strbuf *sb, const void *row)
{
    put_numbers(sb, ((const struct job_row *)row)->job->fed_viable);
}

/* The names of those that have it stand among those that may; both lists go by number. */
static void get_siblings_active_raw(struct strbuf *sb, const void *row)
{
    const Pst__JobRecord *j = ((const struct job_row *)row)->job;
    const char *name = j->fed_siblings_viable;
    uint64_t mask = 0;

    for (unsigned i = 0; i < 64 && name && *name; i++) {
        _cleanup_free_ char *word = NULL;

        if (!(j->fed_viable >> i & 1))
            continue;
        word = strndup(name, strcspn(name, ","));
        if (word && j->fed_siblings_active && wordlist_has(j->fed_siblings_active, word))
            mask |= UINT64_C(1) << i;
        name += strcspn(name, ",");
        name += *name == ',';
    }
    put_numbers(sb, mask);
}

static void get_origin_raw(struct strbuf *sb, const void *row)
{
    const Pst__JobRecord *j = ((const struct job_row *)row)->job;

    if (j->fed_origin)
        strbuf_addf(sb, "%u", j->job_id >> 26);
    else
        strbuf_add(sb, "NA");
}

static void get_zero(struct strbuf *sb, const void *row)
{
    (void)row;
    strbuf_addc(sb, '0');
}

GET_TEXT(get_account, j->account, "(null)")
GET_TIME(get_accrue, job_accrue_us(r))
GET_TIME(get_resize, j->resize_us)
GET_TEXT(get_admin_comment, j->admin_comment, "(null)")
GET_TEXT(get_alloc_host, j->alloc_host, "(null)")
GET_NUM(get_alloc_sid, j->alloc_sid)
GET_NUM(get_array_job_id, job_array_id(r))
GET_NUM(get_assoc_id, j->assoc_id)
GET_NUM(get_batch_flag, j->batch ? 1 + j->batch_failures : 0)
GET_TEXT(get_cluster, r->cluster, "(null)")
GET_TEXT(get_command, j->command, "(null)")
GET_TEXT(get_comment, j->comment, "(null)")
GET_TEXT(get_cluster_features, j->cluster_features, "(null)")
GET_TEXT(get_origin, j->fed_origin, "NA")
GET_TEXT(get_siblings_active, j->fed_siblings_active, "NA")
GET_TEXT(get_siblings_viable, j->fed_siblings_viable, "NA")
#define SHOWN_GETTER(name, heading, member) GET_TEXT(get_##member, j->member, "(null)")
JOB_SHOWN(SHOWN_GETTER)
GET_TEXT(get_container_id, j->container_id, "(null)")
GET_NUM(get_contiguous, j->contiguous)
GET_TIME(get_deadline, j->deadline_us)
GET_TEXT(get_dependency, j->dependency, "(null)")
GET_TIME(get_eligible, job_eligible_us(r))
GET_TIME(get_end, job_end_us(r))
GET_TEXT(get_exc_nodes, j->exc_nodes, "")
GET_FIXED(get_exclusive, job_exclusive(j))
GET_TEXT(get_features, job_features(j), "(null)")
GET_NUM(get_gid, j->gid)
GET_FIXED(get_group, job_group(j))
GET_NUM(get_job_id, j->job_id)
GET_TIME(get_last_eval, j->last_sched_eval_us)
GETTER(get_het_id, if (j->het_job_id) put_u64(sb, j->het_job_id); else strbuf_add(sb, "N/A");)
GETTER(get_het_offset, if (j->het_job_id) put_u64(sb, j->het_offset); else strbuf_add(sb, "N/A");)
GET_TEXT(get_het_set, j->het_id_set, "N/A")
GET_TEXT(get_licenses, j->licenses, "(null)")
GET_TEXT(get_licenses_alloc, j->licenses_alloc, "(null)")
GET_NUM(get_max_nodes, j->max_nodes ? j->max_nodes : job_nodes(j))
GET_NUM(get_min_cpus, job_min_cpus(j))
GET_TEXT(get_name, j->name, "(null)")
GET_TEXT(get_network, j->network, "(null)")
GET_FIXED(get_nodelist, job_nodelist(j))
GET_NUM(get_cpus, job_cpus(j))
GET_NUM(get_nodes, job_nodes(j))
GET_NUM(get_tasks, job_tasks(j))
GET_NUM(get_cpus_per_task, j->cpus_per_task ? j->cpus_per_task : 1)
GET_FIXED(get_oversubscribe, job_oversubscribe(j))
GET_FIXED(get_partition, job_partition(r))
GET_TIME(get_preempt_time, j->preempt_us)
GET_TEXT(get_prefer, j->prefer, "(null)")
GET_NUM(get_priority, job_priority(r))
GET_TEXT(get_profile, j->profile, "NotSet")
GET_TEXT(get_qos, j->qos, "(null)")
GETTER(get_reason, strbuf_add(sb, job_reason(r));
       strbuf_add(sb, r->more_reasons ? r->more_reasons : "");)
GET_NUM(get_reboot, j->reboot)
GET_TEXT(get_req_nodes, j->req_nodes, "")
GET_NUM(get_req_switch, j->switches)
GET_NUM(get_requeue, j->requeue)
GET_TEXT(get_reservation, j->reservation, "(null)")
GET_NUM(get_restarts, j->restart_count)
GET_TEXT(get_sched_nodes, j->sched_nodes, "(null)")
GETTER(get_segment, if (j->segment_size) put_u64(sb, j->segment_size); else strbuf_add(sb, "N/A");)
GET_TEXT(get_sluid, j->sluid, "(null)")
GET_TIME(get_start, job_start_us(r))
GET_FIXED(get_state, job_state_word(r, false))
GET_FIXED(get_state_compact, job_state_word(r, true))
GET_TIME(get_submit, j->submit_us)
GET_TEXT(get_tres_per_job, j->tres_per_job, "N/A")
GET_TEXT(get_tres_per_node, j->tres_per_node, "N/A")
GET_TEXT(get_tres_per_socket, j->tres_per_socket, "N/A")
GET_TEXT(get_tres_per_task, j->tres_per_task, "N/A")
GET_NUM(get_uid, j->uid)
GET_FIXED(get_user, job_user(j))
GET_TEXT(get_wckey, j->wckey, "(null)")
GET_TEXT(get_mcs_label, j->mcs_label, "(null)")
GET_TEXT(get_work_dir, j->work_dir, "(null)")
GET_TEXT(get_gpu_bind, j->gpu_bind, "N/A")
GET_OPT(get_core_spec, core_spec)
GET_OPT(get_ntasks_per_core, ntasks_per_core)
GET_OPT(get_ntasks_per_socket, ntasks_per_socket)
GET_NUM(get_ntasks_per_node, j->ntasks_per_node)
GET_STAR(get_sockets, sockets_per_node)
GET_STAR(get_cores, cores_per_socket)
GET_STAR(get_threads, threads_per_core)
GETTER(get_sct, get_sockets(sb, row); strbuf_addc(sb, ':'); get_cores(sb, row);
       strbuf_addc(sb, ':'); get_threads(sb, row))
GETTER(get_id, job_put_id(sb, r))
GETTER(get_tasks_ids, job_put_tasks(sb, r))
GETTER(get_exec_host, if (job_is_pending(r) || !job_put_batch_host(sb, j)) strbuf_add(sb, "n/a"))
GETTER(get_exit_code, put_exit_code(sb, j->exit_status))
GETTER(get_derived_ec, put_exit_code(sb, j->derived_exit_status))
GETTER(get_min_memory, job_put_min_memory(sb, r))
GETTER(get_cpus_per_tres, if (!job_put_cpus_per_tres(sb, j)) strbuf_add(sb, "N/A"))
GETTER(get_mem_per_tres, if (!job_put_mem_per_tres(sb, j)) strbuf_add(sb, "N/A"))
GETTER(get_gpu_freq,
       strbuf_addf(sb, "%s%s", j->gpu_freq ? "gpu:" : "N/A", j->gpu_freq ? j->gpu_freq : ""))
GETTER(get_tmp_disk, put_mib(sb, j->tmp_disk_mib, r->noconvert))
GETTER(get_nice, strbuf_addf(sb, "%d", j->nice))
GETTER(get_priority_norm, strbuf_addf(sb, "%16.14f", (double)job_priority(r) / 4294967295.0))
GETTER(get_time_used, put_short_time(sb, job_elapsed_s(r)))
GETTER(get_tres_alloc, if (j->alloc_tres) strbuf_add(sb, j->alloc_tres);
       else job_put_req_tres(sb, r))

static void get_pending_time(struct strbuf *sb, const void *row)
{
    const struct job_row *r = row;
    int64_t until = job_is_pending(r) || r->job->start_us <= 0 ? r->now_us : r->job->start_us;

    put_u64(sb,
            until > r->job->submit_us ? (uint64_t)((until - r->job->submit_us) / USEC_PER_SEC) : 0);
}

static void get_time_limit(struct strbuf *sb, const void *row)
{
    const struct job_row *r = row;
    uint32_t minutes;
    bool unlimited;

    if (!job_limit(r->job, &minutes, &unlimited))
        strbuf_add(sb, "NOT_SET");
    else if (unlimited)
        strbuf_add(sb, "UNLIMITED");
    else
        put_short_time(sb, (int64_t)minutes * 60);
}

static int64_t num_time_left(const void *row)
{
    const struct job_row *r = row;
    uint32_t minutes;
    bool unlimited;

    if (!job_limit(r->job, &minutes, &unlimited) || unlimited)
        return INT64_MAX;
    return (int64_t)minutes * 60 - job_elapsed_s(r);
}

static void get_time_left(struct strbuf *sb, const void *row)
{
    int64_t left = num_time_left(row);

    if (left == INT64_MAX)
        get_time_limit(sb, row);
    else
        put_short_time(sb, left > 0 ? left : 0);
}

static int64_t num_time_limit(const void *row)
{
    const struct job_row *r = row;
    uint32_t minutes;
    bool unlimited;

    return !job_limit(r->job, &minutes, &unlimited) || unlimited ? INT64_MAX : minutes;
}

GETTER(get_delay_boot, put_short_time(sb, j->delay_boot_s))
GETTER(get_switch_wait, put_short_time(sb, j->switches_wait_s))

static void get_time_min(struct strbuf *sb, const void *row)
{
    const struct job_row *r = row;

    put_short_time(sb, (int64_t)r->job->time_min_min * 60); /* 0: none was asked for */
}

/* The nodes of a job that has or had them, else why it has none. */
static void get_reason_list(struct strbuf *sb, const void *row)
{
    const struct job_row *r = row;

    switch (r->job->state) {
    case PST__JOB_STATE__JOB_PENDING:
    case PST__JOB_STATE__JOB_FAILED:
    case PST__JOB_STATE__JOB_TIMEOUT:
    case PST__JOB_STATE__JOB_DEADLINE:
    case PST__JOB_STATE__JOB_OUT_OF_MEMORY:
        if (r->job->state_flags & (1u << PST__JOB_FLAG__JOB_FLAG_COMPLETING))
            break;
        strbuf_addc(sb, '(');
        get_reason(sb, row);
        strbuf_addc(sb, ')');
        return;
    default:
        break;
    }
    strbuf_add(sb, job_nodelist(r->job));
}

/* Jobs sort by their first node; those without nodes come last. */
static void get_first_node(struct strbuf *sb, const void *row)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    const struct job_row *r = row;

    if (hostlist_parse(job_nodelist(r->job), &hl, NULL) >= 0 && hostlist_count(hl))
        strbuf_add(sb, hostlist_nth(hl, 0));
    else
        strbuf_add(sb, "\x7f");
}

static void put_file(struct strbuf *sb, const struct job_row *r, enum job_file which)
{
    const char *pattern = job_file_pattern(r->job, which);

    if (!pattern)
        strbuf_add(sb, "(null)");
    else if (r->expand)
        job_put_file(sb, r, which);
    else
        strbuf_add(sb, pattern);
}

GETTER(get_stdin, put_file(sb, r, JOB_STDIN))
GETTER(get_stdout, put_file(sb, r, JOB_STDOUT))
GETTER(get_stderr, put_file(sb, r, JOB_STDERR))

/* Array tasks after single jobs of the same number, the tasks not yet split off last. */
NUMBER(num_id, ((uint64_t)job_array_id(r) << 31) |
                   (r->has_task                               ? r->task
                    : j->array_tasks                          ? INT32_MAX
                    : j->array_job_id && j->has_array_task_id ? j->array_task_id
                                                              : 0))
NUMBER(num_job_id, j->job_id)
NUMBER(num_priority, job_priority(r))
NUMBER(num_cpus, job_cpus(j))
NUMBER(num_nodes, job_nodes(j))
NUMBER(num_min_cpus, job_min_cpus(j))
NUMBER(num_tmp_disk, j->tmp_disk_mib)
NUMBER(num_memory, j->has_mem_per_node_mib ? j->mem_per_node_mib : j->mem_per_cpu_mib)
NUMBER(num_time_used, job_elapsed_s(r))
NUMBER(num_start, job_start_us(r) > 0 ? job_start_us(r) : INT64_MAX)
NUMBER(num_end, job_end_us(r) > 0 ? job_end_us(r) : 0)
NUMBER(num_submit, j->submit_us)
NUMBER(num_uid, j->uid)
NUMBER(num_gid, j->gid)
NUMBER(num_nice, j->nice)

/* What several fields need. */
#define N_ID "job_id array_job_id array_task_id array_tasks het_job_id het_offset"
#define N_TIME "state start_us end_us suspend_us suspended_us expected_start_us begin_us"
#define N_LIMIT "time_limit_min time_unlimited"
#define N_STATE "state state_flags"
#define N_REASON                                                                                   \
    "state state_flags reason reason_text pend_reason pend_text priority held_by_user node_prologs"
#define N_TASKS                                                                                    \
    "alloc num_tasks min_nodes max_nodes node_range ntasks_per_node tres_per_job tres_per_node"
#define N_CPUS N_TASKS " cpus_per_task asked_cpus_per_task min_cpus overcommit state expected_cpus"
#define N_MEMORY "mem_per_node_mib mem_per_cpu_mib mem_per_gpu_mib def_mem_per_gpu_mib"
#define N_TRES                                                                                     \
    "alloc_tres req_tres req_billing req_gres req_mem_mib cpus_per_gpu ntasks_per_gpu "            \
    "tres_per_socket tres_per_task sockets_per_node " N_CPUS " " N_MEMORY
#define N_PRIO "priority cur_priority"
#define N_FILE N_ID " batch std_in std_out std_err work_dir restart_count sluid name uid user_name"

static const struct fmt_field job_rows[] = {
    { 'a', false, "Account", "ACCOUNT", get_account, NULL, "account", .unsorted = true },
    { 0, false, "AccrueTime", "ACCRUE_TIME", get_accrue, NULL, "accrue_us eligible_us" },
    { 0, false, "admin_comment", "ADMIN_COMMENT", get_admin_comment, NULL, "admin_comment" },
    { 0, false, "AllocNodes", "ALLOC_NODES", get_alloc_host, NULL, "alloc_host" },
    { 0, false, "AllocSID", "ALLOC_SID", get_alloc_sid, NULL, "alloc_sid" },
    { 'F', false, "ArrayJobId", "ARRAY_JOB_ID", get_array_job_id, num_id, N_ID },
    { 'K', false, "ArrayTaskId", "ARRAY_TASK_ID", get_tasks_ids, NULL, N_ID },
    { 0, false, "AssocId", "ASSOC_ID", get_assoc_id, NULL, "assoc_id" },
    { 0, false, "BatchFlag", "BATCH_FLAG", get_batch_flag, NULL, "batch batch_failures" },
    { 'B', false, "BatchHost", "EXEC_HOST", get_exec_host, NULL, "state batch_host alloc" },
    { 0, false, "BoardsPerNode", "BOARDS_PER_NODE", get_zero, NULL, NULL },
    { 0, false, "BurstBuffer", "BURST_BUFFER", get_none, NULL, NULL },
    { 0, false, "BurstBufferState", "BURST_BUFFER_STATE", get_none, NULL, NULL },
    { 0, false, "Cluster", "CLUSTER", get_cluster, NULL, NULL },
    { 0, false, "ClusterFeature", "CLUSTER_FEATURES", get_cluster_features, NULL,
      "cluster_features" },
    { 'o', false, "Command", "COMMAND", get_command, NULL, "command" },
    { 'k', false, "Comment", "COMMENT", get_comment, NULL, "comment" },
#define SHOWN_ROW(name, heading, member) { 0, false, name, heading, get_##member, NULL, #member },
    /* clang-format off: a macro of rows */
    JOB_SHOWN(SHOWN_ROW)
    /* clang-format on */
    { 0, false, "ContainerId", "CONTAINERID", get_container_id, NULL, "container_id" },
    { 0, false, "ContainerType", "CONTAINERTYPE", get_none, NULL, NULL },
    { 'O', false, "Contiguous", "CONTIGUOUS", get_contiguous, NULL, "contiguous" },
    { 'I', false, "Cores", "CORES_PER_SOCKET", get_cores, NULL, "cores_per_socket" },
    { 'X', false, "CoreSpec", "CORE_SPEC", get_core_spec, NULL, "core_spec" },
    { 0, false, "CPUsPerTask", "CPUS_PER_TASK", get_cpus_per_task, NULL, "cpus_per_task" },
    { 0, false, "cpus-per-task", "CPUS_PER_TASK", get_cpus_per_task, NULL, "cpus_per_task" },
    { 0, false, "cpus-per-tres", "CPUS_PER_TRES", get_cpus_per_tres, NULL,
      "cpus_per_gpu def_cpus_per_gpu" },
    { 0, false, "CronJob", "CRON_JOB", get_cron, NULL, "cron_spec" },
    { 0, false, "Deadline", "DEADLINE", get_deadline, NULL, "deadline_us" },
    { 0, false, "DelayBoot", "DELAY_BOOT", get_delay_boot, NULL, "delay_boot_s" },
    { 'E', false, "Dependency", "DEPENDENCY", get_dependency, NULL, "dependency" },
    { 0, false, "DerivedEC", "DERIVED_EC", get_derived_ec, NULL, "derived_exit_status" },
    { 0, false, "EligibleTime", "ELIGIBLE_TIME", get_eligible, NULL,
      "eligible_us begin_us state state_flags" },
    { 'e', false, "EndTime", "END_TIME", get_end, num_end, N_TIME " " N_LIMIT },
    { 'x', false, "ExcNodes", "EXC_NODES", get_exc_nodes, NULL, "exc_nodes" },
    { 0, false, "Exclusive", "EXCLUSIVE", get_exclusive, NULL, "exclusive whole_nodes" },
    { 0, false, "exit_code", "EXIT_CODE", get_exit_code, NULL, "exit_status" },
    { 'f', false, "Feature", "FEATURES", get_features, NULL, "features prefer got_preferred" },
    { 'G', false, "GroupId", "GROUP", get_gid, num_gid, "gid" },
    { 'g', false, "GroupName", "GROUP", get_group, NULL, "gid group_name" },
    { 0, false, "HetJobId", "HET_JOB_ID", get_het_id, NULL, "het_job_id" },
    { 0, false, "HetJobIdSet", "HET_JOB_ID_SET", get_het_set, NULL, "het_job_id het_id_set" },
    { 0, false, "HetJobOffset", "HET_JOB_OFFSET", get_het_offset, NULL, "het_job_id het_offset" },
    { 'i', false, "JobArrayId", "JOBID", get_id, num_id, N_ID },
    { 'A', false, "JobId", "JOBID", get_job_id, num_job_id, "job_id" },
    { 0, false, "LastSchedEval", "LAST_SCHED_EVAL", get_last_eval, NULL, "last_sched_eval_us" },
    { 'W', false, "Licenses", "LICENSES", get_licenses, NULL, "licenses" },
    { 0, false, "LicensesAlloc", "LICENSES_ALLOC", get_licenses_alloc, NULL, "licenses_alloc" },
    { 0, false, "MaxCPUs", "MAX_CPUS", get_cpus, NULL, N_CPUS },
    { 0, false, "MaxNodes", "MAX_NODES", get_max_nodes, NULL,
      "max_nodes alloc min_nodes least_nodes" },
    { 0, false, "mem-per-tres", "MEM_PER_TRES", get_mem_per_tres, NULL,
      "mem_per_gpu_mib def_mem_per_gpu_mib" },
    { 0, false, "MCSLabel", "MCSLABEL", get_mcs_label, NULL, "mcs_label" },
    { 'c', false, "MinCPUs", "MIN_CPUS", get_min_cpus, num_min_cpus,
      "pn_min_cpus cpus_per_task asked_cpus_per_task num_tasks ntasks_per_node" },
    { 'm', false, "MinMemory", "MIN_MEMORY", get_min_memory, num_memory, N_MEMORY },
    { 0, false, "MinTime", "TIME_MIN", get_time_min, NULL, "time_min_min" },
    { 'd', false, "MinTmpDisk", "MIN_TMP_DISK", get_tmp_disk, num_tmp_disk, "tmp_disk_mib" },
    { 'j', false, "Name", "NAME", get_name, NULL, "name" },
    { 0, false, "Network", "NETWORK", get_network, NULL, "network" },
    { 'y', false, "Nice", "NICE", get_nice, num_nice, "nice" },
    { 'N', false, "NodeList", "NODELIST", get_nodelist, NULL, "alloc", .sort = get_first_node,
      .whole_header = true },
    { 0, false, "NTPerCore", "NTASKS_PER_CORE", get_ntasks_per_core, NULL, "ntasks_per_core" },
    { 0, false, "NTPerNode", "NTASKS_PER_NODE", get_ntasks_per_node, NULL, "ntasks_per_node" },
    { 0, false, "NTPerSocket", "NTASKS_PER_SOCKET", get_ntasks_per_socket, NULL,
      "ntasks_per_socket" },
    { 0, false, "NTPerBoard", "NTASKS_PER_BOARD", get_zero, NULL, NULL },
    { 'C', false, "NumCPUs", "CPUS", get_cpus, num_cpus, N_CPUS },
    { 'D', false, "NumNodes", "NODES", get_nodes, num_nodes, "alloc min_nodes least_nodes" },
    { 0, false, "NumTasks", "TASKS", get_tasks, NULL, N_TASKS },
    { 0, false, "Origin", "ORIGIN", get_origin, NULL, "fed_origin" },
    { 0, false, "OriginRaw", "ORIGIN_RAW", get_origin_raw, NULL, "fed_origin job_id" },
    { 'h', false, "OverSubscribe", "OVER_SUBSCRIBE", get_oversubscribe, NULL,
      "state oversubscribe" },
    { 'P', false, "Partition", "PARTITION", get_partition, NULL, "partition" },
    { 0, false, "PendingTime", "PENDING_TIME", get_pending_time, NULL, "state submit_us start_us" },
    { 0, false, "PreemptTime", "PREEMPT_TIME", get_preempt_time, NULL, "preempt_us" },
    { 0, false, "Prefer", "PREFER", get_prefer, NULL, "prefer" },
    { 'p', false, "Priority", "PRIORITY", get_priority_norm, num_priority, N_PRIO },
    { 'Q', false, "PriorityLong", "PRIORITY", get_priority, num_priority, N_PRIO },
    { 0, false, "Profile", "PROFILE", get_profile, NULL, "profile" },
    { 'q', false, "QOS", "QOS", get_qos, NULL, "qos" },
    { 'r', false, "Reason", "REASON", get_reason, NULL, N_REASON, .unsorted = true },
    { 'R', false, "ReasonList", "NODELIST(REASON)", get_reason_list, NULL, N_REASON " alloc",
      .whole_header = true },
    { 0, false, "Reboot", "REBOOT", get_reboot, NULL, "reboot" },
    { 'n', false, "ReqNodes", "REQ_NODES", get_req_nodes, NULL, "req_nodes" },
    { 0, false, "ReqSwitch", "REQ_SWITCH", get_req_switch, NULL, "switches" },
    { 0, false, "Requeue", "REQUEUE", get_requeue, NULL, "requeue" },
    { 'v', false, "Reservation", "RESERVATION", get_reservation, NULL, "reservation" },
    { 0, false, "ResizeTime", "RESIZE_TIME", get_resize, NULL, "resize_us" },
    { 0, false, "RestartCnt", "RESTART_COUNT", get_restarts, NULL, "restart_count" },
    { 'Y', false, "SchedNodes", "SCHEDNODES", get_sched_nodes, NULL, "sched_nodes",
      .whole_header = true },
    { 'z', false, "SCT", "S:C:T", get_sct, NULL,
      "sockets_per_node cores_per_socket threads_per_core" },
    { 0, false, "SegmentSize", "SEGMENT_SIZE", get_segment, NULL, "segment_size" },
    { 0, false, "SiblingsActive", "ACTIVE_SIBLINGS", get_siblings_active, NULL,
      "fed_siblings_active" },
    { 0, false, "SiblingsActiveRaw", "ACTIVE_SIBLINGS_RAW", get_siblings_active_raw, NULL,
      "fed_siblings_active fed_siblings_viable fed_viable" },
    { 0, false, "SiblingsViable", "VIABLE_SIBLINGS", get_siblings_viable, NULL,
      "fed_siblings_viable" },
    { 0, false, "SiblingsViableRaw", "VIALBLE_SIBLINGS_RAW", get_siblings_viable_raw, NULL,
      "fed_viable" },
    { 's', false, "SLUID", "SLUID", get_sluid, NULL, "sluid", 0, true },
    { 'H', false, "Sockets", "SOCKETS_PER_NODE", get_sockets, NULL, "sockets_per_node" },
    { 0, false, "SPerBoard", "SOCKETS_PER_BOARD", get_zero, NULL, NULL },
    { 'S', false, "StartTime", "START_TIME", get_start, num_start, N_TIME },
    { 'T', false, "State", "STATE", get_state, NULL, N_STATE },
    { 't', false, "StateCompact", "ST", get_state_compact, NULL, N_STATE },
    { 0, false, "StdErr", "STDERR", get_stderr, NULL, N_FILE " alloc batch_host" },
    { 0, false, "StdIn", "STDIN", get_stdin, NULL, N_FILE " alloc batch_host" },
    { 0, false, "StdOut", "STDOUT", get_stdout, NULL, N_FILE " alloc batch_host" },
    { 'V', false, "SubmitTime", "SUBMIT_TIME", get_submit, num_submit, "submit_us" },
    { 0, false, "system_comment", "SYSTEM_COMMENT", get_none, NULL, NULL },
    { 'J', false, "Threads", "THREADS_PER_CORE", get_threads, NULL, "threads_per_core" },
    { 'L', false, "TimeLeft", "TIME_LEFT", get_time_left, num_time_left, N_TIME " " N_LIMIT, 0,
      false, true },
    { 'l', false, "TimeLimit", "TIME_LIMIT", get_time_limit, num_time_limit, N_LIMIT, 0, false,
      true },
    { 'M', false, "TimeUsed", "TIME", get_time_used, num_time_used, N_TIME, 0, false, true },
    { 0, false, "tres-alloc", "TRES_ALLOC", get_tres_alloc, NULL, N_TRES },
    { 0, false, "tres-bind", "TRES_BIND", get_gpu_bind, NULL, "gpu_bind" },
    { 0, false, "tres-freq", "TRES_FREQ", get_gpu_freq, NULL, "gpu_freq" },
    { 0, false, "tres-per-job", "TRES_PER_JOB", get_tres_per_job, NULL, "tres_per_job" },
    { 0, false, "tres-per-socket", "TRES_PER_SOCKET", get_tres_per_socket, NULL,
      "tres_per_socket" },
    { 0, false, "tres-per-task", "TRES_PER_TASK", get_tres_per_task, NULL, "tres_per_task" },
    { 'U', false, "UserId", "UID", get_uid, num_uid, "uid" },
    { 'u', false, "UserName", "USER", get_user, NULL, "uid user_name" },
    { 0, false, "Wait4Switch", "WAIT4SWITCH", get_switch_wait, NULL, "switches_wait_s" },
    { 'w', false, "WCKey", "WCKEY", get_wckey, NULL, "wckey" },
    { 'Z', false, "WorkDir", "WORK_DIR", get_work_dir, NULL, "work_dir", .unsorted = true },
    { 'b', true, "Gres", "TRES_PER_NODE", get_tres_per_node, NULL, "tres_per_node" },
    { 0, true, "PackJobId", "HET_JOB_ID", get_het_id, NULL, "het_job_id" },
    { 0, true, "PackJobIdSet", "HET_JOB_ID_SET", get_het_set, NULL, "het_job_id het_id_set" },
    { 0, true, "PackJobOffset", "HET_JOB_OFFSET", get_het_offset, NULL, "het_job_id het_offset" },
    { 0, true, "Shared", "OVER_SUBSCRIBE", get_oversubscribe, NULL, "state oversubscribe" },
    { 0, true, "Tres", "TRES_ALLOC", get_tres_alloc, NULL, N_TRES },
    { 0, true, "tres-per-node", "TRES_PER_NODE", get_tres_per_node, NULL, "tres_per_node" },
};

const struct fmt_table squeue_job_fields = { job_rows, ARRAY_SIZE(job_rows), "job", "AccrueTime" };

/* ---- steps ----------------------------------------------------------------------------------- */

void step_put_id(struct strbuf *sb, const struct step_row *r)
{
    const char *special = names_step_special(r->step->step_id);

    put_u64(sb, r->array_job_id       ? r->array_job_id
                : r->step->het_job_id ? r->step->het_job_id
                                      : r->step->job_id);
    if (r->step->het_job_id) {
        strbuf_addc(sb, '+');
        put_u64(sb, r->step->het_offset);
    } else if (r->array_job_id) {
        strbuf_addc(sb, '_');
        put_u64(sb, r->array_task_id);
    }
    strbuf_addc(sb, '.');
    if (special)
        strbuf_add(sb, special);
    else
        put_u64(sb, r->step->step_id);
}

void step_put_own_id(struct strbuf *sb, const struct step_row *r)
{
    Pst__StepRecord own = *r->step;
    struct step_row row = *r;

    own.het_job_id = 0;
    row.step = &own;
    step_put_id(sb, &row);
}

int64_t step_elapsed_s(const Pst__StepRecord *s, int64_t now_us)
{
    bool over = names_job_state_terminal((unsigned)s->state) && s->end_us;
    int64_t until = over ? s->end_us : now_us;

    if (over && s->start_us > 0) /* of the times as they are shown, see job_elapsed_s() */
        return MAX(0, until / USEC_PER_SEC - s->start_us / USEC_PER_SEC);
    return s->start_us > 0 && until > s->start_us ? (until - s->start_us) / USEC_PER_SEC : 0;
}

uint32_t step_nodes(const Pst__StepRecord *s)
{
    return s->alloc && s->alloc->n_node_ids ? (uint32_t)s->alloc->n_node_ids : 1;
}

uint32_t step_tasks(const Pst__StepRecord *s)
{
    return s->num_tasks ? s->num_tasks : names_step_special(s->step_id) ? step_nodes(s) : 1;
}

const char *step_distribution(const Pst__StepRecord *s)
{
    static const char *const words[] = { "Block", "Cyclic", "Plane", "Arbitrary" };

    if (names_step_special(s->step_id))
        return NULL;
    for (size_t i = 0; s->distribution && i < ARRAY_SIZE(words); i++)
        if (strncasecmp(s->distribution, words[i], strlen(words[i])) == 0)
            return words[i];
    return step_tasks(s) > step_nodes(s) ? "Block" : "Cyclic";
}

const char *step_nodelist(const Pst__StepRecord *s)
{
    return s->alloc && s->alloc->nodes ? s->alloc->nodes : "";
}

const char *step_display_name(const Pst__StepRecord *s)
{
    const char *special = names_step_special(s->step_id);

    return s->name ? s->name : special ? special : "(null)";
}

void step_put_tres(struct strbuf *sb, const Pst__StepRecord *s)
{
    uint64_t mem = 0;

    if (!s->alloc || s->alloc_tres) {
        strbuf_add(sb, s->alloc_tres ? s->alloc_tres : "");
        return;
    }
    for (size_t i = 0; i < s->alloc->n_groups; i++)
        mem += s->alloc->groups[i]->mem_mib * s->alloc->groups[i]->nodes;
    strbuf_addf(sb, "cpu=%u", s->alloc->total_cpus);
    if (mem) {
        strbuf_add(sb, ",mem=");
        put_mib(sb, mem, false);
    }
    strbuf_addf(sb, ",node=%u", step_nodes(s));
}

uint32_t step_own_cpus(const Pst__StepRecord *s)
{
    bool of_job = s->step_id == NAMES_STEP_EXTERN || s->step_id == NAMES_STEP_BATCH;

    return s->alloc && !of_job ? s->alloc->total_cpus : 0;
}

#define STEP_GETTER(name, ...)                                                                     \
    static void name(struct strbuf *sb, const void *row)                                           \
    {                                                                                              \
        const struct step_row *r = row;                                                            \
        const Pst__StepRecord *s = r->step;                                                        \
                                                                                                   \
        (void)s; /* not every expression asks both */                                              \
        __VA_ARGS__;                                                                               \
    }
#define STEP_TEXT(name, value, unset) STEP_GETTER(name, strbuf_add(sb, (value) ? (value) : (unset)))
#define STEP_NUM(name, value) STEP_GETTER(name, put_u64(sb, (value)))

STEP_NUM(step_array_job, r->array_job_id)
STEP_GETTER(step_array_task, if (r->array_job_id) put_u64(sb, r->array_task_id);
            else strbuf_add(sb, "N/A"))
STEP_TEXT(step_cluster, r->cluster, "(null)")
STEP_TEXT(step_container, s->container, "(null)")
STEP_TEXT(step_container_id, s->container_id, "(null)")
STEP_NUM(step_job_id, s->job_id)
STEP_TEXT(step_nodes_text, step_nodelist(s), "")
STEP_NUM(step_cpus, step_own_cpus(s))
STEP_NUM(step_num_tasks, step_tasks(s))
STEP_TEXT(step_partition, r->partition ? r->partition : s->partition, "(null)")
STEP_GETTER(step_start, put_stamp(sb, s->start_us, "N/A", r->now_us))
STEP_TEXT(step_tres_asked, s->tres_per_step, "(null)")
STEP_TEXT(step_stdin, s->std_in, "(null)")
STEP_TEXT(step_stdout, s->std_out, "(null)")
STEP_TEXT(step_stderr, s->std_err, "(null)")
STEP_GETTER(step_id, step_put_id(sb, r))
STEP_TEXT(step_name_text, step_display_name(s), "")
STEP_TEXT(step_state, names_step_state((unsigned)s->state), "")
STEP_GETTER(step_limit,
            if (s->has_time_limit_min) put_short_time(sb, (int64_t)s->time_limit_min * 60);
            else strbuf_add(sb, "UNLIMITED"))
STEP_GETTER(step_used, put_short_time(sb, step_elapsed_s(s, r->now_us)))
/* Steps that the controller makes ask for nothing at all. */
STEP_TEXT(step_cpu_freq,
          s->step_id == NAMES_STEP_EXTERN || s->step_id == NAMES_STEP_BATCH
              ? "0-0:0"
              : "Unknown-Unknown:Unknown",
          "")
STEP_NUM(step_uid, s->uid)
STEP_TEXT(step_user, r->user ? r->user : user_name_of(s->uid), "")

static int64_t num_step_id(const void *row)
{
    const struct step_row *r = row;
    uint32_t id = r->array_job_id ? r->array_job_id : r->step->job_id;

    return (int64_t)((uint64_t)id << 32 | r->step->step_id);
}

static int64_t num_step_used(const void *row)
{
    const struct step_row *r = row;

    return step_elapsed_s(r->step, r->now_us);
}

#define N_STEP_TIME "state start_us end_us"

static const struct fmt_field step_rows[] = {
    { 0, false, "ArrayJobId", "ARRAY_JOB_ID", step_array_job, NULL, "job_id" },
    { 0, false, "ArrayTaskId", "ARRAY_TASK_ID", step_array_task, NULL, "job_id" },
    { 0, false, "Cluster", "CLUSTER", step_cluster, NULL, NULL },
    { 0, false, "Container", "CONTAINER", step_container, NULL, "container" },
    { 0, false, "ContainerId", "CONTAINERID", step_container_id, NULL, "container_id" },
    { 0, false, "ContainerType", "CONTAINERTYPE", get_none, NULL, NULL },
    { 0, false, "CPUFreq", "CPU_FREQ", step_cpu_freq, NULL, "step_id" },
    { 0, false, "cpus-per-tres", "CPUS_PER_TRES", get_none, NULL, NULL },
    { 0, false, "JobId", "JOB_ID", step_job_id, NULL, "job_id" },
    { 0, false, "mem-per-tres", "MEM_PER_TRES", get_none, NULL, NULL },
    { 0, false, "Network", "NETWORK", get_none, NULL, NULL },
    { 'N', false, "Nodes", "NODELIST", step_nodes_text, NULL, "alloc" },
    { 0, false, "NumCPUs", "NUM_CPUS", step_cpus, NULL, "alloc" },
    { 'A', false, "NumTasks", "TASKS", step_num_tasks, NULL, "num_tasks step_id alloc" },
    { 'P', false, "Partition", "PARTITION", step_partition, NULL, "partition" },
    { 0, false, "ResvPorts", "RESERVED_PORTS", get_none, NULL, NULL },
    { 'S', false, "StartTime", "START_TIME", step_start, NULL, "start_us" },
    { 0, false, "StdErr", "STDERR", step_stderr, NULL, "std_err" },
    { 0, false, "StdIn", "STDIN", step_stdin, NULL, "std_in" },
    { 0, false, "StdOut", "STDOUT", step_stdout, NULL, "std_out" },
    { 'i', false, "StepId", "STEPID", step_id, num_step_id, "job_id step_id" },
    { 'j', false, "StepName", "NAME", step_name_text, NULL, "name step_id" },
    { 0, false, "StepState", "STATE", step_state, NULL, "state" },
    { 'l', false, "TimeLimit", "TIME_LIMIT", step_limit, NULL, "time_limit_min", 0, false, true },
    { 'M', false, "TimeUsed", "TIME", step_used, num_step_used, N_STEP_TIME, 0, false, true },
    { 0, false, "tres-bind", "TRES_BIND", get_none, NULL, NULL },
    { 0, false, "tres-freq", "TRES_FREQ", get_none, NULL, NULL },
    { 0, false, "tres-per-job", "TRES_PER_STEP", get_none, NULL, NULL },
    { 0, false, "tres-per-socket", "TRES_PER_SOCKET", get_none, NULL, NULL },
    { 0, false, "tres-per-step", "TRES_PER_STEP", step_tres_asked, NULL, "tres_per_step" },
    { 0, false, "tres-per-task", "TRES_PER_TASK", get_none, NULL, NULL },
    { 'U', false, "UserId", "UID", step_uid, NULL, "uid" },
    { 'u', false, "UserName", "USER", step_user, NULL, "uid" },
    { 0, true, "Gres", "TRES_PER_JOB", get_none, NULL, NULL },
    { 'b', true, "tres-per-node", "TRES_PER_JOB", get_none, NULL, NULL },
};

const struct fmt_table squeue_step_fields = { step_rows, ARRAY_SIZE(step_rows), "step", NULL };

void squeue_print_names(FILE *f)
{
    fmt_print_names(&squeue_job_fields, "field", f);
    fmt_print_names(&squeue_step_fields, "step-field", f);
}
