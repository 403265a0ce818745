/* envlist.h - an environment being built
 *
 * Pure data.  Loaded variables are borrowed from the caller's bytes, set ones live in the list's
 * own memory until envlist_done().  A failed allocation sets `failed`; later calls do nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct envlist_chunk;

struct envlist {
    char **items; /* NULL-terminated once n > 0; read through envlist_array() */
    size_t n;
    size_t cap;
    struct envlist_chunk *chunks;
    bool failed;
};
#define ENVLIST_INIT                                                                               \
    {                                                                                              \
        0                                                                                          \
    }

/* Add the NUL-separated NAME=value of data; entries without a name are dropped, of equal names the
 * last one stays.  data is borrowed for the list's life. */
void envlist_load(struct envlist *el, const void *data, size_t len);
/* Start from another list's variables (borrowed: keep src alive). */
void envlist_borrow(struct envlist *el, const struct envlist *src);
void envlist_set(struct envlist *el, const char *name, const char *value); /* NULL value: unset */
void envlist_default(struct envlist *el, const char *name, const char *value); /* unless there */
void envlist_setf(struct envlist *el, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void envlist_setu(struct envlist *el, const char *name, uint64_t value);
void envlist_unset(struct envlist *el, const char *name);
/* Unset every variable whose name starts so. */
void envlist_unset_prefix(struct envlist *el, const char *prefix);
/* Unset every variable that has this in its name. */
void envlist_unset_part(struct envlist *el, const char *part);
const char *envlist_get(const struct envlist *el, const char *name);
/* A variable with `room` bytes that the caller fills later (with the NUL); NULL when failed. */
char *envlist_slot(struct envlist *el, const char *name, size_t room);
/* For execve(2); NULL when a step of the building failed. */
char *const *envlist_array(struct envlist *el);
void envlist_done(struct envlist *el);
