/* crypto.c - libcrypto behind dlopen(3)
 *
 * Owns the library handle, kept for the life of the process.  Loaded once, under pthread_once, so
 * any thread may call.  The prototypes are libcrypto's public interface; declaring them here keeps its
 * headers (and the link) out of commands. */
#include "wire/crypto.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

typedef const void *sha256_fn(void);
typedef unsigned char *hmac_fn(const void *md, const void *key, int key_len,
                               const unsigned char *data, size_t len, unsigned char *mac,
                               unsigned int *mac_len);

static struct {
    pthread_once_t once;
    sha256_fn *sha256;
    hmac_fn *hmac;
    void *(*ctx_new)(void);
    void (*ctx_free)(void *ctx);
    int (*init)(void *ctx, const void *key, int key_len, const void *md, void *engine);
    int (*update)(void *ctx, const unsigned char *data, size_t len);
    int (*final)(void *ctx, unsigned char *mac, unsigned int *mac_len);
    bool ok;
} lib = { .once = PTHREAD_ONCE_INIT };

static void load(void)
{
    void *handle = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);

    if (!handle)
        return;
    lib.sha256 = (sha256_fn *)dlsym(handle, "EVP_sha256");
    lib.hmac = (hmac_fn *)dlsym(handle, "HMAC");
    lib.ctx_new = (__typeof__(lib.ctx_new))dlsym(handle, "HMAC_CTX_new");
    lib.ctx_free = (__typeof__(lib.ctx_free))dlsym(handle, "HMAC_CTX_free");
    lib.init = (__typeof__(lib.init))dlsym(handle, "HMAC_Init_ex");
    lib.update = (__typeof__(lib.update))dlsym(handle, "HMAC_Update");
    lib.final = (__typeof__(lib.final))dlsym(handle, "HMAC_Final");
    lib.ok = lib.sha256 && lib.hmac && lib.ctx_new && lib.ctx_free && lib.init && lib.update && lib.final;
}

int crypto_hmac(const uint8_t *key, size_t key_len, const void *data, size_t len,
                uint8_t mac[CRYPTO_SHA256_SIZE])
{
    unsigned int mac_len = CRYPTO_SHA256_SIZE;

    if (pthread_once(&lib.once, load) != 0 || !lib.ok)
        return -ENOSYS;
    if (key_len > INT_MAX)
        return -E2BIG;
    if (!lib.hmac(lib.sha256(), key, (int)key_len, data, len, mac, &mac_len))
        return -ENOMEM;
    return 0;
}

struct crypto_mac {
    void *ctx;
    bool failed;
};

int crypto_mac_new(const uint8_t key[CRYPTO_SHA256_SIZE], struct crypto_mac **ret_mac)
{
    struct crypto_mac *mac;

    if (pthread_once(&lib.once, load) != 0 || !lib.ok)
        return -ENOSYS;
    mac = calloc(1, sizeof(*mac));
    if (!mac)
        return -ENOMEM;
    mac->ctx = lib.ctx_new();
    if (!mac->ctx || !lib.init(mac->ctx, key, CRYPTO_SHA256_SIZE, lib.sha256(), NULL)) {
        (void)crypto_mac_free(mac); /* always NULL */
        return -ENOMEM;
    }
    *ret_mac = mac;
    return 0;
}

struct crypto_mac *crypto_mac_free(struct crypto_mac *mac)
{
    int saved = errno;

    if (mac && mac->ctx)
        lib.ctx_free(mac->ctx);
    free(mac);
    errno = saved;
    return NULL;
}

void crypto_mac_begin(struct crypto_mac *mac)
{
    mac->failed = !lib.init(mac->ctx, NULL, 0, NULL, NULL); /* the same key again */
}

void crypto_mac_add(struct crypto_mac *mac, const void *data, size_t len)
{
    mac->failed = (len && !lib.update(mac->ctx, data, len)) || mac->failed;
}

int crypto_mac_end(struct crypto_mac *mac, uint8_t out[CRYPTO_SHA256_SIZE])
{
    unsigned int len = CRYPTO_SHA256_SIZE;

    return lib.final(mac->ctx, out, &len) && !mac->failed ? 0 : -ENOMEM;
}

bool crypto_equal(const void *a, const void *b, size_t len)
{
    const volatile uint8_t *x = a, *y = b;
    uint8_t diff = 0;

    for (size_t i = 0; i < len; i++)
        diff = (uint8_t)(diff | (x[i] ^ y[i]));
    return diff == 0;
}
