/* dialer.c - a connection that comes back
 *
 * One object, on the caller's loop and thread.  It goes round: try each target in turn (local
 * socket, then every address of the host), shake hands, be up; on loss or failure wait a little
 * longer each time, then again.  Invariants: on_down follows on_up, never twice; every id given out
 * by dialer_request() gets its last on_reply before on_down; one attempt runs at a time, and
 * `attempt` tells late answers of the name service or munge from those of the present one. */
#include "wire/server/dialer.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "wire/server/link.h"

#include "base/log.h"
#include "base/timefmt.h"
#include "wire/access.h"
#include "wire/errors.h"
#include "wire/knock.h"
#include "wire/hello.h"

#define BACKOFF_MIN_MS 50u
#define BACKOFF_MAX_MS 1000u
#define TIMEOUT_DEFAULT_MS 10000
#define OUT_MAX (64u * WIRE_MIB)
#define STALL_US INT64_C(60000000)
#define TICK_MS 1000u

enum phase {
    IDLE, /* waiting to try, or not started */
    RESOLVING,
    CONNECTING,
    CHALLENGED, /* connected: challenge awaited, Hello being made */
    GREETED,    /* Hello sent; answer awaited, or being checked */
    UP,
};

/* Work for libuv's threads: make the Hello, or check the answer to it; both may ask munged. */
struct greeting {
    uv_work_t work;
    struct dialer *d;
    const struct client_target *target; /* constant while d->working; a Hello's is `as` */
    struct client_target as;            /* borrowed parts of a target */
    uint64_t attempt;
    unsigned method;
    struct auth_keys *keys;
    uint8_t nonce[AUTH_NONCE_SIZE];
    uint16_t version;
    uint8_t *buf;
    size_t len;
    struct hello_sent sent;
    Pst__HelloReply *reply;
    struct seal *in, *out;
    int r;
    struct err err;
};

struct dialer {
    uv_loop_t *loop;
    struct link_loop ll;
    struct client_target *targets; /* strings owned */
    size_t n_targets, target;
    struct client_target *fresh; /* NULL, or those to go by once the present attempts are over */
    size_t n_fresh;
    unsigned working; /* greetings, which read the targets */
    uid_t slurm_uid;
    struct dialer_hooks hooks;
    void *ctx;
    enum phase phase;
    uint64_t attempt;
    bool closing, local, local_tried, complained;
    bool other_way;                         /* the next Hello does without the controllers' key */
    bool passing;                           /* dialer_next(): the present target is passed over */
    unsigned holds;                         /* handles and work that keep the memory */
    unsigned backoff_ms, backoff_before_ms; /* as it was before the line was up */
    uint16_t version;
    uv_timer_t timer; /* back-off, deadline of an attempt, or tick while up */
    uv_getaddrinfo_t resolve;
    struct addrinfo *addrs, *addr; /* of the present target */
    struct link link;
    bool linked;            /* link is in use */
    struct hello_sent sent; /* over TCP, until the answer is checked */
    char why[160];
    /* ids awaiting replies, ascending */
    uint32_t *waiting;
    size_t n_waiting, cap_waiting;
    uint32_t last_id;
};

static void try_next(struct dialer *d);
static void on_timer(uv_timer_t *timer);

/* ---- memory ---------------------------------------------------------------------------------- */

static void target_free(struct client_target *t)
{
    free((char *)t->host);
    free((char *)t->cluster);
    free((char *)t->key_file);
    free((char *)t->munge_socket);
    free((char *)t->service);
    free((char *)t->name);
    if (t->jwt)
        explicit_bzero((char *)t->jwt, strlen(t->jwt));
    free((char *)t->jwt);
    free((char *)t->program);
    free((char *)t->act_as);
    t->tls = tls_ctx_unref(t->tls);
}

static int copy_str(const char **field)
{
    if (!*field)
        return 0;
    *field = strdup(*field);
    return *field ? 0 : -ENOMEM;
}

/* Replace the borrowed strings of *t by copies; on failure those not copied are NULL. */
static int target_own(struct client_target *t)
{
    const char **fields[] = { &t->host,    &t->cluster, &t->key_file, &t->munge_socket, &t->jwt,
                              &t->program, &t->service, &t->name,     &t->act_as };
    int r = 0;

    t->tls = tls_ctx_ref(t->tls);
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        if (copy_str(fields[i]) < 0)
            r = -ENOMEM;
    return r;
}

static void free_targets(struct client_target *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        target_free(&list[i]);
    free(list);
}

static int own_targets(const struct client_target *targets, size_t n, struct client_target **ret)
{
    struct client_target *list = calloc(n, sizeof(*list));
    int r = list ? 0 : -ENOMEM;

    for (size_t i = 0; i < n && r == 0; i++) {
        list[i] = targets[i];
        r = target_own(&list[i]);
        if (r < 0)
            free_targets(TAKE_PTR(list), i + 1);
    }
    *ret = list;
    return r;
}

static bool host_same(const struct client_target *a, const struct client_target *b)
{
    if (a->port != b->port || !a->host || !b->host)
        return a->port == b->port && a->host == b->host;
    return strcmp(a->host, b->host) == 0;
}

/* No attempt is under way: go by the other targets, if there are any.  `target` stays the one that
 * it was; where that is gone, the next is the first. */
static void renew_targets(struct dialer *d)
{
    size_t at = 0;

    if (!d->fresh || d->working)
        return;
    while (at < d->n_fresh && !host_same(&d->fresh[at], &d->targets[d->target]))
        at++;
    free_targets(d->targets, d->n_targets);
    d->targets = TAKE_PTR(d->fresh);
    d->n_targets = d->n_fresh;
    d->target = at < d->n_targets ? at : SIZE_MAX;
    d->n_fresh = 0;
}

static void destroy_dialer(struct dialer *d)
{
    free_targets(d->targets, d->n_targets);
    free_targets(d->fresh, d->n_fresh);
    if (d->addrs)
        uv_freeaddrinfo(d->addrs);
    link_loop_done(&d->ll);
    hello_sent_done(&d->sent);
    free(d->waiting);
    free(d);
}

static void release_dialer(struct dialer *d)
{
    if (--d->holds == 0)
        destroy_dialer(d);
}

/* ---- requests -------------------------------------------------------------------------------- */

static int add_waiting(struct dialer *d, uint32_t id)
{
    if (d->n_waiting == d->cap_waiting) {
        size_t cap = d->cap_waiting ? 2 * d->cap_waiting : 16;
        uint32_t *p = reallocarray(d->waiting, cap, sizeof(*p));

        if (!p)
            return -ENOMEM;
        d->waiting = p;
        d->cap_waiting = cap;
    }
    d->waiting[d->n_waiting++] = id; /* ids grow within a connection */
    return 0;
}

/* Position of id among those waiting, or -1. */
static long find_waiting(const struct dialer *d, uint32_t id)
{
    size_t lo = 0, hi = d->n_waiting;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (d->waiting[mid] == id)
            return (long)mid;
        if (d->waiting[mid] < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return -1;
}

static void drop_waiting(struct dialer *d, long at)
{
    d->n_waiting--;
    memmove(&d->waiting[at], &d->waiting[at + 1],
            (d->n_waiting - (size_t)at) * sizeof(*d->waiting));
}

static int send_frame(struct dialer *d, uint8_t *buf, size_t len)
{
    if (d->phase != UP || d->closing) {
        free(buf);
        return -ENOTCONN;
    }
    if (link_out_bytes(&d->link) + len > OUT_MAX) {
        free(buf);
        return -ENOBUFS;
    }
    frame_set_version(buf, d->version);
    return link_send_take(&d->link, buf, len, false);
}

int dialer_request(struct dialer *d, unsigned op, const ProtobufCMessage *msg, uint32_t *ret_id)
{
    uint32_t id = d->last_id + 1;
    uint8_t *buf;
    size_t len;
    int r;

    if (d->phase != UP || d->closing)
        return -ENOTCONN;
    if (id == 0)
        return -ENOBUFS; /* four thousand million on one connection: the next one starts anew */
    r = frame_pack(op, 0, id, 0, msg, &buf, &len);
    if (r < 0)
        return r;
    r = add_waiting(d, id);
    if (r < 0) {
        free(buf);
        return r;
    }
    r = send_frame(d, buf, len);
    if (r < 0) {
        d->n_waiting--;
        return r;
    }
    d->last_id = id;
    if (ret_id)
        *ret_id = id;
    return 0;
}

int dialer_reply(struct dialer *d, unsigned op, uint32_t id, const ProtobufCMessage *msg)
{
    uint8_t *buf;
    size_t len;
    int r = frame_pack(op, FRAME_REPLY, id, 0, msg, &buf, &len);

    return r < 0 ? r : send_frame(d, buf, len);
}

int dialer_reply_error(struct dialer *d, unsigned op, uint32_t id, int code, const char *text)
{
    uint8_t *buf;
    size_t len;
    int r = frame_pack_error(op, id, code, text, &buf, &len);

    return r < 0 ? r : send_frame(d, buf, len);
}

bool dialer_is_up(const struct dialer *d)
{
    return d->phase == UP;
}

/* ---- going up and down ----------------------------------------------------------------------- */

static void set_timer(struct dialer *d, uint64_t ms)
{
    (void)uv_timer_start(&d->timer, on_timer, ms, 0); /* fails for a closing handle only */
}

/* The present target failed for good: the next one, or a rest. */
static void target_failed(struct dialer *d, const char *why)
{
    uint32_t random = 0;
    unsigned wait_ms;

    if (d->closing)
        return;
    d->attempt++;
    d->local_tried = false;
    if (d->addrs)
        uv_freeaddrinfo(d->addrs);
    d->addrs = d->addr = NULL;
    if (++d->target < d->n_targets) {
        try_next(d);
        return;
    }
    if (!d->complained)
        log_info("cannot reach %s port %u: %s; trying on",
                 d->targets[0].host ? d->targets[0].host : "local", d->targets[0].port, why);
    d->complained = true;
    d->target = 0;
    d->phase = IDLE;
    (void)auth_random(&random, sizeof(random)); /* without it: no jitter */
    wait_ms = d->backoff_ms / 2 + random % (d->backoff_ms / 2 + 1);
    d->backoff_ms = MIN(2 * d->backoff_ms, BACKOFF_MAX_MS);
    set_timer(d, wait_ms);
}

static void go_up(struct dialer *d)
{
    d->phase = UP;
    d->backoff_before_ms = d->backoff_ms;
    d->backoff_ms = BACKOFF_MIN_MS;
    d->complained = d->other_way = false;
    d->last_id = 0;
    d->local_tried = false;
    if (d->addrs)
        uv_freeaddrinfo(d->addrs);
    d->addrs = d->addr = NULL;
    set_timer(d, TICK_MS);
    d->hooks.on_up(d->ctx);
}

static void go_down(struct dialer *d, const char *why)
{
    uint32_t *ids = TAKE_PTR(d->waiting);
    size_t n = d->n_waiting;

    d->phase = IDLE;
    d->n_waiting = d->cap_waiting = 0;
    for (size_t i = 0; i < n; i++)
        d->hooks.on_reply(d->ctx, ids[i], -ECONNRESET, NULL);
    free(ids);
    d->hooks.on_down(d->ctx, why);
}

/* ---- handshake ------------------------------------------------------------------------------- */

/* The server does not have the key that the controllers had: it is asked once more in another way,
 * and this way again after that. */
static void change_way(struct dialer *d)
{
    const struct client_target *t = &d->targets[d->target];

    if (d->phase == GREETED && t->identity && t->controller_key && t->may_relearn)
        d->other_way = !d->other_way;
}

static void handshake_failed(struct dialer *d, const char *why)
{
    change_way(d);
    link_close(&d->link, why);
}

static void greeting_free(struct greeting *g)
{
    free(g->buf);
    (void)auth_keys_free(g->keys); /* always NULL, as the seals */
    (void)seal_free(g->in);
    (void)seal_free(g->out);
    hello_sent_done(&g->sent);
    if (g->reply)
        pst__hello_reply__free_unpacked(g->reply, NULL);
    free(g);
}

static void end_greeting(struct greeting *g)
{
    struct dialer *d = g->d;

    greeting_free(g);
    d->working--;
    release_dialer(d);
}

static void make_hello(uv_work_t *work)
{
    struct greeting *g = work->data;

    g->r = hello_pack(&(struct hello_way){ g->target, g->method, g->keys, g->nonce, g->version },
                      &g->buf, &g->len, &g->sent, &g->err);
}

static void send_hello(uv_work_t *work, int status)
{
    struct greeting *g = work->data;
    struct dialer *d = g->d;

    if (!d->closing && d->linked && g->attempt == d->attempt) {
        if (status < 0 || g->r < 0) {
            handshake_failed(d, status < 0 ? "cancelled" : g->err.text);
        } else {
            d->phase = GREETED;
            d->version = g->version;
            hello_sent_done(&d->sent);
            d->sent = g->sent;
            g->sent = (struct hello_sent){ 0 };
            (void)link_send_take(&d->link, TAKE_PTR(g->buf), g->len, false); /* else it closes */
        }
    }
    end_greeting(g);
}

/* The identity to claim has been chosen; version and nonce come from the challenge. */
static void greet_server(struct dialer *d, const Pst__Challenge *challenge)
{
    struct greeting *g = calloc(1, sizeof(*g));
    const char *why = ERR_NOMEM;
    int r = g ? 0 : -ENOMEM;

    if (r == 0) {
        g->work.data = g;
        g->d = d;
        g->as = d->targets[d->target];
        if (d->other_way)
            g->as.controller_key = NULL;
        g->target = &g->as;
        g->attempt = d->attempt;
        why = g->err.text;
        r = hello_version(challenge, &g->version, &g->err);
    }
    if (r == 0 && challenge->nonce.len != AUTH_NONCE_SIZE)
        r = err_set(&g->err, -EPROTO, "%s", slurm_err_text(EPST_PROTOCOL));
    if (r == 0) {
        memcpy(g->nonce, challenge->nonce.data, AUTH_NONCE_SIZE);
        if (d->link.tls && hello_bind(d->link.tls, g->nonce) < 0)
            r = err_set(&g->err, -EPROTO, "%s", slurm_err_text(EPST_PROTOCOL));
    }
    if (r == 0)
        r = hello_choose(g->target, d->local, &g->method, &g->keys, &g->err);
    if (r < 0) {
        handshake_failed(d, why);
        if (g)
            greeting_free(g);
        return;
    }
    d->holds++;
    d->working++;
    if (g->method == PST__AUTH_METHOD__AUTH_MUNGE &&
        uv_queue_work(d->loop, &g->work, make_hello, send_hello) == 0)
        return;
    make_hello(&g->work);
    send_hello(&g->work, 0);
}

static void on_challenge(struct dialer *d, const struct frame *f)
{
    Pst__Challenge *challenge;

    if (FRAME_UNPACK(challenge, f, &challenge, NULL) < 0) {
        handshake_failed(d, (f->flags & FRAME_ERROR) ? slurm_err_text(EPST_BUSY)
                                                     : slurm_err_text(EPST_PROTOCOL));
        return;
    }
    greet_server(d, challenge);
    pst__challenge__free_unpacked(challenge, NULL);
}

static void check_reply(uv_work_t *work)
{
    struct greeting *g = work->data;

    g->r = hello_check(g->target, &g->sent, g->reply, g->d->slurm_uid, &g->in, &g->out, &g->err);
}

static void reply_checked(uv_work_t *work, int status)
{
    struct greeting *g = work->data;
    struct dialer *d = g->d;

    if (!d->closing && d->linked && g->attempt == d->attempt) {
        if (status < 0 || g->r < 0) {
            handshake_failed(d, status < 0 ? "cancelled" : g->err.text);
        } else {
            link_seal_take(&d->link, TAKE_PTR(g->in), TAKE_PTR(g->out));
            go_up(d);
            link_pause(&d->link, false);
        }
    }
    end_greeting(g);
}

/* The server let us in. Is it the server that we mean?  Takes reply. */
static void check_server(struct dialer *d, Pst__HelloReply *reply)
{
    struct greeting *g = calloc(1, sizeof(*g));

    if (!g) {
        pst__hello_reply__free_unpacked(reply, NULL);
        handshake_failed(d, ERR_NOMEM);
        return;
    }
    *g = (struct greeting){ .work.data = g,
                            .d = d,
                            .target = &d->targets[d->target],
                            .attempt = d->attempt,
                            .method = d->sent.method,
                            .sent = d->sent,
                            .reply = reply };
    d->sent = (struct hello_sent){ 0 };
    d->holds++;
    d->working++;
    link_pause(&d->link, true); /* what follows is sealed */
    if (g->method == PST__AUTH_METHOD__AUTH_MUNGE &&
        uv_queue_work(d->loop, &g->work, check_reply, reply_checked) == 0)
        return;
    check_reply(&g->work);
    reply_checked(&g->work, 0);
}

static void on_hello_reply(struct dialer *d, const struct frame *f)
{
    Pst__HelloReply *reply;
    Pst__Error *e;

    if (f->op != OP_HELLO || !(f->flags & FRAME_REPLY)) {
        handshake_failed(d, slurm_err_text(EPST_PROTOCOL));
    } else if (!(f->flags & FRAME_ERROR) && d->local) {
        go_up(d);
    } else if (!(f->flags & FRAME_ERROR) && FRAME_UNPACK(hello_reply, f, &reply, NULL) == 0) {
        check_server(d, reply);
    } else if (FRAME_UNPACK(error, f, &e, NULL) == 0) {
        handshake_failed(d, e->text && e->text[0] ? e->text : slurm_err_text(e->code));
        pst__error__free_unpacked(e, NULL);
    } else {
        handshake_failed(d, slurm_err_text(EPST_PROTOCOL));
    }
}

/* ---- the link -------------------------------------------------------------------------------- */

static struct dialer *dialer_of(struct link *l)
{
    return container_of(l, struct dialer, link);
}

static int on_header(struct link *l, const uint8_t *header, struct frame *ret_frame)
{
    int r = frame_decode_header(header, ret_frame);

    /* Once the line is up the peer is the controller, and asks for what access.def gives it. */
    if (r == 0 && dialer_of(l)->phase == UP && !(ret_frame->flags & FRAME_REPLY) &&
        wire_op_info(ret_frame->op) &&
        access_role(ACCESS_SLURMD, ret_frame->op) != ACCESS_CONTROLLER)
        r = -EPROTO;
    if (r < 0)
        link_close(l, slurm_err_text(EPST_PROTOCOL));
    return r;
}

static void on_reply(struct dialer *d, const struct frame *f)
{
    long at = find_waiting(d, f->id);

    if (at < 0)
        return; /* answered before: a peer's mistake without consequence */
    if (!(f->flags & FRAME_MORE))
        drop_waiting(d, at);
    d->hooks.on_reply(d->ctx, f->id, (f->flags & FRAME_ERROR) ? -EREMOTEIO : 0, f);
}

static void on_frame(struct link *l, const struct frame *f)
{
    struct dialer *d = dialer_of(l);

    if (d->phase == CHALLENGED)
        on_challenge(d, f);
    else if (d->phase == GREETED)
        on_hello_reply(d, f);
    else if (f->flags & FRAME_REPLY)
        on_reply(d, f);
    else
        d->hooks.on_request(d->ctx, f);
}

static void on_link_closed(struct link *l)
{
    struct dialer *d = dialer_of(l);
    enum phase was = d->phase;
    char why[sizeof(l->why)];

    (void)snprintf(why, sizeof(why), "%s", l->why[0] ? l->why : "closed by the peer");
    d->linked = false;
    d->attempt++;
    if (was == UP) {
        go_down(d, why); /* the hook may close us */
        renew_targets(d);
    }
    if (!d->closing && was == UP && d->passing) {
        d->passing = false;
        d->backoff_ms = d->backoff_before_ms;
        d->complained = true; /* it was reached, and said why it is not the one */
        target_failed(d, why);
    } else if (!d->closing && was == UP) {
        d->target = 0;
        try_next(d);
    } else if (!d->closing && was == CONNECTING) {
        if (d->addr)
            d->addr = d->addr->ai_next;
        (void)snprintf(d->why, sizeof(d->why), "%s", why);
        try_next(d);
    } else if (!d->closing) {
        target_failed(d, why);
    }
    release_dialer(d);
}

/* The first bytes over TCP. */
static int knock_server(struct dialer *d)
{
    struct tls_ctx *ctx = d->targets[d->target].tls;
    struct tls *tls = NULL;
    uint8_t *knock;
    int r = ctx ? tls_new_client(ctx, d->link.fd, &tls) : knock_send(d->link.fd);

    if (r < 0 || !ctx)
        return r;
    link_tls_take(&d->link, tls);
    knock = malloc(KNOCK_SIZE);
    if (!knock)
        return -ENOMEM;
    memcpy(knock, KNOCK, KNOCK_SIZE);
    return link_send_take(&d->link, knock, KNOCK_SIZE, false);
}

static void on_connected(struct link *l, int r)
{
    struct dialer *d = dialer_of(l);

    if (r == 0)
        r = knock_server(d);
    if (r < 0)
        link_close(l, strerror(-r));
    else
        d->phase = CHALLENGED;
}

static const struct link_ops dialer_link_ops = {
    .on_connected = on_connected,
    .on_header = on_header,
    .on_frame = on_frame,
    .on_closed = on_link_closed,
};

/* ---- attempts -------------------------------------------------------------------------------- */

static int start_link(struct dialer *d, int fd, bool connecting)
{
    int timeout_ms = d->targets[d->target].timeout_ms;
    int r = link_init(&d->link, &d->ll, fd, connecting, &dialer_link_ops);

    if (r < 0)
        return r;
    d->linked = true;
    d->holds++;
    d->phase = connecting ? CONNECTING : CHALLENGED;
    set_timer(d, (uint64_t)(timeout_ms > 0 ? timeout_ms : TIMEOUT_DEFAULT_MS));
    return 0;
}

static int try_local(struct dialer *d)
{
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un sa;
    socklen_t len = wire_local_name(d->targets[d->target].port, &sa);
    int r;

    if (fd < 0 || connect(fd, (struct sockaddr *)&sa, len) < 0)
        return -errno;
    if (!hello_server_trusted(fd, d->slurm_uid))
        return -EACCES;
    d->local = true;
    r = start_link(d, fd, false);
    if (r == 0)
        (void)TAKE_FD(fd);
    return r;
}

static int try_addr(struct dialer *d, const struct addrinfo *ai)
{
    _cleanup_close_ int fd =
        socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, ai->ai_protocol);
    int r;

    if (fd < 0)
        return -errno;
    keepalive_tune(fd, d->targets[d->target].keepalive);
    if (connect(fd, ai->ai_addr, ai->ai_addrlen) < 0 && errno != EINPROGRESS)
        return -errno;
    d->local = false;
    r = start_link(d, fd, true);
    if (r == 0)
        (void)TAKE_FD(fd);
    return r;
}

static void on_resolved(uv_getaddrinfo_t *req, int status, struct addrinfo *list)
{
    struct dialer *d = req->data;

    if (status < 0 || d->closing || d->phase != RESOLVING) {
        uv_freeaddrinfo(list);
        if (!d->closing && d->phase == RESOLVING)
            target_failed(d, uv_strerror(status));
    } else {
        d->addrs = d->addr = list;
        try_next(d);
    }
    release_dialer(d);
}

static int start_resolve(struct dialer *d)
{
    const struct client_target *t = &d->targets[d->target];
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV };
    char service[8];
    int r;

    (void)snprintf(service, sizeof(service), "%u", t->port); /* always fits */
    d->resolve.data = d;
    r = uv_getaddrinfo(d->loop, &d->resolve, on_resolved, t->host, service, &hints);
    if (r < 0)
        return r;
    d->holds++;
    d->phase = RESOLVING;
    return 0;
}

/* Go on with the present target: its local socket, its next address, or its name. */
static void try_next(struct dialer *d)
{
    const struct client_target *t = &d->targets[d->target];
    int r = -EHOSTUNREACH;

    if (t->try_local && !d->local_tried && !d->addrs && !(t->jwt && t->jwt[0])) {
        d->local_tried = true;
        r = try_local(d);
        if (r == 0)
            return;
    }
    if (t->host && !d->addrs) {
        r = start_resolve(d);
        if (r == 0)
            return;
    }
    for (; d->addr; d->addr = d->addr->ai_next) {
        r = try_addr(d, d->addr);
        if (r == 0)
            return;
        (void)snprintf(d->why, sizeof(d->why), "%s", strerror(-r));
    }
    target_failed(d, d->why[0] ? d->why : strerror(-r));
}

static void on_timer(uv_timer_t *timer)
{
    struct dialer *d = timer->data;

    if (d->phase == IDLE) {
        d->why[0] = '\0';
        renew_targets(d);
        d->target = 0;
        try_next(d);
    } else if (d->phase == UP) {
        link_tick(&d->link, now_mono_us(), STALL_US);
        set_timer(d, TICK_MS);
    } else if (d->linked) {
        link_close(&d->link, slurm_err_text(EPST_TIMEOUT));
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

int dialer_new(uv_loop_t *loop, const struct client_target *targets, size_t n, uid_t slurm_uid,
               const struct dialer_hooks *hooks, void *ctx, struct dialer **ret_dialer)
{
    struct dialer *d;
    int r;

    if (n == 0)
        return -EINVAL;
    d = calloc(1, sizeof(*d));
    if (!d)
        return -ENOMEM;
    d->loop = loop;
    d->slurm_uid = slurm_uid;
    d->hooks = *hooks;
    d->ctx = ctx;
    d->backoff_ms = BACKOFF_MIN_MS;
    r = own_targets(targets, n, &d->targets);
    if (r == 0)
        d->n_targets = n;
    if (link_loop_init(&d->ll, loop) < 0)
        r = -ENOMEM;
    if (r < 0) {
        destroy_dialer(d);
        return r;
    }
    (void)uv_timer_init(loop, &d->timer); /* cannot fail */
    d->timer.data = d;
    d->holds = 1;
    *ret_dialer = d;
    return 0;
}

int dialer_set_targets(struct dialer *d, const struct client_target *targets, size_t n)
{
    struct client_target *list;
    int r = n ? own_targets(targets, n, &list) : -EINVAL;

    if (r < 0)
        return r;
    free_targets(d->fresh, d->n_fresh);
    d->fresh = list;
    d->n_fresh = n;
    return 0;
}

static void give_tls(struct client_target *list, size_t n, struct tls_ctx *tls)
{
    for (size_t i = 0; i < n; i++) {
        (void)tls_ctx_unref(list[i].tls); /* always NULL */
        list[i].tls = tls_ctx_ref(tls);
    }
}

void dialer_set_tls(struct dialer *d, struct tls_ctx *tls)
{
    if (!tls)
        return;
    give_tls(d->targets, d->n_targets, tls);
    give_tls(d->fresh, d->n_fresh, tls);
}

void dialer_start(struct dialer *d)
{
    set_timer(d, 0);
}

static void on_timer_closed(uv_handle_t *handle)
{
    release_dialer(handle->data);
}

static void give_controller(struct client_target *list, size_t n, const uint8_t *key,
                            bool may_relearn)
{
    for (size_t i = 0; i < n; i++) {
        list[i].controller_key = key;
        list[i].may_relearn = may_relearn;
    }
}

void dialer_set_controller(struct dialer *d, const uint8_t *key, bool may_relearn)
{
    give_controller(d->targets, d->n_targets, key, may_relearn);
    give_controller(d->fresh, d->n_fresh, key, may_relearn);
}

void dialer_next(struct dialer *d, const char *why)
{
    if (d->phase != UP || d->closing)
        return;
    d->passing = true;
    link_close(&d->link, why);
}

void dialer_drop(struct dialer *d, const char *why)
{
    if (d->linked && !d->closing)
        link_close(&d->link, why);
}

void dialer_close(struct dialer *d)
{
    if (d->closing)
        return;
    d->closing = true;
    if (d->linked)
        link_close(&d->link, "closed here");
    if (d->phase == RESOLVING)
        (void)uv_cancel((uv_req_t *)&d->resolve); /* too late: its callback sees `closing` */
    uv_close((uv_handle_t *)&d->timer, on_timer_closed);
}
