/* rest.h - the REST API: a server of HTTP whose paths are the operations of the commands
 *
 * slurmrestd runs one.  Rows (restcall.h) say what each path does; the schema (restschema.h) says
 * what bodies hold and makes /openapi/v3.  A connection has a thread of its own, so that a handler
 * may wait for a daemon; there are at most `connections` of them.
 *
 * The server decides nothing: it passes the caller's token to the daemon that answers, which
 * verifies it.  Callers are strangers: 64 KiB of headers, 16 MiB of body nested 32 deep, 60 s
 * without a byte. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct conf;
struct rest;
struct rest_call;
struct rest_row;

/* A path outside the tables whose answer goes on for as long as the caller listens.  A thread for
 * each would be many: the caller's socket is taken over (rest_take_over()). */
struct rest_taking {
    const char *path; /* "/penstock/v1/watch" */
    /* On the connection's thread, who is asking known, words of the query read.  True: the socket
     * was taken; false: the call holds the error. */
    bool (*take)(void *ctx, struct rest_call *call);
    unsigned (*busy)(void *ctx); /* sockets that it has */
    void *ctx;
};

struct rest_config {
    const struct conf *conf; /* slurm.conf in client scope; borrowed for the server's life */
    /* What is served: tables, NULL ends them (restrows.h) */
    const struct rest_row *const *rows;
    bool jwt;             /* rest_auth/jwt: tokens in headers */
    bool local;           /* rest_auth/local: the user at the other end of a UNIX socket */
    bool become_user;     /* ... may be any user, and the answer is for that user */
    uint64_t versions;    /* bit n: v0.0.n is served */
    unsigned plugins;     /* bit of enum rest_plugin */
    unsigned connections; /* at most; 0: 124 */
    const struct rest_taking *taking; /* NULL: none */
};

/* Errors: -ENOMEM. */
int rest_new(const struct rest_config *config, struct rest **ret, struct err *err);
/* Listen on "[http://]HOST:PORT", "https://HOST:PORT", ":PORT" or "unix:PATH" ("unix:/PATH",
 * "unix:///PATH").  Errors: -EINVAL no such address, errors of bind(2), -EAGAIN no thread; of
 * https:// also those of its certificate's files. */
int rest_listen(struct rest *rest, const char *address, struct err *err);
/* Serve who connects to fd, which listens already and is taken; `address` names it in sentences.
 * Its file, if it has one, stays.  Errors: -EAGAIN no thread. */
int rest_listen_fd(struct rest *rest, int fd, const char *address, struct err *err);
/* Serve one connection: fd is taken. */
int rest_take(struct rest *rest, int fd, struct err *err);
/* Wait until the connections of rest_take() have ended, and those that were taken over, at most for
 * so long; 0: for ever. */
void rest_wait(struct rest *rest, unsigned most_ms);
/* Ends the connections: waits for answers being made, at most for a moment.  Always NULL. */
struct rest *rest_free(struct rest *rest);

/* The OpenAPI document of what is served; caller frees.  -ENOMEM. */
int rest_openapi(const struct rest *rest, bool yaml, char **ret);
