/* child.c - one new process of the step; see step.h
 *
 * The child shares our memory until it execs (as posix_spawn does), so starting one costs no page
 * tables, and failures come back in the struct.  Between clone and exec it only makes system calls:
 * no allocation, no locks, nothing that our own state could notice.
 *
 * With cgroups of version 2 it is born in its cgroup: moving there takes a lock across the
 * machine, which costs milliseconds.  The C library has no such call, so it cannot share our
 * stack and gets a copy of our few pages; how far it came is then told in a shared one.
 *
 * A process may be made before it is known what it becomes (child_reserve()): TaskProlog is told
 * its number.  It waits in our memory for a byte, and while it then goes on we stand still as for
 * vfork(). */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/failpoint.h"
#include "base/process/inherit.h"
#include "stepd/ns/jobns.h"
#include "stepd/step.h"

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
int child_place_fds(const struct child *c)
{
    for (int i = 0; i < 3; i++)
        if (dup2(c->fds[i], i) < 0)
            return -errno;
    for (size_t i = 0; i < c->n_give; i++)
        if (dup2(c->give[i], 3 + (int)i) < 0)
            return -errno;
    return c->keep_fd && fcntl(c->keep_fd, F_SETFD, 0) < 0 ? -errno : 0;
}

int child_become(const struct child *c)
{
    const struct step *s = c->step;

    if (!s->switch_user)
        return 0;
    /* Raw calls: the library's versions look for other threads, which the memory we share does not
     * have. */
    if (syscall(SYS_setgroups, s->n_in_gids, s->in_gids) < 0 ||
        syscall(SYS_setresgid, s->in_gid, s->in_gid, s->in_gid) < 0 ||
        syscall(SYS_setresuid, s->in_uid, s->in_uid, s->in_uid) < 0)
        return -errno;
    return 0;
}

/* Try the candidates as a shell does: go on over missing ones, remember a forbidden one.  What a
 * folder of PATH that the user may not look into holds is missing (recordings 42, 67). */
static int exec_any(const struct child *c)
{
    int err = ENOENT;

    for (char *const *p = c->paths; *p; p++) {
        (void)execve(*p, c->argv, c->envp);
        if (errno == EACCES)
            err = p[1] && access(*p, F_OK) < 0 ? err : EACCES;
        else if (errno != ENOENT && errno != ENOTDIR)
            return -errno;
    }
    return -err;
}

static int note_failure(struct child *c, int stage, int r)
{
    c->outcome->stage = stage;
    c->outcome->err = r;
    return 127;
}

/* Become a member of the cgroups that the process was not born in. */
static int join_cgroups(const struct child *c)
{
    for (int i = 0; i < c->n_join; i++) {
        int fd = c->join[i];

        if (c->step->cg.tree.kind == CGROUP_V2)
            fd = openat(fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
        if (fd < 0 || write(fd, "0", 1) < 0)
            return -errno;
    }
    return 0;
}

/* A service manager may keep the kernel from ending slurmd when memory is short; tasks are ended
 * then. */
static void drop_protection(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return;
    (void)!write(fd, "0", 1); /* raising it is always allowed */
    (void)close(fd);
}

int child_join(const struct child *c)
{
    int r;

    (void)setsid(); /* a fresh process cannot lead a group already */
    if (c->step->oom_protected)
        drop_protection();
    r = c->born_inside ? 0 : join_cgroups(c);
    if (r < 0)
        return r;
    if (c->tty >= 0 && ioctl(c->tty, TIOCSCTTY, 0) < 0)
        return -errno;
    if (c->limits)
        set_limits(c->step);
    if (c->has_nice) /* a value that cannot be had is no reason not to run */
        (void)setpriority(PRIO_PROCESS, 0, c->nice);
    if (c->cpu_set) /* a CPU that has gone offline is no reason not to run */
        (void)syscall(SYS_sched_setaffinity, 0, c->cpu_set_size, c->cpu_set);
    if (c->mem_domains &&
        syscall(SYS_set_mempolicy, c->mem_policy, c->mem_domains, c->n_mem_domains) < 0 &&
        c->outcome)
        c->outcome->mem_err = -errno;
    (void)umask(c->step->umask);
    return c->step->ns_flags ? nsfirst_enter(c->step) : 0;
}

int child_chdir(const struct child *c)
{
    if (chdir(c->step->work_dir) == 0)
        return 0;
    if (!c->any_dir || (chdir("/tmp") < 0 && chdir("/") < 0))
        return -errno;
    return 0;
}

int child_exec(const struct child *c)
{
    sigset_t none;

    if (c->pid_slot)
        write_pid(c->pid_slot);
    /* plugins and libraries open without asking */
    inherit_close(3 + (int)c->n_give, c->keep_fd ? c->keep_fd : -1);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    return exec_any(c);
}

static int child_main(void *arg)
{
    struct child *c = arg;
    int r = child_join(c);

    if (r < 0)
        return note_failure(c, CHILD_SETUP, r);
    r = child_become(c);
    if (r < 0)
        return note_failure(c, CHILD_IDENTITY, r);
    r = child_chdir(c);
    if (r < 0)
        return note_failure(c, CHILD_CHDIR, r);
    r = child_place_fds(c);
    if (r < 0)
        return note_failure(c, CHILD_SETUP, r);
    r = child_exec(c);
    return note_failure(c, CHILD_EXEC, r);
}

/* A page that nobody may touch lies below: a child that needs more dies, and does not write into
 * what we have there. */
static char *make_stack(void)
{
    size_t guard = (size_t)sysconf(_SC_PAGESIZE);
    char *at =
        mmap(NULL, guard + CHILD_STACK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);

    if (at == MAP_FAILED)
        return NULL;
    if (mprotect(at + guard, CHILD_STACK, PROT_READ | PROT_WRITE) < 0) {
        (void)munmap(at, guard + CHILD_STACK);
        return NULL;
    }
    return at + guard;
}

/* One thread, one child at a time until its exec: one of each for all. */
static int make_pages(struct child_pages *p)
{
    void *shared;

    if (!p->stack)
        p->stack = make_stack();
    if (!p->outcome) {
        shared = mmap(NULL, sizeof(*p->outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                      -1, 0);
        p->outcome = shared == MAP_FAILED ? NULL : shared;
    }
    return p->stack && p->outcome ? 0 : -ENOMEM;
}

/* -ENOSYS: not with this kernel, or not in this container. */
static pid_t clone_into_cgroup(struct child *c)
{
    struct clone_args args = {
        .flags = CLONE_VFORK | CLONE_INTO_CGROUP,
        .exit_signal = SIGCHLD,
        .cgroup = (uint64_t)c->join[0],
    };
    long pid;

    c->born_inside = true;
    pid = syscall(SYS_clone3, &args, sizeof(args));
    if (pid == 0)
        _exit(child_main(c));
    c->born_inside = false;
    return pid < 0 ? (errno == EPERM ? -ENOSYS : -errno) : (pid_t)pid;
}

static pid_t make_process(struct child *c)
{
    char *stack_end = c->step->child_pages.stack + CHILD_STACK;
    pid_t pid = -ENOSYS;

    if (c->env)
        return c->step->plug_ops->fork(c);
    if (c->n_join && c->step->cg.tree.kind == CGROUP_V2)
        pid = clone_into_cgroup(c);
    if (pid == -ENOSYS) {
        pid = clone(child_main, stack_end, CLONE_VM | CLONE_VFORK | SIGCHLD, c);
        pid = pid < 0 ? -errno : pid;
    }
    return pid;
}

static int open_cgroups(struct child *c)
{
    const struct cgroup *cg = &c->step->cg;
    uint32_t place = c->task ? c->task->rank : CGROUP_SPECIAL;
    int r = cgroup_task(cg, place, NULL, 0);

    if (r == 0)
        r = c->n_join = cgroup_task_open(cg, place, c->join);
    return r;
}

static void close_cgroups(struct child *c)
{
    for (int i = 0; i < c->n_join; i++)
        (void)close(c->join[i]); /* the child has its own */
    c->n_join = 0;
}

/* ---- a process that waits for its program ---------------------------------------------------- */

/* Runs beside us in our memory: its own stack and kernel calls are all it touches until it is told
 * to go on, and then we stand still.  It is as privileged as we are until then, so that no user can
 * send it a signal. */
static int wait_for_program(void *arg)
{
    struct child *c = arg;
    int fd = c->seat_fds[1];
    unsigned number = (unsigned)syscall(SYS_getpid);
    char go;

    (void)syscall(SYS_close, c->seat_fds[0]); /* else it would not see that we are gone */
    if (syscall(SYS_write, fd, &number, sizeof(number)) != (long)sizeof(number) ||
        syscall(SYS_read, fd, &go, sizeof(go)) != (long)sizeof(go))
        return 127;
    return child_main(c);
}

/* Until it has its program, or has ended: the kernel clears the word then. */
static void wait_unshared(struct child *c)
{
    uint32_t tid;

    while ((tid = __atomic_load_n(&c->shares, __ATOMIC_ACQUIRE)))
        (void)syscall(SYS_futex, &c->shares, FUTEX_WAIT, tid, NULL, NULL, 0);
}

int child_reserve(struct child *c)
{
    struct child_pages *pages = &c->step->child_pages;
    const int flags = CLONE_VM | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD;
    ssize_t n;
    pid_t pid;
    int r;

    if (!pages->seat_stack)
        pages->seat_stack = make_stack();
    if (!pages->seat_stack)
        return -ENOMEM;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, c->seat_fds) < 0)
        return -errno;
    r = open_cgroups(c);
    pid = r < 0 ? r
                : clone(wait_for_program, pages->seat_stack + CHILD_STACK, flags, c, &c->shares,
                        NULL, &c->shares);
    if (pid < 0) {
        r = r < 0 ? r : -errno;
        close_cgroups(c);
        (void)close(c->seat_fds[0]);
        (void)close(c->seat_fds[1]);
        return r;
    }
    c->seat = pid;
    do
        n = recv(c->seat_fds[0], &c->number, sizeof(c->number), MSG_WAITALL);
    while (n < 0 && errno == EINTR);
    (void)close(c->seat_fds[1]);
    if (n == (ssize_t)sizeof(c->number))
        return 0;
    child_release(c); /* somebody ended it */
    return -ECHILD;
}

void child_release(struct child *c)
{
    if (!c->seat)
        return;
    (void)close(c->seat_fds[0]);     /* it ends */
    (void)waitpid(c->seat, NULL, 0); /* -ECHILD: the loop has collected it */
    wait_unshared(c);
    c->seat = 0;
    close_cgroups(c);
}

/* Let it go on to its program.  0: it is not there any more. */
static pid_t use_seat(struct child *c)
{
    pid_t pid = c->seat;

    if (!pid)
        return 0;
    if (waitpid(pid, NULL, WNOHANG) != 0 || send(c->seat_fds[0], "", 1, MSG_NOSIGNAL) != 1)
        pid = 0; /* what is left of it is for child_release() */
    else
        wait_unshared(c);
    if (pid) {
        (void)close(c->seat_fds[0]);
        c->seat = 0;
    }
    return pid;
}

int child_start(struct child *c, pid_t *ret_pid)
{
    pid_t pid = 0;
    int r = failpoint("stepd-start") ? -EAGAIN : make_pages(&c->step->child_pages);

    if (r == 0 && !c->seat)
        r = open_cgroups(c);
    if (r >= 0) {
        c->outcome = c->step->child_pages.outcome;
        *c->outcome = (struct child_outcome){ .err = 0 };
        pid = use_seat(c);
        if (!pid)
            pid = make_process(c);
        r = MIN(pid, 0);
    }
    close_cgroups(c);
    c->stage = r < 0 ? CHILD_SETUP : c->outcome->stage;
    c->err = r < 0 ? r : c->outcome->err;
    c->mem_err = r < 0 ? 0 : c->outcome->mem_err;
    if (c->err < 0) {
        if (pid > 0)
            (void)waitpid(pid, NULL, 0); /* its story is in c */
        return c->err;
    }
    *ret_pid = pid;
    return 0;
}
