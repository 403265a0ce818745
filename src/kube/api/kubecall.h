/* kubecall.h - requests to a server that speaks JSON over HTTP: the API server, and slurmrestd
 *
 * A request is answered by one call of its `done`, on the loop, never inside kubecall_start().
 * status 0 means that nobody knows whether the request was done: the connection failed, was cut or
 * timed out, or the answer is no JSON.  Such an answer is never a no.
 *
 * Requests wait for the rate limit in lanes that are served in turns, so that one namespace cannot
 * keep the others waiting; the lease and lane 0 go first.  Streams do not count.  A server that
 * answers 429 or 503 with Retry-After is left alone so long, at most KUBECALL_HELD_S, except for
 * these two.
 *
 * While the loop is finishing these two lanes alone are sent, when it is closed the lease's alone.
 * What stands in other lanes waits for kubeserver_free().
 *
 * One thread: the loop's. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "kube/api/kubeconfig.h"
#include "kube/api/kubeloop.h"

#define KUBECALL_ANSWER_MAX (32u << 20) /* bytes of an answer */
#define KUBECALL_LINE_MAX (4u << 20)    /* bytes of one line of a stream */
#define KUBECALL_HELD_S 30              /* of Retry-After */
#define KUBECALL_LANES 17u
#define KUBECALL_URGENT 0u
#define KUBECALL_TOLD 15u  /* beside the lanes of namespaces */
#define KUBECALL_LEASE 16u /* before all others */

struct kubeserver;
struct kubecall;

struct kubeserver_options {
    const char *program; /* User-Agent */
    const char *header;  /* the header of the token; NULL: Authorization, with Bearer */
    double qps;          /* 0: no limit */
    unsigned burst;
    unsigned in_flight; /* 0: 64 */
};

struct kubereply {
    int status;         /* of HTTP; 0: not known, see above */
    const json_t *body; /* NULL: none.  Borrowed */
    const char *reason; /* "NotFound", "Conflict" of a Status object, else "" */
    const char *text;   /* a sentence when status is not 2xx, else "" */
    int retry_after_s;  /* what the server asks for; 0: nothing */
    bool no_http;       /* status 0: somebody took the connection, and speaks no HTTP there */
};

/* Of a reply of slurmrestd: the number of its first error, 0: it has none. */
int64_t kubereply_slurm_error(const struct kubereply *reply);
#define SLURM_UNREACHABLE 19008 /* slurmrestd has no slurmctld */
/* Of a reply of slurmrestd: slurmctld, or slurmrestd, has something against the request; false: it
 * was not looked at, as when nobody answers or our token is not believed. */
bool kubereply_is_slurms(const struct kubereply *reply);
/* Likewise of the API server: what is asked for is refused, not for now alone (404, 409, 429). */
bool kubereply_is_refusal(const struct kubereply *reply);

typedef void kubecall_fn(void *ctx, const struct kubereply *reply);
/* A line of a stream, without its end.  Negative: the stream is ended, and done is called. */
typedef int kubecall_line_fn(void *ctx, const char *line, size_t len);

struct kubecall_spec {
    const char *method;
    const char *path;         /* with its query */
    const json_t *body;       /* NULL: none; only read inside kubecall_start() */
    const char *content_type; /* NULL: application/json */
    const char *header;       /* one more, "Name: value"; NULL: none */
    unsigned lane;            /* less than KUBECALL_LANES */
    int timeout_ms;           /* 0: 30 s; of a stream: silence that ends it */
    kubecall_line_fn *line;   /* a stream, whose answer is lines; NULL: one answer */
    void (*begun)(void *ctx); /* the head of an answer of 200 is there; NULL */
    bool unread;              /* done reads no body of an answer of 2xx: it is not parsed */
    kubecall_fn *done;
    void *ctx;
};

/* config and the texts of o are borrowed.  -ENOMEM. */
int kubeserver_new(struct kubeloop *loop, const struct kubeconfig *config,
                   const struct kubeserver_options *o, struct kubeserver **ret);
/* Requests under way are dropped; their done is not called.  Always NULL. */
struct kubeserver *kubeserver_free(struct kubeserver *s);
/* Requests that wait or are under way, streams apart. */
size_t kubeserver_pending(const struct kubeserver *s);
/* Those of them that may still be answered when the loop is finishing or closed. */
size_t kubeserver_owed(const struct kubeserver *s);
struct kubeloop *kubeserver_loop(const struct kubeserver *s);
/* Requests sent so far. */
unsigned long kubeserver_sent(const struct kubeserver *s);

/* ret_call may be NULL.  It is good until done is called.  -ENOMEM. */
int kubecall_start(struct kubeserver *s, const struct kubecall_spec *spec,
                   struct kubecall **ret_call);
/* Drop the request: done is not called.  What was sent may still be done. */
void kubecall_cancel(struct kubecall *call);
/* What a server said, as a value of a query: a cursor, a continue token. */
void kubecall_escape(struct strbuf *out, const char *text);
/* The lane of a namespace. */
unsigned kubecall_lane(const char *namespace_);
