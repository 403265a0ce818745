/* fuzz_keyset.c - the bytes of slurm.jwks and slurm.key */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "wire/auth/keyset.h"

#define NOW_US (INT64_C(1800000000) * 1000000)
#define INPUT_MAX 16384u /* as auth.c reads */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct auth_keys keys = { .n = 0 };
    struct err err = { .text = "" };

    if (size > INPUT_MAX || !keyset_is((const char *)data, size))
        return 0;
    if (keyset_parse((const char *)data, size, NOW_US, &keys, &err) < 0) {
        assert(err.text[0]);
        return 0;
    }
    assert(keys.n > 0 && keys.n <= AUTH_KEY_MAX && auth_keys_signer(&keys, NOW_US));
    for (size_t i = 0; i < keys.n; i++)
        assert(keys.keys[i].kid[0] && !strchr(keys.keys[i].kid, ':'));
    return 0;
}
