/* hookcert.c - see hookcert.h
 *
 * The certificate is its own authority: an API server that has it as caBundle believes it, and
 * nothing else that anybody could sign with it matters. */
#include "kube/hook/hookcert.h"

#include <errno.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"

static bool add_extension(X509 *x, int nid, const char *value)
{
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, nid, value);
    bool ok = e && X509_add_ext(x, e, -1) == 1;

    X509_EXTENSION_free(e);
    return ok;
}

/* The names of DNS are longer than a common name may be: that is fixed. */
static bool set_names(X509 *x, const char *dns)
{
    X509_NAME *name = X509_get_subject_name(x);
    char alt[300];

    (void)snprintf(alt, sizeof(alt), "DNS:%s", dns);
    return X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                                      (const unsigned char *)"penstock-webhook", -1, -1, 0) == 1 &&
           X509_set_issuer_name(x, name) == 1 && add_extension(x, NID_subject_alt_name, alt);
}

static X509 *sign_certificate(const char *dns, int64_t life_s, EVP_PKEY *key)
{
    X509 *x = X509_new();
    uint64_t serial;

    if (x && RAND_bytes((unsigned char *)&serial, sizeof(serial)) == 1 &&
        X509_set_version(x, 2) == 1 && /* which is called 3 */
        ASN1_INTEGER_set_uint64(X509_get_serialNumber(x), serial >> 1) == 1 &&
        X509_time_adj_ex(X509_getm_notBefore(x), 0, -3600, NULL) && /* clocks differ */
        X509_time_adj_ex(X509_getm_notAfter(x), (int)(life_s / 86400), (long)(life_s % 86400),
                         NULL) &&
        X509_set_pubkey(x, key) == 1 && set_names(x, dns) &&
        add_extension(x, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
        add_extension(x, NID_key_usage, "critical,digitalSignature,keyCertSign") &&
        add_extension(x, NID_ext_key_usage, "serverAuth") && X509_sign(x, key, EVP_sha256()) > 0)
        return x;
    X509_free(x);
    return NULL;
}

/* What a memory BIO holds, as text. */
static char *take_text(BIO *b)
{
    char *data = NULL;
    long n = b ? BIO_get_mem_data(b, &data) : 0;

    return n > 0 ? strndup(data, (size_t)n) : NULL;
}

int hookcert_make(const char *dns, int64_t life_s, char **ret_cert, char **ret_key, struct err *err)
{
    EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    X509 *x = key ? sign_certificate(dns, life_s, key) : NULL;
    BIO *c = BIO_new(BIO_s_mem()), *k = BIO_new(BIO_s_secmem());
    char *cert = NULL, *secret = NULL;

    if (x && c && k && PEM_write_bio_X509(c, x) == 1 &&
        PEM_write_bio_PrivateKey(k, key, NULL, NULL, 0, NULL, NULL) == 1) {
        cert = take_text(c);
        secret = take_text(k);
    }
    BIO_free(c);
    BIO_free(k);
    X509_free(x);
    EVP_PKEY_free(key);
    if (!cert || !secret) {
        free(cert);
        free(secret);
        return err_set(err, -EIO, "a certificate for %.200s cannot be made", dns);
    }
    *ret_cert = cert;
    *ret_key = secret;
    return 0;
}

static int read_time(const ASN1_TIME *t, int64_t *ret)
{
    struct tm tm;

    if (!t || ASN1_TIME_to_tm(t, &tm) != 1)
        return -EINVAL;
    *ret = (int64_t)timegm(&tm);
    return 0;
}

int hookcert_read(const char *cert_pem, const char *dns, int64_t now_s, int64_t *ret_left_s,
                  int64_t *ret_life_s, bool *ret_fits)
{
    BIO *b = BIO_new_mem_buf(cert_pem, -1);
    X509 *x = b ? PEM_read_bio_X509(b, NULL, NULL, NULL) : NULL;
    int64_t from, to;
    int r = x ? read_time(X509_get0_notBefore(x), &from) : -EINVAL;

    if (r == 0)
        r = read_time(X509_get0_notAfter(x), &to);
    if (r == 0) {
        *ret_left_s = to - now_s;
        *ret_life_s = to - from;
        *ret_fits = X509_check_host(x, dns, 0, 0, NULL) == 1;
    }
    X509_free(x);
    BIO_free(b);
    return r;
}
