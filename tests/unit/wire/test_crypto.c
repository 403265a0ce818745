/* test_crypto.c - SHA-256 and its HMAC, by libcrypto and by libmd */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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
        crypto_hmac(key, sizeof(key), message, len, whole);
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

/* Cases 1, 2 and 6 of RFC 4231: a short key, one of text, one that is longer than a block. */
static void test_known_codes(void **state)
{
    uint8_t ones[20], longest[131], got[CRYPTO_SHA256_SIZE];
    const struct {
        const uint8_t *key;
        size_t len;
        const char *text;
        uint8_t first[8];
    } rows[] = {
        { ones, sizeof(ones), "Hi There", { 0xb0, 0x34, 0x4c, 0x61, 0xd8, 0xdb, 0x38, 0x53 } },
        { (const uint8_t *)"Jefe",
          4,
          "what do ya want for nothing?",
          { 0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e } },
        { longest,
          sizeof(longest),
          "Test Using Larger Than Block-Size Key - Hash Key First",
          { 0x60, 0xe4, 0x31, 0x59, 0x1e, 0xe0, 0xb6, 0x7f } },
    };

    (void)state;
    memset(ones, 0x0b, sizeof(ones));
    memset(longest, 0xaa, sizeof(longest));
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        crypto_hmac(rows[i].key, rows[i].len, rows[i].text, strlen(rows[i].text), got);
        assert_memory_equal(got, rows[i].first, sizeof(rows[i].first));
    }
}

static int load_libcrypto(void **state)
{
    (void)state;
    return dlopen("libcrypto.so.3", RTLD_NOW | RTLD_GLOBAL) ? 0 : -1;
}

/* A program with libcrypto, as daemons are, makes the same codes.  First of all: which of the two
 * makes them is settled once in a process. */
static void test_with_libcrypto(void **state)
{
    int status = -1;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        if (load_libcrypto(state) < 0)
            _exit(2);
        test_known_codes(state);
        test_pieces(state);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_with_libcrypto),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_differs),
        cmocka_unit_test(test_known_codes),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
