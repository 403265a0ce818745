/* sha256.h - SHA-256 (FIPS 180-4) without a library (private to wire/auth/)
 *
 * For programs that have no libcrypto: srun proves itself to each node of a step, and to load a
 * library for those few codes costs more than all of them.  crypto.h chooses.  Constant time for
 * messages of one length.  One thread at a time per object. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SHA256_SIZE 32u
#define SHA256_BLOCK 64u

struct sha256 {
    uint32_t state[8];
    uint64_t len; /* bytes so far */
    uint8_t block[SHA256_BLOCK];
};

void sha256_begin(struct sha256 *h);
void sha256_add(struct sha256 *h, const void *data, size_t len);
void sha256_end(struct sha256 *h, uint8_t out[SHA256_SIZE]); /* h is to begin anew after it */
