/* crypto.c - HMAC by libcrypto or by ourselves; libsodium behind dlopen(3)
 *
 * A daemon is linked with libcrypto, whose SHA-256 uses the processor's own instructions: there it
 * makes the tags of frames.  A command is not: srun needs a few codes for each node of a step, and
 * to load libcrypto for them takes 3.5 ms of CPU, libsodium a third of one; libmd, a part
 * of the program, makes them there.
 *
 * libsodium is loaded once, by who needs signatures, and stays for the life of the process; any
 * thread may call.  The prototypes are its public interface; declaring them here keeps its headers
 * (and the link) out of commands. */
#include "wire/auth/crypto.h"

#include <dlfcn.h>
#include <errno.h>
#include <openssl/sha.h>
#include <sha2.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/process/loadlib.h"
#include "base/processonce.h"

#define LIBSODIUM "libsodium.so.23"

/* ---- HMAC ------------------------------------------------------------------------------------ */

struct fast {
    int (*init)(SHA256_CTX *ctx);
    int (*update)(SHA256_CTX *ctx, const void *data, size_t len);
    int (*final)(unsigned char *md, SHA256_CTX *ctx);
};

static void *find_fast(void)
{
    struct fast *lib = calloc(1, sizeof(*lib));
    const struct loadlib_symbol symbols[] = { { "SHA256_Init", lib ? &lib->init : NULL },
                                              { "SHA256_Update", lib ? &lib->update : NULL },
                                              { "SHA256_Final", lib ? &lib->final : NULL } };

    for (size_t i = 0; lib && i < ARRAY_SIZE(symbols); i++) {
        void *at = dlsym(RTLD_DEFAULT, symbols[i].name);

        if (!at) {
            free(lib);
            return NULL;
        }
        memcpy(symbols[i].to, &at, sizeof(at));
    }
    return lib;
}

/* NULL: the program is not linked with libcrypto. */
static const struct fast *use_fast(void)
{
    return processonce(find_fast);
}

union hash {
    SHA256_CTX theirs;
    SHA2_CTX ours;
};

static void hash_begin(const struct fast *lib, union hash *h)
{
    if (lib)
        (void)lib->init(&h->theirs); /* always 1, as the other two */
    else
        SHA256Init(&h->ours);
}

static void hash_add(const struct fast *lib, union hash *h, const void *data, size_t len)
{
    if (!len)
        return;
    if (lib)
        (void)lib->update(&h->theirs, data, len);
    else
        SHA256Update(&h->ours, data, len);
}

static void hash_end(const struct fast *lib, union hash *h, uint8_t out[CRYPTO_SHA256_SIZE])
{
    if (lib)
        (void)lib->final(out, &h->theirs);
    else
        SHA256Final(out, &h->ours);
}

/* HMAC of RFC 2104: the hash of (key ^ outer) and of the hash of (key ^ inner) and the message. */
#define HMAC_BLOCK 64u
#define HMAC_INNER 0x36
#define HMAC_OUTER 0x5c

struct crypto_mac {
    const struct fast *lib;
    union hash inner, outer, now; /* the first two stand behind the key's block */
};

static void begin_half(const struct fast *lib, union hash *half, const uint8_t *key, size_t len,
                       uint8_t pad)
{
    uint8_t block[HMAC_BLOCK];

    memset(block, pad, sizeof(block));
    for (size_t i = 0; i < len; i++)
        block[i] ^= key[i];
    hash_begin(lib, half);
    hash_add(lib, half, block, sizeof(block));
    explicit_bzero(block, sizeof(block));
}

static void begin_mac(struct crypto_mac *mac, const uint8_t *key, size_t len)
{
    uint8_t digest[CRYPTO_SHA256_SIZE];

    mac->lib = use_fast();
    if (len > HMAC_BLOCK) { /* its hash is the key then */
        hash_begin(mac->lib, &mac->now);
        hash_add(mac->lib, &mac->now, key, len);
        hash_end(mac->lib, &mac->now, digest);
        key = digest;
        len = sizeof(digest);
    }
    begin_half(mac->lib, &mac->inner, key, len, HMAC_INNER);
    begin_half(mac->lib, &mac->outer, key, len, HMAC_OUTER);
    explicit_bzero(digest, sizeof(digest));
}

void crypto_hmac(const uint8_t *key, size_t key_len, const void *data, size_t len,
                 uint8_t mac[CRYPTO_SHA256_SIZE])
{
    struct crypto_mac m;

    begin_mac(&m, key, key_len);
    crypto_mac_begin(&m);
    crypto_mac_add(&m, data, len);
    crypto_mac_end(&m, mac);
    explicit_bzero(&m, sizeof(m));
}

int crypto_mac_new(const uint8_t key[CRYPTO_SHA256_SIZE], struct crypto_mac **ret_mac)
{
    struct crypto_mac *mac = malloc(sizeof(*mac));

    if (!mac)
        return -ENOMEM;
    begin_mac(mac, key, CRYPTO_SHA256_SIZE);
    *ret_mac = mac;
    return 0;
}

struct crypto_mac *crypto_mac_free(struct crypto_mac *mac)
{
    int saved = errno;

    if (mac)
        explicit_bzero(mac, sizeof(*mac));
    free(mac);
    errno = saved;
    return NULL;
}

void crypto_mac_begin(struct crypto_mac *mac)
{
    mac->now = mac->inner;
}

void crypto_mac_add(struct crypto_mac *mac, const void *data, size_t len)
{
    hash_add(mac->lib, &mac->now, data, len);
}

void crypto_mac_end(struct crypto_mac *mac, uint8_t out[CRYPTO_SHA256_SIZE])
{
    uint8_t inner[CRYPTO_SHA256_SIZE];

    hash_end(mac->lib, &mac->now, inner);
    mac->now = mac->outer;
    hash_add(mac->lib, &mac->now, inner, sizeof(inner));
    hash_end(mac->lib, &mac->now, out);
}

/* ---- signatures ------------------------------------------------------------------------------ */

struct sodium {
    int (*pair)(unsigned char *pk, unsigned char *sk, const unsigned char *seed);
    int (*sign)(unsigned char *sig, unsigned long long *len, const unsigned char *m,
                unsigned long long n, const unsigned char *sk);
    int (*verify)(const unsigned char *sig, const unsigned char *m, unsigned long long n,
                  const unsigned char *pk);
    int (*public_to_curve)(unsigned char *curve, const unsigned char *pk);
    int (*secret_to_curve)(unsigned char *curve, const unsigned char *sk);
    int (*multiply)(unsigned char *q, const unsigned char *n, const unsigned char *p);
};

static void *load_sodium(void)
{
    _cleanup_free_ struct sodium *lib = calloc(1, sizeof(*lib));
    int (*sodium_init)(void) = NULL;

    if (!lib)
        return NULL;
    const struct loadlib_symbol symbols[] = {
        { "sodium_init", &sodium_init },
        { "crypto_sign_ed25519_seed_keypair", &lib->pair },
        { "crypto_sign_ed25519_detached", &lib->sign },
        { "crypto_sign_ed25519_verify_detached", &lib->verify },
        { "crypto_sign_ed25519_pk_to_curve25519", &lib->public_to_curve },
        { "crypto_sign_ed25519_sk_to_curve25519", &lib->secret_to_curve },
        { "crypto_scalarmult_curve25519", &lib->multiply },
    };
    if (loadlib(NULL, LIBSODIUM, NULL, RTLD_LOCAL, symbols, ARRAY_SIZE(symbols), NULL) < 0 ||
        sodium_init() < 0)
        return NULL;
    return TAKE_PTR(lib);
}

/* NULL: it is not installed, or a version that has no signatures. */
static const struct sodium *use_signing(void)
{
    return processonce(load_sodium);
}

int crypto_pair(const uint8_t seed[32], uint8_t public_key[CRYPTO_PUBLIC_SIZE],
                uint8_t secret[CRYPTO_SECRET_SIZE])
{
    const struct sodium *lib = use_signing();

    if (!lib)
        return -ENOSYS;
    (void)lib->pair(public_key, secret, seed); /* always 0 */
    return 0;
}

int crypto_sign(const uint8_t secret[CRYPTO_SECRET_SIZE], const void *data, size_t len,
                uint8_t signature[CRYPTO_SIGNATURE_SIZE])
{
    const struct sodium *lib = use_signing();

    if (!lib)
        return -ENOSYS;
    (void)lib->sign(signature, NULL, data, len, secret); /* always 0 */
    return 0;
}

int crypto_verify(const uint8_t public_key[CRYPTO_PUBLIC_SIZE], const void *data, size_t len,
                  const uint8_t signature[CRYPTO_SIGNATURE_SIZE])
{
    const struct sodium *lib = use_signing();

    if (!lib)
        return -ENOSYS;
    return lib->verify(signature, data, len, public_key) == 0 ? 0 : -EACCES;
}

int crypto_agree(const uint8_t secret[CRYPTO_SECRET_SIZE],
                 const uint8_t public_key[CRYPTO_PUBLIC_SIZE], uint8_t shared[32])
{
    const struct sodium *lib = use_signing();
    uint8_t ours[32], theirs[32];
    int r = 0;

    if (!lib)
        return -ENOSYS;
    if (lib->public_to_curve(theirs, public_key) != 0)
        return -EACCES;
    (void)lib->secret_to_curve(ours, secret); /* always 0 */
    if (lib->multiply(shared, ours, theirs) != 0)
        r = -EACCES;
    explicit_bzero(ours, sizeof(ours));
    return r;
}

bool crypto_equal(const void *a, const void *b, size_t len)
{
    const volatile uint8_t *x = a, *y = b;
    uint8_t diff = 0;

    for (size_t i = 0; i < len; i++)
        diff = (uint8_t)(diff | (x[i] ^ y[i]));
    return diff == 0;
}
