/* nodefit.c - see nodefit.h */
#include "kube/operator/nodefit.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "kube/api/kubejson.h"
#include "kube/operator/opkeys.h"

static bool tolerates_taint(const json_t *t, const json_t *taint)
{
    const char *key = kubejson_text(t, "key"), *effect = kubejson_text(t, "effect");
    bool exists = strcmp(kubejson_text(t, "operator"), "Exists") == 0;

    if (*effect && strcmp(effect, kubejson_text(taint, "effect")) != 0)
        return false;
    if (!*key)
        return exists;
    return strcmp(key, kubejson_text(taint, "key")) == 0 &&
           (exists || strcmp(kubejson_text(t, "value"), kubejson_text(taint, "value")) == 0);
}

/* Taints that say how the node is: workers are told of that by Slurm, and by cordons. */
static bool is_state_taint(const char *key)
{
    return strncmp(key, "node.kubernetes.io/", 19) == 0;
}

static bool tolerates_all(const json_t *spec, const json_t *node, bool stays)
{
    size_t i, k;
    json_t *taint, *t;

    json_array_foreach(kubejson_at(node, "spec.taints"), i, taint)
    {
        const char *effect = kubejson_text(taint, "effect"), *key = kubejson_text(taint, "key");
        bool ok = strcmp(effect, "PreferNoSchedule") == 0 || is_state_taint(key) ||
                  (stays && strcmp(effect, "NoExecute") != 0) ||
                  (strcmp(key, OPKEY_WORKER_TAINT) == 0 && strcmp(effect, "NoExecute") == 0);

        json_array_foreach(json_object_get(spec, "tolerations"), k, t) ok =
            ok || tolerates_taint(t, taint);
        if (!ok)
            return false;
    }
    return true;
}

static bool has_value(const json_t *values, const char *text)
{
    size_t i;
    json_t *one;

    json_array_foreach(values, i, one)
    {
        const char *value = json_string_value(one);

        if (value && text && strcmp(value, text) == 0)
            return true;
    }
    return false;
}

static bool meets_rule(const json_t *rule, const char *value)
{
    const char *op = kubejson_text(rule, "operator");
    const json_t *values = json_object_get(rule, "values");
    const char *first = json_string_value(json_array_get(values, 0));

    if (strcmp(op, "In") == 0)
        return has_value(values, value);
    if (strcmp(op, "NotIn") == 0)
        return !has_value(values, value);
    if (strcmp(op, "Exists") == 0)
        return value != NULL;
    if (strcmp(op, "DoesNotExist") == 0)
        return value == NULL;
    if (!value || !first)
        return false;
    if (strcmp(op, "Gt") == 0)
        return strtoll(value, NULL, 10) > strtoll(first, NULL, 10);
    return strcmp(op, "Lt") == 0 && strtoll(value, NULL, 10) < strtoll(first, NULL, 10);
}

static bool meets_term(const json_t *term, const json_t *node)
{
    size_t i;
    json_t *rule;

    json_array_foreach(json_object_get(term, "matchExpressions"), i, rule)
    {
        if (!meets_rule(rule, kubejson_label(node, kubejson_text(rule, "key"))))
            return false;
    }
    json_array_foreach(json_object_get(term, "matchFields"), i, rule)
    {
        if (!meets_rule(rule, kubejson_name(node)))
            return false;
    }
    return true;
}

bool nodefit_fits(const json_t *spec, const json_t *node, bool stays)
{
    static const char path[] =
        "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    const json_t *terms = kubejson_at(spec, path);
    bool meets = !json_array_size(terms);
    const char *key;
    json_t *value;
    size_t i;

    if (kubejson_is_deleted(node) || !tolerates_all(spec, node, stays))
        return false;
    json_object_foreach(json_object_get(spec, "nodeSelector"), key, value)
    {
        const char *have = kubejson_label(node, key), *want = json_string_value(value);

        if (!have || !want || strcmp(have, want) != 0)
            return false;
    }
    json_array_foreach(terms, i, value) meets = meets || meets_term(value, node);
    return meets;
}
