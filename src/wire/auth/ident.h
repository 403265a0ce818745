/* ident.h - what a host knows of a user, for hosts that do not know him: AuthInfo=use_client_ids
 *
 * A ClientIdent travels packed in a Hello, whose proof covers it (handshake.h).  The server
 * believes whoever proves the cluster's key, and nobody else.
 * Design: docs/design/0035-client-identity.md. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "api.pb-c.h"

#include "base/err.h"

#define IDENT_BYTES_MAX 6144u /* packed; a VouchReply has room for it */
#define IDENT_GROUPS_MAX 1024u
#define IDENT_NAME_MAX 64u
#define IDENT_TEXT_MAX 255u /* of gecos, folder and shell */

/* What this host's name service says of uid, packed; the caller frees *ret.  Blocks.  Errors:
 * -ENOENT no such user, -E2BIG more groups or longer texts than an identity holds, -ENOMEM; err has
 * the sentence. */
int ident_make(uid_t uid, gid_t gid, uint8_t **ret, size_t *ret_len, struct err *err);

/* NULL, or what is wrong with it.  Pure. */
const char *ident_fault(const Pst__ClientIdent *id);

/* Bytes of a stranger.  The caller frees *ret.  Errors: -EINVAL. */
int ident_read(const uint8_t *data, size_t len, Pst__ClientIdent **ret);
