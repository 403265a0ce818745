/* nsfirst.c - the first process of a job's process and user namespaces; see jobns.h
 *
 * The extern step's daemon has made the private folders and is in them.  Its child gets a copy of
 * that view with a /proc of its own, so that daemons go on seeing the node's processes.  Mounts and
 * processes belong to the node's users: a process that is root in the job's user namespace cannot
 * remove the private folders.  The child lives until the daemon closes a pipe or dies; when the
 * child ends, the kernel kills every other process of the process namespace. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/inherit.h"
#include "stepd/ns/jobns.h"
#include "stepd/step.h"

#define PIPE_FD 3 /* of the first process, after its exec */
#define TITLE_END ".namespace]"
#define SCRIPT_WAIT_S 10

/* ---- the process itself ---------------------------------------------------------------------- */

bool nsfirst_is(const char *title)
{
    size_t len = strlen(title);

    return len > strlen(TITLE_END) && strcmp(title + len - strlen(TITLE_END), TITLE_END) == 0;
}

int nsfirst_main(void)
{
    struct pollfd p[2] = { { .fd = PIPE_FD, .events = POLLIN }, { .events = POLLIN } };
    struct signalfd_siginfo si;
    sigset_t all;

    (void)prctl(PR_SET_NAME, "slurmstepd", 0, 0,
                0); /* it was started by another name of the file */
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, NULL);
    p[1].fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    while (p[1].fd >= 0) {
        if (poll(p, ARRAY_SIZE(p), -1) < 0 && errno != EINTR)
            return 1;
        if (p[0].revents)
            return 0; /* nothing is ever written: it was closed */
        while (read(p[1].fd, &si, sizeof(si)) > 0)
            ; /* SIGCHLD or none of our business */
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ; /* orphans: their steps' daemons find them by their cgroups */
    }
    return 1;
}

/* ---- making it ------------------------------------------------------------------------------- */

struct report {
    const char *what; /* failed; the daemon's address is ours too */
    int err;
};

/* In the child: never returns. */
static void become_first(const struct step *s, int pipe_fd, int report_fd)
{
    struct report rep = { 0 };
    char title[48], go;
    char *argv[] = { title, NULL }, *envp[] = { NULL };
    int null_fd = open("/dev/null", O_RDWR);

    if ((s->ns_flags & CLONE_NEWPID) &&
        mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
        rep = (struct report){ "The job's own /proc could not be mounted", errno };
    else if ((s->ns_flags & CLONE_NEWUSER) && unshare(CLONE_NEWUSER) < 0)
        rep = (struct report){ "The job's user namespace could not be made", errno };
    if (write(report_fd, &rep, sizeof(rep)) != (ssize_t)sizeof(rep) || rep.what)
        _exit(1);
    if (read(pipe_fd, &go, 1) != 1)
        _exit(1); /* the daemon could not go on, or has died */
    (void)snprintf(title, sizeof(title), "slurmstepd: [%u" TITLE_END, s->job_id);
    (void)setsid();
    for (int i = 0; i < PIPE_FD; i++)
        if (dup2(null_fd, i) < 0)
            _exit(1);
    if (pipe_fd == PIPE_FD ? fcntl(pipe_fd, F_SETFD, 0) < 0 : dup2(pipe_fd, PIPE_FD) < 0)
        _exit(1);
    inherit_close(PIPE_FD + 1, -1);
    (void)execve("/proc/self/exe", argv, envp);
    _exit(1);
}

/* A number of the node's users or groups as the namespace has it.  -ENOENT: it has none. */
static int map_id(pid_t pid, const char *map, uint32_t id, uint32_t *ret_id)
{
    unsigned long inside, outside, count;
    char path[64];
    _cleanup_fclose_ FILE *f = NULL;

    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, map);
    f = fopen(path, "re");
    if (!f)
        return -errno;
    while (fscanf(f, "%lu %lu %lu", &inside, &outside, &count) == 3)
        if (id >= outside && id - outside < count) {
            *ret_id = (uint32_t)(inside + (id - outside));
            return 0;
        }
    return -ENOENT;
}

static int write_map(pid_t pid, const char *map)
{
    static const char all[] = "0 0 4294967295\n";
    char path[64];
    _cleanup_close_ int fd = -1;

    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, map);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, all, sizeof(all) - 1) < 0)
        return -errno;
    return 0;
}

/* False: step_fail() was called. */
static bool map_users(struct step *s)
{
    const char *script = s->sf->ns->user_ns_script;
    char var[48];
    uint32_t id;
    int r = 0;

    (void)snprintf(var, sizeof(var), "SLURM_NS_PID=%d", (int)s->ns_pid);
    if (script && !ns_program(s, script, SCRIPT_WAIT_S, var))
        return false;
    if (!script)
        r = write_map(s->ns_pid, "uid_map");
    if (!script && r == 0)
        r = write_map(s->ns_pid, "gid_map");
    if (r < 0)
        step_fail(s, "The maps of the job's user namespace could not be written: %s", strerror(-r));
    else if (map_id(s->ns_pid, "uid_map", s->uid, &id) < 0 ||
             map_id(s->ns_pid, "gid_map", s->gid, &id) < 0)
        step_fail(s, "%s left user %u or group %u without a number in the job's user namespace",
                  script ? script : "The identity map", s->uid, s->gid);
    return !s->error;
}

static bool settle_first(struct step *s, int report_fd)
{
    struct report rep;
    ssize_t n;

    while ((n = read(report_fd, &rep, sizeof(rep))) < 0 && errno == EINTR)
        ;
    if (n != (ssize_t)sizeof(rep))
        step_fail(s, "The first process of the job's namespaces did not start");
    else if (rep.what)
        step_fail(s, "%s: %s", rep.what, strerror(rep.err));
    else if ((s->ns_pid_fd = (int)syscall(SYS_pidfd_open, s->ns_pid, 0)) < 0)
        step_fail(s, "The first process of the job's namespaces is not to be had: %s",
                  strerror(errno));
    if (s->error || ((s->ns_flags & CLONE_NEWUSER) && !map_users(s)))
        return false;
    if (write(s->ns_pipe, "", 1) != 1)
        step_fail(s, "The first process of the job's namespaces has ended");
    return !s->error;
}

bool nsfirst_make(struct step *s)
{
    struct clone_args args = { .flags = CLONE_NEWNS | (s->ns_flags & CLONE_NEWPID),
                               .exit_signal = SIGCHLD };
    int report[2], pipe_fds[2];
    bool ok;
    long pid;

    if (pipe2(report, O_CLOEXEC) < 0) {
        step_fail(s, "The job's namespaces could not be made: %s", strerror(errno));
        return false;
    }
    if (pipe2(pipe_fds, O_CLOEXEC) < 0) {
        step_fail(s, "The job's namespaces could not be made: %s", strerror(errno));
        (void)close(report[0]);
        (void)close(report[1]);
        return false;
    }
    pid = syscall(SYS_clone3, &args, sizeof(args));
    if (pid == 0) {
        (void)close(pipe_fds[1]); /* or it would wait for itself */
        become_first(s, pipe_fds[0], report[1]);
    }
    if (pid < 0)
        step_fail(s, "The job's namespaces could not be made: %s", strerror(errno));
    (void)close(report[1]);
    (void)close(pipe_fds[0]);
    s->ns_pipe = pipe_fds[1];
    s->ns_pid = pid < 0 ? 0 : (pid_t)pid;
    ok = pid > 0 && settle_first(s, report[0]);
    (void)close(report[0]);
    return ok;
}

void nsfirst_end(struct step *s)
{
    if (s->ns_pid > 0) {
        (void)kill(s->ns_pid, SIGKILL);
        while (waitpid(s->ns_pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    s->ns_pid = 0;
    if (s->ns_pipe >= 0)
        (void)close(s->ns_pipe);
    s->ns_pipe = -1;
}

/* ---- entering -------------------------------------------------------------------------------- */

static pid_t pid_of(int pid_fd)
{
    char path[64], line[128];
    _cleanup_fclose_ FILE *f = NULL;
    int pid = -1;

    (void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pid_fd);
    f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "Pid: %d", &pid) == 1)
            break;
    return pid; /* -1: it has ended */
}

/* Groups without a number there are left out. */
static int map_identity(struct step *s, pid_t pid)
{
    uint32_t id;
    size_t n = 0;
    int r = map_id(pid, "uid_map", s->uid, &id);

    if (r == 0) {
        s->in_uid = id;
        r = map_id(pid, "gid_map", s->gid, &id);
    }
    if (r < 0)
        return r;
    s->in_gid = id;
    for (size_t i = 0; i < s->n_in_gids; i++)
        if (map_id(pid, "gid_map", s->in_gids[i], &id) == 0)
            s->in_gids[n++] = id;
    s->n_in_gids = n;
    return 0;
}

void nsfirst_join(struct step *s, int pid_fd)
{
    int r = 0;

    s->ns_flags = s->sf->ns_flags;
    s->ns_pid_fd = pid_fd;
    if ((s->ns_flags & CLONE_NEWPID) && setns(pid_fd, CLONE_NEWPID) < 0)
        r = -errno;
    if (r == 0 && (s->ns_flags & CLONE_NEWUSER))
        r = map_identity(s, pid_of(pid_fd));
    if (r == 0)
        return;
    step_fail(s, "The job's namespaces cannot be entered: %s",
              r == -ESRCH ? "their first process has ended" : strerror(-r));
    s->launch_failed = true;
}

int nsfirst_enter(const struct step *s)
{
    return setns(s->ns_pid_fd, CLONE_NEWNS | (int)(s->ns_flags & CLONE_NEWUSER)) < 0 ? -errno : 0;
}
