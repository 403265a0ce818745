/* crypto.c - libcrypto behind dlopen(3)
 *
 * Owns the library handle, kept for the life of the process.  Loaded once, under pthread_once, so
 * any thread may call.  The two prototypes are libcrypto's public interface; declaring them here
 * keeps its headers (and the link) out of commands. */
#include "wire/crypto.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>

typedef const void *sha256_fn(void);
typedef unsigned char *hmac_fn(const void *md, const void *key, int key_len,
                               const unsigned char *data, size_t len, unsigned char *mac,
                               unsigned int *mac_len);

static struct {
    pthread_once_t once;
    sha256_fn *sha256;
    hmac_fn *hmac;
} lib = { .once = PTHREAD_ONCE_INIT };

static void load(void)
{
    void *handle = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);

    if (!handle)
        return;
    lib.sha256 = (sha256_fn *)dlsym(handle, "EVP_sha256");
    lib.hmac = (hmac_fn *)dlsym(handle, "HMAC");
}

int crypto_hmac(const uint8_t *key, size_t key_len, const void *data, size_t len,
                uint8_t mac[CRYPTO_SHA256_SIZE])
{
    unsigned int mac_len = CRYPTO_SHA256_SIZE;

    if (pthread_once(&lib.once, load) != 0 || !lib.sha256 || !lib.hmac)
        return -ENOSYS;
    if (key_len > INT_MAX)
        return -E2BIG;
    if (!lib.hmac(lib.sha256(), key, (int)key_len, data, len, mac, &mac_len))
        return -ENOMEM;
    return 0;
}

bool crypto_equal(const void *a, const void *b, size_t len)
{
    const volatile uint8_t *x = a, *y = b;
    uint8_t diff = 0;

    for (size_t i = 0; i < len; i++)
        diff = (uint8_t)(diff | (x[i] ^ y[i]));
    return diff == 0;
}
