/* kubeyaml.h - YAML as the tree that JSON would be
 *
 * Depth and number of values are limited, so that aliases cannot grow.  Pure. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "base/err.h"

/* The first document; an empty one is an empty object.  Errors: -EINVAL (err says the line),
 * -ENOMEM. */
int kubeyaml_parse(const char *text, size_t len, json_t **ret, struct err *err);
