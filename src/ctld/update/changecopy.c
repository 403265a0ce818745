/* changecopy.c - the job as it would be: its association, QOS and label */
#include "ctld/update/changecopy.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "ctld/policy/admission.h"
#include "ctld/policy/mcs.h"
#include "ctld/policy/policy.h"
#include "conf/conf_mcs.h"
#include "fields.h"

/* Does the change say how much memory, or of how many nodes?  (Not as MinMemoryCPU=0, which asks
 * for all and is shown as before.) */
bool change_sizes_memory(const Pst__JobRecord *set)
{
    return set->has_mem_per_node_mib || (set->has_mem_per_cpu_mib && set->mem_per_cpu_mib) ||
           set->has_min_nodes;
}

void change_forget_memory(Pst__JobRecord *job, const Pst__JobRecord *set)
{
    job->has_mem_per_node_mib = job->has_mem_per_node_mib && !set->has_mem_per_cpu_mib;
    job->has_mem_per_cpu_mib = job->has_mem_per_cpu_mib && !set->has_mem_per_node_mib;
    job->has_req_mem_mib = job->has_req_mem_mib && !change_sizes_memory(set);
}

/* *ret_copy: the job with what is set, and with the association and QOS that this gives it; the
 * caller frees. */
int change_reassociate(const struct job_change *c, const Pst__JobRecord *r,
                       const Pst__JobRecord *set, Pst__JobRecord **ret_copy)
{
    _cleanup_free_ char *name = NULL;
    const struct partition *p;
    ProtobufCMessage *copy;
    const char *word;
    Pst__JobRecord *job;
    int code;

    *ret_copy = NULL;
    if (pb_dup(&r->base, &copy) < 0)
        return SLURM_ERROR;
    job = *ret_copy = (Pst__JobRecord *)copy;
    if (set->qos && pb_set_str(&job->qos_req, NULL) < 0)
        return SLURM_ERROR;
    change_forget_memory(job, set);
    if (pb_merge(copy, &set->base) < 0 ||
        !(name = strndup(job->partition, strcspn(job->partition, ","))))
        return SLURM_ERROR;
    p = cluster_partition(c->ctld->cluster, name);
    code = policy_resolve(c->ctld, job->user_name, p, job);
    /* the new account does not let it keep its own */
    if (code == ESLURM_INVALID_QOS && !set->qos) {
        (void)pb_set_str(&job->qos, NULL); /* cannot fail: it frees */
        (void)pb_set_str(&job->qos_req, NULL);
        code = policy_resolve(c->ctld, job->user_name, p, job);
    }
    if (code == 0 && !policy_is_operator(c->ctld, c->cmd))
        code = admission_check(c->ctld, p, job, 1, true, &word);
    return code;
}

/* The label that the job would have with what is set: 0 or an ESLURM code; *ret_copy: the job, the
 * caller frees.  Whose groups are not known here, an operator's who changes another's job, counts
 * with his own group alone. */
int change_relabel(const struct job_change *c, const Pst__JobRecord *r, const Pst__JobRecord *set,
                   Pst__JobRecord **ret_copy)
{
    bool his = cmd_rights_uid(c->cmd) == r->uid;
    ProtobufCMessage *copy;
    const char *hint;
    Pst__JobRecord *job;

    *ret_copy = NULL;
    if (pb_dup(&r->base, &copy) < 0)
        return SLURM_ERROR;
    job = *ret_copy = (Pst__JobRecord *)copy;
    if (pb_set_str(&job->mcs_label, set->mcs_label) < 0 ||
        (set->account && pb_set_str(&job->account, set->account) < 0))
        return SLURM_ERROR;
    return mcs_apply(c->ctld->conf, job,
                     his && c->cmd->group_name ? c->cmd->group_name : r->group_name, &hint);
}

/* A job whose label is its account gets another with another account. */
bool change_labels(const struct job_change *c, const Pst__JobRecord *set)
{
    for (size_t i = 0; i < c->req->n_clear; i++)
        if (c->req->clear[i] == JOB_F_MCS_LABEL)
            return true; /* and gets the one that it would have without a word about it */
    return set->mcs_label || (set->account && conf_mcs(c->ctld->conf).kind == MCS_ACCOUNT);
}
