/* resttls.h - an address of https://: a thread that accepts connections and ends TLS for the server
 *
 * libmicrohttpd gets the plain end of each connection.  Who speaks no TLS is disconnected. */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>

#include "base/err.h"

struct tls_ctx;
struct resttls;

/* A connection has come: fd is its plain end, which is taken; peer its address.  On the thread of
 * resttls.  False: it cannot be served, and fd is closed. */
typedef bool resttls_give_fn(void *ctx, int fd, const struct sockaddr *peer, socklen_t len);

/* Accept at listen_fd, `max` connections at most at a time; listen_fd and a reference to tls are
 * taken, on failure too.  -errno: no thread, no memory. */
int resttls_new(int listen_fd, struct tls_ctx *tls, unsigned max, resttls_give_fn *give, void *ctx,
                struct resttls **ret);
/* End the thread and all connections.  Always NULL. */
struct resttls *resttls_free(struct resttls *t);
