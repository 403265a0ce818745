/* test_handshake.c - proofs and seals: every field counts, every frame has its place */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "wire/auth/handshake.h"
#include "wire/auth/seal.h"
#include "wire/frame.h"

static const uint8_t secret[HANDSHAKE_SECRET_SIZE] = { 1, 2, 3 };
static uint8_t server_nonce[AUTH_NONCE_SIZE] = { 4 }, client_nonce[AUTH_NONCE_SIZE] = { 5 };

static Pst__Hello plain_hello(void)
{
    Pst__Hello h = PST__HELLO__INIT;

    h.has_method = h.has_version = h.has_uid = h.has_gid = h.has_nonce = true;
    h.method = PST__AUTH_METHOD__AUTH_KEY;
    h.version = 3;
    h.uid = 10;
    h.gid = 20;
    h.nonce = (ProtobufCBinaryData){ sizeof(client_nonce), client_nonce };
    h.cluster = (char *)"ab";
    h.service = (char *)"c";
    h.key_id = (char *)"k";
    return h;
}

static void derive(const Pst__Hello *h, struct handshake *ret)
{
    _cleanup_free_ uint8_t *bytes = NULL;
    size_t len;

    assert_int_equal(handshake_bytes(server_nonce, h, &bytes, &len), 0);
    assert_int_equal(handshake_derive(secret, bytes, len, ret), 0);
}

/* Nothing of a proof holds for a handshake that differs from its own in anything. */
static void expect_other(const Pst__Hello *h)
{
    Pst__Hello same = plain_hello();
    struct handshake plain, other;

    derive(h, &other);
    server_nonce[0] = 4;
    client_nonce[0] = 5;
    derive(&same, &plain);
    assert_memory_not_equal(plain.client_proof, other.client_proof, AUTH_MAC_SIZE);
    assert_memory_not_equal(plain.server_proof, other.server_proof, AUTH_MAC_SIZE);
    assert_memory_not_equal(plain.to_server, other.to_server, SEAL_KEY_SIZE);
    assert_memory_not_equal(plain.to_client, other.to_client, SEAL_KEY_SIZE);
}

static void test_every_field_counts(void **state)
{
    Pst__Hello h;

    (void)state;
#define WITH(change) (h = plain_hello(), change, expect_other(&h))
    WITH(h.uid = 0);
    WITH(h.gid = 0);
    WITH(h.version = 2);
    WITH(h.method = PST__AUTH_METHOD__AUTH_JWT);
    WITH(h.cluster = (char *)"a");
    WITH(h.service = (char *)"d");
    WITH(h.name = (char *)"n1");
    WITH(h.key_id = (char *)"l");
    WITH((h.cluster = (char *)"a", h.service = (char *)"bc")); /* the same letters, other fields */
    WITH((h.token = (ProtobufCBinaryData){ 1, (uint8_t *)"t" }));
    WITH(h.act_as = (char *)"u");
    WITH((h.identity = (ProtobufCBinaryData){ 1, (uint8_t *)"i" }));
    WITH(server_nonce[0] = 9);
    WITH(client_nonce[0] = 9);
#undef WITH
}

/* A daemon of an older release proves an act_as without a look at it: that is no identity. */
static void test_no_name_is_an_identity(void **state)
{
    Pst__Hello name = plain_hello(), id = plain_hello(), both = plain_hello();
    struct handshake of_name, of_id, of_both;

    (void)state;
    name.act_as = (char *)"someone";
    id.identity = (ProtobufCBinaryData){ 7, (uint8_t *)"someone" };
    both.act_as = (char *)"identity";
    both.identity = id.identity;
    derive(&name, &of_name);
    derive(&id, &of_id);
    derive(&both, &of_both);
    assert_memory_not_equal(of_name.client_proof, of_id.client_proof, AUTH_MAC_SIZE);
    assert_memory_not_equal(of_both.client_proof, of_id.client_proof, AUTH_MAC_SIZE);
    name.act_as = (char *)"identity";
    derive(&name, &of_name);
    assert_memory_not_equal(of_name.client_proof, of_id.client_proof, AUTH_MAC_SIZE);
}

static void test_roles_differ(void **state)
{
    Pst__Hello h = plain_hello();
    struct handshake p;

    (void)state;
    derive(&h, &p);
    /* none is sent back as the other */
    assert_memory_not_equal(p.client_proof, p.server_proof, AUTH_MAC_SIZE);
    assert_memory_not_equal(p.to_client, p.to_server, SEAL_KEY_SIZE);
    /* what is sent is no key */
    assert_memory_not_equal(p.client_proof, p.to_server, AUTH_MAC_SIZE);
    assert_memory_not_equal(p.server_proof, p.to_client, AUTH_MAC_SIZE);
}

static void test_nonce_is_needed(void **state)
{
    Pst__Hello h = plain_hello();
    uint8_t *bytes = NULL;
    size_t len;

    (void)state;
    h.nonce.len = 31;
    assert_int_equal(handshake_bytes(server_nonce, &h, &bytes, &len), -EINVAL);
    h.nonce.len = 0;
    assert_int_equal(handshake_bytes(server_nonce, &h, &bytes, &len), -EINVAL);
    assert_null(bytes);
}

static void test_seal(void **state)
{
    uint8_t key[SEAL_KEY_SIZE] = { 6 }, header[FRAME_HEADER_SIZE] = { 7 }, tags[3][SEAL_TAG_SIZE];
    struct seal *out, *in;

    (void)state;
    assert_int_equal(seal_new(key, &out), 0);
    assert_int_equal(seal_new(key, &in), 0);
    for (size_t i = 0; i < 3; i++)
        seal_tag(out, header, "body", 4, tags[i]);
    assert_memory_not_equal(tags[0], tags[1], SEAL_TAG_SIZE); /* equal frames, other places */
    assert_true(seal_fits(in, header, "body", 4, tags[0]));
    assert_false(seal_fits(in, header, "body", 4, tags[0])); /* repeated */
    assert_false(seal_fits(in, header, "bodz", 4, tags[2])); /* changed */
    in = seal_free(in);
    assert_int_equal(seal_new(key, &in), 0);
    assert_false(seal_fits(in, header, "body", 4, tags[1])); /* one left out */
    in = seal_free(in);
    assert_int_equal(seal_new(key, &in), 0);
    header[0]++;
    assert_false(seal_fits(in, header, "body", 4, tags[0])); /* another operation */
    in = seal_free(in);
    key[0]++;
    assert_int_equal(seal_new(key, &in), 0);
    header[0]--;
    assert_false(seal_fits(in, header, "body", 4, tags[0])); /* another connection */
    in = seal_free(in);
    out = seal_free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_field_counts),
        cmocka_unit_test(test_no_name_is_an_identity),
        cmocka_unit_test(test_roles_differ),
        cmocka_unit_test(test_nonce_is_needed),
        cmocka_unit_test(test_seal),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
