/* crypto.h - HMAC, signatures and shared secrets (private to wire/)
 *
 * HMAC needs no library.  libsodium is loaded when the first signature is made or checked, which
 * daemons do.  Thread-safe, but for one crypto_mac, which is one thread's at a time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CRYPTO_SHA256_SIZE 32u

/* HMAC-SHA256 */
void crypto_hmac(const uint8_t *key, size_t key_len, const void *data, size_t len,
                 uint8_t mac[CRYPTO_SHA256_SIZE]);

/* HMAC-SHA256 with one key over many messages, each in pieces: begin, add ..., end. */
struct crypto_mac;
/* -ENOMEM */
int crypto_mac_new(const uint8_t key[CRYPTO_SHA256_SIZE], struct crypto_mac **ret_mac);
struct crypto_mac *crypto_mac_free(struct crypto_mac *mac); /* wipes the key; always NULL */
void crypto_mac_begin(struct crypto_mac *mac);
void crypto_mac_add(struct crypto_mac *mac, const void *data, size_t len);
void crypto_mac_end(struct crypto_mac *mac, uint8_t out[CRYPTO_SHA256_SIZE]);

/* Ed25519: a pair from a seed, signatures, and a secret that only the two owners of pairs know
 * (X25519 of the same keys).  Errors: -ENOSYS libsodium missing; -EACCES the signature is
 * another's, or the public key is none. */
#define CRYPTO_PUBLIC_SIZE 32u
#define CRYPTO_SECRET_SIZE 64u
#define CRYPTO_SIGNATURE_SIZE 64u
int crypto_pair(const uint8_t seed[32], uint8_t public_key[CRYPTO_PUBLIC_SIZE],
                uint8_t secret[CRYPTO_SECRET_SIZE]);
int crypto_sign(const uint8_t secret[CRYPTO_SECRET_SIZE], const void *data, size_t len,
                uint8_t signature[CRYPTO_SIGNATURE_SIZE]);
int crypto_verify(const uint8_t public_key[CRYPTO_PUBLIC_SIZE], const void *data, size_t len,
                  const uint8_t signature[CRYPTO_SIGNATURE_SIZE]);
int crypto_agree(const uint8_t secret[CRYPTO_SECRET_SIZE],
                 const uint8_t public_key[CRYPTO_PUBLIC_SIZE], uint8_t shared[32]);

/* Equality in a time that depends on len alone. */
bool crypto_equal(const void *a, const void *b, size_t len);
