/* restbody.c - bodies of requests; see restbody.h */
#include "rest/restbody.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

#include "base/cleanup.h"
#include "base/timefmt.h"

#define CONTAINER_WEIGHT 8u

static int too_heavy(struct err *err)
{
    return err_set(err, -E2BIG, "the body has too many values");
}

/* How deep its lists and objects lie in one another, at most, and what the values weigh.  jansson's
 * own limit of depth is 2,048, and jansson has no limit of values, so this comes first. */
static void measure_json(const char *text, size_t len, unsigned *ret_depth, size_t *ret_weight)
{
    unsigned depth = 0;
    bool quoted = false;

    *ret_depth = 0;
    *ret_weight = 1;
    for (size_t i = 0; i < len; i++) {
        if (quoted && text[i] == '\\')
            i++;
        else if (text[i] == '"')
            quoted = !quoted;
        else if (!quoted && (text[i] == '{' || text[i] == '['))
            depth++;
        else if (!quoted && (text[i] == '}' || text[i] == ']') && depth)
            depth--;
        if (!quoted)
            *ret_weight += text[i] == ','                     ? 1
                           : text[i] == '{' || text[i] == '[' ? CONTAINER_WEIGHT
                                                              : 0;
        *ret_depth = MAX(*ret_depth, depth);
    }
}

int restbody_parse_json(const char *text, size_t len, size_t most, json_t **ret, struct err *err)
{
    json_error_t where;
    unsigned depth;
    size_t weight;

    measure_json(text, len, &depth, &weight);
    if (depth > RESTBODY_DEPTH)
        return err_set(err, -EINVAL, "the body is nested more than %u deep", RESTBODY_DEPTH);
    if (weight > most)
        return too_heavy(err);
    *ret = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &where);
    if (!*ret)
        return err_set(err, -EINVAL, "line %d, column %d: %s", where.line, where.column,
                       where.text);
    return 0;
}

/* ---- YAML ------------------------------------------------------------------------------------ */

struct reader {
    yaml_parser_t parser;
    struct err *err;
    unsigned depth;
    size_t weight, most;
};

static json_t *refuse_text(struct reader *r, const char *why)
{
    (void)err_set(r->err, -EINVAL, "line %zu: %s", r->parser.mark.line + 1, why);
    return NULL;
}

static json_t *plain_scalar(const char *text)
{
    static const char *const nulls[] = { "", "~", "null", "Null", "NULL" };
    int64_t number;
    char *end = NULL;
    double real;

    for (size_t i = 0; i < ARRAY_SIZE(nulls); i++)
        if (strcmp(text, nulls[i]) == 0)
            return json_null();
    if (strcasecmp(text, "true") == 0 || strcasecmp(text, "yes") == 0)
        return json_true();
    if (strcasecmp(text, "false") == 0 || strcasecmp(text, "no") == 0)
        return json_false();
    if (parse_i64(text, INT64_MIN, INT64_MAX, &number) == 0)
        return json_integer(number);
    real = strtod(text, &end);
    if (!*end && strpbrk(text, "0123456789") && !strpbrk(text, "xXpP"))
        return json_real(real);
    return json_string(text);
}

static json_t *read_scalar(struct reader *r, const yaml_event_t *e)
{
    const char *text = (const char *)e->data.scalar.value;
    const char *tag = (const char *)e->data.scalar.tag;
    json_t *value;

    if (strlen(text) != e->data.scalar.length)
        return refuse_text(r, "a NUL in a text");
    if (e->data.scalar.anchor)
        return refuse_text(r, "anchors are not taken");
    if (e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE || (tag && strcmp(tag, YAML_STR_TAG) == 0))
        value = json_string(text);
    else
        value = plain_scalar(text);
    return value ? value : refuse_text(r, "a text that is no UTF-8, or a number too large");
}

static json_t *read_value(struct reader *r, yaml_event_t *e);

static bool next_event(struct reader *r, yaml_event_t *e)
{
    if (yaml_parser_parse(&r->parser, e))
        return true;
    (void)refuse_text(r, r->parser.problem ? r->parser.problem : "no YAML");
    return false;
}

static json_t *read_sequence(struct reader *r)
{
    json_t *list = json_array();
    yaml_event_t e;

    while (list && next_event(r, &e)) {
        json_t *value;

        if (e.type == YAML_SEQUENCE_END_EVENT) {
            yaml_event_delete(&e);
            return list;
        }
        value = read_value(r, &e);
        if (!value || json_array_append_new(list, value) < 0)
            break;
    }
    json_decref(list);
    return NULL;
}

/* The value of a key, and into the object. */
static bool read_member(struct reader *r, json_t *object, const char *key)
{
    yaml_event_t e;
    json_t *value;

    if (json_object_get(object, key)) {
        (void)refuse_text(r, "a key stands twice");
        return false;
    }
    if (!next_event(r, &e))
        return false;
    value = read_value(r, &e);
    return value && json_object_set_new(object, key, value) == 0;
}

static json_t *read_mapping(struct reader *r)
{
    json_t *object = json_object();
    yaml_event_t e;

    while (object && next_event(r, &e)) {
        bool taken = false;

        if (e.type == YAML_MAPPING_END_EVENT) {
            yaml_event_delete(&e);
            return object;
        }
        if (e.type == YAML_SCALAR_EVENT)
            taken = read_member(r, object, (const char *)e.data.scalar.value);
        else
            (void)refuse_text(r, "a key that is no text");
        yaml_event_delete(&e);
        if (!taken)
            break;
    }
    json_decref(object);
    return NULL;
}

static json_t *read_container(struct reader *r, bool list, bool anchored)
{
    json_t *value;

    if (anchored)
        return refuse_text(r, "anchors are not taken");
    if (++r->depth > RESTBODY_DEPTH)
        return refuse_text(r, "nested too deep");
    value = list ? read_sequence(r) : read_mapping(r);
    r->depth--;
    return value;
}

/* Takes the event. */
static json_t *read_value(struct reader *r, yaml_event_t *e)
{
    bool scalar = e->type == YAML_SCALAR_EVENT;
    json_t *value;

    r->weight += scalar ? 1 : CONTAINER_WEIGHT;
    if (r->weight > r->most) {
        yaml_event_delete(e);
        (void)too_heavy(r->err);
        return NULL;
    }
    switch ((int)e->type) {
    case YAML_SCALAR_EVENT:
        value = read_scalar(r, e);
        break;
    case YAML_SEQUENCE_START_EVENT:
        value = read_container(r, true, e->data.sequence_start.anchor != NULL);
        break;
    case YAML_MAPPING_START_EVENT:
        value = read_container(r, false, e->data.mapping_start.anchor != NULL);
        break;
    default:
        value = refuse_text(r, "aliases are not taken");
    }
    yaml_event_delete(e);
    return value;
}

static json_t *read_document(struct reader *r)
{
    yaml_event_t e;

    do {
        if (!next_event(r, &e))
            return NULL;
        if (e.type != YAML_STREAM_START_EVENT && e.type != YAML_DOCUMENT_START_EVENT)
            break;
        yaml_event_delete(&e);
    } while (true);
    if (e.type == YAML_STREAM_END_EVENT) {
        yaml_event_delete(&e);
        return refuse_text(r, "the document is empty");
    }
    return read_value(r, &e);
}

int restbody_parse_yaml(const char *text, size_t len, size_t most, json_t **ret, struct err *err)
{
    struct reader r = { .err = err, .most = most };

    if (!yaml_parser_initialize(&r.parser))
        return err_nomem(err);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, len);
    err->text[0] = '\0';
    *ret = read_document(&r);
    yaml_parser_delete(&r.parser);
    if (*ret)
        return 0;
    if (r.weight > most)
        return -E2BIG;
    return err->text[0] ? -EINVAL : err_nomem(err);
}
