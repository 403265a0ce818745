/* hooktls.h - a port with TLS, whose plain side goes to others
 *
 * A thread of its own accepts, does the handshakes (OpenSSL, TLS 1.2 or newer, as API servers
 * speak) and moves bytes.  Callers are strangers: HOOKTLS_CONNECTIONS at once, each has 10 seconds
 * for its handshake, and HOOKTLS_EXCHANGE_US for a request and for an answer, however many bytes
 * come and go meanwhile. */
#pragma once

#include <stdint.h>

#include "base/err.h"

#define HOOKTLS_CONNECTIONS 64u
#define HOOKTLS_EXCHANGE_US INT64_C(30000000) /* no API server waits longer for a webhook */

struct hooktls;

/* A handshake is done: fd is the plain end, which is taken.  On the thread. */
typedef void hooktls_take_fn(void *ctx, int fd);

/* Listen at host ("" or NULL: every address) and port, and start the thread.  Connections are
 * refused until there is a certificate.  Errors: -ENOMEM, those of getaddrinfo(3) as -EINVAL, of
 * bind(2), -EAGAIN no thread. */
int hooktls_new(const char *host, const char *port, hooktls_take_fn *take, void *ctx,
                struct hooktls **ret, struct err *err);
/* The number of the port, which "0" lets the system choose. */
unsigned hooktls_port(const struct hooktls *t);
/* Certificate and key (PEM) of connections from now on.  -EINVAL: they do not belong together, or
 * are none. */
int hooktls_set(struct hooktls *t, const char *cert_pem, const char *key_pem, struct err *err);
struct hooktls *hooktls_free(struct hooktls *t); /* always NULL */
