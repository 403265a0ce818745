/* json_node.c - nodes, partitions and rows of sinfo as JSON; see json_job.h. */
#include "cli/format/json_job.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "cli/format/fmt_sinfo.h"
#include "cli/query/out_nodes.h"
#include "cli/query/out_users.h"
#include "model/words/names.h"
#include "model/words/nodespec.h"

static void put_node_states(struct json *js, const char *key, const Pst__NodeRecord *n)
{
    struct names_node state = names_node_of(n);

    json_list(js, key);
    json_str(js, NULL, names_node_base(&state));
    for (unsigned i = 0; i < NAMES_NODE_FLAGS; i++)
        if (n->state_flags & (1u << names_node_flag_order(i)))
            json_str(js, NULL, names_node_flag(names_node_flag_order(i)));
    json_list_end(js);
}

static void put_energy(struct json *js, const Pst__NodeEnergy *e)
{
    static const Pst__NodeEnergy none = PST__NODE_ENERGY__INIT;

    e = e ? e : &none;
    json_map(js, "energy");
    json_int(js, "average_watts", e->average_watts);
    json_int(js, "base_consumed_energy", (int64_t)e->base_j);
    json_int(js, "consumed_energy", (int64_t)e->consumed_j);
    json_set(js, "current_watts", e->current_watts);
    json_int(js, "previous_consumed_energy", (int64_t)e->previous_j);
    json_int(js, "last_collected", e->collected_us / USEC_PER_SEC);
    json_map_end(js);
}

static void put_node_use(struct json *js, const Pst__NodeRecord *n, const char *tres)
{
    json_int(js, "alloc_memory", (int64_t)n->alloc_mem_mib);
    json_int(js, "alloc_cpus", n->alloc_cpus);
    json_int(js, "alloc_idle_cpus", n->cpus > n->alloc_cpus ? n->cpus - n->alloc_cpus : 0);
    json_str(js, "tres_used", tres);
}

static void put_node_config(struct json *js, const Pst__NodeRecord *n, const char *cluster)
{
    json_str(js, "architecture", n->arch);
    json_str(js, "burstbuffer_network_address", "");
    json_int(js, "boards", n->boards ? n->boards : 1);
    json_time(js, "boot_time", n->boot_us);
    if (!json_is_before(js, 43)) {
        json_set(js, "tls_cert_last_renewal", 0);
        json_list(js, "cert_flags");
        json_list_end(js);
    }
    json_str(js, "cluster_name", cluster);
    json_int(js, "cores", n->cores_per_socket);
    json_int(js, "specialized_cores", n->core_spec);
    json_int(js, "cpu_binding", 0);
    json_int(js, "cpu_load", n->cpu_load_centi);
    json_number(js, "free_mem", n->has_free_mem_mib, false, n->free_mem_mib);
    json_int(js, "cpus", n->cpus);
    json_int(js, "effective_cpus", nodespec_effective(n));
    json_str(js, "specialized_cpus", n->cpu_spec_list);
    put_energy(js, n->energy);
    json_str(js, "extra", n->extra);
    json_words(js, "features", n->features);
    json_words(js, "active_features", n->active_features ? n->active_features : n->features);
    json_str(js, "gpu_spec", "");
    json_str(js, "gres", n->gres_shown ? n->gres_shown : n->gres);
    json_str(js, "gres_drained", "N/A");
    json_str(js, "gres_used", n->alloc_gres);
    json_str(js, "instance_id", n->instance_id);
    json_str(js, "instance_type", n->instance_type);
    json_time(js, "last_busy", n->last_busy_us);
    json_str(js, "mcs_label", n->mcs_label);
    json_int(js, "specialized_memory", (int64_t)n->mem_spec_mib);
}

void json_node(struct json *js, const Pst__NodeRecord *n, const struct show_node_of *of)
{
    json_map(js, NULL);
    put_node_config(js, n, of->cluster);
    json_str(js, "name", n->name);
    json_one(js, "next_state_after_reboot", "INVALID");
    json_str(js, "address", n->addr ? n->addr : n->name);
    json_str(js, "hostname", n->hostname ? n->hostname : n->name);
    put_node_states(js, "state", n);
    json_str(js, "operating_system", n->os);
    json_str(js, "owner", n->has_owner_uid ? user_name_of(n->owner_uid) : "");
    json_words(js, "partitions", of->partitions);
    json_int(js, "port", n->port);
    json_int(js, "real_memory", (int64_t)n->real_memory_mib);
    json_int(js, "res_cores_per_gpu", n->restricted_cores_per_gpu);
    json_str(js, "comment", n->comment);
    json_str(js, "reason", n->reason);
    json_time(js, "reason_changed_at", n->reason ? n->reason_us : 0);
    json_str(js, "reason_set_by_user", n->reason ? user_name_of(n->reason_uid) : "");
    json_set(js, "resume_after",
             n->has_resume_after_us ? (uint64_t)(n->resume_after_us / USEC_PER_SEC) : 0);
    json_str(js, "reservation", n->reservation);
    if (!json_is_before(js, 45))
        json_number(js, "suspend_time", n->has_suspend_time_s, !n->has_suspend_time_s,
                    n->suspend_time_s);
    put_node_use(js, n, of->tres_used);
    json_time(js, "slurmd_start_time", n->slurmd_start_us);
    json_int(js, "sockets", n->sockets);
    json_int(js, "threads", n->threads_per_core);
    json_int(js, "temporary_disk", (int64_t)n->tmp_disk_mib);
    json_int(js, "weight", n->weight);
    if (!json_is_before(js, 43))
        json_str(js, "topology", n->topology);
    json_str(js, "tres", of->tres);
    json_str(js, "version", n->version);
    json_map_end(js);
}

/* ---- partitions ------------------------------------------------------------------------------ */

static void put_access(struct json *js, const Pst__PartitionRecord *p, const char *tres,
                       const char *cluster)
{
    json_map(js, "nodes");
    json_str(js, "allowed_allocation", p->alloc_nodes);
    json_str(js, "configured", p->nodes);
    json_int(js, "total", p->total_nodes);
    json_map_end(js);
    json_map(js, "accounts");
    json_str(js, "allowed", p->allow_accounts);
    json_str(js, "deny", p->deny_accounts);
    json_map_end(js);
    json_map(js, "groups");
    json_str(js, "allowed", p->allow_groups);
    json_map_end(js);
    json_map(js, "qos");
    json_str(js, "allowed", p->allow_qos);
    json_str(js, "deny", p->deny_qos);
    json_str(js, "assigned", p->qos);
    json_map_end(js);
    json_str(js, "alternate", p->alternate);
    json_map(js, "tres");
    json_str(js, "billing_weights", p->tres_billing_weights);
    json_str(js, "configured", tres);
    json_map_end(js);
    json_str(js, "cluster", cluster);
    json_select_type(js, p->select_type_parameters);
    json_map(js, "cpus");
    if (json_is_before(js, 45)) {
        json_int(js, "task_binding", 0);
    } else {
        json_list(js, "task_binding");
        json_list_end(js);
    }
    json_int(js, "total", p->total_cpus);
    json_map_end(js);
}

static void put_defaults(struct json *js, const Pst__PartitionRecord *p)
{
    json_map(js, "defaults");
    json_int(js, "memory_per_cpu", (int64_t)p->def_mem_per_cpu_mib);
    json_number(js, "partition_memory_per_cpu", p->def_mem_per_cpu_mib, false,
                p->def_mem_per_cpu_mib);
    json_number(js, "partition_memory_per_node", !p->def_mem_per_cpu_mib, false,
                p->def_mem_per_node_mib);
    json_number(js, "time", p->has_default_time_min,
                p->has_default_time_min && p->default_time_min == UINT32_MAX, p->default_time_min);
    json_str(js, "job", p->job_defaults);
    json_map_end(js);
}

static void put_flags(struct json *js, const Pst__PartitionRecord *p)
{
    const struct {
        bool set;
        const char *name;
    } flags[] = {
        { p->is_default, "DEFAULT" },        { p->hidden, "HIDDEN" },
        { p->disable_root_jobs, "NO_ROOT" }, { p->root_only, "ROOT_ONLY" },
        { p->req_resv, "REQ_RESV" },         { p->lln, "LLN" },
        { p->power_down_on_idle, "PDOI" },
    };

    json_list(js, "flags");
    for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
        if (flags[i].set)
            json_str(js, NULL, flags[i].name);
    json_list_end(js);
    json_map(js, "partition");
    json_str(js, "exclusive", p->exclusive ? p->exclusive : "NO");
    json_str(js, "oversubscribe", p->oversubscribe ? p->oversubscribe : "NO");
    json_one(js, "state", names_part_state((unsigned)p->state));
    json_map_end(js);
    json_int(js, "grace_time", p->grace_time_s);
}

static void put_maximums(struct json *js, const Pst__PartitionRecord *p)
{
    const char *jobs = p->oversubscribe ? strchr(p->oversubscribe, ':') : NULL; /* FORCE:4 */

    json_map(js, "maximums");
    json_number(js, "cpus_per_node", p->has_max_cpus_per_node, !p->has_max_cpus_per_node,
                p->max_cpus_per_node);
    json_number(js, "cpus_per_socket", p->has_max_cpus_per_socket, !p->has_max_cpus_per_socket,
                p->max_cpus_per_socket);
    json_int(js, "memory_per_cpu", (int64_t)p->max_mem_per_cpu_mib);
    json_number(js, "partition_memory_per_cpu", p->max_mem_per_cpu_mib, false,
                p->max_mem_per_cpu_mib);
    json_number(js, "partition_memory_per_node", !p->max_mem_per_cpu_mib, false,
                p->max_mem_per_node_mib);
    json_number(js, "nodes", p->has_max_nodes, !p->has_max_nodes, p->max_nodes);
    json_int(js, "shares", 0);
    json_map(js, "oversubscribe");
    json_int(js, "jobs", jobs ? strtol(jobs + 1, NULL, 10) : 0);
    json_list(js, "flags");
    if (p->oversubscribe && strncasecmp(p->oversubscribe, "FORCE", 5) == 0)
        json_str(js, NULL, "force");
    json_list_end(js);
    json_map_end(js);
    json_number(js, "time", p->has_max_time_min, !p->has_max_time_min, p->max_time_min);
    json_number(js, "over_time_limit", p->has_over_time_limit_min, false, p->over_time_limit_min);
    json_map_end(js);
}

static const char *preempt_mode_word(const Pst__PartitionRecord *p)
{
    if (!p->preempt_mode || p->preempt_mode_of_cluster)
        return "CLUSTER_GLOBAL";
    return strcmp(p->preempt_mode, "OFF") == 0 ? "DISABLED" : p->preempt_mode;
}

void json_partition(struct json *js, const char *key, const Pst__PartitionRecord *p,
                    const char *tres, const char *cluster)
{
    json_map(js, key);
    put_access(js, p, tres, cluster);
    put_defaults(js, p);
    put_flags(js, p);
    put_maximums(js, p);
    json_map(js, "minimums");
    json_int(js, "nodes", p->min_nodes);
    json_map_end(js);
    json_str(js, "name", p->name);
    json_str(js, "node_sets", p->node_sets);
    json_one(js, "preempt_mode", preempt_mode_word(p));
    json_map(js, "priority");
    json_int(js, "job_factor", p->has_priority_job_factor ? p->priority_job_factor : 1);
    json_int(js, "tier", p->has_priority_tier ? p->priority_tier : 1);
    json_map_end(js);
    json_map(js, "timeouts");
    json_number(js, "resume", p->has_resume_timeout_s, false, p->resume_timeout_s);
    json_number(js, "suspend", p->has_suspend_timeout_s, false, p->suspend_timeout_s);
    json_map_end(js);
    json_str(js, "topology", p->topology);
    json_number(js, "suspend_time", p->has_suspend_time_s, p->has_suspend_never && p->suspend_never,
                p->suspend_time_s);
    json_map_end(js);
}

/* ---- sinfo ----------------------------------------------------------------------------------- */

static void put_range(struct json *js, const char *key, const struct sinfo_range *range)
{
    json_map(js, key);
    json_int(js, "minimum", (int64_t)range->least);
    json_int(js, "maximum", (int64_t)range->greatest);
    json_map_end(js);
}

static void put_sinfo_nodes(struct json *js, const struct sinfo_row *r)
{
    json_map(js, "nodes");
    json_int(js, "allocated", r->nodes_alloc);
    json_int(js, "idle", r->nodes_idle);
    json_int(js, "other", r->nodes_other);
    json_int(js, "total", r->nodes);
    json_list(js, "hostnames");
    json_list_end(js);
    json_list(js, "addresses");
    json_list_end(js);
    json_list(js, "nodes");
    for (size_t i = 0; r->names && i < hostlist_count(r->names); i++)
        json_str(js, NULL, hostlist_nth(r->names, i));
    if (!r->names && r->node)
        json_str(js, NULL, r->node->name);
    json_list_end(js);
    json_map_end(js);
}

static void put_sinfo_cpus(struct json *js, const struct sinfo_row *r)
{
    const Pst__PartitionRecord *p = r->part;

    json_map(js, "cpus");
    json_int(js, "allocated", (int64_t)r->cpus_alloc);
    json_int(js, "idle", (int64_t)r->cpus_idle);
    json_int(js, "other", (int64_t)r->cpus_other);
    json_int(js, "total", (int64_t)r->cpus_total);
    json_int(js, "minimum", (int64_t)r->cpus.least);
    json_int(js, "maximum", (int64_t)r->cpus.greatest);
    put_range(js, "load", &r->load);
    json_map(js, "per_node");
    json_number(js, "max", p->has_max_cpus_per_node, !p->has_max_cpus_per_node,
                p->max_cpus_per_node);
    json_map_end(js);
    json_map_end(js);
}

static void put_sinfo_memory(struct json *js, const struct sinfo_row *r)
{
    json_map(js, "memory");
    json_int(js, "minimum", (int64_t)r->memory.least);
    json_int(js, "maximum", (int64_t)r->memory.greatest);
    json_map(js, "free");
    json_number(js, "minimum", r->has_free_mem, false, r->free_mem.least);
    json_number(js, "maximum", r->has_free_mem, false, r->free_mem.greatest);
    json_map_end(js);
    json_int(js, "allocated", (int64_t)r->mem_alloc);
    json_map_end(js);
}

void json_sinfo(struct json *js, const struct sinfo_row *r, const char *part_tres)
{
    const Pst__NodeRecord none = PST__NODE_RECORD__INIT, *n = r->node ? r->node : &none;

    json_map(js, NULL);
    json_int(js, "port", n->port);
    json_map(js, "node");
    put_node_states(js, "state", n);
    json_map_end(js);
    put_sinfo_nodes(js, r);
    put_sinfo_cpus(js, r);
    put_range(js, "sockets", &r->sockets);
    put_range(js, "cores", &r->cores);
    put_range(js, "threads", &r->threads);
    put_range(js, "disk", &r->disk);
    put_sinfo_memory(js, r);
    put_range(js, "weight", &r->weight);
    json_map(js, "features");
    json_str(js, "total", n->features);
    json_str(js, "active", n->active_features ? n->active_features : n->features);
    json_map_end(js);
    json_map(js, "gres");
    json_str(js, "total", n->gres);
    json_str(js, "used", n->alloc_gres);
    json_map_end(js);
    json_str(js, "cluster", r->cluster);
    json_str(js, "comment", n->comment);
    json_str(js, "extra", n->extra);
    json_map(js, "reason");
    json_str(js, "description", n->reason);
    json_int(js, "time", n->reason ? n->reason_us / 1000000 : 0);
    json_map_end(js);
    json_str(js, "reservation", n->reservation);
    json_str(js, "reason_set_by_user", n->reason ? user_name_of(n->reason_uid) : "");
    json_map(js, "resource_spec");
    json_str(js, "cpus", n->cpu_spec_list);
    json_int(js, "memory", (int64_t)n->mem_spec_mib);
    json_map_end(js);
    json_partition(js, "partition", r->part, part_tres, r->cluster);
    json_map_end(js);
}
