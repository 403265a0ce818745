/* ctl.c - see ctl.h
 *
 * Keeps no state.  Sequenced packets save us framing and partial writes; names go through short
 * relative or /proc/self/fd paths because a socket address holds 108 bytes and spool paths may be
 * longer. */
#include "stepd/shared/ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"

int ctl_send(int fd, const ProtobufCMessage *msg)
{
    return ctl_send_fd(fd, msg, -1);
}

int ctl_send_fd(int fd, const ProtobufCMessage *msg, int pass_fd)
{
    uint8_t buf[4096];
    size_t len = protobuf_c_message_get_packed_size(msg);
    _cleanup_free_ uint8_t *heap = NULL;
    uint8_t *p = buf;
    ssize_t n;

    if (len > CTL_MAX)
        return -EMSGSIZE;
    if (len > sizeof(buf)) {
        heap = malloc(len);
        if (!heap)
            return -ENOMEM;
        p = heap;
    }
    /* A packet of no bytes would read as end of file, so one byte goes in front of every
     * message. */
    {
        uint8_t lead = 1;
        struct iovec iov[2] = { { &lead, 1 }, { p, len } };
        struct msghdr mh = { .msg_iov = iov, .msg_iovlen = 2 };
        union {
            struct cmsghdr align;
            char space[CMSG_SPACE(sizeof(int))];
        } control = { .space = { 0 } };

        if (pass_fd >= 0) {
            mh.msg_control = control.space;
            mh.msg_controllen = sizeof(control.space);
            control.align.cmsg_level = SOL_SOCKET;
            control.align.cmsg_type = SCM_RIGHTS;
            control.align.cmsg_len = CMSG_LEN(sizeof(int));
            memcpy(CMSG_DATA(&control.align), &pass_fd, sizeof(int));
        }

        protobuf_c_message_pack(msg, p);
        do
            n = sendmsg(fd, &mh, MSG_NOSIGNAL | MSG_DONTWAIT);
        while (n < 0 && errno == EINTR);
    }
    return n < 0 ? -errno : 0;
}

/* The descriptor of a received packet; -1 none. */
static int passed_fd(struct msghdr *mh)
{
    const struct cmsghdr *c = CMSG_FIRSTHDR(mh);
    int fd = -1;

    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
        c->cmsg_len >= CMSG_LEN(sizeof(int)))
        memcpy(&fd, CMSG_DATA(c), sizeof(int));
    return fd;
}

int ctl_recv(int fd, const ProtobufCMessageDescriptor *desc, ProtobufCMessage **ret_msg)
{
    _cleanup_close_ int unwanted = -1;

    return ctl_recv_fd(fd, desc, ret_msg, &unwanted);
}

/* Room for the next message: few, or memory in *ret_more.  Most are short, and a buffer for the
 * longest on the stack would have all its pages touched.  A negative errno; -EAGAIN: none is there,
 * and one that comes now may be longer than few. */
static int make_room(int fd, uint8_t *few, size_t n_few, uint8_t **ret_more, struct iovec *ret_room)
{
    ssize_t n;
    size_t len;

    do
        n = recv(fd, NULL, 0, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    len = MIN((size_t)n, (size_t)CTL_MAX + 1);
    if (len > n_few && !(*ret_more = malloc(len)))
        return -ENOMEM;
    *ret_room = *ret_more ? (struct iovec){ *ret_more, len } : (struct iovec){ few, n_few };
    return 0;
}

int ctl_recv_fd(int fd, const ProtobufCMessageDescriptor *desc, ProtobufCMessage **ret_msg,
                int *ret_fd)
{
    _cleanup_free_ uint8_t *more = NULL;
    uint8_t few[1024];
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec iov;
    struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
    _cleanup_close_ int got = -1;
    ProtobufCMessage *msg;
    ssize_t n;
    int r;

    if ((r = make_room(fd, few, sizeof(few), &more, &iov)) < 0)
        return r == -ECONNRESET ? 0 : r;
    do {
        mh.msg_control = control.space;
        mh.msg_controllen = sizeof(control.space);
        n = recvmsg(fd, &mh, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == ECONNRESET ? 0 : -errno;
    if (n == 0)
        return 0;
    got = passed_fd(&mh);
    msg = protobuf_c_message_unpack(desc, NULL, (size_t)n - 1, (uint8_t *)iov.iov_base + 1);
    if (!msg)
        return -EBADMSG;
    *ret_msg = msg;
    *ret_fd = TAKE_FD(got);
    return 1;
}

int ctl_listen(const char *name, int *ret_fd)
{
    struct sockaddr_un sa = { .sun_family = AF_UNIX };
    _cleanup_close_ int fd = -1;
    mode_t old;
    int r;

    if (snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", name) >= (int)sizeof(sa.sun_path))
        return -ENAMETOOLONG;
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    old = umask(0177);
    r = bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 ? -errno : 0;
    (void)umask(old);
    if (r < 0)
        return r;
    if (listen(fd, 8) < 0)
        return -errno;
    *ret_fd = TAKE_FD(fd);
    return 0;
}

int ctl_accept(int listen_fd, int *ret_fd)
{
    _cleanup_close_ int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct ucred cred;
    socklen_t len = sizeof(cred);

    if (fd < 0)
        return -errno;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
        return -errno;
    if (cred.uid != 0 && cred.uid != getuid())
        return -EACCES;
    *ret_fd = TAKE_FD(fd);
    return 0;
}

int ctl_connect(const char *dir, const char *name, int *ret_fd)
{
    _cleanup_close_ int dfd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    _cleanup_close_ int fd = -1;
    struct sockaddr_un sa = { .sun_family = AF_UNIX };

    if (dfd < 0)
        return -errno;
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    (void)snprintf(sa.sun_path, sizeof(sa.sun_path), "/proc/self/fd/%d/%s", dfd, name);
    if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
        return -errno;
    *ret_fd = TAKE_FD(fd);
    return 0;
}
