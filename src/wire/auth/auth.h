/* auth.h - who is at the other end of a connection, and signatures that nodes trust
 *
 * Keys: a file of one or more lines `kid:hex` (32 bytes each), mode 600; the first signs, all
 * verify, which makes rotation a second line.  Made by slurmctld on first start.  A JSON Web Key
 * Set (slurm.jwks) and a slurm.key of any bytes are read too, see keyset.h. libmunge is
 * loaded at first use of munge (dlopen).  Thread-safe after auth_keys_load(). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define AUTH_NONCE_SIZE 32u
#define AUTH_MAC_SIZE 32u
#define AUTH_KEY_MAX 8u

struct auth_keys; /* secrets; counted, wiped with the last reference */

/* Errors: -ENOENT, -EACCES, -EPERM file readable by others, -EINVAL syntax, -EKEYEXPIRED. */
int auth_keys_load(const char *path, struct auth_keys **ret_keys, struct err *err);
/* Make the file (O_EXCL, mode 600) with one random key unless it exists. */
int auth_keys_create(const char *path, struct err *err);
struct auth_keys *auth_keys_ref(struct auth_keys *keys);
struct auth_keys *auth_keys_free(struct auth_keys *keys); /* drop a reference; always NULL */

/* HMAC-SHA256 with the first key that has not expired; *ret_kid borrowed from keys.  Errors:
 * -ENOKEY all have expired. */
int auth_sign(const struct auth_keys *keys, const void *data, size_t len,
              uint8_t mac[AUTH_MAC_SIZE], const char **ret_kid);
/* Errors: -EACCES wrong mac, -ENOKEY unknown kid.  Constant time. */
int auth_verify(const struct auth_keys *keys, const char *kid, const void *data, size_t len,
                const uint8_t mac[AUTH_MAC_SIZE]);

/* A secret of its own for one purpose, which `label` names, and one thing: HMAC-SHA256 of both
 * with the key kid (NULL = the first).  *ret_kid (may be NULL) borrowed from keys.  Errors:
 * -ENOKEY, -ENOSYS, -ENOMEM. */
#define AUTH_FOR_HELLO "PSTK hello 2"       /* data: none */
#define AUTH_FOR_LAUNCH "PSTK launch key 1" /* data: the MAC of a SignedCredential */
#define AUTH_FOR_VOUCH "PSTK vouch 1"       /* data: none */
int auth_derive(const struct auth_keys *keys, const char *kid, const char *label, const void *data,
                size_t len, uint8_t secret[AUTH_MAC_SIZE], const char **ret_kid);

/* munge; socket_path NULL = default, ttl_s 0 = munged's own.  Errors: -ENOSYS library missing,
 * -EACCES, -EKEYEXPIRED. */
int auth_munge_encode(const char *socket_path, uint32_t ttl_s, const void *payload, size_t len,
                      char **ret_cred, struct err *err);
/* The same for one reader alone. */
int auth_munge_encode_for(const char *socket_path, uint32_t ttl_s, uid_t reader,
                          const void *payload, size_t len, char **ret_cred, struct err *err);
int auth_munge_decode(const char *socket_path, const char *cred, uid_t *ret_uid, gid_t *ret_gid,
                      void **ret_payload, size_t *ret_len, struct err *err);

int auth_random(void *buf, size_t len); /* getrandom(2) */
