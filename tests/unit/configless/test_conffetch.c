/* test_conffetch.c - whom a host without files asks for the next configuration */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "configless/conffetch.h"

/* A host that takes connections, and says nothing: as a controller that stands still. */
static int open_silent(struct confserver *ret)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_in sa = { .sin_family = AF_INET };
    socklen_t len = sizeof(sa);

    sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
    assert_int_equal(listen(fd, 4), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
    (void)snprintf(ret->host, sizeof(ret->host), "127.0.0.1");
    ret->port = ntohs(sa.sin_port);
    return fd;
}

static void expect_asked(int listener)
{
    int fd = accept(listener, NULL, NULL);

    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
    assert_int_equal(close(listener), 0);
}

/* Who waits for the next configuration goes on to the next controller when the first is not there:
 * that is no word that there is nothing new. */
static void test_silent_host_is_passed(void **state)
{
    uint8_t digest[32] = { 1 };
    ProtobufCBinaryData have = { sizeof(digest), digest };
    struct confservers servers = { .n = 2 };
    struct conffetch f = {
        .servers = &servers, .jwt = "a.b.c", .program = "test", .timeout_ms = 200
    };
    struct err err = { .text = "" };
    Pst__ConfBundle *b = NULL;
    int first, second;

    (void)state;
    first = open_silent(&servers.list[0]);
    second = open_silent(&servers.list[1]);
    assert_int_equal(conffetch_next(&f, &have, &b, &err), -EHOSTUNREACH);
    assert_null(b);
    assert_string_not_equal(err.text, "");
    assert_false(conffetch_is_final(-EHOSTUNREACH));
    expect_asked(first);
    expect_asked(second);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_silent_host_is_passed),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
