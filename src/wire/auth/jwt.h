/* jwt.h - the text of bearer tokens: JSON Web Tokens (RFC 7519) signed as RFC 7515 has it
 *
 * What a token says, whoever signed it.  Which signatures are believed: tokens.h.  Tokens come
 * from outside; nothing of one is parsed before its length is known to be bounded.  Any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/process/tokenconfig.h"
#include "wire/auth/auth.h"

#define JWT_MAX 8192u          /* bytes of a token */
#define JWT_KID_MAX 128u       /* bytes of a key's name */
#define JWT_SIGNATURE_MAX 512u /* RSA of 4096 bits */

enum jwt_alg {
    JWT_HS256, /* a secret that both ends know: such a token is never sent whole */
    JWT_RS256, /* RSA PKCS#1 v1.5; the issuer alone can sign */
    JWT_ES256, /* ECDSA on P-256 */
};

struct jwt_head {
    enum jwt_alg alg;
    bool has_kid;
    char kid[JWT_KID_MAX + 1];
};

struct jwt_user {
    char *name;   /* caller frees */
    bool has_ids; /* the token says them, and rules let it */
    uid_t uid;
    gid_t gid;
};

/* The header, of a token or of what is before its last dot.  Errors: -EINVAL. */
int jwt_read_head(const char *token, size_t len, struct jwt_head *ret, struct err *err);
/* The signature: *ret_shown is the length of what it signs.  Errors: -EINVAL. */
int jwt_signature(const char *token, size_t len, uint8_t signature[JWT_SIGNATURE_MAX],
                  size_t *ret_len, size_t *ret_shown, struct err *err);
/* The claims of a token whose signature is believed, of its first `shown` bytes.  Errors: -EINVAL,
 * -EKEYEXPIRED, -EACCES not valid yet or without what rules ask for. */
int jwt_read_claims(const char *token, size_t shown, int64_t now_us, const struct jwt_rules *rules,
                    struct jwt_user *ret, struct err *err);
/* Header and claims of a new token, HS256, with a dot between; kid NULL: no name in the header.
 * lifespan_s UINT64_MAX = practically for ever.  *ret_token has room for jwt_append()'s. */
int jwt_begin(const char *kid, const char *user, int64_t now_us, uint64_t lifespan_s,
              char **ret_token);
/* Add the dot and the signature to what jwt_begin() made. */
void jwt_append(char *token, const uint8_t mac[AUTH_MAC_SIZE]);

/* base64url without padding, the canonical form alone; out holds len bytes.  Bytes or -EINVAL. */
ssize_t jwt_base64(const char *text, size_t len, uint8_t *out);
/* Has the token run out, or is it none?  Tells nothing about its signature. */
bool jwt_is_over(const char *token, int64_t now_us);
/* When it runs out; 0: it is none, or does not say.  Tells nothing about its signature. */
int64_t jwt_end_us(const char *token);
/* Is its signature a secret that both ends can make? */
bool jwt_is_shared(const char *token);
/* Are both the same text, or both NULL?  Does not tell by its time how much of a token is right. */
bool jwt_is_same(const char *a, const char *b);
