/* idkey.h - a pair of keys of one daemon: what only its owner can sign, and a secret that two
 * owners share
 *
 * The controllers have one pair for all of them, each node has its own.  A pair is Ed25519, made
 * from a seed of 32 bytes in a file of mode 600 (`ed25519-seed:HEX`).  The public half is 64
 * hexadecimal digits, or a file `ed25519:HEX`.  Everything is constant after idkey_open(): any
 * thread. Design: docs/design/0020-node-keys.md. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "wire/auth/auth.h"

#define IDKEY_SIZE 32u /* the public half */
#define IDKEY_TEXT (2u * IDKEY_SIZE + 1u)
#define IDKEY_SIGNATURE_SIZE 64u

/* What a signature or a secret is for; none stands for another. */
#define IDKEY_FOR_CREDENTIAL "PSTK credential 1"
#define IDKEY_FOR_HELLO "PSTK node hello 1"
#define IDKEY_FOR_LAUNCH "PSTK node launch 1"
#define IDKEY_FOR_VOUCH "PSTK node vouch 1"

/* The name of a launch key that comes from a node's own key.  No key of a cluster has it. */
#define IDKEY_LAUNCH_KID ":node"

struct idkey; /* wiped when freed */

/* The pair in the file, which is made when it is not there; owner: whose file it becomes when we
 * are root.  Errors: -EACCES, -EPERM readable by others, -EINVAL syntax, -ENOSYS no libsodium. */
int idkey_open(const char *path, uid_t owner, struct idkey **ret_key, struct err *err);
struct idkey *idkey_free(struct idkey *key);          /* always NULL */
const uint8_t *idkey_public(const struct idkey *key); /* IDKEY_SIZE bytes, borrowed */

/* A signature of data and of the MAC that goes with it.  Errors: -ENOMEM, -ENOSYS. */
int idkey_sign(const struct idkey *key, const char *label, const void *data, size_t len,
               const uint8_t mac[AUTH_MAC_SIZE], uint8_t signature[IDKEY_SIGNATURE_SIZE]);
/* Errors: -EACCES it is not the owner's of public_key, -ENOMEM, -ENOSYS. */
int idkey_verify(const uint8_t public_key[IDKEY_SIZE], const char *label, const void *data,
                 size_t len, const uint8_t mac[AUTH_MAC_SIZE],
                 const uint8_t signature[IDKEY_SIGNATURE_SIZE]);
/* The secret that key's owner has with the owner of public_key.  Errors: -EACCES no such key can
 * be, -ENOSYS. */
int idkey_secret(const struct idkey *key, const uint8_t public_key[IDKEY_SIZE], const char *label,
                 uint8_t secret[32]);
/* Of this secret and another one, which both ends must know too; with the MAC of a credential the
 * launch key of that credential at the node. */
void idkey_mix(uint8_t secret[32], const uint8_t other[32]);

void idkey_text(const uint8_t public_key[IDKEY_SIZE], char text[IDKEY_TEXT]);
/* Errors: -EINVAL. */
int idkey_parse(const char *text, uint8_t ret_key[IDKEY_SIZE]);
/* Errors: -ENOENT, -EINVAL, errors of open(2). */
int idkey_read_public(const char *path, uint8_t ret_key[IDKEY_SIZE], struct err *err);
/* The whole file or none.  Readable by all. */
int idkey_write_public(const char *path, const uint8_t key[IDKEY_SIZE], struct err *err);
