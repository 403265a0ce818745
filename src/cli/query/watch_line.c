/* watch_line.c - one line for one change; see watch_line.h
 *
 *   2026-11-20T13:00:01 57.0 job-start job 12 user=ann state=PENDING->RUNNING nodes=->node1
 *
 * Time, cursor, what happened, to what, then each field that changed by its name in the schema.
 * Values with blanks are quoted.  A field that is new has nothing before the arrow; one that is
 * gone nothing behind it. */
#include "cli/query/watch_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbdiff.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "model/words/names.h"
#include "wire/watchfields.h"

static const char *const entity_words[] = { "", "job", "node", "partition" };

void watch_line_identify_job(struct watch_line *l, const Pst__JobRecord *j)
{
    l->job_id = j->job_id;
    l->array_job_id = j->array_job_id;
    l->has_task = j->has_array_task_id;
    l->task_id = j->array_task_id;
    l->user = j->user_name;
}

/* ---- values ---------------------------------------------------------------------------------- */

static void add_text(struct strbuf *out, const char *text)
{
    if (*text && !strpbrk(text, " \t\n\r\"\\")) {
        strbuf_add(out, text);
        return;
    }
    strbuf_addc(out, '"');
    for (const char *p = text; *p; p++) {
        if (*p == '\n')
            strbuf_add(out, "\\n");
        else if (*p == '"' || *p == '\\')
            strbuf_addf(out, "\\%c", *p);
        else
            strbuf_addc(out, (unsigned char)*p < 0x20 ? ' ' : *p);
    }
    strbuf_addc(out, '"');
}

static void add_flags(struct strbuf *out, unsigned entity, uint32_t flags)
{
    const char *sep = "";

    for (unsigned b = 0; b < 32; b++) {
        const char *word =
            entity == PST__WATCH_ENTITY__WATCH_JOB ? names_job_flag(b) : names_node_flag(b);

        if (!(flags >> b & 1))
            continue;
        if (word)
            strbuf_addf(out, "%s%s", sep, word);
        else
            strbuf_addf(out, "%s%u", sep, b);
        sep = "+";
    }
    if (!flags)
        strbuf_addc(out, '0');
}

static void add_enum(struct strbuf *out, unsigned entity, const ProtobufCFieldDescriptor *f, int v)
{
    const ProtobufCEnumValue *value;

    if (strcmp(f->name, "reason") == 0) {
        add_text(out, names_reason((unsigned)v));
        return;
    }
    value = protobuf_c_enum_descriptor_get_value(f->descriptor, v);
    if (!value) {
        strbuf_addf(out, "%d", v);
        return;
    }
    /* JOB_RUNNING, NODE_DOWN, PART_UP: people know the second half. */
    (void)entity;
    strbuf_add(out, strchr(value->name, '_') ? strchr(value->name, '_') + 1 : value->name);
}

static void add_number(struct strbuf *out, unsigned entity, const ProtobufCFieldDescriptor *f,
                       const void *at)
{
    size_t len = strlen(f->name);
    char stamp[64];

    switch (f->type) {
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT64:
        if (len > 3 && strcmp(f->name + len - 3, "_us") == 0) {
            time_fmt_stamp(*(const int64_t *)at, "none", 0, stamp, sizeof(stamp));
            strbuf_add(out, stamp);
        } else {
            strbuf_addf(out, "%lld", *(const long long *)at);
        }
        break;
    case PROTOBUF_C_TYPE_BOOL:
        strbuf_add(out, *(const protobuf_c_boolean *)at ? "yes" : "no");
        break;
    case PROTOBUF_C_TYPE_ENUM:
        add_enum(out, entity, f, *(const int *)at);
        break;
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_INT32:
        strbuf_addf(out, "%d", *(const int32_t *)at);
        break;
    default:
        if (strcmp(f->name, "state_flags") == 0)
            add_flags(out, entity, *(const uint32_t *)at);
        else
            strbuf_addf(out, "%u", *(const uint32_t *)at);
        break;
    }
}

static bool field_present(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f)
{
    return m && pb_has(m, f->id);
}

static void add_value(struct strbuf *out, unsigned entity, const ProtobufCMessage *m,
                      const ProtobufCFieldDescriptor *f)
{
    const void *at;

    if (!field_present(m, f))
        return;
    at = (const char *)m + f->offset;
    if (f->type == PROTOBUF_C_TYPE_STRING)
        add_text(out, *(char *const *)at);
    else if (f->type == PROTOBUF_C_TYPE_MESSAGE) /* an allocation: its nodes */
        add_text(out, (*(Pst__Alloc *const *)at)->nodes ? (*(Pst__Alloc *const *)at)->nodes : "");
    else
        add_number(out, entity, f, at);
}

static void add_fields(struct strbuf *out, const struct watch_line *l, const struct watch_fields *w)
{
    bool arrow = l->change && !l->change->created && !l->change->gone;

    for (size_t i = 0; i < w->nfields; i++) {
        const ProtobufCFieldDescriptor *f =
            protobuf_c_message_descriptor_get_field(w->desc, w->fields[i]);

        if (!f || (!field_present(l->before, f) && !field_present(l->after, f)))
            continue;
        strbuf_addf(out, " %s=", f->id == w->alloc ? "nodes" : f->name);
        add_value(out, l->entity, l->before, f);
        if (arrow)
            strbuf_add(out, "->");
        add_value(out, l->entity, l->after, f);
    }
}

static void add_cursor(struct strbuf *out, const struct watch_line *l)
{
    strbuf_addf(out, "%llu", (unsigned long long)l->lsn);
    if (l->index != UINT32_MAX)
        strbuf_addf(out, ".%u", l->index);
}

static const char *what_happened(const struct watch_line *l)
{
    const char *word = l->change ? names_event(l->change->kind) : "snapshot";

    if (l->change && l->change->gone)
        return "purged";
    return word ? word : "changed";
}

static void add_plain(struct strbuf *out, const struct watch_line *l, const struct watch_fields *w)
{
    char stamp[64];

    time_fmt_stamp(l->time_us, "none", 0, stamp, sizeof(stamp));
    strbuf_addf(out, "%s ", stamp);
    add_cursor(out, l);
    strbuf_addf(out, " %s %s ", what_happened(l), entity_words[l->entity]);
    if (l->entity != PST__WATCH_ENTITY__WATCH_JOB)
        strbuf_add(out, l->name ? l->name : "?");
    else if (l->has_task)
        strbuf_addf(out, "%u_%u", l->array_job_id, l->task_id);
    else
        strbuf_addf(out, "%u", l->job_id);
    if (l->user)
        strbuf_addf(out, " user=%s", l->user);
    add_fields(out, l, w);
    strbuf_addc(out, '\n');
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* An object without its braces, behind a comma when something stands before it. */
static void add_members(struct strbuf *out, const ProtobufCMessage *m)
{
    _cleanup_free_ char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);

    if (!f || pb_json_write(f, m, -1) < 0)
        out->failed = true;
    if (f)
        (void)fclose(f); /* memory: the length is seen below */
    if (len > 2)
        strbuf_addn(out, text + 1, len - 2);
}

static void add_json(struct strbuf *out, const struct watch_line *l, const struct watch_fields *w)
{
    Pst__WatchChange head = PST__WATCH_CHANGE__INIT;
    union {
        ProtobufCMessage base;
        Pst__JobRecord job;
        Pst__NodeRecord node;
        Pst__PartitionRecord part;
    } after;
    Pst__Alloc light = PST__ALLOC__INIT;

    if (l->change) {
        head = *l->change;
    } else {
        head.has_lsn = head.has_time_us = head.has_entity = true;
        head.lsn = l->lsn;
        head.time_us = l->time_us;
        head.entity = l->entity;
        head.name = (char *)l->name; /* only read */
    }
    head.has_before = head.has_after = false;
    strbuf_add(out, "{\"cursor\":\"");
    add_cursor(out, l);
    strbuf_addf(out, "\",\"event\":\"%s\",", what_happened(l));
    add_members(out, &head.base);
    strbuf_add(out, ",\"before\":{");
    if (l->before)
        add_members(out, l->before);
    strbuf_add(out, "},\"after\":{");
    if (l->after) {
        protobuf_c_message_init(w->desc, &after.base);
        pb_borrow(&after.base, l->after, w->fields, w->nfields);
        if (l->snapshot)
            pb_borrow(&after.base, l->after, w->identity, w->nidentity);
        if (l->entity == PST__WATCH_ENTITY__WATCH_JOB && after.job.alloc) {
            light.nodes = after.job.alloc->nodes;
            light.has_total_cpus = after.job.alloc->has_total_cpus;
            light.total_cpus = after.job.alloc->total_cpus;
            after.job.alloc = &light;
        }
        add_members(out, &after.base);
    }
    strbuf_add(out, "}}\n");
}

void watch_line_add(struct strbuf *out, const struct watch_line *l, bool json)
{
    const struct watch_fields *w = watch_fields(l->entity);
    struct watch_line named = *l;

    if (l->change && l->entity == PST__WATCH_ENTITY__WATCH_JOB) {
        named.job_id = l->change->id;
        named.array_job_id = l->change->array_job_id;
        named.has_task = l->change->has_array_task_id;
        named.task_id = l->change->array_task_id;
        named.user = l->change->user_name;
    }
    if (json)
        add_json(out, &named, w);
    else
        add_plain(out, &named, w);
}
