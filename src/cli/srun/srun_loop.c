/* srun_loop.c - the poll loop over controller, nodes, streams and signals; see srun.h
 *
 * Reading from nodes stops while an output is behind (srun_io_full), so memory stays bounded and
 * the tasks feel the slow reader. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/process/oomstatus.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "cli/srun/srun.h"
#include "cli/job/tasks.h"
#include "wire/errors.h"

#define FIXED_FDS 5 /* signals, controller, input, two outputs */
#define FRAMES_PER_TURN 64

/* ---- frames ---------------------------------------------------------------------------------- */

/* --debugger-test: where a debugger would find the tasks. */
static void tell_tasks(const struct srun_node *n, const Pst__StepStarted *msg)
{
    for (size_t i = 0; i < msg->n_task_ids && i < msg->n_pids; i++)
        cli_info("task:%u, host:%s, pid:%u, executable:%s", msg->task_ids[i], n->name, msg->pids[i],
                 n->part->multi_prog ? "(multi-prog)" : n->part->argv[n->part->first]);
}

/* The step's end was decided when n could not be told of it yet: tell it now. */
static void tell_end(struct srun *s, const struct srun_node *n)
{
    if (s->terminating || n->part->aborting)
        srun_send_signal(s, n->part, n->part->aborting ? SIGKILL : 0, !n->part->aborting);
}

/* The step daemon speaks for itself from now on.  Tasks may wait in their prologs for as long as
 * they like, before which none of them has started. */
static void on_listens(struct srun *s, struct srun_node *n)
{
    n->listens = true;
    tell_end(s, n);
}

static void on_started(struct srun *s, struct srun_node *n, const Pst__StepStarted *msg)
{
    n->started = true;
    if (msg->error) {
        _cleanup_free_ char *list = tasks_list(s->ranks + n->first, n->n_tasks);
        int code = msg->error_exit ? (int)msg->error_exit : CLI_EXIT_FAILED;

        bool no_io = strncmp(msg->error, "Could not open std", 18) == 0;

        for (uint32_t i = 0; no_io && i < n->n_tasks; i++)
            cli_error("task %u launch failed: Slurmd could not connect IO", s->ranks[n->first + i]);
        if (no_io)
            cli_verbose(1, "%s: %s", n->name, msg->error);
        else
            cli_error("%s %s launch failed: %s", n->n_tasks > 1 ? "tasks" : "task", list,
                      msg->error);
        srun_note_exit(s, code, (uint32_t)code << 8);
        s->launch_failed = true;
        return;
    }
    cli_verbose(1, "Node %s, %u tasks started", n->name, n->n_tasks);
    if (jobopts_has(&s->opts, JO_DEBUGGER_TEST))
        tell_tasks(n, msg);
    for (uint32_t i = 0; i < n->n_tasks; i++) {
        if (s->task_state[s->ranks[n->first + i]] == TASK_STARTING)
            s->task_state[s->ranks[n->first + i]] = TASK_RUNNING;
    }
    if (s->in_eof)
        srun_io_send_eof(s, n);
    tell_end(s, n);
}

/* Does this end of a task end the others? */
static bool first_bad_exit(const struct srun *s, const struct srun_node *n,
                           const Pst__StepTaskExit *msg)
{
    bool ends = msg->status != 0 && s->kill_on_bad_exit;

    ends = ends || (msg->has_end_step && msg->end_step);
    return ends && !s->terminating && !n->part->aborting;
}

static void on_task_exit(struct srun *s, struct srun_node *n, const Pst__StepTaskExit *msg)
{
    for (size_t i = 0; i < msg->n_task_ids; i++) {
        if (msg->task_ids[i] >= s->n_tasks)
            continue;
        s->n_exited += s->task_state[msg->task_ids[i]] < TASK_EXITED;
        s->task_state[msg->task_ids[i]] = msg->status ? TASK_FAILED : TASK_EXITED;
    }
    if (s->n_exited == s->n_tasks && !s->last_exit_mono_us)
        s->last_exit_mono_us = now_mono_us();
    if (!s->first_exit_mono_us)
        s->first_exit_mono_us = now_mono_us();
    cli_verbose(1, "Received task exit notification for %zu %s of StepId=%u.%u (status=0x%04x).",
                msg->n_task_ids, msg->n_task_ids > 1 ? "tasks" : "task", s->job_id, s->step_id,
                msg->status);
    srun_note_exit(s, tasks_exit_code(msg->status, msg->oom), msg->oom ? STATUS_OOM : msg->status);
    srun_exit_hold(s, n, msg);
    if (WIFSIGNALED((int)msg->status) &&
        (WTERMSIG((int)msg->status) == SIGKILL || WTERMSIG((int)msg->status) == SIGTERM))
        s->killed = true;
    if (first_bad_exit(s, n, msg)) {
        srun_exit_tell(s);
        s->task_failed = !msg->end_step;
        srun_terminate(s);
    }
}

/* Is this the node's line about a kill that srun did not ask for?  srun's own line comes first.  A
 * step that somebody sent SIGTERM is not aborted: its tasks end as they like. */
static bool tells_of_a_kill(const char *text)
{
    return strstr(text, "*** STEP ") && strstr(text, " CANCELLED AT ") &&
           strstr(text, " DUE to SIGNAL Killed");
}

static void on_text(struct srun *s, struct srun_node *node, const Pst__StepMessage *msg)
{
    const char *text = msg->text;
    size_t n = text ? strlen(text) : 0;

    if (msg->cancelled)
        srun_abort(s, node->part);

    if (n > 0) {
        if (!s->terminating && tells_of_a_kill(text))
            srun_abort(s, node->part);
        srun_io_notice(s, text);
    }
}

static void on_io(struct srun *s, struct srun_node *n, const Pst__StepIo *io)
{
    if (io->has_credit)
        n->in_taken += io->credit;
    else
        srun_io_data(s, io);
}

static void dispatch_frame(struct srun *s, struct srun_node *n, unsigned op, ProtobufCMessage *msg)
{
    switch (op) {
    case OP_STEP_STARTED:
        on_started(s, n, PB_AS(step_started, msg));
        break;
    case OP_STEP_IO:
        on_io(s, n, PB_AS(step_io, msg));
        break;
    case OP_STEP_TASK_EXIT:
        on_task_exit(s, n, PB_AS(step_task_exit, msg));
        break;
    case OP_STEP_MESSAGE:
        on_text(s, n, PB_AS(step_message, msg));
        break;
    case OP_STEP_MPI:
        srun_mpi_message(s, n, PB_AS(step_mpi, msg));
        break;
    case OP_STEP_DONE:
        srun_node_done(s, n);
        break;
    default:
        break; /* of a newer release */
    }
}

static void on_frame(struct srun *s, struct srun_node *n, const struct frame *frame)
{
    struct err err = { .text = "" };
    ProtobufCMessage *msg = NULL;
    Pst__Error *e;

    if (frame->flags & FRAME_ERROR && FRAME_UNPACK(error, frame, &e, &err) == 0) {
        srun_node_failed(s, n, e->text ? e->text : "the request was refused");
        pst__error__free_unpacked(e, NULL);
    } else if (frame->flags & FRAME_REPLY && !(frame->flags & FRAME_ERROR)) {
        on_listens(s, n);
    } else if (frame_unpack_request(frame, &msg, &err) < 0) {
        srun_node_failed(s, n, err.text);
    } else {
        dispatch_frame(s, n, frame->op, msg);
        protobuf_c_message_free_unpacked(msg, NULL);
    }
}

/* What a relay passes on: a frame of one of its nodes, or the loss of some. */
static void on_relayed(struct srun *s, const struct fan_link *l, const struct frame *frame)
{
    Pst__RelayFrame *up = NULL;
    Pst__Error *e;

    if (frame->flags & FRAME_REPLY) {
        if (frame->flags & FRAME_ERROR && FRAME_UNPACK(error, frame, &e, NULL) == 0) {
            srun_lost(s, l->lo, l->hi, e->text);
            pst__error__free_unpacked(e, NULL);
        }
    } else if (frame->op == OP_RELAY_FRAME && FRAME_UNPACK(relay_frame, frame, &up, NULL) < 0) {
        srun_lost(s, l->lo, l->hi, slurm_err_text(EPST_PROTOCOL));
    } else if (frame->op == OP_RELAY_FRAME) {
        if (up->lost && up->lo >= l->lo && up->hi <= l->hi)
            srun_lost(s, up->lo, up->hi, up->lost);
        else if (!up->lost && up->lo >= l->lo && up->lo <= l->hi && !s->nodes[up->lo].done)
            on_frame(s, &s->nodes[up->lo],
                     &(struct frame){ .op = (uint16_t)up->op,
                                      .flags = FRAME_ONEWAY,
                                      .len = (uint32_t)up->body.len,
                                      .body = up->body.data });
    }
    if (up)
        pst__relay_frame__free_unpacked(up, NULL);
}

static void read_link(struct srun *s, struct fan_link *l)
{
    for (unsigned i = 0; i < FRAMES_PER_TURN && l->client && !srun_io_full(s); i++) {
        struct frame frame;
        int r = client_recv(l->client, 0, &frame);

        if (r == 0)
            return;
        if (r < 0)
            srun_lost(s, l->lo, l->hi, strerror(-r));
        else if (l->relay)
            on_relayed(s, l, &frame);
        else
            on_frame(s, &s->nodes[l->lo], &frame);
    }
    /* what is left may be in the client's buffer, unseen by poll(2) */
    s->more_frames |= l->client != NULL;
}

/* ---- the loop -------------------------------------------------------------------------------- */

static size_t fill_fds(struct srun *s, struct pollfd *fds)
{
    bool full = srun_io_full(s);
    size_t n = FIXED_FDS;

    fds[0] = (struct pollfd){ .fd = s->sig_fd, .events = POLLIN };
    fds[1] = (struct pollfd){ .fd = s->link.ended ? -1 : joblink_fd(&s->link), .events = POLLIN };
    fds[2] = (struct pollfd){ .fd = srun_io_wants_input(s) ? s->in_fd : -1, .events = POLLIN };
    fds[3] = (struct pollfd){ .fd = sink_pending(&s->sink_out) ? s->sink_out.fd : -1,
                              .events = POLLOUT };
    fds[4] = (struct pollfd){ .fd = sink_pending(&s->sink_err) ? s->sink_err.fd : -1,
                              .events = POLLOUT };
    for (size_t i = 0; i < s->n_parts; i++) {
        for (size_t k = 0; k < s->fans[i].n_links; k++) {
            const struct client *c = s->fans[i].links[k].client;

            fds[n++] = (struct pollfd){
                .fd = c ? client_fd(c) : -1,
                .events = (short)((full ? 0 : POLLIN) | (c ? client_out_events(c) : 0)),
            };
        }
    }
    return n;
}

static void drain_link(struct srun *s, struct fan_link *l)
{
    if (!l->client)
        return;
    if (client_out_pending(l->client) && client_flush(l->client) < 0 && client_fd(l->client) < 0)
        srun_lost(s, l->lo, l->hi, "connection lost");
    else
        read_link(s, l);
}

/* A client may hold whole frames that poll(2) knows nothing of. */
static void drain_links(struct srun *s)
{
    s->more_frames = false;
    for (size_t i = 0; i < s->n_parts; i++)
        for (size_t k = 0; k < s->fans[i].n_links; k++)
            drain_link(s, &s->fans[i].links[k]);
}

static int loop_timeout(struct srun *s)
{
    int timer_ms, link_ms = joblink_timeout_ms(&s->link);

    srun_timers(s, &timer_ms);
    srun_exit_timer(s, &timer_ms);
    if (s->more_frames && !srun_io_full(s))
        return 0;
    if (timer_ms < 0)
        return link_ms;
    return link_ms < 0 ? timer_ms : MIN(timer_ms, link_ms);
}

/* The reader of our output has gone: end the step, as a program in a pipe would end. */
static void check_readers(struct srun *s)
{
    if (!s->sink_out.unread && !s->sink_err.unread)
        return;
    for (size_t i = 0; i < s->n_nodes; i++) {
        if (!s->nodes[i].started && !s->nodes[i].done)
            return; /* it would miss the signal */
    }
    s->sink_out.unread = s->sink_err.unread = false;
    srun_send_signal(s, NULL, SIGKILL, false);
}

static void one_turn(struct srun *s, struct pollfd *fds)
{
    size_t n = fill_fds(s, fds);

    if (poll(fds, n, loop_timeout(s)) < 0 && errno != EINTR)
        cli_fatal("poll: %s", strerror(errno));
    if (fds[0].revents)
        srun_sig_read(s);
    if (fds[2].revents)
        srun_io_read_input(s);
    sink_write(&s->sink_out);
    sink_write(&s->sink_err);
    drain_links(s);
    /* After the nodes: one that refuses the step tells us before the job that it ends by that.  The
     * controller has the nodes end the step, and tells them why. */
    if (joblink_process(&s->link) && s->n_done < s->n_nodes)
        srun_abort(s, NULL);
    check_readers(s);
}

void srun_loop(struct srun *s)
{
    struct pollfd *fds = xmalloc_or_die((FIXED_FDS + s->n_nodes) * sizeof(*fds));

    while (s->n_done < s->n_nodes)
        one_turn(s, fds);
    srun_exit_tell(s);
    srun_io_flush(s);
    free(fds);
}
