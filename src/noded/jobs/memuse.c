/* memuse.c - see memuse.h
 *
 * A step's processes descend from its daemon, which is our child, or, of an earlier slurmd's step,
 * the process that listens at the step's socket.  Main thread. */
#include "noded/jobs/memuse.h"

#include <stdlib.h>
#include <sys/socket.h>

#include "stepd/use/procscan.h"

/* 0: it cannot be told, or there is none. */
static pid_t daemon_of(const struct nstep *step)
{
    struct ucred peer = { .pid = step->pid };
    socklen_t len = sizeof(peer);

    if (step->pid == 0 && getsockopt(step->ctl_fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
        return 0;
    return peer.pid;
}

static uint64_t step_bytes(const struct nstep *step)
{
    pid_t top = step->phase == STEP_RUNS ? daemon_of(step) : 0;
    _cleanup_free_ struct proc_below *list = NULL;
    size_t n = top > 0 ? proc_below(top, &list) : 0;
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        struct proc_use use;

        if (proc_use(list[i].pid, PROC_RSS, &use) == 0) /* else it ended meanwhile */
            sum += use.mem;
    }
    return sum;
}

uint64_t memuse_kib(const struct njob *job)
{
    uint64_t sum = 0;

    for (const struct nstep *s = job->steps; s; s = s->next)
        sum += step_bytes(s);
    return sum / 1024;
}
