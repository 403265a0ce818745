/* test_kubeprogram.c - the frame of a program: where its server is, its turns, its end */
#include "kube/api/kubeprogram.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char kubeconfig[] =
    "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
    "clusters: [{name: k, cluster: {server: 'http://127.0.0.1:1'}}]\n"
    "users: [{name: u, user: {token: t}}]\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n";

struct fixture {
    struct kubeprogram k;
    char path[32];
    unsigned asked;
    int end; /* in the third turn: 0 by itself, 1 with a failure, 2 by a signal */
};

static void ask(void *ctx)
{
    struct fixture *f = ctx;

    if (++f->asked < 3)
        kubeprogram_again(&f->k, 0);
    else if (f->end == 1)
        kubeprogram_fail(&f->k);
    else if (f->end == 2)
        assert_int_equal(raise(SIGTERM), 0);
    else
        f->k.ended = true;
}

static void start(struct fixture *f, int end)
{
    struct err err = { .text = "" };
    int fd;

    *f = (struct fixture){ .k = { .name = "t", .agent = "t/1", .ask = ask, .signals = -1 },
                           .path = "/tmp/test_kubeprogram.XXXXXX",
                           .end = end };
    f->k.ctx = f;
    f->k.kubeconfig = f->path;
    fd = mkstemp(f->path);
    assert_true(fd >= 0 && write(fd, kubeconfig, strlen(kubeconfig)) > 0);
    assert_int_equal(close(fd), 0);
    if (kubeprogram_load(&f->k, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(unlink(f->path), 0);
    assert_int_equal(kubeprogram_begin(&f->k, &err), 0);
    assert_true(f->k.identity[0]);
}

static void test_turns(void **state)
{
    for (int end = 0; end < 3; end++) {
        struct fixture f;

        start(&f, end);
        assert_int_equal(kubeprogram_run(&f.k), 0);
        assert_int_equal(f.asked, 3);
        assert_int_equal(f.k.lost, end == 1);
        kubeprogram_hang_up(&f.k);
        kubeprogram_end(&f.k);
    }
}

static void test_no_server(void **state)
{
    struct kubeprogram k = { .name = "t", .kubeconfig = "/nonexistent", .signals = -1 };
    struct err err = { .text = "" };

    assert_true(kubeprogram_load(&k, &err) < 0);
    assert_non_null(strstr(err.text, "/nonexistent"));
    kubeprogram_hang_up(&k);
    kubeprogram_end(&k); /* of what was not begun */
}

int main(void)
{
    static const struct CMUnitTest tests[] = { cmocka_unit_test(test_turns),
                                               cmocka_unit_test(test_no_server) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
