/* restconf.c - the configuration; see restconf.h
 *
 * The controller tells it as `scontrol show config` shows it, in texts; the schema says what each
 * key is: a list, a number, a truth. */
#include "rest/slurm/restconf.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api.pb-c.h"
#include "base/cleanup.h"
#include "base/timefmt.h"
#include "rest/rest_impl.h"
#include "rest/restpath.h"
#include "rest/restschema.h"
#include "version.h"
#include "wire/ops.h"

static const char *value_of(const Pst__ConfigReply *reply, const char *key)
{
    for (size_t i = 0; i < reply->n_entries; i++)
        if (reply->entries[i]->key && strcasecmp(reply->entries[i]->key, key) == 0)
            return reply->entries[i]->value ? reply->entries[i]->value : "";
    return "";
}

/* "30 sec", "1024", "YES": the number that a text begins with; false: none. */
static bool number_of(const char *text, uint64_t *ret)
{
    size_t len = strspn(text, "0123456789");
    char digits[24] = "";

    if (!len || len >= sizeof(digits))
        return false;
    memcpy(digits, text, len);
    return parse_u64(digits, 0, UINT64_MAX, ret) == 0;
}

static bool is_true(const char *text)
{
    uint64_t n;

    return strcasecmp(text, "yes") == 0 || strcasecmp(text, "true") == 0 ||
           (number_of(text, &n) && n);
}

static void put_wrapped(struct json *js, const char *key, const char *text)
{
    bool infinite = strcasecmp(text, "UNLIMITED") == 0 || strcasecmp(text, "INFINITE") == 0;
    uint64_t n = 0;
    bool set = number_of(text, &n);

    json_number(js, key, set, infinite, n);
}

/* Another schema: lists, wrapped numbers; one that text does not tell is empty. */
static void put_named(struct rest_call *call, const char *key, const char *name, const char *text)
{
    const json_t *type = json_object_get(restschema_types(call->rest->schema), name);
    const char *code = json_string_value(type);

    if (strstr(name, "_no_val_struct")) {
        put_wrapped(&call->js, key, text);
    } else if (code && strcmp(code, "[]s") == 0) {
        json_words(&call->js, key, text);
    } else if (code) {
        json_list(&call->js, key);
        json_list_end(&call->js);
    } else {
        json_map(&call->js, key);
        json_map_end(&call->js);
    }
}

/* Those words of the schema that stand in the text, as the schema spells them. */
static void put_words(struct json *js, const char *key, const json_t *words, const char *text)
{
    json_t *word;
    size_t i;

    json_list(js, key);
    json_array_foreach(words, i, word)
    {
        if (restpath_in_list(text, json_string_value(word)))
            json_str(js, NULL, json_string_value(word));
    }
    json_list_end(js);
}

static void put_key(struct rest_call *call, const char *key, const json_t *type, const char *text)
{
    const char *code = json_string_value(type);
    uint64_t n = 0;

    code += code && code[0] == '!';
    if (json_is_array(type))
        put_words(&call->js, key, type, text);
    else if (code && code[0] == '@')
        put_named(call, key, code + 1, text);
    else if (code && code[0] == 'b')
        json_bool(&call->js, key, is_true(text));
    else if (code && code[0] == 'i')
        json_int(&call->js, key, number_of(text, &n) ? (int64_t)n : 0);
    else
        json_str(&call->js, key, text);
}

static void put_meta(struct rest_call *call, const Pst__ConfigReply *reply)
{
    struct json *js = &call->js;

    json_map(js, "slurm_conf_meta");
    json_int(js, "LastUpdate", reply->boot_us / USEC_PER_SEC);
    json_int(js, "BOOT_TIME", reply->boot_us / USEC_PER_SEC);
    json_unset(js, "ClusterId");
    json_int(js, "HashValue", 0);
    json_set(js, "NEXT_JOB_ID", reply->next_job_id);
    json_str(js, "SLURM_CONF", reply->conf_path);
    json_str(js, "SLURM_VERSION", SLURM_RELEASE);
    json_map_end(js);
}

static void get_conf(struct rest_call *call)
{
    static const char source[] = "slurm_load_ctl_conf()";
    const json_t *fields = json_object_get(restschema_types(call->rest->schema), "slurm_conf");
    Pst__Empty request = PST__EMPTY__INIT;
    Pst__ConfigReply *reply = NULL;
    struct client *c = rest_ctld(call, source);
    const char *key;
    json_t *type;
    int r;

    if (!c)
        return;
    r = client_call(c, OP_QUERY_CONFIG, &request.base, (ProtobufCMessage **)&reply);
    if (r < 0) {
        rest_failed(call, c, r, source, "Unable to query the configuration");
        return;
    }
    json_map(&call->js, "slurm_conf");
    json_object_foreach((json_t *)(uintptr_t)fields, key, type)
        put_key(call, key, type, value_of(reply, key));
    json_map_end(&call->js);
    put_meta(call, reply);
    pst__config_reply__free_unpacked(reply, NULL);
}

const struct rest_row rest_conf_rows[] = {
    { "GET", REST_SLURM, "conf", 45, get_conf, false },
    { 0 },
};
