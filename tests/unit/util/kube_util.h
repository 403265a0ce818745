/* kube_util.h - JSON in tests, and a server that is not there; needs kube_api_dep */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/timefmt.h"
#include "kube/api/kubecall.h"
#include "kube/api/kubejson.h"

#ifndef UTIL
#define UTIL __attribute__((unused)) static
#endif

/* The caller's. */
UTIL json_t *read_text(const char *text)
{
    json_error_t error;
    json_t *j = json_loads(text, 0, &error);

    if (!j)
        fail_msg("%s at %d", error.text, error.column);
    return j;
}

/* A loop, and a server that nobody is. */
struct nobody {
    struct kubeconfig config;
    struct kubeloop *loop;
    struct kubeserver *server;
};

UTIL void nobody_begin(struct nobody *n)
{
    static char url[] = "http://127.0.0.1:1";
    const struct kubeserver_options options = { .program = "test", .qps = 1000, .burst = 10 };

    *n = (struct nobody){ .config = { .server = url } };
    assert_int_equal(kubeloop_new(&n->loop), 0);
    assert_int_equal(kubeserver_new(n->loop, &n->config, &options, &n->server), 0);
}

/* Until the server was sent so many requests, and none is under way; or the deadline. */
UTIL void nobody_turn(struct nobody *n, unsigned long sent)
{
    int64_t end = now_mono_us() + 60 * USEC_PER_SEC;

    while (kubeserver_sent(n->server) < sent && now_mono_us() < end)
        assert_int_equal(kubeloop_turn(n->loop, 100), 0);
    while (kubeserver_pending(n->server) && now_mono_us() < end)
        assert_int_equal(kubeloop_turn(n->loop, 100), 0);
    assert_true(kubeserver_sent(n->server) >= sent);
}

/* What uses the server may be freed behind it, what the loop's timers point at before it. */
UTIL void nobody_hang_up(struct nobody *n)
{
    n->server = kubeserver_free(n->server);
}

UTIL void nobody_end(struct nobody *n)
{
    nobody_hang_up(n);
    n->loop = kubeloop_free(n->loop);
}
