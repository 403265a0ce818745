/* tlspipe.c - see tlspipe.h
 *
 * A flow of bytes (wire/tls/tlsflow.h) on its worker's loop, owned by its worker's thread. */
#include "wire/server/tlspipe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/server/server_impl.h"
#include "wire/tls/tlsflow.h"

struct tlspipe {
    struct worker *worker;
    struct tlspipe *prev, *next;
    struct tlsflow *flow;
    uv_poll_t net, plain;
    unsigned open_handles;
    bool closing;
};

static void on_net(uv_poll_t *poll, int status, int events);
static void on_plain(uv_poll_t *poll, int status, int events);

static void on_closed(uv_handle_t *handle)
{
    struct tlspipe *p = handle->data;

    if (--p->open_handles > 0)
        return;
    (void)tlsflow_free(p->flow); /* always NULL */
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

static int uv_events(short events)
{
    return (events & POLLIN ? UV_READABLE : 0) | (events & POLLOUT ? UV_WRITABLE : 0);
}

static void poll_again(struct tlspipe *p)
{
    short net, plain;

    tlsflow_events(p->flow, &net, &plain);
    /* with nothing to wait for they are stopped; these fail while closing only */
    if (net)
        (void)uv_poll_start(&p->net, uv_events(net), on_net);
    else
        (void)uv_poll_stop(&p->net);
    if (plain)
        (void)uv_poll_start(&p->plain, uv_events(plain), on_plain);
    else
        (void)uv_poll_stop(&p->plain);
}

static void pump_bytes(struct tlspipe *p, int status)
{
    if (p->closing)
        return;
    if (status < 0 || !tlsflow_move(p->flow))
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

/* The flow is taken.  -errno: it is, or will be, closed. */
static int start_pipe(struct worker *w, struct tlspipe *p, int net_fd, int plain_fd)
{
    int r = uv_poll_init(&w->loop, &p->net, net_fd);

    if (r < 0) {
        (void)tlsflow_free(p->flow); /* always NULL */
        free(p);
        return r;
    }
    p->net.data = p->plain.data = p;
    r = uv_poll_init(&w->loop, &p->plain, plain_fd);
    p->open_handles = r < 0 ? 1 : 2;
    if (r < 0) {
        uv_close((uv_handle_t *)&p->net, on_closed); /* frees */
        return r;
    }
    p->worker = w;
    p->next = w->pipes;
    if (p->next)
        p->next->prev = p;
    w->pipes = p;
    return 0;
}

/* A flow of l's TLS between a duplicate of its descriptor and plain_fd. */
static int make_flow(struct link *l, int plain_fd, int *ret_net_fd, struct tlsflow **ret)
{
    int net_fd = fcntl(l->fd, F_DUPFD_CLOEXEC, 3);
    int r = net_fd < 0 ? -errno : tls_move(l->tls, net_fd);

    if (r == 0)
        r = tlsflow_new(l->tls, net_fd, plain_fd, ret);
    if (r == 0)
        l->tls = NULL;
    else if (net_fd >= 0)
        (void)close(net_fd); /* a duplicate */
    *ret_net_fd = net_fd;
    return r;
}

int tlspipe_new(struct worker *w, struct link *l)
{
    _cleanup_free_ struct tlspipe *p = calloc(1, sizeof(*p));
    struct tlspipe *started;
    int pair[2], net_fd, r;

    if (!p)
        return -ENOMEM;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
        return -errno;
    r = make_flow(l, pair[0], &net_fd, &p->flow);
    if (r < 0) {
        (void)close(pair[0]); /* nothing was sent */
        (void)close(pair[1]);
        return r;
    }
    started = TAKE_PTR(p);
    r = start_pipe(w, started, net_fd, pair[0]);
    if (r < 0) {
        (void)close(pair[1]); /* nobody has it */
        return r;
    }
    pump_bytes(started, 0);
    return pair[1];
}

void tlspipe_close_all(struct worker *w)
{
    while (w->pipes)
        close_pipe(w->pipes);
}
