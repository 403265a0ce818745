/* test_hello.c - the caller's half of the handshake: how it proves itself, and whom it believes */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "wire/auth/auth.h"
#include "wire/auth/idkey.h"
#include "wire/hello.h"

#include "folder_util.h"

/* {"alg":"HS256","typ":"JWT"} and {"alg":"RS256","typ":"JWT"}; empty claims, no good signature */
#define SHARED_TOKEN                                                                               \
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.e30."                                                    \
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
#define PUBLIC_TOKEN "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.e30.AAAA"

static void test_version(void **state)
{
    static const struct {
        uint32_t min, max;
        int want; /* 0: none in common */
    } rows[] = {
        { 1, 3, 3 },     { 3, 3, 3 }, { 1, 2, 2 }, { 1, 1, 1 }, { 2, 90, 3 },
        { 3, 70000, 3 }, { 4, 9, 0 }, { 0, 0, 0 }, { 2, 1, 0 }, /* more than its greatest */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        Pst__Challenge ch = PST__CHALLENGE__INIT;
        struct err err = { .text = "" };
        uint16_t version = 77;

        ch.has_min_version = ch.has_max_version = 1;
        ch.min_version = rows[i].min;
        ch.max_version = rows[i].max;
        ch.release = (char *)"25.11.1";
        if (rows[i].want) {
            assert_int_equal(hello_version(&ch, &version, &err), 0);
            assert_int_equal(version, rows[i].want);
        } else {
            assert_int_equal(hello_version(&ch, &version, &err), -EPROTO);
            assert_int_equal(version, 77);
            assert_non_null(strstr(err.text, "25.11.1"));
        }
    }
}

static unsigned chosen(const struct client_target *t, bool local)
{
    struct auth_keys *keys = NULL;
    unsigned method = 99;
    struct err err = { .text = "" };

    assert_int_equal(hello_choose(t, local, &method, &keys, &err), 0);
    auth_keys_free(keys);
    return method;
}

/* A credential; else a token; else the kernel; else munge; else the key. */
static void test_choose(void **state)
{
    Pst__SignedCredential cred = PST__SIGNED_CREDENTIAL__INIT;
    struct client_target t = { .credential = &cred, .jwt = SHARED_TOKEN, .use_munge = true };

    (void)state;
    assert_int_equal(chosen(&t, true), PST__AUTH_METHOD__AUTH_STEP);
    t.credential = NULL;
    assert_int_equal(chosen(&t, true), PST__AUTH_METHOD__AUTH_JWT);
    assert_int_equal(chosen(&t, false), PST__AUTH_METHOD__AUTH_JWT);
    t.jwt = PUBLIC_TOKEN;
    assert_int_equal(chosen(&t, true), PST__AUTH_METHOD__AUTH_BEARER);
    t.jwt = "";
    assert_int_equal(chosen(&t, true), PST__AUTH_METHOD__AUTH_PEERCRED);
    assert_int_equal(chosen(&t, false), PST__AUTH_METHOD__AUTH_MUNGE);
}

static void expect_no_way(const struct client_target *t, const char *words)
{
    struct auth_keys *keys = NULL;
    unsigned method = 99;
    struct err err = { .text = "" };

    assert_int_equal(hello_choose(t, false, &method, &keys, &err), -EACCES);
    assert_null(keys);
    if (!strstr(err.text, words))
        fail_msg("%s: no word of %s", err.text, words);
}

/* Over TCP a token that whoever sees may use again is not shown; a key must be there. */
static void test_nothing_to_prove_with(void **state)
{
    struct client_target t = { .jwt = PUBLIC_TOKEN, .use_munge = true };
    char dir[256], path[300];
    struct auth_keys *keys = NULL;
    struct err err = { .text = "" };
    unsigned method = 0;

    (void)state;
    expect_no_way(&t, "slurmctld");
    t.service = "slurmdbd";
    expect_no_way(&t, "slurmdbd");
    folder_make(dir, sizeof(dir), "hello");
    (void)snprintf(path, sizeof(path), "%s/slurm.key", dir);
    /* a node has no daemon that vouches for it */
    t = (struct client_target){ .key_file = path, .identity = (const struct idkey *)path };
    expect_no_way(&t, "does not exist");
    assert_int_equal(auth_keys_create(path, &err), 0);
    assert_int_equal(hello_choose(&t, false, &method, &keys, &err), 0);
    assert_int_equal(method, PST__AUTH_METHOD__AUTH_KEY);
    assert_non_null(keys);
    auth_keys_free(keys);
    keys = NULL;
    assert_int_equal(chmod(path, 0644), 0); /* anybody could have read it */
    assert_int_equal(hello_choose(&t, false, &method, &keys, &err), -EPERM);
    t.key_file = NULL;
    expect_no_way(&t, "not configured");
    folder_remove(dir);
}

static void test_may_local(void **state)
{
    struct client_target t = { .jwt = NULL };

    (void)state;
    assert_true(hello_may_local(&t));
    t.jwt = "";
    assert_true(hello_may_local(&t));
    t.jwt = PUBLIC_TOKEN; /* shown whole */
    assert_true(hello_may_local(&t));
    t.jwt = SHARED_TOKEN; /* proved, which takes TCP */
    assert_false(hello_may_local(&t));
}

/* A credential with its launch key. */
struct launch {
    Pst__SignedCredential cred;
    uint8_t mac[AUTH_MAC_SIZE], key[HANDSHAKE_SECRET_SIZE];
    struct client_target t;
};

static void make_launch(struct launch *l)
{
    *l = (struct launch){ .mac = { 1, 2, 3 }, .key = { 9, 8, 7 } };
    pst__signed_credential__init(&l->cred);
    l->cred.has_mac = 1;
    l->cred.mac = (ProtobufCBinaryData){ sizeof(l->mac), l->mac };
    l->cred.key_id = (char *)"k1";
    l->t = (struct client_target){ .credential = &l->cred,
                                   .launch_key = { sizeof(l->key), l->key },
                                   .cluster = "demo",
                                   .service = "slurmd",
                                   .name = "n1",
                                   .program = "srun" };
}

static void test_tls_key(void **state)
{
    uint8_t id[128], key[HANDSHAKE_SECRET_SIZE], same[HANDSHAKE_SECRET_SIZE];
    char long_kid[200];
    struct launch l;
    size_t len = 0;

    (void)state;
    make_launch(&l);
    assert_int_equal(hello_tls_key(&l.t, id, &len, key), 0);
    assert_int_equal(len, AUTH_MAC_SIZE + 2);
    assert_memory_equal(id, l.mac, AUTH_MAC_SIZE);
    assert_memory_equal(id + AUTH_MAC_SIZE, "k1", 2);
    hello_launch_tls(l.key, same);
    assert_memory_equal(key, same, sizeof(key));
    assert_memory_not_equal(key, l.key, sizeof(key)); /* the launch key itself is not shown */
    l.t.node_launch = true;                           /* by the node's own key */
    assert_int_equal(hello_tls_key(&l.t, id, &len, key), 0);
    assert_int_equal(len, AUTH_MAC_SIZE + strlen(IDKEY_LAUNCH_KID));
    l.t.node_launch = false;

    memset(long_kid, 'k', sizeof(long_kid));
    long_kid[sizeof(long_kid) - 1] = '\0';
    l.cred.key_id = long_kid;
    assert_int_equal(hello_tls_key(&l.t, id, &len, key), -EINVAL);
    l.cred.key_id = NULL;
    assert_int_equal(hello_tls_key(&l.t, id, &len, key), -EACCES);
    l.cred.key_id = (char *)"k1";
    l.t.launch_key.len = 16;
    assert_int_equal(hello_tls_key(&l.t, id, &len, key), -EACCES);
    l.t.launch_key.len = HANDSHAKE_SECRET_SIZE;
    l.cred.mac.len = 5;
    assert_int_equal(hello_tls_key(&l.t, id, &len, key), -EACCES);
}

/* The server's side of it: what the Hello says, and the proof that the secret allows. */
static Pst__Hello *read_hello(const uint8_t *buf, size_t len, uint16_t want_version)
{
    ProtobufCMessage *msg = NULL;
    struct frame f;
    struct err err = { .text = "" };

    assert_true(len > FRAME_HEADER_SIZE);
    assert_int_equal(frame_decode_header(buf, &f), 0);
    assert_int_equal(f.op, OP_HELLO);
    assert_int_equal(f.version, want_version);
    assert_int_equal(f.len, len - FRAME_HEADER_SIZE);
    f.body = buf + FRAME_HEADER_SIZE;
    assert_int_equal(frame_unpack(&f, &pst__hello__descriptor, &msg, &err), 0);
    return (Pst__Hello *)msg;
}

static void prove(const uint8_t *nonce, const Pst__Hello *h, const uint8_t *secret,
                  struct handshake *ret)
{
    _cleanup_free_ uint8_t *bytes = NULL;
    size_t len;

    assert_int_equal(handshake_bytes(nonce, h, &bytes, &len), 0);
    assert_int_equal(handshake_derive(secret, bytes, len, ret), 0);
}

static void expect_disbelief(const struct client_target *t, struct hello_sent *sent,
                             const Pst__HelloReply *reply)
{
    struct seal *in = NULL, *out = NULL;
    struct err err = { .text = "" };

    assert_int_equal(hello_check(t, sent, reply, 0, &in, &out, &err), -EACCES);
    assert_null(in);
    assert_null(out);
    assert_non_null(strstr(err.text, "does not prove itself"));
}

/* Both ends that know the launch key prove themselves; anything else is not believed. */
static void test_step(void **state)
{
    static const uint8_t nonce[AUTH_NONCE_SIZE] = { 4, 5 };
    Pst__HelloReply reply = PST__HELLO_REPLY__INIT;
    struct hello_sent sent = { 0 };
    struct seal *in = NULL, *out = NULL;
    struct err err = { .text = "" };
    struct handshake server;
    uint8_t *buf = NULL;
    size_t len = 0;
    struct launch l;
    Pst__Hello *h;

    (void)state;
    make_launch(&l);
    assert_int_equal(
        hello_pack(&(struct hello_way){ &l.t, PST__AUTH_METHOD__AUTH_STEP, NULL, nonce, 2 }, &buf,
                   &len, &sent, &err),
        0);
    h = read_hello(buf, len, 2);
    assert_int_equal(h->uid, geteuid());
    assert_string_equal(h->service, "slurmd");
    assert_string_equal(h->name, "n1");
    assert_string_equal(h->cluster, "demo");
    assert_string_equal(h->program, "srun");
    assert_string_equal(h->key_id, "k1");
    assert_memory_equal(h->token.data, l.mac, AUTH_MAC_SIZE);
    prove(nonce, h, l.key, &server);
    assert_int_equal(h->proof.len, AUTH_MAC_SIZE);
    assert_memory_equal(h->proof.data, server.client_proof, AUTH_MAC_SIZE);

    expect_disbelief(&l.t, &sent, &reply); /* no proof at all */
    reply.has_proof = 1;
    reply.proof = (ProtobufCBinaryData){ AUTH_MAC_SIZE, server.client_proof };
    expect_disbelief(&l.t, &sent, &reply); /* ours, sent back */
    server.server_proof[AUTH_MAC_SIZE - 1] ^= 1;
    reply.proof.data = server.server_proof;
    expect_disbelief(&l.t, &sent, &reply);
    server.server_proof[AUTH_MAC_SIZE - 1] ^= 1;
    reply.proof.len = AUTH_MAC_SIZE - 1;
    expect_disbelief(&l.t, &sent, &reply);
    reply.proof.len = AUTH_MAC_SIZE;
    assert_int_equal(hello_check(&l.t, &sent, &reply, 0, &in, &out, &err), 0);
    assert_null(in); /* what comes back is plain */
    assert_non_null(out);
    seal_free(out);
    hello_sent_done(&sent);
    assert_null(sent.bytes);
    protobuf_c_message_free_unpacked(&h->base, NULL);
    free(buf);

    l.t.launch_key.len = 0; /* a credential without its key proves nothing */
    assert_int_equal(
        hello_pack(&(struct hello_way){ &l.t, PST__AUTH_METHOD__AUTH_STEP, NULL, nonce, 2 }, &buf,
                   &len, &sent, &err),
        -EACCES);
    assert_string_equal(err.text, "Invalid job credential: it came without its key");
}

/* The cluster's key: a server of another nonce, or another key, is not the one. */
static void test_key(void **state)
{
    static const uint8_t nonce[AUTH_NONCE_SIZE] = { 1 }, other[AUTH_NONCE_SIZE] = { 2 };
    struct client_target t = { .cluster = "demo", .act_as = "ann", .program = "squeue" };
    Pst__HelloReply reply = PST__HELLO_REPLY__INIT;
    struct auth_keys *keys = NULL, *foreign = NULL;
    uint8_t secret[HANDSHAKE_SECRET_SIZE], *buf = NULL;
    char dir[256], path[300], second[300];
    struct hello_sent sent = { 0 };
    struct seal *in = NULL, *out = NULL;
    struct err err = { .text = "" };
    struct handshake server;
    const char *kid;
    size_t len = 0;
    Pst__Hello *h;

    (void)state;
    folder_make(dir, sizeof(dir), "hello");
    (void)snprintf(path, sizeof(path), "%s/slurm.key", dir);
    (void)snprintf(second, sizeof(second), "%s/other.key", dir);
    assert_int_equal(auth_keys_create(path, &err), 0);
    assert_int_equal(auth_keys_create(second, &err), 0);
    assert_int_equal(auth_keys_load(path, &keys, &err), 0);
    assert_int_equal(auth_keys_load(second, &foreign, &err), 0);
    assert_int_equal(
        hello_pack(&(struct hello_way){ &t, PST__AUTH_METHOD__AUTH_KEY, keys, nonce, WIRE_VERSION },
                   &buf, &len, &sent, &err),
        0);
    h = read_hello(buf, len, WIRE_VERSION);
    assert_string_equal(h->service, "slurmctld");
    assert_string_equal(h->act_as, "ann");
    assert_int_equal(auth_derive(keys, h->key_id, AUTH_FOR_HELLO, NULL, 0, secret, &kid), 0);
    prove(nonce, h, secret, &server);
    assert_memory_equal(h->proof.data, server.client_proof, AUTH_MAC_SIZE);

    reply.has_proof = 1;
    reply.proof = (ProtobufCBinaryData){ AUTH_MAC_SIZE, server.server_proof };
    prove(other, h, secret, &server); /* of another connection */
    expect_disbelief(&t, &sent, &reply);
    assert_int_equal(auth_derive(foreign, NULL, AUTH_FOR_HELLO, NULL, 0, secret, &kid), 0);
    prove(nonce, h, secret, &server);
    expect_disbelief(&t, &sent, &reply);
    assert_int_equal(auth_derive(keys, NULL, AUTH_FOR_HELLO, NULL, 0, secret, &kid), 0);
    prove(nonce, h, secret, &server);
    assert_int_equal(hello_check(&t, &sent, &reply, 0, &in, &out, &err), 0);
    assert_non_null(in);
    assert_non_null(out);
    seal_free(in);
    seal_free(out);
    hello_sent_done(&sent);
    protobuf_c_message_free_unpacked(&h->base, NULL);
    free(buf);
    auth_keys_free(keys);
    auth_keys_free(foreign);
    folder_remove(dir);
}

static void test_local(void **state)
{
    struct sockaddr_un sa;
    unsigned len = wire_local_name(6817, &sa);
    int pair[2];

    (void)state;
    assert_int_equal(sa.sun_family, AF_UNIX);
    assert_int_equal(len,
                     offsetof(struct sockaddr_un, sun_path) + 1 + strlen("penstock/ctld/6817"));
    assert_int_equal(sa.sun_path[0], '\0');
    assert_string_equal(sa.sun_path + 1, "penstock/ctld/6817");
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_true(hello_server_trusted(pair[0], 12345)); /* ourselves */
    assert_int_equal(close(pair[1]), 0);
    assert_int_equal(close(pair[0]), 0);
    assert_false(hello_server_trusted(-1, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_version),
        cmocka_unit_test(test_choose),
        cmocka_unit_test(test_nothing_to_prove_with),
        cmocka_unit_test(test_may_local),
        cmocka_unit_test(test_tls_key),
        cmocka_unit_test(test_step),
        cmocka_unit_test(test_key),
        cmocka_unit_test(test_local),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("hello", tests, NULL, NULL);
}
