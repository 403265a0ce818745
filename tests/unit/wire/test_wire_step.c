/* test_wire_step.c - connections with a step's credential: handed over inside TLS, refused, and
 * many at once, straight or through relays */
#include "wire_util.h"

#include <sys/ioctl.h>

#include "wire/client_tls.h"
#include "wire/fanout.h"
#include "wire/server/launchkey.h"
#include "wire/tls/tls.h"

#define REQUESTS 8u

/* What the node did with the requests that came. */
struct node {
    struct fixture f;
    pthread_mutex_t lock;
    unsigned n;
    struct request {
        unsigned op;
        int fd;
        ProtobufCMessage *msg;
    } got[REQUESTS];
    bool refuses;
    uint8_t secret[AUTH_MAC_SIZE];
    bool has_secret;
};

static void take_request(void *ctx, struct conn *c, const struct frame *frame)
{
    struct node *n = ctx;
    struct request r = { .op = frame->op, .fd = -1 };

    if (n->refuses) {
        (void)conn_error(c, frame->op, frame->id, ESLURM_INVALID_JOB_ID, NULL);
        conn_close(c);
        return;
    }
    assert_int_equal(frame_unpack_request(frame, &r.msg, NULL), 0);
    assert_int_equal(conn_detach_fd(c, &r.fd), 0);
    pthread_mutex_lock(&n->lock);
    assert_true(n->n < REQUESTS);
    n->got[n->n++] = r;
    pthread_mutex_unlock(&n->lock);
}

static void forget_conn(void *ctx, struct conn *c)
{
    (void)ctx, (void)c;
}

static bool tell_secret(void *ctx, uint8_t ret_secret[AUTH_MAC_SIZE])
{
    struct node *n = ctx;

    memcpy(ret_secret, n->secret, AUTH_MAC_SIZE);
    return n->has_secret;
}

static unsigned count_requests(struct node *n)
{
    unsigned count;

    pthread_mutex_lock(&n->lock);
    count = n->n;
    pthread_mutex_unlock(&n->lock);
    return count;
}

static void wait_requests(struct node *n, unsigned count)
{
    while (count_requests(n) < count)
        (void)poll(NULL, 0, 1);
}

static struct tls_ctx *new_context(bool need_cert)
{
    struct tls_config c = { .kind = TLS_AUTO, .any_server = true, .need_cert = need_cert };
    struct tls_ctx *ctx = NULL;

    assert_int_equal(tls_ctx_load(&c, &ctx, NULL), 0);
    return ctx;
}

static void start_node(struct node *n, struct tls_ctx *tls)
{
    struct server_config config;
    struct err err = { .text = "" };

    *n = (struct node){ .refuses = false };
    pthread_mutex_init(&n->lock, NULL);
    config = default_config(&n->f);
    assert_int_equal(auth_keys_load(key_file, &n->f.keys, &err), 0);
    config.keys = n->f.keys;
    config.tls = tls;
    config.step_keys = true;
    config.service = "slurmd";
    config.serves = ACCESS_AT(ACCESS_SLURMD);
    config.ctx = n;
    config.hooks = (struct server_hooks){ .on_request = take_request,
                                          .on_close = forget_conn,
                                          .launch_secret = tell_secret };
    if (server_new(&config, &n->f.server, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(server_start(n->f.server), 0);
}

static void stop_node(struct node *n)
{
    server_stop(n->f.server);
    n->f.server = server_free(n->f.server);
    n->f.keys = auth_keys_free(n->f.keys);
    for (unsigned i = 0; i < n->n; i++) {
        protobuf_c_message_free_unpacked(n->got[i].msg, NULL);
        if (n->got[i].fd >= 0)
            (void)close(n->got[i].fd);
    }
    pthread_mutex_destroy(&n->lock);
}

/* A credential and its key, and the node as its target. */
struct caller {
    Pst__SignedCredential cred;
    uint8_t mac[AUTH_MAC_SIZE], key[AUTH_MAC_SIZE];
    struct client_target t;
};

static void make_caller(struct caller *x, const struct node *n, struct tls_ctx *tls)
{
    const char *kid;

    *x = (struct caller){ .cred = PST__SIGNED_CREDENTIAL__INIT, .mac = { 7 } };
    assert_int_equal(
        auth_derive(n->f.keys, NULL, AUTH_FOR_LAUNCH, x->mac, AUTH_MAC_SIZE, x->key, &kid), 0);
    x->cred.key_id = (char *)kid;
    x->cred.has_mac = true;
    x->cred.mac = (ProtobufCBinaryData){ AUTH_MAC_SIZE, x->mac };
    x->t = target_of(&n->f, false);
    x->t.service = "slurmd";
    x->t.key_file = NULL;
    x->t.credential = &x->cred;
    x->t.launch_key = (ProtobufCBinaryData){ sizeof(x->key), x->key };
    x->t.tls = tls;
}

/* ---- one connection -------------------------------------------------------------------------- */

/* Both ends are ours: while one waits for the other's part of the handshake, the other gets its
 * turn. */
static void pass_frame(struct client *from, struct client *to, unsigned op,
                       const ProtobufCMessage *msg, struct frame *ret)
{
    int r = client_send_nonblock(from, op, FRAME_ONEWAY, 0, msg);

    assert_int_equal(r, 0);
    while ((r = client_recv(to, 1, ret)) == 0) {
        r = client_flush(from);
        assert_true(r == 0 || r == -EAGAIN);
    }
    assert_int_equal(r, 1);
    assert_int_equal(ret->op, op);
}

static void exchange(struct client *srun, struct client *stepd)
{
    Pst__StepDone done = PST__STEP_DONE__INIT;
    ProtobufCMessage *msg = NULL;
    struct frame frame;

    done.has_status = true;
    done.status = 3;
    pass_frame(stepd, srun, OP_STEP_DONE, &done.base, &frame);
    assert_int_equal(frame_unpack(&frame, frame_message(&frame), &msg, NULL), 0);
    assert_int_equal(((Pst__StepDone *)msg)->status, 3);
    protobuf_c_message_free_unpacked(msg, NULL);
    pass_frame(srun, stepd, OP_STEP_SIGNAL, NULL, &frame);
}

/* The request is read in the keys of the credential; whoever gets the descriptor goes on with a
 * key that the request carries. */
static void test_handed_over(void **state)
{
    _cleanup_(tls_ctx_unref) struct tls_ctx *server = new_context(true), *mine = new_context(false);
    Pst__LaunchStep launch = PST__LAUNCH_STEP__INIT;
    struct client *srun, *stepd = NULL;
    const Pst__LaunchStep *got;
    struct caller x;
    struct node n;

    (void)state;
    start_node(&n, server);
    make_caller(&x, &n, mine);
    srun = dial(&x.t);
    launch.stream_key = client_stream_key(srun);
    launch.has_stream_key = true;
    assert_int_equal(launch.stream_key.len, TLS_KEY_SIZE);
    assert_int_equal(client_send(srun, OP_LAUNCH_STEP, 0, client_next_id(srun), &launch.base), 0);
    assert_int_equal(client_stream_key(srun).len, 0); /* good for one request */
    wait_requests(&n, 1);
    got = (const Pst__LaunchStep *)n.got[0].msg;
    assert_int_equal(client_from_stream(n.got[0].fd, (ProtobufCBinaryData){ 5, x.key }, &stepd),
                     -EINVAL);
    assert_null(stepd);
    assert_int_equal(client_from_stream(n.got[0].fd, got->stream_key, &stepd), 0);
    n.got[0].fd = -1;
    exchange(srun, stepd);
    stepd = client_free(stepd);
    {
        struct frame frame;

        assert_int_equal(client_recv(srun, WAIT_MS, &frame), -EPIPE);
    }
    srun = client_free(srun);
    stop_node(&n);
}

/* Bytes that have arrived and are not read yet. */
static int arrived(int fd)
{
    int n = -1;

    assert_int_equal(ioctl(fd, FIONREAD, &n), 0);
    return n;
}

/* Frames that are to be gathered leave together, when told to or when there are many; each comes
 * in its place. */
static void test_gathered(void **state)
{
    Pst__StepMessage text = PST__STEP_MESSAGE__INIT;
    _cleanup_free_ char *big = malloc(40000);
    struct client *one = NULL, *other = NULL;
    struct frame frame;
    int sv[2], alone;

    (void)state;
    assert_non_null(big);
    memset(big, 'x', 39999);
    big[39999] = '\0';
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sv), 0);
    assert_int_equal(client_from_stream(sv[0], (ProtobufCBinaryData){ 0 }, &one), 0);
    assert_int_equal(client_from_stream(sv[1], (ProtobufCBinaryData){ 0 }, &other), 0);
    assert_int_equal(client_send_nonblock(one, OP_STEP_DONE, FRAME_ONEWAY, 1, NULL), 0);
    alone = arrived(sv[1]);
    assert_true(alone > 0);
    client_gather(one, 1000);
    for (uint32_t id = 2; id < 5; id++)
        assert_int_equal(client_send_nonblock(one, OP_STEP_DONE, FRAME_ONEWAY, id, NULL), 0);
    assert_int_equal(arrived(sv[1]), alone);
    assert_int_equal(client_out_pending(one), 3 * (size_t)alone);
    assert_int_equal(client_flush(one), 0);
    assert_int_equal(arrived(sv[1]), 4 * alone);
    assert_int_equal(client_send_nonblock(one, OP_STEP_DONE, FRAME_ONEWAY, 5, NULL), 0);
    text.text = big; /* more than is to be gathered: both leave */
    assert_int_equal(client_send_nonblock(one, OP_STEP_MESSAGE, FRAME_ONEWAY, 6, &text.base), 0);
    assert_int_equal(client_out_pending(one), 0);
    for (uint32_t id = 1; id < 7; id++) {
        assert_int_equal(client_recv(other, WAIT_MS, &frame), 1);
        assert_int_equal(frame.id, id);
    }
    one = client_free(one);
    other = client_free(other);
}

/* With another key in hand the two never understand each other. */
static void test_another_stream_key(void **state)
{
    _cleanup_(tls_ctx_unref) struct tls_ctx *server = new_context(true), *mine = new_context(false);
    uint8_t wrong[TLS_KEY_SIZE] = { 1, 2, 3 };
    Pst__LaunchStep launch = PST__LAUNCH_STEP__INIT;
    struct client *srun, *stepd = NULL;
    struct frame frame;
    struct caller x;
    struct node n;

    (void)state;
    start_node(&n, server);
    make_caller(&x, &n, mine);
    srun = dial(&x.t);
    assert_int_equal(client_send(srun, OP_LAUNCH_STEP, 0, client_next_id(srun), &launch.base), 0);
    wait_requests(&n, 1);
    assert_int_equal(
        client_from_stream(n.got[0].fd, (ProtobufCBinaryData){ sizeof(wrong), wrong }, &stepd), 0);
    n.got[0].fd = -1;
    assert_true(client_recv(stepd, WAIT_MS, &frame) < 0);
    stepd = client_free(stepd);
    assert_true(client_recv(srun, WAIT_MS, &frame) < 0);
    srun = client_free(srun);
    stop_node(&n);
}

/* Where the node refuses, its sentence arrives although the caller has begun the second life. */
static void test_refused(void **state)
{
    _cleanup_(tls_ctx_unref) struct tls_ctx *server = new_context(true), *mine = new_context(false);
    struct tls_ctx *both[2][2] = { { NULL, NULL }, { server, mine } };
    Pst__LaunchStep launch = PST__LAUNCH_STEP__INIT;

    (void)state;
    for (int tls = 0; tls < 2; tls++) {
        struct client *srun;
        struct caller x;
        struct node n;
        const char *text;

        start_node(&n, both[tls][0]);
        n.refuses = true;
        make_caller(&x, &n, both[tls][1]);
        srun = dial(&x.t);
        assert_int_equal(client_call(srun, OP_LAUNCH_STEP, &launch.base, NULL), -EREMOTEIO);
        assert_int_equal(client_error(srun, &text), ESLURM_INVALID_JOB_ID);
        assert_string_equal(text, slurm_err_text(ESLURM_INVALID_JOB_ID));
        srun = client_free(srun);
        stop_node(&n);
    }
}

static void expect_no_way(struct caller *x)
{
    struct err err = { .text = "" };
    struct client *c = NULL;
    int r = client_connect(&x->t, 0, &c, &err);

    if (r >= 0)
        fail_msg("the node believed it");
    assert_true(err.text[0]);
    assert_null(c);
}

/* Neither a credential alone, nor its key by another name, opens anything. */
static void test_wrong_keys(void **state)
{
    _cleanup_(tls_ctx_unref) struct tls_ctx *server = new_context(true), *mine = new_context(false);
    struct tls_ctx *both[2][2] = { { NULL, NULL }, { server, mine } };
    char long_name[TLS_ID_MAX + 1];

    (void)state;
    memset(long_name, 'k', sizeof(long_name) - 1);
    long_name[sizeof(long_name) - 1] = '\0';
    for (int tls = 0; tls < 2; tls++) {
        struct caller x;
        struct node n;

        start_node(&n, both[tls][0]);
        make_caller(&x, &n, both[tls][1]);
        x.key[0] ^= 1;
        expect_no_way(&x);
        x.key[0] ^= 1;
        x.mac[5] ^= 1;
        expect_no_way(&x);
        x.mac[5] ^= 1;
        x.t.launch_key.len = 3;
        expect_no_way(&x);
        x.t.launch_key.len = sizeof(x.key);
        x.cred.key_id = (char *)"a2";
        expect_no_way(&x);
        x.cred.key_id = long_name;
        expect_no_way(&x);
        x.cred.key_id = NULL;
        expect_no_way(&x);
        make_caller(&x, &n, both[tls][1]);
        x.t.node_launch = true; /* of the node's own key: this one has none */
        expect_no_way(&x);
        assert_int_equal(n.n, 0);
        stop_node(&n);
    }
}

/* A launch key that the node's own key gives: by its name, in both kinds of connection. */
static void test_node_key(void **state)
{
    _cleanup_(tls_ctx_unref) struct tls_ctx *server = new_context(true), *mine = new_context(false);
    struct tls_ctx *both[2][2] = { { NULL, NULL }, { server, mine } };
    Pst__LaunchStep launch = PST__LAUNCH_STEP__INIT;

    (void)state;
    for (int tls = 0; tls < 2; tls++) {
        ProtobufCBinaryData none = { 0 }, own;
        struct client *srun;
        struct caller x;
        struct node n;

        start_node(&n, both[tls][0]);
        n.has_secret = true;
        n.secret[3] = 9;
        make_caller(&x, &n, both[tls][1]);
        memcpy(x.key, n.secret, sizeof(x.key));
        idkey_mix(x.key, x.mac);
        own = (ProtobufCBinaryData){ sizeof(x.key), x.key };
        client_set_launch(&x.t, &none, &own);
        srun = dial(&x.t);
        launch.stream_key = client_stream_key(srun);
        launch.has_stream_key = launch.stream_key.len > 0;
        assert_int_equal(launch.has_stream_key, tls);
        assert_int_equal(client_send(srun, OP_LAUNCH_STEP, 0, client_next_id(srun), &launch.base),
                         0);
        wait_requests(&n, 1);
        srun = client_free(srun);
        stop_node(&n);
    }
}

/* ---- many ------------------------------------------------------------------------------------ */

struct told {
    unsigned lost, launched;
};

static void note_lost(void *ctx, uint32_t lo, uint32_t hi, const char *why)
{
    struct told *t = ctx;

    t->lost += hi - lo + 1;
    if (!why[0])
        fail_msg("no reason");
}

static void note_launch(void *ctx, const Pst__RelayNode *node)
{
    (void)node;
    ((struct told *)ctx)->launched++;
}

/* Five nodes of numbers 10, 20, ... at most two connections: two relays, of which one begins with
 * its second node since nobody listens for the first. */
struct many {
    Pst__RelayNode nodes[5], *list[5];
    char names[5][8];
    uint32_t tasks[5];
    Pst__RelayOpen open;
};

static void make_many(struct many *m, const struct caller *x, uint16_t port)
{
    m->open = (Pst__RelayOpen)PST__RELAY_OPEN__INIT;
    for (uint32_t i = 0; i < 5; i++) {
        Pst__RelayNode *n = &m->nodes[i];

        *n = (Pst__RelayNode)PST__RELAY_NODE__INIT;
        (void)snprintf(m->names[i], sizeof(m->names[i]), "n%u", i);
        m->tasks[i] = 100 + i;
        n->has_number = n->has_port = n->has_node_index = true;
        n->number = (i + 1) * 10;
        n->node_index = i;
        n->port = port;
        n->name = m->names[i];
        n->addr = (char *)"127.0.0.1";
        n->task_ids = &m->tasks[i];
        n->n_task_ids = 1;
        m->list[i] = n;
    }
    m->open.nodes = m->list;
    m->open.n_nodes = 5;
    m->open.has_timeout_ms = m->open.has_width = m->open.has_launch_key = true;
    m->open.timeout_ms = WAIT_MS;
    m->open.width = 2;
    m->open.cluster = (char *)"testcluster";
    m->open.launch_key = x->t.launch_key;
}

static void test_straight(void **state)
{
    _cleanup_(tls_ctx_unref) struct tls_ctx *server = new_context(true), *mine = new_context(false);
    Pst__LaunchStep launch = PST__LAUNCH_STEP__INIT;
    char *argv[] = { (char *)"common", NULL };
    struct told t = { 0 };
    struct fanout f;
    struct caller x;
    struct many m;
    struct node n;

    (void)state;
    start_node(&n, server);
    make_caller(&x, &n, mine);
    make_many(&m, &x, server_port(n.f.server));
    launch.credential = &x.cred;
    launch.argv = argv;
    launch.n_argv = 1;
    m.open.launch = &launch;
    m.open.width = 5;
    m.nodes[3].program = (char *)"special";
    f = (struct fanout){ .open = &m.open,
                         .program = "test",
                         .tls = mine,
                         .launching = note_launch,
                         .lost = note_lost,
                         .ctx = &t };
    assert_int_equal(fanout_open(&f), 0);
    assert_int_equal(t.lost, 0);
    assert_int_equal(t.launched, 5);
    wait_requests(&n, 5);
    for (unsigned i = 0; i < 5; i++) {
        const Pst__LaunchStep *got = (const Pst__LaunchStep *)n.got[i].msg;

        assert_int_equal(n.got[i].op, OP_LAUNCH_STEP);
        assert_string_equal(got->node_name, m.names[got->node_index]);
        assert_int_equal(got->n_task_ids, 1);
        assert_int_equal(got->task_ids[0], 100 + got->node_index);
        assert_string_equal(got->argv[0], got->node_index == 3 ? "special" : "common");
        assert_int_equal(got->stream_key.len, TLS_KEY_SIZE);
    }
    /* what differs by node is as it was */
    assert_null(launch.node_name);
    assert_null(launch.task_ids);
    assert_null(launch.stream_key.data);
    assert_string_equal(argv[0], "common");
    assert_ptr_equal(fanout_find(&f, 30), &f.links[2]);
    assert_false(f.links[2].relay);
    fanout_done(&f);
    stop_node(&n);
}

/* A frame for nodes behind a relay goes in an envelope that names them. */
static void expect_frame_at(struct node *n, unsigned at, const struct fan_link *link)
{
    ProtobufCMessage *msg = NULL;
    const Pst__RelayFrame *got;
    struct client *relay;
    struct frame frame;

    assert_int_equal(client_from_fd(n->got[at].fd, &relay), 0);
    n->got[at].fd = -1;
    assert_int_equal(client_recv(relay, WAIT_MS, &frame), 1);
    assert_int_equal(frame.op, OP_RELAY_FRAME);
    assert_int_equal(frame_unpack(&frame, frame_message(&frame), &msg, NULL), 0);
    got = (const Pst__RelayFrame *)msg;
    assert_int_equal(got->lo, link->lo);
    assert_int_equal(got->hi, link->hi);
    assert_int_equal(got->op, OP_STEP_SIGNAL);
    protobuf_c_message_free_unpacked(msg, NULL);
    (void)client_free(relay);
}

static void test_through_relays(void **state)
{
    Pst__LaunchStep launch = PST__LAUNCH_STEP__INIT;
    Pst__StepSignal sig = PST__STEP_SIGNAL__INIT;
    struct told t = { 0 };
    struct fanout f;
    struct caller x;
    struct many m;
    struct node n;
    unsigned relay;

    (void)state;
    start_node(&n, NULL);
    make_caller(&x, &n, NULL);
    make_many(&m, &x, server_port(n.f.server));
    launch.credential = &x.cred;
    m.open.launch = &launch;
    m.nodes[0].addr = (char *)"127.0.0.2"; /* nobody listens there */
    f = (struct fanout){
        .open = &m.open, .program = "test", .launching = note_launch, .lost = note_lost, .ctx = &t
    };
    assert_int_equal(fanout_open(&f), 0);
    assert_int_equal(t.lost, 1);
    assert_int_equal(f.n_links, 2);
    assert_int_equal(t.launched, 1);     /* n1, which is left alone of the first piece */
    assert_null(launch.stream_key.data); /* whoever frees the message would free it */
    wait_requests(&n, 2);
    relay = n.got[0].op == OP_RELAY ? 0 : 1; /* they come in any order */
    assert_int_equal(n.got[1 - relay].op, OP_LAUNCH_STEP);
    assert_string_equal(((const Pst__LaunchStep *)n.got[1 - relay].msg)->node_name, "n1");
    {
        const Pst__RelayOpen *got = (const Pst__RelayOpen *)n.got[relay].msg;

        assert_int_equal(n.got[relay].op, OP_RELAY);
        assert_int_equal(got->n_nodes, 3);
        assert_string_equal(got->launch->node_name, "n2"); /* the relay's own */
        assert_string_equal(got->nodes[2]->name, "n4");
        assert_int_equal(got->stream_key.len, 0);
    }
    assert_null(fanout_find(&f, 10)); /* it was lost */
    assert_ptr_equal(fanout_find(&f, 20), &f.links[0]);
    assert_ptr_equal(fanout_find(&f, 50), &f.links[1]);
    assert_null(fanout_find(&f, 60));
    assert_true(f.links[1].relay);
    assert_int_equal(fanout_send(&f.links[1], 30, 50, OP_STEP_SIGNAL, &sig.base), 0);
    expect_frame_at(&n, relay, &f.links[1]);
    assert_int_equal(fanout_send(&f.links[0], 20, 20, OP_STEP_SIGNAL, &sig.base), 0);
    fanout_done(&f);
    stop_node(&n);
}

static void test_files(void **state)
{
    Pst__BcastOpen bcast = PST__BCAST_OPEN__INIT;
    struct told t = { 0 };
    struct fanout f;
    struct caller x;
    struct many m;
    struct node n;

    (void)state;
    start_node(&n, NULL);
    make_caller(&x, &n, NULL);
    make_many(&m, &x, server_port(n.f.server));
    bcast.credential = &x.cred;
    m.open.bcast = &bcast;
    m.open.n_nodes = 2;
    f = (struct fanout){ .open = &m.open, .program = "test", .lost = note_lost, .ctx = &t };
    assert_int_equal(fanout_open(&f), 0);
    assert_int_equal(t.lost, 0);
    wait_requests(&n, 2);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(n.got[i].op, OP_BCAST_OPEN);
        assert_non_null(((const Pst__BcastOpen *)n.got[i].msg)->node_name);
    }
    assert_null(bcast.node_name);
    fanout_done(&f);
    stop_node(&n);
}

/* A node that refuses is one that is lost, with its own reason. */
static void test_node_refuses(void **state)
{
    Pst__LaunchStep launch = PST__LAUNCH_STEP__INIT;
    struct told t = { 0 };
    struct fanout f;
    struct caller x;
    struct many m;
    struct node n;

    (void)state;
    start_node(&n, NULL);
    make_caller(&x, &n, NULL);
    x.key[0] ^= 1;
    make_many(&m, &x, server_port(n.f.server));
    launch.credential = &x.cred;
    m.open.launch = &launch;
    f = (struct fanout){ .open = &m.open, .program = "test", .lost = note_lost, .ctx = &t };
    assert_int_equal(fanout_open(&f), 0);
    assert_int_equal(t.lost, 5);
    assert_null(fanout_find(&f, 30));
    fanout_done(&f);
    stop_node(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_handed_over),    cmocka_unit_test(test_another_stream_key),
        cmocka_unit_test(test_refused),        cmocka_unit_test(test_wrong_keys),
        cmocka_unit_test(test_node_key),       cmocka_unit_test(test_straight),
        cmocka_unit_test(test_through_relays), cmocka_unit_test(test_files),
        cmocka_unit_test(test_node_refuses),   cmocka_unit_test(test_gathered),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
