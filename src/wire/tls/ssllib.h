/* ssllib.h - the functions of OpenSSL 3 that we use, loaded when TLS is configured (private to
 * wire/tls/)
 *
 * A program without TLS never gets here and pays nothing.  The library stays loaded for the life
 * of the process. */
#pragma once

#define OPENSSL_SUPPRESS_DEPRECATED /* RAND_METHOD, see sslfew.c */
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <stdbool.h>

#include "base/err.h"

#define SSLLIB_SSL(X)                                                                              \
    X(OPENSSL_init_ssl)                                                                            \
    X(TLS_method)                                                                                  \
    X(SSL_CTX_new_ex)                                                                              \
    X(SSL_CTX_free)                                                                                \
    X(SSL_CTX_ctrl)                                                                                \
    X(SSL_CTX_set_ciphersuites)                                                                    \
    X(SSL_CTX_set_verify)                                                                          \
    X(SSL_CTX_get_cert_store)                                                                      \
    X(SSL_CTX_get0_certificate)                                                                    \
    X(SSL_CTX_set_default_verify_paths)                                                            \
    X(SSL_CTX_use_certificate)                                                                     \
    X(SSL_CTX_use_PrivateKey)                                                                      \
    X(SSL_CTX_check_private_key)                                                                   \
    X(SSL_set_session_id_context)                                                                  \
    X(SSL_CTX_set_num_tickets)                                                                     \
    X(SSL_new)                                                                                     \
    X(SSL_free)                                                                                    \
    X(SSL_set_bio)                                                                                 \
    X(SSL_set_read_ahead)                                                                          \
    X(SSL_set_default_read_buffer_len)                                                             \
    X(SSL_certs_clear)                                                                             \
    X(SSL_set_verify)                                                                              \
    X(SSL_set_connect_state)                                                                       \
    X(SSL_set_accept_state)                                                                        \
    X(SSL_set_ex_data)                                                                             \
    X(SSL_get_ex_data)                                                                             \
    X(SSL_set_psk_use_session_callback)                                                            \
    X(SSL_set_psk_find_session_callback)                                                           \
    X(SSL_read)                                                                                    \
    X(SSL_peek)                                                                                    \
    X(SSL_write)                                                                                   \
    X(SSL_pending)                                                                                 \
    X(SSL_get_error)                                                                               \
    X(SSL_is_init_finished)                                                                        \
    X(SSL_get_version)                                                                             \
    X(SSL_get_current_cipher)                                                                      \
    X(SSL_CIPHER_get_name)                                                                         \
    X(SSL_export_keying_material)                                                                  \
    X(SSL_get1_peer_certificate)                                                                   \
    X(SSL_get_verify_result)                                                                       \
    X(SSL_CIPHER_find)                                                                             \
    X(SSL_SESSION_new)                                                                             \
    X(SSL_SESSION_free)                                                                            \
    X(SSL_SESSION_set1_master_key)                                                                 \
    X(SSL_SESSION_set_cipher)                                                                      \
    X(SSL_SESSION_set_protocol_version)

#define SSLLIB_CRYPTO(X)                                                                           \
    X(OPENSSL_init_crypto)                                                                         \
    X(BIO_meth_new)                                                                                \
    X(BIO_meth_free)                                                                               \
    X(BIO_meth_set_read)                                                                           \
    X(BIO_meth_set_write)                                                                          \
    X(BIO_meth_set_ctrl)                                                                           \
    X(BIO_new)                                                                                     \
    X(BIO_s_mem)                                                                                   \
    X(BIO_set_data)                                                                                \
    X(BIO_get_data)                                                                                \
    X(BIO_set_init)                                                                                \
    X(BIO_set_flags)                                                                               \
    X(BIO_clear_flags)                                                                             \
    X(BIO_new_mem_buf)                                                                             \
    X(BIO_ctrl)                                                                                    \
    X(BIO_free)                                                                                    \
    X(PEM_read_bio_X509)                                                                           \
    X(PEM_read_bio_PrivateKey)                                                                     \
    X(PEM_write_bio_X509)                                                                          \
    X(PEM_write_bio_PrivateKey)                                                                    \
    X(X509_new)                                                                                    \
    X(X509_free)                                                                                   \
    X(X509_set_version)                                                                            \
    X(X509_get_serialNumber)                                                                       \
    X(X509_getm_notBefore)                                                                         \
    X(X509_getm_notAfter)                                                                          \
    X(X509_get0_notAfter)                                                                          \
    X(X509_time_adj_ex)                                                                            \
    X(X509_set_pubkey)                                                                             \
    X(X509_set_subject_name)                                                                       \
    X(X509_set_issuer_name)                                                                        \
    X(X509_get_subject_name)                                                                       \
    X(X509_add_ext)                                                                                \
    X(X509_sign)                                                                                   \
    X(X509_STORE_add_crl)                                                                          \
    X(X509_STORE_set_flags)                                                                        \
    X(X509_CRL_free)                                                                               \
    X(PEM_read_bio_X509_CRL)                                                                       \
    X(X509_STORE_add_cert)                                                                         \
    X(X509_STORE_CTX_new_ex)                                                                       \
    X(X509_STORE_CTX_init)                                                                         \
    X(X509_STORE_CTX_get_error)                                                                    \
    X(X509_STORE_CTX_free)                                                                         \
    X(X509_verify_cert)                                                                            \
    X(X509_verify_cert_error_string)                                                               \
    X(X509_EXTENSION_free)                                                                         \
    X(X509V3_EXT_conf_nid)                                                                         \
    X(X509_NAME_new)                                                                               \
    X(X509_NAME_free)                                                                              \
    X(X509_NAME_add_entry_by_NID)                                                                  \
    X(X509_NAME_get_text_by_NID)                                                                   \
    X(ASN1_INTEGER_set_uint64)                                                                     \
    X(ASN1_TIME_diff)                                                                              \
    X(EVP_PKEY_Q_keygen)                                                                           \
    X(EVP_PKEY_free)                                                                               \
    X(EVP_sha256)                                                                                  \
    X(OSSL_LIB_CTX_new)                                                                            \
    X(OSSL_PROVIDER_add_builtin)                                                                   \
    X(OSSL_PROVIDER_load)                                                                          \
    X(OSSL_PROVIDER_do_all)                                                                        \
    X(OSSL_PROVIDER_get0_name)                                                                     \
    X(OSSL_PROVIDER_get0_provider_ctx)                                                             \
    X(OSSL_PROVIDER_query_operation)                                                               \
    X(OSSL_PROVIDER_get_capabilities)                                                              \
    X(EVP_default_properties_is_fips_enabled)                                                      \
    X(RAND_set_rand_method)                                                                        \
    X(ERR_peek_last_error)                                                                         \
    X(ERR_clear_error)                                                                             \
    X(ERR_reason_error_string)

#define SSLLIB_CHOICES 2u
#define SSLLIB_CHOICE_MAX 9u

struct ssllib {
#define X(fn) __typeof__(fn) *fn;
    SSLLIB_SSL(X)
    SSLLIB_CRYPTO(X)
#undef X
    /* of sslfew.c, which the library calls without an argument of ours */
    OSSL_PROVIDER *whole; /* the default provider */
    OSSL_ALGORITHM chosen[SSLLIB_CHOICES][SSLLIB_CHOICE_MAX + 1];
};

/* As of tls_be_brief().  Left out are ciphers by name, for keys with a password, ciphers that TLS
 * 1.3 has no use for, and cleaning up at the end; texts of failures are loaded with the first
 * failure, those of the likely places. */
void ssllib_be_brief(bool brief);

/* Any thread.  -ENOSYS: OpenSSL 3 is not installed, or this program is linked statically; err says
 * so. */
int ssllib_load(const struct ssllib **ret_lib, struct err *err);
/* Once it was loaded: for functions that the library calls back. */
const struct ssllib *ssllib_loaded(void);
/* For what belongs to TLS: the context that `make` gave a brief program the first time, or NULL,
 * the library's usual one.  Any thread. */
OSSL_LIB_CTX *ssllib_context(OSSL_LIB_CTX *(*make)(struct ssllib *lib));
/* Why the last call of the library failed, in its words. */
const char *ssllib_reason(const struct ssllib *lib);
