/* fmt_sacct.c - fields and columns of sacct; see fmt_sacct.h.
 *
 * Fields without a function are those whose values nothing here records; their column stays empty,
 * as it does on a site whose accounting plugins do not fill them. */
#include "cli/format/fmt_sacct.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/compare/order.h"
#include "base/sluid.h"
#include "base/timefmt.h"
#include "cli/format/acctflags.h"
#include "cli/format/fmt_core.h"
#include "cli/format/fmt_squeue.h"
#include "cli/format/fmt_use.h"
#include "cli/query/out_job.h"
#include "cli/query/out_users.h"
#include "model/words/names.h"

#define TRES_WORDS_MAX 32u

static struct job_row job_row_of(const struct sacct_row *r)
{
    return (struct job_row){
        .job = r->acct->job, .now_us = r->now_us, .cluster = r->cluster, .bitstr_len = r->bitstr_len
    };
}

static struct step_row step_row_of(const struct sacct_row *r)
{
    const Pst__JobRecord *j = r->acct->job;

    return (struct step_row){ .step = r->step,
                              .now_us = r->now_us,
                              .array_job_id = j->array_job_id,
                              .array_task_id = j->array_task_id };
}

/* ---- values ---------------------------------------------------------------------------------- */

const char *sacct_job_state(const Pst__JobRecord *j)
{
    if (j->state_flags & (1u << PST__JOB_FLAG__JOB_FLAG_REQUEUED))
        return "REQUEUED";
    if (j->state_flags & (1u << PST__JOB_FLAG__JOB_FLAG_RESIZING))
        return "RESIZING";
    if (j->state_flags & (1u << PST__JOB_FLAG__JOB_FLAG_REVOKED))
        return "REVOKED";
    return names_job_state((unsigned)j->state);
}

/* An allocation that was cancelled keeps 0:0; how its processes ended is told by its steps. */
uint32_t sacct_exit_status(const struct sacct_row *r)
{
    if (r->step)
        return r->step->exit_status;
    switch (r->acct->job->state) { /* the word says how these ended; a code would be the script's */
    case PST__JOB_STATE__JOB_CANCELLED:
    case PST__JOB_STATE__JOB_PREEMPTED:
    case PST__JOB_STATE__JOB_TIMEOUT:
        return 0;
    default:
        return r->acct->job->exit_status;
    }
}

/* How long the job of a step was suspended while the step ran. */
static int64_t step_suspended_us(const struct sacct_row *r)
{
    const Pst__StepRecord *s = r->step;
    int64_t end = names_job_state_terminal((unsigned)s->state) && s->end_us ? s->end_us : r->now_us;
    int64_t sum = 0;

    for (size_t i = 0; i + 1 < r->acct->n_suspensions; i += 2) {
        int64_t from = MAX(r->acct->suspensions[i], s->start_us);

        sum += MAX(MIN(r->acct->suspensions[i + 1], end) - from, 0);
    }
    return s->start_us > 0 ? sum : 0;
}

int64_t sacct_suspended_s(const struct sacct_row *r)
{
    return (r->step ? step_suspended_us(r) : r->acct->job->suspended_us) / USEC_PER_SEC;
}

int64_t sacct_elapsed_s(const struct sacct_row *r)
{
    struct job_row row = job_row_of(r);

    if (!r->step)
        return job_elapsed_s(&row);
    return MAX(step_elapsed_s(r->step, r->now_us) - sacct_suspended_s(r), 0);
}

uint32_t sacct_cpus(const struct sacct_row *r)
{
    if (r->step)
        return r->step->alloc ? r->step->alloc->total_cpus : 0;
    return r->acct->job->alloc ? r->acct->job->alloc->total_cpus : 0;
}

void sacct_cpu_us(const struct sacct_row *r, uint64_t *ret_user_us, uint64_t *ret_sys_us)
{
    *ret_user_us = *ret_sys_us = 0;
    for (size_t i = 0; i < r->acct->n_steps; i++) {
        const Pst__StepRecord *s = r->acct->steps[i];

        if (!s->usage || (r->step && s != r->step))
            continue;
        *ret_user_us += s->usage->user_us;
        *ret_sys_us += s->usage->sys_us;
    }
}

/* "00:00.077" below an hour, else "HH:MM:SS". */
static void put_cpu_time(struct strbuf *sb, uint64_t us)
{
    uint64_t s = us / 1000000;

    if (!us || s >= 3600)
        put_hms(sb, (int64_t)s);
    else
        strbuf_addf(sb, "%02llu:%02llu.%03llu", (unsigned long long)(s / 60),
                    (unsigned long long)(s % 60), (unsigned long long)(us / 1000 % 1000));
}

/* One word of a list of TRES: memory in the unit that --units asks for. */
static void put_tres_word(struct strbuf *sb, const struct sacct_row *r, const char *word)
{
    uint64_t mib;

    if (!r->unit || strncmp(word, "mem=", 4) != 0 || size_mib_parse(word + 4, &mib, NULL) < 0) {
        strbuf_add(sb, word);
        return;
    }
    strbuf_add(sb, "mem=");
    use_put_bytes(sb, r, mib << 20, 'M');
}

static void put_words(struct strbuf *sb, const struct sacct_row *r, const char *tres, bool sorted)
{
    _cleanup_free_ char *copy = tres ? strdup(tres) : NULL;
    char *words[TRES_WORDS_MAX], *save = NULL;
    size_t n = 0;

    if (!copy)
        return;
    for (char *w = strtok_r(copy, ",", &save); w && n < TRES_WORDS_MAX;
         w = strtok_r(NULL, ",", &save))
        words[n++] = w;
    if (sorted)
        qsort(words, n, sizeof(*words), order_text);
    for (size_t i = 0; i < n; i++) {
        if (i)
            strbuf_addc(sb, ',');
        put_tres_word(sb, r, words[i]);
    }
}

/* TRES sorted by name, as accounting stores them. */
static void put_sorted(struct strbuf *sb, const struct sacct_row *r, const char *tres)
{
    put_words(sb, r, tres, true);
}

/* What a step has, in the order in which its record has them. */
static void put_own_tres(struct strbuf *sb, const struct sacct_row *r)
{
    _cleanup_val_(strbuf_done) struct strbuf text = STRBUF_INIT;

    step_put_tres(&text, r->step);
    put_words(sb, r, strbuf_str(&text), false);
}

/* ---- fields of jobs (empty for steps) -------------------------------------------------------- */

#define JOB_FIELD(name, ...)                                                                       \
    static void name(struct strbuf *sb, const struct sacct_row *r)                                 \
    {                                                                                              \
        const Pst__JobRecord *j = r->acct->job;                                                    \
                                                                                                   \
        if (r->step)                                                                               \
            return;                                                                                \
        __VA_ARGS__;                                                                               \
    }
#define JOB_TEXT(name, value) JOB_FIELD(name, if (value) strbuf_add(sb, value))
#define JOB_NUM(name, value) JOB_FIELD(name, put_u64(sb, (value)))

JOB_TEXT(put_admin_comment, j->admin_comment)
JOB_TEXT(put_system_comment, j->system_comment)
JOB_TEXT(put_comment, j->comment)
JOB_TEXT(put_constraints, j->features)
/* The number of the run: that of its id, of steps too. */
static void put_db_index(struct strbuf *sb, const struct sacct_row *r)
{
    const Pst__JobRecord *j = r->acct->job;
    const char *text = sacct_job_sluid(j);
    uint64_t id = text ? sluid_parse(text) : 0;

    put_u64(sb, id ? id : j->db_id);
}

JOB_FIELD(put_derived, put_exit_code(sb, j->derived_exit_status))
JOB_TEXT(put_exclusive, job_exclusive(j))
JOB_TEXT(put_extra, j->extra)
JOB_TEXT(put_failed_node, j->failed_node)
JOB_NUM(put_gid, j->gid)
JOB_TEXT(put_group, job_group(j))
JOB_TEXT(put_licenses, j->licenses)
JOB_TEXT(put_oversubscribe, j->oversubscribe ? "YES" : "NO")
JOB_TEXT(put_partition, j->partition)
JOB_NUM(put_priority, j->has_start_priority ? j->start_priority : j->priority)
JOB_TEXT(put_qos, j->qos)
JOB_TEXT(put_qos_req, j->qos_req)
static void put_reason(struct strbuf *sb, const struct sacct_row *r)
{
    struct job_row row = job_row_of(r);

    if (!r->step)
        strbuf_add(sb, job_waited_for(&row));
}

JOB_TEXT(put_reservation, j->reservation)
JOB_TEXT(put_req_reservation, j->req_reservation ? j->req_reservation : j->reservation)
JOB_FIELD(put_resv_id, if (j->resv_id) strbuf_addf(sb, "%u", j->resv_id))
JOB_NUM(put_restarts, j->restart_count)
JOB_FIELD(put_segment, if (j->segment_size) put_u64(sb, j->segment_size))
JOB_NUM(put_uid, j->uid)
JOB_TEXT(put_user, job_user(j))
JOB_TEXT(put_wckey, j->wckey)
JOB_TEXT(put_mcs_label, j->mcs_label)
JOB_NUM(put_wckey_id, j->wckey_id) /* 0: no WCKey */
JOB_TEXT(put_work_dir, j->work_dir)
JOB_FIELD(put_flags, acctflags_put(sb, j))

static void put_req_tres(struct strbuf *sb, const struct sacct_row *r)
{
    struct job_row row = job_row_of(r);
    _cleanup_val_(strbuf_done) struct strbuf text = STRBUF_INIT;

    if (r->step)
        return;
    job_put_req_tres(&text, &row);
    put_sorted(sb, r, strbuf_str(&text));
}

static void put_req_mem(struct strbuf *sb, const struct sacct_row *r)
{
    const Pst__JobRecord *j = r->acct->job;
    uint32_t nodes = j->min_nodes ? j->min_nodes : 1;
    uint32_t tasks = j->num_tasks ? j->num_tasks : nodes;
    uint32_t cpus = MAX(tasks * (j->cpus_per_task ? j->cpus_per_task : 1), j->min_cpus);
    uint64_t mib =
        j->has_mem_per_node_mib ? j->mem_per_node_mib * nodes : j->mem_per_cpu_mib * cpus;

    if (r->step)
        return;
    if (r->unit)
        use_put_bytes(sb, r, mib << 20, 'M');
    else
        put_mib(sb, mib, false);
}

int64_t sacct_planned_s(const struct sacct_row *r)
{
    const Pst__JobRecord *j = r->acct->job;
    bool over = names_job_state_terminal((unsigned)j->state);
    int64_t until = j->start_us > 0 ? j->start_us : over ? j->end_us : 0;

    if (j->eligible_us <= 0)
        return 0;
    return MAX(0, until / USEC_PER_SEC - j->eligible_us / USEC_PER_SEC);
}

JOB_FIELD(put_planned, put_hms(sb, sacct_planned_s(r)); (void)j)

static uint64_t planned_cpu_s(const struct sacct_row *r)
{
    return (uint64_t)sacct_planned_s(r) * job_cpus(r->acct->job);
}

JOB_FIELD(put_planned_cpu, put_hms(sb, (int64_t)planned_cpu_s(r)); (void)j)
JOB_FIELD(put_planned_cpu_raw, put_u64(sb, planned_cpu_s(r)); (void)j)

static void put_time_limit(struct strbuf *sb, const struct sacct_row *r)
{
    uint32_t minutes;
    bool unlimited;

    if (r->step)
        return;
    if (!job_limit(r->acct->job, &minutes, &unlimited))
        strbuf_add(sb, "Partition_Limit");
    else if (unlimited)
        strbuf_add(sb, "UNLIMITED");
    else
        put_hms(sb, (int64_t)minutes * 60);
}

JOB_FIELD(put_time_limit_raw, if (j->time_unlimited) strbuf_add(sb, "UNLIMITED");
          else if (j->has_time_limit_min) put_u64(sb, j->time_limit_min))

/* ---- fields of both -------------------------------------------------------------------------- */

#define BOTH_FIELD(name, of_job, of_step)                                                          \
    static void name(struct strbuf *sb, const struct sacct_row *r)                                 \
    {                                                                                              \
        const Pst__JobRecord *j = r->acct->job;                                                    \
        const Pst__StepRecord *s = r->step;                                                        \
                                                                                                   \
        if (s)                                                                                     \
            of_step;                                                                               \
        else                                                                                       \
            of_job;                                                                                \
        (void)j;                                                                                   \
    }

static void put_text(struct strbuf *sb, const char *text)
{
    if (text)
        strbuf_add(sb, text);
}

BOTH_FIELD(put_account, put_text(sb, j->account), put_text(sb, j->account))

/* Of the allocation; steps show it too. */
static void put_assoc_id(struct strbuf *sb, const struct sacct_row *r)
{
    if (r->acct->job->has_assoc_id)
        put_u64(sb, r->acct->job->assoc_id);
}

JOB_FIELD(put_qos_raw, if (j->has_qos_id) put_u64(sb, j->qos_id))
BOTH_FIELD(put_alloc_cpus, put_u64(sb, sacct_cpus(r)), put_u64(sb, sacct_cpus(r)))
BOTH_FIELD(put_alloc_nodes, put_u64(sb, j->alloc ? j->alloc->n_node_ids : 0),
           put_u64(sb, step_nodes(s)))
BOTH_FIELD(put_nnodes, put_u64(sb, job_nodes(j)), put_u64(sb, step_nodes(s)))

/* An extern step has all of its job's. */
static void put_alloc_tres(struct strbuf *sb, const struct sacct_row *r)
{
    if (!r->step || r->step->step_id == NAMES_STEP_EXTERN)
        put_sorted(sb, r, r->acct->job->alloc_tres);
    else
        put_own_tres(sb, r);
}

BOTH_FIELD(put_cluster, put_text(sb, r->cluster), put_text(sb, r->cluster))
BOTH_FIELD(put_suspended, put_hms(sb, sacct_suspended_s(r)), put_hms(sb, sacct_suspended_s(r)))
BOTH_FIELD(put_elapsed, put_hms(sb, sacct_elapsed_s(r)), put_hms(sb, sacct_elapsed_s(r)))
BOTH_FIELD(put_elapsed_raw, put_u64(sb, (uint64_t)sacct_elapsed_s(r)),
           put_u64(sb, (uint64_t)sacct_elapsed_s(r)))
BOTH_FIELD(put_name, put_text(sb, j->name), put_text(sb, step_display_name(s)))
BOTH_FIELD(put_req_cpus,
           put_u64(sb, MAX(MAX(j->num_tasks, 1u) * MAX(j->cpus_per_task, 1u), j->min_cpus)),
           put_u64(sb, sacct_cpus(r)))
BOTH_FIELD(put_req_nodes, put_u64(sb, j->min_nodes ? j->min_nodes : 1), put_u64(sb, step_nodes(s)))
BOTH_FIELD(put_sluid, put_text(sb, sacct_job_sluid(j)), put_text(sb, sacct_job_sluid(j)))
BOTH_FIELD(put_original_sluid, put_text(sb, j->sluid), put_text(sb, j->sluid))
BOTH_FIELD(put_container, put_text(sb, j->container), put_text(sb, s->container))
BOTH_FIELD(put_submit_line, put_text(sb, j->submit_line), put_text(sb, s->submit_line))
BOTH_FIELD(put_submit, put_stamp(sb, j->submit_us, "Unknown", r->now_us),
           put_stamp(sb, s->start_us, "Unknown", r->now_us))
BOTH_FIELD(put_eligible, put_stamp(sb, j->eligible_us, "Unknown", r->now_us),
           put_stamp(sb, s->start_us, "Unknown", r->now_us))
BOTH_FIELD(put_start, put_stamp(sb, j->start_us, "Unknown", r->now_us),
           put_stamp(sb, s->start_us, "Unknown", r->now_us))
BOTH_FIELD(put_end,
           put_stamp(sb, names_job_state_terminal((unsigned)j->state) ? j->end_us : 0, "Unknown",
                     r->now_us),
           put_stamp(sb, names_job_state_terminal((unsigned)s->state) ? s->end_us : 0, "Unknown",
                     r->now_us))
BOTH_FIELD(put_nodelist, put_text(sb, *job_nodelist(j) ? job_nodelist(j) : "None assigned"),
           put_text(sb, step_nodelist(s)))

/* How tasks are laid out; not known of a script. */
static void put_layout(struct strbuf *sb, const struct sacct_row *r)
{
    const char *word = r->step ? step_distribution(r->step) : "";

    strbuf_add(sb, word ? word : "Unknown");
}

static void put_exit(struct strbuf *sb, const struct sacct_row *r)
{
    put_exit_code(sb, sacct_exit_status(r));
}

static uint64_t cpu_time_s(const struct sacct_row *r)
{
    return (uint64_t)sacct_elapsed_s(r) * sacct_cpus(r);
}

static void put_cpu_seconds(struct strbuf *sb, const struct sacct_row *r)
{
    put_hms(sb, (int64_t)cpu_time_s(r));
}

static void put_cpu_seconds_raw(struct strbuf *sb, const struct sacct_row *r)
{
    put_u64(sb, cpu_time_s(r));
}

static void put_job_id(struct strbuf *sb, const struct sacct_row *r)
{
    struct job_row row = job_row_of(r);
    struct step_row step;

    if (r->step) {
        step = step_row_of(r);
        (r->live ? step_put_own_id : step_put_id)(sb, &step);
    } else {
        job_put_id(sb, &row);
    }
}

static void put_job_id_raw(struct strbuf *sb, const struct sacct_row *r)
{
    struct step_row step = step_row_of(r);
    Pst__StepRecord raw; /* shallow */

    if (r->step) {
        raw = *r->step;
        raw.het_job_id = 0;
        step.step = &raw;
        step.array_job_id = 0;
        step_put_id(sb, &step);
    } else {
        put_u64(sb, r->acct->job->job_id);
    }
}

static void put_state(struct strbuf *sb, const struct sacct_row *r)
{
    const Pst__JobRecord *j = r->acct->job;

    if (r->step) {
        strbuf_add(sb, names_step_state((unsigned)r->step->state));
        if (r->step->state == PST__STEP_STATE__STEP_CANCELLED && r->step->has_cancel_uid)
            strbuf_addf(sb, " by %u", r->step->cancel_uid);
        return;
    }
    strbuf_add(sb, sacct_job_state(j));
    if (j->state == PST__JOB_STATE__JOB_CANCELLED && j->has_cancel_uid)
        strbuf_addf(sb, " by %u", j->cancel_uid);
}

static void put_total_cpu(struct strbuf *sb, const struct sacct_row *r)
{
    uint64_t user_us, sys_us;

    sacct_cpu_us(r, &user_us, &sys_us);
    put_cpu_time(sb, user_us + sys_us);
}

static void put_user_cpu(struct strbuf *sb, const struct sacct_row *r)
{
    uint64_t user_us, sys_us;

    sacct_cpu_us(r, &user_us, &sys_us);
    put_cpu_time(sb, user_us);
}

static void put_system_cpu(struct strbuf *sb, const struct sacct_row *r)
{
    uint64_t user_us, sys_us;

    sacct_cpu_us(r, &user_us, &sys_us);
    put_cpu_time(sb, sys_us);
}

static void put_file(struct strbuf *sb, const struct sacct_row *r, enum job_file which)
{
    struct job_row row = job_row_of(r);

    if (r->step)
        put_text(sb, which == JOB_STDIN    ? r->step->std_in
                     : which == JOB_STDOUT ? r->step->std_out
                                           : r->step->std_err);
    else if (r->expand)
        job_put_file(sb, &row, which);
    else
        put_text(sb, job_file_pattern(row.job, which));
}

static void put_stdin(struct strbuf *sb, const struct sacct_row *r)
{
    put_file(sb, r, JOB_STDIN);
}

static void put_stdout(struct strbuf *sb, const struct sacct_row *r)
{
    put_file(sb, r, JOB_STDOUT);
}

static void put_stderr(struct strbuf *sb, const struct sacct_row *r)
{
    put_file(sb, r, JOB_STDERR);
}

/* ---- fields of steps (empty for jobs) -------------------------------------------------------- */

/* No frequency can be asked for; the batch step records that as a number. */
BOTH_FIELD(put_cpu_freq, strbuf_add(sb, "Unknown"),
           strbuf_add(sb, s->step_id == NAMES_STEP_BATCH || s->step_id == NAMES_STEP_EXTERN
                              ? "0"
                              : "Unknown"))

static void put_ntasks(struct strbuf *sb, const struct sacct_row *r)
{
    if (r->step)
        put_u64(sb, step_tasks(r->step));
}

/* Of a job: of all its steps. */
static void put_energy_of(struct strbuf *sb, const struct sacct_row *r, bool raw)
{
    uint64_t joule = 0;

    for (size_t i = 0; i < r->acct->n_steps; i++)
        if (r->acct->steps[i]->usage && (!r->step || r->acct->steps[i] == r->step))
            joule += r->acct->steps[i]->usage->energy_j;
    if (raw || r->noconvert || joule < 1000)
        put_u64(sb, joule);
    else
        use_put_energy(sb, joule);
}

static void put_energy(struct strbuf *sb, const struct sacct_row *r)
{
    put_energy_of(sb, r, false);
}

static void put_energy_raw(struct strbuf *sb, const struct sacct_row *r)
{
    put_energy_of(sb, r, true);
}

/* The batch step says nothing of what it has. */
static void put_step_tres(struct strbuf *sb, const struct sacct_row *r)
{
    if (r->step->step_id < NAMES_STEP_INTERACTIVE)
        put_own_tres(sb, r);
}

static void put_pids(struct strbuf *sb, const struct sacct_row *r)
{
    for (size_t i = 0; i < r->n_pids; i++)
        strbuf_addf(sb, "%s%u", i ? "," : "", r->pids[i]);
}

/* ---- table ----------------------------------------------------------------------------------- */

/* What sacct and sstat both have. */
/* clang-format off */
#define USE_MAX_FIELDS                                                                             \
    { "MaxDiskRead", 12, use_max_read },                                                           \
    { "MaxDiskReadNode", 15, use_max_read_node },                                                  \
    { "MaxDiskReadTask", 15, use_max_read_task },                                                  \
    { "MaxDiskWrite", 12, use_max_written },                                                       \
    { "MaxDiskWriteNode", 16, use_max_written_node },                                              \
    { "MaxDiskWriteTask", 16, use_max_written_task },                                              \
    { "MaxPages", 8, use_max_pages },                                                              \
    { "MaxPagesNode", 12, use_max_pages_node },                                                    \
    { "MaxPagesTask", 14, use_max_pages_task },                                                    \
    { "MaxRSS", 10, use_max_rss },                                                                 \
    { "MaxRSSNode", 10, use_max_rss_node },                                                        \
    { "MaxRSSTask", 10, use_max_rss_task },                                                        \
    { "MaxVMSize", 10, use_max_vm },                                                               \
    { "MaxVMSizeNode", 14, use_max_vm_node },                                                      \
    { "MaxVMSizeTask", 14, use_max_vm_task }
#define USE_MIN_FIELDS                                                                             \
    { "MinCPU", 10, use_min_cpu },                                                                 \
    { "MinCPUNode", 10, use_min_cpu_node },                                                        \
    { "MinCPUTask", 10, use_min_cpu_task }
#define USE_TRES_FIELDS                                                                            \
    { "TRESUsageInAve", 14, use_in_ave },                                                          \
    { "TRESUsageInMax", 14, use_in_max },                                                          \
    { "TRESUsageInMaxNode", 18, use_in_max_node },                                                 \
    { "TRESUsageInMaxTask", 18, use_in_max_task },                                                 \
    { "TRESUsageInMin", 14, use_in_min },                                                          \
    { "TRESUsageInMinNode", 18, use_in_min_node },                                                 \
    { "TRESUsageInMinTask", 18, use_in_min_task },                                                 \
    { "TRESUsageInTot", 14, use_in_tot },                                                          \
    { "TRESUsageOutAve", 15, use_out_ave },                                                        \
    { "TRESUsageOutMax", 15, use_out_max },                                                        \
    { "TRESUsageOutMaxNode", 19, use_out_max_node },                                               \
    { "TRESUsageOutMaxTask", 19, use_out_max_task },                                               \
    { "TRESUsageOutMin", 15, use_out_min },                                                        \
    { "TRESUsageOutMinNode", 19, use_out_min_node },                                               \
    { "TRESUsageOutMinTask", 19, use_out_min_task },                                               \
    { "TRESUsageOutTot", 15, use_out_tot }
/* clang-format on */

const struct sacct_field sacct_fields[] = {
    { "Account", 10, put_account },
    { "AdminComment", 15, put_admin_comment },
    { "AllocCPUS", 10, put_alloc_cpus, SACCT_WHOLE },
    { "AllocNodes", 10, put_alloc_nodes, SACCT_WHOLE },
    { "AllocTRES", 10, put_alloc_tres },
    { "AssocID", 7, put_assoc_id, SACCT_WHOLE },
    { "AveCPU", 10, use_ave_cpu },
    { "AveCPUFreq", 10, use_ave_freq },
    { "AveDiskRead", 14, use_ave_read },
    { "AveDiskWrite", 14, use_ave_written },
    { "AvePages", 10, use_ave_pages },
    { "AveRSS", 10, use_ave_rss },
    { "AveVMSize", 10, use_ave_vm },
    { "BlockID", 16, NULL },
    { "Cluster", 10, put_cluster },
    { "Comment", 14, put_comment },
    { "Constraints", 19, put_constraints },
    { "ConsumedEnergy", 14, put_energy },
    { "ConsumedEnergyRaw", 17, put_energy_raw, SACCT_WHOLE },
    { "Container", 19, put_container },
    { "CPUTime", 10, put_cpu_seconds, SACCT_WHOLE },
    { "CPUTimeRAW", 10, put_cpu_seconds_raw, SACCT_WHOLE },
    { "DBIndex", -21, put_db_index, SACCT_WHOLE },
    { "DerivedExitCode", 15, put_derived },
    { "Elapsed", 10, put_elapsed, SACCT_WHOLE },
    { "ElapsedRaw", 10, put_elapsed_raw, SACCT_WHOLE },
    { "Eligible", 19, put_eligible, SACCT_CUT },
    { "End", 19, put_end, SACCT_CUT },
    { "Exclusive", 14, put_exclusive },
    { "ExitCode", 8, put_exit },
    { "Extra", 14, put_extra },
    { "FailedNode", 8, put_failed_node },
    { "Flags", 19, put_flags },
    { "GID", 6, put_gid, SACCT_WHOLE },
    { "Group", 9, put_group },
    { "JobID", -12, put_job_id },
    { "JobIDRaw", -12, put_job_id_raw },
    { "JobName", 10, put_name },
    { "Layout", 9, put_layout },
    { "Licenses", 10, put_licenses },
    USE_MAX_FIELDS,
    { "McsLabel", 12, put_mcs_label },
    USE_MIN_FIELDS,
    { "NCPUS", 10, put_alloc_cpus, SACCT_WHOLE },
    { "NNodes", 8, put_nnodes, SACCT_WHOLE },
    { "NodeList", 15, put_nodelist },
    { "NTasks", 8, put_ntasks, SACCT_WHOLE },
    { "OriginalSLUID", 14, put_original_sluid },
    { "OverSubscribe", 14, put_oversubscribe },
    { "Partition", 10, put_partition },
    { "Planned", 10, put_planned, SACCT_WHOLE },
    { "PlannedCPU", 10, put_planned_cpu, SACCT_WHOLE },
    { "PlannedCPURAW", 13, put_planned_cpu_raw, SACCT_WHOLE },
    { "Priority", 10, put_priority, SACCT_WHOLE },
    { "QOS", 10, put_qos },
    { "QOSRAW", 6, put_qos_raw, SACCT_WHOLE },
    { "QOSREQ", 10, put_qos_req },
    { "Reason", 22, put_reason },
    { "ReqCPUFreq", 10, put_cpu_freq },
    { "ReqCPUFreqGov", 13, put_cpu_freq },
    { "ReqCPUFreqMax", 13, put_cpu_freq },
    { "ReqCPUFreqMin", 13, put_cpu_freq },
    { "ReqCPUS", 8, put_req_cpus, SACCT_WHOLE },
    { "ReqMem", 10, put_req_mem },
    { "ReqNodes", 8, put_req_nodes, SACCT_WHOLE },
    { "ReqTRES", 10, put_req_tres },
    { "Reservation", 20, put_reservation },
    { "ReservationId", 8, put_resv_id, SACCT_WHOLE },
    { "ReqReservation", 20, put_req_reservation },
    { "Restarts", 8, put_restarts, SACCT_WHOLE },
    { "SegmentSize", 11, put_segment, SACCT_WHOLE },
    { "SLUID", 14, put_sluid },
    { "Start", 19, put_start, SACCT_CUT },
    { "State", 10, put_state },
    { "StdErr", 20, put_stderr },
    { "StdIn", 20, put_stdin },
    { "StdOut", 20, put_stdout },
    { "Submit", 19, put_submit, SACCT_CUT },
    { "SubmitLine", 20, put_submit_line },
    { "Suspended", 10, put_suspended, SACCT_WHOLE },
    { "SystemComment", 15, put_system_comment },
    { "SystemCPU", 10, put_system_cpu },
    { "Timelimit", 10, put_time_limit },
    { "TimelimitRaw", 10, put_time_limit_raw },
    { "TotalCPU", 10, put_total_cpu },
    USE_TRES_FIELDS,
    { "UID", 6, put_uid, SACCT_WHOLE },
    { "User", 9, put_user },
    { "UserCPU", 10, put_user_cpu },
    { "WCKey", 10, put_wckey },
    { "WCKeyID", 10, put_wckey_id, SACCT_WHOLE },
    { "WorkDir", 20, put_work_dir },
};
const size_t sacct_n_fields = ARRAY_SIZE(sacct_fields);

/* What sstat has: the fields about the use of running steps. */
static const struct sacct_field sstat_table[] = {
    { "AllocTRES", 10, put_step_tres },
    { "AveCPU", 10, use_ave_cpu },
    { "AveCPUFreq", 10, use_ave_freq },
    { "AveDiskRead", 12, use_ave_read },
    { "AveDiskWrite", 12, use_ave_written },
    { "AvePages", 10, use_ave_pages },
    { "AveRSS", 10, use_ave_rss },
    { "AveVMSize", 10, use_ave_vm },
    { "ConsumedEnergy", 14, put_energy },
    { "ConsumedEnergyRaw", 17, put_energy_raw, SACCT_WHOLE },
    { "JobID", -12, put_job_id },
    USE_MAX_FIELDS,
    USE_MIN_FIELDS,
    { "Nodelist", 20, put_nodelist },
    { "NTasks", 8, put_ntasks, SACCT_WHOLE },
    { "Pids", 20, put_pids },
    { "ReqCPUFreq", 10, put_cpu_freq },
    { "ReqCPUFreqMin", 13, put_cpu_freq },
    { "ReqCPUFreqMax", 13, put_cpu_freq },
    { "ReqCPUFreqGov", 13, put_cpu_freq },
    { "SLUID", 14, put_sluid },
    USE_TRES_FIELDS,
};
const struct sacct_table sacct_table = { sacct_fields, ARRAY_SIZE(sacct_fields) };
const struct sacct_table sstat_fields = { sstat_table, ARRAY_SIZE(sstat_table) };
