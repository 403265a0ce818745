/* stepqueue.c - requests for steps that wait until their job has room; see stepqueue.h */
#include "ctld/step/stepqueue.h"

#include <errno.h>
#include <stdlib.h>

#include "base/must.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "ctld/core/service.h"
#include "ctld/job/hetgroup.h"
#include "ctld/step/async.h"
#include "ctld/step/steps.h"
#include "base/cleanup.h"

struct step_wait { /* a request that waits until the job has room */
    struct step_wait *next;
    bool async; /* no client waits for the answer: step async_id is launched from here */
    bool busy;  /* it waited for other steps, not for the job */
    uint32_t async_id;
    struct cmd reply;
    Pst__StepSpec *spec;
    Pst__HetStepRequest *het; /* over components; spec is NULL */
    int64_t give_up_us;       /* 0 = none */
};

struct step_queue { /* of one job, first come first served */
    uint32_t job_id;
    struct step_wait *head;
};

struct step_queues {
    struct idmap jobs; /* job id -> its struct step_queue */
};

static struct step_queue *queue_of(struct ctld *ctld, uint32_t job_id, bool make)
{
    struct step_queue *q = idmap_get(&ctld->step_queues->jobs, job_id);

    if (!q && make) {
        q = must(calloc(1, sizeof(*q)));
        q->job_id = job_id;
        if (idmap_put(&ctld->step_queues->jobs, job_id, q) < 0)
            must(NULL);
    }
    return q;
}

bool steps_queue_waits(struct ctld *ctld, uint32_t job_id)
{
    return queue_of(ctld, job_id, false) != NULL;
}

/* cmd NULL: step async_id. */
void steps_queue_add(struct ctld *ctld, uint32_t job_id, const struct cmd *cmd, uint32_t async_id,
                     const Pst__StepSpec *spec, const Pst__HetStepRequest *het, bool busy)
{
    struct step_queue *q = queue_of(ctld, job_id, true);
    struct step_wait *w = must(calloc(1, sizeof(*w))), **at = &q->head;
    ProtobufCMessage *copy;

    if (pb_dup(het ? &het->base : &spec->base, &copy) < 0)
        must(NULL);
    if (het)
        w->het = (Pst__HetStepRequest *)copy;
    else
        w->spec = (Pst__StepSpec *)copy;
    w->busy = busy;
    if (cmd) {
        w->reply.conn = conn_ref(cmd->conn);
        w->reply.op = cmd->op;
        w->reply.id = cmd->id;
    } else {
        w->async = true;
        w->async_id = async_id;
    }
    if (het)
        spec = het->components[0]->spec; /* checked: there is one */
    if (cmd && spec && spec->has_immediate_s)
        w->give_up_us = core_now() + (int64_t)spec->immediate_s * USEC_PER_SEC;
    while (*at)
        at = &(*at)->next;
    *at = w;
}

void steps_queue_async(struct ctld *ctld, struct job *j, uint32_t step_id,
                       const Pst__StepSpec *spec)
{
    steps_queue_add(ctld, j->rec->job_id, NULL, step_id, spec, NULL, false);
}

static void wait_free(struct step_wait *w)
{
    if (w->reply.conn)
        conn_unref(w->reply.conn);
    if (w->spec)
        pst__step_spec__free_unpacked(w->spec, NULL);
    if (w->het)
        pst__het_step_request__free_unpacked(w->het, NULL);
    free(w);
}

/* ---- answers --------------------------------------------------------------------------------- */

void steps_answer(struct ctld *ctld, struct job *j, const struct cmd *cmd, struct step *s,
                  uint64_t lsn, bool waited)
{
    Pst__StepReply *reply = steps_reply_new(ctld, j, s);

    if (reply)
        SET(reply, waited, waited);
    if (reply)
        core_reply(ctld, cmd, lsn, 0, &reply->base);
    else
        core_error(ctld, cmd, SLURM_ERROR,
                   "the controller cannot sign credentials: libsodium is missing");
    steps_reply_free(reply);
}

int steps_create_components(struct ctld *ctld, const Pst__HetStepRequest *req, struct conn *conn,
                            struct step_part **ret_parts, uint64_t *ret_lsn)
{
    static const Pst__StepSpec none = PST__STEP_SPEC__INIT;
    const struct job *leader = cluster_job(ctld->cluster, req->job_id);
    struct step_part *parts;
    int r;

    if (!leader || !het_is_leader(leader->rec))
        return leader ? ESLURM_NOT_HET_JOB_LEADER : ESLURM_INVALID_JOB_ID;
    if (!req->n_components || req->n_components > leader->rec->het_count)
        return ESLURM_INVALID_JOB_ID;
    parts = must(calloc(req->n_components, sizeof(*parts)));
    for (size_t i = 0; i < req->n_components; i++) {
        const Pst__HetStepSpec *c = req->components[i];

        parts[i].job = het_component(ctld->cluster, leader->rec, c->offset);
        parts[i].spec = c->spec ? c->spec : &none;
        for (size_t k = 0; k < i; k++)
            if (parts[k].job == parts[i].job)
                parts[i].job = NULL; /* a component has one part of a step */
    }
    r = steps_create_parts(ctld, parts, req->n_components, conn_peer(conn), NULL, ret_lsn);
    if (r == 0)
        *ret_parts = parts;
    else
        free(parts);
    return r;
}

void steps_answer_components(struct ctld *ctld, const Pst__HetStepRequest *req,
                             const struct cmd *cmd, struct step_part *parts, uint64_t lsn,
                             bool waited)
{
    const struct job *leader = cluster_job(ctld->cluster, req->job_id);
    Pst__HetStepReply reply = PST__HET_STEP_REPLY__INIT;
    Pst__JobRecord *jobs[HET_COMPONENTS_MAX];
    bool signed_all = true;

    reply.steps = must(calloc(req->n_components, sizeof(*reply.steps)));
    for (size_t i = 0; i < req->n_components; i++) {
        Pst__StepReply *one = steps_reply_new(ctld, parts[i].job, parts[i].step);

        signed_all = signed_all && one;
        if (one)
            SET(one, waited, waited);
        if (one)
            reply.steps[reply.n_steps++] = one;
    }
    reply.het_jobs = jobs;
    for (uint32_t k = 0; k < MIN(leader->rec->het_count, HET_COMPONENTS_MAX); k++) {
        const struct job *j = het_component(ctld->cluster, leader->rec, k);

        if (j)
            jobs[reply.n_het_jobs++] = j->rec;
    }
    if (signed_all)
        core_reply(ctld, cmd, lsn, 0, &reply.base);
    else
        core_error(ctld, cmd, SLURM_ERROR,
                   "the controller cannot sign credentials: libsodium is missing");
    for (size_t i = 0; i < reply.n_steps; i++)
        steps_reply_free(reply.steps[i]);
    free(reply.steps);
    free(parts);
}

/* ---- requests that wait ---------------------------------------------------------------------- */

/* False: it must wait longer. */
static bool serve_het(struct ctld *ctld, struct step_wait *w)
{
    struct step_part *parts = NULL;
    uint64_t lsn = 0;
    int r = steps_create_components(ctld, w->het, w->reply.conn, &parts, &lsn);

    w->busy = w->busy || r == ESLURM_NODES_BUSY;
    if (r == ESLURM_NODES_BUSY || r == ESLURM_JOB_PENDING)
        return false;
    if (r == 0)
        steps_answer_components(ctld, w->het, &w->reply, parts, lsn, w->busy);
    else
        core_error(ctld, &w->reply, r, NULL);
    return true;
}

/* Give the request that waits its step, or answer why not.  False: it must wait longer. */
static bool serve_one(struct ctld *ctld, struct job *j, struct step_wait *w)
{
    const struct step *queued = w->async ? cluster_step(j, w->async_id) : NULL;
    struct step *s = NULL;
    uint64_t lsn = 0;
    int r;

    if (w->het)
        return serve_het(ctld, w);
    if (w->async && (!queued || queued->rec->state != PST__STEP_STATE__STEP_PENDING))
        return true; /* cancelled meanwhile */
    r = steps_create_one(ctld, j, w->spec, w->async ? NULL : conn_peer(w->reply.conn),
                         w->async ? &w->async_id : NULL, &s, &lsn, NULL);
    w->busy = w->busy || r == ESLURM_NODES_BUSY;
    if (r == ESLURM_NODES_BUSY || r == ESLURM_JOB_PENDING || (w->async && r == EPST_DISK_FULL))
        return false;
    if (r == 0 && w->async)
        async_launch(ctld, j, s, lsn);
    else if (r == 0)
        steps_answer(ctld, j, &w->reply, s, lsn, w->busy);
    else if (w->async)
        async_end_pending(ctld, j, w->async_id, NULL);
    else
        core_error(ctld, &w->reply, r, NULL);
    return true;
}

/* Serve the requests that wait, in order, until one must wait longer. */
static void serve_queue(struct ctld *ctld, struct job *j)
{
    struct step_queue *q = queue_of(ctld, j->rec->job_id, false);

    while (q && q->head) {
        struct step_wait *w = q->head;

        if (!serve_one(ctld, j, w))
            break;
        q->head = w->next;
        wait_free(w);
    }
    if (q && !q->head) {
        (void)idmap_remove(&ctld->step_queues->jobs, q->job_id);
        free(q);
    }
    if (het_is_follower(j->rec) && (j = het_component(ctld->cluster, j->rec, 0)))
        steps_retry(ctld, j); /* steps over components wait at the leader */
}

void steps_retry(struct ctld *ctld, struct job *j)
{
    serve_queue(ctld, j);
    async_drained(ctld, j);
}

/* Remove the waiting requests for which gone() holds. */
static void queue_filter(struct ctld *ctld, bool (*gone)(const struct step_wait *w, int64_t arg),
                         int64_t arg, int code)
{
    struct step_queue *q;
    size_t pos = 0;

    while ((q = idmap_next(&ctld->step_queues->jobs, &pos))) {
        for (struct step_wait **at = &q->head; *at;) {
            struct step_wait *w = *at;

            if (!gone(w, arg)) {
                at = &w->next;
                continue;
            }
            if (code && !w->async)
                core_error(ctld, &w->reply, code, NULL);
            *at = w->next;
            wait_free(w);
        }
        if (!q->head) {
            (void)idmap_remove(&ctld->step_queues->jobs, q->job_id);
            free(q);
        }
    }
}

static bool waits_on(const struct step_wait *w, int64_t conn)
{
    return !w->async && (int64_t)conn_id(w->reply.conn) == conn;
}

static bool is_expired(const struct step_wait *w, int64_t now_us)
{
    return w->give_up_us && now_us >= w->give_up_us;
}

/* --immediate: requests that did not get their step in time. */
static void refuse_late(struct ctld *ctld, int64_t now_us)
{
    queue_filter(ctld, is_expired, now_us, ESLURM_NODES_BUSY);
}

static void steps_conn_closed(struct ctld *ctld, uint64_t conn)
{
    queue_filter(ctld, waits_on, (int64_t)conn, 0);
}

static bool is_any(const struct step_wait *w, int64_t arg)
{
    (void)w;
    (void)arg;
    return true;
}

static void steps_clear(struct ctld *ctld)
{
    if (ctld->step_queues)
        queue_filter(ctld, is_any, 0, 0);
}

/* ---- the service ----------------------------------------------------------------------------- */

static int start_queues(struct ctld *ctld, struct err *err)
{
    (void)err;
    ctld->step_queues = calloc(1, sizeof(*ctld->step_queues));
    return ctld->step_queues ? 0 : -ENOMEM;
}

static void free_queues(struct ctld *ctld)
{
    if (ctld->step_queues)
        idmap_done(&ctld->step_queues->jobs);
    free(ctld->step_queues);
    ctld->step_queues = NULL;
}

static void forget_conn(struct ctld *ctld, struct conn *conn)
{
    steps_conn_closed(ctld, conn_id(conn));
}

static void retry_after(struct ctld *ctld, struct job *j, uint64_t lsn)
{
    (void)lsn;
    steps_retry(ctld, j);
}

const struct ctld_service steps_service = {
    .name = "steps",
    .start = start_queues,
    .stop = steps_clear,
    .free = free_queues,
    .tick_writing = refuse_late,
    .on_conn_closed = forget_conn,
    .job_started = retry_after,
    .job_ready = retry_after,
    .job_resumed = steps_retry,
    .job_ended = retry_after,
};
