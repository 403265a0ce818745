/* tgrequest.c - see tgrequest.h */
#include "topograph/run/tgrequest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "topograph/read/docjson.h"
#include "topograph/write/tglabels.h"

void tgrequest_done(struct tgrequest *q)
{
    graph_wanted_done(&q->wanted);
    json_decref(q->document);
    *q = (struct tgrequest){ 0 };
}

/* ---- parameters ------------------------------------------------------------------------------ */

int tgrequest_text(const json_t *params, const char *key, const char **ret, struct err *err)
{
    const json_t *v = json_object_get(params, key);

    if (v && !json_is_null(v) && !json_is_string(v))
        return err_set(err, -EINVAL, "%s: a text is expected", key);
    *ret = json_string_value(v);
    return 0;
}

int tgrequest_flag(const json_t *params, const char *key, bool *ret, struct err *err)
{
    const json_t *v = json_object_get(params, key);

    if (v && !json_is_null(v) && !json_is_boolean(v))
        return err_set(err, -EINVAL, "%s: true or false is expected", key);
    *ret = json_is_true(v);
    return 0;
}

int tgrequest_count(const json_t *params, const char *key, uint64_t most, uint64_t *ret,
                    struct err *err)
{
    const json_t *v = json_object_get(params, key);

    if (v && !json_is_null(v) &&
        (!json_is_integer(v) || json_integer_value(v) < 0 ||
         (uint64_t)json_integer_value(v) > most))
        return err_set(err, -EINVAL, "%s: a number from 0 to %llu is expected", key,
                       (unsigned long long)most);
    *ret = (uint64_t)json_integer_value(v);
    return 0;
}

int tgrequest_nth(const json_t *params, const char *key, size_t i, const char **ret,
                  struct err *err)
{
    const json_t *v = json_object_get(params, key);

    if (json_is_array(v))
        v = json_array_get(v, i);
    else if (i > 0)
        v = NULL;
    if (v && !json_is_string(v))
        return err_set(err, -EINVAL, "%s: a text or a list of texts is expected", key);
    *ret = json_string_value(v);
    return 0;
}

int tgrequest_keys(const json_t *params, const char *what, const char *const *keys, struct err *err)
{
    json_t *p = (json_t *)(uintptr_t)params, *v; /* jansson's walk has no const */
    const char *key;

    json_object_foreach(p, key, v)
    {
        size_t i = 0;

        while (keys[i] && strcmp(keys[i], key) != 0)
            i++;
        if (!keys[i])
            return err_set(err, -EINVAL, "%s has no parameter %.64s", what, key);
    }
    return 0;
}

/* ---- defaults and strangers ------------------------------------------------------------------ */

/* An own object below key of the document, made when it is not there. */
static int own_object(json_t *document, const char *key, json_t **ret, struct err *err)
{
    json_t *v = json_object_get(document, key);

    if (v && !json_is_null(v)) {
        *ret = v;
        return json_is_object(v) ? 0 : err_set(err, -EINVAL, "%s: an object is expected", key);
    }
    v = json_object();
    if (json_object_set_new(document, key, v) < 0)
        return err_nomem(err);
    *ret = v;
    return 0;
}

static int fill_part(json_t *document, const json_t *defaults, const char *part, struct err *err)
{
    const json_t *given = json_object_get(defaults, part);
    const json_t *name = json_object_get(given, "name"), *more = json_object_get(given, "params");
    json_t *own = NULL, *params = NULL;
    int r = own_object(document, part, &own, err);

    if (r == 0)
        r = own_object(own, "params", &params, err);
    if (r == 0 && name && !json_object_get(own, "name"))
        r = json_object_set(own, "name", (json_t *)(uintptr_t)name) < 0 ? err_nomem(err) : 0;
    if (r == 0 && more && json_object_update_missing(params, (json_t *)(uintptr_t)more) < 0)
        r = err_nomem(err);
    return r;
}

/* A file of the data folder, by its name alone. */
static json_t *data_path(const json_t *name, const struct tgrequest_stranger *s, struct err *err)
{
    const char *text = json_string_value(name);

    if (!text || !*text || *text == '.' || strchr(text, '/') || strlen(text) > GRAPH_NAME_MAX) {
        (void)err_set(err, -EINVAL, "a file is named by its name in the data folder");
        return NULL;
    }
    if (!s->data) {
        (void)err_set(err, -EINVAL, "requests may name no files: the service has no data folder");
        return NULL;
    }
    return json_sprintf("%s/%s", s->data, text);
}

static int confine_files(json_t *params, const char *key, const struct tgrequest_stranger *s,
                         struct err *err)
{
    json_t *v = json_object_get(params, key), *path;
    int r = 0;

    if (!v || json_is_null(v))
        return 0;
    for (size_t i = 0; r == 0 && json_is_array(v) && i < json_array_size(v); i++) {
        path = data_path(json_array_get(v, i), s, err);
        r = path ? json_array_set_new(v, i, path) : -EINVAL;
    }
    if (!json_is_array(v)) {
        path = data_path(v, s, err);
        r = path ? json_object_set_new(params, key, path) : -EINVAL;
    }
    return r;
}

/* Before the defaults are filled in: those are the operator's. */
static int confine_request(json_t *document, const struct tgrequest_stranger *s, struct err *err)
{
    static const char *const files[] = { "file", "acceleratorFile", "modelFileName" };
    static const char *const own[] = { "command", "acceleratorCommand", "topologyConfigPath",
                                       "reconfigure", "apply" };
    static const char *const parts[] = { "provider", "engine" };
    int r = 0;

    for (size_t p = 0; p < ARRAY_SIZE(parts); p++) {
        json_t *params = json_object_get(json_object_get(document, parts[p]), "params");

        for (size_t i = 0; i < ARRAY_SIZE(own); i++)
            if (json_object_get(params, own[i]))
                return err_set(err, -EINVAL,
                               "%s is not taken from requests: set it in the "
                               "service's configuration",
                               own[i]);
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(files); i++)
            r = confine_files(params, files[i], s, err);
    }
    return r;
}

/* ---- requests -------------------------------------------------------------------------------- */

static int read_instances(struct tgrequest *q, const json_t *region, struct err *err)
{
    json_t *instances = json_object_get(region, "instances"), *name;
    const char *id;
    int r = 0;

    if (!json_is_object(instances))
        return err_set(err, -EINVAL, "nodes: an object `instances` is expected in each");
    json_object_foreach(instances, id, name)
    {
        const char *text = json_string_value(name);

        r = text ? graph_wanted_add(&q->wanted, id, text, err)
                 : err_set(err, -EINVAL, "nodes: instance %.64s has no name", id);
        if (r < 0)
            break;
    }
    return r;
}

static int read_nodes(struct tgrequest *q, const json_t *nodes, struct err *err)
{
    int r = 0;

    if (!nodes || json_is_null(nodes))
        return 0;
    if (!json_is_array(nodes))
        return err_set(err, -EINVAL, "nodes: a list is expected");
    for (size_t i = 0; r == 0 && i < json_array_size(nodes); i++)
        r = read_instances(q, json_array_get(nodes, i), err);
    q->has_nodes = q->wanted.n > 0;
    return r;
}

int tgrequest_make(json_t *document, struct tgrequest *ret, struct err *err)
{
    struct tgrequest q = { 0 };
    json_t *provider = NULL, *engine = NULL;
    int r = own_object(document, "provider", &provider, err);

    if (r == 0)
        r = own_object(provider, "params", &q.provider_params, err);
    if (r == 0)
        r = own_object(document, "engine", &engine, err);
    if (r == 0)
        r = own_object(engine, "params", &q.engine_params, err);
    if (r == 0)
        r = tgrequest_text(provider, "name", &q.provider, err);
    if (r == 0)
        r = tgrequest_text(engine, "name", &q.engine, err);
    if (r == 0)
        r = read_nodes(&q, json_object_get(document, "nodes"), err);
    if (r < 0) {
        graph_wanted_done(&q.wanted);
        return r;
    }
    q.document = document;
    *ret = q;
    return 0;
}

int tgrequest_parse(const char *text, size_t len, const json_t *defaults,
                    const struct tgrequest_stranger *stranger, struct tgrequest *ret,
                    struct err *err)
{
    _cleanup_json_ json_t *document = NULL;
    int r = 0;

    if (len)
        r = docjson_parse(text, len, &document, err);
    else
        document = json_object();
    if (r == 0 && !json_is_object(document))
        r = document ? err_set(err, -EINVAL, "a request is an object") : err_nomem(err);
    if (r == 0 && stranger)
        r = confine_request(document, stranger, err);
    if (r == 0)
        r = fill_part(document, defaults, "provider", err);
    if (r == 0)
        r = fill_part(document, defaults, "engine", err);
    if (r == 0)
        r = tgrequest_make(document, ret, err);
    if (r == 0)
        document = NULL; /* taken */
    return r;
}

int tgrequest_id(const struct tgrequest *q, char id[TGREQUEST_ID_SIZE])
{
    _cleanup_json_ json_t *what =
        json_pack("{s:{s:s?, s:O}, s:{s:s?, s:O}}", "provider", "name", q->provider, "params",
                  q->provider_params, "engine", "name", q->engine, "params", q->engine_params);
    char *text = what ? json_dumps(what, JSON_COMPACT | JSON_SORT_KEYS) : NULL;

    if (!text)
        return -ENOMEM;
    (void)snprintf(id, TGREQUEST_ID_SIZE, "%016llx", (unsigned long long)fnv_text(text));
    free(text);
    return 0;
}
