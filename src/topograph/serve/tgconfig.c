/* tgconfig.c - see tgconfig.h
 *
 * YAML becomes the tree that JSON would be, so that parameters are the same in both. */
#include "topograph/serve/tgconfig.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "base/yaml/yamljson.h"

#define DELAY_MAX_US (INT64_C(86400) * 1000000)

int tgconfig_duration(const char *text, int64_t *ret_us)
{
    static const struct {
        const char *unit;
        int64_t us;
    } units[] = { { "ms", 1000 },
                  { "us", 1 },
                  { "s", 1000000 },
                  { "m", 60000000 },
                  { "h", INT64_C(3600000000) } };
    int64_t sum = 0;
    bool any = strcmp(text, "0") == 0;

    while (*text && !(any && strcmp(text, "0") == 0)) {
        char number[16];
        size_t n = strspn(text, "0123456789"), i = 0;
        uint64_t value;

        (void)snprintf(number, sizeof(number), "%.*s", (int)MIN(n, (size_t)15), text);
        if (n > 9 || parse_u64(number, 0, 999999999, &value) < 0)
            return -EINVAL;
        text += n;
        while (i < ARRAY_SIZE(units) && strncmp(text, units[i].unit, strlen(units[i].unit)) != 0)
            i++;
        if (i == ARRAY_SIZE(units))
            return -EINVAL;
        text += strlen(units[i].unit);
        sum += (int64_t)value * units[i].us;
        any = true;
        if (sum > DELAY_MAX_US)
            return -EINVAL;
    }
    if (!any)
        return -EINVAL;
    *ret_us = sum;
    return 0;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static int take_http(struct tgconfig *c, const json_t *v, struct err *err)
{
    const json_t *port = json_object_get(v, "port");

    if (json_is_true(json_object_get(v, "ssl")))
        return err_set(err, -EINVAL, "http.ssl: there is no TLS here; put a proxy before it");
    if (!json_is_integer(port) || json_integer_value(port) < 1 || json_integer_value(port) > 65535)
        return err_set(err, -EINVAL, "http.port: a port from 1 to 65535 is expected");
    c->port = (uint16_t)json_integer_value(port);
    return 0;
}

static int take_delay(struct tgconfig *c, const json_t *v, struct err *err)
{
    if (json_is_integer(v) && json_integer_value(v) == 0)
        return 0;
    if (!json_is_string(v) || tgconfig_duration(json_string_value(v), &c->delay_us) < 0)
        return err_set(err, -EINVAL,
                       "requestAggregationDelay: a duration up to a day is expected, as 15s");
    return 0;
}

static int take_env(struct tgconfig *c, json_t *v, struct err *err)
{
    const char *key;
    json_t *text;

    if (!json_is_object(v))
        return err_set(err, -EINVAL, "env: a mapping is expected");
    json_object_foreach(v, key, text)
    {
        if (!json_is_string(text) || !*key || strchr(key, '='))
            return err_set(err, -EINVAL, "env: %.64s is not a text", key);
    }
    c->env = json_incref(v);
    return 0;
}

/* Into the request that fills gaps: `part`.`name` or its params. */
static int take_default(struct tgconfig *c, const char *key, json_t *v, struct err *err)
{
    const char *part = strncmp(key, "provider", 8) == 0 ? "provider" : "engine";
    bool params = strcmp(key, part) != 0;
    json_t *at = json_object_get(c->defaults, part);

    if (params ? !json_is_object(v) : !json_is_string(v))
        return err_set(err, -EINVAL, "%s: a %s is expected", key, params ? "mapping" : "name");
    if (!at) {
        at = json_object();
        if (json_object_set_new(c->defaults, part, at) < 0)
            return err_nomem(err);
    }
    return json_object_set(at, params ? "params" : "name", v) < 0 ? err_nomem(err) : 0;
}

static int take_key(struct tgconfig *c, const char *key, json_t *v, struct err *err)
{
    static const char *const defaults[] = { "provider", "providerParams", "engine",
                                            "engineParams" };
    static const char *const ignored[] = { "pageSize", "credentialsPath", "ssl" };

    if (strcmp(key, "http") == 0)
        return take_http(c, v, err);
    if (strcmp(key, "requestAggregationDelay") == 0)
        return take_delay(c, v, err);
    if (strcmp(key, "env") == 0)
        return take_env(c, v, err);
    for (size_t i = 0; i < ARRAY_SIZE(defaults); i++)
        if (strcmp(key, defaults[i]) == 0)
            return take_default(c, key, v, err);
    for (size_t i = 0; i < ARRAY_SIZE(ignored); i++) {
        if (strcmp(key, ignored[i]) == 0) {
            (void)snprintf(c->ignored, sizeof(c->ignored), "%s", key);
            return 0;
        }
    }
    return err_set(err, -EINVAL, "unknown key %.64s", key);
}

void tgconfig_done(struct tgconfig *c)
{
    json_decref(c->defaults);
    json_decref(c->env);
    *c = (struct tgconfig){ 0 };
}

int tgconfig_parse(const char *text, size_t len, struct tgconfig *ret, struct err *err)
{
    struct tgconfig c = { .defaults = json_object() };
    json_t *tree = NULL, *v;
    const char *key;
    int r = c.defaults ? yamljson_parse(text, len, &tree, err) : err_nomem(err);

    if (r == 0 && !json_is_object(tree))
        r = err_set(err, -EINVAL, "a mapping is expected");
    if (r == 0) {
        json_object_foreach(tree, key, v)
        {
            r = take_key(&c, key, v, err);
            if (r < 0)
                break;
        }
    }
    if (r == 0 && !c.port)
        r = err_set(err, -EINVAL, "http.port is missing");
    if (r == 0 && !json_object_get(tree, "requestAggregationDelay"))
        r = err_set(err, -EINVAL, "requestAggregationDelay is missing");
    json_decref(tree);
    if (r < 0)
        tgconfig_done(&c);
    else
        *ret = c;
    return r;
}
