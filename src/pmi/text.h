/* text.h - the text of PMI-1 and PMI-2 requests and answers
 *
 * PMI-1 is a line of NAME=VALUE words parted by blanks.  PMI-2 begins with one such line (init),
 * then each message is six characters of decimal length and NAME=VALUE; fields, a `;` in a value
 * doubled. Interface: the PMI of MPICH, versions 1 and 2.  Pure; what is parsed comes from the
 * user's program. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

#define PMI_FIELDS_MAX 64
#define PMI_MAX 1000000u /* bytes of one message: six digits */

struct pmi_text {
    const char *names[PMI_FIELDS_MAX], *values[PMI_FIELDS_MAX]; /* into the parsed buffer */
    size_t n;
};

/* Bytes that the first whole message in data[0..len) takes, 0 when more are needed.  framed: PMI-2.
 * Errors: -EBADMSG not a message, -EMSGSIZE. */
long pmi_text_whole(const char *data, size_t len, bool framed);
/* Take it apart, in place: data[len] must be writable.  Errors: -EBADMSG, -E2BIG too many
 * fields. */
int pmi_text_parse(char *data, size_t len, bool framed, struct pmi_text *ret);
const char *pmi_text_get(const struct pmi_text *t, const char *name); /* NULL: absent */
/* Add NAME=VALUE; with `;` in the value doubled. */
void pmi_text_field(struct strbuf *sb, const char *name, const char *value);
