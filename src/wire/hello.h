/* hello.h - the caller's half of the handshake, shared by client and dialer (private to wire/)
 *
 * The server opens with a Challenge, the caller answers with a Hello that names itself, the
 * server that it means to reach, and its protocol version.  Over TCP the server's reply must
 * prove that it is that server, before the caller sends anything else; see handshake.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api.pb-c.h"

#include "base/err.h"
#include "wire/auth/auth.h"
#include "wire/client.h"
#include "wire/auth/handshake.h"

/* Pick how to prove identity over `local` (the kernel does) or TCP.  *ret_keys is set for AUTH_KEY
 * only; the caller frees it.  Errors: -EACCES nothing to prove it with, err says what is missing;
 * errors of auth_keys_load() for a key file that is there but wrong. */
int hello_choose(const struct client_target *target, bool local, unsigned *ret_method,
                 struct auth_keys **ret_keys, struct err *err);

/* Does the local socket serve this identity?  That of the kernel, or a token shown whole. */
bool hello_may_local(const struct client_target *target);

/* The version to speak to a server that sent challenge.  Errors: -EPROTO none in common. */
int hello_version(const Pst__Challenge *challenge, uint16_t *ret_version, struct err *err);

/* Over TLS the nonce becomes one of this connection.  -EPROTO the handshake is not over. */
struct tls;
int hello_bind(const struct tls *tls, uint8_t nonce[AUTH_NONCE_SIZE]);
/* Of a target with a credential: the name and the key of its TLS connection.  ret_id has room for
 * 128 bytes.  -EACCES no launch key, -EINVAL a name too long. */
int hello_tls_key(const struct client_target *target, uint8_t *ret_id, size_t *ret_len,
                  uint8_t ret_key[HANDSHAKE_SECRET_SIZE]);
/* The key of TLS that follows from a launch key. */
void hello_launch_tls(const uint8_t launch_key[HANDSHAKE_SECRET_SIZE],
                      uint8_t ret_key[HANDSHAKE_SECRET_SIZE]);

/* What the caller keeps of its Hello until the reply. */
struct hello_sent {
    unsigned method;
    uint8_t *bytes; /* of the handshake; NULL for AUTH_PEERCRED */
    size_t len;
    struct handshake proofs; /* all methods but munge, whose secret comes with the reply */
};
void hello_sent_done(struct hello_sent *sent); /* wipes */

/* How a caller proves itself; all borrowed. */
struct hello_way {
    const struct client_target *target;
    unsigned method;              /* AuthMethod; of hello_choose() */
    const struct auth_keys *keys; /* likewise */
    const uint8_t *nonce;         /* the server's; may be NULL for AUTH_PEERCRED and AUTH_BEARER */
    uint16_t version;             /* of the frames, agreed upon so far */
};
/* The Hello frame.  May block (munge, a daemon that vouches).  Caller frees *ret_buf and calls
 * hello_sent_done().  Errors: those of auth.h, -ENOMEM, -EMSGSIZE. */
int hello_pack(const struct hello_way *way, uint8_t **ret_buf, size_t *ret_len,
               struct hello_sent *ret_sent, struct err *err);

/* Is the sender of reply the server that the Hello was for?  Sets the seals of both directions;
 * in is NULL for AUTH_STEP.  A server that uses munge must run as root, as slurm_uid or as
 * ourselves.  May block (munge). Errors: -EACCES it is not, -ENOMEM, those of auth.h. */
int hello_check(const struct client_target *target, struct hello_sent *sent,
                const Pst__HelloReply *reply, uid_t slurm_uid, struct seal **ret_in,
                struct seal **ret_out, struct err *err);

/* May the process at the other end of the local socket be the controller? */
bool hello_server_trusted(int fd, uid_t slurm_uid);
