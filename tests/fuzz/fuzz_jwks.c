/* fuzz_jwks.c - a key set of an issuer, and a token that it is to verify
 *
 * The first line is the token, what follows is the set.  A token that a set of the corpus signed is
 * in the corpus, so that what lies behind the signature is reached. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/auth/jwks.h"

#define NOW_US (INT64_C(1800000000) * 1000000)
#define INPUT_MAX 65536u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void verify_token(const struct jwks *set, const char *token, size_t len)
{
    static const struct jwt_rules rules = { .client_ids = true };
    uint8_t signature[JWT_SIGNATURE_MAX];
    struct jwt_user user = { .name = NULL };
    struct jwt_head head;
    size_t signature_len, shown;

    if (jwt_signature(token, len, signature, &signature_len, &shown, NULL) < 0 ||
        jwt_read_head(token, shown, &head, NULL) < 0 ||
        jwks_verify(set, &head, token, shown, signature, signature_len, NULL) < 0)
        return;
    if (jwt_read_claims(token, shown, NOW_US, &rules, &user, NULL) == 0)
        free(user.name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *line = size <= INPUT_MAX ? memchr(data, '\n', size) : NULL;
    struct jwks *set = NULL;
    struct err err;

    if (!line)
        return 0;
    if (jwks_parse((const char *)line + 1, size - (size_t)(line + 1 - data), &set, &err) < 0)
        return 0;
    verify_token(set, (const char *)data, (size_t)(line - data));
    (void)jwks_free(set); /* always NULL */
    return 0;
}
