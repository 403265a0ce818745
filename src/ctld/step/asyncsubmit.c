/* asyncsubmit.c - steps of srun --async are queued; see async.h */
#include "ctld/step/async.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/must.h"
#include "base/pb/pbutil.h"
#include "ctld/job/jobfacts.h"
#include "ctld/step/steplayout.h"
#include "ctld/step/steps.h"

#define ASYNC_LAUNCH_MAX                                                                           \
    (2u << 20) /* bytes of a launch request: kept in the record while the step waits */

static void pack_message(const ProtobufCMessage *msg, ProtobufCBinaryData *ret)
{
    ret->len = protobuf_c_message_get_packed_size(msg);
    ret->data = must(malloc(ret->len + 1));
    protobuf_c_message_pack(msg, ret->data);
}

/* May this step be queued?  0 or an ESLURM code. */
static int check_queued(struct ctld *ctld, const struct job *j, const Pst__StepCreateRequest *req)
{
    uint32_t ntasks;
    Pst__Alloc *alloc = NULL;
    _cleanup_free_ char *dist = NULL;
    int r;

    if (!job_is_running(j->rec))
        return job_is_ended(j->rec) ? ESLURM_ALREADY_DONE : ESLURM_JOB_PENDING;
    if (!j->rec->has_stepmgr || !j->rec->stepmgr)
        return ESLURM_NOT_SUPPORTED;
    if ((j->rec->has_next_step_id ? j->rec->next_step_id : 0) >=
        conf_num(ctld->conf, CONF_MAX_STEP_COUNT))
        return ESLURM_STEP_LIMIT;
    if (pst__launch_step__get_packed_size(req->async) > ASYNC_LAUNCH_MAX)
        return ESLURM_PATHNAME_TOO_LONG;
    r = steplayout_make(ctld->cluster, j, req->spec, &alloc, &ntasks, &dist, NULL);
    if (r == 0)
        r = steplayout_check(alloc, conf_num(ctld->conf, CONF_MAX_TASKS_PER_NODE));
    if (alloc)
        pst__alloc__free_unpacked(alloc, NULL);
    return r == ESLURM_NODES_BUSY ? 0 : r;
}

void async_submit(struct ctld *ctld, const struct cmd *cmd, struct job *j,
                  const Pst__StepCreateRequest *req)
{
    Pst__StepReply reply = PST__STEP_REPLY__INIT;
    uint32_t id = j->rec->has_next_step_id ? j->rec->next_step_id : 0;
    Pst__StepRecord *rec;
    Pst__Transaction *tx;
    uint64_t lsn;
    int r = req->spec ? check_queued(ctld, j, req) : EPST_BAD_REQUEST;

    if (r != 0) {
        core_error(ctld, cmd, r,
                   r == ESLURM_NOT_SUPPORTED ? "the job was not submitted with --stepmgr" : NULL);
        return;
    }
    tx = tx_new(core_now());
    SET(tx_job_patch(tx, PST__EVENT_KIND__EV_UNSPECIFIED, j->rec->job_id), next_step_id, id + 1);
    rec = tx_step_put(tx, PST__EVENT_KIND__EV_UNSPECIFIED, j->rec->job_id, id);
    steps_fill(rec, j, req->spec, conn_peer(cmd->conn));
    SET(rec, state, PST__STEP_STATE__STEP_PENDING);
    rec->has_start_us = 0;
    SET(rec, num_tasks, req->spec->has_num_tasks ? req->spec->num_tasks : 1);
    SET(rec, async, true);
    rec->has_async_launch = rec->has_async_spec = 1;
    pack_message(&req->async->base, &rec->async_launch);
    pack_message(&req->spec->base, &rec->async_spec);
    lsn = core_commit(ctld, tx);
    if (!lsn) {
        core_disk_full(ctld, cmd);
        return;
    }
    reply.step = cluster_step(j, id)->rec;
    core_reply(ctld, cmd, lsn, 0, &reply.base);
    steps_queue_async(ctld, j, id, req->spec);
    steps_retry(ctld, j);
}

void async_recover(struct ctld *ctld, struct job *j)
{
    uint32_t next = 0;

    for (;;) { /* the list is newest first, the queue is not */
        const struct step *first = NULL;
        Pst__StepSpec *spec;

        for (const struct step *s = j->steps; s; s = s->next)
            if (s->rec->state == PST__STEP_STATE__STEP_PENDING && s->rec->has_async_spec &&
                s->rec->step_id >= next && (!first || s->rec->step_id < first->rec->step_id))
                first = s;
        if (!first)
            break;
        next = first->rec->step_id + 1;
        spec =
            pst__step_spec__unpack(NULL, first->rec->async_spec.len, first->rec->async_spec.data);
        if (!spec)
            continue; /* it ends with its job */
        steps_queue_async(ctld, j, first->rec->step_id, spec);
        pst__step_spec__free_unpacked(spec, NULL);
    }
}
