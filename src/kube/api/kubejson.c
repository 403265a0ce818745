/* kubejson.c - see kubejson.h */
#include "kube/api/kubejson.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define KEY_MAX 128u
#define NAME_MAX_BYTES 253u

int kubejson_parse(const char *text, size_t len, json_t **ret, struct err *err)
{
    json_error_t wrong;
    json_t *value = json_loadb(text, len, JSON_DECODE_ANY, &wrong);

    if (!value)
        return err_set(err, -EINVAL, "no JSON at line %d, column %d: %.100s", wrong.line,
                       wrong.column, wrong.text);
    *ret = value;
    return 0;
}

json_t *kubejson_at(const json_t *object, const char *path)
{
    while (object && *path) {
        size_t n = strcspn(path, ".");
        char key[KEY_MAX];

        if (n >= sizeof(key))
            return NULL;
        memcpy(key, path, n);
        key[n] = '\0';
        object = json_object_get(object, key);
        path += n + (path[n] == '.');
    }
    return (json_t *)(uintptr_t)object; /* as json_object_get() gives it */
}

const char *kubejson_text(const json_t *object, const char *path)
{
    const char *text = json_string_value(kubejson_at(object, path));

    return text ? text : "";
}

int64_t kubejson_int(const json_t *object, const char *path, int64_t dflt)
{
    const json_t *value = kubejson_at(object, path);

    return json_is_integer(value) ? json_integer_value(value) : dflt;
}

bool kubejson_true(const json_t *object, const char *path)
{
    return json_is_true(kubejson_at(object, path));
}

bool kubejson_is_within(const json_t *a, const json_t *b)
{
    const char *key;
    json_t *value;
    size_t i;

    if (json_is_object(a)) {
        if (!b)
            return json_object_size(a) == 0;
        json_object_foreach((json_t *)(uintptr_t)a, key, value)
        {
            if (!kubejson_is_within(value, json_object_get(b, key)))
                return false;
        }
        return true;
    }
    if (json_is_array(a)) {
        if (json_array_size(a) != json_array_size(b))
            return false;
        json_array_foreach(a, i, value)
        {
            if (!kubejson_is_within(value, json_array_get(b, i)))
                return false;
        }
        return true;
    }
    return b && json_equal(a, b);
}

bool kubejson_has_text(const json_t *list, const char *text)
{
    size_t i;
    json_t *one;

    json_array_foreach(list, i, one)
    {
        if (json_is_string(one) && strcmp(json_string_value(one), text) == 0)
            return true;
    }
    return false;
}

const char *kubejson_after(const char *text, const char *prefix)
{
    size_t n = strlen(prefix);

    return strncmp(text, prefix, n) == 0 ? text + n : NULL;
}

const char *kubejson_name(const json_t *object)
{
    return kubejson_text(object, "metadata.name");
}

const char *kubejson_namespace(const json_t *object)
{
    return kubejson_text(object, "metadata.namespace");
}

const char *kubejson_uid(const json_t *object)
{
    return kubejson_text(object, "metadata.uid");
}

const char *kubejson_version(const json_t *object)
{
    return kubejson_text(object, "metadata.resourceVersion");
}

const char *kubejson_label(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(kubejson_at(object, "metadata.labels"), key));
}

const char *kubejson_annotation(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(kubejson_at(object, "metadata.annotations"), key));
}

const json_t *kubejson_condition(const json_t *object, const char *type)
{
    size_t i;
    json_t *one;

    json_array_foreach(kubejson_at(object, "status.conditions"), i, one)
    {
        if (strcmp(kubejson_text(one, "type"), type) == 0)
            return one;
    }
    return NULL;
}

bool kubejson_has_finalizer(const json_t *object, const char *name)
{
    const json_t *list = kubejson_at(object, "metadata.finalizers");
    size_t i;
    json_t *one;

    json_array_foreach(list, i, one)
    {
        const char *text = json_string_value(one);

        if (text && strcmp(text, name) == 0)
            return true;
    }
    return false;
}

bool kubejson_is_deleted(const json_t *object)
{
    return *kubejson_text(object, "metadata.deletionTimestamp") != '\0';
}

const json_t *kubejson_controller(const json_t *object)
{
    const json_t *list = kubejson_at(object, "metadata.ownerReferences");
    size_t i;
    json_t *one;

    json_array_foreach(list, i, one) if (kubejson_true(one, "controller")) return one;
    return NULL;
}

bool kubejson_name_is_good(const char *name)
{
    size_t len = strlen(name);

    if (!len || len > NAME_MAX_BYTES ||
        strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789.-") != len)
        return false;
    return !strchr(".-", name[0]) && !strchr(".-", name[len - 1]);
}

void kubejson_stamp(int64_t us, bool micros, char *buf, size_t size)
{
    time_t seconds = (time_t)(us / 1000000);
    struct tm tm;
    char whole[32];

    (void)gmtime_r(&seconds, &tm);
    (void)strftime(whole, sizeof(whole), "%Y-%m-%dT%H:%M:%S", &tm);
    if (micros)
        (void)snprintf(buf, size, "%s.%06dZ", whole, (int)(us % 1000000));
    else
        (void)snprintf(buf, size, "%sZ", whole);
}

int kubejson_read_stamp(const char *text, int64_t *ret_us)
{
    struct tm tm = { 0 };
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    int64_t us, scale = 100000, part = 0;
    int64_t offset = 0;
    int hours, minutes, used = 0;
    char sign;

    if (!rest)
        return -EINVAL;
    if (*rest == '.')
        for (rest++; *rest >= '0' && *rest <= '9'; rest++, scale /= 10)
            part += (*rest - '0') * scale;
    if (sscanf(rest, "%c%2d:%2d%n", &sign, &hours, &minutes, &used) == 3 && used == 6 &&
        (sign == '+' || sign == '-')) {
        offset = (hours * 60 + minutes) * (sign == '+' ? 60 : -60);
        rest += used;
    } else if (*rest == 'Z' || *rest == 'z') {
        rest++;
    } else {
        return -EINVAL;
    }
    if (*rest)
        return -EINVAL;
    us = ((int64_t)timegm(&tm) - offset) * 1000000 + part;
    *ret_us = us;
    return 0;
}
