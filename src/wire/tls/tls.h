/* tls.h - TLS 1.3 around a connected descriptor
 *
 * A context is what a program knows: its certificate, whom it trusts.  It is made from the
 * configuration, immutable, counted and shared by threads; a reload makes another one.  A struct
 * tls is one connection, of one thread at a time.  It does not own the descriptor and never blocks
 * on it; the handshake happens by itself in the first reads and writes.
 *
 * Two ways to know the peer: a certificate that a trusted authority signed, or a key of 32 bytes
 * that both ends have (connections of steps).  Either way the session's keys are fresh
 * (ECDHE), so that no later theft of a key opens what was recorded.  Who the peer is, what it may,
 * is not decided here: the proof inside the connection says it, bound to it by
 * tls_binding(). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "wire/tls/tlsctx.h"

#define TLS_KEY_SIZE 32u
#define TLS_BINDING_SIZE 32u
#define TLS_RECORD_MAX 16384u /* bytes; RFC 8446 */
#define TLS_ID_MAX 128u       /* bytes of a key's name */

struct tls;

/* The key that a caller names, of n bytes; negative: unknown, a certificate is shown instead.
 * Called within tls_read(), tls_peek() or tls_write(). */
typedef int tls_find_key(void *arg, const uint8_t *id, size_t n, uint8_t ret_key[TLS_KEY_SIZE]);

/* We connected, or accepted, fd.  -ENOMEM. */
int tls_new_client(struct tls_ctx *ctx, int fd, struct tls **ret_tls);
int tls_new_server(struct tls_ctx *ctx, int fd, tls_find_key *find, void *arg,
                   struct tls **ret_tls);
/* The same with a key that both ends have, and nothing else will do. */
int tls_new_client_key(struct tls_ctx *ctx, int fd, const uint8_t *id, size_t n,
                       const uint8_t key[TLS_KEY_SIZE], struct tls **ret_tls);
/* The same for what follows on a connection of a step that slurmd handed over. */
int tls_new_stream_client(struct tls_ctx *ctx, int fd, const uint8_t key[TLS_KEY_SIZE],
                          struct tls **ret_tls);
int tls_new_stream_server(struct tls_ctx *ctx, int fd, const uint8_t key[TLS_KEY_SIZE],
                          struct tls **ret_tls);
/* Read as much from the socket as comes, not record by record: for an end that keeps the
 * connection.  Its owner reads until -EAGAIN before it waits. */
void tls_read_ahead(struct tls *t);
/* Says nothing to the peer: the end of the socket does. */
struct tls *tls_free(struct tls *t); /* always NULL */
DEFINE_CLEANUP(struct tls *, tls_free)

/* Bytes read or written, > 0; 0 (reads): the peer is done; -EAGAIN: wait for the socket, for what
 * tls_wait_write()/tls_wait_read() say; -EPIPE, -ECONNRESET ...; -EPROTO: tls_why() has the
 * sentence.  A write that gave -EAGAIN is repeated with the same bytes, or more behind them. */
ssize_t tls_read(struct tls *t, void *buf, size_t n);
ssize_t tls_peek(struct tls *t, void *buf, size_t n);
ssize_t tls_write(struct tls *t, const void *buf, size_t n);
/* The last write that gave -EAGAIN waits for something to read; the last read for room to write. */
bool tls_write_waits_read(const struct tls *t);
bool tls_read_waits_write(const struct tls *t);
/* More will be written at once: the kernel need not send what it has. */
void tls_more(struct tls *t, bool more);
/* Go on with a duplicate of the descriptor.  Gives 0. */
int tls_move(struct tls *t, int fd);
/* Do not read the socket until `hold` is false again: what comes is another connection's. */
void tls_hold(struct tls *t, bool hold);
/* Bytes that the next tls_read() has without the socket. */
bool tls_has_input(const struct tls *t);
const char *tls_why(const struct tls *t); /* NULL: nothing is wrong */

/* Of a connection whose handshake is over.  What both ends know of this connection and nobody else:
 * -EPROTO before. */
int tls_binding(const struct tls *t, uint8_t ret_binding[TLS_BINDING_SIZE]);
bool tls_is_up(const struct tls *t);
/* "TLSv1.3, TLS_AES_256_GCM_SHA384", for the log.  Gives back buf. */
const char *tls_cipher(const struct tls *t, char *buf, size_t size);
/* Common name of the peer's certificate; "" for one without.  False: it showed none. */
bool tls_peer_name(const struct tls *t, char *ret_name, size_t size);
