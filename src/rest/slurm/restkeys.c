/* restkeys.c - fields of a body as KEY=VALUE words; see restkeys.h */
#include "rest/slurm/restkeys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/query/out_update.h"
#include "rest/slurm/restwords.h"
#include "wire/errors.h"

#define PART_BYTES 64u

/* The member that a path of dots names; NULL: not there, or null. */
static const json_t *member_of(const json_t *object, const char *path)
{
    char name[PART_BYTES];

    while (object) {
        size_t len = strcspn(path, ".");

        memcpy(name, path, len);
        name[len] = '\0';
        object = json_object_get(object, name);
        if (!path[len])
            break;
        path += len + 1;
    }
    return json_is_null(object) ? NULL : object;
}

static void put_texts(struct strbuf *sb, const json_t *value)
{
    size_t start = sb->len, i;
    json_t *item;

    if (json_is_string(value))
        strbuf_add(sb, json_string_value(value));
    json_array_foreach(value, i, item)
    {
        if (json_is_string(item))
            strbuf_addf(sb, "%s%s", sb->len > start ? "," : "", json_string_value(item));
    }
}

/* A text that is no number is read as scontrol reads it: 0:30. */
static void put_number(struct strbuf *sb, const json_t *value)
{
    struct rest_number n = rest_number(value);

    if (n.infinite)
        strbuf_add(sb, "UNLIMITED");
    else if (json_is_integer(value)) /* it may be below nothing */
        strbuf_addf(sb, "%lld", (long long)json_integer_value(value));
    else if (n.set)
        strbuf_addf(sb, "%llu", (unsigned long long)n.value);
    else if (json_is_string(value))
        strbuf_add(sb, json_string_value(value));
}

static void put_time(struct strbuf *sb, const json_t *value)
{
    struct rest_number n = rest_number(value);

    if (n.set && n.value)
        strbuf_addf(sb, "uts%llu", (unsigned long long)n.value);
    else if (!n.set && json_is_string(value))
        strbuf_add(sb, json_string_value(value));
}

static void put_tres(struct strbuf *sb, const json_t *value)
{
    size_t start = sb->len, i;
    json_t *item;

    json_array_foreach(value, i, item)
    {
        const char *type = rest_text(item, "type"), *name = rest_text(item, "name");
        struct rest_number count = rest_number(json_object_get(item, "count"));

        if (type && count.set)
            strbuf_addf(sb, "%s%s%s%s=%llu", sb->len > start ? "," : "", type,
                        name && name[0] ? "/" : "", name ? name : "",
                        (unsigned long long)count.value);
    }
}

/* What an answer says of a member that nothing was said of. */
static bool says_nothing(const json_t *value, const char *unset)
{
    _cleanup_val_(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct rest_number n = rest_number(value);

    put_texts(&text, value);
    if (unset && strcmp(strbuf_str(&text), unset) == 0)
        return true;
    return !text.len && !n.infinite && (!n.set || !n.value) && !json_is_true(value);
}

static void put_value(struct strbuf *sb, enum restkey_kind kind, const json_t *value)
{
    switch (kind) {
    case RESTKEY_TEXT:
    case RESTKEY_CLEARS:
        put_texts(sb, value);
        break;
    case RESTKEY_NUMBER:
        put_number(sb, value);
        break;
    case RESTKEY_SECONDS:
        restwords_seconds(value, sb);
        break;
    case RESTKEY_YESNO:
        strbuf_add(sb, json_is_true(value) ? "YES" : "NO");
        break;
    case RESTKEY_SWITCH:
        strbuf_add(sb, json_is_true(value) ? "1" : "0");
        break;
    case RESTKEY_TIME:
        put_time(sb, value);
        break;
    case RESTKEY_TRES:
        put_tres(sb, value);
        break;
    case RESTKEY_NONE:
        break;
    }
}

bool restkeys_give(struct rest_call *call, const char *word, const char *field,
                   restkeys_take_fn *take, void *ctx, const char *source)
{
    struct err err = { .text = "" };
    int r = take(ctx, word, &err);

    if (r < 0)
        rest_error_said(call, ESLURM_REST_INVALID_QUERY, err.text[0] ? update_said(&err) : NULL,
                        source, "Unable to take %s", field);
    return r >= 0;
}

bool restkeys_apply(struct rest_call *call, const json_t *body, const struct restkey *rows,
                    restkeys_take_fn *take, void *ctx, const char *source)
{
    _cleanup_val_(strbuf_done) struct strbuf word = STRBUF_INIT;

    for (const struct restkey *row = rows; row->field; row++) {
        const json_t *value = member_of(body, row->field);
        size_t head;

        if (!value)
            continue;
        if (row->kind == RESTKEY_NONE) {
            if (says_nothing(value, row->unset))
                continue;
            rest_warning(call, row->field, "%s is taken, and has no effect here", row->field);
            continue;
        }
        strbuf_reset(&word);
        strbuf_addf(&word, "%s=", row->key);
        head = word.len;
        put_value(&word, row->kind, value);
        if (row->unset && strcmp(strbuf_str(&word) + head, row->unset) == 0)
            continue;
        if (word.len == head && (row->kind != RESTKEY_CLEARS || !json_is_string(value)))
            continue;
        if (!restkeys_give(call, strbuf_str(&word), row->field, take, ctx, source))
            return false;
    }
    return true;
}
