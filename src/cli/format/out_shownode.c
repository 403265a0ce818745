/* out_shownode.c - scontrol show node and partition as text; see out_show.h.
 *
 * The order of keys and lines is an interface: scripts cut these blocks with grep and awk. */
#include "cli/format/out_show.h"

#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/timefmt.h"
#include "cli/base/cli.h"
#include "cli/query/out_users.h"
#include "cli/format/showtext.h"
#include "model/words/names.h"
#include "model/words/nodedevices.h"
#include "model/words/nodespec.h"

/* ---- nodes ----------------------------------------------------------------------------------- */

static void put_gres(struct strbuf *sb, const Pst__NodeRecord *n)
{
    size_t before = sb->len;

    nodedevices_put(sb, n);
    if (sb->len == before)
        strbuf_add(sb, "(null)");
}

static void node_hardware(struct strbuf *sb, const Pst__NodeRecord *n, const struct show_opts *o)
{
    strbuf_addf(sb, "NodeName=%s ", n->name);
    if (n->arch)
        strbuf_addf(sb, "Arch=%s ", n->arch);
    if (n->cpu_bind)
        strbuf_addf(sb, "CpuBind=%s ", n->cpu_bind);
    strbuf_addf(sb, "CoresPerSocket=%u ", n->cores_per_socket);
    next_line(sb, o);
    strbuf_addf(sb, "CPUAlloc=%u CPUEfctv=%u CPUTot=%u CPULoad=", n->alloc_cpus,
                nodespec_effective(n), n->cpus);
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
    strbuf_add(sb, "Gres=");
    put_gres(sb, n);
    if (o->details) {
        next_line(sb, o);
        strbuf_add(sb, "GresDrain=N/A");
        optional_line(sb, o, "GresUsed", n->alloc_gres);
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

/* Cores and CPUs kept from jobs, whichever of the two the configuration names. */
static void node_spec(struct strbuf *sb, const Pst__NodeRecord *n)
{
    _cleanup_(bitmap_free) struct bitmap *kept = NULL;
    _cleanup_free_ char *list = NULL;

    check_mem_or_die(nodespec_cpus(n, &kept));
    if (!kept)
        return;
    check_mem_or_die(bitmap_format(kept, &list));
    strbuf_addf(sb, "CoreSpecCount=%u CPUSpecList=%s ",
                bitmap_count(kept) / MAX(n->threads_per_core, 1u), list);
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
        node_spec(sb, n);
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

static void node_use(struct strbuf *sb, const Pst__NodeRecord *n, const struct show_node_of *of,
                     const struct show_opts *o)
{
    next_line(sb, o);
    strbuf_addf(sb, "CfgTRES=%s", text_or(of->tres, ""));
    next_line(sb, o);
    strbuf_addf(sb, "AllocTRES=%s", text_or(of->tres_used, ""));
    next_line(sb, o);
    strbuf_addf(sb, "CurrentWatts=%u AveWatts=%u", n->energy ? n->energy->current_watts : 0,
                n->energy ? n->energy->average_watts : 0);
}

void show_node(struct strbuf *sb, const Pst__NodeRecord *n, const struct show_node_of *of,
               const struct show_opts *o)
{
    int64_t now_us = of->now_us;

    node_hardware(sb, n, o);
    node_state(sb, n, of->partitions, o);
    next_line(sb, o);
    put_time(sb, "BootTime=", n->boot_us, "None", now_us);
    put_time(sb, " SlurmdStartTime=", n->slurmd_start_us, "None", now_us);
    next_line(sb, o);
    put_time(sb, "LastBusyTime=", n->last_busy_us, "Unknown", now_us);
    put_time(sb, " ResumeAfterTime=", n->resume_after_us, "None", now_us);
    if (n->has_suspend_time_s)
        strbuf_addf(sb, " SuspendTime=%u", n->suspend_time_s);
    else
        strbuf_add(sb, " SuspendTime=INFINITE");
    node_use(sb, n, of, o);
    if (n->reason) {
        next_line(sb, o);
        strbuf_addf(sb, "Reason=%s [%s@", n->reason, user_name_of(n->reason_uid));
        put_stamp(sb, n->reason_us, "Unknown", now_us);
        strbuf_addc(sb, ']');
    }
    optional_line(sb, o, "Comment", n->comment);
    optional_line(sb, o, "Extra", n->extra);
    if (n->instance_id || n->instance_type) {
        next_line(sb, o);
        strbuf_addf(sb, "InstanceId=%s InstanceType=%s", text_or(n->instance_id, ""),
                    text_or(n->instance_type, ""));
    }
    optional_line(sb, o, "ReservationName", n->reservation);
    if (n->topology && *n->topology)
        optional_line(sb, o, "Topology", n->topology);
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
    if (set && minutes == UINT32_MAX)
        strbuf_add(sb, "UNLIMITED");
    else if (set)
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
    strbuf_addf(sb, "Default=%s ", yes_no(p->is_default));
    if (p->cpu_bind)
        strbuf_addf(sb, "CpuBind=%s  ", p->cpu_bind);
    strbuf_addf(sb, "QoS=%s", text_or(p->qos, "N/A"));
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
    optional_line(sb, o, "NodeSets", p->node_sets);
    next_line(sb, o);
    strbuf_addf(sb, "Nodes=%s", p->nodes && *p->nodes ? p->nodes : "(null)");
    next_line(sb, o);
    strbuf_addf(sb, "PriorityJobFactor=%u PriorityTier=%u RootOnly=%s ReqResv=%s OverSubscribe=%s",
                p->has_priority_job_factor ? p->priority_job_factor : 1,
                p->has_priority_tier ? p->priority_tier : 1, yes_no(p->root_only),
                yes_no(p->req_resv), text_or(p->oversubscribe, "NO"));
    next_line(sb, o);
    if (p->has_over_time_limit_min)
        strbuf_addf(sb, "OverTimeLimit=%u", p->over_time_limit_min);
    else
        strbuf_addf(sb, "OverTimeLimit=%s",
                    p->has_over_time_unlimited && p->over_time_unlimited ? "UNLIMITED" : "NONE");
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

static void put_global(struct strbuf *sb, const char *key, bool set, uint32_t value)
{
    if (set)
        strbuf_addf(sb, "%s%u", key, value);
    else
        strbuf_addf(sb, "%sGLOBAL", key);
}

static void part_power(struct strbuf *sb, const Pst__PartitionRecord *p, const struct show_opts *o)
{
    next_line(sb, o);
    put_global(sb, "ResumeTimeout=", p->has_resume_timeout_s, p->resume_timeout_s);
    put_global(sb, " SuspendTimeout=", p->has_suspend_timeout_s, p->suspend_timeout_s);
    if (p->has_suspend_never && p->suspend_never)
        strbuf_add(sb, " SuspendTime=INFINITE");
    else
        put_global(sb, " SuspendTime=", p->has_suspend_time_s, p->suspend_time_s);
    strbuf_addf(sb, " PowerDownOnIdle=%s", yes_no(p->power_down_on_idle));
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
    strbuf_addf(sb, "TRES=%s", p->nodes && *p->nodes ? tres : "(null)");
    optional_line(sb, o, "TRESBillingWeights", p->tres_billing_weights);
    if (o->power_saving)
        part_power(sb, p, o);
    optional_line(sb, o, "Topology", p->topology);
    end_record(sb, o);
}
