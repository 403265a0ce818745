/* test_profsocket.c - the socket for samples: lines that are whole, one socket after another */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "noded/hw/profsocket.h"
#include "base/strbuf.h"
#include "stepd/use/stepprof.h"

static char dir[64], path[96];

static int begin(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof(dir), "/tmp/penstock-profsocket-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    (void)snprintf(path, sizeof(path), "%s/" PROFILE_SOCKET, dir);
    return 0;
}

static int end(void **state)
{
    (void)state;
    return rmdir(dir); /* the socket has gone */
}

static void leave_lines(const char *lines)
{
    struct sockaddr_un sa = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    (void)snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", path);
    assert_int_equal(sendto(fd, lines, strlen(lines), 0, (struct sockaddr *)&sa, sizeof(sa)),
                     strlen(lines));
    (void)close(fd);
}

static void add_lines(void *ctx, const char *lines, size_t len)
{
    strbuf_addn(ctx, lines, len);
}

static void test_lines(void **state)
{
    struct strbuf got = STRBUF_INIT;
    struct profsocket *s = NULL, *next = NULL;
    struct err err = { .text = "" };
    uv_loop_t loop;

    (void)state;
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(profsocket_open(&loop, dir, add_lines, &got, &s, &err), 0);
    leave_lines("no end of line");
    leave_lines("one\n");
    profsocket_drain(s);
    leave_lines("two\n");
    /* of another type, opened before this one is closed: its name stays */
    assert_int_equal(profsocket_open(&loop, dir, add_lines, &got, &next, &err), 0);
    s = profsocket_close(s);
    assert_string_equal(strbuf_str(&got), "one\ntwo\n");
    leave_lines("three\n");
    (void)uv_run(&loop, UV_RUN_NOWAIT);
    (void)uv_run(&loop, UV_RUN_NOWAIT);
    assert_string_equal(strbuf_str(&got), "one\ntwo\nthree\n");
    next = profsocket_close(next);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    assert_int_equal(access(path, F_OK), -1);
    strbuf_done(&got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, begin, end);
}
