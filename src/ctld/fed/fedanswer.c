/* fedanswer.c - what another cluster answered; see fedanswer.h
 *
 * The job may have changed or gone since then; the record decides anew what is to be told. */
#include "ctld/fed/fedanswer.h"

#include <stdlib.h>

#include "base/must.h"
#include "base/pb/pbutil.h"
#include "ctld/core/service.h"
#include "ctld/fed/fedstate.h"
#include "ctld/job/lifecycle.h"

static void retry_later(struct fed *f, uint32_t job_id)
{
    must_do(idmap_put(&f->later, job_id, (void *)(uintptr_t)(core_now() + FED_RETRY_US)));
}

/* The other cluster has the job now, or has it no more. */
static void note_copy(struct fed *f, struct job *j, const struct fedlink_result *res)
{
    const Pst__FedCopyRequest *req = PB_AS(fed_copy_request, res->request);
    const Pst__FedCopyReply *reply = PB_AS(fed_copy_reply, res->reply);
    const Pst__JobRecord *r = j->rec;
    bool ended = req->cancel && !reply->runs;
    Pst__FedCopy copy = PST__FED_COPY__INIT;

    if (!req->submit && r->fed_version != req->version)
        return; /* since then the cluster is to have the job again */
    SET(&copy, present, reply->has_present && reply->present);
    copy.refused = reply->has_refused;
    if (req->submit) {
        SET(&copy, version, req->version);
        /* refused: it counts as told, until the next version */
        copy.present = copy.present || copy.refused;
    }
    (void)fedstate_copy(f, j, res->cluster, &copy); /* disk full: it is told again */
    if (ended && job_is_pending(r) && r->fed_requeue && r->has_fed_owner &&
        r->fed_owner == res->cluster)
        (void)fedstate_requeue(f, j); /* nothing ran there; disk full: it is told again */
}

static void take_lock(struct fed *f, struct job *j, const Pst__FedAsk *req,
                      const Pst__FedAskReply *reply)
{
    const Pst__JobRecord *r = j->rec;
    bool valid = job_is_pending(r) && !r->has_fed_owner && r->fed_version == req->version &&
                 !(r->has_fed_told && r->fed_told == PST__FED_TOLD__FED_TOLD_RELEASE);

    (void)idmap_remove(&f->wishes, r->job_id);
    if (reply->granted && valid) {
        if (fedstate_owner(f, j, fedset_own_number(f->ctld)))
            return; /* the scheduler hears of the change */
    } else if (reply->granted && !r->has_fed_owner && r->fed_version == req->version) {
        (void)fedstate_told(f, j, PST__FED_TOLD__FED_TOLD_RELEASE); /* disk full: it is cancelled */
        return;
    } else if (reply->gone && valid) {
        (void)fedstate_revoke(f, j); /* disk full: it asks again */
        return;
    }
    if (job_is_pending(r))
        retry_later(f, r->job_id);
}

/* The origin heard of this cluster's run. */
static void note_told(struct fed *f, struct job *j, Pst__FedAskKind kind, bool gone)
{
    const struct job_end end = { .state = JOB_STATE(CANCELLED),
                                 .by_user = true,
                                 .kill_text = "DUE to SIGNAL Terminated" };
    Pst__FedTold told = kind == PST__FED_ASK_KIND__FED_ASK_ENDED ? PST__FED_TOLD__FED_TOLD_END
                        : kind == PST__FED_ASK_KIND__FED_ASK_STARTED
                            ? PST__FED_TOLD__FED_TOLD_START
                            : PST__FED_TOLD__FED_TOLD_NOTHING;
    uint32_t id = j->rec->job_id;

    /* disk full, in both cases: the origin is told again */
    if (!fedstate_told(f, j, told) || !gone || kind != PST__FED_ASK_KIND__FED_ASK_STARTED)
        return;
    j = cluster_job(f->ctld->cluster, id);
    if (j && !job_is_ended(j->rec))
        (void)lifecycle_end(f->ctld, j, &end); /* the job was cancelled while this was away */
}

static void note_asked(struct fed *f, struct job *j, const struct fedlink_result *res)
{
    const Pst__FedAsk *req = PB_AS(fed_ask, res->request);
    const Pst__FedAskReply *reply = PB_AS(fed_ask_reply, res->reply);

    if (req->version != j->rec->fed_version)
        return; /* of a copy before this one: what this one wishes is asked for next */
    if (req->kind == PST__FED_ASK_KIND__FED_ASK_LOCK)
        take_lock(f, j, req, reply);
    else
        note_told(f, j, req->kind, reply->gone);
}

void fed_answered(struct fedlink_result *res)
{
    struct fed *f = res->ctld->fed;
    struct job *j = cluster_job(res->ctld->cluster, res->job_id);

    if (!f) {
        fedlink_result_free(res);
        return;
    }
    (void)idmap_remove(&f->peers[res->cluster].asked, res->job_id);
    if (j && fed_is_job(j->rec) && res->r == 0) {
        if (res->op == OP_FED_COPY)
            note_copy(f, j, res);
        else
            note_asked(f, j, res);
    } else if (j && res->r < 0) {
        (void)idmap_remove(&f->wishes, res->job_id);
        retry_later(f, res->job_id);
    }
    j = cluster_job(res->ctld->cluster, res->job_id);
    if (j && res->r == 0)
        fed_note(f, j->rec);
    fed_work_later(f); /* others may have waited for the link to have room */
    fedlink_result_free(res);
}
