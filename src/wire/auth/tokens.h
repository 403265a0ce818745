/* tokens.h - whose bearer tokens are believed: auth/jwt
 *
 * Three ways: HS256 with the keys of the cluster, which is the default; HS256 with a key that
 * others know too (jwt_key=), as portals have it that make tokens themselves; RS256 and ES256 with
 * public keys (jwks=) of an issuer elsewhere.  jwks= without jwt_key= makes no tokens here.
 *
 * Immutable and counted; a reconfiguration makes another one.  Any thread. */
#pragma once

#include "wire/auth/jwt.h"

struct auth_tokens;

/* A reference to keys (NULL: none) is taken.  Errors: -ENOENT, -EACCES, -EPERM the key is readable
 * by others, -EINVAL, -ENOSYS no libcrypto, -ENOMEM; err names the file. */
int auth_tokens_new(const struct token_rules *rules, struct auth_keys *keys,
                    struct auth_tokens **ret, struct err *err);
struct auth_tokens *auth_tokens_ref(struct auth_tokens *t);
struct auth_tokens *auth_tokens_free(struct auth_tokens *t); /* drop a reference; always NULL */

/* Make a token for `scontrol token`.  Errors: -EPERM none are made here, -EINVAL no such name. */
int auth_tokens_make(const struct auth_tokens *t, const char *user, int64_t now_us,
                     uint64_t lifespan_s, char **ret_token);
/* Who a whole token speaks for.  Errors: -EACCES bad signature, -EKEYEXPIRED, -EINVAL. */
int auth_tokens_verify(const struct auth_tokens *t, const char *token, size_t len, int64_t now_us,
                       struct jwt_user *ret, struct err *err);
/* The signatures that the cluster would make for what a token shows: one, or without a key's name
 * in the header one for each key.  Errors: -EACCES no such key, -EINVAL malformed, -ENOSYS. */
int auth_tokens_signatures(const struct auth_tokens *t, const char *shown, size_t len,
                           uint8_t signatures[AUTH_KEY_MAX][AUTH_MAC_SIZE], size_t *ret_n,
                           struct err *err);
/* Who the shown part of a token whose signature is known speaks for. */
int auth_tokens_user(const struct auth_tokens *t, const char *shown, size_t len, int64_t now_us,
                     struct jwt_user *ret, struct err *err);
