/* plugchild.c - a task whose beginning is called by plugins; see plug.h
 *
 * The code of others may take its time before the program begins, so that the step daemon cannot
 * wait for that as it does for an ordinary child (child.c): the task goes on when the step daemon
 * has told the plugins of it, and tells its failures itself. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdnoreturn.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "stepd/plug/plug.h"

#define FD_GO 64 /* at least: above those that the task is given */

void plug_about(struct plug *p, int task, struct envlist *env)
{
    p->host.facts.task = task;
    p->env = env;
}

static noreturn void fail_task(int status, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static noreturn void fail_task(int status, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    (void)dprintf(STDERR_FILENO, "slurmstepd: error: ");
    (void)vdprintf(STDERR_FILENO, fmt, ap);
    (void)dprintf(STDERR_FILENO, "\n");
    va_end(ap);
    _exit(status);
}

static void call_plugins(const struct child *c, enum spank_call what)
{
    struct err err = { .text = "" };

    if (spank_stack_call(c->step->plug->stack, what, &err) != 0)
        fail_task(1, "task %u: %s", c->task->rank, err.text);
}

/* The command behind what plugins put before it.  Its program is then looked for like any other. */
static char *const *make_command(const struct child *c, bool *ret_changed)
{
    size_t n = 0, before;
    char *const *first = spank_prepended(c->step->plug->stack, &before);
    char **argv;

    *ret_changed = before > 0;
    if (!before)
        return c->argv;
    while (c->argv[n])
        n++;
    argv = calloc(before + n + 1, sizeof(*argv));
    if (!argv)
        fail_task(1, ERR_NOMEM);
    memcpy(argv, first, before * sizeof(*argv));
    memcpy(argv + before, c->argv, n * sizeof(*argv));
    if (!c->along_path)
        argv[before] = c->paths[0]; /* a batch script's own place */
    return argv;
}

static noreturn void run_program(struct child *c)
{
    struct envlist store = ENVLIST_INIT;
    const char *shown = c->paths[0];
    bool changed;
    int r;

    c->argv = make_command(c, &changed);
    if (c->along_path || changed) /* PATH may be another now */
        c->paths = launch_paths(c->step, c->argv[0], c->env, &store, &shown);
    c->envp = envlist_array(c->env);
    if (!c->paths || !c->envp)
        fail_task(1, ERR_NOMEM);
    r = child_exec(c);
    fail_task(-r & 0xff, "execve(): %s: %s", shown, strerror(-r));
}

static noreturn void in_child(struct child *c, int go_fd)
{
    struct plug *p = c->step->plug;
    int task = (int)(c->task - c->step->tasks);
    sigset_t none;
    char go;
    int r = child_join(c);

    if (r == 0)
        r = child_place_fds(c);
    if (r < 0)
        fail_task(1, "task %u could not be set up: %s", c->task->rank, strerror(-r));
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL); /* for the programs that plugins run, too */
    p->in_task = true;
    p->pids[task] = getpid();
    plug_about(p, task, c->env);
    call_plugins(c, SPANK_TASK_INIT_PRIVILEGED);
    r = child_become(c);
    if (r < 0)
        fail_task(1, "could not become user %u: %s", c->step->uid, strerror(-r));
    r = child_chdir(c);
    if (r < 0)
        fail_task(1, "could not chdir to %s: %s", c->step->work_dir, strerror(-r));
    while ((r = (int)read(go_fd, &go, 1)) < 0 && errno == EINTR)
        ;
    if (r != 1)
        _exit(1); /* the step daemon said why */
    call_plugins(c, SPANK_TASK_INIT);
    run_program(c);
}

static int tell_plugins(struct child *c, pid_t pid)
{
    _cleanup_val_(envlist_done) struct envlist env =
        ENVLIST_INIT; /* changes are too late for this task, and not the next one's */
    struct plug *p = c->step->plug;
    struct err err = { .text = "" };
    int task = (int)(c->task - c->step->tasks), r;

    envlist_borrow(&env, c->env);
    p->pids[task] = pid;
    plug_about(p, task, &env);
    r = spank_stack_call(p->stack, SPANK_TASK_POST_FORK, &err);
    plug_about(p, -1, &c->step->env);
    if (r != 0)
        step_fail(c->step, "%s", err.text);
    return r;
}

pid_t plug_fork(struct child *c)
{
    _cleanup_close_ int go = -1, high = -1;
    int ends[2];
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    high = fcntl(ends[0], F_DUPFD_CLOEXEC, FD_GO);
    (void)close(ends[0]); /* replaced */
    go = ends[1];
    if (high < 0)
        return -errno;
    pid = fork();
    if (pid < 0)
        return -errno;
    if (pid == 0) {
        (void)close(go); /* or we would wait for ourselves */
        in_child(c, high);
    }
    if (tell_plugins(c, pid) == 0 && write(go, "", 1) < 0)
        step_notice(c->step, "task %u could not be told to go on: %s", c->task->rank,
                    strerror(errno));
    return pid;
}
