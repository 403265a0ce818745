/* yamlwalk.h - walk a YAML tree by tables of keys
 *
 * A mapping has known keys, each once; a list has a most number of entries.  What is wrong is told
 * with its line.  An alias is a node seen twice: what a walk may cost, its caller limits.
 * Not thread-safe for one document. */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/yaml/yamldoc.h"

#define YAMLWALK_KEYS 32u /* in a table */

struct yamlwalk {
    yaml_document_t *doc;
    struct err *err;
    void *context; /* the caller's */
};

/* Take value, of a key or of a list's entry, into the object to.  0, or an error, which ends the
 * walk. */
typedef int yamlwalk_fn(struct yamlwalk *w, void *to, const yaml_node_t *value);

struct yamlwalk_key {
    const char *name;
    yamlwalk_fn *fn;
};

/* "line N: what", as -EINVAL. */
int yamlwalk_wrong(const struct yamlwalk *w, const yaml_node_t *at, const char *what);

/* The text of a scalar; NULL for other nodes and for a text with a NUL byte. */
const char *yamlwalk_text(const yaml_node_t *n);

/* Call the function of each key of a mapping.  Errors: -EINVAL (no mapping, a key that is unknown
 * or stands twice), those of the functions. */
int yamlwalk_map(struct yamlwalk *w, const yaml_node_t *map, const struct yamlwalk_key *keys,
                 size_t n, void *to);

/* Call fn for each entry of a list.  Errors: -EINVAL (no list), -E2BIG (more than most entries),
 * those of fn. */
int yamlwalk_list(struct yamlwalk *w, const yaml_node_t *list, size_t most, yamlwalk_fn *fn,
                  void *to);
