/* lz4.h - blocks of liblz4, which is loaded when first needed
 *
 * -ENOSYS where the library is not installed, and in programs that are linked statically. */
#pragma once

#include <stddef.h>
#include <stdint.h>

int lz4_available(void); /* 0 or -ENOSYS */
/* Into ret_out of `room` bytes; the length, or -ENOSPC when it does not get that small. */
int lz4_pack(const uint8_t *data, size_t len, uint8_t *ret_out, size_t room);
/* Exactly `len` bytes into ret_out; -EBADMSG when the block is not one of so many. */
int lz4_unpack(const uint8_t *block, size_t size, uint8_t *ret_out, size_t len);
