/* rest_impl.h - what the parts of the server share (private to rest/) */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/strbuf.h"
#include "rest/rest.h"
#include "rest/restcall.h"
#include "rest/restlink.h"

#define REST_HEADERS_MAX (64u * 1024)
#define REST_BODY_MAX (16u * 1024 * 1024)
#define REST_IDLE_S 60u
#define REST_CONNECTIONS 124u

struct MHD_Connection;
struct MHD_Daemon;
struct resttls;

struct rest_listener {
    struct MHD_Daemon *mhd;
    char *path;          /* of a UNIX socket; else NULL */
    struct resttls *tls; /* of https://, before mhd; else NULL */
};

struct rest {
    struct rest_config config;
    struct rest_links *links;
    struct restschema *schema;
    struct rest_listener *listeners; /* one for each address */
    size_t n_listeners;
    struct MHD_Daemon *taker; /* of rest_take(), NULL until then */
    unsigned taken;           /* connections of rest_take() ... */
    atomic_uint started;      /* ... that the taker's thread has begun */
    /* Does the daemon that the call is for believe its caller?  False: an error was noted. */
    bool (*believes)(struct rest_call *call, bool slurmdb);
    const char *user, *group; /* who the server runs as */
    pthread_mutex_t document_lock;
    char *documents[2]; /* of the API, as JSON and YAML; made when one is asked for first */
};

/* Whose request it is, and over which connection. */
struct rest_caller {
    struct MHD_Connection *conn;
    const char *token; /* NULL: the user at the other end of the UNIX socket */
    const char *name;  /* X-SLURM-USER-NAME; NULL: the token's own */
    uid_t uid;         /* of a UNIX socket, when there is no token */
    char source[128];  /* "[127.0.0.1]:6820(fd:9)": of meta */
};

enum { REST_NOTES_MAX = 1000 };

struct rest_note {
    char *description, *source, *said;
    int number;
};

struct rest_notes {
    struct rest_note errors[REST_NOTES_MAX], warnings[REST_NOTES_MAX];
    size_t n_errors, n_warnings;
};

/* The answer's outer object opens; meta, errors and warnings are written and it closes. */
void restreply_begin(struct rest_call *call, struct strbuf *sb, enum json_style style);
void restreply_end(struct rest_call *call);
void restreply_done(struct rest_call *call); /* frees notes and query */
