/* fakeconn.h - wire/server/server.h without sockets: connections that a script opens, feeds and
 * closes
 *
 * Defines every function of server.h, so that the linker takes none of wire/server/server.c and
 * conn.c. What other threads than the connection's would do comes later, as mail, which
 * fake_turn() works off.  Every frame sent is looked at: it must be one that its receiver can
 * read. */
#pragma once

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "wire/access.h"
#include "wire/auth/auth.h"
#include "wire/server/server.h"

#include "api.pb-c.h"

#define FAKE_FRAMES_TURN 3u  /* of a stream, before others come */
#define FAKE_LOOK_MAX 65536u /* larger ones are believed */

struct fake_mail {
    struct fake_mail *next;
    struct conn *conn;
    void (*fn)(struct conn *c, void *arg);
    bool (*stream)(struct conn *c, void *arg);
    void (*done)(void *arg);
    void *arg;
};

struct conn {
    struct peer peer;
    uint64_t id;
    unsigned refs;
    bool gone;
    void *data;
    uint32_t last_id;
};

struct server {
    struct server_config config;
};

static struct server fake_server;
static struct fake_mail *fake_mails, **fake_mails_end = &fake_mails;
static uint64_t fake_last_conn;
static unsigned fake_conns;
static bool fake_on_io; /* the thread of the connections is at work */
static void (*fake_on_sent)(struct conn *c, const struct frame *f); /* may be NULL */
static int (*fake_detach)(
    struct conn *c); /* gives a socket in place of the connection; may be NULL */

/* ---- life ------------------------------------------------------------------------------------ */

static struct conn *fake_conn_new(uid_t uid, gid_t gid, const char *host, const char *program)
{
    struct conn *c = calloc(1, sizeof(*c));

    assert(c);
    c->peer = (struct peer){ .uid = uid, .gid = gid, .version = WIRE_VERSION, .pid = 4711 };
    (void)snprintf(c->peer.host, sizeof(c->peer.host), "%s", host);
    (void)snprintf(c->peer.program, sizeof(c->peer.program), "%s", program);
    (void)snprintf(c->peer.addr, sizeof(c->peer.addr), "127.0.0.1");
    c->id = ++fake_last_conn;
    c->refs = 1;
    fake_conns++;
    return c;
}

struct conn *conn_ref(struct conn *c)
{
    c->refs++;
    return c;
}

struct conn *conn_unref(struct conn *c)
{
    if (c && --c->refs == 0) {
        free(c);
        fake_conns--;
    }
    return NULL;
}

/* ---- mail ------------------------------------------------------------------------------------ */

static void fake_post(struct fake_mail m)
{
    struct fake_mail *copy = malloc(sizeof(*copy));

    assert(copy);
    m.next = NULL;
    *copy = m;
    (void)conn_ref(m.conn);
    *fake_mails_end = copy;
    fake_mails_end = &copy->next;
}

static void fake_stream(struct fake_mail *m)
{
    bool more = !m->conn->gone;

    for (unsigned i = 0; more && i < FAKE_FRAMES_TURN; i++)
        more = m->stream(m->conn, m->arg) && !m->conn->gone;
    if (more)
        fake_post(*m);
    else
        m->done(m->arg);
}

/* Work off what has come so far; false: nothing had. */
static bool fake_turn(void)
{
    struct fake_mail *m = fake_mails;
    bool any = m;

    fake_mails = NULL;
    fake_mails_end = &fake_mails;
    fake_on_io = true;
    while (m) {
        struct fake_mail *next = m->next;

        if (m->stream)
            fake_stream(m);
        else
            m->fn(m->conn, m->arg);
        (void)conn_unref(m->conn);
        free(m);
        m = next;
    }
    fake_on_io = false;
    return any;
}

static void fake_close(struct conn *c)
{
    if (c->gone)
        return;
    c->gone = true;
    fake_on_io = true;
    if (fake_server.config.hooks.on_close)
        fake_server.config.hooks.on_close(fake_server.config.ctx, c);
    fake_on_io = false;
}

static bool fake_has_role(const struct conn *c, enum access_role role)
{
    const struct server_config *config = &fake_server.config;
    uid_t uid = c->peer.uid;

    switch (role) {
    case ACCESS_ANYBODY:
        return true;
    case ACCESS_CREDENTIAL:
        return c->peer.method == PST__AUTH_METHOD__AUTH_STEP;
    case ACCESS_USER:
    case ACCESS_ADMIN:
        return uid != (uid_t)-1;
    case ACCESS_ROOT:
        return uid == 0 || uid == config->slurm_uid;
    case ACCESS_NODE:
        return uid == 0 || uid == config->slurmd_uid;
    default:
        return false;
    }
}

/* As access.def has it for the daemon that listens; identities were proved with a key. */
static bool fake_may(const struct conn *c, unsigned op)
{
    const struct access_row *row = access_row(op);
    bool may = false;

    for (unsigned at = 0; row && at < ACCESS_AT_MAX_; at++)
        if (fake_server.config.serves & ACCESS_AT(at))
            may = may || fake_has_role(c, row->at[at]);
    return may && row->ways & ACCESS_KEY;
}

/* A frame as conn.c's on_frame() would hand it over; nothing is unpacked yet. */
static void fake_arrives(struct conn *c, struct frame *f)
{
    const struct server_hooks *hooks = &fake_server.config.hooks;
    const struct wire_op_info *info = wire_op_info(f->op);

    if (c->gone ||
        f->len > (info && !(f->flags & FRAME_REPLY) ? info->max_request : FRAME_MAX_BODY))
        return;
    fake_on_io = true;
    if (f->flags & FRAME_REPLY) {
        if (hooks->on_reply)
            hooks->on_reply(fake_server.config.ctx, c, f);
    } else if (info && f->op != OP_HELLO && fake_may(c, f->op)) {
        hooks->on_request(fake_server.config.ctx, c, f);
    }
    fake_on_io = false;
}

/* ---- server.h -------------------------------------------------------------------------------- */

const struct peer *conn_peer(const struct conn *c)
{
    return &c->peer;
}

void server_log_request(const struct peer *peer, unsigned op)
{
    (void)peer;
    (void)op;
}

/* Every second user's host has told of him. */
const Pst__ClientIdent *conn_ident(const struct conn *c)
{
    static Pst__ClientIdent id = PST__CLIENT_IDENT__INIT;
    static uint32_t gids[] = { 100, 20 };

    id.name = (char *)"told";
    id.gecos = id.shell = (char *)"";
    id.home = (char *)"/";
    id.gids = gids;
    id.n_gids = 2;
    return c->peer.uid % 2 ? &id : NULL;
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

int64_t now_mono_us(void);
int64_t conn_arrival_mono_us(const struct conn *c)
{
    (void)c;
    return now_mono_us();
}

static void fake_sent(struct conn *c, const uint8_t *buf, size_t len)
{
    const ProtobufCMessageDescriptor *desc = &pst__error__descriptor;
    const struct wire_op_info *info;
    ProtobufCMessage *msg;
    struct frame f;
    int r;

    assert(len >= FRAME_HEADER_SIZE);
    r = frame_read_header(buf, &f);
    assert(r == 0 && f.len == len - FRAME_HEADER_SIZE);
    f.body = buf + FRAME_HEADER_SIZE;
    info = wire_op_info(f.op);
    if (!(f.flags & FRAME_ERROR)) {
        assert(info);
        desc = f.flags & FRAME_REPLY ? info->reply : info->request;
    }
    if (f.len <= FAKE_LOOK_MAX) {
        msg = protobuf_c_message_unpack(desc, NULL, f.len, f.body);
        if (!msg) /* who waits gets JobStatus frames under his own op */
            msg = protobuf_c_message_unpack(&pst__job_status__descriptor, NULL, f.len, f.body);
        assert(msg);
        protobuf_c_message_free_unpacked(msg, NULL);
    }
    if (fake_on_sent && !c->gone)
        fake_on_sent(c, &f);
}

void conn_send_take(struct conn *c, uint8_t *buf, size_t len)
{
    fake_sent(c, buf, len);
    free(buf);
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

void conn_send_shared(struct conn *c, unsigned op, uint32_t flags, uint32_t id,
                      struct shared_bytes *body)
{
    (void)c;
    (void)op;
    (void)flags;
    (void)id;
    assert(body->len <= FRAME_MAX_BODY);
}

size_t conn_out_bytes(const struct conn *c)
{
    (void)c;
    return 0;
}

int conn_request(struct conn *c, unsigned op, uint32_t flags, const ProtobufCMessage *msg,
                 uint32_t *ret_id)
{
    uint8_t *buf;
    size_t len;
    int r;

    if (c->gone)
        return -EPIPE;
    r = frame_pack(op, flags & ~(uint32_t)FRAME_REPLY, ++c->last_id, 0, msg, &buf, &len);
    if (r < 0)
        return r;
    if (ret_id)
        *ret_id = c->last_id;
    conn_send_take(c, buf, len);
    return 0;
}

void conn_stream(struct conn *c, bool (*next)(struct conn *c, void *arg), void (*done)(void *arg),
                 void *arg)
{
    fake_post((struct fake_mail){ .conn = c, .stream = next, .done = done, .arg = arg });
}

static bool fake_send_frame(struct conn *c, void *arg)
{
    struct strbuf *frame = arg;

    fake_sent(c, (const uint8_t *)frame->buf, frame->len);
    return false;
}

static void fake_frame_done(void *arg)
{
    struct strbuf *frame = arg;

    strbuf_done(frame);
    free(frame);
}

void conn_stream_frame(struct conn *c, uint8_t *buf, size_t len)
{
    struct strbuf *frame = calloc(1, sizeof(*frame));

    assert(frame);
    strbuf_addn(frame, buf, len);
    free(buf);
    conn_stream(c, fake_send_frame, fake_frame_done, frame);
}

bool conn_user_over(struct conn *c)
{
    (void)c;
    return false;
}

int conn_run(struct conn *c, void (*fn)(struct conn *c, void *arg), void *arg)
{
    if (fake_on_io)
        fn(c, arg);
    else
        fake_post((struct fake_mail){ .conn = c, .fn = fn, .arg = arg });
    return 0;
}

static void fake_closes(struct conn *c, void *arg)
{
    (void)arg;
    if (!c->gone) {
        c->gone = true;
        if (fake_server.config.hooks.on_close)
            fake_server.config.hooks.on_close(fake_server.config.ctx, c);
    }
}

void conn_close(struct conn *c)
{
    fake_post((struct fake_mail){ .conn = c, .fn = fake_closes });
}

int conn_detach_fd(struct conn *c, int *ret_fd)
{
    if (c->gone || !fake_detach)
        return -EPIPE;
    *ret_fd = fake_detach(c);
    c->gone = true;
    return 0;
}

int server_new(const struct server_config *config, struct server **ret_server, struct err *err)
{
    (void)err;
    fake_server.config = *config;
    *ret_server = &fake_server;
    return 0;
}

int server_start(struct server *s)
{
    (void)s;
    return 0;
}

uint16_t server_port(const struct server *s)
{
    return s->config.port;
}

void server_set_farewell(struct server *s, int code)
{
    (void)s, (void)code;
}

void server_stop(struct server *s)
{
    (void)s;
}

struct server *server_free(struct server *s)
{
    (void)s;
    return NULL;
}

void server_set_auth(struct server *s, struct auth_keys *keys, struct auth_tokens *tokens)
{
    (void)s;
    (void)keys;
    (void)tokens;
}

void server_set_tls(struct server *s, struct tls_ctx *tls)
{
    (void)s;
    (void)tls;
}

void conn_unseal(struct conn *c)
{
    (void)c;
}

unsigned server_connections(const struct server *s)
{
    (void)s;
    return fake_conns;
}
