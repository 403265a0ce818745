/* tlsflow.c - bytes between a TLS connection and a socket of plain ones; see tlsflow.h */
#include "wire/tls/tlsflow.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/tls/tls.h"

#define BUFFER (16u * 1024)
#define TURN 32u /* buffers; then the next connection is looked at */

struct direction {
    uint8_t bytes[BUFFER];
    size_t pos, len;
    bool ended; /* its source */
};

struct tlsflow {
    struct tls *tls;
    int net_fd, plain_fd;
    struct direction in, out; /* from the network, to it */
};

int tlsflow_new(struct tls *tls, int net_fd, int plain_fd, struct tlsflow **ret)
{
    struct tlsflow *f = calloc(1, sizeof(*f));

    if (!f)
        return -ENOMEM;
    f->tls = tls;
    f->net_fd = net_fd;
    f->plain_fd = plain_fd;
    *ret = f;
    return 0;
}

/* False: broken. */
static bool move_in(struct tlsflow *f)
{
    struct direction *d = &f->in;
    unsigned reads = 0;
    ssize_t n = 1;

    while (n > 0) {
        if (d->pos == d->len && !d->ended) {
            d->pos = d->len = 0;
            n = tls_read(f->tls, d->bytes, sizeof(d->bytes));
            d->ended = n == 0;
            if (n > 0)
                d->len = (size_t)n;
            if (n > 0 && ++reads == TURN)
                return true; /* full: poll(2) tells at once that there is room, and this goes on */
        }
        if (n > 0 && d->pos < d->len) {
            n = send(f->plain_fd, d->bytes + d->pos, d->len - d->pos, MSG_NOSIGNAL | MSG_DONTWAIT);
            d->pos += n > 0 ? (size_t)n : 0;
            n = n < 0 ? -errno : n;
        } else if (d->ended) {
            (void)shutdown(f->plain_fd, SHUT_WR); /* likewise when it is gone */
            return true;
        }
    }
    return n == 0 || n == -EAGAIN || n == -EINTR;
}

static bool move_out(struct tlsflow *f)
{
    struct direction *d = &f->out;
    unsigned reads = 0;
    ssize_t n = 1;

    while (n > 0) {
        if (d->pos == d->len && !d->ended) {
            d->pos = d->len = 0;
            n = recv(f->plain_fd, d->bytes, sizeof(d->bytes), MSG_DONTWAIT);
            d->ended = n == 0;
            if (n > 0)
                d->len = (size_t)n;
            n = n < 0 ? -errno : n;
            if (n > 0 && ++reads == TURN)
                return true; /* as above */
        }
        if (n > 0 && d->pos < d->len) {
            n = tls_write(f->tls, d->bytes + d->pos, d->len - d->pos);
            d->pos += n > 0 ? (size_t)n : 0;
        } else if (d->ended) {
            return false; /* the answer is out, and its maker done */
        }
    }
    return n == 0 || n == -EAGAIN || n == -EINTR;
}

bool tlsflow_move(struct tlsflow *f)
{
    return move_in(f) && move_out(f);
}

void tlsflow_events(const struct tlsflow *f, short *ret_net, short *ret_plain)
{
    bool in_full = f->in.pos < f->in.len, out_full = f->out.pos < f->out.len;

    *ret_net = (short)((in_full || f->in.ended ? 0 : POLLIN) | (out_full ? POLLOUT : 0));
    *ret_plain = (short)((out_full || f->out.ended ? 0 : POLLIN) | (in_full ? POLLOUT : 0));
}

struct tlsflow *tlsflow_free(struct tlsflow *f)
{
    if (!f)
        return NULL;
    (void)tls_free(f->tls); /* always NULL */
    (void)close(f->net_fd); /* nobody to report to, as the next */
    (void)close(f->plain_fd);
    free(f);
    return NULL;
}
