/* fedcopy.c - the origin of a job says that this cluster has it, or has it no more; see fedcopy.h
 *
 * A copy is checked as a submission of its user is.  A run that this cluster has the right to ends
 * only where the origin says so (cancel). */
#include "ctld/fed/fedcopy.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "base/pb/pbutil.h"
#include "ctld/core/service.h"
#include "ctld/fed/fedstate.h"
#include "ctld/job/lifecycle.h"
#include "ctld/submit/submission.h"

static void answer_copy(struct ctld *ctld, struct cmd *cmd, uint64_t lsn, bool present, bool runs,
                        int refused)
{
    Pst__FedCopyReply reply = PST__FED_COPY_REPLY__INIT;

    SET(&reply, present, present);
    SET(&reply, runs, runs);
    if (refused)
        SET(&reply, refused, refused);
    core_reply(ctld, cmd, lsn, 0, &reply.base);
}

/* Is the job of this number the one that the origin speaks of?  A cluster that begins anew, or one
 * that has the number of another that left, gives numbers a second time. */
static bool is_meant(const struct job *j, const Pst__FedCopyRequest *req)
{
    const Pst__JobRecord *r = j ? j->rec : NULL;

    return r && fed_is_job(r) && r->fed_origin && strcasecmp(r->fed_origin, req->origin) == 0 &&
           (!req->has_submit_us || r->submit_us == req->submit_us);
}

/* Does it use resources here, is it about to, or was it submitted here?  A cluster that came back
 * under another number has jobs with the number of another. */
static bool is_in_use(const struct ctld *ctld, const struct job *j)
{
    const Pst__JobRecord *r = j->rec;

    if (job_is_pending(r))
        return !fed_is_job(r) || r->has_fed_owner || fedset_is_origin(ctld, r);
    return !job_is_ended(r);
}

/* The job is to be here no more. */
static void drop_copy(struct ctld *ctld, struct cmd *cmd, struct job *j,
                      const Pst__FedCopyRequest *req)
{
    const struct job_end end = { .state = JOB_STATE(CANCELLED),
                                 .by_user = true,
                                 .kill_text = "DUE to SIGNAL Terminated" };
    bool cancel = req->has_cancel && req->cancel;
    uint64_t lsn = ctld->applied_lsn;

    if (!is_meant(j, req) || job_is_ended(j->rec) || j->rec->fed_version > req->version) {
        answer_copy(ctld, cmd, lsn, false,
                    is_meant(j, req) && job_is_ended(j->rec) && j->rec->has_fed_owner, 0);
        return;
    }
    if (job_is_pending(j->rec))
        lsn = fedstate_revoke(ctld->fed, j);
    else if (cancel)
        lsn = lifecycle_end(ctld, j, &end);
    else
        cancel = false;
    if (!lsn)
        core_disk_full(ctld, cmd);
    else
        answer_copy(ctld, cmd, lsn, false, !job_is_pending(j->rec) && cancel, 0);
}

/* A record as a submission made it becomes the copy of a job of that id. */
static uint64_t put_copy(struct submission *s, const struct job *old,
                         const Pst__FedCopyRequest *req)
{
    Pst__Transaction *tx = tx_new(core_now());
    Pst__JobRecord *r = s->rec;

    s->replaces = old != NULL;
    if (old)
        tx_job_purge(tx, old->rec->job_id);
    SET(r, fed_viable, req->viable);
    SET(r, fed_version, req->version);
    SET(r, submit_us, req->submit_us);
    r->fed_origin = tx_strdup(req->origin);
    r->fed_siblings_viable = tx_strdup(req->siblings_viable);
    submission_put(s, tx, req->job_id);
    return core_commit(s->ctld, tx);
}

static void take_copy(struct ctld *ctld, struct cmd *cmd, const struct job *old,
                      Pst__FedCopyRequest *req)
{
    struct submission s = { .ctld = ctld,
                            .cmd = cmd,
                            .req = req->submit,
                            .contents = cmd->contents,
                            .hold = req->submit->has_hold && req->submit->hold,
                            .rec = req->submit->job };
    uint64_t lsn;

    req->submit->job = NULL; /* it is the submission's now */
    cmd->uid = req->submit->uid;
    cmd->gid = req->submit->gid;
    submission_keep_fields(s.rec, true); /* the origin took away what is not the user's to say */
    if (!submission_check(&s)) {
        log_verbose("job %u of cluster %s is not for this cluster: %s", req->job_id, req->origin,
                    s.text[0] ? s.text : slurm_err_text(s.code));
        answer_copy(ctld, cmd, ctld->applied_lsn, false, false, s.code);
    } else if (!(lsn = put_copy(&s, old, req))) {
        core_disk_full(ctld, cmd);
    } else {
        answer_copy(ctld, cmd, lsn, true, false, 0);
    }
    submission_done(&s);
}

/* Does the request say what it must, and is its sender a member whose job this is? */
static bool check_request(struct ctld *ctld, struct cmd *cmd, const Pst__FedCopyRequest *req)
{
    const struct fedset *all = ctld->fed ? fed_members(ctld->fed) : NULL;
    uint32_t number = all && req->origin ? fedset_number(all, req->origin) : 0;

    if (!number || number == all->self ||
        (req->submit && fed_number_of(req->job_id) != number)) { /* a drop goes by the name */
        core_error(ctld, cmd, ESLURM_JOB_NOT_FEDERATED, NULL);
        return false;
    }
    if (!req->has_version || !req->version ||
        (req->submit && (!req->submit->job || !req->submit->has_uid || !req->submit->has_gid ||
                         req->submit->array || req->submit->n_components || !cmd->n_contents ||
                         !req->has_viable || !req->has_submit_us))) {
        core_error(ctld, cmd, EPST_BAD_REQUEST,
                   "a copy of a job comes with a version, one job, its user and its clusters");
        return false;
    }
    ctld->fed->peers[number].heard_us = core_now();
    return true;
}

void op_fed_copy(struct ctld *ctld, struct cmd *cmd)
{
    Pst__FedCopyRequest *req = PB_AS(fed_copy_request, cmd->msg);
    struct job *j;

    if (!check_request(ctld, cmd, req))
        return;
    j = cluster_job(ctld->cluster, req->job_id);
    if (!req->submit)
        drop_copy(ctld, cmd, j, req);
    else if (j && job_has_flag(j->rec, JOB_FLAG(COMPLETING)))
        core_error(ctld, cmd, EPST_BUSY, "the job's last run is not clean yet");
    else if (j && is_in_use(ctld, j) && !(is_meant(j, req) && job_is_pending(j->rec)))
        core_error(ctld, cmd, EPST_BUSY, "a job of this number runs here");
    else if (!is_meant(j, req))
        take_copy(ctld, cmd, j, req);
    else if (job_is_pending(j->rec) && j->rec->fed_version >= req->version)
        answer_copy(ctld, cmd, ctld->applied_lsn, true, false, 0);
    else if (j->rec->fed_version > req->version)
        answer_copy(ctld, cmd, ctld->applied_lsn, false, false, 0);
    else
        take_copy(ctld, cmd, j, req);
}
