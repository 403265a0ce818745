/* test_wire_load.c - a server whose clients are hostile, slow or many */
#include "wire_util.h"

static void test_hostile(void **state)
{
    struct fixture f, g;
    struct server_config config;
    struct client *c;
    int fd;

    start(&f, NULL);
    fd = raw_connect(&f); /* something else altogether */
    assert_int_equal(send(fd, "GET / HTTP/1.0\r\nHost: localhost\r\n\r\n", 36, 0), 36);
    expect_closed(fd);

    c = bare_local(&f); /* a request before Hello */
    raw_send(client_fd(c), OP_PING, WIRE_VERSION, 0, 0);
    expect_refused(c, EPST_AUTH);
    c = client_free(c);

    c = bare_local(&f); /* a Hello longer than unknown peers may send */
    raw_send(client_fd(c), OP_HELLO, WIRE_VERSION, 65 * WIRE_KIB, 0);
    expect_refused(c, EPST_BAD_REQUEST);
    c = client_free(c);

    c = bare_local(&f); /* malformed Hello */
    raw_send(client_fd(c), OP_HELLO, WIRE_VERSION, 8, 8);
    expect_refused(c, EPST_BAD_REQUEST);
    c = client_free(c);

    c = bare_local(&f); /* over the op's cap */
    raw_hello(c, WIRE_VERSION);
    raw_send(client_fd(c), OP_PING, WIRE_VERSION, 4097, 64);
    expect_refused(c, EPST_BAD_REQUEST);
    c = client_free(c);

    c = bare_local(&f); /* a second Hello */
    raw_hello(c, WIRE_VERSION);
    raw_hello(c, WIRE_VERSION);
    expect_refused(c, EPST_BAD_REQUEST);
    c = client_free(c);

    c = bare_local(&f); /* does not read 12 MB of replies: limit 1 MiB */
    raw_hello(c, WIRE_VERSION);
    raw_send(client_fd(c), OP_RECONFIGURE, WIRE_VERSION, 0, 0);
    fd = client_release_fd(c);
    expect_closed(fd);

    /* Limits of time, shortened. */
    config = default_config(&g);
    config.hello_timeout_ms = config.stall_timeout_ms = 60;
    start(&g, &config);
    expect_closed(raw_connect(&g)); /* says nothing */
    fd = raw_connect(&g);           /* half a header */
    assert_int_equal(send(fd, "PSTK", 4, 0), 4);
    expect_closed(fd);
    c = bare_local(&g); /* half a request */
    raw_hello(c, WIRE_VERSION);
    raw_send(client_fd(c), OP_NODE_REPORT, WIRE_VERSION, 1000000, 64);
    fd = client_release_fd(c);
    expect_closed(fd);
    stop(&g);
    stop(&f);
}

static void test_stalled_reader(void **state)
{
    struct fixture f;
    struct server_config config = default_config(&f);
    struct client *c;
    Pst__QueryRequest query = PST__QUERY_REQUEST__INIT;

    config.stall_timeout_ms = 60;
    start(&f, &config);
    c = bare_local(&f);
    raw_hello(c, WIRE_VERSION);
    query.names = (char *)"100000";
    assert_int_equal(client_send(c, OP_QUERY_JOBS, 0, 1, &query.base), 0);
    /* Nothing is read until the server has given the stream up. */
    {
        int64_t deadline = now_mono_us() + WAIT_MS * INT64_C(1000);

        while (atomic_load(&f.streams_done) == 0 && now_mono_us() < deadline)
            (void)poll(NULL, 0, 1);
    }
    assert_int_equal(atomic_load(&f.streams_done), 1);
    assert_true(atomic_load(&f.produced) < 1000);
    c = client_free(c);
    stop(&f);
}

static void test_full_house(void **state)
{
    struct fixture f;
    struct server_config config = default_config(&f);
    struct client_target t;
    struct client *a, *b;
    struct err err = { .text = "" };
    int r;

    config.max_connections = 2;
    start(&f, &config);
    t = target_of(&f, true);
    a = dial(&t);
    b = dial(&t);
    assert_int_equal(ping(a, NULL), 0);
    assert_int_equal(ping(b, NULL), 0);
    r = try_ping(&t, &err); /* told while connecting or by the first call */
    assert_true(r == -EREMOTEIO || r == -EBUSY);
    assert_string_equal(err.text, slurm_err_text(EPST_BUSY));
    t.try_local = false;
    assert_int_equal(try_ping(&t, &err), -EBUSY);
    assert_string_equal(err.text, slurm_err_text(EPST_BUSY));
    a = client_free(a);
    b = client_free(b);
    stop(&f);
}

/* The key that comes with a credential whose MAC is `mac`. */
static void step_key(const struct fixture *f, uint8_t mac[AUTH_MAC_SIZE],
                     uint8_t key[AUTH_MAC_SIZE], Pst__SignedCredential *cred)
{
    const char *kid;

    assert_int_equal(auth_derive(f->keys, NULL, AUTH_FOR_LAUNCH, mac, AUTH_MAC_SIZE, key, &kid), 0);
    cred->key_id = (char *)kid;
    cred->has_mac = true;
    cred->mac = (ProtobufCBinaryData){ AUTH_MAC_SIZE, mac };
}

static void test_detach(void **state)
{
    struct fixture f;
    struct err err = { .text = "" };
    struct server_config config = default_config(&f);
    struct client_target t;
    struct client *srun, *stepd;
    uint8_t mac[AUTH_MAC_SIZE] = { 7 }, key[AUTH_MAC_SIZE];
    Pst__SignedCredential cred = PST__SIGNED_CREDENTIAL__INIT;
    Pst__LaunchStep launch = PST__LAUNCH_STEP__INIT;
    Pst__StepDone done = PST__STEP_DONE__INIT;
    struct frame frame;

    config.step_keys = true;
    config.service = "slurmd";
    config.name = "n1";
    config.serves = ACCESS_AT(ACCESS_SLURMD);
    start(&f, &config);
    t = target_of(&f, false);
    t.service = "slurmd";
    t.name = "n1";
    step_key(&f, mac, key, &cred);
    t.credential = &cred;
    t.launch_key = (ProtobufCBinaryData){ sizeof(key), key };
    t.key_file = NULL;
    srun = dial(&t);
    launch.node_name = (char *)"n1";
    assert_int_equal(client_call(srun, OP_LAUNCH_STEP, &launch.base, NULL), 0);
    while (atomic_load(&f.detached_fd) < 0)
        (void)poll(NULL, 0, 1);
    assert_int_equal(client_from_fd(atomic_load(&f.detached_fd), &stepd), 0);
    done.has_status = true;
    done.status = 3;
    assert_int_equal(client_send(stepd, OP_STEP_DONE, FRAME_ONEWAY, 0, &done.base), 0);
    assert_int_equal(client_recv(srun, WAIT_MS, &frame), 1);
    assert_int_equal(frame.op, OP_STEP_DONE);
    assert_int_equal(client_send(srun, OP_STEP_SIGNAL, FRAME_ONEWAY, 0, NULL), 0);
    assert_int_equal(client_recv(stepd, WAIT_MS, &frame), 1);
    assert_int_equal(client_recv(stepd, 0, &frame), 0);
    srun = client_free(srun);
    assert_int_equal(client_recv(stepd, WAIT_MS, &frame), -EPIPE);
    stepd = client_free(stepd);
    key[0] ^= 1; /* a credential alone is worth nothing */
    assert_int_equal(client_connect(&t, 0, &srun, &err), -EACCES);
    key[0] ^= 1;
    t.name = "n2"; /* and its key is good for the node that is meant */
    assert_int_equal(client_connect(&t, 0, &srun, &err), -EACCES);
    assert_string_equal(err.text, "Wrong node: this is n1, not n2");
    stop(&f);
}

static void test_nonblocking(void **state)
{
    int sv[2];
    struct client *a, *b;
    static uint8_t data[200000];
    Pst__StepIo io = PST__STEP_IO__INIT;
    struct frame frame;
    int sent = 0, got = 0;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
    assert_int_equal(client_from_fd(sv[0], &a), 0);
    assert_int_equal(client_from_fd(sv[1], &b), 0);
    io.has_data = true;
    io.data.data = data;
    io.data.len = sizeof(data);
    while (client_out_pending(a) == 0) {
        assert_int_equal(client_send_nonblock(a, OP_STEP_IO, FRAME_ONEWAY, 0, &io.base), 0);
        sent++;
    }
    assert_int_equal(client_send_nonblock(a, OP_STEP_IO, FRAME_ONEWAY, 0, &io.base), 0);
    sent++;
    assert_int_equal(client_flush(a), -EAGAIN);
    assert_int_equal(client_release_fd(a), -EBUSY);
    while (got < sent) {
        int r = client_recv(b, 0, &frame);

        assert_true(r >= 0);
        if (r == 1) {
            assert_true(frame.len > sizeof(data));
            got++;
        } else {
            (void)client_flush(a); /* tried again until all is through */
        }
    }
    assert_int_equal(client_out_pending(a), 0);
    a = client_free(a);
    assert_int_equal(client_send(b, OP_STEP_IO, FRAME_ONEWAY, 0, &io.base), -EPIPE); /* no signal */
    b = client_free(b);
}

static void test_thousand(void **state)
{
    struct fixture f;
    struct server_config config = default_config(&f);
    struct client_target t;
    struct rlimit lim;
    struct client **clients;
    unsigned n = 1000;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &lim), 0);
    lim.rlim_cur = lim.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &lim);
    if (lim.rlim_cur < 2 * n + 100)
        n = ((unsigned)lim.rlim_cur - 100) / 2;
    config.threads = 4;
    start(&f, &config);
    clients = calloc(n, sizeof(*clients));
    for (unsigned i = 0; i < n; i++) {
        t = target_of(&f, i % 2);
        clients[i] = dial(&t);
    }
    for (int round = 0; round < 3; round++)
        for (unsigned i = 0; i < n; i++)
            assert_int_equal(ping(clients[i], NULL), 0);
    assert_int_equal(server_connections(f.server), n);
    for (unsigned i = 0; i < n / 2; i++)
        clients[i] = client_free(clients[i]);
    for (unsigned i = n / 2; i < n; i++)
        assert_int_equal(ping(clients[i], NULL), 0);
    stop(&f); /* with half of them open */
    assert_int_equal(atomic_load(&f.opened), n);
    for (unsigned i = n / 2; i < n; i++) {
        assert_int_equal(ping(clients[i], NULL), -EPIPE);
        clients[i] = client_free(clients[i]);
    }
    free(clients);
}

static void test_port_taken(void **state)
{
    struct fixture f;
    struct server_config config;
    struct server *second = NULL;
    struct err err = { .text = "" };

    start(&f, NULL);
    config = default_config(&f);
    config.any_port = false;
    config.port = server_port(f.server);
    assert_int_equal(server_new(&config, &second, &err), -EADDRINUSE);
    assert_non_null(strstr(err.text, "cannot listen"));
    config.bind_addr = "127.0.0.2";
    /* without the local socket, which anybody may hold */
    assert_int_equal(server_new(&config, &second, &err), 0);
    second = server_free(second);
    config.any_port = true; /* made but never started */
    config.port = 0;
    assert_int_equal(server_new(&config, &second, &err), 0);
    second = server_free(second);
    stop(&f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostile),     cmocka_unit_test(test_stalled_reader),
        cmocka_unit_test(test_full_house),  cmocka_unit_test(test_detach),
        cmocka_unit_test(test_nonblocking), cmocka_unit_test(test_thousand),
        cmocka_unit_test(test_port_taken),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
