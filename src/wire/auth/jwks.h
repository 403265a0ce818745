/* jwks.h - public keys of an issuer of tokens: a JSON Web Key Set (RFC 7517), private to wire/auth
 *
 * Keys with kty RSA (alg RS256, 2048 bits or more) and EC on P-256 (alg ES256) verify; others
 * are passed over, as a set may hold what is for other programs.  At most 64 keys and 1 MiB.
 * OpenSSL's libcrypto is loaded with the first set. */
#pragma once

#include "wire/auth/jwt.h"

struct jwks;

/* Errors: those of open(2), -EFBIG, -EINVAL, -ENOSYS no libcrypto; err says where. */
int jwks_load(const char *path, struct jwks **ret, struct err *err);
int jwks_parse(const char *text, size_t len, struct jwks **ret, struct err *err);
struct jwks *jwks_free(struct jwks *set); /* always NULL */
/* Did a key of the set sign text?  Errors: -EACCES. */
int jwks_verify(const struct jwks *set, const struct jwt_head *head, const char *text, size_t len,
                const uint8_t *signature, size_t signature_len, struct err *err);
