/* test_keepalive.c - what the kernel is told of silent peers */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "wire/keepalive.h"

static int option_of(int fd, int level, int option)
{
    int value = -1;
    socklen_t len = sizeof(value);

    assert_int_equal(getsockopt(fd, level, option, &value, &len), 0);
    return value;
}

static void expect_tuned(const unsigned parts[KEEPALIVE_PARTS], int idle, int interval, int probes)
{
    _cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    keepalive_tune(fd, parts);
    assert_int_equal(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
    assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_NODELAY), 1);
    assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_KEEPIDLE), idle);
    assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_KEEPINTVL), interval);
    assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_KEEPCNT), probes);
}

static void test_parts(void **state)
{
    (void)state;
    expect_tuned((const unsigned[]){ 0, 0, 0 }, 30, 10, 3);
    expect_tuned((const unsigned[]){ 77, 0, 9 }, 77, 10, 9);
    expect_tuned((const unsigned[]){ 5, 2, 0 }, 5, 2, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_parts) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
