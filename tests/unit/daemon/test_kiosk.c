/* test_kiosk.c - sack.socket: places, lengths, and what stays behind */
#include <endian.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/kiosk.h"
#include "wire/auth/vouch.h"

static char folder[] = "/tmp/test-kiosk-XXXXXX", inner[64];

static int connect_to(void)
{
    struct sockaddr_un sa = { .sun_family = AF_UNIX };
    struct timeval tv = { .tv_sec = 30 };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    (void)snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/" VOUCH_SOCKET, inner);
    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
    return fd;
}

/* The daemon's sentence; NULL: it hung up. */
static Pst__VouchReply *ask(const void *bytes, size_t n)
{
    uint8_t buf[1024];
    int fd = connect_to();
    size_t have = 0;
    ssize_t got;

    assert_int_equal(send(fd, bytes, n, MSG_NOSIGNAL), (ssize_t)n);
    while ((got = recv(fd, buf + have, sizeof(buf) - have, 0)) > 0)
        have += (size_t)got;
    (void)close(fd);
    return have > 4 ? pst__vouch_reply__unpack(NULL, have - 4, buf + 4) : NULL;
}

static void test_life(void **state)
{
    static const uint8_t empty[4] = { 0 };
    const uint32_t huge = htole32(VOUCH_BYTES_MAX + 1);
    struct kiosk *k = NULL, *other = NULL;
    Pst__VouchReply *reply;
    struct err err = { .text = "" };
    int silent;

    assert_int_equal(kiosk_open("slurm", geteuid(), &k, &err), 0);
    assert_int_equal(kiosk_open("slurm", geteuid(), &other, &err), -EADDRINUSE);
    assert_non_null(strstr(err.text, "another daemon has it"));
    silent = connect_to(); /* stops nobody */
    reply = ask(empty, sizeof(empty));
    assert_non_null(reply);
    assert_non_null(strstr(reply->refused, "no key to vouch with"));
    pst__vouch_reply__free_unpacked(reply, NULL);
    assert_null(ask(&huge, sizeof(huge)));
    (void)close(silent);
    assert_null(kiosk_close(k));
    assert_int_equal(access(inner, F_OK), -1); /* it made the folder */
}

static void test_long_path(void **state)
{
    struct kiosk *k = NULL;
    struct err err = { .text = "" };
    char path[200];

    memset(path, 'x', sizeof(path) - 1);
    path[0] = '/';
    path[sizeof(path) - 1] = '\0';
    assert_int_equal(setenv("RUNTIME_DIRECTORY", path, 1), 0);
    assert_int_equal(kiosk_open("slurm", geteuid(), &k, &err), -ENAMETOOLONG);
    assert_null(kiosk_close(NULL));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_life),
        cmocka_unit_test(test_long_path),
    };
    int failed;

    if (!mkdtemp(folder))
        return 1;
    (void)snprintf(inner, sizeof(inner), "%s/run", folder);
    if (setenv("RUNTIME_DIRECTORY", inner, 1) != 0)
        return 1;
    cmocka_set_message_output(CM_OUTPUT_TAP);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    return rmdir(folder) == 0 ? failed : 1;
}
