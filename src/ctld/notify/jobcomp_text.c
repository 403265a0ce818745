/* jobcomp_text.c - a finished run as a line and as JSON; pure functions of the note */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/pb/pbutil.h"
#include "base/safetext.h"
#include "base/timefmt.h"
#include "ctld/notify/jobcomp.h"
#include "model/words/names.h"
#include "model/words/reqtres.h"

const char *jobcomp_exit(bool has, uint32_t status, char *buf)
{
    int s = has ? (int)status : 0;

    (void)snprintf(buf, JOBCOMP_EXIT_MAX, "%d:%d", WIFEXITED(s) ? WEXITSTATUS(s) : 0,
                   WIFSIGNALED(s) ? WTERMSIG(s) : 0);
    return buf;
}

const char *jobcomp_state(const Pst__JobRecord *r)
{
    if (job_has_flag(r, JOB_FLAG(REQUEUED)) && job_state(r) == JOB_STATE(CANCELLED))
        return "REQUEUED";
    return names_job_state(job_state(r));
}

uint32_t jobcomp_cpus(const Pst__JobRecord *r)
{
    uint32_t tasks = r->has_num_tasks ? r->num_tasks : MAX(r->min_nodes, 1u);
    uint32_t asked = tasks * (r->has_cpus_per_task ? MAX(r->cpus_per_task, 1u) : 1u);

    if (r->alloc)
        return r->alloc->total_cpus;
    if (job_is_ended(r) && !r->start_us)
        return 0;
    return r->has_min_cpus ? MAX(r->min_cpus, asked) : asked;
}

uint32_t jobcomp_nodes(const Pst__JobRecord *r)
{
    struct hostlist *hl = NULL;
    uint32_t n;

    if (!r->alloc || !r->alloc->nodes || hostlist_parse(r->alloc->nodes, &hl, NULL) < 0)
        return r->has_min_nodes ? MAX(r->min_nodes, 1u) : 1;
    n = (uint32_t)hostlist_count(hl);
    hostlist_free(hl);
    return n;
}

int64_t jobcomp_start_us(const Pst__JobRecord *r)
{
    return r->has_start_us && r->start_us ? r->start_us : r->has_end_us ? r->end_us : 0;
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static const char *nodes_of(const Pst__JobRecord *r)
{
    return r->alloc ? r->alloc->nodes : NULL;
}

/* ---- filetxt --------------------------------------------------------------------------------- */

static void put_stamp(struct strbuf *sb, const char *name, int64_t us)
{
    char text[64];

    time_fmt_stamp(us, "Unknown", us, text, sizeof(text));
    strbuf_addf(sb, "%s=%s ", name, text);
}

static void put_owner(struct strbuf *sb, const char *name, const char *text, uint32_t id)
{
    if (text)
        strbuf_addf(sb, "%s=%s(%u) ", name, text, id);
    else
        strbuf_addf(sb, "%s=%u(%u) ", name, id, id);
}

static void put_limit(struct strbuf *sb, const Pst__JobRecord *r)
{
    if (r->has_time_unlimited && r->time_unlimited)
        strbuf_add(sb, "TimeLimit=UNLIMITED ");
    else if (r->has_time_limit_min)
        strbuf_addf(sb, "TimeLimit=%u ", r->time_limit_min);
    else
        strbuf_add(sb, "TimeLimit=Partition_Limit ");
}

/* A value must not break the line. */
static void put_text(struct strbuf *sb, const char *name, const char *value)
{
    size_t start;

    strbuf_addf(sb, "%s=", name);
    start = sb->len;
    strbuf_addf(sb, "%s ", or_empty(value));
    if (!sb->failed)
        safetext_clean_n(sb->buf + start, sb->len - start);
}

static void put_groups(struct strbuf *sb, const Pst__JobRecord *r)
{
    if (r->has_array_job_id && r->has_array_task_id)
        strbuf_addf(sb, "ArrayJobId=%u ArrayTaskId=%u ", r->array_job_id, r->array_task_id);
    if (r->has_het_job_id && r->het_job_id)
        strbuf_addf(sb, "HetJobId=%u HetJobOffset=%u ", r->het_job_id, r->het_offset);
}

int jobcomp_line(const Pst__JobNote *note, const char *cluster, struct strbuf *sb)
{
    const Pst__JobRecord *r = note->job;
    char code[JOBCOMP_EXIT_MAX];

    strbuf_addf(sb, "JobId=%u ", r->job_id);
    put_owner(sb, "UserId", r->user_name, r->uid);
    put_owner(sb, "GroupId", r->group_name, r->gid);
    put_text(sb, "Name", r->name);
    /* a run that was queued again ended as a job that waits */
    strbuf_addf(sb, "JobState=%s ",
                strcmp(jobcomp_state(r), "REQUEUED") == 0 ? "PENDING" : jobcomp_state(r));
    put_text(sb, "Partition", r->partition);
    put_limit(sb, r);
    put_stamp(sb, "StartTime", jobcomp_start_us(r));
    put_stamp(sb, "EndTime", r->has_end_us ? r->end_us : 0);
    put_text(sb, "NodeList", nodes_of(r) ? nodes_of(r) : "(null)");
    strbuf_addf(sb, "NodeCnt=%u ProcCnt=%u ", r->alloc ? jobcomp_nodes(r) : 0, jobcomp_cpus(r));
    put_text(sb, "WorkDir", r->work_dir);
    put_text(sb, "ReservationName", r->reservation);
    strbuf_add(sb, "Tres=");
    reqtres_put(sb, r, false);
    strbuf_addc(sb, ' ');
    put_text(sb, "Account", r->account);
    put_text(sb, "QOS", r->qos);
    put_text(sb, "WcKey", r->wckey);
    put_text(sb, "Cluster", cluster);
    put_stamp(sb, "SubmitTime", r->has_requeue_us ? r->requeue_us : r->submit_us);
    put_stamp(sb, "EligibleTime", r->has_eligible_us ? r->eligible_us : 0);
    put_groups(sb, r);
    strbuf_addf(sb, "DerivedExitCode=%s ",
                jobcomp_exit(r->has_derived_exit_status, r->derived_exit_status, code));
    strbuf_addf(sb, "ExitCode=%s \n", jobcomp_exit(r->has_exit_status, r->exit_status, code));
    return sb->failed ? -ENOMEM : 0;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_key(FILE *f, const char *name)
{
    fprintf(f, "%s\"%s\":", ftell(f) > 1 ? "," : "", name);
}

static void put_str(FILE *f, const char *name, const char *value)
{
    if (!value)
        return;
    put_key(f, name);
    pb_json_string(f, value);
}

static void put_int(FILE *f, const char *name, int64_t value)
{
    put_key(f, name);
    fprintf(f, "%lld", (long long)value);
}

static void put_time(FILE *f, const char *name, int64_t us)
{
    time_t s = (time_t)(us / USEC_PER_SEC);
    char text[32];
    struct tm tm;

    if (us <= 0 || !gmtime_r(&s, &tm) || !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm))
        return;
    put_str(f, name, text);
}

/* "1=4,2=400,4=1,5=4" of "cpu=4,mem=400M,node=1,billing=4"; TRES without a fixed number are left
 * out. */
static void put_tres(FILE *f, const char *name, const char *tres)
{
    static const struct {
        const char *name;
        unsigned id;
    } ids[] = { { "cpu", 1 }, { "mem", 2 }, { "energy", 3 }, { "node", 4 }, { "billing", 5 } };
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    char raw[64];

    if (!tres)
        return;
    for (const char *p = tres; *p; p += strcspn(p, ","), p += *p == ',') {
        size_t len = strcspn(p, "=,"), all = strcspn(p, ",");

        for (size_t i = 0; i < ARRAY_SIZE(ids) && all > len + 1; i++) {
            char value[32];
            uint64_t mib;

            if (strlen(ids[i].name) != len || strncmp(p, ids[i].name, len) != 0)
                continue;
            (void)snprintf(value, sizeof(value), "%.*s", (int)(all - len - 1), p + len + 1);
            if (ids[i].id == 2 && size_mib_parse(value, &mib, NULL) == 0)
                (void)snprintf(value, sizeof(value), "%llu", (unsigned long long)mib);
            strbuf_addf(&sb, "%s%u=%s", sb.len ? "," : "", ids[i].id, value);
        }
    }
    (void)snprintf(raw, sizeof(raw), "%s_raw", name);
    put_str(f, raw, strbuf_str(&sb));
    put_str(f, name, tres);
}

static void put_end(FILE *f, const Pst__JobRecord *r)
{
    int64_t start = jobcomp_start_us(r), elapsed = (r->end_us - start) / USEC_PER_SEC;
    char code[JOBCOMP_EXIT_MAX];

    put_time(f, "@end", r->end_us);
    put_int(f, "elapsed", elapsed);
    put_str(f, "derived_ec",
            jobcomp_exit(r->has_derived_exit_status, r->derived_exit_status, code));
    put_str(f, "exit_code", jobcomp_exit(r->has_exit_status, r->exit_status, code));
    put_str(f, "failed_node", r->failed_node);
    put_key(f, "cpu_hours");
    fprintf(f, "%.6f", (double)elapsed * jobcomp_cpus(r) / 3600.0);
}

static void put_identity(FILE *f, const Pst__JobRecord *r)
{
    put_int(f, "jobid", r->job_id);
    put_str(f, "sluid", r->sluid);
    put_str(f, "container", or_empty(r->container));
    put_str(f, "username", r->user_name);
    put_int(f, "user_id", r->uid);
    put_str(f, "groupname", r->group_name);
    put_int(f, "group_id", r->gid);
}

static void put_groups_json(FILE *f, const Pst__JobRecord *r, bool ended)
{
    if (r->has_array_job_id)
        put_int(f, "array_job_id", r->array_job_id);
    if (r->has_array_task_id)
        put_int(f, "array_task_id", r->array_task_id);
    if (!r->has_het_job_id || !r->het_job_id)
        return;
    if (ended) {
        put_int(f, "pack_job_id", r->het_job_id);
        put_int(f, "pack_job_offset", r->het_offset);
    }
    put_int(f, "het_job_id", r->het_job_id);
    put_int(f, "het_job_offset", r->het_offset);
}

static void put_request(FILE *f, const Pst__JobRecord *r)
{
    _cleanup_val_(strbuf_done) struct strbuf asked = STRBUF_INIT;

    reqtres_put(&asked, r, false);
    if (r->has_priority)
        put_int(f, "priority", r->priority);
    put_str(f, "work_dir", r->work_dir);
    put_str(f, "std_in", r->std_in);
    put_str(f, "std_out", r->std_out);
    put_str(f, "std_err", r->std_err);
    put_str(f, "qos", r->qos);
    put_int(f, "ntasks", r->has_num_tasks ? r->num_tasks : jobcomp_nodes(r));
    if (r->has_ntasks_per_node)
        put_int(f, "ntasks_per_node", r->ntasks_per_node);
    if (r->has_cpus_per_task)
        put_int(f, "cpus_per_task", r->cpus_per_task);
    put_str(f, "orig_dependency", r->dependency);
    put_str(f, "excluded_nodes", r->exc_nodes);
    put_str(f, "features", r->features);
    if (r->has_time_limit_min && !(r->has_time_unlimited && r->time_unlimited))
        put_int(f, "time_limit", (int64_t)r->time_limit_min * 60);
    put_str(f, "job_name", r->name);
    put_str(f, "reservation_name", r->reservation);
    put_str(f, "wc_key", r->wckey);
    put_tres(f, "tres_req", strbuf_str(&asked));
    put_tres(f, "tres_alloc", r->alloc_tres);
    put_str(f, "account", r->account);
    put_str(f, "admin_comment", r->admin_comment);
    put_str(f, "comment", r->comment); /* in the note only with send_comment */
}

int jobcomp_json(const Pst__JobNote *note, const char *cluster, char **ret, size_t *ret_len)
{
    const Pst__JobRecord *r = note->job;
    bool ended = !(note->has_began && note->began);
    int64_t submit = r->has_requeue_us ? r->requeue_us : r->submit_us, start = jobcomp_start_us(r);
    int64_t eligible = r->has_eligible_us ? r->eligible_us : submit;
    _cleanup_free_ char *script =
        note->has_script ? strndup((char *)note->script.data, note->script.len) : NULL;
    FILE *f = open_memstream(ret, ret_len);
    int r2;

    if (!f)
        return -ENOMEM;
    putc('{', f);
    put_identity(f, r);
    put_time(f, "@start", start);
    if (ended)
        put_end(f, r);
    put_str(f, "partition", r->partition);
    put_str(f, "alloc_node", r->alloc_host);
    put_str(f, "nodes", nodes_of(r) ? nodes_of(r) : "(null)");
    put_int(f, "total_cpus", jobcomp_cpus(r));
    put_int(f, "total_nodes", r->alloc ? jobcomp_nodes(r) : 0);
    put_key(f, "state");
    if (ended)
        pb_json_string(f, jobcomp_state(r));
    else
        fputs("null", f);
    put_time(f, "@submit", submit);
    put_time(f, "@eligible", eligible);
    if (start > eligible)
        put_int(f, "@queue_wait", (start - eligible) / USEC_PER_SEC);
    put_groups_json(f, r, ended);
    put_request(f, r);
    put_str(f, "cluster", cluster);
    put_str(f, "script", script);
    put_str(f, "parent_accounts", note->parent_accounts);
    putc('}', f);
    r2 = ferror(f);
    return fclose(f) != 0 || r2 ? -ENOMEM : 0;
}
