/* runtime.c - running a container by the commands of oci.conf; see oci.h
 *
 * We stay, as the leader of the task's session: signals of the step come to us and are passed on,
 * and what becomes an orphan (a container that was created) becomes our child, so that its exit
 * status is known.  Commands get a process group of their own, the terminal's foreground while the
 * container runs in it. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/inherit.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "oci/oci.h"

#define STATE_MAX 65536u /* bytes of what RunTimeQuery prints */
#define CREATED_MS 60000 /* a container that is not created by then does not come */
#define QUERY_PAUSE_MS 50
#define UNKNOWN (-1) /* no wait status yet */

struct child {
    pid_t pid; /* 0 = none */
    int status;
};

struct runner {
    struct oci *o;
    int sig_fd;
    struct child command;   /* what is waited for */
    struct child container; /* its first process, when we know it */
    struct child killer;    /* RunTimeKill */
    bool up;                /* the container runs: signals are for it */
};

static void note_end(struct child *c, pid_t pid, int status)
{
    if (c->pid == pid && c->status == UNKNOWN)
        c->status = status;
}

/* ---- commands -------------------------------------------------------------------------------- */

static void exec_command(const struct runner *r, const char *line, int out_fd, bool quiet)
{
    char listen_pid[32], sh[] = "sh", c[] = "-c";
    char *argv[] = { sh, c, (char *)(uintptr_t)line, NULL };
    sigset_t none;

    (void)setpgid(0, 0);
    if (!quiet && out_fd < 0)
        (void)tcsetpgrp(0, getpid()); /* no terminal: nothing to do */
    if (quiet || out_fd >= 0) {
        int null_fd = open("/dev/null", O_RDWR);

        if (null_fd < 0 || dup2(null_fd, 0) < 0 || dup2(out_fd >= 0 ? out_fd : null_fd, 1) < 0 ||
            (quiet && dup2(null_fd, 2) < 0))
            _exit(126);
        (void)close(null_fd);
    }
    if (r->o->task->pmi) { /* as for a service that gets sockets: a runtime that passes descriptors
                              on to the container looks for this variable */
        (void)snprintf(listen_pid, sizeof(listen_pid), "LISTEN_PID=%d", (int)getpid());
        if (oci_env_set(&r->o->outer, listen_pid) < 0)
            _exit(126);
    }
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    inherit_close(r->o->task->pmi ? 4 : 3, -1); /* the service is 3 */
    (void)execve("/bin/sh", argv, r->o->outer);
    _exit(127);
}

/* out_fd: its standard output, -1 = ours.  quiet: it has no streams. */
static int start_command(const struct runner *r, const char *pattern, int out_fd, bool quiet,
                         struct child *ret)
{
    _cleanup_free_ char *line = NULL;
    pid_t pid;

    if (oci_command(pattern, &r->o->vars, &line) < 0)
        return -ENOMEM;
    pid = fork();
    if (pid < 0)
        return -errno;
    if (pid == 0)
        exec_command(r, line, out_fd, quiet);
    (void)setpgid(
        pid,
        pid); /* here too, so that it holds when we signal it; it may have done so and gone on */
    *ret = (struct child){ .pid = pid, .status = UNKNOWN };
    return 0;
}

static int code_of(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- signals and ends ------------------------------------------------------------------------ */

static void pass_on(struct runner *r, int sig)
{
    if (r->up && r->container.pid > 0 && r->container.status == UNKNOWN)
        (void)kill(r->container.pid, sig); /* it may have ended, as the others */
    else if (r->command.pid > 0 && r->command.status == UNKNOWN)
        (void)kill(-r->command.pid, sig);
}

static void on_signal(struct runner *r, int sig)
{
    const char *kill_command = r->o->plan->kill;

    if (sig == SIGTERM && r->up && kill_command && r->killer.pid == 0 &&
        start_command(r, kill_command, -1, true, &r->killer) == 0)
        return;
    pass_on(r, sig);
}

static void reap_children(struct runner *r)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        note_end(&r->command, pid, status);
        note_end(&r->container, pid, status);
        if (pid != r->killer.pid)
            continue;
        if (status != 0)
            pass_on(r, SIGTERM); /* there was no container yet, or the command is of no use */
        r->killer.pid = 0;
    }
}

static void read_signals(struct runner *r)
{
    struct signalfd_siginfo si;

    while (read(r->sig_fd, &si, sizeof(si)) == (ssize_t)sizeof(si))
        if (si.ssi_signo == SIGCHLD)
            reap_children(r);
        else
            on_signal(r, (int)si.ssi_signo);
}

/* Until this child has ended, or, with a pidfd, a process that is not ours. */
static int wait_for(struct runner *r, const struct child *c, int pid_fd)
{
    struct pollfd p[] = { { .fd = r->sig_fd, .events = POLLIN },
                          { .fd = pid_fd, .events = POLLIN } };

    reap_children(r);
    while (c->status == UNKNOWN) {
        if (poll(p, ARRAY_SIZE(p), -1) < 0 && errno != EINTR)
            return -errno;
        read_signals(r);
        if (p[1].revents) {
            reap_children(r);
            break;
        }
    }
    return 0;
}

/* A command to its end. */
static int run_command(struct runner *r, const char *pattern, bool quiet, int *ret_code)
{
    int e = start_command(r, pattern, -1, quiet, &r->command);

    if (e == 0)
        e = wait_for(r, &r->command, -1);
    if (e == 0)
        *ret_code = code_of(r->command.status);
    return e;
}

/* ---- run ------------------------------------------------------------------------------------- */

static int run_whole(struct runner *r, int *ret_code, struct err *err)
{
    int e = start_command(r, r->o->plan->run, -1, false, &r->command);

    r->up = true;
    r->o->vars.pid = r->command.pid;
    if (e == 0)
        e = wait_for(r, &r->command, -1);
    if (e < 0)
        return err_set(err, e, "RunTimeRun could not be started: %s", strerror(-e));
    *ret_code = code_of(r->command.status);
    return 0;
}

/* ---- create, start --------------------------------------------------------------------------- */

static int parse_state(const char *text, size_t len, bool *ret_creating, pid_t *ret_pid,
                       struct err *err)
{
    json_error_t why;
    json_t *state = json_loadb(text, len, 0, &why);
    const char *status = json_string_value(json_object_get(state, "status"));
    json_int_t pid = json_integer_value(json_object_get(state, "pid"));
    int r = 0;

    if (!state)
        r = err_set(err, -EINVAL, "what RunTimeQuery prints is no JSON: %s", why.text);
    else if (!status)
        r = err_set(err, -EINVAL, "what RunTimeQuery prints has no status");
    else if (strcmp(status, "stopped") == 0)
        r = err_set(err, -ESRCH, "the container ended before it was started");
    else if (strcmp(status, "creating") != 0 && (pid <= 0 || pid > INT32_MAX))
        r = err_set(err, -EINVAL, "what RunTimeQuery prints has no pid");
    if (r == 0) {
        *ret_creating = strcmp(status, "creating") == 0;
        *ret_pid = (pid_t)pid;
    }
    json_decref(state);
    return r;
}

static int query_state(struct runner *r, bool *ret_creating, pid_t *ret_pid, struct err *err)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    _cleanup_close_ int rd = -1, wr = -1;
    ssize_t n = 1;
    int p[2], e;

    if (pipe2(p, O_CLOEXEC) < 0)
        return err_set(err, -errno, "RunTimeQuery: %s", strerror(errno));
    rd = p[0];
    wr = p[1];
    e = start_command(r, r->o->plan->query, wr, false, &r->command);
    (void)close(TAKE_FD(wr));
    while (e == 0 && n > 0 && sb.len < STATE_MAX) {
        char *room = strbuf_room(&sb, 4096);

        n = room ? read(rd, room, 4096) : -1;
        strbuf_grew(&sb, n > 0 ? (size_t)n : 0);
    }
    if (e == 0)
        (void)close(TAKE_FD(rd)); /* one that prints without end ends */
    if (e == 0)
        e = wait_for(r, &r->command, -1);
    if (e == 0 && r->command.status != 0)
        return err_set(err, -EIO, "RunTimeQuery ended with %d", code_of(r->command.status));
    if (e < 0 || sb.failed)
        return err_set(err, e < 0 ? e : -ENOMEM, "RunTimeQuery could not be run");
    return parse_state(strbuf_str(&sb), sb.len, ret_creating, ret_pid, err);
}

static int run_or_fail(struct runner *r, const char *pattern, const char *name, struct err *err)
{
    int code = 0, e = run_command(r, pattern, false, &code);

    if (e < 0)
        return err_set(err, e, "%s could not be started: %s", name, strerror(-e));
    return code == 0 ? 0 : err_set(err, -EIO, "%s ended with %d", name, code);
}

/* The container's first process; the runtime may still be making it. */
static int await_created(struct runner *r, struct err *err)
{
    int64_t until = now_mono_us() + CREATED_MS * 1000LL;
    bool creating = true;
    int e = 0;

    while (e == 0 && creating) {
        e = query_state(r, &creating, &r->container.pid, err);
        if (e == 0 && creating && now_mono_us() > until)
            return err_set(err, -ETIMEDOUT, "the container was not created within %d seconds",
                           CREATED_MS / 1000);
        if (e == 0 && creating)
            (void)poll(NULL, 0, QUERY_PAUSE_MS);
    }
    r->o->vars.pid = r->container.pid;
    return e;
}

static int run_parts(struct runner *r, int *ret_code, struct err *err)
{
    const Pst__OciPlan *plan = r->o->plan;
    _cleanup_close_ int pid_fd = -1;
    int e = run_or_fail(r, plan->create, "RunTimeCreate", err);

    if (e == 0)
        e = await_created(r, err);
    if (e < 0)
        return e;
    r->container.status = UNKNOWN;
    pid_fd = (int)syscall(SYS_pidfd_open, r->container.pid, 0);
    if (pid_fd < 0)
        return err_set(err, -errno, "the container ended before it was started");
    r->up = true;
    e = run_or_fail(r, plan->start, "RunTimeStart", err);
    if (e == 0)
        e = wait_for(r, &r->container, pid_fd);
    if (e < 0)
        return err->text[0]
                   ? e
                   : err_set(err, e, "the container could not be waited for: %s", strerror(-e));
    /* The container was the child of another process, and its status went to that process. */
    *ret_code = r->container.status == UNKNOWN ? 0 : code_of(r->container.status);
    return 0;
}

/* ---- all ------------------------------------------------------------------------------------- */

static int begin_container(struct runner *r)
{
    sigset_t all;

    (void)sigfillset(&all);
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 || sigprocmask(SIG_BLOCK, &all, NULL) < 0)
        return -errno;
    (void)sigdelset(&all, SIGTTOU);
    (void)sigdelset(&all, SIGTTIN);
    (void)sigdelset(&all, SIGPIPE);
    r->sig_fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    return r->sig_fd < 0 ? -errno : 0;
}

int oci_run(struct oci *o, int *ret_code, struct err *err)
{
    struct runner r = { .o = o, .sig_fd = -1 };
    int e = begin_container(&r);

    if (e < 0)
        return err_set(err, e, "the runtime cannot be run: %s", strerror(-e));
    e = o->plan->run ? run_whole(&r, ret_code, err) : run_parts(&r, ret_code, err);
    if (e < 0 && r.container.pid > 0)
        (void)kill(r.container.pid, SIGKILL); /* it never ran what it is there for */
    (void)close(r.sig_fd);
    return e;
}

/* What a runtime that has deleted it by itself says of that is of no interest. */
void oci_delete(struct oci *o)
{
    struct runner r = { .o = o, .sig_fd = -1 };
    int code;

    if (!o->plan->del || begin_container(&r) < 0)
        return;
    (void)run_command(&r, o->plan->del, true, &code);
    (void)close(r.sig_fd);
}
