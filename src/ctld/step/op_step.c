/* op_step.c - requests for steps: a step of one job, or over the components of one */
#include "base/pb/pbutil.h"
#include "ctld/core/service.h"
#include "ctld/policy/policy.h"
#include "ctld/step/async.h"
#include "ctld/step/noalloc.h"
#include "ctld/step/stepcreate.h"
#include "ctld/step/stepqueue.h"
#include "ctld/step/steps.h"

/* Why the caller gets no step of the job, 0 = he may: that it is over or waits comes before whose
 * it is, which tells nothing that the queue does not.  A job that waits has no steps yet. */
static int step_refusal(const struct ctld *ctld, const struct cmd *cmd, const Pst__JobRecord *r)
{
    bool may = cmd_may_act_as(ctld, cmd, r->uid);

    if (!may && policy_private(ctld->conf) & PRIVATE_JOBS)
        return ESLURM_ACCESS_DENIED;
    if (job_is_ended(r))
        return ESLURM_JOB_FINISHED;
    if (job_is_pending(r))
        return ESLURM_JOB_PENDING;
    return may ? 0 : ESLURM_ACCESS_DENIED;
}

void op_step_create(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__StepCreateRequest *req = PB_AS(step_create_request, cmd->msg);
    static const Pst__StepSpec none = PST__STEP_SPEC__INIT;
    const Pst__StepSpec *spec = req->spec ? req->spec : &none;
    struct job *j = cluster_job(ctld->cluster, req->job_id);
    struct err err = { .text = "" };
    struct step *s;
    uint64_t lsn;
    int r;

    if (req->no_allocate) {
        noalloc_answer(ctld, cmd, spec);
        return;
    }
    if (!j) {
        core_error(ctld, cmd, ESLURM_INVALID_JOB_ID, NULL);
        return;
    }
    r = step_refusal(ctld, cmd, j->rec);
    if (r != 0) {
        core_error(ctld, cmd, r, NULL);
        return;
    }
    if (req->async) {
        async_submit(ctld, cmd, j, req);
        return;
    }
    r = steps_queue_waits(ctld, req->job_id)
            ? ESLURM_NODES_BUSY
            : steps_create_one(ctld, j, spec, conn_peer(cmd->conn), NULL, &s, &lsn, &err);
    if (r == 0)
        steps_answer(ctld, j, cmd, s, lsn, false);
    else if ((r == ESLURM_NODES_BUSY || r == ESLURM_JOB_PENDING) && req->has_wait && req->wait)
        steps_queue_add(ctld, req->job_id, cmd, 0, spec, NULL, r == ESLURM_NODES_BUSY);
    else
        core_error(ctld, cmd, r, err.text[0] ? err.text : NULL);
}

void op_het_step_create(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__HetStepRequest *req = PB_AS(het_step_request, cmd->msg);
    const struct job *leader = cluster_job(ctld->cluster, req->job_id);
    struct step_part *parts = NULL;
    uint64_t lsn = 0;
    int r;

    if (!leader) {
        core_error(ctld, cmd, ESLURM_INVALID_JOB_ID, NULL);
        return;
    }
    r = step_refusal(ctld, cmd, leader->rec);
    if (r != 0) {
        core_error(ctld, cmd, r, NULL);
        return;
    }
    if (req->n_components > 1 &&
        conf_option(ctld->conf, CONF_SCHEDULER_PARAMETERS, "disable_hetjob_steps", NULL, NULL)) {
        core_error(ctld, cmd, ESLURM_NOT_SUPPORTED,
                   "this cluster has no steps over several components of a heterogeneous job "
                   "(SchedulerParameters=disable_hetjob_steps)");
        return;
    }
    r = steps_queue_waits(ctld, req->job_id)
            ? ESLURM_NODES_BUSY
            : steps_create_components(ctld, req, cmd->conn, &parts, &lsn);
    if (r == 0)
        steps_answer_components(ctld, req, cmd, parts, lsn, false);
    else if ((r == ESLURM_NODES_BUSY || r == ESLURM_JOB_PENDING) && req->has_wait && req->wait)
        steps_queue_add(ctld, req->job_id, cmd, 0, NULL, req, r == ESLURM_NODES_BUSY);
    else
        core_error(ctld, cmd, r, NULL);
}

/* ---- the service ----------------------------------------------------------------------------- */

static const struct ctld_op step_ops[] = {
    { OP_STEP_CREATE, .fn = op_step_create, .flags = OPF_WRITES | OPF_CLOSES },
    { OP_HET_STEP_CREATE, .fn = op_het_step_create, .flags = OPF_WRITES | OPF_CLOSES },
    { 0 }
};

const struct ctld_service stepops_service = { .name = "stepops", .ops = step_ops };
