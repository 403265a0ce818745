/* hooktls.c - see hooktls.h
 *
 * Two directions a connection, a buffer each that is filled when it is empty, so that a slow end
 * slows the other and nothing grows.  `ctx` alone is shared by threads. */
#include "kube/hook/hooktls.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/timefmt.h"

#define BUFFER (16u << 10)
#define HANDSHAKE_US (10 * USEC_PER_SEC)
#define TURN_MS 1000
#define REST_US USEC_PER_SEC /* after an error that the next call would meet too */
#define BACKLOG 64

struct flow {
    size_t pos, len;
    bool ended; /* its source */
    unsigned char bytes[BUFFER];
};

struct conn {
    SSL *ssl;
    int net, plain; /* plain -1: the handshake is not over */
    bool wants_write;
    bool answers; /* the last byte went to the peer */
    int64_t due_mono_us;
    struct flow in, out; /* from the network, to it */
};

struct hooktls {
    hooktls_take_fn *take;
    void *ctx;
    int listener, stop;
    pthread_t thread;
    bool running;
    pthread_mutex_t lock; /* of `tls` */
    SSL_CTX *tls;         /* NULL: no certificate yet */
    int64_t rest_mono_us; /* no connection is accepted before */
    unsigned n;
    struct conn *conns[HOOKTLS_CONNECTIONS];
};

/* ---- one connection -------------------------------------------------------------------------- */

static struct conn *free_conn(struct conn *c)
{
    if (c->ssl)
        SSL_free(c->ssl);
    if (c->net >= 0)
        (void)close(c->net);
    if (c->plain >= 0)
        (void)close(c->plain);
    explicit_bzero(c, sizeof(*c));
    free(c);
    return NULL;
}

/* What an operation of OpenSSL said: 1 went on, 0 the peer is done, -EAGAIN, -EPROTO. */
static int read_result(struct conn *c, int r)
{
    int error = SSL_get_error(c->ssl, r);

    if (r > 0)
        return 1;
    c->wants_write |= error == SSL_ERROR_WANT_WRITE;
    ERR_clear_error();
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)
        return -EAGAIN;
    return error == SSL_ERROR_ZERO_RETURN ? 0 : -EPROTO;
}

static int greet_peer(struct hooktls *t, struct conn *c)
{
    int pair[2], r = read_result(c, SSL_accept(c->ssl));

    if (r <= 0)
        return r == 0 ? -EPROTO : r;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
        return -errno;
    c->plain = pair[0];
    c->due_mono_us = now_mono_us() + HOOKTLS_EXCHANGE_US;
    t->take(t->ctx, pair[1]);
    return 0;
}

/* A piece came or went.  The time is that of a whole request, or of a whole answer: a peer that
 * sends or takes a byte now and then gains none. */
static void note_progress(struct conn *c, bool answers)
{
    if (c->answers == answers)
        return;
    c->answers = answers;
    c->due_mono_us = now_mono_us() + HOOKTLS_EXCHANGE_US;
}

static int move_in(struct conn *c)
{
    struct flow *f = &c->in;

    for (;;) {
        ssize_t n;
        int r;

        if (f->pos == f->len && f->ended)
            return (void)shutdown(c->plain, SHUT_WR), 0; /* the other end may be gone */
        if (f->pos == f->len) {
            int got = SSL_read(c->ssl, f->bytes, sizeof(f->bytes));

            r = read_result(c, got);
            f->pos = 0;
            f->len = r == 1 ? (size_t)got : 0;
            f->ended = r == 0;
            if (r < 0)
                return r == -EAGAIN ? 0 : r;
            if (r > 0)
                note_progress(c, false);
            continue;
        }
        n = send(c->plain, f->bytes + f->pos, f->len - f->pos, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR ? 0 : -errno;
        f->pos += (size_t)n;
    }
}

/* -EPIPE: the answer is out, and its maker done. */
static int move_out(struct conn *c)
{
    struct flow *f = &c->out;

    for (;;) {
        ssize_t n;
        int put, r;

        if (f->pos == f->len && f->ended) {
            (void)SSL_shutdown(c->ssl); /* a courtesy */
            return -EPIPE;
        }
        if (f->pos == f->len) {
            n = recv(c->plain, f->bytes, sizeof(f->bytes), MSG_DONTWAIT);
            if (n < 0)
                return errno == EAGAIN || errno == EINTR ? 0 : -errno;
            f->pos = 0;
            f->len = (size_t)n;
            f->ended = n == 0;
            continue;
        }
        put = SSL_write(c->ssl, f->bytes + f->pos, (int)(f->len - f->pos));
        r = read_result(c, put);
        if (r <= 0)
            return r == -EAGAIN ? 0 : -EPROTO;
        f->pos += (size_t)put;
        note_progress(c, true);
    }
}

/* Negative: the connection is over. */
static int serve_conn(struct hooktls *t, struct conn *c)
{
    int r = 0;

    c->wants_write = false;
    if (c->plain < 0)
        r = greet_peer(t, c);
    if (r == -EAGAIN)
        return 0;
    if (r == 0)
        r = move_in(c);
    return r == 0 ? move_out(c) : r;
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Descriptors or memory have run out: the connection stays in the queue, and poll(2) would tell of
 * it at once again. */
static void note_failure(struct hooktls *t, int error)
{
    if (error == EAGAIN || error == EINTR || error == ECONNABORTED)
        return; /* the peer has gone */
    log_seldom(LOG_ERROR, "no connection can be accepted: %s", strerror(error));
    t->rest_mono_us = now_mono_us() + REST_US;
}

static void accept_conn(struct hooktls *t)
{
    int fd = accept4(t->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct conn *c = fd >= 0 ? calloc(1, sizeof(*c)) : NULL;

    if (!c) {
        note_failure(t, fd < 0 ? errno : ENOMEM);
        if (fd >= 0)
            (void)close(fd);
        return;
    }
    c->net = fd;
    c->plain = -1;
    c->due_mono_us = now_mono_us() + HANDSHAKE_US;
    (void)pthread_mutex_lock(&t->lock);
    c->ssl = t->tls ? SSL_new(t->tls) : NULL;
    (void)pthread_mutex_unlock(&t->lock);
    if (!c->ssl || SSL_set_fd(c->ssl, fd) != 1) {
        (void)free_conn(c);
        return;
    }
    t->conns[t->n++] = c;
}

static bool is_open(const struct hooktls *t)
{
    return t->n < HOOKTLS_CONNECTIONS && now_mono_us() >= t->rest_mono_us;
}

/* An end that hung up would wake us without end while nothing is wanted of it. */
static struct pollfd make_poll(int fd, int events)
{
    return (struct pollfd){ .fd = events ? fd : -1, .events = (short)events };
}

static void fill_polls(const struct hooktls *t, struct pollfd *p)
{
    p[0] = (struct pollfd){ .fd = t->stop, .events = POLLIN };
    p[1] = (struct pollfd){ .fd = is_open(t) ? t->listener : -1, .events = POLLIN };
    for (unsigned i = 0; i < t->n; i++) {
        const struct conn *c = t->conns[i];
        bool in = c->in.pos < c->in.len, out = c->out.pos < c->out.len;

        p[2 + 2 * i] = make_poll(c->net, (in || c->in.ended ? 0 : POLLIN) |
                                             (out || c->wants_write ? POLLOUT : 0));
        p[3 + 2 * i] = make_poll(c->plain, (out || c->out.ended ? 0 : POLLIN) | (in ? POLLOUT : 0));
    }
}

static void serve_all(struct hooktls *t, const struct pollfd *p)
{
    unsigned kept = 0, n = t->n;
    int64_t now = now_mono_us();

    for (unsigned i = 0; i < n; i++) {
        struct conn *c = t->conns[i];
        bool told = (p[2 + 2 * i].fd >= 0 && p[2 + 2 * i].revents) ||
                    (p[3 + 2 * i].fd >= 0 && p[3 + 2 * i].revents);

        if (now > c->due_mono_us || (told && serve_conn(t, c) < 0))
            (void)free_conn(c);
        else
            t->conns[kept++] = c;
    }
    t->n = kept;
}

static void *run_thread(void *arg)
{
    struct hooktls *t = arg;
    struct pollfd p[2 + 2 * HOOKTLS_CONNECTIONS];

    for (;;) {
        fill_polls(t, p);
        if (poll(p, 2 + 2 * t->n, TURN_MS) < 0 && errno != EINTR) {
            log_seldom(LOG_ERROR, "connections wait: poll: %s", strerror(errno));
            (void)poll(NULL, 0, TURN_MS); /* no memory: a port without a thread were worse */
        }
        if (p[0].revents)
            break;
        serve_all(t, p);
        if (p[1].fd >= 0 && p[1].revents)
            accept_conn(t);
    }
    while (t->n)
        (void)free_conn(t->conns[--t->n]);
    return NULL;
}

/* ---- begin and end --------------------------------------------------------------------------- */

static int listen_at(const char *host, const char *port, int *ret, struct err *err)
{
    const struct addrinfo hints = { .ai_family = AF_UNSPEC,
                                    .ai_socktype = SOCK_STREAM,
                                    .ai_flags = AI_PASSIVE | AI_NUMERICSERV };
    struct addrinfo *list = NULL;
    int one = 1, r = getaddrinfo(host && *host ? host : NULL, port, &hints, &list), fd = -1;

    if (r != 0)
        return err_set(err, -EINVAL, "--listen: %.100s:%.20s: %s", host ? host : "", port,
                       gai_strerror(r));
    r = -EADDRNOTAVAIL;
    for (const struct addrinfo *a = list; a && r < 0; a = a->ai_next) {
        fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0 &&
            bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
            r = 0;
        else
            r = -errno;
        if (r < 0 && fd >= 0)
            (void)close(fd);
    }
    freeaddrinfo(list);
    if (r < 0)
        return err_set(err, r, "--listen: %.100s:%.20s: %s", host ? host : "", port, strerror(-r));
    *ret = fd;
    return 0;
}

int hooktls_new(const char *host, const char *port, hooktls_take_fn *take, void *ctx,
                struct hooktls **ret, struct err *err)
{
    struct hooktls *t = calloc(1, sizeof(*t));
    sigset_t all, before;
    int r;

    if (!t)
        return err_nomem(err);
    *t = (struct hooktls){ .take = take, .ctx = ctx, .listener = -1, .stop = -1 };
    (void)pthread_mutex_init(&t->lock, NULL);
    r = listen_at(host, port, &t->listener, err);
    if (r == 0) {
        t->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        r = t->stop < 0 ? err_set(err, -errno, "eventfd: %s", strerror(errno)) : 0;
    }
    if (r == 0) {
        (void)sigfillset(&all);
        (void)pthread_sigmask(SIG_SETMASK, &all, &before);
        r = -pthread_create(&t->thread, NULL, run_thread, t);
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
        t->running = r == 0;
        if (r < 0)
            (void)err_set(err, r, "a thread cannot start: %s", strerror(-r));
    }
    if (r < 0)
        (void)hooktls_free(t);
    else
        *ret = t;
    return r;
}

unsigned hooktls_port(const struct hooktls *t)
{
    struct sockaddr_storage a;
    socklen_t len = sizeof(a);

    if (getsockname(t->listener, (struct sockaddr *)&a, &len) < 0)
        return 0;
    return ntohs(a.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&a)->sin6_port
                                         : ((struct sockaddr_in *)&a)->sin_port);
}

/* ---- the certificate ------------------------------------------------------------------------- */

static int use_pair(SSL_CTX *ctx, const char *cert_pem, const char *key_pem)
{
    BIO *c = BIO_new_mem_buf(cert_pem, -1), *k = BIO_new_mem_buf(key_pem, -1);
    X509 *cert = c ? PEM_read_bio_X509(c, NULL, NULL, NULL) : NULL, *more;
    EVP_PKEY *key = k ? PEM_read_bio_PrivateKey(k, NULL, NULL, NULL) : NULL;
    bool good = cert && key && SSL_CTX_use_certificate(ctx, cert) == 1 &&
                SSL_CTX_use_PrivateKey(ctx, key) == 1 && SSL_CTX_check_private_key(ctx) == 1;

    while (good && (more = PEM_read_bio_X509(c, NULL, NULL, NULL)))
        if (SSL_CTX_add0_chain_cert(ctx, more) != 1) {
            X509_free(more);
            good = false;
        }
    ERR_clear_error(); /* the end of the file is told as an error */
    X509_free(cert);
    EVP_PKEY_free(key);
    BIO_free(c);
    BIO_free(k);
    return good ? 0 : -EINVAL;
}

int hooktls_set(struct hooktls *t, const char *cert_pem, const char *key_pem, struct err *err)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method()), *old;

    if (!ctx)
        return err_nomem(err);
    (void)SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
    (void)SSL_CTX_set_mode(ctx,
                           SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    (void)SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    if (use_pair(ctx, cert_pem, key_pem) < 0) {
        SSL_CTX_free(ctx);
        return err_set(err, -EINVAL, "certificate and key are no PEM, or do not belong together");
    }
    (void)pthread_mutex_lock(&t->lock);
    old = t->tls;
    t->tls = ctx;
    (void)pthread_mutex_unlock(&t->lock);
    SSL_CTX_free(old); /* connections that it has keep it */
    return 0;
}

struct hooktls *hooktls_free(struct hooktls *t)
{
    uint64_t one = 1;

    if (!t)
        return NULL;
    if (t->running) {
        while (write(t->stop, &one, sizeof(one)) < 0 && errno == EINTR)
            continue; /* a counter that is 0 takes a 1 */
        (void)pthread_join(t->thread, NULL);
    }
    if (t->listener >= 0)
        (void)close(t->listener);
    if (t->stop >= 0)
        (void)close(t->stop);
    SSL_CTX_free(t->tls);
    (void)pthread_mutex_destroy(&t->lock);
    free(t);
    return NULL;
}
