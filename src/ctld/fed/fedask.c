/* fedask.c - another cluster asks the origin, which is this one, for a job; see fedask.h
 *
 * The lock is the record's fed_owner.  It is given for one version, to one cluster, while the job
 * waits here; the answer leaves when the owner is on the disk.  Every request may come twice. */
#include "ctld/fed/fedask.h"

#include <stdlib.h>
#include <strings.h>

#include "base/pb/pbutil.h"
#include "ctld/core/service.h"
#include "ctld/fed/fedleave.h"
#include "ctld/fed/fedstate.h"
#include "ctld/job/lifecycle.h"

struct ask {
    struct fed *f;
    struct cmd *cmd;
    const Pst__FedAsk *req;
    uint32_t peer;
    struct job *j;
};

static void answer_ask(const struct ask *a, uint64_t lsn, bool granted, bool gone)
{
    Pst__FedAskReply reply = PST__FED_ASK_REPLY__INIT;

    if (!lsn) {
        core_disk_full(a->f->ctld, a->cmd);
        return;
    }
    SET(&reply, granted, granted);
    SET(&reply, gone, gone);
    core_reply(a->f->ctld, a->cmd, lsn, 0, &reply.base);
}

/* Has the peer the lock of the version that it speaks of?  Its name tells, where the record has it:
 * the cluster may have come back under another number. */
static bool has_lock(const struct ask *a)
{
    const Pst__JobRecord *r = a->j->rec;
    bool owns = r->fed_owner_name ? strcasecmp(r->fed_owner_name, a->req->cluster) == 0
                                  : r->fed_owner == a->peer;

    return job_is_pending(r) && r->has_fed_owner && owns && r->fed_version == a->req->version;
}

static bool may_have_lock(const struct ask *a)
{
    const Pst__JobRecord *r = a->j->rec;
    const struct fedset *all = fed_members(a->f);
    const Pst__AcctClusterRecord *c = all ? all->of[a->peer] : NULL;

    return !fedleave_is_near(a->f) && job_is_pending(r) && !r->has_fed_owner &&
           r->fed_version == a->req->version && r->fed_viable & fed_bit(a->peer) &&
           !job_is_held(r) && !r->dependency && !idmap_get(&a->f->changed, r->job_id) && c &&
           c->fed_state != FED_STATE_INACTIVE;
}

static void give_lock(const struct ask *a)
{
    const Pst__FedCopy *copy = fedstate_copy_of(a->j->rec, a->peer);
    uint64_t lsn = a->f->ctld->applied_lsn;
    bool granted = has_lock(a);

    if (!granted && may_have_lock(a)) {
        lsn = fedstate_owner(a->f, a->j, a->peer);
        granted = true;
    }
    answer_ask(a, lsn, granted, !granted && (job_is_ended(a->j->rec) || !copy || !copy->present));
}

static void take_lock_back(const struct ask *a)
{
    uint64_t lsn = a->f->ctld->applied_lsn;

    if (has_lock(a) && !fedset_has_started(a->f->ctld, a->j->rec))
        lsn = fedstate_version(a->f, a->j);
    answer_ask(a, lsn, false, false);
}

static void note_start(const struct ask *a)
{
    uint64_t lsn = a->f->ctld->applied_lsn;
    bool good = has_lock(a);

    if (good && !fedset_has_started(a->f->ctld, a->j->rec)) {
        lsn = fedstate_started(a->f, a->j);
        if (lsn) /* the client of an allocation goes there */
            services_job_progress(a->f->ctld, a->j, lsn);
    }
    answer_ask(a, lsn, false, !good);
}

static void note_end(const struct ask *a)
{
    const Pst__JobRecord *run = a->req->run;
    struct job_end end = { .state = JOB_STATE(COMPLETED) };
    uint64_t lsn = a->f->ctld->applied_lsn;

    if (has_lock(a) && a->j->rec->fed_requeue) {
        lsn = fedstate_requeue(a->f, a->j);
    } else if (has_lock(a)) {
        if (run && run->has_state && run->state > JOB_STATE(SUSPENDED) &&
            run->state <= JOB_STATE(OUT_OF_MEMORY))
            end.state = run->state;
        end.revoked = end.state != JOB_STATE(CANCELLED); /* that it was cancelled counts */
        end.has_exit = run && run->has_exit_status;
        end.exit_status = end.has_exit ? run->exit_status : 0;
        end.by_user = run && run->has_cancel_uid;
        end.uid = end.by_user ? run->cancel_uid : 0;
        lsn = lifecycle_end(a->f->ctld, a->j, &end);
    }
    answer_ask(a, lsn, false, false);
}

static bool read_ask(struct ctld *ctld, struct cmd *cmd, struct ask *ret)
{
    const Pst__FedAsk *req = PB_AS(fed_ask, cmd->msg);
    const struct fedset *all = ctld->fed ? fed_members(ctld->fed) : NULL;
    uint32_t peer = all && req->cluster ? fedset_number(all, req->cluster) : 0;

    if (!req->has_kind ||
        (req->kind != PST__FED_ASK_KIND__FED_ASK_ALIVE && (!req->has_version || !req->job_id))) {
        core_error(ctld, cmd, EPST_BAD_REQUEST, "a sibling asks about a job, a version, a matter");
        return false;
    }
    if (!peer || peer == all->self) {
        core_error(ctld, cmd, ESLURM_INVALID_CLUSTER_NAME, NULL);
        return false;
    }
    *ret = (struct ask){ .f = ctld->fed,
                         .cmd = cmd,
                         .req = req,
                         .peer = peer,
                         .j = cluster_job(ctld->cluster, req->job_id) };
    ctld->fed->peers[peer].heard_us = core_now();
    return true;
}

void op_fed_ask(struct ctld *ctld, struct cmd *cmd)
{
    struct ask a;

    if (!read_ask(ctld, cmd, &a))
        return;
    if (a.req->kind == PST__FED_ASK_KIND__FED_ASK_ALIVE) {
        answer_ask(&a, ctld->applied_lsn, false, false);
        return;
    }
    if (!a.j || !fed_is_job(a.j->rec) || !fedset_is_origin(ctld, a.j->rec)) {
        answer_ask(&a, ctld->applied_lsn, false, true);
        return;
    }
    switch (a.req->kind) {
    case PST__FED_ASK_KIND__FED_ASK_LOCK:
        give_lock(&a);
        break;
    case PST__FED_ASK_KIND__FED_ASK_RELEASE:
        take_lock_back(&a);
        break;
    case PST__FED_ASK_KIND__FED_ASK_STARTED:
        note_start(&a);
        break;
    case PST__FED_ASK_KIND__FED_ASK_ENDED:
        note_end(&a);
        break;
    default:
        core_error(ctld, cmd, EPST_BAD_REQUEST, "a sibling asks for something unknown");
    }
}
