/* nsprogram.c - programs of the site about a job's namespaces; see jobns.h
 *
 * They run on the node itself, as root: not in the job's namespace, which they may have to
 * change. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/inherit.h"
#include "base/timefmt.h"
#include "stepd/ns/jobns.h"
#include "stepd/step.h"

void ns_job_dir(const char *base, uint32_t job_id, char *buf, size_t size)
{
    (void)snprintf(buf, size, "%s/%u", base, job_id);
}

/* The status of a child of ours, killed when it takes longer.  wait_s 0: however long it takes. */
static int wait_child(pid_t pid, uint32_t wait_s)
{
    _cleanup_close_ int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd p = { .fd = fd, .events = POLLIN };
    int64_t until = now_mono_us() + (int64_t)wait_s * USEC_PER_SEC;
    int status = 0;

    while (wait_s && fd >= 0) {
        int64_t left_ms = (until - now_mono_us()) / 1000;
        int r = left_ms <= 0 ? 0 : poll(&p, 1, (int)MIN(left_ms, (int64_t)3600000));

        if (r < 0 && errno == EINTR)
            continue;
        if (r == 0)
            (void)kill(-pid, SIGKILL); /* it leads a session; the status tells */
        break;
    }
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -errno;
    return status;
}

/* In the node's namespace, as root, with nothing open.  Does not return. */
static void become_program(const struct step *s, char *const argv[], char *const envp[])
{
    sigset_t none;
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    (void)setsid();
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    for (int i = 0; i < 3; i++)
        if (dup2(null_fd, i) < 0)
            _exit(126);
    if (s->host_ns_fd >= 0 && setns(s->host_ns_fd, CLONE_NEWNS) < 0)
        _exit(126);
    if (chdir("/") < 0)
        _exit(126);
    inherit_close(3, -1);
    (void)execve(argv[0], argv, envp);
    _exit(127);
}

int ns_run(const struct step *s, char *const argv[], char *const envp[], uint32_t wait_s)
{
    pid_t pid = fork();

    if (pid == 0)
        become_program(s, argv, envp);
    return pid < 0 ? -errno : wait_child(pid, wait_s);
}

bool ns_program(struct step *s, const char *path, uint32_t wait_s, char *var)
{
    char job[32], src[NS_PATH_MAX + 32], conf[NS_PATH_MAX + 16], node[300], dir[NS_PATH_MAX];
    char *envp[] = {
        job, src, conf, node, (char *)"PATH=/usr/sbin:/usr/bin:/sbin:/bin", var, NULL
    };
    char *argv[] = { (char *)path, NULL };
    int status;

    if (!path)
        return true;
    ns_job_dir(s->sf->ns->base_path, s->job_id, dir, sizeof(dir));
    (void)snprintf(job, sizeof(job), "SLURM_JOB_ID=%u", s->job_id);
    (void)snprintf(src, sizeof(src), "SLURM_JOB_MOUNT_SRC=%s", dir);
    (void)snprintf(conf, sizeof(conf), "SLURM_CONF=%s", s->sf->conf_path);
    (void)snprintf(node, sizeof(node), "SLURMD_NODENAME=%s", s->sf->job->node_name);
    status = ns_run(s, argv, envp, wait_s);
    if (status < 0)
        step_fail(s, "%s could not be run: %s", path, strerror(-status));
    else if (WIFSIGNALED(status))
        step_fail(s, "%s was ended by signal %d", path, WTERMSIG(status));
    else if (status != 0)
        step_fail(s, "%s failed with exit code %d", path, WEXITSTATUS(status));
    return status == 0;
}
