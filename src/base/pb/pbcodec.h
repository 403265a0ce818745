/* pbcodec.h - packing and unpacking of large records, most of whose fields are absent
 *
 * protobuf-c walks the descriptors of all fields, each 72 bytes, whenever it packs or unpacks a
 * message.  A codec has a table instead that takes a few bytes a field, made once; what comes out
 * is the same.  One thread at a time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"

struct pb_codec;

/* For this type of message and all that it has within it.  -ENOMEM. */
int pb_codec_new(const ProtobufCMessageDescriptor *desc, struct pb_codec **ret_codec);
struct pb_codec *pb_codec_free(struct pb_codec *codec);
DEFINE_CLEANUP(struct pb_codec *, pb_codec_free)

/* ---- before the first use ---- */

/* Messages in field `number` of messages of type `in` are made with malloc() when they are
 * unpacked, whatever makes the rest: somebody takes them. */
void pb_codec_own(struct pb_codec *codec, const ProtobufCMessageDescriptor *in, uint32_t number);
/* But for these of their texts and bytes, which are the allocator's. */
void pb_codec_lend(struct pb_codec *codec, const ProtobufCMessageDescriptor *in,
                   const uint32_t *numbers, size_t n);
/* Messages of type `in` are packed with these fields last. */
void pb_codec_last(struct pb_codec *codec, const ProtobufCMessageDescriptor *in,
                   const uint32_t *numbers, size_t n);

/* ---- use ---- */

/* msg, of the codec's type or one within it, in memory of the codec's until the next call.
 * *ret_before: bytes before the fields that are last.  NULL: no memory. */
const uint8_t *pb_codec_pack(struct pb_codec *codec, const ProtobufCMessage *msg, size_t *ret_len,
                             size_t *ret_before);
/* As protobuf_c_message_unpack().  *ret_owned: the messages for which pb_codec_own() asked are
 * malloc's, and either the caller takes them or pb_codec_disown() frees them; else all is the
 * allocator's.  So it is where the bytes have what a table is not made for, such as fields of a
 * newer release. */
ProtobufCMessage *pb_codec_unpack(struct pb_codec *codec, ProtobufCAllocator *allocator,
                                  const uint8_t *data, size_t len, bool *ret_owned);
/* Free such a message that nobody took: its lent fields are forgotten first. */
void pb_codec_disown(const struct pb_codec *codec, ProtobufCMessage *msg);
