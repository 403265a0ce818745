/* restschema.c - the schema of the REST API; see restschema.h */
#include "rest/restschema.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "rest/restpath.h"
#include "wire/errors.h"

#define NAME_BYTES 128u

extern const char restschema_text[]; /* v0.0.45.json */

struct restschema {
    json_t *document;
};

int restschema_new(struct restschema **ret)
{
    struct restschema *schema = calloc(1, sizeof(*schema));

    if (!schema)
        return -ENOMEM;
    schema->document = json_loads(restschema_text, 0, NULL);
    if (!schema->document) {
        free(schema);
        return -ENOMEM; /* its form is ours */
    }
    *ret = schema;
    return 0;
}

struct restschema *restschema_free(struct restschema *schema)
{
    if (!schema)
        return NULL;
    json_decref(schema->document);
    free(schema);
    return NULL;
}

const json_t *restschema_operations(const struct restschema *schema)
{
    return json_object_get(schema->document, "operations");
}

const json_t *restschema_types(const struct restschema *schema)
{
    return json_object_get(schema->document, "schemas");
}

/* ---- which operation ------------------------------------------------------------------------- */

static const char *const plugin_words[] = { "slurm", "slurmdb", "util", "penstock" };

/* Is "/slurm/WILD/job/{job_id}/" the plugin and path of the row? */
static bool path_matches(const char *path, const struct rest_row *row)
{
    const char *plugin = plugin_words[row->plugin], *want = row->path;
    size_t len = strlen(plugin);

    if (path[0] != '/' || strncmp(path + 1, plugin, len) != 0 ||
        strncmp(path + 1 + len, "/*/", 3) != 0)
        return false;
    for (path += len + 4; *path && *want; want++) {
        if (*path != *want)
            return false;
        path += *path == '{' ? strcspn(path, "}") : 1;
        want += *want == '{';
        path += *path == '}';
    }
    return !*want && (!*path || strcmp(path, "/") == 0);
}

const json_t *restschema_find(const struct restschema *schema, const struct rest_row *row)
{
    json_t *op;
    size_t i;

    json_array_foreach(restschema_operations(schema), i, op)
    {
        if (strcasecmp(json_string_value(json_object_get(op, "method")), row->method) == 0 &&
            path_matches(json_string_value(json_object_get(op, "path")), row))
            return op;
    }
    return NULL;
}

/* ---- checking a body ------------------------------------------------------------------------- */

struct checking {
    const struct restschema *schema;
    struct rest_call *call;
    struct strbuf place; /* "#/job/" */
    const char *name;    /* of the schema that we are in */
    size_t index;        /* of the item of a list that we are at */
};

static const char *type_words(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "dictionary";
    case JSON_ARRAY:
        return "list";
    case JSON_STRING:
        return "string";
    case JSON_INTEGER:
        return "64 bit integer";
    case JSON_REAL:
        return "floating point number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "boolean";
    case JSON_NULL:
        return "null";
    }
    return "null";
}

static bool check_type(struct checking *c, const json_t *type, json_t *parent, const char *key,
                       json_t *value);

static bool refuse_value(struct checking *c, const json_t *value, const char *wanted)
{
    rest_error(c->call, ESLURM_REST_FAIL_PARSING, strbuf_str(&c->place), "Expected %s but got %s",
               wanted, type_words(value));
    c->call->status = rest_status_of(ESLURM_REST_INVALID_QUERY); /* it could be read */
    return false;
}

static void warn_unknown(struct checking *c, const char *key, const json_t *value)
{
    char parser[NAME_BYTES];
    size_t n = 0;

    for (const char *p = c->name; *p && n + 1 < sizeof(parser); p++)
        parser[n++] = (char)toupper((unsigned char)*p);
    parser[n] = '\0';
    strbuf_addf(&c->place, "%.128s/", key);
    rest_warning(c->call, strbuf_str(&c->place),
                 "Ignoring unknown field \"%.128s\" of type %s in DATA_PARSER_%s", key,
                 type_words(value), parser);
}

static void cut_place(struct checking *c, size_t len)
{
    c->place.len = len;
    if (c->place.buf)
        c->place.buf[len] = '\0';
}

/* The type of a field; NULL: there is none. */
static const json_t *field_type(const json_t *fields, const char *key)
{
    const json_t *type = json_object_get(fields, key);
    char required[NAME_BYTES];

    if (type || key[0] == '*')
        return key[0] == '*' ? NULL : type;
    (void)snprintf(required, sizeof(required), "*%s", key); /* cut: not there either */
    return json_object_get(fields, required);
}

static bool check_object(struct checking *c, const json_t *fields, json_t *value)
{
    size_t len = c->place.len;
    const char *key;
    json_t *member;
    void *next;

    if (!json_is_object(value))
        return refuse_value(c, value, "dictionary");
    json_object_foreach_safe(value, next, key, member)
    {
        const json_t *type = field_type(fields, key);
        bool ok = true;

        if (type) {
            strbuf_addf(&c->place, "%s/", key);
            ok = check_type(c, type, value, key, member);
        } else {
            warn_unknown(c, key, member);
            (void)json_object_del(value, key); /* it is there */
        }
        cut_place(c, len);
        if (!ok)
            return false;
    }
    return true;
}

static bool check_items(struct checking *c, const json_t *type, json_t *list)
{
    size_t len = c->place.len, i;
    json_t *item;

    json_array_foreach(list, i, item)
    {
        bool ok;

        strbuf_addf(&c->place, "%zu/", i);
        c->index = i;
        ok = check_type(c, type, list, NULL, item);
        cut_place(c, len);
        if (!ok)
            return false;
    }
    return true;
}

/* The word of a list that a text is, in any case; NULL: none. */
static json_t *listed_word(const json_t *words, const char *text, size_t len)
{
    json_t *word;
    size_t i;

    json_array_foreach(words, i, word)
    {
        const char *known = json_string_value(word);

        if (strcmp(known, "!") != 0 && strlen(known) == len && strncasecmp(known, text, len) == 0)
            return word;
    }
    return NULL;
}

/* Put a better value in place of the one that we are at.  Without memory a list or an object cannot
 * take it, and the old one would be misread: the request ends. */
static bool put_value(struct checking *c, json_t *parent, const char *key, json_t *better)
{
    int r = !better || !parent ? -1
            : key              ? json_object_set_new(parent, key, better)
                               : json_array_set_new(parent, c->index, better);

    if (r == 0)
        return true;
    rest_error(c->call, EPST_BUSY, strbuf_str(&c->place), ERR_NOMEM);
    return false;
}

static bool add_word(struct checking *c, const json_t *words, json_t *list, const char *text,
                     size_t len)
{
    json_t *word = listed_word(words, text, len);

    if (word) /* a copy: other requests use the schema's, whose references are counted */
        return json_array_append_new(list, json_copy(word)) == 0;
    rest_error(c->call, ESLURM_REST_FAIL_PARSING, strbuf_str(&c->place), "Unknown flag \"%.*s\"",
               (int)MIN(len, NAME_BYTES), text);
    c->call->status = rest_status_of(ESLURM_REST_INVALID_QUERY);
    return false;
}

static bool add_words(struct checking *c, const json_t *words, const json_t *value, json_t *list)
{
    const char *text = json_string_value(value);
    json_t *item;
    size_t i, len;

    for (const char *p = text; p && *p; p += len + (p[len] == ',')) {
        len = strcspn(p, ",");
        if (len && !add_word(c, words, list, p, len))
            return false;
    }
    json_array_foreach(value, i, item)
    {
        if (!json_is_string(item))
            return refuse_value(c, item, "string");
        if (!add_word(c, words, list, json_string_value(item), json_string_length(item)))
            return false;
    }
    return true;
}

/* Words in a list, or between the commas of a text, become a list of words as the schema has them:
 * who reads them need not look at their case. */
static bool check_words(struct checking *c, const json_t *words, json_t *parent, const char *key,
                        const json_t *value)
{
    json_t *list;

    if (!json_is_string(value) && !json_is_array(value))
        return refuse_value(c, value, "list");
    list = json_array();
    if (!list || add_words(c, words, value, list))
        return put_value(c, parent, key, list);
    json_decref(list);
    return rest_has_error(c->call) ? false : put_value(c, parent, key, NULL);
}

/* A number or truth where a text belongs becomes one. */
static bool check_text(struct checking *c, json_t *parent, const char *key, const json_t *value)
{
    char text[64];

    if (json_is_string(value))
        return true;
    if (json_is_integer(value))
        (void)snprintf(text, sizeof(text), "%lld", (long long)json_integer_value(value)); /* fits */
    else if (json_is_real(value))
        (void)snprintf(text, sizeof(text), "%g", json_real_value(value)); /* fits */
    else if (json_is_boolean(value))
        (void)snprintf(text, sizeof(text), "%s", json_is_true(value) ? "true" : "false");
    else
        return refuse_value(c, value, "string");
    return put_value(c, parent, key, json_string(text));
}

static bool check_truth(struct checking *c, json_t *parent, const char *key, const json_t *value)
{
    static const char *const yes[] = { "true", "yes", "1" }, *const no[] = { "false", "no", "0" };
    const char *text = json_string_value(value);

    if (json_is_boolean(value))
        return true;
    if (json_is_integer(value))
        return put_value(c, parent, key, json_boolean(json_integer_value(value) != 0));
    for (size_t i = 0; text && i < ARRAY_SIZE(yes); i++)
        if (strcasecmp(text, yes[i]) == 0 || strcasecmp(text, no[i]) == 0)
            return put_value(c, parent, key, json_boolean(strcasecmp(text, yes[i]) == 0));
    return refuse_value(c, value, "boolean");
}

/* The number that a text is; NULL: none.  No hexadecimal, no infinity, no "nan". */
static json_t *number_of(const char *text, bool whole)
{
    char *end = NULL;
    long long n;
    double real;

    if (!text[0] || text[strspn(text, "+-.0123456789eE")])
        return NULL;
    errno = 0;
    n = strtoll(text, &end, 10);
    if (!errno && end != text && !*end)
        return json_integer(n);
    errno = 0;
    real = strtod(text, &end);
    return whole || errno || end == text || *end ? NULL : json_real(real);
}

#define REAL_MOST 9.2e18 /* below the largest whole number */

/* A truth or a real number where a whole one belongs becomes one: readers ask for its type. */
static bool check_number(struct checking *c, bool whole, json_t *parent, const char *key,
                         const json_t *value)
{
    double real = json_real_value(value); /* 0 of others */
    json_t *number;

    if (json_is_integer(value) || (!whole && json_is_real(value)))
        return true;
    if (json_is_boolean(value))
        return put_value(c, parent, key, json_integer(json_is_true(value)));
    if (json_is_real(value) && real > -REAL_MOST && real < REAL_MOST)
        return put_value(c, parent, key, json_integer((json_int_t)real));
    number = json_is_string(value) ? number_of(json_string_value(value), whole) : NULL;
    return number ? put_value(c, parent, key, number)
                  : refuse_value(c, value, whole ? "integer" : "number");
}

static bool check_scalar(struct checking *c, const char *type, json_t *parent, const char *key,
                         const json_t *value)
{
    switch (type[0]) {
    case 's':
        return check_text(c, parent, key, value);
    case 'b':
        return check_truth(c, parent, key, value);
    default:
        return check_number(c, type[0] == 'i', parent, key, value);
    }
}

static bool is_wrapper(const char *name)
{
    size_t len = strlen(name), tail = strlen("_no_val_struct");

    return len > tail && strcmp(name + len - tail, "_no_val_struct") == 0;
}

/* A wrapped number counts something: it is not below nothing. */
static bool is_negative(const json_t *value)
{
    const json_t *number = json_is_object(value) ? json_object_get(value, "number") : value;

    return json_is_number(number) && json_number_value(number) < 0;
}

/* {"PATH": "/bin"} where texts such as "PATH=/bin" are listed is that list. */
static bool check_pairs(struct checking *c, json_t *parent, const char *key, json_t *object)
{
    json_t *list = json_array(), *member;
    size_t len = c->place.len;
    bool ok = list != NULL;
    const char *name;
    void *next;

    json_object_foreach_safe(object, next, name, member)
    {
        strbuf_addf(&c->place, "%.128s/", name);
        ok = ok && check_text(c, object, name, member);
        cut_place(c, len);
        if (ok)
            ok = json_array_append_new(
                     list, json_sprintf("%s=%s", name,
                                        json_string_value(json_object_get(object, name)))) == 0;
    }
    if (ok)
        return put_value(c, parent, key, list);
    json_decref(list);
    return rest_has_error(c->call) ? false : put_value(c, parent, key, NULL);
}

/* Another schema.  A wrapper is also a number, or a text that its field knows to read. */
static bool check_named(struct checking *c, const char *name, json_t *parent, const char *key,
                        json_t *value)
{
    const json_t *type = json_object_get(restschema_types(c->schema), name);
    const char *outer = c->name;
    bool ok;

    if (is_wrapper(name) && is_negative(value))
        return refuse_value(c, value, "a number from 0 on");
    if (is_wrapper(name) && (json_is_number(value) || json_is_string(value)))
        return true;
    if (json_is_object(value) && strcmp(name, "string_array") == 0)
        return check_pairs(c, parent, key, value);
    if (json_is_object(type))
        c->name = name;
    ok = !type || check_type(c, type, parent, key, value);
    c->name = outer;
    return ok;
}

static bool check_list(struct checking *c, const char *item, json_t *parent, json_t *value)
{
    json_t *type;
    bool ok;

    (void)parent;
    if (json_is_string(value) && item[0] == 's')
        return true; /* at commas */
    if (!json_is_array(value))
        return refuse_value(c, value, "list");
    type = json_string(item);
    ok = !type || check_items(c, type, value);
    json_decref(type);
    return ok;
}

static bool check_type(struct checking *c, const json_t *type, json_t *parent, const char *key,
                       json_t *value)
{
    const char *text = json_string_value(type);

    if (json_is_null(value))
        return true;
    if (json_is_object(type))
        return check_object(c, type, value);
    if (json_is_array(type))
        return check_words(c, type, parent, key, value);
    text += text[0] == '!';
    if (text[0] == '@')
        return check_named(c, text + 1, parent, key, value);
    if (strncmp(text, "[]", 2) == 0)
        return check_list(c, text + 2, parent, value);
    return check_scalar(c, text, parent, key, value);
}

bool restschema_check(const struct restschema *schema, struct rest_call *call)
{
    const json_t *op = call->body ? restschema_find(schema, call->row) : NULL;
    const char *body = op ? json_string_value(json_object_get(op, "body")) : NULL;
    struct checking c = { .schema = schema, .call = call, .name = "" };
    bool ok;

    if (!body)
        return true;
    strbuf_add(&c.place, "#/");
    ok = check_named(&c, body, NULL, NULL, call->body);
    strbuf_done(&c.place);
    return ok;
}

/* ---- checking a query ------------------------------------------------------------------------ */

/* The entry of a query word: its name, or a list of its name and the words that it takes. */
static const json_t *query_word(const json_t *words, const char *name)
{
    json_t *word;
    size_t i;

    json_array_foreach(words, i, word)
    {
        const char *known = json_string_value(json_is_array(word) ? json_array_get(word, 0) : word);

        if (known && strcmp(known + strspn(known, "*?"), name) == 0) /* required, truths */
            return word;
    }
    return NULL;
}

/* Words that lists take here and the published document does not name. */
static bool is_own_word(const char *name)
{
    static const char *const own[] = {
        "fields",      "limit",        "cursor",      "with_assocs",
        "with_coords", "with_deleted", "with_wckeys", "keeps_nodes"
    };

    for (size_t i = 0; i < ARRAY_SIZE(own); i++)
        if (strcmp(own[i], name) == 0)
            return true;
    return false;
}

static bool refuse_flag(struct rest_call *call, const char *name, const char *flag, size_t len)
{
    char place[NAME_BYTES];
    int n = (int)MIN(len, NAME_BYTES);

    (void)snprintf(place, sizeof(place), "#/%s/", name); /* cut is fine */
    if (strcmp(name, "flags") == 0)
        rest_error(call, ESLURM_REST_INVALID_QUERY, place, "Unknown flag \"%.*s\"", n, flag);
    else
        rest_error(call, ESLURM_REST_INVALID_QUERY, place, "%.64s: there is no %.*s", name, n,
                   flag);
    return false;
}

/* One word or several with commas, all of them known. */
static bool check_flags(struct rest_call *call, const struct rest_pair *pair, const json_t *known)
{
    const json_t *word;
    size_t len;

    for (const char *p = pair->value; *p; p += len + (p[len] == ',')) {
        len = strcspn(p, ",");
        word = len ? listed_word(known, p, len) : NULL;
        if (len && (!word || word == json_array_get(known, 0))) /* the first is the name */
            return refuse_flag(call, pair->name, p, len);
    }
    return true;
}

/* "?name" in the list of words, or "*?name" of one that must be there: it is true or false. */
static bool is_switch(const json_t *known)
{
    const char *word = json_string_value(known);

    return word && word[*word == '*'] == '?';
}

static bool check_switch(struct rest_call *call, const struct rest_pair *pair)
{
    char place[NAME_BYTES];

    if (!pair->value[0] || restpath_in_list("true,yes,1,on,false,no,0,off", pair->value))
        return true;
    (void)snprintf(place, sizeof(place), "#/%s/", pair->name); /* cut is fine */
    rest_error(call, ESLURM_REST_INVALID_QUERY, place, "%.64s: true or false is wanted, not %.64s",
               pair->name, pair->value);
    return false;
}

bool restschema_check_query(const struct restschema *schema, struct rest_call *call)
{
    const json_t *op = call->n_query ? restschema_find(schema, call->row) : NULL;

    for (size_t i = 0; op && i < call->n_query; i++) {
        const struct rest_pair *pair = &call->query[i];
        const json_t *known = query_word(json_object_get(op, "words"), pair->name);
        char place[NAME_BYTES];

        if ((json_is_array(known) && !check_flags(call, pair, known)) ||
            (is_switch(known) && !check_switch(call, pair)))
            return false;
        if (known || is_own_word(pair->name))
            continue;
        (void)snprintf(place, sizeof(place), "#/%s/", pair->name); /* cut is fine */
        rest_warning(call, place, "Ignoring unknown field \"%.128s\" of type string", pair->name);
    }
    return true;
}

bool restschema_check_item(const struct restschema *schema, struct rest_call *call,
                           const char *type, const char *place, json_t *list, size_t i)
{
    struct checking c = { .schema = schema, .call = call, .name = "", .index = i };
    bool ok;

    strbuf_add(&c.place, place);
    ok = check_named(&c, type, list, NULL, json_array_get(list, i));
    strbuf_done(&c.place);
    return ok;
}
