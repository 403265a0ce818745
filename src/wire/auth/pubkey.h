/* pubkey.h - public keys and what they signed, by OpenSSL's libcrypto (private to wire/auth)
 *
 * The library is loaded with the first key and stays for the life of the process.  A key is
 * immutable: threads may share it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define PUBKEY_P256_SIZE 32u /* bytes of a coordinate, and of each half of a signature */

struct pubkey;

/* Modulus and exponent, most significant byte first.  Errors: -EINVAL fewer than 2048 or more than
 * 4096 bits, or no key; -ENOSYS no libcrypto; -ENOMEM. */
int pubkey_rsa(const uint8_t *n, size_t n_len, const uint8_t *e, size_t e_len, struct pubkey **ret,
               struct err *err);
/* A point of P-256.  Errors: -EINVAL it is not on the curve. */
int pubkey_p256(const uint8_t x[PUBKEY_P256_SIZE], const uint8_t y[PUBKEY_P256_SIZE],
                struct pubkey **ret, struct err *err);
struct pubkey *pubkey_free(struct pubkey *key); /* always NULL */
/* RSA: PKCS#1 v1.5 with SHA-256.  P-256: r and s with SHA-256, 64 bytes (RFC 7518, 3.4).  0 or
 * -EACCES. */
int pubkey_verify(const struct pubkey *key, const void *data, size_t len, const uint8_t *signature,
                  size_t signature_len);
