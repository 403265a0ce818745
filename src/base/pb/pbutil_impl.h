/* pbutil_impl.h - how protobuf-c lays fields out in a message; shared by the pb*.c files only
 *
 * Unpacked messages own every pointer that is neither NULL nor the field's default value. */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline void *pb_member(const ProtobufCMessage *msg, const ProtobufCFieldDescriptor *f)
{
    return (char *)(uintptr_t)msg + f->offset;
}

static inline size_t *pb_count(const ProtobufCMessage *msg, const ProtobufCFieldDescriptor *f)
{
    return (size_t *)(void *)((char *)(uintptr_t)msg + f->quantifier_offset);
}

/* The has_ flag of an optional scalar, the case of a oneof. */
static inline uint32_t *pb_quantifier(const ProtobufCMessage *msg,
                                      const ProtobufCFieldDescriptor *f)
{
    return (uint32_t *)(void *)((char *)(uintptr_t)msg + f->quantifier_offset);
}
_Static_assert(sizeof(protobuf_c_boolean) == sizeof(uint32_t), "has_ flags and oneof cases");

static inline bool pb_is_oneof(const ProtobufCFieldDescriptor *f)
{
    return f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF;
}

static inline bool pb_is_pointer(const ProtobufCFieldDescriptor *f)
{
    return f->type == PROTOBUF_C_TYPE_STRING || f->type == PROTOBUF_C_TYPE_MESSAGE;
}

/* Bytes one value of the field takes in the struct. */
static inline size_t pb_value_size(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return 8;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE:
        return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    default:
        return 4;
    }
}

static inline bool pb_present(const ProtobufCMessage *msg, const ProtobufCFieldDescriptor *f)
{
    if (f->label == PROTOBUF_C_LABEL_REPEATED)
        return *pb_count(msg, f) != 0;
    if (pb_is_oneof(f))
        return *pb_quantifier(msg, f) == f->id;
    if (pb_is_pointer(f)) {
        const void *p = *(void **)pb_member(msg, f);

        return p && p != f->default_value;
    }
    return f->label == PROTOBUF_C_LABEL_REQUIRED || *pb_quantifier(msg, f);
}

/* A value that owns nothing can be copied as it lies. */
static inline bool pb_owns_memory(const ProtobufCFieldDescriptor *f)
{
    return f->label == PROTOBUF_C_LABEL_REPEATED || pb_is_pointer(f) ||
           f->type == PROTOBUF_C_TYPE_BYTES;
}
