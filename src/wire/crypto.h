/* crypto.h - the two functions of libcrypto that we need, loaded when first needed (private to
 * wire/)
 *
 * Commands on the local socket never get here, so they do not pay for loading the library.
 * Thread-safe. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CRYPTO_SHA256_SIZE 32u

/* HMAC-SHA256.  Errors: -ENOSYS libcrypto missing, -E2BIG, -ENOMEM. */
int crypto_hmac(const uint8_t *key, size_t key_len, const void *data, size_t len,
                uint8_t mac[CRYPTO_SHA256_SIZE]);

/* Equality in a time that depends on len alone. */
bool crypto_equal(const void *a, const void *b, size_t len);
