/* pbsafe.c - see pbsafe.h
 *
 * The walk is by descriptor, as in pbutil.c, so that a field which is new tomorrow is a line
 * until a row of proto/fields.def says that it is more. */
#include "base/pb/pbsafe.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbutil_impl.h"
#include "base/safetext.h"

struct row {
    const char *field;
    enum pbsafe_rule rule;
};

static const struct rows {
    const char *message; /* without its package */
    struct row fields[16];
} tables[] = {
#include "fieldtext.inc"
};

bool pbsafe_row(size_t i, const char **ret_message, const char **ret_field,
                enum pbsafe_rule *ret_rule)
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

static const struct rows *rows_of(const ProtobufCMessageDescriptor *d)
{
    for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
        if (tables[i].message[0] == d->short_name[0] &&
            strcmp(tables[i].message, d->short_name) == 0)
            return &tables[i];
    return NULL;
}

static enum pbsafe_rule rule_of(const struct rows *rows, const char *field)
{
    for (size_t i = 0; rows && i < ARRAY_SIZE(rows->fields) && rows->fields[i].field; i++)
        if (rows->fields[i].field[0] == field[0] && strcmp(rows->fields[i].field, field) == 0)
            return rows->fields[i].rule;
    return PBSAFE_LINE;
}

static int check_string(const char *field, enum pbsafe_rule rule, const char *text, struct err *err)
{
    const char *bad;

    if (rule == PBSAFE_ANY)
        return 0;
    if (rule == PBSAFE_ADDRESS) /* none clears it */
        return safetext_is_address(text)
                   ? 0
                   : err_set(err, -EINVAL, "%s is not an address of mail", field);
    if (rule == PBSAFE_VARIABLE)
        return safetext_is_variable(text)
                   ? 0
                   : err_set(err, -EINVAL, "an entry of %s is not NAME=value", field);
    bad = safetext_control(text, rule == PBSAFE_TEXT ? "\t\n\r" : "");
    return bad ? err_set(err, -EINVAL, "%s has a control character, at byte %td", field,
                         bad - text + 1)
               : 0;
}

/* Calls for every value of a field that is a string or a message. */
struct walk {
    int (*string)(struct walk *w, char *text);
    int (*message)(struct walk *w, ProtobufCMessage *msg);
    const char *field;
    enum pbsafe_rule rule;
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
        w->rule = rows && f->type == PROTOBUF_C_TYPE_STRING ? rule_of(rows, f->name) : PBSAFE_LINE;
        r = walk_field(w, msg, f);
    }
    return r;
}

int pbsafe_check(const ProtobufCMessage *msg, struct err *err)
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

void pbsafe_clean(ProtobufCMessage *msg)
{
    struct walk w = { .string = on_clean, .message = clean_walk };

    (void)clean_walk(&w, msg); /* cannot fail */
}
