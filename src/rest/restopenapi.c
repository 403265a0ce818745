/* restopenapi.c - the OpenAPI document of what is served; see restopenapi.h */
#include "rest/restopenapi.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/format/json_job.h"
#include "rest/restpath.h"
#include "version.h"

#define PATH_BYTES 256u

bool restopenapi_is(const char *path, bool *ret_yaml)
{
    static const char *const paths[] = { "/openapi", "/openapi/", "/openapi.json", "/openapi/v3",
                                         "/openapi.yaml" };

    for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
        if (strcmp(path, paths[i]) == 0) {
            *ret_yaml = i + 1 == ARRAY_SIZE(paths);
            return true;
        }
    return false;
}

struct writing {
    struct json js;
    const struct rest_config *config;
    const struct restschema *schema;
    unsigned version;
};

/* ---- types ----------------------------------------------------------------------------------- */

static void put_type(struct writing *w, const char *key, const json_t *type, bool outer);

static void put_ref(struct writing *w, const char *name)
{
    char ref[PATH_BYTES];

    (void)snprintf(ref, sizeof(ref), "#/components/schemas/v0.0.%u_%s", w->version,
                   name); /* fits */
    json_str(&w->js, "$ref", ref);
}

static void put_scalar(struct writing *w, const char *code)
{
    static const struct {
        const char *code, *type, *format;
    } scalars[] = {
        { "s", "string", NULL },       { "b", "boolean", NULL },      { "i", "integer", NULL },
        { "i32", "integer", "int32" }, { "i64", "integer", "int64" }, { "n", "number", NULL },
        { "nd", "number", "double" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(scalars); i++)
        if (strcmp(scalars[i].code, code) == 0) {
            json_str(&w->js, "type", scalars[i].type);
            if (scalars[i].format)
                json_str(&w->js, "format", scalars[i].format);
        }
}

/* The members of the object that is open. */
static void put_code(struct writing *w, const char *code)
{
    bool deprecated = code[0] == '!';

    code += deprecated;
    if (code[0] == '@') {
        put_ref(w, code + 1);
    } else if (strncmp(code, "[]", 2) == 0) {
        json_str(&w->js, "type", "array");
        json_map(&w->js, "items");
        put_code(w, code + 2);
        json_map_end(&w->js);
    } else {
        put_scalar(w, code);
    }
    if (deprecated)
        json_bool(&w->js, "deprecated", true);
}

/* What is counted out has other words before v0.0.45. */
static bool are_select_words(const json_t *words)
{
    const char *word = json_string_value(json_array_get(words, 13));

    return word && strcmp(word, "LL_SHARED_GRES") == 0;
}

/* "task_binding" of a partition is a number before v0.0.45. */
static bool are_binding_words(const json_t *words)
{
    const char *sixth = json_string_value(json_array_get(words, 5));

    return sixth && strcmp(sixth, "CPU_BIND_OFF") == 0;
}

static void put_words(struct writing *w, const json_t *words)
{
    bool older = w->version < 45 && are_select_words(words);
    const char *text;
    json_t *word;
    size_t i;

    json_list(&w->js, "enum");
    for (i = 0; older && (text = json_select_word_before_45(i)); i++)
        json_str(&w->js, NULL, text);
    if (older)
        words = NULL;
    json_array_foreach(words, i, word)
    {
        if (i || strcmp(json_string_value(word), "!") != 0)
            json_str(&w->js, NULL, json_string_value(word));
    }
    json_list_end(&w->js);
    json_str(&w->js, "type", "string");
}

/* "*name", "name@43": since v0.0.43, "name@-44": until v0.0.44.  false: this version lacks it. */
static bool field_name(const struct writing *w, const char *key, char *name, size_t size)
{
    const char *at = strchr(key, '@');
    long version = at ? strtol(at + 1, NULL, 10) : 0; /* our own text */
    int len;

    key += key[0] == '*';
    len = at ? (int)(at - key) : (int)strlen(key);
    (void)snprintf(name, size, "%.*s", len, key); /* fits */
    return version < 0 ? (long)w->version <= -version : version <= (long)w->version;
}

/* Names of required fields; of nested ones with the outer's name and a slash before. */
static void put_required(struct writing *w, const json_t *fields, const char *before)
{
    const char *key;
    json_t *type;

    json_object_foreach((json_t *)(uintptr_t)fields, key, type)
    {
        char name[PATH_BYTES];

        (void)snprintf(name, sizeof(name), "%s%s", before, key + (key[0] == '*')); /* fits */
        if (key[0] == '*')
            json_str(&w->js, NULL, name);
        if (json_is_object(type)) {
            (void)strncat(name, "/", sizeof(name) - strlen(name) - 1);
            put_required(w, type, name);
        }
    }
}

static void put_fields(struct writing *w, const json_t *fields, bool outer)
{
    char name[PATH_BYTES];
    const char *key;
    json_t *type;

    json_str(&w->js, "type", "object");
    json_map(&w->js, "properties");
    json_object_foreach((json_t *)(uintptr_t)fields, key, type)
    {
        if (field_name(w, key, name, sizeof(name)))
            put_type(w, name, type, false);
    }
    json_map_end(&w->js);
    if (!outer)
        return;
    json_list(&w->js, "required");
    put_required(w, fields, "");
    json_list_end(&w->js);
}

static void put_type(struct writing *w, const char *key, const json_t *type, bool outer)
{
    json_map(&w->js, key);
    if (json_is_object(type)) {
        put_fields(w, type, outer);
    } else if (w->version < 45 && are_binding_words(type)) {
        put_code(w, "i32");
    } else if (json_is_array(type)) {
        json_str(&w->js, "type", "array");
        json_map(&w->js, "items");
        put_words(w, type);
        json_map_end(&w->js);
        if (strcmp(json_string_value(json_array_get(type, 0)), "!") == 0)
            json_bool(&w->js, "deprecated", true);
    } else {
        put_code(w, json_string_value(type));
    }
    json_map_end(&w->js);
}

/* ---- operations ------------------------------------------------------------------------------ */

/* "/slurm/v0.0.45/job/{job_id}" of an operation. */
static void make_path(const json_t *op, unsigned version, char *path, size_t size)
{
    const char *text = json_string_value(json_object_get(op, "path"));
    const char *star = strchr(text, '*');

    (void)snprintf(path, size, "%.*sv0.0.%u%s", (int)(star - text), text, version, star + 1);
}

/* Has it a row, in this version? */
static bool is_served(const struct writing *w, const json_t *op)
{
    const char *method = json_string_value(json_object_get(op, "method"));
    char path[PATH_BYTES], upper[16];
    struct rest_path found;
    size_t n = 0;

    for (; method[n] && n + 1 < sizeof(upper); n++)
        upper[n] = (char)toupper((unsigned char)method[n]);
    upper[n] = '\0';
    make_path(op, w->version, path, sizeof(path));
    return restpath_find(w->config->rows, upper, path, &found) == 0 &&
           (w->config->plugins & 1u << found.plugin) &&
           json_integer_value(json_object_get(op, "since")) <= (json_int_t)w->version;
}

/* "?*name" or ["?*name", word ...]: ? may be empty, * is required. */
static void put_parameter(struct writing *w, const json_t *word, const char *path)
{
    const char *name = json_string_value(json_is_array(word) ? json_array_get(word, 0) : word);
    bool empty = name[0] == '?', required;
    char braces[PATH_BYTES];
    bool in_path;
    json_t *one;
    size_t i;

    name += empty;
    required = name[0] == '*';
    name += required;
    (void)snprintf(braces, sizeof(braces), "{%s}", name); /* fits */
    in_path = strstr(path, braces) != NULL;
    json_map(&w->js, NULL);
    json_str(&w->js, "in", in_path ? "path" : "query");
    json_str(&w->js, "name", name);
    json_str(&w->js, "style", in_path ? "simple" : "form");
    json_bool(&w->js, "explode", false);
    json_bool(&w->js, "allowEmptyValue", empty);
    json_bool(&w->js, "allowReserved", false);
    json_bool(&w->js, "required", required);
    json_map(&w->js, "schema");
    json_str(&w->js, "type", "string");
    if (json_is_array(word)) {
        json_list(&w->js, "enum");
        json_array_foreach(word, i, one)
        {
            if (i)
                json_str(&w->js, NULL, json_string_value(one));
        }
        json_list_end(&w->js);
    }
    json_map_end(&w->js);
    json_map_end(&w->js);
}

static void put_content(struct writing *w, const char *key, const char *type,
                        const char *description)
{
    json_map(&w->js, key);
    json_map(&w->js, "content");
    json_map(&w->js, "application/json");
    json_map(&w->js, "schema");
    put_ref(w, type);
    json_map_end(&w->js);
    json_map_end(&w->js);
    json_map_end(&w->js);
    json_str(&w->js, "description", description);
    json_map_end(&w->js);
}

static void put_operation(struct writing *w, const json_t *op, const char *path)
{
    const char *method = json_string_value(json_object_get(op, "method"));
    const char *answer = json_string_value(json_object_get(op, "answer"));
    const json_t *words = json_object_get(op, "words"), *body = json_object_get(op, "body");
    char plugin[16], text[PATH_BYTES];
    json_t *word;
    size_t i;

    (void)snprintf(plugin, sizeof(plugin), "%.*s", (int)strcspn(path + 1, "/"), path + 1);
    json_map(&w->js, method);
    json_one(&w->js, "tags", plugin);
    (void)snprintf(text, sizeof(text), "%s %s", method, strchr(strchr(path + 1, '/') + 1, '/'));
    json_str(&w->js, "summary", text);
    (void)snprintf(text, sizeof(text), "%s_v00%u_%s", plugin, w->version,
                   json_string_value(json_object_get(op, "id"))); /* both fit */
    json_str(&w->js, "operationId", text);
    if (words) {
        json_list(&w->js, "parameters");
        json_array_foreach(words, i, word) put_parameter(w, word, path);
        json_list_end(&w->js);
    }
    json_map(&w->js, "responses");
    put_content(w, "200", answer, "the answer");
    put_content(w, "default", answer, "the answer");
    json_map_end(&w->js);
    if (body)
        put_content(w, "requestBody", json_string_value(body), "what is asked for");
    json_map_end(&w->js);
}

/* Operations of one path stand side by side. */
static void put_paths(struct writing *w)
{
    char path[PATH_BYTES], open[PATH_BYTES] = "";
    json_t *op;
    size_t i;

    json_array_foreach(restschema_operations(w->schema), i, op)
    {
        if (!is_served(w, op))
            continue;
        make_path(op, w->version, path, sizeof(path));
        if (strcmp(path, open) != 0) {
            if (open[0])
                json_map_end(&w->js);
            json_map(&w->js, path);
            memcpy(open, path, sizeof(open));
        }
        put_operation(w, op, path);
    }
    if (open[0])
        json_map_end(&w->js);
}

static void put_schemas(struct writing *w)
{
    const char *name;
    char text[PATH_BYTES];
    json_t *type;

    json_object_foreach((json_t *)(uintptr_t)restschema_types(w->schema), name, type)
    {
        (void)snprintf(text, sizeof(text), "v0.0.%u_%s", w->version, name); /* fits */
        put_type(w, text, type, true);
    }
}

/* ---- the document ---------------------------------------------------------------------------- */

typedef void put_version_fn(struct writing *w);

static void each_version(struct writing *w, put_version_fn *put)
{
    for (w->version = REST_OLDEST; w->version <= REST_NEWEST; w->version++)
        if (w->config->versions & UINT64_C(1) << w->version)
            put(w);
}

static void put_tags(struct json *js)
{
    static const char *const tags[][2] = {
        { "slurm", "what slurmctld answers" },
        { "slurmdb", "what slurmdbd answers" },
        { "util", "what slurmrestd answers by itself" },
        { "openapi", "this document" },
    };

    json_list(js, "tags");
    for (size_t i = 0; i < ARRAY_SIZE(tags); i++) {
        json_map(js, NULL);
        json_str(js, "name", tags[i][0]);
        json_str(js, "description", tags[i][1]);
        json_map_end(js);
    }
    json_list_end(js);
}

static void put_scheme(struct json *js, const char *key, const char *type, const char *name)
{
    json_map(js, key);
    json_str(js, "type", type);
    if (name) {
        json_str(js, "name", name);
        json_str(js, "in", "header");
    } else {
        json_str(js, "scheme", "bearer");
        json_str(js, "bearerFormat", "JWT");
    }
    json_map_end(js);
}

static void put_parser(struct writing *w)
{
    char text[16];

    (void)snprintf(text, sizeof(text), "v0.0.%u", w->version); /* fits */
    json_map(&w->js, NULL);
    json_str(&w->js, "plugin", text);
    json_one(&w->js, "flags", "NONE");
    json_map_end(&w->js);
}

static void put_info(struct writing *w)
{
    static const char *const plugins[] = { "openapi/slurmctld", "openapi/slurmdbd",
                                           "openapi/util" };
    char major[16] = "", minor[16] = "", micro[16] = "";
    struct json *js = &w->js;

    (void)sscanf(SLURM_RELEASE, "%15[0-9].%15[0-9].%15[0-9]", major, minor, micro);
    json_map(js, "info");
    json_map(js, "license");
    json_str(js, "name", "Apache 2.0");
    json_str(js, "url", "https://www.apache.org/licenses/LICENSE-2.0.html");
    json_map_end(js);
    json_map(js, "x-slurm");
    json_list(js, "data_parsers");
    each_version(w, put_parser);
    json_list_end(js);
    json_list(js, "openapi");
    for (size_t i = 0; i < ARRAY_SIZE(plugins); i++)
        if (w->config->plugins & 1u << i)
            json_str(js, NULL, plugins[i]);
    json_list_end(js);
    json_map(js, "version");
    json_str(js, "major", major);
    json_str(js, "micro", micro);
    json_str(js, "minor", minor);
    json_map_end(js);
    json_str(js, "release", SLURM_RELEASE);
    json_map_end(js);
    json_str(js, "title", "Slurm REST API");
    json_str(js, "description", "The REST API of Slurm, served by Penstock");
    json_str(js, "version", "Slurm-" SLURM_RELEASE);
    json_map_end(js);
}

/* {"user": [], "token": []} and the like: any one of them is enough. */
static void put_security(struct json *js)
{
    static const char *const ways[][2] = {
        { "user", "token" }, { "token", NULL }, { "bearerAuth", NULL }, { NULL, NULL }
    };

    json_list(js, "security");
    for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
        json_map(js, NULL);
        for (size_t k = 0; k < 2 && ways[i][k]; k++) {
            json_list(js, ways[i][k]);
            json_list_end(js);
        }
        json_map_end(js);
    }
    json_list_end(js);
}

int restopenapi_make(const struct rest_config *config, const struct restschema *schema, bool yaml,
                     char **ret)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    struct writing w = { .config = config, .schema = schema };
    struct json *js = &w.js;

    json_begin(js, &sb, yaml ? JSON_YAML : JSON_PRETTY);
    js->bare_end = true;
    put_tags(js);
    json_map(js, "paths");
    each_version(&w, put_paths);
    json_map_end(js);
    json_map(js, "components");
    json_map(js, "schemas");
    each_version(&w, put_schemas);
    json_map_end(js);
    json_map(js, "securitySchemes");
    put_scheme(js, "user", "apiKey", "X-SLURM-USER-NAME");
    put_scheme(js, "token", "apiKey", "X-SLURM-USER-TOKEN");
    put_scheme(js, "bearerAuth", "http", NULL);
    json_map_end(js);
    json_map_end(js);
    put_info(&w);
    json_list(js, "servers");
    json_map(js, NULL);
    json_str(js, "url", "/");
    json_map_end(js);
    json_list_end(js);
    put_security(js);
    json_str(js, "openapi", "3.0.3");
    json_end(js);
    return strbuf_detach(&sb, ret);
}
