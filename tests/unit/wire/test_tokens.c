/* test_tokens.c - tokens made here, elsewhere with our key, and by an issuer with public keys */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "wire/auth/jwks.h"
#include "wire/auth/jwt.h"
#include "wire/auth/pubkey.h"
#include "wire/auth/tokens.h"

#include "token_vectors.inc"

#define KEY_A "a1:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n"
#define KEY_B "b2:ff0102030405060708090a0b0c0d0e0f101112131415161718191A1B1C1D1E1F\n"
#define NOW_US (INT64_C(1800000000) * 1000000)

DEFINE_CLEANUP(struct auth_tokens *, auth_tokens_free)

static char dir[64], path[96];

static int setup(void **state)
{
    (void)snprintf(dir, sizeof(dir), "/tmp/test_tokens.XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    (void)snprintf(path, sizeof(path), "%s/file", dir);
    return 0;
}

static int teardown(void **state)
{
    (void)unlink(path);
    return rmdir(dir);
}

static void write_file(const char *text, mode_t mode)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_int_equal(fputs(text, f) >= 0, 1);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static struct auth_tokens *of_keys(const char *text)
{
    struct auth_tokens *t = NULL;
    struct auth_keys *keys = NULL;

    write_file(text, 0600);
    assert_int_equal(auth_keys_load(path, &keys, NULL), 0);
    assert_int_equal(auth_tokens_new(&(struct token_rules){ 0 }, keys, &t, NULL), 0);
    keys = auth_keys_free(keys);
    return t;
}

static struct auth_tokens *of_set(const char *text, struct jwt_rules jwt)
{
    struct auth_tokens *t = NULL;
    struct err err = { .text = "" };

    write_file(text, 0644);
    if (auth_tokens_new(&(struct token_rules){ .jwks_file = path, .jwt = jwt }, NULL, &t, &err) < 0)
        fail_msg("%s", err.text);
    return t;
}

static int verify(const struct auth_tokens *t, const char *token, struct jwt_user *user,
                  struct err *err)
{
    return auth_tokens_verify(t, token, strlen(token), NOW_US, user, err);
}

/* The token speaks for the user, or for NULL: is refused with this error and words in the
 * sentence. */
static void expect_user(const struct auth_tokens *t, const char *token, const char *name, int rc,
                        const char *words)
{
    struct jwt_user user = { .name = NULL };
    struct err err = { .text = "" };

    assert_int_equal(verify(t, token, &user, &err), rc);
    if (name)
        assert_string_equal(user.name, name);
    else
        assert_non_null(strstr(err.text, words));
    free(user.name);
}

static void test_keys_of_the_cluster(void **state)
{
    _cleanup_(auth_tokens_free) struct auth_tokens *both = of_keys(KEY_B KEY_A);
    _cleanup_(auth_tokens_free) struct auth_tokens *old = of_keys(KEY_A), *new = of_keys(KEY_B);
    _cleanup_free_ char *token = NULL;
    struct jwt_user user = { .name = NULL };
    size_t len;

    assert_int_equal(auth_tokens_make(both, "ann", NOW_US, 1800, &token), 0);
    len = strlen(token);
    expect_user(both, token, "ann", 0, NULL);
    expect_user(new, token, "ann", 0, NULL);
    expect_user(old, token, NULL, -EACCES, "not signed with a key of this cluster");
    assert_int_equal(
        auth_tokens_verify(new, token, len, NOW_US + 1799 * INT64_C(1000000), &user, NULL), 0);
    free(TAKE_PTR(user.name));
    assert_int_equal(
        auth_tokens_verify(new, token, len, NOW_US + 1800 * INT64_C(1000000), &user, NULL),
        -EKEYEXPIRED);
    for (size_t i = 0; i < len; i++) { /* no letter may change; dots make it malformed */
        char was = token[i];
        int r;

        token[i] = was == 'A' ? 'B' : 'A';
        r = verify(both, token, &user, NULL);
        assert_true(r == -EACCES || r == -EINVAL);
        token[i] = was;
    }
    assert_null(user.name);
}

static void test_lifespan(void **state)
{
    _cleanup_(auth_tokens_free) struct auth_tokens *t = of_keys(KEY_A);
    _cleanup_free_ char *token = NULL;
    struct jwt_user user = { .name = NULL };

    assert_int_equal(auth_tokens_make(t, "root", NOW_US, UINT64_MAX, &token), 0);
    assert_int_equal(auth_tokens_verify(t, token, strlen(token), 100 * NOW_US, &user, NULL), 0);
    free(user.name);
    assert_false(jwt_is_over(token, 100 * NOW_US));
    assert_int_equal(jwt_end_us(token), INT64_MAX);
    assert_int_equal(jwt_end_us("no.token.it-is"), 0);
    free(token);
    assert_int_equal(auth_tokens_make(t, "root", NOW_US, 60, &token), 0);
    assert_int_equal(jwt_end_us(token), NOW_US / 1000000 * 1000000 + 60000000);
    assert_int_equal(auth_tokens_make(t, "", NOW_US, 1, &(char *){ NULL }), -EINVAL);
    assert_int_equal(auth_tokens_make(t, "\xff\xfe", NOW_US, 1, &(char *){ NULL }), -EINVAL);
}

static void test_same(void **state)
{
    (void)state;
    assert_true(jwt_is_same(NULL, NULL));
    assert_true(jwt_is_same("a.b.c", "a.b.c"));
    assert_false(jwt_is_same("a.b.c", NULL));
    assert_false(jwt_is_same(NULL, ""));
    assert_false(jwt_is_same("a.b.c", "a.b"));
    assert_false(jwt_is_same("a.b.c", "a.b.d"));
}

/* Tokens made elsewhere with the same key: claims we know, an algorithm that we do not take. */
static void test_foreign(void **state)
{
    static const struct {
        const char *token;
        int rc;
        const char *user;
    } cases[] = {
#include "jwt_vectors.inc"
    };
    _cleanup_(auth_tokens_free) struct auth_tokens *t = of_keys(KEY_A);

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        expect_user(t, cases[i].token, cases[i].user, cases[i].rc, "token: ");
}

/* jwt_key=: any bytes, here 80 of them, and no name of a key in the header. */
static void test_key_of_a_portal(void **state)
{
    _cleanup_(auth_tokens_free) struct auth_tokens *t = NULL;
    _cleanup_(auth_tokens_free) struct auth_tokens *cluster = of_keys(KEY_A);
    const struct token_rules rules = { .key_file = path };
    _cleanup_free_ char *own = NULL, *others = NULL;
    struct err err = { .text = "" };
    char key[81];

    memset(key, 'k', 80);
    key[80] = '\0';
    write_file(key, 0604);
    assert_int_equal(auth_tokens_new(&rules, NULL, &t, &err), -EPERM);
    assert_non_null(strstr(err.text, "others have access"));
    write_file("short", 0600);
    assert_int_equal(auth_tokens_new(&rules, NULL, &t, &err), -EINVAL);
    write_file(key, 0640);
    assert_int_equal(auth_tokens_new(&rules, NULL, &t, &err), 0);
    expect_user(t, portal, "ann", 0, NULL);
    assert_int_equal(auth_tokens_make(t, "bob", NOW_US, 60, &own), 0);
    expect_user(t, own, "bob", 0, NULL);
    assert_int_equal(auth_tokens_make(cluster, "bob", NOW_US, 60, &others), 0);
    expect_user(t, others, NULL, -EACCES, "not signed with a key of this cluster");
}

static void test_public_keys(void **state)
{
    _cleanup_(auth_tokens_free) struct auth_tokens *t = of_set(set_text, (struct jwt_rules){ 0 });
    _cleanup_(auth_tokens_free) struct auth_tokens *cluster = of_keys(KEY_A);
    char *made = NULL, *cut = strdup(es256);

    expect_user(t, rs256, "ann", 0, NULL);
    expect_user(t, rs256_no_kid, "ann", 0, NULL);
    expect_user(t, es256, "ann", 0, NULL);
    expect_user(t, rs256_other_kid, NULL, -EACCES, "key set");
    expect_user(t, rs256_stranger, NULL, -EACCES, "key set");
    expect_user(t, rs256_old, NULL, -EKEYEXPIRED, "expired");
    expect_user(t, confused, NULL, -EACCES, "not signed with a key");
    expect_user(t, unsigned_token, NULL, -EINVAL, "not a JWT signed with");
    expect_user(t, rs256_mail, NULL, -EINVAL, "names no user (claim sun)");
    expect_user(cluster, rs256, NULL, -EACCES, "jwks= names none");
    cut[strlen(cut) - 4] = '\0';
    expect_user(t, cut, NULL, -EINVAL, "malformed signature");
    free(cut);
    assert_int_equal(auth_tokens_make(t, "ann", NOW_US, 60, &made), -EPERM);
    assert_true(jwt_is_shared("x.y.z") && !jwt_is_shared(rs256) && !jwt_is_shared(es256));
}

static void test_each_letter_counts(void **state)
{
    _cleanup_(auth_tokens_free) struct auth_tokens *t = of_set(set_text, (struct jwt_rules){ 0 });
    static const char *const tokens[] = { rs256, es256 };

    for (size_t k = 0; k < ARRAY_SIZE(tokens); k++) {
        _cleanup_free_ char *token = strdup(tokens[k]);

        for (size_t i = 0; token[i]; i++) {
            struct jwt_user user = { .name = NULL };
            char was = token[i];

            token[i] = was == 'A' ? 'B' : 'A';
            assert_true(verify(t, token, &user, NULL) < 0);
            token[i] = was;
        }
    }
}

static void test_claims(void **state)
{
    char email[] = "email";
    _cleanup_(auth_tokens_free) struct auth_tokens *mail =
        of_set(set_text, (struct jwt_rules){ .user_claim = email });
    _cleanup_(auth_tokens_free) struct auth_tokens *may =
        of_set(set_text, (struct jwt_rules){ .client_ids = true });
    _cleanup_(auth_tokens_free) struct auth_tokens *must =
        of_set(set_text, (struct jwt_rules){ .client_ids_only = true });
    _cleanup_(auth_tokens_free) struct auth_tokens *off = of_set(set_text, (struct jwt_rules){ 0 });
    struct jwt_user user = { .name = NULL };

    expect_user(mail, rs256_mail, "bob@x", 0, NULL);
    expect_user(mail, rs256, NULL, -EINVAL, "claim email");
    assert_int_equal(verify(must, rs256_ids, &user, NULL), 0);
    assert_true(user.has_ids && user.uid == 1234 && user.gid == 99);
    free(TAKE_PTR(user.name));
    assert_int_equal(verify(off, rs256_ids, &user, NULL), 0);
    assert_false(user.has_ids);
    free(TAKE_PTR(user.name));
    assert_int_equal(verify(may, rs256_both_groups, &user, NULL), 0);
    assert_false(user.has_ids); /* groups and gids: not complete */
    free(user.name);
    expect_user(must, rs256_both_groups, NULL, -EACCES, "use_jwt_client_ids_only");
    expect_user(must, rs256, NULL, -EACCES, "use_jwt_client_ids_only");
}

static void test_keys_that_are_none(void **state)
{
    uint8_t bytes[513] = { 1 };
    struct pubkey *key = NULL;

    assert_int_equal(pubkey_rsa(bytes, 255, bytes, 1, &key, NULL), -EINVAL); /* too short */
    assert_int_equal(pubkey_rsa(bytes, 513, bytes, 1, &key, NULL), -EINVAL); /* too long */
    assert_int_equal(pubkey_rsa(bytes, 256, bytes, 9, &key, NULL), -EINVAL); /* exponent */
    assert_int_equal(pubkey_p256(bytes, bytes, &key, NULL), -EINVAL);        /* off the curve */
    assert_null(key);
}

static void test_bad_sets(void **state)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        { "", "line" },
        { "{\"keys\": 1}", "not a key set" },
        { "{\"keys\": []}", "no key of RS256 or ES256" },
        { "{\"keys\": [{\"kty\":\"oct\",\"k\":\"AAAA\"}]}", "no key of RS256 or ES256" },
        { "{\"keys\": [{\"kty\":\"RSA\",\"n\":\"AA\",\"e\":\"AQAB\"}]}", "key 1: an RSA key has" },
        { "{\"keys\": [{\"kty\":\"RSA\",\"n\":\"A*\",\"e\":\"AQAB\"}]}", "key 1: n and e" },
        { "{\"keys\": [{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AA\",\"y\":\"AA\"}]}",
          "32 bytes" },
        { "{\"keys\": [{\"kty\":\"EC\",\"crv\":\"P-256\","
          "\"x\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\","
          "\"y\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}]}",
          "no point" },
        { small_set, "2048" },
    };
    const struct token_rules rules = { .jwks_file = path };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct auth_tokens *t = NULL;
        struct err err = { .text = "" };

        write_file(cases[i].text, 0644);
        assert_true(auth_tokens_new(&rules, NULL, &t, &err) < 0);
        assert_non_null(strstr(err.text, path)); /* the file is named */
        if (!strstr(err.text, cases[i].words))
            fail_msg("%zu: %s", i, err.text);
    }
    write_file(set_text, 0646);
    assert_int_equal(auth_tokens_new(&rules, NULL, &(struct auth_tokens *){ NULL }, NULL), -EPERM);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_of_the_cluster),
        cmocka_unit_test(test_lifespan),
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_key_of_a_portal),
        cmocka_unit_test(test_public_keys),
        cmocka_unit_test(test_each_letter_counts),
        cmocka_unit_test(test_claims),
        cmocka_unit_test(test_keys_that_are_none),
        cmocka_unit_test(test_bad_sets),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
