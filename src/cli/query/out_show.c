/* out_show.c - scontrol show job, step, node, partition as text; see out_show.h.
 *
 * The order of keys and lines is an interface: scripts cut these blocks with grep and awk. */
#include "cli/query/out_show.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/timefmt.h"
#include "cli/query/out_users.h"
#include "model/words/names.h"
#include "fieldlists.h"

#define TOTALS_MAX 32u /* kinds of devices summed in JOB_GRES */

static void next_line(struct strbuf *sb, const struct show_opts *o)
{
    strbuf_add(sb, o->oneliner ? " " : "\n   ");
}

static void end_record(struct strbuf *sb, const struct show_opts *o)
{
    strbuf_add(sb, o->oneliner ? "\n" : "\n\n");
}

static const char *text_or(const char *text, const char *unset)
{
    return text ? text : unset;
}

/* `key`, then the time. */
static void put_time(struct strbuf *sb, const char *key, int64_t us, const char *none,
                     int64_t now_us)
{
    strbuf_add(sb, key);
    put_stamp(sb, us, none, now_us);
}

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
    if (j->wckey)
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
                j->restart_count, j->batch, j->reboot);
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
    if (job_is_pending(r) && j->sched_nodes)
        strbuf_addf(sb, " SchedNodeList=%s", j->sched_nodes);
    if (!job_is_pending(r) && (j->batch_host || *job_nodelist(j))) {
        next_line(sb, o);
        strbuf_add(sb, "BatchHost=");
        (void)job_put_batch_host(sb, j); /* there is one */
    }
}

static void job_size(struct strbuf *sb, const struct job_row *r, const struct show_opts *o)
{
    const Pst__JobRecord *j = r->job;

    next_line(sb, o);
    strbuf_addf(sb, "NumNodes=%u", job_nodes(j));
    if (job_is_pending(r) && j->has_max_nodes && j->max_nodes)
        strbuf_addf(sb, "-%u", j->max_nodes);
    else if (job_is_pending(r) && j->overcommit && j->num_tasks > job_nodes(j))
        strbuf_addf(sb, "-%u", j->num_tasks);
    strbuf_addf(sb, " NumCPUs=%u NumTasks=%u CPUs/Task=%u ReqB:S:C:T=0:0:", job_cpus(j),
                job_tasks(j), j->cpus_per_task ? j->cpus_per_task : 1);
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
    strbuf_add(sb, " CoreSpec=");
    put_star(sb, j->core_spec);
}

static void put_gres(struct strbuf *sb, const Pst__GresAlloc *g, bool first)
{
    const char *type = g->shares ? NULL : g->type; /* shares are told by their GPUs */

    strbuf_addf(sb, "%s%s%s%s:%llu", first ? "" : ",", text_or(g->name, ""), type ? ":" : "",
                text_or(type, ""), (unsigned long long)g->count);
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
        put_gres(sb, &totals[t], t == 0);
}

static void job_layout(struct strbuf *sb, const Pst__JobRecord *j, const struct show_opts *o)
{
    _cleanup_(hostlist_free) struct hostlist *all = NULL;
    size_t at = 0;

    if (!o->details || !j->alloc || hostlist_parse(j->alloc->nodes, &all, NULL) < 0)
        return;
    next_line(sb, o);
    strbuf_add(sb, "JOB_GRES=");
    put_gres_total(sb, j->alloc);
    for (size_t g = 0; g < j->alloc->n_groups; g++) {
        const Pst__AllocGroup *group = j->alloc->groups[g];
        _cleanup_(hostlist_free) struct hostlist *part = NULL;
        _cleanup_free_ char *names = NULL;

        if (hostlist_new(&part) < 0)
            return;
        for (uint32_t i = 0; i < group->nodes && at < hostlist_count(all); i++, at++)
            if (hostlist_push(part, hostlist_nth(all, at)) < 0)
                return;
        if (hostlist_fold(part, &names) < 0)
            return;
        strbuf_add(sb, o->oneliner ? " " : "\n     ");
        strbuf_addf(sb, "Nodes=%s CPU_IDs=%s Mem=%llu GRES=", names, text_or(group->cpu_ids, ""),
                    (unsigned long long)group->mem_mib);
        for (size_t i = 0; i < group->n_gres; i++)
            put_gres(sb, group->gres[i], i == 0);
    }
}

static void job_request(struct strbuf *sb, const struct job_row *r, const struct show_opts *o)
{
    const Pst__JobRecord *j = r->job;

    next_line(sb, o);
    strbuf_addf(sb, "MinCPUsNode=%u %s=", job_min_cpus(j),
                j->has_mem_per_node_mib || !j->has_mem_per_cpu_mib ? "MinMemoryNode"
                                                                   : "MinMemoryCPU");
    job_put_min_memory(sb, r);
    strbuf_add(sb, " MinTmpDiskNode=");
    put_mib(sb, j->tmp_disk_mib, false);
    next_line(sb, o);
    strbuf_addf(sb, "Features=%s ", text_or(j->features, "(null)"));
    if (j->prefer)
        strbuf_addf(sb, "Prefer=%s ", j->prefer);
    strbuf_add(sb, "DelayBoot=00:00:00");
    if (j->reservation) {
        next_line(sb, o);
        strbuf_addf(sb, "Reservation=%s", j->reservation);
    }
    next_line(sb, o);
    strbuf_addf(sb,
                "OverSubscribe=%s Exclusive=%s Contiguous=%u Licenses=%s LicensesAlloc=%s "
                "Network=%s",
                j->oversubscribe ? "YES" : "NO", job_exclusive(j), j->contiguous,
                text_or(j->licenses, "(null)"), text_or(j->licenses_alloc, "(null)"),
                text_or(j->network, "(null)"));
    next_line(sb, o);
    strbuf_addf(sb, "Command=%s", text_or(j->command, "(null)"));
    if (j->submit_line || j->cron_spec) {
        next_line(sb, o);
        strbuf_addf(sb, "SubmitLine=%s", text_or(j->submit_line, "(null)"));
    }
    next_line(sb, o);
    strbuf_addf(sb, "WorkDir=%s", text_or(j->work_dir, "(null)"));
}

static void optional_line(struct strbuf *sb, const struct show_opts *o, const char *key,
                          const char *value)
{
    if (!value)
        return;
    next_line(sb, o);
    strbuf_addf(sb, "%s=%s", key, value);
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
    if (j->has_cpus_per_gpu) {
        next_line(sb, o);
        strbuf_add(sb, "CpusPerTres=");
        (void)job_put_cpus_per_tres(sb, j); /* it does */
    }
    if (j->has_mem_per_gpu_mib) {
        next_line(sb, o);
        strbuf_add(sb, "MemPerTres=");
        (void)job_put_mem_per_tres(sb, j);
    }
    optional_line(sb, o, "TresBind", j->gpu_bind);
    optional_line(sb, o, "TresPerJob", j->tres_per_job);
    optional_line(sb, o, "TresPerNode", j->tres_per_node);
    optional_line(sb, o, "TresPerSocket", j->tres_per_socket);
    optional_line(sb, o, "TresPerTask", j->tres_per_task);
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

void show_step(struct strbuf *sb, const struct step_row *r, const struct show_opts *o)
{
    const Pst__StepRecord *s = r->step;

    strbuf_add(sb, "StepId=");
    step_put_id(sb, r);
    strbuf_addf(sb, " UserId=%u ", s->uid);
    put_time(sb, "StartTime=", s->start_us, "Unknown", r->now_us);
    strbuf_add(sb, " TimeLimit=");
    if (s->has_time_limit_min)
        put_hms(sb, (int64_t)s->time_limit_min * 60);
    else
        strbuf_add(sb, "UNLIMITED");
    next_line(sb, o);
    strbuf_addf(sb, "State=%s Partition=%s NodeList=%s", names_step_state((unsigned)s->state),
                text_or(r->partition ? r->partition : s->partition, "(null)"), step_nodelist(s));
    next_line(sb, o);
    strbuf_addf(sb, "Nodes=%u CPUs=%u Tasks=%u Name=%s Network=(null)", step_nodes(s),
                step_own_cpus(s), step_tasks(s), step_display_name(s));
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
    end_record(sb, o);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void node_hardware(struct strbuf *sb, const Pst__NodeRecord *n, const struct show_opts *o)
{
    strbuf_addf(sb, "NodeName=%s ", n->name);
    if (n->arch)
        strbuf_addf(sb, "Arch=%s ", n->arch);
    strbuf_addf(sb, "CoresPerSocket=%u ", n->cores_per_socket);
    next_line(sb, o);
    strbuf_addf(sb, "CPUAlloc=%u CPUEfctv=%u CPUTot=%u CPULoad=", n->alloc_cpus, n->cpus, n->cpus);
    if (n->has_cpu_load_centi)
        strbuf_addf(sb, "%u.%02u", n->cpu_load_centi / 100, n->cpu_load_centi % 100);
    else
        strbuf_add(sb, "N/A");
    next_line(sb, o);
    strbuf_addf(sb, "AvailableFeatures=%s", text_or(n->features, "(null)"));
    next_line(sb, o);
    strbuf_addf(sb, "ActiveFeatures=%s",
                text_or(n->active_features ? n->active_features : n->features, "(null)"));
    next_line(sb, o);
    strbuf_addf(sb, "Gres=%s", text_or(n->gres, "(null)"));
    if (o->details) {
        next_line(sb, o);
        strbuf_add(sb, "GresDrain=N/A");
        next_line(sb, o);
        strbuf_addf(sb, "GresUsed=%s", text_or(n->alloc_gres, "(null)"));
    }
    next_line(sb, o);
    strbuf_addf(sb, "NodeAddr=%s NodeHostName=%s Port=%u", text_or(n->addr, n->name),
                text_or(n->hostname, n->name), n->port);
    if (n->version)
        strbuf_addf(sb, " Version=%s", n->version);
    if (n->os) {
        next_line(sb, o);
        strbuf_addf(sb, "OS=%s ", n->os);
    }
}

static void node_state(struct strbuf *sb, const Pst__NodeRecord *n, const char *partitions,
                       const struct show_opts *o)
{
    struct names_node state = names_node_of(n);
    char word[NAMES_NODE_TEXT];

    next_line(sb, o);
    strbuf_addf(sb,
                "RealMemory=%llu AllocMem=%llu FreeMem=", (unsigned long long)n->real_memory_mib,
                (unsigned long long)n->alloc_mem_mib);
    if (n->has_free_mem_mib)
        put_u64(sb, n->free_mem_mib);
    else
        strbuf_add(sb, "N/A");
    strbuf_addf(sb, " Sockets=%u Boards=%u", n->sockets, n->boards ? n->boards : 1);
    if (n->core_spec || n->cpu_spec_list || n->mem_spec_mib) {
        next_line(sb, o);
        if (n->core_spec)
            strbuf_addf(sb, "CoreSpecCount=%u ", n->core_spec);
        if (n->cpu_spec_list)
            strbuf_addf(sb, "CPUSpecList=%s ", n->cpu_spec_list);
        if (n->mem_spec_mib)
            strbuf_addf(sb, "MemSpecLimit=%llu", (unsigned long long)n->mem_spec_mib);
    }
    next_line(sb, o);
    strbuf_addf(sb, "State=%s ThreadsPerCore=%u TmpDisk=%llu Weight=%u Owner=",
                names_node_full(&state, false, word, sizeof(word)), n->threads_per_core,
                (unsigned long long)n->tmp_disk_mib, n->weight);
    if (n->has_owner_uid)
        strbuf_addf(sb, "%s(%u)", user_name_of(n->owner_uid), n->owner_uid);
    else
        strbuf_add(sb, "N/A");
    strbuf_addf(sb, " MCS_label=%s", text_or(n->mcs_label, "N/A"));
    if (n->next_state && n->state_flags) {
        next_line(sb, o);
        strbuf_addf(sb, "NextState=%s", n->next_state);
    }
    if (partitions && *partitions) {
        next_line(sb, o);
        strbuf_addf(sb, "Partitions=%s ", partitions);
    }
}

/* The GPUs of "gpu:a100:1(IDX:0),shard:8(3/4)", together and of each type. */
static void put_gpus_used(struct strbuf *sb, const char *used)
{
    _cleanup_val_(strbuf_done) struct strbuf types = STRBUF_INIT;
    unsigned long long n, all = 0;
    char type[64];

    for (const char *p = used; p && *p;) {
        const char *open = strchr(p, '('), *comma = strchr(p, ',');

        if (sscanf(p, "gpu:%63[^:(,]:%llu", type, &n) == 2) {
            all += n;
            if (n)
                strbuf_addf(&types, ",gres/gpu:%s=%llu", type, n);
        } else if (sscanf(p, "gpu:%llu", &n) == 1) {
            all += n;
        }
        if (open && (!comma || open < comma)) /* there are commas within */
            comma = strchr(open, ')') ? strchr(strchr(open, ')'), ',') : NULL;
        p = comma ? comma + 1 : NULL;
    }
    if (all)
        strbuf_addf(sb, ",gres/gpu=%llu%s", all, strbuf_str(&types));
}

static void node_use(struct strbuf *sb, const Pst__NodeRecord *n, const struct show_opts *o)
{
    _cleanup_free_ char *tres = NULL;

    next_line(sb, o);
    strbuf_addf(sb, "CfgTRES=%s", cluster_node_tres(n, &tres) == 0 ? tres : "");
    next_line(sb, o);
    strbuf_add(sb, "AllocTRES=");
    if (n->alloc_cpus) {
        strbuf_addf(sb, "cpu=%u", n->alloc_cpus);
        if (n->alloc_mem_mib) {
            strbuf_add(sb, ",mem=");
            put_mib(sb, n->alloc_mem_mib, false);
        }
        put_gpus_used(sb, n->alloc_gres);
    }
    next_line(sb, o);
    strbuf_addf(sb, "CurrentWatts=%u AveWatts=%u", n->energy ? n->energy->current_watts : 0,
                n->energy ? n->energy->average_watts : 0);
}

void show_node(struct strbuf *sb, const Pst__NodeRecord *n, const char *partitions, int64_t now_us,
               const struct show_opts *o)
{
    node_hardware(sb, n, o);
    node_state(sb, n, partitions, o);
    next_line(sb, o);
    put_time(sb, "BootTime=", n->boot_us, "None", now_us);
    put_time(sb, " SlurmdStartTime=", n->slurmd_start_us, "None", now_us);
    next_line(sb, o);
    put_time(sb, "LastBusyTime=", n->last_busy_us, "Unknown", now_us);
    strbuf_add(sb, " ResumeAfterTime=None SuspendTime=INFINITE");
    node_use(sb, n, o);
    if (n->reason) {
        next_line(sb, o);
        strbuf_addf(sb, "Reason=%s [%s@", n->reason, user_name_of(n->reason_uid));
        put_stamp(sb, n->reason_us, "Unknown", now_us);
        strbuf_addc(sb, ']');
    }
    optional_line(sb, o, "Comment", n->comment);
    optional_line(sb, o, "Extra", n->extra);
    optional_line(sb, o, "ReservationName", n->reservation);
    end_record(sb, o);
}

/* ---- partitions ------------------------------------------------------------------------------ */

static const char *yes_no(bool value)
{
    return value ? "YES" : "NO";
}

static void put_number(struct strbuf *sb, const char *key, bool set, uint64_t n)
{
    strbuf_add(sb, key);
    if (set)
        put_u64(sb, n);
    else
        strbuf_add(sb, "UNLIMITED");
}

static void put_minutes(struct strbuf *sb, const char *key, bool set, uint32_t minutes,
                        const char *unset)
{
    strbuf_add(sb, key);
    if (set)
        put_hms(sb, (int64_t)minutes * 60);
    else
        strbuf_add(sb, unset);
}

static void part_access(struct strbuf *sb, const Pst__PartitionRecord *p, const struct show_opts *o)
{
    next_line(sb, o);
    strbuf_addf(sb, "AllowGroups=%s ", text_or(p->allow_groups, "ALL"));
    if (p->deny_accounts && !p->allow_accounts)
        strbuf_addf(sb, "DenyAccounts=%s ", p->deny_accounts);
    else
        strbuf_addf(sb, "AllowAccounts=%s ", text_or(p->allow_accounts, "ALL"));
    if (p->deny_qos && !p->allow_qos)
        strbuf_addf(sb, "DenyQos=%s", p->deny_qos);
    else
        strbuf_addf(sb, "AllowQos=%s", text_or(p->allow_qos, "ALL"));
    next_line(sb, o);
    strbuf_addf(sb, "AllocNodes=%s ", text_or(p->alloc_nodes, "ALL"));
    if (p->alternate)
        strbuf_addf(sb, "Alternate=%s ", p->alternate);
    strbuf_addf(sb, "Default=%s QoS=%s", yes_no(p->is_default), text_or(p->qos, "N/A"));
}

static void part_limits(struct strbuf *sb, const Pst__PartitionRecord *p, const struct show_opts *o)
{
    next_line(sb, o);
    put_minutes(sb, "DefaultTime=", p->has_default_time_min, p->default_time_min, "NONE");
    strbuf_addf(sb, " DisableRootJobs=%s Exclusive=%s GraceTime=%u Hidden=%s",
                yes_no(p->disable_root_jobs), text_or(p->exclusive, "NO"), p->grace_time_s,
                yes_no(p->hidden));
    next_line(sb, o);
    put_number(sb, "MaxNodes=", p->has_max_nodes, p->max_nodes);
    put_minutes(sb, " MaxTime=", p->has_max_time_min, p->max_time_min, "UNLIMITED");
    strbuf_addf(sb, " MinNodes=%u LLN=%s", p->min_nodes, yes_no(p->lln));
    put_number(sb, " MaxCPUsPerNode=", p->has_max_cpus_per_node, p->max_cpus_per_node);
    put_number(sb, " MaxCPUsPerSocket=", p->has_max_cpus_per_socket, p->max_cpus_per_socket);
    next_line(sb, o);
    strbuf_addf(sb, "Nodes=%s", text_or(p->nodes, "(null)"));
    next_line(sb, o);
    strbuf_addf(sb, "PriorityJobFactor=%u PriorityTier=%u RootOnly=%s ReqResv=%s OverSubscribe=%s",
                p->has_priority_job_factor ? p->priority_job_factor : 1,
                p->has_priority_tier ? p->priority_tier : 1, yes_no(p->root_only),
                yes_no(p->req_resv), text_or(p->oversubscribe, "NO"));
    next_line(sb, o);
    if (p->has_over_time_limit_min)
        strbuf_addf(sb, "OverTimeLimit=%u", p->over_time_limit_min);
    else
        strbuf_add(sb, "OverTimeLimit=NONE");
    strbuf_addf(sb, " PreemptMode=%s", text_or(p->preempt_mode, "OFF"));
}

static void part_memory(struct strbuf *sb, const Pst__PartitionRecord *p)
{
    if (p->def_mem_per_cpu_mib)
        strbuf_addf(sb, "DefMemPerCPU=%llu", (unsigned long long)p->def_mem_per_cpu_mib);
    else
        put_number(sb, "DefMemPerNode=", p->def_mem_per_node_mib, p->def_mem_per_node_mib);
    if (p->max_mem_per_cpu_mib)
        strbuf_addf(sb, " MaxMemPerCPU=%llu", (unsigned long long)p->max_mem_per_cpu_mib);
    else
        put_number(sb, " MaxMemPerNode=", p->max_mem_per_node_mib, p->max_mem_per_node_mib);
}

void show_partition(struct strbuf *sb, const Pst__PartitionRecord *p, const char *tres,
                    const struct show_opts *o)
{
    strbuf_addf(sb, "PartitionName=%s", p->name);
    part_access(sb, p, o);
    part_limits(sb, p, o);
    next_line(sb, o);
    strbuf_addf(sb, "State=%s TotalCPUs=%u TotalNodes=%u SelectTypeParameters=%s",
                names_part_state((unsigned)p->state), p->total_cpus, p->total_nodes,
                text_or(p->select_type_parameters, "NONE"));
    next_line(sb, o);
    strbuf_addf(sb, "JobDefaults=%s", text_or(p->job_defaults, "(null)"));
    next_line(sb, o);
    part_memory(sb, p);
    next_line(sb, o);
    strbuf_addf(sb, "TRES=%s", tres);
    optional_line(sb, o, "TRESBillingWeights", p->tres_billing_weights);
    end_record(sb, o);
}
