/* kubematch.c - see kubematch.h */
#include "kube/api/kubematch.h"

#include <stdint.h>
#include <string.h>

#include "base/timefmt.h"
#include "kube/api/kubejson.h"

#define REQUIRED "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"

static bool covers_taint(const json_t *toleration, const json_t *taint)
{
    const char *key = kubejson_text(toleration, "key");
    const char *effect = kubejson_text(toleration, "effect");
    bool exists = strcmp(kubejson_text(toleration, "operator"), "Exists") == 0;

    if (*effect && strcmp(effect, kubejson_text(taint, "effect")) != 0)
        return false;
    if (!*key)
        return exists;
    return strcmp(key, kubejson_text(taint, "key")) == 0 &&
           (exists ||
            strcmp(kubejson_text(toleration, "value"), kubejson_text(taint, "value")) == 0);
}

bool kubematch_tolerates(const json_t *tolerations, const json_t *taint)
{
    size_t i;
    json_t *one;

    json_array_foreach(tolerations, i, one)
    {
        if (covers_taint(one, taint))
            return true;
    }
    return false;
}

/* value: of the node; NULL: it has none. */
static bool meets_rule(const json_t *rule, const char *value)
{
    const char *op = kubejson_text(rule, "operator");
    const json_t *values = json_object_get(rule, "values");
    const char *first = json_string_value(json_array_get(values, 0));
    int64_t have, bound;

    if (strcmp(op, "In") == 0)
        return value && kubejson_has_text(values, value);
    if (strcmp(op, "NotIn") == 0)
        return !value || !kubejson_has_text(values, value);
    if (strcmp(op, "Exists") == 0)
        return value != NULL;
    if (strcmp(op, "DoesNotExist") == 0)
        return value == NULL;
    if (!value || !first || parse_i64(value, INT64_MIN, INT64_MAX, &have) < 0 ||
        parse_i64(first, INT64_MIN, INT64_MAX, &bound) < 0)
        return false;
    return strcmp(op, "Gt") == 0 ? have > bound : strcmp(op, "Lt") == 0 && have < bound;
}

static bool meets_term(const json_t *term, const json_t *node)
{
    const json_t *labels = json_object_get(term, "matchExpressions");
    const json_t *fields = json_object_get(term, "matchFields");
    size_t i;
    json_t *rule;

    if (!json_array_size(labels) && !json_array_size(fields))
        return false; /* an empty term names no node */
    json_array_foreach(labels, i, rule)
    {
        if (!meets_rule(rule, kubejson_label(node, kubejson_text(rule, "key"))))
            return false;
    }
    json_array_foreach(fields, i, rule)
    {
        if (strcmp(kubejson_text(rule, "key"), "metadata.name") != 0 ||
            !meets_rule(rule, kubejson_name(node)))
            return false;
    }
    return true;
}

bool kubematch_meets(const json_t *terms, const json_t *node)
{
    size_t i;
    json_t *one;

    json_array_foreach(terms, i, one)
    {
        if (meets_term(one, node))
            return true;
    }
    return false;
}

bool kubematch_selects(const json_t *spec, const json_t *node)
{
    const json_t *required = kubejson_at(spec, REQUIRED);
    const char *key;
    json_t *one;

    json_object_foreach((json_t *)(uintptr_t)json_object_get(spec, "nodeSelector"), key, one)
    {
        const char *have = kubejson_label(node, key), *want = json_string_value(one);

        if (!have || !want || strcmp(have, want) != 0)
            return false;
    }
    if (!required || json_is_null(required))
        return true;
    return kubematch_meets(json_object_get(required, "nodeSelectorTerms"), node);
}
