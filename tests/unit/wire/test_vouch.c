/* test_vouch.c - a daemon vouches for its caller, and forms of key files */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wire/auth/idkey.h"
#include "wire/auth/keyset.h"
#include "wire/auth/vouch.h"

#define NOW_US (INT64_C(1800000000) * 1000000)
#define KEY(kid, more)                                                                             \
    "{\"alg\":\"HS256\",\"kty\":\"oct\",\"kid\":\"" kid                                            \
    "\",\"k\":\"AAECAwQFBgcICQoLDA0ODxAREhM\"" more "}"

static const uint8_t nonce[AUTH_NONCE_SIZE] = { 9 };

static Pst__VouchReply *answer(const struct vouch_secret *with, Pst__Hello *hello, uid_t uid)
{
    Pst__VouchRequest req = PST__VOUCH_REQUEST__INIT;
    Pst__VouchReply *reply;
    uint8_t buf[1024], *out = NULL;
    size_t len = 0;

    req.hello = hello;
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

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_proofs_of_the_caller),
        cmocka_unit_test(test_what_nobody_vouches_for),
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_any_bytes),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
