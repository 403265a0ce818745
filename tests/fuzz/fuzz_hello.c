/* fuzz_hello.c - bytes that reach a server before anybody has proved who he is
 *
 * A real server (wire/server/server.c, conn.c, server_hello.c, link.c), whose loop this thread
 * turns itself. The script opens connections, local ones and others, from several addresses and
 * users, and feeds each with frames, or bytes, in pieces; a Hello may be a good one.  It answers
 * what comes, lets time pass and may set narrow limits.  What the hooks get must come from a
 * connection that was let in, and be what access.def gives its peer; on_close comes once for
 * each that was opened. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/timefmt.h"
#include "wire/access.h"
#include "wire/auth/auth.h"
#include "wire/hello.h"
#include "wire/auth/seal.h"
#include "wire/knock.h"
#include "wire/server/server_impl.h"

#include "api.pb-c.h"
#include "script.h"

#include <assert.h>
#include <errno.h>

#define STEPS_MAX 64u
#define INPUT_MAX 8192u
#define PEERS 4u
#define STREAM_FRAMES 20u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);
int __wrap_pthread_join(pthread_t t, void **ret);
int __real_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);
int __real_pthread_join(pthread_t t, void **ret);

int64_t __wrap_now_mono_us(void);
uid_t __wrap_geteuid(void);
int __wrap_getpeername(int fd, struct sockaddr *sa, socklen_t *len);
uid_t __real_geteuid(void);
int __real_getpeername(int fd, struct sockaddr *sa, socklen_t *len);

static struct script *script;
static int64_t clock_us;
static uid_t says_uid;        /* in a Hello; -1: the truth */
static unsigned address;      /* of the next connection */
static struct worker *worker; /* of the server that is being made: its thread is this one */
static bool ours;

int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
    if (!ours)
        return __real_pthread_create(t, attr, fn, arg);
    worker = arg;
    *t = pthread_self();
    return 0;
}

int __wrap_pthread_join(pthread_t t, void **ret)
{
    if (!ours)
        return __real_pthread_join(t, ret);
    while (uv_run(&worker->loop, UV_RUN_ONCE) != 0)
        clock_us += USEC_PER_SEC / 10; /* a stop's end comes */
    return 0;
}

int64_t __wrap_now_mono_us(void)
{
    return 1000 * USEC_PER_SEC + clock_us;
}

uid_t __wrap_geteuid(void)
{
    return says_uid == (uid_t)-1 ? __real_geteuid() : says_uid;
}

int __wrap_getpeername(int fd, struct sockaddr *sa, socklen_t *len)
{
    struct sockaddr_in in = { .sin_family = AF_INET };

    if (!ours)
        return __real_getpeername(fd, sa, len);
    in.sin_addr.s_addr = htonl(0x0a000001u + address);
    memcpy(sa, &in, sizeof(in));
    *len = sizeof(in);
    return 0;
}

/* ---- the server ------------------------------------------------------------------------------ */

static struct auth_keys *keys;
static struct auth_tokens *tokens; /* they are those of keys */
static unsigned opened;            /* connections whose requests came, not closed yet */

struct answer {
    unsigned op, left;
    uint32_t id;
};

static bool answer_more(struct conn *c, void *arg)
{
    struct answer *a = arg;

    (void)conn_reply(c, a->op, a->id, --a->left ? FRAME_MORE : 0, NULL);
    return a->left;
}

static void run_later(struct conn *c, void *arg)
{
    (void)arg;
    (void)conn_user_over(c);
    (void)conn_out_bytes(c);
}

static void answer_frames(struct conn *c, const struct frame *frame)
{
    struct answer *a = malloc(sizeof(*a));

    assert(a);
    *a = (struct answer){ .op = frame->op, .id = frame->id, .left = STREAM_FRAMES };
    conn_stream(c, answer_more, free, a);
}

static void answer_large(struct conn *c, const struct frame *frame)
{
    static char text[60000];
    uint8_t *buf;
    size_t len;

    memset(text, 'x', sizeof(text) - 1);
    if (frame_pack_error(frame->op, frame->id, 1, text, &buf, &len) == 0)
        conn_stream_frame(c, buf, len);
}

static void answer(struct conn *c, const struct frame *frame)
{
    int fd;

    switch (script_u8(script) & 7) {
    case 0:
        break; /* it waits */
    case 1:
        answer_frames(c, frame);
        break;
    case 2:
        answer_large(c, frame);
        break;
    case 3:
        conn_close(c);
        break;
    case 4:
        conn_unseal(c);
        if (conn_detach_fd(c, &fd) == 0)
            (void)close(fd);
        break;
    case 5:
        (void)conn_run(c, run_later, NULL);
        /* fall through */
    default:
        (void)conn_error(c, frame->op, frame->id, 1, "no");
        break;
    }
}

static void on_request(void *ctx, struct conn *c, const struct frame *frame)
{
    const struct server_config *config = ctx;
    enum access_role role = access_role(ACCESS_SLURMD, frame->op);
    ProtobufCMessage *msg = NULL;

    assert(!(frame->flags & FRAME_REPLY) && wire_op_info(frame->op));
    assert(frame->len <= wire_op_info(frame->op)->max_request);
    assert(config->step_keys || conn_peer(c)->uid != (uid_t)-1);
    assert(role != ACCESS_NONE && role != ACCESS_CONTROLLER && role != ACCESS_ANYBODY);
    assert(conn_peer(c)->uid != (uid_t)-1 || role == ACCESS_CREDENTIAL);
    assert(conn_peer(c)->uid == 0 || (role != ACCESS_ROOT && role != ACCESS_NODE));
    if (!conn_data(c))
        opened++;
    conn_set_data(c, c);
    if (frame_unpack_request(frame, &msg, NULL) == 0)
        protobuf_c_message_free_unpacked(msg, NULL);
    answer(c, frame);
}

static void on_reply(void *ctx, struct conn *c, const struct frame *frame)
{
    (void)ctx;
    (void)c;
    assert(frame->flags & FRAME_REPLY);
}

static void on_close(void *ctx, struct conn *c)
{
    (void)ctx;
    if (conn_data(c))
        opened--;
}

static void set_up(void)
{
    char path[] = "/tmp/penstock-fuzz-XXXXXX";
    struct err err;
    int fd, r;

    if (keys)
        return;
    log_set_level(LOG_QUIET);
    fd = mkstemp(path);
    assert(fd >= 0);
    (void)close(fd);
    (void)unlink(path);
    r = auth_keys_create(path, &err);
    if (r == 0)
        r = auth_keys_load(path, &keys, &err);
    if (r == 0)
        r = auth_tokens_new(&(struct token_rules){ 0 }, keys, &tokens, &err);
    (void)unlink(path);
    assert(r == 0);
}

/* ---- the other ends -------------------------------------------------------------------------- */

struct peer_end {
    int fd; /* -1: closed */
    uint8_t nonce[AUTH_NONCE_SIZE];
    uint32_t last_id;
    struct seal *out; /* of what we say, once both have proved themselves */
};

static void hang_up(struct peer_end *p)
{
    p->out = seal_free(p->out);
    if (p->fd >= 0)
        (void)close(p->fd);
    p->fd = -1;
}

static void turn(void)
{
    for (unsigned i = 0; i < 3; i++)
        (void)uv_run(&worker->loop, UV_RUN_NOWAIT);
}

/* Libuv's own threads check tokens: they answer in a moment. */
static void settle(void)
{
    for (struct conn *c = worker->conns; c; c = c->next)
        while (c->state == CONN_AUTH)
            (void)uv_run(&worker->loop, UV_RUN_ONCE);
}

static void read_challenge(struct peer_end *p)
{
    uint8_t buf[4096];
    ssize_t n = recv(p->fd, buf, sizeof(buf), MSG_DONTWAIT);
    Pst__Challenge *c;
    struct frame f;

    if (n < (ssize_t)FRAME_HEADER_SIZE || frame_read_header(buf, &f) < 0)
        return;
    if (f.op != OP_CHALLENGE) { /* turned away */
        assert(f.flags & FRAME_ERROR);
        return;
    }
    c = pst__challenge__unpack(NULL, (size_t)n - FRAME_HEADER_SIZE, buf + FRAME_HEADER_SIZE);
    assert(c && c->nonce.len == AUTH_NONCE_SIZE);
    memcpy(p->nonce, c->nonce.data, AUTH_NONCE_SIZE);
    pst__challenge__free_unpacked(c, NULL);
}

static void dial(struct peer_end *p, bool local)
{
    int sv[2], r = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sv);

    assert(r == 0);
    p->fd = sv[0];
    atomic_fetch_add(&worker->server->n_conns, 1);
    atomic_fetch_add(&worker->n_conns, 1);
    link_batch_begin(&worker->ll);
    conn_new(worker, sv[1], local);
    link_batch_end(&worker->ll);
    if (!local) {
        ssize_t n = send(p->fd, KNOCK, KNOCK_SIZE, MSG_NOSIGNAL | MSG_DONTWAIT);

        assert(n == KNOCK_SIZE);
    }
    turn();
    read_challenge(p);
}

/* In pieces as the script says; the loop turns between them. */
static void feed(struct script *s, struct peer_end *p, const void *data, size_t len,
                 bool dump_answers)
{
    const uint8_t *at = data;
    unsigned piece = script_u8(s);

    for (unsigned i = 0; len && p->fd >= 0; i++) {
        size_t n = piece && i < 8 ? MIN(len, (size_t)piece) : len;
        ssize_t sent = send(p->fd, at, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        uint8_t dump[4096];

        if (sent <= 0)
            break;
        at += sent;
        len -= (size_t)sent;
        turn();
        while (dump_answers && recv(p->fd, dump, sizeof(dump), MSG_DONTWAIT) > 0)
            ;
    }
}

static void send_frame(struct script *s, struct peer_end *p, unsigned op, uint32_t flags,
                       struct strbuf *body)
{
    struct frame f = {
        .version = WIRE_VERSION, .op = (uint16_t)op, .flags = flags, .id = ++p->last_id
    };
    _cleanup_val_(strbuf_done) struct strbuf all = STRBUF_INIT;
    uint8_t header[FRAME_HEADER_SIZE], tag[SEAL_TAG_SIZE];
    unsigned odd = script_u8(s);

    f.len = (uint32_t)body->len;
    if (odd > 250)
        f.len = (uint32_t)script_number(s);
    if (odd == 250)
        f.version = (uint16_t)script_u16(s);
    if (odd == 249)
        f.deadline_ms = script_u16(s);
    frame_encode_header(&f, header);
    if (odd == 248)
        header[script_u8(s) % FRAME_HEADER_SIZE] ^= (uint8_t)script_u8(s);
    strbuf_addn(&all, header, sizeof(header));
    strbuf_addn(&all, strbuf_str(body), body->len);
    if (p->out && odd != 247) {
        seal_tag(p->out, header, strbuf_str(body), body->len, tag);
        tag[0] ^= odd == 246;
        strbuf_addn(&all, tag, sizeof(tag));
    }
    feed(s, p, strbuf_str(&all), all.len, true);
}

static void any_frame(struct script *s, struct peer_end *p)
{
    _cleanup_val_(strbuf_done) struct strbuf body = STRBUF_INIT;
    unsigned op = script_op(s);
    uint32_t flags = script_flags(s);
    const struct wire_op_info *info = wire_op_info(op);

    script_message(s,
                   !info                 ? NULL
                   : flags & FRAME_REPLY ? info->reply
                                         : info->request,
                   NULL, &body);
    send_frame(s, p, op, flags, &body);
}

/* The server's answer, and its proof: from now on frames are sealed. */
static void read_answer(struct peer_end *p, const struct client_target *target,
                        struct hello_sent *sent)
{
    uint8_t buf[8192];
    ssize_t n = recv(p->fd, buf, sizeof(buf), MSG_DONTWAIT);
    struct seal *in = NULL, *out = NULL;
    Pst__HelloReply *reply = NULL;
    struct frame f;
    struct err err;

    if (n < (ssize_t)FRAME_HEADER_SIZE || frame_read_header(buf, &f) < 0 ||
        f.len > (size_t)n - FRAME_HEADER_SIZE)
        return;
    f.body = buf + FRAME_HEADER_SIZE;
    if (f.op != OP_HELLO || (f.flags & FRAME_ERROR) ||
        FRAME_UNPACK(hello_reply, &f, &reply, NULL) < 0)
        return;
    if (hello_check(target, sent, reply, 0, &in, &out, &err) == 0) {
        (void)seal_free(p->out);
        p->out = out;
        (void)seal_free(in); /* answers are not looked at */
    }
    pst__hello_reply__free_unpacked(reply, NULL);
}

/* Nearly always a Hello that would do. */
static void hello(struct script *s, struct peer_end *p)
{
    static const unsigned methods[] = {
        PST__AUTH_METHOD__AUTH_KEY,
        PST__AUTH_METHOD__AUTH_PEERCRED,
        PST__AUTH_METHOD__AUTH_JWT,
        PST__AUTH_METHOD__AUTH_STEP,
    };
    uint8_t mac[AUTH_MAC_SIZE] = { 1 }, secret[AUTH_MAC_SIZE];
    Pst__SignedCredential cred = PST__SIGNED_CREDENTIAL__INIT;
    struct client_target target = {
        .host = "localhost", .cluster = "test", .program = "srun", .service = "slurmd", .name = "n1"
    };
    _cleanup_val_(strbuf_done) struct strbuf all = STRBUF_INIT;
    unsigned how = script_u8(s), method = methods[how & 3];
    struct hello_sent sent = { 0 };
    const char *kid = NULL;
    char *token = NULL;
    uint8_t *buf = NULL;
    struct err err;
    size_t len;

    if (method == PST__AUTH_METHOD__AUTH_JWT &&
        auth_tokens_make(tokens, "bin", (int64_t)how * 1000000000000000, UINT64_MAX, &token) == 0)
        target.jwt = token;
    if (method == PST__AUTH_METHOD__AUTH_STEP &&
        auth_derive(keys, NULL, AUTH_FOR_LAUNCH, mac, sizeof(mac), secret, &kid) == 0) {
        cred.key_id = (char *)(uintptr_t)kid; /* only packed */
        cred.has_mac = true;
        cred.mac = (ProtobufCBinaryData){ sizeof(mac), mac };
        target.credential = &cred;
        target.launch_key = (ProtobufCBinaryData){ sizeof(secret), secret };
    }
    says_uid = how & 32 ? how >> 6 : (uid_t)-1;
    if (hello_pack(&(struct hello_way){ &target, method, keys, p->nonce, WIRE_VERSION }, &buf, &len,
                   &sent, &err) == 0) {
        struct frame f;

        strbuf_addn(&all, buf, len);
        if (how & 8)
            script_fields(s, &pst__hello__descriptor, 0, &all);
        frame_peek_header(buf, &f);
        f.len = (uint32_t)(all.len - FRAME_HEADER_SIZE);
        if (how & 16)
            f.flags = script_flags(s);
        frame_encode_header(&f, (uint8_t *)all.buf);
        feed(s, p, strbuf_str(&all), all.len, false);
        settle();
        turn();
        read_answer(p, &target, &sent);
    }
    says_uid = (uid_t)-1;
    hello_sent_done(&sent);
    free(buf);
    free(token);
}

static void time_passes(struct script *s)
{
    static const int64_t spans_ms[] = { 100, 1500, 6000, 11000, 31000, 61000, 3700000, 1 };

    clock_us += spans_ms[script_u8(s) & 7] * 1000;
    link_batch_begin(&worker->ll);
    for (struct conn *c = worker->conns; c; c = c->next)
        conn_tick(c, now_mono_us());
    link_batch_end(&worker->ll);
    turn();
}

static void take_step(struct script *s, struct peer_end *peers)
{
    unsigned k = script_u8(s);
    struct peer_end *p = &peers[k >> 4 & (PEERS - 1)];
    const uint8_t *bytes;
    size_t len;

    address = script_u8(s) & 1;
    if (p->fd < 0)
        dial(p, k >> 6 & 1);
    switch (k & 7) {
    case 0:
    case 1:
    case 2:
        hello(s, p);
        break;
    case 3:
        bytes = script_bytes(s, script_u8(s), &len);
        feed(s, p, bytes, len, true);
        break;
    case 4:
        (void)shutdown(p->fd, SHUT_WR);
        turn();
        break;
    case 5:
        if (k & 8)
            time_passes(s);
        else
            hang_up(p);
        turn();
        break;
    default:
        any_frame(s, p);
        break;
    }
    settle();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct script s = { .at = data, .left = size };
    struct server_config config = {
        .threads = 1,
        .cluster = "test",
        .service = "slurmd",
        .name = "n1",
        .tokens = tokens,
        .hooks = { .on_request = on_request, .on_reply = on_reply, .on_close = on_close },
        .out_limit = 1u << 20,
        .serves = ACCESS_AT(ACCESS_SLURMD),
        .ctx = &config,
    };
    struct peer_end peers[PEERS];
    struct server *server = NULL;
    unsigned how = script_u8(&s);
    struct err err;
    int r;

    if (size > INPUT_MAX)
        return 0;
    set_up();
    config.step_keys = how & 1;
    config.keys = how & 2 ? NULL : keys;
    if (how & 4) { /* narrow: each of them is met */
        config.max_connections = 6;
        config.max_waiting = 3;
        config.max_waiting_each = config.max_user = 2;
        config.user_bytes = 1u << 14;
        config.all_bytes = 1u << 15;
    }
    script = &s;
    clock_us = 0;
    says_uid = (uid_t)-1;
    for (size_t i = 0; i < PEERS; i++)
        peers[i] = (struct peer_end){ .fd = -1 };
    ours = true;
    r = server_new(&config, &server, &err);
    if (r == 0)
        r = server_start(server);
    assert(r == 0);
    worker_own(worker, true);
    for (unsigned i = 0; i < STEPS_MAX && s.left; i++)
        take_step(&s, peers);
    for (size_t i = 0; i < PEERS; i++)
        hang_up(&peers[i]);
    turn();
    (void)server_free(server);
    assert(opened == 0);
    ours = false;
    return 0;
}
