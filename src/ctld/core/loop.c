/* loop.c - the core thread: the one writer
 *
 * A loop over commands.  What was posted while it worked is taken as one batch; the journal is
 * told once a batch, so that one sync serves them all.  The controller's own commands, root's
 * and the nodes' come first, in order of arrival, for OWN_US of a batch. Every other user has a
 * lane of the queue: the lanes take turns, one command each, and a batch gives them TURN_US, so
 * that a flood of commands of one user, or of nodes that dial in all at once, does not keep others
 * waiting for longer.  Design: docs/architecture.md, "one
 * writer".
 *
 * Some records nobody waits for: that a job runs, that a node is done with it (sync.may_wait).
 * A batch of these alone is kept from the disk for LATER_US, or until the next batch that is not,
 * with which it is written and synced.  Whoever reported it is told later that it is durable. */
#include "ctld/core/loop.h"

#include "base/cleanup.h"
#include "base/process/failpoint.h"
#include "base/timefmt.h"
#include "ctld/core/corequeue.h"
#include "ctld/core/reconfig.h"
#include "ctld/core/service.h"

#define TURN_US 10000 /* what users have of a batch */
#define OWN_US 20000  /* what the own, root's and the nodes' commands have of a batch */
#define STOP_US (5 * USEC_PER_SEC) /* what is asked for before the end is answered */
#define LATER_US 10000             /* a record that nobody waits for waits so long for company */

/* A test moves control away just before a request of srun's. */
static bool is_moved(const struct cmd *cmd)
{
    return (cmd->op == OP_JOB_SUBMIT || cmd->op == OP_STEP_CREATE) &&
           failpoint("ctld.request.moved");
}

static void run_request(struct ctld *ctld, struct cmd *cmd)
{
    const struct ctld_op *row = service_op(ctld, cmd->op);
    struct err err = { .text = "" };
    int64_t t0;

    if (cmd->deadline_mono_us && now_mono_us() > cmd->deadline_mono_us) {
        core_error(ctld, cmd, EPST_DEADLINE, NULL); /* the client has given up */
        return;
    }
    if (!row || !row->fn) {
        core_error(ctld, cmd, EPST_BAD_REQUEST, "this operation is not the controller's");
        return;
    }
    if (access_role(ACCESS_CTLD, cmd->op) == ACCESS_ADMIN && !cmd_is_admin(ctld, cmd)) {
        core_error(ctld, cmd, ESLURM_USER_ID_MISSING, NULL);
        return;
    }
    if (cmd->packed.body && (frame_unpack_request(&cmd->packed, &cmd->msg, &err) < 0 ||
                             cmd_check_words(cmd->op, cmd->msg, &err) < 0)) {
        core_error(ctld, cmd, EPST_BAD_REQUEST, err.text);
        return;
    }
    if (!(row->flags & OPF_SHOWS) && (atomic_load(&ctld->standby) || is_moved(cmd))) {
        core_error(ctld, cmd, ESLURM_IN_STANDBY_MODE, NULL); /* it came before control went */
        return;
    }
    if ((row->flags & OPF_WRITES) && atomic_load(&ctld->disk_full)) {
        core_disk_full(ctld, cmd);
        return;
    }
    t0 = now_mono_us();
    row->fn(ctld, cmd);
    services_answered(ctld, cmd->op, cmd->uid, now_mono_us() - t0);
}

/* Gives false when the loop should end. */
static bool run_kind(struct ctld *ctld, struct cmd *cmd)
{
    switch (cmd->kind) {
    case CMD_REQUEST:
        run_request(ctld, cmd);
        return true;
    case CMD_CLOSED:
        services_on_conn_closed(ctld, cmd->conn);
        return true;
    case CMD_CALL:
        cmd->drop = NULL; /* fn has arg now */
        cmd->fn(cmd->arg);
        return true;
    case CMD_RECONFIGURE:
        reconfig_run(ctld, NULL);
        return true;
    case CMD_STOP:
        return false;
    }
    return true;
}

/* A connection is held meanwhile: a request may be kept, and its parts moved out of cmd. */
static bool run_cmd(struct ctld *ctld, struct cmd *cmd)
{
    struct conn *conn = cmd->conn ? conn_ref(cmd->conn) : NULL;
    bool go;

    if (conn && access_role(ACCESS_CTLD, cmd->op) != ACCESS_NODE)
        ctld->origin = (struct origin){ .peer = conn_peer(conn), .op = cmd->op };
    ctld->sync.may_wait = false;
    go = run_kind(ctld, cmd);
    if (!ctld->sync.may_wait)
        ctld->sync.now = true;
    ctld->origin = (struct origin){ .peer = NULL };
    if (conn)
        (void)conn_unref(conn); /* always NULL */
    return go;
}

/* Handled and freed.  False when the loop should end. */
static bool run_and_free(struct ctld *ctld, struct cmd *cmd)
{
    bool go = run_cmd(ctld, cmd);

    cmd_free(cmd);
    return go;
}

/* Commands of users in turns, until `until_mono_us` or the last. */
static void run_users(struct ctld *ctld, int64_t until_mono_us)
{
    struct cmd *cmd;

    while (now_mono_us() < until_mono_us && (cmd = core_queue_next(ctld->queue)))
        (void)run_and_free(ctld, cmd); /* to stop is the controller's own command */
}

/* Tell the writer of the journal, now or when it is due. */
static void tell_writer(struct ctld *ctld)
{
    uint64_t last = journal_last(ctld->journal);
    int64_t now = now_mono_us();

    if (!ctld->sync.now && last > ctld->sync.told_lsn && !ctld->sync.due_mono_us)
        ctld->sync.due_mono_us = now + LATER_US;
    if (!ctld->sync.now && ctld->sync.due_mono_us > now)
        return;
    journal_commit(ctld->journal);
    ctld->sync.told_lsn = last;
    ctld->sync.due_mono_us = 0;
    ctld->sync.now = false;
}

static void end_batch(struct ctld *ctld, int64_t began_mono_us)
{
    uint64_t took_us;

    tell_writer(ctld);
    services_batch_end(ctld);
    took_us = (uint64_t)(now_mono_us() - began_mono_us);
    ctld->stats.worst_stall_us = MAX(ctld->stats.worst_stall_us, took_us);
    histogram_add(&ctld->batch_us, took_us);
}

bool core_run_reading(struct ctld *ctld, int64_t until_mono_us)
{
    bool go = true;

    do {
        struct cmd *own = core_queue_take(ctld->queue, until_mono_us);

        while (own) {
            struct cmd *cmd = own;

            own = cmd->next;
            if (cmd->kind == CMD_REQUEST || cmd->kind == CMD_CALL)
                (void)run_and_free(ctld, cmd);
            else if (cmd->kind == CMD_STOP)
                go = run_and_free(ctld, cmd);
            else
                cmd_free(cmd); /* nothing is configured, and nobody waits for anything */
        }
        run_users(ctld, now_mono_us() + TURN_US);
    } while (go && now_mono_us() < until_mono_us);
    return go;
}

/* Nothing more is carried out: who waits is told, and may ask the controller that goes on. */
static void refuse_left(struct ctld *ctld, struct cmd *own)
{
    struct cmd *cmd;

    for (cmd = own; cmd; cmd = cmd->next)
        if (cmd->kind == CMD_REQUEST)
            core_error(ctld, cmd, ctld->ha ? ESLURM_IN_STANDBY_MODE : EPST_SHUTTING_DOWN, NULL);
    cmd_free_list(own);
    while ((cmd = core_queue_next(ctld->queue))) {
        if (cmd->kind == CMD_REQUEST)
            core_error(ctld, cmd, ctld->ha ? ESLURM_IN_STANDBY_MODE : EPST_SHUTTING_DOWN, NULL);
        cmd_free(cmd);
    }
}

void core_run(struct ctld *ctld)
{
    int64_t next_tick = now_mono_us();
    struct cmd *own = NULL;
    bool go = true;

    while (go) {
        int64_t t0;

        if (!own)
            own = core_queue_take(ctld->queue, ctld->sync.due_mono_us
                                                   ? MIN(next_tick, ctld->sync.due_mono_us)
                                                   : next_tick);
        t0 = now_mono_us();
        while (own && go && now_mono_us() - t0 < OWN_US) { /* users wait while all nodes dial in */
            struct cmd *cmd = own;

            own = cmd->next;
            go = run_and_free(ctld, cmd);
        }
        run_users(ctld, now_mono_us() + (go ? TURN_US : STOP_US));
        if (!go) {
            refuse_left(ctld, own);
            ctld->sync.now = true;
        }
        if (t0 >= next_tick) {
            ctld->sync.now = true;
            services_tick(ctld);
            next_tick = t0 + SERVICE_TICK_US;
        }
        end_batch(ctld, t0);
    }
}
