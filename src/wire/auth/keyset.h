/* keyset.h - the forms of the cluster's key file (private to wire/auth)
 *
 *   name:hex      lines of 32 bytes each; the first signs
 *   {"keys":[]}   a JSON Web Key Set (slurm.jwks): kty=oct, alg=HS256, kid; k has 16 bytes or
 *                 more, in base64 or base64url; use="default" signs, else the first; from exp
 *                 (seconds) on a key neither signs nor verifies
 *   other bytes   one key of all of them (slurm.key); 16 at least.  Text is one, too, when no line
 *                 has a name, or when it is one line that is longer than a name and a key
 *
 * A key of another length than 32 bytes becomes one by HMAC-SHA256. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "wire/auth/auth_impl.h"

/* Is the file in one of the last two forms?  Else it is lines. */
bool keyset_is(const char *text, size_t len);
/* Fill keys.  Errors: -EINVAL, -EKEYEXPIRED all have expired; err has a
 * sentence without the file's name. */
int keyset_parse(const char *text, size_t len, int64_t now_us, struct auth_keys *keys,
                 struct err *err);
