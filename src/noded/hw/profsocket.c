/* profsocket.c - see profsocket.h */
#include "noded/hw/profsocket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "stepd/use/stepprof.h"

#define TURN_MAX 64   /* datagrams of one turn of the loop */
#define DRAIN_MAX 512 /* ... that may wait: more than the kernel keeps for a socket */

struct profsocket {
    uv_poll_t poll;
    int fd, dir_fd;
    struct stat own; /* of the socket's name */
    profsocket_fn *take;
    void *ctx;
    char datagram[PROFILE_DATAGRAM_MAX];
};

static void take_datagrams(struct profsocket *s, unsigned max)
{
    for (unsigned i = 0; i < max; i++) {
        ssize_t n = recv(s->fd, s->datagram, sizeof(s->datagram), MSG_DONTWAIT | MSG_TRUNC);

        if (n < 0)
            return;
        if (n > 0 && (size_t)n <= sizeof(s->datagram) && s->datagram[n - 1] == '\n')
            s->take(s->ctx, s->datagram, (size_t)n);
    }
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    (void)events;
    if (status == 0)
        take_datagrams(poll->data, TURN_MAX);
}

void profsocket_drain(struct profsocket *s)
{
    take_datagrams(s, DRAIN_MAX);
}

/* Our umask lets nobody else write to the socket. */
static int open_socket(struct profsocket *s, const char *dir)
{
    struct sockaddr_un sa = { .sun_family = AF_UNIX };

    s->dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    s->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s->dir_fd < 0 || s->fd < 0)
        return -errno;
    (void)unlinkat(s->dir_fd, PROFILE_SOCKET, 0); /* of the slurmd before us */
    (void)snprintf(sa.sun_path, sizeof(sa.sun_path), "/proc/self/fd/%d/%s", s->dir_fd,
                   PROFILE_SOCKET);
    if (bind(s->fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 ||
        fchmodat(s->dir_fd, PROFILE_SOCKET, 0600, 0) < 0 ||
        fstatat(s->dir_fd, PROFILE_SOCKET, &s->own, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    return 0;
}

static void free_socket(struct profsocket *s)
{
    if (s->fd >= 0)
        (void)close(s->fd);
    if (s->dir_fd >= 0)
        (void)close(s->dir_fd);
    free(s);
}

int profsocket_open(uv_loop_t *loop, const char *dir, profsocket_fn *take, void *ctx,
                    struct profsocket **ret, struct err *err)
{
    struct profsocket *s = malloc(sizeof(*s));
    int r;

    if (!s)
        return err_nomem(err);
    s->fd = s->dir_fd = -1;
    s->take = take;
    s->ctx = ctx;
    r = open_socket(s, dir);
    if (r < 0) {
        free_socket(s);
        return err_set(err, r, "%s/%s: %s", dir, PROFILE_SOCKET, strerror(-r));
    }
    (void)uv_poll_init(loop, &s->poll, s->fd); /* fails only for files */
    s->poll.data = s;
    (void)uv_poll_start(&s->poll, UV_READABLE, on_readable); /* cannot fail: not closing */
    *ret = s;
    return 0;
}

static void on_closed(uv_handle_t *handle)
{
    free_socket(handle->data);
}

struct profsocket *profsocket_close(struct profsocket *s)
{
    struct stat st;

    if (!s)
        return NULL;
    profsocket_drain(s);
    /* another type of AcctGatherProfileType may have opened its own meanwhile */
    if (fstatat(s->dir_fd, PROFILE_SOCKET, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        st.st_ino == s->own.st_ino)
        (void)unlinkat(s->dir_fd, PROFILE_SOCKET, 0);
    uv_close((uv_handle_t *)&s->poll, on_closed);
    return NULL;
}
