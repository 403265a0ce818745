/* test_kubeapi.c - paths, the loop, the queue of work, and a server that is not there */
#include "kube_util.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "kube/api/kubeapi.h"
#include "kube/api/kubecall.h"
#include "kube/api/kubeevent.h"
#include "kube/api/kubeinformer.h"
#include "kube/api/kubejson.h"
#include "kube/api/kubelease.h"
#include "kube/api/kubeloop.h"
#include "kube/api/kubequeue.h"

static void test_paths(void **state)
{
    static const struct {
        struct kubeapi_target t;
        const char *query, *path;
    } cases[] = {
        { { &kubekind_pods, "ns", "a", "binding" }, NULL, "/api/v1/namespaces/ns/pods/a/binding" },
        { { &kubekind_pods, NULL, NULL, NULL }, "limit=5", "/api/v1/pods?limit=5" },
        { { &kubekind_nodes, "ns", "n1", NULL }, NULL, "/api/v1/nodes/n1" },
        { { &kubekind_leases, "ns", "l", NULL },
          NULL,
          "/apis/coordination.k8s.io/v1/namespaces/ns/leases/l" },
        { { &kubekind_pods, "../x", "a", NULL }, NULL, NULL },
        { { &kubekind_pods, "ns", "a/status", NULL }, NULL, NULL },
        { { &kubekind_pods, "ns", "", NULL }, NULL, NULL },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_free_ char *path = NULL;

        assert_int_equal(kubeapi_path(&cases[i].t, cases[i].query, &path),
                         cases[i].path ? 0 : -EINVAL);
        if (cases[i].path)
            assert_string_equal(path, cases[i].path);
    }
}

struct play {
    struct kubeloop *loop;
    struct kubequeue *q;
    char order[32];
    unsigned fail; /* the work of this many calls fails */
    bool hold;     /* the work goes on until the test ends it */
};

static void do_work(void *ctx, const char *key)
{
    struct play *p = ctx;
    size_t n = strlen(p->order);

    assert_true(n + 1 < sizeof(p->order));
    p->order[n] = *key;
    if (p->hold)
        return;
    kubequeue_done(p->q, key, p->fail == 0);
    p->fail -= p->fail > 0;
}

static void run_until(struct play *p, const char *order)
{
    int64_t end = now_mono_us() + 5 * USEC_PER_SEC;

    while (strcmp(p->order, order) != 0 && now_mono_us() < end)
        assert_int_equal(kubeloop_turn(p->loop, 100), 0);
    assert_string_equal(p->order, order);
}

static void test_queue(void **state)
{
    const struct kubequeue_options o = { .at_once = 2, .first_pause_us = 20000 };
    struct play p = { 0 };
    int64_t begun;

    (void)state;
    assert_int_equal(kubeloop_new(&p.loop), 0);
    assert_int_equal(kubequeue_new(p.loop, &o, do_work, &p, &p.q), 0);
    for (const char *key = "abacb"; *key; key++)
        assert_int_equal(kubequeue_add(p.q, (char[]){ *key, '\0' }), 0);
    assert_string_equal(p.order, ""); /* never inside the call */
    run_until(&p, "abc");             /* each once */
    assert_int_equal(kubequeue_count(p.q), 0);

    begun = now_mono_us();
    p.fail = 2;
    assert_int_equal(kubequeue_add(p.q, "x"), 0);
    run_until(&p, "abcxxx");
    assert_true(now_mono_us() - begun >= 60000); /* 20 and 40 ms */

    p.hold = true;
    for (const char *key = "pqr"; *key; key++)
        assert_int_equal(kubequeue_add(p.q, (char[]){ *key, '\0' }), 0);
    run_until(&p, "abcxxxpq"); /* two at once */
    assert_int_equal(kubequeue_add(p.q, "p"), 0);
    kubequeue_done(p.q, "q", true);
    run_until(&p, "abcxxxpqr");
    kubequeue_done(p.q, "p", true); /* added meanwhile: done again */
    run_until(&p, "abcxxxpqrp");
    p.q = kubequeue_free(p.q);
    p.loop = kubeloop_free(p.loop);
}

/* What failed is tried at once when it is told that there is hope; what pauses of its own accord is
 * not, and one that is under way begins with the first pause if it fails again. */
static void test_hurry(void **state)
{
    const struct kubequeue_options o = { .at_once = 2, .first_pause_us = 40 * USEC_PER_SEC };
    struct play p = { .fail = 1 };
    int64_t begun = now_mono_us();

    (void)state;
    assert_int_equal(kubeloop_new(&p.loop), 0);
    assert_int_equal(kubequeue_new(p.loop, &o, do_work, &p, &p.q), 0);
    assert_int_equal(kubequeue_add(p.q, "f"), 0);
    run_until(&p, "f");
    assert_int_equal(kubequeue_add_after(p.q, "l", 40 * USEC_PER_SEC), 0);
    kubequeue_hurry(p.q);
    assert_string_equal(p.order, "f"); /* never inside the call */
    run_until(&p, "ff");
    assert_int_equal(kubequeue_count(p.q), 1);

    p.hold = true;
    assert_int_equal(kubequeue_add(p.q, "b"), 0);
    run_until(&p, "ffb");
    kubequeue_hurry(p.q); /* it never failed */
    kubequeue_done(p.q, "b", false);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(kubeloop_turn(p.loop, 10), 0);
    assert_string_equal(p.order, "ffb");
    kubequeue_hurry(p.q);
    run_until(&p, "ffbb");
    kubequeue_hurry(p.q); /* under way */
    assert_int_equal(kubequeue_count(p.q), 2);
    kubequeue_done(p.q, "b", true);
    assert_int_equal(kubequeue_count(p.q), 1);
    assert_true(now_mono_us() - begun < 20 * USEC_PER_SEC);
    p.q = kubequeue_free(p.q);
    p.loop = kubeloop_free(p.loop);
}

/* Of works that fail one is tried every two seconds, in turns; when one succeeds the others are
 * tried at once, but not what was refused. */
static void test_probe(void **state)
{
    const struct kubequeue_options o = { .at_once = 8,
                                         .first_pause_us = 40 * USEC_PER_SEC,
                                         .in_turns = true };
    struct play p = { .hold = true };
    int64_t begun = now_mono_us();

    (void)state;
    assert_int_equal(kubeloop_new(&p.loop), 0);
    assert_int_equal(kubequeue_new(p.loop, &o, do_work, &p, &p.q), 0);
    for (const char *key = "abcn"; *key; key++)
        assert_int_equal(kubequeue_add(p.q, (char[]){ *key, '\0' }), 0);
    run_until(&p, "abcn");
    for (const char *key = "abc"; *key; key++)
        kubequeue_done(p.q, (char[]){ *key, '\0' }, false);
    kubequeue_refuse(p.q, "n");
    run_until(&p, "abcna");
    assert_true(now_mono_us() - begun >= 2 * USEC_PER_SEC);
    kubequeue_done(p.q, "a", false); /* its turn is over */
    run_until(&p, "abcnab");
    assert_true(now_mono_us() - begun >= 4 * USEC_PER_SEC);
    kubequeue_done(p.q, "b", true);
    run_until(&p, "abcnabca");
    kubequeue_refuse(p.q, "c"); /* an answer */
    kubequeue_done(p.q, "a", true);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(kubeloop_turn(p.loop, 10), 0);
    assert_string_equal(p.order, "abcnabca");
    assert_int_equal(kubequeue_count(p.q), 2); /* c and n have their own pauses */
    assert_true(now_mono_us() - begun < 20 * USEC_PER_SEC);
    p.q = kubequeue_free(p.q);
    p.loop = kubeloop_free(p.loop);
}

static void test_pauses(void **state)
{
    struct play p = { 0 };

    (void)state;
    assert_int_equal(kubeloop_new(&p.loop), 0);
    assert_int_equal(kubequeue_new(p.loop, &(struct kubequeue_options){ 0 }, do_work, &p, &p.q), 0);
    assert_int_equal(kubequeue_add_after(p.q, "c", 60000), 0);
    assert_int_equal(kubequeue_add_after(p.q, "a", 10000), 0);
    assert_int_equal(kubequeue_add_after(p.q, "b", 30000), 0);
    assert_int_equal(kubequeue_add_after(p.q, "z", 3600 * USEC_PER_SEC), 0);
    assert_int_equal(kubequeue_add_after(p.q, "c", 20000), 0); /* the earlier counts */
    run_until(&p, "acb");
    assert_int_equal(kubequeue_add(p.q, "z"), 0); /* its pause is over */
    run_until(&p, "acbz");
    assert_int_equal(kubequeue_count(p.q), 0);
    p.q = kubequeue_free(p.q);
    p.loop = kubeloop_free(p.loop);
}

struct heard {
    unsigned calls, changes;
    int status;
    bool said;
};

static void hear_reply(void *ctx, const struct kubereply *reply)
{
    struct heard *h = ctx;

    h->calls++;
    h->status = reply->status;
    h->said = reply->text[0] != '\0';
}

static void hear_object(void *ctx, const json_t *before, const json_t *now)
{
    struct heard *h = ctx;

    (void)before;
    (void)now;
    h->changes++;
}

static void hear_role(void *ctx, bool held)
{
    struct heard *h = ctx;

    (void)held;
    h->changes++;
}

/* Nobody listens: each request is answered "not known", and nothing is made of it. */
static void test_away(void **state)
{
    const struct kubeapi_target pod = { &kubekind_pods, "ns", "a", NULL };
    struct nobody n;
    struct heard h = { 0 };
    struct kubeinformer_options io = { .kind = &kubekind_pods, .fn = hear_object, .ctx = &h };
    const struct kubelease_options lo = {
        .namespace_ = "ns", .name = "l", .identity = "me", .changed = hear_role, .ctx = &h
    };
    struct kubeinformer *i = NULL;
    struct kubelease *l = NULL;

    (void)state;
    nobody_begin(&n);
    assert_int_equal(kubeapi_get(n.server, &pod, hear_reply, &h), 0);
    assert_int_equal(kubeinformer_new(n.server, &io, &i), 0);
    assert_int_equal(kubelease_new(n.server, &lo, &l), 0);
    nobody_turn(&n, 4);
    assert_int_equal(h.calls, 1);
    assert_int_equal(h.status, 0);
    assert_true(h.said);
    assert_int_equal(h.changes, 0);
    assert_false(kubeinformer_is_synced(i));
    assert_false(kubelease_is_held(l));
    i = kubeinformer_free(i);
    nobody_hang_up(&n);
    l = kubelease_free(l);
    nobody_end(&n);
}

/* The same words about one object are one Event; a flood of others is bounded. */
static void test_events(void **state)
{
    struct kubeconfig config = { .server = (char[]){ "http://127.0.0.1:1" } };
    const struct kubeserver_options so = { .program = "test" };
    _cleanup_json_ json_t *pod =
        json_pack("{s:s, s:s, s:{s:s, s:s, s:s}}", "apiVersion", "v1", "kind", "Pod", "metadata",
                  "name", "a", "namespace", "ns", "uid", "u");
    char text[2000];
    struct kubeloop *loop = NULL;
    struct kubeserver *s = NULL;
    struct kubeevents *e = NULL;

    (void)state;
    assert_int_equal(kubeloop_new(&loop), 0);
    assert_int_equal(kubeserver_new(loop, &config, &so, &s), 0);
    assert_int_equal(kubeevents_new(s, "test", &e), 0);
    for (int i = 0; i < 3; i++)
        kubeevents_tell(e, pod, true, "Reason", "text");
    assert_int_equal(kubeserver_pending(s), 1);
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    memcpy(text + KUBEEVENT_TEXT - 1, "\303\244", 2); /* a letter that would be cut in two */
    kubeevents_tell(e, pod, false, "Reason", text);
    assert_int_equal(kubeserver_pending(s), 2);
    kubeevents_tell(e, pod, false, "Reason", "\377"); /* not UTF-8: not told */
    assert_int_equal(kubeserver_pending(s), 2);
    for (int i = 0; i < 2 * (int)KUBEEVENT_KEPT; i++) {
        (void)snprintf(text, sizeof(text), "%d", i);
        kubeevents_tell(e, pod, false, "Reason", text);
    }
    assert_int_equal(kubeserver_pending(s), KUBEEVENT_KEPT); /* each is still under way */
    s = kubeserver_free(s);
    e = kubeevents_free(e);
    loop = kubeloop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),  cmocka_unit_test(test_queue),  cmocka_unit_test(test_hurry),
        cmocka_unit_test(test_probe),  cmocka_unit_test(test_pauses), cmocka_unit_test(test_away),
        cmocka_unit_test(test_events),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
