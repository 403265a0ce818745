/* mkbase.c - see mkbase.h */
#include "kube/make/mkbase.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/compare/order.h"
#include "kube/api/kubeconfig.h"
#include "kube/api/kubejson.h"
#include "kube/make/opkeys.h"

const json_t *mkbase_find(const struct mkbase_facts *f, const char *kind, const char *name)
{
    return *name ? f->find(f->ctx, f, kind, name) : NULL;
}

int mkbase_push(json_t *array, json_t *item)
{
    return json_array_append_new(array, item) < 0 ? -ENOMEM : 0;
}

json_t *mkbase_owner(const json_t *cr, bool controller)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:b, s:b}", "apiVersion",
                     kubejson_text(cr, "apiVersion"), "kind", kubejson_text(cr, "kind"), "name",
                     kubejson_name(cr), "uid", kubejson_uid(cr), "controller", controller,
                     "blockOwnerDeletion", 1);
}

json_t *mkbase_selector(const char *app, const char *instance)
{
    return json_pack("{s:s, s:s}", OPKEY_NAME, app, OPKEY_INSTANCE, instance);
}

/* What tools leave on an object for themselves is not passed on. */
static bool is_passed_on(const char *key)
{
    return !kubejson_after(key, "kubectl.kubernetes.io/");
}

static int add_texts(json_t *to, const json_t *from)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)from, key, value)
    {
        if (json_is_string(value) && is_passed_on(key) && json_object_set(to, key, value) < 0)
            return -ENOMEM;
    }
    return 0;
}

json_t *mkbase_meta(const struct mkbase_facts *f, const char *name, const char *app,
                    const char *component, const char *template_path)
{
    _cleanup_json_ json_t *labels = json_object(), *notes = json_object();
    const json_t *user = template_path ? kubejson_at(f->cr, template_path) : NULL;
    json_t *meta;

    if (add_texts(labels, kubejson_at(f->cr, "metadata.labels")) < 0 ||
        add_texts(notes, kubejson_at(f->cr, "metadata.annotations")) < 0 ||
        add_texts(labels, json_object_get(user, "labels")) < 0 ||
        add_texts(notes, json_object_get(user, "annotations")) < 0 ||
        json_object_set_new(labels, OPKEY_NAME, json_string(app)) < 0 ||
        json_object_set_new(labels, OPKEY_INSTANCE, json_string(kubejson_name(f->cr))) < 0 ||
        json_object_set_new(labels, OPKEY_COMPONENT, json_string(component)) < 0)
        return NULL;
    if (!name)
        return json_pack("{s:O, s:O}", "labels", labels, "annotations", notes);
    meta = json_pack("{s:s, s:s, s:O, s:[o]}", "name", name, "namespace", kubejson_namespace(f->cr),
                     "labels", labels, "ownerReferences", mkbase_owner(f->cr, true));
    if (meta && json_object_size(notes) && json_object_set(meta, "annotations", notes) < 0) {
        json_decref(meta);
        return NULL;
    }
    return meta;
}

json_t *mkbase_object(enum opowned kind, json_t *meta)
{
    const struct kubekind *k = &opowned_kinds[kind];
    char api[64];

    (void)snprintf(api, sizeof(api), "%s%s%s", k->group, *k->group ? "/" : "", k->version);
    return json_pack("{s:s, s:s, s:o}", "apiVersion", api, "kind", k->kind, "metadata", meta);
}

/* ---- merging --------------------------------------------------------------------------------- */

/* The member that tells the items of a list apart; NULL: the list is one value. */
static const char *key_of(const char *list)
{
    static const struct {
        const char *list, *key;
    } keys[] = {
        { "containers", "name" },        { "initContainers", "name" },
        { "volumes", "name" },           { "env", "name" },
        { "volumeMounts", "mountPath" }, { "ports", "containerPort" },
        { "imagePullSecrets", "name" },  { "hostAliases", "ip" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        if (strcmp(keys[i].list, list) == 0)
            return keys[i].key;
    return NULL;
}

static json_t *merge_value(const char *name, json_t *built, json_t *user);

static size_t find_item(const json_t *list, const char *key, const json_t *item)
{
    size_t i;
    json_t *one;

    json_array_foreach(list, i, one)
    {
        if (json_equal(json_object_get(one, key), json_object_get(item, key)))
            break;
    }
    return i;
}

static json_t *merge_list(const char *key, const json_t *built, const json_t *user)
{
    json_t *list = json_copy((json_t *)(uintptr_t)built), *one;
    size_t i;

    json_array_foreach(user, i, one)
    {
        size_t at = find_item(list, key, one);
        json_t *merged = merge_value("", json_array_get(list, at), one);

        if (!merged || (at < json_array_size(list) ? json_array_set_new(list, at, merged)
                                                   : json_array_append_new(list, merged)) < 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static bool has_handler(const json_t *probe)
{
    return json_object_get(probe, "exec") || json_object_get(probe, "httpGet") ||
           json_object_get(probe, "tcpSocket") || json_object_get(probe, "grpc");
}

static json_t *merge_object(const json_t *built, const json_t *user)
{
    json_t *merged = json_copy((json_t *)(uintptr_t)built), *value;
    const char *key;

    if (has_handler(user)) { /* of a probe: there may be one only */
        (void)json_object_del(merged, "exec");
        (void)json_object_del(merged, "httpGet");
        (void)json_object_del(merged, "tcpSocket");
    }
    json_object_foreach((json_t *)(uintptr_t)user, key, value)
    {
        json_t *one = merge_value(key, json_object_get(merged, key), value);

        if (json_is_null(value)) {
            json_decref(one);
            (void)json_object_del(merged, key);
        } else if (!one || json_object_set_new(merged, key, one) < 0) {
            json_decref(merged);
            return NULL;
        }
    }
    return merged;
}

static json_t *merge_value(const char *name, json_t *built, json_t *user)
{
    if (json_is_object(built) && json_is_object(user))
        return merge_object(built, user);
    if (json_is_array(built) && json_is_array(user)) {
        if (key_of(name))
            return merge_list(key_of(name), built, user);
        if (strcmp(name, "args") == 0 || strcmp(name, "tolerations") == 0) {
            json_t *list = json_copy(built);

            if (list && json_array_extend(list, user) == 0)
                return list;
            json_decref(list);
            return NULL;
        }
    }
    return json_incref(user);
}

json_t *mkbase_merge(const json_t *built, const json_t *user)
{
    if (!json_is_object(user))
        return json_incref((json_t *)(uintptr_t)built);
    return merge_object(built, user);
}

json_t *mkbase_container(const struct mkbase_facts *f, const char *key, json_t *built)
{
    _cleanup_json_ json_t *base = built;
    json_t *merged;

    if (!base)
        return NULL;
    if (f->image && json_object_set_new(base, "image", json_string(f->image)) < 0)
        return NULL;
    merged = mkbase_merge(base, json_object_get(json_object_get(f->cr, "spec"), key));
    if (merged)
        (void)json_object_set(merged, "name", json_object_get(base, "name")); /* probes name it */
    return merged;
}

/* Containers of the user's template stand behind the built ones, whatever their names. */
static int append_containers(json_t *spec, json_t *user, const char *list)
{
    const json_t *more = json_object_get(user, list);
    json_t *have = json_object_get(spec, list);

    if (!json_is_array(more))
        return 0;
    if (!have)
        return json_object_set(spec, list, (json_t *)(uintptr_t)more) < 0 ? -ENOMEM : 0;
    if (json_array_extend(have, (json_t *)(uintptr_t)more) < 0)
        return -ENOMEM;
    return json_object_del(user, list) < 0 ? -ENOMEM : 0;
}

json_t *mkbase_template(const struct mkbase_facts *f, json_t *meta, json_t *spec)
{
    _cleanup_json_ json_t *m = meta, *built = spec;
    const json_t *from = kubejson_at(f->cr, "spec.template.spec");
    _cleanup_json_ json_t *user =
        json_is_object(from) ? json_copy((json_t *)(uintptr_t)from) : json_object();
    json_t *merged;

    if (!m || !built || !user || append_containers(built, user, "containers") < 0 ||
        append_containers(built, user, "initContainers") < 0)
        return NULL;
    merged = mkbase_merge(built, user);
    return merged ? json_pack("{s:O, s:o}", "metadata", m, "spec", merged) : NULL;
}

json_t *mkbase_logfile(const struct mkbase_facts *f, const char *path)
{
    static const char script[] = "rm -f \"$SOCKET\"; mkfifo -m 666 \"$SOCKET\"; "
                                 "exec 3<>\"$SOCKET\"; exec cat <&3";

    return mkbase_container(f, "logfile",
                            json_pack("{s:s, s:s, s:[s, s, s], s:[{s:s, s:s}], s:[{s:s, s:s}]}",
                                      "name", "logfile", "restartPolicy", "Always", "command", "sh",
                                      "-c", script, "env", "name", "SOCKET", "value", path,
                                      "volumeMounts", "name", "slurm-logfile", "mountPath",
                                      "/var/log/slurm"));
}

/* ---- services -------------------------------------------------------------------------------- */

json_t *mkbase_service(const struct mkbase_facts *f, const char *name, const char *app,
                       const char *component, const char *port, int number, json_t *selector)
{
    _cleanup_json_ json_t *chosen = selector;
    const json_t *user = kubejson_at(f->cr, "spec.service");
    int64_t shown = kubejson_int(user, "port", number), at = kubejson_int(user, "nodePort", 0);
    _cleanup_json_ json_t *spec = json_is_object(json_object_get(user, "spec"))
                                      ? json_deep_copy(json_object_get(user, "spec"))
                                      : json_object();
    _cleanup_json_ json_t *ports = NULL;
    json_t *one = json_pack("{s:s, s:I, s:s, s:s}", "name", port, "port", (json_int_t)shown,
                            "protocol", "TCP", "targetPort", port);
    json_t *service = mkbase_object(OPOWNED_SERVICES,
                                    mkbase_meta(f, name, app, component, "spec.service.metadata"));

    if (one && at)
        (void)json_object_set_new(one, "nodePort", json_integer(at));
    ports = json_is_array(json_object_get(spec, "ports"))
                ? json_copy(json_object_get(spec, "ports"))
                : json_array();
    (void)json_object_del(spec, "externalIPs"); /* anybody's addresses could be taken with them */
    if (!service || !chosen || json_array_insert_new(ports, 0, one) < 0 ||
        json_object_set(spec, "ports", ports) < 0 ||
        (json_object_get(spec, "selector") &&
         json_object_update(chosen, json_object_get(spec, "selector")) < 0) ||
        json_object_set(spec, "selector", chosen) < 0 ||
        json_object_set(service, "spec", spec) < 0) {
        json_decref(service);
        return NULL;
    }
    return service;
}

/* ---- references and hashes ------------------------------------------------------------------- */

struct mkbase_ref mkbase_ref(const json_t *cr, const char *path, const char *name, const char *key)
{
    const json_t *ref = kubejson_at(cr, path);
    const char *n = kubejson_text(ref, "name"), *k = kubejson_text(ref, "key");

    return (struct mkbase_ref){ *n ? n : name, *n && *k ? k : key };
}

void mkbase_keys(const json_t *cr, struct mkbase_keys *ret)
{
    const struct opgroup *group = opkinds_group(cr);
    bool made = group && group->keys_made;
    const char *name = kubejson_name(cr);

    (void)snprintf(ret->slurm_name, sizeof(ret->slurm_name), "%s-auth-slurm", name);
    (void)snprintf(ret->jwt_name, sizeof(ret->jwt_name), "%s-auth-jwt", name);
    ret->slurm = mkbase_ref(cr, "spec.slurmKeyRef", made ? ret->slurm_name : "", "slurm.key");
    ret->jwt = mkbase_ref(cr, "spec.jwtHs256KeyRef", made ? ret->jwt_name : "", "jwt.key");
    ret->jwt = mkbase_ref(cr, "spec.jwtKeyRef", ret->jwt.name, ret->jwt.key);
    ret->jwks = mkbase_ref(cr, "spec.jwksKeyRef", "", "jwks.json");
}

static void write_hex(const struct digest *d, char ret[static MKBASE_HASH])
{
    for (size_t i = 0; i < DIGEST_SIZE; i++)
        (void)snprintf(ret + 2 * i, 3, "%02x", d->bytes[i]);
}

/* A value of a Secret is base64 of bytes; what is none counts as it stands. */
static void add_value(struct strbuf *all, const char *text, bool coded)
{
    _cleanup_free_ char *bytes = NULL;
    size_t len = 0;

    if (text && coded && kubeconfig_base64(text, &bytes, &len) == 0) {
        strbuf_addn(all, bytes, len);
        if (len)
            explicit_bzero(bytes, len);
    } else if (text) {
        strbuf_add(all, text);
    }
}

static void hash_values(const json_t *map, bool coded, char ret[static MKBASE_HASH])
{
    size_t n = json_object_size(map), i = 0;
    _cleanup_free_ const char **keys = calloc(n + 1, sizeof(*keys));
    struct strbuf all = STRBUF_INIT;
    struct digest d;
    const char *key;
    json_t *value;

    ret[0] = '\0';
    if (!keys)
        return;
    json_object_foreach((json_t *)(uintptr_t)map, key, value) keys[i++] = key;
    qsort(keys, n, sizeof(*keys), order_text);
    for (i = 0; i < n; i++)
        add_value(&all, json_string_value(json_object_get(map, keys[i])), coded);
    if (!all.failed && digest_of(strbuf_str(&all), all.len, &d) == 0)
        write_hex(&d, ret);
    if (coded && all.len)
        explicit_bzero(all.buf, all.len);
    strbuf_done(&all);
}

void mkbase_hash(const json_t *map, char ret[static MKBASE_HASH])
{
    hash_values(map, false, ret);
}

void mkbase_hash_secret(const json_t *data, char ret[static MKBASE_HASH])
{
    hash_values(data, true, ret);
}

void mkbase_hash_of(const struct mkbase_facts *f, const char *kind, const struct mkbase_ref *ref,
                    char ret[static MKBASE_HASH])
{
    const json_t *object = mkbase_find(f, kind, ref->name);
    const json_t *value = json_object_get(json_object_get(object, "data"), ref->key);
    _cleanup_json_ json_t *map = value ? json_pack("{s:O}", "v", value) : NULL;

    ret[0] = '\0';
    if (map)
        hash_values(map, strcmp(kind, "Secret") == 0, ret);
}

int mkbase_note(json_t *meta, const char *key, const char *value)
{
    json_t *notes = json_object_get(meta, "annotations");

    if (!notes && json_object_set_new(meta, "annotations", notes = json_object()) < 0)
        return -ENOMEM;
    return json_object_set_new(notes, key, json_string(value)) < 0 ? -ENOMEM : 0;
}

json_t *mkbase_base64(const void *data, size_t len)
{
    _cleanup_free_ unsigned char *text = malloc(len / 3 * 4 + 8);

    if (!text || len > INT32_MAX / 2)
        return NULL;
    (void)EVP_EncodeBlock(text, data, (int)len);
    return json_string((const char *)text);
}

json_t *mkbase_source(const char *kind, const struct mkbase_ref *ref, const char *path)
{
    return json_pack("{s:{s:s, s:[{s:s, s:s}]}}",
                     strcmp(kind, "Secret") == 0 ? "secret" : "configMap", "name", ref->name,
                     "items", "key", ref->key, "path", path);
}

size_t mkbase_value_length(const char *text)
{
    size_t n = 0;

    while ((unsigned char)text[n] > ' ' && text[n] != 0x7f && !strchr("#\"\\", text[n]))
        n++;
    return n;
}
