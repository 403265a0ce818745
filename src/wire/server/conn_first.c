/* conn_first.c - a fresh connection: is it one of us, and the challenge if so
 *
 * On the worker's thread.  A caller from the network says who it is with its first bytes
 * (wire/knock.h); nothing is read of one that speaks HTTP, since its socket goes to another. */
#include "wire/server/conn_first.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

#include "wire/server/server_impl.h"

#include "api.pb-c.h"

#include "version.h"
#include "wire/hello.h"
#include "wire/knock.h"
#include "wire/server/conn_tls.h"

static int send_challenge(struct conn *c)
{
    Pst__Challenge challenge = PST__CHALLENGE__INIT;
    uint8_t *buf;
    size_t len;
    int r = auth_random(c->nonce, sizeof(c->nonce));

    if (r < 0)
        return r;
    challenge.has_min_version = challenge.has_max_version = challenge.has_nonce = true;
    challenge.min_version = WIRE_VERSION_MIN;
    challenge.max_version = WIRE_VERSION;
    challenge.nonce.data = c->nonce;
    challenge.nonce.len = sizeof(c->nonce);
    challenge.release = (char *)SLURM_RELEASE; /* only read */
    r = frame_pack(OP_CHALLENGE, FRAME_ONEWAY, 0, 0, &challenge.base, &buf, &len);
    return r < 0 ? r : link_send_take(&c->link, buf, len, false);
}

/* Send the challenge, once. */
static void conn_challenge(struct conn *c)
{
    if (send_challenge(c) < 0 || (c->link.tls && hello_bind(c->link.tls, c->nonce) < 0))
        link_close(&c->link, ERR_NOMEM);
}

/* Somebody who speaks HTTP: the service that does so takes the socket. */
static void pass_to_http(struct conn *c, const struct knock_head *head)
{
    const struct server_hooks *hooks = &c->worker->server->config.hooks;
    int fd, least = 1; /* byte that wakes the reader, as is usual */

    if (!hooks->on_http) {
        link_close(&c->link, "peer speaks HTTP, which is not served here");
        return;
    }
    (void)setsockopt(c->link.fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof(least));
    if (c->link.tls) {
        fd = conn_split_tls(c);
    } else {
        fd = fcntl(c->link.fd, F_DUPFD_CLOEXEC, 3);
        link_close(&c->link, fd < 0 ? strerror(errno) : NULL);
    }
    if (fd >= 0)
        hooks->on_http(c->worker->server->config.ctx, fd, (const char *)head->bytes, head->n);
}

/* Who calls is known. */
static bool welcome_caller(struct conn *c, enum knock_caller caller, const struct knock_head *head)
{
    if (caller == KNOCK_HTTP) {
        pass_to_http(c, head);
        return false;
    }
    if (caller != KNOCK_OURS) {
        link_close(&c->link, "peer does not speak the protocol");
        return false;
    }
    conn_challenge(c);
    return !c->link.closing;
}

static void wake_at(struct conn *c, int bytes)
{
    (void)setsockopt(c->link.fd, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof(bytes));
}

/* A caller who speaks HTTP has sent the beginning of its first words.  The next wake-up brings the
 * others, or comes because the caller has left. */
static bool waits_for_words(struct conn *c, enum knock_caller caller, size_t n)
{
    if (caller != KNOCK_HTTP || n >= KNOCK_HTTP_SIZE || c->speaks_http)
        return false;
    c->speaks_http = true;
    wake_at(c, KNOCK_HTTP_SIZE);
    return true;
}

/* The first bytes from the network: is it one of us? */
bool conn_hear_first(struct link *l)
{
    struct conn *c = container_of(l, struct conn, link);
    struct knock_head head = { .n = 0 };
    enum knock_caller caller;
    ssize_t n;

    if (l->tls)
        return conn_go_on_tls(c, &caller, &head) && welcome_caller(c, caller, &head);
    n = recv(l->fd, head.bytes, sizeof(head.bytes), MSG_PEEK | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return false;
    if (n <= 0) {
        link_close(l, n < 0 ? strerror(errno) : NULL);
        return false;
    }
    head.n = (size_t)n;
    caller = knock_caller(head.bytes, head.n);
    if (waits_for_words(c, caller, head.n))
        return false;
    wake_at(c, 1);
    if (caller == KNOCK_TLS)
        return conn_begin_tls(c) && conn_go_on_tls(c, &caller, &head) &&
               welcome_caller(c, caller, &head);
    if (caller == KNOCK_OURS)
        (void)recv(l->fd, head.bytes, KNOCK_SIZE, MSG_DONTWAIT); /* they are there */
    if (conn_wants_tls(c)) {
        conn_refuse_plain(c, caller);
        return false;
    }
    return welcome_caller(c, caller, &head);
}

/* From the network: wake up when the caller can be told by its first bytes.  Else nobody but we
 * would be there. */
void conn_await_first(struct conn *c)
{
    int size = KNOCK_SIZE;

    c->link.heard = c->local;
    if (c->local)
        conn_challenge(c);
    else if (setsockopt(c->link.fd, SOL_SOCKET, SO_RCVLOWAT, &size, sizeof(size)) < 0)
        link_close(&c->link, strerror(errno));
}
