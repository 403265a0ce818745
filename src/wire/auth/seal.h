/* seal.h - one direction of a proved connection: every frame carries a tag that only the two
 * ends can make
 *
 * A sealed frame is followed by SEAL_TAG_SIZE bytes: the beginning of HMAC-SHA256 under the
 * direction's key over the frame's number in that direction (64 bits, little endian, from 0),
 * its header as sent and its body.  So whatever carries the
 * bytes cannot make, change, repeat, drop or exchange a frame.  It can read them: secrecy is the
 * work of TLS.  Private to wire/; one thread at a time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEAL_KEY_SIZE 32u
#define SEAL_TAG_SIZE 16u
#define SEAL_HEADER_SIZE 24u /* of a frame: FRAME_HEADER_SIZE */

struct seal;

/* -ENOMEM */
int seal_new(const uint8_t key[SEAL_KEY_SIZE], struct seal **ret_seal);
struct seal *seal_free(struct seal *seal); /* always NULL */
/* The tag of the next frame. */
void seal_tag(struct seal *seal, const uint8_t header[SEAL_HEADER_SIZE], const void *body,
              size_t len, uint8_t tag[SEAL_TAG_SIZE]);
/* Is it the tag of the next frame?  If not, the connection is of no use any more. */
bool seal_fits(struct seal *seal, const uint8_t header[SEAL_HEADER_SIZE], const void *body,
               size_t len, const uint8_t tag[SEAL_TAG_SIZE]);
