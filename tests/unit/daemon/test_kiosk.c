/* test_kiosk.c - sack.socket: places, lengths, and what stays behind */
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/kiosk.h"
#include "wire/auth/vouch.h"

static char folder[] = "/tmp/test-kiosk-XXXXXX", inner[64];

static void connect_by(int fd)
{
    struct sockaddr_un sa = { .sun_family = AF_UNIX };
    struct timeval tv = { .tv_sec = 30 };

    (void)snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/" VOUCH_SOCKET, inner);
    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
}

static int connect_to(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    connect_by(fd);
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

#define CROWD 5 /* users; each may have 16 of 64 places */

/* A user who takes his places and says nothing, until `until` is closed. */
static void sit_there(uid_t uid, int ready, int until)
{
    char byte = 0;

    if (setresuid(uid, uid, uid) != 0)
        _exit(1);
    for (int i = 0; i < 16; i++)
        (void)connect_to();
    (void)!write(ready, &byte, 1);
    (void)!read(until, &byte, 1);
    _exit(0);
}

/* All places are taken by callers who say nothing: the next one waits for much less than theirs. */
static void test_crowd(void **state)
{
    static const uint8_t empty[4] = { 0 };
    struct kiosk *k = NULL;
    Pst__VouchReply *reply;
    int ready[2], until[2];
    struct timespec began, ended;
    char byte;

    if (geteuid() != 0)
        skip(); /* one user alone gets no more than his places */
    assert_int_equal(kiosk_open("slurm", geteuid(), &k, NULL), 0);
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(until), 0);
    for (uid_t i = 0; i < CROWD; i++) {
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
            (void)close(until[1]);
            sit_there(100000 + i, ready[1], until[0]);
        }
    }
    for (int i = 0; i < CROWD; i++)
        assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &began), 0);
    reply = ask(empty, sizeof(empty));
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &ended), 0);
    assert_non_null(reply);
    pst__vouch_reply__free_unpacked(reply, NULL);
    assert_true(ended.tv_sec - began.tv_sec < 4); /* 5 s each of them would have had */
    (void)close(until[1]);
    for (int i = 0; i < CROWD; i++)
        assert_true(wait(NULL) > 0);
    (void)close(until[0]);
    (void)close(ready[0]);
    (void)close(ready[1]);
    assert_null(kiosk_close(k));
}

static int64_t cpu_ms(void)
{
    struct timespec t;

    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t), 0);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* A caller for whom there is no descriptor costs no processor, and is served once there is one. */
static void test_no_descriptors(void **state)
{
    struct kiosk *k = NULL;
    struct rlimit before, now;
    int fds[128], n = 0, caller;
    uint8_t buf[1024] = { 0 };
    int64_t began;

    (void)state;
    assert_int_equal(kiosk_open("slurm", geteuid(), &k, NULL), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    now = (struct rlimit){ .rlim_cur = 128, .rlim_max = before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
    caller = socket(AF_UNIX, SOCK_STREAM, 0);
    while ((fds[n] = dup(0)) >= 0)
        n++;
    connect_by(caller);
    began = cpu_ms();
    (void)poll(NULL, 0, 400);
    assert_true(cpu_ms() - began < 30);
    while (n > 0)
        (void)close(fds[--n]);
    assert_int_equal(send(caller, buf, 4, MSG_NOSIGNAL), 4);
    assert_true(recv(caller, buf, sizeof(buf), 0) > 4);
    (void)close(caller);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_null(kiosk_close(k));
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
        cmocka_unit_test(test_crowd),
        cmocka_unit_test(test_no_descriptors),
        cmocka_unit_test(test_long_path),
    };
    int failed;

    if (!mkdtemp(folder) || chmod(folder, 0711) != 0)
        return 1;
    (void)snprintf(inner, sizeof(inner), "%s/run", folder);
    if (setenv("RUNTIME_DIRECTORY", inner, 1) != 0)
        return 1;
    cmocka_set_message_output(CM_OUTPUT_TAP);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    return rmdir(folder) == 0 ? failed : 1;
}
