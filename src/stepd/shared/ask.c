/* ask.c - see ask.h
 *
 * The kernel tells the extern step's daemon which process is at the other end of the connection;
 * the daemon adopts that process.  It refuses processes of all users but root (and its own). */
#include "stepd/shared/ask.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/inherit.h"
#include "base/pb/pbutil.h"
#include "stepd/shared/ctl.h"
#include "stepfile.pb-c.h"

#define ANSWER_MS 10000
#define NOT_ADOPTED 125 /* exit status */
#define NOT_STARTED 127

/* Read the step daemon's answer.  The daemon serves slurmd as well, so the answer may take a
 * moment. */
static int read_answer(int fd, int *ret_ns, int *ret_flags)
{
    ProtobufCMessage *msg = NULL;
    _cleanup_close_ int ns = -1;
    const Pst__StepNews *news;
    int r;

    do {
        struct pollfd p = { .fd = fd, .events = POLLIN };

        r = poll(&p, 1, ANSWER_MS);
        if (r < 0 && errno != EINTR)
            return -errno;
        if (r == 0)
            return -ETIMEDOUT;
        r = ctl_recv_fd(fd, &pst__step_news__descriptor, &msg, &ns);
    } while (r == -EAGAIN);
    if (r <= 0)
        return r < 0 ? r : -ECONNRESET;
    news = PB_AS(step_news, msg);
    r = news->adopted ? 0 : -EREMOTEIO;
    if (r == 0) { /* a mount namespace itself, or a pidfd with flags */
        *ret_flags = news->has_ns_flags ? (int)news->ns_flags : CLONE_NEWNS;
        *ret_ns = TAKE_FD(ns);
    }
    protobuf_c_message_free_unpacked(msg, NULL);
    return r;
}

int ask_adopt(const char *step_dir, bool script, int *ret_ns, int *ret_flags)
{
    Pst__StepOrder o = PST__STEP_ORDER__INIT;
    _cleanup_close_ int fd = -1;
    int r = ctl_connect(step_dir, "sock", &fd);

    if (r < 0)
        return r;
    o.has_adopt = o.adopt = true;
    o.has_script = o.script = script;
    r = ctl_send(fd, &o.base);
    return r < 0 ? r : read_answer(fd, ret_ns, ret_flags);
}

int ask_script(const char *path, const char *work_dir)
{
    char *argv[] = { (char *)path, NULL };
    _cleanup_close_ int ns = -1;
    int flags;

    if (ask_adopt(".", true, &ns, &flags) < 0 || (chdir(work_dir) < 0 && chdir("/") < 0))
        return NOT_ADOPTED;
    inherit_close(3, -1);
    (void)execve(path, argv, environ);
    return NOT_STARTED;
}
