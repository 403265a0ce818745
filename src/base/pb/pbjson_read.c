/* pbjson_read.c - JSON to messages; declared in pbutil.h, linked through base_json_dep.
 *
 * jansson reads the text, the descriptor decides what may stand where.  Recursion follows the
 * schema, which does not recur.  The path to the value at hand is kept in one string and cut back
 * on the way out, so every refusal says where.  jansson's integers are signed: larger ones of 64
 * bits are quoted beforehand. */
#include "base/pb/pbutil.h"

#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/base64.h"
#include "base/pb/pbutil_impl.h"
#include "base/strbuf.h"
#include "base/timefmt.h"

enum { DEPTH_MAX = 16 };

struct reader {
    struct strbuf path;
    struct err *err;
    unsigned depth;
};

static int refuse_value(const struct reader *rd, const char *what)
{
    return err_set(rd->err, -EINVAL, "%.200s: %s",
                   rd->path.len ? strbuf_str(&rd->path) : "document", what);
}

static int no_memory(const struct reader *rd)
{
    return err_nomem(rd->err);
}

static void cut_path(struct reader *rd, size_t len)
{
    if (!rd->path.failed && rd->path.buf) {
        rd->path.len = len;
        rd->path.buf[len] = '\0';
    }
}

/* An integer within [min, max]; jansson's, or the digits of one in a string (as other tools write
 * 64 bits). */
static int read_signed(struct reader *rd, const json_t *v, int64_t min, int64_t max, int64_t *ret)
{
    if (json_is_integer(v)) {
        *ret = json_integer_value(v);
        return *ret < min || *ret > max ? refuse_value(rd, "number out of range") : 0;
    }
    if (json_is_string(v) && max == INT64_MAX) {
        int r = parse_i64(json_string_value(v), min, max, ret);

        return r < 0 ? refuse_value(rd, r == -ERANGE ? "number out of range" : "integer expected")
                     : 0;
    }
    return refuse_value(rd, "integer expected");
}

static int read_unsigned(struct reader *rd, const json_t *v, uint64_t max, uint64_t *ret)
{
    if (json_is_integer(v)) {
        json_int_t n = json_integer_value(v);

        if (n < 0 || (uint64_t)n > max)
            return refuse_value(rd, "number out of range");
        *ret = (uint64_t)n;
        return 0;
    }
    if (json_is_string(v) && max == UINT64_MAX) {
        int r = parse_u64(json_string_value(v), 0, max, ret);

        return r < 0 ? refuse_value(rd, r == -ERANGE ? "number out of range" : "integer expected")
                     : 0;
    }
    return refuse_value(rd, "integer expected");
}

static int read_enum(struct reader *rd, const json_t *v, const ProtobufCEnumDescriptor *desc,
                     int32_t *ret)
{
    const ProtobufCEnumValue *value;
    int64_t number;
    int r;

    if (json_is_integer(v)) {
        r = read_signed(rd, v, INT32_MIN, INT32_MAX, &number);
        if (r == 0)
            *ret = (int32_t)number;
        return r;
    }
    if (!json_is_string(v))
        return refuse_value(rd, "name expected");
    value = protobuf_c_enum_descriptor_get_value_by_name(desc, json_string_value(v));
    if (!value)
        return err_set(rd->err, -EINVAL, "%.200s: '%.64s' is no %s", strbuf_str(&rd->path),
                       json_string_value(v), desc->short_name);
    *ret = value->value;
    return 0;
}

static int read_bytes(struct reader *rd, const json_t *v, ProtobufCBinaryData *ret)
{
    const char *text = json_string_value(v);
    size_t len = text ? json_string_length(v) : 0, pad = 0, n = 0;
    _cleanup_free_ uint8_t *data = NULL;
    uint32_t bits = 0;

    if (!text)
        return refuse_value(rd, "base64 text expected");
    while (pad < 2 && pad < len && text[len - 1 - pad] == '=')
        pad++;
    if (len % 4)
        return refuse_value(rd, "invalid base64");
    data = malloc(len / 4 * 3 + 1);
    if (!data)
        return no_memory(rd);
    for (size_t i = 0; i < len - pad; i++) {
        int digit = base64_digit(text[i]);

        if (digit < 0)
            return refuse_value(rd, "invalid base64");
        bits = bits << 6 | (uint32_t)digit;
        if (i % 4)
            data[n++] = (uint8_t)(bits >> (6 - i % 4 * 2));
    }
    *ret = (ProtobufCBinaryData){ .len = n, .data = TAKE_PTR(data) };
    return 0;
}

static int read_string(struct reader *rd, const json_t *v, char **ret)
{
    if (!json_is_string(v))
        return refuse_value(rd, "string expected");
    *ret = strdup(json_string_value(v));
    return *ret ? 0 : no_memory(rd);
}

static int read_message(struct reader *rd, const json_t *v, const ProtobufCMessageDescriptor *desc,
                        ProtobufCMessage **ret);

static int read_real(struct reader *rd, const json_t *v, ProtobufCType type, void *to)
{
    if (!json_is_number(v))
        return refuse_value(rd, "number expected");
    if (type == PROTOBUF_C_TYPE_FLOAT)
        *(float *)to = (float)json_number_value(v);
    else
        *(double *)to = json_number_value(v);
    return 0;
}

static int read_bool(struct reader *rd, const json_t *v, protobuf_c_boolean *to)
{
    if (!json_is_boolean(v))
        return refuse_value(rd, "true or false expected");
    *to = json_is_true(v);
    return 0;
}

/* A number that is no enum: 32 bits are checked in 64 and stored in their own size. */
static int read_integer(struct reader *rd, const json_t *v, ProtobufCType type, void *to)
{
    uint64_t u = 0;
    int64_t i = 0;
    int r;

    switch (type) {
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        return read_unsigned(rd, v, UINT64_MAX, to);
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
        r = read_unsigned(rd, v, UINT32_MAX, &u);
        if (r == 0)
            *(uint32_t *)to = (uint32_t)u;
        return r;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
        return read_signed(rd, v, INT64_MIN, INT64_MAX, to);
    default:
        r = read_signed(rd, v, INT32_MIN, INT32_MAX, &i);
        if (r == 0)
            *(int32_t *)to = (int32_t)i;
        return r;
    }
}

/* Write the value to zeroed storage of the field's type. */
static int read_value(struct reader *rd, const json_t *v, const ProtobufCFieldDescriptor *f,
                      void *to)
{
    switch (f->type) {
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_DOUBLE:
        return read_real(rd, v, f->type, to);
    case PROTOBUF_C_TYPE_BOOL:
        return read_bool(rd, v, to);
    case PROTOBUF_C_TYPE_ENUM:
        return read_enum(rd, v, f->descriptor, to);
    case PROTOBUF_C_TYPE_STRING:
        return read_string(rd, v, to);
    case PROTOBUF_C_TYPE_BYTES:
        return read_bytes(rd, v, to);
    case PROTOBUF_C_TYPE_MESSAGE:
        return read_message(rd, v, f->descriptor, to);
    default:
        return read_integer(rd, v, f->type, to);
    }
}

static int read_array(struct reader *rd, const json_t *v, const ProtobufCFieldDescriptor *f,
                      ProtobufCMessage *msg)
{
    size_t size = pb_value_size(f->type), n = json_array_size(v), path = rd->path.len;
    char *array;

    if (!json_is_array(v))
        return refuse_value(rd, "array expected");
    if (n == 0)
        return 0;
    array = calloc(n, size);
    if (!array)
        return no_memory(rd);
    *(void **)pb_member(msg, f) = array;
    for (size_t i = 0; i < n; i++) {
        int r;

        strbuf_addf(&rd->path, "[%zu]", i);
        r = read_value(rd, json_array_get(v, i), f, array + i * size);
        cut_path(rd, path);
        if (r < 0)
            return r;
        *pb_count(msg, f) = i + 1; /* what was read is owned by msg */
    }
    return 0;
}

static int read_field(struct reader *rd, const json_t *v, const ProtobufCFieldDescriptor *f,
                      ProtobufCMessage *msg)
{
    union {
        uint64_t number;
        void *pointer;
        ProtobufCBinaryData bytes;
    } value = { .bytes = { 0 } };
    int r;

    if (json_is_null(v))
        return 0; /* absent */
    if (f->label == PROTOBUF_C_LABEL_REPEATED)
        return read_array(rd, v, f, msg);
    if (pb_is_oneof(f) && *pb_quantifier(msg, f))
        return refuse_value(rd, "excludes another field given");
    r = read_value(rd, v, f, &value);
    if (r < 0)
        return r;
    memcpy(pb_member(msg, f), &value, pb_value_size(f->type));
    if (pb_is_oneof(f))
        *pb_quantifier(msg, f) = f->id;
    else if (f->label == PROTOBUF_C_LABEL_OPTIONAL && !pb_is_pointer(f))
        *pb_quantifier(msg, f) = 1;
    return 0;
}

static int read_fields(struct reader *rd, json_t *object, ProtobufCMessage *msg)
{
    size_t path = rd->path.len;
    const char *key;
    json_t *v;

    json_object_foreach(object, key, v)
    {
        const ProtobufCFieldDescriptor *f =
            protobuf_c_message_descriptor_get_field_by_name(msg->descriptor, key);
        int r;

        strbuf_addf(&rd->path, path ? ".%.64s" : "%.64s", key);
        r = f ? read_field(rd, v, f, msg) : refuse_value(rd, "unknown name");
        cut_path(rd, path);
        if (r < 0)
            return r;
    }
    return 0;
}

static int read_message(struct reader *rd, const json_t *v, const ProtobufCMessageDescriptor *desc,
                        ProtobufCMessage **ret)
{
    ProtobufCMessage *msg;
    int r;

    assert(rd->depth < DEPTH_MAX); /* the schema's depth, not the text's */
    if (!json_is_object(v))
        return refuse_value(rd, "object expected");
    msg = malloc(desc->sizeof_message);
    if (!msg)
        return no_memory(rd);
    desc->message_init(msg);
    rd->depth++;
    r = read_fields(rd, (json_t *)(uintptr_t)v, msg); /* iteration wants it without const */
    rd->depth--;
    if (r < 0) {
        protobuf_c_message_free_unpacked(msg, NULL);
        return r;
    }
    *ret = msg;
    return 0;
}

/* The end of the number that begins at p: of all that can stand in one. */
static const char *number_end(const char *p, const char *end)
{
    while (p < end && ((*p >= '0' && *p <= '9') || memchr("+-.eE", *p, 5)))
        p++;
    return p;
}

/* Is the number [p, end) an integer too large for int64_t?  One that begins with 0 is no JSON, or
 * small. */
static bool is_big_integer(const char *p, const char *end)
{
    static const char most[] = "9223372036854775807";
    size_t len = (size_t)(end - p), digits = sizeof(most) - 1;

    if (*p == '0')
        return false;
    for (const char *s = p; s < end; s++)
        if (*s < '0' || *s > '9')
            return false;
    return len > digits || (len == digits && memcmp(p, most, digits) > 0);
}

/* The end of the string that begins with the quote at p. */
static const char *string_end(const char *p, const char *end)
{
    for (p++; p < end && *p != '"'; p++)
        if (*p == '\\' && p + 1 < end)
            p++;
    return p < end ? p + 1 : end;
}

/* Copy text with quotes put around unsigned integers beyond int64_t, which jansson would refuse.
 * 1: done; 0: there are none, and nothing was copied; -ENOMEM. */
static int quote_big_integers(const char *text, size_t len, struct strbuf *out)
{
    const char *end = text + len, *copied = text, *behind;

    for (const char *p = text; p < end; p = behind) {
        behind = *p == '"' ? string_end(p, end) : number_end(p, end);
        if (behind == p) {
            behind = p + 1; /* a mark, a blank or a letter */
        } else if (*p != '"' && is_big_integer(p, behind)) {
            strbuf_addn(out, copied, (size_t)(p - copied));
            strbuf_addc(out, '"');
            strbuf_addn(out, p, (size_t)(behind - p));
            strbuf_addc(out, '"');
            copied = behind;
        }
    }
    if (copied == text)
        return 0; /* the usual case */
    strbuf_addn(out, copied, (size_t)(end - copied));
    return out->failed ? -ENOMEM : 1;
}

static void json_done(json_t **v)
{
    json_decref(*v);
}

int pb_json_read(const char *text, size_t len, const ProtobufCMessageDescriptor *desc,
                 ProtobufCMessage **ret_msg, struct err *err)
{
    _cleanup_val_(strbuf_done) struct strbuf quoted = STRBUF_INIT;
    _cleanup_val_(json_done) json_t *root = NULL;
    struct reader rd = { .err = err };
    json_error_t why;
    int r;

    if (len > PB_JSON_MAX_BYTES)
        return err_set(err, -E2BIG, "JSON text is longer than %u bytes", PB_JSON_MAX_BYTES);
    r = quote_big_integers(text, len, &quoted);
    if (r < 0)
        return no_memory(&rd);
    root = r ? json_loadb(quoted.buf, quoted.len, JSON_REJECT_DUPLICATES, &why)
             : json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
    if (!root)
        return err_set(err, -EINVAL, "line %d column %d: %s", why.line, why.column, why.text);
    r = read_message(&rd, root, desc, ret_msg);
    strbuf_done(&rd.path);
    return r;
}
