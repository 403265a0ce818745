/* yamljson.c - see yamljson.h */
#include "base/yaml/yamljson.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/timefmt.h"
#include "base/yaml/yamldoc.h"

struct yaml_walk {
    yaml_document_t doc;
    struct err *err;
    unsigned values;
};

static json_t *refuse_value(struct yaml_walk *w, const yaml_node_t *n, const char *why)
{
    (void)err_set(w->err, -EINVAL, "line %zu: %s", n->start_mark.line + 1, why);
    return NULL;
}

static bool is_one_of(const char *text, const char *a, const char *b, const char *c)
{
    return strcmp(text, a) == 0 || strcmp(text, b) == 0 || strcmp(text, c) == 0;
}

static json_t *convert_scalar(struct yaml_walk *w, const yaml_node_t *n)
{
    const char *text = (const char *)n->data.scalar.value;
    json_t *value;
    int64_t number;

    if (strlen(text) != n->data.scalar.length)
        return refuse_value(w, n, "a text with a NUL byte");
    if (n->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        value = json_string(text);
    else if (is_one_of(text, "", "null", "~"))
        value = json_null();
    else if (is_one_of(text, "true", "True", "TRUE"))
        value = json_true();
    else if (is_one_of(text, "false", "False", "FALSE"))
        value = json_false();
    else if (parse_i64(text, INT64_MIN, INT64_MAX, &number) == 0)
        value = json_integer(number);
    else
        value = json_string(text);
    return value ? value : refuse_value(w, n, "a text that is no UTF-8");
}

static json_t *convert_value(struct yaml_walk *w, int index, unsigned depth);

/* The text of a key that map has not yet; NULL: refused. */
static const char *key_text(struct yaml_walk *w, const yaml_node_t *key, const json_t *map)
{
    const char *text = (const char *)key->data.scalar.value;
    const char *why = NULL;

    if (key->type != YAML_SCALAR_NODE)
        why = "a key that is no text";
    else if (strlen(text) != key->data.scalar.length)
        why = "a key with a NUL byte";
    else if (json_object_get(map, text))
        why = "a key that stands twice";
    if (why)
        (void)refuse_value(w, key, why);
    return why ? NULL : text;
}

static json_t *convert_mapping(struct yaml_walk *w, const yaml_node_t *n, unsigned depth)
{
    json_t *map = json_object();

    for (yaml_node_pair_t *p = n->data.mapping.pairs.start; map && p < n->data.mapping.pairs.top;
         p++) {
        const yaml_node_t *key = yaml_document_get_node(&w->doc, p->key);
        const char *text = key_text(w, key, map);
        json_t *value = text ? convert_value(w, p->value, depth + 1) : NULL;

        if (!value || json_object_set_new(map, text, value) < 0) {
            json_decref(map);
            return value ? refuse_value(w, key, "a key that is no UTF-8") : NULL;
        }
    }
    return map;
}

static json_t *convert_sequence(struct yaml_walk *w, const yaml_node_t *n, unsigned depth)
{
    json_t *list = json_array();

    for (yaml_node_item_t *i = n->data.sequence.items.start; list && i < n->data.sequence.items.top;
         i++) {
        json_t *value = convert_value(w, *i, depth + 1);

        if (!value || json_array_append_new(list, value) < 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *convert_value(struct yaml_walk *w, int index, unsigned depth)
{
    const yaml_node_t *n = yaml_document_get_node(&w->doc, index);

    if (!n)
        return NULL;
    if (depth > YAMLJSON_DEPTH || ++w->values > YAMLJSON_VALUES)
        return refuse_value(w, n, "too deep, or too many values");
    switch (n->type) {
    case YAML_SCALAR_NODE:
        return convert_scalar(w, n);
    case YAML_MAPPING_NODE:
        return convert_mapping(w, n, depth);
    case YAML_SEQUENCE_NODE:
        return convert_sequence(w, n, depth);
    default:
        return refuse_value(w, n, "no value");
    }
}

int yamljson_parse(const char *text, size_t len, json_t **ret, struct err *err)
{
    struct yaml_walk w = { .err = err };
    struct yamldoc_fault fault;
    json_t *value = NULL;
    int r = yamldoc_load(text, len, &w.doc, &fault);

    if (r < 0)
        return r == -ENOMEM ? err_nomem(err)
                            : err_set(err, r, "line %zu: %s", fault.line, fault.why);
    (void)err_set(err, -EINVAL, "no YAML");
    value = yaml_document_get_root_node(&w.doc) ? convert_value(&w, 1, 0) : json_object();
    yaml_document_delete(&w.doc);
    if (!value)
        return -EINVAL;
    if (err)
        err->text[0] = '\0';
    *ret = value;
    return 0;
}
