/* out_show.c - scontrol show job and step as text; see out_show.h.
 *
 * The order of keys and lines is an interface: scripts cut these blocks with grep and awk. */
#include "cli/format/out_show.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "cli/query/out_users.h"
#include "cli/format/showtext.h"
#include "model/words/names.h"
#include "fieldlists.h"

#define TOTALS_MAX 32u /* kinds of devices summed in JOB_GRES */

static void put_underscored(struct strbuf *sb, const char *text)
{
    for (; *text; text++)
        strbuf_addc(sb, *text == ' ' ? '_' : *text);
}

static void put_star(struct strbuf *sb, uint32_t n)
{
    if (n)
        put_u64(sb, n);
    else
        strbuf_addc(sb, '*');
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static void job_identity(struct strbuf *sb, const struct job_row *r, const struct show_opts *o)
{
    const Pst__JobRecord *j = r->job;

    strbuf_addf(sb, "JobId=%u", j->job_id);
    if (job_is_array(r) || j->array_tasks) {
        strbuf_addf(sb, " ArrayJobId=%u ArrayTaskId=", job_array_id(r));
        job_put_tasks(sb, r);
        if (j->array_task_throttle)
            strbuf_addf(sb, " ArrayTaskThrottle=%u", j->array_task_throttle);
    }
    if (j->het_job_id)
        strbuf_addf(sb, " HetJobId=%u HetJobOffset=%u", j->het_job_id, j->het_offset);
    strbuf_addf(sb, " JobName=%s", text_or(j->name, "(null)"));
    if (j->het_job_id) {
        next_line(sb, o);
        strbuf_addf(sb, "HetJobIdSet=%s", text_or(j->het_id_set, ""));
    }
    if (o->details) {
        next_line(sb, o);
        strbuf_addf(sb, "SLUID=%s", text_or(j->sluid, "(null)"));
    }
    next_line(sb, o);
    strbuf_addf(sb, "UserId=%s(%u) GroupId=%s(%u) MCS_label=%s", job_user(j), j->uid, job_group(j),
                j->gid, text_or(j->mcs_label, "N/A"));
    next_line(sb, o);
    strbuf_addf(sb, "Priority=%u Nice=%d Account=%s QOS=%s", job_priority(r), j->nice,
                text_or(j->account, "(null)"), text_or(j->qos, "(null)"));
    if (j->wckey && o->wckeys)
        strbuf_addf(sb, " WCKey=%s", j->wckey);
}

static void job_state(struct strbuf *sb, const struct job_row *r, const struct show_opts *o)
{
    const Pst__JobRecord *j = r->job;

    next_line(sb, o);
    strbuf_addf(sb, "JobState=%s Reason=", job_state_word(r, false));
    put_underscored(sb, job_reason(r));
    if (j->failed_node)
        strbuf_addf(sb, " FailedNode=%s", j->failed_node);
    strbuf_addf(sb, " Dependency=%s", text_or(j->dependency, "(null)"));
    next_line(sb, o);
    strbuf_addf(sb, "Requeue=%u Restarts=%u BatchFlag=%u Reboot=%u ExitCode=", j->requeue,
                j->restart_count, j->batch ? 1 + j->batch_failures : 0, j->reboot);
    put_exit_code(sb, j->exit_status);
    if (!o->details)
        return;
    next_line(sb, o);
    strbuf_add(sb, "DerivedExitCode=");
    put_exit_code(sb, j->derived_exit_status);
}

static void put_limit(struct strbuf *sb, const Pst__JobRecord *j)
{
    uint32_t minutes;
    bool unlimited;

    if (!job_limit(j, &minutes, &unlimited))
        strbuf_add(sb, "Partition_Limit");
    else if (unlimited)
        strbuf_add(sb, "UNLIMITED");
    else
        put_hms(sb, (int64_t)minutes * 60);
}

static void job_times(struct strbuf *sb, const struct job_row *r, const struct show_opts *o)
{
    const Pst__JobRecord *j = r->job;
    int64_t now = r->now_us, before = 0;

    next_line(sb, o);
    strbuf_add(sb, "RunTime=");
    put_hms(sb, job_elapsed_s(r));
    strbuf_add(sb, " TimeLimit=");
    put_limit(sb, j);
    strbuf_add(sb, " TimeMin=");
    if (j->has_time_min_min && j->time_min_min)
        put_hms(sb, (int64_t)j->time_min_min * 60);
    else
        strbuf_add(sb, "N/A");
    next_line(sb, o);
    put_time(sb, "SubmitTime=", j->submit_us, "Unknown", now);
    put_time(sb, " EligibleTime=", job_eligible_us(r), "Unknown", now);
    next_line(sb, o);
    put_time(sb, "AccrueTime=", job_accrue_us(r), "Unknown", now);
    if (j->resize_us) {
        next_line(sb, o);
        put_time(sb, "ResizeTime=", j->resize_us, "Unknown", now);
    }
    next_line(sb, o);
    put_time(sb, "StartTime=", job_start_us(r), "Unknown", now);
    put_time(sb, " EndTime=", job_end_us(r), "Unknown", now);
    put_time(sb, " Deadline=", j->deadline_us, "N/A", now);
    if (!job_is_pending(r) && j->start_us > 0) {
        next_line(sb, o);
        put_time(sb,
                 "PreemptEligibleTime=", j->has_preemptable_us ? j->preemptable_us : j->start_us,
                 "Unknown", now);
        put_time(sb, " PreemptTime=", j->preempt_us, "None", now);
    }
    if (j->cron_spec) {
        next_line(sb, o);
        strbuf_addf(sb, "CronJob=Yes CrontabSpec=\"%s\"", j->cron_spec);
    }
    next_line(sb, o);
    put_time(sb, "SuspendTime=", j->suspend_us, "None", now);
    if (j->suspend_us > j->start_us)
        before = (j->suspend_us - j->start_us - j->suspended_us) / USEC_PER_SEC;
    strbuf_addf(sb, " SecsPreSuspend=%lld", (long long)(before > 0 ? before : 0));
    put_time(sb, " LastSchedEval=", j->last_sched_eval_us, "Unknown", now);
    strbuf_add(sb, " Scheduler=Main");
}

static void job_place(struct strbuf *sb, const struct job_row *r, const struct show_opts *o)
{
    const Pst__JobRecord *j = r->job;

    next_line(sb, o);
    strbuf_addf(sb, "Partition=%s AllocNode:Sid=%s:%u", job_partition(r),
                text_or(j->alloc_host, "(null)"), j->alloc_sid);
    next_line(sb, o);
    strbuf_addf(sb, "ReqNodeList=%s ExcNodeList=%s", text_or(j->req_nodes, "(null)"),
                text_or(j->exc_nodes, "(null)"));
    next_line(sb, o);
    strbuf_addf(sb, "NodeList=%s", job_nodelist(j));
    if (j->sched_nodes && !*job_nodelist(j)) /* it has not started, or never did */
        strbuf_addf(sb, " SchedNodeList=%s", j->sched_nodes);
    if (!job_is_pending(r) && (j->batch_host || *job_nodelist(j))) {
        next_line(sb, o);
        strbuf_add(sb, "BatchHost=");
        (void)job_put_batch_host(sb, j); /* there is one */
    }
}

/* The least number of nodes that a job waits for is followed by the most, unless neither nodes nor
 * tasks were named; while such a job is held, it has the most as well. */
static bool shows_most_nodes(const Pst__JobRecord *j)
{
    bool held = j->has_priority && !j->priority;

    if (j->node_counts)
        return false;
    return (j->has_max_nodes && j->max_nodes) || (j->has_num_tasks && j->num_tasks) ||
           (held && !j->has_max_nodes);
}

static void job_size(struct strbuf *sb, const struct job_row *r, const struct show_opts *o)
{
    const Pst__JobRecord *j = r->job;

    next_line(sb, o);
    if (job_is_pending(r) && j->node_counts)
        strbuf_addf(sb, "NumNodes=%s", j->node_counts);
    else
        strbuf_addf(sb, "NumNodes=%u", job_nodes(j));
    if (job_is_pending(r) && shows_most_nodes(j))
        strbuf_addf(sb, "-%u", job_max_nodes(j));
    strbuf_addf(sb, " NumCPUs=%u", job_cpus(j));
    if (job_is_pending(r) && j->has_max_cpus && j->max_cpus > job_cpus(j))
        strbuf_addf(sb, "-%u", j->max_cpus);
    if (j->has_num_tasks || j->has_ntasks_per_node || job_holds_nodes(j) ||
        (j->batch && job_is_pending(r)))
        strbuf_addf(sb, " NumTasks=%u", job_tasks(j));
    else
        strbuf_add(sb, " NumTasks=N/A"); /* as many as it gets nodes */
    strbuf_addf(sb, " CPUs/Task=%u ReqB:S:C:T=0:0:", j->cpus_per_task ? j->cpus_per_task : 1);
    put_star(sb, j->cores_per_socket);
    strbuf_addc(sb, ':');
    put_star(sb, j->threads_per_core);
    next_line(sb, o);
    strbuf_add(sb, "ReqTRES=");
    job_put_req_tres(sb, r);
    next_line(sb, o);
    strbuf_addf(sb, "AllocTRES=%s", text_or(j->alloc_tres, "(null)"));
    next_line(sb, o);
    strbuf_add(sb, "Socks/Node=");
    put_star(sb, j->sockets_per_node);
    strbuf_addf(sb, " NtasksPerN:B:S:C=%u:0:", j->ntasks_per_node);
    put_star(sb, j->ntasks_per_socket);
    strbuf_addc(sb, ':');
    put_star(sb, j->ntasks_per_core);
    strbuf_add(sb, j->has_core_spec && j->spec_threads ? " ThreadSpec=" : " CoreSpec=");
    if (j->has_core_spec)
        strbuf_addf(sb, "%u", j->core_spec);
    else
        strbuf_addc(sb, '*');
}

static void put_gres(struct strbuf *sb, const Pst__GresAlloc *g, bool first, bool total)
{
    const char *type = g->shares ? NULL : g->type; /* shares are told by their GPUs */

    strbuf_addf(sb, "%s%s%s%s", first ? "" : ",", text_or(g->name, ""), type ? ":" : "",
                text_or(type, ""));
    if (!g->share_counts && !g->devices && !total) { /* counted only */
        strbuf_addf(sb, "(CNT:%llu)", (unsigned long long)g->count);
        return;
    }
    strbuf_addf(sb, ":%llu", (unsigned long long)g->count);
    if (g->share_counts)
        strbuf_addf(sb, "(%s)", g->share_counts);
    else if (g->devices)
        strbuf_addf(sb, "(IDX:%s)", g->devices);
}

/* All devices of the job, by kind. */
static void put_gres_total(struct strbuf *sb, const Pst__Alloc *alloc)
{
    Pst__GresAlloc totals[TOTALS_MAX];
    size_t n = 0;

    for (size_t g = 0; g < alloc->n_groups; g++) {
        const Pst__AllocGroup *group = alloc->groups[g];

        for (size_t i = 0; i < group->n_gres; i++) {
            const Pst__GresAlloc *a = group->gres[i];
            size_t t = 0;

            while (t < n && (strcmp(text_or(totals[t].name, ""), text_or(a->name, "")) != 0 ||
                             strcmp(text_or(totals[t].type, ""), text_or(a->type, "")) != 0))
                t++;
            if (t == TOTALS_MAX)
                continue;
            if (t == n) {
                totals[n] = *a;
                totals[n].devices = totals[n].share_counts = NULL;
                totals[n++].count = 0;
            }
            totals[t].count += a->count * group->nodes;
        }
    }
    if (!n)
        strbuf_add(sb, "(null)");
    for (size_t t = 0; t < n; t++)
        put_gres(sb, &totals[t], t == 0, true);
}

static bool same_gres(const Pst__AllocGroup *a, const Pst__AllocGroup *b)
{
    for (size_t i = 0; i < a->n_gres && a->n_gres == b->n_gres; i++)
        if (!pb_equal(&a->gres[i]->base, &b->gres[i]->base))
            return false;
    return a->n_gres == b->n_gres;
}

/* Do two groups look alike, whatever their tasks? */
static bool same_look(const Pst__AllocGroup *a, const Pst__AllocGroup *b)
{
    return strcmp(text_or(a->cpu_ids, ""), text_or(b->cpu_ids, "")) == 0 &&
           a->mem_mib == b->mem_mib && same_gres(a, b);
}

static void put_group(struct strbuf *sb, const Pst__AllocGroup *group, const char *names,
                      bool gres_elsewhere, const struct show_opts *o)
{
    strbuf_add(sb, o->oneliner ? " " : "\n     ");
    strbuf_addf(sb, "Nodes=%s CPU_IDs=%s Mem=%llu GRES=", names, text_or(group->cpu_ids, ""),
                (unsigned long long)group->mem_mib);
    for (size_t i = 0; i < group->n_gres; i++)
        put_gres(sb, group->gres[i], i == 0, false);
    if (!group->n_gres && gres_elsewhere)
        strbuf_add(sb, "(null)");
}

static void job_layout(struct strbuf *sb, const Pst__JobRecord *j, const struct show_opts *o)
{
    _cleanup_(hostlist_free) struct hostlist *all = NULL;
    bool any_gres = false;
    size_t at = 0;

    if (!o->details || !j->alloc || hostlist_parse(j->alloc->nodes, &all, NULL) < 0)
        return;
    next_line(sb, o);
    strbuf_add(sb, "JOB_GRES=");
    put_gres_total(sb, j->alloc);
    for (size_t g = 0; g < j->alloc->n_groups; g++)
        any_gres = any_gres || j->alloc->groups[g]->n_gres;
    for (size_t g = 0, next; g < j->alloc->n_groups; g = next) {
        const Pst__AllocGroup *group = j->alloc->groups[g];
        _cleanup_(hostlist_free) struct hostlist *part = NULL;
        _cleanup_free_ char *names = NULL;

        if (hostlist_new(&part) < 0)
            return;
        for (next = g; next < j->alloc->n_groups && same_look(group, j->alloc->groups[next]);
             next++)
            for (uint32_t i = 0; i < j->alloc->groups[next]->nodes && at < hostlist_count(all);
                 i++, at++)
                if (hostlist_push(part, hostlist_nth(all, at)) < 0)
                    return;
        if (hostlist_fold(part, &names) < 0)
            return;
        put_group(sb, group, names, any_gres, o);
    }
}

static void job_request(struct strbuf *sb, const struct job_row *r, const struct show_opts *o)
{
    const Pst__JobRecord *j = r->job;

    next_line(sb, o);
    strbuf_addf(sb, "MinCPUsNode=%u %s=", job_min_cpus(j),
                j->has_mem_per_gpu_mib || j->has_def_mem_per_gpu_mib ? "MinMemoryTRES"
                : j->has_mem_per_node_mib || !j->has_mem_per_cpu_mib ? "MinMemoryNode"
                                                                     : "MinMemoryCPU");
    job_put_min_memory(sb, r);
    strbuf_add(sb, " MinTmpDiskNode=");
    put_mib(sb, j->tmp_disk_mib, false);
    next_line(sb, o);
    strbuf_addf(sb, "Features=%s DelayBoot=", text_or(job_features(j), "(null)"));
    put_hms(sb, j->has_delay_boot_s ? j->delay_boot_s : 0);
    if (j->prefer) {
        next_line(sb, o);
        strbuf_addf(sb, "Prefer=%s", j->prefer);
    }
    if (j->cluster_features) {
        next_line(sb, o);
        strbuf_addf(sb, "ClusterFeatures=%s", j->cluster_features);
    }
    if (j->fed_origin) {
        next_line(sb, o);
        strbuf_addf(sb, "FedOrigin=%s FedViableSiblings=%s FedActiveSiblings=%s", j->fed_origin,
                    text_or(j->fed_siblings_viable, "(null)"),
                    text_or(j->fed_siblings_active, "(null)"));
    }
    if (j->reservation) {
        next_line(sb, o);
        strbuf_addf(sb, "Reservation=%s", j->reservation);
    }
    next_line(sb, o);
    strbuf_addf(sb,
                "OverSubscribe=%s Exclusive=%s Contiguous=%u Licenses=%s LicensesAlloc=%s "
                "Network=%s",
                job_oversubscribe(j), job_exclusive(j), j->contiguous,
                text_or(j->licenses, "(null)"), text_or(j->licenses_alloc, "(null)"),
                text_or(j->network, "(null)"));
    next_line(sb, o);
    strbuf_addf(sb, "Command=%s", text_or(j->command, "(null)"));
    if (j->submit_line || j->cron_spec) {
        next_line(sb, o);
        strbuf_addf(sb, "SubmitLine=%s", text_or(j->submit_line, "(null)"));
    }
    if (j->expedited) {
        next_line(sb, o);
        strbuf_add(sb, "ExpeditedRequeue=Yes");
    }
    next_line(sb, o);
    strbuf_addf(sb, "WorkDir=%s", text_or(j->work_dir, "(null)"));
}

static void job_files(struct strbuf *sb, const struct job_row *r, const struct show_opts *o)
{
    static const struct {
        enum job_file which;
        const char *key;
    } files[] = { { JOB_STDERR, "StdErr=" }, { JOB_STDIN, "StdIn=" }, { JOB_STDOUT, "StdOut=" } };

    for (size_t i = 0; r->job->batch && i < ARRAY_SIZE(files); i++) {
        next_line(sb, o);
        strbuf_add(sb, files[i].key);
        if (files[i].which == JOB_STDERR && r->job->cron_spec && !r->job->std_err)
            continue; /* of a crontab's job it is not told that it goes with the output */
        job_put_file(sb, r, files[i].which);
    }
}

/* Whether CPUs are among what a task was asked to have. */
static bool names_cpu(const char *per_task)
{
    return per_task && (strncmp(per_task, "cpu", 3) == 0 || strstr(per_task, ",cpu"));
}

static void job_mail(struct strbuf *sb, const Pst__JobRecord *j, const struct show_opts *o)
{
    unsigned at = 0;
    const char *word = job_mail_word(j, &at);

    if (!word)
        return;
    next_line(sb, o);
    strbuf_addf(sb, "MailUser=%s MailType=%s", j->mail_user ? j->mail_user : job_user(j), word);
    while ((word = job_mail_word(j, &at)))
        strbuf_addf(sb, ",%s", word);
}

void show_job(struct strbuf *sb, const struct job_row *r, const struct show_opts *o)
{
    const Pst__JobRecord *j = r->job;
    uint32_t cpus = j->has_asked_cpus_per_task ? j->asked_cpus_per_task : j->cpus_per_task;

    job_identity(sb, r, o);
    job_state(sb, r, o);
    job_times(sb, r, o);
    job_place(sb, r, o);
    job_size(sb, r, o);
    job_layout(sb, j, o);
    job_request(sb, r, o);
    if (j->has_kill_on_invalid_dep)
        optional_line(sb, o, "KillOnInvalidDependent", j->kill_on_invalid_dep ? "Yes" : "No");
    optional_line(sb, o, "Comment", j->comment);
    optional_line(sb, o, "AdminComment", j->admin_comment);
    optional_line(sb, o, "Extra", j->extra);
#define SHOWN_LINE(name, heading, member) optional_line(sb, o, name, j->member);
    JOB_SHOWN(SHOWN_LINE)
    optional_line(sb, o, "ContainerID", j->container_id);
    job_files(sb, r, o);
    if (j->has_cpus_per_gpu || j->has_def_cpus_per_gpu) {
        next_line(sb, o);
        strbuf_add(sb, "CpusPerTres=");
        (void)job_put_cpus_per_tres(sb, j); /* it does */
    }
    if (j->has_mem_per_gpu_mib || j->has_def_mem_per_gpu_mib) {
        next_line(sb, o);
        strbuf_add(sb, "MemPerTres=");
        (void)job_put_mem_per_tres(sb, j);
    }
    if (j->segment_size) {
        next_line(sb, o);
        strbuf_addf(sb, "SegmentSize=%u", j->segment_size);
    }
    if (j->switches) {
        next_line(sb, o);
        strbuf_addf(sb, "Switches=%u@", j->switches);
        put_hms(sb, j->has_switches_wait_s ? j->switches_wait_s : 0);
    }
    optional_line(sb, o, "TresBind", j->gpu_bind);
    if (j->gpu_freq) {
        next_line(sb, o);
        strbuf_addf(sb, "TresFreq=gpu:%s", j->gpu_freq);
    }
    optional_line(sb, o, "TresPerJob", j->tres_per_job);
    optional_line(sb, o, "TresPerNode", j->tres_per_node);
    optional_line(sb, o, "TresPerSocket", j->tres_per_socket);
    if (cpus && !j->has_cpus_per_gpu && !names_cpu(j->tres_per_task)) {
        next_line(sb, o);
        strbuf_addf(sb, "TresPerTask=cpu=%u%s%s", cpus, j->tres_per_task ? "," : "",
                    text_or(j->tres_per_task, ""));
    } else {
        optional_line(sb, o, "TresPerTask", j->tres_per_task);
    }
    if (j->has_ntasks_per_gpu) {
        next_line(sb, o);
        strbuf_addf(sb, "NtasksPerTRES=%u", j->ntasks_per_gpu);
    }
    if (j->has_oom_kill_step) {
        next_line(sb, o);
        strbuf_addf(sb, "OOMKillStep=%u", j->oom_kill_step);
    }
    if (j->stepmgr)
        optional_line(sb, o, "StepMgrEnabled", "Yes");
    job_mail(sb, j, o);
    end_record(sb, o);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* A file of its own that srun or the nodes write: below the step's directory. */
static void step_stdout_line(struct strbuf *sb, const Pst__StepRecord *s, const struct show_opts *o)
{
    next_line(sb, o);
    strbuf_add(sb, "StdOut=");
    if (strcasecmp(s->std_out, "none") == 0) {
        strbuf_add(sb, "/dev/null");
        return;
    }
    if (s->std_out[0] != '/' && s->work_dir)
        strbuf_addf(sb, "%s/", s->work_dir);
    strbuf_add(sb, s->std_out);
}

void show_step(struct strbuf *sb, const struct step_row *r, const struct show_opts *o)
{
    const Pst__StepRecord *s = r->step;

    strbuf_add(sb, "StepId=");
    step_put_own_id(sb, r);
    strbuf_addf(sb, " UserId=%u ", s->uid);
    put_time(sb, "StartTime=", s->start_us, "Unknown", r->now_us);
    strbuf_add(sb, " TimeLimit=");
    if (s->has_time_limit_min)
        put_hms(sb, (int64_t)s->time_limit_min * 60);
    else
        strbuf_add(sb, "UNLIMITED");
    if (o->details)
        optional_line(sb, o, "SLUID", r->sluid);
    next_line(sb, o);
    strbuf_addf(sb, "State=%s Partition=%s NodeList=%s", names_step_state((unsigned)s->state),
                text_or(r->partition ? r->partition : s->partition, "(null)"), step_nodelist(s));
    next_line(sb, o);
    strbuf_addf(sb, "Nodes=%u CPUs=%u Tasks=%u Name=%s Network=%s", step_nodes(s), step_own_cpus(s),
                step_tasks(s), step_display_name(s), text_or(s->network, "(null)"));
    next_line(sb, o);
    strbuf_add(sb, "TRES=");
    if (step_own_cpus(s))
        step_put_tres(sb, s);
    else
        strbuf_add(sb, "(null)");
    next_line(sb, o);
    strbuf_addf(sb, "ResvPorts=%s", text_or(s->resv_ports, "(null)"));
    next_line(sb, o);
    strbuf_add(sb, "CPUFreqReq=Default");
    if (step_distribution(s))
        strbuf_addf(sb, " Dist=%s", step_distribution(s));
    next_line(sb, o);
    strbuf_addf(sb, "SrunHost:Pid=%s:%u", text_or(s->client_host, "(null)"), s->client_pid);
    optional_line(sb, o, "Container", s->container);
    optional_line(sb, o, "ContainerID", s->container_id);
    optional_line(sb, o, "TresPerStep", s->tres_per_step);
    if (s->cpus_per_task && step_own_cpus(s)) {
        next_line(sb, o);
        strbuf_addf(sb, "TresPerTask=cpu=%u", s->cpus_per_task);
    }
    if (s->std_out)
        step_stdout_line(sb, s, o);
    end_record(sb, o);
}
