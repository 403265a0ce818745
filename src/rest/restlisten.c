/* restlisten.c - sockets that listen; see restlisten.h */
#include "rest/restlisten.h"

#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"

#define BACKLOG 512
#define TLS_SCHEME "https://"

static inline void addrinfo_freep(struct addrinfo **ai)
{
    if (*ai)
        freeaddrinfo(*ai);
}

static int bind_and_listen(int fd, const struct sockaddr *sa, socklen_t len)
{
    return bind(fd, sa, len) < 0 || listen(fd, BACKLOG) < 0 ? -errno : 0;
}

/* A socket file that nobody listens at any more. */
static bool is_stale(const struct sockaddr_un *sa)
{
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    return fd >= 0 && connect(fd, (const struct sockaddr *)sa, sizeof(*sa)) < 0 &&
           errno == ECONNREFUSED;
}

static int listen_unix(const char *path, char **ret_path, struct err *err)
{
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un sa = { .sun_family = AF_UNIX };
    int r;

    if (!path[0] || strlen(path) >= sizeof(sa.sun_path))
        return err_set(err, -EINVAL, "unix:%.120s: the path must have 1 to %zu bytes", path,
                       sizeof(sa.sun_path) - 1);
    memcpy(sa.sun_path, path, strlen(path) + 1);
    r = fd < 0 ? -errno : bind_and_listen(fd, (struct sockaddr *)&sa, sizeof(sa));
    if (r == -EADDRINUSE && is_stale(&sa) && unlink(path) == 0)
        r = bind_and_listen(fd, (struct sockaddr *)&sa, sizeof(sa));
    if (r < 0)
        return err_set(err, r, "unix:%s: %s", path, strerror(-r));
    *ret_path = strdup(path);
    return *ret_path ? TAKE_FD(fd) : err_nomem(err);
}

static int listen_one(const struct addrinfo *ai)
{
    _cleanup_close_ int fd = socket(ai->ai_family, ai->ai_socktype | SOCK_CLOEXEC, 0);
    int on = 1, r;

    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
        return -errno;
    r = bind_and_listen(fd, ai->ai_addr, ai->ai_addrlen);
    return r < 0 ? r : TAKE_FD(fd);
}

static int listen_tcp(const char *host, const char *port, const char *address, struct err *err)
{
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
    _cleanup_(addrinfo_free) struct addrinfo *found = NULL;
    int r = getaddrinfo(host[0] ? host : NULL, port, &hints, &found);

    if (r != 0)
        return err_set(err, -EINVAL, "%.200s: %s", address, gai_strerror(r));
    for (const struct addrinfo *ai = found; ai; ai = ai->ai_next) {
        r = listen_one(ai);
        if (r >= 0)
            return r;
    }
    return err_set(err, r, "%.200s: %s", address, strerror(-r));
}

bool restlisten_is_tls(const char *address)
{
    return strncmp(address, TLS_SCHEME, strlen(TLS_SCHEME)) == 0;
}

int restlisten(const char *address, char **ret_path, struct err *err)
{
    const char *rest = address, *colon;
    char host[256];
    size_t len;

    *ret_path = NULL;
    if (strncmp(rest, "unix:", 5) == 0) {
        rest += 5;
        return listen_unix(strncmp(rest, "//", 2) == 0 ? rest + 2 : rest, ret_path, err);
    }
    if (restlisten_is_tls(rest))
        rest += strlen(TLS_SCHEME);
    else if (strncmp(rest, "http://", 7) == 0)
        rest += 7;
    colon = strrchr(rest, ':');
    if (!colon || !colon[1] || (size_t)(colon - rest) >= sizeof(host))
        return err_set(err, -EINVAL,
                       "%.200s is no address: [https://]HOST:PORT, :PORT or unix:PATH", address);
    len = (size_t)(colon - rest);
    if (len >= 2 && rest[0] == '[' && rest[len - 1] == ']') {
        rest++;
        len -= 2;
    }
    memcpy(host, rest, len);
    host[len] = '\0';
    return listen_tcp(host, colon + 1, address, err);
}
