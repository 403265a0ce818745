/* test_restout.c - an answer that is sent while it is made, and sockets that listen */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "rest/restlisten.h"
#include "rest/restout.h"

#define PIECES 100

struct making {
    struct rest_out *out;
    int result;
};

static void *make_pieces(void *arg)
{
    struct making *m = arg;
    struct strbuf sb = STRBUF_INIT;

    for (int i = 0; i < PIECES && m->result == 0; i++) {
        strbuf_addf(&sb, "piece %d\n", i);
        m->result = restout_put(m->out, &sb);
    }
    restout_end(m->out, 0);
    strbuf_done(&sb);
    return NULL;
}

static void start(struct making *m, pthread_t *thread)
{
    assert_int_equal(restout_new(&m->out), 0);
    assert_int_equal(pthread_create(thread, NULL, make_pieces, m), 0);
}

static void finish(struct making *m, pthread_t thread)
{
    assert_int_equal(pthread_join(thread, NULL), 0);
    m->out = restout_free(m->out);
}

static void test_pieces(void **state)
{
    struct making m = { 0 };
    struct strbuf got = STRBUF_INIT;
    char buf[5];
    pthread_t thread;
    ssize_t n;

    start(&m, &thread);
    assert_false(restout_wait(m.out));
    while ((n = restout_take(m.out, buf, sizeof(buf))) > 0)
        strbuf_addn(&got, buf, (size_t)n);
    assert_int_equal(n, 0);
    finish(&m, thread);
    assert_int_equal(m.result, 0);
    assert_int_equal(strncmp(strbuf_str(&got), "piece 0\npiece 1\n", 16), 0);
    assert_non_null(strstr(strbuf_str(&got), "piece 98\npiece 99\n"));
    assert_int_equal(got.len, 10 * 8 + 90 * 9);
    strbuf_done(&got);
}

static void test_nobody_reads(void **state)
{
    struct making m = { 0 };
    pthread_t thread;

    start(&m, &thread);
    restout_drop(m.out);
    finish(&m, thread);
    assert_int_equal(m.result, -EPIPE);
}

static void test_nothing(void **state)
{
    struct rest_out *out = NULL;
    struct strbuf sb = STRBUF_INIT;
    char c;

    assert_int_equal(restout_new(&out), 0);
    assert_int_equal(restout_put(out, &sb), 0); /* an empty piece is none */
    restout_end(out, -EIO);
    assert_true(restout_wait(out));
    assert_int_equal(restout_take(out, &c, 1), -EIO);
    out = restout_free(out);
}

static void test_listen(void **state)
{
    char folder[] = "/tmp/penstock-test-XXXXXX", address[64];
    struct err err = { .text = "" };
    struct stat st;
    char *path = NULL;
    int fd, again;

    assert_non_null(mkdtemp(folder));
    (void)snprintf(address, sizeof(address), "unix://%s/s", folder);
    fd = restlisten(address, &path, &err);
    assert_true(fd >= 0);
    assert_string_equal(path, address + 7);
    assert_int_equal(stat(path, &st), 0);
    free(path);
    assert_int_equal(restlisten(address, &path, &err), -EADDRINUSE); /* it lives */
    (void)close(fd);
    again = restlisten(address, &path, &err); /* it is stale: replaced */
    assert_true(again >= 0);
    (void)close(again);
    assert_int_equal(unlink(path), 0);
    free(path);
    assert_int_equal(rmdir(folder), 0);
    fd = restlisten("127.0.0.1:0", &path, &err);
    assert_true(fd >= 0);
    assert_null(path);
    (void)close(fd);
}

static void test_no_address(void **state)
{
    static const char *const bad[] = { "", "localhost", "unix:", ":", "x:", "https://x", "[::1]" };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct err err = { .text = "" };
        char *path = NULL;

        assert_true(restlisten(bad[i], &path, &err) < 0);
        assert_true(err.text[0]);
        assert_null(path);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),     cmocka_unit_test(test_nobody_reads),
        cmocka_unit_test(test_nothing),    cmocka_unit_test(test_listen),
        cmocka_unit_test(test_no_address),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
