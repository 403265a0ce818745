/* tlspipe.c - see tlspipe.h
 *
 * Two directions, a buffer each that is filled when it is empty and emptied before it is filled
 * again, so that a slow end slows the other and nothing grows.  One end closed: what is on its way
 * to the other is sent, then both close.  Owned by its worker's thread. */
#include "wire/server/tlspipe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/server/server_impl.h"

#define BUFFER (16u * WIRE_KIB)

struct flow {
    uint8_t bytes[BUFFER];
    size_t pos, len;
    bool ended; /* its source */
};

struct tlspipe {
    struct worker *worker;
    struct tlspipe *prev, *next;
    struct tls *tls;
    int net_fd, plain_fd;
    uv_poll_t net, plain;
    unsigned open_handles;
    bool closing;
    struct flow in, out; /* from the network, to it */
};

static void on_net(uv_poll_t *poll, int status, int events);
static void on_plain(uv_poll_t *poll, int status, int events);

static void on_closed(uv_handle_t *handle)
{
    struct tlspipe *p = handle->data;

    if (--p->open_handles > 0)
        return;
    (void)tls_free(p->tls); /* always NULL */
    (void)close(p->net_fd); /* nobody to report to, as the next */
    (void)close(p->plain_fd);
    free(p);
}

static void close_pipe(struct tlspipe *p)
{
    if (p->closing)
        return;
    p->closing = true;
    if (p->prev)
        p->prev->next = p->next;
    else
        p->worker->pipes = p->next;
    if (p->next)
        p->next->prev = p->prev;
    uv_close((uv_handle_t *)&p->net, on_closed);
    uv_close((uv_handle_t *)&p->plain, on_closed);
}

/* Move what there is; false: broken. */
static bool move_in(struct tlspipe *p)
{
    struct flow *f = &p->in;
    ssize_t n = 1;

    while (n > 0) {
        if (f->pos == f->len && !f->ended) {
            f->pos = f->len = 0;
            n = tls_read(p->tls, f->bytes, sizeof(f->bytes));
            f->ended = n == 0;
            if (n > 0)
                f->len = (size_t)n;
        }
        if (n > 0 && f->pos < f->len) {
            n = send(p->plain_fd, f->bytes + f->pos, f->len - f->pos, MSG_NOSIGNAL | MSG_DONTWAIT);
            f->pos += n > 0 ? (size_t)n : 0;
            n = n < 0 ? -errno : n;
        } else if (f->ended) {
            (void)shutdown(p->plain_fd, SHUT_WR); /* likewise when it is gone */
            return true;
        }
    }
    return n == 0 || n == -EAGAIN || n == -EINTR;
}

static bool move_out(struct tlspipe *p)
{
    struct flow *f = &p->out;
    ssize_t n = 1;

    while (n > 0) {
        if (f->pos == f->len && !f->ended) {
            f->pos = f->len = 0;
            n = recv(p->plain_fd, f->bytes, sizeof(f->bytes), MSG_DONTWAIT);
            f->ended = n == 0;
            if (n > 0)
                f->len = (size_t)n;
            n = n < 0 ? -errno : n;
        }
        if (n > 0 && f->pos < f->len) {
            n = tls_write(p->tls, f->bytes + f->pos, f->len - f->pos);
            f->pos += n > 0 ? (size_t)n : 0;
        } else if (f->ended) {
            return false; /* the answer is out, and its maker done */
        }
    }
    return n == 0 || n == -EAGAIN || n == -EINTR;
}

static void poll_again(struct tlspipe *p)
{
    bool in_full = p->in.pos < p->in.len, out_full = p->out.pos < p->out.len;
    int net = (in_full || p->in.ended ? 0 : UV_READABLE) | (out_full ? UV_WRITABLE : 0);
    int plain = (out_full || p->out.ended ? 0 : UV_READABLE) | (in_full ? UV_WRITABLE : 0);

    /* with nothing to wait for they are stopped; these fail while closing only */
    if (net)
        (void)uv_poll_start(&p->net, net, on_net);
    else
        (void)uv_poll_stop(&p->net);
    if (plain)
        (void)uv_poll_start(&p->plain, plain, on_plain);
    else
        (void)uv_poll_stop(&p->plain);
}

static void pump_bytes(struct tlspipe *p, int status)
{
    if (p->closing)
        return;
    if (status < 0 || !move_in(p) || !move_out(p))
        close_pipe(p);
    else
        poll_again(p);
}

static void on_net(uv_poll_t *poll, int status, int events)
{
    (void)events;
    pump_bytes(poll->data, status);
}

static void on_plain(uv_poll_t *poll, int status, int events)
{
    (void)events;
    pump_bytes(poll->data, status);
}

static int start_pipe(struct worker *w, struct tlspipe *p)
{
    int r = uv_poll_init(&w->loop, &p->net, p->net_fd);

    if (r < 0)
        return r;
    p->net.data = p->plain.data = p;
    r = uv_poll_init(&w->loop, &p->plain, p->plain_fd);
    p->open_handles = r < 0 ? 1 : 2;
    p->worker = w;
    p->next = w->pipes;
    if (p->next)
        p->next->prev = p;
    w->pipes = p;
    if (r == 0)
        return 0;
    w->pipes = p->next;
    if (p->next)
        p->next->prev = NULL;
    uv_close((uv_handle_t *)&p->net, on_closed); /* frees */
    return 1;
}

int tlspipe_new(struct worker *w, struct link *l)
{
    struct tlspipe *p = calloc(1, sizeof(*p));
    int pair[2] = { -1, -1 }, r = p ? 0 : -ENOMEM;

    if (r == 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
        r = -errno;
    if (r == 0) {
        p->plain_fd = pair[0];
        p->net_fd = fcntl(l->fd, F_DUPFD_CLOEXEC, 3);
        r = p->net_fd < 0 ? -errno : tls_move(l->tls, p->net_fd);
    }
    if (r == 0) {
        p->tls = TAKE_PTR(l->tls);
        r = start_pipe(w, p);
        if (r == 0) {
            pump_bytes(p, 0);
            return pair[1];
        }
        if (r > 0) {              /* it ends by itself */
            (void)close(pair[1]); /* nobody has it */
            return -ENOMEM;
        }
        p->tls = tls_free(p->tls);
    }
    if (pair[0] >= 0) {
        (void)close(pair[0]); /* nothing was sent */
        (void)close(pair[1]);
    }
    if (p && p->net_fd > 0)
        (void)close(p->net_fd); /* a duplicate */
    free(p);
    return r;
}

void tlspipe_close_all(struct worker *w)
{
    while (w->pipes)
        close_pipe(w->pipes);
}
