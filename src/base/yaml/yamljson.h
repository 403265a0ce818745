/* yamljson.h - YAML as the tree that JSON would be
 *
 * A library of its own (base_yamljson: libyaml, jansson).  A plain scalar is a whole number, true,
 * false, null or a text.  A key stands once in its mapping.  The depth and the number of values are
 * limited, since an alias of a few bytes stands for many values.  Pure. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "base/err.h"

#define YAMLJSON_DEPTH 32u      /* lists and mappings that a value lies in */
#define YAMLJSON_VALUES 100000u /* of a text; an alias counts as what it stands for */

/* The first document; an empty one is an empty object.  The caller owns *ret.
 * Errors: -EINVAL (err says the line and what is wrong), -ENOMEM. */
int yamljson_parse(const char *text, size_t len, json_t **ret, struct err *err);
