/* conf_lex.h - lines and Key=Value pairs of the slurm.conf dialect; private to src/conf
 *
 * Works in place on writable text that ends in a NUL byte: keys and values handed out point into
 * it.
 * Comments run from an unquoted '#' (not "\#") to the end of the line.  A line that ends with a
 * backslash goes on in the next one.  Values may stand in double quotes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define CONF_MAX_LINE (1u << 20) /* bytes of a logical line */

struct conf_lex {
    char *pos, *end;
    unsigned line; /* of pos, from 1 */
};

/* text[len] must be a NUL byte. */
void conf_lex_init(struct conf_lex *lx, char *text, size_t len);

/* The next line that is not blank, joined over continuations, NUL-terminated; false at the end. */
bool conf_lex_line(struct conf_lex *lx, char **ret_text, unsigned *ret_line);

/* Is the next line that is not blank one of the kinds named by the given lower-case words, such
 * as "nodename"?  Leaves blank and comment lines behind but takes nothing of that line. */
bool conf_lex_peek(struct conf_lex *lx, const char *const *words, size_t n);

/* Leave the next line with its continuations behind without looking into it. */
void conf_lex_skip(struct conf_lex *lx);

/* The next pair at *cursor, which moves behind it.  1: a pair, 0: end of the line.
 * Errors: -EINVAL with a sentence in err. */
int conf_lex_pair(char **cursor, char **ret_key, char **ret_value, struct err *err);
