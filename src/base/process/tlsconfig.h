/* tlsconfig.h - what configuration files say of encryption, as the library of wire/tls takes it
 *
 * Filled by conf/, read by wire/, which know nothing of each other.  Plain data: strings are owned
 * by tls_config_done(). */
#pragma once

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

enum tls_kind {
    TLS_NONE,
    TLS_FILES, /* tls/openssl, tls/s2n: certificates in files */
    TLS_AUTO,  /* tls/auto: certificates of the controller's own authority */
};

struct tls_config {
    enum tls_kind kind;
    char *ca_file;              /* trusted authorities, PEM; NULL: none */
    char *crl_file;             /* certificates that were revoked, PEM; NULL: none */
    char *cert_file, *key_file; /* our own, PEM; NULL: we have none (commands) */
    bool need_cert;             /* a daemon: without files it makes itself a pair at each start */
    bool system_certs;          /* the host's authorities are trusted too */
    /* The peer's certificate is not asked for: who it is the proof inside says, which is bound to
     * the connection (wire/auth/handshake.h) */
    bool any_server;
    uid_t owner; /* beside root: whose the files may be */
};

static inline void tls_config_done(struct tls_config *c)
{
    free(c->ca_file);
    free(c->crl_file);
    free(c->cert_file);
    free(c->key_file);
    memset(c, 0, sizeof(*c));
}
