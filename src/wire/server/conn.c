/* conn.c - a connection of the server: states, replies, streams, limits
 *
 * Owned by its worker's thread; other threads hold references and post mail.  Invariants: hooks see
 * a connection only in CONN_OPEN; on_close runs exactly once for each that was opened; a stream's
 * done runs exactly once; `gone` is set before the last mail can be handled, so nothing is sent
 * after it; its seat in the quota is told what it holds whenever that has changed. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/server/conn_first.h"
#include "wire/server/conn_tls.h"
#include "wire/server/connjudge.h"
#include "wire/server/connlog.h"
#include "wire/server/server_impl.h"

#include "api.pb-c.h"

#include "base/log.h"
#include "base/timefmt.h"
#include "version.h"
#include "wire/access.h"
#include "wire/errors.h"
#include "wire/knock.h"

#define STREAM_ROUND (256u * WIRE_KIB)  /* queued per turn before the socket is tried */
#define REFUSED_BYTES (64u * WIRE_KIB)  /* of a refused request; a longer one is not read */
#define STREAM_WINDOW (512u * WIRE_KIB) /* queued at most: a stream goes at its reader's pace */
/* what a stream keeps that waits for its reader, beside what is queued */
#define STREAM_COST (256u * WIRE_KIB)
/* queued to a user without being asked for: then he is not read */
#define USER_PLAIN (1u * WIRE_MIB)
#define SMALL_BYTES (16u * WIRE_KIB) /* below that no peer is turned away */
#define TIGHT_STALL_US (5 * USEC_PER_SEC)
#define TIGHT_IDLE_US (30 * USEC_PER_SEC)

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
    if (c && atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) == 1) {
        conn_pending_done(&c->pending);
        if (c->ident)
            pst__client_ident__free_unpacked(c->ident, NULL);
        free(c);
    }
    return NULL;
}

const struct peer *conn_peer(const struct conn *c)
{
    return &c->peer;
}

const Pst__ClientIdent *conn_ident(const struct conn *c)
{
    return c->ident;
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

/* ---- a worker's mail, and connections beyond the limit --------------------------------------- */

bool worker_post(struct worker *w, struct mail *mail)
{
    bool first, ok;

    mail->next = NULL;
    (void)pthread_mutex_lock(&w->lock); /* cannot fail: a plain mutex that we do not hold */
    ok = !w->closed;
    first = w->mail == NULL;
    if (ok) {
        *w->mail_end = mail;
        w->mail_end = &mail->next;
        if (first)
            (void)uv_async_send(&w->wake); /* fails for a closing handle only; see `closed` */
    }
    (void)pthread_mutex_unlock(&w->lock);
    return ok;
}

/* One connection too many: say so, as far as the fresh socket's buffer goes. */
void server_turn_away(int fd)
{
    uint8_t *buf, dump[1024];
    size_t len;

    if (frame_pack_error(OP_HELLO, 0, EPST_BUSY, NULL, &buf, &len) == 0) {
        (void)send(fd, buf, len, MSG_NOSIGNAL | MSG_DONTWAIT); /* best effort */
        free(buf);
    }
    (void)shutdown(fd, SHUT_WR);
    (void)recv(fd, dump, sizeof(dump),
               MSG_DONTWAIT); /* unread input would turn the close into a reset */
    (void)close(fd);
}

/* ---- sending --------------------------------------------------------------------------------- */

static bool is_mine(const struct conn *c)
{
    return worker_is_mine(c->worker);
}

static struct quota *quota_of(const struct conn *c)
{
    return c->worker->server->quota;
}

static bool over_share(const struct conn *c)
{
    return !c->exempt && quota_over(quota_of(c), &c->seat, 0);
}

/* Tell the quota what is held here. */
static void recount_bytes(struct conn *c)
{
    size_t out = link_out_bytes(&c->link);

    quota_hold(quota_of(c), &c->seat,
               out + c->link.in_cap + c->pending.large_bytes + c->stream_bytes +
                   (c->streams && out ? STREAM_COST : 0));
}

/* What makes it pause, at 1; what lets it go on, at 2: half of that. */
static bool has_enough(const struct conn *c, unsigned part)
{
    size_t plain = config_of(c)->out_limit / 2;

    if (!c->exempt)
        plain = MIN(plain, (size_t)USER_PLAIN);
    if (c->n_streams >= CONN_STREAMS_MAX / part || c->link.out_plain > plain / part)
        return true;
    return !c->exempt && (c->pending.n >= CONN_PENDING_MAX / part ||
                          c->pending.large_bytes > CONN_LARGE_BYTES / part);
}

/* Read on unless something waits that more requests would only add to. */
static void update_reading(struct conn *c)
{
    if (c->state == CONN_AUTH || has_enough(c, 1))
        link_pause(&c->link, true);
    else if (c->link.paused && !has_enough(c, 2))
        link_pause(&c->link, false);
}

/* A request is on its way to its handler. */
static void note_request(struct conn *c, const struct frame *f)
{
    c->active_mono_us = c->worker->ll.now_mono_us;
    if (!(f->flags & FRAME_ONEWAY))
        conn_pending_add(&c->pending, f->id, f->len);
}

/* A frame leaves; is it the last of an answer? */
static void note_answer(struct conn *c, uint32_t flags, uint32_t id)
{
    if (flags & FRAME_REPLY && !(flags & FRAME_MORE) && conn_pending_end(&c->pending, id))
        c->active_mono_us = now_mono_us();
}

static void conn_send_owned(struct conn *c, uint8_t *buf, size_t len)
{
    struct frame f;

    frame_peek_header(buf, &f);
    note_answer(c, f.flags, f.id);
    if (!c->in_stream && c->link.out_plain + len > config_of(c)->out_limit) {
        free(buf);
        link_close_slow(&c->link, "peer does not read its replies");
        return;
    }
    if (c->peer.version)
        frame_set_version(buf, c->peer.version);
    if (link_send_take(&c->link, buf, len, c->in_stream) == -ENOMEM)
        link_close(&c->link, ERR_NOMEM); /* a reply that never comes is worse than a lost peer */
}

void conn_send_shared(struct conn *c, unsigned op, uint32_t flags, uint32_t id,
                      struct shared_bytes *body)
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
    note_answer(c, f.flags, id);
    header = malloc(FRAME_HEADER_SIZE);
    r = header ? 0 : -ENOMEM;
    if (header) {
        frame_encode_header(&f, header);
        r = link_send_shared(&c->link, header, body);
    }
    if (r == -ENOMEM)
        link_close(&c->link, ERR_NOMEM); /* half a frame may be queued */
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

static void stream_free(struct stream *s)
{
    if (s->done)
        s->done(s->arg);
    free(s->buf);
    free(s);
}

void conn_mail_drop(struct mail *m)
{
    if (m->fd >= 0)
        (void)close(m->fd); /* no thread will serve the connection */
    free(m->buf);
    if (m->stream)
        stream_free(m->stream);
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

/* ---- frames of ours -------------------------------------------------------------------------- */

int conn_reply(struct conn *c, unsigned op, uint32_t id, uint32_t flags,
               const ProtobufCMessage *msg)
{
    uint8_t *buf;
    size_t len;
    int r = frame_pack(op, flags | FRAME_REPLY, id, 0, msg, &buf, &len);

    if (r == 0)
        connlog_frame(c, op, "out", FRAME_REPLY, len);
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
        connlog_frame(c, op, "out", FRAME_ERROR, len);
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
    if (c->link.tls && tls_has_input(c->link.tls))
        return -EBUSY;
    if (c->link.rest || c->link.in_len || c->link.out_n || c->streams)
        return -EBUSY;
    if (c->link.seal_out)
        return -EBUSY; /* the receiver of the descriptor could not go on */
    fd = fcntl(c->link.fd, F_DUPFD_CLOEXEC, 3);
    if (fd < 0)
        return -errno;
    link_close(&c->link, NULL);
    *ret_fd = fd;
    return 0;
}

/* ---- streams --------------------------------------------------------------------------------- */

static void add_stream(struct conn *c, struct stream *s)
{
    *c->streams_end = s;
    c->streams_end = &s->next_stream;
    c->n_streams++;
    c->stream_bytes += s->len;
    update_reading(c);
    link_kick(&c->link);
}

/* Takes s. */
static void post_stream(struct conn *c, struct stream *s)
{
    struct mail *m;

    if (is_mine(c) && !c->link.closing) {
        add_stream(c, s);
        return;
    }
    m = is_mine(c) ? NULL : mail_new(MAIL_STREAM, c);
    if (!m) {
        stream_free(s);
        return;
    }
    m->stream = s;
    post_or_drop(c, m);
}

void conn_stream(struct conn *c, bool (*next)(struct conn *c, void *arg), void (*done)(void *arg),
                 void *arg)
{
    struct stream *s = calloc(1, sizeof(*s));

    if (!s) {
        done(arg);
        return;
    }
    *s = (struct stream){ .next = next, .done = done, .arg = arg };
    post_stream(c, s);
}

void conn_stream_frame(struct conn *c, uint8_t *buf, size_t len)
{
    struct stream *s = calloc(1, sizeof(*s));

    if (!s) {
        free(buf);
        conn_close(c); /* an answer with a hole is worse */
        return;
    }
    *s = (struct stream){ .buf = buf, .len = len };
    post_stream(c, s);
}

bool conn_user_over(struct conn *c)
{
    return quota_over_now(quota_of(c), &c->seat);
}

static void end_stream(struct conn *c)
{
    struct stream *s = c->streams;

    c->streams = s->next_stream;
    if (!c->streams)
        c->streams_end = &c->streams;
    c->n_streams--;
    c->stream_bytes -= s->len;
    stream_free(s);
}

/* True while the first stream has more. */
static bool run_stream(struct conn *c)
{
    struct stream *s = c->streams;

    if (!s->buf)
        return s->next(c, s->arg);
    conn_send_owned(c, TAKE_PTR(s->buf), s->len);
    return false;
}

/* Let streams fill the queue up to their window. */
static void on_drain(struct link *l)
{
    struct conn *c = conn_of(l);
    size_t start = link_out_bytes(l), room = MIN(config_of(c)->out_limit / 2, STREAM_WINDOW);
    bool tight = c->streams && over_share(c); /* then conn_tick() asks again */

    while (c->streams && !tight && !l->closing && !l->finishing && link_out_bytes(l) < room &&
           link_out_bytes(l) < start + STREAM_ROUND) {
        size_t before = link_out_bytes(l);
        bool more;

        c->in_stream = true;
        more = run_stream(c);
        c->in_stream = false;
        if (!more || link_out_bytes(l) == before) /* a stream that says nothing is over */
            end_stream(c);
    }
    recount_bytes(c);
    if (l->out_plain > SMALL_BYTES && over_share(c))
        link_close_slow(l,
                        "peer does not read its replies, and its user's connections hold too much");
    update_reading(c);
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* 0, or the code that the request is refused with. */
static int judge_frame(const struct conn *c, const struct frame *f)
{
    const struct server_config *config = config_of(c);

    return conn_judge(&(struct conn_judge){ .serves = config->serves,
                                            .slurm_uid = config->slurm_uid,
                                            .slurmd_uid = config->slurmd_uid,
                                            .open = c->state == CONN_OPEN,
                                            .peer = &c->peer },
                      f->op);
}

static int on_header(struct link *l, const uint8_t *header, struct frame *ret_frame)
{
    struct conn *c = conn_of(l);
    struct frame f;
    int code, r = frame_read_header(header, &f);

    if (r == -EMSGSIZE) {
        frame_peek_header(header, &f);
        conn_refuse(c, &f, EPST_BAD_REQUEST, "Request is too large");
        return r;
    }
    if (r < 0) { /* whatever speaks there, it is not us */
        link_close(l, "peer does not speak the protocol");
        return r;
    }
    if ((f.flags & FRAME_REPLY) && (c->state != CONN_OPEN || !config_of(c)->hooks.on_reply)) {
        link_close(l, "peer answers what nobody asked");
        return -EPROTO;
    }
    code = f.flags & FRAME_REPLY ? 0 : judge_frame(c, &f);
    if (c->state == CONN_NEW && f.op == OP_HELLO && f.len > CONN_HELLO_BYTES)
        code = EPST_AUTH;
    /* Before login nothing else is heard; later a refusal keeps the connection, but not for a body
     * that would only be thrown away, or for one who waits for no answer. */
    if (code != 0 && (c->state == CONN_NEW || f.flags & FRAME_ONEWAY ||
                      (f.len > REFUSED_BYTES && access_row(f.op)))) {
        if (f.flags & FRAME_ONEWAY)
            link_close(l, slurm_err_text(code));
        else
            conn_refuse(c, &f, code, NULL);
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

    (void)snprintf(text, sizeof(text), "Operation %u is unknown to this release (%s)", f->op,
                   SLURM_RELEASE);
    (void)conn_error(c, f->op, f->id, EPST_BAD_REQUEST,
                     text); /* out of memory: the call times out */
}

/* A refusal that keeps the connection. */
static void answer_refused(struct conn *c, const struct frame *f, int code)
{
    if (!wire_op_info(f->op))
        answer_unknown(c, f);
    else
        (void)conn_error(c, f->op, f->id, code,
                         code == EPST_BAD_REQUEST ? "this daemon does not serve the operation"
                                                  : NULL); /* as above */
}

static void on_frame(struct link *l, const struct frame *f)
{
    struct conn *c = conn_of(l);
    const struct server_hooks *hooks = &config_of(c)->hooks;
    int code;

    if (c->state == CONN_NEW && f->op == OP_HELLO) {
        c->worker->server->on_hello(c, f);
        if (c->state == CONN_AUTH)
            /* it said what it had to: it need not give way */
            quota_steady(quota_of(c), &c->seat, true);
        update_reading(c);
        return;
    }
    if (c->one_too_many) {
        conn_refuse(c, f, EPST_BUSY, "You have too many connections to this daemon");
        return;
    }
    connlog_frame(c, f->op, "in", f->flags, f->len);
    connlog_data(c, f);
    if (!(f->flags & FRAME_REPLY))
        note_request(c, f);
    code = f->flags & FRAME_REPLY ? 0 : judge_frame(c, f);
    if (f->flags & FRAME_REPLY)
        hooks->on_reply(config_of(c)->ctx, c, f); /* there is one: on_header() */
    else if (f->op == OP_HELLO)
        conn_refuse(c, f, EPST_BAD_REQUEST, NULL);
    else if (code != 0)
        answer_refused(c, f, code);
    else
        hooks->on_request(config_of(c)->ctx, c, f);
    if (f->len >= PENDING_LARGE)
        recount_bytes(c);
    if (!l->closing)
        update_reading(c);
}

static struct conn *conn_of_seat(struct quota_seat *seat)
{
    return container_of(seat, struct conn, seat);
}

static void hold_seat(struct quota_seat *seat)
{
    (void)conn_ref(conn_of_seat(seat));
}

/* Another connection needs its place; held by hold_seat(). */
static void drop_waiting(struct quota_seat *seat, const char *why)
{
    struct conn *c = seat ? conn_of_seat(seat) : NULL;
    struct mail *m = c ? mail_new(MAIL_DROP, c) : NULL;

    if (c)
        log_limited(LOG_INFO, "connection dropped: %s addr=%s", why, c->peer.addr);
    if (m)
        post_or_drop(c, m);
    (void)conn_unref(c);
}

/* Half a frame takes more room than its peer has. */
static void on_grow(struct link *l)
{
    struct conn *c = conn_of(l);
    struct frame f;

    recount_bytes(c);
    if (l->in_cap <= SMALL_BYTES || !over_share(c))
        return;
    if (c->seat.waiting) {
        drop_waiting(quota_oldest_with_bytes(quota_of(c), &c->seat, hold_seat),
                     "too much was sent by peers there that have not said who they are");
        return;
    }
    frame_peek_header(l->in, &f);
    conn_refuse(c, &f, EPST_BUSY, "Requests of yours that are under way are too large together");
}

/* ---- birth and death ------------------------------------------------------------------------- */

static void on_closed(struct link *l)
{
    struct conn *c = conn_of(l);
    struct worker *w = c->worker;

    atomic_store(&c->gone, true);
    quota_leave(quota_of(c), &c->seat);
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
    if (c->state == CONN_OPEN)
        connlog_network(c, "closed");
    if (c->state == CONN_OPEN && config_of(c)->hooks.on_close)
        config_of(c)->hooks.on_close(config_of(c)->ctx, c);
    if (l->why[0] && !w->stopping)
        connlog_closed(c);
    (void)conn_unref(c); /* the socket's reference */
}

static const struct link_ops conn_link_ops = {
    .on_first = conn_hear_first,
    .on_header = on_header,
    .on_frame = on_frame,
    .on_drain = on_drain,
    .on_grow = on_grow,
    .on_closed = on_closed,
};

/* The account that the connection is counted for until its peer has greeted. */
static void find_address(struct conn *c, int fd, struct quota_key *key)
{
    struct sockaddr_storage ss;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&ss;
    socklen_t len = sizeof(ss);
    struct ucred cred;

    *key = (struct quota_key){ .is_uid = false };
    (void)snprintf(c->peer.addr, sizeof(c->peer.addr), "%s", c->local ? "local" : "unknown");
    if (c->local) {
        len = sizeof(cred);
        key->is_uid = true;
        key->uid = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 ? cred.uid : (uid_t)-1;
        return;
    }
    if (getpeername(fd, (struct sockaddr *)&ss, &len) < 0)
        return;
    if (ss.ss_family == AF_INET) {
        const struct in_addr *in = &((struct sockaddr_in *)&ss)->sin_addr;

        memcpy(&key->addr[12], in, sizeof(*in));
        (void)inet_ntop(AF_INET, in, c->peer.addr, sizeof(c->peer.addr)); /* always fits */
    } else if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
        memcpy(&key->addr[12], &in6->sin6_addr.s6_addr[12], 4);
        (void)inet_ntop(AF_INET, &in6->sin6_addr.s6_addr[12], c->peer.addr, sizeof(c->peer.addr));
    } else {
        memcpy(key->addr, &in6->sin6_addr, 8);
        (void)inet_ntop(AF_INET6, &in6->sin6_addr, c->peer.addr, sizeof(c->peer.addr));
    }
}

/* False: there is no place for it. */
static bool take_seat(struct conn *c, int fd)
{
    struct quota_seat *out = NULL;
    struct quota_key key;
    int r;

    find_address(c, fd, &key);
    r = quota_enter(quota_of(c), &c->seat, &key, now_mono_us(), hold_seat, &out);
    drop_waiting(out, "too many peers there have not said who they are");
    return r == 0;
}

void conn_new(struct worker *w, int fd, bool local)
{
    struct conn *c = calloc(1, sizeof(*c));
    bool seated = false;

    if (c) {
        c->worker = w;
        c->local = local;
        atomic_init(&c->refs, 1);
        c->id = atomic_fetch_add(&w->server->next_conn_id, 1) + 1;
        seated = take_seat(c, fd);
    }
    if (!seated || link_init(&c->link, &w->ll, fd, false, &conn_link_ops) < 0) {
        atomic_fetch_sub(&w->n_conns, 1);
        atomic_fetch_sub(&w->server->n_conns, 1);
        server_turn_away(fd);
        if (seated)
            quota_leave(quota_of(c), &c->seat);
        (void)conn_unref(c); /* always NULL */
        return;
    }
    connlog_worker(c, w->index, atomic_load(&w->server->n_conns));
    c->born_mono_us = c->active_mono_us = now_mono_us();
    c->peer.uid = (uid_t)-1;
    c->peer.gid = (gid_t)-1;
    c->streams_end = &c->streams;
    c->next = w->conns;
    if (c->next)
        c->next->prev = c;
    w->conns = c;
    conn_await_first(c);
}

void conn_open(struct conn *c)
{
    uid_t uid = c->peer.method == PST__AUTH_METHOD__AUTH_NODE ? 0 : c->peer.uid; /* a daemon */

    c->state = CONN_OPEN;
    connlog_network(c, "opened");
    if (uid == (uid_t)-1)
        return; /* whoever it is: it keeps the place of those that wait */
    c->one_too_many = !quota_login(quota_of(c), &c->seat, uid);
    c->exempt = !c->one_too_many && quota_exempt(quota_of(c), &c->seat);
}

/* Nothing is under way on it, and nothing depends on it. */
static bool is_idle(const struct conn *c)
{
    return c->state == CONN_OPEN && !c->pending.n && !c->streams && !c->link.out_n && !c->data &&
           !c->link.finishing;
}

static void drop_idle(struct conn *c, int64_t now_us)
{
    const struct server_config *config = config_of(c);
    int64_t idle_us = now_us - c->active_mono_us;

    if (c->exempt || !is_idle(c))
        return;
    if (c->seat.waiting ? now_us - c->born_mono_us > (int64_t)config->hello_timeout_ms * 1000
                        : idle_us > (int64_t)config->idle_timeout_ms * 1000 ||
                              (idle_us > TIGHT_IDLE_US && quota_crowded(quota_of(c), &c->seat)))
        link_close(&c->link, NULL);
}

void conn_tick(struct conn *c, int64_t now_us)
{
    const struct server_config *config = config_of(c);
    unsigned stall_ms = c->link.out_n && config->write_timeout_ms ? config->write_timeout_ms
                                                                  : config->stall_timeout_ms;
    int64_t stall_us = (int64_t)stall_ms * 1000;

    if (c->state == CONN_NEW && !c->link.finishing &&
        now_us - c->born_mono_us > (int64_t)config->hello_timeout_ms * 1000)
        link_close_slow(&c->link, "peer did not say Hello in time");
    drop_idle(c, now_us);
    if (c->link.out_n && over_share(c))
        stall_us = MIN(stall_us, TIGHT_STALL_US);
    link_tick(&c->link, now_us, stall_us);
    if (c->streams && !c->link.out_n)
        link_kick(&c->link); /* it may have waited for others of its user */
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
    } else if (m->kind == MAIL_DROP) {
        link_close(&c->link, NULL);
    } else if (m->kind == MAIL_STREAM) {
        add_stream(c, TAKE_PTR(m->stream));
    }
    conn_mail_drop(m);
}
