/* fuzz_jwt.c - a bearer token from an unknown peer
 *
 * The first byte says whether the input's own signature is taken or a right one is put in its
 * place, so that what lies behind the signature check is reached too. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/auth/auth_impl.h"
#include "wire/auth/tokens.h"

#define NOW_US (INT64_C(1800000000) * 1000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* Append '.' and the signature of token[0, len); returns the new length. */
static size_t add_signature(const struct auth_keys *keys, char *token, size_t len)
{
    uint8_t mac[AUTH_MAC_SIZE + 1] = { 0 };
    size_t out = len + 1;

    if (auth_sign(keys, token, len, mac, NULL) < 0)
        return len;
    token[len] = '.';
    for (size_t bit = 0; bit < 8 * AUTH_MAC_SIZE; bit += 6) {
        unsigned pair = (unsigned)mac[bit / 8] << 8 | mac[bit / 8 + 1];

        token[out++] = alphabet[pair >> (10 - bit % 8) & 63];
    }
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct auth_keys keys = { .n = 1, .keys = { { .kid = "a1" } } };
    struct auth_tokens *tokens = NULL;
    struct jwt_user user = { .name = NULL };
    struct err err;
    char *token;
    size_t len;

    if (size < 1 || size > 16384)
        return 0;
    len = size - 1;
    token = malloc(len + 64);
    if (!token || auth_tokens_new(&(struct token_rules){ 0 }, &keys, &tokens, NULL) < 0) {
        free(token);
        return 0;
    }
    memcpy(token, data + 1, len);
    if (data[0] & 1)
        len = add_signature(&keys, token, len);
    if (auth_tokens_verify(tokens, token, len, NOW_US, &user, &err) == 0)
        free(user.name);
    (void)auth_tokens_free(tokens); /* always NULL */
    free(token);
    return 0;
}
