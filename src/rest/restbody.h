/* restbody.h - bodies of requests: JSON or YAML text as a tree
 *
 * The text comes from a stranger: it is at most REST_BODY_MAX long (rest_impl.h), nested at most
 * RESTBODY_DEPTH, UTF-8 without NUL, and a key stands once in an object. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "base/err.h"

#define RESTBODY_DEPTH 32u
/* An empty object is two bytes of text and hundreds of memory: a value counts 1, a list or an
 * object 8. */
#define RESTBODY_WEIGHT_MAX 4000000u

/* Errors: -EINVAL, err says where; -E2BIG the values weigh more than `most`. */
int restbody_parse_json(const char *text, size_t len, size_t most, json_t **ret, struct err *err);
/* Anchors and aliases are refused: a few bytes could stand for many. */
int restbody_parse_yaml(const char *text, size_t len, size_t most, json_t **ret, struct err *err);
