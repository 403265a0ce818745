/* sha256.c - see sha256.h; names of functions and constants are those of FIPS 180-4 */
#include "wire/auth/sha256.h"

#include <endian.h>
#include <string.h>

#include "base/cleanup.h"

#define ROUNDS 64
#define LENGTH_BYTES 8u /* at the end of the last block */
#define PAD 0x80

static const uint32_t round_constants[ROUNDS] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate_right(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static uint32_t big_sigma0(uint32_t x)
{
    return rotate_right(x, 2) ^ rotate_right(x, 13) ^ rotate_right(x, 22);
}

static uint32_t big_sigma1(uint32_t x)
{
    return rotate_right(x, 6) ^ rotate_right(x, 11) ^ rotate_right(x, 25);
}

static uint32_t small_sigma0(uint32_t x)
{
    return rotate_right(x, 7) ^ rotate_right(x, 18) ^ x >> 3;
}

static uint32_t small_sigma1(uint32_t x)
{
    return rotate_right(x, 17) ^ rotate_right(x, 19) ^ x >> 10;
}

static void add_block(uint32_t state[8], const uint8_t block[SHA256_BLOCK])
{
    uint32_t w[ROUNDS], v[8];

    memcpy(w, block, SHA256_BLOCK);
    for (unsigned t = 0; t < 16; t++)
        w[t] = be32toh(w[t]);
    for (unsigned t = 16; t < ROUNDS; t++)
        w[t] = small_sigma1(w[t - 2]) + w[t - 7] + small_sigma0(w[t - 15]) + w[t - 16];
    memcpy(v, state, sizeof(v));
    for (unsigned t = 0; t < ROUNDS; t++) {
        uint32_t choose = (v[4] & v[5]) ^ (~v[4] & v[6]);
        uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        uint32_t t1 = v[7] + big_sigma1(v[4]) + choose + round_constants[t] + w[t];
        uint32_t t2 = big_sigma0(v[0]) + majority;

        memmove(v + 1, v, 7 * sizeof(*v));
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (unsigned i = 0; i < 8; i++)
        state[i] += v[i];
    explicit_bzero(w, sizeof(w)); /* a key may have been in it */
}

void sha256_begin(struct sha256 *h)
{
    static const uint32_t first[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

    memcpy(h->state, first, sizeof(first));
    h->len = 0;
}

void sha256_add(struct sha256 *h, const void *data, size_t len)
{
    const uint8_t *p = data;

    while (len > 0) {
        size_t at = h->len % SHA256_BLOCK, n = MIN(len, SHA256_BLOCK - at);

        if (n == SHA256_BLOCK) {
            add_block(h->state, p);
        } else {
            memcpy(h->block + at, p, n);
            if (at + n == SHA256_BLOCK)
                add_block(h->state, h->block);
        }
        h->len += n;
        p += n;
        len -= n;
    }
}

void sha256_end(struct sha256 *h, uint8_t out[SHA256_SIZE])
{
    static const uint8_t pad[SHA256_BLOCK] = { PAD };
    uint64_t bits = htobe64(h->len * 8);
    size_t used = (h->len + LENGTH_BYTES) % SHA256_BLOCK;

    sha256_add(h, pad, SHA256_BLOCK - used);
    sha256_add(h, &bits, sizeof(bits));
    for (unsigned i = 0; i < 8; i++) {
        uint32_t word = htobe32(h->state[i]);

        memcpy(out + 4 * i, &word, sizeof(word));
    }
    explicit_bzero(h, sizeof(*h));
}
