/* pbvarint.h - numbers as protobuf writes them: seven bits a byte, the lowest first
 *
 * Source: the protocol buffers encoding, "base 128 varints". */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PB_VARINT_MAX 10u /* bytes of a number of 64 bits */

/* Write v; how many bytes it took. */
static inline size_t pb_put_varint(uint8_t *to, uint64_t v)
{
    size_t n = 0;

    for (; v >= 0x80; v >>= 7)
        to[n++] = (uint8_t)(v | 0x80);
    to[n++] = (uint8_t)v;
    return n;
}
