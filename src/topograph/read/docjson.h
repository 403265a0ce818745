/* docjson.h - documents of others as JSON: reading, and finding things in them
 *
 * Clouds write the same field as InstanceId, instanceId, instance_id and instance-id, by tool: keys
 * are compared without case, '-' and '_', and written here in lower case.  Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define DOCJSON_TEXT_MAX 512u

static inline void docjson_unref(json_t **j)
{
    json_decref(*j);
}
#define _cleanup_json_ __attribute__((cleanup(docjson_unref)))

/* Errors: -EINVAL, err says line and column. */
int docjson_parse(const char *text, size_t len, json_t **ret, struct err *err);
/* The value at "a.b.c" below an object; NULL: not there.  Borrowed. */
const json_t *docjson_at(const json_t *object, const char *path);
/* Likewise the first that is there of "a|b.c". */
const json_t *docjson_first(const json_t *object, const char *paths);
/* A text or an integer as text in buf (or borrowed); NULL: neither, empty or too long. */
const char *docjson_text(const json_t *value, char *buf, size_t size);
/* The first array below one of the keys, or the document itself when it is one; NULL: neither. */
const json_t *docjson_list(const json_t *document, const char *keys);
