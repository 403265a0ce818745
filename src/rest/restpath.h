/* restpath.h - paths and query words of a request; pure
 *
 * "/slurm/v0.0.45/job/7" is plugin, version and the rest, which a row answers; "/penstock/v1/" has
 * the shapes of the newest version.  Empty parts do not
 * count: "/jobs/" and "/jobs" are the same.  Escapes (%41) are undone part by part, so that an
 * escaped slash is no separator. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "rest/restcall.h"

#define REST_PARTS_MAX 6u
#define REST_WORD_MAX 1024u /* bytes of a part of a path */

struct rest_path {
    enum rest_plugin plugin;
    unsigned version;
    const struct rest_row *row;
    char word[REST_WORD_MAX + 1];
    bool has_word;
};

/* The row of `rows` (tables, NULL ends them) for a method and a path.  Errors: -ENOENT none,
 * -EINVAL an escape that is none, or a part that is too long. */
int restpath_find(const struct rest_row *const *rows, const char *method, const char *path,
                  struct rest_path *ret);
/* Undo the escapes of len bytes of text into a new string; plus is a blank in queries.  Errors:
 * -EINVAL, %00 also; -ENOMEM. */
int restpath_unescape(const char *text, size_t len, bool query, char **ret);
/* Is flag among the words of a comma list?  Any case. */
bool restpath_in_list(const char *list, const char *flag);
