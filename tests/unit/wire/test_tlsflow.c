/* test_tlsflow.c - bytes between TLS and a plain socket, both ways, and the end of either */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/tls/tls.h"
#include "wire/tls/tlsflow.h"

#define TURNS 10000

struct both {
    struct tls_ctx *ctx;
    struct tls *caller;
    struct tlsflow *flow;
    int net[2], plain[2]; /* the caller's and the flow's; the flow's and the server's */
};

static void open_both(struct both *b)
{
    struct tls_config config = { .kind = TLS_AUTO, .any_server = true, .need_cert = true };
    struct err err = { .text = "" };
    struct tls *tls;

    assert_int_equal(tls_ctx_new(&config, &b->ctx, &err), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, b->net), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, b->plain),
                     0);
    assert_int_equal(tls_new_client(b->ctx, b->net[0], &b->caller), 0);
    assert_int_equal(tls_new_server(b->ctx, b->net[1], NULL, NULL, &tls), 0);
    assert_int_equal(tlsflow_new(tls, b->net[1], b->plain[0], &b->flow), 0);
}

static void close_both(struct both *b)
{
    b->caller = tls_free(b->caller);
    b->flow = tlsflow_free(b->flow);
    (void)close(b->net[0]);
    if (b->plain[1] >= 0)
        (void)close(b->plain[1]);
    b->ctx = tls_ctx_unref(b->ctx);
}

/* Until the text has come to the server's end. */
static void send_in(struct both *b, const char *text)
{
    char got[64] = "";
    ssize_t n = -1;
    size_t sent = 0;

    for (int i = 0; i < TURNS && n < 0; i++) {
        if (!sent && tls_write(b->caller, text, strlen(text)) > 0)
            sent = 1;
        assert_true(tlsflow_move(b->flow));
        n = recv(b->plain[1], got, sizeof(got) - 1, 0);
    }
    assert_string_equal(got, text);
}

static void test_both_ways(void **state)
{
    struct both b;
    short net, plain;
    char got[64] = "";
    ssize_t n = -1;

    (void)state;
    open_both(&b);
    send_in(&b, "hello");
    tlsflow_events(b.flow, &net, &plain);
    assert_int_equal(net, POLLIN);
    assert_int_equal(plain, POLLIN);
    assert_int_equal(send(b.plain[1], "answer", 6, 0), 6);
    for (int i = 0; i < TURNS && n < 0; i++) {
        assert_true(tlsflow_move(b.flow));
        n = tls_read(b.caller, got, sizeof(got) - 1);
    }
    assert_string_equal(got, "answer");
    (void)close(b.plain[1]); /* the server is done */
    b.plain[1] = -1;
    assert_false(tlsflow_move(b.flow));
    close_both(&b);
}

/* The caller leaves: what it sent comes, then the end; the server may still answer. */
static void test_caller_ends(void **state)
{
    struct both b;
    char got[8];

    (void)state;
    open_both(&b);
    send_in(&b, "last");
    assert_int_equal(shutdown(b.net[0], SHUT_WR), 0);
    assert_true(tlsflow_move(b.flow));
    assert_int_equal(recv(b.plain[1], got, sizeof(got), 0), 0);
    close_both(&b);
}

/* Who reads nothing stops the other: no more than the sockets and a buffer hold is taken. */
static void test_slow_end(void **state)
{
    struct both b;
    static char much[1 << 20];
    short net, plain;
    size_t sent = 0;
    ssize_t n;

    (void)state;
    open_both(&b);
    send_in(&b, "hello");
    while ((n = send(b.plain[1], much, sizeof(much), 0)) > 0) {
        sent += (size_t)n;
        assert_true(tlsflow_move(b.flow));
        assert_true(sent < 64u << 20);
    }
    assert_int_equal(errno, EAGAIN);
    tlsflow_events(b.flow, &net, &plain);
    assert_int_equal(net & POLLOUT, POLLOUT);
    assert_int_equal(plain & POLLIN, 0);
    close_both(&b);
}

static void test_no_tls(void **state)
{
    struct both b;

    (void)state;
    open_both(&b);
    assert_int_equal(send(b.net[0], "GET / HTTP/1.1\r\n\r\n", 18, 0), 18);
    assert_false(tlsflow_move(b.flow));
    close_both(&b);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_ways),
        cmocka_unit_test(test_caller_ends),
        cmocka_unit_test(test_slow_end),
        cmocka_unit_test(test_no_tls),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
