/* sshkeys.h - host keys of sshd: made, and written as OpenSSH writes them
 *
 * Formats: OpenSSH's PROTOCOL.key (the private key, without a passphrase), RFC 4253 section 6.6,
 * RFC 5656 section 3.1 and RFC 8709 section 4 (public keys).  Any thread. */
#pragma once

#include <stdbool.h>

#define SSHKEYS_RSA_BITS 4096u

enum sshkeys_type { SSHKEYS_RSA, SSHKEYS_ED25519, SSHKEYS_ECDSA, SSHKEYS_TYPES };

/* Names of the two files: "ssh_host_rsa_key", "ssh_host_rsa_key.pub". */
const char *sshkeys_file(enum sshkeys_type type);
const char *sshkeys_public_file(enum sshkeys_type type);

struct sshkey {
    char *secret; /* the private file's text */
    char *public; /* the public file's line */
};
/* Make a key.  An RSA key costs about a second; meanwhile go_on is asked now and then whether it is
 * still wanted.  The caller ends with sshkey_done().
 * Errors: -ECANCELED (go_on said no), -EIO (OpenSSL failed), -ENOMEM. */
int sshkeys_make(enum sshkeys_type type, bool (*go_on)(void *ctx), void *ctx, struct sshkey *ret);
/* Wipe and free. */
void sshkey_done(struct sshkey *k);
