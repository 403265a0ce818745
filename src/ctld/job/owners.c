/* owners.c - the clients that own allocations; see owners.h */
#include "ctld/job/owners.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/must.h"
#include "base/timefmt.h"
#include "ctld/job/hetgroup.h"
#include "ctld/job/lifecycle.h"
#include "ctld/core/service.h"
#include "ctld/policy/fedset.h"

#define CANCELS_MAX 64u /* of one walk: the rest are cancelled by the next */

struct owner {
    uint32_t job_id;
    uint64_t conn;   /* 0 = the client is not connected ... */
    int64_t lost_us; /* ... since then */
};

struct owners {
    struct idmap by_job; /* job id -> struct owner */
};

int owners_new(struct owners **ret)
{
    *ret = calloc(1, sizeof(**ret));
    return *ret ? 0 : -ENOMEM;
}

struct owners *owners_free(struct owners *o)
{
    void *v;

    if (!o)
        return NULL;
    for (size_t pos = 0; (v = idmap_next(&o->by_job, &pos));)
        free(v);
    idmap_done(&o->by_job);
    free(o);
    return NULL;
}

static struct owner *owner_make(struct ctld *ctld, const struct job *j)
{
    struct owner *o = idmap_get(&ctld->owners->by_job, j->rec->job_id);

    if (o)
        return o;
    o = must(calloc(1, sizeof(*o)));
    o->job_id = j->rec->job_id;
    if (idmap_put(&ctld->owners->by_job, o->job_id, o) < 0)
        must(NULL);
    return o;
}

void owners_attach(struct ctld *ctld, const struct job *j, uint64_t conn)
{
    struct owner *o = owner_make(ctld, j);

    o->conn = conn;
    o->lost_us = 0;
}

void owners_detach(struct ctld *ctld, const struct job *j, uint64_t conn)
{
    struct owner *o = idmap_get(&ctld->owners->by_job, j->rec->job_id);

    if (!o || o->conn != conn)
        return;
    o->conn = 0;
    o->lost_us = core_now();
}

static bool ends_with_client(const Pst__JobRecord *r)
{
    return r->has_kill_on_client_loss && r->kill_on_client_loss;
}

/* Nobody waits for it to start. */
static bool is_batch(const Pst__JobRecord *r)
{
    return (r->has_batch && r->batch) || job_is_external(r);
}

/* Does the client of this allocation wait at another cluster of the federation: at the origin, or
 * where the job runs? */
static bool waits_elsewhere(const struct ctld *ctld, const Pst__JobRecord *r)
{
    return fed_is_job(r) && job_is_pending(r) &&
           (!fedset_is_origin(ctld, r) || fedset_runner(ctld, r));
}

/* The client hears from the origin that its allocation is here, and comes. */
static void expect_client(struct ctld *ctld, struct job *j, uint64_t lsn)
{
    const Pst__JobRecord *r = j->rec;

    (void)lsn;
    if (fed_is_job(r) && !is_batch(r) && !fedset_is_origin(ctld, r))
        owner_make(ctld, j)->lost_us = core_now();
}

void owners_recover(struct ctld *ctld, const struct job *j)
{
    if (!job_is_ended(j->rec) && (!is_batch(j->rec) || ends_with_client(j->rec)) &&
        !waits_elsewhere(ctld, j->rec))
        owner_make(ctld, j)->lost_us = core_now();
}

void owners_forget(struct ctld *ctld, const struct job *j)
{
    free(idmap_remove(&ctld->owners->by_job, j->rec->job_id));
}

/* Nothing runs in the job. */
static bool is_inactive(const struct job *j)
{
    if (job_is_ended(j->rec) || het_is_follower(j->rec))
        return false;
    for (const struct step *s = j->steps; s; s = s->next)
        if (s->waiting && s->rec->step_id != STEP_EXTERN)
            return false;
    return true;
}

void owners_step_ended(struct ctld *ctld, struct job *j, uint32_t status)
{
    const struct owner *o = idmap_get(&ctld->owners->by_job, j->rec->job_id);

    if (!ends_with_client(j->rec) || (o && o->conn) || !is_inactive(j))
        return;
    (void)lifecycle_finished(ctld, j, status, false);
}

/* Clients whose connection was lost before this have not come back in time. */
static int64_t oldest_loss(const struct ctld *ctld, int64_t now_us)
{
    return now_us - (int64_t)conf_num(ctld->conf, CONF_MESSAGE_TIMEOUT) * USEC_PER_SEC;
}

static bool is_late(const struct owner *o, int64_t oldest_us)
{
    return o->lost_us && !o->conn && o->lost_us < oldest_us;
}

/* InactiveLimit: a job whose client has been gone for so long has run out of time.  Who runs a
 * partition of root's alone sees to its jobs himself. */
static void end_inactive(struct ctld *ctld, struct job *j)
{
    const struct partition *p = cluster_partition(ctld->cluster, j->rec->partition);

    if (is_batch(j->rec) || !is_inactive(j) || (p && p->rec->has_root_only && p->rec->root_only))
        return;
    log_verbose("job %u: inactive, its client is gone", j->rec->job_id);
    (void)lifecycle_end(ctld, j,
                        &(struct job_end){ .state = JOB_STATE(TIMEOUT),
                                           .reason = PST__JOB_REASON__REASON_INACTIVE_LIMIT,
                                           .kill_text = JOB_TEXT_TIME_LIMIT }); /* full: later */
}

void owners_tick(struct ctld *ctld, int64_t now_us)
{
    int64_t limit_us = (int64_t)conf_num(ctld->conf, CONF_INACTIVE_LIMIT) * USEC_PER_SEC,
            oldest_us = limit_us ? now_us - limit_us : oldest_loss(ctld, now_us);
    const struct owner *o;

    for (size_t pos = 0; (o = idmap_next(&ctld->owners->by_job, &pos));) {
        struct job *j = is_late(o, oldest_us) ? cluster_job(ctld->cluster, o->job_id) : NULL;

        if (!j || !job_holds_resources(j->rec))
            continue;
        if (limit_us)
            end_inactive(ctld, j);
        else
            owners_step_ended(ctld, j, SIGKILL); /* unless a step runs */
    }
}

void owners_check_pending(struct ctld *ctld, int64_t now_us)
{
    int64_t oldest_us = oldest_loss(ctld, now_us);
    struct job *found[CANCELS_MAX];
    struct owner *o;
    size_t n = 0;

    for (size_t pos = 0; n < ARRAY_SIZE(found) && (o = idmap_next(&ctld->owners->by_job, &pos));) {
        struct job *j = cluster_job(ctld->cluster, o->job_id);

        if (!j || (job_is_ended(j->rec) && !job_has_flag(j->rec, JOB_FLAG(REQUEUED))))
            free(idmap_remove(&ctld->owners->by_job, o->job_id));
        else if (is_late(o, oldest_us) && job_is_pending(j->rec) && !is_batch(j->rec) &&
                 !het_is_follower(j->rec) && !waits_elsewhere(ctld, j->rec))
            found[n++] = j;
    }
    for (size_t i = 0; i < n; i++)
        if (job_is_pending(found[i]->rec)) /* the end of one may have ended another */
            (void)lifecycle_end(ctld, found[i], &(struct job_end){ .state = JOB_STATE(CANCELLED) });
}

/* ---- the service ----------------------------------------------------------------------------- */

static int start_owners(struct ctld *ctld, struct err *err)
{
    (void)err;
    return owners_new(&ctld->owners);
}

static void free_owners(struct ctld *ctld)
{
    ctld->owners = owners_free(ctld->owners);
}

static void forget_job(struct ctld *ctld, struct job *j)
{
    owners_forget(ctld, j);
}

/* A job that had to start at once has failed; the client of another one has cancelled it. */
static void end_given_up(struct ctld *ctld, struct job *j, bool at_once)
{
    static const uint32_t exit_1 = 1 << 8; /* as wait(2) says it */
    struct job_end end = { .state = JOB_STATE(CANCELLED), .by_user = true, .uid = j->rec->uid };

    if (at_once)
        end = (struct job_end){ .state = JOB_STATE(FAILED),
                                .reason = PST__JOB_REASON__REASON_BAD_CONSTRAINTS,
                                .has_exit = true,
                                .exit_status = exit_1 };
    (void)lifecycle_end(ctld, j, &end); /* full: kept */
}

const struct ctld_service owners_service = {
    .name = "owners",
    .start = start_owners,
    .free = free_owners,
    .job_started = expect_client,
    .tick_writing = owners_tick,
    .tick_slow = owners_check_pending,
    .step_ended = owners_step_ended,
    .on_job_gone = forget_job,
    .job_given_up = end_given_up,
};
