/* tunnel.c - connections of X programs inside another connection; see tunnel.h */
#include "wire/x11/tunnel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "wire/client.h"
#include "wire/ops.h"

#define CHUNK 32768u
#define CLIENT_BEHIND (1u << 20) /* bytes for the other end before programs are left alone */
#define SWAPPED_MORE 256u        /* by so many bytes at most the first message gets longer */

struct tunnel {
    uint32_t id; /* 0: free */
    int fd;      /* -1: what came first is still gathered in out */
    struct strbuf out;
    size_t out_at;   /* written of out */
    size_t unasked;  /* of the bytes in out that are written next: not the other end's */
    size_t on_way;   /* sent and not yet taken by the other end */
    bool peer_ended; /* close when out is written */
};

struct tunnels {
    struct client *client;
    tunnel_open_fn *open;
    void *ctx;
    uint32_t last_id;
    struct tunnel list[TUNNELS_MAX];
};

int tunnels_new(struct client *c, tunnel_open_fn *open, void *ctx, struct tunnels **ret_t)
{
    struct tunnels *t = calloc(1, sizeof(*t));

    if (!t)
        return -ENOMEM;
    t->client = c;
    t->open = open;
    t->ctx = ctx;
    *ret_t = t;
    return 0;
}

static void forget_tunnel(struct tunnel *n)
{
    if (n->fd >= 0)
        (void)close(n->fd);
    strbuf_done(&n->out);
    *n = (struct tunnel){ .fd = -1 };
}

struct tunnels *tunnels_free(struct tunnels *t)
{
    if (!t)
        return NULL;
    for (size_t i = 0; i < TUNNELS_MAX; i++)
        if (t->list[i].id)
            forget_tunnel(&t->list[i]);
    free(t);
    return NULL;
}

/* A connection that is lost shows when it is read. */
static void send_frame(struct tunnels *t, uint32_t id, Pst__StepIo *io)
{
    io->has_tunnel = true;
    io->tunnel = id;
    (void)client_send_nonblock(t->client, OP_STEP_IO, FRAME_ONEWAY, client_next_id(t->client),
                               &io->base);
}

static void send_end(struct tunnels *t, uint32_t id)
{
    Pst__StepIo io = PST__STEP_IO__INIT;

    io.has_eof = io.eof = true;
    send_frame(t, id, &io);
}

static void send_credit(struct tunnels *t, uint32_t id, size_t bytes)
{
    Pst__StepIo io = PST__STEP_IO__INIT;

    io.has_credit = true;
    io.credit = (uint32_t)bytes;
    send_frame(t, id, &io);
}

static void end_tunnel(struct tunnels *t, struct tunnel *n)
{
    if (!n->peer_ended)
        send_end(t, n->id);
    forget_tunnel(n);
}

static struct tunnel *find_tunnel(struct tunnels *t, uint32_t id)
{
    for (size_t i = 0; i < TUNNELS_MAX; i++)
        if (t->list[i].id == id)
            return &t->list[i];
    return NULL;
}

bool tunnels_room(const struct tunnels *t)
{
    for (size_t i = 0; i < TUNNELS_MAX; i++)
        if (t->list[i].id == 0)
            return true;
    return false;
}

static struct tunnel *new_tunnel(struct tunnels *t, uint32_t id, int fd)
{
    struct tunnel *n = id ? find_tunnel(t, 0) : NULL;

    if (n) {
        *n = (struct tunnel){ .id = id, .fd = fd };
        t->last_id = id;
    }
    return n;
}

/* The other end hears of the id at once: it takes ids in their order, and programs speak in any. */
void tunnels_add_take(struct tunnels *t, int fd)
{
    Pst__StepIo io = PST__STEP_IO__INIT;

    if (!new_tunnel(t, t->last_id + 1, fd)) {
        (void)close(fd);
        return;
    }
    io.has_data = true;
    send_frame(t, t->last_id, &io);
}

/* ---- what the other end sends ---------------------------------------------------------------- */

static void tell_taken(struct tunnels *t, struct tunnel *n, size_t bytes)
{
    size_t own = MIN(bytes, n->unasked);

    n->unasked -= own;
    if (bytes > own)
        send_credit(t, n->id, bytes - own);
}

static void write_out(struct tunnels *t, struct tunnel *n)
{
    while (n->fd >= 0 && n->out_at < n->out.len) {
        ssize_t w = send(n->fd, n->out.buf + n->out_at, n->out.len - n->out_at,
                         MSG_NOSIGNAL | MSG_DONTWAIT);

        if (w < 0 && errno == EINTR)
            continue;
        if (w < 0 && (errno == EAGAIN || errno == ENOTCONN || errno == EINPROGRESS))
            return;
        if (w < 0) {
            end_tunnel(t, n);
            return;
        }
        n->out_at += (size_t)w;
        tell_taken(t, n, (size_t)w);
    }
    if (n->fd >= 0) {
        n->out_at = 0;
        strbuf_reset(&n->out);
        if (n->peer_ended)
            forget_tunnel(n);
    }
}

/* The first bytes are complete perhaps: then the tunnel gets its descriptor. */
static void open_tunnel(struct tunnels *t, struct tunnel *n)
{
    _cleanup_val_(strbuf_done) struct strbuf swapped = STRBUF_INIT;
    int fd = -1;
    long used = t->open(t->ctx, n->out.buf, n->out.len, &swapped, &fd);
    struct strbuf rest = STRBUF_INIT;

    if (used < 0) {
        end_tunnel(t, n);
        return;
    }
    if (used == 0)
        return;
    n->fd = fd;
    n->unasked = swapped.len;
    strbuf_addn(&rest, swapped.buf, swapped.len);
    strbuf_addn(&rest, n->out.buf + used, n->out.len - (size_t)used);
    strbuf_done(&n->out);
    n->out = rest;
    if (n->out.failed) {
        end_tunnel(t, n);
        return;
    }
    /* what was replaced is taken; its replacement is not the other end's */
    send_credit(t, n->id, (size_t)used);
    write_out(t, n);
}

static void take_data(struct tunnels *t, struct tunnel *n, ProtobufCBinaryData data)
{
    if (n->peer_ended)
        return;
    strbuf_addn(&n->out, data.data, data.len);
    if (n->out.failed || n->out.len - n->out_at > TUNNEL_WINDOW + SWAPPED_MORE) {
        end_tunnel(t, n); /* it sends more than it may */
        return;
    }
    if (n->fd < 0)
        open_tunnel(t, n);
    else
        write_out(t, n);
}

void tunnels_take_frame(struct tunnels *t, const Pst__StepIo *io)
{
    uint32_t id = io->has_tunnel ? io->tunnel : 0;
    struct tunnel *n = id ? find_tunnel(t, id) : NULL;

    if (!n && t->open && id > t->last_id && io->has_data) {
        n = new_tunnel(t, id, -1);
        if (!n) {
            t->last_id = id;
            send_end(t, id);
        }
    }
    if (!n)
        return;
    if (io->has_credit)
        n->on_way -= MIN(n->on_way, (size_t)io->credit);
    if (io->has_data && io->data.len > 0)
        take_data(t, n, io->data);
    if (n->id == id && io->eof) {
        n->peer_ended = true;
        if (n->fd < 0)
            forget_tunnel(n);
        else
            write_out(t, n);
    }
}

/* ---- what the program sends ------------------------------------------------------------------ */

static void read_program(struct tunnels *t, struct tunnel *n)
{
    uint8_t buf[CHUNK];
    Pst__StepIo io = PST__STEP_IO__INIT;
    ssize_t got = recv(n->fd, buf, MIN(sizeof(buf), TUNNEL_WINDOW - n->on_way), MSG_DONTWAIT);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        end_tunnel(t, n);
        return;
    }
    n->on_way += (size_t)got;
    io.has_data = true;
    io.data = (ProtobufCBinaryData){ (size_t)got, buf };
    send_frame(t, n->id, &io);
}

static bool may_read(const struct tunnels *t, const struct tunnel *n)
{
    return n->on_way < TUNNEL_WINDOW && !n->peer_ended &&
           client_out_pending(t->client) < CLIENT_BEHIND;
}

size_t tunnels_poll_fill(const struct tunnels *t, struct pollfd *fds)
{
    for (size_t i = 0; i < TUNNELS_MAX; i++) {
        const struct tunnel *n = &t->list[i];
        bool live = n->id && n->fd >= 0;

        fds[i] = (struct pollfd){ .fd = live ? n->fd : -1 };
        if (live && may_read(t, n))
            fds[i].events |= POLLIN;
        if (live && n->out_at < n->out.len)
            fds[i].events |= POLLOUT;
        if (live && !fds[i].events)
            fds[i].fd = -1; /* an end that cannot be acted upon would keep the loop awake */
    }
    return TUNNELS_MAX;
}

void tunnels_poll_done(struct tunnels *t, const struct pollfd *fds)
{
    for (size_t i = 0; i < TUNNELS_MAX; i++) {
        struct tunnel *n = &t->list[i];

        if (!n->id || n->fd < 0 || fds[i].fd != n->fd || !fds[i].revents)
            continue;
        if (fds[i].revents & (POLLOUT | POLLERR | POLLHUP))
            write_out(t, n);
        if (n->id && n->fd >= 0 && fds[i].revents & (POLLIN | POLLERR | POLLHUP) && may_read(t, n))
            read_program(t, n);
    }
}
