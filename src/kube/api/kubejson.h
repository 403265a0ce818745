/* kubejson.h - objects of Kubernetes as JSON: reading them, and finding things in them
 *
 * An object stays the tree that the server sent, so that fields which we do not know are kept.
 * Nothing here trusts a type: what is not there, or is of another type, reads as "" or the default.
 * Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

static inline void kubejson_unref(json_t **j)
{
    json_decref(*j);
}
#define _cleanup_json_ __attribute__((cleanup(kubejson_unref)))

/* One JSON value and nothing behind it.  Errors: -EINVAL (err says line and column), -ENOMEM. */
int kubejson_parse(const char *text, size_t len, json_t **ret, struct err *err);

/* The value at "spec.nodeName"; NULL: not there.  Borrowed.  A key with a dot in it is reached with
 * json_object_get() on the object above. */
json_t *kubejson_at(const json_t *object, const char *path);
const char *kubejson_text(const json_t *object, const char *path); /* "": none */
int64_t kubejson_int(const json_t *object, const char *path, int64_t dflt);
bool kubejson_true(const json_t *object, const char *path);

/* metadata.name and so on; "": none. */
const char *kubejson_name(const json_t *object);
const char *kubejson_namespace(const json_t *object);
const char *kubejson_uid(const json_t *object);
const char *kubejson_version(const json_t *object);
/* NULL: the object has no such label or annotation. */
const char *kubejson_label(const json_t *object, const char *key);
const char *kubejson_annotation(const json_t *object, const char *key);
/* The condition of that type in status.conditions; NULL: there is none. */
const json_t *kubejson_condition(const json_t *object, const char *type);
bool kubejson_has_finalizer(const json_t *object, const char *name);
/* It has been deleted, and waits for its finalizers or containers. */
bool kubejson_is_deleted(const json_t *object);
/* The owner reference that says `controller`; NULL: none. */
const json_t *kubejson_controller(const json_t *object);

/* Are all values of a in b?  A server adds fields to what it is sent. */
bool kubejson_is_within(const json_t *a, const json_t *b);

/* Is the text one of the list's?  What is no list, or no text, is none. */
bool kubejson_has_text(const json_t *list, const char *text);

/* What follows the prefix; NULL: the text does not begin so. */
const char *kubejson_after(const char *text, const char *prefix);

/* A name as a path may hold it: 1 to 253 of a-z 0-9 . -, letters or digits at both ends.  Names of
 * roles may hold ':', which no object here has. */
bool kubejson_name_is_good(const char *name);

/* "2026-11-24T21:40:00Z", with micros "2026-11-24T21:40:00.000000Z". */
void kubejson_stamp(int64_t us, bool micros, char *buf, size_t size);
/* -EINVAL: it is none. */
int kubejson_read_stamp(const char *text, int64_t *ret_us);
