/* core.c - the core thread: the one writer
 *
 * A loop over commands.  What was posted while it worked is taken as one batch; the journal is
 * told once a batch, so that one sync serves them all.  The controller's own commands, root's
 * and the nodes' come first, in order of arrival. Every other user has a lane of the queue: the
 * lanes take turns, one command each, and a batch gives them TURN_US, so that a flood of one
 * user's keeps nobody waiting for longer. Design: docs/architecture.md, "one writer". */
#include "ctld/ctld.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "ctld/job/contents.h"
#include "ctld/core/corequeue.h"
#include "ctld/core/effects.h"
#include "ctld/front/front.h"
#include "ctld/core/reconfig.h"
#include "ctld/core/service.h"

#define TURN_US 10000              /* what users have of a batch */
#define STOP_US (5 * USEC_PER_SEC) /* what is asked for before the end is answered */

void cmd_free(struct cmd *cmd)
{
    if (!cmd)
        return;
    if (cmd->msg)
        protobuf_c_message_free_unpacked(cmd->msg, NULL);
    free((uint8_t *)cmd->packed.body); /* const for readers */
    if (cmd->conn)
        conn_unref(cmd->conn);
    if (cmd->drop)
        cmd->drop(cmd->arg); /* left over at the end */
    contents_free(cmd->contents, cmd->n_contents);
    free(cmd->caller);
    free(cmd->user_name);
    free(cmd->group_name);
    free(cmd);
}

uid_t core_lane(const struct ctld *ctld, uid_t uid)
{
    return uid == atomic_load_explicit(&ctld->slurm_uid, memory_order_relaxed) ? 0 : uid;
}

bool core_post(struct ctld *ctld, struct cmd *cmd)
{
    return core_queue_put(ctld->queue, cmd);
}

void core_post_kind(struct ctld *ctld, enum cmd_kind kind)
{
    struct cmd *cmd = calloc(1, sizeof(*cmd));

    if (!cmd)
        abort();
    cmd->kind = kind;
    (void)core_post(ctld, cmd); /* never refused: it is no request */
}

void ctld_stop(struct ctld *ctld)
{
    if (!atomic_exchange(&ctld->stopping, true))
        core_post_kind(ctld, CMD_STOP);
}

bool core_again(struct ctld *ctld, const struct cmd *of, void (*fn)(void *arg), void *arg)
{
    struct cmd *cmd = calloc(1, sizeof(*cmd));

    if (!cmd)
        return false;
    cmd->kind = CMD_CALL;
    cmd->fn = fn;
    cmd->arg = arg;
    cmd->lane = of->lane;
    (void)core_post(ctld, cmd); /* never refused: it is no request */
    return true;
}

int64_t core_now(void)
{
    return now_us();
}

uint64_t core_commit(struct ctld *ctld, Pst__Transaction *tx)
{
    size_t len = pst__transaction__get_packed_size(tx);
    _cleanup_val_(strbuf_done) struct strbuf notes = STRBUF_INIT;
    _cleanup_free_ uint8_t *buf = NULL;
    struct err err = { .text = "" };
    uint64_t lsn = 0;
    int r;

    services_note(ctld, tx, &notes);
    buf = malloc(len + notes.len + 1);
    if (!buf || notes.failed) {
        log_fatal("out of memory while committing");
        abort();
    }
    pst__transaction__pack(tx, buf);
    memcpy(buf + len, strbuf_str(&notes), notes.len);
    len += notes.len;
    r = journal_append(ctld->journal, buf, len, &lsn);
    if (r < 0) {
        log_error("an event could not be journaled: %s", strerror(-r));
        tx_free(tx);
        return 0;
    }
    ctld->applied_lsn = lsn;
    r = cluster_apply(ctld->cluster, tx, &err);
    tx_free(tx);
    if (r < 0) { /* what is journaled must apply, or no restart would work */
        log_fatal("the event just journaled does not apply: %s", err.text);
        abort();
    }
    return lsn;
}

void core_reply(struct ctld *ctld, const struct cmd *cmd, uint64_t lsn, uint32_t flags,
                const ProtobufCMessage *msg)
{
    uint8_t *buf;
    size_t len;

    if (!cmd->conn || cmd->oneway)
        return;
    if (frame_pack(cmd->op, FRAME_REPLY | flags, cmd->id, 0, msg, &buf, &len) < 0) {
        log_error("an answer to %s could not be encoded", wire_op_info(cmd->op)->name);
        return;
    }
    effects_add(ctld->effects, lsn, cmd->conn, buf, len);
}

void core_ok(struct ctld *ctld, const struct cmd *cmd, uint64_t lsn)
{
    core_reply(ctld, cmd, lsn, 0, NULL);
}

void core_error(struct ctld *ctld, const struct cmd *cmd, int code, const char *text)
{
    Pst__Error e = PST__ERROR__INIT;

    e.has_code = 1;
    e.code = code;
    e.text = (char *)text; /* not changed by packing */
    core_reply(ctld, cmd, 0, FRAME_ERROR, &e.base);
}

void core_disk_full(struct ctld *ctld, const struct cmd *cmd)
{
    core_error(ctld, cmd, EPST_DISK_FULL,
               "the controller's disk is full: new work is refused until there is room, "
               "nothing accepted is lost");
}

bool core_is_admin(const struct ctld *ctld, uid_t uid)
{
    return uid == 0 || uid == conf_slurm_uid(ctld->conf);
}

bool cmd_is_admin(const struct ctld *ctld, const struct cmd *cmd)
{
    return !cmd->conn || core_is_admin(ctld, conn_peer(cmd->conn)->uid) ||
           (cmd->caller && am_admin_level(ctld->cluster->am, cmd->caller) >=
                               PST__ADMIN_LEVEL__ADMIN_ADMINISTRATOR);
}

bool cmd_may_act_as(const struct ctld *ctld, const struct cmd *cmd, uid_t uid)
{
    return !cmd->conn || conn_peer(cmd->conn)->uid == uid ||
           core_is_admin(ctld, conn_peer(cmd->conn)->uid);
}

static void handle_request(struct ctld *ctld, struct cmd *cmd)
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
                             front_check_words(cmd->op, cmd->msg, &err) < 0)) {
        core_error(ctld, cmd, EPST_BAD_REQUEST, err.text);
        return;
    }
    if ((row->flags & OPF_WRITES) && atomic_load(&ctld->disk_full)) {
        core_disk_full(ctld, cmd);
        return;
    }
    t0 = now_mono_us();
    row->fn(ctld, cmd);
    services_answered(ctld, cmd->op, now_mono_us() - t0);
}

/* Gives false when the loop should end. */
static bool handle(struct ctld *ctld, struct cmd *cmd)
{
    switch (cmd->kind) {
    case CMD_REQUEST:
        handle_request(ctld, cmd);
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

/* Handled and freed.  False when the loop should end. */
static bool handle_take(struct ctld *ctld, struct cmd *cmd)
{
    bool go = handle(ctld, cmd);

    cmd_free(cmd);
    return go;
}

/* Commands of users in turns, until `until_mono_us` or the last. */
static void handle_users(struct ctld *ctld, int64_t until_mono_us)
{
    struct cmd *cmd;

    while (now_mono_us() < until_mono_us && (cmd = core_queue_next(ctld->queue)))
        (void)handle_take(ctld, cmd); /* to stop is the controller's own command */
}

static void end_batch(struct ctld *ctld, int64_t began_mono_us)
{
    journal_commit(ctld->journal);
    services_batch_end(ctld);
    ctld->stats.worst_stall_us =
        MAX(ctld->stats.worst_stall_us, (uint64_t)(now_mono_us() - began_mono_us));
}

void core_run(struct ctld *ctld)
{
    int64_t next_tick = now_mono_us();
    bool go = true;

    while (go) {
        struct cmd *own = core_queue_take(ctld->queue, next_tick);
        int64_t t0 = now_mono_us();

        while (own && go) {
            struct cmd *cmd = own;

            own = cmd->next;
            go = handle_take(ctld, cmd);
        }
        cmd_free_list(own);
        handle_users(ctld, now_mono_us() + (go ? TURN_US : STOP_US));
        if (t0 >= next_tick) {
            services_tick(ctld);
            next_tick = t0 + SERVICE_TICK_US;
        }
        end_batch(ctld, t0);
    }
}
