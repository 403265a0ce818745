/* safetext.c - see safetext.h
 *
 * The walk is by descriptor, as in pbutil.c, so that a field which is new tomorrow is a line
 * until a row of proto/fields.def says that it is more. */
#include "base/safetext.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbutil_impl.h"

struct row {
    const char *field;
    enum safetext_rule rule;
};

static const struct rows {
    const char *message; /* without its package */
    struct row fields[16];
} tables[] = {
#include "fieldtext.inc"
};

bool safetext_row(size_t i, const char **ret_message, const char **ret_field,
                  enum safetext_rule *ret_rule)
{
    for (size_t t = 0; t < ARRAY_SIZE(tables); t++)
        for (size_t k = 0; k < ARRAY_SIZE(tables[t].fields) && tables[t].fields[k].field; k++)
            if (i-- == 0) {
                *ret_message = tables[t].message;
                *ret_field = tables[t].fields[k].field;
                *ret_rule = tables[t].fields[k].rule;
                return true;
            }
    return false;
}

/* ---- characters ------------------------------------------------------------------------------ */

size_t safetext_utf8(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    uint32_t code, least;
    size_t n;

    if (p[0] < 0x80)
        return 1;
    if (p[0] >= 0xc2 && p[0] <= 0xdf)
        n = 2, code = p[0] & 0x1f, least = 0x80;
    else if ((p[0] & 0xf0) == 0xe0)
        n = 3, code = p[0] & 0x0f, least = 0x800;
    else if (p[0] >= 0xf0 && p[0] <= 0xf4)
        n = 4, code = p[0] & 0x07, least = 0x10000;
    else
        return 0;
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0; /* stops at the NUL as well */
        code = code << 6 | (p[i] & 0x3f);
    }
    if (code < least || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return 0;
    return n;
}

bool safetext_is_c1(const char *p)
{
    return (unsigned char)p[0] == 0xc2 && (unsigned char)p[1] >= 0x80 && (unsigned char)p[1] < 0xa0;
}

/* Bytes of the control character that starts at p, which ends before `end`; 0: there is none. */
static size_t control_len(const unsigned char *p, const unsigned char *end)
{
    if (*p < 0x20 || *p == 0x7f)
        return 1;
    return end - p > 1 && safetext_is_c1((const char *)p) ? 2 : 0;
}

#define ALL(byte) (UINT64_MAX / 255 * (byte))

/* Has one of eight bytes its high bit after a subtraction that borrows only below?  Listings are
 * cleaned cell by cell, and almost none has anything to be cleaned. */
static bool has_less(uint64_t eight, uint8_t than)
{
    return (eight - ALL(than)) & ~eight & ALL(0x80);
}

static bool may_have_control(uint64_t eight)
{
    return has_less(eight, 0x20) || has_less(eight ^ ALL(0x7f), 1) ||
           has_less(eight ^ ALL(0xc2), 1);
}

/* Skips what has none. */
static const unsigned char *skip_plain(const unsigned char *p, const unsigned char *end)
{
    uint64_t eight;

    for (; end - p >= 8; p += 8) {
        memcpy(&eight, p, sizeof(eight));
        if (may_have_control(eight))
            break;
    }
    return p;
}

/* The first control character, NULL when there is none.  `also`: those that may be there. */
static const char *find_control(const char *text, const char *also)
{
    const unsigned char *p = (const unsigned char *)text, *end = p + strlen(text);

    for (p = skip_plain(p, end); p < end; p++)
        if (control_len(p, end) && !strchr(also, *p))
            return (const char *)p;
    return NULL;
}

bool safetext_is_line(const char *text)
{
    return !find_control(text, "");
}

bool safetext_is_text(const char *text)
{
    return !find_control(text, "\t\n\r");
}

static bool starts_address(unsigned char c)
{
    return isalnum(c) || c == '_' || c >= 0x80;
}

bool safetext_is_address(const char *text)
{
    bool within = false;

    if (!safetext_is_line(text))
        return false;
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p == ',' || *p == ' ') {
            within = false;
            continue;
        }
        if (!starts_address(*p) && (!within || !strchr(".-+=%@'", *p)))
            return false;
        within = true;
    }
    return true;
}

bool safetext_is_variable(const char *text)
{
    const char *p = text;

    while (isalnum((unsigned char)*p) || *p == '_')
        p++;
    return p > text && *p == '=' && !isdigit((unsigned char)*text);
}

void safetext_clean_n(char *text, size_t n)
{
    unsigned char *end = (unsigned char *)text + n;
    unsigned char *p =
        (unsigned char *)text + (skip_plain((unsigned char *)text, end) - (unsigned char *)text);

    while (p < end) {
        size_t len = control_len(p, end);

        if (len)
            memset(p, *p == '\t' || *p == '\n' || *p == '\r' ? ' ' : '?', len);
        p += len ? len : 1;
    }
}

void safetext_clean(char *text)
{
    safetext_clean_n(text, strlen(text));
}

/* ---- messages -------------------------------------------------------------------------------- */

static const struct rows *rows_of(const ProtobufCMessageDescriptor *d)
{
    for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
        if (tables[i].message[0] == d->short_name[0] &&
            strcmp(tables[i].message, d->short_name) == 0)
            return &tables[i];
    return NULL;
}

static enum safetext_rule rule_of(const struct rows *rows, const char *field)
{
    for (size_t i = 0; rows && i < ARRAY_SIZE(rows->fields) && rows->fields[i].field; i++)
        if (rows->fields[i].field[0] == field[0] && strcmp(rows->fields[i].field, field) == 0)
            return rows->fields[i].rule;
    return SAFETEXT_LINE;
}

static int check_string(const char *field, enum safetext_rule rule, const char *text,
                        struct err *err)
{
    const char *bad;

    if (rule == SAFETEXT_ANY)
        return 0;
    if (rule == SAFETEXT_ADDRESS) /* none clears it */
        return safetext_is_address(text)
                   ? 0
                   : err_set(err, -EINVAL, "%s is not an address of mail", field);
    if (rule == SAFETEXT_VARIABLE)
        return safetext_is_variable(text)
                   ? 0
                   : err_set(err, -EINVAL, "an entry of %s is not NAME=value", field);
    bad = find_control(text, rule == SAFETEXT_TEXT ? "\t\n\r" : "");
    return bad ? err_set(err, -EINVAL, "%s has a control character, at byte %td", field,
                         bad - text + 1)
               : 0;
}

/* Calls for every value of a field that is a string or a message. */
struct walk {
    int (*string)(struct walk *w, char *text);
    int (*message)(struct walk *w, ProtobufCMessage *msg);
    const char *field;
    enum safetext_rule rule;
    struct err *err;
};

static int walk_value(struct walk *w, const ProtobufCFieldDescriptor *f, void *value)
{
    if (!value || value == f->default_value)
        return 0;
    return f->type == PROTOBUF_C_TYPE_STRING ? w->string(w, value) : w->message(w, value);
}

static int walk_field(struct walk *w, const ProtobufCMessage *msg,
                      const ProtobufCFieldDescriptor *f)
{
    void **list = pb_member(msg, f);
    int r = 0;

    if (f->label != PROTOBUF_C_LABEL_REPEATED)
        return pb_is_oneof(f) && *pb_quantifier(msg, f) != f->id ? 0 : walk_value(w, f, *list);
    list = *list;
    for (size_t i = 0; r == 0 && i < *pb_count(msg, f); i++)
        r = walk_value(w, f, list[i]);
    return r;
}

static int check_walk(struct walk *w, ProtobufCMessage *msg);

static int on_check(struct walk *w, char *text)
{
    return check_string(w->field, w->rule, text, w->err);
}

static int check_walk(struct walk *w, ProtobufCMessage *msg)
{
    const ProtobufCMessageDescriptor *d = msg->descriptor;
    const struct rows *rows = rows_of(d);
    int r = 0;

    for (unsigned i = 0; r == 0 && i < d->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &d->fields[i];

        if (!pb_is_pointer(f) || !pb_present(msg, f))
            continue;
        w->field = f->name;
        w->rule =
            rows && f->type == PROTOBUF_C_TYPE_STRING ? rule_of(rows, f->name) : SAFETEXT_LINE;
        r = walk_field(w, msg, f);
    }
    return r;
}

int safetext_check(const ProtobufCMessage *msg, struct err *err)
{
    struct walk w = { .string = on_check, .message = check_walk, .err = err };

    return check_walk(&w, (ProtobufCMessage *)msg); /* only read */
}

static int clean_walk(struct walk *w, ProtobufCMessage *msg)
{
    for (unsigned i = 0; i < msg->descriptor->n_fields; i++)
        if (pb_is_pointer(&msg->descriptor->fields[i]))
            (void)walk_field(w, msg, &msg->descriptor->fields[i]); /* cannot fail */
    return 0;
}

static int on_clean(struct walk *w, char *text)
{
    (void)w;
    safetext_clean(text);
    return 0;
}

void safetext_clean_message(ProtobufCMessage *msg)
{
    struct walk w = { .string = on_clean, .message = clean_walk };

    (void)clean_walk(&w, msg); /* cannot fail */
}
