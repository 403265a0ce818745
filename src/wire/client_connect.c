/* client_connect.c - reaching the server and saying Hello
 *
 * The local socket is tried first: there the kernel vouches for both ends, so the Hello leaves with
 * the first request and nothing is waited for.  Over TCP the server's challenge is awaited, since
 * the proof of identity covers it, and so is the reply to the Hello, since it proves the server. */
#include "wire/client.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "wire/client_impl.h"
#include "wire/client_tls.h"
#include "wire/client_watch.h"
#include "wire/errors.h"
#include "wire/knock.h"
#include "wire/hello.h"

#define LOCAL_TURN_MS 100

DEFINE_CLEANUP(struct client *, client_free)
DEFINE_CLEANUP(struct auth_keys *, auth_keys_free)

static inline void addrinfo_freep(struct addrinfo **ai)
{
    if (*ai)
        freeaddrinfo(*ai);
}

/* The socket, or an error: -ECONNREFUSED no listener, -EACCES a listener that is neither root,
 * SlurmUser nor ourselves. */
static int connect_local(uint16_t port, uid_t slurm_uid, int64_t deadline,
                         struct client_watch *watch)
{
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un sa;
    socklen_t len = wire_local_name(port, &sa);
    /* another program may hold the name and not answer: TCP is left */
    int wait_ms = client_wait_ms(deadline) / 2;
    int64_t until = now_mono_us() + (int64_t)wait_ms * 1000;
    /* shutdown(2) does not end this wait: who may be ended looks up now and then */
    int turn_ms = watch ? MIN(wait_ms, LOCAL_TURN_MS) : wait_ms;
    struct timeval tv = { .tv_sec = turn_ms / 1000, .tv_usec = turn_ms % 1000 * 1000 };

    if (fd < 0)
        return -errno;
    /* Bounds the wait when the server's backlog is full. */
    if (wait_ms > 0 && setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)) < 0)
        return -errno;
    while (connect(fd, (struct sockaddr *)&sa, len) < 0) {
        if (errno == EINTR ||
            (errno == EAGAIN && watch && !client_watch_ended(watch) && now_mono_us() < until))
            continue;
        return errno == EAGAIN ? -ETIMEDOUT : -errno;
    }
    if (!hello_server_trusted(fd, slurm_uid))
        return -EACCES;
    return TAKE_FD(fd);
}

static int await_connect(int fd, int64_t deadline)
{
    struct pollfd p = { .fd = fd, .events = POLLOUT };
    socklen_t len = sizeof(int);
    int e = 0, n;

    do {
        n = poll(&p, 1, client_wait_ms(deadline));
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    if (n == 0)
        return -ETIMEDOUT;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &len) < 0)
        return -errno;
    return -e;
}

/* A socket that is connecting, or connected already. */
static int begin_addr(const struct addrinfo *ai)
{
    _cleanup_close_ int fd =
        socket(ai->ai_family, ai->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, ai->ai_protocol);
    int one = 1;

    if (fd < 0)
        return -errno;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)); /* only slower without */
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one)); /* only later told of loss */
    if (connect(fd, ai->ai_addr, ai->ai_addrlen) < 0 && errno != EINPROGRESS && errno != EINTR)
        return -errno;
    return TAKE_FD(fd);
}

static int connect_addr(const struct addrinfo *ai, int64_t deadline, struct client_watch *watch)
{
    _cleanup_close_ int fd = begin_addr(ai);
    int r = fd;

    if (fd >= 0) {
        client_watch_note(watch, fd);
        r = await_connect(fd, deadline);
    }
    if (r < 0)
        client_watch_note(watch, -1);
    return r < 0 ? r : TAKE_FD(fd);
}

static int resolve_host(const char *host, uint16_t port, struct addrinfo **ret_list)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV };
    char service[8];
    int r;

    (void)snprintf(service, sizeof(service), "%u", port); /* always fits */
    r = getaddrinfo(host, service, &hints, ret_list);
    if (r == 0)
        return 0;
    log_debug("resolving %s: %s", host, gai_strerror(r));
    return -EHOSTUNREACH;
}

static int connect_tcp(const char *host, uint16_t port, int64_t deadline,
                       struct client_watch *watch)
{
    __attribute__((cleanup(addrinfo_freep))) struct addrinfo *list = NULL;
    int r = resolve_host(host, port, &list);

    if (r < 0)
        return r;
    r = -EHOSTUNREACH;
    for (const struct addrinfo *ai = list; ai; ai = ai->ai_next) {
        r = connect_addr(ai, deadline, watch);
        if (r >= 0 || r == -ETIMEDOUT || client_watch_ended(watch))
            break;
        log_debug("connecting to %s port %u: %s", host, port, strerror(-r));
    }
    return r;
}

/* The server sent us away with an Error. */
static int report_refusal(struct client *c, const struct frame *f, struct err *err)
{
    int r = client_take_error(c, f);

    (void)err_set(err, r, "%s", client_strerror(c, r)); /* the code is decided below */
    return c->error_code == EPST_BUSY        ? -EBUSY
           : c->error_code == EPST_ENCRYPTED ? -EPROTONOSUPPORT
                                             : -EACCES;
}

/* The Hello could not be sent; when the server left a reason, that is the answer. */
static int report_unsent(struct client *c, int r, int64_t deadline, struct err *err)
{
    struct frame f;

    while ((r == -EPIPE || r == -ECONNRESET) && client_recv_any(c, deadline, &f) == 1)
        if ((f.flags & FRAME_REPLY) && (f.flags & FRAME_ERROR))
            return report_refusal(c, &f, err);
    return err_set(err, r, "%s", client_strerror(c, r));
}

/* Wait for the server's first frame; copies the nonce.  -EBUSY, -EACCES: it
 * sent us away. */
static int await_challenge(struct client *c, int64_t deadline, uint8_t nonce[AUTH_NONCE_SIZE],
                           struct err *err)
{
    Pst__Challenge *challenge;
    struct frame f;
    int r = client_recv_any(c, deadline, &f);

    if (r == 0)
        return err_set(err, -ETIMEDOUT, "%s", client_strerror(c, -ETIMEDOUT));
    if (r < 0)
        return err_set(err, r, "%s", client_strerror(c, r));
    if ((f.flags & FRAME_REPLY) && (f.flags & FRAME_ERROR))
        return report_refusal(c, &f, err);
    if (FRAME_UNPACK(challenge, &f, &challenge, NULL) < 0)
        return err_set(err, -EPROTO, "%s", slurm_err_text(EPST_PROTOCOL));
    r = hello_version(challenge, &c->version, err);
    if (r == 0 && challenge->nonce.len != AUTH_NONCE_SIZE)
        r = err_set(err, -EPROTO, "%s", slurm_err_text(EPST_PROTOCOL));
    if (r == 0)
        memcpy(nonce, challenge->nonce.data, AUTH_NONCE_SIZE);
    pst__challenge__free_unpacked(challenge, NULL);
    return r;
}

/* Say Hello on the fresh connection c. */
static int say_hello(struct client *c, const struct client_target *target, bool local,
                     int64_t deadline, struct err *err)
{
    _cleanup_(auth_keys_free) struct auth_keys *keys = NULL;
    uint8_t nonce[AUTH_NONCE_SIZE] = { 0 }, *buf;
    unsigned method;
    size_t len;
    int r = hello_choose(target, local, &method, &keys, err);

    if (r == 0 && !local)
        r = await_challenge(c, deadline, nonce, err);
    if (r == 0 && c->tls) {
        r = hello_bind(c->tls, nonce);
        if (r < 0)
            (void)err_set(err, r, "%s", client_strerror(c, r)); /* given back below */
    }
    if (r < 0)
        return r;
    r = hello_pack(&(struct hello_way){ target, method, keys, nonce, c->version }, &buf, &len,
                   &c->sent, err);
    if (r < 0)
        return r;
    c->handshake = local;
    r = client_queue_take(c, buf, len);
    return r < 0 ? report_unsent(c, r, deadline, err) : 0;
}

/* Over TCP: wait until the server has proved itself. */
static int await_proof(struct client *c, const struct client_target *target, uid_t slurm_uid,
                       int64_t deadline, struct err *err)
{
    Pst__HelloReply *reply;
    struct frame f;
    int r = client_recv_any(c, deadline, &f);

    if (r == 0)
        r = -ETIMEDOUT;
    if (r < 0)
        return err_set(err, r, "%s", client_strerror(c, r));
    if (f.flags & FRAME_ERROR)
        return report_refusal(c, &f, err);
    if (FRAME_UNPACK(hello_reply, &f, &reply, NULL) < 0)
        return err_set(err, -EPROTO, "%s", slurm_err_text(EPST_PROTOCOL));
    r = hello_check(target, &c->sent, reply, slurm_uid, &c->seal_in, &c->seal_out, err);
    c->seal_once = target->credential != NULL;
    pst__hello_reply__free_unpacked(reply, NULL);
    hello_sent_done(&c->sent);
    return r;
}

static int greet_server(struct client *c, const struct client_target *target, bool local,
                        uid_t slurm_uid, int64_t deadline, struct err *err)
{
    int r = say_hello(c, target, local, deadline, err);

    return r < 0 || local ? r : await_proof(c, target, slurm_uid, deadline, err);
}

/* The first bytes over TCP. */
static int knock_server(struct client *c, const struct client_target *target, struct err *err)
{
    uint8_t *knock = target->tls ? malloc(KNOCK_SIZE) : NULL;
    int r;

    if (!target->tls) {
        r = knock_send(c->fd);
    } else if (knock) {
        memcpy(knock, KNOCK, KNOCK_SIZE);
        r = client_tls_begin(c, target);
        r = r < 0 ? r : client_queue_take(c, TAKE_PTR(knock), KNOCK_SIZE);
        free(knock);
    } else {
        r = -ENOMEM;
    }
    return r < 0 ? err_set(err, r, "%s", client_strerror(c, r)) : 0;
}

/* A socket to the target; *ret_local tells which kind. */
static int reach_server(const struct client_target *target, uid_t slurm_uid, int64_t deadline,
                        bool *ret_local, struct err *err)
{
    bool may_local = target->try_local && !target->credential && hello_may_local(target);
    bool foreign = false;
    int r = -ECONNREFUSED;

    if (may_local) {
        r = connect_local(target->port, slurm_uid, deadline, target->watch);
        if (r >= 0) {
            client_watch_note(target->watch, r);
            *ret_local = true;
            return r;
        }
        foreign = r == -EACCES;
    }
    if (target->host)
        r = connect_tcp(target->host, target->port, deadline, target->watch);
    if (r >= 0) {
        *ret_local = false;
        return r;
    }
    if (foreign)
        return err_set(err, -EACCES,
                       "Invalid authentication credential: the local socket for port %u belongs to "
                       "a foreign user",
                       target->port);
    return err_set(err, r, "%s", client_strerror(NULL, r == -EACCES ? -ECONNREFUSED : r));
}

int client_connect(const struct client_target *target, uid_t slurm_uid, struct client **ret_client,
                   struct err *err)
{
    _cleanup_(client_free) struct client *c = NULL;
    int64_t deadline = client_deadline(target->timeout_ms);
    bool local = false;
    int r = client_alloc(target->timeout_ms, &c);

    if (r < 0)
        return err_nomem(err);
    c->keeps_text = target->keeps_text;
    r = reach_server(target, slurm_uid, deadline, &local, err);
    if (r < 0)
        return r;
    c->fd = r;
    r = local ? 0 : knock_server(c, target, err);
    if (r == 0)
        r = greet_server(c, target, local, slurm_uid, deadline, err);
    if (r < 0) {
        client_watch_note(target->watch, -1); /* c goes */
        return r;
    }
    *ret_client = TAKE_PTR(c);
    return 0;
}

int client_connect_begin(const struct client_target *target, struct client **ret_client)
{
    __attribute__((cleanup(addrinfo_freep))) struct addrinfo *list = NULL;
    _cleanup_(client_free) struct client *c = NULL;
    int r = target->host ? resolve_host(target->host, target->port, &list) : -EHOSTUNREACH;

    if (r == 0 && list->ai_next)
        r = -ENOTUNIQ;
    if (r == 0)
        r = client_alloc(target->timeout_ms, &c);
    if (r < 0)
        return r;
    r = begin_addr(list);
    if (r < 0)
        return r;
    c->fd = r;
    *ret_client = TAKE_PTR(c);
    return 0;
}

int client_connect_greet(const struct client_target *target, struct client *c, struct err *err)
{
    int64_t deadline = client_deadline(target->timeout_ms);
    int r = await_connect(c->fd, deadline);

    if (r < 0)
        return err_set(err, r, "%s", client_strerror(NULL, r));
    r = knock_server(c, target, err);
    if (r < 0)
        return r;
    return say_hello(c, target, false, deadline, err);
}

int client_connect_end(const struct client_target *target, struct client *c, struct err *err)
{
    return await_proof(c, target, 0, client_deadline(target->timeout_ms), err);
}
