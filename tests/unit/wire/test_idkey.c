/* test_idkey.c - pairs of keys: files, signatures, secrets of two owners */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "wire/auth/idkey.h"

static char folder[] = "/tmp/test-idkey-XXXXXX";

static const char *path_of(const char *name, char buf[128])
{
    (void)snprintf(buf, 128, "%s/%s", folder, name);
    return buf;
}

static struct idkey *open_key(const char *name)
{
    char path[128];
    struct idkey *key = NULL;

    assert_int_equal(idkey_open(path_of(name, path), geteuid(), &key, NULL), 0);
    return key;
}

static void test_file(void **state)
{
    struct idkey *a = open_key("a"), *again = open_key("a"), *b = open_key("b"), *none = NULL;
    char path[128];
    struct stat st;
    struct err err = { .text = "" };

    (void)state;
    assert_memory_equal(idkey_public(a), idkey_public(again), IDKEY_SIZE);
    assert_memory_not_equal(idkey_public(a), idkey_public(b), IDKEY_SIZE);
    assert_int_equal(stat(path_of("a", path), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(idkey_open(path, geteuid(), &none, &err), -EPERM);
    assert_non_null(strstr(err.text, "must be 600"));
    assert_null(none);
    a = idkey_free(a);
    again = idkey_free(again);
    b = idkey_free(b);
}

static void test_broken_file(void **state)
{
    static const char *const texts[] = {
        "",
        "ed25519-seed:",
        "ed25519-seed:00",
        "ed25519:0000000000000000000000000000000000000000000000000000000000000000\n",
        "ed25519-seed:000000000000000000000000000000000000000000000000000000000000000g\n",
        "ed25519-seed:00000000000000000000000000000000000000000000000000000000000000000\n",
    };
    char path[128];

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        FILE *f = fopen(path_of("broken", path), "w");
        struct idkey *key = NULL;

        assert_non_null(f);
        assert_true(fputs(texts[i], f) >= 0);
        assert_int_equal(fchmod(fileno(f), 0600), 0);
        assert_int_equal(fclose(f), 0);
        assert_int_equal(idkey_open(path, geteuid(), &key, NULL), -EINVAL);
        assert_null(key);
    }
}

/* RFC 8032, 7.1, TEST 1: the public key of a seed. */
static void test_known_pair(void **state)
{
    char path[128], text[IDKEY_TEXT];
    FILE *f = fopen(path_of("rfc", path), "w");
    struct idkey *key;

    (void)state;
    assert_non_null(f);
    assert_true(fputs("ed25519-seed:"
                      "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60\n",
                      f) >= 0);
    assert_int_equal(fchmod(fileno(f), 0600), 0);
    assert_int_equal(fclose(f), 0);
    key = open_key("rfc");
    idkey_text(idkey_public(key), text);
    assert_string_equal(text, "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
    key = idkey_free(key);
}

static void test_public_file(void **state)
{
    struct idkey *a = open_key("a2");
    uint8_t key[IDKEY_SIZE];
    char path[128];

    (void)state;
    assert_int_equal(idkey_read_public(path_of("a2.pub", path), key, NULL), -ENOENT);
    assert_int_equal(idkey_write_public(path, idkey_public(a), NULL), 0);
    assert_int_equal(idkey_read_public(path, key, NULL), 0);
    assert_memory_equal(key, idkey_public(a), IDKEY_SIZE);
    assert_int_equal(idkey_read_public(path_of("a2", path), key, NULL), -EINVAL); /* a seed */
    a = idkey_free(a);
}

static void test_signature(void **state)
{
    struct idkey *a = open_key("sa"), *b = open_key("sb");
    uint8_t mac[AUTH_MAC_SIZE] = { 1 }, other[AUTH_MAC_SIZE] = { 2 }, sig[IDKEY_SIGNATURE_SIZE];

    (void)state;
    assert_int_equal(idkey_sign(a, IDKEY_FOR_CREDENTIAL, "data", 4, mac, sig), 0);
    assert_int_equal(idkey_verify(idkey_public(a), IDKEY_FOR_CREDENTIAL, "data", 4, mac, sig), 0);
    assert_int_equal(idkey_verify(idkey_public(b), IDKEY_FOR_CREDENTIAL, "data", 4, mac, sig),
                     -EACCES);
    assert_int_equal(idkey_verify(idkey_public(a), IDKEY_FOR_HELLO, "data", 4, mac, sig), -EACCES);
    assert_int_equal(idkey_verify(idkey_public(a), IDKEY_FOR_CREDENTIAL, "dat", 3, mac, sig),
                     -EACCES);
    assert_int_equal(idkey_verify(idkey_public(a), IDKEY_FOR_CREDENTIAL, "data", 4, other, sig),
                     -EACCES);
    sig[0] ^= 1;
    assert_int_equal(idkey_verify(idkey_public(a), IDKEY_FOR_CREDENTIAL, "data", 4, mac, sig),
                     -EACCES);
    a = idkey_free(a);
    b = idkey_free(b);
}

static void test_secret(void **state)
{
    struct idkey *a = open_key("sa"), *b = open_key("sb"), *c = open_key("sc");
    static const uint8_t zeros[IDKEY_SIZE];
    uint8_t ab[32], ba[32], ac[32];

    (void)state;
    assert_int_equal(idkey_secret(a, idkey_public(b), IDKEY_FOR_HELLO, ab), 0);
    assert_int_equal(idkey_secret(b, idkey_public(a), IDKEY_FOR_HELLO, ba), 0);
    assert_int_equal(idkey_secret(a, idkey_public(c), IDKEY_FOR_HELLO, ac), 0);
    assert_memory_equal(ab, ba, sizeof(ab));
    assert_memory_not_equal(ab, ac, sizeof(ab));
    idkey_mix(ab, ac);
    assert_memory_not_equal(ab, ba, sizeof(ab));
    assert_int_equal(idkey_secret(a, zeros, IDKEY_FOR_HELLO, ab), -EACCES);
    a = idkey_free(a);
    b = idkey_free(b);
    c = idkey_free(c);
}

static void test_text(void **state)
{
    uint8_t key[IDKEY_SIZE];

    (void)state;
    assert_int_equal(idkey_parse("", key), -EINVAL);
    assert_int_equal(
        idkey_parse("D75A980182B10AB7D54BFED3C964073A0EE172F3DAA62325AF021A68F707511A", key), 0);
    assert_int_equal(key[0], 0xd7);
    assert_int_equal(
        idkey_parse("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511 ", key),
        -EINVAL);
}

static int remove_files(void **state)
{
    static const char *const names[] = {
        "a", "b", "broken", "rfc", "a2", "a2.pub", "sa", "sb", "sc"
    };
    char path[128];

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        (void)unlink(path_of(names[i], path)); /* what a failed test did not make */
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file),       cmocka_unit_test(test_broken_file),
        cmocka_unit_test(test_known_pair), cmocka_unit_test(test_public_file),
        cmocka_unit_test(test_signature),  cmocka_unit_test(test_secret),
        cmocka_unit_test(test_text),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    if (!mkdtemp(folder))
        return 1;
    return cmocka_run_group_tests(tests, NULL, remove_files);
}
