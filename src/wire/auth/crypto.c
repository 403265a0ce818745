/* crypto.c - libsodium behind dlopen(3)
 *
 * The library is loaded once and stays for the life of the process; any thread may call.  The
 * prototypes are libsodium's public interface; declaring them here keeps its headers (and the
 * link) out of commands.  libsodium and not libcrypto: srun proves itself to every node, and
 * libcrypto takes 3.5 ms of CPU to begin with, libsodium a tenth of one.  A daemon has libcrypto
 * anyway, whose SHA-256 uses the processor's own instructions: there it makes the tags of frames,
 * for a fifth to a tenth of libsodium's time. */
#include "wire/auth/crypto.h"

#include <dlfcn.h>
#include <errno.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/process/loadlib.h"
#include "base/processonce.h"

#define LIBSODIUM "libsodium.so.23"
#define STATE_MAX 512u /* bytes; libsodium's is 416 */

union state {
    max_align_t align;
    uint8_t bytes[STATE_MAX];
};

struct sodium {
    int (*init)(void *state, const unsigned char *key, size_t key_len);
    int (*update)(void *state, const unsigned char *data, unsigned long long len);
    int (*final)(void *state, unsigned char *mac);
    int (*pair)(unsigned char *pk, unsigned char *sk, const unsigned char *seed);
    int (*sign)(unsigned char *sig, unsigned long long *len, const unsigned char *m,
                unsigned long long n, const unsigned char *sk);
    int (*verify)(const unsigned char *sig, const unsigned char *m, unsigned long long n,
                  const unsigned char *pk);
    int (*public_to_curve)(unsigned char *curve, const unsigned char *pk);
    int (*secret_to_curve)(unsigned char *curve, const unsigned char *sk);
    int (*multiply)(unsigned char *q, const unsigned char *n, const unsigned char *p);
    int (*sha_init)(SHA256_CTX *ctx);
    int (*sha_update)(SHA256_CTX *ctx, const void *data, size_t len);
    int (*sha_final)(unsigned char *md, SHA256_CTX *ctx);
    bool signs, fast; /* the functions for that are there */
};

/* libcrypto where the program has it. */
static void find_fast(struct sodium *lib)
{
    const struct loadlib_symbol symbols[] = { { "SHA256_Init", &lib->sha_init },
                                              { "SHA256_Update", &lib->sha_update },
                                              { "SHA256_Final", &lib->sha_final } };

    lib->fast = loadlib(NULL, "libcrypto.so.3", NULL, RTLD_LOCAL | RTLD_NOLOAD, symbols,
                        ARRAY_SIZE(symbols), NULL) == 0;
}

static void find_signing(struct sodium *lib)
{
    const struct loadlib_symbol symbols[] = {
        { "crypto_sign_ed25519_seed_keypair", &lib->pair },
        { "crypto_sign_ed25519_detached", &lib->sign },
        { "crypto_sign_ed25519_verify_detached", &lib->verify },
        { "crypto_sign_ed25519_pk_to_curve25519", &lib->public_to_curve },
        { "crypto_sign_ed25519_sk_to_curve25519", &lib->secret_to_curve },
        { "crypto_scalarmult_curve25519", &lib->multiply },
    };

    lib->signs =
        loadlib(NULL, LIBSODIUM, NULL, RTLD_LOCAL, symbols, ARRAY_SIZE(symbols), NULL) == 0;
}

static void *load_sodium(void)
{
    _cleanup_free_ struct sodium *lib = calloc(1, sizeof(*lib));
    int (*sodium_init)(void) = NULL;
    size_t (*statebytes)(void) = NULL;

    if (!lib)
        return NULL;
    const struct loadlib_symbol symbols[] = {
        { "sodium_init", &sodium_init },
        { "crypto_auth_hmacsha256_statebytes", &statebytes },
        { "crypto_auth_hmacsha256_init", &lib->init },
        { "crypto_auth_hmacsha256_update", &lib->update },
        { "crypto_auth_hmacsha256_final", &lib->final },
    };
    if (loadlib(NULL, LIBSODIUM, NULL, RTLD_LOCAL, symbols, ARRAY_SIZE(symbols), NULL) < 0 ||
        sodium_init() < 0 || statebytes() > STATE_MAX)
        return NULL;
    find_signing(lib);
    find_fast(lib);
    return TAKE_PTR(lib);
}

/* NULL: it is not installed. */
static const struct sodium *use_sodium(void)
{
    return processonce(load_sodium);
}

/* NULL: it is not installed, or a version that has no signatures. */
static const struct sodium *use_signing(void)
{
    const struct sodium *lib = use_sodium();

    return lib && lib->signs ? lib : NULL;
}

int crypto_hmac(const uint8_t *key, size_t key_len, const void *data, size_t len,
                uint8_t mac[CRYPTO_SHA256_SIZE])
{
    const struct sodium *lib = use_sodium();
    union state st;

    if (!lib)
        return -ENOSYS;
    (void)lib->init(&st, key, key_len); /* these three always give 0 */
    (void)lib->update(&st, data, len);
    (void)lib->final(&st, mac);
    explicit_bzero(&st, sizeof(st));
    return 0;
}

/* HMAC of RFC 2104 over libcrypto's SHA-256: the hash of (key ^ outer) and of the hash of
 * (key ^ inner) and the message. */
#define HMAC_BLOCK 64u
#define HMAC_INNER 0x36
#define HMAC_OUTER 0x5c

struct crypto_mac {
    const struct sodium *lib;
    union state keyed; /* as init() left it: each message begins with a copy */
    union state st;
    SHA256_CTX inner, outer, now; /* the same of libcrypto: both behind the key's block */
};

static void begin_half(const struct sodium *lib, SHA256_CTX *half,
                       const uint8_t key[CRYPTO_SHA256_SIZE], uint8_t pad)
{
    uint8_t block[HMAC_BLOCK];

    memset(block, pad, sizeof(block));
    for (size_t i = 0; i < CRYPTO_SHA256_SIZE; i++)
        block[i] ^= key[i];
    (void)lib->sha_init(half); /* always 1, as the others of SHA-256 */
    (void)lib->sha_update(half, block, sizeof(block));
    explicit_bzero(block, sizeof(block));
}

int crypto_mac_new(const uint8_t key[CRYPTO_SHA256_SIZE], struct crypto_mac **ret_mac)
{
    const struct sodium *lib = use_sodium();
    struct crypto_mac *mac;

    if (!lib)
        return -ENOSYS;
    mac = malloc(sizeof(*mac));
    if (!mac)
        return -ENOMEM;
    mac->lib = lib;
    if (lib->fast) {
        begin_half(lib, &mac->inner, key, HMAC_INNER);
        begin_half(lib, &mac->outer, key, HMAC_OUTER);
    } else {
        (void)lib->init(&mac->keyed, key, CRYPTO_SHA256_SIZE); /* always 0 */
    }
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
    if (mac->lib->fast)
        mac->now = mac->inner;
    else
        mac->st = mac->keyed;
}

void crypto_mac_add(struct crypto_mac *mac, const void *data, size_t len)
{
    if (!len)
        return;
    if (mac->lib->fast)
        (void)mac->lib->sha_update(&mac->now, data, len);
    else
        (void)mac->lib->update(&mac->st, data, len); /* always 0 */
}

void crypto_mac_end(struct crypto_mac *mac, uint8_t out[CRYPTO_SHA256_SIZE])
{
    uint8_t inner[CRYPTO_SHA256_SIZE];

    if (!mac->lib->fast) {
        (void)mac->lib->final(&mac->st, out); /* always 0 */
        return;
    }
    (void)mac->lib->sha_final(inner, &mac->now);
    mac->now = mac->outer;
    (void)mac->lib->sha_update(&mac->now, inner, sizeof(inner));
    (void)mac->lib->sha_final(out, &mac->now);
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
