/* out_job.c - job records in words; see out_job.h.
 *
 * The one place that knows which record field answers which question, so that all commands agree.
 * No allocation beyond the caller's strbuf, no I/O but the name service for records without a user
 * name. */
#include "cli/query/out_job.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "cli/query/out_users.h"
#include "model/words/names.h"
#include "model/words/reqtres.h"

#define BITSTR_DEFAULT 64u
#define NO_TASK 4294967294u /* how %a of a job that is no array task reads */
#define TEXT_MAX 64u        /* any formatted number or time; strftime formats are cut */

void put_u64(struct strbuf *sb, uint64_t n)
{
    char buf[20];
    size_t i = sizeof(buf);

    do
        buf[--i] = (char)('0' + n % 10);
    while (n /= 10);
    strbuf_addn(sb, buf + i, sizeof(buf) - i);
}

void put_mib(struct strbuf *sb, uint64_t mib, bool noconvert)
{
    char buf[TEXT_MAX];

    if (!mib) {
        strbuf_addc(sb, '0');
        return;
    }
    size_mib_fmt(mib, noconvert, buf, sizeof(buf));
    strbuf_add(sb, buf);
}

void put_stamp(struct strbuf *sb, int64_t us, const char *none, int64_t now_us)
{
    char buf[256];

    if (us <= 0) {
        strbuf_add(sb, none);
        return;
    }
    time_fmt_stamp(us, none, now_us, buf, sizeof(buf));
    strbuf_add(sb, buf);
}

/* By hand: this is printed for every job of a listing. */
void put_short_time(struct strbuf *sb, int64_t seconds)
{
    char buf[TEXT_MAX];

    if (seconds < 0 || seconds >= 3600) {
        time_fmt_short(seconds, buf, sizeof(buf));
        strbuf_add(sb, buf);
        return;
    }
    put_u64(sb, (uint64_t)seconds / 60);
    buf[0] = ':';
    buf[1] = (char)('0' + seconds % 60 / 10);
    buf[2] = (char)('0' + seconds % 10);
    strbuf_addn(sb, buf, 3);
}

void put_hms(struct strbuf *sb, int64_t seconds)
{
    char buf[TEXT_MAX];

    time_fmt_hms(seconds, buf, sizeof(buf));
    strbuf_add(sb, buf);
}

unsigned job_bitstr_len(void)
{
    const char *text = getenv("SLURM_BITSTR_LEN");
    uint64_t n;

    if (!text || parse_u64(text, 0, 65536, &n) < 0)
        return BITSTR_DEFAULT;
    return (unsigned)n;
}

/* ---- names ----------------------------------------------------------------------------------- */

bool job_is_array(const struct job_row *r)
{
    return r->job->array_job_id != 0;
}

uint32_t job_group_id(const Pst__JobRecord *j)
{
    return j->array_job_id ? j->array_job_id : j->het_job_id;
}

uint32_t job_array_id(const struct job_row *r)
{
    return job_is_array(r) ? r->job->array_job_id : r->job->job_id;
}

/* A list cut so that it and the dots stay below max bytes.  "%4", the tasks at a time, stays. */
static void put_list_cut(struct strbuf *sb, const char *list, unsigned max)
{
    size_t len = strcspn(list, "%");

    if (!max || len < max) {
        strbuf_add(sb, list);
        return;
    }
    strbuf_addn(sb, list, max > 4 ? max - 4 : 0);
    strbuf_addf(sb, "...%s", list + len);
}

void job_put_tasks(struct strbuf *sb, const struct job_row *r)
{
    if (r->has_task)
        put_u64(sb, r->task);
    else if (r->job->array_tasks && r->no_throttle)
        strbuf_addn(sb, r->job->array_tasks, strcspn(r->job->array_tasks, "%"));
    else if (r->job->array_tasks)
        put_list_cut(sb, r->job->array_tasks, r->bitstr_len);
    else if (r->job->has_array_task_id && job_is_array(r))
        put_u64(sb, r->job->array_task_id);
    else
        strbuf_add(sb, "N/A");
}

void job_put_id(struct strbuf *sb, const struct job_row *r)
{
    bool set = r->job->array_tasks && !r->has_task;
    size_t begin = sb->len;

    if (r->job->het_job_id) {
        put_u64(sb, r->job->het_job_id);
        strbuf_addc(sb, '+');
        put_u64(sb, r->job->het_offset);
        return;
    }
    put_u64(sb, job_array_id(r));
    if (!set && !r->has_task && !(r->job->has_array_task_id && job_is_array(r)))
        return;
    strbuf_add(sb, set ? "_[" : "_");
    job_put_tasks(sb, r);
    if (set)
        strbuf_addc(sb, ']');
    if (set && r->cut_id && sb->len - begin > JOB_ID_MAX) {
        sb->len = begin + JOB_ID_MAX;
        sb->buf[sb->len] = '\0';
    }
}

const char *job_user(const Pst__JobRecord *j)
{
    return j->user_name ? j->user_name : user_name_of(j->uid);
}

const char *job_group(const Pst__JobRecord *j)
{
    return j->group_name ? j->group_name : group_name_of(j->gid);
}

const char *job_partition(const struct job_row *r)
{
    return r->partition ? r->partition : r->job->partition ? r->job->partition : "(null)";
}

/* ---- state ----------------------------------------------------------------------------------- */

const char *job_state_word(const struct job_row *r, bool compact)
{
    return names_job_state_word((unsigned)r->job->state, r->job->state_flags, compact);
}

bool job_is_pending(const struct job_row *r)
{
    return r->job->state == PST__JOB_STATE__JOB_PENDING;
}

bool job_is_copy(const struct job_row *r)
{
    const Pst__JobRecord *j = r->job;

    return (j->state_flags & 1u << PST__JOB_FLAG__JOB_FLAG_REVOKED) ||
           (job_is_pending(r) && j->fed_origin && r->cluster &&
            strcasecmp(j->fed_origin, r->cluster) != 0);
}

bool job_is_terminal(const struct job_row *r)
{
    return names_job_state_terminal((unsigned)r->job->state);
}

const char *job_pend_text(const Pst__JobRecord *j)
{
    if (j->pend_text || j->pend_reason != PST__JOB_REASON__REASON_REQ_NODE_NOT_AVAIL)
        return j->pend_text;
    return "ReqNodeNotAvail, May be reserved for other job";
}

unsigned job_reason_number(const Pst__JobRecord *j)
{
    if (j->reason == PST__JOB_REASON__REASON_NONE && j->state == PST__JOB_STATE__JOB_RUNNING &&
        j->node_prologs && !(j->state_flags & 1u << PST__JOB_FLAG__JOB_FLAG_CONFIGURING))
        return PST__JOB_REASON__REASON_PROLOG;
    return (unsigned)j->reason;
}

const char *job_reason(const struct job_row *r)
{
    const Pst__JobRecord *j = r->job;

    if (j->reason_text)
        return j->reason_text;
    if (j->reason != PST__JOB_REASON__REASON_NONE || !job_is_pending(r))
        return names_reason(job_reason_number(j));
    if (job_pend_text(j))
        return job_pend_text(j);
    if (j->has_priority && j->priority == 0)
        return names_reason(j->held_by_user ? PST__JOB_REASON__REASON_JOB_HELD_USER
                                            : PST__JOB_REASON__REASON_JOB_HELD_ADMIN);
    return names_reason((unsigned)j->pend_reason);
}

const char *job_waited_for(const struct job_row *r)
{
    const Pst__JobRecord *j = r->job;

    if (j->start_us > 0)
        return names_reason((unsigned)j->waited_for);
    return j->reason == PST__JOB_REASON__REASON_DEADLINE ? "None" : job_reason(r);
}

uint32_t job_priority(const struct job_row *r)
{
    const Pst__JobRecord *j = r->job;

    return j->has_cur_priority && !(j->has_priority && !j->priority) ? j->cur_priority
                                                                     : j->priority;
}

/* ---- times ----------------------------------------------------------------------------------- */

int64_t job_accrue_us(const struct job_row *r)
{
    const Pst__JobRecord *j = r->job;

    if (j->has_accrue_us) /* 0: limits on jobs that age keep it from doing so */
        return j->accrue_us;
    return j->eligible_us > 0 && j->eligible_us <= r->now_us ? j->eligible_us : 0;
}

int64_t job_eligible_us(const struct job_row *r)
{
    const Pst__JobRecord *j = r->job;

    return j->eligible_us > 0 || !job_is_pending(r) ? j->eligible_us : j->begin_us;
}

int64_t job_start_us(const struct job_row *r)
{
    const Pst__JobRecord *j = r->job;

    if (!job_is_pending(r)) /* one that ended while it waited began when it ended */
        return j->start_us ? j->start_us : j->end_us;
    if (j->has_expected_start_us)
        return j->expected_start_us;
    return j->begin_us > r->now_us ? j->begin_us : 0;
}

bool job_limit(const Pst__JobRecord *j, uint32_t *ret_minutes, bool *ret_unlimited)
{
    *ret_unlimited = j->time_unlimited;
    *ret_minutes = j->time_limit_min;
    return j->time_unlimited || j->has_time_limit_min;
}

int64_t job_end_us(const struct job_row *r)
{
    const Pst__JobRecord *j = r->job;
    int64_t start = job_start_us(r);
    uint32_t minutes;
    bool unlimited;

    if (!job_is_pending(r))
        return j->end_us;
    if (!start || !job_limit(j, &minutes, &unlimited) || unlimited)
        return 0;
    return start + (int64_t)minutes * 60 * USEC_PER_SEC;
}

int64_t job_elapsed_s(const struct job_row *r)
{
    const Pst__JobRecord *j = r->job;
    int64_t until = r->now_us;

    if (job_is_pending(r) || j->start_us <= 0)
        return 0;
    if (job_is_terminal(r)) /* of the times as they are shown: End - Start, as reports sum it up */
        return MAX(0, j->end_us / USEC_PER_SEC - j->start_us / USEC_PER_SEC -
                          j->suspended_us / USEC_PER_SEC);
    if (j->state == PST__JOB_STATE__JOB_SUSPENDED && j->suspend_us)
        until = j->suspend_us;
    until -= j->start_us + j->suspended_us;
    return until > 0 ? until / USEC_PER_SEC : 0;
}

/* ---- resources ------------------------------------------------------------------------------- */

uint32_t job_nodes(const Pst__JobRecord *j)
{
    if (j->alloc && j->alloc->n_node_ids)
        return (uint32_t)j->alloc->n_node_ids;
    return MAX(j->min_nodes ? j->min_nodes : 1, j->least_nodes);
}

const char *job_features(const Pst__JobRecord *j)
{
    return j->has_got_preferred && j->got_preferred ? j->prefer : j->features;
}

uint32_t job_max_nodes(const Pst__JobRecord *j)
{
    uint32_t most = j->has_max_nodes && j->max_nodes ? j->max_nodes : j->num_tasks;

    return MAX(most, job_nodes(j));
}

bool job_holds_nodes(const Pst__JobRecord *j)
{
    return j->alloc && j->alloc->n_node_ids;
}

uint32_t job_tasks(const Pst__JobRecord *j)
{
    bool any = j->has_max_nodes && !j->max_nodes; /* its partition's doing */
    uint32_t nodes = job_holds_nodes(j) ? job_nodes(j) : any || !j->min_nodes ? 1 : j->min_nodes;

    if (j->num_tasks)
        return j->num_tasks;
    return j->ntasks_per_node ? nodes * j->ntasks_per_node : nodes;
}

uint32_t job_cpus(const Pst__JobRecord *j)
{
    if (j->alloc && j->alloc->total_cpus)
        return j->alloc->total_cpus;
    if (j->expected_cpus &&
        names_job_state_terminal((unsigned)j->state)) /* never ran: what it was to have */
        return j->expected_cpus;
    return job_asked_cpus(j);
}

uint32_t job_asked_cpus(const Pst__JobRecord *j)
{
    uint32_t cpus;

    if (j->overcommit)
        return MAX(job_nodes(j), j->min_cpus); /* sized as with a task a node */
    cpus = (job_holds_nodes(j) ? job_tasks(j) : reqtres_tasks(j)) *
           MAX(j->has_asked_cpus_per_task ? j->asked_cpus_per_task : j->cpus_per_task, 1u);
    return MAX(cpus, j->min_cpus);
}

const char *job_nodelist(const Pst__JobRecord *j)
{
    return j->alloc && j->alloc->nodes ? j->alloc->nodes : "";
}

bool job_put_batch_host(struct strbuf *sb, const Pst__JobRecord *j)
{
    const char *nodes = job_nodelist(j), *open = strchr(nodes, '[');
    size_t len = strcspn(nodes, ",");

    if (j->batch_host) {
        strbuf_add(sb, j->batch_host);
        return true;
    }
    if (!*nodes)
        return false;
    if (!open || open > nodes + len) {
        strbuf_addn(sb, nodes, len);
        return true;
    }
    /* n[3-5,9]-ib: the first number of each bracket. */
    for (const char *p = nodes; *p && *p != ',';) {
        if (*p != '[') {
            strbuf_addc(sb, *p++);
            continue;
        }
        p++;
        strbuf_addn(sb, p, strcspn(p, "-,]"));
        p += strcspn(p, "]");
        p += *p == ']';
    }
    return true;
}

bool job_put_cpus_per_tres(struct strbuf *sb, const Pst__JobRecord *j)
{
    if (j->has_cpus_per_gpu)
        strbuf_addf(sb, "gres/gpu:%u", j->cpus_per_gpu);
    else if (j->has_def_cpus_per_gpu)
        strbuf_addf(sb, "gpu:%u", j->def_cpus_per_gpu);
    return j->has_cpus_per_gpu || j->has_def_cpus_per_gpu;
}

bool job_put_mem_per_tres(struct strbuf *sb, const Pst__JobRecord *j)
{
    if (j->has_mem_per_gpu_mib)
        strbuf_addf(sb, "gres/gpu:%ju", (uintmax_t)j->mem_per_gpu_mib);
    else if (j->has_def_mem_per_gpu_mib)
        strbuf_addf(sb, "gpu:%ju", (uintmax_t)j->def_mem_per_gpu_mib);
    return j->has_mem_per_gpu_mib || j->has_def_mem_per_gpu_mib;
}

void job_put_min_memory(struct strbuf *sb, const struct job_row *r)
{
    const Pst__JobRecord *j = r->job;

    put_mib(sb,
            j->has_mem_per_gpu_mib       ? j->mem_per_gpu_mib
            : j->has_def_mem_per_gpu_mib ? j->def_mem_per_gpu_mib
            : j->has_mem_per_node_mib    ? j->mem_per_node_mib
                                         : j->mem_per_cpu_mib,
            r->noconvert);
}

void job_put_req_tres(struct strbuf *sb, const struct job_row *r)
{
    reqtres_put(sb, r->job, r->noconvert);
}

uint32_t job_min_cpus(const Pst__JobRecord *j)
{
    /* of CPUs that its memory adds, each node has those of one task alone at least */
    bool asked = j->has_asked_cpus_per_task && j->num_tasks > 1;
    uint32_t each = MAX(asked ? j->asked_cpus_per_task : j->cpus_per_task, 1u);
    uint32_t tasks = j->ntasks_per_node ? j->ntasks_per_node * each : each;

    return j->pn_min_cpus > tasks ? j->pn_min_cpus : tasks;
}

const char *job_oversubscribe(const Pst__JobRecord *j)
{
    if (j->oversubscribe)
        return "YES";
    return j->has_oversubscribe && j->state == PST__JOB_STATE__JOB_PENDING ? "OK" : "NO";
}

const char *job_exclusive(const Pst__JobRecord *j)
{
    static const char *const words[] = { "NO", "NODE", "USER", "MCS", "TOPO" };

    if (!j->exclusive && j->whole_nodes)
        return "NODE"; /* its partition's doing */
    return j->exclusive < ARRAY_SIZE(words) ? words[j->exclusive] : "NO";
}

const char *job_mail_word(const Pst__JobRecord *j, unsigned *at)
{
    /* In the order of jobtext_mail_word(), which the submission commands have. */
    static const struct {
        uint32_t bit;
        const char *word;
    } words[] = {
        { 0x400, "INVALID_DEPEND" },
        { 0x1, "BEGIN" },
        { 0x2, "END" },
        { 0x4, "FAIL" },
        { 0x8, "REQUEUE" },
        { 0x100, "STAGE_OUT" },
        { 0x80, "TIME_LIMIT_50" },
        { 0x40, "TIME_LIMIT_80" },
        { 0x20, "TIME_LIMIT_90" },
        { 0x10, "TIME_LIMIT" },
        { 0x200, "ARRAY_TASKS" },
    };

    while (*at < ARRAY_SIZE(words))
        if (j->mail_type & words[(*at)++].bit)
            return words[*at - 1].word;
    return NULL;
}

/* ---- ends ------------------------------------------------------------------------------------ */

uint32_t exit_code_of(uint32_t status)
{
    return WIFEXITED((int)status) ? (uint32_t)WEXITSTATUS((int)status) : 0;
}

uint32_t exit_signal_of(uint32_t status)
{
    return WIFSIGNALED((int)status) ? (uint32_t)WTERMSIG((int)status) : 0;
}

void put_exit_code(struct strbuf *sb, uint32_t status)
{
    put_u64(sb, exit_code_of(status));
    strbuf_addc(sb, ':');
    put_u64(sb, exit_signal_of(status));
}

/* ---- files ----------------------------------------------------------------------------------- */

const char *job_file_pattern(const Pst__JobRecord *j, enum job_file which)
{
    if (!j->batch)
        return which == JOB_STDIN ? j->std_in : which == JOB_STDOUT ? j->std_out : j->std_err;
    if (which == JOB_STDIN)
        return j->std_in ? j->std_in : "/dev/null";
    if (which == JOB_STDERR)
        return j->std_err;
    if (j->std_out)
        return j->std_out;
    return j->array_job_id ? "slurm-%A_%a.out" : "slurm-%j.out";
}

static void put_padded(struct strbuf *sb, uint64_t n, unsigned width)
{
    strbuf_addf(sb, "%0*llu", (int)width, (unsigned long long)n);
}

/* One %-letter; false when it is none that a job (rather than a task) can answer. */
static bool put_pattern(struct strbuf *sb, const struct job_row *r, char letter, unsigned width)
{
    const Pst__JobRecord *j = r->job;
    uint32_t task = r->has_task                               ? r->task
                    : j->array_job_id && j->has_array_task_id ? j->array_task_id
                                                              : NO_TASK;

    switch (letter) {
    case 'A':
        put_padded(sb, job_array_id(r), width);
        return true;
    case 'a':
        put_padded(sb, task, width);
        return true;
    case 'b':
        put_padded(sb, task % 10, width);
        return true;
    case 'j':
        put_padded(sb, j->job_id, width);
        return true;
    case 'J':
        put_padded(sb, j->job_id, width);
        return true;
    case 'n':
    case 't':
        put_padded(sb, 0, width);
        return true;
    case 's':
        strbuf_add(sb, "batch");
        return true;
    case 'N':
        return job_put_batch_host(sb, j);
    case 'r':
        put_padded(sb, j->restart_count, width);
        return true;
    case 'S':
        strbuf_add(sb, j->sluid ? j->sluid : "");
        return true;
    case 'u':
        strbuf_add(sb, job_user(j));
        return true;
    case 'x':
        strbuf_add(sb, j->name ? j->name : "");
        return true;
    case '%':
        strbuf_addc(sb, '%');
        return true;
    default:
        return false;
    }
}

void job_put_file(struct strbuf *sb, const struct job_row *r, enum job_file which)
{
    const char *p = job_file_pattern(r->job, which);
    bool literal;

    if (!p || !*p)
        return;
    if (*p != '/' && r->job->work_dir) {
        strbuf_add(sb, r->job->work_dir);
        strbuf_addc(sb, '/');
    }
    literal = p[0] == '\\' && p[1] == '\\';
    p += literal ? 2 : 0;
    while (*p) {
        const char *q = p + 1;
        unsigned width = 0;

        if (*p != '%' || literal) {
            size_t len = literal ? strlen(p) : strcspn(p, "%");

            strbuf_addn(sb, p, len);
            p += len;
            continue;
        }
        for (; *q >= '0' && *q <= '9'; q++)
            width = width < 10 ? width * 10 + (unsigned)(*q - '0') : width;
        if (*q && put_pattern(sb, r, *q, MIN(width, 10u)))
            p = q + 1;
        else
            strbuf_addc(sb, *p++);
    }
}
