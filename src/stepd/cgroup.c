/* cgroup.c - the cgroup half of proctrack.h
 *
 * Only membership is used: whoever is in the directory belongs to the step.  No state. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "stepd/proctrack.h"

static bool kill_by_file(const char *dir)
{
    char path[PROCTRACK_PATH + 16];
    _cleanup_close_ int fd = -1;

    (void)snprintf(path, sizeof(path), "%s/cgroup.kill", dir);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, "1", 1) == 1;
}

size_t cgroup_signal_dir(const char *dir, int sig)
{
    char path[PROCTRACK_PATH + 16];
    _cleanup_fclose_ FILE *f = NULL;
    size_t n = 0;
    int pid;

    (void)snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
    f = fopen(path, "re");
    if (!f)
        return 0;
    while (fscanf(f, "%d", &pid) == 1) {
        if (pid <= 0 || pid == getpid())
            continue;
        n++;
        if (sig)
            (void)kill(pid, sig); /* it may have ended meanwhile */
    }
    if (n > 0 && sig == SIGKILL)
        (void)kill_by_file(dir); /* version 2: also catches those forked during the walk */
    return n;
}

/* user, step_<n>, job_<id>, scope: each goes when it is empty. */
void cgroup_remove_dir(const char *dir)
{
    char path[PROCTRACK_PATH];
    char *slash;

    (void)snprintf(path, sizeof(path), "%s", dir);
    for (int depth = 0; depth < 4; depth++) {
        if (rmdir(path) < 0 && errno != ENOENT)
            return; /* still in use by another step or job */
        slash = strrchr(path, '/');
        if (!slash)
            return;
        *slash = '\0';
    }
}

bool cgroup_kill_dir(const char *dir)
{
    if (access(dir, F_OK) < 0)
        return true;
    if (cgroup_signal_dir(dir, SIGKILL) > 0)
        return false;
    cgroup_remove_dir(dir);
    return true;
}
