/* resttls.c - an address of https://; see resttls.h
 *
 * One thread and one poll(2): the socket that listens, an eventfd that ends the thread, and two
 * descriptors of each connection.  What a connection costs is two buffers (wire/tls/tlsflow.h). */
#include "rest/resttls.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "wire/tls/tls.h"
#include "wire/tls/tlsflow.h"

#define HANDSHAKE_US (10 * USEC_PER_SEC)
#define LOOK_MS 1000                   /* for those whose time is over */
#define PAUSE_US (100 * INT64_C(1000)) /* without a descriptor for one more connection */

struct secured {
    struct tlsflow *flow;
    struct tls *tls; /* the flow's */
    int net_fd, plain_fd;
    int64_t deadline_mono_us; /* of the handshake */
};

struct resttls {
    pthread_t thread;
    int listen_fd, wake_fd;
    struct tls_ctx *tls;
    resttls_give_fn *give;
    void *ctx;
    int64_t pause_until_mono_us; /* nothing is accepted before */
    unsigned n, max;
    struct secured *list;
    struct pollfd *fds; /* 2 + 2 * max */
};

/* ---- connections ----------------------------------------------------------------------------- */

static void drop_one(struct resttls *t, unsigned i)
{
    (void)tlsflow_free(t->list[i].flow); /* always NULL */
    t->list[i] = t->list[--t->n];
}

/* fd and plain_fd are taken. */
static bool add_one(struct resttls *t, int fd, int plain_fd)
{
    struct secured *s = &t->list[t->n];

    *s = (struct secured){ .net_fd = fd,
                           .plain_fd = plain_fd,
                           .deadline_mono_us = now_mono_us() + HANDSHAKE_US };
    if (tls_new_server(t->tls, fd, NULL, NULL, &s->tls) == 0) {
        if (tlsflow_new(s->tls, fd, plain_fd, &s->flow) == 0) {
            t->n++;
            return true;
        }
        s->tls = tls_free(s->tls);
    }
    (void)close(fd); /* out of memory: it is not served, as the other end sees */
    (void)close(plain_fd);
    return false;
}

static void accept_one(struct resttls *t)
{
    struct sockaddr_storage peer = { .ss_family = AF_UNSPEC };
    socklen_t len = sizeof(peer);
    int pair[2], fd;

    fd = accept4(t->listen_fd, (struct sockaddr *)&peer, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)) {
        /* the connection waits, and poll(2) would tell of it at once, again and again */
        log_limited(LOG_ERROR, "https: cannot accept connections: %s", strerror(errno));
        t->pause_until_mono_us = now_mono_us() + PAUSE_US;
    }
    if (fd < 0)
        return;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0) {
        (void)close(fd); /* not served */
        return;
    }
    if (!add_one(t, fd, pair[0]))
        (void)close(pair[1]); /* likewise */
    else if (!t->give(t->ctx, pair[1], (struct sockaddr *)&peer, len))
        drop_one(t, t->n - 1);
}

static bool goes_on(const struct resttls *t, unsigned i, int64_t now)
{
    struct secured *s = &t->list[i];

    if (t->fds[2 + 2 * i].revents || t->fds[3 + 2 * i].revents) {
        bool alive = tlsflow_move(s->flow);
        const char *why = tls_why(s->tls);

        if (why)
            log_limited(LOG_INFO, "https: %s", why);
        return alive;
    }
    return tls_is_up(s->tls) || now < s->deadline_mono_us;
}

/* ---- the thread ------------------------------------------------------------------------------ */

static unsigned fill_fds(struct resttls *t, bool paused)
{
    bool accepts = t->n < t->max && !paused;

    t->fds[0] = (struct pollfd){ .fd = t->wake_fd, .events = POLLIN };
    t->fds[1] = (struct pollfd){ .fd = accepts ? t->listen_fd : -1, .events = POLLIN };
    for (unsigned i = 0; i < t->n; i++) {
        short net, plain;

        tlsflow_events(t->list[i].flow, &net, &plain);
        /* an end with nothing to wait for would be told of for ever once it hung up */
        t->fds[2 + 2 * i] = (struct pollfd){ .fd = net ? t->list[i].net_fd : -1, .events = net };
        t->fds[3 + 2 * i] =
            (struct pollfd){ .fd = plain ? t->list[i].plain_fd : -1, .events = plain };
    }
    return 2 + 2 * t->n;
}

static void *serve_connections(void *arg)
{
    struct resttls *t = arg;

    for (;;) {
        int64_t now = now_mono_us();
        bool paused = now < t->pause_until_mono_us;
        unsigned n = fill_fds(t, paused);
        int wait_ms = paused ? (int)((t->pause_until_mono_us - now) / 1000) + 1 : LOOK_MS;

        if (poll(t->fds, n, paused || t->n ? wait_ms : -1) < 0 && errno != EINTR)
            break;
        if (t->fds[0].revents)
            break;
        now = now_mono_us();
        for (unsigned i = t->n; i-- > 0;) /* the last takes the place of one that is dropped */
            if (!goes_on(t, i, now))
                drop_one(t, i);
        if (t->fds[1].revents)
            accept_one(t);
    }
    while (t->n)
        drop_one(t, t->n - 1);
    return NULL;
}

/* ---- life ------------------------------------------------------------------------------------ */

static void release_all(struct resttls *t)
{
    if (t->wake_fd >= 0)
        (void)close(t->wake_fd); /* ours alone */
    (void)close(t->listen_fd);
    (void)tls_ctx_unref(t->tls); /* always NULL */
    free(t->list);
    free(t->fds);
    free(t);
}

static int start_thread(struct resttls *t)
{
    sigset_t all, before;
    int r;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    r = -pthread_create(&t->thread, NULL, serve_connections, t);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return r;
}

int resttls_new(int listen_fd, struct tls_ctx *tls, unsigned max, resttls_give_fn *give, void *ctx,
                struct resttls **ret)
{
    struct resttls *t = calloc(1, sizeof(*t));
    int r = 0;

    if (!t) {
        (void)close(listen_fd);
        (void)tls_ctx_unref(tls); /* always NULL */
        return -ENOMEM;
    }
    *t = (struct resttls){ .listen_fd = listen_fd,
                           .wake_fd = eventfd(0, EFD_CLOEXEC),
                           .tls = tls,
                           .give = give,
                           .ctx = ctx,
                           .max = max,
                           .list = calloc(max, sizeof(*t->list)),
                           .fds = calloc(2 + 2 * (size_t)max, sizeof(*t->fds)) };
    if (!t->list || !t->fds)
        r = -ENOMEM;
    else if (t->wake_fd < 0)
        r = -errno;
    if (r == 0)
        r = start_thread(t);
    if (r < 0) {
        release_all(t);
        return r;
    }
    *ret = t;
    return 0;
}

struct resttls *resttls_free(struct resttls *t)
{
    const uint64_t one = 1;

    if (!t)
        return NULL;
    (void)!write(t->wake_fd, &one, sizeof(one)); /* full: it is awake already */
    (void)pthread_join(t->thread, NULL);         /* it exists */
    release_all(t);
    return NULL;
}
