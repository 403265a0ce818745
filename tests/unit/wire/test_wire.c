/* test_wire.c - server and client against each other in one process, over TCP and the local
 * socket */
#include "wire_util.h"

#include <poll.h>

#include "wire/knock.h"
#include "wire/server/conn_first.h"

/* ---- tests ----------------------------------------------------------------------------------- */

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
        assert_int_equal(auth_tokens_make(f.tokens, pw->pw_name, now_us(), 60, &token), 0);
        t.try_local = true; /* the token wins */
        t.jwt = token;
        t.key_file = NULL;
        _cleanup_(client_free) struct client *c = dial(&t);

        expect_ping(c, geteuid(), PST__AUTH_METHOD__AUTH_JWT);
    }
    stop(&f);
}

static void test_wrong_identities(void **state)
{
    struct fixture f;
    struct client_target t;
    struct err err = { .text = "" };
    _cleanup_free_ char *expired = NULL, *nobody = NULL, *good = NULL;

    start(&f, NULL);
    t = target_of(&f, false);
    t.key_file = wrong_key_file;
    assert_int_equal(try_ping(&t, &err), -EACCES);
    assert_string_equal(err.text, "Invalid authentication credential");

    t.key_file = missing_file;
    assert_int_equal(try_ping(&t, &err), -EACCES);
    assert_non_null(strstr(err.text, missing_file));

    t.key_file = key_file;
    t.cluster = "elsewhere";
    assert_int_equal(try_ping(&t, &err), -EACCES);
    assert_string_equal(err.text, "Wrong cluster: this is testcluster, not elsewhere");
    t.try_local = true;
    assert_int_equal(try_ping(&t, &err), -EREMOTEIO);
    assert_string_equal(err.text, "Wrong cluster: this is testcluster, not elsewhere");

    t.cluster = "testcluster";
    assert_int_equal(auth_tokens_make(f.tokens, "root", now_us() - 100000000, 60, &expired), 0);
    t.jwt = expired;
    assert_int_equal(try_ping(&t, &err), -EACCES);
    assert_string_equal(err.text, "Authentication credential expired");
    assert_int_equal(auth_tokens_make(f.tokens, "no-such-user-here", now_us(), 60, &nobody), 0);
    t.jwt = nobody;
    assert_int_equal(try_ping(&t, &err), -EACCES);
    assert_string_equal(err.text, "Invalid authentication credential");
    server_set_auth(f.server, f.keys, NULL); /* AuthAltTypes does not name auth/jwt */
    assert_int_equal(auth_tokens_make(f.tokens, "root", now_us(), 60, &good), 0);
    t.jwt = good;
    assert_int_equal(try_ping(&t, &err), -EACCES);
    server_set_auth(f.server, f.keys, f.tokens);
    assert_int_equal(try_ping(&t, &err), 0);
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
    assert_int_equal(try_ping(&t, &err), -EACCES);
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
    assert_int_equal(client_call(c, 118, NULL, NULL), -EREMOTEIO); /* no such operation */
    assert_int_equal(client_error(c, &text), EPST_BAD_REQUEST);
    assert_non_null(strstr(text, "118"));
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

static bool streams_done(void *arg)
{
    return atomic_load(&((struct fixture *)arg)->streams_done) == 40;
}

static bool streams_begun(void *arg)
{
    return atomic_load(&((struct fixture *)arg)->streams_begun) == 45;
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
    assert_true(wait_until(streams_done, &f));
    query.names = (char *)"100000";
    for (int i = 0; i < 5; i++)
        assert_int_equal(client_send(c, OP_QUERY_JOBS, 0, client_next_id(c), &query.base), 0);
    assert_int_equal(client_recv(c, WAIT_MS, &frame), 1);
    assert_true(wait_until(streams_begun, &f)); /* what is not read yet goes with the connection */
    c = client_free(c);
    stop(&f);
    assert_int_equal(atomic_load(&f.streams_done), 45);
}

static int count_in_order(void *ctx, const struct frame *frame)
{
    uint32_t *next = ctx;
    ProtobufCMessage *msg;

    assert_int_equal(frame_unpack(frame, frame_message(frame), &msg, NULL), 0);
    assert_int_equal(((Pst__JobStatus *)msg)->job_id, *next);
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

        assert_int_equal(client_stream(c, OP_JOB_WAIT, NULL, count_in_order, &next), 0);
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
    Pst__HelloReply reply = PST__HELLO_REPLY__INIT;
    uint8_t proof[AUTH_MAC_SIZE] = { 1 };
    uint8_t nonce[AUTH_NONCE_SIZE] = { 0 };
    int fd = accept4(im->listen_fd, NULL, NULL, SOCK_CLOEXEC);
    char knock[KNOCK_SIZE];
    struct client *c = NULL;
    struct frame frame;

    if (fd < 0 || recv(fd, knock, sizeof(knock), MSG_WAITALL) != sizeof(knock) ||
        client_from_fd(fd, &c) < 0)
        return NULL;
    challenge.has_min_version = challenge.has_max_version = challenge.has_nonce = true;
    challenge.min_version = im->min;
    challenge.max_version = im->max;
    challenge.nonce.data = nonce;
    challenge.nonce.len = sizeof(nonce);
    reply.has_proof = im->max % 2 == 0;
    reply.proof = (ProtobufCBinaryData){ sizeof(proof), proof };
    (void)client_send(c, OP_CHALLENGE, FRAME_ONEWAY, 0, &challenge.base);
    /* whoever holds the port may say Welcome, but not prove it */
    if (client_recv(c, WAIT_MS, &frame) == 1)
        (void)client_send(c, OP_HELLO, FRAME_REPLY, frame.id, &reply.base);
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
        { 1, 1, -EACCES },                               /* without a proof */
        { 2, 2, -EACCES },                               /* with a wrong one */
        { 2, WIRE_VERSION + 2, -EACCES },
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
        assert_non_null(strstr(err.text, cases[i].rc == -EPROTO ? "Protocol version"
                                                                : "does not prove itself"));
        c = client_free(c);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(close(im.listen_fd), 0);
    }
}

/* ---- the first bytes on the TCP port --------------------------------------------------------- */

static atomic_int http_fd = -1;
static char http_head[KNOCK_HTTP_SIZE + 1];

static void keep_http(void *ctx, int fd, const char *head, size_t n)
{
    (void)ctx;
    assert_true(n < sizeof(http_head));
    memcpy(http_head, head, n);
    http_head[n] = '\0';
    atomic_store(&http_fd, fd);
}

static int connect_raw(const struct fixture *f)
{
    struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons(server_port(f->server)) };
    struct timeval tv = { .tv_sec = WAIT_MS / 1000 };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)), 0);
    return fd;
}

static void expect_challenge(int fd)
{
    uint8_t header[FRAME_HEADER_SIZE];
    struct frame f;

    assert_int_equal(recv(fd, header, sizeof(header), MSG_WAITALL), sizeof(header));
    assert_int_equal(frame_read_header(header, &f), 0);
    assert_int_equal(f.op, OP_CHALLENGE);
}

static void await_http(void)
{
    for (unsigned i = 0; i < 1000 && atomic_load(&http_fd) < 0; i++)
        (void)poll(NULL, 0, 10);
    assert_true(atomic_load(&http_fd) >= 0);
}

/* A caller of HTTP who sends half of his words and leaves is handed over with what there is. */
static void test_half_a_request(void **state)
{
    struct fixture f;
    struct server_config config = default_config(&f);
    int fd;

    config.hooks.on_http = keep_http;
    start(&f, &config);
    fd = connect_raw(&f);
    assert_int_equal(send(fd, "GET /l", 6, MSG_NOSIGNAL), 6);
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    await_http();
    assert_string_equal(http_head, "GET /l");
    assert_int_equal(close(atomic_exchange(&http_fd, -1)), 0);
    assert_int_equal(close(fd), 0);
    stop(&f);
}

/* Nothing was read of an HTTP request when its socket is handed over. */
static void test_http_is_handed_over(void **state)
{
    static const char text[] = "GET /livez HTTP/1.1\r\n\r\n";
    struct fixture f;
    struct server_config config = default_config(&f);
    char buf[sizeof(text)];
    int fd;

    config.hooks.on_http = keep_http;
    start(&f, &config);
    fd = connect_raw(&f);
    assert_int_equal(send(fd, text, 3, MSG_NOSIGNAL), 3);     /* "GET": not yet a method */
    assert_int_equal(send(fd, text + 3, 8, MSG_NOSIGNAL), 8); /* not yet the words of a path */
    assert_int_equal(send(fd, text + 11, sizeof(text) - 12, MSG_NOSIGNAL), sizeof(text) - 12);
    await_http();
    assert_string_equal(http_head, "GET /livez HTTP/1.");
    assert_int_equal(recv(atomic_load(&http_fd), buf, sizeof(buf), MSG_DONTWAIT), sizeof(text) - 1);
    assert_int_equal(close(atomic_exchange(&http_fd, -1)), 0);
    assert_int_equal(close(fd), 0);
    stop(&f);
}

static void test_first_bytes(void **state)
{
    static const struct {
        const char *bytes;
        bool welcome;
    } cases[] = { { KNOCK, true },
                  { "GET / HTTP/1.1\r\n\r\n", false }, /* no hook: not served */
                  { "SSH-2.0-x", false },
                  { "\x16\x03\x01\x02", false } };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fixture f;
        char c;
        int fd;

        start(&f, NULL);
        fd = connect_raw(&f);
        assert_int_equal(send(fd, cases[i].bytes, strlen(cases[i].bytes), MSG_NOSIGNAL),
                         strlen(cases[i].bytes));
        if (cases[i].welcome)
            expect_challenge(fd);
        else
            assert_true(recv(fd, &c, 1, 0) <= 0);
        assert_int_equal(close(fd), 0);
        stop(&f);
    }
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
        cmocka_unit_test(test_http_is_handed_over),
        cmocka_unit_test(test_half_a_request),
        cmocka_unit_test(test_first_bytes),
    };

    /* daemons that others run on this host vouch for nobody here */
    (void)setenv("SLURM_SACK_SOCKET", "/nonexistent", 1);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
