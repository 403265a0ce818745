/* librow.c - see librow.h
 *
 * A field is one of the schema that a person can read: a text, a number, a word, or a list of
 * texts.  Made fields are what commands show and no record carries. */
#include "lib/librow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.pb-c.h"
#include "base/cleanup.h"
#include "cli/query/out_job.h"
#include "lib/libhandle.h"
#include "model/words/names.h"
#include "watch.pb-c.h"
#include "wire/ops.h"

struct librow_made {
    const char *name;  /* NULL ends a table */
    const char *needs; /* fields of the record, blanks between */
    bool number;
    /* False: the record has none. */
    bool (*put)(struct strbuf *sb, const ProtobufCMessage *record);
};

static bool put_job_id(struct strbuf *sb, const ProtobufCMessage *record)
{
    struct job_row row = { .job = (const Pst__JobRecord *)record };

    if (!row.job->has_job_id)
        return false;
    job_put_id(sb, &row);
    return true;
}

static bool put_job_state(struct strbuf *sb, const ProtobufCMessage *record)
{
    const Pst__JobRecord *j = (const Pst__JobRecord *)record;

    if (!j->has_state)
        return false;
    strbuf_add(sb, names_job_state_word((unsigned)j->state, j->state_flags, false));
    return true;
}

static bool put_job_nodes(struct strbuf *sb, const ProtobufCMessage *record)
{
    const Pst__JobRecord *j = (const Pst__JobRecord *)record;

    if (!j->alloc || !j->alloc->nodes)
        return false;
    strbuf_add(sb, j->alloc->nodes);
    return true;
}

static bool put_job_exit(struct strbuf *sb, const ProtobufCMessage *record)
{
    const Pst__JobRecord *j = (const Pst__JobRecord *)record;

    if (!j->has_exit_status)
        return false;
    strbuf_addf(sb, "%u", exit_code_of(j->exit_status));
    return true;
}

static bool put_node_state(struct strbuf *sb, const ProtobufCMessage *record)
{
    const Pst__NodeRecord *n = (const Pst__NodeRecord *)record;
    struct names_node words = names_node_of(n);
    char text[NAMES_NODE_TEXT];

    if (!n->has_state)
        return false;
    strbuf_add(sb, names_node_full(&words, false, text, sizeof(text)));
    return true;
}

static const struct librow_made job_made[] = {
    { "id",
      "job_id array_job_id array_task_id array_tasks array_task_throttle het_job_id het_offset",
      false, put_job_id },
    { "shown_state", "state state_flags", false, put_job_state },
    { "nodelist", "alloc", false, put_job_nodes },
    { "exit_code", "exit_status", true, put_job_exit },
    { 0 },
};
static const struct librow_made node_made[] = {
    { "shown_state", "state state_flags cpus alloc_cpus jobs_running jobs_completing", false,
      put_node_state },
    { 0 },
};
static const struct librow_made part_made[] = { { 0 } };

static const struct librow_kind kinds[] = {
    { "jobs", OP_QUERY_JOBS, PST__WATCH_ENTITY__WATCH_JOB, &pst__job_record__descriptor, job_made },
    { "nodes", OP_QUERY_NODES, PST__WATCH_ENTITY__WATCH_NODE, &pst__node_record__descriptor,
      node_made },
    { "partitions", OP_QUERY_PARTITIONS, PST__WATCH_ENTITY__WATCH_PARTITION,
      &pst__partition_record__descriptor, part_made },
};

const struct librow_kind *librow_kind(const char *what)
{
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (strcmp(kinds[i].what, what) == 0)
            return &kinds[i];
    return NULL;
}

const struct librow_kind *librow_kind_of(unsigned entity)
{
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (kinds[i].entity == entity)
            return &kinds[i];
    return NULL;
}

/* ---- fields ---------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), n = strlen(end);

    return len > n && strcmp(text + len - n, end) == 0;
}

/* NULL: nothing that is told. */
static const char *type_of(const ProtobufCFieldDescriptor *f)
{
    if (f->label == PROTOBUF_C_LABEL_REPEATED)
        return f->type == PROTOBUF_C_TYPE_STRING ? "list" : NULL;
    switch (f->type) {
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_ENUM:
        return "text";
    case PROTOBUF_C_TYPE_BOOL:
        return "bool";
    case PROTOBUF_C_TYPE_DOUBLE:
    case PROTOBUF_C_TYPE_FLOAT:
        return "real";
    case PROTOBUF_C_TYPE_MESSAGE:
    case PROTOBUF_C_TYPE_BYTES:
        return NULL;
    default:
        return ends_with(f->name, "_us") ? "time" : "number";
    }
}

static const ProtobufCFieldDescriptor *find_field(const struct librow_kind *kind, const char *name)
{
    const ProtobufCFieldDescriptor *f =
        protobuf_c_message_descriptor_get_field_by_name(kind->desc, name);

    return f && type_of(f) ? f : NULL;
}

static const struct librow_made *find_made(const struct librow_kind *kind, const char *name)
{
    for (const struct librow_made *m = kind->made; m->name; m++)
        if (strcmp(m->name, name) == 0)
            return m;
    return NULL;
}

static void add_needs(const struct librow_kind *kind, const char *needs, struct pb_fieldset *needed)
{
    char name[64];

    for (size_t n; *needs; needs += n + (needs[n] == ' ')) {
        const ProtobufCFieldDescriptor *f;

        n = strcspn(needs, " ");
        (void)snprintf(name, sizeof(name), "%.*s", (int)n, needs); /* fits: our own names */
        f = protobuf_c_message_descriptor_get_field_by_name(kind->desc, name);
        if (f)
            pb_fieldset_add(needed, f->id);
    }
}

int librow_want(const struct librow_kind *kind, const char *name, struct pb_fieldset *wanted,
                struct pb_fieldset *needed, uint64_t *made)
{
    const ProtobufCFieldDescriptor *f = find_field(kind, name);
    const struct librow_made *m = find_made(kind, name);

    if (m) {
        *made |= UINT64_C(1) << (m - kind->made);
        add_needs(kind, m->needs, needed);
        return 0;
    }
    if (!f)
        return -ENOENT;
    pb_fieldset_add(wanted, f->id);
    pb_fieldset_add(needed, f->id);
    return 0;
}

const char *penstock_field(const char *what, size_t i, const char **ret_type)
{
    const struct librow_kind *kind = librow_kind(what);

    for (const struct librow_made *m = kind ? kind->made : NULL; m && m->name; m++) {
        if (i-- > 0)
            continue;
        if (ret_type)
            *ret_type = m->number ? "number" : "text";
        return m->name;
    }
    for (unsigned k = 0; kind && k < kind->desc->n_fields; k++) {
        const ProtobufCFieldDescriptor *f = &kind->desc->fields[k];

        if (!type_of(f) || find_made(kind, f->name) || i-- > 0)
            continue;
        if (ret_type)
            *ret_type = type_of(f);
        return f->name;
    }
    return NULL;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* JOB_RUNNING, NODE_DOWN, PART_UP: people know the second half. */
static void put_word(struct strbuf *sb, const ProtobufCFieldDescriptor *f, int number)
{
    const ProtobufCEnumValue *value;

    if (strcmp(f->name, "reason") == 0) {
        strbuf_add(sb, names_reason((unsigned)number));
        return;
    }
    value = protobuf_c_enum_descriptor_get_value(f->descriptor, number);
    if (value)
        strbuf_add(sb, strchr(value->name, '_') ? strchr(value->name, '_') + 1 : value->name);
    else
        strbuf_addf(sb, "%d", number); /* of a later release */
}

static int64_t number_at(const ProtobufCFieldDescriptor *f, const void *at)
{
    switch (f->type) {
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        return *(const int64_t *)at;
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
        return *(const int32_t *)at;
    case PROTOBUF_C_TYPE_BOOL:
        return *(const protobuf_c_boolean *)at;
    case PROTOBUF_C_TYPE_ENUM:
        return *(const int *)at;
    default:
        return *(const uint32_t *)at;
    }
}

static double real_at(const ProtobufCFieldDescriptor *f, const void *at)
{
    return f->type == PROTOBUF_C_TYPE_FLOAT ? (double)*(const float *)at : *(const double *)at;
}

static void put_list(struct strbuf *sb, const ProtobufCMessage *record,
                     const ProtobufCFieldDescriptor *f)
{
    size_t n = *(const size_t *)((const char *)record + f->quantifier_offset);
    char *const *words = *(char *const *const *)((const char *)record + f->offset);

    for (size_t i = 0; i < n; i++)
        strbuf_addf(sb, "%s%s", i ? "," : "", words[i]);
}

static void put_field(struct strbuf *sb, const ProtobufCMessage *record,
                      const ProtobufCFieldDescriptor *f)
{
    const void *at = (const char *)record + f->offset;

    if (f->label == PROTOBUF_C_LABEL_REPEATED)
        put_list(sb, record, f);
    else if (f->type == PROTOBUF_C_TYPE_STRING)
        strbuf_add(sb, *(char *const *)at);
    else if (f->type == PROTOBUF_C_TYPE_ENUM)
        put_word(sb, f, *(const int *)at);
    else if (f->type == PROTOBUF_C_TYPE_DOUBLE || f->type == PROTOBUF_C_TYPE_FLOAT)
        strbuf_addf(sb, "%.17g", real_at(f, at));
    else if (f->type == PROTOBUF_C_TYPE_UINT64)
        strbuf_addf(sb, "%llu", *(const unsigned long long *)at);
    else
        strbuf_addf(sb, "%lld", (long long)number_at(f, at));
}

static bool is_chosen(const penstock_row *row, const ProtobufCFieldDescriptor *f)
{
    return !row->chosen || pb_fieldset_has(row->wanted, f->id);
}

static bool made_chosen(const penstock_row *row, const struct librow_made *m)
{
    return !row->chosen || (row->made >> (m - row->kind->made) & 1);
}

const char *penstock_row_text(penstock_row *row, const char *field)
{
    const struct librow_made *m = find_made(row->kind, field);
    const ProtobufCFieldDescriptor *f = m ? NULL : find_field(row->kind, field);

    strbuf_reset(&row->texts);
    if (m && (!made_chosen(row, m) || !m->put(&row->texts, row->record)))
        return NULL;
    if (!m && (!f || !is_chosen(row, f) || !pb_has(row->record, f->id)))
        return NULL;
    if (f)
        put_field(&row->texts, row->record, f);
    return row->texts.failed ? NULL : strbuf_str(&row->texts);
}

int penstock_row_number(penstock_row *row, const char *field, int64_t *ret)
{
    const struct librow_made *m = find_made(row->kind, field);
    const ProtobufCFieldDescriptor *f = m ? NULL : find_field(row->kind, field);
    const char *text;

    if (m && m->number) {
        text = penstock_row_text(row, field);
        if (text)
            *ret = strtoll(text, NULL, 10); /* our own writing */
        return text != NULL;
    }
    if (m || !f || f->label == PROTOBUF_C_LABEL_REPEATED || f->type == PROTOBUF_C_TYPE_STRING ||
        f->type == PROTOBUF_C_TYPE_ENUM || f->type == PROTOBUF_C_TYPE_DOUBLE ||
        f->type == PROTOBUF_C_TYPE_FLOAT)
        return -EINVAL;
    if (!is_chosen(row, f) || !pb_has(row->record, f->id))
        return 0;
    *ret = number_at(f, (const char *)row->record + f->offset);
    return 1;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_list_of(FILE *out, const ProtobufCMessage *record,
                         const ProtobufCFieldDescriptor *f)
{
    size_t n = *(const size_t *)((const char *)record + f->quantifier_offset);
    char *const *words = *(char *const *const *)((const char *)record + f->offset);

    (void)fputc('[', out); /* errors are in the stream's flag */
    for (size_t i = 0; i < n; i++) {
        if (i)
            (void)fputc(',', out);
        pb_json_string(out, words[i]);
    }
    (void)fputc(']', out);
}

static void json_field(FILE *out, const ProtobufCMessage *record, const ProtobufCFieldDescriptor *f)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    const void *at = (const char *)record + f->offset;

    if (f->label == PROTOBUF_C_LABEL_REPEATED) {
        json_list_of(out, record, f);
        return;
    }
    if (f->type == PROTOBUF_C_TYPE_STRING) {
        pb_json_string(out, *(char *const *)at);
        return;
    }
    put_field(&sb, record, f);
    if (f->type == PROTOBUF_C_TYPE_ENUM)
        pb_json_string(out, strbuf_str(&sb));
    else if (f->type == PROTOBUF_C_TYPE_BOOL)
        (void)fputs(number_at(f, at) ? "true" : "false", out);
    else
        (void)fputs(strbuf_str(&sb), out);
}

static void json_key(FILE *out, const char *name, bool *first)
{
    (void)fprintf(out, "%s\"%s\":", *first ? "" : ",", name);
    *first = false;
}

static void json_row(FILE *out, const penstock_row *row)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    bool first = true;

    (void)fputc('{', out);
    for (const struct librow_made *m = row->kind->made; m->name; m++) {
        strbuf_reset(&sb);
        if (!made_chosen(row, m) || !m->put(&sb, row->record))
            continue;
        json_key(out, m->name, &first);
        if (m->number)
            (void)fputs(strbuf_str(&sb), out);
        else
            pb_json_string(out, strbuf_str(&sb));
    }
    for (unsigned k = 0; k < row->kind->desc->n_fields; k++) {
        const ProtobufCFieldDescriptor *f = &row->kind->desc->fields[k];

        if (!type_of(f) || find_made(row->kind, f->name) || !is_chosen(row, f) ||
            !pb_has(row->record, f->id))
            continue;
        json_key(out, f->name, &first);
        json_field(out, row->record, f);
    }
    (void)fputc('}', out);
}

const char *penstock_row_json(penstock_row *row)
{
    _cleanup_free_ char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    bool bad;

    if (!out)
        return NULL;
    json_row(out, row);
    bad = ferror(out);
    bad = fclose(out) != 0 || bad;
    strbuf_reset(&row->texts);
    if (!bad)
        strbuf_addn(&row->texts, text, len);
    return bad || row->texts.failed ? NULL : strbuf_str(&row->texts);
}
