/* test_vouch.c - a daemon vouches for its caller, and forms of key files */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "wire/auth/idkey.h"
#include "wire/auth/keyset.h"
#include "wire/auth/vouch.h"

#define NOW_US (INT64_C(1800000000) * 1000000)
#define KEY(kid, more)                                                                             \
    "{\"alg\":\"HS256\",\"kty\":\"oct\",\"kid\":\"" kid                                            \
    "\",\"k\":\"AAECAwQFBgcICQoLDA0ODxAREhM\"" more "}"

static const uint8_t nonce[AUTH_NONCE_SIZE] = { 9 };

static bool want_identity;

static Pst__VouchReply *answer(const struct vouch_secret *with, Pst__Hello *hello, uid_t uid)
{
    Pst__VouchRequest req = PST__VOUCH_REQUEST__INIT;
    Pst__VouchReply *reply;
    uint8_t buf[1024], *out = NULL;
    size_t len = 0;

    req.hello = hello;
    req.has_want_identity = req.want_identity = want_identity;
    req.has_server_nonce = true;
    req.server_nonce = (ProtobufCBinaryData){ sizeof(nonce), (uint8_t *)(uintptr_t)nonce };
    len = pst__vouch_request__pack(&req, buf);
    assert_int_equal(vouch_answer(with, uid, 7, buf, len, &out, &len), 0);
    reply = pst__vouch_reply__unpack(NULL, len - 4, out + 4);
    assert_non_null(reply);
    free(out);
    return reply;
}

static Pst__Hello hello_to(char *service)
{
    static uint8_t own[AUTH_NONCE_SIZE] = { 3 };
    Pst__Hello hello = PST__HELLO__INIT;

    hello.has_version = hello.has_method = hello.has_nonce = hello.has_uid = true;
    hello.version = 3;
    hello.method = PST__AUTH_METHOD__AUTH_VOUCH;
    hello.service = service;
    hello.uid = 0; /* a lie */
    hello.nonce = (ProtobufCBinaryData){ sizeof(own), own };
    return hello;
}

/* The proofs are those of a Hello with the caller's own uid, and of no other. */
static void test_proofs_of_the_caller(void **state)
{
    struct vouch_secret with = { .secret = { 1 }, .key_id = (char *)"k1" };
    Pst__Hello hello = hello_to((char *)"slurmctld");
    Pst__VouchReply *reply = answer(&with, &hello, 1000);
    struct handshake want;
    uint8_t *bytes;
    size_t len;

    assert_int_equal(reply->uid, 1000);
    assert_string_equal(reply->key_id, "k1");
    hello.uid = 1000;
    hello.gid = 7;
    hello.has_gid = true;
    hello.key_id = (char *)"k1";
    assert_int_equal(handshake_bytes(nonce, &hello, &bytes, &len), 0);
    assert_int_equal(handshake_derive(with.secret, bytes, len, &want), 0);
    assert_memory_equal(reply->proofs.data, want.client_proof, AUTH_MAC_SIZE);
    free(bytes);
    hello.uid = 0;
    assert_int_equal(handshake_bytes(nonce, &hello, &bytes, &len), 0);
    assert_int_equal(handshake_derive(with.secret, bytes, len, &want), 0);
    assert_memory_not_equal(reply->proofs.data, want.client_proof, AUTH_MAC_SIZE);
    free(bytes);
    pst__vouch_reply__free_unpacked(reply, NULL);
}

/* "NUMBER" stands for an identity; the user 5 is in too many groups, 6 is not known. */
static int identify(uid_t uid, gid_t gid, uint8_t **ret, size_t *ret_len, struct err *err)
{
    (void)gid;
    if (uid == 5)
        return err_set(err, -E2BIG, "too many groups");
    if (uid == 6)
        return err_set(err, -ENOENT, "no user");
    *ret = (uint8_t *)strdup("1000");
    *ret_len = 4;
    return 0;
}

/* The daemon says who the caller is, with the cluster's key alone; what the caller says of himself
 * is proved for nobody. */
static void test_identity(void **state)
{
    static const uint8_t key[IDKEY_SIZE] = { 5 };
    struct vouch_secret with = { .key_id = "k1", .identify = identify };
    struct vouch_secret node = { .node_key = key, .identify = identify };
    Pst__Hello hello = hello_to((char *)"slurmctld");
    Pst__VouchReply *reply = answer(&with, &hello, 1000);
    uint8_t plain[AUTH_MAC_SIZE];

    (void)state;
    assert_int_equal(reply->identity.len, 0); /* nobody asked */
    memcpy(plain, reply->proofs.data, sizeof(plain));
    pst__vouch_reply__free_unpacked(reply, NULL);
    hello.has_identity = true;
    hello.identity = (ProtobufCBinaryData){ 4, (uint8_t *)"root" };
    reply = answer(&with, &hello, 1000);
    assert_memory_equal(reply->proofs.data, plain, sizeof(plain)); /* as if it were not there */
    pst__vouch_reply__free_unpacked(reply, NULL);
    want_identity = true;
    reply = answer(&with, &hello, 1000);
    assert_int_equal(reply->identity.len, 4);
    assert_memory_equal(reply->identity.data, "1000", 4);
    assert_memory_not_equal(reply->proofs.data, plain, sizeof(plain));
    pst__vouch_reply__free_unpacked(reply, NULL);
    reply = answer(&with, &hello, 5);
    assert_string_equal(reply->refused, "too many groups");
    pst__vouch_reply__free_unpacked(reply, NULL);
    reply = answer(&with, &hello, 6);
    assert_null(reply->refused);
    assert_int_equal(reply->identity.len, 0);
    pst__vouch_reply__free_unpacked(reply, NULL);
    reply = answer(&node, &hello, 1000);
    assert_null(reply->refused);
    assert_int_equal(reply->identity.len, 0); /* a node says nothing of its users */
    pst__vouch_reply__free_unpacked(reply, NULL);
    want_identity = false;
}

static void test_what_nobody_vouches_for(void **state)
{
    static const uint8_t key[IDKEY_SIZE] = { 5 };
    struct vouch_secret cluster = { .key_id = (char *)"k1" }, node = { .node_key = key };
    Pst__Hello dbd = hello_to((char *)"slurmdbd"), slurmd = hello_to((char *)"slurmd");
    Pst__VouchReply *reply = answer(&cluster, &dbd, 1);

    assert_null(reply->refused);
    pst__vouch_reply__free_unpacked(reply, NULL);
    reply = answer(&node, &dbd, 1);
    assert_string_equal(reply->refused, "a node vouches to slurmctld alone");
    pst__vouch_reply__free_unpacked(reply, NULL);
    reply = answer(&cluster, &slurmd, 1);
    assert_non_null(reply->refused);
    assert_int_equal(reply->proofs.len, 0);
    pst__vouch_reply__free_unpacked(reply, NULL);
}

static int parse(const char *text, struct auth_keys *keys, struct err *err)
{
    return keyset_parse(text, strlen(text), NOW_US, keys, err);
}

static void test_set(void **state)
{
    struct auth_keys keys = { .n = 0 };
    struct err err = { .text = "" };

    assert_int_equal(
        parse("{\"keys\":[" KEY("a", "") "," KEY("b", ",\"use\":\"default\"") "]}", &keys, &err),
        0);
    assert_int_equal(keys.n, 2);
    assert_string_equal(auth_keys_signer(&keys, NOW_US)->kid, "b");
    assert_int_equal(
        parse("{\"keys\":[" KEY("a", ",\"exp\":1800000005") "," KEY("b", "") "]}", &keys, &err), 0);
    assert_string_equal(auth_keys_signer(&keys, NOW_US)->kid, "a");
    assert_string_equal(auth_keys_signer(&keys, NOW_US + INT64_C(5000000))->kid, "b");
    assert_int_equal(parse("{\"keys\":[" KEY("a", ",\"exp\":1800000000") "]}", &keys, &err),
                     -EKEYEXPIRED);
    assert_int_equal(parse("{\"keys\":[" KEY(":node", "") "]}", &keys, &err), -EINVAL);
    assert_int_equal(parse("{\"keys\":[", &keys, &err), -EINVAL);
}

static void test_any_bytes(void **state)
{
    struct auth_keys one = { .n = 0 }, other = { .n = 0 };
    char bytes[100] = { 1, 2, 3 };

    assert_true(keyset_is(bytes, sizeof(bytes)));
    assert_false(keyset_is("a:00\n", 5));
    assert_int_equal(keyset_parse(bytes, 15, NOW_US, &one, NULL), -EINVAL);
    assert_int_equal(keyset_parse(bytes, sizeof(bytes), NOW_US, &one, NULL), 0);
    bytes[99] = 1;
    assert_int_equal(keyset_parse(bytes, sizeof(bytes), NOW_US, &other, NULL), 0);
    assert_string_not_equal(one.keys[0].kid, other.keys[0].kid);
    assert_memory_not_equal(one.keys[0].secret, other.keys[0].secret, AUTH_KEY_SIZE);
}

/* As `randAscii 1024` of a chart, a password, and the output of base64 make them. */
static void test_text_that_is_a_key(void **state)
{
    static const struct {
        const char *text;
        bool whole;
    } cases[] = {
        { "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk", true }, { "gP0xk+8jT1N3\nQp4y/8b1Wz==\n", true },
        { "gP0xk+8jT1N3\n# a comment\n", true },      { "# only a comment, a long one\n", false },
        { "name:00\n# and a long comment\n", false }, { "short", false },
        { "an:other of many characters", false },
    };
    char chart[1024];
    struct auth_keys keys = { .n = 0 };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(keyset_is(cases[i].text, strlen(cases[i].text)), cases[i].whole);
        if (cases[i].whole)
            assert_int_equal(
                keyset_parse(cases[i].text, strlen(cases[i].text), NOW_US, &keys, NULL), 0);
    }
    for (int first = ' '; first <= '~'; first++) {
        memset(chart, ':', sizeof(chart));
        chart[0] = (char)first;
        assert_true(keyset_is(chart, sizeof(chart)));
        assert_int_equal(keyset_parse(chart, sizeof(chart), NOW_US, &keys, NULL), 0);
        assert_int_equal(keys.n, 1);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_proofs_of_the_caller),
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_what_nobody_vouches_for),
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_any_bytes),
        cmocka_unit_test(test_text_that_is_a_key),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
