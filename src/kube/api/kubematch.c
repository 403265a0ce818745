/* kubematch.c - see kubematch.h */
#include "kube/api/kubematch.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "kube/api/kubejson.h"

#define REQUIRED "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"

static bool covers_taint(const json_t *toleration, const json_t *taint)
{
    const char *key = kubejson_text(toleration, "key");
    const char *effect = kubejson_text(toleration, "effect");
    const char *op = kubejson_text(toleration, "operator");
    bool exists = strcmp(op, "Exists") == 0;

    if (*op && !exists && strcmp(op, "Equal") != 0)
        return false; /* a word of a later release covers nothing */
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

bool kubematch_labels(const json_t *selector, const json_t *object)
{
    const char *key;
    size_t i;
    json_t *one;

    if (!json_is_object(selector))
        return false;
    json_object_foreach((json_t *)(uintptr_t)json_object_get(selector, "matchLabels"), key, one)
    {
        const char *have = kubejson_label(object, key), *want = json_string_value(one);

        if (!have || !want || strcmp(have, want) != 0)
            return false;
    }
    json_array_foreach(json_object_get(selector, "matchExpressions"), i, one)
    {
        if (!meets_rule(one, kubejson_label(object, kubejson_text(one, "key"))))
            return false;
    }
    return true;
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

static int check_rules(const json_t *rules, bool fields, struct err *err)
{
    static const char *const known[] = { "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt" };
    size_t i, k;
    json_t *rule;

    json_array_foreach(rules, i, rule)
    {
        const char *op = kubejson_text(rule, "operator"), *key = kubejson_text(rule, "key");

        for (k = 0; k < ARRAY_SIZE(known) && strcmp(op, known[k]) != 0;)
            k++;
        if (k == ARRAY_SIZE(known))
            return err_set(err, -EINVAL, "node affinity: the operator %.60s is not supported", op);
        if (fields && strcmp(key, "metadata.name") != 0)
            return err_set(err, -EINVAL, "node affinity: the field %.60s is not supported", key);
    }
    return 0;
}

int kubematch_check(const json_t *spec, struct err *err)
{
    size_t i;
    const char *key;
    json_t *term, *part;

    json_array_foreach(kubejson_at(spec, REQUIRED ".nodeSelectorTerms"), i, term)
    {
        json_object_foreach(term, key, part)
        {
            bool fields = strcmp(key, "matchFields") == 0;

            if (!fields && strcmp(key, "matchExpressions") != 0)
                return err_set(err, -EINVAL, "node affinity: %.60s is not supported", key);
            if (check_rules(part, fields, err) < 0)
                return -EINVAL;
        }
    }
    return 0;
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
