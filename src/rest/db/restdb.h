/* restdb.h - what the handlers of /slurmdb/ share: lists of records of the accounting store, names
 * for ids, conditions from the query part of a URL
 *
 * The store is asked in the name of the caller, so it gives only what the caller may see.  "Noted"
 * means: the error is in the answer already, and the handler returns. */
#pragma once

#include "acctop.pb-c.h"
#include "cli/format/json_store.h"
#include "cli/query/out_query.h"
#include "rest/restcall.h"

enum {
    RESTDB_WORDS_MAX = 10000, /* of one condition */
    RESTDB_WORD_MAX = 1024,
};

/* Records kept from lists; freed by restdb_tables_done(). */
struct restdb_tables {
    struct store_names names;
    struct store_people people;
};

/* Give each record of a list to fn.  what: the name of the question in errors, as
 * "slurmdb_users_get".  Returns 0 or a negative number, with the error noted; only -EPIPE from fn
 * is not noted. */
int restdb_list(struct rest_call *call, const char *what, Pst__AcctEntity entity,
                const Pst__AcctCond *where, query_fn *fn, void *ctx);
/* Copy all records of a list.  list: the address of an array of pointers.  False: noted. */
bool restdb_keep(struct rest_call *call, const char *what, Pst__AcctEntity entity,
                 const Pst__AcctCond *where, void *list, size_t *n);
void restdb_keep_done(void *list, size_t *n); /* frees them; the list is empty then */

/* Load the names of all TRES and QOS, also of those that were removed.  False: noted. */
bool restdb_load_names(struct rest_call *call, struct restdb_tables *t);
void restdb_tables_done(struct restdb_tables *t);

/* ---- conditions ------------------------------------------------------------------------------ */

/* Add the words of the parameter `name` of the query, a list with commas.  The parameter may be
 * there more than once.  False: too many words, or one is too long; noted. */
bool restdb_words(struct rest_call *call, const char *name, char ***list, size_t *n);
/* Add one word to such a list. */
bool restdb_word(struct rest_call *call, const char *word, char ***list, size_t *n);
/* As restdb_words(), for numbers.  False: one word is no number; noted. */
bool restdb_ids(struct rest_call *call, const char *name, uint32_t **list, size_t *n);
/* As restdb_ids(), for QOS by name or number. */
bool restdb_qos(struct rest_call *call, const char *name, const struct store_names *names,
                uint32_t **list, size_t *n);
/* A time: seconds since 1970, or a text that the commands take ("now-1hour").  False: it is no
 * time; noted. */
bool restdb_time(struct rest_call *call, const char *name, protobuf_c_boolean *has, int64_t *ret);
/* Is a parameter true that is a switch?  older: its name in older versions of the API; either of
 * the two may set it. */
bool restdb_switch(const struct rest_call *call, const char *name, const char *older);
/* The condition by which /associations/ and /association/ choose.  False: noted. */
bool restdb_assoc_where(struct rest_call *call, const struct store_names *names,
                        Pst__AcctCond *where);

/* ---- finding --------------------------------------------------------------------------------- */

/* The id of the QOS with this name; UINT32_MAX: there is none. */
uint32_t restdb_qos_id(const struct store_names *names, const char *name);

void restdb_no_memory(struct rest_call *call, const char *what);
