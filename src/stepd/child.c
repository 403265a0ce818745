/* child.c - one new process of the step; see step.h
 *
 * The child shares our memory until it execs (as posix_spawn does), so starting one costs no page
 * tables, and failures come back in the struct.  Between clone and exec it only makes system calls:
 * no allocation, no locks, nothing that our own state could notice. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "stepd/step.h"

#define STACK_SIZE (64u * 1024u)

static const struct {
    const char *name;
    int resource;
} limit_names[] = {
    { "AS", RLIMIT_AS },         { "CORE", RLIMIT_CORE },   { "CPU", RLIMIT_CPU },
    { "DATA", RLIMIT_DATA },     { "FSIZE", RLIMIT_FSIZE }, { "MEMLOCK", RLIMIT_MEMLOCK },
    { "NOFILE", RLIMIT_NOFILE }, { "NPROC", RLIMIT_NPROC }, { "RSS", RLIMIT_RSS },
    { "STACK", RLIMIT_STACK },
};

/* A limit that we may not raise so far is raised as far as we may: Slurm's behaviour too. */
static void set_limit(const Pst__Rlimit *l)
{
    for (size_t i = 0; i < ARRAY_SIZE(limit_names); i++) {
        struct rlimit rl;

        if (!l->name || strcmp(l->name, limit_names[i].name) != 0 ||
            getrlimit(limit_names[i].resource, &rl) < 0)
            continue;
        rl.rlim_cur = l->soft == UINT64_MAX ? RLIM_INFINITY : (rlim_t)l->soft;
        if (rl.rlim_cur > rl.rlim_max) {
            struct rlimit raised = { .rlim_cur = rl.rlim_cur, .rlim_max = rl.rlim_cur };

            if (setrlimit(limit_names[i].resource, &raised) == 0)
                return;
            rl.rlim_cur = rl.rlim_max;
        }
        (void)setrlimit(limit_names[i].resource, &rl); /* the user's wish, not a condition */
        return;
    }
}

static void set_limits(const struct step *s)
{
    const Pst__LaunchStep *launch = s->launch;
    Pst__Rlimit *const *limits = launch ? launch->rlimits : s->job->rlimits;
    size_t n = launch ? launch->n_rlimits : s->job->n_rlimits;

    for (size_t i = 0; i < n; i++)
        set_limit(limits[i]);
}

static void write_pid(char *slot)
{
    char digits[16];
    int n = 0;

    for (unsigned pid = (unsigned)syscall(SYS_getpid); pid; pid /= 10)
        digits[n++] = (char)('0' + pid % 10);
    while (n > 0)
        *slot++ = digits[--n];
    *slot = '\0';
}

/* Standard streams into place.  Sources are above 2: slurmd left 0 to 2 open for us. */
static int place_fds(const struct child *c)
{
    for (int i = 0; i < 3; i++)
        if (dup2(c->fds[i], i) < 0)
            return -errno;
    for (size_t i = 0; i < c->n_give; i++)
        if (dup2(c->give[i], 3 + (int)i) < 0)
            return -errno;
    return c->keep_fd && fcntl(c->keep_fd, F_SETFD, 0) < 0 ? -errno : 0;
}

static int become_user(const struct step *s)
{
    if (!s->switch_user)
        return 0;
    /* Raw calls: the library's versions look for other threads, which the memory we share does not
     * have. */
    if (syscall(SYS_setgroups, s->n_gids, s->gids) < 0 ||
        syscall(SYS_setresgid, s->gid, s->gid, s->gid) < 0 ||
        syscall(SYS_setresuid, s->uid, s->uid, s->uid) < 0)
        return -errno;
    return 0;
}

/* Try the candidates as a shell does: go on over missing ones, remember a forbidden one. */
static int exec_any(const struct child *c)
{
    int err = ENOENT;

    for (char *const *p = c->paths; *p; p++) {
        (void)execve(*p, c->argv, c->envp);
        if (errno == EACCES)
            err = EACCES;
        else if (errno != ENOENT && errno != ENOTDIR)
            return -errno;
    }
    return -err;
}

static int fail(struct child *c, int stage, int r)
{
    c->stage = stage;
    c->err = r;
    return 127;
}

static int child_main(void *arg)
{
    struct child *c = arg;
    const struct step *s = c->step;
    sigset_t none;
    int r;

    (void)setsid(); /* a fresh process cannot lead a group already */
    if (s->track.join_fd >= 0 && write(s->track.join_fd, "0", 1) < 0)
        return fail(c, CHILD_SETUP, -errno);
    if (c->tty >= 0 && ioctl(c->tty, TIOCSCTTY, 0) < 0)
        return fail(c, CHILD_SETUP, -errno);
    if (c->limits)
        set_limits(s);
    if (c->cpu_set) /* a CPU that has gone offline is no reason not to run */
        (void)syscall(SYS_sched_setaffinity, 0, c->cpu_set_size, c->cpu_set);
    (void)umask(s->umask);
    r = become_user(s);
    if (r < 0)
        return fail(c, CHILD_IDENTITY, r);
    if (chdir(s->work_dir) < 0) {
        if (!c->any_dir)
            return fail(c, CHILD_CHDIR, -errno);
        if (chdir("/tmp") < 0 && chdir("/") < 0)
            return fail(c, CHILD_CHDIR, -errno);
    }
    r = place_fds(c);
    if (r < 0)
        return fail(c, CHILD_SETUP, r);
    if (c->pid_slot)
        write_pid(c->pid_slot);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    r = exec_any(c);
    return fail(c, CHILD_EXEC, r);
}

int child_start(struct child *c, pid_t *ret_pid)
{
    static char *stack; /* one thread, one child at a time until its exec */
    pid_t pid;

    if (!stack) {
        stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
        if (stack == MAP_FAILED) {
            stack = NULL;
            return -ENOMEM;
        }
    }
    c->err = 0;
    pid = clone(child_main, stack + STACK_SIZE, CLONE_VM | CLONE_VFORK | SIGCHLD, c);
    if (pid < 0) {
        c->stage = CHILD_SETUP;
        c->err = -errno;
        return c->err;
    }
    if (c->err < 0) {
        (void)waitpid(pid, NULL, 0); /* its story is in c */
        return c->err;
    }
    *ret_pid = pid;
    return 0;
}
