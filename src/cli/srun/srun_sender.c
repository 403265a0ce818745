/* srun_sender.c - see srun_sender.h */
#include "cli/srun/srun_sender.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define ANCESTORS_MAX 64u

/* A small file of a process; "" when there is none to read. */
static void read_proc(unsigned pid, const char *file, char *buf, size_t size)
{
    _cleanup_close_ int fd = -1;
    char path[48];
    ssize_t n;

    (void)snprintf(path, sizeof(path), "/proc/%u/%s", pid, file);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? 0 : read(fd, buf, size - 1);
    buf[n > 0 ? n : 0] = '\0';
}

/* 0: it cannot be told. */
static unsigned parent_of(unsigned pid)
{
    char stat[256], state;
    const char *end;
    unsigned parent = 0;

    read_proc(pid, "stat", stat, sizeof(stat));
    end = strrchr(stat, ')'); /* the name before it may hold anything */
    return end && sscanf(end + 1, " %c %u", &state, &parent) == 2 ? parent : 0;
}

static bool is_ancestor(unsigned pid)
{
    unsigned at = (unsigned)getppid();

    for (unsigned i = 0; i < ANCESTORS_MAX && at > 1; i++) {
        if (at == pid)
            return true;
        at = parent_of(at);
    }
    return false;
}

static bool in_batch_script(void)
{
    const char *step = getenv("SLURM_STEP_ID");

    return step && (strcmp(step, "-5") == 0 || strcmp(step, "4294967291") == 0);
}

bool srun_sent_to_script(const struct signalfd_siginfo *info)
{
    static const char daemon[] = "slurmstepd"; /* its twins' names go on */
    char name[32];

    if (info->ssi_code != SI_USER || !info->ssi_pid || !in_batch_script())
        return false;
    read_proc(info->ssi_pid, "comm", name, sizeof(name));
    return strncmp(name, daemon, sizeof(daemon) - 1) == 0 && is_ancestor(info->ssi_pid);
}
