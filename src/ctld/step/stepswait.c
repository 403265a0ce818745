/* stepswait.c - swait: requests that wait until a job has no step of srun any more; see async.h */
#include "ctld/step/async.h"

#include <stdlib.h>

#include "base/bitmap.h"
#include "base/must.h"
#include "base/pb/pbutil.h"
#include "ctld/core/service.h"
#include "ctld/job/jobfacts.h"
#include "ctld/policy/policy.h"

struct swaiter { /* an answered-later request of swait */
    struct swaiter *next;
    uint32_t job_id;
    struct cmd reply;
};

/* Nothing of srun's runs or waits. */
static bool has_drained(const struct job *j)
{
    if (job_is_ended(j->rec))
        return true;
    for (const struct step *s = j->steps; s; s = s->next)
        if (s->rec->step_id < STEP_INTERACTIVE &&
            (s->waiting || s->rec->state == PST__STEP_STATE__STEP_PENDING))
            return false;
    return true;
}

void op_steps_wait(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__StepsWaitRequest *req = PB_AS(steps_wait_request, cmd->msg);
    struct job_ref ref = { 0 };
    struct swaiter *w;
    bool may_wait, hidden;
    int r = req->id ? jobs_find(ctld, req->id, &ref) : ESLURM_INVALID_JOB_ID;
    struct job *j = ref.job;

    may_wait = r == 0 && (conn_peer(cmd->conn)->uid == j->rec->uid || cmd_is_admin(ctld, cmd));
    /* What `show job` tells to everybody is no secret. */
    hidden = atomic_load(&ctld->private_data) & PRIVATE_JOBS;
    if (r != 0) {
        core_error(ctld, cmd, r, NULL);
    } else if (!may_wait && hidden) {
        core_error(ctld, cmd, ESLURM_ACCESS_DENIED, NULL);
    } else if (!j->rec->has_stepmgr || !j->rec->stepmgr) {
        core_error(ctld, cmd, ESLURM_NOT_SUPPORTED, "the job was not submitted with --stepmgr");
    } else if (!may_wait) {
        core_error(ctld, cmd, ESLURM_ACCESS_DENIED, NULL);
    } else if (has_drained(j)) {
        core_ok(ctld, cmd, ctld->applied_lsn);
    } else {
        w = must(calloc(1, sizeof(*w)));
        w->job_id = j->rec->job_id;
        w->reply.conn = conn_ref(cmd->conn);
        w->reply.op = cmd->op;
        w->reply.id = cmd->id;
        w->next = ctld->swaiters;
        ctld->swaiters = w;
    }
}

static void swaiter_remove(struct swaiter **at)
{
    struct swaiter *w = *at;

    *at = w->next;
    conn_unref(w->reply.conn);
    free(w);
}

void async_drained(struct ctld *ctld, struct job *j)
{
    for (struct swaiter **at = &ctld->swaiters; *at;) {
        if ((*at)->job_id != j->rec->job_id || !has_drained(j)) {
            at = &(*at)->next;
            continue;
        }
        core_ok(ctld, &(*at)->reply, ctld->applied_lsn);
        swaiter_remove(at);
    }
}

static void forget_conn(struct ctld *ctld, struct conn *conn)
{
    for (struct swaiter **at = &ctld->swaiters; *at;) {
        if (conn_id((*at)->reply.conn) == conn_id(conn))
            swaiter_remove(at);
        else
            at = &(*at)->next;
    }
}

static void clear_waiters(struct ctld *ctld)
{
    while (ctld->swaiters)
        swaiter_remove(&ctld->swaiters);
}

/* ---- the service ----------------------------------------------------------------------------- */

static const struct ctld_op async_ops[] = {
    { OP_STEPS_WAIT, .fn = op_steps_wait, .flags = OPF_CLOSES }, { 0 }
};

const struct ctld_service async_service = {
    .name = "async",
    .ops = async_ops,
    .stop = clear_waiters,
    .on_conn_closed = forget_conn,
};
