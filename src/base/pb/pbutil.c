/* pbutil.c - copying, merging, clearing and comparing messages by descriptor; see pbutil.h.
 *
 * Nothing here is packed and unpacked again: fields are walked in place, since merge and dup run
 * for each change of a job.  Memory is malloc's, as protobuf_c_message_free_unpacked(msg, NULL)
 * expects. A copied struct never shares a pointer with its source for longer than copy_owned()
 * runs. */
#include "base/pb/pbutil.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbutil_impl.h"

/* One value of any type. */
union value {
    void *pointer;
    ProtobufCBinaryData bytes;
    uint64_t number;
};

static void free_message(ProtobufCMessage *msg)
{
    if (msg)
        protobuf_c_message_free_unpacked(msg, NULL);
}

/* Release what one value owns. */
static void free_value(const ProtobufCFieldDescriptor *f, void *value)
{
    if (f->type == PROTOBUF_C_TYPE_BYTES) {
        uint8_t *data = ((ProtobufCBinaryData *)value)->data;
        const ProtobufCBinaryData *standard = f->default_value;

        if (!standard || data != standard->data)
            free(data);
    } else if (f->type == PROTOBUF_C_TYPE_STRING) {
        if (*(void **)value != f->default_value)
            free(*(void **)value);
    } else if (f->type == PROTOBUF_C_TYPE_MESSAGE) {
        if (*(void **)value != f->default_value)
            free_message(*(ProtobufCMessage **)value);
    }
}

static void free_array(const ProtobufCFieldDescriptor *f, void *array, size_t n)
{
    size_t size = pb_value_size(f->type);

    if (pb_is_pointer(f) || f->type == PROTOBUF_C_TYPE_BYTES) {
        for (size_t i = 0; i < n; i++)
            free_value(f, (char *)array + i * size);
    }
    free(array);
}

/* Write "absent" without releasing anything. */
static void forget_field(ProtobufCMessage *msg, const ProtobufCFieldDescriptor *f)
{
    void *member = pb_member(msg, f);

    if (f->label == PROTOBUF_C_LABEL_REPEATED) {
        *pb_count(msg, f) = 0;
        *(void **)member = NULL;
        return;
    }
    if (pb_is_oneof(f) || (f->label == PROTOBUF_C_LABEL_OPTIONAL && !pb_is_pointer(f)))
        *pb_quantifier(msg, f) = 0;
    if (pb_is_pointer(f))
        *(const void **)member = f->default_value;
    else if (f->default_value)
        memcpy(member, f->default_value, pb_value_size(f->type));
    else
        memset(member, 0, pb_value_size(f->type));
}

static void clear_field(ProtobufCMessage *msg, const ProtobufCFieldDescriptor *f)
{
    if (pb_is_oneof(f) && *pb_quantifier(msg, f) != f->id)
        return; /* the storage belongs to another member */
    if (f->label == PROTOBUF_C_LABEL_REPEATED)
        free_array(f, *(void **)pb_member(msg, f), *pb_count(msg, f));
    else
        free_value(f, pb_member(msg, f));
    forget_field(msg, f);
}

/* Copy what the value at `src` owns; plain numbers are copied as they are. */
static int dup_value(const ProtobufCFieldDescriptor *f, const void *src, union value *ret)
{
    if (f->type == PROTOBUF_C_TYPE_STRING) {
        const char *text = *(char *const *)src;

        ret->pointer = text ? strdup(text) : NULL;
        return text && !ret->pointer ? -ENOMEM : 0;
    }
    if (f->type == PROTOBUF_C_TYPE_MESSAGE) {
        const ProtobufCMessage *msg = *(ProtobufCMessage *const *)src;
        ProtobufCMessage *copy = NULL;
        int r = msg ? pb_dup(msg, &copy) : 0;

        ret->pointer = copy;
        return r;
    }
    if (f->type == PROTOBUF_C_TYPE_BYTES) {
        const ProtobufCBinaryData *bytes = src;

        ret->bytes = (ProtobufCBinaryData){ .len = bytes->len };
        if (bytes->len == 0)
            return 0;
        ret->bytes.data = malloc(bytes->len);
        if (!ret->bytes.data)
            return -ENOMEM;
        memcpy(ret->bytes.data, bytes->data, bytes->len);
        return 0;
    }
    memcpy(ret, src, pb_value_size(f->type));
    return 0;
}

static int dup_array(const ProtobufCFieldDescriptor *f, const void *src, size_t n, void **ret)
{
    size_t size = pb_value_size(f->type);
    char *array = n ? reallocarray(NULL, n, size) : NULL;

    if (n && !array)
        return -ENOMEM;
    if (!pb_is_pointer(f) && f->type != PROTOBUF_C_TYPE_BYTES) {
        if (n)
            memcpy(array, src, n * size);
        *ret = array;
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        union value v;
        int r = dup_value(f, (const char *)src + i * size, &v);

        if (r < 0) {
            free_array(f, array, i);
            return r;
        }
        memcpy(array + i * size, &v, size);
    }
    *ret = array;
    return 0;
}

/* Replace dst's pointers into src's memory by copies, for one field present in src. */
static int dup_field(ProtobufCMessage *dst, const ProtobufCMessage *src,
                     const ProtobufCFieldDescriptor *f)
{
    const void *from = pb_member(src, f);
    union value v;
    int r;

    if (f->label == PROTOBUF_C_LABEL_REPEATED) {
        r = dup_array(f, *(void *const *)from, *pb_count(src, f), &v.pointer);
        if (r == 0)
            *(void **)pb_member(dst, f) = v.pointer;
        return r;
    }
    r = dup_value(f, from, &v);
    if (r == 0)
        memcpy(pb_member(dst, f), &v, pb_value_size(f->type));
    return r;
}

static void free_unknown(ProtobufCMessageUnknownField *fields, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(fields[i].data);
    free(fields);
}

static int dup_unknown(const ProtobufCMessage *src, ProtobufCMessageUnknownField **ret)
{
    ProtobufCMessageUnknownField *copy = calloc(src->n_unknown_fields, sizeof(*copy));

    if (!copy)
        return -ENOMEM;
    for (unsigned i = 0; i < src->n_unknown_fields; i++) {
        const ProtobufCMessageUnknownField *from = &src->unknown_fields[i];

        copy[i] = *from;
        copy[i].data = malloc(from->len ? from->len : 1);
        if (!copy[i].data) {
            free_unknown(copy, i);
            return -ENOMEM;
        }
        memcpy(copy[i].data, from->data, from->len);
    }
    *ret = copy;
    return 0;
}

/* dst is a byte copy of src: give it memory of its own, or on failure none of src's. */
static int copy_owned(ProtobufCMessage *dst, const ProtobufCMessage *src)
{
    const ProtobufCMessageDescriptor *desc = src->descriptor;
    int r = 0;

    dst->unknown_fields = NULL;
    dst->n_unknown_fields = 0;
    for (unsigned i = 0; i < desc->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &desc->fields[i];

        if (!pb_owns_memory(f))
            continue;
        if (r < 0 || !pb_present(src, f)) {
            if (!pb_is_oneof(f) || pb_present(src, f))
                forget_field(dst, f);
            continue;
        }
        r = dup_field(dst, src, f);
        if (r < 0)
            forget_field(dst, f);
    }
    if (r == 0 && src->n_unknown_fields) {
        r = dup_unknown(src, &dst->unknown_fields);
        if (r == 0)
            dst->n_unknown_fields = src->n_unknown_fields;
    }
    return r;
}

int pb_dup(const ProtobufCMessage *msg, ProtobufCMessage **ret_msg)
{
    ProtobufCMessage *copy = malloc(msg->descriptor->sizeof_message);
    int r;

    if (!copy)
        return -ENOMEM;
    memcpy(copy, msg, msg->descriptor->sizeof_message);
    r = copy_owned(copy, msg);
    if (r < 0) {
        free_message(copy);
        return r;
    }
    *ret_msg = copy;
    return 0;
}

static const ProtobufCFieldDescriptor *find_field(const ProtobufCMessage *msg, uint32_t number)
{
    return protobuf_c_message_descriptor_get_field(msg->descriptor, number);
}

/* Overwrite one field of dst with the one present in src. */
static int merge_field(ProtobufCMessage *dst, const ProtobufCMessage *src,
                       const ProtobufCFieldDescriptor *f)
{
    bool repeated = f->label == PROTOBUF_C_LABEL_REPEATED;
    union value v;
    int r = repeated ? dup_array(f, *(void **)pb_member(src, f), *pb_count(src, f), &v.pointer)
                     : dup_value(f, pb_member(src, f), &v);

    if (r < 0)
        return r;
    if (pb_is_oneof(f) && *pb_quantifier(dst, f)) {
        const ProtobufCFieldDescriptor *other = find_field(dst, *pb_quantifier(dst, f));

        if (other)
            clear_field(dst, other);
    } else if (pb_owns_memory(f)) {
        clear_field(dst, f);
    }
    memcpy(pb_member(dst, f), &v, repeated ? sizeof(void *) : pb_value_size(f->type));
    if (repeated)
        *pb_count(dst, f) = *pb_count(src, f);
    else if (pb_is_oneof(f))
        *pb_quantifier(dst, f) = f->id;
    else if (f->label == PROTOBUF_C_LABEL_OPTIONAL && !pb_is_pointer(f))
        *pb_quantifier(dst, f) = 1;
    return 0;
}

/* Drop the unknown fields numbered first .. last; tells whether there were any. */
static bool drop_unknown(ProtobufCMessage *msg, uint32_t first, uint32_t last)
{
    unsigned kept = 0, had = msg->n_unknown_fields;

    for (unsigned i = 0; i < had; i++) {
        if (msg->unknown_fields[i].tag >= first && msg->unknown_fields[i].tag <= last)
            free(msg->unknown_fields[i].data);
        else
            msg->unknown_fields[kept++] = msg->unknown_fields[i];
    }
    msg->n_unknown_fields = kept;
    if (kept == 0) {
        free(msg->unknown_fields);
        msg->unknown_fields = NULL;
    }
    return kept != had;
}

/* Fields a newer peer knows and we do not are merged like the others: same number, new value. */
static int merge_unknown(ProtobufCMessage *dst, const ProtobufCMessage *src)
{
    ProtobufCMessageUnknownField *added, *all;
    unsigned n = src->n_unknown_fields;
    int r = dup_unknown(src, &added);

    if (r < 0)
        return r;
    for (unsigned i = 0; i < n; i++)
        (void)drop_unknown(dst, added[i].tag, added[i].tag); /* absent is fine */
    all = reallocarray(dst->unknown_fields, dst->n_unknown_fields + n, sizeof(*all));
    if (!all) {
        free_unknown(added, n);
        return -ENOMEM;
    }
    memcpy(all + dst->n_unknown_fields, added, n * sizeof(*all));
    free(added);
    dst->unknown_fields = all;
    dst->n_unknown_fields += n;
    return 0;
}

int pb_merge(ProtobufCMessage *dst, const ProtobufCMessage *src)
{
    const ProtobufCMessageDescriptor *desc = src->descriptor;

    for (unsigned i = 0; i < desc->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &desc->fields[i];

        if (pb_present(src, f)) {
            int r = merge_field(dst, src, f);

            if (r < 0)
                return r;
        }
    }
    return src->n_unknown_fields ? merge_unknown(dst, src) : 0;
}

int pb_clear(ProtobufCMessage *msg, uint32_t field_number)
{
    const ProtobufCFieldDescriptor *f = find_field(msg, field_number);

    if (!f)
        return drop_unknown(msg, field_number, field_number) ? 0 : -ENOENT;
    clear_field(msg, f);
    return 0;
}

bool pb_has(const ProtobufCMessage *msg, uint32_t field_number)
{
    const ProtobufCFieldDescriptor *f = find_field(msg, field_number);

    return f && pb_present(msg, f);
}

void pb_clear_range(ProtobufCMessage *msg, uint32_t first, uint32_t last)
{
    const ProtobufCMessageDescriptor *desc = msg->descriptor;

    /* fields are sorted by number */
    for (unsigned i = desc->n_fields; i-- > 0 && desc->fields[i].id >= first;)
        if (desc->fields[i].id <= last)
            clear_field(msg, &desc->fields[i]);
    if (msg->n_unknown_fields)
        (void)drop_unknown(msg, first, last); /* absent is fine */
}

void pb_done(ProtobufCMessage *msg)
{
    int saved = errno;

    pb_clear_range(msg, 0, UINT32_MAX);
    msg->descriptor->message_init(msg);
    errno = saved;
}

static bool equal_bytes(const void *a, size_t na, const void *b, size_t nb)
{
    return na == nb && (na == 0 || memcmp(a, b, na) == 0);
}

static bool equal_value(const ProtobufCFieldDescriptor *f, const void *a, const void *b)
{
    if (f->type == PROTOBUF_C_TYPE_BYTES) {
        const ProtobufCBinaryData *x = a, *y = b;

        return equal_bytes(x->data, x->len, y->data, y->len);
    }
    if (pb_is_pointer(f)) {
        const void *x = *(void *const *)a, *y = *(void *const *)b;

        if (!x || !y)
            return x == y;
        return f->type == PROTOBUF_C_TYPE_STRING ? strcmp(x, y) == 0 : pb_equal(x, y);
    }
    return memcmp(a, b, pb_value_size(f->type)) == 0;
}

static bool equal_field(const ProtobufCMessage *a, const ProtobufCMessage *b,
                        const ProtobufCFieldDescriptor *f)
{
    size_t size = pb_value_size(f->type);
    const char *x, *y;

    if (pb_present(a, f) != pb_present(b, f))
        return false;
    if (!pb_present(a, f))
        return true;
    if (f->label != PROTOBUF_C_LABEL_REPEATED)
        return equal_value(f, pb_member(a, f), pb_member(b, f));
    if (*pb_count(a, f) != *pb_count(b, f))
        return false;
    x = *(char **)pb_member(a, f);
    y = *(char **)pb_member(b, f);
    for (size_t i = 0; i < *pb_count(a, f); i++) {
        if (!equal_value(f, x + i * size, y + i * size))
            return false;
    }
    return true;
}

bool pb_equal(const ProtobufCMessage *a, const ProtobufCMessage *b)
{
    const ProtobufCMessageDescriptor *desc = a->descriptor;

    if (desc != b->descriptor || a->n_unknown_fields != b->n_unknown_fields)
        return false;
    for (unsigned i = 0; i < desc->n_fields; i++) {
        if (!equal_field(a, b, &desc->fields[i]))
            return false;
    }
    for (unsigned i = 0; i < a->n_unknown_fields; i++) {
        const ProtobufCMessageUnknownField *x = &a->unknown_fields[i], *y = &b->unknown_fields[i];

        if (x->tag != y->tag || x->wire_type != y->wire_type ||
            !equal_bytes(x->data, x->len, y->data, y->len))
            return false;
    }
    return true;
}

int pb_set_str(char **field, const char *text)
{
    char *copy = text ? strdup(text) : NULL;

    if (text && !copy)
        return -ENOMEM;
    free(*field);
    *field = copy;
    return 0;
}
