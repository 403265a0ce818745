/* pbcodec.c - packing and unpacking by tables; see pbcodec.h
 *
 * A type has a row for each field, in order of the numbers, and is plain when all of its fields are
 * such as proto/ has: optional, repeated or in a oneof.  Anything else, and any message whose bytes
 * are not what this program would write (a field twice, unknown or of another wire type), is left
 * to protobuf-c, from the outermost message on. */
#include "base/pb/pbcodec.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/pb/pbutil_impl.h"
#include "base/pb/pbvarint.h"

#define NUMBERS_MAX (1u << 14) /* so that a tag has at most three bytes */
#define FIELDS_MAX 1024u

enum presence { BY_FLAG, BY_POINTER, BY_COUNT, BY_CASE };

struct row {
    uint16_t offset, quantifier;
    uint8_t presence; /* enum presence */
    uint8_t type;     /* ProtobufCType */
    uint8_t wire;     /* of one value */
    uint8_t tag_len;
    uint8_t tag[3];
    bool last, own, lent, packed;
    const ProtobufCFieldDescriptor *f;
    const struct type *sub; /* of a message */
};

struct type {
    const ProtobufCMessageDescriptor *desc;
    struct type *next;
    bool plain;
    bool any_last;
    uint16_t *by_number; /* row + 1 of a field's number, 0 = none; [numbers] */
    uint32_t numbers;
    uint32_t nrows;
    struct row rows[];
};

struct found {
    const struct row *row;
    const uint8_t *data;
    uint64_t value; /* or the length of the data */
};

struct pb_codec {
    struct type *types; /* the first is the outermost one */
    struct found *found;
    size_t nfound, found_cap;
    ProtobufCMessage **made; /* with pb_codec_own(), by the present unpacking */
    size_t nmade, made_cap;
    uint8_t *packed;
    size_t len, packed_cap;
};

/* ---- tables ---------------------------------------------------------------------------------- */

static uint8_t wire_of(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        return PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED;
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FLOAT:
        return PROTOBUF_C_WIRE_TYPE_32BIT;
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return PROTOBUF_C_WIRE_TYPE_64BIT;
    default:
        return PROTOBUF_C_WIRE_TYPE_VARINT;
    }
}

static void fill_row(struct row *row, const ProtobufCFieldDescriptor *f)
{
    uint8_t tag[PB_VARINT_MAX];

    *row = (struct row){ .offset = (uint16_t)f->offset,
                         .quantifier = (uint16_t)f->quantifier_offset,
                         .type = (uint8_t)f->type,
                         .wire = wire_of(f->type),
                         .packed = f->flags & PROTOBUF_C_FIELD_FLAG_PACKED,
                         .f = f };
    row->presence = f->label == PROTOBUF_C_LABEL_REPEATED ? BY_COUNT
                    : pb_is_oneof(f)                      ? BY_CASE
                    : pb_is_pointer(f)                    ? BY_POINTER
                                                          : BY_FLAG;
    row->tag_len = (uint8_t)pb_put_varint(
        tag, (uint64_t)f->id << 3 |
                 (row->packed ? (uint64_t)PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED : row->wire));
    memcpy(row->tag, tag, sizeof(row->tag));
}

static bool is_plain(const ProtobufCMessageDescriptor *desc)
{
    if (desc->sizeof_message > UINT16_MAX || desc->n_fields > FIELDS_MAX)
        return false;
    for (unsigned i = 0; i < desc->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &desc->fields[i];

        if (f->id >= NUMBERS_MAX || (i && f->id <= desc->fields[i - 1].id) ||
            (f->label != PROTOBUF_C_LABEL_OPTIONAL && f->label != PROTOBUF_C_LABEL_REPEATED))
            return false;
    }
    return true;
}

static struct type *find_type(const struct pb_codec *codec, const ProtobufCMessageDescriptor *desc)
{
    struct type *t = codec->types;

    while (t && t->desc != desc)
        t = t->next;
    return t;
}

static int add_type(struct pb_codec *codec, const ProtobufCMessageDescriptor *desc)
{
    uint32_t n = is_plain(desc) ? desc->n_fields : 0;
    struct type *t = calloc(1, sizeof(*t) + n * sizeof(t->rows[0])), **at = &codec->types;

    if (!t)
        return -ENOMEM;
    t->desc = desc;
    t->plain = n > 0;
    t->nrows = n;
    t->numbers = n ? desc->fields[n - 1].id + 1 : 0;
    while (*at)
        at = &(*at)->next;
    *at = t;
    t->by_number = calloc(t->numbers + 1, sizeof(*t->by_number));
    if (!t->by_number)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++) {
        fill_row(&t->rows[i], &desc->fields[i]);
        t->by_number[desc->fields[i].id] = (uint16_t)(i + 1);
    }
    return 0;
}

/* Those within a type come behind it in the list. */
static int add_types_within(struct pb_codec *codec, struct type *t)
{
    for (uint32_t i = 0; i < t->nrows; i++) {
        const ProtobufCMessageDescriptor *within = t->rows[i].f->descriptor;
        int r;

        if (t->rows[i].type != PROTOBUF_C_TYPE_MESSAGE)
            continue;
        r = find_type(codec, within) ? 0 : add_type(codec, within);
        if (r < 0)
            return r;
        t->rows[i].sub = find_type(codec, within);
    }
    return 0;
}

int pb_codec_new(const ProtobufCMessageDescriptor *desc, struct pb_codec **ret_codec)
{
    struct pb_codec *codec = calloc(1, sizeof(*codec));
    int r = codec ? add_type(codec, desc) : -ENOMEM;

    for (struct type *t = codec ? codec->types : NULL; r == 0 && t; t = t->next)
        r = add_types_within(codec, t);
    if (r < 0) {
        (void)pb_codec_free(codec); /* always NULL */
        return r;
    }
    *ret_codec = codec;
    return 0;
}

struct pb_codec *pb_codec_free(struct pb_codec *codec)
{
    while (codec && codec->types) {
        struct type *t = codec->types;

        codec->types = t->next;
        free(t->by_number);
        free(t);
    }
    if (codec) {
        free(codec->found);
        free(codec->made);
        free(codec->packed);
    }
    free(codec);
    return NULL;
}

static struct row *row_of(const struct pb_codec *codec, const ProtobufCMessageDescriptor *in,
                          uint32_t number)
{
    struct type *t = find_type(codec, in);
    uint32_t row = t && number < t->numbers ? t->by_number[number] : 0;

    return row ? &t->rows[row - 1] : NULL;
}

void pb_codec_own(struct pb_codec *codec, const ProtobufCMessageDescriptor *in, uint32_t number)
{
    struct row *row = row_of(codec, in, number);

    if (row && row->sub && row->sub->plain && row->presence != BY_COUNT)
        row->own = true;
}

void pb_codec_lend(struct pb_codec *codec, const ProtobufCMessageDescriptor *in,
                   const uint32_t *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct row *row = row_of(codec, in, numbers[i]);

        if (row && row->presence != BY_COUNT &&
            (row->type == PROTOBUF_C_TYPE_STRING || row->type == PROTOBUF_C_TYPE_BYTES))
            row->lent = true;
    }
}

void pb_codec_last(struct pb_codec *codec, const ProtobufCMessageDescriptor *in,
                   const uint32_t *numbers, size_t n)
{
    struct type *t = find_type(codec, in);

    for (size_t i = 0; i < n; i++) {
        struct row *row = row_of(codec, in, numbers[i]);

        if (row)
            row->last = t->any_last = true;
    }
}

/* ---- packing --------------------------------------------------------------------------------- */

static bool make_room(struct pb_codec *codec, size_t more)
{
    size_t cap = MAX(codec->packed_cap * 2, codec->len + more + 256);
    uint8_t *bigger;

    if (codec->packed_cap - codec->len >= more)
        return true;
    bigger = realloc(codec->packed, cap);
    if (!bigger)
        return false;
    codec->packed = bigger;
    codec->packed_cap = cap;
    return true;
}

static uint64_t read_number(const void *at, uint8_t type)
{
    uint64_t v = 0;
    uint32_t w = 0;

    if (pb_value_size((ProtobufCType)type) == sizeof(v))
        memcpy(&v, at, sizeof(v));
    else
        memcpy(&w, at, sizeof(w));
    switch (type) {
    case PROTOBUF_C_TYPE_ENUM:
    case PROTOBUF_C_TYPE_INT32:
        return (uint64_t)(int64_t)(int32_t)w;
    case PROTOBUF_C_TYPE_SINT32:
        return (uint32_t)(w << 1 ^ (uint32_t) - (int32_t)(w >> 31));
    case PROTOBUF_C_TYPE_SINT64:
        return v << 1 ^ (uint64_t) - (int64_t)(v >> 63);
    case PROTOBUF_C_TYPE_BOOL:
        return w != 0;
    default:
        return v | w;
    }
}

static size_t write_number(uint8_t *to, const void *at, const struct row *row)
{
    uint64_t v = read_number(at, row->type);
    uint32_t w = htole32((uint32_t)v);

    if (row->wire == PROTOBUF_C_WIRE_TYPE_VARINT)
        return pb_put_varint(to, v);
    v = htole64(v);
    if (row->wire == PROTOBUF_C_WIRE_TYPE_32BIT)
        return (size_t)((uint8_t *)mempcpy(to, &w, sizeof(w)) - to);
    return (size_t)((uint8_t *)mempcpy(to, &v, sizeof(v)) - to);
}

static bool put_bytes(struct pb_codec *codec, const struct row *row, const void *data, size_t len)
{
    if (!make_room(codec, row->tag_len + PB_VARINT_MAX + len))
        return false;
    memcpy(codec->packed + codec->len, row->tag, sizeof(row->tag));
    codec->len += row->tag_len;
    codec->len += pb_put_varint(codec->packed + codec->len, len);
    if (len)
        memcpy(codec->packed + codec->len, data, len);
    codec->len += len;
    return true;
}

/* Messages within a record are few and small. */
static bool put_message(struct pb_codec *codec, const struct row *row, const ProtobufCMessage *msg)
{
    size_t len = msg ? protobuf_c_message_get_packed_size(msg) : 0;

    if (!put_bytes(codec, row, NULL, 0) || !make_room(codec, PB_VARINT_MAX + len))
        return false;
    codec->len--; /* the length 0 */
    codec->len += pb_put_varint(codec->packed + codec->len, len);
    if (msg)
        codec->len += protobuf_c_message_pack(msg, codec->packed + codec->len);
    return true;
}

static bool put_value(struct pb_codec *codec, const struct row *row, const void *at)
{
    const ProtobufCBinaryData *bytes = at;
    const char *text;

    switch (row->type) {
    case PROTOBUF_C_TYPE_STRING:
        text = *(const char *const *)at;
        return put_bytes(codec, row, text, text ? strlen(text) : 0);
    case PROTOBUF_C_TYPE_BYTES:
        return put_bytes(codec, row, bytes->data, bytes->len);
    case PROTOBUF_C_TYPE_MESSAGE:
        return put_message(codec, row, *(const ProtobufCMessage *const *)at);
    default:
        if (!make_room(codec, sizeof(row->tag) + PB_VARINT_MAX))
            return false;
        memcpy(codec->packed + codec->len, row->tag, sizeof(row->tag));
        codec->len += row->tag_len;
        codec->len += write_number(codec->packed + codec->len, at, row);
        return true;
    }
}

static bool put_packed(struct pb_codec *codec, const struct row *row, const uint8_t *array,
                       size_t n)
{
    size_t size = pb_value_size((ProtobufCType)row->type), bytes = 0;
    uint8_t one[PB_VARINT_MAX];

    for (size_t i = 0; i < n; i++)
        bytes += write_number(one, array + i * size, row);
    if (!put_bytes(codec, row, NULL, 0) || !make_room(codec, PB_VARINT_MAX + bytes))
        return false;
    codec->len--; /* the length 0 */
    codec->len += pb_put_varint(codec->packed + codec->len, bytes);
    for (size_t i = 0; i < n; i++)
        codec->len += write_number(codec->packed + codec->len, array + i * size, row);
    return true;
}

static bool put_array(struct pb_codec *codec, const struct row *row, const ProtobufCMessage *msg)
{
    size_t n = *pb_count(msg, row->f), size = pb_value_size((ProtobufCType)row->type);
    const uint8_t *array = *(const uint8_t *const *)pb_member(msg, row->f);

    if (row->packed)
        return put_packed(codec, row, array, n);
    for (size_t i = 0; i < n; i++)
        if (!put_value(codec, row, array + i * size))
            return false;
    return true;
}

static bool has_row(const uint8_t *msg, const struct row *row)
{
    const void *pointer;
    uint32_t flag;
    size_t count;

    switch (row->presence) {
    case BY_FLAG:
        memcpy(&flag, msg + row->quantifier, sizeof(flag));
        return flag != 0;
    case BY_POINTER:
        memcpy(&pointer, msg + row->offset, sizeof(pointer));
        return pointer && pointer != row->f->default_value;
    case BY_COUNT:
        memcpy(&count, msg + row->quantifier, sizeof(count));
        return count != 0;
    default:
        memcpy(&flag, msg + row->quantifier, sizeof(flag));
        if (flag != row->f->id)
            return false;
        memcpy(&pointer, msg + row->offset, sizeof(pointer));
        return !pb_is_pointer(row->f) || (pointer && pointer != row->f->default_value);
    }
}

static bool put_rows(struct pb_codec *codec, const struct type *t, const ProtobufCMessage *msg,
                     bool last)
{
    for (uint32_t i = 0; i < t->nrows; i++) {
        const struct row *row = &t->rows[i];

        if (row->last != last || !has_row((const uint8_t *)msg, row))
            continue;
        if (!(row->presence == BY_COUNT ? put_array(codec, row, msg)
                                        : put_value(codec, row, (const char *)msg + row->offset)))
            return false;
    }
    return true;
}

static bool put_unknown(struct pb_codec *codec, const ProtobufCMessage *msg)
{
    for (unsigned i = 0; i < msg->n_unknown_fields; i++) {
        const ProtobufCMessageUnknownField *u = &msg->unknown_fields[i];

        if (!make_room(codec, PB_VARINT_MAX + u->len))
            return false;
        codec->len += pb_put_varint(codec->packed + codec->len,
                                    (uint64_t)u->tag << 3 | (uint64_t)u->wire_type);
        memcpy(codec->packed + codec->len, u->data, u->len);
        codec->len += u->len;
    }
    return true;
}

const uint8_t *pb_codec_pack(struct pb_codec *codec, const ProtobufCMessage *msg, size_t *ret_len,
                             size_t *ret_before)
{
    const struct type *t = find_type(codec, msg->descriptor);
    bool done;

    assert(t);
    codec->len = 0;
    if (t->plain) {
        done = put_rows(codec, t, msg, false) && put_unknown(codec, msg);
        *ret_before = codec->len;
        done = done && (!t->any_last || put_rows(codec, t, msg, true)) && make_room(codec, 1);
    } else {
        done = make_room(codec, protobuf_c_message_get_packed_size(msg) + 1);
        codec->len = done ? protobuf_c_message_pack(msg, codec->packed) : 0;
        *ret_before = 0; /* nobody knows where the fields are that were to be last */
    }
    *ret_len = codec->len;
    return done ? codec->packed : NULL;
}

/* ---- unpacking ------------------------------------------------------------------------------- */

struct unpacking {
    struct pb_codec *codec;
    ProtobufCAllocator *allocator; /* for what is not owned, and what is lent */
};

static ProtobufCMessage *unpack_type(const struct unpacking *u, ProtobufCAllocator *to,
                                     const struct type *t, const uint8_t *data, size_t len);

static void *take_memory(ProtobufCAllocator *from, size_t size)
{
    return from ? from->alloc(from->allocator_data, size) : malloc(size);
}

/* The bytes that a varint at data takes, 0: it does not end, or has more than 64 bits. */
static size_t get_varint(const uint8_t *data, const uint8_t *end, uint64_t *ret)
{
    uint64_t v = 0;

    if (data < end && *data < 0x80) {
        *ret = *data;
        return 1;
    }
    for (size_t n = 0; n < PB_VARINT_MAX && data + n < end; n++) {
        if (n == PB_VARINT_MAX - 1 && data[n] > 1)
            return 0; /* more than 64 bits */
        v |= (uint64_t)(data[n] & 0x7f) << (7 * n);
        if (data[n] < 0x80) {
            *ret = v;
            return n + 1;
        }
    }
    return 0;
}

/* What a field has behind its tag; the bytes it takes, 0: it is cut off. */
static size_t find_value(uint8_t wire, const uint8_t *at, const uint8_t *end, struct found *ret)
{
    uint32_t w;
    uint64_t v;
    size_t n;

    ret->data = at;
    switch (wire) {
    case PROTOBUF_C_WIRE_TYPE_VARINT:
        return get_varint(at, end, &ret->value);
    case PROTOBUF_C_WIRE_TYPE_32BIT:
        if ((size_t)(end - at) < sizeof(w))
            return 0;
        memcpy(&w, at, sizeof(w));
        ret->value = le32toh(w);
        return sizeof(w);
    case PROTOBUF_C_WIRE_TYPE_64BIT:
        if ((size_t)(end - at) < sizeof(v))
            return 0;
        memcpy(&v, at, sizeof(v));
        ret->value = le64toh(v);
        return sizeof(v);
    default:
        n = get_varint(at, end, &ret->value);
        if (!n || ret->value > (uint64_t)(end - at) - n)
            return 0;
        ret->data = at + n;
        return n + (size_t)ret->value;
    }
}

static bool note_found(struct pb_codec *codec, const struct found *found)
{
    if (codec->nfound == codec->found_cap) {
        size_t cap = MAX(codec->found_cap * 2, (size_t)256);
        struct found *bigger = reallocarray(codec->found, cap, sizeof(*bigger));

        if (!bigger)
            return false;
        codec->found = bigger;
        codec->found_cap = cap;
    }
    codec->found[codec->nfound++] = *found;
    return true;
}

/* The fields of the bytes go to codec->found, and the number of values of repeated ones to msg.
 * False: there is something that a table is not made for. */
static bool find_fields(struct pb_codec *codec, const struct type *t, const uint8_t *data,
                        size_t len, ProtobufCMessage *msg)
{
    const uint8_t *at = data, *end = data + len;
    uint64_t seen[FIELDS_MAX / 64] = { 0 };

    while (at < end) {
        struct found found = { 0 };
        uint64_t tag;
        size_t n = get_varint(at, end, &tag);
        uint32_t row = n && tag >> 3 < t->numbers ? t->by_number[tag >> 3] : 0;

        if (!row)
            return false;
        found.row = &t->rows[--row];
        at += n;
        if ((tag & 7) !=
            (found.row->packed ? (uint64_t)PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED : found.row->wire))
            return false;
        n = find_value((uint8_t)(tag & 7), at, end, &found);
        if (!n || !note_found(codec, &found))
            return false;
        at += n;
        if (found.row->presence == BY_COUNT && !found.row->packed) {
            ++*pb_count(msg, found.row->f);
            continue;
        }
        if (seen[row / 64] >> (row % 64) & 1)
            return false;
        seen[row / 64] |= UINT64_C(1) << (row % 64);
    }
    return true;
}

static void store_number(void *to, const struct row *row, uint64_t v)
{
    uint32_t w = (uint32_t)v;

    switch (row->type) {
    case PROTOBUF_C_TYPE_SINT32:
        w = w >> 1 ^ (uint32_t) - (int32_t)(w & 1);
        break;
    case PROTOBUF_C_TYPE_SINT64:
        v = v >> 1 ^ (uint64_t) - (int64_t)(v & 1);
        break;
    case PROTOBUF_C_TYPE_BOOL:
        w = v != 0;
        break;
    default:
        break;
    }
    if (pb_value_size((ProtobufCType)row->type) == sizeof(v))
        memcpy(to, &v, sizeof(v));
    else
        memcpy(to, &w, sizeof(w));
}

static bool store_text(ProtobufCAllocator *to, char **at, const struct found *found)
{
    char *text = take_memory(to, found->value + 1);

    if (!text)
        return false;
    memcpy(text, found->data, found->value);
    text[found->value] = '\0';
    *at = text;
    return true;
}

static bool store_bytes(ProtobufCAllocator *to, ProtobufCBinaryData *at, const struct found *found)
{
    uint8_t *bytes = found->value ? take_memory(to, found->value) : NULL;

    if (found->value && !bytes)
        return false;
    if (bytes)
        memcpy(bytes, found->data, found->value);
    *at = (ProtobufCBinaryData){ .len = found->value, .data = bytes };
    return true;
}

static bool note_made(struct pb_codec *codec, ProtobufCMessage *msg)
{
    if (codec->nmade == codec->made_cap) {
        size_t cap = MAX(codec->made_cap * 2, (size_t)16);
        ProtobufCMessage **bigger = reallocarray(codec->made, cap, sizeof(*bigger));

        if (!bigger)
            return false;
        codec->made = bigger;
        codec->made_cap = cap;
    }
    codec->made[codec->nmade++] = msg;
    return true;
}

static bool store_message(const struct unpacking *u, ProtobufCAllocator *to, ProtobufCMessage **at,
                          const struct found *found)
{
    bool own = found->row->own && to == u->allocator;
    ProtobufCMessage *msg =
        unpack_type(u, own ? NULL : to, found->row->sub, found->data, found->value);

    if (!msg)
        return false;
    if (own && !note_made(u->codec, msg)) {
        pb_codec_disown(u->codec, msg);
        return false;
    }
    *at = msg;
    return true;
}

/* One value to `at`. */
static bool store_value(const struct unpacking *u, ProtobufCAllocator *to, void *at,
                        const struct found *found)
{
    switch (found->row->type) {
    case PROTOBUF_C_TYPE_STRING:
        return store_text(found->row->lent ? u->allocator : to, at, found);
    case PROTOBUF_C_TYPE_BYTES:
        return store_bytes(found->row->lent ? u->allocator : to, at, found);
    case PROTOBUF_C_TYPE_MESSAGE:
        return store_message(u, to, at, found);
    default:
        store_number(at, found->row, found->value);
        return true;
    }
}

/* Numbers of a packed array: as many as the bytes have ends of varints, or by their size. */
static bool store_packed(ProtobufCAllocator *to, ProtobufCMessage *msg, const struct found *found)
{
    size_t size = pb_value_size((ProtobufCType)found->row->type), n = 0;
    const uint8_t *at = found->data, *end = at + found->value;
    uint8_t *array;

    if (found->row->wire == PROTOBUF_C_WIRE_TYPE_VARINT)
        for (const uint8_t *p = at; p < end; p++)
            n += *p < 0x80;
    else
        n = found->value / size;
    array = n ? take_memory(to, n * size) : NULL;
    if (n && !array)
        return false;
    *(void **)pb_member(msg, found->row->f) = array;
    *pb_count(msg, found->row->f) = n;
    for (size_t i = 0; i < n; i++) {
        struct found one = { .row = found->row };
        size_t taken = find_value(found->row->wire, at, end, &one);

        if (!taken)
            return false;
        store_number(array + i * size, found->row, one.value);
        at += taken;
    }
    return at == end;
}

/* The next value of a repeated field.  The count was the number of all, and is that of those that
 * are there from the first one on; the array has room for all. */
static bool store_next(const struct unpacking *u, ProtobufCAllocator *to, ProtobufCMessage *msg,
                       const struct found *found)
{
    size_t *count = pb_count(msg, found->row->f);
    size_t size = pb_value_size((ProtobufCType)found->row->type);
    void **array = pb_member(msg, found->row->f);

    if (!*array) {
        void *made = take_memory(to, *count * size);

        *count = 0;
        if (!made)
            return false;
        *array = made;
    }
    if (!store_value(u, to, (char *)*array + *count * size, found))
        return false;
    ++*count;
    return true;
}

static bool store_found(const struct unpacking *u, ProtobufCAllocator *to, ProtobufCMessage *msg,
                        const struct found *found)
{
    uint32_t *quantifier = pb_quantifier(msg, found->row->f);

    if (found->row->presence == BY_COUNT)
        return found->row->packed ? store_packed(to, msg, found) : store_next(u, to, msg, found);
    if (found->row->presence == BY_CASE && *quantifier)
        return false; /* another member of the oneof */
    if (!store_value(u, to, pb_member(msg, found->row->f), found))
        return false;
    if (found->row->presence == BY_FLAG)
        *quantifier = 1;
    else if (found->row->presence == BY_CASE)
        *quantifier = found->row->f->id;
    return true;
}

/* Counts of values that did not come, of a message that is given up. */
static void forget_counts(const struct type *t, ProtobufCMessage *msg)
{
    for (uint32_t i = 0; i < t->nrows; i++)
        if (t->rows[i].presence == BY_COUNT && !*(void **)pb_member(msg, t->rows[i].f))
            *pb_count(msg, t->rows[i].f) = 0;
}

/* What is owned and lent becomes absent, so that the rest can be freed. */
static void forget_lent(const struct type *t, ProtobufCMessage *msg)
{
    for (uint32_t i = 0; i < t->nrows; i++) {
        const struct row *row = &t->rows[i];

        if (!row->lent || !has_row((const uint8_t *)msg, row))
            continue;
        if (row->presence != BY_POINTER)
            *pb_quantifier(msg, row->f) = 0;
        if (row->type == PROTOBUF_C_TYPE_STRING)
            *(const void **)pb_member(msg, row->f) = row->f->default_value;
        else
            *(ProtobufCBinaryData *)pb_member(msg, row->f) = (ProtobufCBinaryData){ 0 };
    }
}

void pb_codec_disown(const struct pb_codec *codec, ProtobufCMessage *msg)
{
    const struct type *t = msg ? find_type(codec, msg->descriptor) : NULL;

    if (!t)
        return;
    forget_lent(t, msg);
    protobuf_c_message_free_unpacked(msg, NULL);
}

/* NULL: no memory, or something that a table is not made for.  What the allocator gave is left to
 * it; so is what malloc() gave for messages that were made, which are in codec->made. */
static ProtobufCMessage *unpack_type(const struct unpacking *u, ProtobufCAllocator *to,
                                     const struct type *t, const uint8_t *data, size_t len)
{
    struct pb_codec *codec = u->codec;
    size_t first = codec->nfound;
    ProtobufCMessage *msg = t->plain ? take_memory(to, t->desc->sizeof_message) : NULL;
    bool done;

    if (!msg)
        return NULL;
    t->desc->message_init(msg);
    done = find_fields(codec, t, data, len, msg);
    for (size_t i = first, last = codec->nfound; done && i < last; i++) {
        struct found found = codec->found[i]; /* the list moves as it grows */

        done = store_found(u, to, msg, &found);
    }
    codec->nfound = first;
    if (done)
        return msg;
    forget_counts(t, msg);
    if (!to) /* owned, or within what is */
        pb_codec_disown(codec, msg);
    return NULL;
}

ProtobufCMessage *pb_codec_unpack(struct pb_codec *codec, ProtobufCAllocator *allocator,
                                  const uint8_t *data, size_t len, bool *ret_owned)
{
    const struct unpacking u = { codec, allocator };
    ProtobufCMessage *msg;

    assert(allocator); /* NULL would be that of what is owned */
    codec->nfound = codec->nmade = 0;
    msg = unpack_type(&u, allocator, codec->types, data, len);
    *ret_owned = msg != NULL;
    if (msg)
        return msg;
    while (codec->nmade)
        pb_codec_disown(codec, codec->made[--codec->nmade]);
    return protobuf_c_message_unpack(codec->types->desc, allocator, len, data);
}
