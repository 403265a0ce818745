/* child.c - one new process of the step; see step.h
 *
 * The child is a copy of us until it execs: we are small and linked statically, so that costs
 * little.  A socket tells that it came there, for its exec closes it; a child that fails, or has
 * more to say, writes that there.  We wait for it only for a moment: the user's file system, or
 * the holder of a lease on the program, may keep it from its program for as long as he likes, and
 * we must hear orders meanwhile.  A child that takes longer is started all the same; what goes
 * wrong then it says itself.
 *
 * With cgroups of version 2 it is born in its cgroup: moving there takes a lock across the
 * machine, which costs milliseconds.
 *
 * A process may be made before it is known what it becomes (child_reserve()): TaskProlog is told
 * its number.  It waits for its environment then. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/failpoint.h"
#include "base/process/inherit.h"
#include "base/timefmt.h"
#include "stepd/ns/jobns.h"
#include "stepd/step.h"
#include "stepd/use/procscan.h"

#define REPORT_FD 64 /* at least: above those that a task is given */
#define SOON_MS 500  /* a program that takes longer begins beside us */
#define NEXT_MS 5    /* ... when several did */
#define SLOW_MOST 2u

static const struct {
    const char *name;
    int resource;
} limit_names[] = {
    { "AS", RLIMIT_AS },         { "CORE", RLIMIT_CORE },   { "CPU", RLIMIT_CPU },
    { "DATA", RLIMIT_DATA },     { "FSIZE", RLIMIT_FSIZE }, { "MEMLOCK", RLIMIT_MEMLOCK },
    { "NOFILE", RLIMIT_NOFILE }, { "NPROC", RLIMIT_NPROC }, { "RSS", RLIMIT_RSS },
    { "STACK", RLIMIT_STACK },
};

static int limit_resource(const char *name)
{
    for (size_t i = 0; name && i < ARRAY_SIZE(limit_names); i++)
        if (strcmp(name, limit_names[i].name) == 0)
            return limit_names[i].resource;
    return -1;
}

/* Which limits the child is to change.  Found out here, since each page that a copy of us is the
 * first to look at costs the copy a fault. */
static void plan_limits(struct child *c)
{
    const Pst__LaunchStep *launch = c->step->launch;
    Pst__Rlimit *const *limits = launch ? launch->rlimits : c->step->job->rlimits;
    size_t n = launch ? launch->n_rlimits : c->step->job->n_rlimits;

    c->n_limits = 0;
    for (size_t i = 0; c->limits && i < n && c->n_limits < ARRAY_SIZE(c->limit); i++) {
        rlim_t soft = limits[i]->soft == UINT64_MAX ? RLIM_INFINITY : (rlim_t)limits[i]->soft;
        struct child_limit l = { .resource = limit_resource(limits[i]->name) };

        if (l.resource < 0 || getrlimit(l.resource, &l.limit) < 0 || l.limit.rlim_cur == soft)
            continue;
        l.limit.rlim_cur = soft;
        c->limit[c->n_limits++] = l;
    }
}

/* A limit that we may not raise so far is raised as far as we may: Slurm's behaviour too. */
static void set_limit(const struct child_limit *l)
{
    struct rlimit rl = l->limit;

    if (rl.rlim_cur > rl.rlim_max) {
        struct rlimit raised = { .rlim_cur = rl.rlim_cur, .rlim_max = rl.rlim_cur };

        if (setrlimit(l->resource, &raised) == 0)
            return;
        rl.rlim_cur = rl.rlim_max;
    }
    (void)setrlimit(l->resource, &rl); /* the user's wish, not a condition */
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
    /* Raw calls: the library's versions look for other threads, which a copy of us does not
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
    char **argv = (char **)c->argv, *name = argv[0];
    /* Programs of srun see the path that was found, as Slurm's do. */
    bool found = c->along_path && (name[0] == '.' || !strchr(name, '/'));
    int err = ENOENT;

    for (char *const *p = c->paths; *p; p++) {
        if (found)
            argv[0] = *p;
        (void)execve(*p, argv, c->envp);
        argv[0] = name;
        if (errno == EACCES)
            err = p[1] && access(*p, F_OK) < 0 ? err : EACCES;
        else if (errno != ENOENT && errno != ENOTDIR)
            return -errno;
    }
    return -err;
}

static bool tell_outcome(const struct child *c)
{
    ssize_t n = send(c->report_fd, c->outcome, sizeof(*c->outcome), MSG_NOSIGNAL);

    return n == (ssize_t)sizeof(*c->outcome);
}

/* Whom nobody hears any more says it where the task would have. */
static int note_failure(struct child *c, int stage, int r)
{
    c->outcome->stage = stage;
    c->outcome->err = r;
    if (!tell_outcome(c))
        (void)dprintf(STDERR_FILENO, "slurmstepd: error: %s%s: %s\n",
                      stage == CHILD_EXEC ? "execve(): " : "could not be started: ",
                      c->argv[0] ? c->argv[0] : "", strerror(-r));
    return -r & 0xff;
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
    for (size_t i = 0; i < c->n_limits; i++)
        set_limit(&c->limit[i]);
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

/* A folder that is missing on the node is replaced.  The user's folder may make whoever looks at it
 * wait, so the step daemon does not. */
static void check_tmpdir(const struct child *c)
{
    static const char name[] = "TMPDIR=";

    for (char **v = (char **)c->envp; *v; v++)
        if (strncmp(*v, name, strlen(name)) == 0 && access(*v + strlen(name), F_OK) < 0)
            *v = (char *)"TMPDIR=/tmp";
}

/* All but the streams, what is given, and our way to tell, which the exec closes. */
static void close_others(const struct child *c)
{
    int next = 3 + (int)c->n_give, keep = c->keep_fd ? c->keep_fd : -1;
    int report = keep == next ? next + 1 : next;

    if (c->report_fd > 0 && (c->report_fd == report || dup3(c->report_fd, report, O_CLOEXEC) >= 0))
        next = report + 1;
    inherit_close(next, keep);
}

/* Without the library's formatting, which is many pages to the copy that a child is. */
static void note_number(const struct child *c, unsigned number)
{
    char digits[CHILD_PID_ROOM];
    size_t n = sizeof(digits);

    if (!c->pid_slot)
        return;
    digits[--n] = '\0';
    do
        digits[--n] = (char)('0' + number % 10);
    while (number /= 10);
    memcpy(c->pid_slot, digits + n, sizeof(digits) - n);
}

int child_exec(struct child *c)
{
    int report = 3 + (int)c->n_give;
    unsigned number = (unsigned)syscall(SYS_getpid);
    sigset_t none;

    if (c->tmpdir)
        check_tmpdir(c);
    note_number(c, number);
    if (c->outcome)
        c->outcome->number = number;
    close_others(c); /* plugins and libraries open without asking */
    if (c->report_fd > 0)
        c->report_fd = c->keep_fd == report ? report + 1 : report;
    if (c->report_fd > 0 && (c->outcome->mem_err < 0 || c->step->ns_flags))
        (void)tell_outcome(c); /* the start goes on without */
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    return exec_any(c);
}

static int child_main(struct child *c)
{
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

/* ret_fds: ours and the child's. */
static int open_report(int ret_fds[2])
{
    int high;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ret_fds) < 0)
        return -errno;
    high = fcntl(ret_fds[1], F_DUPFD_CLOEXEC, REPORT_FD);
    (void)close(ret_fds[1]); /* replaced */
    ret_fds[1] = high;
    if (high >= 0)
        return 0;
    (void)close(ret_fds[0]);
    return -errno;
}

/* -ENOSYS: not with this kernel, or not in this container. */
static pid_t clone_into_cgroup(struct child *c)
{
    struct clone_args args = {
        .flags = CLONE_INTO_CGROUP,
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

static pid_t fork_here(struct child *c)
{
    pid_t pid = -ENOSYS;

    if (c->n_join && c->step->cg.tree.kind == CGROUP_V2)
        pid = clone_into_cgroup(c);
    if (pid != -ENOSYS)
        return pid;
    pid = fork();
    if (pid == 0)
        _exit(child_main(c));
    return pid < 0 ? -errno : pid;
}

static pid_t fork_child(struct child *c)
{
    uint64_t before = proc_ticks_now();
    pid_t pid = fork_here(c);

    if (proc_ticks_now() == before)
        c->start_ticks = before; /* it was made in this very tick */
    return pid;
}

/* *ret_fd tells how far it came. */
static pid_t make_process(struct child *c, int *ret_fd)
{
    int fds[2], r = open_report(fds);
    pid_t pid;

    if (r < 0)
        return r;
    c->report_fd = fds[1];
    pid = fork_child(c);
    (void)close(fds[1]); /* so that its exec, or its end, is seen */
    c->report_fd = 0;
    if (pid < 0)
        (void)close(fds[0]);
    else
        *ret_fd = fds[0];
    return pid;
}

/* What the child says, while it says anything.  True: it has its program, or has failed. */
static bool hear_child(struct child *c, int fd)
{
    struct child_outcome said;
    ssize_t n;

    while ((n = recv(fd, &said, sizeof(said), MSG_DONTWAIT)) == (ssize_t)sizeof(said)) {
        *c->outcome = said;
        if (said.err < 0) {
            c->stage = said.stage;
            c->err = said.err;
            return true;
        }
    }
    return n == 0;
}

/* Has it its program, or has it failed, soon?  Else it is left to itself, and is heard no more. */
static void await_program(struct child *c, int fd, pid_t pid)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    unsigned *slow = &c->step->slow_starts;
    int64_t wait_ms = *slow < SLOW_MOST ? SOON_MS : NEXT_MS;
    int64_t until = now_mono_us() + wait_ms * 1000;
    bool over = false;

    while (!over && wait_ms > 0 && poll(&p, 1, (int)wait_ms) > 0) {
        over = hear_child(c, fd);
        wait_ms = (until - now_mono_us() + 999) / 1000;
    }
    if (!over) {
        (*slow)++;
        (void)shutdown(fd, SHUT_RD);
        (void)hear_child(c, fd); /* what it said before this */
    }
    c->mem_err = c->outcome->mem_err;
    /* for TaskEpilog; only in a namespace of the job's has it another number than here */
    if (c->outcome->number || !c->step->ns_flags)
        note_number(c, c->outcome->number ? c->outcome->number : (unsigned)pid);
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

#define DOMAIN_BYTES(n) (((n) + 62) / 64 * 8) /* the kernel takes one off n */

enum { GO_ENV, GO_PATHS, GO_WORK_DIR, GO_CPUS, GO_DOMAINS, GO_PARTS };

/* What was not known when it was made: numbers, and how long the rest is that follows. */
struct going {
    bool has_nice;
    int nice, tty, mem_policy;
    unsigned long n_mem_domains;
    size_t len[GO_PARTS];
};

static bool read_whole(int fd, void *buf, size_t len)
{
    return len == 0 || recv(fd, buf, len, MSG_WAITALL) == (ssize_t)len;
}

/* The strings of text as an array; NULL: out of memory. */
static char **strings_of(char *text, size_t len)
{
    char **list;
    size_t n = 0;

    for (size_t at = 0; at < len; at += strlen(text + at) + 1)
        n++;
    list = calloc(n + 1, sizeof(*list));
    n = 0;
    for (size_t at = 0; list && at < len; at += strlen(text + at) + 1)
        list[n++] = text + at;
    return list;
}

/* In the process that waited. */
static bool take_rest(struct child *c)
{
    char *part[GO_PARTS];
    struct going g;

    if (!read_whole(c->report_fd, &g, sizeof(g)))
        return false;
    for (size_t i = 0; i < GO_PARTS; i++) {
        part[i] = malloc(g.len[i] + 1);
        if (!part[i] || !read_whole(c->report_fd, part[i], g.len[i]))
            return false;
    }
    c->envp = strings_of(part[GO_ENV], g.len[GO_ENV]);
    c->paths = strings_of(part[GO_PATHS], g.len[GO_PATHS]);
    c->step->work_dir = part[GO_WORK_DIR];
    c->cpu_set = g.len[GO_CPUS] ? part[GO_CPUS] : NULL;
    c->cpu_set_size = g.len[GO_CPUS];
    c->mem_domains = g.len[GO_DOMAINS] ? part[GO_DOMAINS] : NULL;
    c->n_mem_domains = g.n_mem_domains;
    c->mem_policy = g.mem_policy;
    c->has_nice = g.has_nice;
    c->nice = g.nice;
    c->tty = g.tty;
    c->pid_slot = NULL; /* the environment has it */
    return c->envp && c->paths;
}

/* It is as privileged as we are until it is told to go on, so that no user can send it a signal. */
static int wait_for_program(struct child *c)
{
    unsigned number = (unsigned)syscall(SYS_getpid);
    struct child_outcome outcome = { 0 };

    c->outcome = &outcome;
    if (send(c->report_fd, &number, sizeof(number), MSG_NOSIGNAL) != (ssize_t)sizeof(number) ||
        !take_rest(c))
        return 127;
    return child_main(c);
}

static pid_t fork_seat(struct child *c, int ours)
{
    pid_t pid = fork();

    if (pid == 0) {
        (void)close(ours); /* else it would not see that we are gone */
        _exit(wait_for_program(c));
    }
    return pid < 0 ? -errno : pid;
}

int child_reserve(struct child *c)
{
    int fds[2], r = open_report(fds);
    pid_t pid;

    if (r < 0)
        return r;
    plan_limits(c);
    c->report_fd = fds[1];
    r = open_cgroups(c);
    pid = r < 0 ? r : fork_seat(c, fds[0]);
    (void)close(fds[1]);
    c->report_fd = 0;
    if (pid < 0) {
        close_cgroups(c);
        (void)close(fds[0]);
        return pid;
    }
    c->seat = pid;
    c->seat_fd = fds[0];
    if (read_whole(fds[0], &c->number, sizeof(c->number)))
        return 0;
    child_release(c); /* somebody ended it */
    return -ECHILD;
}

void child_release(struct child *c)
{
    if (!c->seat)
        return;
    /* It ends, whichever other child has a copy of this yet. */
    (void)shutdown(c->seat_fd, SHUT_RDWR);
    (void)close(c->seat_fd);
    (void)waitpid(c->seat, NULL, 0); /* -ECHILD: the loop has collected it */
    c->seat = 0;
    close_cgroups(c);
}

static bool send_whole(int fd, const void *data, size_t len)
{
    const char *p = data;

    while (len > 0) {
        ssize_t n = send(fd, p, len, MSG_NOSIGNAL);

        if (n < 0 && errno != EINTR)
            return false;
        p += MAX(n, 0);
        len -= (size_t)MAX(n, 0);
    }
    return true;
}

static size_t length_of(char *const *list)
{
    size_t len = 0;

    for (; *list; list++)
        len += strlen(*list) + 1;
    return len;
}

static bool send_strings(int fd, char *const *list)
{
    for (; *list; list++)
        if (!send_whole(fd, *list, strlen(*list) + 1))
            return false;
    return true;
}

static bool tell_seat(const struct child *c)
{
    const char *dir = c->step->work_dir;
    struct going g = { .has_nice = c->has_nice,
                       .nice = c->nice,
                       .tty = c->tty,
                       .mem_policy = c->mem_policy,
                       .n_mem_domains = c->n_mem_domains,
                       .len = { length_of(c->envp), length_of(c->paths), strlen(dir) + 1,
                                c->cpu_set ? c->cpu_set_size : 0,
                                c->mem_domains ? DOMAIN_BYTES(c->n_mem_domains) : 0 } };

    note_number(c, c->number);
    g.len[GO_ENV] = length_of(c->envp); /* with the number */
    return send_whole(c->seat_fd, &g, sizeof(g)) && send_strings(c->seat_fd, c->envp) &&
           send_strings(c->seat_fd, c->paths) && send_whole(c->seat_fd, dir, strlen(dir) + 1) &&
           send_whole(c->seat_fd, c->cpu_set, g.len[GO_CPUS]) &&
           send_whole(c->seat_fd, c->mem_domains, g.len[GO_DOMAINS]);
}

/* Let it go on to its program.  0: it is not there any more. */
static pid_t use_seat(struct child *c, int *ret_fd)
{
    pid_t pid = c->seat;

    if (!pid || waitpid(pid, NULL, WNOHANG) != 0 || !tell_seat(c)) {
        child_release(c);
        return 0;
    }
    *ret_fd = c->seat_fd;
    c->seat = 0;
    return pid;
}

/* -ENOMEM and others: nothing was started. */
static pid_t begin_process(struct child *c, int *ret_fd)
{
    pid_t pid = use_seat(c, ret_fd);
    int r;

    if (pid)
        return pid;
    r = open_cgroups(c);
    if (r < 0)
        return r;
    plan_limits(c);
    return c->env ? c->step->plug_ops->fork(c) : make_process(c, ret_fd);
}

int child_start(struct child *c, pid_t *ret_pid)
{
    struct child_outcome outcome = { 0 };
    int fd = -1;
    pid_t pid;

    c->outcome = &outcome;
    c->start_ticks = 0;
    pid = failpoint("stepd-start") ? -EAGAIN : begin_process(c, &fd);
    c->stage = CHILD_SETUP;
    c->err = MIN(pid, 0);
    c->mem_err = 0;
    if (fd >= 0) {
        await_program(c, fd, pid);
        (void)close(fd);
    }
    close_cgroups(c);
    c->outcome = NULL;
    if (c->err < 0) {
        if (pid > 0) {
            (void)kill(pid, SIGKILL); /* the user may have stopped it; its story is in c */
            (void)waitpid(pid, NULL, 0);
        }
        return c->err;
    }
    *ret_pid = pid;
    return 0;
}
