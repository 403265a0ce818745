/* tlspair.c - see tlspair.h
 *
 * A serial number is 63 random bits, so that browsers do not take two starts of a daemon for a
 * forgery. */
#include "wire/tls/tlspair.h"

#include <stdbool.h>
#include <sys/random.h>

EVP_PKEY *tlspair_key(const struct ssllib *lib)
{
    return lib->EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
}

static bool add_extension(const struct ssllib *lib, X509 *x, int nid, const char *value)
{
    X509_EXTENSION *e = lib->X509V3_EXT_conf_nid(NULL, NULL, nid, value);
    bool ok = e && lib->X509_add_ext(x, e, -1) == 1;

    if (e)
        lib->X509_EXTENSION_free(e);
    return ok;
}

static bool set_name(const struct ssllib *lib, X509 *x, const char *cn)
{
    X509_NAME *name = lib->X509_NAME_new();
    bool ok = name &&
              lib->X509_NAME_add_entry_by_NID(name, NID_commonName, MBSTRING_UTF8,
                                              (const unsigned char *)cn, -1, -1, 0) == 1 &&
              lib->X509_set_subject_name(x, name) == 1;

    if (name)
        lib->X509_NAME_free(name);
    return ok;
}

static bool set_times(const struct ssllib *lib, X509 *x, int64_t life_s)
{
    /* an hour before: clocks differ */
    return lib->X509_time_adj_ex(lib->X509_getm_notBefore(x), 0, -3600, NULL) &&
           lib->X509_time_adj_ex(lib->X509_getm_notAfter(x), (int)(life_s / 86400),
                                 (long)(life_s % 86400), NULL);
}

X509 *tlspair_certificate(const struct ssllib *lib, const char *cn, EVP_PKEY *key, int64_t life_s)
{
    X509 *x = lib->X509_new();
    uint64_t serial;

    if (x && getrandom(&serial, sizeof(serial), 0) == sizeof(serial) &&
        lib->X509_set_version(x, 2) == 1 && /* which is called 3 */
        lib->ASN1_INTEGER_set_uint64(lib->X509_get_serialNumber(x), serial >> 1) == 1 &&
        set_times(lib, x, life_s) && lib->X509_set_pubkey(x, key) == 1 && set_name(lib, x, cn) &&
        lib->X509_set_issuer_name(x, lib->X509_get_subject_name(x)) == 1 &&
        add_extension(lib, x, NID_basic_constraints, "critical,CA:FALSE") &&
        add_extension(lib, x, NID_key_usage, "critical,digitalSignature") &&
        lib->X509_sign(x, key, lib->EVP_sha256()) > 0)
        return x;
    if (x)
        lib->X509_free(x);
    return NULL;
}
