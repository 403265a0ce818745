/* xaddress.c - where an X server listens; see xaddress.h */
#include "wire/x11/xaddress.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Digits up to max, and where they end.  False: there are none, or too many. */
static bool read_number(const char *text, unsigned max, unsigned *ret_n, const char **ret_end)
{
    unsigned n = 0;
    const char *p = text;

    for (; *p >= '0' && *p <= '9'; p++) {
        n = n * 10 + (unsigned)(*p - '0');
        if (n > max)
            return false;
    }
    *ret_n = n;
    *ret_end = p;
    return p > text;
}

int xaddress_parse(const char *text, struct xaddress *ret_a, struct err *err)
{
    const char *colon = strrchr(text, ':'), *end;
    struct xaddress a = { .host = "" };
    size_t n = colon ? (size_t)(colon - text) : 0;
    unsigned screen;

    if (!colon || !read_number(colon + 1, XADDRESS_MAX, &a.display, &end) ||
        (*end == '.' && !read_number(end + 1, 255, &screen, &end)) || *end || n >= sizeof(a.host) ||
        memchr(text, '/', n))
        return err_set(err, -EINVAL, "DISPLAY is %.100s, which is not [host]:number[.screen]",
                       text);
    if (n >= 2 && text[0] == '[' && text[n - 1] == ']') { /* [::1]:0 */
        text++;
        n -= 2;
    }
    if (!(n == 4 && memcmp(text, "unix", 4) == 0))
        memcpy(a.host, text, n);
    *ret_a = a;
    return 0;
}

static void local_socket(const struct xaddress *a, struct xaddress_at *at)
{
    struct sockaddr_un un = { .sun_family = AF_UNIX };

    (void)snprintf(un.sun_path, sizeof(un.sun_path), "/tmp/.X11-unix/X%u", a->display);
    memset(at, 0, sizeof(*at));
    memcpy(at->sa, &un, sizeof(un));
    at->len = sizeof(un);
}

int xaddress_look_up(const struct xaddress *a, struct xaddress_at *list, size_t max, size_t *ret_n,
                     struct err *err)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV };
    struct addrinfo *found = NULL;
    char port[8];
    size_t n = 0;
    int r;

    if (!a->host[0]) {
        local_socket(a, &list[0]);
        *ret_n = 1;
        return 0;
    }
    (void)snprintf(port, sizeof(port), "%u", XADDRESS_PORT + a->display);
    r = getaddrinfo(a->host, port, &hints, &found);
    if (r != 0)
        return err_set(err, -EHOSTUNREACH, "the host %s of DISPLAY is not known: %s", a->host,
                       gai_strerror(r));
    for (const struct addrinfo *ai = found; ai && n < max; ai = ai->ai_next) {
        if (ai->ai_addrlen > sizeof(list[n].sa))
            continue;
        memcpy(list[n].sa, ai->ai_addr, ai->ai_addrlen);
        list[n++].len = ai->ai_addrlen;
    }
    freeaddrinfo(found);
    if (n == 0)
        return err_set(err, -EHOSTUNREACH, "the host %s of DISPLAY has no address", a->host);
    *ret_n = n;
    return 0;
}

int xaddress_connect(const struct xaddress_at *at, int *ret_fd)
{
    union {
        struct sockaddr sa;
        struct sockaddr_storage space;
    } u;
    _cleanup_close_ int fd = -1;

    memcpy(&u.space, at->sa, MIN(at->len, sizeof(u.space)));
    fd = socket(u.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    if (connect(fd, &u.sa, (socklen_t)at->len) < 0 && errno != EINPROGRESS)
        return -errno;
    *ret_fd = TAKE_FD(fd);
    return 0;
}
