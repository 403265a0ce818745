/* bridgeconf.c - see bridgeconf.h */
#include "kube/bridge/bridgeconf.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "kube/api/kubejson.h"
#include "base/yaml/yamljson.h"
#include "kube/bridge/podidentity.h"

#define NAME_MOST 40u
#define WAIT_MOST_S 86400
#define SELECTOR "managedNamespaceSelector"
#define SCHEDULER "slurm-bridge-scheduler"
#define REST "http://slurm-restapi.slurm:6820"

void bridgeconf_done(struct bridgeconf *c)
{
    free(c->scheduler);
    free(c->rest);
    free(c->partition);
    free(c->mcs);
    free(c->name);
    json_decref(c->namespaces);
    json_decref(c->identities);
    json_decref(c->rules);
    json_decref(c->classes);
    json_decref(c->selector);
    *c = (struct bridgeconf){ 0 };
}

static int keep_value(const json_t *root, const char *key, const char *dflt, char **ret,
                      struct err *err)
{
    const json_t *value = json_object_get(root, key);
    const char *text = json_string_value(value);

    if (value && !json_is_null(value) && !(text && *text))
        return err_set(err, -EINVAL, "%s is no text", key);
    text = text ? text : dflt;
    *ret = text ? strdup(text) : NULL;
    return text && !*ret ? err_nomem(err) : 0;
}

static int check_keys(const json_t *root, struct err *err)
{
    static const char *const keys[] = { "schedulerName",     "slurmRestApi",
                                        "partition",         "mcsLabel",
                                        "managedNamespaces", "identityNamespaces",
                                        "identities",        "name",
                                        "priorityClasses",   "managedNamespaceSelector",
                                        "managedNodeTaint",  "waitSeconds" };
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)root, key, value)
    {
        size_t i = 0;

        while (i < ARRAY_SIZE(keys) && strcmp(key, keys[i]) != 0)
            i++;
        if (i == ARRAY_SIZE(keys))
            return err_set(err, -EINVAL, "the key %.60s is unknown", key);
    }
    return 0;
}

/* waitSeconds; 0: it is not said. */
static int keep_wait(const json_t *root, int64_t *ret, struct err *err)
{
    const json_t *value = json_object_get(root, "waitSeconds");

    if (!value || json_is_null(value))
        return 0;
    *ret = json_integer_value(value);
    return json_is_integer(value) && *ret >= 1 && *ret <= WAIT_MOST_S
               ? 0
               : err_set(err, -EINVAL, "waitSeconds is no number of 1 to %d", WAIT_MOST_S);
}

static int keep_flag(const json_t *root, const char *key, bool *ret, struct err *err)
{
    const json_t *value = json_object_get(root, key);

    *ret = json_is_true(value);
    return !value || json_is_null(value) || json_is_boolean(value)
               ? 0
               : err_set(err, -EINVAL, "%s is neither true nor false", key);
}

static int keep_namespaces(const json_t *root, const char *key, json_t **ret, struct err *err)
{
    const json_t *list = json_object_get(root, key);
    size_t i;
    json_t *one;

    if (list && !json_is_null(list) && !json_is_array(list))
        return err_set(err, -EINVAL, "%s is no list", key);
    *ret = json_array();
    json_array_foreach(list, i, one)
    {
        if (!json_is_string(one) || !kubejson_name_is_good(json_string_value(one)))
            return err_set(err, -EINVAL, "%s: item %zu is no name", key, i + 1);
        if (json_array_append(*ret, one) < 0)
            return err_nomem(err);
    }
    return *ret ? 0 : err_nomem(err);
}

static bool is_texts(const json_t *list)
{
    size_t i;
    json_t *one;

    json_array_foreach(list, i, one)
    {
        if (!json_is_string(one))
            return false;
    }
    return json_array_size(list) > 0;
}

static int check_expression(const json_t *one, size_t i, struct err *err)
{
    const char *operator_ = kubejson_text(one, "operator");
    const json_t *values = json_object_get(one, "values");
    bool listed = strcmp(operator_, "In") == 0 || strcmp(operator_, "NotIn") == 0;
    bool alone = strcmp(operator_, "Exists") == 0 || strcmp(operator_, "DoesNotExist") == 0;

    if (!*kubejson_text(one, "key") || (!listed && !alone))
        return err_set(err, -EINVAL,
                       SELECTOR ".matchExpressions: item %zu: key, and operator In, NotIn, Exists "
                                "or DoesNotExist are wanted",
                       i + 1);
    if (listed ? !is_texts(values) : json_array_size(values) > 0)
        return err_set(err, -EINVAL, SELECTOR ".matchExpressions: item %zu: values do not fit %s",
                       i + 1, operator_);
    return 0;
}

/* A LabelSelector, which the API server applies: an empty one would be every namespace. */
static int keep_selector(const json_t *root, json_t **ret, struct err *err)
{
    const json_t *selector = json_object_get(root, SELECTOR);
    const json_t *labels = json_object_get(selector, "matchLabels");
    const json_t *rules = json_object_get(selector, "matchExpressions");
    const char *key;
    size_t i;
    json_t *one;

    if (!selector || json_is_null(selector))
        return 0;
    json_object_foreach((json_t *)(uintptr_t)selector, key, one)
    {
        if (strcmp(key, "matchLabels") != 0 && strcmp(key, "matchExpressions") != 0)
            return err_set(err, -EINVAL, SELECTOR ": the key %.60s is unknown", key);
    }
    json_object_foreach((json_t *)(uintptr_t)labels, key, one)
    {
        if (!json_is_string(one))
            return err_set(err, -EINVAL, SELECTOR ".matchLabels: %.60s is no text", key);
    }
    json_array_foreach(rules, i, one)
    {
        if (check_expression(one, i, err) < 0)
            return -EINVAL;
    }
    if ((labels && !json_is_object(labels)) || (rules && !json_is_array(rules)) ||
        (!json_object_size(labels) && !json_array_size(rules)))
        return err_set(err, -EINVAL, SELECTOR ": matchLabels or matchExpressions are wanted");
    *ret = json_deep_copy(selector);
    return *ret ? 0 : err_nomem(err);
}

static int check_class(const json_t *one, size_t i, struct err *err)
{
    static const char *const keys[] = { "name", "qos", "partition" };
    const char *key;
    json_t *value;

    if (!kubejson_name_is_good(kubejson_text(one, "name")))
        return err_set(err, -EINVAL, "priorityClasses: item %zu: name is no name", i + 1);
    json_object_foreach((json_t *)(uintptr_t)one, key, value)
    {
        size_t k = 0;

        while (k < ARRAY_SIZE(keys) && strcmp(key, keys[k]) != 0)
            k++;
        if (k == ARRAY_SIZE(keys))
            return err_set(err, -EINVAL, "priorityClasses: item %zu: the key %.60s is unknown",
                           i + 1, key);
        if (!json_is_string(value) || !json_string_length(value))
            return err_set(err, -EINVAL, "priorityClasses: item %zu: %s is no text", i + 1, key);
    }
    return 0;
}

static int keep_classes(const json_t *root, json_t **ret, struct err *err)
{
    json_t *list = json_object_get(root, "priorityClasses"), *one;
    size_t i;
    int r = 0;

    if (list && !json_is_null(list) && !json_is_array(list))
        return err_set(err, -EINVAL, "priorityClasses is no list");
    json_array_foreach(list, i, one)
    {
        if (r == 0)
            r = check_class(one, i, err);
    }
    if (r < 0)
        return r;
    *ret = json_is_array(list) ? json_deep_copy(list) : json_array();
    return *ret ? 0 : err_nomem(err);
}

int bridgeconf_parse(const char *text, size_t len, struct bridgeconf *ret, struct err *err)
{
    _cleanup_json_ json_t *root = NULL;
    struct bridgeconf c = { 0 };
    int r = yamljson_parse(text, len, &root, err);

    if (r == 0 && !json_is_object(root))
        r = err_set(err, -EINVAL, "no keys with values");
    if (r == 0)
        r = check_keys(root, err);
    if (r == 0)
        r = keep_value(root, "schedulerName", SCHEDULER, &c.scheduler, err);
    if (r == 0)
        r = keep_value(root, "slurmRestApi", REST, &c.rest, err);
    if (r == 0)
        r = keep_value(root, "partition", NULL, &c.partition, err);
    if (r == 0)
        r = keep_value(root, "mcsLabel", NULL, &c.mcs, err);
    if (r == 0)
        r = keep_value(root, "name", "", &c.name, err);
    if (r == 0)
        r = keep_flag(root, "managedNodeTaint", &c.taint, err);
    if (r == 0)
        r = keep_wait(root, &c.wait_s, err);
    if (r == 0)
        r = keep_namespaces(root, "managedNamespaces", &c.namespaces, err);
    if (r == 0)
        r = keep_namespaces(root, "identityNamespaces", &c.identities, err);
    if (r == 0)
        r = keep_selector(root, &c.selector, err);
    if (r == 0)
        r = keep_classes(root, &c.classes, err);
    if (r == 0)
        r = podidentity_read(json_object_get(root, "identities"), &c.rules, err);
    if (r == 0 && json_array_size(c.rules) && json_array_size(c.identities))
        r = err_set(err, -EINVAL, "identities and identityNamespaces: one of them");
    if (r == 0 && *c.name && (!kubejson_name_is_good(c.name) || strlen(c.name) > NAME_MOST))
        r = err_set(err, -EINVAL, "name %.60s: a-z, 0-9, '.' and '-', %u at most", c.name,
                    NAME_MOST);
    if (r == 0 && !kubejson_name_is_good(c.scheduler))
        r = err_set(err, -EINVAL, "schedulerName %.60s is no name", c.scheduler);
    if (r == 0 && !kubejson_after(c.rest, "http://") && !kubejson_after(c.rest, "https://"))
        r = err_set(err, -EINVAL, "slurmRestApi does not begin with http:// or https://");
    if (r < 0)
        bridgeconf_done(&c);
    else
        *ret = c;
    return r;
}

bool bridgeconf_has(const json_t *namespaces, const char *name)
{
    return kubejson_has_text(namespaces, name);
}
