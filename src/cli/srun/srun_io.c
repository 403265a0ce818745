/* srun_io.c - the tasks' streams at srun's end; see srun.h
 *
 * Outputs are never switched to non-blocking mode: the descriptors are shared with whoever started
 * us.  Each write says for itself that it does not wait (RWF_NOWAIT).  Where the kernel cannot do
 * that for a kind of file, pieces are written: PIPE_BUF bytes after POLLOUT do not block. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "cli/job/iopattern.h"
#include "cli/srun/srun.h"

/* ---- sinks ----------------------------------------------------------------------------------- */

static void sink_open(struct sink *k, int fd)
{
    struct stat st;

    *k = (struct sink){ .fd = fd };
    k->regular = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

bool sink_pending(const struct sink *k)
{
    return k->fd >= 0 && k->at < k->buf.len;
}

static void sink_add(void *ctx, const char *data, size_t n)
{
    struct sink *k = ctx;

    if (k->fd < 0)
        return;
    if (k->at > SRUN_SINK_MAX) { /* a reader that never quite catches up */
        memmove(k->buf.buf, k->buf.buf + k->at, k->buf.len - k->at);
        k->buf.len -= k->at;
        k->at = 0;
    }
    strbuf_addn(&k->buf, data, n);
    if (k->buf.failed)
        check_mem_or_die(-ENOMEM);
}

static ssize_t write_piece(const struct sink *k, const char *data, size_t n)
{
    struct pollfd p = { .fd = k->fd, .events = POLLOUT };

    if (poll(&p, 1, 0) > 0)
        return write(k->fd, data, MIN(n, (size_t)PIPE_BUF));
    errno = EAGAIN;
    return -1;
}

/* Without waiting, but for a disk.  As write(2). */
static ssize_t write_some(struct sink *k)
{
    const char *data = k->buf.buf + k->at;
    size_t left = k->buf.len - k->at;
    struct iovec v = { .iov_base = (void *)data, .iov_len = left };
    ssize_t n;

    if (k->regular)
        return write(k->fd, data, left);
    if (!k->in_pieces) {
        n = pwritev2(k->fd, &v, 1, -1, RWF_NOWAIT);
        k->in_pieces = n < 0 && errno != EAGAIN && errno != EINTR && errno != EPIPE;
        if (n >= 0 || (!k->in_pieces && errno != EAGAIN))
            return n;
    }
    return write_piece(k, data, left);
}

void sink_write(struct sink *k)
{
    while (sink_pending(k)) {
        ssize_t n = write_some(k);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0) { /* the reader has gone: drop what comes */
            k->unread = errno == EPIPE;
            if (!k->unread)
                cli_error("output cannot be written: %s", strerror(errno));
            k->fd = -1;
            break;
        }
        k->at += (size_t)n;
    }
    if (!sink_pending(k)) {
        k->at = 0;
        strbuf_reset(&k->buf);
    }
}

static void sink_finish(struct sink *k)
{
    while (sink_pending(k)) {
        struct pollfd p = { .fd = k->fd, .events = POLLOUT };

        if (!k->regular)
            (void)poll(&p, 1, -1); /* an error shows in the write */
        sink_write(k);
    }
}

void srun_io_flush(struct srun *s)
{
    sink_finish(&s->sink_out);
    sink_finish(&s->sink_err);
}

bool srun_io_full(const struct srun *s)
{
    return s->sink_out.buf.len - s->sink_out.at > SRUN_SINK_MAX ||
           s->sink_err.buf.len - s->sink_err.at > SRUN_SINK_MAX;
}

/* ---- modes ----------------------------------------------------------------------------------- */

static void pattern_names(const struct srun *s, struct iopattern *ret)
{
    *ret = (struct iopattern){
        .job_id = s->job_id,
        .step_id = s->step_id,
        .has_array = s->job && s->job->has_array_task_id,
        .array_job_id = s->job ? s->job->array_job_id : 0,
        .array_task_id = s->job ? s->job->array_task_id : 0,
        .restarts = s->job ? s->job->restart_count : 0,
        .user = s->job ? s->job->user_name : NULL,
        .job_name = s->job ? s->job->name : NULL,
        .sluid = s->job ? s->job->sluid : NULL,
    };
}

static void read_spec(struct srun *s, const char *text, struct io_spec *io)
{
    struct iopattern names;
    uint64_t task;

    if (!text || !*text || strcasecmp(text, "all") == 0) {
        io->mode = IO_STREAM;
    } else if (strcasecmp(text, "none") == 0) {
        io->mode = IO_NONE;
    } else if (parse_u64(text, 0, UINT32_MAX - 1, &task) == 0 && task < s->n_tasks) {
        io->mode = IO_TASK;
        io->task = (uint32_t)task;
    } else if (iopattern_per_task(text)) {
        io->mode = IO_PATTERN;
        io->path = xstrdup_or_die(text);
    } else {
        io->mode = IO_FILE;
        pattern_names(s, &names);
        io->path = iopattern_expand(text, &names);
    }
}

/* The step exists already, and maybe the allocation for it: both are given back. */
static void no_file(struct srun *s, const char *which)
{
    cli_error("Could not open %s file: %s", which, strerror(errno));
    srun_tty_restore(s);
    if (s->own_job)
        (void)joblink_complete(&s->link, CLI_EXIT_FAILED << 8); /* it said what went wrong */
    srun_unlaunched(s, CLI_EXIT_FAILED << 8);
    exit(CLI_EXIT_FAILED);
}

/* The folders of a path that are missing; the open that follows tells what could not be made. */
static void make_folders(const char *path)
{
    _cleanup_free_ char *part = xstrdup_or_die(path);

    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(part, 0777) < 0 && errno != EEXIST)
            return; /* nothing below it can be made */
        *slash = '/';
    }
}

static int open_output(struct srun *s, const char *which, const char *path)
{
    const char *mode = jobopts_get(&s->opts, JO_OPEN_MODE);
    bool append =
        mode ? strchr("aA", mode[0]) != NULL : conf_bool(cli_conf(&s->cli), CONF_JOB_FILE_APPEND);
    int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (append ? O_APPEND : O_TRUNC);
    int fd = open(path, flags, 0666);

    if (fd < 0 && errno == ENOENT && *path) {
        make_folders(path);
        fd = open(path, flags, 0666);
    }
    if (fd < 0)
        no_file(s, which);
    return fd;
}

static void open_outputs(struct srun *s)
{
    bool same = !jobopts_has(&s->opts, JO_ERROR) && jobopts_has(&s->opts, JO_OUTPUT) &&
                s->out.mode != IO_STREAM;

    sink_open(&s->sink_out,
              s->out.mode == IO_FILE ? open_output(s, "stdout", s->out.path) : STDOUT_FILENO);
    if (same) {
        s->err.mode = s->out.mode;
        s->err.task = s->out.task;
        s->err.path = xstrdup_or_die(s->out.path);
        sink_open(&s->sink_err, -1); /* one sink for both: lines keep their order */
        return;
    }
    sink_open(&s->sink_err,
              s->err.mode == IO_FILE ? open_output(s, "stderr", s->err.path) : STDERR_FILENO);
}

static enum label_mode label_mode(const struct srun *s)
{
    if (s->pty)
        return LABEL_RAW;
    if (jobopts_has(&s->opts, JO_LABEL))
        return jobopts_has(&s->opts, JO_UNBUFFERED) ? LABEL_PIECES : LABEL_TASKS;
    return jobopts_has(&s->opts, JO_UNBUFFERED) || s->n_tasks == 1 ? LABEL_RAW : LABEL_LINES;
}

static bool in_background(int fd)
{
    return isatty(fd) && tcgetpgrp(fd) != getpgrp();
}

static void open_input(struct srun *s)
{
    s->in_fd = -1;
    switch (s->in.mode) {
    case IO_STREAM:
    case IO_TASK:
        if (!in_background(STDIN_FILENO)) /* reading would stop us */
            s->in_fd = STDIN_FILENO;
        break;
    case IO_FILE:
        s->in_fd = open(s->in.path, O_RDONLY | O_CLOEXEC);
        if (s->in_fd < 0)
            no_file(s, "stdin");
        break;
    case IO_NONE:
    case IO_PATTERN:
        break;
    }
    if (s->in_fd >= 0 && fcntl(s->in_fd, F_GETFD) < 0)
        s->in_fd = -1; /* started with standard input closed */
    s->in_eof = s->in_fd < 0;
}

/* ---- terminal -------------------------------------------------------------------------------- */

static void enter_raw_mode(struct srun *s)
{
    struct winsize ws;
    struct termios raw;

    if (!s->pty)
        return;
    if (ioctl(STDIN_FILENO, TIOCGWINSZ, &ws) < 0) {
        cli_error("ioctl(TIOCGWINSZ): %s", strerror(errno));
        cli_error("Not using a pseudo-terminal, disregarding --pty option");
        s->pty = false;
        return;
    }
    if (tcgetattr(STDIN_FILENO, &s->saved_tty) < 0)
        return;
    raw = s->saved_tty;
    cfmakeraw(&raw);
    s->tty_raw = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
}

void srun_tty_restore(struct srun *s)
{
    if (s->tty_raw)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &s->saved_tty); /* the terminal may be gone */
    s->tty_raw = false;
}

void srun_io_open(struct srun *s)
{
    s->pty = jobopts_has(&s->opts, JO_PTY);
    read_spec(s, jobopts_get(&s->opts, JO_INPUT), &s->in);
    if (s->in.mode == IO_TASK && s->in.task >= s->n_tasks) { /* no task: a file of that name */
        s->in.mode = IO_FILE;
        s->in.path = xstrdup_or_die(jobopts_get(&s->opts, JO_INPUT));
    }
    read_spec(s, jobopts_get(&s->opts, JO_OUTPUT), &s->out);
    read_spec(s, jobopts_get(&s->opts, JO_ERROR), &s->err);
    enter_raw_mode(s);
    open_input(s);
    open_outputs(s);
    s->label_out = label_new(label_mode(s), s->n_tasks, sink_add, &s->sink_out);
    s->label_err = label_new(label_mode(s), s->n_tasks, sink_add,
                             s->sink_err.fd >= 0 ? &s->sink_err : &s->sink_out);
}

static void close_file(struct sink *k, const struct io_spec *io)
{
    if (io->mode == IO_FILE && k->fd >= 0 && close(k->fd) < 0)
        cli_error("output file %s: %s", io->path, strerror(errno));
    strbuf_done(&k->buf);
}

void srun_io_close(struct srun *s)
{
    srun_io_flush(s);
    srun_tty_restore(s);
    s->label_out = label_free(s->label_out);
    s->label_err = label_free(s->label_err);
    close_file(&s->sink_out, &s->out);
    close_file(&s->sink_err, &s->err);
    if (s->in.mode == IO_FILE && s->in_fd >= 0)
        (void)close(s->in_fd);
    free(s->in_buf);
    free(s->in.path);
    free(s->out.path);
    free(s->err.path);
}

/* ---- data ------------------------------------------------------------------------------------ */

void srun_io_data(struct srun *s, const Pst__StepIo *io)
{
    bool is_err = io->stream == PST__STEP_STREAM__STREAM_STDERR;
    const struct io_spec *spec = is_err ? &s->err : &s->out;
    struct label *label = is_err ? s->label_err : s->label_out;

    if (spec->mode == IO_NONE || spec->mode == IO_PATTERN ||
        (spec->mode == IO_TASK && io->task_id != spec->task) ||
        (s->pty && io->task_id != 0)) /* the terminal is task 0's alone */
        return;
    if (io->has_data)
        label_data(label, io->task_id, (const char *)io->data.data, io->data.len);
    if (io->eof)
        label_eof(label, io->task_id);
    sink_write(&s->sink_out);
    sink_write(&s->sink_err);
}

/* A node's own line goes where the tasks' standard error goes: people look for it in that file. */
void srun_io_notice(struct srun *s, const char *text)
{
    size_t n = strlen(text);
    struct sink *k = s->sink_err.fd >= 0 ? &s->sink_err : &s->sink_out;

    switch (s->err.mode) {
    case IO_FILE:
        sink_add(k, text, n);
        if (n > 0 && text[n - 1] != '\n')
            sink_add(k, "\n", 1);
        srun_io_flush(s);
        break;
    case IO_NONE:
        break;
    case IO_STREAM:
    case IO_TASK:
    case IO_PATTERN:
        srun_io_flush(s);
        (void)fprintf(stderr, "%s%s", text, n > 0 && text[n - 1] == '\n' ? "" : "\n");
        break;
    }
}

/* Has the node the task that reads our input?  In most modes all of them read. */
static bool reads_input(const struct srun *s, const struct srun_node *n)
{
    uint32_t task = s->pty ? 0 : s->in.task;

    if (!s->pty && s->in.mode != IO_TASK)
        return true;
    for (uint32_t i = 0; i < n->n_tasks; i++) {
        if (s->ranks[n->first + i] == task)
            return true;
    }
    return false;
}

bool srun_io_wants_input(const struct srun *s)
{
    bool somebody = false;

    if (s->in_fd < 0 || s->in_eof)
        return false;
    for (size_t i = 0; i < s->n_nodes; i++) {
        const struct srun_node *n = &s->nodes[i];

        if (!reads_input(s, n) || n->done)
            continue;
        if (!n->started || n->in_sent - n->in_taken > SRUN_INPUT_WINDOW)
            return false;
        somebody = true;
    }
    return somebody;
}

static void fill_input(const struct srun *s, const char *data, size_t len, bool eof,
                       Pst__StepIo *io)
{
    io->stream = PST__STEP_STREAM__STREAM_STDIN;
    io->has_stream = true;
    if (s->pty || s->in.mode == IO_TASK) {
        io->task_id = s->pty ? 0 : s->in.task;
        io->has_task_id = true;
    }
    io->data.data = (uint8_t *)data;
    io->data.len = len;
    io->has_data = len > 0;
    io->eof = io->has_eof = eof;
}

void srun_io_send_eof(struct srun *s, struct srun_node *n)
{
    Pst__StepIo io = PST__STEP_IO__INIT;

    if (n->stdin_eof_sent || !n->started || n->done || s->in.mode == IO_NONE ||
        s->in.mode == IO_PATTERN || !reads_input(s, n))
        return;
    n->stdin_eof_sent = true;
    fill_input(s, NULL, 0, true, &io);
    (void)srun_node_send(s, n, OP_STEP_IO, &io.base); /* a lost node is noticed when it is read */
}

void srun_io_read_input(struct srun *s)
{
    Pst__StepIo io = PST__STEP_IO__INIT;
    ssize_t got;

    /* Not on the stack, where each of its pages would be touched even for an end of file. */
    if (!s->in_buf)
        s->in_buf = malloc(SRUN_STDIN_CHUNK);
    check_mem_or_die(s->in_buf ? 0 : -ENOMEM);
    got = read(s->in_fd, s->in_buf, SRUN_STDIN_CHUNK);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    s->in_eof = got <= 0;
    if (!s->in_eof) {
        fill_input(s, s->in_buf, (size_t)got, false, &io);
        srun_nodes_send(s, reads_input, OP_STEP_IO, &io.base);
    }
    for (size_t i = 0; i < s->n_nodes; i++) {
        struct srun_node *n = &s->nodes[i];

        if (n->done || !n->started || !reads_input(s, n))
            continue;
        if (s->in_eof)
            srun_io_send_eof(s, n);
        else
            n->in_sent += (uint64_t)got;
    }
}
