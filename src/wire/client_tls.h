/* client_tls.h - a command's connection inside TLS (private to wire/)
 *
 * For client.c and client_connect.c; one thread, as the client. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct client;
struct client_target;

/* Bytes through TLS, as recv(2) and send(2) would have it; a send takes all that goes.  -EAGAIN, 0
 * at the end (reads), -EPIPE, -EPROTO ... */
ssize_t client_tls_recv(struct client *c, uint8_t *buf, size_t n);
ssize_t client_tls_send(struct client *c, const uint8_t *data, size_t len);
/* Begin TLS on the fresh connection of c. */
int client_tls_begin(struct client *c, const struct client_target *target);
/* The request that carries the stream's key has been queued. */
int client_tls_hand_over(struct client *c);
/* What poll(2) shall wait for before the next send or receive. */
short client_tls_send_events(const struct client *c);
short client_tls_recv_events(const struct client *c);
/* Why TLS failed; NULL: it did not.  r: the negative errno that a call on the client gave. */
const char *client_tls_why(const struct client *c, int r);
