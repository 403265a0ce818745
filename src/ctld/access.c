/* access.c - credentials for what is already there: sattach's and sstat's to a running step,
 * sbcast's to a job's nodes
 *
 * Each is good for its purpose alone, on the nodes named in it, once, and for two minutes.  Core
 * thread. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/log.h"
#include "base/pbutil.h"
#include "ctld/ctld.h"
#include "ctld/jobs.h"
#include "ctld/steps.h"

static void first_ref(void *ctx, const struct job_ref *ref)
{
    struct job_ref *found = ctx;

    if (!found->job)
        *found = *ref;
}

/* 0 or an ESLURM code; *ret_step may stay NULL for a job. */
static int find(struct ctld *ctld, const struct cmd *cmd, const char *id, bool needs_step,
                struct job **ret_job, struct step **ret_step)
{
    struct job_ref ref = { 0 };
    int r = id ? jobs_resolve(ctld, id, first_ref, &ref) : ESLURM_INVALID_JOB_ID;

    *ret_step = NULL;
    if (r != 0 || !ref.job)
        return r != 0 ? r : ESLURM_INVALID_JOB_ID;
    if (conn_peer(cmd->conn)->uid != ref.job->rec->uid && !cmd_is_admin(ctld, cmd))
        return ESLURM_ACCESS_DENIED;
    if (!job_holds_resources(ref.job->rec) || job_is_ended(ref.job->rec))
        return job_is_pending(ref.job->rec) ? ESLURM_JOB_PENDING : ESLURM_ALREADY_DONE;
    if (needs_step && !ref.has_step)
        return ESLURM_INVALID_JOB_ID;
    if (ref.has_step) {
        *ret_step = cluster_step(ref.job, ref.step);
        if (!*ret_step)
            return ESLURM_INVALID_JOB_ID;
        if ((*ret_step)->rec->state != PST__STEP_STATE__STEP_RUNNING)
            return (*ret_step)->rec->state == PST__STEP_STATE__STEP_PENDING ? ESLURM_JOB_PENDING
                                                                            : ESLURM_ALREADY_DONE;
    }
    *ret_job = ref.job;
    return 0;
}

void op_access(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__AccessRequest *req = (const Pst__AccessRequest *)cmd->msg;
    bool attach = req->purpose == PST__CRED_PURPOSE__CRED_ATTACH;
    bool step = attach || req->purpose == PST__CRED_PURPOSE__CRED_STAT;
    Pst__StepReply reply = PST__STEP_REPLY__INIT;
    const Pst__Alloc *alloc;
    struct job *j = NULL;
    struct step *s;
    int r = step || req->purpose == PST__CRED_PURPOSE__CRED_BCAST
                ? find(ctld, cmd, req->id, step, &j, &s)
                : EPST_BAD_REQUEST;

    if (r == 0 && attach && s->rec->step_id >= STEP_INTERACTIVE) {
        core_error(ctld, cmd, ESLURM_NOT_SUPPORTED,
                   "the output of this step goes to files, not through srun");
        return;
    }
    if (r != 0) {
        core_error(ctld, cmd, r, NULL);
        return;
    }
    alloc = s ? s->rec->alloc : j->rec->alloc;
    reply.credential = steps_sign(ctld, j, s, req->purpose);
    if (!reply.credential) {
        core_error(ctld, cmd, SLURM_ERROR,
                   "the controller cannot sign credentials: libcrypto is missing");
        return;
    }
    reply.step = s ? s->rec : NULL;
    reply.n_nodes = steps_node_addrs(ctld, alloc, &reply.nodes);
    core_reply(ctld, cmd, ctld->applied_lsn, 0, &reply.base);
    pst__signed_credential__free_unpacked(reply.credential, NULL);
    for (size_t i = 0; i < reply.n_nodes; i++)
        pst__node_addr__free_unpacked(reply.nodes[i], NULL);
    free(reply.nodes);
}
