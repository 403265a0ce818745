/* auth_impl.h - the key ring as auth*.c see it (private to wire/) */
#pragma once

#include <stdatomic.h>

#include "wire/auth/auth.h"

#define AUTH_KEY_SIZE 32u
#define AUTH_KID_MAX 32u

struct auth_key {
    char kid[AUTH_KID_MAX + 1];
    uint8_t secret[AUTH_KEY_SIZE];
};

struct auth_keys {
    atomic_uint refs; /* beyond the first */
    size_t n;         /* at least one */
    struct auth_key keys[AUTH_KEY_MAX];
};

/* Borrowed; NULL when unknown. */
const struct auth_key *auth_key_find(const struct auth_keys *keys, const char *kid);
