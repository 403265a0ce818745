/* server.c - listening sockets and the threads that serve their connections
 *
 * The first worker accepts on every listening socket and gives each connection to the worker that
 * has the fewest; a connection stays with its worker.  A worker owns its loop and everything on it;
 * its mailbox is all that other threads touch, under its lock, and it is woken once per batch of
 * mail. server_new() binds, so that a daemon reports a taken port before it detaches; threads exist
 * from server_start() to server_stop(). */
#include "wire/server/server.h"

#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "wire/server/server_impl.h"
#include "wire/server/tlspipe.h"

#include "base/log.h"
#include "base/timefmt.h"
#include "base/process/threadname.h"
#include "wire/client.h"
#include "wire/errors.h"

#define BACKLOG 4096
#define ACCEPTS_PER_EVENT 64
#define ACCEPT_PAUSE_MS 100u
#define OUT_LIMIT_DEFAULT (64u * WIRE_MIB)
#define HELLO_TIMEOUT_MS 10000u
#define STALL_TIMEOUT_MS 60000u
#define IDLE_TIMEOUT_MS 3600000u
#define SPARE_FILES 512u
#define WAITING_MAX 4096u
#define USER_MAX 4096u
#define USER_BYTES (32u * WIRE_MIB)
#define ALL_BYTES (256u * WIRE_MIB)
#define STOP_US INT64_C(500000)
#define STOP_TICK_MS 20u
#define TICK_MAX_MS 1000u
#define LOCAL_AGAIN_MS 10000u
#define BUSY_MS 500u
#define BUSY_TICK_MS 20u

DEFINE_CLEANUP(struct server *, server_free)

/* ---- listening ------------------------------------------------------------------------------- */

static int bind_listen(int fd, const struct sockaddr *sa, socklen_t len)
{
    if (bind(fd, sa, len) < 0 || listen(fd, BACKLOG) < 0)
        return -errno;
    return 0;
}

static int tcp_socket(int family, const struct sockaddr *sa, socklen_t len, bool no_ipv4)
{
    _cleanup_close_ int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int one = 1, only = no_ipv4, r;

    if (fd < 0)
        return -errno;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0)
        return -errno;
    if (family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only)) < 0)
        return -errno;
    r = bind_listen(fd, sa, len);
    return r < 0 ? r : TAKE_FD(fd);
}

/* Every address: both families on one socket, or IPv4 alone where the kernel has no IPv6. */
static int tcp_any(uint16_t port, bool no_ipv4)
{
    struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
    struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
    int fd = tcp_socket(AF_INET6, (struct sockaddr *)&in6, sizeof(in6), no_ipv4);

    if (fd == -EAFNOSUPPORT || fd == -EADDRNOTAVAIL)
        fd = tcp_socket(AF_INET, (struct sockaddr *)&in, sizeof(in), false);
    return fd;
}

static int tcp_named(const char *host, uint16_t port)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV };
    struct addrinfo *list;
    char service[8];
    int r = -EADDRNOTAVAIL;

    (void)snprintf(service, sizeof(service), "%u", port); /* always fits */
    if (getaddrinfo(host, service, &hints, &list) != 0)
        return r;
    for (const struct addrinfo *ai = list; ai && r < 0; ai = ai->ai_next)
        r = tcp_socket(ai->ai_family, ai->ai_addr, ai->ai_addrlen, false);
    freeaddrinfo(list);
    return r;
}

static int bound_port(int fd, uint16_t *ret_port)
{
    struct sockaddr_storage ss;
    socklen_t len = sizeof(ss);

    if (getsockname(fd, (struct sockaddr *)&ss, &len) < 0)
        return -errno;
    *ret_port = ntohs(ss.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&ss)->sin6_port
                                               : ((struct sockaddr_in *)&ss)->sin_port);
    return 0;
}

static int listen_local(uint16_t port)
{
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un sa;
    socklen_t len = wire_local_name(port, &sa);
    int r;

    if (fd < 0)
        return -errno;
    r = bind_listen(fd, (struct sockaddr *)&sa, len);
    return r < 0 ? r : TAKE_FD(fd);
}

/* The name is in no folder, so nobody can be kept from taking it: a daemon that would not start
 * then could be stopped by any user of its host.  Commands see whose socket it is and come over
 * TCP. */
static void tell_holder(uint16_t port)
{
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct ucred holder = { .pid = 0 };
    struct sockaddr_un sa;
    socklen_t len = wire_local_name(port, &sa), size = sizeof(holder);
    char who[64] = "another process";

    if (fd >= 0 && connect(fd, (struct sockaddr *)&sa, len) == 0 &&
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &holder, &size) == 0 && holder.pid > 0)
        (void)snprintf(who, sizeof(who), "process %d of user %u", (int)holder.pid, holder.uid);
    log_error(
        "the local socket for port %u is held by %s: commands on this host have to come over TCP, for which users "
        "need munge or a token; it is tried again every %u seconds",
        port, who, LOCAL_AGAIN_MS / 1000);
}

/* A daemon that was killed while it started a child leaves its port to that child until the child's
 * exec, so the one that takes its place tries for a moment before it gives up. */
static int listen_tcp(const struct server_config *config)
{
    int r = -EADDRINUSE;

    for (unsigned waited = 0; r == -EADDRINUSE && waited <= BUSY_MS; waited += BUSY_TICK_MS) {
        if (waited > 0)
            (void)usleep(BUSY_TICK_MS * 1000u); /* a signal makes it shorter */
        r = config->bind_addr ? tcp_named(config->bind_addr, config->port)
                              : tcp_any(config->port, config->no_ipv4);
    }
    return r;
}

static int listen_all(struct server *s, struct err *err)
{
    const struct server_config *config = &s->config;
    int r;

    if (config->port || config->any_port) {
        r = listen_tcp(config);
        if (r < 0)
            return err_set(err, r, "cannot listen on %s port %u: %s",
                           config->bind_addr ? config->bind_addr : "any address,", config->port,
                           strerror(-r));
        s->listen_fd[0] = r;
        r = bound_port(s->listen_fd[0], &s->port);
        if (r < 0)
            return err_set(err, r, "cannot listen on port %u: %s", config->port, strerror(-r));
    }
    if (config->local_socket) {
        r = listen_local(s->port);
        if (r == -EADDRINUSE)
            tell_holder(s->port);
        else if (r < 0)
            return err_set(err, r, "cannot listen on the local socket for port %u: %s", s->port,
                           strerror(-r));
        s->listen_fd[1] = r < 0 ? -1 : r;
    }
    return 0;
}

/* ---- mail ------------------------------------------------------------------------------------ */

static struct mail *take_mail(struct worker *w, bool close)
{
    struct mail *m;

    (void)pthread_mutex_lock(&w->lock);
    m = w->mail;
    w->mail = NULL;
    w->mail_end = &w->mail;
    w->closed |= close;
    (void)pthread_mutex_unlock(&w->lock);
    return m;
}

static void begin_stop(struct worker *w);
static void try_local(struct worker *w);

static void on_wake(uv_async_t *wake)
{
    struct worker *w = wake->data;
    struct mail *m = take_mail(w, false);

    link_batch_begin(&w->ll);
    while (m) {
        struct mail *next = m->next;

        if (m->kind == MAIL_STOP) {
            begin_stop(w);
            free(m);
        } else if (m->kind == MAIL_LOCAL) {
            w->server->config.local_socket = true; /* read by this worker alone */
            w->local_again_ms = 0;
            try_local(w);
            free(m);
        } else if (m->kind == MAIL_FD) {
            conn_new(w, m->fd, m->local);
            free(m);
        } else {
            conn_mail(m);
        }
        m = next;
    }
    link_batch_end(&w->ll);
}

/* ---- accepting ------------------------------------------------------------------------------- */

static struct worker *least_busy(struct server *s)
{
    struct worker *best = &s->workers[0];

    for (unsigned i = 1; i < s->config.threads; i++)
        if (atomic_load(&s->workers[i].n_conns) < atomic_load(&best->n_conns))
            best = &s->workers[i];
    return best;
}

static void place_connection(struct server *s, int fd, bool local)
{
    struct worker *w = least_busy(s);
    struct mail *m;

    if (atomic_load(&s->n_conns) >= s->config.max_connections) {
        server_turn_away(fd);
        return;
    }
    if (!local)
        keepalive_tune(fd, s->config.keepalive);
    atomic_fetch_add(&s->n_conns, 1);
    atomic_fetch_add(&w->n_conns, 1);
    if (worker_is_mine(w)) {
        conn_new(w, fd, local);
        return;
    }
    m = calloc(1, sizeof(*m));
    if (m) {
        m->kind = MAIL_FD;
        m->fd = fd;
        m->local = local;
        if (worker_post(w, m))
            return;
    }
    free(m);
    (void)close(fd); /* out of memory or shutting down: the peer sees it closed */
    atomic_fetch_sub(&s->n_conns, 1);
    atomic_fetch_sub(&w->n_conns, 1);
}

static void on_listen(uv_poll_t *poll, int status, int events)
{
    struct worker *w = poll->data;
    bool local = poll == &w->listen[1];
    int listen_fd = w->server->listen_fd[local];

    link_batch_begin(&w->ll);
    for (int i = 0; i < ACCEPTS_PER_EVENT; i++) {
        int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd >= 0) {
            place_connection(w->server, fd, local);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
            if (w->accept_again_ms == 0)
                log_limited(LOG_ERROR, "cannot accept connections: %s", strerror(errno));
            (void)uv_poll_stop(poll);
            w->accept_again_ms = uv_now(&w->loop) + ACCEPT_PAUSE_MS;
        }
        if (errno != EINTR && errno != ECONNABORTED)
            break;
    }
    link_batch_end(&w->ll);
}

static void start_accepting(struct worker *w)
{
    w->accept_again_ms = 0;
    for (unsigned i = 0; i < SERVER_LISTENERS; i++)
        if (w->server->listen_fd[i] >= 0)
            (void)uv_poll_start(&w->listen[i], UV_READABLE,
                                on_listen); /* fails when closing only */
}

/* ---- a worker's life ------------------------------------------------------------------------- */

static void close_all(struct worker *w)
{
    for (struct conn *c = w->conns; c; c = c->next)
        link_close(&c->link, NULL);
}

static void end_if_empty(struct worker *w)
{
    if (w->stopping && !w->conns && !uv_is_closing((uv_handle_t *)&w->wake)) {
        uv_close((uv_handle_t *)&w->wake, NULL);
        uv_close((uv_handle_t *)&w->tick, NULL);
    }
}

/* The local socket's name was taken at the start: is it free now? */
static void try_local(struct worker *w)
{
    struct server *s = w->server;

    if (w->index != 0 || !s->config.local_socket || s->listen_fd[1] >= 0 || w->stopping ||
        uv_now(&w->loop) < w->local_again_ms)
        return;
    w->local_again_ms = uv_now(&w->loop) + LOCAL_AGAIN_MS;
    s->listen_fd[1] = listen_local(s->port);
    if (s->listen_fd[1] < 0 || uv_poll_init(&w->loop, &w->listen[1], s->listen_fd[1]) < 0) {
        if (s->listen_fd[1] >= 0)
            (void)close(s->listen_fd[1]); /* tried again */
        s->listen_fd[1] = -1;
        return;
    }
    w->listen[1].data = w;
    start_accepting(w);
    log_info("the local socket for port %u is free again, and ours", s->port);
}

static void on_tick(uv_timer_t *tick)
{
    struct worker *w = tick->data;
    int64_t now = now_mono_us();

    link_batch_begin(&w->ll);
    if (w->accept_again_ms && !w->stopping && uv_now(&w->loop) >= w->accept_again_ms)
        start_accepting(w);
    try_local(w);
    for (struct conn *c = w->conns; c; c = c->next) /* closing takes effect later: c stays valid */
        conn_tick(c, now);
    if (w->stopping && now > w->stop_mono_us)
        close_all(w);
    link_batch_end(&w->ll);
    if (w->index == 0)
        log_limited_flush();
    end_if_empty(w);
}

static void begin_stop(struct worker *w)
{
    w->stopping = true;
    w->stop_mono_us = now_mono_us() + STOP_US;
    tlspipe_close_all(w);
    for (unsigned i = 0; i < SERVER_LISTENERS; i++)
        if (w->listen[i].data)
            uv_close((uv_handle_t *)&w->listen[i], NULL);
    for (struct conn *c = w->conns; c; c = c->next) {
        if (w->server->farewell && c->state == CONN_OPEN && !c->speaks_http)
            (void)conn_error(c, OP_PING, 0, w->server->farewell, NULL); /* else it closes alone */
        link_finish(&c->link, NULL);
    }
    (void)uv_timer_start(&w->tick, on_tick, 0, STOP_TICK_MS); /* fails when closing only */
}

static int worker_init(struct worker *w, struct server *s, unsigned index)
{
    unsigned tick_ms = MIN(s->config.hello_timeout_ms, s->config.stall_timeout_ms) / 4;
    int r;

    w->server = s;
    w->index = index;
    w->mail_end = &w->mail;
    (void)pthread_mutex_init(&w->lock, NULL); /* cannot fail with default attributes */
    r = link_loop_init(&w->ll, &w->loop);
    if (r < 0)
        return r;
    r = uv_loop_init(&w->loop);
    if (r < 0) {
        link_loop_done(&w->ll);
        return r;
    }
    r = uv_async_init(&w->loop, &w->wake, on_wake);
    if (r < 0) {
        (void)uv_loop_close(&w->loop); /* holds nothing yet */
        link_loop_done(&w->ll);
        return r;
    }
    w->wake.data = w;
    w->ready = true;
    (void)uv_timer_init(&w->loop, &w->tick); /* cannot fail */
    w->tick.data = w;
    tick_ms = MAX(MIN(tick_ms, TICK_MAX_MS), 10u);
    (void)uv_timer_start(&w->tick, on_tick, tick_ms, tick_ms); /* not closing: cannot fail */
    for (unsigned i = 0; index == 0 && i < SERVER_LISTENERS; i++) {
        if (s->listen_fd[i] < 0)
            continue;
        r = uv_poll_init(&w->loop, &w->listen[i], s->listen_fd[i]);
        if (r < 0)
            return r;
        w->listen[i].data = w;
    }
    return 0;
}

static void run_loop(struct worker *w)
{
    while (uv_run(&w->loop, UV_RUN_DEFAULT) != 0)
        ; /* stopped early: run what is left */
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    const struct server_config *config = &w->server->config;
    char name[16];

    worker_own(w, true);
    (void)snprintf(name, sizeof(name), "io-%u", w->index); /* cut is fine */
    threadname_set(pthread_self(), name);
    if (config->hooks.on_thread)
        config->hooks.on_thread(config->ctx, w->index, true);
    if (w->index == 0)
        start_accepting(w);
    run_loop(w);
    if (config->hooks.on_thread)
        config->hooks.on_thread(config->ctx, w->index, false);
    worker_own(w, false);
    return NULL;
}

static unsigned or_default(unsigned value, unsigned otherwise)
{
    return value ? value : MAX(otherwise, 1u);
}

/* Descriptors are kept for files, and connections for nodes and administrators. */
static int make_quota(struct server *s)
{
    struct server_config *config = &s->config;
    struct quota_limits limits = { .exempt = config->slurm_uid };
    struct rlimit files;
    unsigned all, kept;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < UINT_MAX) {
        unsigned most = (unsigned)files.rlim_cur, spare = MAX(MIN(most / 8, SPARE_FILES), 1u);

        config->max_connections =
            MIN(or_default(config->max_connections, UINT_MAX), MAX(most - spare, 1u));
    }
    all = or_default(config->max_connections, UINT_MAX);
    config->max_connections = all;
    kept = all / 8;
    limits.waiting =
        MIN(or_default(config->max_waiting, MIN(all / 4, WAITING_MAX)), MAX(all / 4 * 3, 1u));
    limits.waiting_each = or_default(config->max_waiting_each, limits.waiting / 4);
    limits.users = MAX(all - MIN(limits.waiting + kept, all), 1u);
    limits.user_each = or_default(config->max_user, MIN(all / 8, USER_MAX));
    limits.bytes_each = config->user_bytes ? config->user_bytes : USER_BYTES;
    limits.bytes = config->all_bytes ? config->all_bytes : ALL_BYTES;
    s->quota = quota_new(&limits);
    return s->quota ? 0 : -ENOMEM;
}

int server_new(const struct server_config *config, struct server **ret_server, struct err *err)
{
    _cleanup_(server_free) struct server *s = calloc(1, sizeof(*s));
    int r;

    if (!s)
        return err_nomem(err);
    s->config = *config;
    s->config.keys = NULL; /* taken by server_set_auth(), as are the next */
    s->config.tokens = NULL;
    s->config.tls = NULL;
    pthread_mutex_init(&s->auth_lock, NULL);
    s->listen_fd[0] = s->listen_fd[1] = -1;
    s->config.threads = MAX(config->threads, 1u);
    if (!s->config.out_limit)
        s->config.out_limit = OUT_LIMIT_DEFAULT;
    if (!s->config.hello_timeout_ms)
        s->config.hello_timeout_ms = HELLO_TIMEOUT_MS;
    if (!s->config.stall_timeout_ms)
        s->config.stall_timeout_ms = STALL_TIMEOUT_MS;
    if (!s->config.idle_timeout_ms)
        s->config.idle_timeout_ms = IDLE_TIMEOUT_MS;
    s->cluster = strdup(config->cluster ? config->cluster : "");
    s->name = strdup(config->name ? config->name : "");
    s->workers = calloc(s->config.threads, sizeof(*s->workers));
    if (!s->cluster || !s->name || !s->workers || make_quota(s) < 0)
        return err_nomem(err);
    r = listen_all(s, err);
    if (r < 0)
        return r;
    server_set_auth(s, config->keys, config->tokens);
    server_set_tls(s, config->tls);
    s->on_hello = conn_hello;
    *ret_server = TAKE_PTR(s);
    return 0;
}

int server_start(struct server *s)
{
    sigset_t all, old;
    int r = 0;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are for the daemon's own thread */
    for (unsigned i = 0; i < s->config.threads && r == 0; i++)
        r = worker_init(&s->workers[i], s, i);
    /* Every worker is reachable before the first, which accepts, starts. */
    for (unsigned i = s->config.threads; i-- > 0 && r == 0;) {
        r = -pthread_create(&s->workers[i].thread, NULL, worker_main, &s->workers[i]);
        s->workers[i].running = r == 0;
    }
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL); /* puts back what was there */
    return r;
}

void server_set_auth(struct server *s, struct auth_keys *keys, struct auth_tokens *tokens)
{
    struct auth_keys *old;
    struct auth_tokens *old_tokens;

    pthread_mutex_lock(&s->auth_lock);
    old = s->config.keys;
    s->config.keys = keys ? auth_keys_ref(keys) : NULL;
    old_tokens = s->config.tokens;
    s->config.tokens = tokens ? auth_tokens_ref(tokens) : NULL;
    pthread_mutex_unlock(&s->auth_lock);
    (void)auth_keys_free(old);          /* always NULL */
    (void)auth_tokens_free(old_tokens); /* likewise */
}

void server_set_tls(struct server *s, struct tls_ctx *tls)
{
    struct tls_ctx *old;

    pthread_mutex_lock(&s->auth_lock);
    old = s->config.tls;
    s->config.tls = tls_ctx_ref(tls);
    pthread_mutex_unlock(&s->auth_lock);
    (void)tls_ctx_unref(old); /* always NULL */
}

uint16_t server_port(const struct server *s)
{
    return s->port;
}

unsigned server_connections(const struct server *s)
{
    return atomic_load(&s->n_conns);
}

/* What was still in the mailbox. */
static void drop_mail(struct mail *m)
{
    while (m) {
        struct mail *next = m->next;

        if (m->kind == MAIL_RUN)
            conn_mail(m); /* it is promised to run */
        else
            conn_mail_drop(m);
        m = next;
    }
}

static void tell_worker(struct worker *w, enum mail_kind kind)
{
    struct mail *m;

    do { /* nothing else would end the thread, or open the local socket */
        m = calloc(1, sizeof(*m));
    } while (!m);
    m->kind = kind;
    m->fd = -1;
    if (!worker_post(w, m))
        free(m);
}

void server_open_local(struct server *s)
{
    tell_worker(&s->workers[0], MAIL_LOCAL);
}

void server_set_farewell(struct server *s, int code)
{
    s->farewell = code; /* read by the workers when server_stop() tells them */
}

void server_stop(struct server *s)
{
    if (s->stopped)
        return;
    s->stopped = true;
    for (unsigned i = 0; i < s->config.threads; i++)
        if (s->workers[i].running)
            tell_worker(&s->workers[i], MAIL_STOP);
    for (unsigned i = 0; i < s->config.threads; i++) {
        struct worker *w = &s->workers[i];

        if (w->running) {
            (void)pthread_join(w->thread, NULL); /* joinable and ours */
        } else if (w->ready) {
            worker_own(w, true);
            begin_stop(w);
            run_loop(w);
            worker_own(w, false);
        }
    }
    for (unsigned i = 0; i < s->config.threads; i++) {
        struct worker *w = &s->workers[i];

        if (!w->ready)
            continue;
        drop_mail(take_mail(w, true));
        link_loop_done(&w->ll);
        (void)uv_loop_close(&w->loop); /* every handle is closed */
    }
}

struct server *server_free(struct server *s)
{
    if (!s)
        return NULL;
    if (s->workers)
        server_stop(s);
    for (unsigned i = 0; i < SERVER_LISTENERS; i++)
        if (s->listen_fd[i] >= 0)
            (void)close(s->listen_fd[i]); /* listeners hold no data */
    s->quota = quota_free(s->quota);
    free(s->workers);
    (void)auth_keys_free(s->config.keys); /* always NULL, as the next two */
    (void)auth_tokens_free(s->config.tokens);
    (void)tls_ctx_unref(s->config.tls);
    pthread_mutex_destroy(&s->auth_lock);
    free(s->cluster);
    free(s->name);
    free(s);
    return NULL;
}
