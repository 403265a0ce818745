/* auth_impl.h - the key ring as auth*.c see it (private to wire/) */
#pragma once

#include <stdatomic.h>

#include "wire/auth/auth.h"

#define AUTH_KEY_SIZE 32u
#define AUTH_KID_MAX 32u

struct auth_key {
    char kid[AUTH_KID_MAX + 1];
    uint8_t secret[AUTH_KEY_SIZE];
    int64_t exp_us; /* from then on the key is of no use; 0: never */
};

struct auth_keys {
    atomic_uint refs; /* beyond the first */
    size_t n;         /* at least one */
    struct auth_key keys[AUTH_KEY_MAX];
};

/* Borrowed; NULL when unknown or expired. */
const struct auth_key *auth_key_find(const struct auth_keys *keys, const char *kid);
/* Has the key not expired by then? */
static inline bool auth_key_lives(const struct auth_key *key, int64_t now_us)
{
    return key->exp_us == 0 || now_us < key->exp_us;
}
/* The first that has not expired; borrowed; NULL: none. */
const struct auth_key *auth_keys_signer(const struct auth_keys *keys, int64_t now_us);
