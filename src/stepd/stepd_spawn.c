/* stepd_spawn.c - see stepd_spawn.h
 *
 * The step file travels in a memfd: it holds the user's environment, which belongs neither on a
 * command line nor on a disk.  posix_spawn shares our memory until the exec, so its cost does not
 * grow with ours. */
#include "stepd/stepd_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/failpoint.h"
#include "stepd/bcast.h"
#include "stepd/spool.h"

/* Where main.c expects them; step.h of the step daemon has the same numbers. */
enum { FD_FILE = 3, FD_CTL = 4, FD_SRUN = 5, FD_NS = 6 };
#define FD_SAFE 16 /* sources stay above the targets, or one dup2 would cover another's source */

static int above(int fd)
{
    int high = fcntl(fd, F_DUPFD_CLOEXEC, FD_SAFE);
    int r = high < 0 ? -errno : high;

    (void)close(fd); /* replaced */
    return r;
}

static int make_file(const ProtobufCMessage *msg, int *ret_fd)
{
    size_t len = protobuf_c_message_get_packed_size(msg), at = 0;
    _cleanup_free_ uint8_t *data = malloc(len ? len : 1);
    _cleanup_close_ int fd = -1;

    if (!data)
        return -ENOMEM;
    if (len > SPOOL_MAX_FILE)
        return -EFBIG;
    (void)protobuf_c_message_pack(msg, data);
    fd = memfd_create("step", MFD_CLOEXEC);
    if (fd < 0)
        return -errno;
    while (at < len) {
        ssize_t n = write(fd, data + at, len - at);

        if (n < 0)
            return -errno;
        at += (size_t)n;
    }
    fd = above(TAKE_FD(fd));
    if (fd < 0)
        return fd;
    *ret_fd = TAKE_FD(fd);
    return 0;
}

static int fill_actions(posix_spawn_file_actions_t *fa, const char *dir, int file_fd, int ctl_fd,
                        int srun_fd, int ns_fd)
{
    int r = posix_spawn_file_actions_addchdir_np(fa, dir);

    if (!r)
        r = posix_spawn_file_actions_adddup2(fa, file_fd, FD_FILE);
    if (!r && ctl_fd >= 0)
        r = posix_spawn_file_actions_adddup2(fa, ctl_fd, FD_CTL);
    else if (!r)
        r = posix_spawn_file_actions_addclose(fa, FD_CTL);
    if (!r && srun_fd >= 0)
        r = posix_spawn_file_actions_adddup2(fa, srun_fd, FD_SRUN);
    else if (!r)
        r = posix_spawn_file_actions_addclose(fa, FD_SRUN);
    if (!r && ns_fd >= 0)
        r = posix_spawn_file_actions_adddup2(fa, ns_fd, FD_NS);
    else if (!r)
        r = posix_spawn_file_actions_addclose(fa, FD_NS);
    if (!r)
        r = posix_spawn_file_actions_addopen(fa, 0, "/dev/null", O_RDWR, 0);
    if (!r)
        r = posix_spawn_file_actions_adddup2(fa, 0, 1);
    return -r;
}

/* The one variable a step daemon gets: armed failpoints of a test, else NULL. */
static char *failpoints(void)
{
    for (char **e = environ; *e; e++)
        if (strncmp(*e, FAILPOINT_ENV "=", sizeof(FAILPOINT_ENV)) == 0)
            return *e;
    return NULL;
}

static int spawn(const char *exe, char *const argv[], const char *dir, int file_fd, int ctl_fd, int srun_fd,
                 int ns_fd, pid_t *ret_pid)
{
    char *envp[] = { failpoints(), NULL };
    posix_spawn_file_actions_t fa;
    posix_spawnattr_t attr;
    sigset_t all, none;
    int r;

    (void)sigfillset(&all);
    (void)sigemptyset(&none);
    if (posix_spawn_file_actions_init(&fa) != 0)
        return -ENOMEM;
    r = -posix_spawnattr_init(&attr);
    if (r == 0) {
        (void)posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF |
                                                  POSIX_SPAWN_SETSIGMASK);
        (void)posix_spawnattr_setsigdefault(&attr, &all);
        (void)posix_spawnattr_setsigmask(&attr, &none);
        r = fill_actions(&fa, dir, file_fd, ctl_fd, srun_fd, ns_fd);
        if (r == 0)
            r = -posix_spawn(ret_pid, exe, &fa, &attr, argv, envp);
        (void)posix_spawnattr_destroy(&attr);
    }
    (void)posix_spawn_file_actions_destroy(&fa);
    return r;
}

static int spawn_step(const char *exe, const Pst__StepFile *sf, int file_fd, int ctl_fd, int srun_fd,
                      int ns_fd, pid_t *ret_pid)
{
    char title[64], num[16];
    char *argv[] = { title, NULL };

    (void)snprintf(title, sizeof(title), "slurmstepd: [%u.%s]", sf->job->job->job_id,
                   step_id_name(sf->step_id, num, sizeof(num)));
    return spawn(exe, argv, sf->step_dir, file_fd, ctl_fd, srun_fd, ns_fd, ret_pid);
}

int bcast_spawn(const char *exe, const char *kind, const char *dir, const Pst__BcastFile *file, int fd, int ns_fd,
                pid_t *ret_pid)
{
    char *argv[] = { (char *)"slurmstepd", (char *)kind, NULL };
    _cleanup_close_ int file_fd = -1, conn_fd = fcntl(fd, F_DUPFD_CLOEXEC, FD_SAFE);
    _cleanup_close_ int ns = ns_fd < 0 ? -1 : fcntl(ns_fd, F_DUPFD_CLOEXEC, FD_SAFE);
    int r = conn_fd < 0 || (ns_fd >= 0 && ns < 0) ? -errno : make_file(&file->base, &file_fd);

    return r < 0 ? r : spawn(exe, argv, dir, file_fd, -1, conn_fd, ns, ret_pid);
}

int stepd_spawn(const char *exe, const Pst__StepFile *sf, int srun_fd, int ns_fd, pid_t *ret_pid,
                int *ret_ctl)
{
    _cleanup_close_ int file_fd = -1, ours = -1, theirs = -1, srun = -1, ns = -1;
    int sv[2], r = make_file(&sf->base, &file_fd);

    if (r < 0)
        return r;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sv) < 0)
        return -errno;
    ours = sv[0];
    theirs = above(sv[1]);
    if (theirs < 0)
        return theirs;
    if (srun_fd >= 0) {
        srun = fcntl(srun_fd, F_DUPFD_CLOEXEC, FD_SAFE);
        if (srun < 0)
            return -errno;
    }
    if (ns_fd >= 0) {
        ns = fcntl(ns_fd, F_DUPFD_CLOEXEC, FD_SAFE);
        if (ns < 0)
            return -errno;
    }
    r = spawn_step(exe, sf, file_fd, theirs, srun, ns, ret_pid);
    if (r < 0)
        return r;
    *ret_ctl = TAKE_FD(ours);
    return 0;
}
