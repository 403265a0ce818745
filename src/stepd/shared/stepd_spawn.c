/* stepd_spawn.c - see stepd_spawn.h
 *
 * The step file travels in a memfd: it holds the user's environment, which belongs neither on a
 * command line nor on a disk. */
#include "stepd/shared/stepd_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/failpoint.h"
#include "base/process/spawnprog.h"
#include "stepd/shared/spool.h"

/* Where slurmstepd.c expects them; step.h of the step daemon has the same numbers. */
enum { FD_FILE = 3, FD_CTL, FD_SRUN, FD_NS, FD_NS_PID, FD_COUNT };
/* The step daemon inherits our standard error: until it has a log and a connection, its messages
 * have no other place. */
#define NO_FDS                                                                                     \
    {                                                                                              \
        -1, -1, STDERR_FILENO, -1, -1, -1, -1, -1                                                  \
    }
#define FD_SAFE 16 /* sources stay above the targets, or one dup2 would cover another's source */

static int move_above(int fd)
{
    int high = fcntl(fd, F_DUPFD_CLOEXEC, FD_SAFE);
    int r = high < 0 ? -errno : high;

    (void)close(fd); /* replaced */
    return r;
}

/* A copy that no target covers.  *ret stays -1 when fd is. */
static int copy_above(int fd, int *ret)
{
    if (fd < 0)
        return 0;
    *ret = fcntl(fd, F_DUPFD_CLOEXEC, FD_SAFE);
    return *ret < 0 ? -errno : 0;
}

/* What a step daemon gets of our own environment: armed failpoints of a test, and where libraries
 * are that it loads as we do. */
static const char *const handed_on[] = { FAILPOINT_ENV, "LD_LIBRARY_PATH" };

/* "NAME=value", or NULL. */
static char *find_setting(const char *name)
{
    size_t len = strlen(name);

    for (char **e = environ; *e; e++)
        if (strncmp(*e, name, len) == 0 && (*e)[len] == '=')
            return *e;
    return NULL;
}

#define OWN_ENV_MAX 2

/* env: at most OWN_ENV_MAX variables. */
static int start_stepd(const char *exe, char *const argv[], char *const env[], const char *dir,
                       const int fds[FD_COUNT], pid_t *ret_pid)
{
    char *envp[OWN_ENV_MAX + ARRAY_SIZE(handed_on) + 1] = { NULL };
    struct spawn s = {
        .path = exe, .argv = argv, .envp = envp, .dir = dir, .fds = fds, .n_fds = FD_COUNT
    };
    size_t n = 0;

    for (; n < OWN_ENV_MAX && env[n]; n++)
        envp[n] = env[n];
    for (size_t i = 0; i < ARRAY_SIZE(handed_on); i++)
        if ((envp[n] = find_setting(handed_on[i])))
            n++;
    return spawn_program(&s, ret_pid);
}

static int spawn_step(const char *exe, const Pst__StepFile *sf, const int fds[FD_COUNT],
                      pid_t *ret_pid)
{
    char title[64], num[16], node[300], cluster[300];
    char *argv[] = { title, NULL };
    char *env[] = { node, cluster, NULL };

    /* who lists the steps of this machine asks for those of a node, of his cluster alone */
    (void)snprintf(node, sizeof(node), "SLURMD_NODENAME=%s", sf->job->node_name);
    (void)snprintf(cluster, sizeof(cluster), "SLURM_CLUSTER_NAME=%s",
                   sf->job->cluster_name ? sf->job->cluster_name : "");
    (void)snprintf(title, sizeof(title), "slurmstepd: [%u.%s]", sf->job->job->job_id,
                   step_id_name(sf->step_id, num, sizeof(num)));
    return start_stepd(exe, argv, env, sf->step_dir, fds, ret_pid);
}

static void close_all(int fds[FD_COUNT])
{
    for (int i = FD_FILE; i < FD_COUNT; i++)
        if (fds[i] >= 0)
            (void)close(fds[i]);
}

int bcast_spawn(const struct bcast_start *b, pid_t *ret_pid)
{
    char *argv[] = { (char *)"slurmstepd", (char *)b->kind, NULL };
    char *none[] = { NULL };
    int fds[FD_COUNT] = NO_FDS;
    int r = copy_above(b->fd, &fds[FD_SRUN]);

    if (r == 0)
        r = copy_above(b->ns_fd, &fds[FD_NS]);
    if (r == 0)
        r = copy_above(b->go_fd, &fds[FD_CTL]);
    if (r == 0)
        r = spool_memfd(&b->file->base, FD_SAFE, &fds[FD_FILE]);
    if (r == 0)
        r = start_stepd(b->exe, argv, none, b->dir, fds, ret_pid);
    close_all(fds);
    return r;
}

/* Its control connection and copies of what it is given. */
static int make_fds(const Pst__StepFile *sf, int srun_fd, int ns_fd, int ns_pid_fd,
                    int fds[FD_COUNT], int *ret_ctl)
{
    int sv[2], r = spool_memfd(&sf->base, FD_SAFE, &fds[FD_FILE]);

    if (r == 0)
        r = copy_above(srun_fd, &fds[FD_SRUN]);
    if (r == 0)
        r = copy_above(ns_fd, &fds[FD_NS]);
    if (r == 0)
        r = copy_above(ns_pid_fd, &fds[FD_NS_PID]);
    if (r < 0)
        return r;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sv) < 0)
        return -errno;
    fds[FD_CTL] = move_above(sv[1]);
    if (fds[FD_CTL] < 0) {
        (void)close(sv[0]);
        return fds[FD_CTL];
    }
    *ret_ctl = sv[0];
    return 0;
}

int stepd_spawn(const char *exe, const Pst__StepFile *sf, int srun_fd, int ns_fd, int ns_pid_fd,
                pid_t *ret_pid, int *ret_ctl)
{
    int fds[FD_COUNT] = NO_FDS;
    _cleanup_close_ int ours = -1;
    int r = make_fds(sf, srun_fd, ns_fd, ns_pid_fd, fds, &ours);

    if (r == 0)
        r = spawn_step(exe, sf, fds, ret_pid);
    close_all(fds);
    if (r < 0)
        return r;
    *ret_ctl = TAKE_FD(ours);
    return 0;
}
