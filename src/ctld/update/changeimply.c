/* changeimply.c - what follows from the fields that were set, in the same patch */
#include "ctld/update/changeimply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "ctld/job/depends.h"
#include "ctld/schedlink/licenses.h"
#include "ctld/policy/policy.h"
#include "ctld/job/jobfacts.h"
#include "ctld/update/changecopy.h"
#include "model/depend.h"
#include "model/words/reqtres.h"
#include "fields.h"

/* A job that runs gets other licences at once, or gives its own back. */
static void hold_licenses(const struct job_change *c, Pst__Transaction *tx, const Pst__JobRecord *r,
                          Pst__JobRecord *set)
{
    bool changed = set->licenses != NULL;

    for (size_t i = 0; i < c->req->n_clear; i++)
        changed = changed || c->req->clear[i] == JOB_F_LICENSES;
    if (changed)
        licenses_hold(c->ctld, tx, r, set->licenses, set);
}

/* More nodes, and more CPUs on each, are more CPUs in all. */
void change_more_cpus(const struct job *j, Pst__JobRecord *set)
{
    Pst__JobRecord job = *j->rec; /* shallow */
    uint64_t cpus;

    if (!job_is_pending(j->rec) || (!set->has_min_nodes && !set->has_pn_min_cpus))
        return;
    if (set->has_min_nodes)
        SET(&job, min_nodes, set->min_nodes);
    if (set->has_max_nodes)
        SET(&job, max_nodes, set->max_nodes);
    if (set->has_num_tasks)
        SET(&job, num_tasks, set->num_tasks);
    if (set->has_min_cpus)
        SET(&job, min_cpus, set->min_cpus);
    cpus = reqtres_nodes(&job) * (uint64_t)(set->has_pn_min_cpus ? set->pn_min_cpus : 1);
    if (cpus > reqtres_cpus(&job) && cpus <= INT32_MAX)
        SET(set, min_cpus, (uint32_t)cpus);
}

/* What a job that waits asks for then, as ReqTRES shows it. */
static void note_asked(const struct job_change *c, Pst__Transaction *tx, const struct job *j,
                       Pst__JobRecord *set)
{
    _cleanup_free_ char *name = NULL;
    ProtobufCMessage *copy = NULL;
    Pst__JobRecord *job;

    if (!job_is_pending(j->rec) || pb_dup(&j->rec->base, &copy) < 0)
        return; /* out of memory: it shows what it showed */
    job = (Pst__JobRecord *)copy;
    change_forget_memory(job, set);
    if (pb_merge(copy, &set->base) == 0 && job->partition &&
        (name = strndup(job->partition, strcspn(job->partition, ",")))) {
        policy_note_asked(c->ctld, cluster_partition(c->ctld->cluster, name), job);
        if (job->req_billing != j->rec->req_billing)
            SET(set, req_billing, job->req_billing);
        if (change_sizes_memory(set))
            SET(set, req_mem_mib, job->req_mem_mib);
        if (!job->req_gres && j->rec->req_gres)
            tx_clear(tx, JOB_F_REQ_GRES);
        else if (job->req_gres &&
                 (!j->rec->req_gres || strcmp(job->req_gres, j->rec->req_gres) != 0))
            (void)pb_set_str(&set->req_gres, job->req_gres); /* as above */
    }
    protobuf_c_message_free_unpacked(copy, NULL);
}

static void set_label(const struct job_change *c, Pst__Transaction *tx, const struct job *j,
                      Pst__JobRecord *set)
{
    Pst__JobRecord *job = NULL;

    if (change_labels(c, set) && change_relabel(c, j->rec, set, &job) == 0) { /* checked before */
        (void)pb_set_str(&set->mcs_label, job->mcs_label); /* out of memory: as it was asked for */
        if (!job->mcs_label)
            tx_clear(tx, JOB_F_MCS_LABEL);
        SET(set, mcs_select, job->has_mcs_select && job->mcs_select);
    }
    if (job)
        pst__job_record__free_unpacked(job, NULL);
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

/* What squeue shows as the size of a job whose tasks or devices need more nodes than it asked
 * for. */
static void least_nodes(const struct job_change *c, Pst__Transaction *tx, const struct job *j,
                        Pst__JobRecord *set)
{
    ProtobufCMessage *copy;
    Pst__JobRecord *r;
    _cleanup_free_ char *name = NULL;
    uint32_t least;

    if (!(set->has_num_tasks || set->has_cpus_per_task || set->has_min_nodes || set->partition ||
          set->tres_per_job) ||
        pb_dup(&j->rec->base, &copy) < 0)
        return;
    r = (Pst__JobRecord *)copy;
    if (pb_merge(copy, &set->base) == 0 && r->partition &&
        (name = strndup(r->partition, strcspn(r->partition, ",")))) {
        least = submit_least_nodes(c->ctld, cluster_partition(c->ctld->cluster, name), r);
        if (least)
            SET(set, least_nodes, least);
        else if (r->has_least_nodes)
            tx_clear(tx, JOB_F_LEAST_NODES);
    }
    protobuf_c_message_free_unpacked(copy, NULL);
}

/* The association, QOS and workload key that follow from what was set. */
static void set_association(const struct job_change *c, Pst__Transaction *tx, const struct job *j,
                            Pst__JobRecord *set)
{
    Pst__JobRecord *job = NULL;

    if ((set->account || set->qos || set->wckey || set->partition) &&
        change_reassociate(c, j->rec, set, &job) == 0) { /* checked before */
#define FOLLOW(field, number)                                                                      \
    if (job->has_##field)                                                                          \
        SET(set, field, job->field);                                                               \
    else                                                                                           \
        tx_clear(tx, number)
        FOLLOW(assoc_id, JOB_F_ASSOC_ID);
        FOLLOW(qos_id, JOB_F_QOS_ID);
        FOLLOW(wckey_id, JOB_F_WCKEY_ID);
        FOLLOW(part_qos_id, JOB_F_PART_QOS_ID);
#undef FOLLOW
        if (job->account)
            (void)pb_set_str(&set->account, job->account); /* out of memory: as it was asked for */
        if (job->qos)
            (void)pb_set_str(&set->qos, job->qos);
        if (job->wckey)
            (void)pb_set_str(&set->wckey, job->wckey);
        if (job->qos_req)
            (void)pb_set_str(&set->qos_req, job->qos_req);
        else
            tx_clear(tx, JOB_F_QOS_REQ);
    }
    if (job)
        pst__job_record__free_unpacked(job, NULL);
}

/* What an operator sets holds whatever the limits say. */
static void note_limit_set(const struct job_change *c, const Pst__JobRecord *r, Pst__JobRecord *set)
{
    uint32_t bits = 0;

    if (!policy_is_operator(c->ctld, c->cmd))
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
static void imply_reservation(const struct job_change *c, Pst__Transaction *tx,
                              const Pst__JobRecord *r, Pst__JobRecord *set)
{
    bool other = set->reservation != NULL;

    for (size_t i = 0; i < c->req->n_clear; i++)
        other = other || c->req->clear[i] == JOB_F_RESERVATION;
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

/* What its partition adds to a job that waits: whole nodes; and a count of nodes that is named anew
 * is no range that a partition narrowed. */
static void imply_nodes(const struct job_change *c, const Pst__JobRecord *r, Pst__JobRecord *set)
{
    const struct partition *p =
        set->partition ? cluster_partition(c->ctld->cluster, set->partition) : NULL;
    bool whole = p && p->rec->exclusive && strcmp(p->rec->exclusive, "NODE") == 0;

    if (set->partition && whole != (r->has_whole_nodes && r->whole_nodes))
        SET(set, whole_nodes, whole);
    if (set->has_min_nodes && r->has_node_range && r->node_range)
        SET(set, node_range, false);
}

/* Consequences of the fields that were set, in the same patch. */
void change_imply(const struct job_change *c, Pst__Transaction *tx, const struct job *j,
                  Pst__JobRecord *set)
{
    const Pst__JobRecord *r = j->rec;
    bool no_dependency = false;

    for (size_t i = 0; i < c->req->n_clear; i++)
        no_dependency = no_dependency || c->req->clear[i] == JOB_F_DEPENDENCY;
    if (set->has_time_limit_min) {
        tx_clear(tx, JOB_F_TIME_UNLIMITED);
        if (r->has_start_us && !job_is_pending(r))
            SET(set, end_us,
                r->start_us + (int64_t)set->time_limit_min * 60 * USEC_PER_SEC +
                    (r->has_suspended_us ? r->suspended_us : 0));
    }
    if (set->has_time_unlimited && set->time_unlimited && !job_is_pending(r))
        tx_clear(tx, JOB_F_END_US);
    if (c->req->set && c->req->set->has_end_us)
        SET(set, end_us, c->req->set->end_us);
    if (set->has_priority && set->priority != 0 && !job_is_pending(r))
        SET(set, cur_priority, set->priority);
    if (set->has_priority && set->priority != 0 && !set->has_nice && r->has_nice && r->nice)
        SET(set, nice, 0); /* the number that was given is the whole priority */
    if (set->has_priority && set->priority == 0) {
        bool admin = policy_may_manage(c->ctld, c->cmd, r);

        SET(set, held_by_user, !admin);
        if (job_is_pending(r))
            SET(set, reason,
                admin ? PST__JOB_REASON__REASON_JOB_HELD_ADMIN
                      : PST__JOB_REASON__REASON_JOB_HELD_USER);
    }
    imply_reservation(c, tx, r, set);
    imply_nodes(c, r, set);
    least_nodes(c, tx, j, set);
    set_association(c, tx, j, set);
    set_label(c, tx, j, set);
    if (set->has_cpus_per_task && !r->has_asked_cpus_per_task) /* what is shown stays */
        SET(set, asked_cpus_per_task, r->has_cpus_per_task ? r->cpus_per_task : 0);
    if (!job_is_pending(r))
        hold_licenses(c, tx, r, set);
    change_more_cpus(j, set);
    note_asked(c, tx, j, set);
    if (set->has_mem_per_cpu_mib && !set->mem_per_cpu_mib) { /* all of the node */
        set->has_mem_per_cpu_mib = false;
        SET(set, mem_per_node_mib, 0);
    }
    note_limit_set(c, r, set);
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
