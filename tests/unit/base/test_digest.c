/* test_digest.c - SHA-256 against published values, whole and in pieces */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/digest.h"

/* Of FIPS 180-4's examples. */
static const struct {
    const char *text, *hex;
} known[] = {
    { "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
    { "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
    { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
};

static void assert_hex(const struct digest *d, const char *hex)
{
    char text[2 * DIGEST_SIZE + 1];

    for (size_t i = 0; i < DIGEST_SIZE; i++)
        (void)snprintf(text + 2 * i, 3, "%02x", d->bytes[i]);
    assert_string_equal(text, hex);
}

static void test_known(void **state)
{
    struct digest_run *run;
    struct digest d;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
        size_t len = strlen(known[i].text);

        assert_int_equal(digest_of(len ? known[i].text : NULL, len, &d), 0);
        assert_hex(&d, known[i].hex);
        for (size_t cut = 0; cut <= len; cut++) {
            assert_int_equal(digest_begin(&run), 0);
            assert_int_equal(digest_add(run, known[i].text, cut), 0);
            assert_int_equal(digest_add(run, known[i].text + cut, len - cut), 0);
            assert_int_equal(digest_end(run, &d), 0);
            assert_hex(&d, known[i].hex);
        }
    }
    assert_int_equal(digest_begin(&run), 0);
    assert_null(digest_drop(run));
    assert_null(digest_drop(NULL));
}

static void test_bytes(void **state)
{
    struct digest a, b;

    (void)state;
    assert_int_equal(digest_of("a", 1, &a), 0);
    assert_true(digest_read(&b, a.bytes, DIGEST_SIZE));
    assert_true(digest_equal(&a, &b));
    b.bytes[DIGEST_SIZE - 1] ^= 1; /* its last bit counts, though a table begins with the first */
    assert_false(digest_equal(&a, &b));
    assert_true(digest_place(&a) == digest_place(&b));
    assert_false(digest_read(&b, a.bytes, DIGEST_SIZE - 1));
    assert_false(digest_read(&b, NULL, 0));
}

static void test_fnv(void **state)
{
    (void)state;
    assert_int_equal(fnv_text(""), 0xcbf29ce484222325); /* known values of FNV-1a */
    assert_int_equal(fnv_text("foobar"), 0x85944171f73967e8);
    assert_int_equal(fnv_bytes("bar", 3, fnv_text("foo")), 0x85944171f73967e8);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_known), cmocka_unit_test(test_bytes),
                                        cmocka_unit_test(test_fnv) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
