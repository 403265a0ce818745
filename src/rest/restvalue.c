/* restvalue.c - values of bodies; see restcall.h */
#include "rest/restvalue.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/timefmt.h"

static struct rest_number real_number(double real)
{
    struct rest_number n = { .set = true, .real = real };

    if (isinf(real))
        return (struct rest_number){ .infinite = true };
    n.value = real > 0 && real < 1.8e19 ? (uint64_t)real : 0;
    return n;
}

static struct rest_number text_number(const char *text)
{
    struct rest_number n = { 0 };
    char *end = NULL;
    double real;

    if (strcasecmp(text, "INFINITE") == 0 || strcasecmp(text, "UNLIMITED") == 0) {
        n.infinite = true;
        return n;
    }
    n.set = parse_u64(text, 0, UINT64_MAX, &n.value) == 0;
    if (n.set) {
        n.real = (double)n.value;
        return n;
    }
    real = strtod(text, &end);
    return end != text && !*end ? real_number(real) : n;
}

struct rest_number rest_number(const json_t *value)
{
    struct rest_number n = { 0 };
    const json_t *set;

    switch (value ? json_typeof(value) : JSON_NULL) {
    case JSON_INTEGER:
        n.set = true;
        n.value = (uint64_t)json_integer_value(value);
        n.real = (double)json_integer_value(value);
        return n;
    case JSON_REAL:
        return real_number(json_real_value(value));
    case JSON_STRING:
        return text_number(json_string_value(value));
    case JSON_OBJECT:
        set = json_object_get(value, "set");
        if (json_is_true(json_object_get(value, "infinite")))
            n.infinite = true;
        else if (!set || json_is_true(set))
            n = rest_number(json_object_get(value, "number"));
        return n;
    default:
        return n;
    }
}

const char *rest_text(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_string(value) ? json_string_value(value) : NULL;
}

bool rest_true(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    if (json_is_string(value))
        return strcasecmp(json_string_value(value), "true") == 0 ||
               strcasecmp(json_string_value(value), "yes") == 0;
    return json_is_true(value) || (json_is_integer(value) && json_integer_value(value));
}

char *rest_joined(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    char *text = NULL;
    json_t *item;
    size_t i;

    if (json_is_string(value) && json_string_length(value))
        return strdup(json_string_value(value));
    json_array_foreach(value, i, item)
    {
        if (!json_is_string(item) || !json_string_length(item))
            continue;
        if (sb.len)
            strbuf_addc(&sb, ',');
        strbuf_add(&sb, json_string_value(item));
    }
    if (!sb.len || strbuf_detach(&sb, &text) < 0)
        return NULL;
    return text;
}
