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
#include <sys/socket.h>
#include <netinet/in.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/timefmt.h"

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

static void count_reply(void *ctx, const struct kubereply *reply)
{
    unsigned *n = ctx;

    (void)reply;
    ++*n;
}

static void end_loop(void *ctx)
{
    kubeloop_set_phase(ctx, KUBELOOP_ENDED);
}

/* A port that listens, whose caller is seen without being answered. */
static int listen_here(char *url, size_t size)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0);
    assert_true(listen(fd, 5) == 0 && getsockname(fd, (struct sockaddr *)&at, &len) == 0);
    (void)snprintf(url, size, "http://127.0.0.1:%d", ntohs(at.sin_port));
    return fd;
}

static void start_call(struct kubeserver *s, unsigned lane, unsigned *answers)
{
    const struct kubecall_spec spec = {
        .method = "GET", .path = "/x", .lane = lane, .done = count_reply, .ctx = answers
    };

    assert_int_equal(kubecall_start(s, &spec, NULL), 0);
}

static void note_end(void *ctx, CURLcode result)
{
    bool *ended = ctx;

    (void)result;
    *ended = true;
}

/* The whole process was held back: what was about to be sent is not, once a timer that was due
 * meanwhile ends the loop. */
static void test_held_back(void **state)
{
    char url[64];
    int fd = listen_here(url, sizeof(url));
    struct kubeloop *loop = NULL;
    bool ended = false;
    struct kubeloop_transfer transfer = { note_end, &ended };
    struct kubetimer expire = { .fn = end_loop };
    CURL *easy = curl_easy_init();

    assert_int_equal(kubeloop_new(&loop), 0);
    assert_int_equal(curl_easy_setopt(easy, CURLOPT_URL, url), CURLE_OK);
    assert_int_equal(kubeloop_add(loop, easy, &transfer), 0);
    expire.ctx = loop;
    kubeloop_arm(loop, &expire, now_mono_us());
    for (int i = 0; i < 20; i++)
        assert_int_equal(kubeloop_turn(loop, 10), 0);
    assert_int_equal(accept(fd, NULL, NULL), -1); /* nobody has come */
    assert_false(ended);
    kubeloop_remove(loop, easy);
    curl_easy_cleanup(easy);
    loop = kubeloop_free(loop);
    assert_int_equal(close(fd), 0);
}

/* Which lanes are sent on the way to the end. */
static void test_phases(void **state)
{
    static char url[] = "http://127.0.0.1:1";
    struct kubeconfig config = { .server = url };
    const struct kubeserver_options options = { .program = "t" };
    static const unsigned long sent[] = {
        [KUBELOOP_OPEN] = 3, [KUBELOOP_FINISHING] = 2, [KUBELOOP_CLOSED] = 1, [KUBELOOP_ENDED] = 0
    };

    for (enum kubeloop_phase phase = KUBELOOP_OPEN; phase <= KUBELOOP_ENDED; phase++) {
        struct kubeloop *loop = NULL;
        struct kubeserver *s = NULL;
        unsigned answers = 0;

        assert_int_equal(kubeloop_new(&loop), 0);
        assert_int_equal(kubeserver_new(loop, &config, &options, &s), 0);
        start_call(s, KUBECALL_URGENT, &answers);
        start_call(s, KUBECALL_LEASE, &answers);
        start_call(s, 3, &answers);
        kubeloop_set_phase(loop, phase);
        if (phase != KUBELOOP_ENDED)
            assert_int_equal(kubeserver_owed(s), sent[phase]);
        for (int i = 0; i < 200 && answers < sent[phase]; i++)
            assert_int_equal(kubeloop_turn(loop, 50), 0);
        for (int i = 0; i < 3; i++)
            assert_int_equal(kubeloop_turn(loop, 1), 0);
        assert_int_equal(kubeserver_sent(s), sent[phase]);
        assert_int_equal(answers, sent[phase]);
        s = kubeserver_free(s);
        loop = kubeloop_free(loop);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = { cmocka_unit_test(test_turns),
                                               cmocka_unit_test(test_held_back),
                                               cmocka_unit_test(test_phases),
                                               cmocka_unit_test(test_no_server) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
