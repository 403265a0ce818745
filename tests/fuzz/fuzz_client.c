/* fuzz_client.c - commands and daemons against a server that wishes them ill
 *
 * Every socket that the calling side opens is an end of a pair whose other end holds what the
 * script made: challenges, replies, frames of any operation and bytes.  Then connecting, calls,
 * streams of records, watching and the dialer of daemons are tried.  Nothing may be read or written
 * out of bounds, and each call must end. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/query/out_query.h"
#include "wire/auth/auth.h"
#include "wire/client.h"
#include "wire/server/dialer.h"
#include "wire/fanout.h"

#include "api.pb-c.h"
#include "script.h"

#include <assert.h>

#define INPUT_MAX 8192u
#define FRAMES_MAX 24u
#define SOCKETS_MAX 8u
#define TURNS_MAX 12u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __wrap_socket(int domain, int type, int protocol);
int __wrap_connect(int fd, const struct sockaddr *sa, socklen_t len);
void __wrap_exit(int status) __attribute__((noreturn));
int __real_socket(int domain, int type, int protocol);
int __real_connect(int fd, const struct sockaddr *sa, socklen_t len);
void __real_exit(int status) __attribute__((noreturn));

static struct script script;
static bool ours;
static int others[SOCKETS_MAX]; /* the server's ends, kept so that nobody sees a reset */
static size_t n_others;
static jmp_buf before_exit;

/* ---- the server ------------------------------------------------------------------------------ */

static void put(int fd, const void *data, size_t len)
{
    (void)!send(fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT); /* what has no room is not said */
}

static void put_frame(int fd, unsigned op, uint32_t flags, uint32_t id, const struct strbuf *body)
{
    struct frame f = { .version = WIRE_VERSION, .op = (uint16_t)op, .flags = flags, .id = id };
    uint8_t header[FRAME_HEADER_SIZE];
    unsigned odd = script_u8(&script);

    f.len = odd > 250 ? (uint32_t)script_number(&script) : (uint32_t)body->len;
    if (odd == 250)
        f.version = (uint16_t)script_u16(&script);
    frame_encode_header(&f, header);
    put(fd, header, sizeof(header));
    put(fd, strbuf_str(body), body->len);
}

static void put_challenge(int fd)
{
    _cleanup_val_(strbuf_done) struct strbuf body = STRBUF_INIT;
    static const uint8_t plain[] = { 1 << 3, 1, 2 << 3, WIRE_VERSION, 3 << 3 | 2, AUTH_NONCE_SIZE };
    static const uint8_t nonce[AUTH_NONCE_SIZE] = { 1 };

    strbuf_addn(&body, plain, sizeof(plain));
    strbuf_addn(&body, nonce, sizeof(nonce));
    if (script_u8(&script) & 1)
        script_fields(&script, &pst__challenge__descriptor, 0, &body);
    put_frame(fd, OP_CHALLENGE, FRAME_ONEWAY, 0, &body);
}

/* A batch of records, each by the descriptor that the script chose. */
static void put_batch(int fd, unsigned op, uint32_t id)
{
    static const ProtobufCMessageDescriptor *const kinds[] = {
        &pst__job_record__descriptor,
        &pst__node_record__descriptor,
        &pst__step_record__descriptor,
        &pst__partition_record__descriptor,
    };
    _cleanup_val_(strbuf_done) struct strbuf body = STRBUF_INIT;
    unsigned how = script_u8(&script);

    for (unsigned i = 0; i < (how & 7); i++) {
        _cleanup_val_(strbuf_done) struct strbuf rec = STRBUF_INIT;

        script_fields(&script, kinds[how >> 3 & 3], 0, &rec);
        script_delimited(&body, pst__record_batch__descriptor.fields[0].id, &rec);
    }
    put_frame(fd, op, FRAME_REPLY | (how & 128 ? FRAME_MORE : 0), id, &body);
}

static void put_any(int fd)
{
    _cleanup_val_(strbuf_done) struct strbuf body = STRBUF_INIT;
    unsigned how = script_u8(&script), op = script_op(&script);
    uint32_t id = how >> 4, flags = how & 8 ? script_flags(&script) : FRAME_REPLY;
    struct frame look = { .op = (uint16_t)op, .flags = flags };
    const uint8_t *bytes;
    size_t len;

    switch (how & 7) {
    case 0:
        bytes = script_bytes(&script, script_u8(&script), &len);
        put(fd, bytes, len);
        break;
    case 1:
        put_batch(fd, op, id);
        break;
    case 2:
        flags |= FRAME_ERROR | FRAME_REPLY;
        look.flags = flags;
        /* fall through */
    default:
        script_message(&script, frame_message(&look), NULL, &body);
        put_frame(fd, op, flags, id, &body);
        break;
    }
}

/* Our end of a pair whose other end has said everything it will say. */
static int new_server(void)
{
    unsigned n = script_u8(&script) % FRAMES_MAX, room = 1u << 20;
    int sv[2];

    if (n_others == SOCKETS_MAX) {
        errno = EMFILE;
        return -1;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sv) < 0)
        return -1;
    (void)setsockopt(sv[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
    others[n_others++] = sv[1];
    if (script_u8(&script) & 7)
        put_challenge(sv[1]);
    for (unsigned i = 0; i < n && script.left; i++)
        put_any(sv[1]);
    (void)shutdown(sv[1], SHUT_WR);
    return sv[0];
}

int __wrap_socket(int domain, int type, int protocol)
{
    return ours ? new_server() : __real_socket(domain, type, protocol);
}

int __wrap_connect(int fd, const struct sockaddr *sa, socklen_t len)
{
    return ours ? 0 : __real_connect(fd, sa, len);
}

void __wrap_exit(int status)
{
    if (ours)
        longjmp(before_exit, 1);
    __real_exit(status);
}

/* ---- what is tried --------------------------------------------------------------------------- */

static int on_record(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    size_t *bytes = ctx;

    (void)info;
    *bytes += protobuf_c_message_get_packed_size(record);
    return 0;
}

static int on_stream(void *ctx, const struct frame *frame)
{
    size_t *bytes = ctx;

    *bytes += frame->len;
    return 0;
}

static void try_client(struct client *c)
{
    static const Pst__QueryRequest query = PST__QUERY_REQUEST__INIT;
    static const ProtobufCMessageDescriptor *const kinds[] = {
        &pst__job_record__descriptor,
        &pst__node_record__descriptor,
        &pst__step_record__descriptor,
        &pst__partition_record__descriptor,
    };
    struct query_info info;
    size_t bytes = 0;

    for (unsigned i = 0; i < TURNS_MAX && script.left; i++) {
        unsigned how = script_u8(&script), op = script_op(&script);
        ProtobufCMessage *reply = NULL;
        struct frame f;

        switch (how & 3) {
        case 0:
            if (!wire_op_info(op))
                break;
            if (client_call(c, op, NULL, &reply) == 0 && reply) {
                assert(reply->descriptor == wire_op_info(op)->reply);
                protobuf_c_message_free_unpacked(reply, NULL);
            }
            break;
        case 1:
            (void)query_run(c, OP_QUERY_JOBS + (how >> 4) % 4, &query.base, kinds[how >> 4 & 3],
                            on_record, &bytes, &info);
            break;
        case 2:
            (void)client_stream(c, OP_WATCH, NULL, on_stream, &bytes);
            break;
        default:
            if (client_recv(c, 0, &f) == 1 && f.len)
                bytes += f.body[f.len - 1];
            break;
        }
        (void)client_strerror(c, -EREMOTEIO);
        (void)client_error(c, NULL);
    }
}

static void try_connect(bool local)
{
    struct client_target target = {
        .host = "127.0.0.1",
        .port = 6817,
        .try_local = local,
        .cluster = "test",
        .timeout_ms = 50,
        .program = "x",
    };
    struct client *c = NULL;
    struct err err = { .text = "" };
    int r;

    if (script_u8(&script) & 1)
        target.jwt = "a.b.c";
    r = client_connect(&target, 0, &c, &err);
    if (r < 0) {
        assert(!c && err.text[0]);
        return;
    }
    try_client(c);
    (void)client_free(c);
}

static void try_fd(void)
{
    struct client *c = NULL;
    int fd = new_server();

    if (fd < 0 || client_from_fd(fd, &c) < 0)
        return;
    client_set_timeout(c, 50);
    try_client(c);
    (void)client_free(c);
}

/* ---- daemons --------------------------------------------------------------------------------- */

struct dial {
    struct dialer *dialer;
    unsigned ups, downs;
};

static void on_up(void *ctx)
{
    struct dial *d = ctx;
    static const Pst__NodeReport report = PST__NODE_REPORT__INIT;
    uint32_t id;

    d->ups++;
    (void)dialer_request(d->dialer, OP_NODE_REPORT, &report.base, &id);
}

static void on_down(void *ctx, const char *why)
{
    struct dial *d = ctx;

    assert(why);
    d->downs++;
}

static void on_request(void *ctx, const struct frame *frame)
{
    struct dial *d = ctx;
    ProtobufCMessage *msg = NULL;

    assert(!(frame->flags & FRAME_REPLY));
    if (frame_unpack_request(frame, &msg, NULL) == 0)
        protobuf_c_message_free_unpacked(msg, NULL);
    (void)dialer_reply(d->dialer, frame->op, frame->id, NULL);
}

static void on_reply(void *ctx, uint32_t id, int r, const struct frame *frame)
{
    (void)ctx;
    (void)id;
    assert(frame || r == -ECONNRESET);
}

static void try_dialer(void)
{
    static const struct dialer_hooks hooks = {
        .on_up = on_up,
        .on_down = on_down,
        .on_request = on_request,
        .on_reply = on_reply,
    };
    struct client_target target = {
        .host = "127.0.0.1",
        .port = 6817,
        .try_local = script_u8(&script) & 1,
        .cluster = "test",
        .timeout_ms = 50,
        .program = "slurmd",
    };
    struct dial d = { 0 };
    uv_loop_t loop;
    int r = uv_loop_init(&loop);

    assert(r == 0);
    if (dialer_new(&loop, &target, 1, 0, &hooks, &d, &d.dialer) == 0) {
        dialer_start(d.dialer);
        for (unsigned i = 0; i < TURNS_MAX; i++)
            (void)uv_run(&loop, UV_RUN_NOWAIT);
        dialer_close(d.dialer);
    }
    while (uv_run(&loop, UV_RUN_DEFAULT) != 0)
        ;
    assert(d.ups == d.downs);
    r = uv_loop_close(&loop);
    assert(r == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > INPUT_MAX)
        return 0;
    log_set_level(LOG_QUIET);
    script = (struct script){ .at = data, .left = size };
    ours = true;
    if (setjmp(before_exit) == 0) {
        switch (script_u8(&script) & 3) {
        case 0:
            try_connect(true);
            break;
        case 1:
            try_connect(false);
            break;
        case 2:
            try_fd();
            break;
        default:
            try_dialer();
            break;
        }
    }
    ours = false;
    while (n_others)
        (void)close(others[--n_others]);
    return 0;
}
