/* sattach.c - join the streams of a running step
 *
 * The controller signs for the step; the connection to each node is handed to its step daemon,
 * which sends what the tasks write from then on.  srun is not disturbed.  Ends with the step's exit
 * code, as srun does. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "api.pb-c.h"

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "cli/base/cli.h"
#include "cli/base/ids.h"
#include "cli/job/label.h"
#include "cli/base/nodeconnect.h"
#include "cli/base/opts.h"
#include "cli/job/tasks.h"
#include "wire/errors.h"
#include "wire/ops.h"

#define INPUT_CHUNK 32768u
#define NODE_OUT_MAX (256u << 10) /* bytes waiting for a node before our input is left alone */

struct filter {
    bool one;
    uint32_t task;
};

struct node {
    const char *name;
    struct client *client; /* NULL: done with it */
};

struct sattach {
    struct cli cli;
    struct filter in, out, err;
    bool label, layout, pty;
    Pst__StepReply *reply;
    struct node *nodes;
    size_t n_nodes;
    uint32_t *counts, *ranks, n_tasks;
    struct label *label_out, *label_err;
    bool in_eof, tty_raw;
    struct termios saved;
    int sig_fd, exit_code;
};

static int take_filter(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    char *end;
    unsigned long n;

    if (strcasecmp(arg, "all") == 0)
        return 0;
    n = strtoul(arg, &end, 10);
    if (*end || end == arg || *arg == '-' || n >= TASKS_MAX)
        return err_set(err, CLI_EXIT_FAILED, "Invalid numeric value \"%.200s\" for %s.", arg,
                       opt->name);
    *(struct filter *)at = (struct filter){ true, (uint32_t)n };
    return 0;
}

#define OPT_INTO struct sattach
static const struct opt rows[] = {
    OPT("error-filter", 0, OPT_REQ, OPT_TAKE(err, take_filter), NULL, NULL, "task",
        "show standard error of this task only"),
    OPT("input-filter", 0, OPT_REQ, OPT_TAKE(in, take_filter), NULL, NULL, "task",
        "send our input to this task only"),
    OPT("label", 'l', OPT_NONE, OPT_FLAG(label), NULL, NULL, NULL,
        "put the task number before each line"),
    OPT("layout", 0, OPT_NONE, OPT_FLAG(layout), NULL, NULL, NULL,
        "print which tasks run where, and do not attach"),
    OPT("output-filter", 0, OPT_REQ, OPT_TAKE(out, take_filter), NULL, NULL, "task",
        "show standard output of this task only"),
    OPT("pty", 0, OPT_NONE, OPT_FLAG(pty), NULL, NULL, NULL, "hand our terminal to task 0"),
    OPT("quiet", 'Q', OPT_NONE, OPT_QUIET(cli), NULL, NULL, NULL, "say nothing but errors"),
    OPT("verbose", 'v', OPT_NONE, OPT_VERBOSE(cli), NULL, NULL, NULL, "say what is done"),
};

static const struct opt_command command = {
    .name = "sattach",
    .prefix = "SATTACH",
    .rows = rows,
    .n = ARRAY_SIZE(rows),
    .synopsis = "[options] <jobid.stepid>",
    .usage_status = CLI_EXIT_FAILED,
    .help_with_h = true,
    .usage_with_u = true,
};

static noreturn void refuse_line(const char *why)
{
    (void)printf("Usage: sattach [options] <jobid.stepid>\n");
    (void)fflush(stdout);
    cli_die(CLI_EXIT_FAILED, "%s", why);
}

static const char *step_named(int argc, char **argv, int first)
{
    const char *text = argv[first];
    struct ids ids = { 0 };
    bool has_step;

    if (argc - first != 1)
        refuse_line("too many parameters"); /* too few, too */
    if (ids_parse(text, &ids, NULL) < 0) {
        cli_print_fatal("Bad job/step specified: %.200s: %s", text, ids_mistake(text));
        exit(CLI_EXIT_FAILED);
    }
    has_step = ids.has_step;
    if (has_step && (ids.step_id == STEP_ID_BATCH || ids.step_id == STEP_ID_EXTERN))
        cli_die(CLI_EXIT_FAILED, "Cannot be used with extern or batch steps");
    ids_done(&ids);
    if (!has_step)
        refuse_line("Failed to parse stepid from command line options");
    return text;
}

/* ---- layout ---------------------------------------------------------------------------------- */

static void count_tasks(struct sattach *s)
{
    const Pst__Alloc *a = s->reply->step->alloc;
    size_t at = 0;

    s->n_nodes = s->reply->n_nodes;
    s->counts = xmalloc_or_die((s->n_nodes + 1) * sizeof(*s->counts));
    for (size_t g = 0; a && g < a->n_groups; g++) {
        for (uint32_t k = 0; k < a->groups[g]->nodes && at < s->n_nodes; k++) {
            s->counts[at] = a->groups[g]->tasks;
            s->n_tasks += s->counts[at++];
            if (s->n_tasks > TASKS_MAX)
                cli_die(CLI_EXIT_FAILED, "Could not get job step info: it has too many tasks");
        }
    }
    s->ranks = xmalloc_or_die((s->n_tasks + 1) * sizeof(*s->ranks));
    tasks_layout(s->reply->step->distribution, s->counts, s->n_nodes, s->ranks);
}

static void print_layout(const struct sattach *s)
{
    const uint32_t *rank = s->ranks;

    (void)printf(
        "Job step layout:\n\t%u tasks, %zu nodes (%s)\n\n", s->n_tasks, s->n_nodes,
        s->reply->step->alloc && s->reply->step->alloc->nodes ? s->reply->step->alloc->nodes : "");
    for (size_t i = 0; i < s->n_nodes; i++) {
        (void)printf("\tNode %zu (%s), %u task(s): ", i, s->reply->nodes[i]->name, s->counts[i]);
        for (uint32_t k = 0; k < s->counts[i]; k++)
            (void)printf("%u ", *rank++);
        (void)printf("\n");
    }
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void attach_to(struct sattach *s, size_t i)
{
    const Pst__NodeAddr *addr = s->reply->nodes[i];
    Pst__AttachStep req = PST__ATTACH_STEP__INIT;
    struct err err = { .text = "" };
    int r;

    s->nodes[i].name = addr->name;
    if (s->counts[i] == 0)
        return;
    if (nodeconnect_step(&s->cli, s->reply, addr, &s->nodes[i].client, &err) < 0)
        cli_die(CLI_EXIT_FAILED, "cannot attach on node %s: %s", addr->name, err.text);
    req.credential = s->reply->credential;
    req.node_name = addr->name;
    req.stream_key = client_stream_key(s->nodes[i].client);
    req.has_stream_key = req.stream_key.len > 0;
    r = client_call(s->nodes[i].client, OP_ATTACH_STEP, &req.base, NULL);
    if (r < 0)
        cli_die(CLI_EXIT_FAILED, "cannot attach on node %s: %s", addr->name,
                client_strerror(s->nodes[i].client, r));
    cli_verbose(1, "attached on node %s", addr->name);
}

static void emit_bytes(void *ctx, const char *data, size_t n)
{
    FILE *f = ctx;

    if (fwrite(data, 1, n, f) != n || fflush(f) != 0)
        exit(CLI_EXIT_FAILED); /* the reader of our output has gone */
}

static void on_io(struct sattach *s, const Pst__StepIo *io)
{
    bool is_err = io->stream == PST__STEP_STREAM__STREAM_STDERR;
    const struct filter *f = is_err ? &s->err : &s->out;
    struct label *l = is_err ? s->label_err : s->label_out;

    if (f->one && f->task != io->task_id)
        return;
    if (io->data.len)
        label_data(l, io->task_id, (const char *)io->data.data, io->data.len);
    if (io->eof)
        label_eof(l, io->task_id);
}

static void tell_exits(const Pst__StepTaskExit *e)
{
    int code = tasks_exit_code(e->status, e->oom);

    for (size_t i = 0; code != 0 && i < e->n_task_ids; i++)
        cli_error("task %u exited with exit code %d", e->task_ids[i], code);
}

static void on_frame(struct sattach *s, struct node *n, const struct frame *frame)
{
    ProtobufCMessage *msg = NULL;

    if (frame_unpack_request(frame, &msg, NULL) < 0)
        return;
    switch (frame->op) {
    case OP_STEP_IO:
        on_io(s, PB_AS(step_io, msg));
        break;
    case OP_STEP_TASK_EXIT: {
        const Pst__StepTaskExit *e = PB_AS(step_task_exit, msg);

        s->exit_code = MAX(s->exit_code, tasks_exit_code(e->status, e->oom));
        tell_exits(e);
        break;
    }
    case OP_STEP_MESSAGE: {
        const char *text = PB_AS(step_message, msg)->text;

        (void)fprintf(stderr, "%s", text ? text : "");
        break;
    }
    case OP_STEP_DONE:
        n->client = client_free(n->client);
        break;
    default:
        break;
    }
    protobuf_c_message_free_unpacked(msg, NULL);
}

static void read_node(struct sattach *s, struct node *n)
{
    struct frame frame;
    int r = 1;

    while (n->client && r > 0) {
        r = client_recv(n->client, 0, &frame);
        if (r > 0)
            on_frame(s, n, &frame);
    }
    if (r < 0 && n->client) {
        cli_error("Connection to node %s lost", n->name);
        s->exit_code = MAX(s->exit_code, CLI_EXIT_FAILED);
        n->client = client_free(n->client);
    }
}

/* ---- input ----------------------------------------------------------------------------------- */

static void send_input(struct sattach *s, const char *data, size_t len)
{
    Pst__StepIo io = PST__STEP_IO__INIT;

    io.has_task_id = s->in.one || s->pty;
    io.task_id = s->in.one ? s->in.task : 0;
    io.has_stream = io.has_data = true;
    io.stream = PST__STEP_STREAM__STREAM_STDIN;
    io.data.data = (uint8_t *)data;
    io.data.len = len;
    for (size_t i = 0; i < s->n_nodes; i++)
        if (s->nodes[i].client)
            (void)client_send_nonblock(s->nodes[i].client, OP_STEP_IO, FRAME_ONEWAY,
                                       client_next_id(s->nodes[i].client),
                                       &io.base); /* read_node() sees it */
}

static void read_input(struct sattach *s)
{
    char buf[INPUT_CHUNK];
    ssize_t n = read(STDIN_FILENO, buf, sizeof(buf));

    if (n > 0)
        send_input(s, buf, (size_t)n);
    else if (n == 0 || errno != EINTR)
        s->in_eof = true;
}

static void send_window(struct sattach *s)
{
    Pst__StepSignal sig = PST__STEP_SIGNAL__INIT;
    struct winsize ws;

    if (!s->pty || s->n_nodes == 0 || !s->nodes[0].client ||
        ioctl(STDIN_FILENO, TIOCGWINSZ, &ws) < 0)
        return;
    sig.has_rows = sig.has_cols = true;
    sig.rows = ws.ws_row;
    sig.cols = ws.ws_col;
    (void)client_send_nonblock(s->nodes[0].client, OP_STEP_SIGNAL, FRAME_ONEWAY,
                               client_next_id(s->nodes[0].client),
                               &sig.base); /* read_node() sees it */
}

static void open_terminal(struct sattach *s)
{
    struct termios raw;
    sigset_t set;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGWINCH);
    (void)sigprocmask(SIG_BLOCK, &set, NULL); /* valid arguments */
    s->sig_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (!s->pty || tcgetattr(STDIN_FILENO, &s->saved) < 0)
        return;
    raw = s->saved;
    cfmakeraw(&raw);
    s->tty_raw = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
    send_window(s);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static bool nodes_behind(const struct sattach *s)
{
    for (size_t i = 0; i < s->n_nodes; i++)
        if (s->nodes[i].client && client_out_pending(s->nodes[i].client) > NODE_OUT_MAX)
            return true;
    return false;
}

static void run_loop(struct sattach *s)
{
    struct pollfd *fds = xmalloc_or_die((s->n_nodes + 2) * sizeof(*fds));
    size_t live = 1;

    while (live > 0) {
        struct signalfd_siginfo si;

        live = 0;
        fds[0] = (struct pollfd){ .fd = s->in_eof || nodes_behind(s) ? -1 : STDIN_FILENO,
                                  .events = POLLIN };
        fds[1] = (struct pollfd){ .fd = s->sig_fd, .events = POLLIN };
        for (size_t i = 0; i < s->n_nodes; i++) {
            struct client *c = s->nodes[i].client;

            live += c != NULL;
            fds[i + 2] = (struct pollfd){
                .fd = c ? client_fd(c) : -1,
                .events = (short)(POLLIN | (c ? client_out_events(c) : 0)),
            };
        }
        if (live == 0 || (poll(fds, (nfds_t)(s->n_nodes + 2), -1) < 0 && errno != EINTR))
            break;
        if (fds[0].revents)
            read_input(s);
        while (read(s->sig_fd, &si, sizeof(si)) == (ssize_t)sizeof(si))
            send_window(s);
        for (size_t i = 0; i < s->n_nodes; i++) {
            if (s->nodes[i].client && fds[i + 2].revents & POLLOUT)
                (void)client_flush(s->nodes[i].client); /* read_node() sees it */
            if (s->nodes[i].client && fds[i + 2].revents & (POLLIN | POLLHUP | POLLERR))
                read_node(s, &s->nodes[i]);
        }
    }
    free(fds);
}

static void drain_buffered(struct sattach *s)
{
    for (size_t i = 0; i < s->n_nodes; i++)
        if (s->nodes[i].client)
            read_node(s, &s->nodes[i]); /* frames that came with the answer */
}

static void attach_nodes(struct sattach *s)
{
    enum label_mode mode = s->label ? LABEL_TASKS : LABEL_RAW;

    s->nodes = xmalloc_or_die((s->n_nodes + 1) * sizeof(*s->nodes));
    s->label_out = label_new(mode, s->n_tasks, emit_bytes, stdout);
    s->label_err = label_new(mode, s->n_tasks, emit_bytes, stderr);
    for (size_t i = 0; i < s->n_nodes; i++)
        attach_to(s, i);
    open_terminal(s);
    drain_buffered(s);
    run_loop(s);
    label_eof_all(s->label_out);
    label_eof_all(s->label_err);
    if (s->tty_raw)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &s->saved);
}

int main(int argc, char **argv)
{
    struct sattach s = { .sig_fd = -1 };
    Pst__AccessRequest req = PST__ACCESS_REQUEST__INIT;
    ProtobufCMessage *msg = NULL;
    struct err err = { .text = "" };

    cli_init(&s.cli, "sattach");
    (void)signal(SIGPIPE, SIG_IGN);
    req.id = (char *)step_named(argc, argv, opts_parse(&command, argc, argv, &s));
    req.has_purpose = true;
    req.purpose = PST__CRED_PURPOSE__CRED_ATTACH;
    if (cli_call(&s.cli, OP_ACCESS, &req.base, &msg, NULL, &err) < 0)
        cli_die(CLI_EXIT_FAILED, "Could not get job step info: %s", err.text);
    s.reply = PB_AS(step_reply, msg);
    if (!s.reply->step)
        cli_die(CLI_EXIT_FAILED, "Could not get job step info: the answer has none");
    count_tasks(&s);
    if (s.layout)
        print_layout(&s);
    else
        attach_nodes(&s);
    protobuf_c_message_free_unpacked(msg, NULL);
    label_free(s.label_out);
    label_free(s.label_err);
    free(s.nodes);
    free(s.counts);
    free(s.ranks);
    cli_done(&s.cli);
    return s.exit_code;
}
