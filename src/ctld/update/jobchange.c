/* jobchange.c - one request's change of one job, from defaults to the commit */
#include "ctld/update/jobchange.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "ctld/job/depends.h"
#include "ctld/job/lifecycle.h"
#include "ctld/job/resize.h"
#include "ctld/policy/policy.h"
#include "ctld/schedlink/schedfeed.h"
#include "ctld/update/changecheck.h"
#include "ctld/update/changeimply.h"
#include "fields.h"

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
static int imply_qos(const struct job_change *c, const struct job *j, Pst__JobRecord *set)
{
    ProtobufCMessage *copy = NULL;
    Pst__JobRecord *job;
    _cleanup_free_ char *name = NULL;
    int code;

    if (pb_dup(&j->rec->base, &copy) < 0)
        return SLURM_ERROR;
    job = (Pst__JobRecord *)copy;
    (void)pb_set_str(&job->qos, NULL); /* cannot fail: it frees */
    (void)pb_set_str(&job->qos_req, NULL);
    name = job->partition ? strndup(job->partition, strcspn(job->partition, ",")) : NULL;
    code = policy_resolve(c->ctld, job->user_name,
                          name ? cluster_partition(c->ctld->cluster, name) : NULL, job);
    if (code == 0 && pb_set_str(&set->qos, job->qos) < 0)
        code = SLURM_ERROR;
    protobuf_c_message_free_unpacked(copy, NULL);
    return code;
}

/* What an empty value stands for: the default partition and QOS. */
static int imply_defaults(const struct job_change *c, const struct job *j,
                          Pst__JobUpdateRequest *own)
{
    const struct partition *first = cluster_default_partition(c->ctld->cluster);
    size_t kept = 0;
    int code = 0;

    for (size_t i = 0; i < own->n_clear && code == 0; i++) {
        if (own->clear[i] == JOB_F_QOS)
            code = imply_qos(c, j, own->set);
        else if (own->clear[i] == JOB_F_PARTITION && first)
            code = pb_set_str(&own->set->partition, first->rec->name) < 0 ? SLURM_ERROR : 0;
        else if (own->clear[i] != JOB_F_MEM_PER_NODE_MIB || !own->set->has_mem_per_cpu_mib ||
                 own->set->mem_per_cpu_mib) /* 0: all of the node (changeimply.c) */
            own->clear[kept++] = own->clear[i];
    }
    own->n_clear = kept;
    return code;
}

/* A value that a change names is no default any more. */
static void forget_defaults(const Pst__JobRecord *job, Pst__JobRecord *set)
{
    uint32_t named = (set->account ? 1u << PST__JOB_DEFAULT__DEFAULT_ACCOUNT : 0) |
                     (set->partition ? 1u << PST__JOB_DEFAULT__DEFAULT_PARTITION : 0) |
                     (set->qos ? 1u << PST__JOB_DEFAULT__DEFAULT_QOS : 0) |
                     (set->wckey ? 1u << PST__JOB_DEFAULT__DEFAULT_WCKEY : 0);

    if (job->defaults_used & named)
        SET(set, defaults_used, job->defaults_used & ~named);
}

bool change_clears_dependency(const Pst__JobUpdateRequest *req)
{
    for (size_t i = 0; i < req->n_clear; i++)
        if (req->clear[i] == JOB_F_DEPENDENCY)
            return true;
    return req->set && req->set->dependency && !*req->set->dependency;
}

/* What is set and cleared, and what follows, as one transaction. */
static int commit_change(const struct job_change *c, struct job *j, uint64_t *ret_lsn)
{
    Pst__Transaction *tx = tx_new(core_now());
    Pst__JobRecord *set = tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_UPDATE, j->rec->job_id);
    uint32_t id = j->rec->job_id;
    uint64_t lsn;

    if (c->req->set && pb_merge(&set->base, &c->req->set->base) < 0) {
        tx_free(tx);
        return SLURM_ERROR;
    }
    forget_defaults(j->rec, set);
    for (size_t i = 0; i < c->req->n_clear; i++)
        if (c->req->clear[i] != JOB_F_MCS_LABEL) /* set_label() knows whether it may be without */
            tx_clear(tx, c->req->clear[i]);
    change_imply(c, tx, j, set);
    if (c->req->has_reset_accrue && c->req->reset_accrue && j->rec->has_accrue_us)
        SET(set, accrue_us, core_now());
    if (set->dependency || change_clears_dependency(c->req))
        depends_tell_components(c->ctld, tx, j, set->dependency);
    lsn = core_commit(c->ctld, tx);
    if (!lsn)
        return EPST_DISK_FULL;
    *ret_lsn = lsn;
    j = cluster_job(c->ctld->cluster, id);
    if (c->req->set && c->req->set->name)
        depends_changed(c->ctld, j); /* jobs that wait for the last of the old name may start */
    if (!job_is_pending(j->rec)) {
        feed_end_time(c->ctld, j);
        if (c->req->set && c->req->set->has_requeue)
            feed_rank(c->ctld, j);
        feed_held_licenses(c->ctld, j);
    } else if (j->rec->dependency) {
        depends_watch(c->ctld, j);
        if (!job_is_held(j->rec)) /* else at its release */
            depends_refresh(c->ctld, id);
    }
    if (c->req->set && c->req->set->has_keeps_nodes)
        lifecycle_let_go(c->ctld, j);
    return 0;
}

int change_apply(const struct job_change *c, struct job *j, uint64_t *ret_lsn)
{
    const Pst__JobUpdateRequest *req = c->req;
    Pst__JobUpdateRequest own = *req; /* shallow: the change as it is meant for this job */
    struct job_change meant = { .ctld = c->ctld, .cmd = c->cmd, .req = &own };
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
        code = imply_defaults(c, j, &own);
    if (code == 0)
        code = change_check(&meant, j);
    if (code == 0)
        code = commit_change(&meant, j, ret_lsn);
    protobuf_c_message_free_unpacked(copy, NULL);
    return code;
}

int change_resize(const struct job_change *c, struct job *j, uint64_t *ret_lsn)
{
    const Pst__JobRecord *set = c->req->set;
    Pst__JobRecord rest = *set; /* shallow */
    uint64_t lsn;
    int code;

    rest.has_min_nodes = rest.has_max_nodes = rest.has_mem_per_node_mib = false;
    rest.req_nodes = NULL;
    for (unsigned i = 0; i < set->base.descriptor->n_fields; i++)
        if (pb_has(&rest.base, set->base.descriptor->fields[i].id))
            return ESLURM_JOB_NOT_PENDING;
    for (size_t i = 0; i < c->req->n_clear; i++) /* memory of a node takes the place of a CPU's */
        if (!set->has_mem_per_node_mib || c->req->clear[i] != JOB_F_MEM_PER_CPU_MIB)
            return ESLURM_JOB_NOT_PENDING;
    if (set->has_mem_per_node_mib && (set->has_min_nodes || set->req_nodes))
        return ESLURM_JOB_NOT_PENDING;
    code = set->has_mem_per_node_mib ? resize_memory(c->ctld, j, set->mem_per_node_mib, &lsn)
                                     : resize_job(c->ctld, j, set, &lsn);
    if (code == 0)
        *ret_lsn = lsn;
    return code;
}

int change_step(const struct job_change *c, struct job *j, uint32_t step_id, uint64_t *ret_lsn)
{
    const struct step *s = cluster_step(j, step_id);
    const Pst__JobRecord *set = c->req->set;
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
    lsn = core_commit(c->ctld, tx);
    if (!lsn)
        return EPST_DISK_FULL;
    *ret_lsn = lsn;
    return 0;
}
