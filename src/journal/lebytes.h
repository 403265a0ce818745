/* lebytes.h - numbers in the files of the journal: little-endian, at any address (private to
 * journal/) */
#pragma once

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline void put_u32(uint8_t *out, uint32_t v)
{
    v = htole32(v);
    memcpy(out, &v, sizeof(v));
}

static inline void put_u64(uint8_t *out, uint64_t v)
{
    v = htole64(v);
    memcpy(out, &v, sizeof(v));
}

static inline uint32_t get_u32(const uint8_t *in)
{
    uint32_t v;

    memcpy(&v, in, sizeof(v));
    return le32toh(v);
}

static inline uint64_t get_u64(const uint8_t *in)
{
    uint64_t v;

    memcpy(&v, in, sizeof(v));
    return le64toh(v);
}
