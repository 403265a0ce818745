/* test_tlsrefuse.c - a caller whose connection was detached hears a refusal over TLS */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "noded/link/tlsrefuse.h"
#include "wire/frame.h"
#include "wire/ops.h"
#include "wire/tls/tls.h"

static unsigned count_tasks(void)
{
    DIR *dir = opendir("/proc/self/task");
    unsigned n = 0;

    assert_non_null(dir);
    for (const struct dirent *e; (e = readdir(dir));)
        n += e->d_name[0] != '.';
    (void)closedir(dir);
    return n;
}

/* The thread that refuses is detached.  While it ends, what it has of the library looks lost. */
static void wait_alone(unsigned before)
{
    for (unsigned i = 0; i < 1000 && count_tasks() > before; i++)
        (void)poll(NULL, 0, 10);
    assert_true(count_tasks() <= before);
}

static void test_refusal(void **state)
{
    _cleanup_(tls_ctx_unref) struct tls_ctx *ctx = NULL;
    uint8_t key[TLS_KEY_SIZE] = { 5 }, got[4096];
    _cleanup_(tls_free) struct tls *tls = NULL;
    struct pollfd p = { .events = POLLIN };
    unsigned before = count_tasks(); /* a sanitizer has one of its own */
    struct frame f;
    int fd[2];
    ssize_t n;

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
    assert_int_equal(tls_ctx_of_keys(&ctx, NULL), 0);
    assert_int_equal(tls_new_stream_client(ctx, fd[0], key, &tls), 0);
    tlsrefuse(fd[1], (ProtobufCBinaryData){ sizeof(key), key }, OP_LAUNCH_STEP, 3, 2001, "Not now");
    p.fd = fd[0];
    while ((n = tls_read(tls, got, sizeof(got))) == -EAGAIN)
        assert_int_equal(poll(&p, 1, 10000), 1);
    assert_true(n >= (ssize_t)FRAME_HEADER_SIZE);
    assert_int_equal(frame_decode_header(got, &f), 0);
    assert_int_equal(f.op, OP_LAUNCH_STEP);
    assert_int_equal(f.id, 3);
    assert_true(f.flags & FRAME_ERROR);
    (void)close(fd[0]);
    wait_alone(before);
}

/* A key of no size that there is: the connection just ends. */
static void test_wrong_size(void **state)
{
    uint8_t key[2 * TLS_KEY_SIZE] = { 5 }, byte;
    int fd[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
    tlsrefuse(fd[1], (ProtobufCBinaryData){ sizeof(key), key }, OP_LAUNCH_STEP, 3, 2001, "Not now");
    assert_int_equal(recv(fd[0], &byte, 1, 0), 0);
    (void)close(fd[0]);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusal),
        cmocka_unit_test(test_wrong_size),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
