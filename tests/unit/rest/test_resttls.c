/* test_resttls.c - https://: the server gets plain bytes and the caller's address */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "rest/restlisten.h"
#include "rest/resttls.h"
#include "wire/tls/tls.h"

static int handed[2]; /* descriptors that were given, through a pipe */

static bool give(void *ctx, int fd, const struct sockaddr *peer, socklen_t len)
{
    (void)len;
    if (ctx || peer->sa_family != AF_INET) { /* refused by this test; or the address is not his */
        (void)close(fd);
        return false;
    }
    return write(handed[1], &fd, sizeof(fd)) == (ssize_t)sizeof(fd);
}

static struct tls_ctx *make_ctx(void)
{
    struct tls_config config = { .kind = TLS_AUTO, .any_server = true, .need_cert = true };
    struct err err = { .text = "" };
    struct tls_ctx *ctx;

    assert_int_equal(tls_ctx_new(&config, &ctx, &err), 0);
    return ctx;
}

static struct resttls *serve(void *refuse, struct sockaddr_in *ret_at)
{
    struct err err = { .text = "" };
    socklen_t len = sizeof(*ret_at);
    struct resttls *t;
    char *path;
    int fd = restlisten("https://127.0.0.1:0", &path, &err);

    assert_true(fd >= 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)ret_at, &len), 0);
    assert_int_equal(resttls_new(fd, make_ctx(), 2, give, refuse, &t), 0);
    return t;
}

static int dial(const struct sockaddr_in *at)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(connect(fd, (const struct sockaddr *)at, sizeof(*at)), 0);
    return fd;
}

static void wait_for(int fd, short events)
{
    struct pollfd p = { .fd = fd, .events = events };

    assert_int_equal(poll(&p, 1, 10000), 1);
}

/* As a blocking caller has it. */
static ssize_t read_tls(struct tls *tls, int fd, char *buf, size_t size)
{
    ssize_t n;

    while ((n = tls_read(tls, buf, size)) == -EAGAIN)
        wait_for(fd, POLLIN);
    return n;
}

static void test_served(void **state)
{
    struct sockaddr_in at;
    struct resttls *t = serve(NULL, &at);
    struct tls_ctx *ctx = make_ctx();
    struct tls *tls;
    int fd = dial(&at), plain;
    char buf[64] = "";
    ssize_t n;

    (void)state;
    assert_int_equal(tls_new_client(ctx, fd, &tls), 0);
    while ((n = tls_write(tls, "GET", 3)) == -EAGAIN)
        wait_for(fd, POLLIN);
    assert_int_equal(n, 3);
    assert_int_equal(read(handed[0], &plain, sizeof(plain)), sizeof(plain));
    wait_for(plain, POLLIN);
    assert_int_equal(read(plain, buf, sizeof(buf)), 3);
    assert_memory_equal(buf, "GET", 3);
    assert_int_equal(write(plain, "200", 3), 3);
    assert_int_equal(read_tls(tls, fd, buf, sizeof(buf)), 3);
    assert_memory_equal(buf, "200", 3);
    t = resttls_free(t); /* ends those that are there */
    wait_for(plain, POLLIN);
    assert_int_equal(read(plain, buf, sizeof(buf)), 0);
    (void)close(plain);
    tls = tls_free(tls);
    (void)close(fd);
    ctx = tls_ctx_unref(ctx);
}

static void expect_end(const struct sockaddr_in *at, const char *words)
{
    char buf[256];
    int fd = dial(at), plain;
    ssize_t n = 1;

    if (words)
        assert_int_equal(send(fd, words, strlen(words), MSG_NOSIGNAL), (ssize_t)strlen(words));
    while (n > 0) { /* an alert may come first */
        wait_for(fd, POLLIN);
        n = read(fd, buf, sizeof(buf));
    }
    (void)close(fd);
    if (words && read(handed[0], &plain, sizeof(plain)) == (ssize_t)sizeof(plain)) {
        wait_for(plain, POLLIN);
        assert_int_equal(read(plain, buf, sizeof(buf)), 0); /* not a byte of it */
        (void)close(plain);
    }
}

static void test_plain_caller(void **state)
{
    struct sockaddr_in at;
    struct resttls *t = serve(NULL, &at);

    (void)state;
    expect_end(&at, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    t = resttls_free(t);
}

static void test_refused_by_the_server(void **state)
{
    struct sockaddr_in at;
    int refuse;
    struct resttls *t = serve(&refuse, &at);

    (void)state;
    expect_end(&at, NULL);
    t = resttls_free(t);
}

static int64_t cpu_ms(void)
{
    struct timespec ts;

    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts), 0);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Who comes while no descriptor is left waits, and so does the thread; then he is served. */
static void test_no_descriptor(void **state)
{
    struct sockaddr_in at;
    struct resttls *t = serve(NULL, &at);
    struct rlimit was, few;
    int fd = dial(&at), other = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), plain;
    int64_t before;

    (void)state;
    assert_int_equal(read(handed[0], &plain, sizeof(plain)), sizeof(plain));
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
    few = was;
    few.rlim_cur = (rlim_t)dup(0);
    (void)close((int)few.rlim_cur);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    before = cpu_ms();
    assert_int_equal(connect(other, (const struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(poll(&(struct pollfd){ .fd = handed[0], .events = POLLIN }, 1, 600), 0);
    assert_in_range(cpu_ms() - before, 0, 200);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
    (void)close(plain);
    assert_int_equal(read(handed[0], &plain, sizeof(plain)), sizeof(plain));
    (void)close(plain);
    t = resttls_free(t);
    (void)close(fd);
    (void)close(other);
}

static int open_pipe(void **state)
{
    (void)state;
    return pipe(handed);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_served),
        cmocka_unit_test(test_plain_caller),
        cmocka_unit_test(test_refused_by_the_server),
        cmocka_unit_test(test_no_descriptor),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, open_pipe, NULL);
}
