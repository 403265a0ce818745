/* test_wire_dialer.c - a node's lasting connection to its controller */
#include "wire_util.h"

/* ---- dialer ---------------------------------------------------------------------------------- */

struct dial_state {
    uv_loop_t loop;
    uv_timer_t guard;
    struct dialer *d;
    unsigned ups, downs, requests, ok, refused, lost;
    bool timed_out;
};

static void dial_up(void *ctx)
{
    struct dial_state *s = ctx;

    s->ups++;
    uv_stop(&s->loop);
}

static void dial_down(void *ctx, const char *why)
{
    struct dial_state *s = ctx;

    s->downs++;
    assert_string_not_equal(why, "");
    uv_stop(&s->loop);
}

static void dial_request(void *ctx, const struct frame *frame)
{
    struct dial_state *s = ctx;

    s->requests++;
    assert_int_equal(frame->op, OP_PREPARE_JOB);
    assert_int_equal(dialer_reply(s->d, frame->op, frame->id, NULL), 0);
    uv_stop(&s->loop);
}

static void dial_reply(void *ctx, uint32_t id, int r, const struct frame *frame)
{
    struct dial_state *s = ctx;

    s->ok += r == 0;
    s->refused += r == -EREMOTEIO;
    s->lost += r == -ECONNRESET;
    assert_true((r == -ECONNRESET) == (frame == NULL));
    uv_stop(&s->loop);
}

static void on_guard(uv_timer_t *timer)
{
    ((struct dial_state *)timer->data)->timed_out = true;
    uv_stop(timer->loop);
}

/* Run the loop until *counter reaches n. */
static void run_until(struct dial_state *s, const unsigned *counter, unsigned n)
{
    (void)uv_timer_start(&s->guard, on_guard, WAIT_MS, 0);
    while (*counter < n && !s->timed_out)
        (void)uv_run(&s->loop, UV_RUN_DEFAULT);
    assert_int_equal(*counter, n);
    (void)uv_timer_stop(&s->guard);
}

static bool replied(void *arg)
{
    return atomic_load(&((struct fixture *)arg)->replies) == 1;
}

static void dial_through(bool local)
{
    static const struct dialer_hooks hooks = { dial_up, dial_down, dial_request, dial_reply };
    struct dial_state s = { .ups = 0 };
    struct client_target targets[2];
    struct server_config config;
    struct fixture f;
    uint16_t port;
    uint32_t id;

    start(&f, NULL);
    port = server_port(f.server);
    targets[0] = target_of(&f, false);
    targets[0].host = "127.0.0.2"; /* nobody there: the second is tried */
    targets[1] = target_of(&f, local);
    assert_int_equal(uv_loop_init(&s.loop), 0);
    assert_int_equal(uv_timer_init(&s.loop, &s.guard), 0);
    s.guard.data = &s;
    assert_int_equal(dialer_new(&s.loop, targets, 2, geteuid(), &hooks, &s, &s.d), 0);
    assert_false(dialer_is_up(s.d));
    assert_int_equal(dialer_request(s.d, OP_PING, NULL, &id), -ENOTCONN);
    dialer_start(s.d);
    run_until(&s, &s.ups, 1);
    assert_true(dialer_is_up(s.d));
    assert_int_equal(dialer_request(s.d, OP_NODE_REGISTER, NULL, &id), 0);
    run_until(&s, &s.requests, 1);
    run_until(&s, &s.ok, 1);
    {
        int64_t deadline = now_mono_us() + WAIT_MS * INT64_C(1000);

        while (!replied(&f) && now_mono_us() < deadline)
            (void)uv_run(&s.loop, UV_RUN_NOWAIT);
    }
    assert_true(replied(&f));
    assert_int_equal(dialer_request(s.d, OP_TOKEN, NULL, &id), 0);
    run_until(&s, &s.refused, 1);

    /* The server goes away with requests open, and comes back on the same port. */
    for (int i = 0; i < 5; i++)
        assert_int_equal(dialer_request(s.d, OP_QUERY_DIAG, NULL, &id), 0);
    stop(&f);
    run_until(&s, &s.downs, 1);
    assert_int_equal(s.lost, 5);
    assert_false(dialer_is_up(s.d));
    config = default_config(&f);
    config.any_port = false;
    config.port = port;
    start(&f, &config);
    run_until(&s, &s.ups, 2);
    assert_int_equal(dialer_request(s.d, OP_PING, NULL, &id), 0);
    run_until(&s, &s.ok, 2);
    dialer_close(s.d);
    run_until(&s, &s.downs, 2);
    uv_close((uv_handle_t *)&s.guard, NULL);
    while (uv_run(&s.loop, UV_RUN_DEFAULT) != 0)
        ;
    assert_int_equal(uv_loop_close(&s.loop), 0);
    stop(&f);
}

static void test_dialer_tcp(void **state)
{
    dial_through(false);
}

static void test_dialer_local(void **state)
{
    dial_through(true);
}

/* Closed in every phase before up; refused by the server; wrong key. */
static void test_dialer_never_up(void **state)
{
    static const struct dialer_hooks hooks = { dial_up, dial_down, dial_request, dial_reply };
    struct fixture f;

    start(&f, NULL);
    for (unsigned turns = 0; turns < 16; turns++) {
        struct dial_state s = { .ups = 0 };
        struct client_target t = target_of(&f, turns % 2);

        t.key_file = wrong_key_file;
        if (turns % 2)
            t.cluster = "elsewhere";
        assert_int_equal(uv_loop_init(&s.loop), 0);
        assert_int_equal(dialer_new(&s.loop, &t, 1, geteuid(), &hooks, &s, &s.d), 0);
        dialer_start(s.d);
        for (unsigned i = 0; i < turns / 2; i++)
            (void)uv_run(&s.loop, UV_RUN_ONCE);
        dialer_close(s.d);
        while (uv_run(&s.loop, UV_RUN_DEFAULT) != 0)
            ;
        assert_int_equal(uv_loop_close(&s.loop), 0);
        assert_int_equal(s.ups + s.downs, 0);
    }
    stop(&f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dialer_tcp),
        cmocka_unit_test(test_dialer_local),
        cmocka_unit_test(test_dialer_never_up),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
