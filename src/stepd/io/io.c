/* io.c - between srun's connection and the tasks' streams; see step.h
 *
 * Output: what a task writes is sent as it comes, in order per stream; while more than
 * STEP_OUT_MAX waits for srun the pipes are left alone, so a slow srun slows the tasks and costs
 * no memory. Input goes to taskinput.c; srun keeps within the credit it is told.  When srun is lost
 * the step ends. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "stepd/io/labelfile.h"
#include "stepd/step.h"
#include "wire/client.h"

/* bytes for srun: its signals come through while its output waits, but not for ever */
#define ANSWERS_MAX (16u << 20)
#define CREDIT_STEP 32768u /* told in pieces no smaller, while more waits */

static void send_msg(struct step *s, unsigned op, const ProtobufCMessage *msg)
{
    if (s->srun &&
        client_send_nonblock(s->srun, op, FRAME_ONEWAY, client_next_id(s->srun), msg) < 0)
        io_lost(s);
    attach_send(s, op, msg);
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd); /* a pipe: nothing to lose */
    *fd = -1;
}

/* A task writes its lines to a file through us, with the user's rights: quotas hold, and the kernel
 * takes set-user-ID bits from the file.  0 or -errno. */
static int file_output(const struct step *s, struct labelfile *f, const uint8_t *data, size_t n)
{
    int r = output_as_user(s);

    if (r < 0)
        return r;
    r = data ? labelfile_put(f, (const char *)data, n) : labelfile_end(f);
    output_as_self(s);
    return r;
}

/* No more output comes: the last line may have no end. */
static int end_file(const struct step *s, struct task *t, int i)
{
    int r = t->file[i] ? file_output(s, t->file[i], NULL, 0) : 0;

    t->file[i] = labelfile_free(t->file[i]);
    return r;
}

void io_close_task(const struct step *s, struct task *t)
{
    input_done(t);
    close_fd(&t->idle_terminal);
    for (int i = 1; i < 3; i++) {
        close_fd(&t->fd[i]);
        (void)end_file(s, t, i); /* srun is gone, or the step over: there is nobody to tell */
    }
}

void io_lost(struct step *s)
{
    s->srun = client_free(s->srun);
    for (size_t i = 0; i < s->n_tasks; i++)
        io_close_task(s, &s->tasks[i]);
    if (!s->swept && s->n_running > 0)
        s->on->terminate(s, NULL, SIGTERM, false, s->sf->kill_wait_s);
}

void io_started(struct step *s)
{
    Pst__StepStarted msg = PST__STEP_STARTED__INIT;
    _cleanup_free_ uint32_t *pids = calloc(s->n_tasks + 1, sizeof(*pids));

    if (!s->srun || !pids)
        return;
    for (size_t i = 0; i < s->n_tasks; i++)
        pids[i] = (uint32_t)s->tasks[i].pid;
    msg.has_node_index = true;
    msg.node_index = s->launch->node_index;
    msg.node_name = s->sf->job->node_name;
    msg.n_task_ids = s->launch->n_task_ids;
    msg.task_ids = s->launch->task_ids;
    msg.n_pids = s->n_tasks;
    msg.pids = pids;
    if (s->error) {
        msg.error = (char *)s->error;
        msg.has_error_exit = true;
        msg.error_exit = 1;
        msg.n_pids = 0;
    }
    send_msg(s, OP_STEP_STARTED, &msg.base);
}

void io_send(struct step *s, struct task *t, int stream, const uint8_t *data, size_t len, bool eof)
{
    Pst__StepIo msg = PST__STEP_IO__INIT;

    msg.has_task_id = true;
    msg.task_id = t->rank;
    msg.has_stream = true;
    msg.stream = stream == 2 ? PST__STEP_STREAM__STREAM_STDERR : PST__STEP_STREAM__STREAM_STDOUT;
    if (len) {
        msg.has_data = true;
        msg.data.data = (uint8_t *)data;
        msg.data.len = len;
    }
    if (eof)
        msg.has_eof = msg.eof = true;
    send_msg(s, OP_STEP_IO, &msg.base);
}

/* A task whose file failed cannot write any more. */
static void put_file(struct step *s, struct task *t, int i, const uint8_t *data, size_t n)
{
    int r = file_output(s, t->file[i], data, n);

    if (r == 0)
        return;
    s->on->file_failed(s, t, r);
    close_fd(&t->fd[i]);
    t->file[i] = labelfile_free(t->file[i]);
}

static void end_output(struct step *s, struct task *t, int i)
{
    int r = end_file(s, t, i);

    if (r < 0)
        s->on->file_failed(s, t, r);
}

/* One read per turn, so that no task starves the others. */
static void read_output(struct step *s, struct task *t, int i)
{
    uint8_t few[256], *buf;
    ssize_t n;

    /* Not on the stack, where each of its pages would be touched even for an end of file. */
    if (!s->chunk)
        s->chunk = malloc(STEP_CHUNK);
    buf = s->chunk ? s->chunk : few;
    n = read(t->fd[i], buf, s->chunk ? STEP_CHUNK : sizeof(few));
    if (n > 0) {
        if (t->file[i])
            put_file(s, t, i, buf, (size_t)n);
        else
            io_send(s, t, i, buf, (size_t)n, false);
        return;
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (t->pty && i == 1) /* EIO: its last user is gone */
        t->idle_terminal = TAKE_FD(t->fd[i]);
    close_fd(&t->fd[i]);
    if (t->pty)
        input_close(t);
    if (t->file[i])
        end_output(s, t, i);
    else
        io_send(s, t, i, NULL, 0, true);
}

/* ---- standard input -------------------------------------------------------------------------- */

/* srun sends no more than a window of input ahead of what tasks took, so that its signals never
 * wait behind it. */
static void tell_credit(struct step *s)
{
    Pst__StepIo msg = PST__STEP_IO__INIT;
    uint64_t waits = input_waits(s), taken;

    taken = s->in_got - MIN(waits, s->in_got);
    if (!s->srun || taken <= s->in_told || (waits && taken - s->in_told < CREDIT_STEP))
        return;
    msg.has_credit = true;
    msg.credit = (uint32_t)(taken - s->in_told);
    s->in_told = taken;
    if (client_send_nonblock(s->srun, OP_STEP_IO, FRAME_ONEWAY, client_next_id(s->srun),
                             &msg.base) < 0)
        io_lost(s);
}

/* ---- frames from srun ------------------------------------------------------------------------ */

static void on_frame(struct step *s, const struct frame *f)
{
    ProtobufCMessage *msg = NULL;

    if (f->op == OP_STEP_DONE) { /* srun has all it wants */
        if (attach_any(s))
            s->srun = client_free(s->srun);
        else
            s->linger_mono_us = 1;
        return;
    }
    if (f->op != OP_STEP_IO && f->op != OP_STEP_SIGNAL && f->op != OP_STEP_MPI)
        return;
    if (frame_unpack_request(f, &msg, NULL) < 0)
        return;
    if (f->op == OP_STEP_IO) {
        s->in_got += PB_AS(step_io, msg)->data.len;
        input_give(s, PB_AS(step_io, msg));
    } else if (f->op == OP_STEP_MPI)
        s->on->mpi_message(s, PB_AS(step_mpi, msg));
    else
        input_signal(s, PB_AS(step_signal, msg));
    protobuf_c_message_free_unpacked(msg, NULL);
}

/* More from srun would only wait here: its tasks, the service of its MPI program or itself do
 * not read. */
static bool must_wait(const struct step *s)
{
    return input_full(s) || s->on->mpi_full(s) || client_out_pending(s->srun) > ANSWERS_MAX;
}

static void read_srun(struct step *s)
{
    struct frame f;
    int r = 0;

    while (s->srun && !must_wait(s)) {
        r = client_recv(s->srun, 0, &f);
        if (r <= 0)
            break;
        on_frame(s, &f);
    }
    if (s->srun && r < 0)
        io_lost(s);
}

/* ---- the loop's side ------------------------------------------------------------------------- */

size_t io_poll_room(const struct step *s)
{
    return 1 + 3 * s->n_tasks;
}

static struct pollfd poll_srun(struct step *s)
{
    if (!s->srun)
        return (struct pollfd){ .fd = -1 };
    s->in_held = s->in_held || must_wait(s);
    return (struct pollfd){
        .fd = client_fd(s->srun),
        .events = (short)((must_wait(s) ? 0 : POLLIN) | POLLRDHUP | client_out_events(s->srun)),
    };
}

/* Without srun only what goes to files through us is read. */
size_t io_poll_fill(struct step *s, struct pollfd *fds, size_t max)
{
    bool hold = s->srun && client_out_pending(s->srun) > STEP_OUT_MAX;
    size_t n = 0;

    fds[n++] = poll_srun(s);
    for (size_t i = 0; i < s->n_tasks && n + 3 <= max; i++) {
        const struct task *t = &s->tasks[i];

        if (t->fd[0] >= 0 && t->in.n)
            fds[n++] = (struct pollfd){ .fd = t->fd[0], .events = POLLOUT };
        for (int k = 1; k < 3 && !hold; k++)
            if (t->fd[k] >= 0 && (s->srun || t->file[k]))
                fds[n++] = (struct pollfd){ .fd = t->fd[k], .events = POLLIN };
    }
    return n;
}

static void task_ready(struct step *s, int fd, short events)
{
    for (size_t i = 0; i < s->n_tasks; i++) {
        struct task *t = &s->tasks[i];

        if (t->fd[0] == fd) {
            input_write(t);
            return;
        }
        for (int k = 1; k < 3; k++) {
            if (t->fd[k] == fd) {
                if (events & (POLLIN | POLLHUP | POLLERR))
                    read_output(s, t, k);
                return;
            }
        }
    }
}

/* With room again there may be whole frames already received, which poll cannot tell of. */
void io_resume(struct step *s)
{
    if (!s->srun || !s->in_held || must_wait(s))
        return;
    s->in_held = false;
    read_srun(s);
}

void io_poll_done(struct step *s, const struct pollfd *fds, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (fds[i].revents) /* of a stream that is open still: closed ones are no task's */
            task_ready(s, fds[i].fd, fds[i].revents);
    if (n == 0 || !s->srun)
        return;
    if (fds[0].revents & POLLOUT && client_flush(s->srun) < 0 && client_fd(s->srun) < 0)
        io_lost(s);
    io_resume(s);
    if (s->srun && fds[0].revents & (POLLIN | POLLHUP | POLLERR | POLLRDHUP))
        read_srun(s);
    tell_credit(s);
    /* Its end arrived, but unread input hides it from read_srun(). */
    if (s->srun && fds[0].revents & (POLLHUP | POLLERR | POLLRDHUP) && must_wait(s))
        io_lost(s);
}

/* What its epilogs said goes before its end. */
static void pass_epilog(struct step *s, struct task *t)
{
    if (t->exited && !t->reported && t->epilog.stage == EPILOG_OVER && t->fd[2] >= 0 &&
        t->epilog.told)
        read_output(s, t, 2);
}

static bool exit_is_due(const struct task *t)
{
    return t->exited && !t->reported && !t->epilog.pid;
}

/* The task that ended first of those whose end can be told, NULL: none. */
static const struct task *first_due(const struct step *s)
{
    const struct task *first = NULL;

    for (size_t i = 0; i < s->n_tasks; i++)
        if (exit_is_due(&s->tasks[i]) && (!first || s->tasks[i].nth_end < first->nth_end))
            first = &s->tasks[i];
    return first;
}

/* Ends are told in the order in which they came: a task whose end made us kill the others is named
 * before them.  Equal ends travel together, so there are few messages. */
void io_task_exits(struct step *s)
{
    const struct task *t;

    for (size_t i = 0; s->srun && i < s->n_tasks; i++)
        pass_epilog(s, &s->tasks[i]);
    while ((s->srun || attach_any(s)) && (t = first_due(s))) {
        Pst__StepTaskExit msg = PST__STEP_TASK_EXIT__INIT;
        _cleanup_free_ uint32_t *ids = calloc(s->n_tasks, sizeof(*ids));

        if (!ids)
            return;
        msg.status = (uint32_t)t->status;
        msg.oom = t->oom;
        for (size_t k = 0; k < s->n_tasks; k++) {
            struct task *o = &s->tasks[k];

            if (exit_is_due(o) && (uint32_t)o->status == msg.status && o->oom == msg.oom) {
                o->reported = true;
                ids[msg.n_task_ids++] = o->rank;
                input_close(o);
            }
        }
        msg.task_ids = ids;
        msg.has_status = msg.has_oom = true;
        msg.has_end_step = msg.end_step = msg.oom && s->sf->cgroup->oom_group;
        msg.node_name = s->sf->job->node_name;
        send_msg(s, OP_STEP_TASK_EXIT, &msg.base);
    }
}

/* No more than a pipe holds: what has left the step may write for ever. */
void io_write_rest(struct step *s)
{
    for (size_t i = 0; i < s->n_tasks; i++)
        for (int k = 1; k < 3; k++)
            for (size_t turn = 0; turn < STEP_OUT_MAX / STEP_CHUNK; turn++) {
                struct task *t = &s->tasks[i];
                struct pollfd p = { .fd = t->fd[k], .events = POLLIN };

                if (!t->file[k] || t->fd[k] < 0 || poll(&p, 1, 0) <= 0)
                    break;
                read_output(s, t, k);
            }
}

bool io_drained(const struct step *s)
{
    for (size_t i = 0; s->srun && i < s->n_tasks; i++)
        if (s->tasks[i].fd[1] >= 0 || s->tasks[i].fd[2] >= 0)
            return false;
    return true;
}

void io_finish(struct step *s)
{
    Pst__StepDone msg = PST__STEP_DONE__INIT;

    msg.has_node_index = true;
    msg.node_index = s->launch ? s->launch->node_index : 0;
    msg.has_status = true;
    msg.status = (uint32_t)s->worst;
    send_msg(s, OP_STEP_DONE, &msg.base);
}

void io_send_gathered(struct step *s)
{
    if (s->srun && client_flush(s->srun) < 0 && client_fd(s->srun) < 0)
        io_lost(s);
}

bool io_flushed(const struct step *s)
{
    return !s->srun || client_out_pending(s->srun) == 0;
}

bool io_progress(struct step *s)
{
    size_t waits = s->srun ? client_out_pending(s->srun) : 0, before = s->waits;

    s->waits = waits;
    return waits < before;
}

bool io_parting(struct step *s)
{
    if (!s->srun)
        return false;
    if (!s->parting)
        (void)shutdown(client_fd(s->srun), SHUT_WR); /* gone: it is read in a moment */
    s->parting = true;
    return true;
}
