/* pbutil.h - what the generated protobuf-c descriptors make possible without knowing any message
 *
 * Pure functions over (descriptor, message).  Messages made here or by *_unpack with pb_allocator
 * are freed with protobuf_c_message_free_unpacked(msg, NULL): they use malloc. */
#pragma once

#include <assert.h>
#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/err.h"

/* Overwrite dst's fields with those present in src; repeated fields and embedded messages present
 * in src replace dst's whole.  `src` stays the caller's: values are copied.  Fields neither side
 * knows are merged alike, by number.  Errors: -ENOMEM (dst may be partly merged). */
int pb_merge(ProtobufCMessage *dst, const ProtobufCMessage *src);
/* Make one field absent, freeing its value.  -ENOENT: no such number in schema or message. */
int pb_clear(ProtobufCMessage *msg, uint32_t field_number);
bool pb_has(const ProtobufCMessage *msg, uint32_t field_number);
/* Make every field from the number first to last absent. */
void pb_clear_range(ProtobufCMessage *msg, uint32_t first, uint32_t last);
/* Deep copy.  Errors: -ENOMEM. */
int pb_dup(const ProtobufCMessage *msg, ProtobufCMessage **ret_msg);
/* Release what msg's fields own and re-initialise it (msg itself may be on the stack).  The fields
 * must own what they point to. */
void pb_done(ProtobufCMessage *msg);
bool pb_equal(const ProtobufCMessage *a,
              const ProtobufCMessage *b); /* same type, fields and values */

/* msg as the message type of that name: PB_AS(submit_request, msg) is a Pst__SubmitRequest *.  A
 * message of another type is our own bug, wherever it came from: the process ends before the
 * memory is misread. */
#define PB_AS(name, msg)                                                                           \
    ((__typeof__(pst__##name##__unpack(NULL, 0, NULL)))pb_expect((msg), &pst__##name##__descriptor))
/* NULL stays NULL. */
static inline void *pb_expect(ProtobufCMessage *msg, const ProtobufCMessageDescriptor *desc)
{
    assert(!msg || msg->descriptor == desc);
    return msg;
}

/* Set an optional string field: frees the old one, copies text (NULL = absent).  -ENOMEM. */
int pb_set_str(char **field, const char *text);

/* Copy from encoded bytes `in` only the top-level fields whose numbers are in wanted.  out must
 * hold `len` bytes.  Returns bytes written, or -EBADMSG.  tools/gen-fields refuses a field of a
 * record whose number a set cannot hold. */
enum { PB_FIELDSET_NUMBERS = 4096 };
struct pb_fieldset {
    uint64_t bits[PB_FIELDSET_NUMBERS / 64];
};
void pb_fieldset_add(struct pb_fieldset *set, uint32_t field_number);
void pb_fieldset_remove(struct pb_fieldset *set, uint32_t field_number);
bool pb_fieldset_has(const struct pb_fieldset *set, uint32_t field_number);
long pb_project(const uint8_t *in, size_t len, const struct pb_fieldset *wanted, uint8_t *out);

/* Caps: check an encoded message against the table of caps before unpacking: no field longer than
 * its cap, no repeated field with more elements, no other field given twice, unknown fields bounded
 * by the defaults too, so that unpacking takes memory in proportion to the bytes.  (The size of the
 * whole is the frame's to bound.)  A field's caps come from its row, else from its message's
 * default row, else from the table; a 0 in a row means the next of these. Errors: -EMSGSIZE with
 * err naming message and field, -EBADMSG malformed.  The rows of a table are sorted by message, in
 * the order of strcmp(). */
struct pb_cap {
    const char *message; /* "pst.JobRecord" */
    const char *field;   /* NULL = default for the message */
    uint32_t max_bytes;  /* of a string, bytes or embedded message */
    uint32_t max_count;  /* of a repeated field */
};
struct pb_caps {
    const struct pb_cap *rows;
    size_t n;
    uint32_t default_bytes;
    uint32_t default_count;
};
int pb_check_caps(const ProtobufCMessageDescriptor *desc, const uint8_t *data, size_t len,
                  const struct pb_caps *caps, struct err *err);

/* Arena allocator for unpacking many records fast: everything goes at once with pb_arena_reset(),
 * which keeps the memory for the next ones.  One thread at a time. */
struct pb_arena;
int pb_arena_new(struct pb_arena **ret_arena);
struct pb_arena *pb_arena_free(struct pb_arena *arena);
DEFINE_CLEANUP(struct pb_arena *, pb_arena_free)
void pb_arena_reset(struct pb_arena *arena);
ProtobufCAllocator *pb_arena_allocator(struct pb_arena *arena); /* do not free_unpacked with it */

/* JSON.  Names as in the schema; 64-bit integers as numbers; bytes as base64; enums by name (the
 * prefix kept; a number when it has none).  Absent fields and unknown ones are left out; bytes of a
 * string that are no UTF-8 become U+FFFD.  Writer streams to f, `indent` spaces a level, < 0 =
 * compact; no newline at the end.  Returns 0 or -EIO. */
int pb_json_write(FILE *f, const ProtobufCMessage *msg, int indent);
/* One string in quotes, with the same care; errors are in the stream's flag. */
void pb_json_string(FILE *f, const char *text);
/* Reader, in base_json_dep: unknown names and wrong types are errors with a path
 * ("job.alloc.groups[2].cpus: integer expected"); null is absent; 64-bit integers may stand in
 * strings. *ret_msg is freed with protobuf_c_message_free_unpacked(msg, NULL).  Limits: depth by
 * the schema (no recursion there), text at most PB_JSON_MAX_BYTES.  Errors: -EINVAL, -E2BIG,
 * -ENOMEM. */
#define PB_JSON_MAX_BYTES (64u << 20)
int pb_json_read(const char *text, size_t len, const ProtobufCMessageDescriptor *desc,
                 ProtobufCMessage **ret_msg, struct err *err);
