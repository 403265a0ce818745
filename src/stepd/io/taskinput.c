/* taskinput.c - what srun and sattach give the tasks: standard input and signals; see step.h
 *
 * Pieces of input wait, each once for all the tasks that it is for.  While STEP_STDIN_MAX bytes
 * wait, no client is read: neither srun, which keeps within the credit that it is told, nor
 * sattach. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "stepd/step.h"

#define PIECES_MAX 1024u /* waiting pieces of input, however small */

/* ---- pieces of input ------------------------------------------------------------------------- */

struct inpiece {
    struct inwaits *waits; /* of the step: the piece counts there */
    unsigned refs;         /* tasks that wait for it */
    size_t len;
    char data[];
};

static void piece_unref(struct inpiece *p)
{
    if (--p->refs)
        return;
    p->waits->bytes -= p->len;
    p->waits->pieces--;
    free(p);
}

/* With one reference, the caller's; NULL: out of memory. */
static struct inpiece *piece_new(struct inwaits *waits, const uint8_t *data, size_t len)
{
    struct inpiece *p = malloc(sizeof(*p) + len);

    if (!p)
        return NULL;
    p->waits = waits;
    p->refs = 1;
    p->len = len;
    if (len)
        memcpy(p->data, data, len);
    waits->bytes += len;
    waits->pieces++;
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

void input_close(struct task *t)
{
    if (t->fd[0] >= 0)
        (void)close(t->fd[0]); /* a pipe: nothing to lose */
    t->fd[0] = -1;
    drop_pieces(&t->in);
}

void input_done(struct task *t)
{
    input_close(t);
    free(t->in.pieces);
    t->in = (struct inbuf){ .eof = true };
}

/* ---- input of a task ------------------------------------------------------------------------- */

void input_write(struct task *t)
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
            input_close(t);
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
        input_close(t);
    }
}

static void give_input(struct task *t, struct inpiece *piece, bool eof)
{
    if (t->fd[0] < 0)
        return;
    if (piece && add_piece(&t->in, piece) < 0) {
        input_close(t); /* its input ends early rather than with a hole */
        return;
    }
    t->in.eof = t->in.eof || eof;
    input_write(t);
}

/* Counts the pieces of all tasks together; a piece for all the tasks is stored once. */
bool input_full(const struct step *s)
{
    return s->in_waits.bytes > STEP_STDIN_MAX || s->in_waits.pieces > PIECES_MAX;
}

size_t input_waits(const struct step *s)
{
    size_t waits = 0;

    for (size_t i = 0; i < s->n_tasks; i++)
        waits = MAX(waits, s->tasks[i].in.len);
    return waits;
}

/* ---- frames of a client ---------------------------------------------------------------------- */

void input_give(struct step *s, const Pst__StepIo *io)
{
    struct inpiece *piece =
        io->data.len ? piece_new(&s->in_waits, io->data.data, io->data.len) : NULL;
    bool failed = io->data.len && !piece;

    for (size_t i = 0; i < s->n_tasks; i++) {
        if (io->has_task_id && io->task_id != s->tasks[i].rank)
            continue;
        if (failed)
            input_close(&s->tasks[i]); /* as above */
        else
            give_input(&s->tasks[i], piece, io->eof);
    }
    if (piece)
        piece_unref(piece);
}

void input_signal(struct step *s, const Pst__StepSignal *sig)
{
    if (sig->has_rows && s->n_tasks && s->tasks[0].pty && s->tasks[0].fd[1] >= 0) {
        struct winsize ws = { .ws_row = (unsigned short)sig->rows,
                              .ws_col = (unsigned short)sig->cols };

        (void)ioctl(s->tasks[0].fd[1], TIOCSWINSZ, &ws); /* the kernel sends SIGWINCH */
        return;
    }
    if (sig->signal == SIGKILL && sig->first > 0 && sig->first <= (uint32_t)SIGRTMAX)
        s->on->signal_kill(s, (int)sig->first);
    else if (sig->terminate)
        s->on->terminate(s, sig->task_failed ? STEP_TASK_FAILURE : NULL,
                         sig->signal ? (int)sig->signal : SIGTERM, sig->signal == SIGKILL,
                         s->sf->kill_wait_s);
    else if (sig->signal == SIGKILL)
        s->on->terminate(s, NULL, SIGKILL, true, 0);
    else if (sig->signal > 0 && sig->signal < 65)
        s->on->signal(s, (int)sig->signal, false);
}
