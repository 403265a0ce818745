/* err.h - one sentence for a person about why an input was refused
 *
 * Functions that parse what people write take a `struct err *` (may be NULL) beside the negative
 * errno they return.  Pure data; no allocation. */
#pragma once

#include <errno.h>

#define ERR_TEXT_MAX 512

struct err {
    char text[ERR_TEXT_MAX]; /* "" when nothing was reported */
};

/* Write the sentence into err (NULL is a no-op), cut at ERR_TEXT_MAX, and give back code, so that
 * `return err_set(err, -EINVAL, "...")` reads as one statement. */
int err_set(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Put `prefix: ` before the sentence already in err, e.g. a file and a line. */
void err_prefix(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The one text for a lack of memory, also where no struct err is at hand. */
#define ERR_NOMEM "out of memory"

/* That text as the sentence; both give back -ENOMEM.  what: what could not be had, a file or a
 * part of the program; it comes before the text. */
static inline int err_nomem(struct err *err)
{
    return err_set(err, -ENOMEM, ERR_NOMEM);
}

static inline int err_nomem_of(struct err *err, const char *what)
{
    return err_set(err, -ENOMEM, "%s: " ERR_NOMEM, what);
}

/* The sentence; without one it was memory that was lacking. */
static inline const char *err_or_nomem(const struct err *err)
{
    return err->text[0] ? err->text : ERR_NOMEM;
}
