/* wire_util.h - a server and its clients in one process, for the tests of wire/ */
#pragma once

/* test_wire.c - server, client and dialer against each other in one process, over TCP and the local
 * socket */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "api.pb-c.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "wire/auth/auth.h"
#include "wire/client.h"
#include "wire/server/dialer.h"
#include "wire/errors.h"
#include "wire/server/server.h"

#include "munged.h"

#define KEY_A "a1:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n"
/* the same name, another key */
#define KEY_WRONG "a1:ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n"
#define RECORD_SIZE 60000u
#define WAIT_MS 10000

DEFINE_CLEANUP(struct client *, client_free)

/* ---- the server under test ------------------------------------------------------------------- */

struct fixture {
    struct server *server;
    struct auth_keys *keys;
    struct auth_tokens *tokens;
    atomic_uint opened, closed, replies, threads;
    atomic_ulong produced; /* stream frames made */
    atomic_uint streams_begun, streams_done;
    atomic_uint last_deadline_ms;
    atomic_uint last_gid; /* of who asked last */
    atomic_int detached_fd;
};

static char dir[64], key_file[96], wrong_key_file[96], missing_file[96];

static inline bool wait_until(bool (*test)(void *arg), void *arg)
{
    int64_t deadline = now_mono_us() + WAIT_MS * INT64_C(1000);

    while (!test(arg)) {
        if (now_mono_us() > deadline)
            return false;
        (void)poll(NULL, 0, 1);
    }
    return true;
}

/* A query answered with n records of RECORD_SIZE bytes, one a frame. */
struct production {
    struct fixture *f;
    uint32_t id, left;
};

static inline bool produce(struct conn *c, void *arg)
{
    struct production *p = arg;
    static uint8_t record[RECORD_SIZE];
    ProtobufCBinaryData data = { .len = sizeof(record), .data = record };
    Pst__RecordBatch batch = PST__RECORD_BATCH__INIT;

    batch.records = &data;
    batch.n_records = 1;
    p->left--;
    atomic_fetch_add(&p->f->produced, 1);
    (void)conn_reply(c, OP_QUERY_JOBS, p->id, p->left ? FRAME_MORE : 0, &batch.base);
    return p->left > 0;
}

static inline void produced(void *arg)
{
    struct production *p = arg;

    atomic_fetch_add(&p->f->streams_done, 1);
    free(p);
}

static inline void start_stream(struct fixture *f, struct conn *c, const struct frame *frame)
{
    struct production *p = calloc(1, sizeof(*p));
    ProtobufCMessage *msg = NULL;

    assert_int_equal(frame_unpack(frame, frame_message(frame), &msg, NULL), 0);
    p->f = f;
    p->id = frame->id;
    p->left = (uint32_t)strtoul(((Pst__QueryRequest *)msg)->names, NULL, 10);
    protobuf_c_message_free_unpacked(msg, NULL);
    atomic_fetch_add(&f->streams_begun, 1);
    conn_stream(c, produce, produced, p);
}

/* Replies from threads of their own. */
struct errand {
    struct conn *c;
    uint32_t id, n;
};

static inline void *reply_from_afar(void *arg)
{
    struct errand *e = arg;

    for (uint32_t i = 0; i < e->n; i++) {
        Pst__JobStatus reply = PST__JOB_STATUS__INIT;

        reply.has_job_id = true;
        reply.job_id = i;
        (void)conn_reply(e->c, OP_JOB_WAIT, e->id, i + 1 < e->n ? FRAME_MORE : 0, &reply.base);
    }
    e->c = conn_unref(e->c);
    free(e);
    return NULL;
}

static inline void send_errand(struct conn *c, const struct frame *frame)
{
    struct errand *e = calloc(1, sizeof(*e));
    pthread_attr_t attr;
    pthread_t t;

    *e = (struct errand){ .c = conn_ref(c), .id = frame->id, .n = 1000 };
    (void)pthread_attr_init(&attr);
    (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    assert_int_equal(pthread_create(&t, &attr, reply_from_afar, e), 0);
    (void)pthread_attr_destroy(&attr);
}

static inline void answer_ping(struct conn *c, const struct frame *frame)
{
    Pst__PingReply reply = PST__PING_REPLY__INIT;

    reply.has_pid = reply.has_lsn = reply.has_now_us = true;
    reply.pid = conn_peer(c)->uid;
    reply.lsn = conn_peer(c)->method;
    reply.now_us = conn_arrival_mono_us(c);
    reply.host = (char *)conn_peer(c)->program;
    reply.mode = (char *)conn_peer(c)->addr;
    (void)conn_reply(c, OP_PING, frame->id, 0, &reply.base);
}

/* 200 replies of 60 kB at once, to somebody who does not read. */
static inline void flood(struct conn *c, uint32_t id)
{
    struct production p = { .f = NULL, .id = id, .left = 200 };
    static struct fixture nobody;

    p.f = &nobody;
    while (produce(c, &p))
        ;
}

static inline void on_request(void *ctx, struct conn *c, const struct frame *frame)
{
    struct fixture *f = ctx;
    int fd;

    if (!conn_data(c)) {
        conn_set_data(c, f);
        atomic_fetch_add(&f->opened, 1);
    }
    atomic_store(&f->last_deadline_ms, frame->deadline_ms);
    atomic_store(&f->last_gid, conn_peer(c)->gid);
    switch (frame->op) {
    case OP_PING:
        answer_ping(c, frame);
        break;
    case OP_QUERY_JOBS:
        start_stream(f, c, frame);
        break;
    case OP_JOB_WAIT:
        send_errand(c, frame);
        break;
    case OP_QUERY_DIAG:
        break; /* never answered */
    case OP_JOB_SUBMIT:
        (void)conn_error(c, frame->op, frame->id, ESLURM_INVALID_PARTITION_NAME, NULL);
        break;
    case OP_TOKEN:
        (void)conn_error(c, frame->op, frame->id, ESLURM_ACCESS_DENIED, "Not you");
        break;
    case OP_RECONFIGURE:
        flood(c, frame->id);
        break;
    case OP_NODE_REGISTER:
        (void)conn_reply(c, frame->op, frame->id, 0, NULL);
        (void)conn_request(c, OP_PREPARE_JOB, 0, NULL, NULL);
        break;
    case OP_SHUTDOWN:
        (void)conn_reply(c, frame->op, frame->id, 0, NULL);
        conn_close(c);
        break;
    case OP_LAUNCH_STEP:
        (void)conn_reply(c, frame->op, frame->id, 0, NULL);
        assert_int_equal(conn_detach_fd(c, &fd), 0);
        atomic_store(&f->detached_fd, fd);
        break;
    default:
        (void)conn_reply(c, frame->op, frame->id, 0, NULL);
    }
}

static inline void on_reply(void *ctx, struct conn *c, const struct frame *frame)
{
    struct fixture *f = ctx;

    if (frame->op == OP_PREPARE_JOB)
        atomic_fetch_add(&f->replies, 1);
}

static inline void on_close(void *ctx, struct conn *c)
{
    struct fixture *f = ctx;

    if (conn_data(c))
        atomic_fetch_add(&f->closed, 1);
}

static inline void on_thread(void *ctx, unsigned index, bool start)
{
    struct fixture *f = ctx;

    atomic_fetch_add(&f->threads, start ? 1 : -1u);
}

static inline struct server_config default_config(struct fixture *f)
{
    return (struct server_config){
        .any_port = true,
        .bind_addr = "127.0.0.1",
        .local_socket = true,
        .threads = 2,
        .max_connections = 4096,
        .out_limit = 1u * WIRE_MIB,
        .cluster = "testcluster",
        .serves = ACCESS_AT(ACCESS_CTLD),
        .slurm_uid = geteuid(),
        .slurmd_uid = geteuid(),
        .keys = f->keys,
        .service = "slurmctld",
        .hooks = { on_request, on_reply, on_close, on_thread },
        .ctx = f,
    };
}

static inline void start(struct fixture *f, const struct server_config *change)
{
    struct server_config config;
    struct err err = { .text = "" };

    memset(f, 0, sizeof(*f));
    atomic_store(&f->detached_fd, -1);
    assert_int_equal(auth_keys_load(key_file, &f->keys, &err), 0);
    config = change ? *change : default_config(f);
    config.keys = f->keys;
    assert_int_equal(auth_tokens_new(&(struct token_rules){ 0 }, f->keys, &f->tokens, &err), 0);
    config.tokens = f->tokens;
    config.ctx = f;
    if (server_new(&config, &f->server, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(server_start(f->server), 0);
}

static inline void stop(struct fixture *f)
{
    server_stop(f->server);
    assert_int_equal(atomic_load(&f->opened), atomic_load(&f->closed)); /* once each */
    assert_int_equal(atomic_load(&f->threads), 0);
    assert_int_equal(server_connections(f->server), 0);
    f->server = server_free(f->server);
    f->keys = auth_keys_free(f->keys);
    f->tokens = auth_tokens_free(f->tokens);
}

static inline struct client_target target_of(const struct fixture *f, bool local)
{
    return (struct client_target){
        .host = "127.0.0.1",
        .port = server_port(f->server),
        .try_local = local,
        .cluster = "testcluster",
        .key_file = key_file,
        .timeout_ms = WAIT_MS,
        .program = "test_wire",
    };
}

static inline struct client *dial(const struct client_target *t)
{
    struct client *c = NULL;
    struct err err = { .text = "" };

    if (client_connect(t, geteuid(), &c, &err) < 0)
        fail_msg("%s", err.text);
    return c;
}

static inline int ping(struct client *c, Pst__PingReply **ret_reply)
{
    return client_call(c, OP_PING, NULL, (ProtobufCMessage **)ret_reply);
}

static inline void expect_ping(struct client *c, uid_t uid, unsigned method)
{
    Pst__PingReply *reply = NULL;
    int r = ping(c, &reply);

    if (r < 0)
        fail_msg("ping: %s", client_strerror(c, r));
    assert_int_equal(reply->pid, uid);
    assert_int_equal(reply->lsn, method);
    assert_string_equal(reply->host, "test_wire");
    protobuf_c_message_free_unpacked(&reply->base, NULL);
}

/* ---- a peer by hand -------------------------------------------------------------------------- */

static inline int raw_connect(const struct fixture *f)
{
    struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons(server_port(f->server)) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
    return fd;
}

static inline void raw_send(int fd, unsigned op, uint16_t version, uint32_t len_claimed,
                            size_t len_sent)
{
    struct frame f = { .version = version, .op = (uint16_t)op, .id = 9, .len = len_claimed };
    uint8_t buf[FRAME_HEADER_SIZE + 64] = { 0 };

    frame_encode_header(&f, buf);
    assert_int_equal(send(fd, buf, FRAME_HEADER_SIZE + len_sent, MSG_NOSIGNAL),
                     FRAME_HEADER_SIZE + len_sent);
}

/* Say Hello on the local socket, as version `version`. */
static inline void raw_hello(struct client *c, uint32_t version)
{
    Pst__Hello hello = PST__HELLO__INIT;

    hello.has_version = hello.has_method = true;
    hello.version = version;
    hello.method = PST__AUTH_METHOD__AUTH_PEERCRED;
    assert_int_equal(client_send(c, OP_HELLO, 0, 0, &hello.base), 0);
}

/* The next frame must be an Error with this code, then the end. */
static inline void expect_refused(struct client *c, int code)
{
    struct frame frame;
    int r = client_recv(c, WAIT_MS, &frame);
    const char *text;

    if (r == 1) {
        ProtobufCMessage *msg;

        assert_true(frame.flags & FRAME_ERROR);
        assert_int_equal(frame_unpack(&frame, frame_message(&frame), &msg, NULL), 0);
        assert_int_equal(((Pst__Error *)msg)->code, code);
        protobuf_c_message_free_unpacked(msg, NULL);
    } else {
        assert_int_equal(r, -EREMOTEIO);
        assert_int_equal(client_error(c, &text), code);
        assert_string_not_equal(text, "");
    }
    r = client_recv(c, WAIT_MS, &frame);
    assert_int_equal(r, -EPIPE);
}

static inline void expect_closed(int fd)
{
    char buf[4096];
    ssize_t n;

    do {
        struct pollfd p = { .fd = fd, .events = POLLIN };

        assert_int_equal(poll(&p, 1, WAIT_MS), 1);
        n = recv(fd, buf, sizeof(buf), 0);
    } while (n > 0);
    assert_true(n == 0 || errno == ECONNRESET);
    assert_int_equal(close(fd), 0);
}

/* A client without a handshake, on the local socket, so that tests can say what they like. */
static inline struct client *bare_local(const struct fixture *f)
{
    struct sockaddr_un sa;
    socklen_t len = wire_local_name(server_port(f->server), &sa);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct client *c;

    assert_int_equal(connect(fd, (struct sockaddr *)&sa, len), 0);
    assert_int_equal(client_from_fd(fd, &c), 0);
    return c;
}

/* Connect and ping: the first error of the two, its text in err. */
static inline int try_ping(const struct client_target *t, struct err *err)
{
    _cleanup_(client_free) struct client *c = NULL;
    int r = client_connect(t, geteuid(), &c, err);

    if (r == 0) {
        r = ping(c, NULL);
        (void)err_set(err, 0, "%s", client_strerror(c, r));
    }
    return r;
}

/* ---- setting up ------------------------------------------------------------------------------ */

static inline int write_key(char *path, size_t size, const char *name, const char *text)
{
    FILE *f;

    (void)snprintf(path, size, "%s/%s", dir, name);
    f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fchmod(fileno(f), 0600) < 0)
        return -1;
    return fclose(f);
}

static inline int setup(void **state)
{
    (void)snprintf(dir, sizeof(dir), "/tmp/test_wire.XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    (void)snprintf(missing_file, sizeof(missing_file), "%s/none", dir);
    log_set_level(LOG_ERROR);
    return write_key(key_file, sizeof(key_file), "key", KEY_A) ||
           write_key(wrong_key_file, sizeof(wrong_key_file), "wrong", KEY_WRONG);
}

static inline int teardown(void **state)
{
    (void)unlink(key_file);
    (void)unlink(wrong_key_file);
    return rmdir(dir);
}
