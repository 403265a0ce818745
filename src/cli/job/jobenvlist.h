/* jobenvlist.h - an environment under construction: chosen, completed, packed NUL-separated */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <protobuf-c/protobuf-c.h>

#include "base/err.h"

struct jobopts;

struct envlist {
    char **items; /* owned "NAME=value"; NULL-terminated when n > 0 */
    size_t n, cap;
};
#define ENVLIST_INIT                                                                               \
    {                                                                                              \
        0                                                                                          \
    }

void envlist_done(struct envlist *env);
/* Set or replace one variable. */
void envlist_set(struct envlist *env, const char *name, const char *value);
void envlist_setf(struct envlist *env, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void envlist_unset(struct envlist *env, const char *name);
const char *envlist_get(const struct envlist *env, const char *name); /* NULL when absent */

/* Fill from envp as --export says: ALL (or NULL), NONE, NIL, or a list of NAME and NAME=value with
 * ALL among them or not.  SLURM_ and SPANK_ variables always go. */
void envlist_export(struct envlist *env, char *const *envp, const char *spec);
/* Does this --export (NULL: none was given) pass on all variables? */
bool envlist_exports_all(const char *spec);
/* Does this --export want the login environment loaded on the node? */
bool envlist_wants_login(const char *spec);

/* --export-file: NUL-separated, from a path or a descriptor number.
 * Returns 0 or the exit status with the sentence in err. */
int envlist_read_file(struct envlist *env, const char *file, struct err *err);

/* SLURM_ variables by which the options of a submission reach the sruns inside. */
void envlist_add_options(struct envlist *env, const struct jobopts *jo);

/* Pack; the caller frees ret->data. */
void envlist_pack(const struct envlist *env, ProtobufCBinaryData *ret);
