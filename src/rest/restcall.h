/* restcall.h - one request of the REST API while it is answered: what a handler sees
 *
 * A handler is a row of a table (struct rest_row).  It runs on the thread of its connection, reads
 * the request here, asks slurmctld or slurmdbd as the caller (rest_ctld(), rest_acct()), and writes
 * the keys of the answer with cli/format/json_out.h to call->js, whose outer object is open.
 * restreply.c adds "meta", "errors" and "warnings" behind them, or stands them first when the
 * handler wrote no key, as the incumbent has it.
 *
 * Handlers never exit, never print, and keep nothing between requests. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "cli/format/json_out.h"
#include "wire/client.h"

struct conf;
struct rest;

/* ---- rows ------------------------------------------------------------------------------------ */

struct rest_call;
/* Nothing to return: the answer, its status and its errors are in the call. */
typedef void rest_handler(struct rest_call *call);

enum rest_plugin {                /* "plugin" in the answer's meta; the first part of the path */
                   REST_SLURM,    /* openapi/slurmctld, /slurm/ */
                   REST_SLURMDB,  /* openapi/slurmdbd, /slurmdb/ */
                   REST_UTIL,     /* openapi/util, /util/ */
                   REST_PENSTOCK, /* what is ours alone, /penstock/v1/ */
};

#define REST_OLDEST 42u /* of v0.0.42 */
#define REST_NEWEST 45u

struct rest_row {
    const char *method; /* "GET"; NULL ends a table */
    enum rest_plugin plugin;
    /* Behind the version: "job/submit", "job/{}" where {} is a word of the caller's. */
    const char *path;
    unsigned since; /* the first version that has it, 0: all */
    rest_handler *answer;
    /* The answer may be long: it is sent while it is made.  The handler calls rest_flush() behind
     * each record. */
    bool streams;
    /* Anybody may ask, by what the body proves.  rest_ctld() is then for our own user, so such a
     * handler asks for nothing but what the body says. */
    bool open;
};

/* ---- the request ----------------------------------------------------------------------------- */

struct rest_pair {
    char *name, *value; /* without escapes; value is "" when there is none */
};

/* What goes before the text of an answer.  A long answer is sent while its maker still changes the
 * call, so the sender looks at this alone. */
struct rest_head {
    unsigned status;
    uint64_t edition; /* 0: it names none */
    bool is_set;
};

struct rest_call {
    struct rest *rest;
    const struct rest_row *row;
    unsigned version;        /* 45 of v0.0.45 */
    const char *word;        /* what stands for {} in the path; NULL: the path has none */
    struct rest_pair *query; /* in their order; names may repeat */
    size_t n_query;
    json_t *body; /* checked against the schema, unknown fields gone; NULL: none was sent */

    struct json js; /* the answer: the outer object is open */
    unsigned status;
    struct rest_notes *notes;   /* rest_error(), rest_warning() */
    struct rest_caller *caller; /* whose connection and token */
    struct rest_out *out;       /* where flushed bytes go */
    struct rest_head head;      /* of a long answer: as it was before the first piece */
    /* What is answered, as a number that differs when it does; 0: it is made of the bytes.  See
     * restfresh.h.  A handler sets it before its first flush. */
    uint64_t edition;
    struct rest_link *link[2]; /* connections in use, given back at the end */
    bool gone;                 /* the caller, in the middle of a long answer */
};

/* The first value of a query word, NULL: it is not there. */
const char *rest_query(const struct rest_call *call, const char *name);
/* Is the word in a comma list of flags ("flags=DETAIL,ALL"), any case? */
bool rest_query_flag(const struct rest_call *call, const char *name, const char *flag);
/* Is the query word true: present with "", "true", "1" or "yes"? */
bool rest_query_true(const struct rest_call *call, const char *name);
/* A time in seconds since 1970 in microseconds; 0 when it is not there.  false: an error was
 * noted. */
bool rest_query_time(struct rest_call *call, const char *name, int64_t *ret_us);

#define REST_LIMIT_MAX 1000000u
/* How many records at most: limit=; 0: it is not there.  false: an error was noted. */
bool rest_query_limit(struct rest_call *call, uint32_t *ret);

const struct conf *rest_conf(const struct rest_call *call); /* slurm.conf in client scope */

/* A header of the request; borrowed; NULL: not there. */
const char *rest_header(const struct rest_call *call, const char *name);

/* Whose request it is: the token (NULL: the user at the other end of the UNIX socket) and the name
 * to act for (NULL: none); borrowed. */
const char *rest_token(const struct rest_call *call);
const char *rest_acting_for(const struct rest_call *call);
/* Of struct rest_taking: take the caller's socket away from the server, which forgets the request
 * when take() is over.  The new descriptor is the caller's of this.  Errors: -EMFILE and the like;
 * the server has it still. */
int rest_take_over(struct rest_call *call);

/* ---- asking the daemons as the caller -------------------------------------------------------- */

/* A connection to slurmctld, the same one for the whole call; borrowed.  NULL: it cannot be reached
 * or the caller is not believed, which is noted as an error of `source`. */
struct client *rest_ctld(struct rest_call *call, const char *source);
/* The same to where the accounting is: slurmdbd, or slurmctld. */
struct client *rest_acct(struct rest_call *call, const char *source);
/* A call to one of them failed with r: note what it said as an error.  Sets the status that belongs
 * to the error's number. */
void rest_failed(struct rest_call *call, struct client *c, int r, const char *source,
                 const char *description, ...) __attribute__((format(printf, 5, 6)));

/* ---- errors and warnings --------------------------------------------------------------------- */

/* Note an error: number is of wire/errors.h (0: none), whose text goes to "error".  The status of
 * the answer becomes rest_status_of(number), or stays what an earlier error made it. */
void rest_error(struct rest_call *call, int number, const char *source, const char *description,
                ...) __attribute__((format(printf, 4, 5)));
/* The same with a text of the daemon's in place of the number's (NULL: the number's). */
void rest_error_said(struct rest_call *call, int number, const char *said, const char *source,
                     const char *description, ...) __attribute__((format(printf, 5, 6)));
void rest_warning(struct rest_call *call, const char *source, const char *description, ...)
    __attribute__((format(printf, 3, 4)));
/* An error that concerns one of many things that the request asks for. */
struct rest_fault {
    int number; /* 0: none */
    char *said, *description, *source;
};
/* Take back the errors that were noted, as those of one thing: *ret is the first.  The status is
 * 200 again. */
void rest_take_fault(struct rest_call *call, struct rest_fault *ret);
void rest_fault_done(struct rest_fault *fault);
bool rest_has_error(const struct rest_call *call);
/* 200 of 0; 404 of unknown jobs; 511 of a token that is not believed; 422 of what cannot be; 503 of
 * daemons that do not answer. */
unsigned rest_status_of(int number);
/* The version that the caller has (If-None-Match), 0: none. */
uint64_t rest_seen_version(const struct rest_call *call);
/* Nothing has changed since update_time, or since the caller's version: the answer is 304 without a
 * body. */
void rest_unchanged(struct rest_call *call);

/* Behind each record of a row that streams: send what has gathered.  Errors: -EPIPE, the caller has
 * gone; the handler ends. */
int rest_flush(struct rest_call *call);

/* ---- values of bodies ------------------------------------------------------------------------ */

/* A number that may be unset or infinite: 7, "7", null, "INFINITE", {"set":true,"number":7}. */
struct rest_number {
    bool set, infinite;
    uint64_t value; /* also of a fraction, cut; see real */
    double real;
};
struct rest_number rest_number(const json_t *value); /* NULL: unset */
/* A member's text, borrowed; NULL: not there, or no text.  (The schema has made texts of numbers
 * where a text belongs.) */
const char *rest_text(const json_t *object, const char *key);
bool rest_true(const json_t *object, const char *key);
/* Words of a list of texts, or a text itself, joined by commas; caller frees.  NULL: not there or
 * empty, or out of memory. */
char *rest_joined(const json_t *object, const char *key);
