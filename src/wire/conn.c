/* conn.c - a connection of the server: states, replies, streams, limits
 *
 * Owned by its worker's thread; other threads hold references and post mail.  Invariants: hooks see
 * a connection only in CONN_OPEN; on_close runs exactly once for each that was opened; a stream's
 * done runs exactly once; `gone` is set before the last mail can be handled, so nothing is sent
 * after it. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/server_impl.h"

#include "api.pb-c.h"

#include "base/log.h"
#include "base/timefmt.h"
#include "version.h"
#include "wire/errors.h"

#define STREAM_ROUND (256u * WIRE_KIB) /* queued per turn before the socket is tried */
#define STREAM_WINDOW (512u * WIRE_KIB) /* queued at most: a stream goes at its reader's pace */

static struct conn *conn_of(struct link *l)
{
    return container_of(l, struct conn, link);
}

static const struct server_config *config_of(const struct conn *c)
{
    return &c->worker->server->config;
}

struct conn *conn_ref(struct conn *c)
{
    atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
    return c;
}

struct conn *conn_unref(struct conn *c)
{
    if (c && atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) == 1)
        free(c);
    return NULL;
}

const struct peer *conn_peer(const struct conn *c)
{
    return &c->peer;
}

uint64_t conn_id(const struct conn *c)
{
    return c->id;
}

void *conn_data(const struct conn *c)
{
    return c->data;
}

void conn_set_data(struct conn *c, void *data)
{
    c->data = data;
}

int64_t conn_arrival_mono_us(const struct conn *c)
{
    return c->worker->ll.now_mono_us;
}

/* ---- sending ---- */

static bool is_mine(const struct conn *c)
{
    return this_worker == c->worker;
}

/* Read on unless something waits that more requests would only add to. */
static void update_reading(struct conn *c)
{
    size_t limit = config_of(c)->out_limit;

    if (c->state == CONN_AUTH)
        link_pause(&c->link, true);
    else if (c->n_streams >= CONN_STREAMS_MAX || c->link.out_plain > limit / 2)
        link_pause(&c->link, true);
    else if (c->link.paused && c->n_streams < CONN_STREAMS_MAX / 2 &&
             c->link.out_plain < limit / 4 + 1)
        link_pause(&c->link, false);
}

void conn_send_owned(struct conn *c, uint8_t *buf, size_t len)
{
    if (!c->in_stream && c->link.out_plain + len > config_of(c)->out_limit) {
        free(buf);
        link_close(&c->link, "peer does not read its replies");
        return;
    }
    if (c->peer.version)
        frame_set_version(buf, c->peer.version);
    if (link_send_take(&c->link, buf, len, c->in_stream) == -ENOMEM)
        link_close(&c->link,
                   "out of memory"); /* a reply that never comes is worse than a lost peer */
}

void conn_send_shared(struct conn *c, unsigned op, uint32_t flags, uint32_t id, struct shared_bytes *body)
{
    struct frame f = { .version = c->peer.version ? c->peer.version : WIRE_VERSION,
                       .op = (uint16_t)op,
                       .flags = flags | FRAME_REPLY,
                       .id = id,
                       .len = (uint32_t)body->len };
    uint8_t *header;
    int r;

    if (c->link.closing || c->link.finishing)
        return;
    header = malloc(FRAME_HEADER_SIZE);
    r = header ? 0 : -ENOMEM;
    if (header) {
        frame_encode_header(&f, header);
        r = link_send_shared(&c->link, header, body);
    }
    if (r == -ENOMEM)
        link_close(&c->link, "out of memory"); /* half a frame may be queued */
}

size_t conn_out_bytes(const struct conn *c)
{
    return link_out_bytes(&c->link);
}

static struct mail *mail_new(enum mail_kind kind, struct conn *c)
{
    struct mail *m = calloc(1, sizeof(*m));

    if (m) {
        m->kind = kind;
        m->conn = conn_ref(c);
        m->fd = -1;
    }
    return m;
}

void conn_mail_drop(struct mail *m)
{
    if (m->fd >= 0)
        (void)close(m->fd); /* a connection that nobody will serve */
    free(m->buf);
    if (m->stream) {
        m->stream->done(m->stream->arg);
        free(m->stream);
    }
    (void)conn_unref(m->conn); /* always NULL */
    free(m);
}

void conn_send_take(struct conn *c, uint8_t *buf, size_t len)
{
    struct mail *m;

    if (is_mine(c)) {
        conn_send_owned(c, buf, len);
        return;
    }
    m = atomic_load(&c->gone) ? NULL : mail_new(MAIL_SEND, c);
    if (!m) {
        free(buf);
        return;
    }
    m->buf = buf;
    m->len = len;
    if (!worker_post(c->worker, m))
        conn_mail_drop(m);
}

int conn_reply(struct conn *c, unsigned op, uint32_t id, uint32_t flags,
               const ProtobufCMessage *msg)
{
    uint8_t *buf;
    size_t len;
    int r = frame_pack(op, flags | FRAME_REPLY, id, 0, msg, &buf, &len);

    if (r == 0)
        conn_send_take(c, buf, len);
    return r;
}

int conn_error(struct conn *c, unsigned op, uint32_t id, int code, const char *text)
{
    uint8_t *buf;
    size_t len;
    int r = frame_pack_error(op, id, code, text, &buf, &len);

    if (r == 0)
        conn_send_take(c, buf, len);
    return r;
}

int conn_request(struct conn *c, unsigned op, uint32_t flags, const ProtobufCMessage *msg,
                 uint32_t *ret_id)
{
    uint32_t id = atomic_fetch_add(&c->last_id, 1) + 1;
    uint8_t *buf;
    size_t len;
    int r;

    if (atomic_load(&c->gone))
        return -EPIPE;
    r = frame_pack(op, flags & ~(uint32_t)FRAME_REPLY, id, 0, msg, &buf, &len);
    if (r < 0)
        return r;
    if (ret_id)
        *ret_id = id; /* before it leaves: the reply may be quick */
    conn_send_take(c, buf, len);
    return 0;
}

void conn_refuse(struct conn *c, const struct frame *frame, int code, const char *text)
{
    (void)conn_error(c, frame->op, frame->id, code, text); /* it is told, or just closed */
    link_finish(&c->link, text ? text : slurm_err_text(code));
}

static void post_or_drop(struct conn *c, struct mail *m)
{
    if (!worker_post(c->worker, m))
        conn_mail_drop(m);
}

void conn_close(struct conn *c)
{
    struct mail *m;

    if (is_mine(c)) {
        link_finish(&c->link, NULL);
        return;
    }
    m = mail_new(MAIL_CLOSE, c);
    if (m)
        post_or_drop(c, m);
}

int conn_run(struct conn *c, void (*fn)(struct conn *c, void *arg), void *arg)
{
    struct mail *m;

    if (is_mine(c)) {
        fn(c, arg);
        return 0;
    }
    m = mail_new(MAIL_RUN, c);
    if (!m)
        return -ENOMEM;
    m->fn = fn;
    m->arg = arg;
    if (!worker_post(c->worker, m)) {
        fn(c, arg); /* its thread has ended */
        conn_mail_drop(m);
    }
    return 0;
}

void conn_unseal(struct conn *c)
{
    link_seal_take(&c->link, NULL, NULL);
}

int conn_detach_fd(struct conn *c, int *ret_fd)
{
    int fd;

    if (c->link.closing)
        return -EPIPE;
    if (c->link.out_n)
        link_flush(&c->link);
    if (c->link.closing)
        return -EPIPE;
    if (c->link.rest || c->link.in_len || c->link.out_n || c->streams)
        return -EBUSY;
    if (c->link.seal_out)
        return -EBUSY; /* whoever goes on with it could not */
    fd = fcntl(c->link.fd, F_DUPFD_CLOEXEC, 3);
    if (fd < 0)
        return -errno;
    link_close(&c->link, NULL);
    *ret_fd = fd;
    return 0;
}

/* ---- streams ---- */

static void add_stream(struct conn *c, struct stream *s)
{
    *c->streams_end = s;
    c->streams_end = &s->next_stream;
    c->n_streams++;
    update_reading(c);
    link_kick(&c->link);
}

void conn_stream(struct conn *c, bool (*next)(struct conn *c, void *arg), void (*done)(void *arg),
                 void *arg)
{
    struct stream *s = calloc(1, sizeof(*s));
    struct mail *m;

    if (!s) {
        done(arg);
        return;
    }
    *s = (struct stream){ .next = next, .done = done, .arg = arg };
    if (is_mine(c) && !c->link.closing) {
        add_stream(c, s);
        return;
    }
    m = is_mine(c) ? NULL : mail_new(MAIL_STREAM, c);
    if (!m) {
        done(arg);
        free(s);
        return;
    }
    m->stream = s;
    post_or_drop(c, m);
}

static void end_stream(struct conn *c)
{
    struct stream *s = c->streams;

    c->streams = s->next_stream;
    if (!c->streams)
        c->streams_end = &c->streams;
    c->n_streams--;
    s->done(s->arg);
    free(s);
}

/* Let streams fill the queue up to their window. */
static void on_drain(struct link *l)
{
    struct conn *c = conn_of(l);
    size_t start = link_out_bytes(l), room = MIN(config_of(c)->out_limit / 2, STREAM_WINDOW);

    while (c->streams && !l->closing && !l->finishing && link_out_bytes(l) < room &&
           link_out_bytes(l) < start + STREAM_ROUND) {
        size_t before = link_out_bytes(l);
        bool more;

        c->in_stream = true;
        more = c->streams->next(c, c->streams->arg);
        c->in_stream = false;
        if (!more || link_out_bytes(l) == before) /* a stream that says nothing is over */
            end_stream(c);
    }
    update_reading(c);
}

/* ---- receiving ---- */

static int on_header(struct link *l, const uint8_t *header, struct frame *ret_frame)
{
    struct conn *c = conn_of(l);
    struct frame f;
    int r = frame_read_header(header, &f);

    if (r == -EMSGSIZE) {
        frame_peek_header(header, &f);
        conn_refuse(c, &f, EPST_BAD_REQUEST, "Request is too large");
        return r;
    }
    if (r < 0) { /* whatever speaks there, it is not us */
        link_close(l, "peer does not speak the protocol");
        return r;
    }
    if (c->state == CONN_NEW && (f.flags & FRAME_REPLY)) {
        link_close(l, "peer answers before it was asked");
        return -EACCES;
    }
    if (c->state == CONN_NEW && !(f.op == OP_HELLO && f.len <= CONN_HELLO_BYTES)) {
        conn_refuse(c, &f, EPST_AUTH, NULL);
        return -EACCES;
    }
    if (f.op != OP_HELLO && f.version < WIRE_VERSION_MIN) {
        conn_refuse(c, &f, EPST_VERSION, NULL);
        return -EPROTO;
    }
    *ret_frame = f;
    return 0;
}

static void answer_unknown(struct conn *c, const struct frame *f)
{
    char text[80];

    if (f->flags & FRAME_ONEWAY)
        return;
    (void)snprintf(text, sizeof(text), "Operation %u is unknown to this release (%s)", f->op,
                   SLURM_RELEASE);
    (void)conn_error(c, f->op, f->id, EPST_BAD_REQUEST,
                     text); /* out of memory: the call times out */
}

static void on_frame(struct link *l, const struct frame *f)
{
    struct conn *c = conn_of(l);
    const struct server_hooks *hooks = &config_of(c)->hooks;

    if (c->state == CONN_NEW && f->op == OP_HELLO) {
        conn_hello(c, f);
        update_reading(c);
        return;
    }
    if (f->flags & FRAME_REPLY) {
        if (hooks->on_reply)
            hooks->on_reply(config_of(c)->ctx, c, f);
        else
            link_close(l, "peer answers what was not asked");
    } else if (f->op == OP_HELLO || f->op == OP_CHALLENGE) {
        conn_refuse(c, f, EPST_BAD_REQUEST, NULL);
    } else if (!wire_op_info(f->op)) {
        answer_unknown(c, f);
    } else {
        hooks->on_request(config_of(c)->ctx, c, f);
    }
    if (!l->closing)
        update_reading(c);
}

/* ---- birth and death ---- */

static void on_closed(struct link *l)
{
    struct conn *c = conn_of(l);
    struct worker *w = c->worker;

    atomic_store(&c->gone, true);
    while (c->streams)
        end_stream(c);
    if (c->prev)
        c->prev->next = c->next;
    else
        w->conns = c->next;
    if (c->next)
        c->next->prev = c->prev;
    atomic_fetch_sub(&w->n_conns, 1);
    atomic_fetch_sub(&w->server->n_conns, 1);
    if (c->state == CONN_OPEN && config_of(c)->hooks.on_close)
        config_of(c)->hooks.on_close(config_of(c)->ctx, c);
    if (l->why[0] && !w->stopping) {
        char host[80], program[80];

        log_info("connection closed: %s addr=%s uid=%d program=%s host=%s", l->why, c->peer.addr,
                 (int)c->peer.uid, log_quote(c->peer.program, program, sizeof(program)),
                 log_quote(c->peer.host, host, sizeof(host)));
    }
    (void)conn_unref(c); /* the socket's reference */
}

static const struct link_ops conn_link_ops = {
    .on_header = on_header,
    .on_frame = on_frame,
    .on_drain = on_drain,
    .on_closed = on_closed,
};

static void find_address(struct conn *c, int fd)
{
    struct sockaddr_storage ss;
    socklen_t len = sizeof(ss);
    const void *addr;

    (void)snprintf(c->peer.addr, sizeof(c->peer.addr), "%s", c->local ? "local" : "unknown");
    if (c->local || getpeername(fd, (struct sockaddr *)&ss, &len) < 0)
        return;
    if (ss.ss_family == AF_INET6) {
        const struct in6_addr *in6 = &((struct sockaddr_in6 *)&ss)->sin6_addr;

        if (IN6_IS_ADDR_V4MAPPED(in6)) {
            addr = &in6->s6_addr[12];
            ss.ss_family = AF_INET;
        } else {
            addr = in6;
        }
    } else {
        addr = &((struct sockaddr_in *)&ss)->sin_addr;
    }
    (void)inet_ntop(ss.ss_family, addr, c->peer.addr, sizeof(c->peer.addr)); /* always fits */
}

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

void conn_new(struct worker *w, int fd, bool local)
{
    struct conn *c = calloc(1, sizeof(*c));

    if (!c || link_init(&c->link, &w->ll, fd, false, &conn_link_ops) < 0) {
        atomic_fetch_sub(&w->n_conns, 1);
        atomic_fetch_sub(&w->server->n_conns, 1);
        (void)close(fd); /* the peer sees a closed connection */
        free(c);
        return;
    }
    c->worker = w;
    atomic_init(&c->refs, 1);
    c->id = atomic_fetch_add(&w->server->next_conn_id, 1) + 1;
    c->local = local;
    c->born_mono_us = now_mono_us();
    c->peer.uid = (uid_t)-1;
    c->peer.gid = (gid_t)-1;
    c->streams_end = &c->streams;
    c->next = w->conns;
    if (c->next)
        c->next->prev = c;
    w->conns = c;
    find_address(c, fd);
    if (send_challenge(c) < 0)
        link_close(&c->link, "out of memory");
}

void conn_open(struct conn *c)
{
    c->state = CONN_OPEN;
}

void conn_tick(struct conn *c, int64_t now_us)
{
    const struct server_config *config = config_of(c);

    if (c->state == CONN_NEW && !c->link.finishing &&
        now_us - c->born_mono_us > (int64_t)config->hello_timeout_ms * 1000)
        link_close(&c->link, "peer did not say Hello in time");
    link_tick(&c->link, now_us, (int64_t)config->stall_timeout_ms * 1000);
}

void conn_mail(struct mail *m)
{
    struct conn *c = m->conn;

    if (m->kind == MAIL_RUN) {
        m->fn(c, m->arg);
    } else if (c->link.closing) {
        ; /* silently: on_close tells */
    } else if (m->kind == MAIL_SEND) {
        conn_send_owned(c, TAKE_PTR(m->buf), m->len);
    } else if (m->kind == MAIL_CLOSE) {
        link_finish(&c->link, NULL);
    } else if (m->kind == MAIL_STREAM) {
        add_stream(c, TAKE_PTR(m->stream));
    }
    conn_mail_drop(m);
}
