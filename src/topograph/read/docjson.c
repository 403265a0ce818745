/* docjson.c - see docjson.h */
#include "topograph/read/docjson.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

int docjson_parse(const char *text, size_t len, json_t **ret, struct err *err)
{
    json_error_t where;
    json_t *j = json_loadb(text, len, JSON_REJECT_DUPLICATES, &where);

    if (!j)
        return err_set(err, -EINVAL, "line %d, column %d: %.200s", where.line, where.column,
                       where.text);
    *ret = j;
    return 0;
}

/* Is key the same word as the n bytes of want? */
static bool same_key(const char *key, const char *want, size_t n)
{
    size_t i = 0;

    for (; *key; key++) {
        if (*key == '-' || *key == '_')
            continue;
        if (i == n || tolower((unsigned char)*key) != want[i])
            return false;
        i++;
    }
    return i == n;
}

static const json_t *find_member(const json_t *object, const char *want, size_t n)
{
    json_t *j = (json_t *)(uintptr_t)object, *value; /* jansson's walk has no const */
    const char *key;

    if (!json_is_object(object))
        return NULL;
    json_object_foreach(j, key, value)
    {
        if (same_key(key, want, n))
            return value;
    }
    return NULL;
}

static const json_t *walk_path(const json_t *object, const char *path, size_t len)
{
    while (object && len) {
        const char *dot = memchr(path, '.', len);
        size_t n = dot ? (size_t)(dot - path) : len;

        object = find_member(object, path, n);
        path += n + (dot != NULL);
        len -= n + (dot != NULL);
    }
    return object;
}

const json_t *docjson_at(const json_t *object, const char *path)
{
    return walk_path(object, path, strlen(path));
}

const json_t *docjson_first(const json_t *object, const char *paths)
{
    while (*paths) {
        size_t n = strcspn(paths, "|");
        const json_t *found = walk_path(object, paths, n);

        if (found && !json_is_null(found))
            return found;
        paths += n + (paths[n] == '|');
    }
    return NULL;
}

const char *docjson_text(const json_t *value, char *buf, size_t size)
{
    if (json_is_string(value))
        return json_string_length(value) && json_string_length(value) < DOCJSON_TEXT_MAX
                   ? json_string_value(value)
                   : NULL;
    if (!json_is_integer(value))
        return NULL;
    (void)snprintf(buf, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value)); /* fits */
    return buf;
}

const json_t *docjson_list(const json_t *document, const char *keys)
{
    const json_t *found = json_is_array(document) ? document : docjson_first(document, keys);

    return json_is_array(found) ? found : NULL;
}
