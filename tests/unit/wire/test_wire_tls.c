/* test_wire_tls.c - server and client inside TLS: requests, long answers, plain callers, HTTP */
#include "wire_util.h"

#include "wire/client_tls.h"
#include "wire/knock.h"
#include "wire/server/conn_tls.h"
#include "wire/server/tlspipe.h"
#include "wire/tls/tls.h"

static struct tls_ctx *context(bool need_cert)
{
    struct tls_config c = { .kind = TLS_AUTO, .any_server = true, .need_cert = need_cert };
    struct tls_ctx *ctx = NULL;
    struct err err = { .text = "" };

    if (tls_ctx_load(&c, &ctx, &err) < 0)
        fail_msg("%s", err.text);
    return ctx;
}

static atomic_int http_fd = -1;

static void take_http(void *ctx, int fd, const char *head, size_t n)
{
    (void)ctx;
    atomic_store(&http_fd, fd);
}

static bool has_http(void *arg)
{
    (void)arg;
    return atomic_load(&http_fd) >= 0;
}

static void start_tls(struct fixture *f, struct tls_ctx *ctx)
{
    struct server_config config;

    memset(f, 0, sizeof(*f));
    config = default_config(f);
    config.tls = ctx;
    config.hooks.on_http = take_http;
    start(f, &config);
}

static int count_frames(void *ctx, const struct frame *frame)
{
    (void)frame;
    ++*(unsigned *)ctx;
    return 0;
}

static void test_requests(void **state)
{
    _cleanup_(tls_ctx_unref) struct tls_ctx *server = context(true), *mine = context(false);
    Pst__QueryRequest query = PST__QUERY_REQUEST__INIT;
    struct fixture f;
    struct client_target t;
    unsigned n = 0;

    (void)state;
    start_tls(&f, server);
    t = target_of(&f, false);
    t.tls = mine;
    {
        _cleanup_(client_free) struct client *c = dial(&t);

        expect_ping(c, geteuid(), PST__AUTH_METHOD__AUTH_KEY);
        query.names = (char *)"100";
        assert_int_equal(client_stream(c, OP_QUERY_JOBS, &query.base, count_frames, &n), 0);
        assert_int_equal(n, 100);
        expect_ping(c, geteuid(), PST__AUTH_METHOD__AUTH_KEY);
        assert_int_equal(client_stream_key(c).len, 0);
        assert_int_equal(client_release_fd(c), -EBUSY); /* its state cannot be handed over */
    }
    t = target_of(&f, true); /* the local socket is not encrypted */
    {
        _cleanup_(client_free) struct client *c = dial(&t);

        expect_ping(c, geteuid(), PST__AUTH_METHOD__AUTH_PEERCRED);
    }
    stop(&f);
}

static void test_wrong_key(void **state)
{
    _cleanup_(tls_ctx_unref) struct tls_ctx *server = context(true), *mine = context(false);
    struct err err = { .text = "" };
    struct fixture f;
    struct client_target t;

    (void)state;
    start_tls(&f, server);
    t = target_of(&f, false);
    t.tls = mine;
    t.key_file = wrong_key_file;
    assert_int_equal(try_ping(&t, &err), -EACCES);
    stop(&f);
}

static void test_plain_callers(void **state)
{
    _cleanup_(tls_ctx_unref) struct tls_ctx *server = context(true), *mine = context(false);
    struct err err = { .text = "" };
    struct fixture f;
    struct client_target t;

    (void)state;
    start_tls(&f, server);
    t = target_of(&f, false);
    assert_int_equal(try_ping(&t, &err), -EPROTONOSUPPORT);
    assert_non_null(strstr(err.text, "encrypted connections only"));
    stop(&f);
    start(&f, NULL);
    t = target_of(&f, false);
    t.tls = mine;
    assert_true(try_ping(&t, &err) < 0);
    assert_non_null(strstr(err.text, "TLS: the peer closed the connection"));
    stop(&f);
}

/* The service of HTTP gets a plain socket, and what it says comes back encrypted. */
static void test_http(void **state)
{
    static const char request[] = "GET /livez HTTP/1.1\r\n\r\n";
    _cleanup_(tls_ctx_unref) struct tls_ctx *server = context(true), *mine = context(false);
    _cleanup_(tls_free) struct tls *tls = NULL;
    struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), plain;
    struct pollfd p = { .fd = fd, .events = POLLIN };
    char got[64] = "";
    struct fixture f;
    ssize_t n;

    (void)state;
    start_tls(&f, server);
    sa.sin_port = htons(server_port(f.server));
    assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
    assert_int_equal(tls_new_client(mine, fd, &tls), 0);
    while ((n = tls_write(tls, request, strlen(request))) == -EAGAIN)
        assert_int_equal(poll(&p, 1, WAIT_MS), 1);
    assert_int_equal(n, strlen(request));
    assert_true(wait_until(has_http, NULL));
    plain = atomic_exchange(&http_fd, -1);
    p.fd = plain;
    assert_int_equal(poll(&p, 1, WAIT_MS), 1);
    assert_int_equal(recv(plain, got, sizeof(got), 0), strlen(request));
    assert_memory_equal(got, request, strlen(request));
    assert_int_equal(send(plain, "HTTP/1.1 204\r\n", 14, MSG_NOSIGNAL), 14);
    (void)close(plain);
    p.fd = fd;
    while ((n = tls_read(tls, got, sizeof(got))) == -EAGAIN)
        assert_int_equal(poll(&p, 1, WAIT_MS), 1);
    assert_int_equal(n, 14);
    assert_memory_equal(got, "HTTP/1.1 204", 12);
    (void)close(fd);
    stop(&f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_wrong_key),
        cmocka_unit_test(test_plain_callers),
        cmocka_unit_test(test_http),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
