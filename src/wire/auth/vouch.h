/* vouch.h - a daemon of the caller's host vouches for the caller: method AUTH_VOUCH
 *
 *   command  -- VouchRequest { Hello, the server's nonce } -->  daemon at sack.socket
 *   command  <-- VouchReply { uid, gid, proofs } ------------
 *
 * The kernel tells the daemon who the caller is (SO_PEERCRED).  The daemon makes the proofs and the
 * keys of this one handshake; the secret that they come from stays with the daemon, so that the
 * command can prove nothing else with them.  Each message has its length of 4 bytes, little endian,
 * before it.  Design: docs/design/0024-vouching.md. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "api.pb-c.h"

#include "base/err.h"
#include "wire/auth/handshake.h"

#define VOUCH_BYTES_MAX 8192u /* of a message */
#define VOUCH_PATH_MAX 108u   /* of a socket's path, with its end */
#define VOUCH_SOCKET "sack.socket"
#define VOUCH_PROOFS_SIZE (2u * AUTH_MAC_SIZE + 2u * SEAL_KEY_SIZE)

/* What a daemon vouches with. */
struct vouch_secret {
    uint8_t secret[HANDSHAKE_SECRET_SIZE];
    const char *key_id;      /* of the cluster's key that the secret comes from; NULL: of a node */
    const uint8_t *node_key; /* of IDKEY_SIZE bytes, the node's; NULL: of the cluster */
    /* ident_make(): what this host knows of the caller, for requests that want the server to be
     * told that; with the cluster's key alone.  NULL: nothing. */
    int (*identify)(uid_t uid, gid_t gid, uint8_t **ret, size_t *ret_len, struct err *err);
};

/* Is there a socket that a command could ask at?  A look at files, nothing more. */
bool vouch_may_ask(void);
/* Have a daemon of this host vouch for hello, which gets uid, gid, key_id, token and, with
 * want_identity, identity from *ret_reply (the caller frees that after hello).  Blocks for
 * timeout_ms at most.  Errors: -EACCES no daemon does, err says why; -ETIMEDOUT, -ENOMEM. */
int vouch_ask(Pst__Hello *hello, const uint8_t server_nonce[AUTH_NONCE_SIZE], bool want_identity,
              int timeout_ms, struct handshake *ret_proofs, Pst__VouchReply **ret_reply,
              struct err *err);

/* The daemon's half: the reply to a request of len bytes from a caller of this uid and gid.  Pure
 * but for what identify() asks; any thread.  The caller frees *ret_reply, length and all.  Bytes
 * that are no request are refused in the reply.  -ENOMEM, -ENOSYS. */
int vouch_answer(const struct vouch_secret *with, uid_t uid, gid_t gid, const uint8_t *request,
                 size_t len, uint8_t **ret_reply, size_t *ret_len);
/* A reply that refuses with this sentence. */
int vouch_refuse(const char *why, uint8_t **ret_reply, size_t *ret_len);
