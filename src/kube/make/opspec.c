/* opspec.c - see opspec.h */
#include "kube/make/opspec.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "kube/api/kubejson.h"
#include "kube/make/mkbase.h"
#include "kube/make/mkha.h"

#define REPLICAS_MAX 100000
#define CLUSTER_NAME_MAX 40u
#define TEXT_MAX (256u << 10)
#define PADDING_MAX 10
#define FLAGS_MOST 16u
#define SCHEDULE "spec.updateStrategy.scheduledUpdate"

enum rule_type { A_TEXT, A_NUMBER, A_BOOL, AN_OBJECT, A_LIST, A_WORD, A_DURATION, A_COUNT_OR_PART };

/* A field: its type, what it is without being said (JSON; NULL: nothing), its range or words. */
struct rule {
    enum opkind kind;
    const char *path;
    enum rule_type type;
    const char *dflt;
    int64_t least, most;
    const char *words; /* of A_WORD, each between two bars */
    bool required;
};

static const struct rule rules[] = {
    { OPKIND_CONTROLLER, "spec.clusterName", A_TEXT, NULL, 1, CLUSTER_NAME_MAX, NULL, false },
    { OPKIND_CONTROLLER, "spec.external", A_BOOL, "false", 0, 0, NULL, false },
    { OPKIND_CONTROLLER, "spec.externalConfig", AN_OBJECT, NULL, 0, 0, NULL, false },
    { OPKIND_CONTROLLER, "spec.ha.enabled", A_BOOL, NULL, 0, 0, NULL, false },
    { OPKIND_CONTROLLER, "spec.ha.backups", A_NUMBER, NULL, 1, 9, NULL, false },
    { OPKIND_CONTROLLER, "spec.ha.etcd", AN_OBJECT, NULL, 0, 0, NULL, false },
    { OPKIND_CONTROLLER, "spec.ha.etcd.endpoints", A_LIST, NULL, 1, 8, NULL, false },
    { OPKIND_CONTROLLER, "spec.ha.etcd.prefix", A_TEXT, NULL, 0, 200, NULL, false },
    { OPKIND_CONTROLLER, "spec.ha.etcd.user", A_TEXT, NULL, 0, 128, NULL, false },
    { OPKIND_CONTROLLER, "spec.ha.etcd.secretRef.name", A_TEXT, NULL, 0, 253, NULL, false },
    { OPKIND_CONTROLLER, "spec.inplaceReconfigure", A_BOOL, NULL, 0, 0, NULL, false },
    { OPKIND_CONTROLLER, "spec.persistence.enabled", A_BOOL, "true", 0, 0, NULL, false },
    { OPKIND_CONTROLLER, "spec.persistence.existingClaim", A_TEXT, NULL, 0, 253, NULL, false },
    { OPKIND_CONTROLLER, "spec.extraConf", A_TEXT, NULL, 0, TEXT_MAX, NULL, false },
    { OPKIND_CONTROLLER, "spec.configFileRefs", A_LIST, NULL, 0, 64, NULL, false },
    { OPKIND_CONTROLLER, "spec.prologScriptRefs", A_LIST, NULL, 0, 64, NULL, false },
    { OPKIND_CONTROLLER, "spec.epilogScriptRefs", A_LIST, NULL, 0, 64, NULL, false },
    { OPKIND_CONTROLLER, "spec.prologSlurmctldScriptRefs", A_LIST, NULL, 0, 64, NULL, false },
    { OPKIND_CONTROLLER, "spec.epilogSlurmctldScriptRefs", A_LIST, NULL, 0, 64, NULL, false },
    { OPKIND_CONTROLLER, "spec.metrics.enabled", A_BOOL, NULL, 0, 0, NULL, false },
    { OPKIND_CONTROLLER, "spec.metrics.serviceMonitor.enabled", A_BOOL, NULL, 0, 0, NULL, false },
    { OPKIND_CONTROLLER, "spec.metrics.serviceMonitor.labels", AN_OBJECT, NULL, 0, 0, NULL, false },
    { OPKIND_CONTROLLER, "spec.metrics.serviceMonitor.annotations", AN_OBJECT, NULL, 0, 0, NULL,
      false },
    { OPKIND_CONTROLLER, "spec.metrics.serviceMonitor.endpoints", A_LIST, NULL, 0, 32, NULL,
      false },
    { OPKIND_ACCOUNTING, "spec.external", A_BOOL, "false", 0, 0, NULL, false },
    { OPKIND_ACCOUNTING, "spec.externalConfig", AN_OBJECT, NULL, 0, 0, NULL, false },
    { OPKIND_ACCOUNTING, "spec.extraConf", A_TEXT, NULL, 0, TEXT_MAX, NULL, false },
    { OPKIND_ACCOUNTING, "spec.storageConfig.port", A_NUMBER, "3306", 1, 65535, NULL, false },
    { OPKIND_ACCOUNTING, "spec.storageConfig.database", A_TEXT, "\"slurm_acct_db\"", 1, 64, NULL,
      false },
    { OPKIND_ACCOUNTING, "spec.storageConfig.username", A_TEXT, NULL, 0, 128, NULL, false },
    { OPKIND_NODESET, "spec.controllerRef.name", A_TEXT, NULL, 1, 253, NULL, true },
    { OPKIND_NODESET, "spec.replicas", A_NUMBER, "1", 0, REPLICAS_MAX, NULL, false },
    { OPKIND_NODESET, "spec.scalingMode", A_WORD, "\"StatefulSet\"", 0, 0,
      "|StatefulSet|DaemonSet|", false },
    { OPKIND_NODESET, "spec.ssh.enabled", A_BOOL, NULL, 0, 0, NULL, false },
    { OPKIND_NODESET, "spec.ssh.extraSshdConfig", A_TEXT, NULL, 0, TEXT_MAX, NULL, false },
    { OPKIND_NODESET, "spec.ssh.sssdConfRef.name", A_TEXT, NULL, 0, 253, NULL, false },
    { OPKIND_NODESET, "spec.ssh.sssdConfRef.key", A_TEXT, NULL, 0, 253, NULL, false },
    { OPKIND_NODESET, "spec.ssh.sssdConfRef.optional", A_BOOL, NULL, 0, 0, NULL, false },
    { OPKIND_NODESET, "spec.extraConf", A_TEXT, NULL, 0, TEXT_MAX, NULL, false },
    { OPKIND_NODESET, "spec.partition.enabled", A_BOOL, NULL, 0, 0, NULL, false },
    { OPKIND_NODESET, "spec.partition.config", A_TEXT, NULL, 0, TEXT_MAX, NULL, false },
    { OPKIND_NODESET, "spec.volumeClaimTemplates", A_LIST, NULL, 0, 16, NULL, false },
    { OPKIND_NODESET, "spec.updateStrategy.type", A_WORD, "\"RollingUpdate\"", 0, 0,
      "|RollingUpdate|OnDelete|ScheduledUpdate|", false },
    { OPKIND_NODESET, "spec.updateStrategy.rollingUpdate.maxUnavailable", A_COUNT_OR_PART,
      "\"25%\"", 1, REPLICAS_MAX, NULL, false },
    { OPKIND_NODESET, "spec.updateStrategy.scheduledUpdate.flags", A_LIST, NULL, 0, FLAGS_MOST,
      NULL, false },
    { OPKIND_NODESET, "spec.updateStrategy.scheduledUpdate.duration", A_DURATION, NULL, 60,
      INT64_C(366) * 86400, NULL, false },
    { OPKIND_NODESET, "spec.revisionHistoryLimit", A_NUMBER, "0", 0, 1000, NULL, false },
    { OPKIND_NODESET, "spec.persistentVolumeClaimRetentionPolicy.whenDeleted", A_WORD, "\"Retain\"",
      0, 0, "|Retain|Delete|", false },
    { OPKIND_NODESET, "spec.persistentVolumeClaimRetentionPolicy.whenScaled", A_WORD, "\"Retain\"",
      0, 0, "|Retain|Delete|", false },
    { OPKIND_NODESET, "spec.minReadySeconds", A_NUMBER, "0", 0, 86400, NULL, false },
    { OPKIND_NODESET, "spec.ordinalPadding", A_NUMBER, "0", 0, PADDING_MAX, NULL, false },
    { OPKIND_NODESET, "spec.pinToNode", A_BOOL, "false", 0, 0, NULL, false },
    { OPKIND_NODESET, "spec.workloadDisruptionProtection", A_BOOL, "true", 0, 0, NULL, false },
    { OPKIND_NODESET, "spec.pruneSlurmNodeRecords", A_WORD, "\"Never\"", 0, 0,
      "|Never|NodeNotFound|", false },
    { OPKIND_NODESET, "spec.autoscale.minReplicas", A_NUMBER, NULL, 0, REPLICAS_MAX, NULL, false },
    { OPKIND_NODESET, "spec.autoscale.maxReplicas", A_NUMBER, NULL, 1, REPLICAS_MAX, NULL, false },
    { OPKIND_NODESET, "spec.autoscale.idleSeconds", A_NUMBER, NULL, 1, 86400 * 7, NULL, false },
    { OPKIND_NODESET, "spec.autoscale.partitions", A_LIST, NULL, 0, 64, NULL, false },
    { OPKIND_NODESET, "spec.oversubscribeNode", A_BOOL, "false", 0, 0, NULL, false },
    { OPKIND_RESTAPI, "spec.controllerRef.name", A_TEXT, NULL, 1, 253, NULL, true },
    { OPKIND_RESTAPI, "spec.replicas", A_NUMBER, "1", 0, 1000, NULL, false },
    { OPKIND_LOGINSET, "spec.controllerRef.name", A_TEXT, NULL, 1, 253, NULL, true },
    { OPKIND_LOGINSET, "spec.sssdConfRef.name", A_TEXT, NULL, 1, 253, NULL, true },
    { OPKIND_LOGINSET, "spec.sssdConfRef.key", A_TEXT, NULL, 1, 253, NULL, true },
    { OPKIND_LOGINSET, "spec.sssdConfRef.optional", A_BOOL, NULL, 0, 0, NULL, false },
    { OPKIND_LOGINSET, "spec.strategy", AN_OBJECT, NULL, 0, 0, NULL, false },
    { OPKIND_LOGINSET, "spec.strategy.type", A_WORD, NULL, 0, 0, "|RollingUpdate|Recreate|",
      false },
    { OPKIND_LOGINSET, "spec.service.port", A_NUMBER, NULL, 1, 65535, NULL, false },
    { OPKIND_LOGINSET, "spec.service.nodePort", A_NUMBER, NULL, 0, 65535, NULL, false },
    { OPKIND_LOGINSET, "spec.replicas", A_NUMBER, "1", 0, 1000, NULL, false },
    { OPKIND_LOGINSET, "spec.rootSshAuthorizedKeys", A_TEXT, NULL, 0, TEXT_MAX, NULL, false },
    { OPKIND_LOGINSET, "spec.extraSshdConfig", A_TEXT, NULL, 0, TEXT_MAX, NULL, false },
    { OPKIND_TOKEN, "spec.username", A_TEXT, "\"nobody\"", 1, 256, NULL, false },
    { OPKIND_TOKEN, "spec.lifetime", A_DURATION, "\"15m\"", 60, INT64_C(3660) * 86400, NULL,
      false },
    { OPKIND_TOKEN, "spec.refresh", A_BOOL, "true", 0, 0, NULL, false },
};

int64_t opspec_seconds(const char *text)
{
    int64_t sum = 0;

    if (!*text)
        return -1;
    while (*text) {
        char *end;
        long long n;
        int64_t unit;

        if (!isdigit((unsigned char)*text))
            return -1;
        errno = 0;
        n = strtoll(text, &end, 10);
        if (kubejson_after(end, "ms"))
            return -1;
        unit = *end == 's' ? 1 : *end == 'm' ? 60 : *end == 'h' ? 3600 : 0;
        if (errno || !unit || n > INT64_C(100000000))
            return -1;
        sum += n * unit;
        text = end + 1;
    }
    return sum;
}

int64_t opspec_budget(const json_t *value, int64_t total)
{
    int64_t n = 0;

    if (json_is_integer(value))
        n = json_integer_value(value);
    else if (json_is_string(value))
        n = (total * strtoll(json_string_value(value), NULL, 10) + 99) / 100;
    return MAX(n, 1);
}

static bool is_part(const char *text)
{
    size_t n = strspn(text, "0123456789");

    return n >= 1 && n <= 3 && strcmp(text + n, "%") == 0 && strtol(text, NULL, 10) >= 1 &&
           strtol(text, NULL, 10) <= 100;
}

static bool has_type(const struct rule *r, const json_t *v)
{
    switch (r->type) {
    case A_TEXT:
    case A_WORD:
    case A_DURATION:
        return json_is_string(v);
    case A_NUMBER:
        return json_is_integer(v);
    case A_BOOL:
        return json_is_boolean(v);
    case AN_OBJECT:
        return json_is_object(v);
    case A_LIST:
        return json_is_array(v);
    case A_COUNT_OR_PART:
        return json_is_integer(v) || (json_is_string(v) && is_part(json_string_value(v)));
    }
    return false;
}

static const char *type_word(enum rule_type type)
{
    static const char *const words[] = {
        "text",   "a whole number",   "true or false",       "an object",
        "a list", "one of its words", "a duration as 1h30m", "a number from 1, or 1% to 100%"
    };

    return words[type];
}

/* One of the rule's words? */
static bool is_word(const struct rule *r, const char *text)
{
    size_t n = strlen(text);

    for (const char *p = r->words + 1; *p; p += strcspn(p, "|") + 1)
        if (n && n == strcspn(p, "|") && memcmp(p, text, n) == 0)
            return true;
    return false;
}

static int refuse_word(const struct rule *r, const char *text, struct err *err)
{
    _cleanup_val_(strbuf_done) struct strbuf words = STRBUF_INIT;

    for (const char *p = r->words + 1; *p; p += strcspn(p, "|") + 1) {
        strbuf_add(&words, words.len ? ", " : "");
        strbuf_addn(&words, p, strcspn(p, "|"));
    }
    return err_set(err, -EINVAL, "%s: '%.60s' is none of %s", r->path, text, strbuf_str(&words));
}

static int check_value(const struct rule *r, const json_t *v, struct err *err)
{
    const char *text = json_string_value(v);
    int64_t n = r->type == A_DURATION ? opspec_seconds(text)
                : json_is_integer(v)  ? json_integer_value(v)
                : r->type == A_LIST   ? (int64_t)json_array_size(v)
                : json_is_string(v)   ? (int64_t)json_string_length(v)
                                      : 0;

    if (r->type == A_WORD && !is_word(r, text))
        return refuse_word(r, text, err);
    if (r->type == A_DURATION && n < 0)
        return err_set(err, -EINVAL, "%s: '%.60s' is no duration as 1h30m", r->path, text);
    if (r->most && !(r->type == A_COUNT_OR_PART && text) && (n < r->least || n > r->most))
        return err_set(err, -EINVAL, "%s: %lld is not between %lld and %lld%s", r->path,
                       (long long)n, (long long)r->least, (long long)r->most,
                       r->type == A_TEXT       ? " characters"
                       : r->type == A_DURATION ? " seconds"
                                               : "");
    return 0;
}

/* Put a default where the path leads, when the objects on the way are there or can be made. */
static int set_default(json_t *object, const char *path, const char *text)
{
    const char *last = strrchr(path, '.') + 1;

    while (path != last) {
        size_t n = strcspn(path, ".");
        char key[64];
        json_t *next;

        (void)snprintf(key, sizeof(key), "%.*s", (int)n, path);
        next = json_object_get(object, key);
        if (!json_is_object(next) && json_object_set_new(object, key, next = json_object()) < 0)
            return -ENOMEM;
        object = next;
        path += n + 1;
    }
    return json_object_set_new(object, last, json_loads(text, JSON_DECODE_ANY, NULL)) < 0 ? -ENOMEM
                                                                                          : 0;
}

/* Is every member on the way to the path an object, or not there? */
static const char *find_bad_parent(const json_t *object, const char *path, char *buf, size_t size)
{
    for (const char *dot = strchr(path, '.'); dot; dot = strchr(dot + 1, '.')) {
        const json_t *v;

        (void)snprintf(buf, size, "%.*s", (int)(dot - path), path);
        v = kubejson_at(object, buf);
        if (v && !json_is_object(v) && !json_is_null(v))
            return buf;
    }
    return NULL;
}

static int apply_rule(const struct rule *r, json_t *object, struct err *err)
{
    char buf[128];
    const char *bad = find_bad_parent(object, r->path, buf, sizeof(buf));
    json_t *v = kubejson_at(object, r->path);

    if (bad)
        return err_set(err, -EINVAL, "%s: an object is wanted", bad);
    if (!v || json_is_null(v)) {
        if (r->required)
            return err_set(err, -EINVAL, "%s: required", r->path);
        if (r->dflt && set_default(object, r->path, r->dflt) < 0)
            return err_nomem(err);
        return 0;
    }
    if (!has_type(r, v))
        return err_set(err, -EINVAL, "%s: %s is wanted", r->path, type_word(r->type));
    return check_value(r, v, err);
}

/* "Key=Value Key=Value": each word has a key and a value.  Errors: -EINVAL (err). */
static int opspec_check_words(const char *text, struct err *err)
{
    for (text += strspn(text, " \t\n"); *text; text += strspn(text, " \t\n")) {
        size_t n = strcspn(text, " \t\n"), key = strcspn(text, "=");

        if (key == 0 || key >= n || n == key + 1)
            return err_set(err, -EINVAL, "spec.extraConf: '%.*s' is not Key=Value",
                           (int)MIN(n, 60u), text);
        if (memchr(text, '\'', n))
            return err_set(err, -EINVAL, "spec.extraConf: '%.*s': no quotes here", (int)MIN(n, 60u),
                           text);
        text += n;
    }
    return 0;
}

/* Is the member, if it is there, text that can be a value of slurm.conf? */
static bool is_value(const json_t *o, const char *path)
{
    const char *text = kubejson_text(o, path);

    return text[mkbase_value_length(text)] == '\0';
}

static int check_keys(const json_t *o, struct err *err)
{
    const struct opgroup *group = opkinds_group(o);
    bool external = kubejson_true(o, "spec.external");

    if (external && (!*kubejson_text(o, "spec.externalConfig.host") ||
                     kubejson_int(o, "spec.externalConfig.port", 0) < 1 ||
                     kubejson_int(o, "spec.externalConfig.port", 0) > 65535))
        return err_set(err, -EINVAL,
                       "spec.externalConfig: host and port are required with external");
    if (!is_value(o, "spec.externalConfig.host"))
        return err_set(err, -EINVAL, "spec.externalConfig.host: no blanks, '#', '\"' and '\\'");
    if (external || group->keys_made)
        return 0;
    if (!*kubejson_text(o, "spec.slurmKeyRef.name"))
        return err_set(err, -EINVAL, "spec.slurmKeyRef: required unless external");
    if (!*kubejson_text(o, "spec.jwtKeyRef.name") && !*kubejson_text(o, "spec.jwtHs256KeyRef.name"))
        return err_set(err, -EINVAL, "spec.jwtKeyRef: required unless external");
    return 0;
}

/* Would the line go on in the next one, which is another's? */
static bool is_open_line(const char *text)
{
    size_t n = strlen(text);

    while (n && (text[n - 1] == ' ' || text[n - 1] == '\t'))
        n--;
    return strpbrk(text, "\r\n") || (n && text[n - 1] == '\\');
}

static int check_controller(const json_t *o, struct err *err)
{
    const char *name = kubejson_text(o, "spec.clusterName");

    if (name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")])
        return err_set(err, -EINVAL, "spec.clusterName: letters, digits, '_', '-' and '.' alone");
    if (*name && strspn(name, ".") == strlen(name)) /* it names a folder */
        return err_set(err, -EINVAL, "spec.clusterName: more than dots is wanted");
    if (mkha_check(o, err) < 0)
        return -EINVAL;
    return check_keys(o, err);
}

static int check_accounting(const json_t *o, struct err *err)
{
    if (!kubejson_true(o, "spec.external")) {
        if (!*kubejson_text(o, "spec.storageConfig.host"))
            return err_set(err, -EINVAL, "spec.storageConfig.host: required unless external");
        if (!*kubejson_text(o, "spec.storageConfig.passwordKeyRef.name") ||
            !*kubejson_text(o, "spec.storageConfig.passwordKeyRef.key"))
            return err_set(err, -EINVAL,
                           "spec.storageConfig.passwordKeyRef: name and key are required");
        if (!is_value(o, "spec.storageConfig.host") ||
            !is_value(o, "spec.storageConfig.username") ||
            !is_value(o, "spec.storageConfig.database"))
            return err_set(err, -EINVAL,
                           "spec.storageConfig: no blanks, '#', '\"' and '\\' in host, username "
                           "and database");
    }
    return check_keys(o, err);
}

static bool is_host_prefix(const char *text)
{
    return strlen(text) <= 63 &&
           text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0' && *text != '-';
}

static int check_autoscale(const json_t *o, struct err *err)
{
    const json_t *own = kubejson_at(o, "spec.autoscale"), *one;

    if (!json_is_object(own))
        return err_set(err, -EINVAL, "spec.autoscale: an object is wanted");
    if (!json_object_get(own, "maxReplicas"))
        return err_set(err, -EINVAL, "spec.autoscale.maxReplicas: required");
    if (kubejson_int(own, "minReplicas", 0) > kubejson_int(own, "maxReplicas", 0))
        return err_set(err, -EINVAL, "spec.autoscale.minReplicas: more than maxReplicas");
    if (strcmp(kubejson_text(o, "spec.scalingMode"), "DaemonSet") == 0)
        return err_set(err, -EINVAL, "spec.autoscale: not with scalingMode DaemonSet");
    for (size_t i = 0; (one = json_array_get(json_object_get(own, "partitions"), i)); i++)
        if (!json_is_string(one) || !json_string_length(one))
            return err_set(err, -EINVAL, "spec.autoscale.partitions: names are wanted");
    return 0;
}

/* When workers are replaced by a reservation: nssched.h. */
static int check_schedule(const json_t *o, struct err *err)
{
    const json_t *flags = kubejson_at(o, SCHEDULE ".flags");
    int64_t us;
    size_t i;
    json_t *one;

    if (strcmp(kubejson_text(o, "spec.updateStrategy.type"), "ScheduledUpdate") != 0)
        return 0;
    if (kubejson_read_stamp(kubejson_text(o, SCHEDULE ".startTime"), &us) < 0)
        return err_set(err, -EINVAL,
                       SCHEDULE ".startTime: a time as 2030-01-31T22:00:00Z is wanted");
    json_array_foreach(flags, i, one)
    {
        const char *text = json_string_value(one);

        if (!text || !*text ||
            text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")])
            return err_set(err, -EINVAL, SCHEDULE ".flags: '%.40s' is no flag of a reservation",
                           text ? text : "");
    }
    return 0;
}

static int check_claims(const json_t *o, struct err *err)
{
    size_t i;
    json_t *one;

    json_array_foreach(kubejson_at(o, "spec.volumeClaimTemplates"), i, one)
    {
        if (!kubejson_name_is_good(kubejson_name(one)) ||
            !json_is_object(json_object_get(one, "spec")))
            return err_set(err, -EINVAL,
                           "spec.volumeClaimTemplates: item %zu: metadata.name and spec are "
                           "required",
                           i + 1);
    }
    return 0;
}

static int check_nodeset(const json_t *o, struct err *err)
{
    const char *host = kubejson_text(o, "spec.template.spec.hostname");

    if (kubejson_true(o, "spec.ssh.enabled") && (!*kubejson_text(o, "spec.ssh.sssdConfRef.name") ||
                                                 !*kubejson_text(o, "spec.ssh.sssdConfRef.key")))
        return err_set(err, -EINVAL, "spec.ssh.sssdConfRef: name and key are required with ssh");
    if (kubejson_at(o, "spec.autoscale") && check_autoscale(o, err) < 0)
        return -EINVAL;
    if (!is_host_prefix(host))
        return err_set(err, -EINVAL,
                       "spec.template.spec.hostname: '%.64s': a-z, 0-9 and '-' are wanted", host);
    if (is_open_line(kubejson_text(o, "spec.partition.config")))
        return err_set(err, -EINVAL, "spec.partition.config: one line is wanted");
    if (check_schedule(o, err) < 0 || check_claims(o, err) < 0)
        return -EINVAL;
    return opspec_check_words(kubejson_text(o, "spec.extraConf"), err);
}

static int check_token(const json_t *o, struct err *err)
{
    const char *user = kubejson_text(o, "spec.username");

    if (!*kubejson_text(o, "spec.jwtKeyRef.name") && !*kubejson_text(o, "spec.jwtHs256KeyRef.name"))
        return err_set(err, -EINVAL, "spec.jwtKeyRef: required");
    for (; *user; user++)
        if ((unsigned char)*user <= ' ' || *user == 0x7f)
            return err_set(err, -EINVAL, "spec.username: no spaces and control characters");
    return 0;
}

static int check_loginset(const json_t *o, struct err *err)
{
    if (strcmp(kubejson_text(o, "spec.strategy.type"), "Recreate") == 0 &&
        kubejson_at(o, "spec.strategy.rollingUpdate"))
        return err_set(err, -EINVAL, "spec.strategy.rollingUpdate: not with type Recreate");
    return 0;
}

static int check_kind(enum opkind kind, const json_t *o, struct err *err)
{
    switch (kind) {
    case OPKIND_CONTROLLER:
        return check_controller(o, err);
    case OPKIND_ACCOUNTING:
        return check_accounting(o, err);
    case OPKIND_NODESET:
        return check_nodeset(o, err);
    case OPKIND_TOKEN:
        return check_token(o, err);
    case OPKIND_LOGINSET:
        return check_loginset(o, err);
    case OPKIND_RESTAPI:
    case OPKIND_MAX_:
        break;
    }
    return 0;
}

int opspec_read(const json_t *object, json_t **ret, struct err *err)
{
    _cleanup_json_ json_t *copy = json_deep_copy(object);
    enum opkind kind = opkinds_served(kubejson_text(object, "kind"));
    int r;

    if (!copy)
        return err_nomem(err);
    if (kind == OPKIND_MAX_ || !opkinds_group(object))
        return err_set(err, -EINVAL, "an object of no kind that is served");
    if (!kubejson_name_is_good(kubejson_name(object)) || !*kubejson_uid(object))
        return err_set(err, -EINVAL, "an object without name or uid");
    if (!json_object_get(copy, "spec") && json_object_set_new(copy, "spec", json_object()) < 0)
        return err_nomem(err);
    for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
        if (rules[i].kind == kind && (r = apply_rule(&rules[i], copy, err)) < 0)
            return r;
    r = check_kind(kind, copy, err);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(copy);
    return 0;
}

int opspec_check_change(const json_t *before, const json_t *now, struct err *err)
{
    static const struct {
        const char *kind, *path;
    } fixed[] = {
        { "Controller", "spec.clusterName" },
        { "Controller", "spec.slurmKeyRef.name" },
        { "Controller", "spec.jwtKeyRef" },
        { "Controller", "spec.jwtHs256KeyRef" },
        { "Controller", "spec.persistence.enabled" },
        { "Controller", "spec.persistence.existingClaim" },
        { "Accounting", "spec.jwtKeyRef" },
        { "Accounting", "spec.jwtHs256KeyRef" },
        { "NodeSet", "spec.controllerRef" },
        { "NodeSet", "spec.volumeClaimTemplates" },
        { "LoginSet", "spec.controllerRef" },
        { "Token", "spec.jwtKeyRef" },
        { "Token", "spec.jwtHs256KeyRef" },
    };
    const char *kind = kubejson_text(now, "kind");

    for (size_t i = 0; i < ARRAY_SIZE(fixed); i++) {
        const json_t *a = kubejson_at(before, fixed[i].path), *b = kubejson_at(now, fixed[i].path);

        if (strcmp(kind, fixed[i].kind) == 0 && a != b && !(a && b && json_equal(a, b)))
            return err_set(err, -EPERM, "%s: cannot be changed", fixed[i].path);
    }
    return strcmp(kind, "Controller") == 0 ? mkha_check_change(before, now, err) : 0;
}
