/* pbjson_write.c - messages as JSON, streamed; declared in pbutil.h.
 *
 * Nothing is built in memory: a query of 100,000 jobs is written while its records pass by.  The
 * stream is locked once per message and written with the unlocked calls; its own error flag is the
 * result. */
#include "base/pb/pbutil.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbutil_impl.h"
#include "base/safetext.h"

struct writer {
    FILE *f;
    int indent; /* spaces a level, < 0 compact */
};

static void put_text(const struct writer *w, const char *text, size_t n)
{
    (void)fwrite_unlocked(text, 1, n, w->f); /* ferror() tells at the end */
}

static void put_char(const struct writer *w, char c)
{
    (void)putc_unlocked(c, w->f);
}

static void put_break(const struct writer *w, int level)
{
    if (w->indent < 0)
        return;
    put_char(w, '\n');
    for (int i = 0; i < level * w->indent; i++)
        put_char(w, ' ');
}

static void put_escape(const struct writer *w, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    static const char letters[0x20] = {
        ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r',
    };
    char out[6] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] };

    if (c == '"' || c == '\\')
        out[1] = (char)c;
    else
        out[1] = c < sizeof(letters) && letters[c] ? letters[c] : 'u';
    put_text(w, out, out[1] == 'u' ? 6 : 2);
}

static void put_string(const struct writer *w, const char *text)
{
    const unsigned char *p = (const unsigned char *)text, *start = p;

    put_char(w, '"');
    while (*p) {
        size_t n = safetext_utf8((const char *)p);
        bool c1 = n == 2 && safetext_is_c1((const char *)p);

        if ((n > 1 && !c1) || (n == 1 && *p != 0x7f && *p >= 0x20 && *p != '"' && *p != '\\')) {
            p += n;
            continue;
        }
        put_text(w, (const char *)start, (size_t)(p - start));
        if (n)
            put_escape(w, p[n - 1]);
        else
            put_text(w, "\xef\xbf\xbd", 3); /* U+FFFD */
        p += n ? n : 1;
        start = p;
    }
    put_text(w, (const char *)start, (size_t)(p - start));
    put_char(w, '"');
}

static void put_base64(const struct writer *w, const ProtobufCBinaryData *bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    put_char(w, '"');
    for (size_t i = 0; i < bytes->len; i += 3) {
        size_t n = MIN(bytes->len - i, (size_t)3);
        uint32_t v = (uint32_t)bytes->data[i] << 16;
        char out[4];

        if (n > 1)
            v |= (uint32_t)bytes->data[i + 1] << 8;
        if (n > 2)
            v |= bytes->data[i + 2];
        out[0] = digits[v >> 18];
        out[1] = digits[v >> 12 & 63];
        out[2] = n > 1 ? digits[v >> 6 & 63] : '=';
        out[3] = n > 2 ? digits[v & 63] : '=';
        put_text(w, out, 4);
    }
    put_char(w, '"');
}

static void put_unsigned(const struct writer *w, uint64_t v)
{
    char buf[20];
    size_t at = sizeof(buf);

    do
        buf[--at] = (char)('0' + v % 10);
    while (v /= 10);
    put_text(w, buf + at, sizeof(buf) - at);
}

static void put_signed(const struct writer *w, int64_t v)
{
    if (v < 0)
        put_char(w, '-');
    put_unsigned(w, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

/* The shortest digits that read back as v.  JSON has no infinity: null. */
static void put_real(const struct writer *w, double v, int digits, int most)
{
    char buf[40];

    if (!isfinite(v)) {
        put_text(w, "null", 4);
        return;
    }
    for (;; digits++) {
        (void)snprintf(buf, sizeof(buf), "%.*g", digits, v);
        if (digits == most || (most > 9 ? strtod(buf, NULL) == v : strtof(buf, NULL) == (float)v))
            break;
    }
    for (char *p = buf; *p; p++) {
        if (!strchr("0123456789+-e.", *p))
            *p = '.'; /* the locale's own decimal point */
    }
    put_text(w, buf, strlen(buf));
}

static void put_enum(const struct writer *w, const ProtobufCEnumDescriptor *desc, int32_t v)
{
    const ProtobufCEnumValue *value = protobuf_c_enum_descriptor_get_value(desc, v);

    if (value)
        put_string(w, value->name);
    else
        put_signed(w, v); /* of a newer peer */
}

static void put_message(const struct writer *w, const ProtobufCMessage *msg, int level);

static void put_value(const struct writer *w, const ProtobufCFieldDescriptor *f, const void *v,
                      int level)
{
    switch (f->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
        put_signed(w, *(const int32_t *)v);
        break;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
        put_signed(w, *(const int64_t *)v);
        break;
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
        put_unsigned(w, *(const uint32_t *)v);
        break;
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        put_unsigned(w, *(const uint64_t *)v);
        break;
    case PROTOBUF_C_TYPE_FLOAT:
        put_real(w, (double)*(const float *)v, 6, 9);
        break;
    case PROTOBUF_C_TYPE_DOUBLE:
        put_real(w, *(const double *)v, 15, 17);
        break;
    case PROTOBUF_C_TYPE_BOOL:
        if (*(const protobuf_c_boolean *)v)
            put_text(w, "true", 4);
        else
            put_text(w, "false", 5);
        break;
    case PROTOBUF_C_TYPE_ENUM:
        put_enum(w, f->descriptor, *(const int32_t *)v);
        break;
    case PROTOBUF_C_TYPE_STRING:
        put_string(w, *(char *const *)v ? *(char *const *)v : "");
        break;
    case PROTOBUF_C_TYPE_BYTES:
        put_base64(w, v);
        break;
    case PROTOBUF_C_TYPE_MESSAGE:
        put_message(w, *(ProtobufCMessage *const *)v, level);
        break;
    }
}

static void put_array(const struct writer *w, const ProtobufCMessage *msg,
                      const ProtobufCFieldDescriptor *f, int level)
{
    const char *array = *(char **)pb_member(msg, f);
    size_t n = *pb_count(msg, f), size = pb_value_size(f->type);

    put_char(w, '[');
    for (size_t i = 0; i < n; i++) {
        if (i)
            put_char(w, ',');
        put_break(w, level + 1);
        put_value(w, f, array + i * size, level + 1);
    }
    put_break(w, level);
    put_char(w, ']');
}

static void put_message(const struct writer *w, const ProtobufCMessage *msg, int level)
{
    const ProtobufCMessageDescriptor *desc = msg->descriptor;
    bool any = false;

    put_char(w, '{');
    for (unsigned i = 0; i < desc->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &desc->fields[i];

        if (!pb_present(msg, f))
            continue;
        if (any)
            put_char(w, ',');
        any = true;
        put_break(w, level + 1);
        put_char(w, '"');
        put_text(w, f->name, strlen(f->name));
        put_text(w, "\": ", w->indent < 0 ? 2 : 3);
        if (f->label == PROTOBUF_C_LABEL_REPEATED)
            put_array(w, msg, f, level + 1);
        else
            put_value(w, f, pb_member(msg, f), level + 1);
    }
    if (any)
        put_break(w, level);
    put_char(w, '}');
}

int pb_json_write(FILE *f, const ProtobufCMessage *msg, int indent)
{
    struct writer w = { .f = f, .indent = indent };

    flockfile(f);
    put_message(&w, msg, 0);
    funlockfile(f);
    return ferror(f) ? -EIO : 0;
}

void pb_json_string(FILE *f, const char *text)
{
    const struct writer w = { .f = f };

    put_string(&w, text);
}
