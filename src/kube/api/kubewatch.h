/* kubewatch.h - a line of a watch
 *
 * Pure. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "base/err.h"

enum kubewatch_type {
    KUBEWATCH_ADDED,
    KUBEWATCH_MODIFIED,
    KUBEWATCH_DELETED,
    KUBEWATCH_BOOKMARK, /* only its resourceVersion counts */
    KUBEWATCH_GONE,     /* the server no longer knows where the watch was: list again */
    KUBEWATCH_ERROR,    /* err says what the server said */
};

/* *ret_object is the caller's; of ADDED, MODIFIED and DELETED it has a name, a uid and a
 * resourceVersion, of BOOKMARK the latter; else it is NULL.  Errors: -EINVAL the line is no event
 * of a watch: nothing is known of what it meant to say. */
int kubewatch_read(const char *line, size_t len, enum kubewatch_type *ret_type, json_t **ret_object,
                   struct err *err);
