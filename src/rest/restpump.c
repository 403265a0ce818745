/* restpump.c - HTTP on standard input and output; see restpump.h
 *
 * The server wants a socket.  Where there is a pipe or a file, a pair of sockets stands between,
 * and one loop copies in both directions. */
#include "rest/restpump.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "rest/rest.h"

#define PIECE 65536u

static int write_all(int fd, const char *buf, size_t len)
{
    for (size_t at = 0; at < len;) {
        ssize_t n = write(fd, buf + at, len - at);

        if (n < 0 && errno != EINTR)
            return -errno;
        at += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* One piece.  1: copied, 0: the end. */
static int copy_piece(int from, int to)
{
    char buf[PIECE];
    ssize_t n = read(from, buf, sizeof(buf));
    int r;

    if (n < 0)
        return errno == EINTR ? 1 : -errno;
    if (n == 0)
        return 0;
    r = write_all(to, buf, (size_t)n);
    return r < 0 ? r : 1;
}

static int pump_both(int in, int out, int fd)
{
    struct pollfd polls[] = { { .fd = fd, .events = POLLIN }, { .fd = in, .events = POLLIN } };
    int r = 1;

    while (r > 0) {
        if (poll(polls, ARRAY_SIZE(polls), -1) < 0 && errno != EINTR)
            return -errno;
        if (polls[1].revents && copy_piece(in, fd) <= 0) {
            polls[1].fd = -1; /* no more requests; the answers come */
            (void)shutdown(fd, SHUT_WR);
        }
        if (polls[0].revents)
            r = copy_piece(fd, out);
    }
    return r == -ECONNRESET ? 0 : r;
}

static bool is_socket(int fd)
{
    int type;
    socklen_t len = sizeof(type);

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0;
}

int restpump_run(struct rest *rest, int in, int out, struct err *err)
{
    _cleanup_close_ int ours = -1;
    int sv[2], r;

    if (is_socket(in)) {
        r = rest_take(rest, fcntl(in, F_DUPFD_CLOEXEC, 3), err);
        if (r == 0)
            rest_wait(rest, 0);
        return r;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) < 0)
        return err_set(err, -errno, "no pair of sockets: %s", strerror(errno));
    ours = sv[0];
    r = rest_take(rest, sv[1], err);
    if (r == 0)
        r = pump_both(in, out, ours);
    if (r < 0 && !err->text[0])
        return err_set(err, r, "standard input and output: %s", strerror(-r));
    return r;
}
