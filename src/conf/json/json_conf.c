/* json_conf.c - the configuration as JSON; see json_conf.h */
#include "conf/json/json_conf.h"

#include <string.h>
#include <strings.h>

#include "base/timefmt.h"
#include "base/wordlist.h"
#include "version.h"

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

/* Those of the words that stand in the text. */
static void put_words(struct json *js, const char *key, const char *words, const char *text)
{
    json_list(js, key);
    for (; *words; words += strspn(words, ",")) {
        size_t len = strcspn(words, ",");
        char word[64] = "";

        memcpy(word, words, len < sizeof(word) ? len : sizeof(word) - 1);
        if (wordlist_has_nocase(text, word))
            json_str(js, NULL, word);
        words += len;
    }
    json_list_end(js);
}

/* "host(address)" of SlurmctldHost[0], [1] ... */
static void put_controllers(struct json *js, const char *key, const Pst__ConfigReply *reply)
{
    static const char name[] = "SlurmctldHost[";

    json_list(js, key);
    for (size_t i = 0; i < reply->n_entries; i++) {
        const Pst__KeyValue *e = reply->entries[i];
        size_t host;

        if (!e->key || strncmp(e->key, name, sizeof(name) - 1) != 0 || !e->value)
            continue;
        host = strcspn(e->value, "(");
        json_map(js, NULL);
        if (e->value[host])
            json_str_n(js, "address", e->value + host + 1, strcspn(e->value + host + 1, ")"));
        else
            json_str(js, "address", e->value);
        json_str_n(js, "machine", e->value, host);
        json_map_end(js);
    }
    json_list_end(js);
}

/* "DefCpuPerGPU=2,DefMemPerGPU=100" */
static void put_defaults(struct json *js, const char *key, const char *text)
{
    json_list(js, key);
    for (; *text; text += strspn(text, ",")) {
        size_t len = strcspn(text, ","), name = strcspn(text, "=,");
        uint64_t n = 0;

        if (text[name] == '=' && number_of(text + name + 1, &n)) {
            json_map(js, NULL);
            json_list(js, "type");
            json_str_n(js, NULL, text, name);
            json_list_end(js);
            json_int(js, "value", (int64_t)n);
            json_map_end(js);
        }
        text += len;
    }
    json_list_end(js);
}

static void put_ports(struct json *js, const char *key, const char *text)
{
    const char *dash = strchr(text, '-');
    uint64_t first = 0, last = 0;
    bool set = dash && number_of(text, &first) && number_of(dash + 1, &last) && last;

    json_map(js, key);
    json_int(js, "minimum", (int64_t)first);
    json_int(js, "maximum", (int64_t)last);
    json_bool(js, "set", set);
    json_map_end(js);
}

static void put_value(struct json *js, const struct json_conf_key *k, const Pst__ConfigReply *reply)
{
    const char *text = value_of(reply, k->key);
    uint64_t n = 0;

    switch (k->kind) {
    case 'w':
        put_words(js, k->key, k->words, text);
        break;
    case 'l':
        json_words(js, k->key, text);
        break;
    case 'n':
        put_wrapped(js, k->key, text);
        break;
    case 'c':
        put_controllers(js, k->key, reply);
        break;
    case 'j':
        put_defaults(js, k->key, text);
        break;
    case 'p':
        put_ports(js, k->key, text);
        break;
    case 'b':
        json_bool(js, k->key, is_true(text));
        break;
    case 'i':
        json_int(js, k->key, number_of(text, &n) ? (int64_t)n : 0);
        break;
    default:
        json_str(js, k->key, text);
    }
}

static void put_meta(struct json *js, const Pst__ConfigReply *reply)
{
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

void json_conf(struct json *js, const Pst__ConfigReply *reply)
{
    json_map(js, "slurm_conf");
    for (const struct json_conf_key *k = json_conf_keys; k->key; k++)
        put_value(js, k, reply);
    json_map_end(js);
    put_meta(js, reply);
}
