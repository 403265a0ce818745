/* async.c - queued steps and those who wait for them; see async.h */
#include "ctld/step/async.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "base/bind/tasklayout.h"
#include "base/must.h"
#include "ctld/job/jobfacts.h"
#include "ctld/job/lifecycle.h"
#include "ctld/step/steplayout.h"
#include "ctld/step/steps.h"
#include "ctld/core/service.h"
#include "fields.h"

#define ASYNC_LAUNCH_MAX                                                                           \
    (2u << 20) /* bytes of a launch request: kept in the record while the step waits */

struct swaiter { /* an answered-later request of swait */
    struct swaiter *next;
    uint32_t job_id;
    struct cmd reply;
};
static struct swaiter *swaiters; /* few: one for each swait that runs */

/* ---- submission ------------------------------------------------------------------------------ */

static void pack(const ProtobufCMessage *msg, ProtobufCBinaryData *ret)
{
    ret->len = protobuf_c_message_get_packed_size(msg);
    ret->data = must(malloc(ret->len + 1));
    protobuf_c_message_pack(msg, ret->data);
}

/* May this step be queued?  0 or an ESLURM code. */
static int check(struct ctld *ctld, const struct job *j, const Pst__StepCreateRequest *req)
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
    r = steplayout_make(ctld->cluster, j, req->spec, &alloc, &ntasks, &dist);
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
    int r = req->spec ? check(ctld, j, req) : EPST_BAD_REQUEST;

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
    pack(&req->async->base, &rec->async_launch);
    pack(&req->spec->base, &rec->async_spec);
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

void async_keep(Pst__StepRecord *rec, const Pst__StepRecord *queued)
{
    SET(rec, async, true);
    rec->client_host = tx_strdup(queued->client_host);
    SET(rec, client_pid, queued->client_pid);
    rec->has_async_launch = 1;
    rec->async_launch.len = queued->async_launch.len;
    rec->async_launch.data = must(malloc(queued->async_launch.len + 1));
    memcpy(rec->async_launch.data, queued->async_launch.data, queued->async_launch.len);
}

/* ---- launch ---------------------------------------------------------------------------------- */

/* Ranks of the node at a position; *ret_n of them, in the caller's storage of num_tasks. */
static uint32_t *ranks_of(const Pst__StepRecord *r, size_t position, uint32_t *all, size_t *ret_n)
{
    size_t n = r->alloc->n_node_ids;
    _cleanup_free_ uint32_t *counts = must(calloc(n + 1, sizeof(*counts)));
    size_t first = 0;

    for (size_t i = 0; i < n; i++) {
        counts[i] = alloc_group(r->alloc, i)->tasks;
        if (i < position)
            first += counts[i];
    }
    if (tasklayout(r->distribution, counts, n, all) < 0)
        must(NULL);
    *ret_n = counts[position];
    return all + first;
}

void async_launch_on(struct ctld *ctld, struct job *j, struct step *s, const struct node *n,
                     uint64_t lsn)
{
    const Pst__StepRecord *r = s->rec;
    long pos = alloc_position(r->alloc, n->rec->node_id);
    Pst__LaunchStep *msg;
    uint32_t *all;

    if (pos < 0 || alloc_group(r->alloc, (size_t)pos)->tasks == 0)
        return;
    msg = pst__launch_step__unpack(NULL, r->async_launch.len, r->async_launch.data);
    if (!msg) {
        log_error("step %u.%u: its launch request is damaged", r->job_id, r->step_id);
        return;
    }
    all = must(calloc(r->num_tasks + 1, sizeof(*all)));
    msg->credential = steps_sign(ctld, j, s, PST__CRED_PURPOSE__CRED_LAUNCH);
    (void)pb_set_str(&msg->node_name, n->rec->name);
    SET(msg, node_index, (uint32_t)pos);
    msg->task_ids = ranks_of(r, (size_t)pos, all, &msg->n_task_ids);
    if (msg->credential)
        (void)node_send(ctld, n, lsn, OP_LAUNCH_ASYNC,
                        &msg->base); /* not connected: when it registers */
    msg->n_task_ids = 0;
    msg->task_ids = NULL;
    pst__launch_step__free_unpacked(msg, NULL);
    free(all);
}

void async_launch(struct ctld *ctld, struct job *j, struct step *s, uint64_t lsn)
{
    for (size_t i = 0; i < s->rec->alloc->n_node_ids; i++) {
        const struct node *n = cluster_node(ctld->cluster, s->rec->alloc->node_ids[i]);

        if (n)
            async_launch_on(ctld, j, s, n, lsn);
    }
}

/* The positions of s's allocation whose nodes confirmed the launch. */
static struct bitmap *confirmed(const struct step *s)
{
    struct bitmap *bm = NULL;

    if (bitmap_new((uint32_t)s->rec->alloc->n_node_ids, &bm) < 0)
        must(NULL);
    if (s->rec->async_confirmed)
        (void)bitmap_parse(bm, s->rec->async_confirmed,
                           NULL); /* our own text; damaged: said again */
    return bm;
}

bool async_awaits(const struct step *s, uint32_t node_id)
{
    long pos = s->rec->has_async_launch ? alloc_position(s->rec->alloc, node_id) : -1;
    _cleanup_(bitmap_free) struct bitmap *bm = pos < 0 ? NULL : confirmed(s);

    return pos >= 0 && !bitmap_test(bm, (uint32_t)pos) &&
           alloc_group(s->rec->alloc, (size_t)pos)->tasks;
}

void async_launched(struct ctld *ctld, const struct node *n, const Pst__RunningStep *run)
{
    struct job *j = cluster_job(ctld->cluster, run->job_id);
    struct step *s = j && j->rec->db_id == run->run_id ? cluster_step(j, run->step_id) : NULL;
    _cleanup_(bitmap_free) struct bitmap *bm = NULL;
    Pst__Transaction *tx;
    Pst__StepRecord *set;
    bool all = true;

    if (!s || !s->rec->has_async_launch || s->rec->state != PST__STEP_STATE__STEP_RUNNING ||
        !async_awaits(s, n->rec->node_id))
        return;
    failpoint_crash("ctld.crash.async_confirm");
    bm = confirmed(s);
    bitmap_set(bm, (uint32_t)alloc_position(s->rec->alloc, n->rec->node_id));
    for (size_t i = 0; i < s->rec->alloc->n_node_ids && all; i++)
        all = bitmap_test(bm, (uint32_t)i) || !alloc_group(s->rec->alloc, i)->tasks;
    tx = tx_new(core_now());
    set = tx_step_patch(tx, PST__EVENT_KIND__EV_UNSPECIFIED, run->job_id, run->step_id);
    if (all) {
        tx_clear(tx, STEP_F_ASYNC_LAUNCH);
        tx_clear(tx, STEP_F_ASYNC_CONFIRMED);
    } else if (bitmap_format(bm, &set->async_confirmed) < 0) {
        must(NULL);
    }
    (void)core_commit(ctld, tx); /* disk full: the request is kept, which does no harm */
}

/* ---- ends without a run ---------------------------------------------------------------------- */

void async_close(Pst__Transaction *tx, const struct step *s, const uid_t *uid)
{
    Pst__StepRecord *set =
        tx_step_patch(tx, PST__EVENT_KIND__EV_STEP_END, s->rec->job_id, s->rec->step_id);

    SET(set, state, PST__STEP_STATE__STEP_CANCELLED);
    SET(set, start_us, core_now());
    SET(set, end_us, core_now());
    SET(set, exit_status, SIGKILL);
    if (uid)
        SET(set, cancel_uid, *uid);
    tx_clear(tx, STEP_F_ASYNC_LAUNCH);
    tx_clear(tx, STEP_F_ASYNC_SPEC);
}

uint64_t async_end_pending(struct ctld *ctld, struct job *j, uint32_t step_id, const uid_t *uid)
{
    const struct step *s = cluster_step(j, step_id);
    Pst__Transaction *tx = tx_new(core_now());
    uint64_t lsn;

    async_close(tx, s, uid);
    lsn = core_commit(ctld, tx);
    async_drained(ctld, j);
    return lsn;
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

/* ---- swait ----------------------------------------------------------------------------------- */

/* Nothing of srun's runs or waits. */
static bool drained(const struct job *j)
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
    int r = req->id ? jobs_find(ctld, req->id, &ref) : ESLURM_INVALID_JOB_ID;
    struct job *j = ref.job;

    if (r != 0) {
        core_error(ctld, cmd, r, NULL);
    } else if (conn_peer(cmd->conn)->uid != j->rec->uid && !cmd_is_admin(ctld, cmd)) {
        core_error(ctld, cmd, ESLURM_ACCESS_DENIED, NULL);
    } else if (!j->rec->has_stepmgr || !j->rec->stepmgr) {
        core_error(ctld, cmd, ESLURM_NOT_SUPPORTED, "the job was not submitted with --stepmgr");
    } else if (drained(j)) {
        core_ok(ctld, cmd, ctld->applied_lsn);
    } else {
        w = must(calloc(1, sizeof(*w)));
        w->job_id = j->rec->job_id;
        w->reply.conn = conn_ref(cmd->conn);
        w->reply.op = cmd->op;
        w->reply.id = cmd->id;
        w->next = swaiters;
        swaiters = w;
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
    for (struct swaiter **at = &swaiters; *at;) {
        if ((*at)->job_id != j->rec->job_id || !drained(j)) {
            at = &(*at)->next;
            continue;
        }
        core_ok(ctld, &(*at)->reply, ctld->applied_lsn);
        swaiter_remove(at);
    }
}

void async_conn_closed(uint64_t conn)
{
    for (struct swaiter **at = &swaiters; *at;) {
        if (conn_id((*at)->reply.conn) == conn)
            swaiter_remove(at);
        else
            at = &(*at)->next;
    }
}

void async_clear(void)
{
    while (swaiters)
        swaiter_remove(&swaiters);
}

/* ---- the service ----------------------------------------------------------------------------- */

static const struct ctld_op async_ops[] = {
    { OP_STEPS_WAIT, .fn = op_steps_wait, .flags = OPF_CLOSES }, { 0 }
};

const struct ctld_service async_service = { .name = "async", .ops = async_ops };
