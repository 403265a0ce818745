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
#include "wire/auth.h"
#include "wire/client.h"
#include "wire/dialer.h"
#include "wire/errors.h"
#include "wire/server.h"

#include "munged.h"

#define KEY_A "a1:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n"
/* the same name, another key */
#define KEY_WRONG "a1:ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n"
#define RECORD_SIZE 60000u
#define WAIT_MS 10000

DEFINE_CLEANUP(struct client *, client_free)

/* ---- the server under test ---- */

struct fixture {
    struct server *server;
    struct auth_keys *keys;
    atomic_uint opened, closed, replies, threads;
    atomic_ulong produced; /* stream frames made */
    atomic_uint streams_done;
    atomic_uint last_deadline_ms;
    atomic_int detached_fd;
};

static char dir[64], key_file[96], wrong_key_file[96], missing_file[96];

static bool wait_until(bool (*test)(void *arg), void *arg)
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

static bool produce(struct conn *c, void *arg)
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

static void produced(void *arg)
{
    struct production *p = arg;

    atomic_fetch_add(&p->f->streams_done, 1);
    free(p);
}

static void start_stream(struct fixture *f, struct conn *c, const struct frame *frame)
{
    struct production *p = calloc(1, sizeof(*p));
    ProtobufCMessage *msg = NULL;

    assert_int_equal(frame_unpack(frame, &msg, NULL), 0);
    p->f = f;
    p->id = frame->id;
    p->left = (uint32_t)strtoul(((Pst__QueryRequest *)msg)->names, NULL, 10);
    protobuf_c_message_free_unpacked(msg, NULL);
    conn_stream(c, produce, produced, p);
}

/* Replies from threads of their own. */
struct errand {
    struct conn *c;
    uint32_t id, n;
};

static void *reply_from_afar(void *arg)
{
    struct errand *e = arg;

    for (uint32_t i = 0; i < e->n; i++) {
        Pst__ConfigReply reply = PST__CONFIG_REPLY__INIT;

        reply.has_next_job_id = true;
        reply.next_job_id = i;
        (void)conn_reply(e->c, OP_QUERY_CONFIG, e->id, i + 1 < e->n ? FRAME_MORE : 0, &reply.base);
    }
    e->c = conn_unref(e->c);
    free(e);
    return NULL;
}

static void send_errand(struct conn *c, const struct frame *frame)
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

static void answer_ping(struct conn *c, const struct frame *frame)
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
static void flood(struct conn *c, uint32_t id)
{
    struct production p = { .f = NULL, .id = id, .left = 200 };
    static struct fixture nobody;

    p.f = &nobody;
    while (produce(c, &p))
        ;
}

static void on_request(void *ctx, struct conn *c, const struct frame *frame)
{
    struct fixture *f = ctx;
    int fd;

    if (!conn_data(c)) {
        conn_set_data(c, f);
        atomic_fetch_add(&f->opened, 1);
    }
    atomic_store(&f->last_deadline_ms, frame->deadline_ms);
    switch (frame->op) {
    case OP_PING:
        answer_ping(c, frame);
        break;
    case OP_QUERY_JOBS:
        start_stream(f, c, frame);
        break;
    case OP_QUERY_CONFIG:
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

static void on_reply(void *ctx, struct conn *c, const struct frame *frame)
{
    struct fixture *f = ctx;

    if (frame->op == OP_PREPARE_JOB)
        atomic_fetch_add(&f->replies, 1);
}

static void on_close(void *ctx, struct conn *c)
{
    struct fixture *f = ctx;

    if (conn_data(c))
        atomic_fetch_add(&f->closed, 1);
}

static void on_thread(void *ctx, unsigned index, bool start)
{
    struct fixture *f = ctx;

    atomic_fetch_add(&f->threads, start ? 1 : -1u);
}

static struct server_config default_config(struct fixture *f)
{
    return (struct server_config){
        .any_port = true,
        .bind_addr = "127.0.0.1",
        .local_socket = true,
        .threads = 2,
        .max_connections = 4096,
        .out_limit = 1u * WIRE_MIB,
        .cluster = "testcluster",
        .keys = f->keys,
        .hooks = { on_request, on_reply, on_close, on_thread },
        .ctx = f,
    };
}

static void start(struct fixture *f, const struct server_config *change)
{
    struct server_config config;
    struct err err = { .text = "" };

    memset(f, 0, sizeof(*f));
    atomic_store(&f->detached_fd, -1);
    assert_int_equal(auth_keys_load(key_file, &f->keys, &err), 0);
    config = change ? *change : default_config(f);
    config.keys = f->keys;
    config.ctx = f;
    if (server_new(&config, &f->server, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(server_start(f->server), 0);
}

static void stop(struct fixture *f)
{
    server_stop(f->server);
    assert_int_equal(atomic_load(&f->opened), atomic_load(&f->closed)); /* once each */
    assert_int_equal(atomic_load(&f->threads), 0);
    assert_int_equal(server_connections(f->server), 0);
    f->server = server_free(f->server);
    f->keys = auth_keys_free(f->keys);
}

static struct client_target target_of(const struct fixture *f, bool local)
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

static struct client *dial(const struct client_target *t)
{
    struct client *c = NULL;
    struct err err = { .text = "" };

    if (client_connect(t, geteuid(), &c, &err) < 0)
        fail_msg("%s", err.text);
    return c;
}

static int ping(struct client *c, Pst__PingReply **ret_reply)
{
    return client_call(c, OP_PING, NULL, (ProtobufCMessage **)ret_reply);
}

static void expect_ping(struct client *c, uid_t uid, unsigned method)
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

/* ---- a peer by hand ---- */

static int raw_connect(const struct fixture *f)
{
    struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons(server_port(f->server)) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
    return fd;
}

static void raw_send(int fd, unsigned op, uint16_t version, uint32_t len_claimed, size_t len_sent)
{
    struct frame f = { .version = version, .op = (uint16_t)op, .id = 9, .len = len_claimed };
    uint8_t buf[FRAME_HEADER_SIZE + 64] = { 0 };

    frame_encode_header(&f, buf);
    assert_int_equal(send(fd, buf, FRAME_HEADER_SIZE + len_sent, MSG_NOSIGNAL),
                     FRAME_HEADER_SIZE + len_sent);
}

/* Say Hello on the local socket, as version `version`. */
static void raw_hello(struct client *c, uint32_t version)
{
    Pst__Hello hello = PST__HELLO__INIT;

    hello.has_version = hello.has_method = true;
    hello.version = version;
    hello.method = PST__AUTH_METHOD__AUTH_PEERCRED;
    assert_int_equal(client_send(c, OP_HELLO, 0, 0, &hello.base), 0);
}

/* The next frame must be an Error with this code, then the end. */
static void expect_refused(struct client *c, int code)
{
    struct frame frame;
    int r = client_recv(c, WAIT_MS, &frame);
    const char *text;

    if (r == 1) {
        ProtobufCMessage *msg;

        assert_true(frame.flags & FRAME_ERROR);
        assert_int_equal(frame_unpack(&frame, &msg, NULL), 0);
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

static void expect_closed(int fd)
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
static struct client *bare_local(const struct fixture *f)
{
    struct sockaddr_un sa;
    socklen_t len = wire_local_name(server_port(f->server), &sa);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct client *c;

    assert_int_equal(connect(fd, (struct sockaddr *)&sa, len), 0);
    assert_int_equal(client_from_fd(fd, &c), 0);
    return c;
}

/* ---- tests ---- */

static void test_identities(void **state)
{
    struct fixture f;
    struct client_target t;
    _cleanup_free_ char *token = NULL;
    struct passwd *pw = getpwuid(geteuid());

    start(&f, NULL);
    t = target_of(&f, true);
    {
        _cleanup_(client_free) struct client *c = dial(&t);

        expect_ping(c, geteuid(), PST__AUTH_METHOD__AUTH_PEERCRED);
        expect_ping(c, geteuid(), PST__AUTH_METHOD__AUTH_PEERCRED);
        assert_int_equal(atomic_load(&f.last_deadline_ms), WAIT_MS);
    }
    t.try_local = false;
    {
        _cleanup_(client_free) struct client *c = dial(&t);

        expect_ping(c, geteuid(), PST__AUTH_METHOD__AUTH_KEY);
    }
    if (pw) {
        assert_int_equal(auth_jwt_make(f.keys, pw->pw_name, now_us(), 60, &token), 0);
        t.try_local = true; /* the token wins */
        t.jwt = token;
        t.key_file = NULL;
        _cleanup_(client_free) struct client *c = dial(&t);

        expect_ping(c, geteuid(), PST__AUTH_METHOD__AUTH_JWT);
    }
    stop(&f);
}

/* Connect and ping: the first error of the two, its text in err. */
static int try_ping(const struct client_target *t, struct err *err)
{
    _cleanup_(client_free) struct client *c = NULL;
    int r = client_connect(t, geteuid(), &c, err);

    if (r == 0) {
        r = ping(c, NULL);
        (void)err_set(err, 0, "%s", client_strerror(c, r));
    }
    return r;
}

static void test_wrong_identities(void **state)
{
    struct fixture f;
    struct client_target t;
    struct err err = { .text = "" };
    _cleanup_free_ char *expired = NULL, *nobody = NULL;

    start(&f, NULL);
    t = target_of(&f, false);
    t.key_file = wrong_key_file;
    assert_int_equal(try_ping(&t, &err), -EREMOTEIO);
    assert_string_equal(err.text, "Invalid authentication credential");

    t.key_file = missing_file;
    assert_int_equal(try_ping(&t, &err), -EACCES);
    assert_non_null(strstr(err.text, missing_file));

    t.key_file = key_file;
    t.cluster = "elsewhere";
    assert_int_equal(try_ping(&t, &err), -EREMOTEIO);
    assert_string_equal(err.text, "Wrong cluster: this is testcluster, not elsewhere");
    t.try_local = true;
    assert_int_equal(try_ping(&t, &err), -EREMOTEIO);
    assert_string_equal(err.text, "Wrong cluster: this is testcluster, not elsewhere");

    t.cluster = "testcluster";
    assert_int_equal(auth_jwt_make(f.keys, "root", now_us() - 100000000, 60, &expired), 0);
    t.jwt = expired;
    assert_int_equal(try_ping(&t, &err), -EREMOTEIO);
    assert_string_equal(err.text, "Authentication credential expired");
    assert_int_equal(auth_jwt_make(f.keys, "no-such-user-here", now_us(), 60, &nobody), 0);
    t.jwt = nobody;
    assert_int_equal(try_ping(&t, &err), -EREMOTEIO);
    assert_string_equal(err.text, "Invalid authentication credential");
    stop(&f);
}

static void test_munge(void **state)
{
    struct fixture f;
    struct server_config config = default_config(&f);
    struct client_target t;
    struct err err = { .text = "" };
    struct munged m;

    if (!munged_start(&m)) {
        print_message(
            "# skip: munged or libmunge is not installed, or does not run as this user\n");
        skip();
    }
    start(&f, NULL); /* not configured: refused */
    t = target_of(&f, false);
    t.use_munge = true;
    t.munge_socket = m.socket;
    assert_int_equal(try_ping(&t, &err), -EREMOTEIO);
    assert_string_equal(err.text, "Invalid authentication credential");
    stop(&f);
    config.use_munge = true;
    config.munge_socket = m.socket;
    start(&f, &config);
    t.port = server_port(f.server);
    {
        _cleanup_(client_free) struct client *c = dial(&t);

        expect_ping(c, geteuid(), PST__AUTH_METHOD__AUTH_MUNGE);
    }
    munged_stop(&m);
    assert_int_equal(try_ping(&t, &err), -EACCES);
    assert_non_null(strstr(err.text, "munge"));
    stop(&f);
}

static void test_unreachable(void **state)
{
    struct fixture f;
    struct client_target t;
    struct err err = { .text = "" };

    start(&f, NULL);
    t = target_of(&f, true);
    stop(&f);
    assert_int_equal(try_ping(&t, &err), -ECONNREFUSED);
    assert_string_equal(err.text, "Unable to contact slurm controller (connect failure)");
    t.host = "no-such-host.invalid";
    assert_int_equal(try_ping(&t, &err), -EHOSTUNREACH);
    assert_string_equal(err.text, "Unable to contact slurm controller (connect failure)");
}

static void test_errors_and_deadline(void **state)
{
    struct fixture f;
    struct client_target t;
    _cleanup_(client_free) struct client *c = NULL;
    const char *text;

    start(&f, NULL);
    t = target_of(&f, true);
    t.timeout_ms = 50;
    c = dial(&t);
    assert_int_equal(client_call(c, OP_JOB_SUBMIT, NULL, NULL), -EREMOTEIO);
    assert_int_equal(client_error(c, &text), ESLURM_INVALID_PARTITION_NAME);
    assert_string_equal(client_strerror(c, -EREMOTEIO), "Invalid partition name specified");
    assert_int_equal(client_call(c, OP_TOKEN, NULL, NULL), -EREMOTEIO);
    assert_string_equal(client_strerror(c, -EREMOTEIO), "Not you");
    assert_int_equal(client_call(c, OP_QUERY_DIAG, NULL, NULL), -ETIMEDOUT);
    assert_string_equal(client_strerror(c, -ETIMEDOUT), "Socket timed out on send/recv operation");
    assert_true(client_fd(c) >= 0);
    assert_int_equal(client_call(c, 119, NULL, NULL), -EREMOTEIO); /* no such operation */
    assert_int_equal(client_error(c, &text), EPST_BAD_REQUEST);
    assert_non_null(strstr(text, "119"));
    expect_ping(c, geteuid(), PST__AUTH_METHOD__AUTH_PEERCRED);
    assert_int_equal(client_call(c, OP_SHUTDOWN, NULL, NULL), 0); /* answered, then closed */
    assert_int_equal(ping(c, NULL), -EPIPE);
    assert_string_equal(client_strerror(c, -EPIPE), "Zero Bytes were transmitted or received");
    assert_int_equal(client_fd(c), -1);
    stop(&f);
}

static int count_frames(void *ctx, const struct frame *frame)
{
    unsigned *n = ctx;

    assert_int_equal(frame->op, OP_QUERY_JOBS);
    assert_true(frame->len >= RECORD_SIZE);
    ++*n;
    return 0;
}

static int stop_at_three(void *ctx, const struct frame *frame)
{
    unsigned *n = ctx;

    return ++*n == 3 ? -ECANCELED : 0;
}

static void test_stream(void **state)
{
    struct fixture f;
    struct client_target t;
    _cleanup_(client_free) struct client *c = NULL;
    Pst__QueryRequest query = PST__QUERY_REQUEST__INIT;
    struct frame frame;
    unsigned n = 0;
    uint32_t id;

    start(&f, NULL);
    for (int local = 0; local < 2; local++) {
        t = target_of(&f, local);
        c = dial(&t);
        query.names = (char *)"1000"; /* 60 MB */
        n = 0;
        assert_int_equal(client_stream(c, OP_QUERY_JOBS, &query.base, count_frames, &n), 0);
        assert_int_equal(n, 1000);
        n = 0; /* what is left of a stream given up is skipped */
        query.names = (char *)"20";
        assert_int_equal(client_stream(c, OP_QUERY_JOBS, &query.base, stop_at_three, &n),
                         -ECANCELED);
        expect_ping(c, geteuid(),
                    local ? PST__AUTH_METHOD__AUTH_PEERCRED : PST__AUTH_METHOD__AUTH_KEY);

        /* A reader that stops reading stops the producer. */
        atomic_store(&f.produced, 0);
        query.names = (char *)"2000"; /* 120 MB */
        id = client_next_id(c);
        assert_int_equal(client_send(c, OP_QUERY_JOBS, 0, id, &query.base), 0);
        do /* what is left of the one given up comes first */
            assert_int_equal(client_recv(c, WAIT_MS, &frame), 1);
        while (frame.id != id);
        {
            _cleanup_(client_free) struct client *other =
                dial(&t); /* others are served meanwhile */

            assert_int_equal(ping(other, NULL), 0);
        }
        assert_true(atomic_load(&f.produced) < 500);
        for (n = 1; n < 2000; n++)
            assert_int_equal(client_recv(c, WAIT_MS, &frame), 1);
        assert_int_equal(frame.id, id);
        assert_int_equal(frame.flags & FRAME_MORE, 0);
        c = client_free(c);
    }
    stop(&f);
    assert_int_equal(atomic_load(&f.streams_done), 6);
}

static bool stream_done(void *arg)
{
    return atomic_load(&((struct fixture *)arg)->streams_done) == 40;
}

/* The client goes away in the middle of streams: each ends once.  More streams than are kept
 * waiting. */
static void test_stream_lost(void **state)
{
    struct fixture f;
    struct client_target t;
    struct client *c;
    Pst__QueryRequest query = PST__QUERY_REQUEST__INIT;
    struct frame frame;

    start(&f, NULL);
    t = target_of(&f, true);
    c = dial(&t);
    query.names = (char *)"4";
    for (int i = 0; i < 40; i++)
        assert_int_equal(client_send(c, OP_QUERY_JOBS, 0, client_next_id(c), &query.base), 0);
    for (int i = 0; i < 160; i++)
        assert_int_equal(client_recv(c, WAIT_MS, &frame), 1);
    assert_true(wait_until(stream_done, &f));
    query.names = (char *)"100000";
    for (int i = 0; i < 5; i++)
        assert_int_equal(client_send(c, OP_QUERY_JOBS, 0, client_next_id(c), &query.base), 0);
    assert_int_equal(client_recv(c, WAIT_MS, &frame), 1);
    c = client_free(c);
    stop(&f);
    assert_int_equal(atomic_load(&f.streams_done), 45);
}

static int count_in_order(void *ctx, const struct frame *frame)
{
    uint32_t *next = ctx;
    ProtobufCMessage *msg;

    assert_int_equal(frame_unpack(frame, &msg, NULL), 0);
    assert_int_equal(((Pst__ConfigReply *)msg)->next_job_id, *next);
    protobuf_c_message_free_unpacked(msg, NULL);
    ++*next;
    return 0;
}

static void test_replies_from_threads(void **state)
{
    struct fixture f;
    struct client_target t;
    _cleanup_(client_free) struct client *c = NULL;

    start(&f, NULL);
    t = target_of(&f, true);
    c = dial(&t);
    for (int i = 0; i < 20; i++) {
        uint32_t next = 0;

        assert_int_equal(client_stream(c, OP_QUERY_CONFIG, NULL, count_in_order, &next), 0);
        assert_int_equal(next, 1000);
    }
    c = client_free(c);
    stop(&f);
}

static void test_versions(void **state)
{
    struct fixture f;
    struct client *c;
    struct frame frame;

    start(&f, NULL);
    c = bare_local(&f); /* too old */
    raw_hello(c, 0);
    expect_refused(c, EPST_VERSION);
    c = client_free(c);

    c = bare_local(
        &f); /* newer: the server speaks its own version and takes frames that say more */
    raw_hello(c, WIRE_VERSION + 2);
    raw_send(client_fd(c), OP_PING, WIRE_VERSION + 2, 0, 0);
    assert_int_equal(client_recv(c, WAIT_MS, &frame), 1);
    assert_int_equal(frame.version, WIRE_VERSION);
    assert_int_equal(frame.op, OP_PING);
    c = client_free(c);

    c = bare_local(&f); /* older, still understood: answers carry its version */
    raw_hello(c, WIRE_VERSION_MIN);
    raw_send(client_fd(c), OP_PING, WIRE_VERSION_MIN, 0, 0);
    assert_int_equal(client_recv(c, WAIT_MS, &frame), 1);
    assert_int_equal(frame.version, WIRE_VERSION_MIN);
    raw_send(client_fd(c), OP_PING, 0, 0, 0);
    expect_refused(c, EPST_VERSION);
    c = client_free(c);
    stop(&f);
}

/* Serve one connection with a Challenge of our choosing. */
struct impostor {
    int listen_fd;
    uint32_t min, max;
};

static void *impostor_main(void *arg)
{
    struct impostor *im = arg;
    Pst__Challenge challenge = PST__CHALLENGE__INIT;
    uint8_t nonce[AUTH_NONCE_SIZE] = { 0 };
    int fd = accept4(im->listen_fd, NULL, NULL, SOCK_CLOEXEC);
    struct client *c = NULL;
    struct frame frame;

    if (fd < 0 || client_from_fd(fd, &c) < 0)
        return NULL;
    challenge.has_min_version = challenge.has_max_version = challenge.has_nonce = true;
    challenge.min_version = im->min;
    challenge.max_version = im->max;
    challenge.nonce.data = nonce;
    challenge.nonce.len = sizeof(nonce);
    (void)client_send(c, OP_CHALLENGE, FRAME_ONEWAY, 0, &challenge.base);
    (void)client_recv(c, WAIT_MS, &frame);
    c = client_free(c);
    return NULL;
}

static void test_server_version(void **state)
{
    static const struct {
        uint32_t min, max;
        int rc;
    } cases[] = {
        { WIRE_VERSION + 1, WIRE_VERSION + 3, -EPROTO }, /* the server is too new */
        { 0, 0, -EPROTO },                               /* too old */
        { 1, 1, 0 },
        { 2, WIRE_VERSION + 2, 0 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct sockaddr_in sa = { .sin_family = AF_INET };
        struct impostor im = { .min = cases[i].min, .max = cases[i].max };
        struct client_target t = { .host = "127.0.0.1",
                                   .key_file = key_file,
                                   .timeout_ms = WAIT_MS };
        socklen_t len = sizeof(sa);
        struct err err = { .text = "" };
        struct client *c = NULL;
        pthread_t thread;

        sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        im.listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(bind(im.listen_fd, (struct sockaddr *)&sa, len), 0);
        assert_int_equal(listen(im.listen_fd, 1), 0);
        assert_int_equal(getsockname(im.listen_fd, (struct sockaddr *)&sa, &len), 0);
        t.port = ntohs(sa.sin_port);
        assert_int_equal(pthread_create(&thread, NULL, impostor_main, &im), 0);
        assert_int_equal(client_connect(&t, 0, &c, &err), cases[i].rc);
        assert_true(cases[i].rc == 0 || strstr(err.text, "Protocol version"));
        c = client_free(c);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(close(im.listen_fd), 0);
    }
}

static void test_hostile(void **state)
{
    struct fixture f, g;
    struct server_config config;
    struct client *c;
    int fd;

    start(&f, NULL);
    fd = raw_connect(&f); /* something else altogether */
    assert_int_equal(send(fd, "GET / HTTP/1.0\r\nHost: localhost\r\n\r\n", 36, 0), 36);
    expect_closed(fd);

    c = bare_local(&f); /* a request before Hello */
    raw_send(client_fd(c), OP_PING, WIRE_VERSION, 0, 0);
    expect_refused(c, EPST_AUTH);
    c = client_free(c);

    c = bare_local(&f); /* a Hello longer than unknown peers may send */
    raw_send(client_fd(c), OP_HELLO, WIRE_VERSION, 65 * WIRE_KIB, 0);
    expect_refused(c, EPST_BAD_REQUEST);
    c = client_free(c);

    c = bare_local(&f); /* malformed Hello */
    raw_send(client_fd(c), OP_HELLO, WIRE_VERSION, 8, 8);
    expect_refused(c, EPST_BAD_REQUEST);
    c = client_free(c);

    c = bare_local(&f); /* over the op's cap */
    raw_hello(c, WIRE_VERSION);
    raw_send(client_fd(c), OP_PING, WIRE_VERSION, 4097, 64);
    expect_refused(c, EPST_BAD_REQUEST);
    c = client_free(c);

    c = bare_local(&f); /* a second Hello */
    raw_hello(c, WIRE_VERSION);
    raw_hello(c, WIRE_VERSION);
    expect_refused(c, EPST_BAD_REQUEST);
    c = client_free(c);

    c = bare_local(&f); /* does not read 12 MB of replies: limit 1 MiB */
    raw_hello(c, WIRE_VERSION);
    raw_send(client_fd(c), OP_RECONFIGURE, WIRE_VERSION, 0, 0);
    fd = client_release_fd(c);
    expect_closed(fd);

    /* Limits of time, shortened. */
    config = default_config(&g);
    config.hello_timeout_ms = config.stall_timeout_ms = 60;
    start(&g, &config);
    expect_closed(raw_connect(&g)); /* says nothing */
    fd = raw_connect(&g);           /* half a header */
    assert_int_equal(send(fd, "PSTK", 4, 0), 4);
    expect_closed(fd);
    c = bare_local(&g); /* half a request */
    raw_hello(c, WIRE_VERSION);
    raw_send(client_fd(c), OP_NODE_REPORT, WIRE_VERSION, 1000000, 64);
    fd = client_release_fd(c);
    expect_closed(fd);
    stop(&g);
    stop(&f);
}

static void test_stalled_reader(void **state)
{
    struct fixture f;
    struct server_config config = default_config(&f);
    struct client *c;
    Pst__QueryRequest query = PST__QUERY_REQUEST__INIT;

    config.stall_timeout_ms = 60;
    start(&f, &config);
    c = bare_local(&f);
    raw_hello(c, WIRE_VERSION);
    query.names = (char *)"100000";
    assert_int_equal(client_send(c, OP_QUERY_JOBS, 0, 1, &query.base), 0);
    /* Nothing is read until the server has given the stream up. */
    {
        int64_t deadline = now_mono_us() + WAIT_MS * INT64_C(1000);

        while (atomic_load(&f.streams_done) == 0 && now_mono_us() < deadline)
            (void)poll(NULL, 0, 1);
    }
    assert_int_equal(atomic_load(&f.streams_done), 1);
    assert_true(atomic_load(&f.produced) < 1000);
    c = client_free(c);
    stop(&f);
}

static void test_full_house(void **state)
{
    struct fixture f;
    struct server_config config = default_config(&f);
    struct client_target t;
    struct client *a, *b;
    struct err err = { .text = "" };
    int r;

    config.max_connections = 2;
    start(&f, &config);
    t = target_of(&f, true);
    a = dial(&t);
    b = dial(&t);
    assert_int_equal(ping(a, NULL), 0);
    assert_int_equal(ping(b, NULL), 0);
    r = try_ping(&t, &err); /* told while connecting or by the first call */
    assert_true(r == -EREMOTEIO || r == -EBUSY);
    assert_string_equal(err.text, slurm_err_text(EPST_BUSY));
    t.try_local = false;
    assert_int_equal(try_ping(&t, &err), -EBUSY);
    assert_string_equal(err.text, slurm_err_text(EPST_BUSY));
    a = client_free(a);
    b = client_free(b);
    stop(&f);
}

static void test_detach(void **state)
{
    struct fixture f;
    struct server_config config = default_config(&f);
    struct client_target t;
    struct client *srun, *stepd;
    Pst__LaunchStep launch = PST__LAUNCH_STEP__INIT;
    Pst__StepDone done = PST__STEP_DONE__INIT;
    struct frame frame;

    config.no_auth_ops = true;
    start(&f, &config);
    t = target_of(&f, false);
    t.no_auth = true;
    t.key_file = NULL;
    srun = dial(&t);
    launch.node_name = (char *)"n1";
    assert_int_equal(client_call(srun, OP_LAUNCH_STEP, &launch.base, NULL), 0);
    while (atomic_load(&f.detached_fd) < 0)
        (void)poll(NULL, 0, 1);
    assert_int_equal(client_from_fd(atomic_load(&f.detached_fd), &stepd), 0);
    done.has_status = true;
    done.status = 3;
    assert_int_equal(client_send(stepd, OP_STEP_DONE, FRAME_ONEWAY, 0, &done.base), 0);
    assert_int_equal(client_recv(srun, WAIT_MS, &frame), 1);
    assert_int_equal(frame.op, OP_STEP_DONE);
    assert_int_equal(client_send(srun, OP_STEP_SIGNAL, FRAME_ONEWAY, 0, NULL), 0);
    assert_int_equal(client_recv(stepd, WAIT_MS, &frame), 1);
    assert_int_equal(client_recv(stepd, 0, &frame), 0);
    srun = client_free(srun);
    assert_int_equal(client_recv(stepd, WAIT_MS, &frame), -EPIPE);
    stepd = client_free(stepd);
    srun = dial(&t); /* other operations do need an identity */
    assert_int_equal(client_call(srun, OP_DEBUG, NULL, NULL), -EREMOTEIO);
    srun = client_free(srun);
    stop(&f);
}

static void test_nonblocking(void **state)
{
    int sv[2];
    struct client *a, *b;
    static uint8_t data[200000];
    Pst__StepIo io = PST__STEP_IO__INIT;
    struct frame frame;
    int sent = 0, got = 0;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
    assert_int_equal(client_from_fd(sv[0], &a), 0);
    assert_int_equal(client_from_fd(sv[1], &b), 0);
    io.has_data = true;
    io.data.data = data;
    io.data.len = sizeof(data);
    while (client_out_pending(a) == 0) {
        assert_int_equal(client_send_nonblock(a, OP_STEP_IO, FRAME_ONEWAY, 0, &io.base), 0);
        sent++;
    }
    assert_int_equal(client_send_nonblock(a, OP_STEP_IO, FRAME_ONEWAY, 0, &io.base), 0);
    sent++;
    assert_int_equal(client_flush(a), -EAGAIN);
    assert_int_equal(client_release_fd(a), -EBUSY);
    while (got < sent) {
        int r = client_recv(b, 0, &frame);

        assert_true(r >= 0);
        if (r == 1) {
            assert_true(frame.len > sizeof(data));
            got++;
        } else {
            (void)client_flush(a); /* tried again until all is through */
        }
    }
    assert_int_equal(client_out_pending(a), 0);
    a = client_free(a);
    assert_int_equal(client_send(b, OP_STEP_IO, FRAME_ONEWAY, 0, &io.base), -EPIPE); /* no signal */
    b = client_free(b);
}

static void test_thousand(void **state)
{
    struct fixture f;
    struct server_config config = default_config(&f);
    struct client_target t;
    struct rlimit lim;
    struct client **clients;
    unsigned n = 1000;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &lim), 0);
    lim.rlim_cur = lim.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &lim);
    if (lim.rlim_cur < 2 * n + 100)
        n = ((unsigned)lim.rlim_cur - 100) / 2;
    config.threads = 4;
    start(&f, &config);
    clients = calloc(n, sizeof(*clients));
    for (unsigned i = 0; i < n; i++) {
        t = target_of(&f, i % 2);
        clients[i] = dial(&t);
    }
    for (int round = 0; round < 3; round++)
        for (unsigned i = 0; i < n; i++)
            assert_int_equal(ping(clients[i], NULL), 0);
    assert_int_equal(server_connections(f.server), n);
    for (unsigned i = 0; i < n / 2; i++)
        clients[i] = client_free(clients[i]);
    for (unsigned i = n / 2; i < n; i++)
        assert_int_equal(ping(clients[i], NULL), 0);
    stop(&f); /* with half of them open */
    assert_int_equal(atomic_load(&f.opened), n);
    for (unsigned i = n / 2; i < n; i++) {
        assert_int_equal(ping(clients[i], NULL), -EPIPE);
        clients[i] = client_free(clients[i]);
    }
    free(clients);
}

static void test_port_taken(void **state)
{
    struct fixture f;
    struct server_config config;
    struct server *second = NULL;
    struct err err = { .text = "" };

    start(&f, NULL);
    config = default_config(&f);
    config.any_port = false;
    config.port = server_port(f.server);
    assert_int_equal(server_new(&config, &second, &err), -EADDRINUSE);
    assert_non_null(strstr(err.text, "cannot listen"));
    config.bind_addr = "127.0.0.2";
    assert_int_equal(server_new(&config, &second, &err), -EADDRINUSE);
    assert_non_null(strstr(err.text, "another controller"));
    config.any_port = true; /* made but never started */
    config.port = 0;
    assert_int_equal(server_new(&config, &second, &err), 0);
    second = server_free(second);
    stop(&f);
}

/* ---- dialer ---- */

struct dial_state {
    uv_loop_t loop;
    uv_timer_t guard;
    struct dialer *d;
    unsigned ups, downs, requests, ok, refused, lost;
    bool timed_out;
};

static void dial_up(void *ctx)
{
    struct dial_state *s = ctx;

    s->ups++;
    uv_stop(&s->loop);
}

static void dial_down(void *ctx, const char *why)
{
    struct dial_state *s = ctx;

    s->downs++;
    assert_string_not_equal(why, "");
    uv_stop(&s->loop);
}

static void dial_request(void *ctx, const struct frame *frame)
{
    struct dial_state *s = ctx;

    s->requests++;
    assert_int_equal(frame->op, OP_PREPARE_JOB);
    assert_int_equal(dialer_reply(s->d, frame->op, frame->id, NULL), 0);
    uv_stop(&s->loop);
}

static void dial_reply(void *ctx, uint32_t id, int r, const struct frame *frame)
{
    struct dial_state *s = ctx;

    s->ok += r == 0;
    s->refused += r == -EREMOTEIO;
    s->lost += r == -ECONNRESET;
    assert_true((r == -ECONNRESET) == (frame == NULL));
    uv_stop(&s->loop);
}

static void on_guard(uv_timer_t *timer)
{
    ((struct dial_state *)timer->data)->timed_out = true;
    uv_stop(timer->loop);
}

/* Run the loop until *counter reaches n. */
static void run_until(struct dial_state *s, const unsigned *counter, unsigned n)
{
    (void)uv_timer_start(&s->guard, on_guard, WAIT_MS, 0);
    while (*counter < n && !s->timed_out)
        (void)uv_run(&s->loop, UV_RUN_DEFAULT);
    assert_int_equal(*counter, n);
    (void)uv_timer_stop(&s->guard);
}

static bool replied(void *arg)
{
    return atomic_load(&((struct fixture *)arg)->replies) == 1;
}

static void dial_through(bool local)
{
    static const struct dialer_hooks hooks = { dial_up, dial_down, dial_request, dial_reply };
    struct dial_state s = { .ups = 0 };
    struct client_target targets[2];
    struct server_config config;
    struct fixture f;
    uint16_t port;
    uint32_t id;

    start(&f, NULL);
    port = server_port(f.server);
    targets[0] = target_of(&f, false);
    targets[0].host = "127.0.0.2"; /* nobody there: the second is tried */
    targets[1] = target_of(&f, local);
    assert_int_equal(uv_loop_init(&s.loop), 0);
    assert_int_equal(uv_timer_init(&s.loop, &s.guard), 0);
    s.guard.data = &s;
    assert_int_equal(dialer_new(&s.loop, targets, 2, geteuid(), &hooks, &s, &s.d), 0);
    assert_false(dialer_is_up(s.d));
    assert_int_equal(dialer_request(s.d, OP_PING, NULL, &id), -ENOTCONN);
    dialer_start(s.d);
    run_until(&s, &s.ups, 1);
    assert_true(dialer_is_up(s.d));
    assert_int_equal(dialer_request(s.d, OP_NODE_REGISTER, NULL, &id), 0);
    run_until(&s, &s.requests, 1);
    run_until(&s, &s.ok, 1);
    {
        int64_t deadline = now_mono_us() + WAIT_MS * INT64_C(1000);

        while (!replied(&f) && now_mono_us() < deadline)
            (void)uv_run(&s.loop, UV_RUN_NOWAIT);
    }
    assert_true(replied(&f));
    assert_int_equal(dialer_request(s.d, OP_TOKEN, NULL, &id), 0);
    run_until(&s, &s.refused, 1);

    /* The server goes away with requests open, and comes back on the same port. */
    for (int i = 0; i < 5; i++)
        assert_int_equal(dialer_request(s.d, OP_QUERY_DIAG, NULL, &id), 0);
    stop(&f);
    run_until(&s, &s.downs, 1);
    assert_int_equal(s.lost, 5);
    assert_false(dialer_is_up(s.d));
    config = default_config(&f);
    config.any_port = false;
    config.port = port;
    start(&f, &config);
    run_until(&s, &s.ups, 2);
    assert_int_equal(dialer_request(s.d, OP_PING, NULL, &id), 0);
    run_until(&s, &s.ok, 2);
    dialer_close(s.d);
    run_until(&s, &s.downs, 2);
    uv_close((uv_handle_t *)&s.guard, NULL);
    while (uv_run(&s.loop, UV_RUN_DEFAULT) != 0)
        ;
    assert_int_equal(uv_loop_close(&s.loop), 0);
    stop(&f);
}

static void test_dialer_tcp(void **state)
{
    dial_through(false);
}

static void test_dialer_local(void **state)
{
    dial_through(true);
}

/* Closed in every phase before up; refused by the server; wrong key. */
static void test_dialer_never_up(void **state)
{
    static const struct dialer_hooks hooks = { dial_up, dial_down, dial_request, dial_reply };
    struct fixture f;

    start(&f, NULL);
    for (unsigned turns = 0; turns < 16; turns++) {
        struct dial_state s = { .ups = 0 };
        struct client_target t = target_of(&f, turns % 2);

        t.key_file = wrong_key_file;
        if (turns % 2)
            t.cluster = "elsewhere";
        assert_int_equal(uv_loop_init(&s.loop), 0);
        assert_int_equal(dialer_new(&s.loop, &t, 1, geteuid(), &hooks, &s, &s.d), 0);
        dialer_start(s.d);
        for (unsigned i = 0; i < turns / 2; i++)
            (void)uv_run(&s.loop, UV_RUN_ONCE);
        dialer_close(s.d);
        while (uv_run(&s.loop, UV_RUN_DEFAULT) != 0)
            ;
        assert_int_equal(uv_loop_close(&s.loop), 0);
        assert_int_equal(s.ups + s.downs, 0);
    }
    stop(&f);
}

/* ---- setting up ---- */

static int write_key(char *path, size_t size, const char *name, const char *text)
{
    FILE *f;

    (void)snprintf(path, size, "%s/%s", dir, name);
    f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fchmod(fileno(f), 0600) < 0)
        return -1;
    return fclose(f);
}

static int setup(void **state)
{
    (void)snprintf(dir, sizeof(dir), "/tmp/test_wire.XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    (void)snprintf(missing_file, sizeof(missing_file), "%s/none", dir);
    log_set_level(LOG_ERROR);
    return write_key(key_file, sizeof(key_file), "key", KEY_A) ||
           write_key(wrong_key_file, sizeof(wrong_key_file), "wrong", KEY_WRONG);
}

static int teardown(void **state)
{
    (void)unlink(key_file);
    (void)unlink(wrong_key_file);
    return rmdir(dir);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_identities),
        cmocka_unit_test(test_wrong_identities),
        cmocka_unit_test(test_munge),
        cmocka_unit_test(test_unreachable),
        cmocka_unit_test(test_errors_and_deadline),
        cmocka_unit_test(test_stream),
        cmocka_unit_test(test_stream_lost),
        cmocka_unit_test(test_replies_from_threads),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_server_version),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_stalled_reader),
        cmocka_unit_test(test_full_house),
        cmocka_unit_test(test_detach),
        cmocka_unit_test(test_nonblocking),
        cmocka_unit_test(test_thousand),
        cmocka_unit_test(test_port_taken),
        cmocka_unit_test(test_dialer_tcp),
        cmocka_unit_test(test_dialer_local),
        cmocka_unit_test(test_dialer_never_up),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
