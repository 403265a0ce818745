/* hookhttp.h - the HTTP of webhooks: POST of a review, an answer in JSON
 *
 * libmicrohttpd on one thread of its own; the connections come from hooktls.h.  A body has
 * HOOKREVIEW_MAX bytes at most, all bodies together HOOKHTTP_BODIES; as many again are read and
 * dropped before the connection is.  Times are hooktls.h's. */
#pragma once

#include <jansson.h>

#include "base/err.h"

#define HOOKHTTP_BODIES (64u << 20)

struct hookhttp;

/* The answer of a path to a body; on the thread of HTTP.  200 with *ret, the caller's, or another
 * status and a sentence in err. */
typedef unsigned hookhttp_answer_fn(void *ctx, const char *path, const char *body, size_t len,
                                    json_t **ret, struct err *err);

/* -ENOMEM. */
int hookhttp_new(hookhttp_answer_fn *answer, void *ctx, struct hookhttp **ret);
/* Serve the connection of fd, which is taken.  Any thread. */
void hookhttp_take(void *hookhttp, int fd);
struct hookhttp *hookhttp_free(struct hookhttp *h); /* always NULL */
