/* test_wire_node.c - callers whom a node's own key lets in, and those for whom a daemon of their
 * host vouches */
#include "wire_util.h"

#include <endian.h>

#include "wire/auth/idkey.h"
#include "wire/auth/vouch.h"

/* What the controller knows of nodes. */
struct site {
    struct fixture f; /* first: hooks of wire_util.h take it */
    struct idkey *controllers, *node, *stranger;
    uid_t may; /* the user for whom the node may vouch */
    char paths[3][96];
};

static bool knows_node(void *ctx, const uint8_t key[IDKEY_SIZE])
{
    const struct site *s = ctx;

    return memcmp(key, idkey_public(s->node), IDKEY_SIZE) == 0;
}

static bool may_vouch(void *ctx, const uint8_t key[IDKEY_SIZE], uid_t uid, gid_t *ret_gid)
{
    const struct site *s = ctx;

    *ret_gid = 7654;
    return knows_node(ctx, key) && uid == s->may;
}

static void open_pair(struct site *s, unsigned i, struct idkey **ret)
{
    struct err err = { .text = "" };

    (void)snprintf(s->paths[i], sizeof(s->paths[i]), "%s/id%u", dir, i);
    if (idkey_open(s->paths[i], geteuid(), ret, &err) < 0)
        fail_msg("%s", err.text);
}

static void start_site(struct site *s, bool with_identity)
{
    struct server_config config;

    *s = (struct site){ .may = 4321 };
    config = default_config(&s->f);
    open_pair(s, 0, &s->controllers);
    open_pair(s, 1, &s->node);
    open_pair(s, 2, &s->stranger);
    config.identity = with_identity ? s->controllers : NULL;
    config.hooks.knows_node = knows_node;
    config.hooks.may_vouch = may_vouch;
    start(&s->f, &config); /* with the hooks' context the fixture, which is our first member */
}

static void stop_site(struct site *s)
{
    stop(&s->f);
    s->controllers = idkey_free(s->controllers);
    s->node = idkey_free(s->node);
    s->stranger = idkey_free(s->stranger);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(unlink(s->paths[i]), 0);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static int try_register(const struct client_target *t, struct err *err)
{
    _cleanup_(client_free) struct client *c = NULL;
    int r = client_connect(t, geteuid(), &c, err);

    return r < 0 ? r : client_call(c, OP_NODE_REGISTER, NULL, NULL);
}

static struct client_target node_target(const struct site *s, const struct idkey *pair)
{
    struct client_target t = target_of(&s->f, false);

    t.identity = pair;
    t.controller_key = idkey_public(s->controllers);
    t.key_file = NULL;
    return t;
}

static void test_node_key(void **state)
{
    struct err err = { .text = "" };
    struct client_target t;
    struct site s;

    (void)state;
    start_site(&s, true);
    t = node_target(&s, s.node);
    assert_int_equal(try_register(&t, &err), 0);
    {
        _cleanup_(client_free) struct client *c = dial(&t);
        Pst__QueryRequest query = PST__QUERY_REQUEST__INIT;

        /* it is a node, and nobody who asks for users' things */
        assert_int_equal(client_call(c, OP_QUERY_JOBS, &query.base, NULL), -EREMOTEIO);
    }
    t = node_target(&s, s.stranger);
    assert_int_equal(try_register(&t, &err), -EACCES);
    t.key_file = key_file; /* with the cluster's key a new node may come */
    assert_int_equal(try_register(&t, &err), 0);
    t.key_file = wrong_key_file;
    assert_int_equal(try_register(&t, &err), -EACCES);
    t = node_target(&s, s.node);
    t.controller_key = idkey_public(s.stranger); /* it meant other controllers */
    assert_int_equal(try_register(&t, &err), -EACCES);
    stop_site(&s);
}

/* Who has no identity takes no node by its key. */
static void test_no_controller(void **state)
{
    struct err err = { .text = "" };
    struct client_target t;
    struct site s;

    (void)state;
    start_site(&s, false);
    t = node_target(&s, s.node);
    assert_int_equal(try_register(&t, &err), -EACCES);
    t.key_file = key_file;
    assert_int_equal(try_register(&t, &err), -EACCES);
    stop_site(&s);
}

/* ---- vouching -------------------------------------------------------------------------------- */

/* sack.socket: answers for whatever user it is told to. */
struct sack {
    struct sockaddr_un sa;
    int fd;
    pthread_t thread;
    struct vouch_secret with;
    uid_t uid;
};

static void *serve_sack(void *arg)
{
    struct sack *k = arg;
    uint8_t buf[VOUCH_BYTES_MAX];
    int fd;

    while ((fd = accept4(k->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        uint8_t *reply = NULL;
        size_t reply_len = 0;
        uint32_t len = 0;

        if (recv(fd, &len, sizeof(len), MSG_WAITALL) == (ssize_t)sizeof(len) &&
            (len = le32toh(len)) <= sizeof(buf) &&
            recv(fd, buf, len, MSG_WAITALL) == (ssize_t)len &&
            vouch_answer(&k->with, k->uid, 77, buf, len, &reply, &reply_len) == 0)
            (void)!send(fd, reply, reply_len, MSG_NOSIGNAL); /* a caller may have gone */
        free(reply);
        (void)close(fd);
    }
    return NULL;
}

static void open_sack(struct sack *k, uid_t uid)
{
    *k = (struct sack){ .uid = uid, .sa.sun_family = AF_UNIX };
    (void)snprintf(k->sa.sun_path, sizeof(k->sa.sun_path), "%s/" VOUCH_SOCKET, dir);
    k->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(k->fd >= 0);
    assert_int_equal(bind(k->fd, (struct sockaddr *)&k->sa, sizeof(k->sa)), 0);
    assert_int_equal(listen(k->fd, 8), 0);
    assert_int_equal(setenv("SLURM_SACK_SOCKET", k->sa.sun_path, 1), 0);
}

static void begin_sack(struct sack *k)
{
    assert_int_equal(pthread_create(&k->thread, NULL, serve_sack, k), 0);
}

static void close_sack(struct sack *k)
{
    (void)shutdown(k->fd, SHUT_RDWR); /* wakes accept4() */
    (void)pthread_join(k->thread, NULL);
    (void)close(k->fd);
    (void)unlink(k->sa.sun_path);
    (void)unsetenv("SLURM_SACK_SOCKET");
}

/* A user without any key on a host whose daemon has the cluster's. */
static void test_vouched_by_cluster_key(void **state)
{
    struct err err = { .text = "" };
    struct client_target t;
    struct sack k;
    struct site s;

    (void)state;
    start_site(&s, true);
    open_sack(&k, 1234);
    assert_int_equal(
        auth_derive(s.f.keys, NULL, AUTH_FOR_VOUCH, NULL, 0, k.with.secret, &k.with.key_id), 0);
    begin_sack(&k);
    t = target_of(&s.f, false);
    t.key_file = missing_file;
    {
        _cleanup_(client_free) struct client *c = dial(&t);

        expect_ping(c, 1234, PST__AUTH_METHOD__AUTH_VOUCH);
    }
    t.act_as = "root"; /* he is nobody who may act for others */
    assert_int_equal(try_ping(&t, &err), -EACCES);
    assert_string_equal(err.text, "Invalid authentication credential");
    t.act_as = "no-such-user-here";
    assert_int_equal(try_ping(&t, &err), -EACCES);
    assert_string_equal(err.text, "Invalid authentication credential");
    t.act_as = NULL;
    k.uid = 0; /* root of that host, who may name others */
    t.act_as = "root";
    {
        _cleanup_(client_free) struct client *c = dial(&t);

        expect_ping(c, 0, PST__AUTH_METHOD__AUTH_VOUCH);
    }
    t.act_as = NULL;
    k.uid = (uid_t)-1; /* nobody at all */
    assert_int_equal(try_ping(&t, &err), -EACCES);
    k.uid = 1234;
    k.with.secret[0] ^= 1;
    assert_int_equal(try_ping(&t, &err), -EACCES);
    close_sack(&k);
    assert_true(try_ping(&t, &err) <
                0); /* no daemon is left; what is tried next, the machine has or not */
    stop_site(&s);
}

/* A node without the cluster's key vouches for whom the controller lets it. */
static void test_vouched_by_node(void **state)
{
    struct err err = { .text = "" };
    struct client_target t;
    struct sack k;
    struct site s;

    (void)state;
    start_site(&s, true);
    open_sack(&k, 4321);
    assert_int_equal(
        idkey_secret(s.node, idkey_public(s.controllers), IDKEY_FOR_VOUCH, k.with.secret), 0);
    k.with.node_key = idkey_public(s.node);
    begin_sack(&k);
    t = target_of(&s.f, false);
    t.key_file = missing_file;
    {
        _cleanup_(client_free) struct client *c = dial(&t);

        expect_ping(c, 4321, PST__AUTH_METHOD__AUTH_VOUCH);
    }
    /* Nobody here knows the user: what group he has the controller says, not the node. */
    assert_int_equal(atomic_load(&s.f.last_gid), 7654);
    k.uid = 0; /* root there is nobody here */
    assert_int_equal(try_ping(&t, &err), -EACCES);
    assert_string_equal(err.text, "Invalid authentication credential");
    k.uid = 4322;
    assert_int_equal(try_ping(&t, &err), -EACCES);
    k.uid = 4321;
    assert_int_equal(
        idkey_secret(s.stranger, idkey_public(s.controllers), IDKEY_FOR_VOUCH, k.with.secret), 0);
    assert_int_equal(try_ping(&t, &err), -EACCES); /* its name with another's secret */
    k.with.node_key = idkey_public(s.stranger);
    assert_int_equal(try_ping(&t, &err), -EACCES); /* a node that nobody knows */
    close_sack(&k);
    stop_site(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_node_key),
        cmocka_unit_test(test_no_controller),
        cmocka_unit_test(test_vouched_by_cluster_key),
        cmocka_unit_test(test_vouched_by_node),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
