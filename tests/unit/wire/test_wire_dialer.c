/* test_wire_dialer.c - a node's lasting connection to its controller */
#include "wire_util.h"

#include "wire/knock.h"
#include "wire/tls/tls.h"

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

/* ---- one dialer and what it meets ------------------------------------------------------------ */

static const struct dialer_hooks all_hooks = { dial_up, dial_down, dial_request, dial_reply };

static void open_dialer(struct dial_state *s, const struct client_target *targets, size_t n)
{
    *s = (struct dial_state){ .ups = 0 };
    assert_int_equal(uv_loop_init(&s->loop), 0);
    assert_int_equal(uv_timer_init(&s->loop, &s->guard), 0);
    s->guard.data = s;
    assert_int_equal(dialer_new(&s->loop, targets, n, geteuid(), &all_hooks, s, &s->d), 0);
    dialer_start(s->d);
}

static void close_dialer(struct dial_state *s)
{
    dialer_close(s->d);
    dialer_close(s->d); /* once is enough */
    uv_close((uv_handle_t *)&s->guard, NULL);
    while (uv_run(&s->loop, UV_RUN_DEFAULT) != 0)
        ;
    assert_int_equal(uv_loop_close(&s->loop), 0);
}

/* A server that is none: it sends these bytes to each caller, and waits for him to leave or does
 * so itself. */
struct liar {
    int fd;
    uint16_t port;
    pthread_t thread;
    uint8_t bytes[600];
    size_t len;
    bool waits;
    atomic_uint served;
};

static void *serve_lies(void *arg)
{
    struct liar *l = arg;
    char buf[KNOCK_SIZE];
    int fd;

    while ((fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        (void)!recv(fd, buf, sizeof(buf), MSG_WAITALL);
        (void)!send(fd, l->bytes, l->len, MSG_NOSIGNAL); /* the caller may have seen enough */
        while (l->waits && recv(fd, buf, sizeof(buf), 0) > 0)
            ;
        (void)close(fd);
        atomic_fetch_add(&l->served, 1);
    }
    return NULL;
}

static void start_liar(struct liar *l)
{
    struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t len = sizeof(sa);

    l->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(l->fd, (struct sockaddr *)&sa, len), 0);
    assert_int_equal(listen(l->fd, 8), 0);
    assert_int_equal(getsockname(l->fd, (struct sockaddr *)&sa, &len), 0);
    l->port = ntohs(sa.sin_port);
    assert_int_equal(pthread_create(&l->thread, NULL, serve_lies, l), 0);
}

static void stop_liar(struct liar *l)
{
    (void)shutdown(l->fd, SHUT_RDWR);
    (void)pthread_join(l->thread, NULL);
    (void)close(l->fd);
}

static void add_frame(struct liar *l, unsigned op, uint32_t flags, uint32_t id,
                      const ProtobufCMessage *msg)
{
    uint8_t *buf = NULL;
    size_t len = 0;

    assert_int_equal(frame_pack(op, flags, id, 0, msg, &buf, &len), 0);
    assert_true(l->len + len <= sizeof(l->bytes));
    memcpy(l->bytes + l->len, buf, len);
    l->len += len;
    free(buf);
}

static void add_challenge(struct liar *l, uint32_t min, uint32_t max, size_t nonce_len)
{
    static uint8_t nonce[AUTH_NONCE_SIZE + 1];
    Pst__Challenge c = PST__CHALLENGE__INIT;

    c.has_min_version = c.has_max_version = c.has_nonce = true;
    c.min_version = min;
    c.max_version = max;
    c.nonce = (ProtobufCBinaryData){ nonce_len, nonce };
    add_frame(l, OP_CHALLENGE, FRAME_ONEWAY, 0, &c.base);
}

static void add_lie(struct liar *l, unsigned kind)
{
    Pst__HelloReply reply = PST__HELLO_REPLY__INIT;
    Pst__Error error = PST__ERROR__INIT;

    switch (kind) {
    case 0: /* another service */
        l->len = strlen("HTTP/1.1 400 Bad Request\r\n\r\n");
        memcpy(l->bytes, "HTTP/1.1 400 Bad Request\r\n\r\n", l->len);
        return;
    case 1: /* nothing at all */
        return;
    case 2: /* a frame of 4 GiB */
        frame_encode_header(&(struct frame){ .version = WIRE_VERSION,
                                             .op = OP_CHALLENGE,
                                             .flags = FRAME_ONEWAY,
                                             .len = UINT32_MAX },
                            l->bytes);
        l->len = FRAME_HEADER_SIZE;
        return;
    case 3: /* of a time that we do not speak the language of */
        add_challenge(l, WIRE_VERSION + 1, WIRE_VERSION + 2, AUTH_NONCE_SIZE);
        return;
    case 4:
        add_challenge(l, WIRE_VERSION_MIN, WIRE_VERSION, AUTH_NONCE_SIZE - 1);
        return;
    case 5: /* it lets us in without a word of proof */
        add_challenge(l, WIRE_VERSION_MIN, WIRE_VERSION, AUTH_NONCE_SIZE);
        add_frame(l, OP_HELLO, FRAME_REPLY, 0, &reply.base);
        return;
    case 6:
        add_challenge(l, WIRE_VERSION_MIN, WIRE_VERSION, AUTH_NONCE_SIZE);
        add_frame(l, OP_PING, FRAME_REPLY, 0, NULL);
        return;
    case 7:
        add_challenge(l, WIRE_VERSION_MIN, WIRE_VERSION, AUTH_NONCE_SIZE);
        error.has_code = true;
        error.code = EPST_AUTH;
        add_frame(l, OP_HELLO, FRAME_REPLY | FRAME_ERROR, 0, &error.base);
        return;
    default: /* it is full */
        error.has_code = true;
        error.code = EPST_BUSY;
        add_frame(l, OP_HELLO, FRAME_REPLY | FRAME_ERROR, 0, &error.base);
    }
}

/* Whatever it hears there, the dialer does not take it for its controller, and tries on. */
static void test_dialer_meets_liars(void **state)
{
    for (unsigned kind = 0; kind <= 8; kind++) {
        struct client_target t = { .host = "127.0.0.1",
                                   .cluster = "testcluster",
                                   .key_file = key_file,
                                   .timeout_ms = WAIT_MS,
                                   .program = "test_wire" };
        struct liar l = { .waits = false };
        struct dial_state s;

        add_lie(&l, kind);
        start_liar(&l);
        t.port = l.port;
        open_dialer(&s, &t, 1);
        while (atomic_load(&l.served) < 2)
            (void)uv_run(&s.loop, UV_RUN_ONCE);
        assert_false(dialer_is_up(s.d));
        close_dialer(&s);
        assert_int_equal(s.ups + s.downs + s.requests, 0);
        stop_liar(&l);
    }
}

/* A server that says nothing is left when its time is over. */
static void test_dialer_meets_silence(void **state)
{
    struct liar l = { .waits = true };
    struct client_target t = { .host = "127.0.0.1", .cluster = "testcluster", .timeout_ms = 30 };
    struct dial_state s;

    start_liar(&l);
    t.port = l.port;
    open_dialer(&s, &t, 1);
    while (atomic_load(&l.served) < 2)
        (void)uv_run(&s.loop, UV_RUN_ONCE);
    close_dialer(&s);
    assert_int_equal(s.ups, 0);
    stop_liar(&l);
}

/* A name that nobody knows is passed over; the strings of targets are the dialer's own. */
static void test_dialer_unknown_host(void **state)
{
    char host[] = "no.such.host.invalid", program[] = "test_wire";
    struct client_target targets[2];
    struct dial_state s;
    struct fixture f;

    start(&f, NULL);
    targets[0] = targets[1] = target_of(&f, false);
    targets[0].host = host;
    targets[1].program = program;
    open_dialer(&s, targets, 2);
    memset(host, 'x', sizeof(host) - 1);
    memset(program, 'x', sizeof(program) - 1);
    run_until(&s, &s.ups, 1);
    close_dialer(&s);
    stop(&f);
}

/* One that is not the one to speak to is left for the next. */
static void test_dialer_next(void **state)
{
    struct client_target targets[2];
    struct fixture first, second;
    struct dial_state s;
    uint32_t id;

    start(&first, NULL);
    start(&second, NULL);
    targets[0] = target_of(&first, false);
    targets[1] = target_of(&second, false);
    open_dialer(&s, targets, 2);
    dialer_next(s.d, "not yet"); /* nobody is there to be left */
    dialer_drop(s.d, "not yet");
    run_until(&s, &s.ups, 1);
    assert_int_equal(server_connections(first.server), 1);
    assert_int_equal(dialer_request(s.d, OP_QUERY_DIAG, NULL, &id), 0);
    dialer_next(s.d, "it is the standby");
    run_until(&s, &s.ups, 2);
    assert_int_equal(s.downs, 1);
    assert_int_equal(s.lost, 1);
    assert_int_equal(server_connections(second.server), 1);
    dialer_drop(s.d, "once more from the beginning");
    run_until(&s, &s.ups, 3);
    assert_int_equal(s.downs, 2);
    assert_int_equal(dialer_request(s.d, OP_PING, NULL, &id), 0);
    run_until(&s, &s.ok, 1);
    close_dialer(&s);
    stop(&first);
    stop(&second);
}

/* Run the loop until that server has a connection, and is the one that is spoken to. */
static void expect_at(struct dial_state *s, struct fixture *f, unsigned ups)
{
    run_until(s, &s->ups, ups);
    assert_int_equal(server_connections(f->server), 1);
}

/* Other targets hold from the next attempt on: the connection that is there stays. */
static void test_dialer_set_targets(void **state)
{
    struct fixture first, second, third;
    struct client_target targets[2];
    struct dial_state s;
    uint32_t id;

    start(&first, NULL);
    start(&second, NULL);
    start(&third, NULL);
    targets[0] = target_of(&first, false);
    open_dialer(&s, targets, 1);
    expect_at(&s, &first, 1);
    assert_int_equal(dialer_set_targets(s.d, targets, 0), -EINVAL);
    targets[1] = target_of(&third, false);
    assert_int_equal(dialer_set_targets(s.d, targets, 2), 0);
    targets[1] = target_of(&second, false);
    assert_int_equal(dialer_set_targets(s.d, targets, 2), 0); /* the last word counts */
    assert_int_equal(dialer_request(s.d, OP_PING, NULL, &id), 0);
    run_until(&s, &s.ok, 1);
    dialer_next(s.d, "it is the standby"); /* the first is known still: the second comes next */
    expect_at(&s, &second, 2);
    targets[0] = target_of(&third, false); /* neither of those that were */
    assert_int_equal(dialer_set_targets(s.d, targets, 1), 0);
    dialer_next(s.d, "it is the standby");
    expect_at(&s, &third, 3);
    stop(&third); /* nobody is there any more: all are tried again and again */
    run_until(&s, &s.downs, 3);
    for (unsigned i = 0; i < 10; i++)
        (void)uv_run(&s.loop, UV_RUN_ONCE);
    targets[0] = target_of(&first, false);
    assert_int_equal(dialer_set_targets(s.d, targets, 1), 0);
    expect_at(&s, &first, 4);
    targets[0] = target_of(&second, false);
    assert_int_equal(dialer_set_targets(s.d, targets, 1), 0); /* never used */
    close_dialer(&s);
    stop(&first);
    stop(&second);
}

/* A controller asks nodes for what access.def gives it, and for nothing else. */
static void ask_for_too_much(void *ctx, struct conn *c, const struct frame *frame)
{
    (void)ctx;
    (void)conn_reply(c, frame->op, frame->id, 0, NULL);
    (void)conn_request(c, OP_JOB_SUBMIT, 0, NULL, NULL);
}

static void ignore_close(void *ctx, struct conn *c)
{
    (void)ctx, (void)c;
}

static void test_dialer_refuses(void **state)
{
    struct server_config config;
    struct client_target t;
    struct dial_state s;
    struct fixture f;
    uint32_t id;

    memset(&f, 0, sizeof(f));
    config = default_config(&f);
    config.hooks =
        (struct server_hooks){ .on_request = ask_for_too_much, .on_close = ignore_close };
    start(&f, &config);
    t = target_of(&f, false);
    open_dialer(&s, &t, 1);
    run_until(&s, &s.ups, 1);
    assert_int_equal(dialer_request(s.d, OP_NODE_REGISTER, NULL, &id), 0);
    run_until(&s, &s.downs, 1);
    assert_int_equal(s.requests, 0);
    assert_int_equal(dialer_reply_error(s.d, OP_PREPARE_JOB, 1, SLURM_ERROR, "no"), -ENOTCONN);
    assert_int_equal(dialer_reply(s.d, OP_PREPARE_JOB, 1, NULL), -ENOTCONN);
    close_dialer(&s);
    stop(&f);
}

/* A node that joins learns the certificates later. */
static void test_dialer_tls(void **state)
{
    struct tls_config with = { .kind = TLS_AUTO, .any_server = true, .need_cert = true };
    struct tls_config without = { .kind = TLS_AUTO, .any_server = true };
    _cleanup_(tls_ctx_unref) struct tls_ctx *server = NULL, *mine = NULL;
    struct server_config config;
    struct client_target t;
    struct dial_state s;
    struct fixture f;
    uint32_t id;

    assert_int_equal(tls_ctx_load(&with, &server, NULL), 0);
    assert_int_equal(tls_ctx_load(&without, &mine, NULL), 0);
    memset(&f, 0, sizeof(f));
    config = default_config(&f);
    config.tls = server;
    start(&f, &config);
    t = target_of(&f, false);
    open_dialer(&s, &t, 1);
    for (unsigned i = 0; i < 10; i++)
        (void)uv_run(&s.loop, UV_RUN_ONCE);
    assert_int_equal(s.ups, 0); /* plain: refused */
    dialer_set_tls(s.d, NULL);  /* changes nothing */
    dialer_set_tls(s.d, mine);
    run_until(&s, &s.ups, 1);
    assert_int_equal(dialer_request(s.d, OP_PING, NULL, &id), 0);
    run_until(&s, &s.ok, 1);
    close_dialer(&s);
    stop(&f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dialer_tcp),           cmocka_unit_test(test_dialer_local),
        cmocka_unit_test(test_dialer_never_up),      cmocka_unit_test(test_dialer_meets_liars),
        cmocka_unit_test(test_dialer_meets_silence), cmocka_unit_test(test_dialer_unknown_host),
        cmocka_unit_test(test_dialer_next),          cmocka_unit_test(test_dialer_refuses),
        cmocka_unit_test(test_dialer_tls),           cmocka_unit_test(test_dialer_set_targets),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
