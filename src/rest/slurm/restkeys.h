/* restkeys.h - fields of a body as the KEY=VALUE words that scontrol takes
 *
 * Changes of nodes, partitions and reservations are read by the tables of scontrol
 * (cli/query/out_update.h, resvkeys.h), so that limits and sentences are the same.  A value is one
 * word whatever it holds: it cannot become another key. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "rest/restcall.h"

enum restkey_kind {
    RESTKEY_TEXT,    /* a text or list of texts; empty: left out */
    RESTKEY_CLEARS,  /* the same; an empty text takes away what is there */
    RESTKEY_NUMBER,  /* a number, or a text as commands take it; infinite: UNLIMITED; unset: left
                        out */
    RESTKEY_SECONDS, /* a number of seconds, or a text as commands take it */
    RESTKEY_YESNO,   /* true or false: YES or NO */
    RESTKEY_SWITCH,  /* true or false: 1 or 0 */
    RESTKEY_TIME,    /* seconds since 1970, or a text as commands take it */
    RESTKEY_TRES,    /* a list of {type, name, count} */
    RESTKEY_NONE,    /* taken, no effect here: told by a warning */
};

struct restkey {
    const char *field; /* "maximums.nodes": members by dots; NULL ends a table */
    const char *key;   /* "MaxNodes" */
    enum restkey_kind kind;
    const char *unset; /* a value that says nothing, and is left out */
};

/* Take one word: 0 or an error; err has the sentence. */
typedef int restkeys_take_fn(void *ctx, const char *word, struct err *err);

/* Give one word, of `field`.  False: it was refused, and noted as an error of `source`. */
bool restkeys_give(struct rest_call *call, const char *word, const char *field,
                   restkeys_take_fn *take, void *ctx, const char *source);
/* Give each field that is there to take(), as a word.  False: one was refused, and noted as an
 * error of `source`. */
bool restkeys_apply(struct rest_call *call, const json_t *body, const struct restkey *rows,
                    restkeys_take_fn *take, void *ctx, const char *source);
