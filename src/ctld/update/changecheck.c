/* changecheck.c - who may change which field in which state, and to what */
#include "ctld/update/changecheck.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "ctld/job/depends.h"
#include "ctld/job/jobfacts.h"
#include "ctld/schedlink/licenses.h"
#include "ctld/policy/policy.h"
#include "ctld/resv/resv.h"
#include "ctld/submit/jobextra.h"
#include "ctld/submit/jobgres.h"
#include "ctld/update/changecopy.h"
#include "ctld/update/changeimply.h"
#include "model/depend.h"
#include "model/words/reqtres.h"
#include "fields.h"
#include "fieldtable.h"

/* May the sender change the field now, as its row in proto/fields.def says? */
static int rule_check(const struct job_change *c, const struct job *j, uint32_t field)
{
    const struct field_row *row = field_row(&job_record_fields, field);

    if (!row || row->update == FIELD_UPDATE_NEVER)
        return ESLURM_NOT_SUPPORTED;
    if (row->update != FIELD_UPDATE_ALWAYS && job_is_ended(j->rec))
        return job_comes_back(j->rec) ? ESLURM_TRANSITION_STATE_NO_UPDATE : ESLURM_JOB_FINISHED;
    if (field == JOB_F_DEADLINE_US && c->req->set && c->req->set->has_deadline_us &&
        c->req->set->deadline_us < core_now())
        return ESLURM_INVALID_TIME_VALUE;
    /* Where a job writes, it writes as its owner: an operator or coordinator would have his
     * rights. */
    if (field == JOB_F_LICENSES && !job_is_pending(j->rec) && !policy_is_operator(c->ctld, c->cmd))
        return ESLURM_ACCESS_DENIED;
    if (row->by == FIELD_BY_SAME_USER && !cmd_may_act_as(c->ctld, c->cmd, j->rec->uid))
        return ESLURM_ACCESS_DENIED;
    if (row->update == FIELD_UPDATE_PENDING && !job_is_pending(j->rec))
        return ESLURM_JOB_NOT_PENDING;
    if (row->by == FIELD_BY_OPERATOR && !policy_is_operator(c->ctld, c->cmd))
        return ESLURM_ACCESS_DENIED;
    return 0;
}

/* Would the owner get by a cleared field what he may not set: an administrator's hold lifted, a
 * better place in the queue, no account or QOS to be counted under, no limit of memory? */
static bool clears_too_much(const struct job_change *c, const Pst__JobRecord *r, uint32_t field)
{
    const struct field_row *row = field_row(&job_record_fields, field);
    const Pst__JobRecord *set = c->req->set;

    if (row && row->clear != FIELD_CLEAR_AS_UPDATE)
        return true;
    switch (field) {
    case JOB_F_NICE:
        return r->has_nice && r->nice > 0;
    case JOB_F_MEM_PER_NODE_MIB:
        return r->has_mem_per_node_mib && !(set && set->has_mem_per_cpu_mib);
    case JOB_F_MEM_PER_CPU_MIB:
        return r->has_mem_per_cpu_mib && !(set && set->has_mem_per_node_mib);
    default:
        return false;
    }
}

/* To clear the time limit makes the job unlimited, and to clear "unlimited" limits it.  So a user
 * who may set one of the two fields may clear the other. */
static int clear_check(const struct job_change *c, const struct job *j, uint32_t field)
{
    const struct field_row *row = field_row(&job_record_fields, field);

    if (row && row->clear == FIELD_CLEAR_NEVER)
        return ESLURM_NOT_SUPPORTED;
    if (field == JOB_F_ACCOUNT && job_is_pending(j->rec))
        return ESLURM_INVALID_ACCOUNT;
    if (clears_too_much(c, j->rec, field) && !policy_is_operator(c->ctld, c->cmd))
        return ESLURM_ACCESS_DENIED;
    if (field == JOB_F_PARTITION)
        return ESLURM_INVALID_PARTITION_NAME; /* there is no default one */
    if (field == JOB_F_TIME_LIMIT_MIN)
        return rule_check(c, j, JOB_F_TIME_UNLIMITED);
    return rule_check(c, j, field == JOB_F_TIME_UNLIMITED ? JOB_F_TIME_LIMIT_MIN : field);
}

static int rules_check(const struct job_change *c, const struct job *j)
{
    const Pst__JobRecord *set = c->req->set;
    int code = 0;

    if (set && set->base.n_unknown_fields)
        return ESLURM_NOT_SUPPORTED; /* a later release would take them for its controller's word */
    for (unsigned i = 0; set && code == 0 && i < set->base.descriptor->n_fields; i++)
        if (pb_has(&set->base, set->base.descriptor->fields[i].id))
            code = rule_check(c, j, set->base.descriptor->fields[i].id);
    for (size_t i = 0; code == 0 && i < c->req->n_clear; i++)
        code = clear_check(c, j, c->req->clear[i]);
    return code;
}

/* All partitions of the changed job exist and let it in: nothing looks at that again when it
 * starts.  Where the job stays, only what changes is looked at. */
static int partitions_check(const struct job_change *c, const Pst__JobRecord *r, bool moves)
{
    _cleanup_free_ char *copy = strdup(r->partition);
    char *save = NULL;
    size_t n = 0;

    for (char *w = copy ? strtok_r(copy, ",", &save) : NULL; w;
         w = strtok_r(NULL, ",", &save), n++) {
        const struct partition *p = cluster_partition(c->ctld->cluster, w);
        bool too_many = n >= c->ctld->cluster->nparts; /* one is named twice */

        int code;

        if (!p || too_many)
            return ESLURM_INVALID_PARTITION_NAME;
        code = moves ? submit_lets_in(c->ctld, c->cmd, p, r) : policy_partition(c->ctld, p->rec, r);
        if (code == ESLURM_JOB_MISSING_REQUIRED_PARTITION_GROUP && !r->groups)
            return code; /* nothing would keep it out when it starts */
        if (code != 0 && !submit_may_wait_outside(c->ctld, code))
            return code;
    }
    return n ? 0 : ESLURM_INVALID_PARTITION_NAME;
}

/* The owner may lower the limit, and raise it while the job waits, as far as he could have asked
 * at submission. */
static bool owner_may_limit(const struct job_change *c, const Pst__JobRecord *r,
                            const Pst__JobRecord *set)
{
    const char *list = set->partition ? set->partition : r->partition;
    _cleanup_free_ char *name = list ? strndup(list, strcspn(list, ",")) : NULL;
    const struct partition *p = name ? cluster_partition(c->ctld->cluster, name) : NULL;

    if ((r->has_time_unlimited && r->time_unlimited) ||
        (r->has_time_limit_min && set->time_limit_min <= r->time_limit_min))
        return true;
    return job_is_pending(r) && p &&
           (!p->rec->has_max_time_min || set->time_limit_min <= p->rec->max_time_min);
}

static int label_check(const struct job_change *c, const Pst__JobRecord *r,
                       const Pst__JobRecord *set)
{
    Pst__JobRecord *copy = NULL;
    int code = change_labels(c, set) ? change_relabel(c, r, set, &copy) : 0;

    if (copy)
        pst__job_record__free_unpacked(copy, NULL);
    return code;
}

static bool nodes_known(const struct job_change *c, const char *list, bool all_known)
{
    _cleanup_(bitmap_free) struct bitmap *set = NULL;

    return !list || jobs_nodes_named(c->ctld->cluster, list, all_known, &set) == 0;
}

/* "gres/gpu:1,gres/nic": each with the name of its kind of TRES. */
static bool names_tres(const char *list)
{
    for (const char *p = list; p && *p; p += strcspn(p, ","), p += *p == ',')
        if (strncmp(p, "gres/", 5) != 0 && strncmp(p, "license/", 8) != 0)
            return false;
    return true;
}

/* Devices by node and socket, and what is counted by GPU. */
static int devices_check(const struct job_change *c, const Pst__JobRecord *r,
                         const Pst__JobRecord *set)
{
    Pst__JobRecord as = *r; /* shallow */

    if (set->has_core_spec && !conf_bool(c->ctld->conf, CONF_ALLOW_SPEC_RESOURCES_USAGE))
        return ESLURM_ACCESS_DENIED;
    if (!names_tres(set->tres_per_node))
        return ESLURM_INVALID_TRES;
    if (set->tres_per_socket && *set->tres_per_socket && !r->has_sockets_per_node &&
        !set->has_sockets_per_node)
        return ESLURM_INVALID_GRES;
    as.tres_per_node = set->tres_per_node ? set->tres_per_node : r->tres_per_node;
    as.tres_per_job = set->tres_per_job ? set->tres_per_job : r->tres_per_job;
    as.tres_per_task = set->tres_per_task ? set->tres_per_task : r->tres_per_task;
    as.tres_per_socket = set->tres_per_socket ? set->tres_per_socket : r->tres_per_socket;
    return (set->has_cpus_per_gpu || set->has_mem_per_gpu_mib) && !reqtres_gres(&as, "gpu", NULL)
               ? ESLURM_INVALID_GRES
               : 0;
}

/* A partition and nodes of another one, in one change. */
static bool nodes_elsewhere(const struct job_change *c, const Pst__JobRecord *set)
{
    _cleanup_(bitmap_free) struct bitmap *want = NULL;
    const struct partition *p = set->partition && set->req_nodes && *set->req_nodes
                                    ? cluster_partition(c->ctld->cluster, set->partition)
                                    : NULL;

    return p && jobs_nodes_named(c->ctld->cluster, set->req_nodes, true, &want) == 0 &&
           (p->nodes->nbits != want->nbits || !bitmap_subset(want, p->nodes));
}

/* Is the size of a job that waits changed, by which limits of one job count? */
static bool resizes_waiting(const Pst__JobRecord *r, const Pst__JobRecord *set)
{
    return job_is_pending(r) &&
           (set->has_num_tasks || set->has_cpus_per_task || set->has_min_cpus ||
            set->has_pn_min_cpus || set->has_min_nodes || set->has_mem_per_cpu_mib ||
            set->has_mem_per_node_mib || set->tres_per_job || set->tres_per_node ||
            set->tres_per_socket || set->tres_per_task || set->licenses);
}

/* That the nodes are free is for whoever made the job to say, and for root and SlurmUser. */
static int keeping_check(const struct job_change *c, const Pst__JobRecord *r,
                         const Pst__JobRecord *set)
{
    uid_t uid = c->cmd->conn ? conn_peer(c->cmd->conn)->uid : 0;

    if (!set->has_keeps_nodes)
        return 0;
    if (set->keeps_nodes || !job_is_external(r))
        return ESLURM_NOT_SUPPORTED;
    return core_is_admin(c->ctld, uid) || (r->has_keeper_uid && r->keeper_uid == uid)
               ? 0
               : ESLURM_ACCESS_DENIED;
}

/* What a rule by field number cannot say. */
static int values_check(const struct job_change *c, const struct job *j, const Pst__JobRecord *set)
{
    bool admin = policy_is_operator(c->ctld, c->cmd);
    const Pst__JobRecord *r = j->rec;
    int code;

    if (set->has_time_limit_min && !admin && !owner_may_limit(c, r, set))
        return ESLURM_ACCESS_DENIED;
    if (set->has_nice && !admin && set->nice < 0)
        return ESLURM_ACCESS_DENIED;
    if (set->has_priority && set->priority != 0 && job_is_held(r))
        return ESLURM_JOB_HELD;
    if (set->has_priority && set->priority != 0 && !admin && !job_is_pending(r))
        return ESLURM_PRIO_RESET_FAIL;
    if (set->has_array_task_throttle && !r->array_tasks && !r->has_array_job_id)
        return ESLURM_NOT_SUPPORTED;
    if (set->has_priority && set->priority != 0 && !admin &&
        set->priority > (r->has_priority       ? r->priority
                         : r->has_cur_priority ? r->cur_priority
                                               : 0))
        return ESLURM_ACCESS_DENIED;
    if (set->licenses && *set->licenses && !licenses_exist(c->ctld, set->licenses))
        return ESLURM_INVALID_LICENSES;
    if (set->account || set->qos || set->wckey || set->partition || set->has_time_limit_min ||
        resizes_waiting(r, set)) {
        Pst__JobRecord *copy = NULL, as = *set; /* shallow */

        change_more_cpus(j, &as);
        code = change_reassociate(c, r, &as, &copy);
        if (code == 0 && (set->partition || set->account || set->qos))
            code = partitions_check(c, copy, set->partition != NULL);
        if (copy)
            pst__job_record__free_unpacked(copy, NULL);
        if (code != 0)
            return code;
    }
    code = jobs_check_sizes(c->ctld->cluster, r, set);
    if (code != 0)
        return code;
    if (!nodes_known(c, set->req_nodes, true) || !nodes_known(c, set->exc_nodes, !r->external))
        return ESLURM_INVALID_NODE_NAME;
    if (nodes_elsewhere(c, set))
        return EAGAIN; /* as the incumbent has it */
    code = devices_check(c, r, set);
    if (code != 0)
        return code;
    if (set->reservation && *set->reservation) {
        Pst__JobRecord as = *r; /* shallow */

        as.reservation = set->reservation;
        code = resv_check_job(c->ctld, &as);
        if (code != 0)
            return code;
    }
    if (set->dependency && *set->dependency) {
        struct depends d;
        int r2;

        if (depends_parse(set->dependency, &d, NULL) < 0)
            return ESLURM_DEPENDENCY;
        depends_uniq(&d);
        r2 = depends_check(&d, c->ctld->cluster, r->job_id, depends_depth(c->ctld));
        depends_done(&d);
        if (r2 < 0)
            return r2 == -ELOOP ? ESLURM_CIRCULAR_DEPENDENCY : ESLURM_DEPENDENCY;
    }
    code = keeping_check(c, r, set);
    if (code == 0)
        code = jobextra_check(c->ctld->conf, set->extra, NULL);
    return code != 0 ? code : label_check(c, r, set);
}

/* Could the job, changed, still run where it wants to? */
static int still_feasible(const struct job_change *c, const struct job *j)
{
    ProtobufCMessage *copy;
    Pst__JobRecord *r;
    struct partition *p;
    const char *hint;
    bool later;
    char name[256];
    size_t len;
    int code = 0;

    if (!job_is_pending(j->rec) || pb_dup(&j->rec->base, &copy) < 0)
        return 0;
    r = (Pst__JobRecord *)copy;
    if (c->req->set && pb_merge(copy, &c->req->set->base) == 0) {
        code = submit_sizes(r);
        if (code == 0)
            code = submit_gres(c->ctld, r);
        if (code == 0 && c->req->set->tres_per_node)
            code = jobgres_check(r);
    }
    if (code == 0 && c->req->set && r->partition) {
        len = strcspn(r->partition, ",");
        if (len < sizeof(name)) {
            memcpy(name, r->partition, len);
            name[len] = '\0';
            p = cluster_partition(c->ctld->cluster, name);
            if (p && !strchr(r->partition, ','))
                code = submit_feasible(c->ctld, p, r, &later, &hint);
            if (code != ESLURM_INVALID_FEATURE && code != ESLURM_INVALID_PREFER &&
                (code != ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE ||
                 (!c->req->set->has_cpus_per_task && !c->req->set->has_num_tasks)))
                code = 0; /* memory, devices, CPUs of a node: it waits until it can run */
        }
    }
    protobuf_c_message_free_unpacked(copy, NULL);
    return code;
}

int change_check(const struct job_change *c, const struct job *j)
{
    static const Pst__JobRecord nothing = PST__JOB_RECORD__INIT;
    int code = rules_check(c, j);

    if (code == 0)
        code = values_check(c, j, c->req->set ? c->req->set : &nothing);
    if (code == 0)
        code = still_feasible(c, j);
    return code;
}
