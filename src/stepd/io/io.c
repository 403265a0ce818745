/* io.c - between srun's connection and the tasks' streams; see step.h
 *
 * Output: what a task writes is sent as it comes, in order per stream; while more than
 * STEP_OUT_MAX waits for srun the pipes are left alone, so a slow srun slows the tasks and costs
 * no memory. Input: pieces wait, each once for all the tasks it is for; srun keeps within the
 * credit it is told.  While STEP_STDIN_MAX bytes wait all the same (of somebody attached, or of
 * what only claims to be srun), neither is read. When srun is lost the step ends. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "stepd/task/mpi.h"
#include "stepd/step.h"
#include "wire/client.h"

#define PIECES_MAX 1024u /* waiting pieces of input, however small */
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

/* ---- pieces of input ------------------------------------------------------------------------- */

struct inpiece {
    unsigned refs; /* tasks that wait for it */
    size_t len;
    char data[];
};

static struct { /* of this process's step */
    size_t bytes, pieces;
} waiting;

static void piece_unref(struct inpiece *p)
{
    if (--p->refs)
        return;
    waiting.bytes -= p->len;
    waiting.pieces--;
    free(p);
}

/* With one reference, the caller's; NULL: out of memory. */
static struct inpiece *piece_new(const uint8_t *data, size_t len)
{
    struct inpiece *p = malloc(sizeof(*p) + len);

    if (!p)
        return NULL;
    p->refs = 1;
    p->len = len;
    if (len)
        memcpy(p->data, data, len);
    waiting.bytes += len;
    waiting.pieces++;
    return p;
}

static int add_piece(struct inbuf *in, struct inpiece *p)
{
    if (in->n == in->cap) {
        size_t cap = in->cap ? in->cap * 2 : 4;
        struct inpiece **pieces = calloc(cap, sizeof(struct inpiece *));

        if (!pieces)
            return -ENOMEM;
        for (size_t i = 0; i < in->n; i++)
            pieces[i] = in->pieces[(in->first + i) % in->cap];
        free(in->pieces);
        in->pieces = pieces;
        in->first = 0;
        in->cap = cap;
    }
    in->pieces[(in->first + in->n++) % in->cap] = p;
    in->len += p->len;
    p->refs++;
    return 0;
}

static void drop_first(struct inbuf *in)
{
    struct inpiece *p = in->pieces[in->first];

    in->len -= p->len - in->at;
    in->at = 0;
    in->first = (in->first + 1) % in->cap;
    in->n--;
    piece_unref(p);
}

static void drop_pieces(struct inbuf *in)
{
    while (in->n)
        drop_first(in);
}

/* What waits for it is dropped with it. */
static void close_input(struct task *t)
{
    close_fd(&t->fd[0]);
    drop_pieces(&t->in);
}

void io_close_task(struct task *t)
{
    for (int i = 0; i < 3; i++)
        close_fd(&t->fd[i]);
    drop_pieces(&t->in);
    free(t->in.pieces);
    t->in = (struct inbuf){ .eof = true };
}

void io_lost(struct step *s)
{
    s->srun = client_free(s->srun);
    for (size_t i = 0; i < s->n_tasks; i++)
        io_close_task(&s->tasks[i]);
    if (!s->swept && s->n_running > 0)
        step_terminate(s, NULL, SIGTERM, false, s->sf->kill_wait_s);
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

/* One read per turn, so that no task starves the others. */
static void read_output(struct step *s, struct task *t, int i)
{
    static uint8_t buf[STEP_CHUNK];
    ssize_t n = read(t->fd[i], buf, sizeof(buf));

    if (n > 0) {
        io_send(s, t, i, buf, (size_t)n, false);
        return;
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    close_fd(&t->fd[i]); /* end of file; a terminal says EIO when its last user is gone */
    if (t->pty)
        close_input(t);
    io_send(s, t, i, NULL, 0, true);
}

/* ---- standard input -------------------------------------------------------------------------- */

static void write_input(struct task *t)
{
    struct inbuf *in = &t->in;

    while (t->fd[0] >= 0 && in->n) {
        const struct inpiece *p = in->pieces[in->first];
        ssize_t n = write(t->fd[0], p->data + in->at, p->len - in->at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0) { /* the task closed it */
            close_input(t);
            return;
        }
        in->at += (size_t)n;
        in->len -= (size_t)n;
        if (in->at == p->len)
            drop_first(in);
    }
    if (t->fd[0] >= 0 && in->eof) {
        if (t->pty && write(t->fd[0], "\004", 1) < 0)
            return; /* a full terminal: tried again with the next input */
        close_fd(&t->fd[0]);
    }
}

static void give_input(struct task *t, struct inpiece *piece, bool eof)
{
    if (t->fd[0] < 0)
        return;
    if (piece && add_piece(&t->in, piece) < 0) {
        close_input(t); /* its input ends early rather than with a hole */
        return;
    }
    t->in.eof = t->in.eof || eof;
    write_input(t);
}

/* srun sends no more than a window of input ahead of what tasks took, so that its signals never
 * wait behind it. */
static void tell_credit(struct step *s)
{
    Pst__StepIo msg = PST__STEP_IO__INIT;
    uint64_t waits = 0, taken;

    for (size_t i = 0; i < s->n_tasks; i++)
        waits = MAX(waits, (uint64_t)s->tasks[i].in.len);
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

/* Whoever they are for: a piece for all the tasks is here once. */
bool io_input_full(const struct step *s)
{
    (void)s; /* the process has no other */
    return waiting.bytes > STEP_STDIN_MAX || waiting.pieces > PIECES_MAX;
}

/* ---- frames from srun ------------------------------------------------------------------------ */

void io_signal(struct step *s, const Pst__StepSignal *sig)
{
    if (sig->has_rows && s->n_tasks && s->tasks[0].pty && s->tasks[0].fd[1] >= 0) {
        struct winsize ws = { .ws_row = (unsigned short)sig->rows,
                              .ws_col = (unsigned short)sig->cols };

        (void)ioctl(s->tasks[0].fd[1], TIOCSWINSZ, &ws); /* the kernel sends SIGWINCH */
        return;
    }
    if (sig->terminate)
        step_terminate(s, NULL, sig->signal ? (int)sig->signal : SIGTERM, sig->signal == SIGKILL,
                       s->sf->kill_wait_s);
    else if (sig->signal == SIGKILL)
        step_terminate(s, NULL, SIGKILL, true, 0);
    else if (sig->signal > 0 && sig->signal < 65)
        step_signal(s, (int)sig->signal, false);
}

void io_input(struct step *s, const Pst__StepIo *io)
{
    struct inpiece *piece = io->data.len ? piece_new(io->data.data, io->data.len) : NULL;
    bool failed = io->data.len && !piece;

    for (size_t i = 0; i < s->n_tasks; i++) {
        if (io->has_task_id && io->task_id != s->tasks[i].rank)
            continue;
        if (failed)
            close_input(&s->tasks[i]); /* as above */
        else
            give_input(&s->tasks[i], piece, io->eof);
    }
    if (piece)
        piece_unref(piece);
}

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
        io_input(s, PB_AS(step_io, msg));
    } else if (f->op == OP_STEP_MPI)
        mpi_message(s, PB_AS(step_mpi, msg));
    else
        io_signal(s, PB_AS(step_signal, msg));
    protobuf_c_message_free_unpacked(msg, NULL);
}

/* More from srun would only wait here: its tasks, the service of its MPI program or itself do
 * not read. */
static bool must_wait(const struct step *s)
{
    return io_input_full(s) || mpi_full(s) || client_out_pending(s->srun) > ANSWERS_MAX;
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

size_t io_poll_fill(struct step *s, struct pollfd *fds, size_t max)
{
    bool hold = s->srun && client_out_pending(s->srun) > STEP_OUT_MAX;
    size_t n = 0;

    if (!s->srun)
        return 0;
    s->in_held = s->in_held || must_wait(s);
    fds[n++] = (struct pollfd){
        .fd = client_fd(s->srun),
        .events = (short)((must_wait(s) ? 0 : POLLIN) | POLLRDHUP |
                          (client_out_pending(s->srun) ? POLLOUT : 0)),
    };
    for (size_t i = 0; i < s->n_tasks && n + 3 <= max; i++) {
        const struct task *t = &s->tasks[i];

        if (t->fd[0] >= 0 && t->in.n)
            fds[n++] = (struct pollfd){ .fd = t->fd[0], .events = POLLOUT };
        for (int k = 1; k < 3 && !hold; k++)
            if (t->fd[k] >= 0)
                fds[n++] = (struct pollfd){ .fd = t->fd[k], .events = POLLIN };
    }
    return n;
}

static void task_ready(struct step *s, int fd, short events)
{
    for (size_t i = 0; i < s->n_tasks; i++) {
        struct task *t = &s->tasks[i];

        if (t->fd[0] == fd) {
            write_input(t);
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
    for (size_t i = 1; i < n && s->srun; i++)
        if (fds[i].revents)
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

void io_task_exits(struct step *s)
{
    for (size_t i = 0; (s->srun || attach_any(s)) && i < s->n_tasks; i++) {
        struct task *t = &s->tasks[i];
        Pst__StepTaskExit msg = PST__STEP_TASK_EXIT__INIT;
        _cleanup_free_ uint32_t *ids = NULL;

        if (!t->exited || t->reported)
            continue;
        ids = calloc(s->n_tasks - i, sizeof(*ids));
        if (!ids)
            return;
        for (size_t k = i; k < s->n_tasks; k++) { /* equal ends travel together */
            struct task *o = &s->tasks[k];

            if (o->exited && !o->reported && o->status == t->status && o->oom == t->oom) {
                o->reported = true;
                ids[msg.n_task_ids++] = o->rank;
                close_input(o);
            }
        }
        msg.task_ids = ids;
        msg.has_status = true;
        msg.status = (uint32_t)t->status;
        msg.has_oom = msg.oom = t->oom;
        msg.has_end_step = msg.end_step = t->oom && s->sf->cgroup->oom_group;
        msg.node_name = s->sf->job->node_name;
        send_msg(s, OP_STEP_TASK_EXIT, &msg.base);
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
