/* restdb.h - what the handlers of /slurmdb/ share: lists of the accounting store, what ids mean,
 * conditions from query words
 *
 * Everything is asked as the caller: the store shows what the caller may see. */
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

/* Give each record of a list to fn.  what names the question in errors: "slurmdb_users_get".
 * Returns 0 or a negative number; the error was noted, unless it is what fn returned as -EPIPE. */
int restdb_list(struct rest_call *call, const char *what, Pst__AcctEntity entity,
                const Pst__AcctCond *where, query_fn *fn, void *ctx);
/* Copies of a list's records: list is the address of an array of pointers.  False: noted. */
bool restdb_keep(struct rest_call *call, const char *what, Pst__AcctEntity entity,
                 const Pst__AcctCond *where, void *list, size_t *n);
void restdb_keep_done(void *list, size_t *n); /* frees them; the list is empty then */

/* What ids mean: every TRES and QOS there is or was.  False: noted. */
bool restdb_load_names(struct rest_call *call, struct restdb_tables *t);
void restdb_tables_done(struct restdb_tables *t);

/* ---- conditions ------------------------------------------------------------------------------ */

/* Add the words of a comma list in a query word, which may be there more than once.  False: too
 * many or too long, noted. */
bool restdb_words(struct rest_call *call, const char *name, char ***list, size_t *n);
/* One word. */
bool restdb_word(struct rest_call *call, const char *word, char ***list, size_t *n);
/* The same of numbers.  False: one is none, noted. */
bool restdb_ids(struct rest_call *call, const char *name, uint32_t **list, size_t *n);
/* The same of QOS, by name or number. */
bool restdb_qos(struct rest_call *call, const char *name, const struct store_names *names,
                uint32_t **list, size_t *n);
/* Seconds since 1970, or a time as the commands take it ("now-1hour").  False: none, noted. */
bool restdb_time(struct rest_call *call, const char *name, protobuf_c_boolean *has, int64_t *ret);
/* A query word that is a switch and has a name in older versions: either is true. */
bool restdb_switch(const struct rest_call *call, const char *name, const char *older);
/* What /associations/ and /association/ choose by.  False: noted. */
bool restdb_assoc_where(struct rest_call *call, const struct store_names *names,
                        Pst__AcctCond *where);

/* ---- finding --------------------------------------------------------------------------------- */

/* UINT32_MAX: no such one. */
uint32_t restdb_qos_id(const struct store_names *names, const char *name);

void restdb_no_memory(struct rest_call *call, const char *what);
