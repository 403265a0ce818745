/* plugstack.h - plugstack.conf: which plugins are loaded, in which order, with which words
 *
 *   required|optional FILE [WORD...]
 *   include PATTERN
 *
 * Words may be quoted as in a shell; # begins a comment.  Nothing is loaded here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/err.h"

#define PLUGSTACK_FILE_MAX 65536u /* bytes of one file */
#define PLUGSTACK_LINE_MAX 4096u  /* bytes */
#define PLUGSTACK_WORDS_MAX 64u   /* of a line */
#define PLUGSTACK_PLUGINS_MAX 64u
#define PLUGSTACK_DEPTH_MAX 8u  /* files that include each other */
#define PLUGSTACK_FILES_MAX 64u /* in all */

struct plugstack_entry {
    bool required;
    char *path;  /* owned; without a slash: looked for in PluginDir */
    char **argv; /* owned, NULL-terminated: the words behind path */
    int argc;
};

struct plugstack {
    struct plugstack_entry *list;
    size_t n;
};
void plugstack_done(struct plugstack *p);

/* Called for `include PATTERN`.  0 or a negative errno with the sentence in err. */
typedef int plugstack_include_fn(void *ctx, const char *pattern, struct plugstack *p,
                                 struct err *err);

/* Add what text says to p.  name: of the file, for messages.  -EINVAL, -E2BIG with a sentence,
 * -ENOMEM. */
int plugstack_parse(const char *text, size_t len, const char *name, plugstack_include_fn *include,
                    void *ctx, struct plugstack *p, struct err *err);
/* The file and what it includes; relative patterns are relative to their file.  No file: 0 and
 * nothing in it.  What was read before a mistake is given back too: the caller frees in any case.
 */
int plugstack_read(const char *path, struct plugstack *ret, struct err *err);
/* PlugStackConfig, or plugstack.conf beside slurm.conf.  The caller frees; NULL: no memory. */
char *plugstack_path(const char *configured, const char *conf_path);
