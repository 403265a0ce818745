/* handshake.h - mutual proof: what both ends of a connection over TCP bind their proofs to
 *
 *   server: Challenge { nonce }
 *   client: Hello { nonce, method, uid, gid, service, name, cluster, key id, token, act_as; proof }
 *   server: HelloReply { proof }
 *
 * Both ends know a secret of 32 bytes by the method: derived from the cluster's key, the
 * signature of a token, a step's launch key, or sent by the server in a munge credential that
 * only the client may open. The handshake's bytes are everything above but the proofs, each
 * field with its length before it. Proofs and the keys of both directions are HMAC-SHA256 under
 * the secret over a label and these bytes, so none of them stands for another nonce, role,
 * service, node, cluster, identity or connection.  The layout is private to handshake.c.  Pure
 * functions, any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "api.pb-c.h"

#include "wire/auth/auth.h"
#include "wire/auth/seal.h"

#define HANDSHAKE_SECRET_SIZE 32u

struct handshake {
    uint8_t client_proof[AUTH_MAC_SIZE], server_proof[AUTH_MAC_SIZE];
    uint8_t to_server[SEAL_KEY_SIZE], to_client[SEAL_KEY_SIZE];
};

/* The handshake's bytes.  Caller frees *ret_bytes.  Errors: -EINVAL without a nonce of the client,
 * -ENOMEM. */
int handshake_bytes(const uint8_t server_nonce[AUTH_NONCE_SIZE], const Pst__Hello *hello,
                    uint8_t **ret_bytes, size_t *ret_len);
/* Inside TLS both ends make the nonce one of this connection too, so that nobody between two
 * connections passes a proof from one to the other. */
void handshake_bind(uint8_t server_nonce[AUTH_NONCE_SIZE], const uint8_t *binding, size_t len);
/* -ENOMEM */
int handshake_derive(const uint8_t secret[HANDSHAKE_SECRET_SIZE], const uint8_t *bytes, size_t len,
                     struct handshake *ret);
