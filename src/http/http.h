/* http.h - the HTTP side of a daemon's port
 *
 * The listener of wire/ recognises a caller that speaks HTTP and hands its socket over
 * (server_hooks.on_http); libmicrohttpd does the rest on one thread of its own, so that no
 * request takes anything from the daemon's other threads but what its answer asks them for.  What
 * is served is a table of paths.  Only GET and HEAD are; everything else is not found, as the
 * incumbent has it.
 *
 * Callers are strangers: 256 connections in all and 64 of an address, 30 s without a byte, 32 KiB
 * of headers; an answer that many may have is kept, and shared by those that read it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/strbuf.h"

struct http;
struct http_request;

/* Answer with a status (http_status) and, of 200, the body in the type of the row.  From 400 on
 * `err` is the reason, which the caller reads. */
typedef unsigned http_answer_fn(void *ctx, const struct http_request *r, struct strbuf *body,
                                struct err *err);
/* May the caller have the answer?  0, or a status from 400 on with its reason. */
typedef unsigned http_allow_fn(void *ctx, const struct http_request *r, struct err *err);

enum http_status {
    HTTP_OK = 200,
    HTTP_NO_CONTENT = 204,
    HTTP_SEE_OTHER = 303, /* the body is where: "http://host:port", to which the path is added */
    HTTP_NOT_MODIFIED = 304,
    HTTP_BAD_REQUEST = 400,
    HTTP_UNAUTHORIZED = 401, /* nobody is known to ask */
    HTTP_FORBIDDEN = 403,    /* another may */
    HTTP_NOT_FOUND = 404,
    HTTP_TOO_LARGE = 413,
    HTTP_MEDIA_TYPE = 415,    /* neither JSON nor YAML */
    HTTP_UNPROCESSABLE = 422, /* understood, and refused */
    HTTP_FAILED = 500,
    HTTP_UNAVAILABLE = 503,  /* later */
    HTTP_NOT_BELIEVED = 511, /* a token was shown, and the daemon behind does not believe it */
};

struct http_path {
    const char *path;
    const char *listed; /* the path of the index that names it, NULL: none */
    const char *words;  /* there */
    const char *title;  /* of an index, whose answer is NULL: what it lists */
    http_answer_fn *answer;
    http_allow_fn *allow; /* NULL: everybody */
    /* An answer that is not empty serves all that ask within so long; it must not depend on the
     * request.  0: none does */
    unsigned keep_ms;
    const char *shown; /* in the index, where it is another word than the path; NULL: the path */
    const char *type;  /* of the body; NULL: text/plain */
};

struct http_config {
    const char *name;              /* "slurmctld": answers begin with it; borrowed */
    const struct http_path *paths; /* ended by a row without path; borrowed */
    void *ctx;
};

/* Start the thread.  Errors: -ENOMEM, -EAGAIN no thread. */
int http_new(const struct http_config *config, struct http **ret_http, struct err *err);
/* Serve the connection of fd, which is taken; any thread.  Beyond the limits it is closed. */
void http_take(struct http *h, int fd);
/* Off: callers are disconnected (CommunicationParameters=disable_http).  Any thread. */
void http_switch(struct http *h, bool on);
struct http *http_free(struct http *h); /* ends the connections and the thread; always NULL */

/* Of the request being answered: a header (borrowed, for the call; NULL: not there), and whether a
 * word stands in its query, with a value or without. */
const char *http_request_header(const struct http_request *r, const char *name);
bool http_request_asks(const struct http_request *r, const char *word);
