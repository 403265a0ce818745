/* pbwire.c - working on encoded messages without unpacking them; declared in pbutil.h.
 *
 * Both walkers take bytes from outside: every length is checked against what is left, and a message
 * that is accepted has been walked to its end.  pb_project() runs for each record of a query, so it
 * copies runs of wanted fields at once. */
#include "base/pb/pbutil.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

enum {
    FIELDS_MAX = 256, /* fields of one message type, for counting on the stack */
    DEPTH_MAX = 16,   /* the schema does not recur; this is for one that would */
};

enum wire_type {
    WIRE_VARINT = 0,
    WIRE_64BIT = 1,
    WIRE_LENGTH = 2,
    WIRE_32BIT = 5,
};

/* The varint at p; NULL when it runs over `end` or 10 bytes. */
static inline const uint8_t *take_varint(const uint8_t *p, const uint8_t *end, uint64_t *ret)
{
    uint64_t v = 0;

    if (p < end && *p < 0x80) {
        *ret = *p;
        return p + 1;
    }
    for (unsigned shift = 0; shift < 70 && p < end; shift += 7) {
        uint8_t byte = *p++;

        v |= (uint64_t)(byte & 0x7f) << (shift < 64 ? shift : 63);
        if (byte < 0x80) {
            *ret = v;
            return p;
        }
    }
    return NULL;
}

struct item {
    uint32_t number;
    enum wire_type type;
    const uint8_t *value; /* behind the length for WIRE_LENGTH */
    size_t len;           /* of the value */
};

/* The field at p; gives what lies behind it, NULL when malformed. */
static inline const uint8_t *take_field(const uint8_t *p, const uint8_t *end, struct item *ret)
{
    uint64_t tag, len;

    p = take_varint(p, end, &tag);
    if (!p || tag > UINT32_MAX || tag >> 3 == 0)
        return NULL;
    ret->number = (uint32_t)(tag >> 3);
    ret->type = (enum wire_type)(tag & 7);
    ret->value = p;
    switch (ret->type) {
    case WIRE_VARINT:
        p = take_varint(p, end, &len);
        if (!p)
            return NULL;
        ret->len = (size_t)(p - ret->value);
        return p;
    case WIRE_LENGTH:
        p = take_varint(p, end, &len);
        if (!p || len > (size_t)(end - p))
            return NULL;
        ret->value = p;
        break;
    case WIRE_64BIT:
    case WIRE_32BIT:
        len = ret->type == WIRE_64BIT ? 8 : 4;
        if (len > (size_t)(end - p))
            return NULL;
        break;
    default:
        return NULL; /* groups are not used by any release */
    }
    ret->len = (size_t)len;
    return p + len;
}

void pb_fieldset_add(struct pb_fieldset *set, uint32_t field_number)
{
    if (field_number < PB_FIELDSET_NUMBERS)
        set->bits[field_number / 64] |= UINT64_C(1) << (field_number % 64);
}

void pb_fieldset_remove(struct pb_fieldset *set, uint32_t field_number)
{
    if (field_number < PB_FIELDSET_NUMBERS)
        set->bits[field_number / 64] &= ~(UINT64_C(1) << (field_number % 64));
}

static inline bool is_wanted(const struct pb_fieldset *set, uint32_t number)
{
    return number < PB_FIELDSET_NUMBERS && set->bits[number / 64] >> (number % 64) & 1;
}

bool pb_fieldset_has(const struct pb_fieldset *set, uint32_t field_number)
{
    return is_wanted(set, field_number);
}

long pb_project(const uint8_t *in, size_t len, const struct pb_fieldset *wanted, uint8_t *out)
{
    const uint8_t *p = in, *end = in + len,
                  *run = NULL; /* run: start of wanted fields not copied */
    uint8_t *to = out;

    while (p < end) {
        const uint8_t *start = p;
        struct item item;

        p = take_field(p, end, &item);
        if (!p)
            return -EBADMSG;
        if (is_wanted(wanted, item.number)) {
            if (!run)
                run = start;
        } else if (run) {
            memcpy(to, run, (size_t)(start - run));
            to += start - run;
            run = NULL;
        }
    }
    if (run) {
        memcpy(to, run, (size_t)(end - run));
        to += end - run;
    }
    return to - out;
}

struct check {
    const struct pb_caps *caps;
    struct err *err;
};

struct limits {
    uint32_t bytes, count;
};

/* What one message being checked may hold.  Most messages have short values only, so that its rows
 * are looked for once at most, and a list's limits once for all its elements. */
struct scope {
    const ProtobufCMessageDescriptor *desc;
    bool known; /* the rest is looked up */
    const struct pb_cap *rows;
    size_t n;
    struct limits common; /* of fields without a row */
    uint32_t floor_bytes; /* no field's cap is smaller: values within need no look-up */
    const ProtobufCFieldDescriptor *field; /* whose limits are: */
    struct limits limits;
};

/* The place of the first row that is not below the message. */
static size_t first_row(const struct pb_caps *caps, const char *message)
{
    size_t low = 0, high = caps->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(caps->rows[middle].message, message) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void look_up(const struct check *c, struct scope *s)
{
    size_t first = first_row(c->caps, s->desc->name), end = first;

    s->common = (struct limits){ c->caps->default_bytes, c->caps->default_count };
    s->floor_bytes = UINT32_MAX;
    for (; end < c->caps->n && strcmp(c->caps->rows[end].message, s->desc->name) == 0; end++) {
        const struct pb_cap *row = &c->caps->rows[end];

        if (row->max_bytes)
            s->floor_bytes = MIN(s->floor_bytes, row->max_bytes);
        if (row->field)
            continue;
        s->common.bytes = row->max_bytes ? row->max_bytes : s->common.bytes;
        s->common.count = row->max_count ? row->max_count : s->common.count;
    }
    s->floor_bytes = MIN(s->floor_bytes, s->common.bytes);
    s->rows = c->caps->rows + first;
    s->n = end - first;
    s->known = true;
}

/* Caps of a field: its row, else its message's, else the table's.  A zero in a row leaves the
 * next. */
static struct limits limits_of(struct scope *s, const ProtobufCFieldDescriptor *f)
{
    if (s->field == f)
        return s->limits;
    s->field = f;
    s->limits = s->common;
    for (size_t i = 0; i < s->n; i++) {
        const struct pb_cap *row = &s->rows[i];

        if (!row->field || strcmp(row->field, f->name) != 0)
            continue;
        s->limits.bytes = row->max_bytes ? row->max_bytes : s->limits.bytes;
        s->limits.count = row->max_count ? row->max_count : s->limits.count;
    }
    return s->limits;
}

/* Elements a packed value holds, or -1 when it is malformed. */
static long packed_count(ProtobufCType type, const uint8_t *p, size_t len)
{
    const uint8_t *end = p + len;
    long n = 0;

    switch (type) {
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_FLOAT:
        return len % 4 ? -1 : (long)(len / 4);
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return len % 8 ? -1 : (long)(len / 8);
    default:
        for (uint64_t v; p < end; n++) {
            p = take_varint(p, end, &v);
            if (!p)
                return -1;
        }
        return n;
    }
}

static bool is_length_type(ProtobufCType type)
{
    return type == PROTOBUF_C_TYPE_STRING || type == PROTOBUF_C_TYPE_BYTES ||
           type == PROTOBUF_C_TYPE_MESSAGE;
}

static int is_malformed(const struct check *c, const ProtobufCMessageDescriptor *desc)
{
    return err_set(c->err, -EBADMSG, "%s: malformed message", desc->name);
}

static int check_message(const struct check *c, const ProtobufCMessageDescriptor *desc,
                         const uint8_t *p, size_t len, unsigned depth);

/* A field we do not know: a newer peer's.  Its size and number are bounded all the same. */
static int check_unknown(const struct check *c, struct scope *s, const struct item *item,
                         uint32_t *count)
{
    const ProtobufCMessageDescriptor *desc = s->desc;
    struct limits limits;

    if (!s->known)
        look_up(c, s);
    limits = s->common;
    if (item->len > limits.bytes)
        return err_set(c->err, -EMSGSIZE, "%s: field %u is longer than %u bytes", desc->name,
                       item->number, limits.bytes);
    if (++*count > limits.count)
        return err_set(c->err, -EMSGSIZE, "%s: more than %u unknown fields", desc->name,
                       limits.count);
    return 0;
}

/* One occurrence of a known field; *count = elements seen of it in this message. */
static int check_known(const struct check *c, struct scope *s, const ProtobufCFieldDescriptor *f,
                       const struct item *item, uint32_t *count, unsigned depth)
{
    const ProtobufCMessageDescriptor *desc = s->desc;
    bool sized = is_length_type(f->type), repeated = f->label == PROTOBUF_C_LABEL_REPEATED;
    long n = 1;

    if (sized && item->type != WIRE_LENGTH)
        return is_malformed(c, desc);
    if (!sized && item->type == WIRE_LENGTH) {
        n = repeated ? packed_count(f->type, item->value, item->len) : -1;
        if (n < 0)
            return is_malformed(c, desc);
    }
    if (!repeated && *count)
        return err_set(c->err, -EBADMSG, "%s.%s is given twice", desc->name, f->name);
    if ((sized || repeated) && !s->known)
        look_up(c, s);
    if ((sized && item->len > s->floor_bytes) || repeated) {
        struct limits limits = limits_of(s, f);

        if (sized && item->len > limits.bytes)
            return err_set(c->err, -EMSGSIZE, "%s is longer than %u bytes", f->name, limits.bytes);
        if (repeated && n > (long)limits.count - (long)*count)
            return err_set(c->err, -EMSGSIZE, "%s has more than %u elements", f->name,
                           limits.count);
    }
    *count += (uint32_t)n;
    return f->type == PROTOBUF_C_TYPE_MESSAGE
               ? check_message(c, f->descriptor, item->value, item->len, depth + 1)
               : 0;
}

static int check_message(const struct check *c, const ProtobufCMessageDescriptor *desc,
                         const uint8_t *p, size_t len, unsigned depth)
{
    const uint8_t *end = p + len;
    struct scope scope = { .desc = desc };
    uint32_t counts[FIELDS_MAX + 1]; /* the last one: unknown fields */

    assert(desc->n_fields <= FIELDS_MAX && depth < DEPTH_MAX); /* the schema's, not the peer's */
    memset(counts, 0, desc->n_fields * sizeof(counts[0]));
    counts[FIELDS_MAX] = 0;
    while (p < end) {
        const ProtobufCFieldDescriptor *f;
        struct item item;
        int r;

        p = take_field(p, end, &item);
        if (!p)
            return is_malformed(c, desc);
        f = protobuf_c_message_descriptor_get_field(desc, item.number);
        r = f ? check_known(c, &scope, f, &item, &counts[f - desc->fields], depth)
              : check_unknown(c, &scope, &item, &counts[FIELDS_MAX]);
        if (r < 0)
            return r;
    }
    return 0;
}

int pb_check_caps(const ProtobufCMessageDescriptor *desc, const uint8_t *data, size_t len,
                  const struct pb_caps *caps, struct err *err)
{
    struct check c = { .caps = caps, .err = err };

    return check_message(&c, desc, data, len, 0);
}
