/* pbdiff.c - what changed between two messages; see pbdiff.h.  Pure, any thread. */
#include "base/pb/pbdiff.h"

#include <string.h>

#include "base/pb/pbutil.h"
#include "base/pb/pbutil_impl.h"

static const ProtobufCFieldDescriptor *find_field(const ProtobufCMessage *m, uint32_t number)
{
    return protobuf_c_message_descriptor_get_field(m->descriptor, number);
}

static void borrow_field(ProtobufCMessage *dst, const ProtobufCMessage *src,
                         const ProtobufCFieldDescriptor *f)
{
    bool repeated = f->label == PROTOBUF_C_LABEL_REPEATED;

    memcpy(pb_member(dst, f), pb_member(src, f),
           repeated ? sizeof(void *) : pb_value_size(f->type));
    if (repeated)
        *pb_count(dst, f) = *pb_count(src, f);
    else if (!pb_is_pointer(f) && f->label != PROTOBUF_C_LABEL_REQUIRED)
        *pb_quantifier(dst, f) = *pb_quantifier(src, f);
}

void pb_borrow(ProtobufCMessage *dst, const ProtobufCMessage *src, const uint32_t *numbers,
               size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const ProtobufCFieldDescriptor *f = find_field(src, numbers[i]);

        if (f && pb_present(src, f))
            borrow_field(dst, src, f);
    }
}

void pb_forget(ProtobufCMessage *dst, const uint32_t *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const ProtobufCFieldDescriptor *f = find_field(dst, numbers[i]);

        if (!f)
            continue;
        if (f->label == PROTOBUF_C_LABEL_REPEATED)
            *pb_count(dst, f) = 0;
        else if (pb_is_pointer(f))
            *(void **)pb_member(dst, f) = NULL;
        else
            *pb_quantifier(dst, f) = 0;
    }
}

/* Equal in this field alone: compared as messages that hold nothing else. */
static bool same_field(const ProtobufCMessage *a, const ProtobufCMessage *b,
                       const ProtobufCFieldDescriptor *f)
{
    bool x = pb_present(a, f), y = pb_present(b, f);

    if (x != y || !x)
        return x == y;
    if (f->label != PROTOBUF_C_LABEL_REPEATED && f->type == PROTOBUF_C_TYPE_STRING)
        return strcmp(*(char **)pb_member(a, f), *(char **)pb_member(b, f)) == 0;
    if (f->label != PROTOBUF_C_LABEL_REPEATED && f->type == PROTOBUF_C_TYPE_MESSAGE)
        return pb_equal(*(ProtobufCMessage **)pb_member(a, f),
                        *(ProtobufCMessage **)pb_member(b, f));
    if (pb_owns_memory(f))
        return false; /* repeated fields and bytes are not compared: told again is no harm */
    return memcmp(pb_member(a, f), pb_member(b, f), pb_value_size(f->type)) == 0;
}

size_t pb_diff(const ProtobufCMessage *a, const ProtobufCMessage *b, const uint32_t *numbers,
               size_t n, ProtobufCMessage *before, ProtobufCMessage *after)
{
    size_t found = 0;

    for (size_t i = 0; i < n; i++) {
        const ProtobufCFieldDescriptor *f = find_field(a, numbers[i]);

        if (!f || same_field(a, b, f))
            continue;
        found++;
        if (pb_present(a, f))
            borrow_field(before, a, f);
        if (pb_present(b, f))
            borrow_field(after, b, f);
    }
    return found;
}
