/* test_wire_server.c - addresses, the local socket that opens later, frames that several peers
 * share, work on a connection's thread, other certificates */
#include "wire_util.h"

#include "base/logflags.h"
#include "wire/server/conn_tls.h"
#include "wire/shared.h"
#include "wire/tls/tls.h"

static struct tls_ctx *new_context(bool need_cert)
{
    struct tls_config c = { .kind = TLS_AUTO, .any_server = true, .need_cert = need_cert };
    struct tls_ctx *ctx = NULL;

    assert_int_equal(tls_ctx_load(&c, &ctx, NULL), 0);
    return ctx;
}

/* ---- addresses ------------------------------------------------------------------------------- */

static void expect_address(struct fixture *f, const char *host, const char *addr)
{
    struct client_target t = target_of(f, false);
    _cleanup_(client_free) struct client *c = NULL;
    Pst__PingReply *reply = NULL;

    t.host = host;
    c = dial(&t);
    assert_int_equal(ping(c, &reply), 0);
    assert_string_equal(reply->mode, addr);
    protobuf_c_message_free_unpacked(&reply->base, NULL);
}

static bool has_ipv6(void)
{
    struct sockaddr_in6 sa = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    _cleanup_close_ int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

    return fd >= 0 && bind(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0;
}

/* One socket for both families: an IPv4 peer is shown, and counted, by its IPv4 address. */
static void test_addresses(void **state)
{
    struct fixture f;
    struct server_config config = default_config(&f);

    (void)state;
    config.bind_addr = NULL;
    start(&f, &config);
    expect_address(&f, "127.0.0.1", "127.0.0.1");
    if (has_ipv6())
        expect_address(&f, "::1", "::1");
    stop(&f);
    config.bind_addr = "localhost";
    start(&f, &config);
    stop(&f);
    config.bind_addr = "no.such.host.invalid";
    config.keys = NULL;
    {
        struct err err = { .text = "" };
        struct server *s = NULL;

        assert_true(server_new(&config, &s, &err) < 0);
        assert_true(err.text[0]);
        assert_null(s);
    }
}

/* A child of the daemon before holds the port until it is told to go. */
static pid_t hold_port(uint16_t port, int *ret_go)
{
    struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons(port) };
    int go[2], fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    pid_t pid;
    char c;

    assert_int_equal(pipe(go), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
    assert_int_equal(listen(fd, 1), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)close(go[1]);
        _exit(read(go[0], &c, 1) < 0);
    }
    (void)close(fd);
    (void)close(go[0]);
    *ret_go = go[1];
    return pid;
}

static void test_port_let_go(void **state)
{
    struct fixture f;
    struct server_config config;
    struct server *s = NULL;
    struct err err = { .text = "" };
    pid_t pid;
    int go;

    (void)state;
    start(&f, NULL);
    config = default_config(&f);
    config.any_port = false;
    {
        struct sockaddr_in any = { .sin_family = AF_INET };
        socklen_t len = sizeof(any);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_int_equal(bind(fd, (struct sockaddr *)&any, len), 0);
        assert_int_equal(getsockname(fd, (struct sockaddr *)&any, &len), 0);
        config.port = ntohs(any.sin_port);
        (void)close(fd);
    }
    pid = hold_port(config.port, &go);
    assert_int_equal(write(go, "g", 1), 1); /* it goes while the server tries */
    assert_int_equal(server_new(&config, &s, &err), 0);
    s = server_free(s);
    (void)close(go);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    stop(&f);
}

/* ---- the local socket ------------------------------------------------------------------------ */

static bool local_answers(void *arg)
{
    struct fixture *f = arg;
    struct sockaddr_un sa;
    socklen_t len = wire_local_name(server_port(f->server), &sa);
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    return connect(fd, (struct sockaddr *)&sa, len) == 0;
}

/* The port is open at once, the local socket when the daemon says so. */
static void test_local_later(void **state)
{
    struct client_target t;
    struct fixture f;
    struct server_config config = default_config(&f);

    (void)state;
    config.local_socket = false;
    start(&f, &config);
    t = target_of(&f, true);
    assert_false(local_answers(&f));
    {
        _cleanup_(client_free) struct client *c = dial(&t); /* the network is left */

        expect_ping(c, geteuid(), PST__AUTH_METHOD__AUTH_KEY);
    }
    server_open_local(f.server);
    assert_true(wait_until(local_answers, &f));
    {
        _cleanup_(client_free) struct client *c = dial(&t);

        expect_ping(c, geteuid(), PST__AUTH_METHOD__AUTH_PEERCRED);
    }
    stop(&f);
}

/* Somebody else has the name: the daemon serves the network meanwhile. */
static void test_local_taken(void **state)
{
    struct sockaddr_un sa;
    struct client_target t;
    struct fixture f;
    struct server_config config = default_config(&f);
    int squatter = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t len;

    (void)state;
    config.local_socket = false;
    start(&f, &config);
    len = wire_local_name(server_port(f.server), &sa);
    assert_int_equal(bind(squatter, (struct sockaddr *)&sa, len), 0);
    server_open_local(f.server);
    t = target_of(&f, false);
    {
        _cleanup_(client_free) struct client *c = dial(&t);

        expect_ping(c, geteuid(), PST__AUTH_METHOD__AUTH_KEY);
    }
    (void)close(squatter);
    server_open_local(f.server); /* looks again */
    assert_true(wait_until(local_answers, &f));
    stop(&f);
}

/* ---- frames that are shared ------------------------------------------------------------------ */

static struct shared_bytes *body; /* of a JobStatus */

static void send_parts(struct conn *c, void *arg)
{
    uint32_t id = *(uint32_t *)arg;
    struct shared_bytes *none = shared_new(0);

    assert_non_null(none);
    conn_send_shared(c, OP_JOB_WAIT, FRAME_MORE, id, body);
    conn_send_shared(c, OP_JOB_WAIT, FRAME_MORE, id, none);
    assert_true(conn_out_bytes(c) > 0);
    conn_send_shared(c, OP_JOB_WAIT, 0, id, body);
    shared_unref(none);
    free(arg);
}

struct errand_out {
    struct conn *c;
    uint32_t *id;
};

/* From another thread; the frames leave on the connection's. */
static void *run_errand(void *arg)
{
    struct errand_out *e = arg;

    assert_int_equal(conn_run(e->c, send_parts, e->id), 0);
    (void)conn_unref(e->c);
    free(e);
    return NULL;
}

static atomic_uint errands;

static void share_request(void *ctx, struct conn *c, const struct frame *frame)
{
    struct errand_out *e = malloc(sizeof(*e));
    uint32_t *id = malloc(sizeof(*id));
    pthread_t thread;

    (void)ctx;
    assert_true(e && id);
    *id = frame->id;
    if (frame->op == OP_PING) { /* at once, on this thread */
        free(e);
        assert_int_equal(conn_run(c, send_parts, id), 0);
        return;
    }
    *e = (struct errand_out){ .c = conn_ref(c), .id = id };
    assert_int_equal(pthread_create(&thread, NULL, run_errand, e), 0);
    (void)pthread_detach(thread);
    atomic_fetch_add(&errands, 1);
}

static void nothing_closed(void *ctx, struct conn *c)
{
    (void)ctx, (void)c;
}

static void expect_parts(struct client *c, unsigned op)
{
    uint32_t id = client_next_id(c);

    assert_int_equal(client_send(c, op, 0, id, NULL), 0);
    for (unsigned i = 0; i < 3; i++) {
        ProtobufCMessage *msg = NULL;
        struct frame frame;

        assert_int_equal(client_recv(c, WAIT_MS, &frame), 1);
        assert_int_equal(frame.op, OP_JOB_WAIT);
        assert_int_equal(frame.id, id);
        assert_int_equal((frame.flags & FRAME_MORE) != 0, i < 2);
        assert_int_equal(frame.len > 0, i != 1);
        assert_int_equal(frame_unpack(&frame, frame_message(&frame), &msg, NULL), 0);
        assert_int_equal(((Pst__JobStatus *)msg)->job_id, i == 1 ? 0 : 77);
        protobuf_c_message_free_unpacked(msg, NULL);
    }
}

/* The same bytes, each with the tag of its connection: sealed, plain, in TLS. */
static void test_shared(void **state)
{
    _cleanup_(tls_ctx_unref) struct tls_ctx *server = new_context(true), *mine = new_context(false);
    Pst__JobStatus status = PST__JOB_STATUS__INIT;

    (void)state;
    status.has_job_id = true;
    status.job_id = 77;
    body = shared_new(pst__job_status__get_packed_size(&status));
    assert_non_null(body);
    (void)pst__job_status__pack(&status, body->data);
    for (int tls = 0; tls < 2; tls++) {
        struct fixture f;
        struct server_config config = default_config(&f);

        config.tls = tls ? server : NULL;
        config.hooks =
            (struct server_hooks){ .on_request = share_request, .on_close = nothing_closed };
        start(&f, &config);
        for (int local = 0; local < 2; local++) {
            struct client_target t = target_of(&f, local);
            _cleanup_(client_free) struct client *c = NULL;

            t.tls = tls ? mine : NULL;
            c = dial(&t);
            expect_parts(c, OP_PING);
            expect_parts(c, OP_QUERY_DIAG);
            expect_parts(c, OP_PING); /* the numbers of the tags go on */
        }
        stop(&f);
    }
    assert_int_equal(atomic_load(&body->refs), 1); /* all gave it back */
    body = shared_unref(body);
}

/* ---- certificates ---------------------------------------------------------------------------- */

/* Callers to come meet the new certificate; who is there already goes on. */
static void test_other_certificate(void **state)
{
    _cleanup_(tls_ctx_unref) struct tls_ctx *first = new_context(true), *second = new_context(true);
    _cleanup_(tls_ctx_unref) struct tls_ctx *mine = new_context(false);
    struct client_target t;
    struct fixture f;
    struct server_config config = default_config(&f);

    (void)state;
    config.tls = first;
    start(&f, &config);
    t = target_of(&f, false);
    t.tls = mine;
    {
        _cleanup_(client_free) struct client *c = dial(&t), *later = NULL;

        server_set_tls(f.server, second);
        expect_ping(c, geteuid(), PST__AUTH_METHOD__AUTH_KEY);
        later = dial(&t);
        expect_ping(later, geteuid(), PST__AUTH_METHOD__AUTH_KEY);
        expect_ping(c, geteuid(), PST__AUTH_METHOD__AUTH_KEY);
    }
    stop(&f);
}

/* What AuditTLS says: a handshake, and one that fails. */
static atomic_uint audits, audit_failures;

static void note_tls(void *ctx, const struct peer *peer, const char *why)
{
    (void)ctx;
    server_log_tls(peer, why);
    atomic_fetch_add(why ? &audit_failures : &audits, 1);
}

static void test_audit(void **state)
{
    _cleanup_(tls_ctx_unref) struct tls_ctx *server = new_context(true), *mine = new_context(false);
    static const uint8_t no_tls[] = { 0x16, 3, 1, 0, 5, 9, 9, 9, 9, 9 };
    struct client_target t;
    struct fixture f;
    struct server_config config = default_config(&f);
    int fd;

    (void)state;
    logflags_set("AuditTLS");
    config.tls = server;
    config.hooks.on_tls = note_tls;
    start(&f, &config);
    t = target_of(&f, false);
    t.tls = mine;
    {
        _cleanup_(client_free) struct client *c = dial(&t);

        expect_ping(c, geteuid(), PST__AUTH_METHOD__AUTH_KEY);
    }
    assert_int_equal(atomic_load(&audits), 1);
    fd = raw_connect(&f); /* begins as TLS does, and is none */
    assert_int_equal(send(fd, no_tls, sizeof(no_tls), MSG_NOSIGNAL), sizeof(no_tls));
    expect_closed(fd);
    assert_int_equal(atomic_load(&audit_failures), 1);
    assert_int_equal(atomic_load(&audits), 1);
    stop(&f);
}

/* ---- the last word --------------------------------------------------------------------------- */

/* A server that takes requests and answers none, and its end once it has one. */
struct silent {
    struct fixture f;
    atomic_uint heard;
    unsigned await;
};

static void hear_request(void *ctx, struct conn *c, const struct frame *frame)
{
    struct fixture *f = ctx;

    (void)c, (void)frame;
    atomic_fetch_add(&((struct silent *)f)->heard, 1); /* the first member */
}

static bool has_heard(void *arg)
{
    struct silent *s = arg;

    return atomic_load(&s->heard) >= s->await;
}

static void *end_server(void *arg)
{
    struct silent *s = arg;

    assert_true(wait_until(has_heard, s));
    server_stop(s->f.server);
    return NULL;
}

static int dial_next(void *ctx, struct client **ret_client)
{
    struct client_target t = target_of(ctx, false);

    *ret_client = dial(&t);
    return 0;
}

static int take_frame(void *ctx, const struct frame *frame)
{
    (void)frame;
    ++*(unsigned *)ctx;
    return 0;
}

/* Ask a server for `op` that ends with the request; the answer is the next server's, when there
 * is one. */
static int ask_ending(unsigned op, bool farewell, struct fixture *next, unsigned *ret_frames)
{
    struct silent s = { .await = 1 };
    struct server_config config = default_config(&s.f);
    _cleanup_(client_free) struct client *c = NULL;
    Pst__QueryRequest query = PST__QUERY_REQUEST__INIT;
    struct client_target t;
    pthread_t thread;
    int r;

    query.names = (char *)"3";
    config.hooks.on_request = hear_request;
    start(&s.f, &config);
    if (farewell)
        server_set_farewell(s.f.server, ESLURM_IN_STANDBY_MODE);
    t = target_of(&s.f, false);
    c = dial(&t);
    if (next)
        client_set_again(c, dial_next, next);
    assert_int_equal(pthread_create(&thread, NULL, end_server, &s), 0);
    *ret_frames = 0;
    r = op == OP_QUERY_JOBS ? client_stream(c, op, &query.base, take_frame, ret_frames)
                            : client_call(c, op, NULL, NULL);
    (void)pthread_join(thread, NULL);
    if (r == -EREMOTEIO)
        r = client_error(c, NULL);
    stop(&s.f);
    return r;
}

/* A controller that leaves says so: what it took and did not answer is asked of the next one. */
static void test_farewell(void **state)
{
    struct fixture next;
    unsigned frames;

    (void)state;
    start(&next, NULL);
    assert_int_equal(ask_ending(OP_JOB_SUBMIT, false, &next, &frames), -EPIPE);
    assert_int_equal(ask_ending(OP_JOB_SUBMIT, true, NULL, &frames), ESLURM_IN_STANDBY_MODE);
    assert_int_equal(ask_ending(OP_JOB_SUBMIT, true, &next, &frames),
                     ESLURM_INVALID_PARTITION_NAME); /* that one's answer */
    assert_int_equal(ask_ending(OP_QUERY_JOBS, true, &next, &frames), 0);
    assert_int_equal(frames, 3);
    /* accounting may go on with what it was handed */
    assert_int_equal(ask_ending(OP_ACCT_ADMIN, true, &next, &frames), -EPIPE);
    stop(&next);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),   cmocka_unit_test(test_port_let_go),
        cmocka_unit_test(test_local_later), cmocka_unit_test(test_local_taken),
        cmocka_unit_test(test_shared),      cmocka_unit_test(test_other_certificate),
        cmocka_unit_test(test_audit),       cmocka_unit_test(test_farewell),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
