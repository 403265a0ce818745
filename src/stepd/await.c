/* await.c - processes that the start of the tasks waits for; see step.h
 *
 * TaskProlog, a login shell and the opening of a file last as long as a user likes.  The step is
 * served all the while: its control socket, srun's connection and the tasks that have started.
 * An order to end the step ends the waiting.  The process counts as a running task, so that the
 * step lasts until the process has ended. */
#include <errno.h>
#include <signal.h>

#include "base/timefmt.h"
#include "stepd/step.h"

void await_begin(struct step *s, pid_t pid)
{
    s->aid = (struct aid){ .pid = pid, .fd = -1 };
    s->n_running++;
}

bool await_reaped(struct step *s, pid_t pid, int status)
{
    if (!s->aid.pid || pid != s->aid.pid)
        return false;
    s->aid.ended = true;
    s->aid.status = status;
    return true;
}

int await_fd(struct step *s, int fd, int64_t deadline_mono)
{
    int r = 0;

    s->aid.fd = fd;
    s->aid.ready = false;
    s->aid.deadline_mono_us = deadline_mono;
    while (r == 0 && !s->aid.ready && !(fd < 0 && s->aid.ended)) {
        if (s->stage != KILL_NONE)
            r = -ECANCELED;
        else if (now_mono_us() >= deadline_mono)
            r = -ETIMEDOUT;
        else
            r = s->on->serve(s);
    }
    s->aid.fd = -1;
    s->aid.deadline_mono_us = 0;
    return r;
}

int await_end(struct step *s)
{
    int r = 0;

    if (!s->aid.ended) {
        (void)kill(-s->aid.pid, SIGKILL); /* it leads a session, unless it has just been made */
        (void)kill(s->aid.pid, SIGKILL);  /* not waited for yet: the number is its own */
    }
    s->aid.fd = -1;
    while (r == 0 && !s->aid.ended)
        r = s->on->serve(s);
    s->aid.pid = 0;
    s->n_running--;
    return s->aid.status;
}
