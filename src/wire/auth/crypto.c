/* crypto.c - libsodium behind dlopen(3)
 *
 * Owns the library handle, kept for the life of the process.  Loaded once, under pthread_once,
 * so any thread may call.  The prototypes are libsodium's public interface; declaring them here
 * keeps its headers (and the link) out of commands.  libsodium and not libcrypto: srun proves
 * itself to every node, and libcrypto takes 3.5 ms of CPU to begin with, libsodium a tenth of
 * one.  A daemon has libcrypto anyway, whose SHA-256 uses the processor's own instructions: there
 * it makes the tags of frames, for a fifth to a tenth of libsodium's time. */
#include "wire/auth/crypto.h"

#include <dlfcn.h>
#include <errno.h>
#include <openssl/sha.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define STATE_MAX 512u /* bytes; libsodium's is 416 */

union state {
    max_align_t align;
    uint8_t bytes[STATE_MAX];
};

static struct {
    pthread_once_t once;
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
    bool ok, signs, fast;
} lib = { .once = PTHREAD_ONCE_INIT };

/* libcrypto where the program has it; its handle is kept. */
static void find_fast(void)
{
    void *handle = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);

    if (!handle)
        return;
    lib.sha_init = (__typeof__(lib.sha_init))dlsym(handle, "SHA256_Init");
    lib.sha_update = (__typeof__(lib.sha_update))dlsym(handle, "SHA256_Update");
    lib.sha_final = (__typeof__(lib.sha_final))dlsym(handle, "SHA256_Final");
    lib.fast = lib.sha_init && lib.sha_update && lib.sha_final;
}

static void load_sodium(void)
{
    void *handle = dlopen("libsodium.so.23", RTLD_NOW | RTLD_LOCAL);
    int (*sodium_init)(void);
    size_t (*statebytes)(void);

    if (!handle)
        return;
    sodium_init = (int (*)(void))dlsym(handle, "sodium_init");
    statebytes = (size_t(*)(void))dlsym(handle, "crypto_auth_hmacsha256_statebytes");
    lib.init = (__typeof__(lib.init))dlsym(handle, "crypto_auth_hmacsha256_init");
    lib.update = (__typeof__(lib.update))dlsym(handle, "crypto_auth_hmacsha256_update");
    lib.final = (__typeof__(lib.final))dlsym(handle, "crypto_auth_hmacsha256_final");
    lib.ok = sodium_init && statebytes && lib.init && lib.update && lib.final &&
             sodium_init() >= 0 && statebytes() <= STATE_MAX;
#define FIND(fn, name) lib.fn = (__typeof__(lib.fn))dlsym(handle, name)
    FIND(pair, "crypto_sign_ed25519_seed_keypair");
    FIND(sign, "crypto_sign_ed25519_detached");
    FIND(verify, "crypto_sign_ed25519_verify_detached");
    FIND(public_to_curve, "crypto_sign_ed25519_pk_to_curve25519");
    FIND(secret_to_curve, "crypto_sign_ed25519_sk_to_curve25519");
    FIND(multiply, "crypto_scalarmult_curve25519");
#undef FIND
    lib.signs = lib.ok && lib.pair && lib.sign && lib.verify && lib.public_to_curve &&
                lib.secret_to_curve && lib.multiply;
    find_fast();
}

static bool is_loaded(void)
{
    return pthread_once(&lib.once, load_sodium) == 0 && lib.ok;
}

int crypto_hmac(const uint8_t *key, size_t key_len, const void *data, size_t len,
                uint8_t mac[CRYPTO_SHA256_SIZE])
{
    union state st;

    if (!is_loaded())
        return -ENOSYS;
    (void)lib.init(&st, key, key_len); /* these three always give 0 */
    (void)lib.update(&st, data, len);
    (void)lib.final(&st, mac);
    explicit_bzero(&st, sizeof(st));
    return 0;
}

/* HMAC of RFC 2104 over libcrypto's SHA-256: the hash of (key ^ outer) and of the hash of
 * (key ^ inner) and the message. */
#define HMAC_BLOCK 64u
#define HMAC_INNER 0x36
#define HMAC_OUTER 0x5c

struct crypto_mac {
    bool fast;
    union state keyed; /* as init() left it: each message begins with a copy */
    union state st;
    SHA256_CTX inner, outer, now; /* the same of libcrypto: both behind the key's block */
};

static void begin_half(SHA256_CTX *half, const uint8_t key[CRYPTO_SHA256_SIZE], uint8_t pad)
{
    uint8_t block[HMAC_BLOCK];

    memset(block, pad, sizeof(block));
    for (size_t i = 0; i < CRYPTO_SHA256_SIZE; i++)
        block[i] ^= key[i];
    (void)lib.sha_init(half); /* always 1, as the others of SHA-256 */
    (void)lib.sha_update(half, block, sizeof(block));
    explicit_bzero(block, sizeof(block));
}

int crypto_mac_new(const uint8_t key[CRYPTO_SHA256_SIZE], struct crypto_mac **ret_mac)
{
    struct crypto_mac *mac;

    if (!is_loaded())
        return -ENOSYS;
    mac = malloc(sizeof(*mac));
    if (!mac)
        return -ENOMEM;
    mac->fast = lib.fast;
    if (mac->fast) {
        begin_half(&mac->inner, key, HMAC_INNER);
        begin_half(&mac->outer, key, HMAC_OUTER);
    } else {
        (void)lib.init(&mac->keyed, key, CRYPTO_SHA256_SIZE); /* always 0 */
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
    if (mac->fast)
        mac->now = mac->inner;
    else
        mac->st = mac->keyed;
}

void crypto_mac_add(struct crypto_mac *mac, const void *data, size_t len)
{
    if (!len)
        return;
    if (mac->fast)
        (void)lib.sha_update(&mac->now, data, len);
    else
        (void)lib.update(&mac->st, data, len); /* always 0 */
}

void crypto_mac_end(struct crypto_mac *mac, uint8_t out[CRYPTO_SHA256_SIZE])
{
    uint8_t inner[CRYPTO_SHA256_SIZE];

    if (!mac->fast) {
        (void)lib.final(&mac->st, out); /* always 0 */
        return;
    }
    (void)lib.sha_final(inner, &mac->now);
    mac->now = mac->outer;
    (void)lib.sha_update(&mac->now, inner, sizeof(inner));
    (void)lib.sha_final(out, &mac->now);
}

static bool can_sign(void)
{
    return is_loaded() && lib.signs;
}

int crypto_pair(const uint8_t seed[32], uint8_t public_key[CRYPTO_PUBLIC_SIZE],
                uint8_t secret[CRYPTO_SECRET_SIZE])
{
    if (!can_sign())
        return -ENOSYS;
    (void)lib.pair(public_key, secret, seed); /* always 0 */
    return 0;
}

int crypto_sign(const uint8_t secret[CRYPTO_SECRET_SIZE], const void *data, size_t len,
                uint8_t signature[CRYPTO_SIGNATURE_SIZE])
{
    if (!can_sign())
        return -ENOSYS;
    (void)lib.sign(signature, NULL, data, len, secret); /* always 0 */
    return 0;
}

int crypto_verify(const uint8_t public_key[CRYPTO_PUBLIC_SIZE], const void *data, size_t len,
                  const uint8_t signature[CRYPTO_SIGNATURE_SIZE])
{
    if (!can_sign())
        return -ENOSYS;
    return lib.verify(signature, data, len, public_key) == 0 ? 0 : -EACCES;
}

int crypto_agree(const uint8_t secret[CRYPTO_SECRET_SIZE],
                 const uint8_t public_key[CRYPTO_PUBLIC_SIZE], uint8_t shared[32])
{
    uint8_t ours[32], theirs[32];
    int r = 0;

    if (!can_sign())
        return -ENOSYS;
    if (lib.public_to_curve(theirs, public_key) != 0)
        return -EACCES;
    (void)lib.secret_to_curve(ours, secret); /* always 0 */
    if (lib.multiply(shared, ours, theirs) != 0)
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
