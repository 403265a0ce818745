/* frame.h - the unit of the protocol: a 24-byte header and a protobuf body
 *
 *   offset size  field          (little endian)
 *   0      4     magic          "PSTK"
 *   4      2     version        protocol version of the sender, WIRE_VERSION
 *   6      2     op             ops.h
 *   8      4     flags          enum frame_flag
 *   12     4     id             request id, chosen by the requester; its replies carry the same
 *   16     4     deadline_ms    requests: from arrival; 0 = none; dropped when it has passed
 *   20     4     length         bytes of body
 *
 * Pure codec: no I/O. */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "wire/ops.h"

#define FRAME_HEADER_SIZE 24u
#define FRAME_MAGIC "PSTK"
#define FRAME_MAGIC_SIZE 4u
#define FRAME_MAX_BODY (16u * WIRE_MIB)
#define WIRE_VERSION 3u /* this release */
/* oldest understood: two releases back; newer peers speak down to ours */
#define WIRE_VERSION_MIN 1u

enum frame_flag {
    FRAME_REPLY = 1u << 0,  /* answers a request */
    FRAME_MORE = 1u << 1,   /* further frames of this reply follow */
    FRAME_ERROR = 1u << 2,  /* with REPLY: the body is an Error */
    FRAME_ONEWAY = 1u << 3, /* request that wants no reply */
};

struct frame {
    uint16_t version;
    uint16_t op;
    uint32_t flags;
    uint32_t id;
    uint32_t deadline_ms;
    uint32_t len;
    const uint8_t *body; /* borrowed */
};

#define FRAME_UNKNOWN_OP_MAX (1u * WIRE_MIB) /* body of a request whose op we do not know */

/* Flags that make sense together: a request (alone or ONEWAY), or a reply (alone, with MORE or with
 * ERROR).  Everything else, bits that this release does not know among it, is a peer that does not
 * keep to the protocol. */
bool frame_flags_ok(uint32_t flags);

/* Read a header from exactly FRAME_HEADER_SIZE bytes; body is not touched.
 * Errors: -EBADMSG magic or flags, -EPROTO version outside what we understand (OP_CHALLENGE and
 * OP_HELLO are exempt: they are how versions get negotiated), -EMSGSIZE length over the op's cap
 * (FRAME_MAX_BODY for replies). */
int frame_decode_header(const uint8_t *buf, struct frame *ret_frame);
/* The same without the version check, for a receiver that negotiated with a newer peer. */
int frame_read_header(const uint8_t *buf, struct frame *ret_frame);
/* The fields as they stand, unchecked: to answer a frame that was refused. */
void frame_peek_header(const uint8_t *buf, struct frame *ret_frame);
void frame_encode_header(const struct frame *frame, uint8_t *buf);
/* Overwrite the version in an encoded header: frames go out with the version negotiated. */
void frame_set_version(uint8_t *buf, uint16_t version);

/* One malloc'd buffer holding header and packed body (msg NULL = empty body). Caller frees.
 * Errors: -ENOMEM, -EMSGSIZE over FRAME_MAX_BODY or, for a request, over its op's cap. */
int frame_pack(unsigned op, uint32_t flags, uint32_t id, uint32_t deadline_ms,
               const ProtobufCMessage *msg, uint8_t **ret_buf, size_t *ret_len);

/* A reply frame with an Error body; text NULL = the code's standard text.  As frame_pack(). */
int frame_pack_error(unsigned op, uint32_t id, int code, const char *text, uint8_t **ret_buf,
                     size_t *ret_len);

/* The message that a frame's op and flags announce: the op's request, its reply, or Error.  NULL
 * when the op is unknown. */
const ProtobufCMessageDescriptor *frame_message(const struct frame *frame);

/* Unpack the body, after the caps check, as the message that the caller expects.  The caller
 * frees it with protobuf_c_message_free_unpacked(msg, NULL).  The caller decides on the type:
 * when op and flags announce another message the call fails, so what comes back may be used as
 * `expected`. Errors: -EPROTO another message than expected, -EBADMSG malformed, -EMSGSIZE,
 * -ENOMEM, -ENOENT unknown op; err says which. */
int frame_unpack(const struct frame *frame, const ProtobufCMessageDescriptor *expected,
                 ProtobufCMessage **ret_msg, struct err *err);
/* The same for a request whose op alone decides what it is: a dispatcher that then calls the op's
 * handler.  Replies are -EPROTO. */
int frame_unpack_request(const struct frame *frame, ProtobufCMessage **ret_msg, struct err *err);
/* The body as `expected` whatever op says: a request that waits is answered with JobStatus frames
 * under its own op.  An Error is -EPROTO. */
int frame_unpack_body(const struct frame *frame, const ProtobufCMessageDescriptor *expected,
                      ProtobufCMessage **ret_msg, struct err *err);

/* frame_unpack() with a result of the right type, NULL on failure:
 * Pst__Hello *hello; r = FRAME_UNPACK(hello, f, &hello, err). */
#define FRAME_UNPACK(name, frame, ret_msg, err)                                                    \
    ({                                                                                             \
        ProtobufCMessage *unpacked_ = NULL;                                                        \
        __typeof__(pst__##name##__unpack(NULL, 0, NULL)) *typed_ = (ret_msg);                      \
        int unpack_r_ = frame_unpack((frame), &pst__##name##__descriptor, &unpacked_, (err));      \
                                                                                                   \
        *typed_ = (void *)unpacked_;                                                               \
        unpack_r_;                                                                                 \
    })
