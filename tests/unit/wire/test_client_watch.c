/* test_client_watch.c - a connection that is being made ends when another thread says so */
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "wire/client.h"
#include "wire/client_watch.h"

#define LONG_MS 120000
#define SOON_US (30 * USEC_PER_SEC)

struct attempt {
    struct client_watch watch;
    uint16_t port;
    int r;
};

static void *try_connect(void *arg)
{
    struct attempt *a = arg;
    struct client_target target = { .host = "127.0.0.1",
                                    .port = a->port,
                                    .cluster = "c",
                                    .timeout_ms = LONG_MS,
                                    .program = "test",
                                    .jwt = "a.b.c", /* with no proof it would not wait */
                                    .watch = &a->watch };
    struct client *c = NULL;
    struct err err;

    a->r = client_connect(&target, getuid(), &c, &err);
    (void)client_free(c);
    return NULL;
}

static int listen_silently(uint16_t *ret_port)
{
    struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof(sa);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
    assert_int_equal(listen(fd, 0), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
    *ret_port = ntohs(sa.sin_port);
    return fd;
}

static int noted_fd(struct client_watch *w)
{
    int fd;

    pthread_mutex_lock(&w->lock);
    fd = w->fd;
    pthread_mutex_unlock(&w->lock);
    return fd;
}

/* It waits for the server's first word, or, with the server's queue full, for the connection. */
static void end_attempt(struct attempt *a)
{
    int64_t until = now_mono_us() + SOON_US;
    pthread_t thread;

    client_watch_init(&a->watch);
    assert_int_equal(pthread_create(&thread, NULL, try_connect, a), 0);
    while (noted_fd(&a->watch) < 0 && now_mono_us() < until)
        (void)poll(NULL, 0, 1); /* the other thread needs the lock */
    assert_true(noted_fd(&a->watch) >= 0);
    client_watch_end(&a->watch);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(now_mono_us() < until);
    assert_true(a->r < 0);
    assert_int_equal(noted_fd(&a->watch), -1);
    client_watch_done(&a->watch);
}

static void test_end(void **state)
{
    struct attempt a = { 0 };
    int fd = listen_silently(&a.port), full[8];
    struct sockaddr_in sa = { .sin_family = AF_INET,
                              .sin_port = htons(a.port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

    (void)state;
    end_attempt(&a);
    for (size_t i = 0; i < ARRAY_SIZE(full); i++) {
        full[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)connect(full[i], (struct sockaddr *)&sa, sizeof(sa)); /* some stay under way */
    }
    end_attempt(&a);
    for (size_t i = 0; i < ARRAY_SIZE(full); i++)
        close(full[i]);
    close(fd);
}

/* The end was asked for before: whatever is made is ended. */
static void test_ended_before(void **state)
{
    struct attempt a = { 0 };
    int64_t until = now_mono_us() + SOON_US;
    int fd = listen_silently(&a.port);

    (void)state;
    client_watch_init(&a.watch);
    assert_false(client_watch_ended(&a.watch));
    assert_false(client_watch_ended(NULL));
    client_watch_wake(&a.watch); /* nothing is waited for */
    client_watch_end(&a.watch);
    assert_true(client_watch_ended(&a.watch));
    try_connect(&a);
    assert_true(a.r < 0);
    assert_true(now_mono_us() < until);
    client_watch_done(&a.watch);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_end),
                                        cmocka_unit_test(test_ended_before) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("client_watch", tests, NULL, NULL);
}
