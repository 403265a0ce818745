/* test_crypto.c - HMAC-SHA256 in pieces, by libcrypto, is that of libsodium */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wire/auth/crypto.h"

#define MESSAGE_MAX 300u

static void fill_bytes(uint8_t *to, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (uint8_t)(seed = seed * 1103515245u + 12345u, seed >> 16);
}

/* One key over many messages, each cut at every third place. */
static void test_pieces(void **state)
{
    uint8_t key[CRYPTO_SHA256_SIZE], message[MESSAGE_MAX];
    uint8_t whole[CRYPTO_SHA256_SIZE], pieces[CRYPTO_SHA256_SIZE];
    struct crypto_mac *mac;

    (void)state;
    fill_bytes(key, sizeof(key), 7);
    fill_bytes(message, sizeof(message), 8);
    assert_int_equal(crypto_mac_new(key, &mac), 0);
    for (size_t len = 0; len <= sizeof(message); len++) {
        assert_int_equal(crypto_hmac(key, sizeof(key), message, len, whole), 0);
        for (size_t cut = 0; cut <= len; cut += 3) {
            crypto_mac_begin(mac);
            crypto_mac_add(mac, message, cut);
            crypto_mac_add(mac, message + cut, len - cut);
            crypto_mac_end(mac, pieces);
            assert_memory_equal(whole, pieces, sizeof(whole));
        }
    }
    mac = crypto_mac_free(mac);
    assert_null(mac);
}

/* Another key, another message, and a message cut short: another code. */
static void test_differs(void **state)
{
    uint8_t key[CRYPTO_SHA256_SIZE] = { 1 }, other[CRYPTO_SHA256_SIZE] = { 2 };
    uint8_t first[CRYPTO_SHA256_SIZE], second[CRYPTO_SHA256_SIZE];
    const struct {
        const uint8_t *key;
        const char *text;
        size_t len;
    } rows[] = { { other, "message", 7 }, { key, "messagE", 7 }, { key, "message", 6 } };
    struct crypto_mac *mac;

    (void)state;
    assert_int_equal(crypto_mac_new(key, &mac), 0);
    crypto_mac_begin(mac);
    crypto_mac_add(mac, "message", 7);
    crypto_mac_end(mac, first);
    mac = crypto_mac_free(mac);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        assert_int_equal(crypto_mac_new(rows[i].key, &mac), 0);
        crypto_mac_begin(mac);
        crypto_mac_add(mac, rows[i].text, rows[i].len);
        crypto_mac_end(mac, second);
        mac = crypto_mac_free(mac);
        assert_memory_not_equal(first, second, sizeof(first));
    }
}

/* libcrypto does them when it is there before the first code is made. */
static int load_libcrypto(void **state)
{
    (void)state;
    return dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL) ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_differs),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, load_libcrypto, NULL);
}
