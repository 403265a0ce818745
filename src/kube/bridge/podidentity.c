/* podidentity.c - see podidentity.h */
#include "kube/bridge/podidentity.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "kube/api/kubejson.h"
#include "kube/claim/bridgekeys.h"

#define RULES_MAX 10000u
#define ID_MAX INT64_C(4294967293) /* the two above say "none" */

/* ---- the configuration ----------------------------------------------------------------------- */

static int check_id(const json_t *rule, const char *key, size_t i, struct err *err)
{
    const json_t *value = json_object_get(rule, key);

    if (value && (!json_is_integer(value) || json_integer_value(value) < 1 ||
                  json_integer_value(value) > ID_MAX))
        return err_set(err, -EINVAL, "identities: item %zu: %s is no number from 1", i + 1, key);
    return 0;
}

static int check_accounts(const json_t *rule, size_t i, struct err *err)
{
    const json_t *list = json_object_get(rule, "accounts");
    size_t k;
    json_t *one;

    if (list && !json_is_array(list))
        return err_set(err, -EINVAL, "identities: item %zu: accounts is no list", i + 1);
    json_array_foreach(list, k, one)
    {
        const char *name = json_string_value(one);

        if (!name || !*name)
            return err_set(err, -EINVAL, "identities: item %zu: account %zu is no name", i + 1,
                           k + 1);
    }
    return 0;
}

static int check_keys(const json_t *rule, size_t i, struct err *err)
{
    static const char *const keys[] = { "namespace", "serviceAccount", "userId",
                                        "groupId",   "accounts",       "priority" };
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)rule, key, value)
    {
        size_t k = 0;

        while (k < ARRAY_SIZE(keys) && strcmp(key, keys[k]) != 0)
            k++;
        if (k == ARRAY_SIZE(keys))
            return err_set(err, -EINVAL, "identities: item %zu: the key %.60s is unknown", i + 1,
                           key);
    }
    return 0;
}

static int check_rule(const json_t *rule, size_t i, struct err *err)
{
    const json_t *account = json_object_get(rule, "serviceAccount");
    const json_t *priority = json_object_get(rule, "priority");
    int r;

    if (!json_is_object(rule) || !kubejson_name_is_good(kubejson_text(rule, "namespace")))
        return err_set(err, -EINVAL, "identities: item %zu: namespace is no name", i + 1);
    if (account && !kubejson_name_is_good(kubejson_text(rule, "serviceAccount")))
        return err_set(err, -EINVAL, "identities: item %zu: serviceAccount is no name", i + 1);
    if (priority && !json_is_boolean(priority))
        return err_set(err, -EINVAL, "identities: item %zu: priority is not true or false", i + 1);
    r = check_keys(rule, i, err);
    if (r == 0)
        r = check_id(rule, "userId", i, err);
    if (r == 0)
        r = check_id(rule, "groupId", i, err);
    return r == 0 ? check_accounts(rule, i, err) : r;
}

int podidentity_read(const json_t *list, json_t **ret, struct err *err)
{
    size_t i;
    json_t *rule;

    if (list && !json_is_null(list) && !json_is_array(list))
        return err_set(err, -EINVAL, "identities is no list");
    if (json_array_size(list) > RULES_MAX)
        return err_set(err, -EINVAL, "identities: more than %u items", RULES_MAX);
    json_array_foreach(list, i, rule)
    {
        int r = check_rule(rule, i, err);

        if (r < 0)
            return r;
    }
    *ret = json_is_array(list) ? json_deep_copy(list) : json_array();
    return *ret ? 0 : err_nomem(err);
}

/* ---- a job ----------------------------------------------------------------------------------- */

/* A pod that names none has the one called so. */
static const char *account_of(const json_t *pod)
{
    const char *account = kubejson_text(pod, "spec.serviceAccountName");

    return *account ? account : "default";
}

/* The rule of a pod, the first that fits; NULL: none does.  Borrowed. */
static const json_t *podidentity_find(const json_t *rules, const json_t *pod)
{
    const char *account = account_of(pod);
    size_t i;
    json_t *rule;

    json_array_foreach(rules, i, rule)
    {
        const char *of = kubejson_text(rule, "serviceAccount");

        if (strcmp(kubejson_text(rule, "namespace"), kubejson_namespace(pod)) == 0 &&
            (!*of || strcmp(of, account) == 0))
            return rule;
    }
    return NULL;
}

static const char *find_note(const json_t *root, const char *name)
{
    char key[128];
    const char *text;

    (void)snprintf(key, sizeof(key), BRIDGE_NOTE_PREFIX "%s", name);
    text = kubejson_annotation(root, key);
    return text && *text ? text : NULL;
}

/* The id of the rule; the annotation may say the same. */
static int set_id(const json_t *rule, const char *key, const json_t *root, const char *note,
                  json_t *job, const char *field, struct err *err)
{
    const json_t *value = json_object_get(rule, key);
    const char *text = find_note(root, note);
    int64_t id = 0;

    if (text && (!value || parse_i64(text, 1, ID_MAX, &id) < 0 || id != json_integer_value(value)))
        return err_set(err, -EPERM,
                       "the annotation " BRIDGE_NOTE_PREFIX "%s: %.40s is not the "
                       "identity of the pod",
                       note, text);
    if (!value)
        return json_object_del(job, field), 0; /* it may not be there: the bridge's own */
    return json_object_set_new(job, field,
                               json_sprintf("%lld", (long long)json_integer_value(value))) < 0
               ? err_nomem(err)
               : 0;
}

static int set_account(const json_t *rule, const json_t *root, json_t *job, struct err *err)
{
    const json_t *accounts = json_object_get(rule, "accounts");
    const char *text = find_note(root, "account");
    size_t i;
    json_t *one;

    if (!text) {
        one = json_array_get(accounts, 0);
        return one && json_object_set(job, "account", one) < 0 ? err_nomem(err) : 0;
    }
    json_array_foreach(accounts, i, one)
    {
        if (strcmp(json_string_value(one), text) == 0)
            return 0; /* as the annotation has it */
    }
    return err_set(err, -EPERM,
                   "the annotation " BRIDGE_NOTE_PREFIX "account: %.60s is none of the accounts of "
                   "the pod's identity",
                   text);
}

/* The rule that all pods have. */
static const json_t *find_shared(const json_t *rules, const json_t *pods, struct err *err)
{
    const json_t *first = podidentity_find(rules, json_array_get(pods, 0));
    size_t i;
    json_t *pod;

    json_array_foreach(pods, i, pod)
    {
        const json_t *rule = podidentity_find(rules, pod);

        if (!rule)
            (void)err_set(err, -EPERM,
                          "the bridge's identities name nobody for namespace %.100s and service "
                          "account %.100s",
                          kubejson_namespace(pod), account_of(pod));
        else if (rule != first)
            (void)err_set(err, -EPERM, "the pods of the group have several identities");
        if (rule != first || !rule)
            return NULL;
    }
    return first;
}

int podidentity_set(const json_t *rules, const json_t *pods, const json_t *root, json_t *job,
                    struct err *err)
{
    const json_t *rule;
    int r;

    if (json_array_size(rules) == 0)
        return 0;
    rule = find_shared(rules, pods, err);
    if (!rule)
        return -EPERM;
    if (find_note(root, "priority") && !kubejson_true(rule, "priority"))
        return err_set(err, -EPERM,
                       "the annotation " BRIDGE_NOTE_PREFIX
                       "priority: the pod's identity may not set it");
    r = set_id(rule, "userId", root, "user-id", job, "user_id", err);
    if (r == 0)
        r = set_id(rule, "groupId", root, "group-id", job, "group_id", err);
    return r == 0 ? set_account(rule, root, job, err) : r;
}
