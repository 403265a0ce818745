/* optoken.h - tokens that the operator signs: JSON Web Tokens, HS256
 *
 * Pure but for the random id.  Errors: -ENOMEM, -EIO (no random bytes). */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A token of a user, signed with the key, good until now_s + lifetime_s.  The caller frees. */
int optoken_sign(const void *key, size_t len, const char *user, int64_t now_s, int64_t lifetime_s,
                 char **ret);
/* What a token says of its times, whoever signed it.  -EINVAL: it is none, or not the user's
 * (NULL: anybody's). */
int optoken_read(const char *token, const char *user, int64_t *ret_issued_s, int64_t *ret_ends_s);
