/* pubkey.c - public keys by libcrypto; see pubkey.h
 *
 * Only services that were told to believe an issuer elsewhere load it. */
#include "wire/auth/pubkey.h"

#include <dlfcn.h>
#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/process/loadlib.h"
#include "base/processonce.h"

#define RSA_MIN 256u /* bytes: 2048 bits */
#define RSA_MAX 512u
#define EXPONENT_MAX 8u
#define DER_MAX 72u /* of a signature of P-256 */

#define CRYPTO_FUNCTIONS(X)                                                                        \
    X(EVP_PKEY_CTX_new_from_name)                                                                  \
    X(EVP_PKEY_CTX_free)                                                                           \
    X(EVP_PKEY_fromdata_init)                                                                      \
    X(EVP_PKEY_fromdata)                                                                           \
    X(EVP_PKEY_free)                                                                               \
    X(EVP_MD_CTX_new)                                                                              \
    X(EVP_MD_CTX_free)                                                                             \
    X(EVP_sha256)                                                                                  \
    X(EVP_DigestVerifyInit)                                                                        \
    X(EVP_DigestVerify)                                                                            \
    X(OSSL_PARAM_construct_BN)                                                                     \
    X(OSSL_PARAM_construct_utf8_string)                                                            \
    X(OSSL_PARAM_construct_octet_string)                                                           \
    X(OSSL_PARAM_construct_end)                                                                    \
    X(ERR_clear_error)

void ERR_clear_error(void); /* openssl/err.h needs more than this file */

struct libcrypto {
#define X(fn) __typeof__(fn) *fn;
    CRYPTO_FUNCTIONS(X)
#undef X
};

struct pubkey {
    const struct libcrypto *lib;
    EVP_PKEY *pkey;
    bool ec;
};

static void *load_crypto(void)
{
    _cleanup_free_ struct libcrypto *lib = calloc(1, sizeof(*lib));

    if (!lib)
        return NULL;
    const struct loadlib_symbol symbols[] = {
#define X(fn) { #fn, &lib->fn },
        CRYPTO_FUNCTIONS(X)
#undef X
    };
    if (loadlib(NULL, "libcrypto.so.3", NULL, RTLD_LOCAL, symbols, ARRAY_SIZE(symbols), NULL) < 0)
        return NULL;
    return TAKE_PTR(lib);
}

/* A key of the named type from its parts. */
static int make_key(const struct libcrypto *lib, const char *type, OSSL_PARAM *params, bool ec,
                    struct pubkey **ret)
{
    EVP_PKEY_CTX *ctx = lib->EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    struct pubkey *key = calloc(1, sizeof(*key));
    int r = -ENOMEM;

    if (ctx && key) {
        key->lib = lib;
        key->ec = ec;
        r = lib->EVP_PKEY_fromdata_init(ctx) == 1 &&
                    lib->EVP_PKEY_fromdata(ctx, &key->pkey, EVP_PKEY_PUBLIC_KEY, params) == 1
                ? 0
                : -EINVAL;
    }
    lib->EVP_PKEY_CTX_free(ctx);
    lib->ERR_clear_error(); /* the library's list of this thread */
    if (r < 0)
        free(key);
    else
        *ret = key;
    return r;
}

static int need_library(const struct libcrypto **ret_lib, struct err *err)
{
    *ret_lib = processonce(load_crypto);
    if (*ret_lib)
        return 0;
    return err_set(err, -ENOSYS,
                   "public keys need libcrypto.so.3 (OpenSSL 3), which is not installed");
}

/* libcrypto wants numbers in the order of this machine's bytes. */
static void to_native(const uint8_t *in, size_t len, uint8_t *out)
{
    for (size_t i = 0; i < len; i++)
        out[__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? len - 1 - i : i] = in[i];
}

int pubkey_rsa(const uint8_t *n, size_t n_len, const uint8_t *e, size_t e_len, struct pubkey **ret,
               struct err *err)
{
    uint8_t n_native[RSA_MAX], e_native[EXPONENT_MAX];
    OSSL_PARAM params[3];
    const struct libcrypto *lib;
    int r = need_library(&lib, err);

    if (r < 0)
        return r;
    while (n_len && n[0] == 0)
        n++, n_len--;
    if (n_len < RSA_MIN || n_len > RSA_MAX || !e_len || e_len > EXPONENT_MAX)
        return err_set(err, -EINVAL, "an RSA key has 2048 to 4096 bits");
    to_native(n, n_len, n_native);
    to_native(e, e_len, e_native);
    params[0] = lib->OSSL_PARAM_construct_BN(OSSL_PKEY_PARAM_RSA_N, n_native, n_len);
    params[1] = lib->OSSL_PARAM_construct_BN(OSSL_PKEY_PARAM_RSA_E, e_native, e_len);
    params[2] = lib->OSSL_PARAM_construct_end();
    r = make_key(lib, "RSA", params, false, ret);
    return r < 0 ? err_set(err, r, "this is no RSA key") : 0;
}

int pubkey_p256(const uint8_t x[PUBKEY_P256_SIZE], const uint8_t y[PUBKEY_P256_SIZE],
                struct pubkey **ret, struct err *err)
{
    uint8_t point[1 + 2 * PUBKEY_P256_SIZE] = { 4 }; /* uncompressed */
    char group[] = "P-256";
    OSSL_PARAM params[3];
    const struct libcrypto *lib;
    int r = need_library(&lib, err);

    if (r < 0)
        return r;
    memcpy(mempcpy(point + 1, x, PUBKEY_P256_SIZE), y, PUBKEY_P256_SIZE);
    params[0] = lib->OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, group, 0);
    params[1] =
        lib->OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, point, sizeof(point));
    params[2] = lib->OSSL_PARAM_construct_end();
    r = make_key(lib, "EC", params, true, ret);
    return r < 0 ? err_set(err, r, "this is no point of P-256") : 0;
}

struct pubkey *pubkey_free(struct pubkey *key)
{
    if (key) {
        key->lib->EVP_PKEY_free(key->pkey);
        free(key);
    }
    return NULL;
}

/* An INTEGER of DER: no zeros in front but one where the number would be negative. */
static uint8_t *put_integer(uint8_t *p, const uint8_t *number)
{
    size_t len = PUBKEY_P256_SIZE;
    bool pad;

    while (len > 1 && number[0] == 0)
        number++, len--;
    pad = number[0] & 0x80;
    *p++ = 0x02;
    *p++ = (uint8_t)(len + pad);
    if (pad)
        *p++ = 0;
    return mempcpy(p, number, len);
}

/* r and s as the SEQUENCE that libcrypto reads; its length. */
static size_t put_der(const uint8_t *signature, uint8_t out[DER_MAX])
{
    uint8_t *p = put_integer(out + 2, signature);

    p = put_integer(p, signature + PUBKEY_P256_SIZE);
    out[0] = 0x30;
    out[1] = (uint8_t)(p - out - 2);
    return (size_t)(p - out);
}

int pubkey_verify(const struct pubkey *key, const void *data, size_t len, const uint8_t *signature,
                  size_t signature_len)
{
    const struct libcrypto *lib = key->lib;
    uint8_t der[DER_MAX];
    EVP_MD_CTX *ctx;
    bool good;

    if (key->ec && signature_len != 2 * PUBKEY_P256_SIZE)
        return -EACCES;
    if (key->ec) {
        signature_len = put_der(signature, der);
        signature = der;
    }
    ctx = lib->EVP_MD_CTX_new();
    good = ctx && lib->EVP_DigestVerifyInit(ctx, NULL, lib->EVP_sha256(), NULL, key->pkey) == 1 &&
           lib->EVP_DigestVerify(ctx, signature, signature_len, data, len) == 1;
    lib->EVP_MD_CTX_free(ctx);
    lib->ERR_clear_error();
    return good ? 0 : -EACCES;
}
