/* attach.c - clients of sattach beside srun: they see the streams, may write to the tasks, and end
 * nothing; see step.h
 *
 * srun's pace rules the tasks.  An attached client that reads too slowly is let go when
 * ATTACH_OUT_MAX waits for it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "stepd/step.h"
#include "wire/client.h"

#define ATTACH_OUT_MAX (8u << 20)

static void drop_client(struct step *s, size_t i)
{
    s->attached[i] = client_free(s->attached[i]);
}

static void send_one(struct step *s, size_t i, unsigned op, const ProtobufCMessage *msg)
{
    struct client *c = s->attached[i];

    if (client_send_nonblock(c, op, FRAME_ONEWAY, client_next_id(c), msg) < 0 ||
        client_out_pending(c) > ATTACH_OUT_MAX)
        drop_client(s, i);
}

bool attach_any(const struct step *s)
{
    for (size_t i = 0; i < STEP_ATTACHED; i++)
        if (s->attached[i] && !s->attached_parting[i])
            return true;
    return false;
}

bool attach_room(const struct step *s)
{
    for (size_t i = 0; i < STEP_ATTACHED; i++)
        if (s->attached[i] && client_out_pending(s->attached[i]) < STEP_OUT_MAX)
            return true;
    return false;
}

void attach_send(struct step *s, unsigned op, const ProtobufCMessage *msg)
{
    for (size_t i = 0; i < STEP_ATTACHED; i++)
        if (s->attached[i] && !s->attached_parting[i])
            send_one(s, i, op, msg);
}

/* What a newcomer missed: which tasks there are, and how those that are over ended. */
static void catch_up(struct step *s, size_t i)
{
    Pst__StepStarted started = PST__STEP_STARTED__INIT;

    started.has_node_index = true;
    started.node_index = s->launch ? s->launch->node_index : 0;
    started.node_name = s->sf->job->node_name;
    started.n_task_ids = s->n_tasks;
    started.task_ids = s->launch ? s->launch->task_ids : &s->tasks[0].rank;
    send_one(s, i, OP_STEP_STARTED, &started.base);
    for (size_t k = 0; k < s->n_tasks && s->attached[i]; k++) {
        Pst__StepTaskExit over = PST__STEP_TASK_EXIT__INIT;

        if (!s->tasks[k].exited || !s->tasks[k].reported)
            continue;
        over.n_task_ids = 1;
        over.task_ids = &s->tasks[k].rank;
        over.has_status = true;
        over.status = (uint32_t)s->tasks[k].status;
        over.has_oom = over.oom = s->tasks[k].oom;
        over.node_name = s->sf->job->node_name;
        send_one(s, i, OP_STEP_TASK_EXIT, &over.base);
    }
}

void attach_answer(struct step *s, struct client *c)
{
    size_t i = 0;

    while (i < STEP_ATTACHED && s->attached[i])
        i++;
    if (client_out_pending(c) == 0 || i == STEP_ATTACHED) {
        (void)client_free(c); /* always NULL */
        return;
    }
    s->attached[i] = c;
    s->attached_parting[i] = true;
}

bool attach_new(struct step *s, int fd, const Pst__StepOrder *order)
{
    size_t i = 0;
    struct client *c;

    while (i < STEP_ATTACHED && s->attached[i])
        i++;
    if (s->ext || s->ended || i == STEP_ATTACHED ||
        client_from_stream(fd, order->stream_key, &c) < 0) {
        (void)close(fd); /* it sees the end of the connection */
        return false;
    }
    s->attached[i] = c;
    s->attached_parting[i] = false;
    if (client_send_nonblock(c, OP_ATTACH_STEP, FRAME_REPLY, order->attach_id, NULL) < 0)
        drop_client(s, i);
    else
        catch_up(s, i);
    return s->attached[i] != NULL;
}

/* Input and signals of a terminal; the end of its input is not the end of the tasks'. */
static void on_frame(struct step *s, const struct frame *f)
{
    ProtobufCMessage *msg = NULL;

    if ((f->op != OP_STEP_IO && f->op != OP_STEP_SIGNAL) || frame_unpack_request(f, &msg, NULL) < 0)
        return;
    if (f->op == OP_STEP_IO) {
        Pst__StepIo *io = PB_AS(step_io, msg);

        io->eof = false;
        input_give(s, io);
    } else {
        input_signal(s, PB_AS(step_signal, msg));
    }
    protobuf_c_message_free_unpacked(msg, NULL);
}

static void read_one(struct step *s, size_t i)
{
    struct frame f;
    int r = 0;

    while (s->attached[i] && !input_full(s)) {
        r = client_recv(s->attached[i], 0, &f);
        if (r <= 0)
            break;
        on_frame(s, &f);
    }
    if (s->attached[i] &&
        (r < 0 || (s->attached_parting[i] && client_out_pending(s->attached[i]) == 0)))
        drop_client(s, i);
}

size_t attach_poll_fill(const struct step *s, struct pollfd *fds)
{
    bool full = input_full(s);

    for (size_t i = 0; i < STEP_ATTACHED; i++) {
        const struct client *c = s->attached[i];

        fds[i] = (struct pollfd){
            .fd = c ? client_fd(c) : -1,
            .events = (short)((full ? 0 : POLLIN) | (c ? client_out_events(c) : 0)),
        };
    }
    return STEP_ATTACHED;
}

void attach_poll_done(struct step *s, const struct pollfd *fds)
{
    for (size_t i = 0; i < STEP_ATTACHED; i++) {
        if (!s->attached[i] || fds[i].fd < 0 || !fds[i].revents ||
            fds[i].fd != client_fd(s->attached[i]))
            continue;
        if (fds[i].revents & POLLOUT && client_flush(s->attached[i]) < 0 &&
            client_fd(s->attached[i]) < 0)
            drop_client(s, i);
        else if (s->attached_parting[i] && client_out_pending(s->attached[i]) == 0)
            drop_client(s, i);
        else if (fds[i].revents & (POLLIN | POLLHUP | POLLERR))
            read_one(s, i);
    }
}

bool attach_flushed(const struct step *s)
{
    for (size_t i = 0; i < STEP_ATTACHED; i++)
        if (s->attached[i] && client_out_pending(s->attached[i]) > 0)
            return false;
    return true;
}

void attach_done(struct step *s)
{
    for (size_t i = 0; i < STEP_ATTACHED; i++)
        drop_client(s, i);
}
