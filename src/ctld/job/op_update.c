/* op_update.c - scontrol update of jobs: which user may change which field in which state */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "ctld/submit/crontimes.h"
#include "ctld/ctld.h"
#include "ctld/job/depends.h"
#include "ctld/schedlink/feasible.h"
#include "ctld/schedlink/schedfeed.h"
#include "ctld/job/hetgroup.h"
#include "ctld/submit/jobsubmit.h"
#include "ctld/job/arraysplit.h"
#include "ctld/job/jobfacts.h"
#include "ctld/job/jobwalk.h"
#include "feed/licensefeed.h"
#include "ctld/job/licenses.h"
#include "ctld/job/lifecycle.h"
#include "ctld/policy/mcs.h"
#include "ctld/policy/admission.h"
#include "ctld/policy/policy.h"
#include "ctld/job/resize.h"
#include "ctld/resv/resv.h"
#include "ctld/core/service.h"
#include "conf/conf_mcs.h"
#include "model/array.h"
#include "model/depend.h"
#include "fields.h"
#include "fieldtable.h"

struct update {
    struct ctld *ctld;
    struct cmd *cmd; /* owned */
    const Pst__JobUpdateRequest *req;
    struct jobwalk walk; /* over the ids asked for */
    uint32_t *ids;       /* or over these, of the jobs of a name */
    size_t n_ids, next;
    uint32_t cost; /* units of one job's change */
    const char *id;
    Pst__JobActionReply reply;
    uint64_t lsn;
    struct strbuf messages; /* of the site's filters about the job at hand */
};

static void add_result(struct update *u, int code, uint32_t job_id)
{
    Pst__JobActionResult *r = malloc(sizeof(*r));
    Pst__JobActionResult **bigger =
        realloc(u->reply.results, (u->reply.n_results + 1) * sizeof(*bigger));

    if (bigger)
        u->reply.results = bigger;
    if (!r || !bigger) {
        free(r);
        return; /* the caller sees fewer results than jobs */
    }
    pst__job_action_result__init(r);
    if (u->id)
        r->id = tx_strdup(u->id);
    r->has_code = 1;
    r->code = code;
    if (u->messages.len && code)
        strbuf_addf(&u->messages, ": %s", slurm_err_text(code));
    r->text = tx_strdup(u->messages.buf);
    SET(r, job_id, job_id);
    u->reply.results[u->reply.n_results++] = r;
}

/* May the sender change the field now, as its row in proto/fields.def says? */
static int rule_check(const struct update *u, const struct job *j, uint32_t field)
{
    const struct field_row *row = field_row(&job_record_fields, field);

    if (!row || row->update == FIELD_UPDATE_NEVER)
        return ESLURM_NOT_SUPPORTED;
    if (field == JOB_F_DEADLINE_US && u->req->set && u->req->set->has_deadline_us &&
        u->req->set->deadline_us < core_now())
        return ESLURM_INVALID_TIME_VALUE;
    if (row->by == FIELD_BY_OPERATOR && !policy_is_operator(u->ctld, u->cmd))
        return ESLURM_ACCESS_DENIED;
    /* Where a job writes, it writes as its owner: an operator or coordinator would have his
     * rights. */
    if (field == JOB_F_LICENSES && !job_is_pending(j->rec) && !policy_is_operator(u->ctld, u->cmd))
        return ESLURM_ACCESS_DENIED;
    if (row->by == FIELD_BY_SAME_USER && !cmd_may_act_as(u->ctld, u->cmd, j->rec->uid))
        return ESLURM_ACCESS_DENIED;
    if (row->update == FIELD_UPDATE_PENDING && !job_is_pending(j->rec))
        return job_is_ended(j->rec) ? ESLURM_JOB_FINISHED : ESLURM_JOB_NOT_PENDING;
    if (row->update == FIELD_UPDATE_UNENDED && job_is_ended(j->rec))
        return ESLURM_JOB_FINISHED;
    return 0;
}

/* Would the owner get by a cleared field what he may not set: an administrator's hold lifted, a
 * better place in the queue, no account or QOS to be counted under, no limit of memory? */
static bool clears_too_much(const struct update *u, const Pst__JobRecord *r, uint32_t field)
{
    const struct field_row *row = field_row(&job_record_fields, field);
    const Pst__JobRecord *set = u->req->set;

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
static int clear_check(const struct update *u, const struct job *j, uint32_t field)
{
    const struct field_row *row = field_row(&job_record_fields, field);

    if (row && row->clear == FIELD_CLEAR_NEVER)
        return ESLURM_NOT_SUPPORTED;
    if (field == JOB_F_ACCOUNT && job_is_pending(j->rec))
        return ESLURM_INVALID_ACCOUNT;
    if (clears_too_much(u, j->rec, field) && !policy_is_operator(u->ctld, u->cmd))
        return ESLURM_ACCESS_DENIED;
    if (field == JOB_F_PARTITION)
        return ESLURM_INVALID_PARTITION_NAME; /* there is no default one */
    if (field == JOB_F_TIME_LIMIT_MIN)
        return rule_check(u, j, JOB_F_TIME_UNLIMITED);
    return rule_check(u, j, field == JOB_F_TIME_UNLIMITED ? JOB_F_TIME_LIMIT_MIN : field);
}

static int rules_check(const struct update *u, const struct job *j)
{
    const Pst__JobRecord *set = u->req->set;
    int code = 0;

    if (set && set->base.n_unknown_fields)
        return ESLURM_NOT_SUPPORTED; /* a later release would take them for its controller's word */
    for (unsigned i = 0; set && code == 0 && i < set->base.descriptor->n_fields; i++)
        if (pb_has(&set->base, set->base.descriptor->fields[i].id))
            code = rule_check(u, j, set->base.descriptor->fields[i].id);
    for (size_t i = 0; code == 0 && i < u->req->n_clear; i++)
        code = clear_check(u, j, u->req->clear[i]);
    return code;
}

/* All partitions of the changed job exist and let it in: nothing looks at that again when it
 * starts.  Where the job stays, only what changes is looked at. */
static int partitions_check(const struct update *u, const Pst__JobRecord *r, bool moves)
{
    _cleanup_free_ char *copy = strdup(r->partition);
    char *save = NULL;
    size_t n = 0;

    for (char *w = copy ? strtok_r(copy, ",", &save) : NULL; w;
         w = strtok_r(NULL, ",", &save), n++) {
        const struct partition *p = cluster_partition(u->ctld->cluster, w);
        bool too_many = n >= u->ctld->cluster->nparts; /* one is named twice */

        int code;

        if (!p || too_many)
            return ESLURM_INVALID_PARTITION_NAME;
        code = moves ? submit_lets_in(u->ctld, u->cmd, p, r) : policy_partition(u->ctld, p->rec, r);
        if (code != 0)
            return code;
    }
    return n ? 0 : ESLURM_INVALID_PARTITION_NAME;
}

/* The owner may lower the limit, and raise it while the job waits, as far as he could have asked
 * at submission. */
static bool owner_may_limit(const struct update *u, const Pst__JobRecord *r,
                            const Pst__JobRecord *set)
{
    const char *list = set->partition ? set->partition : r->partition;
    _cleanup_free_ char *name = list ? strndup(list, strcspn(list, ",")) : NULL;
    const struct partition *p = name ? cluster_partition(u->ctld->cluster, name) : NULL;

    if ((r->has_time_unlimited && r->time_unlimited) ||
        (r->has_time_limit_min && set->time_limit_min <= r->time_limit_min))
        return true;
    return job_is_pending(r) && p &&
           (!p->rec->has_max_time_min || set->time_limit_min <= p->rec->max_time_min);
}

/* *ret_copy: the job with what is set, and with the association and QOS that this gives it; the
 * caller frees. */
static int copy_reassociated(const struct update *u, const Pst__JobRecord *r,
                             const Pst__JobRecord *set, Pst__JobRecord **ret_copy)
{
    _cleanup_free_ char *name = NULL;
    const struct partition *p;
    ProtobufCMessage *copy;
    const char *word;
    Pst__JobRecord *c;
    int code;

    *ret_copy = NULL;
    if (pb_dup(&r->base, &copy) < 0)
        return SLURM_ERROR;
    c = *ret_copy = (Pst__JobRecord *)copy;
    if (set->qos && pb_set_str(&c->qos_req, NULL) < 0)
        return SLURM_ERROR;
    if (pb_merge(copy, &set->base) < 0 ||
        !(name = strndup(c->partition, strcspn(c->partition, ","))))
        return SLURM_ERROR;
    p = cluster_partition(u->ctld->cluster, name);
    code = policy_resolve(u->ctld, c->user_name, p, c);
    /* the new account does not let it keep its own */
    if (code == ESLURM_INVALID_QOS && !set->qos) {
        (void)pb_set_str(&c->qos, NULL); /* cannot fail: it frees */
        (void)pb_set_str(&c->qos_req, NULL);
        code = policy_resolve(u->ctld, c->user_name, p, c);
    }
    if (code == 0 && !policy_is_operator(u->ctld, u->cmd))
        code = admission_check(u->ctld, p, c, 1, true, &word);
    return code;
}

/* The label that the job would have with what is set: 0 or an ESLURM code; *ret_copy: the job, the
 * caller frees.  Whose groups are not known here, an operator's who changes another's job, counts
 * with his own group alone. */
static int copy_relabelled(const struct update *u, const Pst__JobRecord *r,
                           const Pst__JobRecord *set, Pst__JobRecord **ret_copy)
{
    bool his = conn_peer(u->cmd->conn)->uid == r->uid;
    ProtobufCMessage *copy;
    const char *hint;
    Pst__JobRecord *c;

    *ret_copy = NULL;
    if (pb_dup(&r->base, &copy) < 0)
        return SLURM_ERROR;
    c = *ret_copy = (Pst__JobRecord *)copy;
    if (pb_set_str(&c->mcs_label, set->mcs_label) < 0 ||
        (set->account && pb_set_str(&c->account, set->account) < 0))
        return SLURM_ERROR;
    return mcs_apply(u->ctld->conf, c,
                     his && u->cmd->group_name ? u->cmd->group_name : r->group_name, &hint);
}

/* What a job that waits asks for then, as ReqTRES shows it. */
static void note_asked(const struct update *u, Pst__Transaction *tx, const struct job *j,
                       Pst__JobRecord *set)
{
    _cleanup_free_ char *name = NULL;
    ProtobufCMessage *copy = NULL;
    Pst__JobRecord *c;

    if (!job_is_pending(j->rec) || pb_dup(&j->rec->base, &copy) < 0)
        return; /* out of memory: it shows what it showed */
    c = (Pst__JobRecord *)copy;
    if (pb_merge(copy, &set->base) == 0 && c->partition &&
        (name = strndup(c->partition, strcspn(c->partition, ",")))) {
        policy_note_asked(u->ctld, cluster_partition(u->ctld->cluster, name), c);
        if (c->req_billing != j->rec->req_billing)
            SET(set, req_billing, c->req_billing);
        if (!c->req_gres && j->rec->req_gres)
            tx_clear(tx, JOB_F_REQ_GRES);
        else if (c->req_gres && (!j->rec->req_gres || strcmp(c->req_gres, j->rec->req_gres) != 0))
            (void)pb_set_str(&set->req_gres, c->req_gres); /* as above */
    }
    protobuf_c_message_free_unpacked(copy, NULL);
}

/* A job whose label is its account gets another with another account. */
static bool label_changes(const struct update *u, const Pst__JobRecord *set)
{
    for (size_t i = 0; i < u->req->n_clear; i++)
        if (u->req->clear[i] == JOB_F_MCS_LABEL)
            return true; /* and gets the one that it would have without a word about it */
    return set->mcs_label || (set->account && conf_mcs(u->ctld->conf).kind == MCS_ACCOUNT);
}

static int label_check(const struct update *u, const Pst__JobRecord *r, const Pst__JobRecord *set)
{
    Pst__JobRecord *copy = NULL;
    int code = label_changes(u, set) ? copy_relabelled(u, r, set, &copy) : 0;

    if (copy)
        pst__job_record__free_unpacked(copy, NULL);
    return code;
}

static void set_label(const struct update *u, Pst__Transaction *tx, const struct job *j,
                      Pst__JobRecord *set)
{
    Pst__JobRecord *c = NULL;

    if (label_changes(u, set) && copy_relabelled(u, j->rec, set, &c) == 0) { /* checked before */
        (void)pb_set_str(&set->mcs_label, c->mcs_label); /* out of memory: as it was asked for */
        if (!c->mcs_label)
            tx_clear(tx, JOB_F_MCS_LABEL);
        SET(set, mcs_select, c->has_mcs_select && c->mcs_select);
    }
    if (c)
        pst__job_record__free_unpacked(c, NULL);
}

static bool nodes_known(const struct update *u, const char *list)
{
    _cleanup_(bitmap_free) struct bitmap *set = NULL;

    return !list || jobs_nodes_named(u->ctld->cluster, list, true, &set) == 0;
}

/* What a rule by field number cannot say. */
static int values_check(const struct update *u, const struct job *j, const Pst__JobRecord *set)
{
    bool admin = policy_is_operator(u->ctld, u->cmd);
    const Pst__JobRecord *r = j->rec;
    int code;

    if (set->has_time_limit_min && !admin && !owner_may_limit(u, r, set))
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
    if (set->licenses && *set->licenses &&
        !licenses_valid(u->ctld->conf, licenses_all(u->ctld), set->licenses))
        return ESLURM_INVALID_LICENSES;
    if (set->account || set->qos || set->wckey || set->partition || set->has_time_limit_min) {
        Pst__JobRecord *copy = NULL;

        code = copy_reassociated(u, r, set, &copy);
        if (code == 0 && (set->partition || set->account || set->qos))
            code = partitions_check(u, copy, set->partition != NULL);
        if (copy)
            pst__job_record__free_unpacked(copy, NULL);
        if (code != 0)
            return code;
    }
    code = jobs_check_sizes(u->ctld->cluster, r, set);
    if (code != 0)
        return code;
    if (!nodes_known(u, set->req_nodes) || !nodes_known(u, set->exc_nodes))
        return ESLURM_INVALID_NODE_NAME;
    if (set->reservation && *set->reservation) {
        Pst__JobRecord as = *r; /* shallow */

        as.reservation = set->reservation;
        code = resv_check_job(u->ctld, &as);
        if (code != 0)
            return code;
    }
    if (set->dependency && *set->dependency) {
        struct depends d;
        int r2;

        if (depends_parse(set->dependency, &d, NULL) < 0)
            return ESLURM_DEPENDENCY;
        depends_uniq(&d);
        r2 = depends_check(&d, u->ctld->cluster, r->job_id, 10);
        depends_done(&d);
        if (r2 < 0)
            return r2 == -ELOOP ? ESLURM_CIRCULAR_DEPENDENCY : ESLURM_DEPENDENCY;
    }
    return label_check(u, r, set);
}

/* Could the job, changed, still run where it wants to? */
static int still_feasible(const struct update *u, const struct job *j)
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
    if (u->req->set && pb_merge(copy, &u->req->set->base) == 0) {
        code = submit_sizes(r);
        if (code == 0)
            code = submit_gres(u->ctld, r);
    }
    if (code == 0 && u->req->set && r->partition) {
        len = strcspn(r->partition, ",");
        if (len < sizeof(name)) {
            memcpy(name, r->partition, len);
            name[len] = '\0';
            p = cluster_partition(u->ctld->cluster, name);
            if (p && !strchr(r->partition, ','))
                code = submit_feasible(u->ctld, p, r, &later, &hint);
            if (code != ESLURM_INVALID_FEATURE &&
                (code != ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE ||
                 (!u->req->set->has_cpus_per_task && !u->req->set->has_num_tasks)))
                code = 0; /* memory, devices, CPUs of a node: it waits until it can run */
        }
    }
    protobuf_c_message_free_unpacked(copy, NULL);
    return code;
}

/* The text as it is kept: every item with its mark; NULL when memory is short. */
static char *stored_dependency(const char *text)
{
    struct depends d;
    char *out = NULL;

    if (depends_parse(text, &d, NULL) < 0)
        return NULL; /* checked before */
    depends_uniq(&d);
    if (depends_format(&d, &out) < 0)
        out = NULL;
    depends_done(&d);
    return out;
}

/* What squeue shows as the size of a job whose tasks need more nodes than it asked for. */
static void least_nodes(const struct update *u, Pst__Transaction *tx, const struct job *j,
                        Pst__JobRecord *set)
{
    ProtobufCMessage *copy;
    Pst__JobRecord *r;
    _cleanup_free_ char *name = NULL;
    uint32_t least;

    if (!(set->has_num_tasks || set->has_cpus_per_task || set->has_min_nodes || set->partition) ||
        pb_dup(&j->rec->base, &copy) < 0)
        return;
    r = (Pst__JobRecord *)copy;
    if (pb_merge(copy, &set->base) == 0 && r->partition &&
        (name = strndup(r->partition, strcspn(r->partition, ",")))) {
        least = submit_least_nodes(u->ctld, cluster_partition(u->ctld->cluster, name), r);
        if (least)
            SET(set, least_nodes, least);
        else if (r->has_least_nodes)
            tx_clear(tx, JOB_F_LEAST_NODES);
    }
    protobuf_c_message_free_unpacked(copy, NULL);
}

/* The association, QOS and workload key that follow from what was set. */
static void set_association(const struct update *u, Pst__Transaction *tx, const struct job *j,
                            Pst__JobRecord *set)
{
    Pst__JobRecord *c = NULL;

    if ((set->account || set->qos || set->wckey || set->partition) &&
        copy_reassociated(u, j->rec, set, &c) == 0) { /* checked before */
#define FOLLOW(field, number)                                                                      \
    if (c->has_##field)                                                                            \
        SET(set, field, c->field);                                                                 \
    else                                                                                           \
        tx_clear(tx, number)
        FOLLOW(assoc_id, JOB_F_ASSOC_ID);
        FOLLOW(qos_id, JOB_F_QOS_ID);
        FOLLOW(wckey_id, JOB_F_WCKEY_ID);
        FOLLOW(part_qos_id, JOB_F_PART_QOS_ID);
#undef FOLLOW
        if (c->account)
            (void)pb_set_str(&set->account, c->account); /* out of memory: as it was asked for */
        if (c->qos)
            (void)pb_set_str(&set->qos, c->qos);
        if (c->wckey)
            (void)pb_set_str(&set->wckey, c->wckey);
        if (c->qos_req)
            (void)pb_set_str(&set->qos_req, c->qos_req);
        else
            tx_clear(tx, JOB_F_QOS_REQ);
    }
    if (c)
        pst__job_record__free_unpacked(c, NULL);
}

/* What an operator sets holds whatever the limits say. */
static void note_limit_set(const struct update *u, const Pst__JobRecord *r, Pst__JobRecord *set)
{
    uint32_t bits = 0;

    if (!policy_is_operator(u->ctld, u->cmd))
        return;
    if (set->has_time_limit_min)
        bits |= 1u << PST__LIMIT_SET__LIMIT_SET_TIME;
    if (set->has_num_tasks || set->has_min_nodes || set->has_cpus_per_task ||
        set->has_pn_min_cpus || set->tres_per_node || set->tres_per_job ||
        set->has_mem_per_node_mib || set->has_mem_per_cpu_mib)
        bits |= 1u << PST__LIMIT_SET__LIMIT_SET_TRES;
    if (bits)
        SET(set, limit_set, (r->has_limit_set ? r->limit_set : 0) | bits);
}

/* Another reservation, or none, ends the hold that the end of the old one was. */
static void imply_reservation(const struct update *u, Pst__Transaction *tx, const Pst__JobRecord *r,
                              Pst__JobRecord *set)
{
    bool other = set->reservation != NULL;

    for (size_t i = 0; i < u->req->n_clear; i++)
        other = other || u->req->clear[i] == JOB_F_RESERVATION;
    if (set->reservation && !*set->reservation) {
        (void)pb_set_str(&set->reservation, NULL); /* cannot fail: it frees */
        tx_clear(tx, JOB_F_RESERVATION);
    }
    if (!other || !job_has_flag(r, JOB_FLAG(RESV_DEL_HOLD)))
        return;
    SET(set, state_flags, r->state_flags & ~JOB_FLAG(RESV_DEL_HOLD));
    tx_clear(tx, JOB_F_REASON);
    if (!set->has_priority)
        tx_clear(tx, JOB_F_PRIORITY);
}

/* Consequences of the fields that were set, in the same patch. */
static void imply_fields(struct update *u, Pst__Transaction *tx, const struct job *j,
                         Pst__JobRecord *set)
{
    const Pst__JobRecord *r = j->rec;
    bool no_dependency = false;

    for (size_t i = 0; i < u->req->n_clear; i++)
        no_dependency = no_dependency || u->req->clear[i] == JOB_F_DEPENDENCY;
    if (set->has_time_limit_min) {
        tx_clear(tx, JOB_F_TIME_UNLIMITED);
        if (r->has_start_us && !job_is_pending(r))
            SET(set, end_us,
                r->start_us + (int64_t)set->time_limit_min * 60 * USEC_PER_SEC +
                    (r->has_suspended_us ? r->suspended_us : 0));
    }
    if (set->has_time_unlimited && set->time_unlimited && !job_is_pending(r))
        tx_clear(tx, JOB_F_END_US);
    if (u->req->set && u->req->set->has_end_us)
        SET(set, end_us, u->req->set->end_us);
    if (set->has_priority && set->priority != 0 && !job_is_pending(r))
        SET(set, cur_priority, set->priority);
    if (set->has_priority && set->priority == 0) {
        bool admin = policy_may_manage(u->ctld, u->cmd, r);

        SET(set, held_by_user, !admin);
        if (job_is_pending(r))
            SET(set, reason,
                admin ? PST__JOB_REASON__REASON_JOB_HELD_ADMIN
                      : PST__JOB_REASON__REASON_JOB_HELD_USER);
    }
    imply_reservation(u, tx, r, set);
    least_nodes(u, tx, j, set);
    set_association(u, tx, j, set);
    set_label(u, tx, j, set);
    note_asked(u, tx, j, set);
    note_limit_set(u, r, set);
    if (set->has_mem_per_node_mib)
        tx_clear(tx, JOB_F_MEM_PER_CPU_MIB);
    if (set->has_mem_per_cpu_mib)
        tx_clear(tx, JOB_F_MEM_PER_NODE_MIB);
    if (set->dependency && !*set->dependency) {
        (void)pb_set_str(&set->dependency, NULL); /* cannot fail: it frees */
        tx_clear(tx, JOB_F_DEPENDENCY);
        no_dependency = true;
    } else if (set->dependency) {
        char *text = stored_dependency(set->dependency);

        if (text) {
            free(set->dependency);
            set->dependency = text;
        }
    }
    if ((no_dependency || set->dependency) && r->has_reason &&
        r->reason == PST__JOB_REASON__REASON_DEPENDENCY_NEVER_SATISFIED)
        tx_clear(tx, JOB_F_REASON);
    if (no_dependency && !r->has_eligible_us && !job_is_held(r))
        SET(set, eligible_us, MAX(core_now(), r->has_begin_us ? r->begin_us : 0));
    if (set->has_array_task_throttle && r->array_tasks) {
        size_t len = strcspn(r->array_tasks, "%");
        char text[32];

        (void)snprintf(text, sizeof(text), "%%%u", set->array_task_throttle);
        free(set->array_tasks);
        set->array_tasks = calloc(1, len + sizeof(text));
        if (set->array_tasks) {
            memcpy(set->array_tasks, r->array_tasks, len);
            if (set->array_task_throttle)
                memcpy(set->array_tasks + len, text, strlen(text) + 1);
        }
    }
}

static int apply_update(struct update *u, struct job *j)
{
    Pst__Transaction *tx = tx_new(core_now());
    Pst__JobRecord *set = tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_UPDATE, j->rec->job_id);
    uint32_t id = j->rec->job_id;
    uint64_t lsn;

    if (u->req->set && pb_merge(&set->base, &u->req->set->base) < 0) {
        tx_free(tx);
        return SLURM_ERROR;
    }
    for (size_t i = 0; i < u->req->n_clear; i++)
        if (u->req->clear[i] != JOB_F_MCS_LABEL) /* set_label() knows whether it may be without */
            tx_clear(tx, u->req->clear[i]);
    imply_fields(u, tx, j, set);
    if (u->req->has_reset_accrue && u->req->reset_accrue && j->rec->has_accrue_us)
        SET(set, accrue_us, core_now());
    lsn = core_commit(u->ctld, tx);
    if (!lsn)
        return EPST_DISK_FULL;
    u->lsn = lsn;
    j = cluster_job(u->ctld->cluster, id);
    if (u->req->set && u->req->set->name)
        depends_changed(u->ctld, j); /* jobs that wait for the last of the old name may start */
    if (!job_is_pending(j->rec)) {
        feed_end_time(u->ctld, j);
    } else if (j->rec->dependency) {
        depends_watch(u->ctld, j);
        if (!job_is_held(j->rec)) /* else at its release */
            depends_refresh(u->ctld, id);
    }
    return 0;
}

/* A running job gets another size: only that, by a request of its own. */
static int resize_only(struct update *u, struct job *j)
{
    const Pst__JobRecord *set = u->req->set;
    Pst__JobRecord rest = *set; /* shallow */
    uint64_t lsn = u->lsn;
    int code;

    rest.has_min_nodes = rest.has_max_nodes = false;
    rest.req_nodes = NULL;
    for (unsigned i = 0; i < set->base.descriptor->n_fields; i++)
        if (pb_has(&rest.base, set->base.descriptor->fields[i].id))
            return ESLURM_JOB_NOT_PENDING;
    if (u->req->n_clear)
        return ESLURM_JOB_NOT_PENDING;
    code = resize_job(u->ctld, j, set, &lsn);
    if (code == 0)
        u->lsn = MAX(u->lsn, lsn);
    return code;
}

static int rules_and_apply(struct update *u, struct job *j)
{
    static const Pst__JobRecord nothing = PST__JOB_RECORD__INIT;
    int code = rules_check(u, j);

    if (code == 0)
        code = values_check(u, j, u->req->set ? u->req->set : &nothing);
    if (code == 0)
        code = still_feasible(u, j);
    return code ? code : apply_update(u, j);
}

/* EndTime= of a job that runs is a time limit in minutes, with an end of its own. */
static int imply_limit(const struct job *j, Pst__JobRecord *set)
{
    int64_t left, minute = 60 * USEC_PER_SEC;

    if (job_is_ended(j->rec))
        return ESLURM_JOB_FINISHED;
    if (job_is_pending(j->rec) || !j->rec->has_start_us)
        return ESLURM_DISABLED;
    if (set->end_us <= j->rec->start_us)
        return ESLURM_INVALID_TIME_VALUE;
    left = set->end_us - j->rec->start_us;
    if (left / minute >= UINT32_MAX - 1)
        return ESLURM_INVALID_TIME_VALUE;
    SET(set, time_limit_min, (uint32_t)((left + minute - 1) / minute));
    return 0;
}

/* The QOS that the job would have had without a word about it. */
static int imply_qos(const struct update *u, const struct job *j, Pst__JobRecord *set)
{
    ProtobufCMessage *copy = NULL;
    Pst__JobRecord *c;
    _cleanup_free_ char *name = NULL;
    int code;

    if (pb_dup(&j->rec->base, &copy) < 0)
        return SLURM_ERROR;
    c = (Pst__JobRecord *)copy;
    (void)pb_set_str(&c->qos, NULL); /* cannot fail: it frees */
    (void)pb_set_str(&c->qos_req, NULL);
    name = c->partition ? strndup(c->partition, strcspn(c->partition, ",")) : NULL;
    code = policy_resolve(u->ctld, c->user_name,
                          name ? cluster_partition(u->ctld->cluster, name) : NULL, c);
    if (code == 0 && pb_set_str(&set->qos, c->qos) < 0)
        code = SLURM_ERROR;
    protobuf_c_message_free_unpacked(copy, NULL);
    return code;
}

/* What an empty value stands for: the default partition and QOS. */
static int imply_defaults(const struct update *u, const struct job *j, Pst__JobUpdateRequest *own)
{
    const struct partition *first = cluster_default_partition(u->ctld->cluster);
    size_t kept = 0;
    int code = 0;

    for (size_t i = 0; i < own->n_clear && code == 0; i++) {
        if (own->clear[i] == JOB_F_QOS)
            code = imply_qos(u, j, own->set);
        else if (own->clear[i] == JOB_F_PARTITION && first)
            code = pb_set_str(&own->set->partition, first->rec->name) < 0 ? SLURM_ERROR : 0;
        else
            own->clear[kept++] = own->clear[i];
    }
    own->n_clear = kept;
    return code;
}

/* The change as it is meant for this job. */
static int check_and_apply(struct update *u, struct job *j)
{
    const Pst__JobUpdateRequest *req = u->req;
    Pst__JobUpdateRequest own = *req; /* shallow */
    Pst__JobRecord empty = PST__JOB_RECORD__INIT;
    _cleanup_free_ uint32_t *clear = calloc(req->n_clear + 1, sizeof(*clear));
    ProtobufCMessage *copy = NULL;
    int code = 0;

    if (!clear || pb_dup(req->set ? &req->set->base : &empty.base, &copy) < 0)
        return SLURM_ERROR;
    if (req->n_clear)
        memcpy(clear, req->clear, req->n_clear * sizeof(*clear));
    own.clear = clear;
    own.set = (Pst__JobRecord *)copy;
    if (own.set->has_end_us)
        code = imply_limit(j, own.set);
    if (code == 0)
        code = imply_defaults(u, j, &own);
    u->req = &own;
    if (code == 0)
        code = rules_and_apply(u, j);
    u->req = req;
    protobuf_c_message_free_unpacked(copy, NULL);
    return code;
}

/* JobSubmitPlugins see each job's change, and change it for that job alone. */
static int filter_and_apply(struct update *u, struct job *j)
{
    const Pst__JobUpdateRequest *req = u->req;
    Pst__JobUpdateRequest own = *req; /* shallow */
    struct jobsubmit_request r = {
        .ctld = u->ctld, .cmd = u->cmd, .job = j->rec, .messages = &u->messages
    };
    Pst__JobRecord empty = PST__JOB_RECORD__INIT;
    ProtobufCMessage *copy = NULL;
    int code;

    strbuf_reset(&u->messages);
    if (!jobsubmit_any(u->ctld->conf))
        return check_and_apply(u, j);
    if (pb_dup(req->set ? &req->set->base : &empty.base, &copy) < 0)
        return SLURM_ERROR;
    own.set = r.desc = (Pst__JobRecord *)copy;
    u->req = &own;
    code = jobsubmit_run(&r);
    if (code == 0)
        code = check_and_apply(u, j);
    u->req = req;
    protobuf_c_message_free_unpacked(copy, NULL);
    return code;
}

/* A step's limit is all that can be changed of it. */
static int update_step(struct update *u, struct job *j, uint32_t step_id)
{
    const struct step *s = cluster_step(j, step_id);
    const Pst__JobRecord *set = u->req->set;
    bool unlimited = set && set->has_time_unlimited && set->time_unlimited;
    Pst__Transaction *tx;
    Pst__StepRecord *change;
    uint64_t lsn;

    if (!s || job_is_ended(j->rec))
        return ESLURM_INVALID_JOB_ID;
    if (!set || (!unlimited && !set->has_time_limit_min))
        return ESLURM_NOT_SUPPORTED;
    tx = tx_new(core_now());
    change = tx_step_patch(tx, PST__EVENT_KIND__EV_UNSPECIFIED, j->rec->job_id, step_id);
    if (unlimited)
        tx_clear(tx, STEP_F_TIME_LIMIT_MIN);
    else
        SET(change, time_limit_min, set->time_limit_min);
    lsn = core_commit(u->ctld, tx);
    u->lsn = MAX(u->lsn, lsn);
    return lsn ? 0 : EPST_DISK_FULL;
}

static void update_job(struct update *u, const struct job_ref *ref)
{
    struct job *j = ref->job;
    uint32_t id;

    strbuf_reset(&u->messages);
    if (conn_peer(u->cmd->conn)->uid != j->rec->uid &&
        !policy_may_manage(u->ctld, u->cmd, j->rec)) {
        add_result(u, ESLURM_USER_ID_MISSING, j->rec->job_id);
        return;
    }
    if (ref->has_step) {
        add_result(u, update_step(u, j, ref->step), j->rec->job_id);
        return;
    }
    if (cron_is(j->rec)) {
        add_result(u, ESLURM_CANNOT_MODIFY_CRON_JOB, j->rec->job_id);
        return;
    }
    if (job_has_flag(j->rec, JOB_FLAG(EXPEDITING)) && !policy_is_operator(u->ctld, u->cmd)) {
        add_result(u, ESLURM_NOT_SUPPORTED, j->rec->job_id);
        return;
    }
    if (!(j = job_ref_own(u->ctld, ref))) {
        add_result(u, SLURM_ERROR, 0);
        return;
    }
    if (resize_asked(j->rec, u->req->set)) {
        add_result(u, resize_only(u, j), j->rec->job_id);
        return;
    }
    id = j->rec->job_id;
    add_result(u, filter_and_apply(u, j), id);
}

/* The leader's id is that of all components; only the leader waits for other jobs. */
static void on_ref(struct update *u, const struct job_ref *ref)
{
    const Pst__JobRecord *r = ref->job->rec;
    bool all = het_is_leader(r) && !ref->component && !(u->req->set && u->req->set->dependency);
    uint32_t leader = r->job_id, n = all ? r->het_count : 1;

    if (het_is_follower(r) && u->req->set && u->req->set->dependency) {
        add_result(u, ESLURM_NOT_HET_JOB_LEADER, r->job_id);
        return;
    }
    budget_spend(&u->walk.budget, (uint64_t)n * u->cost);
    update_job(u, ref);
    for (uint32_t k = 1; k < n; k++) {
        const struct job *first = cluster_job(u->ctld->cluster, leader);
        struct job_ref one = { .job =
                                   first ? het_component(u->ctld->cluster, first->rec, k) : NULL };

        if (one.job && !job_is_ended(one.job->rec))
            update_job(u, &one);
    }
}

/* ---- the walk -------------------------------------------------------------------------------- */

/* JobName= selects the caller's jobs of that name. */
static void collect_named(struct update *u)
{
    struct cluster *c = u->ctld->cluster;
    uid_t uid = u->cmd->conn ? conn_peer(u->cmd->conn)->uid : 0;
    void *v;

    u->ids = malloc((c->jobs.count ? c->jobs.count : 1) * sizeof(*u->ids));
    for (size_t pos = 0; u->ids && (v = idmap_next(&c->jobs, &pos));) {
        const struct job *j = v;

        if (j->rec->name && strcmp(j->rec->name, u->req->name_match) == 0 &&
            !job_is_ended(j->rec) && (j->rec->uid == uid || cmd_is_admin(u->ctld, u->cmd)) &&
            (!u->req->has_uid_match || j->rec->uid == u->req->uid_match))
            u->ids[u->n_ids++] = j->rec->job_id;
    }
    if (!u->n_ids)
        add_result(u, ESLURM_INVALID_JOB_ID, 0);
}

/* A part of them; false: there are more. */
static bool walk_named(struct update *u)
{
    for (; u->next < u->n_ids && !budget_turn_over(&u->walk.budget); u->next++) {
        struct job_ref ref = { .job = cluster_job(u->ctld->cluster, u->ids[u->next]) };

        if (ref.job)
            on_ref(u, &ref);
    }
    return u->next == u->n_ids;
}

/* A part of the ids; false: there are more. */
static bool walk_ids(struct update *u)
{
    struct job_ref ref;

    for (;;) {
        enum jobwalk_event e = jobwalk_next(&u->walk, &ref);

        u->id = u->walk.id;
        if (e == JOBWALK_JOB) {
            on_ref(u, &ref);
        } else if (e == JOBWALK_NONE) {
            strbuf_reset(&u->messages);
            add_result(u, u->walk.code, 0);
        } else if (e == JOBWALK_REFUSED) {
            strbuf_reset(&u->messages);
            strbuf_add(&u->messages, jobwalk_refusal);
            add_result(u, EPST_BAD_REQUEST, 0);
        }
        if (e != JOBWALK_JOB && e != JOBWALK_NONE)
            return e != JOBWALK_PAUSE;
    }
}

static void finish_update(struct update *u)
{
    core_reply(u->ctld, u->cmd, u->lsn, 0, &u->reply.base);
    for (size_t i = 0; i < u->reply.n_results; i++)
        pst__job_action_result__free_unpacked(u->reply.results[i], NULL);
    free(u->reply.results);
    strbuf_done(&u->messages);
    free(u->ids);
    jobwalk_done(&u->walk);
    cmd_free(u->cmd);
    free(u);
}

/* The rest is posted behind what others have asked meanwhile. */
static void walk_jobs(void *arg)
{
    struct update *u = arg;
    bool done = u->ids ? walk_named(u) : walk_ids(u);

    budget_next_turn(&u->walk.budget);
    if (done || !core_again(u->ctld, u->cmd, walk_jobs, u))
        finish_update(u);
}

/* Each job is checked against all that is set: long texts cost more. */
static uint32_t cost_of(const Pst__JobUpdateRequest *req)
{
    size_t bytes = req->set ? protobuf_c_message_get_packed_size(&req->set->base) : 0;

    return BUDGET_CHANGE + (uint32_t)(bytes / 8 + req->n_clear);
}

void op_job_update(struct ctld *ctld, struct cmd *cmd)
{
    struct update *u = calloc(1, sizeof(*u));
    struct cmd *own = malloc(sizeof(*own));

    if (!u || !own) {
        free(u);
        free(own);
        core_error(ctld, cmd, EPST_BUSY, NULL);
        return;
    }
    *own = *cmd; /* kept beyond this call, with what it owns */
    *cmd = (struct cmd){ .kind = CMD_REQUEST, .op = cmd->op };
    *u = (struct update){ .ctld = ctld,
                          .cmd = own,
                          .req = PB_AS(job_update_request, own->msg),
                          .reply = PST__JOB_ACTION_REPLY__INIT,
                          .lsn = ctld->applied_lsn };
    u->cost = cost_of(u->req);
    jobwalk_init(&u->walk, ctld->cluster, u->req->ids, u->req->n_ids);
    if (!u->req->n_ids && u->req->name_match)
        collect_named(u);
    walk_jobs(u);
}

/* ---- the service ----------------------------------------------------------------------------- */

static const struct ctld_op update_ops[] = {
    { OP_JOB_UPDATE, .fn = op_job_update, .flags = OPF_WRITES }, { 0 }
};

const struct ctld_service update_service = { .name = "update", .ops = update_ops };
