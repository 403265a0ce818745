/* xdisplay.c - a display for the X programs of a job, in its extern step; see xdisplay.h
 *
 * srun or salloc has connected and given a cookie.  This listens on the loopback as an X server
 * with the first free number from 10 on would, writes the cookie where the job's programs find it,
 * tells the number in the file x11 of the step's folder, from which slurmd tells other steps, and
 * passes what programs send through the connection (wire/x11/tunnel.h).  Whether a program has the
 * cookie is decided at the other end, before a byte reaches the user's X server.  All ends with the
 * connection. */
#include "stepd/xdisplay.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "stepd/xhome.h"
#include "stepd/shared/asuser.h"
#include "stepd/shared/spool.h"
#include "stepd/step.h"
#include "wire/client.h"
#include "wire/x11/tunnel.h"
#include "wire/x11/xaddress.h"
#include "wire/x11/xauthority.h"

#define FIRST_DISPLAY 10u
#define DISPLAYS 1000u /* that are tried */
#define BACKLOG 16
#define HOME_WAIT_S 10u
#define FOLDERS 16 /* of files with cookies; one that the user has left something in stays */
#define FOLDER_LEN 16

struct xdisplay {
    int fd; /* of the request that is not yet dealt with; -1 none */
    uint32_t request_id;
    uint8_t key[32];
    size_t key_len;
    struct xauth_cookie cookie;
    struct client *client; /* NULL: not begun */
    struct tunnels *tunnels;
    int listen_fd[2]; /* 127.0.0.1 and ::1; -1 none */
    unsigned display;
    char folder[FOLDER_LEN]; /* of the file with the cookie; "" none */
    bool in_home;            /* the cookie is in the user's own file */
    pid_t home_pid;          /* the process that takes the cookie out of it; 0 none */
};

void xdisplay_take(struct step *s, int fd, const Pst__StepOrder *order)
{
    struct xdisplay *x = s->xdisplay;

    if (!x || x->fd >= 0 || x->client || s->ended || s->stage != KILL_NONE ||
        order->x11_cookie.len != XAUTH_COOKIE || order->stream_key.len > sizeof(x->key)) {
        (void)close(fd); /* it sees the end of the connection */
        return;
    }
    x->fd = fd;
    x->request_id = order->attach_id;
    x->key_len = order->stream_key.len;
    if (x->key_len)
        memcpy(x->key, order->stream_key.data, x->key_len);
    x->cookie.len = XAUTH_COOKIE;
    memcpy(x->cookie.bytes, order->x11_cookie.data, XAUTH_COOKIE);
}

int xdisplay_begin(struct step *s)
{
    s->xdisplay = calloc(1, sizeof(*s->xdisplay));
    if (!s->xdisplay)
        return -ENOMEM;
    *s->xdisplay = (struct xdisplay){ .fd = -1, .listen_fd = { -1, -1 } };
    return 0;
}

/* ---- listening ------------------------------------------------------------------------------- */

static int listen_at(int family, uint16_t port, int *ret_fd)
{
    union {
        struct sockaddr sa;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
    } u;
    const int one = 1;
    _cleanup_close_ int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -errno;
    memset(&u, 0, sizeof(u));
    if (family == AF_INET)
        u.in = (struct sockaddr_in){ .sin_family = AF_INET,
                                     .sin_port = htons(port),
                                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    else
        u.in6 = (struct sockaddr_in6){ .sin6_family = AF_INET6,
                                       .sin6_port = htons(port),
                                       .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    /* another program's connections that have just ended do not matter */
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0 ||
        (family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)) < 0) ||
        bind(fd, &u.sa, family == AF_INET ? sizeof(u.in) : sizeof(u.in6)) < 0 ||
        listen(fd, BACKLOG) < 0)
        return -errno;
    *ret_fd = TAKE_FD(fd);
    return 0;
}

static void close_listeners(struct xdisplay *x)
{
    for (int i = 0; i < 2; i++) {
        if (x->listen_fd[i] >= 0)
            (void)close(x->listen_fd[i]);
        x->listen_fd[i] = -1;
    }
}

/* Both addresses of a number, so that nobody else can pose as the other one; a machine may have no
 * IPv6. */
static int choose_display(struct xdisplay *x)
{
    int r = -EADDRINUSE;

    for (unsigned n = FIRST_DISPLAY; r == -EADDRINUSE && n < FIRST_DISPLAY + DISPLAYS; n++) {
        uint16_t port = (uint16_t)(XADDRESS_PORT + n);

        x->display = n;
        r = listen_at(AF_INET, port, &x->listen_fd[0]);
        if (r == 0 && listen_at(AF_INET6, port, &x->listen_fd[1]) == -EADDRINUSE)
            r = -EADDRINUSE;
        if (r < 0)
            close_listeners(x);
    }
    return r;
}

/* ---- the cookie ------------------------------------------------------------------------------ */

/* The process of the user that changes the file in his home; its wait status is 0 when that went
 * well.  Returns its number or a negative errno. */
static pid_t edit_home(const struct step *s, const struct xauth_cookie *cookie)
{
    const struct xdisplay *x = s->xdisplay;
    sigset_t none;
    pid_t pid = fork();

    if (pid != 0)
        return pid < 0 ? -errno : pid;
    (void)setsid();               /* a fresh process leads nothing */
    (void)close_range(3, ~0u, 0); /* no connection outlives the step daemon here */
    (void)alarm(HOME_WAIT_S);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL); /* valid arguments */
    if (become_user(s->uid, s->gid, s->gids, s->n_gids) < 0)
        _exit(1);
    _exit(xhome_edit(s->sf->home, s->host, x->display, cookie) < 0);
}

static int write_home(struct step *s)
{
    pid_t pid;
    int r;

    if (!s->sf->home || !*s->sf->home)
        return -ENOENT;
    pid = edit_home(s, &s->xdisplay->cookie);
    if (pid < 0)
        return pid;
    await_begin(s, pid);
    r = await_fd(s, -1, now_mono_us() + (int64_t)HOME_WAIT_S * USEC_PER_SEC);
    if (await_end(s) != 0 && r == 0)
        r = -EIO;
    s->xdisplay->in_home = r == 0;
    return r;
}

/* In a folder that only the user enters: programs of X lock and replace the file in it.  The folder
 * is ours until the file is there, and goes with the step's. */
static int write_file(struct step *s, const struct strbuf *sb)
{
    char *folder = s->xdisplay->folder;
    int r = -EEXIST;

    for (unsigned i = 0; r == -EEXIST && i < FOLDERS; i++) {
        (void)snprintf(folder, FOLDER_LEN, "x11.%u", i);
        r = mkdir(folder, 0700) < 0 ? -errno : 0;
    }
    if (r == 0)
        r = spool_write(folder, "xauthority", sb->buf, sb->len, 0600, s->uid, s->gid);
    if (r == 0 && s->switch_user && chown(folder, s->uid, s->gid) < 0)
        r = -errno;
    return r;
}

/* A program of the user that holds a lock leaves the folder where it is. */
static void remove_file(struct xdisplay *x)
{
    char path[FOLDER_LEN + 16];

    if (!*x->folder)
        return;
    (void)snprintf(path, sizeof(path), "%s/xauthority", x->folder);
    (void)unlink(path); /* missing is fine */
    (void)rmdir(x->folder);
}

static int write_cookie(struct step *s)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    struct xdisplay *x = s->xdisplay;

    if (s->sf->x11_home)
        return write_home(s);
    xauthority_add(&sb, XAUTH_WILD, "", x->display, &x->cookie);
    return sb.failed ? -ENOMEM : write_file(s, &sb);
}

/* ---- begin and end --------------------------------------------------------------------------- */

static int tell_slurmd(const struct step *s)
{
    Pst__StepX11 told = PST__STEP_X11__INIT;
    char path[SPOOL_PATH_MAX];

    (void)snprintf(path, sizeof(path), "%s/%s/xauthority", s->sf->step_dir, s->xdisplay->folder);
    told.has_display = true;
    told.display = s->xdisplay->display;
    told.authority = s->xdisplay->in_home ? NULL : path;
    return spool_put_msg(".", "x11", &told.base);
}

bool xdisplay_reaped(struct step *s, pid_t pid)
{
    if (!s->xdisplay || s->xdisplay->home_pid != pid)
        return false;
    s->xdisplay->home_pid = 0;
    return true;
}

bool xdisplay_busy(const struct step *s)
{
    return s->xdisplay && s->xdisplay->home_pid > 0;
}

void xdisplay_end(struct step *s)
{
    struct xdisplay *x = s->xdisplay;
    pid_t home_pid;

    if (!x)
        return;
    home_pid = x->home_pid;
    (void)unlink("x11"); /* missing is fine, as below */
    remove_file(x);
    if (x->in_home)
        home_pid = edit_home(s, NULL); /* a cookie that stays opens nothing */
    close_listeners(x);
    x->tunnels = tunnels_free(x->tunnels);
    x->client = client_free(x->client);
    if (x->fd >= 0)
        (void)close(x->fd);
    explicit_bzero(x, sizeof(*x));
    *x = (struct xdisplay){ .fd = -1, .listen_fd = { -1, -1 }, .home_pid = MAX(home_pid, 0) };
}

void xdisplay_done(struct step *s)
{
    xdisplay_end(s);
    free(s->xdisplay);
    s->xdisplay = NULL;
}

static void refuse_request(struct step *s, int r)
{
    Pst__Error e = PST__ERROR__INIT;
    char text[160];
    struct xdisplay *x = s->xdisplay;

    (void)snprintf(text, sizeof(text), "no display could be made: %s", strerror(-r));
    e.has_code = true;
    e.code = -1;
    e.text = text;
    (void)client_send_nonblock(x->client, OP_ATTACH_STEP, FRAME_REPLY | FRAME_ERROR, x->request_id,
                               &e.base); /* gone: nobody misses it */
    attach_answer(s, TAKE_PTR(x->client));
    xdisplay_end(s);
}

void xdisplay_advance(struct step *s)
{
    struct xdisplay *x = s->xdisplay;
    int fd, r;

    if (!x || x->fd < 0)
        return;
    fd = TAKE_FD(x->fd);
    r = client_from_stream(fd, (ProtobufCBinaryData){ x->key_len, x->key }, &x->client);
    explicit_bzero(x->key, sizeof(x->key));
    if (r < 0) {
        (void)close(fd); /* it sees the end of the connection */
        x->client = NULL;
        return;
    }
    r = choose_display(x);
    if (r == 0)
        r = write_cookie(s);
    if (r == 0)
        r = tunnels_new(x->client, NULL, NULL, &x->tunnels);
    if (r == 0)
        r = tell_slurmd(s);
    if (r == 0)
        r = client_send_nonblock(x->client, OP_ATTACH_STEP, FRAME_REPLY, x->request_id, NULL);
    if (r < 0)
        refuse_request(s, r);
}

/* ---- the loop -------------------------------------------------------------------------------- */

size_t xdisplay_poll_room(const struct step *s)
{
    return s->xdisplay ? 3 + TUNNELS_MAX : 0;
}

size_t xdisplay_poll_fill(const struct step *s, struct pollfd *fds)
{
    const struct xdisplay *x = s->xdisplay;
    size_t n = 0;

    if (!x || !x->tunnels)
        return 0;
    fds[n++] = (struct pollfd){ .fd = client_fd(x->client),
                                .events = (short)(POLLIN | client_out_events(x->client)) };
    for (int i = 0; i < 2; i++)
        fds[n++] = (struct pollfd){ .fd = x->listen_fd[i], .events = POLLIN };
    return n + tunnels_poll_fill(x->tunnels, fds + n);
}

static void accept_programs(struct xdisplay *x, int listen_fd)
{
    const int one = 1;
    int fd;

    while ((fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)); /* slower without */
        tunnels_add_take(x->tunnels, fd);
    }
}

/* False: the connection is lost. */
static bool read_frames(struct xdisplay *x)
{
    struct frame f;
    int r;

    while ((r = client_recv(x->client, 0, &f)) > 0) {
        ProtobufCMessage *msg = NULL;

        if (f.op != OP_STEP_IO || frame_unpack_request(&f, &msg, NULL) < 0)
            continue;
        tunnels_take_frame(x->tunnels, PB_AS(step_io, msg));
        protobuf_c_message_free_unpacked(msg, NULL);
    }
    return r == 0;
}

void xdisplay_poll_done(struct step *s, const struct pollfd *fds, size_t n)
{
    struct xdisplay *x = s->xdisplay;

    if (n == 0 || !x->tunnels)
        return;
    if (fds[0].revents & POLLOUT && client_flush(x->client) < 0 && client_fd(x->client) < 0) {
        xdisplay_end(s);
        return;
    }
    tunnels_poll_done(x->tunnels, fds + 3);
    for (int i = 0; i < 2; i++)
        if (fds[1 + i].revents)
            accept_programs(x, x->listen_fd[i]);
    if (fds[0].revents & (POLLIN | POLLHUP | POLLERR) && !read_frames(x))
        xdisplay_end(s);
}
