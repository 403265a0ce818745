/* resttake.c - connections that another process hands over; see resttake.h */
#include "rest/resttake.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "rest/rest.h"

#define DRAIN_MS 5000u /* answers under way, when no caller comes any more */

enum taken { TAKEN_ONE, TAKEN_NOTHING, TAKEN_END };

/* One message, and its descriptor; -1: it has none. */
static enum taken receive_fd(int sock, int *ret_fd)
{
    char byte;
    struct iovec iov = { &byte, 1 };
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr mh = { .msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control.space,
                         .msg_controllen = sizeof(control.space) };
    ssize_t n = recvmsg(sock, &mh, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    const struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&mh) : NULL;

    *ret_fd = -1;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return TAKEN_NOTHING;
    if (n <= 0)
        return TAKEN_END;
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
        c->cmsg_len == CMSG_LEN(sizeof(int)))
        memcpy(ret_fd, CMSG_DATA(c), sizeof(*ret_fd));
    return TAKEN_ONE;
}

static enum taken take_one(struct rest *rest, int sock)
{
    struct err err = { .text = "" };
    int fd;
    enum taken taken = receive_fd(sock, &fd);

    if (taken == TAKEN_ONE && fd >= 0 && rest_take(rest, fd, &err) < 0)
        log_limited(LOG_INFO, "connection closed: %s", err.text);
    return taken;
}

static int open_signals(void)
{
    sigset_t set;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    return signalfd(-1, &set, SFD_CLOEXEC);
}

static int check_socket(int sock, struct err *err)
{
    int type = 0;
    socklen_t len = sizeof(type);

    if (getsockopt(sock, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_SEQPACKET)
        return 0;
    return err_set(err, -EINVAL,
                   "--take-connections: standard input is no socket of slurmctld "
                   "(SlurmctldParameters=enable_rest starts slurmrestd so)");
}

int resttake_run(struct rest *rest, int sock, struct err *err)
{
    _cleanup_close_ int signals = open_signals();
    struct pollfd fds[] = { { .fd = sock, .events = POLLIN }, { .fd = signals, .events = POLLIN } };
    int r = check_socket(sock, err);

    if (r < 0)
        return r;
    if (signals < 0)
        return err_set(err, -errno, "signalfd: %s", strerror(errno));
    for (;;) {
        if (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno != EINTR)
            return err_set(err, -errno, "poll: %s", strerror(errno));
        if (fds[1].revents)
            return 0;
        if (fds[0].revents && take_one(rest, sock) == TAKEN_END)
            break;
    }
    rest_wait(rest, DRAIN_MS);
    return 0;
}
