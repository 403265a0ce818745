/* hello.h - the caller's half of the handshake, shared by client and dialer (private to wire/)
 *
 * The server opens with a Challenge, the caller answers with a Hello that says who it is and which
 * protocol version it speaks. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api.pb-c.h"

#include "base/err.h"
#include "wire/auth.h"
#include "wire/client.h"

#define HELLO_NONE 0u /* beside enum AuthMethod: the connection says no Hello */

/* Pick how to prove identity over `local` (the kernel does) or TCP.  *ret_keys is set for AUTH_KEY
 * only; the caller frees it.  Errors: -EACCES nothing to prove it with, err says what is missing;
 * errors of auth_keys_load() for a key file that is there but wrong. */
int hello_choose(const struct client_target *target, bool local, unsigned *ret_method,
                 struct auth_keys **ret_keys, struct err *err);

/* The version to speak to a server that sent challenge.  Errors: -EPROTO none in common. */
int hello_version(const Pst__Challenge *challenge, uint16_t *ret_version, struct err *err);

/* The Hello frame.  nonce may be NULL for AUTH_PEERCRED and AUTH_JWT.  May block (munge).  Caller
 * frees *ret_buf.  Errors: those of auth.h, -ENOMEM, -EMSGSIZE. */
int hello_pack(const struct client_target *target, unsigned method, const struct auth_keys *keys,
               const uint8_t *nonce, uint16_t version, uint8_t **ret_buf, size_t *ret_len,
               struct err *err);

/* May the process at the other end of the local socket be the controller? */
bool hello_server_trusted(int fd, uid_t slurm_uid);
