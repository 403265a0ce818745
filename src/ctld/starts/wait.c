/* wait.c - requests that are answered later; see wait.h. */
#include "ctld/starts/wait.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/must.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "ctld/core/asking.h"
#include "ctld/job/hetgroup.h"
#include "ctld/notify/hooks.h"
#include "ctld/job/owners.h"
#include "ctld/job/prologs.h"
#include "ctld/step/steps.h"
#include "ctld/core/service.h"

static struct waiter *waiter_new(struct ctld *ctld, const struct cmd *cmd)
{
    struct waiter *w = must(calloc(1, sizeof(*w)));

    w->ticket = ++ctld->next_ticket;
    w->reply.conn = conn_ref(cmd->conn);
    w->reply.op = cmd->op;
    w->reply.id = cmd->id;
    w->reply.uid = cmd->uid;
    w->reply.gid = cmd->gid;
    /* out of memory: a user without rights beyond his own */
    w->reply.caller = cmd->caller ? strdup(cmd->caller) : NULL;
    must_do(idmap_put(&ctld->waiters, w->ticket, w));
    return w;
}

static void link_waiter(struct ctld *ctld, struct waiter *w)
{
    w->next = idmap_get(&ctld->job_waiters, w->job_id);
    must_do(idmap_put(&ctld->job_waiters, w->job_id, w));
}

uint64_t wait_add(struct ctld *ctld, const struct cmd *cmd, struct job *j, bool until_started,
                  uint32_t immediate_s, const Pst__StepSpec *step)
{
    struct waiter *w = waiter_new(ctld, cmd);

    w->job_id = j->rec->job_id;
    w->until_started = until_started;
    if (immediate_s)
        w->give_up_us = core_now() + (int64_t)immediate_s * USEC_PER_SEC;
    w->at_once = immediate_s == 1;
    if (step) {
        ProtobufCMessage *copy;

        if (pb_dup(&step->base, &copy) == 0)
            w->step = (Pst__StepSpec *)copy;
    }
    link_waiter(ctld, w);
    return w->ticket;
}

void wait_add_array(struct ctld *ctld, const struct cmd *cmd, uint32_t array_job_id)
{
    struct waiter *w = waiter_new(ctld, cmd);

    w->job_id = array_job_id;
    w->array = true;
    link_waiter(ctld, w);
}

uint64_t wait_add_test(struct ctld *ctld, const struct cmd *cmd, Pst__JobRecord *record)
{
    struct waiter *w = waiter_new(ctld, cmd);

    w->test_only = true;
    w->record = record;
    must_do(asking_note(ctld->asking, w->ticket, cmd->lane));
    return w->ticket;
}

void wait_answered(struct ctld *ctld, uint64_t ticket)
{
    asking_answered(ctld->asking, ticket);
}

struct waiter *wait_find(struct ctld *ctld, uint64_t ticket)
{
    return idmap_get(&ctld->waiters, ticket);
}

void wait_message(struct ctld *ctld, uint64_t ticket, const char *lines)
{
    struct waiter *w = *lines ? wait_find(ctld, ticket) : NULL;

    if (w)
        w->message = strdup(lines); /* out of memory: it is not told */
}

/* PrologSlurmctld of j, which is no batch job and ends now, has failed: those who wait on j are
 * told, in place of what they were not told yet. */
static void tell_of_prolog(struct ctld *ctld, struct job *j, bool well)
{
    if (well || (j->rec->has_batch && j->rec->batch))
        return;
    for (struct waiter *w = idmap_get(&ctld->job_waiters, j->rec->job_id); w; w = w->next) {
        free(w->message);
        /* out of memory: they are not told */
        w->message = strdup("PrologSlurmctld failed, job killed");
    }
}

static void waiter_free(struct waiter *w)
{
    conn_unref(w->reply.conn);
    free(w->reply.caller);
    free(w->message);
    if (w->step)
        pst__step_spec__free_unpacked(w->step, NULL);
    if (w->record)
        pst__job_record__free_unpacked(w->record, NULL);
    free(w);
}

/* Take w out of the list of its job. */
static void unlink_waiter(struct ctld *ctld, const struct waiter *w)
{
    void **at = idmap_place(&ctld->job_waiters, w->job_id);
    struct waiter *first = at ? *at : NULL;

    if (first == w && w->next) {
        *at = w->next;
    } else if (first == w) {
        (void)idmap_remove(&ctld->job_waiters, w->job_id);
    } else {
        while (first && first->next != w)
            first = first->next;
        if (first)
            first->next = w->next;
    }
}

void wait_remove(struct ctld *ctld, struct waiter *w)
{
    unlink_waiter(ctld, w);
    (void)idmap_remove(&ctld->waiters, w->ticket);
    waiter_free(w);
}

static void message_told(struct waiter *w)
{
    free(w->message);
    w->message = NULL;
}

static void fill_status(const struct job *j, Pst__JobStatus *s)
{
    SET(s, job_id, j->rec->job_id);
    SET(s, state, job_state(j->rec));
    SET(s, state_flags, j->rec->state_flags);
    if (j->rec->has_reason)
        SET(s, reason, j->rec->reason);
    else if (job_is_pending(j->rec) && j->rec->has_pend_reason)
        SET(s, reason, j->rec->pend_reason);
    if (s->has_reason && s->reason == PST__JOB_REASON__REASON_RESOURCES)
        s->waits_for = j->rec->pend_text;
    if (j->rec->has_exit_status)
        SET(s, exit_status, j->rec->exit_status);
}

/* The grant: the allocation, where its nodes are, and the step asked for with it.  The step is made
 * when the nodes are ready. */
static void send_grant(struct ctld *ctld, struct waiter *w, struct job *j, uint64_t lsn, bool ready)
{
    Pst__JobStatus s = PST__JOB_STATUS__INIT;
    Pst__JobRecord *parts[HET_COMPONENTS_MAX];
    Pst__StepReply *step = NULL;

    fill_status(j, &s);
    s.job = j->rec;
    s.het_jobs = parts;
    for (uint32_t k = 0; het_is_leader(j->rec) && k < MIN(j->rec->het_count, HET_COMPONENTS_MAX);
         k++) {
        const struct job *part = het_component(ctld->cluster, j->rec, k);

        if (part)
            parts[s.n_het_jobs++] = part->rec;
    }
    SET(&s, launched, ready);
    if (w->step && ready) {
        uint64_t step_lsn = steps_create_granted(ctld, j, w->step, w->reply.conn, &step);

        lsn = MAX(lsn, step_lsn);
    }
    s.step = step;
    s.message = w->message;
    s.n_nodes = steps_node_addrs(ctld, j->rec->alloc, NULL, &s.nodes);
    core_reply(ctld, &w->reply, lsn, FRAME_MORE, &s.base);
    message_told(w);
    w->told = true;
    w->granted = ready;
    for (size_t i = 0; i < s.n_nodes; i++)
        pst__node_addr__free_unpacked(s.nodes[i], NULL);
    free(s.nodes);
    steps_reply_free(step);
}

static void send_plain(struct ctld *ctld, struct waiter *w, const struct job *j, uint64_t lsn,
                       uint32_t flags)
{
    Pst__JobStatus s = PST__JOB_STATUS__INIT;

    fill_status(j, &s);
    s.message = w->message;
    core_reply(ctld, &w->reply, lsn, flags, &s.base);
    message_told(w);
    if (job_is_pending(j->rec))
        w->told = false; /* queued again */
}

/* Another cluster of the federation runs it: there its client goes on. */
static void send_elsewhere(struct ctld *ctld, struct waiter *w, const struct job *j, uint64_t lsn,
                           const Pst__AcctClusterRecord *runner)
{
    const char *addrs = runner->control_addrs && *runner->control_addrs ? runner->control_addrs
                                                                        : runner->control_host;
    Pst__JobStatus s = PST__JOB_STATUS__INIT;

    fill_status(j, &s);
    s.message = w->message;
    s.cluster = runner->name;
    s.cluster_addrs = (char *)addrs;
    SET(&s, cluster_port, runner->control_port);
    core_reply(ctld, &w->reply, lsn, 0, &s.base);
}

/* Who waits for the end of a batch job wants the exit code of its script, which a cancelled job
 * tells when its nodes are clean. */
static bool script_goes_on(const Pst__JobRecord *r, const struct waiter *w)
{
    return r->has_batch && r->batch && !w->until_started && job_has_flag(r, JOB_FLAG(COMPLETING));
}

/* The last task of an array has ended, and its nodes are clean: the highest code of all counts. */
static void end_array(struct ctld *ctld, const struct job *j, uint64_t lsn)
{
    struct waiter *w = idmap_get(&ctld->job_waiters, j->rec->array_job_id), *next;
    struct array_tally all = cluster_array_tally(ctld->cluster, j->rec->array_job_id);

    for (; w && !all.open; w = next) {
        Pst__JobStatus s = PST__JOB_STATUS__INIT;

        next = w->next;
        if (!w->array)
            continue;
        fill_status(j, &s);
        SET(&s, job_id, w->job_id);
        SET(&s, exit_status, all.worst << 8); /* as wait() has it */
        core_reply(ctld, &w->reply, lsn, 0, &s.base);
        wait_remove(ctld, w);
    }
}

/* May the client know of the allocation?  That its nodes still run prologs is told with it. */
static bool may_grant(struct ctld *ctld, const struct job *j)
{
    return !job_is_pending(j->rec) && !job_waits_for_prolog(j->rec) && !prologs_hold_grant(ctld, j);
}

void wait_notify(struct ctld *ctld, struct job *j, uint64_t lsn)
{
    struct waiter *w = idmap_get(&ctld->job_waiters, j->rec->job_id), *next;
    const Pst__AcctClusterRecord *runner = w ? services_runner(ctld, j) : NULL;

    if (j->rec->has_array_job_id && idmap_get(&ctld->job_waiters, j->rec->array_job_id)) {
        end_array(ctld, j, lsn);
        w = idmap_get(&ctld->job_waiters, j->rec->job_id);
    }
    for (; w; w = next) {
        next = w->next;
        if (w->array)
            continue;
        if (job_is_ended(j->rec) && !job_has_flag(j->rec, JOB_FLAG(REQUEUED)) &&
            !script_goes_on(j->rec, w)) {
            send_plain(ctld, w, j, lsn, 0);
            wait_remove(ctld, w);
        } else if (w->until_started && runner) {
            send_elsewhere(ctld, w, j, lsn, runner);
            wait_remove(ctld, w);
        } else if (w->until_started && !w->granted && may_grant(ctld, j)) {
            bool ready = !prologs_hold_ready(ctld, j);

            if (ready || !w->told)
                send_grant(ctld, w, j, lsn, ready);
        } else if (w->until_started && !w->granted) {
            send_plain(ctld, w, j, lsn, FRAME_MORE);
        }
    }
}

/* The connection that owned allocations or waited is gone. */
void wait_conn_closed(struct ctld *ctld, uint64_t conn)
{
    struct waiter *w;
    size_t pos = 0;

    while ((w = idmap_next(&ctld->waiters, &pos))) {
        if (conn_id(w->reply.conn) != conn)
            continue;
        if (w->job_id) {
            const struct job *j = cluster_job(ctld->cluster, w->job_id);

            if (j)
                owners_detach(ctld, j, conn);
        }
        wait_remove(ctld, w);
    }
}

/* The words for limits of accounting (job.proto). */
static bool is_limit(Pst__JobReason reason)
{
    return (reason >= PST__JOB_REASON__REASON_ASSOC_GRP_CPU &&
            reason <= PST__JOB_REASON__REASON_QOS_USAGE_THRESHOLD) ||
           reason >= PST__JOB_REASON__REASON_QOS_RUN_MINS_USER_CPU;
}

/* Why a job that may not wait has not started.  One that waited for a time is told the same
 * whatever it waited for. */
static int immediate_code(const struct waiter *w, const struct job *j)
{
    if (!w->at_once)
        return ESLURM_NODES_BUSY;
    if (j && job_is_pending(j->rec) && job_is_held(j->rec))
        return ESLURM_DEPENDENCY;
    if (!j || !job_is_pending(j->rec) || !j->rec->has_pend_reason)
        return ESLURM_IMMEDIATE;
    if (is_limit(j->rec->pend_reason))
        return ESLURM_ACCOUNTING_POLICY;
    switch (j->rec->pend_reason) {
    case PST__JOB_REASON__REASON_RESOURCES:
        return ESLURM_NODES_BUSY;
    case PST__JOB_REASON__REASON_PARTITION_DOWN:
        return ESLURM_PARTITION_DOWN;
    case PST__JOB_REASON__REASON_PARTITION_CONFIG:
    case PST__JOB_REASON__REASON_PARTITION_NODE_LIMIT:
    case PST__JOB_REASON__REASON_PARTITION_TIME_LIMIT:
        return ESLURM_REQUESTED_PART_CONFIG_UNAVAILABLE;
    case PST__JOB_REASON__REASON_REQ_NODE_NOT_AVAIL:
        return ESLURM_NODE_NOT_AVAIL;
    case PST__JOB_REASON__REASON_DEPENDENCY:
    case PST__JOB_REASON__REASON_BEGIN_TIME:
        return ESLURM_DEPENDENCY; /* it is not its turn, whatever is free */
    default:
        return ESLURM_IMMEDIATE;
    }
}

/* --immediate: what has not started by now is given up. */
void wait_tick(struct ctld *ctld, int64_t now_us)
{
    struct waiter *w;
    size_t pos = 0;

    while ((w = idmap_next(&ctld->waiters, &pos))) {
        struct job *j;
        bool at_once;

        if (!w->give_up_us || w->told || now_us < w->give_up_us)
            continue;
        j = cluster_job(ctld->cluster, w->job_id);
        at_once = w->at_once;
        core_error(ctld, &w->reply, immediate_code(w, j), NULL);
        wait_remove(ctld, w);
        if (j && job_is_pending(j->rec))
            services_job_given_up(ctld, j, at_once);
    }
}

void wait_clear(struct ctld *ctld)
{
    struct waiter *w;
    size_t pos = 0;

    while ((w = idmap_next(&ctld->waiters, &pos)))
        waiter_free(w);
    idmap_done(&ctld->waiters);
    idmap_done(&ctld->job_waiters);
}

/* ---- the service ----------------------------------------------------------------------------- */

static void forget_conn(struct ctld *ctld, struct conn *conn)
{
    wait_conn_closed(ctld, conn_id(conn));
}

const struct ctld_service wait_service = {
    .name = "wait",
    .stop = wait_clear,
    .tick = wait_tick,
    .on_conn_closed = forget_conn,
    .job_started = wait_notify,
    .job_ready = wait_notify,
    .site_prolog_over = tell_of_prolog,
    .job_progress = wait_notify,
    .job_ended = wait_notify,
};
